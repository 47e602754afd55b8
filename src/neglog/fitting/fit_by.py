"""`nl.fit_by`: one fit for each group of rows."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.design import is_formula
from neglog.distributions import Flat, Gaussian
from neglog.distributions.base import Prior
from neglog.distributions.censored import ends_of
from neglog.distributions.noise import Noise
from neglog.fitting.fit import check_settings
from neglog.fitting.fits_of_groups import Asked
from neglog.fitting.pooled_fits import pooled_fits
from neglog.fitting.rows_by_group import read_by_group
from neglog.fitting.several import questions
from neglog.likelihood.modelled import refuse_told
from neglog.likelihood.row_values import ConvergenceWarning
from neglog.results.fit_by import FitBy
from neglog.streaming.first_pass import opened_source


def fit_by(
    X: Any,
    y: ArrayLike | str,
    noise: Noise = Gaussian(),  # noqa: B008
    prior: Prior = Flat(),  # noqa: B008
    *,
    by: Any,
    sample_weight: ArrayLike | str | None = None,
    precision: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    exposure: ArrayLike | str | None = None,
    intercept: bool = True,
    missing: str = "error",
    pool: bool = False,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> FitBy:
    """One fit for each group of rows, each what `nl.fit` finds for the rows of that group alone.

    X          as in `nl.fit`, in memory. Levels of categories are those of all rows, in all groups the same
               coefficients; what does not vary within a group has the effect 0 there, or where a prior is centred
    y          and sample_weight, precision, offset, exposure, intercept, missing, tol and max_iter are as in `nl.fit`
    noise      as in `nl.fit`; parameters that are None are estimated for each group
    prior      as in `nl.fit`; a scale that is None is learned for each group
    by         the name of a column of X, several names, or one label for each row
    pool       the groups know of each other: the coefficients of a group, its intercept among them, are drawn from
               Normal(mean, scale^2), each by itself, whose means and scales are learned by maximum evidence (Laplace;
               what lme4 calls (1 | g) + (0 + x | g), by ML) and what is open of the noise is one number for all groups.
               `pooled` has that law; standard errors of a group are those under it. Groups that the fit has not seen
               are predicted at its mean

    A group that has no fit does not stop the others, unless none can be asked at all: it has NaN for coefficients, or
    is not `converged`, and `message` says why; rows in that sentence are counted within the group. A warning says how
    many there are.

    Noises that are smooth in the prediction and in what is open, under a prior that is Flat or a Gaussian of a stated
    scale, are fitted in one native call, in as many threads as there are processors; what that cannot settle, and all
    others, by `nl.fit` for one group after the other, which takes about a millisecond for each.

    >>> import numpy as np, neglog as nl
    >>> x, y = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]]), [1, 3, 8, 5, 4, 2]
    >>> fits = nl.fit_by(x, y, nl.Poisson(), by=["a", "a", "a", "b", "b", "b"])
    >>> fits.groups, fits.coef.round(3).ravel(), fits.intercept.round(3)
    (('a', 'b'), array([ 1.019, -0.421]), array([0.047, 1.662]))
    """
    check_settings(prior, tol, max_iter)
    _refuse(X, y, noise)
    given = {"sample_weight": sample_weight, "precision": precision, "offset": offset, "exposure": exposure}
    named = {what: value for what, value in {**ends_of(y), **given}.items() if isinstance(value, str)}
    kinds: dict[str, Any] = {"missing": missing, "reference": isinstance(prior, Flat), "intercept": intercept}
    rows = read_by_group(X, y, by, given, **kinds)
    with np.errstate(all="ignore"):
        asked = Asked(rows, noise, prior, {"intercept": intercept, "tol": tol, "max_iter": max_iter})
        result = pooled_fits(asked, named) if pool else asked.answered(named)
    if not result.converged.all():
        warnings.warn(result._failures, ConvergenceWarning, stacklevel=2)
    return result


def _refuse(X: Any, y: Any, noise: Any) -> None:
    """What has no fits by group."""
    if not isinstance(noise, Noise):
        raise TypeError(f"noise must be a noise such as nl.Gaussian() or nl.Poisson(), but is {noise!r}")
    if is_formula(y):
        raise ValueError(
            f"fit_by takes no formula such as {y!r}: name the column of y, and leave in X what explains it"
        )
    refuse_told(noise)
    if noise.labelled:
        raise ValueError(
            f"{type(noise).__name__} noise has coefficients for each class, and groups may not have the same classes; "
            "fit one group after the other"
        )
    if noise.modelled:
        raise ValueError(
            f"{noise!r}: a parameter that is modelled has coefficients of its own, which fit_by does not have; let it "
            "be estimated for each group, or fit one group after the other"
        )
    if questions(noise) is not None:
        raise ValueError(f"{noise!r} asks for several quantiles; fit_by takes one at a time")
    if opened_source(X, None) is not None:
        raise TypeError("fit_by needs its rows in memory; read the files into a table first")
