"""Two correlated coefficients under a Gaussian or a Laplace prior: mode and mean of the posterior."""

import numpy as np

import neglog as nl

SIGMA = 1.0
PRIORS = {"gaussian": nl.Gaussian, "laplace": nl.Laplace}


def columns() -> np.ndarray:
    """Twelve rows of two columns with correlation."""
    first = np.repeat([-1.0, 0.0, 1.0], 4)
    second = np.tile([-1.0, -0.5, 0.5, 1.0], 3)
    return np.column_stack([first, 0.5 * first + 0.8 * second])


def data() -> dict:
    X = columns()
    return {"information": (X.T @ X / SIGMA**2).tolist()}


def expected(prior: str, scale: float, mle1: float, mle2: float) -> dict[str, float]:
    X, belief = columns(), PRIORS[prior](scale=scale)
    y = X @ [mle1, mle2]  # whose least squares are the MLE
    fit = nl.fit(X, y, nl.Gaussian(scale=SIGMA), belief, intercept=False, tol=1e-11)

    at = np.linspace(-4, 4, 801)  # Simpson's rule, a node at the kink
    weight = np.where(np.arange(801) % 2, 4.0, 2.0)
    weight[[0, -1]] = 1.0
    precision = X.T @ X / SIGMA**2
    first, second = at[:, None] - mle1, at[None, :] - mle2
    nats = 0.5 * (precision[0, 0] * first**2 + precision[1, 1] * second**2) + precision[0, 1] * first * second
    nats = nats + belief.nll(at)[:, None] + belief.nll(at)[None, :]
    mass = weight[:, None] * weight * np.exp(nats.min() - nats)
    return {
        "map1": float(fit.coef[0]),
        "map2": float(fit.coef[1]),
        "mean2": float((mass.sum(axis=0) @ at) / mass.sum()),
        "penalty": float(belief.penalty(fit.coef)),
    }
