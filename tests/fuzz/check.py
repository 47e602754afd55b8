"""One problem: asked of the library, and its answer judged by the harness' own objective.

optimal      converged, and at the minimum
refused      a ValueError or TypeError in the library's own words, of a problem that is invalid or has no minimum
degenerate   not converged, with the cause named, of a problem that has no minimum
wrong        anything else that came back
exception    anything else that was raised
"""

import contextlib
import linecache
import os
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz.formulas import LAWS, is_convex
from fuzz.oracle import EITHER, EPS, Objective, degenerate, nearly_perfect
from fuzz.problems import FILES, make

import neglog as nl
from neglog.likelihood.row_values import ConvergenceWarning, UnseenLevelWarning

PACKAGE = str(Path(nl.__file__).parent)
NEAR = 1e-4  # posterior standard deviations from the minimum that count as there: a hundred times the default tol
LOCAL = (
    1.0  # nats above another optimum that the end of a search may be where the loss is not convex in the coefficients
)
SECONDS = 10.0
PRINTED: list[str] = []  # by the fit that is being looked at
UNNAMED = ("Not converged: stopped after", "Not converged: after")  # how a message begins that knows no cause


@dataclass
class Outcome:
    """What became of a problem."""

    seed: int
    kind: str
    cause: str = ""  # for counting
    detail: str = ""
    seconds: float = 0.0

    @property
    def good(self):
        return self.kind in ("optimal", "refused", "degenerate") and self.seconds <= SECONDS


class Wrong(Exception):  # noqa: N818
    """The answer is not what it says."""

    def __init__(self, cause, detail=""):
        super().__init__(f"{cause}: {detail}")
        self.cause, self.detail = cause, detail


def examine(seed):
    """The outcome of the problem of this seed."""
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        problem = make(seed)
        arguments = problem.arguments(folder)
        before = {name: _copied(value) for name, value in arguments.items()}
        PRINTED.clear()
        started = time.process_time()
        try:
            fit, warned, printed = _asked(arguments)
            seconds = time.process_time() - started
        except Exception as error:
            outcome = _judge_error(problem, error)
            if PRINTED and outcome.good:
                outcome = Outcome(seed, "wrong", "prints", PRINTED[0])
            outcome.seconds = time.process_time() - started
            return outcome
        try:
            if printed:
                raise Wrong("prints", printed[0])
            _check_unmodified(before, arguments)
            kind, detail = judge(problem, fit, warned)
            if problem.seed % 3 == 0:
                check_derived(problem, fit, arguments, folder, kind)
            return Outcome(seed, kind, detail=detail, seconds=seconds)
        except Wrong as wrong:
            return Outcome(seed, "wrong", wrong.cause, wrong.detail, seconds)
        except Exception as error:
            if not any(frame.filename.startswith(PACKAGE) for frame in traceback.extract_tb(error.__traceback__)):
                raise
            return Outcome(seed, "exception", _place(error), _sentence(error), seconds)


def _asked(arguments):
    arguments = dict(arguments)
    with warnings.catch_warnings(record=True) as warned, silence() as printed:
        warnings.simplefilter("always")
        fit = nl.fit(arguments.pop("X"), arguments.pop("y"), **arguments)
    return fit, warned, printed


@contextlib.contextmanager
def silence():
    """Collects what is printed meanwhile, by compiled code too."""
    printed: list[str] = []
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        try:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
            yield printed
        finally:
            for stream, old in zip((1, 2), kept, strict=True):
                os.dup2(old, stream)
                os.close(old)
            file.seek(0)
            text = file.read().decode(errors="replace").strip()
            if text:
                printed.append(text)
                PRINTED.append(text)


# ---- refusals --------------------------------------------------------------------------------------------------------


def _judge_error(problem, error):
    if not is_refusal(error):
        return Outcome(problem.seed, "exception", _place(error), _sentence(error))
    if problem.invalid or _may_be_refused(problem):
        return Outcome(problem.seed, "refused", detail=_sentence(error))
    return Outcome(problem.seed, "wrong", "valid, but refused", _sentence(error))


