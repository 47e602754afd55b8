"""What a fit found: coefficients, the noise with its parameters filled in, and how sure both are. All that can be asked
without the rows it was made from; `FitOfRows` has these.
"""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike

from neglog.belief.posterior import checked_level
from neglog.belief.standard_errors import Information
from neglog.design import beside, split
from neglog.design.design import Design, Schema
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.engines.memory import Loss, Memory
from neglog.likelihood.row_values import UnseenLevelWarning, class_offsets, combined_offset, finite_prediction
from neglog.margins.average import AverageEffects, average_effects
from neglog.margins.intervals import Predictions, intervals
from neglog.results.checked import Checked
from neglog.results.contrasts import Contrasts
from neglog.results.effects import Effect, effect_of
from neglog.results.one_row import OneRow, UnusualRowError, as_columns, is_row
from neglog.results.plot import plot_effects
from neglog.results.prediction_files import predict_source
from neglog.results.predictor import Predictor
from neglog.results.relativities import Relativities, relativities_of
from neglog.results.storage import save
from neglog.results.summary import Summary
from neglog.results.terms import Terms
from neglog.streaming.first_pass import opened_source
from neglog.streaming.watching import watched
from neglog.testing.covariance import of_posterior
from neglog.testing.intervals import Intervals
from neglog.typing import Numbers

STATED = ("noise", "prior", "schema", "notes", "named", "coef", "intercept", "_modelled", "converged", "n_iter")
COMPUTED = (
    "message",
    "n_rows",
    "target_summary",
    "has_intercept",
    "total_weight",
    "nll",
    "penalty",
    "n_parameters",
    "effective_parameters",
    "residual_degrees",
    "few_rows",
    "d2",
    "_information",
    "_contrasts",
    "terms",
)


