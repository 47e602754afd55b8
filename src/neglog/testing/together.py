"""How far several estimates lie from what they estimate, all at once: by draws of their common law."""

import numpy as np

from neglog.typing import Numbers

DRAWS = 10_000


def largest(matrix: Numbers, covariance: Numbers, degrees: float | None) -> Numbers:
    """Draws of the largest distance of rows of `matrix` times the coefficients from their middle, in their standard
    errors; of Student's t with so many degrees of freedom, if any.
    """
    spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", matrix, covariance, matrix), 0.0))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    seen = spread > 0
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((DRAWS, root.shape[1])) @ (matrix[seen] @ root).T
    found = np.max(np.abs(draws) / spread[seen], axis=1, initial=0.0)
    if degrees is not None:
        found = found / np.sqrt(rng.chisquare(degrees, DRAWS) / degrees)
    return np.asarray(found)


def together(matrix: Numbers, covariance: Numbers, level: float, degrees: float | None) -> float:
    """Standard errors within which all of them lie with this probability."""
    return float(np.quantile(largest(matrix, covariance, degrees), level))
