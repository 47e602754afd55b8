"""What a distribution can do as a noise: what makes a loss."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions import arrays
from neglog.distributions.base import Distribution
from neglog.distributions.censored import Cells
from neglog.distributions.link import LINKS, Link
from neglog.distributions.parameters import LOG, MODEL, ModelledBy, Parameter, Role, kept
from neglog.distributions.traits import Traits
from neglog.typing import Array


class Noise(Distribution):
    """A law of y around a prediction: what makes a loss.

    The parameter named by `location` is what a prediction sets, through the link. The nll and its derivatives in the
    raw prediction come from the native core's kernel of the same name, for every link that the core lists.
    """

    default_link: ClassVar[str]
    traits: ClassVar[Traits] = Traits()
    variants: ClassVar[
        tuple[dict[str, Any], ...]
    ] = ()  # with other stated parameters, which are noises that people know
    otherwise: ClassVar[str] = ""  # what else may explain a y that this noise cannot
    deviance_per_loss: ClassVar[float | None] = None  # the unit deviance in units of the loss, where there is one
    location: ClassVar[str]  # the parameter that a prediction sets: the first of its role, and so is the next
    spread: ClassVar[str | None] = None  # the parameter that says how far y lies from its location
    _beside: ClassVar[tuple[Parameter, ...]] = ()
    _keys: ClassVar[tuple[tuple[str, str], ...]] = ()
    link: Link

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._beside = tuple(own for own in cls.declared if own.role is not Role.LOCATION)
        cls._keys = tuple((f"_{own.name}", own.name) for own in cls._beside)
        for own in reversed(cls.__dict__.get("declared", ())):
            if own.role is Role.LOCATION:
                cls.location = own.name
            elif own.role is Role.SPREAD:
                cls.spread = own.name

    def _state(self, **values: Any) -> None:
        words = {own.name: values[own.name] for own in self._beside if own.ways and isinstance(values[own.name], str)}
        told = {name: word for name, word in words.items() if word in self.parameter(name).ways}
        values |= dict.fromkeys(told)
        modelled = tuple(own.name for own in self._beside if isinstance(values[own.name], str | ModelledBy))
        own_terms = {name: values[name] for name in modelled if isinstance(values[name], ModelledBy)}
        for name in modelled:
            if name not in own_terms and values[name] != MODEL:
                owner = type(self).__name__
                named = ", ".join(map(repr, (MODEL, *self.parameter(name).ways)))
                raise TypeError(f"{owner}: {name} must be a number, None, {named} or terms(...), not {values[name]!r}")
        super()._state(**values | dict.fromkeys(modelled))
        if told:
            self.__dict__["_told"] = told
        if modelled:
            self.__dict__["_modelled"] = modelled
        if own_terms:
            self.__dict__["_own_terms"] = own_terms
        link = values["link"]
        name = link.name if isinstance(link, Link) else link
        if name not in self._links():
            admissible = ", ".join(repr(admissible) for admissible in self._links())
            raise ValueError(f"{type(self).__name__}: link must be one of {admissible}, but is {name!r}")
        self.__dict__["link"] = LINKS[name]

    @classmethod
    def _family(cls) -> str:
        return cls.__name__.lower()

    @classmethod
    def _kernel(cls) -> str:
        """The name of the native kernel."""
        return cls._family()

    @classmethod
    def _joint_kernel(cls) -> str:
        """The name of that which has the whole nll in all raw parameters."""
        return cls._kernel()

    @classmethod
    def _links(cls) -> list[str]:
        return _core.links(cls._kernel())

    @property
    def modelled(self) -> tuple[str, ...]:
        """The parameters that were stated as "model": predicted for each row, as the location is."""
        names: tuple[str, ...] = self.__dict__.get("_modelled", ())
        return names

    @property
    def own_terms(self) -> dict[str, ModelledBy]:
        """What predicts those of them that were stated with terms of their own, by name."""
        found: dict[str, ModelledBy] = self.__dict__.get("_own_terms", {})
        return found

    @property
    def told(self) -> dict[str, str]:
        """What tells the parameters that are not to be told by the likelihood, by name (`Parameter.ways`)."""
        found: dict[str, str] = self.__dict__.get("_told", {})
        return {name: way for name, way in found.items() if name in self.unknown} if found else found

    # ---- what else is declared ---------------------------------------------------------------------------------------

    @classmethod
    def beside_location(cls) -> tuple[Parameter, ...]:
        """The parameters that no prediction of the location sets, in the order of the kernel."""
        return cls._beside

    @property
    def unknown(self) -> tuple[str, ...]:
        """The parameters beside the location that are to be estimated, one number for all rows."""
        values = self.__dict__
        modelled = self.modelled
        return tuple([name for key, name in self._keys if values[key] is None and name not in modelled])

    @property
    def locations(self) -> tuple[float, float]:
        """Between which the location may lie."""
        contains = self.parameter(self.location).domain.contains
        return (-np.inf if contains(-1.0) else 0.0), (np.inf if contains(2.0) else 1.0)

    @property
    def certain(self) -> tuple[float, ...]:
        """Ends of the support at which y may be certain, as a count is of 0 where the mean is: it has mass there."""
        if self.measure == "density":
            return ()
        return tuple(end for end, own in zip(self.bounds, self.support.ends, strict=True) if own)

    def log_mass_at_zero(self) -> Any:
        """log p(0) of counts."""
        return -self.nll(0.0)

    def log_spread_information(self) -> Any:
        """E[(d nll / d log spread)^2], the Fisher information about the log of the spread; None where there is no
        formula for it, and draws have to tell.
        """
        return None

    def uncalled_for(self, rows: int, zeros: int, mean: float) -> str | None:
        """Why nobody would try this noise on so many targets, of which so many are 0, although it is possible."""
        return None

    def exponential_has_mean(self) -> Any:
        """Whether e^y has a mean, where y is real: not if its upper tail falls too slowly."""
        return True

    @property
    def saturates(self) -> bool:
        """Whether y itself is the location that explains y best, so that twice the nats that any other loses beside it
        are a deviance: of noises that have no unit deviance.
        """
        return False

    @property
    def takes_intercept(self) -> bool:
        """Whether a fit has an intercept, or what the noise leaves open takes it up."""
        return self.traits.intercept or not self.unknown

    @property
    def labelled(self) -> bool:
        """Whether y holds labels of classes, of which the law knows the numbers."""
        return self.of_classes

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels in their order, where the noise has to know one; None where not, or where nobody said it yet."""
        return None

    @property
    def class_count(self) -> int:
        """How many classes there are in an order; 0 where there is none, or nobody said how many."""
        return 0

    def with_classes(self, labels: ArrayLike) -> Self:
        """The same noise about classes in this order, where it has to know one."""
        return self

    @property
    def of_classes(self) -> bool:
        """Whether y holds labels, and a row has one raw prediction for each."""
        return self.link.name == "softmax"

    @property
    def in_memory_only(self) -> str | None:
        """Why a fit needs its rows in memory, if it does."""
        return None

    @property
    def in_doubt(self) -> bool:
        """Whether there may be something that `cannot_tell`."""
        return bool(self.unknown or self.modelled)

    def cannot_tell(self, rows: int, zeros: int) -> str | None:
        """Why what the noise leaves open cannot be told from so many targets, of which so many are 0; or None."""
        return None

    def piled(self, y: Any) -> str | None:
        """Why what the noise leaves open cannot be told from these targets, of which too many are alike; or None."""
        return None

    @property
    def smooth(self) -> bool:
        """False: the nll has kinks, and solvers that need curvature must not use it."""
        return self.traits.smooth

    @property
    def has_few_row_law(self) -> bool:
        """Whether estimates over their errors follow Student's t when rows are few: y or its logarithm lies around its
        location at a distance that the spread multiplies, or the spread divides the loss.
        """
        return self.measure == "density" and (self.traits.divided or self.locations == (-np.inf, np.inf))

    @property
    def sums_squares(self) -> bool:
        """Whether its nll is a sum of squares about what columns predict: laws of few rows are then exact."""
        squares = self.traits.settled_by in ("squares", "squares of logs")
        return squares and self.link.name == "identity" and not self.modelled

    @property
    def log_concave(self) -> bool:
        """Whether the nll is convex in the raw prediction."""
        return self.link.name in self.traits.log_concave

    @property
    def curved(self) -> bool:
        """Whether its second derivative in the raw prediction is positive for every y and every prediction."""
        return self.log_concave and self.traits.smooth and self.traits.steady

    @classmethod
    def takes_precision(cls) -> bool:
        """Whether a precision of the rows means something."""
        return cls.traits.repeats or any(own.precision for own in cls.declared)

    def with_precision(self, p: Any) -> Self:
        """The noise whose rows have these precisions: their dispersion is divided by it; None for ones."""
        if p is None:
            return self
        changes = {own.name: self._known(own.name) * p**own.precision for own in self.declared if own.precision}
        return self.estimated(**changes)

    def estimated(self, **values: Any) -> Self:
        """As of any law; another location is not that of the raw prediction which the law remembers."""
        other = super().estimated(**values)
        if self.location in values:
            other.__dict__.pop("_made_by", None)
        if "_told" in self.__dict__:
            other.__dict__["_told"] = {name: way for name, way in self.__dict__["_told"].items() if name not in values}
            if not other.__dict__["_told"]:
                del other.__dict__["_told"]
        return other

    def of_total(self, p: Any) -> Distribution:
        """The law of the sum of p observations, where a row of precision p stands for so many (`traits.repeats`)."""
        raise TypeError(f"a row of {type(self).__name__} noise is one observation, whatever its precision")

    def of_rows(self, rows: Any) -> Self:
        """The laws of some of the rows, told by their locations: what `given` was told is forgotten."""
        values = {own.name: self.parameters[own.name] for own in self.declared if not own.several}
        other = self.estimated(**{name: value[rows] for name, value in values.items() if np.ndim(value)})
        other.__dict__.pop("_made_by", None)
        return other

    # ---- raw parameters ----------------------------------------------------------------------------------------------

    def raw_parameters(self) -> tuple[Any, ...]:
        """The parameters beside the location as solvers and samplers know them, each on its raw scale."""
        return tuple(own.raw.raw(self._known(own.name)) for own in self.beside_location())

    def at_raw(self, **values: Any) -> Self:
        """The noise with some of its parameters at raw values."""
        return self.estimated(**{name: self.parameter(name).raw.value(value) for name, value in values.items()})

    def joint(self, y: ArrayLike, eta: ArrayLike, *, curvature: bool = False) -> tuple[Any, Any, Any]:
        """The nll at raw predictions with its slopes in these and in every raw parameter beside the location, and if
        wanted the second derivatives: arrays (rows,), (k, rows) and (k (k + 1) / 2, rows), those of the last in the
        order (0,0), (1,0), (1,1), (2,0), ... of which 0 is the prediction.
        """
        raw = arrays.as_numbers(eta, "eta")
        with np.errstate(all="ignore"):
            if isinstance(y, Cells):
                return self._cell_joint(self.link.name, y, raw, curvature)
            return self._core_joint(self.link.name, arrays.as_numbers(y, "y"), raw, curvature)

    def _cell_joint(self, link: str, y: Cells, eta: Any, curvature: bool = False) -> tuple[Any, Any, Any]:
        """The same of cells, for which the core has the default link."""
        family = f"cells({self._kernel()})"
        if not _core.links(family):
            raise TypeError(f"{type(self).__name__} has no probabilities of cells; give it values")
        if link != self.default_link:
            if link != "identity":
                raise ValueError(f"{type(self).__name__} takes cells with the link {self.default_link!r}, not {link!r}")
            eta = LINKS[self.default_link].forward(eta)
        lower, upper = self._end_for_kernel(y.lower), self._end_for_kernel(y.upper)
        return self._native_joint(family, self.default_link, lower, eta, curvature, (upper,))

    def _core_joint(self, link: str, y: Array, eta: Any, curvature: bool) -> tuple[Any, Any, Any]:
        return self._native_joint(self._joint_kernel(), link, y, eta, curvature)

    def _native_joint(
        self, family: str, link: str, y: Array, eta: Any, curvature: bool, beside: tuple[Any, ...] = ()
    ) -> tuple[Any, Any, Any]:
        """What the kernel of this name says; `beside` are arrays that it takes after the raw parameters."""
        parameters = self.raw_parameters()
        shape = arrays.broadcast_shape(y, eta, *parameters)
        variables = 1 + len(parameters)
        nll, slopes = np.empty(shape), np.empty((variables, *shape))
        bends = np.empty((variables * (variables + 1) // 2, *shape)) if curvature else None
        _core.joint(
            family,
            link,
            arrays.native(y, shape),
            arrays.native(eta, shape),
            [arrays.native(np.asarray(value, float), shape) for value in (*parameters, *beside)],
            nll,
            slopes,
            bends,
            arrays.thread_count(nll.size),
        )
        return nll, slopes, bends

    def number(self, name: str) -> tuple[float, bool]:
        """An estimate by the name that its standard error has, and whether its logarithm has the plainer interval."""
        return float(self._known(name)), self.parameter(name).raw is LOG

    @property
    def extras(self) -> dict[str, Any]:
        """What makes the same noise again, beside its parameters and its link."""
        return {}

    # ---- modelled parameters -----------------------------------------------------------------------------------------

    def modelling(self, *names: str) -> Self:
        """The same noise with these parameters as "model", beside those that are."""
        beside = [own.name for own in self.beside_location() if not own.several]
        unknown = [name for name in names if name not in beside]
        if unknown:
            has = f"it has {', '.join(beside)}" if beside else "it has none beside its location"
            raise ValueError(
                f"{type(self).__name__} has no parameter {', '.join(unknown)} that could be modelled; {has}"
            )
        chosen = tuple(name for name in beside if name in (*self.modelled, *names))
        return self._replaced(_modelled=chosen, **{f"_{name}": None for name in chosen}) if chosen else self

    @property
    def as_stated(self) -> dict[str, Any]:
        """The parameters by name, as a constructor takes them: "model" for those that are modelled."""
        return self.parameters | dict.fromkeys(self.modelled, MODEL) | self.own_terms | self.told

    def unmodelled(self) -> Self:
        """The same noise with the modelled parameters merely unknown."""
        other = self.modelled_alike()
        other.__dict__.pop("_modelled", None)
        return other

    def modelled_alike(self) -> Self:
        """The same noise with all modelled parameters as "model"."""
        other = self._replaced()
        other.__dict__.pop("_own_terms", None)
        return other

    def _predicted(self, raw: Any) -> tuple[Self, Any]:
        """The noise with what is modelled as predicted for each row, and the raw predictions of the location."""
        if not (raw.ndim and raw.shape[-1] == 1 + len(self.modelled)):
            raise ValueError(
                f"{self!r} has {1 + len(self.modelled)} raw predictions for each row, of {self.location}, "
                f"{', '.join(self.modelled)}, along the last axis; but they have the shape {raw.shape}"
            )
        values = {name: self.parameter(name).predicted.value(raw[..., 1 + k]) for k, name in enumerate(self.modelled)}
        return self.unmodelled().estimated(**{name: kept(value) for name, value in values.items()}), raw[..., 0]

    def __repr__(self) -> str:
        text = super().__repr__()
        for name, said in (dict.fromkeys(self.modelled, MODEL) | self.own_terms | self.told).items():
            for before in "( ":  # of the whole name
                text = text.replace(f"{before}{name}=None", f"{before}{name}={said!r}")
        return text if self.link.name == self.default_link else f"{text[:-1]}, link={self.link.name!r})"

    # ---- the kernel ------------------------------------------------------------------------------------------------

    def _kernel_parameters(self) -> tuple[Any, ...]:
        """The other parameters as the kernel takes them: raw, unless it has a faster form (families.hpp)."""
        return self.raw_parameters()

    def _for_kernel(self, y: Any) -> Any:
        """y as the kernel takes it: itself, unless the noise is one of a function of y."""
        return y

    def _end_for_kernel(self, end: Any) -> Any:
        """An end of a cell as the kernel takes it."""
        return end

    def located(self, y: Any) -> Any:
        """y on the scale of the location, where searches begin; NaN where it says nothing about that."""
        return self._for_kernel(y)

    def jumps(self) -> tuple[Any, ...]:
        """How far from the location the second derivative of the nll jumps, if it does."""
        return ()

    def _constant(self) -> Any:
        """The part of the nll that depends on neither y nor the prediction."""
        return 0.0

    def _raw(self) -> tuple[str, Any]:
        """A link and a raw prediction that give this law: those of `given`, else the location itself."""
        made_by: tuple[str, Any] | None = self.__dict__.get("_made_by")
        return made_by if made_by else ("identity", self._known(self.location))

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats, every constant included; +inf outside the support. Of cells (`nl.censored`), -log of
        their probability.
        """
        link, eta = self._raw()
        if isinstance(y, Cells):
            with np.errstate(all="ignore"):
                return self._cell_joint(link, y, eta)[0][()]
        return self._core_nll(link, arrays.as_numbers(y, "y"), eta)

    def _core_nll(self, link: str, y: Array, eta: Any) -> Any:
        with np.errstate(all="ignore"):
            parameters, constant = self._kernel_parameters(), self._constant()
        dtype = arrays.output_type(y, eta, *self._others())
        return arrays.core_nll(self._kernel(), link, y, eta, parameters, constant, dtype)

    def _others(self) -> list[Any]:
        """The stated parameters beside the location."""
        return [value for name, value in self.parameters.items() if name != self.location and value is not None]

    # ---- as a function of the raw prediction -----------------------------------------------------------------------

    def given(self, eta: ArrayLike) -> Self:
        """The law of y at the raw prediction `eta`, which it remembers: a mean that rounds to 0 or 1 costs nothing.

        Where parameters are modelled, `eta` has them too, raw, along its last axis: the location first.
        """
        if self.modelled:
            filled, eta = self._predicted(arrays.as_numbers(eta, "eta"))
            return filled.given(eta)
        raw = kept(arrays.as_numbers(eta, "eta"))
        location = kept(self.link.inverse(raw))
        made_by = {} if self.link.name == "identity" else {"_made_by": (self.link.name, raw)}
        return self._replaced(**{f"_{self.location}": location, **made_by})

    def location_at(self, mean: ArrayLike) -> Any:
        """The location at which y has this mean: the mean itself, unless the family says otherwise."""
        return np.asarray(mean, float)

    @property
    def point_is_location(self) -> bool:
        """Whether what is predicted, `point`, is the location itself: not where the family tells one from the other."""
        return type(self).location_at is Noise.location_at and not self.labelled

    def derivatives(self, y: ArrayLike, eta: ArrayLike, *, expected: bool = False) -> tuple[Any, Any, Any]:
        """The nll at raw prediction `eta` with its first and second derivative in eta, elementwise.

        `expected=True` gives the Fisher information, the expectation of the second derivative over y, in its place.
        """
        numbers, raw = arrays.as_numbers(y, "y"), arrays.as_numbers(eta, "eta")
        nll = self._core_nll(self.link.name, numbers, raw)
        return nll, *self.gradient_hessian(numbers, raw, expected=expected)

    def gradient_hessian(
        self,
        y: ArrayLike,
        eta: ArrayLike,
        *,
        expected: bool = False,
        out: tuple[Array, Array] | None = None,
        threads: int | None = None,
    ) -> tuple[Any, Any]:
        """The two derivatives alone, which need no normalising constant; `out` takes two arrays to write to."""
        if isinstance(y, Cells):
            raise TypeError("of cells take the derivatives from joint, which has them in all raw parameters")
        numbers, raw = arrays.as_numbers(y, "y"), arrays.as_numbers(eta, "eta")
        shape = arrays.broadcast_shape(numbers, raw, *self._kernel_parameters())
        dtype = arrays.output_type(numbers, raw, *self._others())
        gradient, hessian = out or (np.empty(shape, dtype), np.empty(shape, dtype))
        for array in (gradient, hessian):
            if array.shape != shape or not array.flags.c_contiguous or not array.flags.writeable:
                raise ValueError(
                    f"out must be two writeable C-contiguous arrays of shape {shape}, but one has {array.shape}"
                )
        self._slopes(numbers, raw, expected, gradient, hessian, threads=threads)
        return gradient[()], hessian[()]

    def _slopes(
        self,
        y: ArrayLike,
        eta: ArrayLike,
        expected: bool,
        gradient: Array,
        hessian: Array | None,
        *,
        weight: ArrayLike = 1.0,
        least: float = -np.inf,
        threads: int | None = None,
        team: tuple[int, int, int, int] | None = None,
    ) -> None:
        """Write them times the weights, and Hessians that are then below `least` as that; or the gradient alone."""
        shape = gradient.shape
        _core.slopes(
            self._kernel(),
            self.link.name,
            expected,
            arrays.native(arrays.as_numbers(y, "y"), shape),
            arrays.native(arrays.as_numbers(eta, "eta"), shape),
            [arrays.native(value, shape) for value in self._kernel_parameters()],
            arrays.native(arrays.as_numbers(weight, "weight"), shape),
            least,
            gradient,
            hessian,
            arrays.thread_count(gradient.size, threads),
            team,
        )

    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        """The derivative of nll(y) in each parameter, by name."""
        slopes = self._core_joint("identity", arrays.as_numbers(y, "y"), self._known(self.location), False)[1]
        names = (self.location, *(own.name for own in self.beside_location()))
        with np.errstate(all="ignore"):
            chains = [1.0, *(own.raw.slope(self._known(own.name)) for own in self.beside_location())]
            return {name: (slope / chain)[()] for name, slope, chain in zip(names, slopes, chains, strict=True)}

    # ---- losses ----------------------------------------------------------------------------------------------------

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """The familiar loss of this noise, elementwise, with the prediction on the scale of y: by default the nats that
        are lost by predicting `prediction` instead of y.
        """
        y, prediction = arrays.as_numbers(y, "y"), arrays.as_numbers(prediction, "prediction")
        own = self._core_nll("identity", y, y)
        best = np.where(np.isinf(own), 0.0, own)  # at an end of the support that no location reaches, y is certain
        return np.where(self.support.contains(y), self._core_nll("identity", y, prediction) - best, np.inf)[()]

    @property
    def loss_scale(self) -> Any:
        """How much loss is one nat: nll = loss / loss_scale + a term without the prediction."""
        return 1.0

    def cell_loss_at(self, eta: Any, y: Cells) -> Any:
        """The same of cells: of those that are values the loss, of others what they cost beyond certainty."""
        nats = self.given(eta).nll(y) * self.loss_scale
        return np.where(y.exact, self.loss_at(eta, np.where(y.exact, y.lower, y.points)), nats)

    def loss_at(self, eta: ArrayLike, y: ArrayLike) -> Any:
        """The loss of each y at a raw prediction: half the unit deviance where there is one."""
        return self.loss(y, self.link.inverse(eta))

    def deviance(self, y: ArrayLike, mean: ArrayLike) -> Any:
        """The unit deviance: twice the nats lost by predicting `mean` instead of y, at dispersion one."""
        if self.deviance_per_loss is None:
            raise TypeError(
                f"{type(self).__name__} is not an exponential dispersion model and has no unit deviance; "
                "use loss(y, prediction)"
            )
        return self.deviance_per_loss * self.loss(y, mean)
