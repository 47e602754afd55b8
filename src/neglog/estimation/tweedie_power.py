"""The power of a Tweedie noise, found together with its dispersion.

Coefficients hardly depend on either. So at the predictions of one fit the nll is taken as a function of power and
dispersion alone, a surface that costs a few hundred numbers to evaluate whatever the number of rows, and its lowest
point is the power of the next fit. Near power 1 the density of y is a row of ridges, one for each number of jumps, and
the surface has many valleys: there it is looked over first.
"""

from dataclasses import dataclass, replace

import numpy as np

from neglog.estimation.smooth import solve_general
from neglog.estimation.tweedie_surface import Place, Surface, counted_means, surface_of
from neglog.likelihood.task import Answer, Task
from neglog.likelihood.tweedie import Compound, common_step
from neglog.typing import Numbers

POWERS = (1.001, 1.999)  # where the power is looked for
# For whole numbers from here on: below, jumps of 1 would scatter less than numbers that were rounded, by 12 ** -0.5,
# and the density at whole numbers grows without end.
LEAST_POWER_OF_COUNTS = 14 / 13
EDGE = 1e-6  # from an end of the range: the lowest point lies there, or beyond
FIRST = 1.5
ROUNDS = 30  # fits at most, on the way from one valley's power to the best
RIVALS = 3  # valleys from which fits are tried
MARGIN = 5.0  # nats that a valley may lie above the lowest one, seen from other coefficients, and still be tried
FEW_AMOUNTS = 200  # distinct positive y up to which they may fit a row of ridges by chance
RIDGES_BELOW = 1.25  # a power nearer to 1 may be one valley of many


def at_power(
    task: Task, place: Place, theta: Numbers | None = None, matrix: Numbers | None = None
) -> tuple[Task, Answer, Numbers | None]:
    """The fit at a power, with the dispersion looked for near that of the place; and its curvature for the next."""
    assert isinstance(task.target, Compound)
    target = task.target.at_power(place.power, place.log_dispersion)
    engine = task.engine.with_loss(target.loss)
    here = replace(task, target=target, engine=engine)
    if matrix is None and theta is not None and task.penalty.smooth:
        matrix = here.objective(engine).at(theta, True).hessian
    return here, solve_general(here, theta, matrix), matrix


def solve_power(task: Task, near: Answer | None = None) -> Answer:
    """Tweedie noise whose power is open."""
    begin = None if near is None else near.theta
    if task.engine.streamed:  # where each power costs passes: near the one of the rows in memory
        small = task.in_memory()
        found = solve_power(small)
        low = _least_power(small, found)
        places, begun = [Place(found.noise.power, float(np.log(found.noise.dispersion)))], None
        theta = found.theta if begin is None else begin
    else:
        # one that was looked for over all powers, and for the prior alone would not come back to the ridges
        beyond_ridges = near is not None and near.noise.power > RIDGES_BELOW
        first = Place(near.noise.power if near is not None and beyond_ridges else FIRST, None)
        rough = replace(task, tol=max(task.tol, 1e-3))  # a stepping stone
        answer, surface = _stepping_stone(rough, first, begin)
        theta = answer.theta
        if not np.isfinite(answer.noise.dispersion) or not np.isfinite(theta).all():
            return answer
        first = replace(first, log_dispersion=float(np.log(answer.noise.dispersion)))
        low = LEAST_POWER_OF_COUNTS if _step(task) else POWERS[0]
        places = [surface.lowest(first, low, POWERS[1])] if beyond_ridges else _valleys(surface, first, low)
        jump = _jump(task, places[0])
        if low > POWERS[0] and _at_edge(places[0].power, low) and jump >= 2:  # far more than what was rounded to
            low = _finer(jump)
            places = _valleys(surface, first, low)
        begun = (first.power, places[0].power - first.power) if len(places) == 1 else None
    ended = [_settled(task, place, theta, low, begun) for place in places]
    best = min(ended, key=lambda one: one.objective)
    best.answer.iterations = sum(one.fits for one in ended) + 1
    if _at_edge(best.answer.noise.power, low):
        best.answer.converged = False
        best.answer.notes.append(_said_of_the_edge(task, best.answer, low))
    return best.answer


def solve_ridged(task: Task, theta: Numbers | None = None, curvature: Numbers | None = None) -> Answer:
    """Tweedie noise of a power so near to 1 that the dispersion has many valleys: the fit in the best of them."""
    target = task.target
    assert isinstance(target, Compound)
    if task.engine.streamed:
        near = solve_ridged(task.in_memory())
        place = Place(target.power, float(np.log(near.noise.dispersion)))
        return at_power(task, place, near.theta if theta is None else theta, curvature)[1]
    answer = solve_general(task, theta, curvature)
    for _ in range(RIVALS):  # other coefficients may have another valley
        if not np.isfinite(answer.noise.dispersion) or not np.isfinite(answer.theta).all():
            break
        surface = surface_of(task, answer.theta)
        own = surface.at_place(target.power, float(np.log(answer.noise.dispersion)))
        best = min(surface.valleys_at(target.power), key=lambda place: place.value, default=own)
        if not best.value < own.value - 1e-6 * (1 + abs(own.value)):
            break
        answer = at_power(task, best, answer.theta)[1]
    return answer


# ---- where to look ---------------------------------------------------------------------------------------------------


def _valleys(surface: Surface, first: Place, low: float) -> list[Place]:
    """The lowest places of the surface, the best first: one, unless others are as good."""
    found = surface.lowest(first, low, POWERS[1])
    if found.power > RIDGES_BELOW and surface.amounts > FEW_AMOUNTS:
        return [found]
    seen = [found]
    for place in surface.overlook(low, POWERS[1]):
        if min(found.power, place.power) > RIDGES_BELOW:  # where there is one valley, it is known
            continue
        valley = surface.lowest(place, low, POWERS[1])
        if not any(valley.is_like(other) for other in seen):
            seen.append(valley)
    seen.sort(key=lambda place: place.value)
    return [place for place in seen[:RIVALS] if place.value <= seen[0].value + MARGIN]


