"""y in cells (`nl.censored`): what the native core says of them, as operators that autograd and torch.compile know.

The probability of a cell is an integral, which the core has exactly, in narrow cells and in both tails, with first and
second derivatives in the raw prediction and in every raw parameter (cells.hpp). So there is no formula here: `joint`
gives the nll with its slopes, `curvatures` the slopes of these, both computed on the CPU in double precision.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from neglog import _core
from neglog.distributions import arrays
from neglog.distributions.censored import Cells
from neglog.distributions.changed import Changed
from neglog.distributions.noise import Noise
from neglog.distributions.registry import FAMILIES
from neglog.distributions.support import Support
from neglog.torch import checks

# ---- the operators ---------------------------------------------------------------------------------------------------


def _from_core(family: str, ends: tuple[Tensor, Tensor], variables: Tensor, curvature: bool) -> list[Tensor]:
    """The nll, its slopes and, if wanted, its second derivatives, in the type and on the device of the variables."""
    noise: Any = FAMILIES[family]()
    lower, upper = (end.detach().cpu().double().numpy() for end in ends)
    at = variables.detach().cpu().double().numpy()
    shape, pairs = at.shape[1:], len(at) * (len(at) + 1) // 2
    nats, slopes = np.empty(shape), np.empty(at.shape)
    bends = np.empty((pairs, *shape)) if curvature else None
    _core.joint(
        f"cells({noise._kernel()})",
        noise.default_link,
        arrays.native(noise._end_for_kernel(lower), shape),
        arrays.native(at[0], shape),
        [arrays.native(values, shape) for values in (*at[1:], noise._end_for_kernel(upper))],
        nats,
        slopes,
        bends,
        arrays.thread_count(nats.size),
    )
    if isinstance(noise, Changed):  # the kernel sees log y or logit y, of which a value has another density
        with np.errstate(all="ignore"):
            nats = nats + np.where(lower == upper, noise._jacobian(np.where(lower == upper, lower, 0.5)), 0.0)
    lost = np.isnan(at).any(axis=0)
    found = [np.where(lost, np.nan, values) for values in (nats, slopes, bends) if values is not None]
    return [torch.as_tensor(values, dtype=variables.dtype, device=variables.device) for values in found]


def _joint(family: str, lower: Tensor, upper: Tensor, variables: Tensor) -> tuple[Tensor, Tensor]:
    nats, slopes = _from_core(family, (lower, upper), variables, curvature=False)
    return nats, slopes


def _curvatures(family: str, lower: Tensor, upper: Tensor, variables: Tensor) -> Tensor:
    bends = _from_core(family, (lower, upper), variables, curvature=True)[2]
    order = range(len(variables))
    pairs = [[max(i, j) * (max(i, j) + 1) // 2 + min(i, j) for j in order] for i in order]
    return bends[torch.tensor(pairs)]


# Variables are, along the first axis, the raw prediction and the raw parameters of the family, each for every cell
joint = torch.library.custom_op("neglog::cells", _joint, mutates_args=())
curvatures = torch.library.custom_op("neglog::cell_curvatures", _curvatures, mutates_args=())


def _shapes(family: str, lower: Tensor, upper: Tensor, variables: Tensor) -> tuple[Tensor, Tensor]:
    return variables.new_empty(variables.shape[1:]), variables.new_empty(variables.shape)


def _curvature_shape(family: str, lower: Tensor, upper: Tensor, variables: Tensor) -> Tensor:
    return variables.new_empty((len(variables), *variables.shape))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    family, lower, upper, variables = inputs
    ctx.family = family
    ctx.save_for_backward(lower, upper, variables, output[1])
    ctx.set_materialize_grads(False)  # so that curvatures are computed only where somebody differentiates twice


def _backward(ctx: Any, by_nats: Tensor | None, by_slopes: Tensor | None) -> tuple[None, None, None, Tensor | None]:
    """The slopes are an output themselves, and so have a gradient of their own where one differentiates again."""
    lower, upper, variables, slopes = ctx.saved_tensors
    gradient = None if by_nats is None else by_nats * slopes
    if by_slopes is not None:
        bent = (curvatures(ctx.family, lower, upper, variables) * by_slopes).sum(dim=1)
        gradient = bent if gradient is None else gradient + bent
    return None, None, None, gradient


joint.register_fake(_shapes)
curvatures.register_fake(_curvature_shape)
joint.register_autograd(_backward, setup_context=_keep)


def nll(noise: Noise, eta: Tensor, raw: list[Any], lower: Tensor, upper: Tensor) -> Tensor:
    """The nll of each cell, at raw parameters as the core has them, in its order."""
    each = [eta, *(torch.as_tensor(value, dtype=eta.dtype, device=eta.device).expand(eta.shape) for value in raw)]
    nats: Tensor = joint(noise._family(), lower, upper, torch.stack(each))[0]
    return nats


# ---- what comes as y -------------------------------------------------------------------------------------------------


def ends_of(noise: Noise, y: Any, upper: Any, device: torch.device) -> tuple[Any, ...]:
    """The two ends of cells as tensors of real numbers, or y and None where y holds values."""
    if isinstance(y, Cells):
        if upper is not None:
            raise TypeError("y has the upper ends of its cells already, so that upper= says them twice; leave it out")
        ends = (
            torch.as_tensor(end.copy()) for end in (y.lower, y.upper)
        )  # a tensor must be one that may be written to
        return tuple(end.to(device, _widest(device)) for end in ends)
    if upper is None:
        return y, None
    for name, end in (("y", y), ("upper", upper)):
        checks.refuse_type(noise, end, name)
        if end.requires_grad:
            raise TypeError(f"{name} requires a gradient, but the ends of cells pass no gradient; use {name}.detach()")
    checks.refuse_shape("upper", upper, y)
    if y.dtype != upper.dtype and y.dtype.is_floating_point and upper.dtype.is_floating_point:
        raise TypeError(
            f"y and upper have the types {y.dtype} and {upper.dtype}, in which the same number is rounded to two, and "
            "a value would be a cell; give both the same type"
        )
    return tuple(end if end.dtype.is_floating_point else end.to(_widest(end.device)) for end in (y, upper))


def _widest(device: torch.device) -> torch.dtype:
    """That in which ends are not rounded, which would make a value of a narrow cell; Apple's GPUs have no doubles."""
    return torch.float32 if device.type == "mps" else torch.float64


