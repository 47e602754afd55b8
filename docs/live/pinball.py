"""The pinball loss and the asymmetric Laplace density behind it, beside the Gaussian of the same variance."""

import numpy as np

import neglog as nl


def data():
    return {"residual": 2.0, "quantile": 0.8, "scale": 0.4}


def expected(residual, quantile, scale):
    noise = nl.AsymmetricLaplace(scale=scale, quantile=quantile)
    nll, gradient, curvature = noise.derivatives(residual, 0.0)
    law = nl.AsymmetricLaplace(0.0, scale, quantile)
    return {
        "loss": float(noise.loss(residual, 0.0)),
        "nll": float(nll),
        "gradient": float(gradient),
        "curvature": float(curvature),
        "below": float(law.cdf(residual)),
        "gaussian": float(nl.Gaussian(0.0, np.sqrt(law.variance())).nll(residual)),
    }