def is_refusal(error):
    """Whether the library itself raised it, with a sentence."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno).strip()
    own = last.filename.startswith(PACKAGE) and line.startswith("raise ")
    return own and isinstance(error, ValueError | TypeError) and len(str(error).split()) > 4


def _may_be_refused(problem):
    """Problems without a minimum may be refused at once."""
    y = problem.y if problem.sample_weight is None else problem.y[problem.sample_weight > 0]
    if problem.family == "categorical" and len(np.unique(y)) < 2:
        return True
    if problem.family == "tweedie" and problem.parameters["power"] is None:
        return bool(np.all(y == 0) or np.all(y > 0))
    rows, columns = problem.dense.shape
    if problem.prior.learned and (columns == 0 or rows <= columns + 1 or np.ptp(problem.dense, axis=0).max() == 0):
        return True  # there is nothing to learn a scale from
    if problem.prior.laplace is None and problem.family == "laplace":
        return True  # leave-one-out needs a smooth loss
    if problem.shape == "huge y":
        return True
    objective = Objective(problem, problem.prior.terms(len(problem.names)), problem.parameters)
    return degenerate(objective) is not None


def _place(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(PACKAGE)]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.name}"


def _sentence(error):
    return f"{type(error).__name__}: {str(error)[:300]}"


# ---- answers ---------------------------------------------------------------------------------------------------------


def judge(problem, fit, warned):
    """ "optimal" or "degenerate" with a remark; or raises Wrong."""
    if problem.invalid:
        raise Wrong("invalid, but accepted", problem.invalid)
    told = [w for w in warned if issubclass(w.category, ConvergenceWarning)]
    other = [w for w in warned if not issubclass(w.category, ConvergenceWarning)]
    if other:
        raise Wrong("warns of something else", f"{other[0].category.__name__}: {other[0].message}")
    if bool(told) == fit.converged:
        raise Wrong("warning and status disagree", fit.message)
    if list(fit.names) != problem.names:
        raise Wrong("other columns than were given", f"{fit.names} for {problem.names}")
    objective = objective_of(problem, fit)
    with np.errstate(all="ignore"):
        reason = degenerate(
            objective if _is_shared(problem) else Objective(problem, objective.terms, problem.parameters)
        )
        return (
            _judge_converged(problem, fit, objective, reason)
            if fit.converged
            else _judge_stopped(problem, fit, objective, reason)
        )


def objective_of(problem, fit):
    """The harness' objective; scales that were learned are taken as they were found."""
    terms = problem.prior.terms(len(problem.names))
    parameters = dict(problem.parameters)
    if problem.prior.learned or problem.standardize:
        terms = found_terms(fit.prior, len(problem.names))
        if problem.prior.gaussian is None and problem.family in ("gaussian", "lognormal"):
            parameters = {name: getattr(fit.noise, name) for name in parameters}  # by evidence, not by likelihood
    return Objective(problem, terms, parameters)


def _is_shared(problem):
    """Whether the evidence divides y between columns that reach all of it and a noise whose scale stays above 0."""
    rows = len(problem.y) if problem.sample_weight is None else np.count_nonzero(problem.sample_weight)
    squares = problem.prior.learned and problem.prior.gaussian is None and problem.family in ("gaussian", "lognormal")
    return squares and rows <= problem.dense.shape[1] + problem.intercept


def found_terms(prior, columns):
    parts = np.zeros((4, columns))
    for factor in getattr(prior, "factors", (prior,)):
        scale = np.broadcast_to(getattr(factor, "scale", np.inf), columns)
        if isinstance(factor, nl.Gaussian):
            parts[0], parts[1] = 1 / scale**2, factor.loc
        elif isinstance(factor, nl.Laplace):
            parts[2], parts[3] = 1 / scale, factor.loc
    return parts


