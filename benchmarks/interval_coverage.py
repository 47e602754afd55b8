"""How often intervals of 90% hold the truth: every noise with its parameters open, over many samples from it.

The intervals are those of `fit.summary(0.9)`. They are asymptotic: rows are so many that what is left of that is below
what the number of samples lets one see.
"""

import numpy as np

import neglog as nl
from neglog.distributions import FAMILIES, Noise

COLUMNS = ("noise", "rows", "samples", "parameter", "90% intervals that hold the truth", "wanted")
LEVEL, WANTED = 0.9, (0.87, 0.93)
SLOPES = np.array([0.3, -0.2, 0.1])
TRUTH = {  # of the open parameters, where the family's first example is not
    "gaussian": {"scale": 0.5},
    "laplace": {"scale": 0.5},
    "huber": {"scale": 0.5, "delta": 1.345},
    "lognormal": {"scale": 0.5},
    "gamma": {"shape": 3.0},
    "tweedie": {"power": 1.5, "dispersion": 0.6},
}
OPEN = {  # beyond what is open by default
    "huber": {"delta": None},
}


def cases():
    """(name, noise to fit, noise that is true, unit of y)."""
    for name, family in FAMILIES.items():
        if not issubclass(family, Noise):
            continue
        truth = family(**TRUTH.get(name, {}))
        yield name, family(), truth, 1.0
        if name in OPEN:
            yield f"{name}, threshold open", family(**OPEN[name]), truth, 1.0
        if "scale" in TRUTH.get(name, {}) and name != "lognormal":
            yield f"{name}, y in units of 100", family(), truth, 100.0


def drawn(truth, rows, rng):
    """Columns, targets and the coefficients behind them, intercept first; a row for each class."""
    X = rng.normal(size=(rows, len(SLOPES)))
    coef = np.append(0.5, SLOPES)
    if isinstance(truth, nl.Categorical):
        coef = np.stack([coef, -coef, np.zeros(len(coef))])
        eta = coef[:, 0] + X @ coef[:, 1:].T
    else:
        eta = coef[0] + X @ coef[1:]
    return X, truth.given(eta).sample(rng=rng), coef


def held(noise, truth, unit, rows, rng):
    """For each line of the summary of one sample, whether its interval holds the truth."""
    X, y, coef = drawn(truth, rows, rng)
    fit = nl.fit(X, unit * y, noise)
    table = fit.summary(LEVEL).table
    names = fit.noise_standard_errors
    known = [getattr(truth, name) * (unit if name == "scale" else 1.0) for name in names]
    true = np.append(unit * coef.reshape(-1), known)
    return dict(zip(table["name"], (table["lower"] <= true) & (true <= table["upper"]), strict=True)), fit.converged


def coverage(noise, truth, unit, rows, samples, seed=0):
    """The share of samples whose interval holds the truth, by parameter; and how many did not converge."""
    total, lost = {}, 0
    for rng in np.random.default_rng(seed).spawn(samples):
        found, converged = held(noise, truth, unit, rows, rng)
        lost += not converged
        for name, inside in found.items():
            total[name] = total.get(name, 0) + int(inside)
    return {name: count / samples for name, count in total.items()}, lost


def table(size, tell):
    """One line for each noise and parameter."""
    rows, samples = (600, 20) if size.quick else (4000, 1000)
    for name, noise, truth, unit in cases():
        tell(f"coverage: {name}")
        shares, lost = coverage(noise, truth, unit, rows, samples)
        for parameter, share in shares.items():
            fine = "" if WANTED[0] <= share <= WANTED[1] else ", outside"
            yield name, f"{rows}", f"{samples}", parameter, f"{share:.3f}{fine}", f"{WANTED[0]} to {WANTED[1]}"
        if lost:
            yield name, f"{rows}", f"{samples}", "not converged", f"{lost}", "0"


GROUPS = {"coverage": table}
