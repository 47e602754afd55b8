"""How often intervals of 90% hold the truth: every noise with its parameters open, over many samples from it.

The intervals are those of `fit.summary(0.9)`. They are asymptotic: rows are so many that what is left of that is below
what the number of samples lets one see.
"""

import warnings

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
        if not issubclass(family, Noise) or not family.traits.intercept:
            continue
        own = [one.name for one in family.declared if one.name != family.location]
        example = {key: value for key, value in family.examples[0].items() if key in own}
        truth = family(**(example | TRUTH.get(name, {})))
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


# ---- few rows --------------------------------------------------------------------------------------------------------

FEW = (20, 40)
EXACT, WANTED_OF_FEW = ("gaussian", "lognormal"), (0.88, 0.92)


def few_rows(size, tell):
    """The same where rows are few, and how often 90% of the predictive law hold a new y; reported where no law of few
    rows is known.
    """
    for name, noise, truth, unit in sorted(cases(), key=lambda case: case[0] not in EXACT):
        if name not in FAMILIES or noise.labelled or not noise.smooth or hasattr(noise, "around"):
            continue
        samples = 100 if size.quick else 2000 if name in EXACT else 200
        for rows in FEW:
            tell(f"few rows: {name}, {rows}")
            shares, lost = coverage_of_few(noise, truth, unit, rows, samples)
            low, high = WANTED_OF_FEW
            for parameter, share in shares.items():
                exact = name in EXACT
                fine = ", outside" if exact and not low <= share <= high else ""
                wanted = f"{low} to {high}" if exact else ""
                yield name, f"{rows}", f"{samples - lost}", parameter, f"{share:.3f}{fine}", wanted
            if lost:
                yield name, f"{rows}", f"{samples}", "no fit or no posterior", f"{lost}", ""


def coverage_of_few(noise, truth, unit, rows, samples):
    """The shares of intervals and of predictive laws that hold the truth, and how often there were none."""
    total, lost = {}, 0
    for rng in np.random.default_rng(0).spawn(samples):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found, converged = held(noise, truth, unit, rows, rng)
                found["new y"] = ahead(noise, truth, rows, rng) if converged else None
            except ValueError:
                lost += 1
                continue
        if not converged:
            lost += 1
            continue
        for name, inside in found.items():
            total[name] = total.get(name, 0.0) + float(inside)
    return {name: count / max(samples - lost, 1) for name, count in total.items()}, lost


def ahead(noise, truth, rows, rng):
    """The probability that the predictive law's central 90% holds one new y, by many of them."""
    X, y, _ = drawn(truth, rows, rng)
    there, new, _ = drawn(truth, 200, rng)
    law = nl.fit(X, y, noise).posterior().predictive(there)
    return np.mean((law.cdf(new) > 0.5 - LEVEL / 2) & (law.cdf(np.nextafter(new, -np.inf)) < 0.5 + LEVEL / 2))


GROUPS = {"coverage": table, "few_rows": few_rows}
