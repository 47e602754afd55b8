"""What is believed about the coefficients and the noise after the data: posteriors of a fit."""

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from neglog.belief.few_rows import integrated, is_told_by_few, of_few_rows
from neglog.belief.predicted_rows import row_chunks, unseen_spread
from neglog.distributions import Bernoulli, Categorical, Gaussian, Laplace, LogNormal
from neglog.distributions.lazy import special
from neglog.distributions.mixture import Mixture
from neglog.engines.blas import one_blas_thread
from neglog.engines.memory import Memory
from neglog.likelihood.joint import Joint
from neglog.likelihood.messages import involved_columns, listed
from neglog.likelihood.row_values import finite_prediction
from neglog.printing import as_text
from neglog.typing import Numbers

REACH = 6.0  # standard deviations of the raw prediction that a predictive law looks at
NODES = (1, 7, 5, 3)  # of the Gauss-Hermite rule over the noise's parameters, by their number
ORDERS = ((10.0, 5), (4.0, 9), (2.0, 15))  # of the rule over a raw prediction so many times narrower than the noise
CLASS_DRAWS = 1000  # of the coefficients, for class probabilities
PREDICTIVE_DRAWS = 400  # of the parameters, for predictive laws that draws have to tell
SINGULAR = 1e-11


class Fitted(Protocol):
    """What a posterior asks of the fit it belongs to."""

    noise: Any
    prior: Any

    @property
    def nll(self) -> float:
        """-log p of the sample."""
        ...

    @property
    def few_rows(self) -> float:
        """What errors are multiplied by, where few rows also tell the spread of the noise."""
        ...

    @property
    def classes(self) -> Numbers:
        """The labels of a Categorical target."""
        ...

    def prediction_engine(self, X: Any, offset: Any, exposure: Any, like: Memory | None = None) -> Memory:
        """Rows to predict for, in the coordinates of `like`."""
        ...


