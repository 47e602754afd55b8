"""Student's t noise beside the Gaussian and the Cauchy law that it lies between."""

import numpy as np
from scipy import stats


def data():
    return {"residual": 3.0, "df": 4.0, "scale": 1.0}


def expected(residual, df, scale):
    z = residual / scale
    law = stats.t(df, scale=scale)
    weight = (df + 1) / (df + z**2)
    return {
        "loss": float(law.logpdf(0.0) - law.logpdf(residual)),
        "nll": float(-law.logpdf(residual)),
        "gradient": float(-weight * z / scale),
        "curvature": float(weight * (1 - 2 * z**2 / (df + z**2)) / scale**2),
        "weight": float(weight),
        "gaussian": float(np.square(z) / 2),
    }
