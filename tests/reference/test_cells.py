"""-log of the probability of cells and its derivatives, against mpmath: narrow ones, wide ones, and both tails.

What is asked is 1e-10 of the value, or 1e-12 nats of cells that are nearly certain, and what the rounding of the
standardised ends costs anyone.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

CASES = json.loads(Path(__file__).with_name("cells.json").read_text(encoding="utf-8"))["cases"]
EPS = np.finfo(float).eps
ASKED, FLOOR = 1e-10, 1e-12
LINK_SLOPES = {"identity": lambda m: 1.0, "log": lambda m: m, "logit": lambda m: m * (1 - m)}  # of the location in eta


def groups():
    """Cells of one law, which one call answers."""
    found = {}
    for row in CASES:
        found.setdefault((row["family"], *row["parameters"].values()), []).append(row)
    return [pytest.param(rows, id="-".join(map(str, name))) for name, rows in found.items()]


def law_and_cells(rows):
    lower = np.array([-np.inf if row["lower"] is None else row["lower"] for row in rows])
    upper = np.array([np.inf if row["upper"] is None else row["upper"] for row in rows])
    return getattr(nl, rows[0]["family"])(**rows[0]["parameters"]), nl.censored(lower, upper)


def check(found, wanted, rounding, rows, name):
    excess = np.abs(found - wanted) / (ASKED * np.abs(wanted) + FLOOR + 16 * EPS * rounding)
    excess = np.where(np.isnan(excess), np.inf, excess)
    worst = int(np.argmax(excess))
    assert excess[worst] <= 1, (
        f"{name}: {np.sum(excess > 1)} of {len(rows)} cells are off; the worst, {excess[worst]:.3g} times the "
        f"tolerance: got {found[worst]!r}, wanted {wanted[worst]!r} at {rows[worst]}"
    )


def column(rows, group, name):
    return np.array([float(row[group][name]) for row in rows])


@pytest.mark.parametrize("rows", groups())
def test_the_probability_of_a_cell(rows):
    law, cells = law_and_cells(rows)
    check(law.nll(cells), np.array([float(row["nll"]) for row in rows]), column(rows, "rounding", "nll"), rows, "nll")


@pytest.mark.parametrize("rows", groups())
def test_its_derivatives_in_every_parameter(rows):
    """They are asked for on the raw scales, and stored as derivatives in the parameters themselves."""
    law, cells = law_and_cells(rows)
    location = law.parameters[law.location]
    nll, slopes, _ = law.joint(cells, law.link.forward(location))
    chains = {law.location: LINK_SLOPES[law.link.name](location)}
    chains |= {own.name: own.raw.slope(law.parameters[own.name]) for own in law.beside_location()}
    np.testing.assert_allclose(nll, law.nll(cells), rtol=1e-12, atol=FLOOR)
    for slope, (name, chain) in zip(slopes, chains.items(), strict=True):
        wanted, rounding = (chain * column(rows, group, name) for group in ("gradient", "rounding"))
        check(slope, wanted, rounding, rows, name)


@pytest.mark.parametrize("name", ["Gamma", "Weibull", "InverseGaussian", "LogNormal", "BetaProportion", "Poisson"])
def test_beyond_the_support_there_is_nothing(name):
    """A share that was rounded to 1 lies in a cell that reaches above it: that is as good as no end there."""
    law = getattr(nl, name)(**next(row["parameters"] for row in CASES if row["family"] == name))
    cells, same = nl.censored([-0.5, 0.25], [0.25, np.inf]), nl.censored([-np.inf, 0.25], [0.25, np.inf])
    if name == "BetaProportion":
        cells = nl.censored([-0.5, 0.25], [0.25, 1.5])
    location = law.link.forward(law.parameters[law.location])
    for found, wanted in zip(law.joint(cells, location)[:2], law.joint(same, location)[:2], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
