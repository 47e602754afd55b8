"""Student's t noise beside the Gaussian and the Cauchy law that it lies between."""

import neglog as nl


def data():
    return {"residual": 3.0, "df": 4.0, "scale": 1.0}


def expected(residual, df, scale):
    noise = nl.StudentT(scale=scale, df=df)
    nll, gradient, curvature = noise.derivatives(residual, 0.0)
    z = residual / scale
    return {
        "loss": float(noise.loss(residual, 0.0)),
        "nll": float(nll),
        "gradient": float(gradient),
        "curvature": float(curvature),
        "weight": float((df + 1) / (df + z**2)),
        "gaussian": float(nl.Gaussian().loss(z, 0.0) / 2),
    }
