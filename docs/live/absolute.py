"""Absolute error and the Laplace density behind it, beside the Gaussian of the same variance."""

import numpy as np

import neglog as nl


def data():
    return {"residual": 2.0, "scale": 1.0}


def expected(residual, scale):
    noise = nl.Laplace(scale=scale)
    nll, gradient, curvature = noise.derivatives(residual, 0.0)
    gaussian = nl.Gaussian(0.0, np.sqrt(nl.Laplace(0.0, scale).variance())).nll(residual)
    return {
        "loss": float(noise.loss(residual, 0.0)),
        "nll": float(nll),
        "gradient": float(gradient),
        "curvature": float(curvature),
        "gaussian": float(gaussian),
    }