def hold_some(support: Support, lower: Tensor, upper: Tensor) -> Tensor:
    """Where a cell holds a y of the support; NaN never does."""
    low, high = lower.clamp(min=support.low), upper.clamp(max=support.high)
    if support.step is None:
        some = (low < high) | ((low == high) & checks.in_support(support, low))
    else:
        some = torch.ceil(low / support.step) * support.step <= high
    return torch.where(lower == upper, checks.in_support(support, lower), some)


# ---- errors ----------------------------------------------------------------------------------------------------------


def objection(noise: Noise) -> str | None:
    """Why y cannot be cells under this noise: the core has none of it, or not with its link."""
    name = type(noise).__name__
    if noise.labelled:
        return f"y holds classes under {name} noise, of which there are no cells; give their numbers alone"
    links = _core.links(f"cells({noise._kernel()})")
    if not links:
        return f"{name} noise has no probabilities of cells; y must be values, without upper ends"
    if noise.link.name not in links:
        return f"{name} noise takes cells with the link {links[0]!r} only, but has {noise.link.name!r}"
    return None


def refuse(noise: Noise, lower: Tensor, upper: Tensor, good: Tensor, idle: Tensor | bool) -> None:
    """Ends that are NaN or in the wrong order, values outside the support, cells without a y of it; idle rows aside."""
    otherwise = "leave those rows out or give them weight 0"
    wrong = torch.nonzero(~((lower <= upper) | idle))
    if len(wrong):
        at = tuple(wrong.T)
        missing = int((torch.isnan(lower[at]) | torch.isnan(upper[at])).sum())
        nan = f" ({missing} of them NaN)" if missing else ""
        raise ValueError(
            f"the lower end of a cell must not be above the upper one, but {len(wrong)} of {lower.numel()} cells have "
            f"such ends{nan}; {_first(wrong, lower, upper)}. Correct them, {otherwise}"
        )
    wanted = checks.support_text(noise.support)
    checks.refuse_labels((lower != upper) | checks.in_support(noise.support, lower) | idle, lower, noise, wanted)
    empty = torch.nonzero(~(good | idle))
    if len(empty):
        raise ValueError(
            f"cells must hold a y that is {wanted} under {noise!r}, but {len(empty)} of {lower.numel()} hold none; "
            f"{_first(empty, lower, upper)}. Widen or correct them, {otherwise}"
        )


def _first(bad: Tensor, lower: Tensor, upper: Tensor) -> str:
    first, where = checks.first_of(bad)
    return f"the first is [{lower[first].item():g}, {upper[first].item():g}]{where}"
