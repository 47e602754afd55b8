"""No-U-Turn sampling of a fit's posterior, through nutpie: exact where Laplace's approximation is not."""

import math
import warnings
from typing import Any

import numpy as np

from neglog import _core
from neglog.belief.posterior import (
    PREDICTIVE_DRAWS,
    Fitted,
    Posterior,
    checked_level,
    mixture_of_draws,
    refuse_improper,
    whitened,
)
from neglog.belief.predicted_rows import row_chunks
from neglog.design.blocks import Dense
from neglog.design.design import Design, Schema
from neglog.distributions import Categorical
from neglog.engines.memory import Memory
from neglog.likelihood.joint import Joint, joint_engine
from neglog.likelihood.row_values import finite_prediction
from neglog.typing import Numbers

TUNE = 150  # draws that only adapt the step, which the metric makes nearly right from the start
WHITE_CELLS = 20_000_000  # numbers up to which the rows are stored in the coordinates of the draws
GOOD_RHAT = 1.01
FEW = 100  # effective draws per chain below which quantiles are rough


class SamplingWarning(UserWarning):
    """Draws that may not represent the posterior: divergences, chains that disagree, too few effective draws."""


class NutsPosterior(Posterior):
    """Draws from the posterior: `draws` has the shape (chains, draws, values).

    `complete` is False when sampling was interrupted; then the draws so far are kept. `divergences`, `rhat` and `ess`
    are those of ArviZ.
    """

    def __init__(self, fit: Fitted, joint: Joint, trace: Any, complete: bool) -> None:
        self.fit, self.joint, self.complete = fit, joint, complete
        self.names = joint.public_names()
        self._native = trace.native
        self._turn = joint.public_matrix()
        self.draws = self._native @ self._turn.T
        self.divergences = int(trace.divergences)
        self.evidence = np.nan  # draws alone do not tell it
        self._diagnose()

    def _diagnose(self) -> None:
        import arviz

        data = self.to_arviz()
        self.rhat, self.ess = self._in_order(arviz.rhat(data)), self._in_order(arviz.ess(data))
        troubles = []
        if self.divergences:
            troubles.append(
                f"{self.divergences} draws diverged: the posterior bends more sharply than the steps can follow; "
                "a stronger prior helps, or a larger target_accept"
            )
        if self.draws.shape[0] > 1 and np.nanmax(self.rhat) > GOOD_RHAT:
            worst = self.names[int(np.nanargmax(self.rhat))]
            troubles.append(f"the chains disagree about {worst} (R-hat {np.nanmax(self.rhat):.3f}); draw more")
        if np.nanmin(self.ess) < FEW * self.draws.shape[0]:
            worst = self.names[int(np.nanargmin(self.ess))]
            troubles.append(f"only {np.nanmin(self.ess):.0f} effective draws of {worst}; draw more")
        if not self.complete:
            troubles.append(f"sampling was interrupted after {self.draws.shape[1]} draws per chain")
        if troubles:
            warnings.warn("; ".join(troubles), SamplingWarning, stacklevel=4)

    def _in_order(self, judged: Any) -> Numbers:
        """What ArviZ says about each variable, in the order of `names`."""
        values = getattr(judged, "posterior", judged)
        engine = self.joint.task.engine
        found = []
        for before in ("", *(f"{name}_" for name in self.fit.noise.modelled)):
            classes = engine.loss.classes
            parts = [np.asarray(values[f"{before}coef"]).reshape(classes, -1)]
            if engine.intercept:
                parts.insert(0, np.asarray(values[f"{before}intercept"]).reshape(classes, 1))
            found.append(np.concatenate(parts, axis=1).ravel())
        noise = [float(values[name]) for name in self.joint.task.target.values_at(self.joint.start)]
        return np.concatenate([*found, noise])

    @property
    def _flat(self) -> Numbers:
        return np.asarray(self.draws.reshape(-1, self.draws.shape[-1]))

    @property
    def mean(self) -> Numbers:
        return np.asarray(self._flat.mean(axis=0))

    @property
    def std(self) -> Numbers:
        return np.asarray(self._flat.std(axis=0, ddof=1))

    def covariance(self) -> Numbers:
        return np.atleast_2d(np.cov(self._flat.T))

    def interval(self, level: float = 0.9) -> Numbers:
        tail = 0.5 - 0.5 * checked_level(level)
        return np.asarray(np.quantile(self._flat, [tail, 1 - tail], axis=0).T)

    def sample(self, n: int = 1000, rng: Any = None) -> Numbers:
        """Draws, in random order; those there are, again and again if `n` is larger."""
        count = len(self._flat)
        order = np.random.default_rng(rng).permutation(count)
        return self._flat[order[np.arange(n) % count]]

    def predictive(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        engine = self.fit.prediction_engine(X, offset, exposure, self.joint.task.engine)
        flat = self._native.reshape(-1, self._native.shape[-1])
        chosen = flat[np.linspace(0, len(flat) - 1, min(PREDICTIVE_DRAWS, len(flat))).astype(int)]
        if self.fit.noise.labelled:
            width = engine.width
            eta = (finite_prediction(engine, np.ascontiguousarray(draw[:width])) for draw in chosen)
            laws = (self.joint.noise(draw[width:]).given(own) for draw, own in zip(chosen, eta, strict=True))
            return Categorical(sum(law.p for law in laws) / len(chosen))
        return mixture_of_draws(engine, self.joint, chosen)

    def _chains(self) -> Numbers:
        return np.asarray(self.draws)

    def _title(self) -> str:
        return f"Posterior by the No-U-Turn sampler: {self.fit.noise!r}, prior {self.fit.prior!r}"

    def _caption(self) -> str:
        chains, draws, _ = self.draws.shape
        text = f"{chains} chains of {draws} draws, least ESS {np.nanmin(self.ess):.0f}"
        if chains > 1:
            text += f", largest R-hat {np.nanmax(self.rhat):.3f}"
        if self.divergences:
            text += f", {self.divergences} divergences"
        return text if self.complete else f"{text}, interrupted"


class Trace:
    """What the sampler left: (chains, draws, values) in the core's order, as many draws as every chain has."""

    def __init__(self, data: Any, density: "Density") -> None:
        draws = np.asarray(data.posterior["x"].values, np.float64)
        finished = np.isfinite(draws).all(axis=2).all(axis=0)
        self.native = density.native(draws[:, finished])
        stats = data.sample_stats
        self.divergences = np.count_nonzero(np.asarray(stats["diverging"].values)[:, finished] > 0)


class Density:
    """The log posterior density in coordinates x, about the mode, in which it looks like a standard Gaussian.

    u are the open parameters of the noise on a line without ends: their raw values, or the log odds of a raw value that
    lies within an interval.
    """

    def __init__(self, joint: Joint) -> None:
        self.joint = joint
        target, engine = joint.task.target, joint.answer.engine
        self.engine = (joint_engine(engine, target) if joint.names else engine).on_one_thread()
        self.width = engine.coefficients
        self.factor = 1.0 if joint.names else 1 / target.dispersion().profile(1.0).dispersion
        penalty = joint.task.penalty
        curvature = joint.curvature()
        # a Laplace prior has the variance of a Gaussian of scale sqrt(2) b
        curvature.matrix[np.diag_indices(self.width)] += 0.5 * penalty.strength**2
        self.ends = [(k, *own.within) for k, own in enumerate(joint.opened) if own.within is not None]
        self.centre = np.append(curvature.theta, self._unbound(curvature.v))
        matrix = curvature.matrix * np.outer(*[np.append(np.ones(self.width), self._stretch(curvature.v))] * 2)
        self.root, _ = whitened(matrix, joint)
        self.white = self.engine.rows * len(self.root) <= WHITE_CELLS and self.engine.loss.outputs == 1
        if self.white:
            self.engine = self._in_draws()

    def _in_draws(self) -> Memory:
        """The same rows with the coordinates x as their columns: no turning back and forth at every step."""
        engine, count = self.engine, self.root.shape[1]
        columns = np.empty((engine.rows, count), order="F")
        for rows, matrix in row_chunks(engine):
            columns[rows] = matrix @ self.root[: self.width]
        design = Design((Dense(columns),), engine.rows, count, Schema(count))
        offset, centre = engine.predict(self.centre[: self.width]), np.zeros(count)
        turned = Memory(design, engine.y, engine.weight, offset, engine.loss, intercept=False, centre=centre)
        return turned.on_one_thread()

    def _unbound(self, v: Numbers) -> Numbers:
        """What lies within an interval as its log odds."""
        u = np.array(v)
        for k, low, high in self.ends:
            u[..., k] = np.log((u[..., k] - low) / (high - u[..., k]))
        return u

    def _bound(self, u: Numbers) -> Numbers:
        v = np.array(u)
        for k, low, high in self.ends:
            v[..., k] = low + (high - low) / (1 + np.exp(-u[..., k]))
        return v

    def _stretch(self, v: Numbers) -> Numbers:
        """dv / du."""
        stretch = np.ones(len(v))
        for k, low, high in self.ends:
            stretch[k] = (v[k] - low) * (high - v[k]) / (high - low)
        return stretch

    def native(self, x: Numbers) -> Numbers:
        """Draws in the core's order, the noise's parameters as `Joint` has them."""
        z = self.centre + x @ self.root.T
        return np.concatenate([z[..., : self.width], self._bound(z[..., self.width :])], axis=-1)

    def in_core(self) -> Any:
        """The same density as a C function, where the rows are in these coordinates and nothing but a quadratic is
        added; else None.
        """
        penalty, target = self.joint.task.penalty, self.joint.task.target
        if not (self.white and penalty.smooth and not self.ends and not target.has_remainder):
            return None
        _, pull = penalty.quadratic(self.centre[: self.width])
        own = self.root[: self.width]
        bend = np.ascontiguousarray((own.T * penalty.bend) @ own)
        centre, turn = self.centre[self.width :], np.ascontiguousarray(self.root[self.width :])
        return _core.density(self.engine.problem, self.factor, bend, own.T @ pull, centre, turn)

    def __call__(self, x: Numbers) -> tuple[float, Numbers]:
        """The log density up to a constant, and its gradient."""
        z = self.centre + self.root @ x
        theta, joint = z[: self.width], self.joint
        penalty = joint.task.penalty
        extra, pull = penalty.quadratic(theta)
        if not penalty.smooth:
            away = theta - penalty.kink
            extra += float(penalty.strength @ np.abs(away))
            pull = pull + penalty.strength * np.sign(away)
        with np.errstate(all="ignore"):
            value, slope, in_u = self._of_rows(x if self.white else theta, z[self.width :])
        value += extra
        gradient = self.root.T @ np.append(pull if self.white else pull + slope, in_u)
        if self.white:
            gradient += slope
        if not math.isfinite(value + gradient.sum()):
            return -np.inf, np.zeros(len(x))
        return -value, -gradient

    def _of_rows(self, at: Numbers, u: Numbers) -> tuple[float, Numbers, Numbers]:
        """-log p of the sample up to a constant, with its gradients where the engine is asked and in u."""
        v = self._bound(u)
        value, gradient, _ = self.engine.evaluate(np.append(at, v), False)
        value, gradient = self.factor * value, self.factor * gradient
        if not len(u):
            return value, gradient, u
        rest, slopes, _ = self.joint.task.target.remainder(v, self.joint.task)
        in_v, stretch = gradient[len(at) :] + slopes, self._stretch(v)
        value += rest
        for k, low, high in self.ends:  # the prior is flat in the value, not in its log odds
            value -= float(np.log(stretch[k]))
            in_v[k] += (2 * v[k] - low - high) / ((high - low) * stretch[k])
        return value, gradient[: len(at)], in_v * stretch


def nuts_posterior(
    fit: Fitted,
    joint: Joint,
    *,
    draws: int = 1000,
    tune: int = TUNE,
    chains: int = 4,
    rng: Any = None,
    progress: bool = True,
    target_accept: float = 0.8,
) -> NutsPosterior:
    """Sample; an interrupt keeps the draws so far."""
    refuse_improper(joint)
    if not joint.public_names():
        raise ValueError("there is nothing to sample: the fit has no columns, no intercept and no open parameter")
    for name, value in (("draws", draws), ("chains", chains), ("tune", tune)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, but is {value}")
    try:
        import nutpie
    except ImportError:
        raise ImportError('method="nuts" needs nutpie and ArviZ: pip install "neglog[bayes]"') from None
    from neglog.belief.nutpie_model import compiled

    density = Density(joint)
    generator = np.random.default_rng(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = nutpie.sample(
            compiled(density, density.root.shape[1]),
            draws=draws,
            tune=tune,
            chains=chains,
            seed=int(generator.integers(2**31)),
            save_warmup=False,
            progress_bar=progress,
            target_accept=target_accept,
        )
    trace = Trace(data, density)
    if trace.native.shape[1] == 0:
        raise RuntimeError("sampling was interrupted before the first draw")
    return NutsPosterior(fit, joint, trace, complete=trace.native.shape[1] == draws)