def _judge_converged(problem, fit, objective, reason):
    if reason not in (None, "unsure", EITHER):
        raise Wrong(f"converged without a minimum ({reason})", fit.message)
    for name, value in fit.noise.parameters.items():
        if name in problem.parameters and not np.isfinite(value):
            raise Wrong("parameter not finite", f"{name} = {value}")
    if not (np.all(np.isfinite(fit.coef)) and np.all(np.isfinite(fit.intercept))):
        raise Wrong("coefficients not finite", str(fit.coef))
    x = objective.x_of(fit.intercept, fit.coef, fit.noise.parameters)
    point = objective.at(x)
    blur = blur_of(objective, fit)
    if not (np.isfinite(point.value) and np.all(np.isfinite(point.gradient))):
        if problem.shape in ("huge y", "hugely scaled columns"):
            return "optimal", "beyond what the harness can compute"
        raise Wrong("converged outside the domain", f"{fit.coef} {fit.intercept}: {fit.message}")
    slack = rounding_of(objective, x, blur)
    if not abs(fit.nll - objective.nll(x)) <= slack:
        raise Wrong("another nll", f"{fit.nll} for {objective.nll(x)}, {slack:.1g}")
    if not abs(fit.penalty - objective.penalty(x)) <= slack + 1e-9 * abs(fit.penalty):
        raise Wrong("another penalty", f"{fit.penalty} for {objective.penalty(x)}")
    held = objective.at_kink(fit.coef)
    away, rounding = objective.distance(point, held, blur)
    if not np.isfinite(away) and problem.shape in ("huge y", "hugely scaled columns"):
        return "optimal", "beyond what the harness can compute"
    if not away <= NEAR + rounding and not _stays(objective, point, slack):
        raise Wrong("converged, but not optimal", f"{away:.3g} standard deviations away, {fit.message}")
    if is_convex(problem.family, problem.link, problem.parameters) and not objective.open:
        return "optimal", ""
    better = _better(objective, point, slack)
    if better is not None:
        raise Wrong("converged at another optimum", better)
    return "optimal", "no proof that there is a minimum" if reason else ""


def _stays(objective, point, slack):
    """Whether a search from here gains nothing: near kinks and edges, standard deviations say little."""
    eta, (low, high) = objective.eta(point.x), objective.domain
    at_edge = bool(np.any(np.abs(eta - low) < 1e-12) or np.any(np.abs(eta - high) < 1e-12))
    if objective.problem.family != "huber" and not at_edge:
        return False
    return objective.minimised(point.x).value >= point.value - slack - 1e-8


def blur_of(objective, fit):
    """How far raw predictions may be off by rounding of public coefficients."""
    coef = np.atleast_2d(fit.coef)
    parts = (
        np.abs(objective.X) @ np.abs(coef).T + np.abs(np.atleast_1d(fit.intercept)) + np.abs(objective.shift)[:, None]
    )
    return 4 * EPS * float(np.max(parts, initial=0.0))


def rounding_of(objective, x, blur):
    """Nats that rounding may cost."""
    slack = 1e-9 * (1 + objective.size(x))
    if objective.classes == 1:
        slope = np.abs(objective.row_parts(x)[1])
        slack += 10 * blur * float(objective.weight @ np.where(np.isfinite(slope), slope, 0.0))
    return slack + 10 * blur * float(objective.weight.sum())


def _better(objective, point, slack):
    """What another search finds that is lower and really a minimum."""
    if objective.problem.family == "laplace" or nearly_perfect(objective):
        return None
    sure = is_convex(objective.problem.family, objective.problem.link, objective.problem.parameters)
    gap = 1e-5 if sure else LOCAL
    for start in [*objective.starts(), point.x]:
        if not np.isfinite(objective.value(start)):
            continue
        found = objective.minimised(start)
        if _across_pole(objective, point, found):
            continue
        if found.value < point.value - gap - slack and is_minimum(objective, found):
            parameters = {name: objective.filled(found.x)[name] for name in objective.open}
            return f"{point.value - found.value:.4g} nats above another, with {parameters or found.x}"
    return None


