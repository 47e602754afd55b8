"""Distributions: one family, one file; every one of them immutable, vectorised and exact."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from neglog.distributions.base import Distribution as Distribution
from neglog.distributions.base import Prior as Prior
from neglog.distributions.bernoulli import Bernoulli as Bernoulli
from neglog.distributions.beta import Beta as Beta
from neglog.distributions.categorical import Categorical as Categorical
from neglog.distributions.composed import compose_all
from neglog.distributions.dirichlet import Dirichlet as Dirichlet
from neglog.distributions.flat import Flat as Flat
from neglog.distributions.gamma import Gamma as Gamma
from neglog.distributions.gaussian import Gaussian as Gaussian
from neglog.distributions.huber import Huber as Huber
from neglog.distributions.inverse_gamma import InverseGamma as InverseGamma
from neglog.distributions.laplace import Laplace as Laplace
from neglog.distributions.lognormal import LogNormal as LogNormal
from neglog.distributions.noise import Noise as Noise
from neglog.distributions.poisson import Poisson as Poisson
from neglog.distributions.product import Product as Product
from neglog.distributions.registry import FAMILIES as FAMILIES
from neglog.distributions.registry import WRAPPERS, public_names
from neglog.distributions.tweedie import Tweedie as Tweedie


def _register_all() -> None:
    """Import every module of this folder, so that each family in it is known, whoever wrote it."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


_register_all()
compose_all()
globals().update(
    {law.__name__: law for law in (*FAMILIES.values(), *WRAPPERS.values()) if law.__name__ in public_names()}
)


def __getattr__(name: str) -> Any:
    """For type checkers: families that are found above have names that these cannot know."""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["FAMILIES", "Distribution", "Noise", "Prior", "Product", *public_names()]
