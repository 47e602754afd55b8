"""What is refused before a loss is computed: shapes that broadcast by accident, labels outside the support, NaN."""

from typing import Any

import torch
from torch import Tensor

from neglog.distributions.noise import Noise
from neglog.distributions.support import Support

# ---- the support -----------------------------------------------------------------------------------------------------


def in_support(support: Support, y: Tensor) -> Tensor:
    """Where y has a density, or is a share of yeses; NaN never has."""
    low = y >= support.low if support.ends[0] else y > support.low
    high = y <= support.high if support.ends[1] else y < support.high
    inside = low & high & torch.isfinite(y)
    if support.step is None or support.high <= 1:
        return inside
    rounding = 0.0 if support.step == 1 else 2 * torch.finfo(y.dtype).eps  # of the product count * step
    return inside & (torch.abs(y - torch.round(y / support.step) * support.step) <= rounding * torch.abs(y))


def support_text(support: Support) -> str:
    """The support in words."""
    if support.step is not None and support.high <= 1:
        return "0 or 1, or a share between them"
    if support.step == 1:
        return "a count 0, 1, 2, …"
    text = support.text.removeprefix("y ").replace("real", "finite")
    return f"{text} and finite" if support.low == 0 and not support.ends[0] else text


def outside_link(locations: tuple[float, float], link: str, eta: Tensor) -> tuple[Tensor, float] | None:
    """Where a raw prediction is outside the domain of its link, and a number inside; None where nothing is."""
    low, high = locations
    if high == 1:
        if link == "identity":
            return (eta < 0) | (eta > 1), 0.5
        return (eta > 0, -0.5) if link == "log" else None
    if link in ("log", "logit", "probit") or (link == "identity" and low < 0):
        return None
    if low < 0:
        return (eta < 0, 0.5) if link == "sqrt" else (eta == 0, 0.5)
    return eta <= 0, 0.5


# ---- errors ----------------------------------------------------------------------------------------------------------


def refuse_type(noise: Noise, y: Tensor, name: str = "y") -> None:
    """Integers where the law is of real numbers, and real numbers where it is of classes."""
    if not isinstance(y, Tensor):
        raise TypeError(f"{name} must be a tensor, but is a {type(y).__name__}; use torch.as_tensor({name})")
    real = y.dtype.is_floating_point
    if noise.of_classes and (real or y.dtype == torch.bool):
        raise TypeError(
            f"y must hold class numbers 0, 1, … as integers under {noise!r}, but has the type {y.dtype}; use y.long()"
        )
    if not real and noise.measure != "mass":
        raise TypeError(
            f"{name} must hold real numbers under {noise!r}, but has the type {y.dtype}, as labels of classes or "
            f"counts do; use {name}.float() if they are amounts, or another noise (categorical, poisson) if not"
        )


def refuse_shapes(eta: Tensor, y: Tensor, categorical: bool, others: dict[str, Tensor | None]) -> None:
    """Anything but equal shapes: broadcasting (n, 1) against (n,) would pair every prediction with every label."""
    if not isinstance(eta, Tensor):
        raise TypeError(f"eta must be a tensor, but is a {type(eta).__name__}")
    wanted = eta.shape[:-1] if categorical else eta.shape
    if categorical and eta.ndim == 0:
        raise ValueError("eta must hold the classes on its last axis, but is a single number")
    if y.shape != wanted:
        raise ValueError(_shape_message(eta, y, categorical))
    for name, tensor in others.items():
        if tensor is not None:
            refuse_shape(name, tensor, y)


def refuse_shape(name: str, tensor: Tensor, y: Tensor) -> None:
    """What comes beside y for each row, in another shape."""
    if tensor.shape != y.shape:
        raise ValueError(
            f"{name} must have the shape of y, {tuple(y.shape)}, but has {tuple(tensor.shape)}; "
            f"reshape it, or expand one number to all rows with {name}.expand(y.shape)"
        )


def _shape_message(eta: Tensor, y: Tensor, categorical: bool) -> str:
    shapes = f"eta has the shape {tuple(eta.shape)} and y the shape {tuple(y.shape)}"
    if categorical:
        hint = "the classes are the last axis of eta, and y has the shape of the others"
        if eta.ndim > 2 and eta.shape[:1] + eta.shape[2:] == y.shape:
            hint += "; bring axis 1 there with eta.movedim(1, -1)"
        elif y.shape == eta.shape:
            hint += "; turn one-hot rows into class numbers with y.argmax(-1)"
        return f"{shapes}, but {hint}"
    if eta.shape == (*y.shape, 1):
        return f"{shapes}: they would broadcast, each prediction against each label; use eta.squeeze(-1)"
    if y.shape == (*eta.shape, 1):
        return f"{shapes}: they would broadcast, each prediction against each label; use y.squeeze(-1)"
    return f"{shapes}, but they must be equal"


def first_of(bad: Tensor) -> tuple[tuple[int, ...], str]:
    """The index of the first of those that `torch.nonzero` found, and how it is said."""
    first = tuple(int(i) for i in bad[0])
    return first, f" at index {first[0] if len(first) == 1 else first}" if first else ""


def refuse_labels(good: Tensor, y: Tensor, noise: Any, wanted: str) -> None:
    """Labels outside the support, counted, with the first of them."""
    if bool(good.all()):
        return
    bad = torch.nonzero(~good)
    missing = int(torch.isnan(y[~good]).sum())
    first, where = first_of(bad)
    nan = f" ({missing} of them NaN)" if missing else ""
    raise ValueError(
        f"y must be {wanted} under {noise!r}, but {len(bad)} of {y.numel()} labels are not{nan}; "
        f"the first is {y[first].item()!s}{where}. Correct them, leave those rows out or give them weight 0"
    )


def refuse_weights(weight: Tensor) -> None:
    """Weights that are negative, NaN or infinite, or all zero."""
    bad = torch.nonzero(~((weight >= 0) & torch.isfinite(weight)))
    if len(bad):
        first, where = first_of(bad)
        raise ValueError(
            f"weight must be finite and not negative, but {len(bad)} of {weight.numel()} are not; "
            f"the first is {weight[first].item()!s}{where}"
        )
    if weight.numel() and not bool((weight > 0).any()):
        raise ValueError(f"all {weight.numel()} weights are 0: nothing is left to average or to learn from")
