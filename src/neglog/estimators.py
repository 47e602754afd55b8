"""scikit-learn estimators: the same fits in pipelines, searches and cross-validation."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import make_scorer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from neglog.design import blocks, check_index, declared_order, split
from neglog.design.faults import first_rows
from neglog.design.tables import as_table
from neglog.distributions import Bernoulli, Categorical, Gaussian
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.distributions.ordinal import Ordinal
from neglog.distributions.specification import noise_of, prior_of
from neglog.fitting.fit import fit
from neglog.likelihood.row_values import ConvergenceWarning, check_counted_classes
from neglog.results.fit_of_rows import nats_of_loss, row_losses
from neglog.typing import Numbers

WEAK = 10.0  # log odds for one standard deviation of a column: more than data that do not separate classes ever say
ARRAYS = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}


def is_dataframe(X: Any) -> bool:
    """Whether X is a dataframe."""
    return not isinstance(X, np.ndarray | list | tuple) and not blocks.is_sparse(X) and as_table(X) is not None


def check_rows(X: Any, y: Any, sample_weight: Any) -> None:
    """Refuse what goes with other rows than X."""
    check_index(X, y, "y")
    check_index(X, sample_weight, "sample_weight")


def check_weighted_classes(classes: Numbers, codes: Numbers, sample_weight: Any) -> None:
    """Refuse labels of which but one class counts; weights that are none are refused later."""
    weight = np.asarray(sample_weight)
    if weight.shape == codes.shape and weight.dtype.kind in "biuf":
        counted = np.unique(codes[weight > 0])
        check_counted_classes(classes[counted].tolist(), len(classes))


class OfLaws:
    """What a law of y for each row makes possible."""

    predict_distribution: Any

    def predict_quantiles(self, X: Any, q: ArrayLike, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """The quantiles at the levels q, one column each."""
        law = self.predict_distribution(X, offset=offset, exposure=exposure)
        levels = np.atleast_1d(np.asarray(q, float))
        return np.stack([np.asarray(law.icdf(np.full(law.batch_shape, level))) for level in levels], axis=-1)

    def predict_interval(self, X: Any, level: float = 0.9, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """The central interval that holds y with probability `level`: lower and upper end of each row."""
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, but is {level}")
        return self.predict_quantiles(X, [0.5 - level / 2, 0.5 + level / 2], offset=offset, exposure=exposure)

    def score(
        self, X: Any, y: ArrayLike, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        """The mean log likelihood of y in nats; higher is better."""
        check_rows(X, y, sample_weight)
        law = self.predict_distribution(X, offset=offset, exposure=exposure)
        return -_average(law.nll(_beside(np.asarray(y, float), law.batch_shape)), sample_weight)


class OfClasses:
    """What a probability of each class makes possible."""

    classes_: Any
    predict_proba: Any

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """The most probable class."""
        p = self.predict_proba(X, offset=offset)
        return self.classes_[np.argmax(p, axis=1)]

    def log_score(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, offset: Any = None) -> float:
        """The mean log probability of the labels in nats; higher is better."""
        check_rows(X, y, sample_weight)
        p, labels = self.predict_proba(X, offset=offset), np.asarray(y)
        unknown = np.flatnonzero(~np.isin(labels, self.classes_))
        if len(unknown):
            raise ValueError(
                f"labels must be among the {len(self.classes_)} classes of the fit, but "
                f"{first_rows(unknown, len(labels))} {labels[unknown[0]]!r}"
            )
        order = np.argsort(self.classes_)  # which ordered classes may not be in
        places = order[np.searchsorted(self.classes_, labels, sorter=order)]
        return float(np.average(np.log(p[np.arange(len(places)), places]), weights=sample_weight))


class Reading(BaseEstimator):  # type: ignore[misc]
    """How X and y are read: dataframes as they are, arrays after scikit-learn's checks."""

    _arrays: ClassVar[dict[str, Any]] = ARRAYS

    def _read(self, X: Any) -> Any:
        """X as the design reads it. Dataframes keep their strings and categories; all else is checked as usual."""
        if is_dataframe(X):
            return validate_data(self, X, skip_check_array=True, reset=False)
        return validate_data(self, X, reset=False, **self._arrays)

    def _read_both(self, X: Any, y: Any, *, numeric: bool) -> tuple[Any, Any]:
        """X and y to learn from."""
        check_index(X, y, "y")
        if is_dataframe(X) and y is not None:
            validate_data(self, X, skip_check_array=True, reset=True)
            return X, column_or_1d(y)
        return validate_data(self, X, y, reset=True, y_numeric=numeric, **self._arrays)  # type: ignore[no-any-return]


