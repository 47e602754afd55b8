"""What a prediction costs where it is served: one row at a time in Python, many rows in a database; best of several, in
turn. `python benchmarks/serving.py` prints them.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import timing
from data import AbsentError
from sklearn.compose import make_column_transformer
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import neglog as nl

ROUNDS = 7
COLUMNS = ("problem", "µs", "against", "its µs", "ratio", "wanted")
REGIONS = ["north", "south", "west"]


def claims(rows):
    rng = np.random.default_rng(0)
    age, power = rng.uniform(20, 80, rows), rng.uniform(1, 9, rows)
    region, shop = rng.choice(REGIONS, rows), rng.integers(0, 500, rows).astype(str)
    mean = np.exp(np.sin(age / 9) + 0.1 * power + 0.3 * (region == "south"))
    return pa.table({"age": age, "power": power, "region": region, "shop": shop, "claims": rng.poisson(mean)})


MODELS = {
    "three columns": ["age", "power", "region"],
    "a curve, a group, an interaction": [nl.smooth("age"), "log(power)", nl.group("shop"), "region",
                                         nl.interaction("region", nl.smooth("age", size=6))],
}  # fmt: skip


def lines(rows):
    """Problem, microseconds, what it is compared with, microseconds of that, the ratio, and what is wanted."""
    table = claims(20_000)
    one = table.slice(7, 1)
    row = one.drop_columns(["claims"]).to_pylist()[0]
    frame = table.to_pandas()
    encoded = make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough")
    rival = make_pipeline(encoded, PoissonRegressor()).fit(frame[["age", "power", "region"]], frame["claims"])
    first = frame[["age", "power", "region"]].iloc[[7]]
    for name, terms in MODELS.items():
        model = saved(nl.fit(table, "claims", nl.Poisson(), nl.Gaussian(scale=1.0), terms=terms))
        for other, run in {
            "one row of Arrow": lambda model=model: model.predict(one),
            "scikit-learn's pipeline, three columns": lambda: rival.predict(first),
        }.items():
            times = timing.best_times({"ours": lambda model=model: model.predict(row), other: run}, ROUNDS)
            ours, theirs = 1e6 * times["ours"], 1e6 * times[other]
            yield f"one row as a dict, {name}", ours, other, theirs, theirs / ours, "≤ 50 µs"
    yield from in_duckdb(claims(rows), model)


def in_duckdb(table, model):
    try:
        import duckdb
    except ImportError:
        raise AbsentError("DuckDB is not installed") from None
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE t AS SELECT * FROM given")
    query = f"SELECT AVG(prediction) FROM ({model.to_sql('t')})"
    run = {"ours": lambda: model.predict(table), "duckdb": lambda: connection.execute(query).fetchone()}
    times = timing.best_times(run, 3)
    ours, theirs = 1e6 * times["ours"], 1e6 * times["duckdb"]
    yield f"{table.num_rows:,} rows, predict", ours, "the same query in DuckDB", theirs, theirs / ours, ""


def saved(fit):
    with tempfile.TemporaryDirectory() as folder:
        fit.save(Path(folder, "model.json"))
        return nl.load(Path(folder, "model.json"))


def table(size, tell):
    """For run.py."""
    found = []
    for problem, ours, against, other, ratio, wanted in lines(size(1_000_000)):
        tell(problem)
        found.append((problem, f"{ours:,.1f}", against, f"{other:,.1f}", f"{ratio:.2f}", wanted))
    return found


GROUPS = {"serving": table}


if __name__ == "__main__":
    for problem, ours, against, other, ratio, wanted in lines(1_000_000):
        print(f"{problem} | {ours:,.1f} | {against} | {other:,.1f} | {ratio:.2f} | {wanted}")
