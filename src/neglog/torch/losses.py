"""NLLLoss: any noise of neglog as a loss for PyTorch."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, LOG, LOGIT, ORDER, Parameter
from neglog.distributions.specification import noise_of
from neglog.likelihood.modelled import refuse_told
from neglog.torch import cells, checks, densities
from neglog.torch.composed import formula_of, taken_by
from neglog.torch.tweedie import tweedie  # noqa: F401, which is a formula among the others

REDUCTIONS = ("mean", "sum", "none")


def _form(own: Parameter) -> str:
    """The name of a parameter's unconstrained form: the log of a positive one, the log odds of one in an interval."""
    prefix = own.raw.name if own.within is None else "logit"
    return f"{prefix}_{own.name}" if prefix else own.name


def _constrained(own: Parameter, raw: Tensor) -> Tensor:
    """The parameter at its unconstrained form."""
    if own.within is not None:
        low, high = own.within
        return low + (high - low) * torch.sigmoid(raw)
    if own.raw is ORDER:
        return densities.in_order(raw)
    if own.raw is LOGIT:
        return torch.sigmoid(raw)
    return torch.exp(raw) if own.raw is LOG else raw


def _unconstrained(own: Parameter, value: float) -> float:
    """The unconstrained form of a value."""
    if own.within is not None:
        low, high = own.within
        return math.log((value - low) / (high - value))
    if own.raw is LOGIT:
        return _log(value) - math.log1p(-value)
    return _log(value) if own.raw is LOG else value


