"""Is the error of a paired difference right? Repeated samples of the same truth, compared again and again.

`python benchmarks/ties.py` prints, for each truth and pair of noises, the standard deviation of the difference over the
samples, divided by the root mean square of the errors that `nl.compare` reports: 1 if they are right, above 1 if they
are too small.
"""

import sys

import numpy as np

import neglog as nl

TRUTHS = {
    "gaussian": lambda eta, rng: eta + rng.normal(size=len(eta)),
    "student": lambda eta, rng: eta + rng.standard_t(5, size=len(eta)),
    "gamma": lambda eta, rng: rng.gamma(3.0, np.exp(eta) / 3),
    "poisson": lambda eta, rng: rng.poisson(np.exp(eta)).astype(float),
    "overdispersed": lambda eta, rng: rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, size=len(eta))).astype(float),
}
CASES = (
    ("gaussian", ("gaussian", "laplace")),
    ("gaussian", ("gaussian", "huber")),
    ("student", ("gaussian", "laplace")),
    ("gamma", ("gamma", "lognormal")),
    ("poisson", ("poisson", "gaussian")),
    ("overdispersed", ("poisson", "gaussian")),
)


def ratio(truth, pair, rows, columns, repeats, folds=5):
    """The spread of the difference over samples, in units of the error that is reported."""
    gaps, errors = [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, columns))
        y = TRUTHS[truth](0.3 + 0.2 * X.sum(axis=1), rng)
        found = nl.compare(X, y, list(pair), "gaussian(scale=1)", folds=folds)
        gap, error = found.gap(found.scores[1])
        gaps.append(gap if found.scores[0].name.lower() == pair[0] else -gap)
        errors.append(error)
    return float(np.std(gaps) / np.sqrt(np.mean(np.square(errors))))


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for truth, pair in CASES:
        for rows, columns in ((100, 3), (400, 3), (400, 20)):
            found = ratio(truth, pair, rows, columns, repeats)
            print(f"{truth:14} {' / '.join(pair):20} {rows:4} rows {columns:3} columns  {found:.3f}", flush=True)
