"""Eight levels of a group, each with its mean and its rows; one of them may have none."""

from functools import cache

import numpy as np
import pyarrow as pa

import neglog as nl

SIGMA = 1.0
LEAST = -2.0  # the slider's end, where the scale is 0
LEVELS = ["A", "B", "C", "D", "E", "F", "G", "H"]
ROWS = [0, 1, 2, 3, 5, 9, 16, 30]  # those of A are a control
MEANS = [2.2, -1.7, 1.4, 0.2, -0.9, 0.6, -0.3, 0.9]


def data():
    return {"sigma": SIGMA, "least": LEAST, "levels": LEVELS, "rows": ROWS, "means": MEANS}


@cache
def fitted(rows, term):
    """Only the means of the levels matter where the noise is known, so all rows of a level have its mean."""
    counts = [rows, *ROWS[1:]]
    table = pa.table({"level": np.repeat(LEVELS, counts), "y": np.repeat(MEANS, counts)})
    return nl.fit(table, "y", nl.Gaussian(scale=SIGMA), terms=[] if term is None else [term], tol=1e-10)


def expected(rows, scale):
    s = 0.0 if scale <= LEAST else 10.0**scale
    fit = fitted(rows, nl.group("level", scale=s))
    law = fit.posterior().predictive(pa.table({"level": ["A"]}))
    estimate = float(law.mean()[0])
    return {
        "credibility": (estimate - fit.intercept) / (MEANS[0] - fit.intercept) if rows and s else 0.0,
        "estimate": estimate,
        "error": float(np.sqrt(law.variance()[0] - SIGMA**2)),
        "common": float(fit.intercept),
        "gained": fit.posterior().evidence - fitted(rows, None).posterior().evidence if s else 0.0,
        "best": fitted(rows, nl.group("level")).terms["level"].scale,
    }