class NLLLoss(nn.Module):  # type: ignore[misc]
    """-log p(y) at raw predictions, in nats, with every constant: `loss(eta, y, weight=None, upper=None)`.

    noise      an object or its text: nl.Gamma(shape=2.0), "poisson", "tweedie(power=1.5)", with its link
    reduction  "mean" (over rows, or by weight), "sum" or "none"
    heads      names of open parameters that a second head of the network predicts for each row; those that the noise
               states as "model" are such without being named
    check      whether every call looks for labels outside the support. It makes a GPU wait; after one
               `loss.check_labels(y)` of all labels check=False does without. Shapes are always checked

    A parameter that the noise leaves open (None) is learned. Its unconstrained form is an `nn.Parameter` of the loss,
    `log_scale`, `log_shape`, `log_dispersion`, `log_delta` or `logit_power` (for a power between 1 and 2), so give
    `loss.parameters()` to the optimiser too. It starts at scale 1; fill it with a better guess where y is far from
    that. A parameter named in `heads` comes with the call instead, under the same name and in the same form, as the
    head gives it: `loss(eta, y, log_scale=...)`.

    `eta`, `y`, `weight` and what heads give have one shape; nothing is broadcast. For Categorical, eta has one axis
    more, the classes, and it is the last. A weight repeats its row: the mean divides by the sum of the weights, and a
    row of weight 0 is not looked at, so that missing labels can be masked. Where eta is outside the domain of the link
    the nll is infinite and passes no gradient.

    y may be cells, known to lie between two ends, under every noise and link that `nl.fit` takes them with:
    `loss(eta, lower, upper=upper)`, in which equal ends are an observed value and infinite ones censoring, or
    `loss(eta, nl.censored(lower, upper))`. A cell costs -log of its probability. That and its derivatives come from the
    native core, in float64 on the CPU, wherever the tensors are; ends pass no gradient, and torch.func takes no cells.

    Formulas are in float32 at least, whatever autocast is on, in float64 if eta is; they are torch operations without
    branches on data, for any device, twice differentiable, and compile into one graph. Under torch.compile labels are
    not checked (those outside the support cost infinity, NaN stays NaN); call `check_labels` before.

    >>> import torch
    >>> loss = NLLLoss("gaussian", heads="scale")
    >>> loss(torch.zeros(2), torch.tensor([0.0, 1.0]), log_scale=torch.zeros(2))
    tensor(1.1689)
    >>> NLLLoss("gaussian(scale=1)")(torch.zeros(2), torch.tensor([0.0, 1.96]), upper=torch.tensor([0.0, torch.inf]))
    tensor(2.3040)
    """

    def __init__(
        self, noise: str | Noise, reduction: str = "mean", *, heads: str | Iterable[str] = (), check: bool = True
    ) -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction must be one of {', '.join(map(repr, REDUCTIONS))}, but is {reduction!r}")
        modelled = noise_of(noise)
        refuse_told(modelled)
        self.stated = modelled.unmodelled()
        self.reduction, self.check = reduction, check
        self.link, self._support, self._locations = self.stated.link.name, self.stated.support, self.stated.locations
        open_parameters = self._read_parameters()
        self._formula: Any = None if self.stated.of_classes else formula_of(self.stated)
        self._harmless = 1.0 if self._support.contains(1.0) else 0.5
        self._without_cells = cells.objection(self.stated)
        self._taken = frozenset() if self._formula is None else taken_by(self._formula[0])
        named = (heads,) if isinstance(heads, str) else tuple(heads)
        self.heads = tuple(dict.fromkeys((*modelled.modelled, *named)))
        for name in self.heads:
            if name not in open_parameters:
                names = ", ".join(map(repr, open_parameters)) or "none"
                raise ValueError(f"heads may name what {self.stated!r} leaves open ({names}), but names {name!r}")
            if self.stated.parameter(name).several:
                raise ValueError(f"{name} of {self.stated!r} are several numbers, which no head gives for each row")
        self._learned = tuple(name for name in open_parameters if name not in self.heads)
        for own in self._own(self._learned):
            start = self._spread_out(own) if own.several else torch.full((), _unconstrained(own, own.start))
            self.register_parameter(_form(own), nn.Parameter(start))

    def _spread_out(self, own: Parameter) -> Tensor:
        """Edges at which all classes are equally likely at the raw prediction 0."""
        if self.stated.classes is None:
            name = type(self.stated).__name__
            raise ValueError(
                f"{name} has one class more than {own.name} to learn: name the classes, {name}(classes=[...])"
            )
        shares = torch.arange(1.0, len(self.stated.classes)) / len(self.stated.classes)
        edges = torch.logit(shares) if self.link == "logit" else torch.special.ndtri(shares)
        return torch.cat([edges[:1], torch.log(torch.diff(edges))])

    def _own(self, names: Iterable[str]) -> list[Parameter]:
        return [self.stated.parameter(name) for name in names]

    def _read_parameters(self) -> list[str]:
        """Keep the stated parameters as plain numbers, which live on every device; return the names of the others."""
        self._known: dict[str, Any] = {}
        still_open = []
        for name, value in self.stated.parameters.items():
            if name == self.stated.location:
                continue
            if value is None:
                still_open.append(name)
            elif getattr(value, "ndim", 0) > self.stated.parameter(name).several:
                raise ValueError(
                    f"{name} of {self.stated!r} must be a single number; leave it None, name it in heads, and pass "
                    f"{_form(self.stated.parameter(name))}= for each row"
                )
            else:
                self._known[name] = value.tolist() if self.stated.parameter(name).several else float(value)
        objection = self.stated.cannot_tell(2, 1) if still_open else None  # of targets of both sorts
        if objection is not None:
            raise ValueError(objection)
        return still_open

    # ---- the loss ----------------------------------------------------------------------------------------------------

    def forward(
        self,
        eta: Tensor,
        y: Tensor | Cells,
        weight: Tensor | None = None,
        *,
        upper: Tensor | None = None,
        **heads: Tensor,
    ) -> Tensor:
        """-log p(y) at eta, reduced; of cells, whose upper ends are given too, -log of their probability."""
        self._refuse_heads(heads)
        y, upper = self._ends(y, upper, eta.device if isinstance(eta, Tensor) else torch.device("cpu"))
        checks.refuse_type(self.stated, y)
        checks.refuse_shapes(eta, y, self.stated.of_classes, {"weight": weight, **heads})
        if not eta.dtype.is_floating_point:
            raise TypeError(f"eta must hold real numbers, but has the type {eta.dtype}")
        eta = eta if eta.dtype == torch.float64 else eta.float()
        weight = None if weight is None else weight.to(eta.dtype)
        good = self._good(y, upper, eta)
        if self.check and not torch.compiler.is_compiling():
            if weight is not None:
                checks.refuse_weights(weight)
            self._refuse_labels(eta, y, upper, good, False if weight is None else weight == 0)
        raw = self._raw(eta, heads)
        nats = self._nll(eta, y, good, raw) if upper is None else self._cell_nll(eta, y, upper, good, raw)
        return self._reduced(nats, weight)

    def _ends(self, y: Any, upper: Any, device: torch.device) -> tuple[Any, ...]:
        """The ends of cells, or y and None where y holds values."""
        if self._without_cells is not None and (upper is not None or isinstance(y, Cells)):
            raise ValueError(self._without_cells)
        return cells.ends_of(self.stated, y, upper, device)

    def _refuse_labels(
        self, eta: Tensor, y: Tensor, upper: Tensor | None, good: Tensor, idle: Tensor | bool = False
    ) -> None:
        """Refuse labels and cells that are not good, but for idle rows, which nobody looks at."""
        if upper is None:
            checks.refuse_labels(good | idle, y, self.stated, self._wanted(eta))
        else:
            cells.refuse(self.stated, y, upper, good, idle)

    def _refuse_heads(self, heads: dict[str, Tensor]) -> None:
        wanted = [_form(own) for own in self._own(self.heads)]
        for name in heads:
            if name not in wanted:
                known = ", ".join(wanted) or "none"
                raise TypeError(
                    f"the loss of {self.stated!r} takes no {name} (it takes: {known}); what a second head predicts is "
                    "left open in the noise and named in heads, as in NLLLoss('gaussian', heads='scale')"
                )
        missing = [name for name in wanted if name not in heads]
        if missing:
            raise TypeError(f"{', '.join(missing)} of each row must be passed, because heads={self.heads!r}")

    def _raw(self, eta: Tensor, heads: dict[str, Tensor]) -> dict[str, Any]:
        """Every parameter in its unconstrained form, in the type of eta; one that is stated within an interval, or as
        it is, as a number.
        """
        raw: dict[str, Any] = {}
        for own in self._own(self._known):
            value = self._known[own.name]
            if own.several:
                raw[_form(own)] = eta.new_tensor(own.raw.raw(np.array(value)))
                continue
            plain = own.raw is ITSELF or own.within is not None
            raw |= {own.name: value} if plain else {_form(own): eta.new_full((), _unconstrained(own, value))}
        raw |= {_form(own): getattr(self, _form(own)) for own in self._own(self._learned)}
        return {n: x.to(eta.dtype) if isinstance(x, Tensor) else x for n, x in (raw | heads).items()}

    def _good(self, y: Tensor, upper: Tensor | None, eta: Tensor) -> Tensor:
        if upper is not None:
            return cells.hold_some(self._support, y, upper)
        if self.stated.of_classes:
            return (y >= 0) & (y < eta.shape[-1])
        if self.stated.labelled:
            return (y >= 0) & (y < self.stated.class_count) & (y == torch.floor(y))
        return checks.in_support(self._support, y.to(eta.dtype))

    def _wanted(self, eta: Tensor) -> str:
        if self.stated.of_classes:
            return f"a class from 0 to {eta.shape[-1] - 1}"
        if self.stated.labelled:
            return f"a class from 0 to {self.stated.class_count - 1}"
        return checks.support_text(self._support)

    def _nll(self, eta: Tensor, y: Tensor, good: Tensor, raw: dict[str, Tensor]) -> Tensor:
        """The nll of each row; bad rows are computed at harmless numbers, so that no NaN enters the gradient."""
        if self.stated.of_classes:
            nats = densities.categorical(torch.where(good, y, 0).long(), eta)
            return torch.where(good, nats, math.inf)
        numbers = y.to(eta.dtype)
        outside = checks.outside_link(self._locations, self.link, eta)
        inside = eta if outside is None else torch.where(outside[0], outside[1], eta)
        nats = self._elementwise(torch.where(good, numbers, self._harmless), inside, raw)
        if outside is not None:
            nats = torch.where(outside[0], math.inf, nats)
        return torch.where(good, nats, torch.where(torch.isnan(numbers), numbers, math.inf))

    def _elementwise(self, y: Tensor, eta: Tensor, raw: dict[str, Any]) -> Tensor:
        for own in self._own((*self._learned, *self.heads)):
            if own.within is not None and _form(own) not in self._taken:  # it takes the value itself
                raw[own.name] = _constrained(own, raw.pop(_form(own)))
        formula, coordinate = self._formula
        return formula(y, coordinate(self.link, eta), **raw)

    def _cell_nll(self, eta: Tensor, lower: Tensor, upper: Tensor, good: Tensor, raw: dict[str, Any]) -> Tensor:
        """The nll of each cell, from the core, whose raw scales are the forms here but for parameters in an interval:
        those it has as they are.
        """
        for own in self._own((*self._learned, *self.heads)):
            if own.within is not None:
                raw[own.name] = _constrained(own, raw[_form(own)])
        values = [raw[own.name if own.name in raw else _form(own)] for own in self.stated.beside_location()]
        inside = (torch.where(good, end, self._harmless) for end in (lower, upper))
        nats = cells.nll(self.stated, eta, values, *inside)
        return torch.where(good, nats, torch.where(torch.isnan(lower) | torch.isnan(upper), math.nan, math.inf))

    def _reduced(self, nats: Tensor, weight: Tensor | None) -> Tensor:
        if weight is not None:
            nats = torch.where(weight == 0, 0.0, weight * nats)
        if self.reduction == "none":
            return nats
        if self.reduction == "sum":
            return nats.sum()
        if not nats.numel():
            raise ValueError("the mean over no rows does not exist; use reduction='sum', or leave out empty batches")
        return nats.mean() if weight is None else nats.sum() / weight.sum()

    # ---- beside the loss ---------------------------------------------------------------------------------------------

    def check_labels(self, y: Tensor | Cells, classes: int | None = None, *, upper: Tensor | None = None) -> None:
        """Raise the error that training would meet: a wrong type, or labels outside the support, counted.

        Cells are checked too, given as to the loss. For Categorical the number of classes is needed.
        """
        y, upper = self._ends(y, upper, torch.device("cpu"))
        checks.refuse_type(self.stated, y)
        if self.stated.of_classes and classes is None:
            raise TypeError("check_labels needs the number of classes under Categorical: check_labels(y, classes=...)")
        dtype = y.dtype if y.dtype.is_floating_point else torch.get_default_dtype()
        like = torch.empty((*y.shape, classes or 1), dtype=dtype, device="meta")
        self._refuse_labels(like, y, upper, self._good(y, upper, like))

    @property
    def noise(self) -> Noise:
        """The noise with what has been learned so far filled in; what heads predict stays open."""
        return self._filled({})

    def distribution(self, eta: Tensor, **heads: Tensor) -> Noise:
        """The law of y at each raw prediction as neglog's own distribution, in NumPy, without a graph.

        It has cdf, icdf, sample, mean, nll and the rest: `loss.distribution(eta).icdf(0.9)`.
        """
        self._refuse_heads(heads)
        found = {own.name: _numpy(_constrained(own, heads[_form(own)])) for own in self._own(self.heads)}
        return self._filled(found).given(_numpy(eta))

    def _filled(self, heads: dict[str, Any]) -> Noise:
        values = dict(self.stated.parameters)
        for own in self._own(self._learned):
            found = _constrained(own, getattr(self, _form(own)).detach().double())
            values[own.name] = _numpy(found) if own.several else float(found)
        values |= heads
        return type(self.stated)(**values, **self.stated.extras, link=self.link)  # type: ignore[call-arg]

    def extra_repr(self) -> str:
        """What `print(model)` shows."""
        heads = f", heads={self.heads!r}" if self.heads else ""
        return f"{self.stated!r}, reduction={self.reduction!r}{heads}"


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _numpy(tensor: Tensor) -> Any:
    tensor = tensor.detach().cpu()
    return (tensor if tensor.dtype == torch.float64 else tensor.float()).numpy()
