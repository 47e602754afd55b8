"""Entropy, cross-entropy and divergence of tensors of probabilities, under the rules of `neglog.information`.

One axis holds the classes and is summed over; the others stay. Probabilities are checked, not repaired, unless
normalize=True asks for it. Results are in nats, or in units of log(base), and differentiable. Numbers are float32 at
least. Under torch.compile the values are not checked.
"""

from typing import Any

import torch
from torch import Tensor

from neglog.distributions.base import in_base


def entropy(p: Tensor, *, base: float | None = None, axis: int = -1, normalize: bool = False) -> Tensor:
    """H(P) = -sum p log p along `axis`; 0 log 0 counts as 0 and passes no gradient.

    >>> import torch
    >>> entropy(torch.tensor([0.5, 0.25, 0.25]), base=2)
    tensor(1.5000)
    """
    rows = _rows(p, "p", axis, normalize)
    return in_base(-(rows * _log_where_positive(rows)).sum(dim=-1), base)


def kl_divergence(
    p: Tensor, q: Tensor, *, base: float | None = None, axis: int = -1, normalize: bool = False
) -> Tensor:
    """D(P || Q) = sum p log(p / q) >= 0 along `axis`; +inf where q = 0 < p. P, what is true, comes first.

    torch.nn.functional.kl_div takes log q first and, by default, averages over classes as well as rows, which is no
    divergence; here each row gives its own.

    >>> import torch
    >>> kl_divergence(torch.tensor([0.5, 0.5]), torch.tensor([0.75, 0.25]), base=2)
    tensor(0.2075)
    """
    first, second = _pair(p, q, axis, normalize)
    some = first > 0
    # p log(p/q) - p + q: the same sum for normalised rows, of terms that are never negative, so that nothing cancels
    x = torch.log(torch.where(some, second, 1.0)) - _log_where_positive(first)
    terms = torch.where(some, first * (torch.expm1(x) - x), second)
    return in_base(terms.sum(dim=-1), base)


def cross_entropy(
    p: Tensor, q: Tensor, *, base: float | None = None, axis: int = -1, normalize: bool = False
) -> Tensor:
    """H(P, Q) = -sum p log q = H(P) + D(P || Q) along `axis`; +inf where q = 0 < p.

    For logits and class numbers use NLLLoss("categorical"), which never forms the probabilities.

    >>> import torch
    >>> cross_entropy(torch.tensor([0.5, 0.25, 0.125, 0.125]), torch.full((4,), 0.25), base=2)
    tensor(2.)
    """
    first, second = _pair(p, q, axis, normalize)
    some = first > 0
    return in_base(-torch.where(some, first * torch.log(torch.where(some, second, 1.0)), 0.0).sum(dim=-1), base)


def _log_where_positive(rows: Tensor) -> Tensor:
    return torch.log(torch.where(rows > 0, rows, 1.0))


def _pair(p: Tensor, q: Tensor, axis: int, normalize: bool) -> tuple[Tensor, Tensor]:
    first, second = _rows(p, "p", axis, normalize), _rows(q, "q", axis, normalize)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"p and q must have the same classes, but have {first.shape[-1]} and {second.shape[-1]}")
    return first, second


def _rows(values: Any, name: str, axis: int, normalize: bool) -> Tensor:
    """Probabilities with the classes last, checked."""
    if not isinstance(values, Tensor):
        raise TypeError(
            f"{name} must be a tensor, but is a {type(values).__name__}; arrays go to neglog's own functions"
        )
    if not isinstance(axis, int):
        raise TypeError(f"axis must be one integer, but is {axis!r}")
    if values.ndim == 0:
        raise ValueError(f"{name} must be a tensor of probabilities, not the single number {values.item()}")
    given = values if values.dtype == torch.float64 else values.float()
    rows = given.movedim(axis, -1)
    sums = rows.sum(dim=-1)
    if not torch.compiler.is_compiling():
        _refuse_bad_entries(rows, name)
        if normalize:
            _refuse(sums, ~((sums > 0) & torch.isfinite(sums)), f"{name} must have a positive sum to be normalised", "")
        else:
            tolerance = 1e-8 if rows.dtype == torch.float64 else 1e-5
            off = torch.abs(sums - 1) > tolerance
            _refuse(sums, off, f"{name} must sum to 1", "; pass normalize=True to divide by the sum, or use .softmax")
    return rows / sums.unsqueeze(-1) if normalize else rows


def _refuse_bad_entries(rows: Tensor, name: str) -> None:
    bad = torch.nonzero(~(rows >= 0))
    if len(bad):
        first = tuple(int(i) for i in bad[0])
        raise ValueError(
            f"{name} must hold probabilities, but {len(bad)} of {rows.numel()} are negative or NaN; "
            f"the first is {rows[first].item()} at index {_index(first)}{_moved(rows)}"
        )


def _refuse(sums: Tensor, wrong: Tensor, rule: str, advice: str) -> None:
    bad = torch.nonzero(wrong)
    if not len(bad):
        return
    first = tuple(int(i) for i in bad[0])
    if not first:
        raise ValueError(f"{rule}, but it sums to {sums.item():.12g}{advice}")
    raise ValueError(
        f"{rule}, but {len(bad)} of {sums.numel()} rows do not; the first sums to {sums[first].item():.12g} "
        f"at index {_index(first)}{advice}"
    )


def _index(position: tuple[int, ...]) -> Any:
    return position[0] if len(position) == 1 else position


def _moved(rows: Tensor) -> str:
    return " (classes on the last axis)" if rows.ndim > 1 else ""