class Posterior(ABC):
    """Coefficients and open parameters of the noise, in the order of `names`.

    The noise's parameters appear on their raw scales, on which their prior is flat: logarithms, a Tweedie power as
    itself.
    """

    fit: Fitted
    joint: Joint
    names: tuple[str, ...]

    @property
    @abstractmethod
    def mean(self) -> Numbers:
        """The posterior mean of each value of `names`."""

    @property
    @abstractmethod
    def std(self) -> Numbers:
        """The posterior standard deviation of each."""

    @abstractmethod
    def interval(self, level: float = 0.9) -> Numbers:
        """The central interval that holds each value with probability `level`: (values, 2)."""

    @abstractmethod
    def covariance(self) -> Numbers:
        """The covariance matrix of the values."""

    @abstractmethod
    def sample(self, n: int = 1000, rng: Any = None) -> Numbers:
        """Draws, (n, values); `rng` is a seed or a Generator."""

    @abstractmethod
    def predictive(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The law of y for each row of X, averaged over what is not known about the parameters: a distribution."""

    def to_arviz(self) -> Any:
        """The draws as ArviZ knows them: `coef`, `intercept`, and the parameters of the noise by name."""
        import arviz

        draws = self._chains()
        engine = self.joint.task.engine
        classes, first = engine.loss.classes, int(engine.intercept)
        block = draws[..., : engine.width].reshape(*draws.shape[:2], engine.loss.outputs, engine.columns)
        values: dict[str, Any] = {"coef": block[:, :, :classes, first:]}
        if first:
            values["intercept"] = block[:, :, :classes, 0]
        if classes == 1:
            values = {name: part[:, :, 0] for name, part in values.items()}
        dims = {"coef": ["class", "column"] if classes > 1 else ["column"]}
        for k, name in enumerate(self.fit.noise.modelled, 1):
            values[f"{name}_coef"], dims[f"{name}_coef"] = block[:, :, k, first:], ["column"]
            if first:
                values[f"{name}_intercept"] = block[:, :, k, 0]
        values |= self.joint.task.target.values_at(draws[..., engine.width :])
        coords: dict[str, Any] = {"column": list(engine.design.names)}
        if classes > 1:
            dims["intercept"], coords["class"] = ["class"], list(self.fit.classes)
        if arviz.__version__.startswith("0."):
            return arviz.from_dict(posterior=values, dims=dims, coords=coords)
        return arviz.from_dict({"posterior": values}, dims=dims, coords=coords)

    @abstractmethod
    def _chains(self) -> Numbers:
        """Draws, (chains, draws, values)."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=self._title(), caption=self._caption(), caption_justify="left")
        table.add_column("")
        for column in ("mean", "std", "5%", "95%"):
            table.add_column(column, justify="right")
        for name, *values in zip(self.names, self.mean, self.std, *self.interval(0.9).T, strict=True):
            table.add_row(Text(name), *(f"{value:.5g}" for value in values))  # [..] would be markup in a str
        yield table

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _caption(self) -> str: ...

    def __repr__(self) -> str:
        return as_text(self)


def checked_level(level: float) -> float:
    """A probability that an interval can have."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, but is {level}")
    return level


class LaplacePosterior(Posterior):
    """The Gaussian whose peak and curvature are those of the posterior: Laplace's approximation.

    It is exact for Gaussian noise of known scale under a Gaussian or flat prior.
    """

    @one_blas_thread
    def __init__(self, fit: Fitted, joint: Joint) -> None:
        refuse_improper(joint)
        if not joint.task.penalty.smooth:
            raise ValueError(
                "Laplace's approximation needs a posterior with a smooth peak, which a Laplace prior does not give; "
                'use fit.posterior(method="nuts"), which samples it'
            )
        self.fit, self.joint = fit, joint
        self.names = joint.public_names()
        curvature = joint.curvature()
        self._theta, self._v = curvature.theta, curvature.v
        self._root, volume = whitened(curvature.matrix, joint)
        self._native = self._root @ self._root.T
        peak = fit.nll + minus_log_prior(joint)
        self.evidence = float(-peak + 0.5 * self._root.shape[1] * np.log(2 * np.pi) + 0.5 * volume)
        self._turn = joint.public_matrix()

    @property
    def mean(self) -> Numbers:
        return np.asarray(self._turn @ np.append(self._theta, self._v))

    @property
    @one_blas_thread
    def std(self) -> Numbers:
        return np.asarray(np.linalg.norm(self._turn @ self._root, axis=1))

    @one_blas_thread
    def covariance(self) -> Numbers:
        root = self._turn @ self._root
        return np.asarray(root @ root.T)

    def interval(self, level: float = 0.9) -> Numbers:
        reach = float(special.ndtri(0.5 + 0.5 * checked_level(level)))
        return np.stack([self.mean - reach * self.std, self.mean + reach * self.std], axis=-1)

    @one_blas_thread
    def sample(self, n: int = 1000, rng: Any = None) -> Numbers:
        standard = np.random.default_rng(rng).standard_normal((n, self._root.shape[1]))
        return np.asarray(self.mean + standard @ (self._turn @ self._root).T)

    def _chains(self) -> Numbers:
        return self.sample(4000, rng=0).reshape(4, 1000, -1)

    def _title(self) -> str:
        return f"Posterior by Laplace's approximation: {self.fit.noise!r}, prior {self.fit.prior!r}"

    def _caption(self) -> str:
        return f"log evidence {self.evidence:.6g} nats"

    # ---- predictions -------------------------------------------------------------------------------------------------

    def predictive(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        engine = self.fit.prediction_engine(X, offset, exposure, self.joint.task.engine)
        noise = self.fit.noise
        if noise.labelled:
            return Categorical(self._class_probabilities(engine))
        if noise.modelled:
            return self._over_draws(engine)
        mean, variance, cross = self._raw(engine)
        if is_told_by_few(self.fit):
            return integrated(self.fit, self.joint, engine, mean)
        own = self._native[len(self._theta) :, len(self._theta) :]
        centre, wider = of_few_rows(self.fit, self.joint, own)
        nodes, weights = _hermite(self._v + centre, own * wider * wider[:, None])
        # given the noise's parameters the raw prediction is still Gaussian
        if len(self._v):
            shift = np.linalg.solve(own, cross.T).T
            means = mean + (nodes - self._v) @ shift.T
            variance = self.fit.few_rows**2 * np.maximum(variance - np.einsum("ij,ij->i", shift, cross), 0.0)
        else:
            means = mean[None]
        law = self.joint.noise(self._inside(nodes)) if len(self._v) else noise
        if isinstance(noise, Gaussian | LogNormal) and noise.link.name == "identity":
            scale = np.reshape(law.scale, (-1, 1))
            wide = type(noise)(means, np.sqrt(scale**2 + variance))
            return Mixture(wide, weights) if len(weights) > 1 else type(noise)(means[0], wide.scale[0])
        steps, shares = self._steps(noise, mean, variance)
        eta = means[:, None, :] + steps[:, None] * np.sqrt(variance)
        weights = (weights[:, None] * shares).reshape(-1)
        spread = {name: np.repeat(getattr(law, name), len(steps))[:, None] for name in self.joint.names}
        mixed = noise.estimated(**spread).given(eta.reshape(-1, eta.shape[-1]))
        if not np.all(noise.parameter(noise.location).domain.contains(mixed.parameters[noise.location])):
            raise ValueError(
                f"Laplace's approximation reaches raw predictions for which the link {noise.link.name!r} gives no "
                f'{noise.location} of {type(noise).__name__} noise; use fit.posterior("nuts"), or a link that takes any'
            )
        if isinstance(noise, Bernoulli):
            return Bernoulli(weights @ mixed.p)
        return Mixture(mixed, weights)

    @one_blas_thread
    def _over_draws(self, engine: Memory) -> Any:
        """Where the raw predictions of a row are several: an average over draws, each with its mirror image."""
        half = np.random.default_rng(0).standard_normal((PREDICTIVE_DRAWS // 2, self._root.shape[1]))
        draws = np.append(self._theta, self._v) + np.concatenate([half, -half]) @ self._root.T
        draws[:, len(self._theta) :] = self._inside(draws[:, len(self._theta) :])
        return mixture_of_draws(engine, self.joint, draws)

    def _inside(self, v: Numbers) -> Numbers:
        """The same steps from the mode, of what lies between two ends as steps of its log odds: none leaves them."""
        out = v.copy()
        for k, own in enumerate(self.joint.opened):
            if own.within is not None:
                odds, mode = own.predicted, self._v[k]
                out[:, k] = odds.value(odds.raw(mode) + (v[:, k] - mode) / odds.slope(mode))
        return out

    @one_blas_thread
    def _raw(self, engine: Memory) -> tuple[Numbers, Numbers, Numbers]:
        """Mean and variance of the raw prediction of each row, and its covariance with the noise's parameters."""
        n = len(self._theta)
        mean = finite_prediction(engine, self._theta)
        variance, cross = np.empty(engine.rows), np.empty((engine.rows, len(self._v)))
        for rows, matrix in row_chunks(engine):
            variance[rows] = np.sum((matrix @ self._root[:n]) ** 2, axis=1)
            cross[rows] = matrix @ self._native[:n, n:]
        return mean, variance + unseen_spread(engine, self.joint)[:, 0], cross

    def _steps(self, noise: Any, mean: Numbers, variance: Numbers) -> tuple[Numbers, Numbers]:
        """Points in standard deviations of the raw prediction and their shares: as dense as the noise is narrow."""
        information = noise.gradient_hessian(np.asarray(noise.given(mean).mean()), mean, expected=True)[1]
        with np.errstate(all="ignore"):
            narrow = np.nanmin(1 / np.sqrt(information * variance), initial=np.inf)
        for least, order in ORDERS:
            if narrow > least:
                return gauss_hermite(order)
        count = int(np.clip(REACH / (0.8 * narrow) if narrow > 0 else 400, 24, 400))
        steps = np.linspace(-REACH, REACH, 2 * count + 1)
        shares = np.exp(-0.5 * steps**2)
        return steps, shares / shares.sum()

    @one_blas_thread
    def _class_probabilities(self, engine: Memory) -> Numbers:
        """Averages over draws of all that is not known, each with its mirror image."""
        finite_prediction(engine, self._theta)
        half = np.random.default_rng(0).standard_normal((CLASS_DRAWS // 2, self._root.shape[1]))
        total, n = np.zeros((engine.rows, len(self.fit.classes))), len(self._theta)
        for sign in (1.0, -1.0):
            for step in half:
                away = sign * (self._root @ step)
                eta = engine.predict(self._theta + away[:n])
                total += self.joint.noise(self._v + away[n:]).given(eta).p
        return total / (2 * len(half))


@one_blas_thread
def whitened(matrix: Numbers, joint: Joint) -> tuple[Numbers, float]:
    """A root R of the covariance R R' that belongs to a curvature, and the log determinant of that covariance.

    Directions that mean nothing are left out; others that the curvature says nothing about make the posterior improper.
    """
    basis = joint.basis()
    if basis is not None:
        matrix = basis.T @ matrix @ basis
    if not len(matrix):  # no columns, no intercept, and nothing open
        return np.empty((joint.task.engine.width, 0)), 0.0
    if not np.isfinite(matrix).all():
        raise ValueError(
            "the curvature of the posterior is beyond the range of numbers: either the fit passes through every point, "
            "so that its noise has no scale (then state that), or y or the columns need another unit"
        )
    diagonal = matrix.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix * scale * scale[:, None])
    known = values > SINGULAR * max(values[-1], 1.0)
    if not known.all():
        null = scale[:, None] * vectors[:, ~known]
        raise improper(joint, (null if basis is None else basis @ null)[: joint.task.engine.width])
    root = scale[:, None] * vectors / np.sqrt(values)
    return (root if basis is None else basis @ root), float(2 * np.sum(np.log(scale)) - np.sum(np.log(values)))


def mixture_of_draws(engine: Memory, joint: Joint, draws: Numbers) -> Any:
    """The law of y for each row, averaged over draws of coefficients and open parameters in the core's order."""
    width = engine.width
    eta = np.stack([finite_prediction(engine, np.ascontiguousarray(draw[:width])) for draw in draws])
    spread = unseen_spread(engine, joint)
    if spread.any():
        steps = np.random.default_rng(0).standard_normal((len(draws), *spread.shape)) * np.sqrt(spread)
        eta = eta + steps.reshape(eta.shape)
    laws = joint.noise(draws[:, width:])
    columns = {name: np.reshape(getattr(laws, name), (-1, 1)) for name in joint.names}
    mixed = laws.estimated(**columns).given(eta)
    if isinstance(mixed, Bernoulli):
        return Bernoulli(np.mean(mixed.p, axis=0))
    return Mixture(mixed, np.full(len(draws), 1 / len(draws)))


def gauss_hermite(order: int) -> tuple[Numbers, Numbers]:
    """Points and shares that average polynomials over the standard Gaussian exactly."""
    points, shares = np.polynomial.hermite_e.hermegauss(order)
    return points, shares / shares.sum()


def _hermite(v: Numbers, covariance: Numbers) -> tuple[Numbers, Numbers]:
    """Nodes and weights for averages over the noise's parameters, Gaussian about v."""
    m = len(v)
    if m == 0:
        return np.empty((1, 0)), np.ones(1)
    points, shares = gauss_hermite(NODES[min(m, len(NODES) - 1)])
    grid = np.stack(np.meshgrid(*[points] * m, indexing="ij"), axis=-1).reshape(-1, m)
    weights = np.prod(np.stack(np.meshgrid(*[shares] * m, indexing="ij"), axis=-1).reshape(-1, m), axis=1)
    return v + grid @ np.linalg.cholesky(covariance).T, weights


# ---- priors and impropriety ------------------------------------------------------------------------------------------


def minus_log_prior(joint: Joint, theta: Numbers | None = None) -> float:
    """-log p of the coefficients, constants included; coefficients without a prior count with density 1."""
    task, fit_theta = joint.task, joint.answer.theta if theta is None else theta
    penalty = task.penalty
    away, kinked = fit_theta - penalty.centre, np.abs(fit_theta - penalty.kink)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaussian = 0.5 * penalty.bend * away**2 + 0.5 * np.log(2 * np.pi / penalty.bend)
        laplace = penalty.strength * kinked + np.log(2 / penalty.strength)
        both = _elastic_net(penalty, fit_theta)
    nats = np.where(
        penalty.flat, 0.0, np.where(penalty.strength == 0, gaussian, np.where(penalty.bend == 0, laplace, both))
    )
    return float(nats.sum())


def _elastic_net(penalty: Any, theta: Numbers) -> Numbers:
    mixed = (penalty.bend > 0) & (penalty.strength > 0)
    if not mixed.any():
        return np.zeros_like(theta)
    bend, strength = np.where(mixed, penalty.bend, 1.0), np.where(mixed, penalty.strength, 1.0)
    prior = Gaussian(penalty.centre, bend**-0.5) * Laplace(penalty.kink, 1 / strength)
    return np.asarray(prior.nll(theta))


def refuse_improper(joint: Joint) -> None:
    """No posterior without a maximum."""
    answer = joint.answer
    if answer.null is not None and not answer.degenerate:
        raise improper(joint, answer.null)
    if not answer.converged:
        from neglog.likelihood.messages import message_of

        raise ValueError(
            f"there is no posterior of a fit that did not end at a maximum. {message_of(joint.task, answer)}"
        )


def improper(joint: Joint, directions: Numbers) -> ValueError:
    """The error for directions that neither the data nor the prior say anything about."""
    columns = involved_columns(joint.task, directions)
    return ValueError(
        f"the posterior is improper: the data say nothing about {directions.shape[1]} direction"
        f"{'s' if directions.shape[1] > 1 else ''} of the coefficients of {listed(columns) or 'the intercept'}, and "
        "their prior is flat. Leave columns out, or hold them by a prior such as Gaussian(scale=1.0)"
    )
