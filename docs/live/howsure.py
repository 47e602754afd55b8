"""Counts of persons in clinics, half of them treated: four kinds of intervals in each of a thousand data sets."""

from functools import cache

import numpy as np
from scipy.special import ndtri, stdtrit, xlogy

import neglog as nl

SETS, CLINIC = 1000, 4  # data sets, and the rows of a clinic
FEWEST, MOST, STEP = 24, 160, 8  # rows
MEANS = (2.5, 1.5)  # without and with treatment
TRUTH = float(np.log(MEANS[1] / MEANS[0]))
SEED = 12
Z = float(ndtri(0.95))


def data():
    reach = {rows: float(stdtrit(rows // CLINIC - 1, 0.95)) for rows in range(FEWEST, MOST + 1, STEP)}
    sizes = {"sets": SETS, "clinic": CLINIC, "fewest": FEWEST, "most": MOST, "step": STEP}
    return {**sizes, "means": MEANS, "truth": TRUTH, "seed": SEED, "z": Z, "t": reach}


def uniform(places):
    """A number between 0 and 1 for each place, the same in every language: the places with their bits well mixed."""
    h = (places.astype(np.uint64) + SEED) * 0x9E3779B1 & 0xFFFFFFFF
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        h = (h ^ (h >> shift)) * factor & 0xFFFFFFFF
    return ((h ^ (h >> 15)) + 0.5) / 2**32


@cache
def drawn(rows, own, shared, design):
    """y, (data sets, rows), and who is treated."""
    place = 3 * (MOST * np.arange(SETS)[:, None] + np.arange(rows))
    first = place - 3 * (np.arange(rows) % CLINIC)  # of its clinic
    clinic = np.arange(rows) // CLINIC
    treated = clinic % 2 if design == "whole" else np.arange(rows) % 2
    rate = np.where(treated, MEANS[1], MEANS[0])
    rate = rate * (1 - own - own * np.log(uniform(place))) * (1 - shared - shared * np.log(uniform(first + 1)))
    return counts(rate, uniform(place + 2)), treated


def counts(rate, u):
    """The smallest numbers up to which Poisson's law has the probability u."""
    term = np.exp(-rate)
    below, y = term.copy(), np.zeros(rate.shape)
    while (more := below < u).any() and y.max() < 200:
        y += more
        term = np.where(more, term * rate / np.maximum(y, 1), term)
        below += np.where(more, term, 0.0)
    return y


@cache
def intervals(rows, own, shared, design):
    """Estimates, standard errors of three kinds, and which intervals of the four hold the truth."""
    y, treated = drawn(rows, own, shared, design)
    half = rows // 2
    without, with_ = (y[:, treated == k].sum(axis=1) for k in (0, 1))
    estimate = np.log(with_ / without)
    own_sum = np.where(treated, with_[:, None], without[:, None])
    moved = np.where(treated, 1, -1) * (y / own_sum - 1 / half)  # the estimate, by each row
    together, clinics = moved.reshape(SETS, -1, CLINIC).sum(axis=2), rows // CLINIC
    errors = {
        "posterior": np.sqrt(1 / without + 1 / with_),
        "robust": np.sqrt(np.sum(moved**2, axis=1)) / (1 - 1 / half),
        "clustered": np.sqrt(np.sum(together**2, axis=1) * clinics / (clinics - 1)),
    }
    reach = {"posterior": Z, "robust": Z, "clustered": stdtrit(clinics - 1, 0.95)}
    holds = {kind: np.abs(estimate - TRUTH) <= reach[kind] * error for kind, error in errors.items()}
    total, share = without + with_, MEANS[1] / sum(MEANS)
    lost = xlogy(with_, with_ / (total * share)) + xlogy(without, without / (total * (1 - share)))
    return estimate, errors, {**holds, "profile": lost <= 0.5 * Z**2}


@cache
def expected(rows, own, shared, design, shown):
    """Lengths of the intervals of one data set by neglog, and how often each kind holds the truth in all of them."""
    y, treated = drawn(rows, own, shared, design)
    fit = nl.fit(treated[:, None].astype(float), y[shown - 1], nl.Poisson(), tol=1e-10)
    found = {
        "posterior": fit.interval(0.9),
        "profile": fit.interval(0.9, "profile"),
        "robust": fit.interval(0.9, errors="HC3"),
        "clustered": fit.interval(0.9, errors="cluster", cluster=np.arange(rows) // CLINIC),
    }
    lengths = {f"{kind}_length": float(np.diff(one["x0"])[0]) for kind, one in found.items()}
    holds = intervals(rows, own, shared, design)[2]
    return {**lengths, **{f"{kind}_holds": 100 * float(held.mean()) for kind, held in holds.items()}}
