"""LightGBM with a noise of the library: the right objective, start, metric, dispersion and laws of y.

`objective` and `metric` go into LightGBM's own interfaces; `train` does the rest right as well and gives a model that
knows its noise. What remains different from the built-in objectives:

- Poisson. The built-in Hessian is exp(raw + poisson_max_delta_step), 0.7 by default: every leaf is cut to exp(-0.7),
  about half, of Newton's step. Here it is the true one; the same trees come from the built-in objective when
  poisson_max_delta_step is near 0, and about the same model when the learning rate here is halved.
- Start. `boost_from_average` has no effect on an objective of one's own: `lightgbm.train` with `objective(noise)`
  starts at raw prediction 0. `train` starts at the intercept-only maximum likelihood, weights and offset included,
  which without an offset is what boost_from_average does for L2, Poisson, Gamma, Tweedie and binary.
- L1. The built-in objective sets each leaf to the median of its rows, which an objective of one's own cannot. Here
  leaves make Newton steps with the Fisher information of Laplace noise at the current scale.
- Huber. The built-in Hessian is 1; here it is the Fisher information, the share of the law within the threshold, at
  the current scale unless that is stated. nl.Huber(scale=1.0, delta=alpha) has the built-in gradient.
- Classes. Gradient and Hessian are the built-in ones; the built-in start is the log of the class shares, as here.
- Speed. LightGBM sums by columns or by rows, as a short timing at the start finds better, which is often wrong for an
  objective of one's own: force_row_wise=True saves up to a tenth of the time.
"""

from functools import cache
from typing import Any

import numpy as np

from neglog.boosting import callables, training
from neglog.boosting.derivatives import OneOutput
from neglog.boosting.ensemble import BoostedEnsemble
from neglog.boosting.installed import required
from neglog.boosting.model import Boosted, BoostedModel
from neglog.boosting.nats import NAME
from neglog.boosting.storage import load
from neglog.boosting.team import Team, team_of
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

__all__ = ["BoostedEnsemble", "BoostedModel", "load", "metric", "objective", "train"]

DECIDED = {
    "objective": ("objective", "objective_type", "app", "application", "loss"),
    "metric": ("metric", "metrics", "metric_types"),
    "num_class": ("num_class", "num_classes"),
}


