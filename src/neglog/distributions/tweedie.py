"""Tweedie: variance proportional to a power of the mean; between powers 1 and 2, exact zeros and positive amounts."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions import arrays, compound, inverse_gaussian
from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Measure, quiet
from neglog.distributions.censored import Cells
from neglog.distributions.gamma import Gamma
from neglog.distributions.gaussian import Gaussian
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Domain, Parameter, Role, Value
from neglog.distributions.poisson import poisson_draw, poisson_entropy, poisson_quantile, poisson_tail
from neglog.distributions.registry import register
from neglog.distributions.special import half_deviance
from neglog.distributions.support import AMOUNTS, POSITIVE_NUMBERS, REALS, Support, lattice
from neglog.distributions.traits import Traits

POWER = Domain(
    "0, between 1 and 2, or 3 (no Tweedie law exists between 0 and 1; other powers have no exact density here)",
    lambda p: (p == 0) | ((p >= 1) & (p <= 2)) | (p == 3),
)

SUPPORT = {
    "gaussian": REALS,
    "poisson": lattice(1.0),
    "compound": AMOUNTS,
    "gamma": POSITIVE_NUMBERS,
    "inverse gaussian": POSITIVE_NUMBERS,
}
MEASURE: dict[str, Measure] = {"poisson": "mass", "compound": "mixed"}


ALONE = {0.0: "gaussian", 1.0: "poisson", 2.0: "gamma", 3.0: "inverse gaussian"}  # powers that are other laws


def kind_of(power: float) -> str:
    """The law that a power stands for."""
    return ALONE.get(float(power), "compound")


def kinds_of(powers: Any) -> dict[str, Any]:
    """The laws that some powers stand for, each with a mask of its powers; none for NaN."""
    masks = {kind: powers == power for power, kind in ALONE.items()}
    masks["compound"] = ~(np.isnan(powers) | np.logical_or.reduce(list(masks.values())))
    return {kind: mask for kind, mask in masks.items() if np.any(mask)}


@register
class Tweedie(Noise):
    r"""The exponential dispersion model with variance dispersion * mean^power.

    Density     p(y) = a(y, phi) exp((y mean^(1-p) / (1-p) - mean^(2-p) / (2-p)) / phi), with p the power and phi the
                dispersion
    Domain      power 0 Gaussian; 1 Poisson on the multiples of phi; between 1 and 2 a Poisson number of Gamma jumps, y
                = 0 with probability exp(-mean^(2-p) / (phi (2-p))), else y > 0; 2 Gamma; 3 inverse Gaussian. mean > 0
                except for power 0
    Link        log: the prediction is the mean
    Loss        half the unit deviance of the power
    Use         totals with exact zeros, such as the cost of claims in a year, at a power between 1 and 2
    Not         zeros that come about in a way of their own: Hurdle(Gamma())
    Page        losses/tweedie
    Accuracy    between 1 and 2 the log density is exact to about 1e-13 for every power, mean and dispersion (core:
                tweedie.hpp)

    Between 1 and 2 the law is mixed: `pdf(0)` is a mass, `pdf(y > 0)` a density.
    """

    power: Value
    dispersion: Value
    declared = (
        Parameter("mean", REAL, role=Role.LOCATION),
        Parameter("power", POWER, role=Role.SHAPE, raw=ITSELF, start=1.5, within=(1.0, 2.0)),
        Parameter("dispersion", POSITIVE, role=Role.SPREAD, precision=-1.0),
    )

    default_link = "log"
    traits = Traits(log_concave=("log",), divided=True, settled_by="tweedie", separates="the zeros from the amounts")
    examples = (
        {"mean": 1.0, "power": 1.5, "dispersion": 1.0},
        {"mean": 250.0, "power": 1.7, "dispersion": 30.0},
        {"mean": 2.0, "power": 1.1, "dispersion": 0.4},
        {"mean": -0.5, "power": 0.0, "dispersion": 2.0},
        {"mean": 3.0, "power": 1.0, "dispersion": 0.5},
        {"mean": 3.0, "power": 2.0, "dispersion": 0.7},
        {"mean": 1.5, "power": 3.0, "dispersion": 0.3},
    )
    deviance_per_loss = 2.0
    summary = ("Tweedie deviance", "")

    def __init__(
        self,
        mean: Value = None,
        power: Value = None,
        dispersion: Value = None,
        *,
        link: str = "log",
    ) -> None:
        self._state(link=link, mean=mean, power=power, dispersion=dispersion)
        if mean is not None and np.any(
            (np.asarray(mean) <= 0) & (np.asarray(power if power is not None else 1.5) != 0)
        ):
            raise ValueError(f"Tweedie: mean must be > 0 unless the power is 0, but is {mean!r}")

    # ---- kinds -------------------------------------------------------------------------------------------------------

    def _kinds(self) -> set[str]:
        if self.power is None:
            return {"compound"}
        return {kind_of(self.power)} if type(self.power) is float else set(kinds_of(self.power))

    @property
    def support(self) -> Support:  # type: ignore[override]
        """Where the density is positive; with several powers at once, all of it."""
        kinds = self._kinds()
        if kinds == {"poisson"} and self.dispersion is not None and np.ndim(self.dispersion) == 0:
            return lattice(self.dispersion)
        if len(kinds) == 1:
            return SUPPORT[next(iter(kinds))]
        text = ", or ".join(sorted({SUPPORT[kind].text for kind in kinds}))
        return replace(REALS if "gaussian" in kinds else AMOUNTS, text=text)

    @property
    def measure(self) -> Measure:  # type: ignore[override]
        """What the power makes it: "density", "mass" or "mixed"."""
        found = {MEASURE.get(kind, "density") for kind in self._kinds()}
        return found.pop() if len(found) == 1 else "mixed"

    def _by_kind(self, functions: dict[str, Callable[..., Any]], *values: Any) -> Any:
        """Apply to each element the function of its kind: function(*values, mean, power, dispersion)."""
        everything = np.broadcast_arrays(*values, *self._known("mean", "power", "dispersion"))
        powers = everything[-2]
        out = np.empty(powers.shape)
        for kind, chosen in kinds_of(powers).items():
            out[chosen] = functions[kind](*(np.asarray(x, float)[chosen] for x in everything))
        return out[()]

    @property
    def locations(self) -> tuple[float, float]:
        """Means of power 0 may be negative."""
        return (-np.inf if np.any(np.equal(self.power, 0)) else 0.0), np.inf

    def log_spread_information(self) -> Any:
        kinds = self._kinds()
        if kinds == {"gamma"}:
            return Gamma(shape=1 / self._known("dispersion")).log_spread_information()
        if kinds != {"compound"} or np.ndim(self.power):
            return 0.5 if "compound" not in kinds else None  # of log scale^2, a quarter of that of log scale
        mean, power, dispersion = self._known("mean", "power", "dispersion")
        with np.errstate(all="ignore"):  # the law of mean one, stretched, has the dispersion phi mean^(p - 2)
            at_one = np.log(dispersion) + (power - 2) * np.log(mean)
        nodes, logs = _information_table(float(power))
        beyond = np.maximum(at_one - nodes[-1], 0.0)  # where jumps are rare the information falls with their number
        return np.exp(np.interp(at_one, nodes, logs) - beyond)

    @property
    def in_memory_only(self) -> str | None:
        if self.power == 0 and self.dispersion is None:
            return "Tweedie of power 0 is Gaussian noise: use Gaussian() for rows that are not in memory"
        return None

    def cannot_tell(self, rows: int, zeros: int) -> str | None:
        if self.power == 1 and self.dispersion is None:
            return (
                "at power 1 y lies on the multiples of the dispersion, which cannot be estimated: state "
                "dispersion=..., or use Poisson for counts"
            )
        if self.power is None and not 0 < zeros < rows:
            return (
                "the power of a Tweedie noise can be estimated only where some y are 0 and some are not, but no y is "
                f"{'above 0' if zeros else '0'}; state power=..., or use Gamma for amounts that are never 0"
            )
        return None

    @property
    def log_concave(self) -> bool:
        """Under the log link only between powers 1 and 2: elsewhere far targets bend the loss downward."""
        if self.power == 0:
            return self.link.name == "identity"
        if self.power is None or type(self.power) is float:
            return self.link.name == "log" and (self.power is None or 1 <= self.power <= 2)
        return self.link.name == "log" and bool(np.all((self.power >= 1) & (self.power <= 2)))

    # ---- evaluation --------------------------------------------------------------------------------------------------

    @classmethod
    def _joint_kernel(cls) -> str:
        return "whole(tweedie)"

    def _kernel_parameters(self) -> tuple[Any, ...]:
        power, dispersion = self._known("power", "dispersion")
        return power, 1.0 / np.asarray(dispersion, np.float64)

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats, every constant included; +inf outside the support. Of cells (`nl.censored`), -log of
        their probability.
        """
        if isinstance(y, Cells):
            if self._kinds() == {"gaussian"}:  # whose mean may have no logarithm, which the kernel of cells takes
                mean, dispersion = self._known("mean", "dispersion")
                return Gaussian(mean, np.sqrt(dispersion)).nll(y)
            return super().nll(y)
        numbers = as_numbers(y, "y")
        if numbers.dtype == np.float32 and "poisson" in self._kinds():
            return np.asarray(super().nll(self._on_lattice(numbers))).astype(
                arrays.output_type(numbers, *self._stated())
            )[()]
        return super().nll(numbers)

    def _on_lattice(self, y: Any) -> Any:
        """Multiples of the dispersion that float32 rounded, put back; whatever is further off stays."""
        dispersion = np.asarray(self._known("dispersion"), np.float64)
        nearest = np.round(y.astype(np.float64) / dispersion) * dispersion
        close = (np.asarray(self.power) == 1) & (np.abs(nearest - y) <= 2e-7 * np.abs(y))
        return np.where(close, nearest, y)

    def _tail(self, y: Any, upper: bool) -> Any:
        return self._by_kind(_tails(upper), y)

    def _quantile(self, q: Any, upper: bool) -> Any:
        return self._by_kind(_quantiles(upper), q)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return self._by_kind(
            {
                "gaussian": lambda _, m, p, phi: rng.normal(m, np.sqrt(phi)),
                "poisson": lambda _, m, p, phi: phi * poisson_draw(rng, m / phi),
                "compound": lambda _, m, p, phi: compound.draw(rng, m, p, phi),
                "gamma": lambda _, m, p, phi: rng.gamma(1 / phi, m * phi),
                "inverse gaussian": lambda _, m, p, phi: rng.wald(m, 1 / phi),
            },
            np.zeros(shape),
        )

    def mean(self) -> Any:
        return self._over_shape(self._known("mean"))

    @quiet
    def variance(self) -> Any:
        mean, power, dispersion = self._known("mean", "power", "dispersion")
        return dispersion * np.power(mean, power)

    def _entropy(self) -> Any:
        return self._by_kind(_ENTROPY)

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        """The derivatives of nll(y); those in power and dispersion are exact between powers 1 and 2.

        At the isolated powers 0, 1, 2 and 3 the derivative in the power is NaN; at power 1 that in the dispersion too,
        because the support moves.
        """
        mean, power, dispersion = self._known("mean", "power", "dispersion")
        numbers = as_numbers(y, "y")
        shape = arrays.broadcast_shape(numbers, mean, power, dispersion)
        nll, in_mean, in_power, in_dispersion = (np.empty(shape) for _ in range(4))
        _core.tweedie_slopes(
            arrays.native(numbers, shape),
            arrays.native(mean, shape),
            arrays.native(power, shape),
            arrays.native(dispersion, shape),
            nll,
            in_mean,
            in_power,
            in_dispersion,
            arrays.thread_count(nll.size),
        )
        isolated = self._by_kind(_DISPERSION_SLOPE, numbers)
        dispersion_slope = np.where(np.isnan(in_dispersion), isolated, in_dispersion)
        return {"mean": in_mean[()], "power": in_power[()], "dispersion": dispersion_slope[()]}

    # ---- losses ------------------------------------------------------------------------------------------------------

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Half the unit deviance of the power."""
        return half_deviance(y, prediction, self._known("power"))

    @property
    @quiet
    def loss_scale(self) -> Any:
        return self._known("dispersion")


@lru_cache(maxsize=16)
def _information_table(power: float) -> tuple[Any, Any]:
    """The log of the information about log dispersion at mean one, from draws: an error of a percent or few, in what
    only sets the length of a step.
    """
    nodes = np.linspace(-3.0, 4.0, 15)
    logs = []
    for node in nodes:
        law = Tweedie(1.0, power, float(np.exp(node)))
        slopes = law.parameter_gradient(law.sample(50_000, rng=0))["dispersion"] * law.dispersion
        logs.append(np.log(np.mean(np.square(slopes))))
    return nodes, np.array(logs)


# ---- one function of (y or q, mean, power, dispersion) per kind ------------------------------------------------------


def _gaussian(method: str) -> Callable[..., Any]:
    return lambda x, m, p, phi: getattr(Gaussian(m, np.sqrt(phi)), method)(x)


def _gamma(method: str) -> Callable[..., Any]:
    return lambda x, m, p, phi: getattr(Gamma(m, 1 / phi), method)(x)


def _lattice(y: Any, phi: Any) -> Any:
    """The number of steps phi in y, with y = k phi counted as k although the product was rounded."""
    steps = y / phi
    return np.where(np.abs(y - np.round(steps) * phi) <= 4e-16 * np.abs(y), np.round(steps), steps)


def _tails(upper: bool) -> dict[str, Callable[..., Any]]:
    method = "sf" if upper else "cdf"
    return {
        "gaussian": _gaussian(method),
        "poisson": lambda y, m, p, phi: poisson_tail(_lattice(y, phi), m / phi, upper),
        "compound": lambda y, m, p, phi: compound.tail(y, m, p, phi, upper),
        "gamma": _gamma(method),
        "inverse gaussian": lambda y, m, p, phi: inverse_gaussian.tail(y, m, phi, upper),
    }


def _quantiles(upper: bool) -> dict[str, Callable[..., Any]]:
    method = "isf" if upper else "icdf"
    return {
        "gaussian": _gaussian(method),
        "poisson": lambda q, m, p, phi: phi * poisson_quantile(q, m / phi, upper),
        "compound": lambda q, m, p, phi: compound.quantile(q, m, p, phi, upper),
        "gamma": _gamma(method),
        "inverse gaussian": lambda q, m, p, phi: inverse_gaussian.quantile(q, m, phi, upper),
    }


_ENTROPY = {
    "gaussian": lambda m, p, phi: Gaussian(m, np.sqrt(phi)).entropy(),
    "poisson": lambda m, p, phi: poisson_entropy(m / phi),
    "compound": compound.entropy,
    "gamma": lambda m, p, phi: Gamma(m, 1 / phi).entropy(),
    "inverse gaussian": lambda m, p, phi: inverse_gaussian.entropy(m, phi),
}
_DISPERSION_SLOPE = {
    "gaussian": lambda y, m, p, phi: (0.5 - half_deviance(y, m, 0.0) / phi) / phi,
    "poisson": lambda y, m, p, phi: np.full(y.shape, np.nan),
    "compound": lambda y, m, p, phi: np.full(y.shape, np.nan),
    "gamma": lambda y, m, p, phi: -Gamma(m, 1 / phi).parameter_gradient(y)["shape"] / phi**2,
    "inverse gaussian": lambda y, m, p, phi: (0.5 - half_deviance(y, m, 3.0) / phi) / phi,
}
