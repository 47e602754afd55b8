"""Three observations and the -log likelihood of their common mean."""

import numpy as np

import neglog as nl

NOISES = {"gaussian": nl.Gaussian, "laplace": nl.Laplace}


def data() -> dict:
    return {"y": [2.0, 3.0, 7.0]}


def expected(noise: str, y1: float, y2: float, y3: float, mean: float, scale: float) -> dict[str, float]:
    y, law = np.array([y1, y2, y3], float), NOISES[noise]
    found = nl.fit(np.empty((3, 0)), y, law(scale=scale), tol=1e-10).intercept
    residual = y - found
    best_scale = np.sqrt(np.mean(residual**2)) if noise == "gaussian" else np.mean(np.abs(residual))
    return {
        "nll": float(law(mean, scale).nll(y).sum()),
        "mle": float(found),
        "least": float(law(found, scale).nll(y).sum()),
        "scale_mle": float(best_scale),
    }
