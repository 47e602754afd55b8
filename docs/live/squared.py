"""Squared error and the Gaussian density behind it."""

import neglog as nl


def data():
    return {"residual": 1.5, "scale": 1.0}


def expected(residual, scale):
    noise = nl.Gaussian(scale=scale)
    nll, gradient, curvature = noise.derivatives(residual, 0.0)
    loss = noise.loss(residual, 0.0)
    return {"loss": float(loss), "nll": float(nll), "gradient": float(gradient), "curvature": float(curvature)}
