"""What a fit found: coefficients, the noise with its parameters filled in, and how sure both are."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.belief.leave_one_out import LeaveOneOut, leave_one_out
from neglog.belief.nuts import nuts_posterior
from neglog.belief.posterior import LaplacePosterior, Posterior
from neglog.belief.standard_errors import Information, information_of
from neglog.design import beside, split
from neglog.design.design import Design, Schema
from neglog.distributions.arrays import Numbers
from neglog.distributions.base import Noise, Prior
from neglog.engines.memory import Loss, Memory
from neglog.estimation.intercept_only import null_answer
from neglog.likelihood.joint import Joint
from neglog.likelihood.messages import message_of
from neglog.likelihood.row_values import UnseenLevelWarning, class_offsets, combined_offset, finite_prediction
from neglog.likelihood.task import Answer, Task, sample_nll
from neglog.results.contrasts import Contrasts, contrasts_of
from neglog.results.summary import Summary

STATED = ("noise", "prior", "schema", "notes", "named", "coef", "intercept", "converged", "n_iter")
COMPUTED = (
    "message",
    "n_rows",
    "target_summary",
    "has_intercept",
    "total_weight",
    "nll",
    "penalty",
    "n_parameters",
    "d2",
    "_information",
    "_contrasts",
)


def row_losses(noise: Any, eta: Numbers, y: Numbers) -> Numbers:
    """Half the unit deviance of each row at its raw prediction where there is one, else the loss."""
    return np.asarray(noise.loss_at(eta, y))


def sample_loss(task: Task, noise: Any, theta: Numbers) -> float:
    """The losses of the rows, each times its precision."""
    target = task.target
    rows = row_losses(noise, task.engine.predict(theta), target.raw)
    return target.total((1.0 if target.p is None else target.p) * rows)


class Fit:
    """The most probable coefficients under a noise and a prior, and what follows from them.

    `coef` and `intercept` belong to the columns as they were given; `noise` and `prior` have every parameter filled in.
    `nll`, `penalty` and `objective` are in nats over the whole sample. What costs another pass over the data is
    computed when it is first asked for.
    """

    noise: Noise
    prior: Prior
    coef: Numbers
    intercept: Any
    converged: bool
    n_iter: int

    def __init__(self, task: Task, answer: Answer, prior: Prior, named: dict[str, str] | None = None) -> None:
        self._task, self._answer, self.prior = task, answer, prior
        intercepts, coefs = answer.engine.public(answer.theta)
        single = answer.engine.loss.classes == 1
        self.coef = coefs[0] if single else coefs
        self.intercept = float(intercepts[0]) if single else intercepts
        self.noise = answer.noise
        self.converged, self.n_iter = answer.converged, answer.iterations
        self.certificate = answer.certificate
        design = answer.engine.design
        self.schema: Schema = design.schema
        self.named = named or {}  # the columns of the table that served as y, offset and the like
        self.notes = list(design.notes)  # what was done to columns that could not be used as they were

    @cached_property
    def message(self) -> str:
        """How the search ended, in a sentence; where it failed, with causes and remedies."""
        return message_of(self._task, self._answer)

    @cached_property
    def n_rows(self) -> int:
        """The number of rows that were fitted."""
        return self._task.given.engine.rows

    @cached_property
    def target_summary(self) -> dict[str, Any]:
        """What y was: its mean and range, or how often each class."""
        return self._task.given.target_summary()

    @cached_property
    def has_intercept(self) -> bool:
        """Whether an intercept was fitted."""
        return self._task.engine.intercept

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self.schema.names

    @cached_property
    def classes(self) -> Numbers:
        """The labels of a Categorical target, in the order of the rows of `coef`."""
        labels: Numbers = self._task.target.classes  # type: ignore[attr-defined]
        return labels

    # ---- nats --------------------------------------------------------------------------------------------------------

    @cached_property
    def nll(self) -> float:
        """-log p of the sample, every constant included."""
        return float(self._task.total(sample_nll, self.noise, self._answer.theta))

    @cached_property
    def penalty(self) -> float:
        """-log prior of the coefficients, without the terms that do not depend on them."""
        return float(self.prior.penalty(self.coef))

    @property
    def objective(self) -> float:
        """nll + penalty: what was minimised."""
        return self.nll + self.penalty

    @property
    def log_likelihood(self) -> float:
        """-nll."""
        return -self.nll

    @cached_property
    def n_parameters(self) -> int:
        """Every parameter that was estimated: coefficients that are not 0, intercepts, and those of the noise."""
        task, answer = self._task, self._answer
        free = int(np.count_nonzero(task.penalty.flat | (answer.theta[: task.engine.width] != task.penalty.kink)))
        if answer.null is not None:
            free -= answer.null.shape[1]
        if task.target.loss.classes > 1:  # of which only differences between classes count
            free -= int(np.count_nonzero(task.penalty.flat)) // task.target.loss.classes
        return free + len(task.target.open)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 nll + 2 per parameter."""
        return 2 * self.nll + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion, 2 nll + log(number of rows) per parameter."""
        return float(2 * self.nll + np.log(self.total_weight) * self.n_parameters)

    @cached_property
    def total_weight(self) -> float:
        """The number of rows, each counted by its weight."""
        return self._task.target.total()

    @cached_property
    def d2(self) -> float:
        """The share of the intercept-only loss that the columns explain: R² for Gaussian noise, D² of the deviance.
        NaN where every y is the same, so that there is nothing to explain.
        """
        if not self._task.varies():
            return np.nan
        with np.errstate(all="ignore"):
            null_task, answer = null_answer(self._task)
            null = null_task.total(sample_loss, self.noise, answer.theta)
            left = self._task.total(sample_loss, self.noise, self._answer.theta)
        return float(1 - left / null) if null > 0 else np.nan

    @cached_property
    def deviance(self) -> float:
        """Twice the loss over the sample at dispersion one, where the noise has a deviance."""
        per_loss = self.noise.deviance_per_loss
        if per_loss is None:
            raise TypeError(f"{type(self.noise).__name__} noise has no deviance; use nll")
        return float(per_loss * self._task.total(sample_loss, self.noise, self._answer.theta))

    # ---- uncertainty -------------------------------------------------------------------------------------------------

    @cached_property
    def _information(self) -> Information:
        return information_of(self._task, self._answer)

    @property
    def standard_errors(self) -> Numbers:
        """Of the coefficients, in their shape: from the inverse of the observed information, prior included."""
        errors = self._information.coefficients
        return errors[0] if errors.shape[0] == 1 else errors

    @property
    def intercept_standard_error(self) -> Any:
        """Of the intercept."""
        errors = self._information.intercepts
        return float(errors[0]) if len(errors) == 1 else errors

    @property
    def noise_standard_errors(self) -> dict[str, float]:
        """Of the estimated parameters of the noise, by name."""
        return self._information.noise

    @cached_property
    def _contrasts(self) -> Contrasts | None:
        """None also for fits that were saved before contrasts were."""
        return contrasts_of(self._task, self._information) if hasattr(self, "_task") else None

    def summary(self, level: float = 0.95, contrasts: bool = True) -> Summary:
        """Coefficients with standard errors and intervals, the noise, and the nats: a table that prints itself.

        Where every level of a factor has a coefficient, as under a prior, only differences between levels are known
        well: they are shown less the mean of their factor over the rows, with the errors of these differences, and the
        intercept with it. contrasts=False shows the coefficients as they are.
        """
        return Summary(self, level, contrasts)

    @cached_property
    def _joint(self) -> Joint:
        if not hasattr(self, "_task"):
            raise ValueError("a fit that was loaded or unpickled has no data; posterior and loo need those: fit again")
        return Joint(self._task, self._answer)

    def _need_rows(self, why: str) -> None:
        if hasattr(self, "_task") and self._task.engine.streamed:
            raise ValueError(f'{why}, which must be in memory; use posterior("laplace"), or fit some of the rows')

    def posterior(self, method: str = "laplace", **options: Any) -> Posterior:
        """What is believed about coefficients and noise after the data.

        method="laplace"  the Gaussian with the peak and curvature of the posterior: at once, and with its evidence
        method="nuts"     draws by the No-U-Turn sampler, which also sees skewness and Laplace priors. Options:
                          draws=1000 and tune=150 per chain, chains=4, rng=None, progress=True, target_accept=0.8
        """
        if method == "laplace":
            if options:
                raise TypeError(f'method="laplace" takes no options, but got {", ".join(options)}')
            return LaplacePosterior(self, self._joint)
        if method == "nuts":
            self._need_rows("a sampler goes through the rows thousands of times")
            return nuts_posterior(self, self._joint, **options)
        raise ValueError(f'method must be "laplace" or "nuts", but is {method!r}')

    def loo(self) -> LeaveOneOut:
        """Held-out nats of every row, as if the fit had not seen it: from leverages, without refitting."""
        self._need_rows("leave-one-out looks at every row")
        return leave_one_out(self._joint)

    # ---- predictions -------------------------------------------------------------------------------------------------

    def raw_prediction(
        self, X: Any, *, offset: ArrayLike | str | None = None, exposure: ArrayLike | str | None = None
    ) -> Numbers:
        """eta = offset + intercept + X coef, before the link.

        Offset and exposure are values, or one for all rows, or the name of a column of X; columns that were named at
        the fit are taken from X if nothing else is said.
        """
        engine = self.prediction_engine(X, offset, exposure)
        return finite_prediction(engine, engine.native(self.coef, np.atleast_1d(self.intercept)))

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
        loss = Loss("gaussian", "identity") if classes == 1 else Loss("softmax", "softmax", classes=classes)
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
        return self.noise.given(self.raw_prediction(X, offset=offset, exposure=exposure))

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """One number for each row of X: the mean of y, or the centre of a law that has none; for classes, their
        probabilities.
        """
        law = self.distribution(X, offset=offset, exposure=exposure)
        return np.asarray(law.p if law.of_classes else law.point())

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
        from neglog.results.prediction_files import predict_source
        from neglog.streaming.first_pass import opened_source
        from neglog.streaming.watching import watched

        source = opened_source(X, engine)
        if source is None:
            raise TypeError("X must be files or a Dask dataframe; for rows in memory use predict")
        named = self.named_beside(offset, exposure)
        with watched(source, progress):
            return predict_source(self, source, Path(output), list(quantiles), named=named, keep=list(keep))

    def named_beside(self, offset: str | None, exposure: str | None) -> dict[str, str]:
        """The columns of offset and exposure: those that are named now, else those that were at the fit."""
        given = {"offset": offset, "exposure": exposure}
        return {what: name for what in given if (name := given[what] or self.named.get(what)) is not None}

    # ---- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit, without the data, as JSON; `nl.load` reads it."""
        from neglog.results.storage import save  # which builds fits, and so comes after this module

        save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        """What can be asked without the data, all of it computed."""
        if not hasattr(self, "_task"):
            return dict(self.__dict__)
        kept = [*STATED, *COMPUTED]
        if self.noise.of_classes:
            kept.append("classes")
        return {name: getattr(self, name) for name in kept}

    def without_data(self) -> "Fit":
        """What predictions need, and nothing that would have to be computed: to be sent to workers."""
        other = object.__new__(type(self))
        names = [*STATED, *(["classes"] if self.noise.of_classes else [])]
        other.__dict__.update({name: getattr(self, name) for name in names})
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        ending = "" if self.converged else ", not converged"
        return f"<Fit of {self.coef.size} coefficients: {self.noise!r}, {self.prior!r}{ending}>"