class _Estimator(Reading):
    """What both estimators share: their parameters, how they read X, and laws of y for new rows."""

    def __init__(
        self,
        prior: str | Prior | None = None,
        *,
        intercept: bool = True,
        standardize: bool | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        terms: Any = None,
    ) -> None:
        self.prior = prior
        self.intercept = intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.terms = terms

    def _belief(self) -> tuple[Prior, bool | None]:
        """The prior, and whether it is on the coefficients of columns of unit variance."""
        return prior_of(self.prior), self.standardize

    def _fitted(self, X: Any, y: Any, noise: Noise, sample_weight: Any, **rows: Any) -> None:
        prior, standardize = self._belief()
        self.fit_ = fit(
            X,
            y,
            noise,
            prior,
            sample_weight=sample_weight,
            intercept=self.intercept,
            standardize=standardize,
            tol=self.tol,
            max_iter=self.max_iter,
            terms=self.terms,
            **rows,
        )
        self.coef_, self.intercept_, self.n_iter_ = self.fit_.coef, self.fit_.intercept, self.fit_.n_iter
        self.noise_, self.prior_ = self.fit_.noise, self.fit_.prior

    def predict_distribution(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The law of y for each row: a distribution with nll, cdf, icdf, sample and the rest."""
        check_is_fitted(self)
        return self.fit_.distribution(self._read(X), offset=offset, exposure=exposure)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Regressor(OfLaws, RegressorMixin, _Estimator):  # type: ignore[misc]
    """A regression for the noise you believe in.

    noise  an object or its text: "gaussian", "gamma", "tweedie(power=1.5)", "huber"; what it leaves open is estimated
    prior  of the coefficients: None for none, "gaussian(scale=1)", "laplace(scale=0.1)", "gaussian" to learn its scale
    link   another link than the noise's own
    terms  what predictions are made of, as in `nl.fit`: names of columns, curves, groups and interactions, or "smooth"

    >>> import numpy as np, neglog as nl
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [1, 2, 7, 11]
    >>> nl.Regressor("poisson").fit(X, y).predict([[4.0]]).round(1)
    array([25.7])
    """

    def __init__(
        self,
        noise: str | Noise = "gaussian",
        prior: str | Prior | None = None,
        *,
        link: str | None = None,
        intercept: bool = True,
        standardize: bool | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        terms: Any = None,
    ) -> None:
        search: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
        super().__init__(prior, intercept=intercept, standardize=standardize, terms=terms, **search)
        self.noise = noise
        self.link = link

    def _noise(self) -> Noise:
        noise = noise_of(self.noise)
        if noise.labelled or noise.support.high == noise.support.step:  # yes or no
            raise ValueError(f"{type(noise).__name__} noise is of classes; use nl.Classifier")
        return noise if self.link is None else type(noise)(**noise.as_stated, link=self.link)  # type: ignore[call-arg]

    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None) -> Self:
        """Fit to a table or matrix and its target."""
        X, y = self._read_both(X, y, numeric=True)
        self._fitted(X, y, self._noise(), sample_weight, offset=offset, exposure=exposure)
        return self

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """The mean of y for each row."""
        check_is_fitted(self)
        return self.fit_.predict(self._read(X), offset=offset, exposure=exposure)

    def d2(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None) -> float:
        """The share of the loss of the best constant, beside offset and exposure, that the predictions explain.

        For Gaussian noise that constant is the mean of y, for Laplace noise the median, for LogNormal noise the median
        of its law. Of the rows of the fit it is `fit_.d2`. Where the constant leaves no loss, it is 1 if the
        predictions leave none either, else 0.
        """
        check_is_fitted(self)
        check_rows(X, y, sample_weight)
        X, y = self._read(X), np.asarray(y, float)
        noise = self.fit_.noise
        beside: dict[str, Any] = split(X, self.fit_.beside(X, {"offset": offset, "exposure": exposure}))[1]
        nothing = np.empty((len(y), 0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # as where all counts are 0: then the loss is 0
            alone = fit(nothing, y, noise.unmodelled(), sample_weight=sample_weight, **beside)
            constant = alone.raw_prediction(nothing, **beside)
        losses: Any = row_losses
        law: Any = noise
        if noise.modelled:  # which then stays as it is predicted
            losses, law = nats_of_loss, self.fit_.distribution(X, **beside)
        least, left = (
            _average(losses(law, eta, _beside(y, eta.shape)), sample_weight)
            for eta in (constant, self.fit_.raw_prediction(X, **beside))
        )
        return 1 - left / least if least else float(not left)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a log likelihood is not a share of 1
        try:
            noise = self._noise()
        except (ValueError, TypeError):
            return tags
        tags.target_tags.positive_only = noise.support.low >= 0
        return tags


class Classifier(OfClasses, ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Logistic regression for two classes, softmax regression for more, or for classes that have an order.

    prior  of the coefficients: "weak", the default, is Gaussian with scale 10 on columns of unit variance: it moves
           little where the data speak, and where columns separate the classes, which leaves no maximum of the
           likelihood, it gives one. None for none, "gaussian(scale=1)", "laplace(scale=0.1)", "gaussian" to learn its
           scale
    ordered  True: the classes have an order, that of a category that declares one, else the sorted one; or a list of
           them in order. They are then cells of one latent value (Ordinal), with one coefficient per column
    terms  what predictions are made of, as in `nl.fit`: names of columns, curves, groups and interactions, or "smooth"

    >>> import numpy as np, neglog as nl
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["no", "yes", "no", "yes"]
    >>> nl.Classifier("gaussian(scale=1)").fit(X, y).predict_proba([[4.0]]).round(2)
    array([[0.24, 0.76]])
    """

    def __init__(
        self,
        prior: str | Prior | None = "weak",
        *,
        ordered: bool | Sequence[Any] = False,
        intercept: bool = True,
        standardize: bool | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        terms: Any = None,
    ) -> None:
        search: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
        super().__init__(prior, intercept=intercept, standardize=standardize, terms=terms, **search)
        self.ordered = ordered

    def _belief(self) -> tuple[Prior, bool | None]:
        if isinstance(self.prior, str) and self.prior == "weak":
            return Gaussian(scale=WEAK), self.standardize is not False
        return super()._belief()

    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit to a table or matrix and its labels."""
        order = self._order(X, y)
        X, y = self._read_both(X, y, numeric=False)
        check_classification_targets(y)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"Classifier needs at least two classes, but y is one class throughout: {self.classes_.tolist()[0]!r}"
            )
        check_weighted_classes(self.classes_, codes, sample_weight)
        if self.ordered is not False:
            self._fitted(X, np.asarray(y), Ordinal(order), sample_weight, offset=offset)
            self.classes_, self.coef_, self.intercept_ = self.fit_.classes, self.fit_.coef[None], np.zeros(1)
            return self
        two = len(self.classes_) == 2
        noise: Noise = Bernoulli() if two else Categorical()
        self._fitted(X, codes.astype(float) if two else codes, noise, sample_weight, offset=offset)
        if two:
            self.coef_, self.intercept_ = self.fit_.coef[None], np.array([self.fit_.intercept])
        return self

    def _order(self, X: Any, y: Any) -> Any:
        """The classes in their order, if it is stated or declared."""
        return declared_order(X, y) if self.ordered is True else None if self.ordered is False else self.ordered

    def predict_proba(self, X: Any, *, offset: Any = None) -> Numbers:
        """The probability of each class, in the order of `classes_`."""
        check_is_fitted(self)
        p = self.fit_.predict(self._read(X), offset=offset)
        return np.stack([1 - p, p], axis=-1) if p.ndim == 1 else p

    def decision_function(self, X: Any, *, offset: Any = None) -> Numbers:
        """Raw predictions: log odds of the second of two classes, else one number per class; of ordered ones, the logs
        of their probabilities.
        """
        check_is_fitted(self)
        if self.fit_.noise.classes is not None:
            with np.errstate(divide="ignore"):
                logs = np.log(self.predict_proba(X, offset=offset))
            return logs if len(self.classes_) > 2 else np.asarray(logs[:, 1] - logs[:, 0])
        return self.fit_.raw_prediction(self._read(X), offset=offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = (
            self.ordered is not False
        )  # classes without an order are not told apart by one
        return tags


def _beside(y: Numbers, shape: tuple[int, ...]) -> Numbers:
    """y as a column where each row has several predictions, as several quantiles are."""
    return y[:, None] if len(shape) == 2 else y


def _average(values: Numbers, weight: Any) -> float:
    """Over the rows by their weights, and over what is predicted for each."""
    return float(np.mean(np.average(values, axis=0, weights=weight)))


def neg_nll_scorer(noise: str | Noise) -> Any:
    """A scorer for any scikit-learn regressor: minus the mean nll of y with its predictions as means under the noise.

    Parameters of the noise beside the mean must be stated, and no prediction may be one that its mean cannot have.
    """
    law = noise_of(noise)

    def score(y: Any, predicted: Any, sample_weight: Any = None) -> float:
        with np.errstate(all="ignore"):
            eta = np.asarray(law.link.forward(law.location_at(predicted)))
        bad = np.flatnonzero(np.isnan(eta))
        if len(bad):
            raise ValueError(
                f"predictions must be means that {law!r} can have, but {first_rows(bad, len(eta))} "
                f"{np.asarray(predicted)[bad[0]]:.6g}"
            )
        at = law.given(eta)
        return -float(np.average(at.nll(np.asarray(y, float)), weights=sample_weight))

    return make_scorer(score)
