"""Least squares needs the rows only once: afterwards their Gram matrix answers every question."""

from neglog.distributions.arrays import Numbers


class Moments:
    """Half the weighted sum of squared residuals as a function of theta, from the Gram matrix of [columns, y]."""

    def __init__(self, gram: Numbers) -> None:
        self.gram = gram
        self.width = len(gram) - 1

    def evaluate(
        self, theta: Numbers, curvature: bool, expected: bool = False
    ) -> tuple[float, Numbers, Numbers | None]:
        """Value, gradient and matrix of second derivatives, as of an engine that holds rows."""
        slopes = self.gram[:, :-1] @ theta - self.gram[:, -1]
        value = 0.5 * (theta @ slopes[:-1] - slopes[-1])
        return max(value, 0.0), slopes[:-1], self.gram[:-1, :-1].copy() if curvature else None