def _across_pole(objective, point, found):
    """Whether some mean went through infinity, which no search that goes downhill can do."""
    if objective.problem.link != "inverse":
        return False
    return bool(np.any(np.sign(objective.eta(point.x)) != np.sign(objective.eta(found.x))))


def is_minimum(objective, found):
    """Whether a search ended inside the domain, at a point that curves upward."""
    if not np.isfinite(found.value):
        return False
    held = (np.abs(found.x[: objective.width] - objective.kink) < 1e-9) & (objective.strength > 0)
    away, _ = objective.distance(found, held)
    eta = objective.eta(found.x)
    low, high = objective.domain
    size = max(float(np.max(np.abs(eta), initial=0.0)), 1e-300)
    inside = np.min(eta, initial=np.inf) - low > 1e-5 * size and high - np.max(eta, initial=-np.inf) > 1e-5 * size
    tame = objective.problem.link not in ("log", "logit", "probit", "cloglog") or size < 25
    if objective.problem.link == "inverse" and objective.problem.family in ("poisson", "tweedie"):
        tame = np.any(objective.y) and size * np.mean(objective.y) < 1e4  # else some means are on their way to 0
    parameters = objective.filled(found.x)
    middle = 1.02 < parameters.get("power", 1.5) < 1.98 if "power" in objective.open else True
    middle = middle and (0.05 < parameters["delta"] < 5 if "delta" in objective.open else True)
    information = found.information[: objective.width, : objective.width]
    if not np.all(np.isfinite(information)) or np.abs(information).max(initial=0.0) > 1e150:
        return False
    flat = np.linalg.eigvalsh(information) if objective.width else [1.0]
    return bool(away < 1e-3 and inside and tame and middle and (flat[0] >= -1e-9 * max(flat[-1], 1e-300)))


def _judge_stopped(problem, fit, objective, reason):
    named = not fit.message.startswith(UNNAMED)
    if named and problem.shape == "huge y":
        return "degenerate", "beyond the range of numbers"
    if reason == "unsure":
        ends = _own_end(objective, fit)
        reached = min([objective.value(x) for x in ends if {"delta", "power"} & set(objective.open)], default=np.inf)
        for start in [*objective.starts(), *ends]:
            if problem.family == "laplace" or not np.isfinite(objective.value(start)):
                continue
            found = objective.minimised(start)
            if found.value < reached - 1e-5 and is_minimum(objective, found):
                raise Wrong("not converged, though there is a minimum", f"{found.value:.6g}: {fit.message}")
        if named:
            return "degenerate", "no minimum was found by the harness either"
        raise Wrong("not converged, and no cause is named", fit.message)
    if reason is None:
        cause = "there is a minimum, and the message says there is none" if named else "though there is a minimum"
        raise Wrong(f"not converged, {cause}", fit.message)
    if not named:
        raise Wrong(f"not converged, and no cause is named ({reason})", fit.message)
    return "degenerate", reason


def _own_end(objective, fit):
    with np.errstate(all="ignore"):
        x = objective.x_of(fit.intercept, fit.coef, fit.noise.parameters)
    return [x] if np.all(np.isfinite(x)) else []


# ---- what follows from a fit -----------------------------------------------------------------------------------------


def check_derived(problem, fit, arguments, folder, kind):
    """Errors, predictions, summaries and storage of an answer that was found right."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnseenLevelWarning)
        objective = objective_of(problem, fit)
        _tried("summary", lambda: str(fit.summary()))
        share = _tried("d2", lambda: fit.d2)
        if kind != "optimal":
            return
        if share is not None and not share <= 1 + 1e-9 and np.ptp(objective.y) > 0:
            raise Wrong("d2", str(share))
        if problem.seed % 9 == 0:
            _tried("posterior", lambda: fit.posterior().std)
        _check_errors(problem, fit, objective)
        if problem.container not in FILES:
            _check_predictions(problem, fit, arguments, folder)


def _tried(what, ask):
    """The answer, or None if it was refused in the library's own words."""
    try:
        return ask()
    except (ValueError, TypeError) as error:
        if not is_refusal(error):
            raise
        return None


