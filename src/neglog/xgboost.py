"""XGBoost with a noise of the library: the right objective, start, metric, dispersion and laws of y.

`objective` and `metric` go into XGBoost's own interfaces; `train` does the rest right as well and gives a model that
knows its noise. What remains different from the built-in objectives:

- Poisson. The built-in Hessian is exp(raw + max_delta_step), and max_delta_step is 0.7 unless stated, which also bounds
  every leaf. Here the Hessian is the true one; max_delta_step=0 makes the built-in objective the same.
- Start. With an objective of one's own, base_score is a raw prediction, and 0.5 unless stated. `train` starts at the
  intercept-only maximum likelihood, weights and offset included.
- reg:absoluteerror sets each leaf to the median of its rows, which an objective of one's own cannot. Here leaves make
  Newton steps with the Fisher information of Laplace noise at the current scale.
- reg:pseudohubererror is another loss than Huber's: a smooth one, with no law of the library.
- Classes. The built-in Hessian is 2 p (1 - p); here it is K / (K - 1) p (1 - p), the same for two classes.
- Regularisation. lambda=1 and min_child_weight=1 are in units of the Hessian. A spread left open is left out of it, as
  in the built-in objectives; a stated one counts: lambda is then the precision of a Gaussian prior of the leaves.
"""

import ctypes
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

DECIDED = ("objective", "eval_metric", "disable_default_eval_metric", "num_class", "base_score")


class OfMatrix(callables.OfNoise):
    """Reads labels and weights where XGBoost keeps them: `get_label` would copy them in every round."""

    def stored(self, dataset: Any) -> tuple[Any, Any]:
        """Labels and weights of a DMatrix."""
        return _in_place(dataset, b"label"), _in_place(dataset, b"weight")


class Objective(OfMatrix, callables.Objective):
    """f(predictions, matrix) for `xgboost.train`, f(labels, predictions, sample_weight) for scikit-learn's interface.

    XGBoost applies weights in neither: both hand them over, and they multiply here.
    """

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian."""
        return self.slopes(first, second, sample_weight, _team())


class Metric(OfMatrix, callables.Metric):
    """f(predictions, matrix) for `xgboost.train`, f(labels, predictions, sample_weight) for scikit-learn's interface.

    The first form is answered by the name and the nats, the second by the nats, as XGBoost expects.
    """

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> Any:
        """The mean nats; lower is better."""
        nats = self.nats(first, second, sample_weight)
        return (NAME, nats) if hasattr(second, "get_label") else nats


def objective(noise: str | Noise, *, upper: Any = None) -> Objective:
    """The objective that a noise makes, for both interfaces of XGBoost.

    Native: xgboost.train(..., obj=objective(noise)); scikit-learn's: XGBRegressor(objective=objective(noise)).
    Predictions are raw, before the link; Categorical noise needs num_class=K, a modelled parameter num_class=2, two of
    them 3. A spread left open does not matter for the trees and is left out. Weights of the matrix count.

    `upper` makes cells of y, as `nl.censored` does: the labels of the dataset are the lower ends, and `upper` has the
    upper ends of the same rows, inf where y is censored on the right, and y itself where it was observed, although
    XGBoost keeps labels in float32. A row that is open below has the label -1e38. An open spread matters then, and
    follows the predictions.
    """
    return Objective(noise, upper)


def metric(noise: str | Noise, *, upper: Any = None) -> Metric:
    """The mean nll in nats as a metric, for both interfaces of XGBoost.

    Native: custom_metric=metric(noise); scikit-learn's: XGBRegressor(eval_metric=metric(noise)).
    It takes raw predictions, which XGBoost hands over only if the objective is one's own too. A spread left open is at
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
    callbacks: Any = (),
) -> Boosted:
    """Trees under a noise, and everything around them.

    params         XGBoost's, without objective, eval_metric, num_class and base_score, which the noise decides
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
    >>> model = train({"max_depth": 3, "nthread": 1}, X, y, nl.Poisson(), num_boost_round=30)
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
        options={"callbacks": list(callbacks)},
    )


class Trainer:
    """Trees by XGBoost. Its margins are float32, so start and offset are added here, in float64: a base_margin of a
    million would leave a sixteenth as the smallest difference.
    """

    name = "xgboost"

    def check(self, params: dict[str, Any]) -> None:
        """Refuse parameters that the noise decides."""
        for given in DECIDED:
            if given in params:
                raise ValueError(f"params: {given} is decided by the noise; leave it out")
        required("xgboost", "xgboost-cpu")

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
        library = required("xgboost", "xgboost-cpu")
        outputs = 1 if train.scores.ndim == 1 else train.scores.shape[1]
        labels, weight = train.rows.y, train.rows.weight  # as float64, which a matrix would not keep
        scores = np.ascontiguousarray(train.scores)  # rows of classes one after the other, as XGBoost has them
        total = np.empty_like(scores)  # one for all rounds
        left_over = labels - scores if isinstance(slopes, OneOutput) and slopes.of_residuals else None

        def gradients(raw: Numbers, _: Any) -> tuple[Numbers, Numbers]:
            if left_over is not None:
                return slopes(left_over, raw, weight, _team())  # type: ignore[no-any-return]
            np.add(raw.reshape(total.shape), scores, out=total)
            return slopes(labels, total, weight, _team())  # type: ignore[no-any-return]

        def held_out(raw: Numbers, _: Any) -> tuple[str, float]:
            assert valid is not None
            return NAME, nats(valid.rows.y, raw.reshape(valid.scores.shape) + valid.scores, valid.rows.weight)

        settings = {**params, "base_score": 0.0, "disable_default_eval_metric": 1}
        same = _same_built_in(slopes, params) if valid is None else None
        # Half the squared error is XGBoost's own default, and what the start leaves over is not spoilt by float32.
        targets = slopes.squares(labels) if isinstance(slopes, OneOutput) else None
        if targets is not None:
            data = _matrix(train.rows.X, targets - train.scores, weight)
        elif same is not None:
            data = _matrix(train.rows.X, labels, weight)
            data.set_base_margin(train.scores)
            settings |= same
        else:
            data = _matrix(train.rows.X, train.rows.labels)
        if outputs > 1:
            settings["num_class"] = outputs
        callbacks = list(options["callbacks"])
        if stopping is not None:
            callbacks.append(library.callback.EarlyStopping(rounds=stopping, metric_name=NAME, data_name="valid"))
        booster = library.train(
            settings,
            data,
            rounds,
            evals=[] if valid is None else [(_matrix(valid.rows.X, valid.rows.labels), "valid")],
            obj=gradients if targets is None and same is None else None,
            custom_metric=None if valid is None else held_out,
            callbacks=callbacks,
            verbose_eval=False,
        )
        return training.Grown(booster, rounds if stopping is None else booster.best_iteration + 1)

    def raw(self, booster: Any, X: Any, rounds: int) -> Numbers:
        """The sum of the trees for each row."""
        return np.asarray(booster.predict(_matrix(X), output_margin=True, iteration_range=(0, rounds)), np.float64)

    def to_text(self, booster: Any, rounds: int) -> str:
        """XGBoost's own JSON."""
        return bytes(booster[:rounds].save_raw("json")).decode()

    def from_text(self, text: str) -> Any:
        """The booster of that text."""
        library = required("xgboost", "xgboost-cpu")
        return library.Booster(model_file=bytearray(text.encode()))


