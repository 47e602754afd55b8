"""How often bands of 90% hold the true curve: over the points of a curve, and over many samples.

The bands are those of `fit.effect` at the rows, the truth the curve less its mean there. Such a band is about the
average over a curve, not about each of its points (Nychka 1988, Marra and Wood 2012): where a curve bends most it holds
the truth less often, elsewhere more; and a curve that is nearly straight, as growth is where rows say little, is held
less often, since its scale may come out as 0. Simultaneous bands are to hold whole curves.
"""

import numpy as np
import pandas as pd

import neglog as nl

COLUMNS = ("noise", "curve", "rows", "samples", "points that bands hold", "whole curves that wide bands hold", "wanted")
LEVEL, WANTED = 0.9, (0.88, 0.93)
CURVES = {
    "one wave": lambda x: 2 * np.sin(np.pi * x),
    "growth": lambda x: np.exp(2 * x) / 2,
    "two humps": lambda x: 0.1 * x**11 * (10 * (1 - x)) ** 6 + 5 * (10 * x) ** 3 * (1 - x) ** 10,
}
NOISES = {  # as it is fitted, its truth, and the size of the curves
    "Gaussian": (nl.Gaussian(), nl.Gaussian(scale=1.0), 1.0),
    "Poisson": (nl.Poisson(), nl.Poisson(), 0.4),
    "Bernoulli": (nl.Bernoulli(), nl.Bernoulli(), 1.0),
    "Gamma": (nl.Gamma(), nl.Gamma(shape=2.0), 0.5),
    "NegativeBinomial": (nl.NegativeBinomial(), nl.NegativeBinomial(dispersion=0.5), 0.4),
}


def held(noise, truth, size, rows, rng):
    """For each curve of one sample: the share of the rows at which its band holds it, and whether the wide one does."""
    table = pd.DataFrame({name: rng.uniform(size=rows) for name in CURVES})
    true = {name: size * curve(table[name].to_numpy()) for name, curve in CURVES.items()}
    true = {name: values - values.mean() for name, values in true.items()}
    table["y"] = truth.given(sum(true.values())).sample(rng=rng)
    fit = nl.fit(table, "y", noise, terms=[nl.smooth(name) for name in CURVES])
    out = {}
    for name, values in true.items():
        narrow, wide = (fit.effect(name, at=table[name], level=LEVEL, simultaneous=whole) for whole in (False, True))
        inside = (narrow.lower <= values) & (values <= narrow.upper)
        whole = bool(np.all((wide.lower <= values) & (values <= wide.upper)))
        out[name] = float(inside.mean()), whole
    return out


def coverage(noise, truth, size, rows, samples, seed=0):
    """Both shares for each curve, over many samples."""
    found = [held(noise, truth, size, rows, rng) for rng in np.random.default_rng(seed).spawn(samples)]
    return {name: np.mean([one[name] for one in found], axis=0) for name in CURVES}


def table(size, tell):
    """One line for each noise and curve, and one for all of them."""
    rows, samples = (200, 10) if size.quick else (400, 500)
    every = []
    for name, (noise, truth, height) in NOISES.items():
        tell(f"bands: {name}")
        shares = coverage(noise, truth, height, rows, samples)
        every += shares.values()
        for curve, (points, whole) in shares.items():
            yield name, curve, f"{rows}", f"{samples}", f"{points:.3f}", f"{whole:.3f}", ""
    points, whole = np.mean(every, axis=0)
    fine = "" if WANTED[0] <= points <= WANTED[1] else ", outside"
    yield "all", "all", f"{rows}", f"{samples}", f"{points:.3f}{fine}", f"{whole:.3f}", f"{WANTED[0]} to {WANTED[1]}"


GROUPS = {"bands": table}