def _check_predictions(problem, fit, arguments, folder):
    beside = {name: arguments[name] for name in ("offset", "exposure") if name in arguments}
    predicted = fit.predict(arguments["X"], **beside)
    law, parameters = LAWS[problem.family], fit.noise.parameters
    A = problem.dense
    if law.rows is None:
        eta = A @ fit.coef.T + fit.intercept
        expected = np.exp(eta - eta.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
    else:
        expected = law.mean(A @ fit.coef + fit.intercept + problem.shift, problem.link, parameters)
    size = np.abs(A) @ np.abs(np.atleast_2d(fit.coef)).max(axis=0) if A.shape[1] else np.zeros(len(A))
    blur = 1e-9 + 1e-14 * (float(np.max(size, initial=0.0)) + np.max(np.abs(fit.intercept)))
    unit = np.max(np.abs(expected), initial=1e-300)
    finite = np.isfinite(expected)
    if not np.allclose(predicted[finite], expected[finite], rtol=max(blur, 1e-9), atol=blur * unit):
        raise Wrong("predicts something else", f"{predicted[:3]} for {expected[:3]}")
    path = Path(folder) / "fit.json"
    fit.save(path)
    again = nl.load(path)
    if not np.array_equal(again.predict(arguments["X"], **beside), predicted, equal_nan=True):
        raise Wrong("predicts something else after a reload")


def _check_errors(problem, fit, objective):
    """Standard errors against the inverse of the harness' own second derivatives."""
    if problem.family == "huber" or problem.shape in ("huge y", "hugely scaled columns") or problem.prior.learned:
        return  # whose curvature jumps; where the harness' own inverse has no digits; whose prior is not the stated one
    x = objective.x_of(fit.intercept, fit.coef, fit.noise.parameters)
    point = objective.at(x)
    n, held = objective.width, objective.at_kink(fit.coef)
    free = np.append(~held, np.ones(len(objective.open), bool))
    matrix = point.information if problem.family == "laplace" else point.hessian
    if problem.family == "laplace" and objective.open:
        if not problem.flat_prior:
            return  # the force of rows that are hit exactly on the scale is anything between two numbers
        matrix, free = matrix[:n, :n], free[:n]
    if objective.classes > 1 or not free[:n].any():
        return
    inside = matrix[np.ix_(free, free)]
    diagonal = np.diag(inside)
    if not np.all(diagonal > 0):
        return
    unit = 1 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(inside * unit * unit[:, None])
    if values[0] < 1e-7:
        return
    variance = np.full(len(free), np.nan)
    variance[free] = ((vectors / values) @ vectors.T).diagonal() * unit**2
    start = int(problem.intercept)
    expected = np.sqrt(variance[start:n]) / objective.spread
    if not np.allclose(fit.standard_errors, expected, rtol=2e-3, atol=0, equal_nan=True):
        raise Wrong("other standard errors", f"{fit.standard_errors} for {expected}")


# ---- inputs stay as they were ----------------------------------------------------------------------------------------


def _copied(value):
    return value.copy() if hasattr(value, "copy") and not isinstance(value, str) else value


def _check_unmodified(before, after):
    for name, value in before.items():
        now = after[name]
        if isinstance(value, np.ndarray):
            same = value.dtype == now.dtype and np.array_equal(value, now, equal_nan=value.dtype.kind == "f")
        elif hasattr(value, "equals"):
            same = value.equals(now)
        elif hasattr(value, "tocoo"):
            same = (value != now).nnz == 0 or np.isnan(value.data).any()
        else:
            same = True
        if not same:
            raise Wrong("an argument was modified", name)