def _same_built_in(slopes: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of the built-in objective with the same gradient and Hessian, which XGBoost need not ask Python for.

    Its base_score is a mean: the one whose raw prediction is 0.
    """
    if not isinstance(slopes, OneOutput) or slopes.expected:
        return None
    noise: Any = slopes.noise
    if slopes.following.names or (noise.spread is not None and noise.parameters[noise.spread] != 1.0):
        return None
    match noise._family():
        case "bernoulli" if noise.link.name == "logit":
            return {"objective": "binary:logistic", "base_score": 0.5}
        case "poisson" if "max_delta_step" not in params:
            return {"objective": "count:poisson", "base_score": 1.0, "max_delta_step": 0.0}
        case "gamma":
            return {"objective": "reg:gamma", "base_score": 1.0}
        case "tweedie" if 1 < noise.power < 2:
            return {"objective": "reg:tweedie", "base_score": 1.0, "tweedie_variance_power": noise.power}
    return None


def _in_place(matrix: Any, field: bytes) -> Numbers:
    """A view of what a matrix holds, by XGBoost's C interface; good until the matrix is changed."""
    length, start = ctypes.c_uint64(), ctypes.POINTER(ctypes.c_float)()
    if _c_interface().XGDMatrixGetFloatInfo(matrix.handle, field, ctypes.byref(length), ctypes.byref(start)):
        return np.asarray(matrix.get_float_info(field.decode()))
    if not length.value:
        return np.empty(0, np.float32)
    view = np.ctypeslib.as_array(start, (length.value,))
    view.flags.writeable = False
    return view


@cache
def _c_interface() -> ctypes.CDLL:
    from xgboost.libpath import find_lib_path

    return ctypes.CDLL(find_lib_path()[0])


@cache
def _team() -> Team | None:
    return team_of(_c_interface())


def _matrix(X: Any, y: Numbers | None = None, weight: Numbers | None = None) -> Any:
    return required("xgboost", "xgboost-cpu").DMatrix(X, label=y, weight=weight, enable_categorical=True)


TRAINER = Trainer()
