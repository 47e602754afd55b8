"""What it costs to leave parameters of a noise open: each against the fit of a simpler noise, and against a rival; best
of several, in turn. `python benchmarks/opened.py` prints them.
"""

import time
import warnings

import data
import numpy as np

import neglog as nl

ROUNDS = 7
COLUMNS = ("problem", "ms", "against", "its ms", "ratio", "wanted")


def counts(n, d, dispersion=0.7):
    X, _ = data.dense("poisson", n, d)
    rng = np.random.default_rng(1)
    eta = 0.5 + data.predictor(X, rng)
    return X, nl.NegativeBinomial(dispersion=dispersion).given(eta).sample(rng=rng).astype(float)


def heavy(n, d):
    X, _ = data.dense("huber", n, d)
    rng = np.random.default_rng(1)
    return X, data.predictor(X, rng) + 0.7 * rng.standard_t(4, n)


def by_statsmodels(X, y):
    import statsmodels.api as sm

    A = sm.add_constant((X - X.mean(0)) / X.std(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sm.NegativeBinomial(y, A).fit(disp=0, maxiter=200)


def best(*functions):
    times = [[] for _ in functions]
    for _ in range(ROUNDS):
        for function, own in zip(functions, times, strict=True):
            begin = time.perf_counter()
            function()
            own.append(time.perf_counter() - begin)
    return [1000 * min(own) for own in times]


def lines():
    """Problem, milliseconds, what it is compared with, milliseconds of that, the ratio, and what is wanted."""
    X, y = counts(1_000_000, 50)
    ours, other = best(lambda: nl.fit(X, y, nl.NegativeBinomial()), lambda: nl.fit(X, y, nl.Poisson()))
    yield "NegativeBinomial, dispersion open, 1,000,000 × 50", ours, "Poisson", other, ours / other, "≤ 2"
    X, y = counts(100_000, 20)
    ours, other = best(lambda: nl.fit(X, y, nl.NegativeBinomial()), lambda: nl.fit(X, y, nl.Poisson()))
    yield "NegativeBinomial, dispersion open, 100,000 × 20", ours, "Poisson", other, ours / other, ""
    begin = time.perf_counter()
    rival = by_statsmodels(X, y)
    other = 1000 * (time.perf_counter() - begin)
    fit = nl.fit(X, y, nl.NegativeBinomial())
    assert fit.nll <= -rival.llf * (1 + 1e-6)
    yield "the same", ours, "statsmodels", other, other / ours, "≥ 20 times faster"
    X, y = heavy(200_000, 20)
    ours, other = best(lambda: nl.fit(X, y, nl.StudentT()), lambda: nl.fit(X, y, nl.Huber()))
    yield "StudentT, scale and df open, 200,000 × 20", ours, "Huber, scale open", other, ours / other, "≤ 4"
    X, y = data.dense("tweedie", 100_000, 20)
    known = nl.Tweedie(power=1.5, dispersion=1.0)
    ours, other = best(lambda: nl.fit(X, y, nl.Tweedie()), lambda: nl.fit(X, y, known))
    yield "Tweedie, power and dispersion open, 100,000 × 20", ours, "both known", other, ours / other, "≤ 5"


def table(size, tell):
    """For run.py; whatever the size, since ratios of small fits say nothing."""
    found = []
    for problem, ours, against, other, ratio, wanted in lines():
        tell(problem)
        found.append((problem, f"{ours:.3g}", against, f"{other:.3g}", f"{ratio:.2f}", wanted))
    return found


GROUPS = {"opened": table}


if __name__ == "__main__":
    for line in table(None, print):
        print(" | ".join(line))
