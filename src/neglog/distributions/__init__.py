"""Distributions: one family, one file; every one of them immutable, vectorised and exact."""

from neglog.distributions.base import Distribution, Noise, Prior
from neglog.distributions.bernoulli import Bernoulli
from neglog.distributions.beta import Beta
from neglog.distributions.categorical import Categorical
from neglog.distributions.dirichlet import Dirichlet
from neglog.distributions.flat import Flat
from neglog.distributions.gamma import Gamma
from neglog.distributions.gaussian import Gaussian
from neglog.distributions.huber import Huber
from neglog.distributions.inverse_gamma import InverseGamma
from neglog.distributions.laplace import Laplace
from neglog.distributions.lognormal import LogNormal
from neglog.distributions.poisson import Poisson
from neglog.distributions.product import Product
from neglog.distributions.registry import FAMILIES
from neglog.distributions.tweedie import Tweedie

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Distribution",
    "Flat",
    "Gamma",
    "Gaussian",
    "Huber",
    "InverseGamma",
    "Laplace",
    "LogNormal",
    "Noise",
    "Poisson",
    "Prior",
    "Product",
    "Tweedie",
]