class Fit(Checked):
    """The most probable coefficients under a noise and a prior, and what follows from them.

    `coef` and `intercept` belong to the columns as they were given; `noise` and `prior` have every parameter filled in,
    but for those of the noise that are modelled: `predictors` has what predicts these.
    `nll`, `penalty` and `objective` are in nats over the whole sample; `d2` is the share of the intercept-only loss
    that the columns explain. A fit that was loaded or unpickled has no rows: what needs them is refused.
    """

    noise: Noise
    prior: Prior
    coef: Numbers
    intercept: Any
    converged: bool
    n_iter: int
    schema: Schema
    named: dict[str, str]  # the columns of the table that served as y, offset and the like
    notes: list[str]  # what was done to columns that could not be used as they were
    message: str  # how the search ended, in a sentence
    n_rows: int
    target_summary: dict[str, Any]
    has_intercept: bool
    classes: Numbers  # the labels of a target of classes, in the order of their numbers
    total_weight: float
    nll: float
    penalty: float
    n_parameters: int
    effective_parameters: float = np.nan  # of fits that were saved before it was: `n_parameters`
    residual_degrees: float | None = None
    few_rows: float = 1.0
    d2: float
    terms: Terms  # one record for each term: what it counts, and the scale of its prior
    _information: Information
    _contrasts: Contrasts | None = None  # also of fits that were saved before contrasts were
    _modelled: dict[str, Predictor] = {}  # noqa: RUF012 - replaced, never changed

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def state(self) -> dict[str, Any]:
        """What can be asked without the rows, all of it computed."""
        kept = [*STATED, *COMPUTED, *(["classes"] if self.noise.labelled else [])]
        return {name: getattr(self, name) for name in kept if hasattr(self, name)}

    def __reduce__(self) -> Any:
        return Fit, (self.state(),)

    def without_data(self) -> "Fit":
        """What predictions need, and nothing that would have to be computed: to be sent to workers."""
        names = [*STATED, *(["classes"] if self.noise.labelled else [])]
        return Fit({name: getattr(self, name) for name in names})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self.names_of("location")

    def names_of(self, predictor: str) -> tuple[str, ...]:
        """The names of the coefficients of the location, or of a parameter that is modelled."""
        names = self.schema.names
        return names if self.schema.shares is None else tuple(np.array(names, object)[self.schema.kept(predictor)])

    @property
    def predictors(self) -> dict[str, Predictor]:
        """What predicts the location, and each parameter of the noise that was stated as "model", by name."""
        own = None if self.schema.terms is None else self.terms  # which otherwise take a pass over the rows
        return {"location": Predictor(self.intercept, self.coef, self.names, self.prior, own), **self._modelled}

    @property
    def objective(self) -> float:
        """nll + penalty: what was minimised."""
        return self.nll + self.penalty

    @property
    def log_likelihood(self) -> float:
        """-nll."""
        return -self.nll

    @property
    def _counted(self) -> float:
        return self.n_parameters if np.isnan(self.effective_parameters) else self.effective_parameters

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 nll + 2 per parameter, counted by what a prior leaves of it."""
        return 2 * self.nll + 2 * self._counted

    @property
    def bic(self) -> float:
        """Schwarz's criterion, 2 nll + log(number of rows) per parameter, counted by what a prior leaves of it."""
        return float(2 * self.nll + np.log(self.total_weight) * self._counted)

    @property
    def standard_errors(self) -> Numbers:
        """Of the coefficients, in their shape: from the inverse of the observed information, prior included."""
        errors = self._information.coefficients
        return errors if self.noise.of_classes else errors[0]

    @property
    def intercept_standard_error(self) -> Any:
        """Of the intercept."""
        errors = self._information.intercepts
        return errors if self.noise.of_classes else float(errors[0])

    @property
    def noise_standard_errors(self) -> dict[str, float]:
        """Of the estimated parameters of the noise, by name."""
        return self._information.noise

    def summary(
        self,
        level: float = 0.95,
        contrasts: bool = True,
        *,
        errors: str = "posterior",
        cluster: Any = None,
        tests: bool = False,
    ) -> Summary:
        """Coefficients with standard errors and intervals, the noise, and the nats: a table that prints itself.

        errors   and cluster are the kind and the clusters of `covariance`
        tests    adds each estimate over its error, and the probability of one so far from 0 if there were nothing

        Where every level of a factor has a coefficient, as under a prior, only differences between levels are known
        well: they are shown less the mean of their factor over the rows, with the errors of these differences, and the
        intercept with it. contrasts=False shows the coefficients as they are.
        """
        spread = None if errors == "posterior" and cluster is None else self._spread(errors, cluster)
        return Summary(self, level, contrasts, spread, tests)

    def interval(
        self,
        level: float = 0.95,
        method: str = "wald",
        names: str | Sequence[str] | None = None,
        *,
        errors: str = "posterior",
        cluster: Any = None,
    ) -> Intervals:
        """Intervals of intercept, coefficients and estimated parameters of the noise.

        method   "wald": as far as standard errors go, by the normal law or Student's t, as in `summary`
                 "profile": as far as a parameter can go, while all others are fitted again, until it has lost what the
                 level says: not symmetric, and the same on every scale that the parameter may be written on
        names    of those that are wanted, by default the lines of `summary`; a profile has levels of terms by name, too
        errors   and cluster are the kind and the clusters of `covariance`, for Wald intervals
        """
        checked_level(level)
        wanted = [names] if isinstance(names, str) else names
        if method == "profile":
            if errors != "posterior" or cluster is not None:
                raise ValueError(f'errors={errors!r} are of method="wald"; a profile is that of the posterior')
            found: Intervals = self._profiled(level, wanted)
            return found
        if method != "wald":
            raise ValueError(f'method must be "wald" or "profile", but is {method!r}')
        return self.summary(level, contrasts=False, errors=errors, cluster=cluster).intervals(wanted)

    def reach(self, level: float) -> float:
        """How many of the `standard_errors` of the coefficients their intervals go to each side."""
        spread = of_posterior(self)
        return spread.widened * spread.reach(level)

    def effect(
        self, name: str, at: Any = None, *, level: float = 0.9, simultaneous: bool = False, of: str = "location"
    ) -> Effect:
        """What one term adds to the raw prediction: `x`, `estimate`, `lower` and `upper`.

        name          of the term, as in `terms`, or of the column of its only one
        at            numbers or levels where to look; by default the range of the data, or all levels. A term of two
                      columns takes a pair of arrays, one for each, a factor's before a number's
        level         of the credible interval
        simultaneous  whether the whole curve lies within the band with that probability, or each point of it
        of            "location", or a parameter of the noise that is modelled
        """
        return effect_of(self, name, at, level, simultaneous, of)

    def effects(
        self,
        X: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        level: float = 0.95,
        errors: str = "posterior",
        cluster: Any = None,
        tests: bool = False,
        offset: Any = None,
        exposure: Any = None,
        sample_weight: Any = None,
    ) -> AverageEffects:
        """Average marginal effects: how much the mean of y changes with a unit of a column, by the derivative of the
        whole prediction, averaged over rows; of the levels of a factor, the mean difference to its first level, as
        R's marginaleffects has it. Classes have the effects on their probabilities.

        X        the rows, by default those of the fit, by their weights; with what goes with them in `offset`,
                 `exposure` and `sample_weight`, which are columns of X if they were named at the fit
        columns  those that are wanted, by default all, but for groups, whose levels have a prior about their mean
        errors   and cluster are the kind and the clusters of `covariance`
        tests    adds each estimate over its error, and the probability of one so far from 0 if there were nothing

        Rows that lack a value of a column do not count for it. True and false are numbers: their effect is a slope.

        >>> import numpy as np, neglog as nl
        >>> x = np.random.default_rng(0).normal(size=500)
        >>> fit = nl.fit(x[:, None], np.random.default_rng(1).poisson(np.exp(1 + 0.5 * x)), nl.Poisson())
        >>> found = fit.effects()
        >>> found.estimate.round(2), found.standard_errors.round(2)
        (array([1.56]), array([0.09]))
        """
        checked_level(level)
        spread = self._spread(errors, cluster)
        beside = {"offset": offset, "exposure": exposure, "sample_weight": sample_weight}
        given = next((what for what, value in beside.items() if value is not None), None)
        if X is None and given is not None:
            raise ValueError(f"{given} goes with the rows of X; those of the fit have their own")
        return average_effects(self, as_columns(X), columns, level, spread, beside, tests)

    def relativities(self, *, level: float = 0.95, of: str = "location") -> Relativities:
        """Tables for tariffs: a base, and for each term what its levels, one unit more or places on its curve make of
        it, with intervals; factors where the link is log. The prediction of a row is the base times all its factors.

        level  of the intervals
        of     "location", or a parameter of the noise that is modelled
        """
        return relativities_of(self, level, of)

    def plot(self, *, level: float = 0.9, of: str = "location") -> Any:
        """All effects in one matplotlib figure: curves with bands, levels with intervals, surfaces as colours."""
        return plot_effects(self, level, of)

    # ---- what needs the rows -----------------------------------------------------------------------------------------

    def _without_rows(self) -> NoReturn:
        raise ValueError(
            "a fit that was loaded or unpickled has no data; covariances, tests, profiles, posterior and loo need "
            "those: fit again"
        )

    def _spread(self, kind: str, cluster: Any) -> Any:
        """A covariance with what intervals and tests take of it, by the fit of the rows."""
        self._without_rows()

    def _errors_by(self, spread: Any) -> Any:
        self._without_rows()

    def _profiled(self, level: float, names: Sequence[str] | None) -> Any:
        self._without_rows()

    def covariance(self, kind: str = "posterior", cluster: Any = None, *, noise: bool = False) -> Any:
        """The covariance of the coefficients, by the fit of the rows."""
        self._without_rows()

    def test(self, *hypotheses: str, errors: str = "posterior", cluster: Any = None) -> Any:
        """Whether coefficients are 0, or stand to each other as is said, by the fit of the rows."""
        self._without_rows()

    def contrasts(
        self,
        factor: str,
        against: Any = None,
        *,
        level: float = 0.95,
        errors: str = "posterior",
        cluster: Any = None,
        of: str = "location",
    ) -> Any:
        """Differences between the levels of a factor, by the fit of the rows."""
        self._without_rows()

    def score_test(self, *columns: Any, of: str = "location", errors: str = "posterior") -> Any:
        """Whether columns that the fit does not have would explain more, by the fit of the rows."""
        self._without_rows()

    def posterior(self, method: str = "laplace", **options: Any) -> Any:
        """What is believed about coefficients and noise after the data, by the fit of the rows."""
        self._without_rows()

    def loo(self) -> Any:
        """Held-out nats of every row, by the fit of the rows."""
        self._without_rows()

    # ---- predictions -------------------------------------------------------------------------------------------------

    def raw_prediction(
        self, X: Any, *, offset: ArrayLike | str | None = None, exposure: ArrayLike | str | None = None
    ) -> Numbers:
        """eta = offset + intercept + X coef, before the link.

        Offset and exposure are values, or one for all rows, or the name of a column of X; columns that were named at
        the fit are taken from X if nothing else is said.
        """
        eta = self._raw(X, offset, exposure)
        return eta[:, 0] if self._modelled else eta

    def _raw(self, X: Any, offset: Any, exposure: Any) -> Numbers:
        """The same, and beside it the raw values of what is modelled, as `noise.given` takes them."""
        if is_row(X) and self._one_row is not None:
            try:
                return self._one_row(X, offset, exposure)
            except UnusualRowError:
                pass
        engine = self.prediction_engine(as_columns(X), offset, exposure)
        intercepts, coefs = self.outputs
        return finite_prediction(engine, engine.native(coefs, intercepts))

    @cached_property
    def _one_row(self) -> OneRow | None:
        """What predicts single rows, made when the first is asked for; None where tables alone can be read."""
        try:
            return OneRow(self) if self.schema.by_name else None
        except UnusualRowError:
            return None

    @property
    def outputs(self) -> tuple[Numbers, Numbers]:
        """Intercepts (outputs,) and coefficients (outputs, columns): of the classes, or of the location and what is
        modelled.
        """
        intercepts, coefs = np.atleast_1d(np.asarray(self.intercept, float)), np.atleast_2d(self.coef)
        own = self._modelled
        if not own:
            return intercepts, coefs
        rows = {"location": self.coef, **{name: one.coef for name, one in own.items()}}
        whole = np.zeros((len(rows), self.schema.columns))
        for row, (name, coef) in zip(whole, rows.items(), strict=True):
            row[self.schema.kept(name)] = coef
        return np.append(intercepts, [one.intercept for one in own.values()]), whole

    def prediction_engine(self, X: Any, offset: Any, exposure: Any, like: Memory | None = None) -> Memory:
        """Rows to predict for; in the coordinates of `like`, or in those of the columns as they are."""
        classes = np.size(self.intercept)
        by_class = offset if classes > 1 else None
        beside = self.beside(X, {"offset": None if classes > 1 else offset, "exposure": exposure})
        rest, values = split(X, beside)
        design = rest if isinstance(rest, Design) else self._read(X if self.schema.by_name else rest)
        shift = combined_offset(self.noise, values["offset"], values["exposure"])
        if by_class is not None:
            shift = class_offsets(by_class, design.rows, classes)
        modelled = tuple(range(len(self.noise.modelled)))
        loss = Loss("gaussian", "identity", modelled=modelled)
        if classes > 1:
            loss = Loss("softmax", "softmax", classes=classes)
        centre = np.zeros(design.columns) if like is None else like.centre
        intercept = like is None or like.intercept
        return Memory(design, np.zeros(design.rows), None, shift, loss, intercept=intercept, centre=centre)

    def beside(self, X: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """What goes with rows to predict for: what is given, else the column that was named at the fit."""
        return beside(X, given, self.named)

    def _read(self, X: Any) -> Design:
        design = self.schema.read(X)
        if design.unseen:
            listed = ", ".join(f"{name!r} in {count:,}" for name, count in design.unseen.items())
            warnings.warn(
                f"levels that the fit has not seen, or too rarely, have the effect 0: column {listed} of "
                f"{design.rows:,} rows",
                UnseenLevelWarning,
                stacklevel=5,
            )
        return design

    def distribution(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The law of y for each row of X, at the fitted parameters."""
        return self.noise.given(self._raw(X, offset, exposure))

    @overload
    def predict(self, X: Any, *, offset: Any = ..., exposure: Any = ..., interval: None = ...) -> Numbers: ...

    @overload
    def predict(
        self, X: Any, *, offset: Any = ..., exposure: Any = ..., interval: float, of: str = ...
    ) -> Predictions: ...

    def predict(
        self, X: Any, *, offset: Any = None, exposure: Any = None, interval: float | None = None, of: str = "mean"
    ) -> Any:
        """One number for each row of X: the mean of y, or the centre of a law that has none; for classes, their
        probabilities. A dict of values by column is one row, predicted in microseconds.

        interval  a probability: predictions then come with the ends of intervals, as `estimate`, `lower`, `upper`
        of        "mean": the interval is of the mean, by what is not known about coefficients and noise, on the scale
                  of the link; "y": it is of another y of this row, by its predictive law

        >>> import numpy as np, neglog as nl
        >>> x = np.arange(20.0)
        >>> fit = nl.fit(x[:, None], 2 * x + np.random.default_rng(0).normal(size=20))
        >>> estimate, lower, upper = fit.predict([[10.0]], interval=0.9)
        >>> estimate.round(1), lower.round(1), upper.round(1)
        (array([19.8]), array([19.5]), array([20.1]))
        """
        if interval is not None:
            return intervals(self, as_columns(X), checked_level(interval), of, offset, exposure)
        law = self.distribution(X, offset=offset, exposure=exposure)
        return np.asarray(law.p if law.labelled else law.point())

    def predict_to(
        self,
        output: str | os.PathLike[str],
        X: Any,
        *,
        quantiles: Sequence[float] = (),
        keep: Sequence[str] = (),
        offset: str | None = None,
        exposure: str | None = None,
        engine: str | None = None,
        progress: bool | Callable[[str], None] | None = None,
    ) -> int:
        """Write predictions for rows that need not fit in memory to a new directory of Parquet files.

        X is a path, a glob, a directory or a Dask dataframe, as in `nl.fit`; the columns of offset and exposure are by
        default those of the fit. The directory appears when all of it is written; the number of rows comes back.
        """
        source = opened_source(X, engine)
        if source is None:
            raise TypeError("X must be files or a Dask dataframe; for rows in memory use predict")
        named = self.named_beside(offset, exposure)
        with watched(source, progress):
            return predict_source(self, source, Path(output), list(quantiles), named=named, keep=list(keep))

    def to_sql(
        self,
        table: str | Sequence[str] = "t",
        quantiles: Sequence[float] = (),
        *,
        dialect: str = "duckdb",
        keep: str | Sequence[str] = (),
        offset: str | None = None,
        exposure: str | None = None,
    ) -> str:
        """A query whose column "prediction" is what `predict` says of every row of a table in a database, with columns
        such as "q0.9" for quantiles; for classes a column for each probability.

        table       its name, or several as in ("schema", "table")
        dialect     "duckdb", "postgres" or "sqlite"
        keep        columns of the table to copy beside the predictions
        offset      and exposure: columns, by default those that were named at the fit

        A row that `predict` would refuse, for it lacks a value that it must not lack, has the prediction NULL.
        """
        from neglog.export.sql import sql_of

        named = self.named_beside(offset, exposure)
        kept = [keep] if isinstance(keep, str) else list(keep)
        return sql_of(self, table, quantiles, dialect=dialect, keep=kept, named=named)

    def named_beside(self, offset: str | None, exposure: str | None) -> dict[str, str]:
        """The columns of offset and exposure: those that are named now, else those that were at the fit."""
        given = {"offset": offset, "exposure": exposure}
        return {what: name for what in given if (name := given[what] or self.named.get(what)) is not None}

    # ---- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit, without the data, as JSON; `nl.load` reads it."""
        save(self, path)

    def __repr__(self) -> str:
        ending = "" if self.converged else ", not converged"
        size = self.coef.size * (1 + len(self._modelled))
        return f"<Fit of {size} coefficients: {self.noise!r}, {self.prior!r}{ending}>"
