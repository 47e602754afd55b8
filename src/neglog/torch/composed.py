"""Formulas of noises made of another noise, in torch operations: each takes the formula of the noise inside.

They are those of the native core (composed.hpp). A wrapper's own parameter comes by name, and what else comes is passed
on to the formula inside, so that whatever pair the core has needs no line here.
"""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from neglog.torch.densities import FORMULAS, Formula, log1mexp


def formula_of(noise: Any) -> tuple[Formula, Callable[[str, Tensor], Any]]:
    """The formula of a noise, and what it takes of link and raw prediction."""
    if not hasattr(noise, "inside"):
        return FORMULAS[noise._family()]
    inside, coordinate = formula_of(noise.inside)
    return partial(AROUND[noise.around], inside, noise.inside.measure == "mass"), coordinate


def taken_by(formula: Formula) -> frozenset[str]:
    """The names of the parameters that a formula takes, and that those inside it do."""
    own = frozenset(signature(formula).parameters)
    return own | taken_by(formula.args[0]) if isinstance(formula, partial) else own


def log(inside: Formula, counts: bool, y: Tensor, at: Any, **raw: Any) -> Tensor:
    """The law inside of log y, and log y from the change of variables."""
    log_y = torch.log(y)
    return inside(log_y, at, **raw) + log_y


def logit(inside: Formula, counts: bool, y: Tensor, at: Any, **raw: Any) -> Tensor:
    """The law inside of log y - log(1 - y), and their sum from the change of variables."""
    yes, no = torch.log(y), torch.log1p(-y)
    return inside(yes - no, at, **raw) + yes + no


def zero_inflated(inside: Formula, counts: bool, y: Tensor, at: Any, *, logit_p: Tensor, **raw: Any) -> Tensor:
    """-log(p + (1 - p) P(0)) where y is 0, else that of the counts inside and -log(1 - p)."""
    nats = inside(y, at, **raw)
    return torch.where(y > 0, nats, -torch.logaddexp(-nats, logit_p)) + functional.softplus(logit_p)


def hurdle(inside: Formula, counts: bool, y: Tensor, at: Any, *, logit_p: Tensor, **raw: Any) -> Tensor:
    """-log p where y is 0, else -log(1 - p) and that of the law inside, truncated where it has zeros of its own."""
    nats = inside(torch.where(y > 0, y, 1.0), at, **raw)
    if counts:
        none = inside(torch.zeros_like(y), at, **raw)
        nats = nats + log1mexp(torch.clamp(none, min=torch.finfo(y.dtype).tiny))
    return torch.where(y > 0, nats + functional.softplus(logit_p), functional.softplus(-logit_p))


AROUND = {"Log": log, "Logit": logit, "ZeroInflated": zero_inflated, "Hurdle": hurdle}
