"""The errors of the exact Tweedie density and its derivatives, by power, against 50-digit mpmath."""

import json
from pathlib import Path

import numpy as np

import neglog as nl

REFERENCE = Path(__file__).parent.parent / "tests" / "reference" / "tweedie.json"
COLUMNS = ("power", "rows", "y / dispersion", "nll", "d / d mean", "d / d power", "d / d dispersion")


def table():
    """One line per power: the largest errors, relative where a number exceeds 1; slopes in units of the parameter."""
    cases = json.loads(REFERENCE.read_text(encoding="utf-8"))["cases"]
    for power in sorted({case["power"] for case in cases}):
        rows = [case for case in cases if case["power"] == power]
        y, mean, dispersion = (np.array([row[name] for row in rows]) for name in ("y", "mean", "dispersion"))
        law = nl.Tweedie(mean, power, dispersion)
        slopes = law.parameter_gradient(y)
        ratio = (y / dispersion)[y > 0]
        yield (
            f"{power:g}",
            str(len(rows)),
            f"{ratio.min():.0e} to {ratio.max():.0e}",
            error(law.nll(y), rows, "nll", 1.0),
            error(slopes["mean"], rows, "d_mean", mean),
            error(slopes["power"], rows, "d_power", (power - 1) * (2 - power)),
            error(slopes["dispersion"], rows, "d_dispersion", dispersion),
        )


def error(values, rows, name, unit):
    """The largest error of the column, in the given unit, relative where the number exceeds 1."""
    exact = np.array([float(row[name]) for row in rows])
    return f"{np.max(np.abs(values - exact) * unit / np.maximum(1, np.abs(exact) * unit)):.1e}"