class Objective(callables.Objective):
    """f(predictions, dataset) for `lightgbm.train`, f(labels, predictions, weights) for its scikit-learn estimators.

    LightGBM applies weights in neither: both hand them over, and they multiply here.
    """

    def __call__(self, first: Any, second: Any, weight: Any = None) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian in float32, which LightGBM takes without a copy."""
        return self.slopes(first, second, weight, _team())


class Metric(callables.Metric):
    """f(predictions, dataset) for `lightgbm.train`, f(labels, predictions, weights) for its scikit-learn estimators."""

    def __call__(self, first: Any, second: Any, weight: Any = None) -> tuple[str, float, bool]:
        """The name, the mean nats, and that lower is better."""
        return NAME, self.nats(first, second, weight), False


def objective(noise: str | Noise, *, upper: Any = None) -> Objective:
    """The objective that a noise makes, for both interfaces of LightGBM.

    Native: params={"objective": objective(noise)}; scikit-learn's: LGBMRegressor(objective=objective(noise)).
    Predictions are raw, before the link; Categorical noise needs num_class=K, a modelled parameter num_class=2, two of
    them 3. A spread left open does not matter for the trees and is left out. Weights of the dataset count.

    `upper` makes cells of y, as `nl.censored` does: the labels of the dataset are the lower ends, and `upper` has the
    upper ends of the same rows, inf where y is censored on the right, and y itself where it was observed, although
    LightGBM keeps labels in float32. A row that is open below has the label -1e38. An open spread matters then, and
    follows the predictions.
    """
    return Objective(noise, upper)


def metric(noise: str | Noise, *, upper: Any = None) -> Metric:
    """The mean nll in nats as a metric, for both interfaces of LightGBM.

    Native: feval=metric(noise); scikit-learn's: eval_metric=metric(noise) in `fit`.
    It takes raw predictions, which LightGBM hands over only if the objective is one's own too. A spread left open is at
    its best for the rows looked at.

    `upper` makes cells of y, as for `objective`; it belongs to the rows of one dataset.
    """
    return Metric(noise, upper)


def train(
    params: dict[str, Any] | None,
    X: Any,
    y: Any,
    noise: str | Noise,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    valid: Any = None,
    num_boost_round: int = 100,
    early_stopping_rounds: int | None = None,
    folds: int = 5,
    seed: int = 0,
    ensemble: int | None = None,
    categorical_feature: Any = "auto",
    callbacks: Any = (),
) -> Boosted:
    """Trees under a noise, and everything around them.

    params         LightGBM's, without objective, metric and num_class, which the noise decides
    X, y           an array, sparse matrix or dataframe, missing values allowed; labels, or the name of a column of X;
                   or cells where y was censored, rounded or grouped: nl.censored(lower, upper), by names of columns
                   nl.censored("days", event="died")
    noise          an object or its text. Parameters left None are estimated; scale="model" (or shape, dispersion, df,
                   p, …) has trees predict them for each row
    sample_weight  counts a row as so many; offset is added to the raw prediction, exposure multiplies the mean
    valid          rows not to train on: (X, y), (X, y, {"sample_weight": ..., "offset": ..., "exposure": ...}), or a
                   share such as 0.2 to draw from the rows given. With early_stopping_rounds training ends when their
                   nats have not fallen for so many rounds, and the model is that of the best round

    ensemble       so many models, each of which leaves out another part of the rows as its `valid`, and the mixture of
                   their laws: better nats than they have on average, most of all where rows are few

    Boosting starts at the intercept-only maximum likelihood with the offset. What the noise leaves open is estimated
    after training, by exact likelihood on rows that the trees have not seen: `valid`; without it out-of-fold, by
    training again on each of the `folds`, or, from 50,000 rows on, on 10,000 rows that are left out of training. Of
    a modelled parameter that is its level, the same for all rows.

    >>> import numpy as np, neglog as nl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = rng.poisson(np.exp(2 * X[:, 0])).astype(float)
    >>> model = train({"num_leaves": 7, "num_threads": 1}, X, y, nl.Poisson(), num_boost_round=30)
    >>> low, high = model.predict([[0.1, 0.5], [0.9, 0.5]])
    >>> bool(low < 2 < high < model.distribution([[0.9, 0.5]]).icdf([0.9])[0])
    True
    """
    return training.train(
        TRAINER,
        params,
        X,
        y,
        noise,
        beside={"sample_weight": sample_weight, "offset": offset, "exposure": exposure},
        valid=valid,
        num_boost_round=num_boost_round,
        early_stopping_rounds=early_stopping_rounds,
        folds=folds,
        seed=seed,
        ensemble=ensemble,
        options={"categorical_feature": categorical_feature, "callbacks": list(callbacks)},
    )


class Trainer:
    """Trees by LightGBM. Its scores are float64, so that start and offset are its init_score."""

    name = "lightgbm"

    def check(self, params: dict[str, Any]) -> None:
        """Refuse parameters that the noise decides, under any of their names."""
        for meant, names in DECIDED.items():
            for given in names:
                if given in params:
                    raise ValueError(f"params: {given} is decided by the noise ({meant}); leave it out")
        required("lightgbm", "lightgbm")

    def grow(
        self,
        params: dict[str, Any],
        train: training.Part,
        valid: training.Part | None,
        slopes: Any,
        nats: Any,
        rounds: int,
        stopping: int | None,
        options: dict[str, Any],
    ) -> training.Grown:
        """Trees for `train`."""
        library = required("lightgbm", "lightgbm")
        outputs = 1 if train.scores.ndim == 1 else train.scores.shape[1]
        labels, weight = train.rows.y, train.rows.weight  # as float64, which a dataset would not keep
        # Half the squared error is left to LightGBM, which sums no Hessians where it knows that all are one. It sees
        # what the start leaves over, which float32 does not spoil, and starts at 0.
        targets = slopes.squares(labels) if isinstance(slopes, OneOutput) else None
        residuals = targets is not None

        def gradients(raw: Numbers, _: Any) -> tuple[Numbers, Numbers]:
            return slopes(labels, raw, weight, _team())  # type: ignore[no-any-return]

        def held_out(raw: Numbers, _: Any) -> tuple[str, float, bool]:
            assert valid is not None
            return NAME, nats(valid.rows.y, raw + valid.scores if residuals else raw, valid.rows.weight), False

        def dataset(part: training.Part, goal: Numbers, reference: Any = None) -> Any:
            return library.Dataset(
                part.rows.X,
                label=goal - part.scores if residuals else goal,
                weight=part.rows.weight if residuals else None,
                init_score=None if residuals else part.scores,
                reference=reference,
                categorical_feature=options["categorical_feature"],
            )

        settings = {"verbosity": -1, **params, "objective": gradients, "metric": "None"}
        if residuals:
            settings |= {"objective": "regression", "boost_from_average": False}
        if outputs > 1:
            settings["num_class"] = outputs
        data = dataset(train, train.rows.labels if targets is None else targets)
        watch = {}
        if valid is not None:
            watch = {"valid_sets": [dataset(valid, valid.rows.labels, data)], "valid_names": ["valid"]}
        callbacks = list(options["callbacks"])
        if stopping is not None:
            callbacks.append(library.early_stopping(stopping, verbose=False))
        feval = None if valid is None else held_out
        try:
            booster = library.train(settings, data, rounds, feval=feval, callbacks=callbacks, **watch)
        except library.basic.LightGBMError as error:
            if "num_features" not in str(error):
                raise
            raise ValueError(
                f"LightGBM finds no column to split {len(train.rows):,} rows by: each is the same in all rows, or "
                "fewer of these differ in it than min_child_samples asks for; give more rows or state a smaller one"
            ) from error
        best = booster.best_iteration if stopping is not None else 0
        return training.Grown(booster, best if best > 0 else booster.current_iteration())

    def raw(self, booster: Any, X: Any, rounds: int) -> Numbers:
        """The sum of the trees for each row."""
        return np.asarray(booster.predict(X, raw_score=True, num_iteration=rounds))

    def to_text(self, booster: Any, rounds: int) -> str:
        """LightGBM's own text."""
        return str(booster.model_to_string(num_iteration=rounds))

    def from_text(self, text: str) -> Any:
        """The booster of that text."""
        return required("lightgbm", "lightgbm").Booster(model_str=text)


@cache
def _team() -> Team | None:
    return team_of(getattr(required("lightgbm", "lightgbm").basic, "_LIB", None))


TRAINER = Trainer()
