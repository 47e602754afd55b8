"""Huber's loss and its density, beside the Gaussian and the Laplace law that it lies between."""

import numpy as np

import neglog as nl


def data():
    return {"residual": 2.5, "delta": 1.35, "scale": 1.0}


def expected(residual, delta, scale):
    noise = nl.Huber(scale=scale, delta=delta)
    nll, gradient, curvature = noise.derivatives(residual, 0.0)
    return {
        "loss": float(noise.loss(residual, 0.0)),
        "nll": float(nll),
        "gradient": float(gradient),
        "curvature": float(curvature),
        "contamination": float(1 - np.sqrt(2 * np.pi) * nl.Huber(0.0, 1.0, delta).pdf(0.0)),
    }
