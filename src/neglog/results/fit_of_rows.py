"""A fit with the rows it was made from: what costs another pass over them is computed when it is first asked for."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from neglog.belief.leave_one_out import LeaveOneOut, leave_one_out
from neglog.belief.nuts import nuts_posterior
from neglog.belief.posterior import LaplacePosterior, Posterior
from neglog.belief.standard_errors import Information, errors_of, information_of
from neglog.checking.influence import Influence, influence_of
from neglog.checking.rows import read_target
from neglog.distributions.base import Prior
from neglog.distributions.censored import Cells
from neglog.estimation.intercept_only import null_answer
from neglog.likelihood.joint import Joint
from neglog.likelihood.messages import message_of
from neglog.likelihood.task import Answer, Task, sample_nll
from neglog.results.contrasts import Contrasts, Errors, contrasts_of
from neglog.results.fit import Fit
from neglog.results.predictor import Predictor
from neglog.results.summary import shown_coefficients
from neglog.results.terms import Terms, terms_of
from neglog.testing.covariance import Covariance, Spread, covariance_of, spread_of
from neglog.testing.intervals import Intervals
from neglog.testing.levels import Differences, differences
from neglog.testing.outcome import Outcome
from neglog.testing.profile import profile_intervals
from neglog.testing.score import score
from neglog.testing.wald import wald
from neglog.typing import Numbers


def row_losses(noise: Any, eta: Numbers, y: Numbers) -> Numbers:
    """Half the unit deviance of each row at its raw prediction where there is one, else the loss."""
    return np.asarray(noise.cell_loss_at(eta, y) if isinstance(y, Cells) else noise.loss_at(eta, y))


def nats_of_loss(law: Any, eta: Numbers, y: Numbers) -> Numbers:
    """The losses in nats at other raw predictions than those of a law whose rows have spreads of their own."""
    return np.asarray(row_losses(law, eta, y) / law.loss_scale)


def sample_loss(task: Task, noise: Any, theta: Numbers) -> float:
    """The losses of the rows, each times its precision."""
    target, eta = task.target, task.engine.predict(theta)
    if noise.modelled:
        noise, eta = noise.given(eta), np.ascontiguousarray(eta[:, 0])
    rows = row_losses(noise, eta, target.raw)
    return target.total((1.0 if target.p is None else target.p) * rows)


def sample_nats(task: Task, noise: Any, theta: Numbers, level: float | None) -> float:
    """What the predictions by theta lose, in nats; or one raw prediction beside the offset for all, in the place of the
    location's: what is modelled stays where theta has it.
    """
    target, eta = task.target, task.engine.predict(theta)
    law, at = noise.given(eta).with_precision(target.p), np.ascontiguousarray(eta[:, 0])
    if level is not None:
        at = np.full(len(eta), level) + (0.0 if task.engine.offset is None else task.engine.offset)
    return target.total(nats_of_loss(law, at, target.raw))


class FitOfRows(Fit):
    """What `nl.fit` returns."""

    def __init__(
        self, task: Task, answer: Answer, prior: Prior, named: dict[str, str] | None = None, table: Any = None
    ) -> None:
        self._task, self._answer, self.prior = task, answer, prior
        self.table = table  # of which other columns may be asked for later, such as those of clusters
        intercepts, coefs = answer.engine.public(answer.theta)
        single = answer.engine.loss.classes == 1
        self.schema = answer.engine.design.schema
        self.coef = coefs[0, self.schema.kept("location")] if single else coefs
        self.intercept = float(intercepts[0]) if single else intercepts
        shift = 0.0 if answer.engine.intercept or not single else float(coefs[0] @ answer.engine.centre)
        self.noise = task.target.uncentred(answer.noise, shift) if shift else answer.noise
        modelled = self.noise.modelled
        priors = answer.priors or (prior,) * len(modelled)
        parts = zip(modelled, intercepts[1:], coefs[1:], priors, strict=True) if modelled else ()
        self._modelled = {
            name: Predictor(float(level), coef[self.schema.kept(name)], self.names_of(name), own, self._terms_of(k))
            for k, (name, level, coef, own) in enumerate(parts, 1)
        }
        self.converged, self.n_iter = answer.converged, answer.iterations
        self.certificate = answer.certificate
        design = answer.engine.design
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

    @cached_property
    def classes(self) -> Numbers:
        """The labels of a target of classes, in the order of their numbers, and of the rows of a Categorical `coef`."""
        labels: Numbers = self._task.target.classes  # type: ignore[attr-defined]
        return labels

    @cached_property
    def nll(self) -> float:
        """-log p of the sample, every constant included."""
        return float(self._task.total(sample_nll, self._answer.noise, self._answer.theta))

    @cached_property
    def penalty(self) -> float:
        """-log prior of the coefficients, without the terms that do not depend on them."""
        return float(sum(one.prior.penalty(one.coef) for one in self.predictors.values()))

    @cached_property
    def n_parameters(self) -> int:
        """Every parameter that was estimated: coefficients that are not 0, intercepts, and those of the noise."""
        task, answer = self._task, self._answer
        free = int(np.count_nonzero(task.penalty.flat | (answer.theta[: task.engine.width] != task.penalty.kink)))
        if answer.null is not None:
            free -= answer.null.shape[1]
        if task.target.loss.classes > 1:  # of which only differences between classes count
            free -= int(np.count_nonzero(task.penalty.flat)) // task.target.loss.classes
        return free + len(task.target.open) + len(answer.told)

    @cached_property
    def effective_parameters(self) -> float:
        """`n_parameters`, each counted by the share that the data have in it beside the prior: the trace of the inverse
        curvature of the objective times that of the nll.
        """
        penalty, answer = self._task.penalty, self._answer
        if not penalty.bend.any():
            return float(self.n_parameters)
        held = penalty.flat | (answer.theta[: len(penalty.bend)] != penalty.kink)
        counted = np.where(held & (penalty.bend > 0), self._effective - 1, 0.0)  # those that a prior draws to itself
        return float(self.n_parameters + np.nansum(counted))

    @cached_property
    def residual_degrees(self) -> float | None:
        """Rows less what the location takes of them, where the noise has a spread that they tell: the degrees of
        freedom of Student's t. None where there is no such spread, or where other parameters are modelled.
        """
        estimated = (*self._task.target.open, *self._answer.told)
        if self.noise.modelled or not (self.noise.has_few_row_law and self.noise.spread in estimated):
            return None
        left = self.total_weight - (self.effective_parameters - len(estimated))
        return left if left > 0 else None

    @cached_property
    def few_rows(self) -> float:
        """What `standard_errors` are multiplied by in intervals and tests: the spread of the noise at its most likely
        value is too small by what the coefficients take, unless it was learned with these integrated.
        """
        degrees, n = self.residual_degrees, self.total_weight
        if degrees is None:
            return 1.0
        if self._answer.integrated and self.noise.sums_squares:
            squares = self._task.total(sample_loss, self._answer.noise, self._answer.theta)
            return float(np.sqrt(squares / degrees) / getattr(self.noise, str(self.noise.spread)))
        free = float(np.count_nonzero(self._task.penalty.flat))
        counted = {"": 0.0, "all": n - degrees, "groups": max(n - degrees - free, 0.0)}[self._answer.integrated]
        return float(np.sqrt((n - counted) / degrees))

    @cached_property
    def total_weight(self) -> float:
        """The number of rows, each counted by its weight."""
        return self._task.target.total()

    @cached_property
    def d2(self) -> float:
        """The share of the intercept-only loss that the columns explain: R² for Gaussian noise, D² of the deviance.
        NaN where every y is the same, so that there is nothing to explain. Where parameters are modelled, the loss is
        in nats: rows of small spread count for more.
        """
        if not self._task.varies():
            return np.nan
        with np.errstate(all="ignore"):
            null_task, answer = null_answer(self._task)
            if self.noise.modelled:
                levels, theta = (float(answer.theta[0]), None), self._answer.theta
                null, left = (self._task.total(sample_nats, self.noise, theta, level) for level in levels)
            else:  # edges of classes hold what an intercept would
                noise = self._answer.noise if null_task.engine.intercept else answer.noise
                null = null_task.total(sample_loss, noise, answer.theta)
                left = self._task.total(sample_loss, self._answer.noise, self._answer.theta)
        return float(1 - left / null) if null > 0 else np.nan

    @cached_property
    def deviance(self) -> float:
        """Twice the loss over the sample at dispersion one, where the noise has a deviance."""
        per_loss = self.noise.deviance_per_loss
        if per_loss is None:
            raise TypeError(f"{type(self.noise).__name__} noise has no deviance; use nll")
        return float(per_loss * self._task.total(sample_loss, self._answer.noise, self._answer.theta))

    @property
    def limit(self) -> str | None:
        """The noise that this one came to, if a parameter went to its limit."""
        limits = [self.noise.parameter(name).limit for name in self._answer.at_limit]
        return next((limit.noise for limit in limits if limit is not None), None)

    @cached_property
    def terms(self) -> Terms:
        """One record for each term: its effective number of parameters, and the scale of its prior."""
        found = self._terms_of(0)
        assert found is not None
        return found

    def _terms_of(self, output: int) -> Terms | None:
        answer, engine = self._answer, self._answer.engine
        if answer.effective is None and output:
            return None
        rows = self._effective[: engine.coefficients].reshape(engine.loss.outputs, engine.columns)[:, engine.places]
        own = rows.sum(axis=0) if engine.loss.classes > 1 else rows[output]
        scales = [one for one in answer.scales if one.output in (-1, output)]
        return terms_of(self.schema, own, scales, ("location", *self.noise.modelled)[output])

    @cached_property
    def _effective(self) -> Numbers:
        """What each coefficient counts beside its prior."""
        if self._answer.effective is not None:
            return self._answer.effective
        with np.errstate(all="ignore"):  # of what is beyond the range of numbers nothing is known
            return np.asarray(1 - self._task.penalty.bend * self._information.covariance.diagonal())

    @cached_property
    def _information(self) -> Information:
        return self._answer.information or information_of(self._task, self._answer)

    @cached_property
    def _contrasts(self) -> Contrasts | None:
        if self._information.places is not None:  # of too many coefficients to have a covariance of all
            return None
        return contrasts_of(self._task, self._answer, self._information)

    @cached_property
    def _joint(self) -> Joint:
        return Joint(self._task, self._answer)

    def _refuse_many(self, what: str) -> None:
        if self._answer.information is not None:
            raise ValueError(
                f"{what} is that of {self._answer.engine.width:,} coefficients, which is not held for a group of so "
                "many levels; standard_errors and effect have what is known of each"
            )

    def _need_rows(self, why: str, instead: str = "") -> None:
        if self._task.engine.streamed:
            raise ValueError(f"{why}, which must be in memory; {instead}fit some of the rows")

    def covariance(self, kind: str = "posterior", cluster: Any = None, *, noise: bool = False) -> Covariance:
        """The covariance of intercept and coefficients, a matrix with names.

        kind     "posterior": the inverse of the observed information, prior included
                 "robust": what holds where the noise is wrong, by the slopes of the rows. That is "HC0"; for few rows
                 "HC1" counts the coefficients, "HC2" and "HC3" enlarge each row by its leverage
                 "cluster": what holds where the rows of a cluster are alike, times G / (G - 1) for G clusters and,
                 where the rows tell the spread of the noise, (n - 1) / (n - k)
                 "quasi": the posterior's times Pearson's dispersion, for noises without a spread such as Poisson
        cluster  a label for each row, or the name of a column; two of them for errors that cluster in two ways
        noise    with the raw parameters of the noise, such as its log scale

        >>> import numpy as np, neglog as nl
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=200)
        >>> fit = nl.fit(x[:, None], 2 * x + np.abs(x) * rng.normal(size=200), nl.Gaussian())
        >>> fit.covariance().standard_errors.round(3), fit.covariance("HC3").standard_errors.round(3)
        (array([0.07 , 0.073]), array([0.071, 0.118]))
        """
        return covariance_of(self, kind, cluster, noise)

    def test(self, *hypotheses: str, errors: str = "posterior", cluster: Any = None) -> Outcome:
        """Whether coefficients are 0, or stand to each other as is said (Wald): all at once, and each by itself with
        p values that know how many were asked (Holm).

        hypotheses  names of coefficients, names of factors for all their levels, or equations: "age = 2 * income"
        errors      and cluster are the kind and the clusters of `covariance`

        >>> import numpy as np, neglog as nl, pyarrow as pa
        >>> rng = np.random.default_rng(0)
        >>> age, income = rng.normal(size=(2, 200))
        >>> X = pa.table({"age": age, "income": income})
        >>> fit = nl.fit(X, 0.5 * age + rng.normal(size=200), nl.Gaussian())
        >>> found = fit.test("age", "income", "age = 2 * income")
        >>> found.law, found.p < 0.001, found.adjusted.round(3)
        ('F(2, 197)', True, array([0.   , 0.392, 0.008]))
        """
        return wald(self, hypotheses, errors, cluster)

    def score_test(self, *columns: Any, of: str = "location", errors: str = "posterior") -> Outcome:
        """Whether columns that the fit does not have would explain more, without fitting them (Rao's score test).

        columns  names of columns in the table that was fitted, or arrays with a value, or several, for each row
        of       "location", or a parameter of the noise that is modelled: what the columns would predict
        errors   "posterior": of the slope by what the noise says of it; "robust": by how the rows pull

        >>> import numpy as np, neglog as nl
        >>> rng = np.random.default_rng(0)
        >>> X, z = rng.normal(size=(200, 2)), rng.normal(size=200)
        >>> fit = nl.fit(X, rng.poisson(np.exp(0.5 * X[:, 0] + 0.3 * z)), nl.Poisson())
        >>> fit.score_test(z).p < 0.001
        True
        """
        return score(self, columns, of, errors)

    def contrasts(
        self,
        factor: str,
        against: Any = None,
        *,
        level: float = 0.95,
        errors: str = "posterior",
        cluster: Any = None,
        of: str = "location",
    ) -> Differences:
        """Differences between the levels of a factor, with intervals that hold all of them at once.

        against  None: each from each (Tukey); a level: each other from it (Dunnett); "mean": each from the mean of all
        errors   and cluster are the kind and the clusters of `covariance`
        of       "location", or a parameter of the noise that is modelled

        >>> import numpy as np, neglog as nl, pyarrow as pa
        >>> rng = np.random.default_rng(0)
        >>> kind = rng.choice(["a", "b", "c"], 90)
        >>> fit = nl.fit(pa.table({"kind": kind}), 2.0 * (kind == "c") + rng.normal(size=90), nl.Gaussian())
        >>> found = fit.contrasts("kind")
        >>> found.names, found.p.round(3)
        (('b - a', 'c - a', 'c - b'), array([0.282, 0.   , 0.   ]))
        """
        return differences(self, factor, against, level, errors, cluster, of)

    def _profiled(self, level: float, names: Sequence[str] | None) -> Intervals:
        first = [True] * self.has_intercept
        shown = [[*first, *shown_coefficients(self, k)] for k in range(self._answer.engine.loss.outputs)]
        return profile_intervals(self, level, names, self.residual_degrees, np.concatenate(shown))

    def _spread(self, kind: str, cluster: Any) -> Spread:
        return self._posterior_spread if kind == "posterior" and cluster is None else spread_of(self, kind, cluster)

    @cached_property
    def _posterior_spread(self) -> Spread:
        return spread_of(self, "posterior", None)

    def _errors_by(self, spread: Spread) -> Errors:
        with np.errstate(all="ignore"):
            information = errors_of(self._joint, self._task, spread.covariance)
            return information, contrasts_of(self._task, self._answer, information, spread.covariance)

    def posterior(self, method: str = "laplace", **options: Any) -> Posterior:
        """What is believed about coefficients and noise after the data.

        method="laplace"  the Gaussian with the peak and curvature of the posterior: at once, and with its evidence
        method="nuts"     draws by the No-U-Turn sampler, which also sees skewness and Laplace priors. Options:
                          draws=1000 and tune=150 per chain, chains=4, rng=None, progress=True, target_accept=0.8
        """
        self._refuse_many("its curvature")
        if method == "laplace":
            if options:
                raise TypeError(f'method="laplace" takes no options, but got {", ".join(options)}')
            return LaplacePosterior(self, self._joint)
        if method == "nuts":
            self._need_rows("a sampler goes through the rows thousands of times", 'use posterior("laplace"), or ')
            return nuts_posterior(self, self._joint, **options)
        raise ValueError(f'method must be "laplace" or "nuts", but is {method!r}')

    def _seen(self, what: str) -> tuple[Any, Any, Numbers]:
        if self._task.engine.streamed:
            raise ValueError(f"{what} look at every row, which must be in memory; give X and y of some of them")
        given = self._task.given
        return given.target, self._answer.noise, given.engine.predict(self._answer.theta)

    def _influence(self, X: Any, y: Any, given: dict[str, Any], expected: bool) -> Influence:
        if X is not None:
            target = read_target(self, self._answer.noise, X, y, given)
            engine = self.prediction_engine(X, given["offset"], given["exposure"], self._answer.engine)
            return influence_of(self, (engine, target), expected)
        if self._task.engine.streamed:
            raise ValueError("influence looks at every row, which must be in memory; give X and y of some of them")
        return influence_of(self, None, expected)

    def loo(self) -> LeaveOneOut:
        """Held-out nats of every row, as if the fit had not seen it: from leverages, without refitting."""
        self._need_rows("leave-one-out looks at every row")
        self._refuse_many("leave-one-out")
        return leave_one_out(self._joint)
