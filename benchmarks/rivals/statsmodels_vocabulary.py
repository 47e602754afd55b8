"""statsmodels: counts, truncated counts, ordered classes and proportions, by Newton's method and by BFGS."""

from collections.abc import Callable, Iterator

import numpy as np
import statsmodels.api as sm
from questions import Found, Question
from scipy.special import expit
from statsmodels.discrete.truncated_model import TruncatedLFPoisson
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.othermod.betareg import BetaModel
from tasks import Candidate

NAME = "statsmodels"
MOST = 1000  # iterations


def candidates(question: Question) -> Iterator[Candidate]:
    """A column of ones is added beforehand. Standard errors are not asked for where that can be said."""
    if question.key not in MODELS:
        return
    method_name, model = MODELS[question.key]
    methods = ("bfgs", "lbfgs") if question.key in ("ordinal", "beta") else ("newton", "bfgs")
    exog = question.X if question.key == "ordinal" else np.column_stack([np.ones(question.n), question.X])
    for method in methods:

        def fit(_: None, method: str = method) -> Found:
            return model(question.y, exog, {"method": method, "maxiter": MOST, "disp": 0})

        yield Candidate(f"{NAME} {method_name} {method}", fit)


def negative_binomial(y: np.ndarray, exog: np.ndarray, options: dict) -> Found:
    params = sm.NegativeBinomial(y, exog).fit(skip_hessian=True, **options).params
    return Found(params[0], params[1:-1], (params[-1],))


def zero_inflated(y: np.ndarray, exog: np.ndarray, options: dict) -> Found:
    params = sm.ZeroInflatedPoisson(y, exog).fit(skip_hessian=True, **options).params
    return Found(params[1], params[2:], (expit(params[0]),))


def hurdle(y: np.ndarray, exog: np.ndarray, options: dict) -> Found:
    """A constant probability of zeros is their share; what is left is a truncated law of the others."""
    some = y > 0
    params = TruncatedLFPoisson(y[some], exog[some]).fit(skip_hessian=True, **options).params
    return Found(params[0], params[1:], (np.mean(~some),))


def ordinal(y: np.ndarray, exog: np.ndarray, options: dict) -> Found:
    model = OrderedModel(y.astype(int), exog, distr="logit")
    params = np.asarray(model.fit(skip_hessian=True, **options).params)
    return Found(0.0, params[: exog.shape[1]], (model.transform_threshold_params(params)[1:-1],))


def beta(y: np.ndarray, exog: np.ndarray, options: dict) -> Found:
    params = BetaModel(y, exog).fit(skip_hessian=True, **options).params
    return Found(params[0], params[1:-1], (np.exp(params[-1]),))


MODELS: dict[str, tuple[str, Callable[..., Found]]] = {
    "nb": ("NegativeBinomial", negative_binomial),
    "zip": ("ZeroInflatedPoisson", zero_inflated),
    "hurdle": ("TruncatedLFPoisson", hurdle),
    "ordinal": ("OrderedModel", ordinal),
    "beta": ("BetaModel", beta),
}