def _step(task: Task) -> float | None:
    target = task.target
    return common_step(target.y if target.p is None else target.y * target.p)


def _jump(task: Task, place: Place) -> float:
    """About the size of a jump there, in steps of the numbers that y were rounded to."""
    step = _step(task)
    assert place.log_dispersion is not None
    size = np.exp(place.log_dispersion) * (2 - place.power) * task.target.middle() ** (place.power - 1)
    return np.inf if step is None else float(size / step)


def _finer(jump: float) -> float:
    """The power at which jumps of that many steps scatter as little as rounded numbers do."""
    return max(POWERS[0], 1 + 1 / (1 + 12 * jump**2))


def _least_power(task: Task, found: Answer) -> float:
    """The least power that was allowed on the way to this answer."""
    if not _step(task):
        return POWERS[0]
    jump = _jump(task, Place(found.noise.power, float(np.log(found.noise.dispersion))))
    return LEAST_POWER_OF_COUNTS if found.noise.power >= LEAST_POWER_OF_COUNTS - EDGE else _finer(jump)


def _at_edge(power: float, low: float) -> bool:
    return power - low < EDGE or POWERS[1] - power < EDGE


# ---- from there ------------------------------------------------------------------------------------------------------


@dataclass
class Ended:
    """A fit at the power that is the lowest of its own surface."""

    answer: Answer
    objective: float
    fits: int


def _stepping_stone(task: Task, first: Place, begin: Numbers | None) -> tuple[Answer, Surface]:
    """A rough fit at the first power. Where no prior weighs coefficients against rows, these do not depend on the
    dispersion, and it need not be found along with them: the mean deviance will do.
    """
    assert isinstance(task.target, Compound)
    if task.target.noise.dispersion is not None or not task.penalty.flat.all():
        here, answer, _ = at_power(task, first, begin)
        return answer, surface_of(here, answer.theta)
    open_target = task.target.at_power(first.power)
    known = open_target.with_noise(open_target.noise.with_(dispersion=1.0))
    answer = solve_general(replace(task, target=known, engine=task.engine.with_loss(known.loss)), begin)
    here = replace(task, target=open_target, engine=task.engine.with_loss(open_target.loss))
    surface = surface_of(here, answer.theta)
    spread = 2 * surface.deviance(first.power)[0] / max(task.target.total(), 1e-300)
    noise = answer.noise.estimated(dispersion=spread if spread > 0 else np.nan)
    return replace(answer, noise=noise), surface


def _settled(task: Task, place: Place, theta: Numbers, low: float, before: tuple[float, float] | None) -> Ended:
    """Fit and surface in turn, until the power of the one is the lowest of the other. `before` is a power that was
    looked from, and how far the lowest was from there.
    """
    tol = max(0.01 * task.tol, 1e-10)
    matrix, fits = None, 0
    for _ in range(ROUNDS):
        fits += 1
        here, answer, matrix = at_power(task, place, theta, matrix)
        theta = answer.theta
        if not np.isfinite(answer.noise.dispersion) or not np.isfinite(theta).all():
            break
        at = Place(place.power, float(np.log(answer.noise.dispersion)))
        place = surface_of(here, theta).lowest(at, low, POWERS[1])
        gap = place.power - at.power
        if abs(gap) <= tol:
            break
        if before is not None and gap**2 <= tol * abs(before[1]):  # gaps shrink by the same share: the next is nothing
            fits += 1
            answer = at_power(task, place, theta, matrix)[1]
            theta = answer.theta
            break
        if before is not None and gap != before[1]:  # the secant, where it goes on as the last step did
            power = at.power - gap * (at.power - before[0]) / (gap - before[1])
            if abs(power - place.power) <= 0.5 * abs(gap) and low <= power <= POWERS[1]:
                place = replace(place, power=float(power))
        before = at.power, gap
    else:
        answer.converged = False
        answer.notes.append(
            f"The power of the Tweedie noise still moved by {abs(gap):.2g} after {ROUNDS} fits: "
            "state power=..., or another noise."
        )
    penalty = answer.penalty.quadratic(theta)[0] + answer.penalty.absolute(theta)
    return Ended(answer, place.value + penalty, fits)


def _said_of_the_edge(task: Task, answer: Answer, low: float) -> str:
    noise = answer.noise
    text = f"The power of the Tweedie noise ended at {noise.power:.3f}, the edge of the range from {low:.3g} to 2. "
    step = _step(task.in_memory())
    if noise.power > 1.5 or step is None:
        return text + "Near 1 the data look like counts, near 2 like Gamma amounts: state power=... or another noise."
    what = "whole numbers" if step == 1 else f"multiples of {step:.4g}"
    text += f"y are {what}, at which its density grows without end as the power nears 1: "
    spread = _spread_beside_poisson(task.in_memory(), answer.theta, step)
    if step == 1 and spread <= 1.5:
        return text + "state power=..., or use Poisson noise."
    units = "" if step == 1 else f" in units of {step:.4g}"
    return text + f"state power=.... (Their variance is {spread:.2g} times that of Poisson noise{units}.)"


def _spread_beside_poisson(task: Task, theta: Numbers, step: float) -> float:
    """Pearson's estimate of the variance over the mean."""
    mean, weight, y = counted_means(task, theta)
    return float(weight @ ((y - mean) ** 2 / np.maximum(mean, 1e-300)) / weight.sum() / step)
