"""scikit-learn estimators over boosted trees: laws of y from settings that were chosen once, for all tables."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from neglog.design import declared_order
from neglog.distributions import Bernoulli, Categorical
from neglog.distributions.noise import Noise
from neglog.distributions.ordinal import Ordinal
from neglog.distributions.specification import noise_of
from neglog.estimators import ARRAYS, OfClasses, OfLaws, Reading, check_weighted_classes
from neglog.typing import Numbers

LIBRARIES = ("lightgbm", "xgboost")
ROUNDS = 5000  # at most: rows that were left out say when to stop
FEWEST = 10  # rows of a leaf, where there are many


class _Boosted(Reading):
    """What both estimators share: their parameters, the training, and laws of y for new rows."""

    _arrays: ClassVar[dict[str, Any]] = ARRAYS | {"ensure_all_finite": "allow-nan"}

    def __init__(
        self,
        *,
        library: str = "lightgbm",
        ensemble: int = 5,
        learning_rate: float = 0.05,
        leaves: int | None = None,
        patience: int = 50,
        params: dict[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        self.library = library
        self.ensemble = ensemble
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.patience = patience
        self.params = params
        self.random_state = random_state

    def _trained(self, X: Any, y: Any, noise: Noise, **rows: Any) -> None:
        from importlib import import_module

        if self.library not in LIBRARIES:
            raise ValueError(f"library must be one of {', '.join(LIBRARIES)}, but is {self.library!r}")
        if len(y) < 2:
            raise ValueError(f"trees take two rows at least, some of which say when to stop, but n_samples={len(y)}")
        train = import_module(f"neglog.{self.library}").train
        several = {"ensemble": min(self.ensemble, len(y))} if self.ensemble > 1 else {"valid": 0.2}
        self.model_ = train(
            self._settings(len(y)) | (self.params or {}),
            X,
            y,
            noise,
            **{name: values for name, values in rows.items() if values is not None},
            **several,
            num_boost_round=ROUNDS,
            early_stopping_rounds=self.patience,
            seed=self.random_state,
        )

    def _settings(self, rows: int) -> dict[str, Any]:
        """More leaves where there are rows for them; one thread where several would only wait for each other."""
        leaves = self.leaves or (8 if rows < 4000 else 16 if rows < 40_000 else 32)
        fewest = max(1, min(FEWEST, rows // 20))
        threads = 1 if rows < 10_000 else 0
        if self.library == "xgboost":
            growth = {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
            rate = {"eta": self.learning_rate, "seed": self.random_state, "nthread": threads}
            return {**growth, **rate, "min_child_weight": fewest}
        return {
            "num_leaves": leaves,
            "learning_rate": self.learning_rate,
            "min_data_in_leaf": fewest,
            "num_threads": threads,
            "force_row_wise": True,
            "deterministic": True,
            "seed": self.random_state,
        }

    def predict_distribution(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The law of y for each row: a distribution with nll, cdf, icdf, sample and the rest."""
        check_is_fitted(self)
        return self.model_.distribution(self._read(X), offset=offset, exposure=exposure)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class BoostedRegressor(OfLaws, RegressorMixin, _Boosted):  # type: ignore[misc]
    """Gradient-boosted trees that predict a law of y: a mixture of several models, each with held-out rows of its own.

    noise          an object or its text. The default has tails as heavy as the rows ask for, around a location and a
                   spread that both depend on the columns. Counts ask for "negativebinomial(dispersion='model')"
    library        "lightgbm" or "xgboost"
    ensemble       how many models, each of which leaves out another part of the rows to know when to stop; 1 for one
    learning_rate  and patience: how far each round goes, and how many rounds without a gain end the training
    leaves         of a tree; None for 8, 16 or 32 by the number of rows
    params         more of the library's own parameters, which win over these

    >>> import numpy as np, neglog as nl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> y = np.sin(3 * X[:, 0]) + np.exp(X[:, 1] - 1) * rng.normal(size=300)
    >>> model = nl.BoostedRegressor(ensemble=2).fit(X, y)
    >>> narrow, wide = model.predict_distribution([[0.0, -0.8], [0.0, 0.8]]).variance()
    >>> bool(wide > 2 * narrow)
    True
    """

    def __init__(
        self,
        noise: str | Noise = "studentt(scale='model')",
        *,
        library: str = "lightgbm",
        ensemble: int = 5,
        learning_rate: float = 0.05,
        leaves: int | None = None,
        patience: int = 50,
        params: dict[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            library=library,
            ensemble=ensemble,
            learning_rate=learning_rate,
            leaves=leaves,
            patience=patience,
            params=params,
            random_state=random_state,
        )
        self.noise = noise

    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None) -> Self:
        """Train on a table or matrix and its target."""
        noise = noise_of(self.noise)
        if noise.labelled:
            raise ValueError(f"{type(noise).__name__} noise is of classes; use nl.BoostedClassifier")
        X, y = self._read_both(X, y, numeric=True)
        target = np.asarray(y, np.float64)
        self._trained(X, target, noise, sample_weight=sample_weight, offset=offset, exposure=exposure)
        return self

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """The mean of y for each row, or the centre of a law that has none."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict(self._read(X), offset=offset, exposure=exposure))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a log likelihood is not a share of 1
        tags.target_tags.positive_only = noise_of(self.noise).support.low >= 0
        return tags


class BoostedClassifier(OfClasses, ClassifierMixin, _Boosted):  # type: ignore[misc]
    """Gradient-boosted trees for classes: the averaged probabilities of several models.

    ordered   True: the classes have an order, that of a category that declares one, else the sorted one; or a list of
              them in order. They are then cells of one latent value (Ordinal)
    library   and the others are those of `BoostedRegressor`

    >>> import numpy as np, neglog as nl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 0.6, "inside", "outside")
    >>> nl.BoostedClassifier(ensemble=2).fit(X, y).predict([[0.0, 0.0], [0.9, 0.9]]).tolist()
    ['inside', 'outside']
    """

    def __init__(
        self,
        *,
        ordered: bool | Any = False,
        library: str = "lightgbm",
        ensemble: int = 5,
        learning_rate: float = 0.05,
        leaves: int | None = None,
        patience: int = 50,
        params: dict[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            library=library,
            ensemble=ensemble,
            learning_rate=learning_rate,
            leaves=leaves,
            patience=patience,
            params=params,
            random_state=random_state,
        )
        self.ordered = ordered

    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Train on a table or matrix and its labels."""
        order = declared_order(X, y) if self.ordered is True else None if self.ordered is False else self.ordered
        X, y = self._read_both(X, y, numeric=False)
        check_classification_targets(y)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"BoostedClassifier needs at least two classes, but y is one class throughout: {self.classes_[0]!r}"
            )
        check_weighted_classes(self.classes_, codes, sample_weight)
        if self.ordered is not False:
            self._trained(X, np.asarray(y), Ordinal(order), sample_weight=sample_weight, offset=offset)
            self.classes_ = self.model_.classes
        elif len(self.classes_) == 2:
            self._trained(X, codes.astype(float), Bernoulli(), sample_weight=sample_weight, offset=offset)
        else:
            self._trained(X, codes, Categorical(), sample_weight=sample_weight, offset=offset)
        return self

    def predict_proba(self, X: Any, *, offset: Any = None) -> Numbers:
        """The probability of each class, in the order of `classes_`."""
        check_is_fitted(self)
        p = np.asarray(self.model_.predict(self._read(X), offset=offset))
        return np.stack([1 - p, p], axis=-1) if p.ndim == 1 else p
