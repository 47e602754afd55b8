"""One fit for each group, against loops over the groups, and against what polars does in a group_by; all in turn, best
of several. A loop goes over some of the groups and its time is scaled up. `python benchmarks/by_group.py` prints them.
"""

import numpy as np
import timing
from data import AbsentError

import neglog as nl
from neglog.design import read
from neglog.engines.memory import Loss, Memory

COLUMNS = ("problem", "ms", "against", "its ms", "ratio", "wanted", "largest difference")
ROUNDS = 3
ROWS, WIDTH = 50, 5  # of a group
LOOPED = 300


def data(groups):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(groups * ROWS, WIDTH))
    by = rng.permutation(np.repeat(np.arange(groups), ROWS))
    coef = 0.3 * rng.normal(size=(groups, WIDTH))
    eta = 0.5 + np.einsum("ij,ij->i", X, coef[by])
    return X, by, rng.poisson(np.exp(eta)).astype(float), eta + rng.normal(size=len(by))


def lines(groups):
    """Problem, milliseconds, what it is compared with, milliseconds of that, the ratio, what is wanted, and by how much
    coefficients differ.
    """
    X, by, counts, amounts = data(groups)
    name = f"{groups:,} groups of {ROWS} rows × {WIDTH}"
    engine, theta = Memory(read(X), counts, None, None, Loss("poisson", "log")), np.zeros(WIDTH + 1)
    fits = nl.fit_by(X, counts, nl.Poisson(), by=by)
    assert fits.converged.all()
    times = timing.best_times(
        {
            "ours": lambda: nl.fit_by(X, counts, nl.Poisson(), by=by),
            "errors": lambda: nl.fit_by(X, counts, nl.Poisson(), by=by).table(),
            "pass": lambda: engine.evaluate(theta, True),
        },
        ROUNDS,
    )
    yield f"{name}, Poisson", times["ours"], "one pass over all rows", times["pass"], "≤ 100 passes", None
    yield f"{name}, Poisson, nll and errors too", times["errors"], "one pass over all rows", times["pass"], "", None
    some = [np.flatnonzero(by == group) for group in range(min(LOOPED, groups))]
    for rival, run in loops(X, counts).items():
        best = timing.best_times({"rival": lambda run=run: [run(rows) for rows in some]}, 1)["rival"]
        wanted = "≥ 100" if rival in ("statsmodels", "glum") else ""
        apart = np.abs(np.array([run(rows) for rows in some[:20]]) - fits.coef[:20]).max()
        yield f"{name}, Poisson", times["ours"], f"a loop of {rival}", best * groups / len(some), wanted, apart
    yield from against_polars(name, X, by, amounts)


def against_polars(name, X, by, y):
    try:
        import polars as pl
        import polars_ds as pds
    except ImportError:
        raise AbsentError("polars_ds is not installed") from None
    names = [f"x{j}" for j in range(WIDTH)]
    table = pl.DataFrame({"group": by, "y": y, **{name: X[:, j] for j, name in enumerate(names)}})
    expression = pds.lin_reg(*names, target="y", add_bias=True).alias("coef")
    run = {
        "ours": lambda: nl.fit_by(table, "y", by="group"),
        "polars_ds": lambda: table.group_by("group").agg(expression),
    }
    times = timing.best_times(run, ROUNDS)
    found = run["polars_ds"]().sort("group")["coef"].to_list()
    apart = np.abs(np.array(found)[:, :WIDTH] - run["ours"]().coef).max()
    yield f"{name}, Gaussian", times["ours"], "polars_ds in a group_by", times["polars_ds"], "≥ 3", apart


def loops(X, y):
    """What others do with the rows of one group."""
    import statsmodels.api as sm
    from glum import GeneralizedLinearRegressor
    from sklearn.linear_model import PoissonRegressor

    def statsmodels(rows):
        return sm.GLM(y[rows], sm.add_constant(X[rows]), sm.families.Poisson()).fit().params[1:]

    def glum(rows):
        return GeneralizedLinearRegressor(family="poisson", alpha=0).fit(X[rows], y[rows]).coef_

    def sklearn(rows):
        return PoissonRegressor(alpha=0, solver="newton-cholesky").fit(X[rows], y[rows]).coef_

    def own(rows):
        return nl.fit(X[rows], y[rows], nl.Poisson()).coef

    return {"statsmodels": statsmodels, "glum": glum, "scikit-learn": sklearn, "nl.fit": own}


def small():
    """Few groups, whose fits take as long as one waits for them."""
    X, by, counts, amounts = data(1000)
    for name, y, noise in (
        ("Poisson", counts, nl.Poisson()),
        ("Gaussian", amounts, nl.Gaussian()),
        ("Gamma", np.exp(amounts), nl.Gamma()),
        ("NegativeBinomial", counts, nl.NegativeBinomial()),
        ("StudentT", amounts, nl.StudentT()),
    ):
        some = [np.flatnonzero(by == group) for group in range(100)]

        def loop(y=y, noise=noise, some=some):
            for rows in some:
                nl.fit(X[rows], y[rows], noise)

        run = {"ours": lambda y=y, noise=noise: nl.fit_by(X, y, noise, by=by), "loop": loop}
        times = timing.best_times(run, ROUNDS)
        wanted = "a few ms" if name in ("Poisson", "Gaussian") else ""
        yield (
            f"1,000 groups of {ROWS} rows, {name}",
            times["ours"],
            "a loop of nl.fit",
            10 * times["loop"],
            wanted,
            None,
        )
    run = {"ours": lambda: nl.fit_by(X, counts, nl.Poisson(), by=by, pool=True)}
    alone = timing.best_times({"alone": lambda: nl.fit_by(X, counts, nl.Poisson(), by=by)}, ROUNDS)["alone"]
    times = timing.best_times(run, 1)
    yield f"1,000 groups of {ROWS} rows, Poisson, pool=True", times["ours"], "without", alone, "", None


def table(size, tell):
    """For run.py."""
    found = []
    for problem, ours, against, other, wanted, apart in (*small(), *lines(size(100_000))):
        tell(problem)
        difference = "" if apart is None else f"{apart:.1e}"
        found.append(
            (problem, f"{1e3 * ours:,.1f}", against, f"{1e3 * other:,.1f}", f"{other / ours:.2f}", wanted, difference)
        )
    return found


GROUPS = {"by": table}


if __name__ == "__main__":
    for line in table(lambda groups: groups, lambda text: None):
        print(" | ".join(line))
