"""Cross-entropy: the expected -log q of a draw from P; what a mean nll estimates."""

from typing import Any

from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution
from neglog.information.entropy import entropy
from neglog.information.kl import kl_divergence


def cross_entropy(
    p: ArrayLike | Distribution,
    q: ArrayLike | Distribution,
    *,
    base: float | None = None,
    axis: int = -1,
    normalize: bool = False,
) -> Any:
    """H(P, Q) = -sum p log q = H(P) + D(P || Q): the total, not the extra, cost of coding P with Q.

    >>> float(cross_entropy([0.5, 0.25, 0.125, 0.125], [0.25] * 4, base=2))
    2.0
    """
    options: Any = {"base": base, "axis": axis, "normalize": normalize}
    return kl_divergence(p, q, **options) + entropy(p, **options)
