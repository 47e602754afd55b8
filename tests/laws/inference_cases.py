"""The noises that can be fitted, read from the registry, with rows drawn from their own laws; and minus the log of the
posterior density, written with nothing but the nll of the noise and of the prior.

A new noise is tested without editing a test, and what is asked of it depends on nothing but what it declares.
"""

from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
import pytest
from families import TESTED

import neglog as nl
from neglog.distributions.link import LINKS

COEF = np.array([1.0, -0.5, 0.0])  # of the three columns, in units of `Case.size`
ROWS = (400, 1600)  # the fewer, unless only the more say enough about what could be open
KNOWN = 0.3  # standard error of a raw parameter, from which on rows say too little about it
EXTRAS = ("plain", "weighted")
PRIORS = ("flat", "gaussian", "laplace")

UNIVARIATE = {
    name: family
    for name, family in TESTED.items()
    if family.default_link != "softmax"  # whose raw predictions are rows of classes
    and family.traits.intercept  # or its place is taken by several numbers; test_ordinal.py has these
}


# ---- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A family at one of its examples, under a link that reaches it; with parameters left open, or all stated."""

    family: type
    number: int
    link: str
    opened: bool

    def __str__(self):
        return f"{self.family.__name__}-{self.number}-{self.link}-{'open' if self.opened else 'stated'}"

    @property
    def truth(self):
        """The noise that rows are drawn from, around any raw prediction."""
        values = {own.name: self.family.examples[self.number][own.name] for own in self.family.beside_location()}
        return self.family(**values, link=self.link)

    @property
    def centre(self):
        """The raw prediction of the example."""
        return float(LINKS[self.link].forward(self.family.examples[self.number][self.family.location]))

    @property
    def size(self):
        """What a unit of a column adds to the raw prediction: at most a part of the noise, and so little that the
        information about it changes little over all rows.
        """
        return _size(self.truth, self.centre)

    @property
    def n(self):
        """How many rows are drawn."""
        few, many = ROWS
        return many if self.opened and len(_known_enough(self, many)) > len(_known_enough(self, few)) else few

    def error(self, n=None):
        """The standard error that a coefficient has, about."""
        return 1 / np.sqrt((n or self.n) * information(self.truth, np.array([self.centre]))[0])

    @property
    def noise(self):
        """The noise that is fitted."""
        return self.open_at(self.n)

    def open_at(self, n):
        """The noise with that open which so many rows say enough about."""
        return self.truth.with_(**dict.fromkeys(_known_enough(self, n), None)) if self.opened else self.truth

    def prior(self, name, n=None):
        """One that matters: as strong as the rows are, about."""
        return {
            "flat": nl.Flat(),
            "gaussian": nl.Gaussian(scale=2 * self.error(n)),
            "laplace": nl.Laplace(scale=self.error(n)),
        }[name]

    def rows(self, extras="plain", n=None, seed=0):
        """Rows from the law; "weighted" ones have weights, offsets, and precisions where these mean something."""
        return _rows(self.truth, self.centre, self.size, extras, n or self.n, seed)


def information(noise, eta):
    """The Fisher information in raw predictions, of which that in the middle has a law; NaN where there is none."""
    y = np.full(len(eta), float(noise.given(eta[len(eta) // 2]).sample(rng=0)))
    with np.errstate(all="ignore"):
        inside = np.isfinite(noise.given(eta).nll(y))
        return np.where(inside, noise.gradient_hessian(y, eta, expected=True)[1], np.nan)


def _size(noise, centre):
    about = information(noise, np.array([centre]))[0]
    size = 0.5 / np.sqrt(about)
    for _ in range(60):
        ends = information(noise, centre + size * np.linspace(-5, 5, 9))
        if np.all((ends < 3 * about) & (ends > about / 3)):
            return float(size)
        size /= 1.5
    raise AssertionError(f"the information of {noise!r} at {centre} changes at every step")


def can_open(noise):
    """Parameters of a noise that a fit can estimate by what is declared: not where a value stands alone, outside the
    interval that is searched, nor where no y could tell them.
    """
    found = []
    for own in noise.beside_location():
        raw = own.raw.raw(noise.parameters[own.name])
        alone = own.within is not None and not own.within[0] < raw < own.within[1]
        if not alone and noise.with_(**{own.name: None}).cannot_tell(2, 1) is None:
            found.append(own.name)
    return tuple(found)


@cache
def _known_enough(case, n):
    """Those of them that so many rows say enough about."""
    names = list(can_open(case.truth))
    while names:
        unsure = [max(one, other) for one, other in zip(*(_unsure(case, names, e, n) for e in EXTRAS), strict=True)]
        if max(unsure) < 1:
            break
        names.pop(int(np.argmax(unsure)))
    return tuple(names)


def _unsure(case, names, extras, n):
    """How little rows say about each parameter, from 1 on too little: its standard error by the scores of the rows at
    the truth; or how little the nll rises six errors away, either way.
    """
    noise, rows = case.truth, case.rows(extras, n)
    at = np.array([case.centre, *(case.size * COEF), *(_raw(noise, name) for name in names)])
    filled = noise.with_precision(rows.precision) if rows.draws is None else noise
    slopes = np.sqrt(rows.w) * filled.joint(rows.y, rows.eta(at[0], at[1 : 1 + len(COEF)]))[1]
    places = [1 + [own.name for own in noise.beside_location()].index(name) for name in names]
    scores = np.vstack([slopes[0] * rows.matrix.T, slopes[places]])
    units = np.sqrt(np.sum(scores**2, axis=1))
    covariance = np.linalg.inv((scores / units[:, None]) @ (scores / units[:, None]).T) / np.outer(units, units)
    errors = np.sqrt(covariance.diagonal())

    def rise(way):
        there = at + way
        other = noise.at_raw(**dict(zip(names, there[1 + len(COEF) :].tolist(), strict=True)))
        with np.errstate(all="ignore"):
            ends = [rows.nats(one, rows.eta(z[0], z[1 : 1 + len(COEF)])) for one, z in ((other, there), (noise, at))]
        return float(rows.w @ (ends[0] - ends[1]))

    found = []
    for k in range(1 + len(COEF), len(at)):
        way = 6 * covariance[k] / errors[k]
        least = min(rise(way), rise(-way))  # 18 nats where it is a parabola about the truth
        found.append(max(errors[k] / KNOWN, 2 - least / 2))
    return found


def _raw(noise, name):
    return float(noise.parameter(name).raw.raw(noise.parameters[name]))


def _reached(family, number, link):
    """Whether the link has a raw prediction for the location of an example, about which rows tell something."""
    case = Case(family, number, link, False)
    location = family.examples[number][family.location]
    if not np.isfinite(case.centre) or not np.isclose(LINKS[link].inverse(case.centre), location):
        return False
    return bool(information(case.truth, np.array([case.centre]))[0] > 0)


def _is_fitted(case):
    """A loss with kinks has a solver where it is convex."""
    return case.truth.smooth or case.truth.log_concave


EVERYWHERE = [
    Case(family, number, link, False)
    for family in UNIVARIATE.values()
    for number in range(len(family.examples))
    for link in family._links()
    if _reached(family, number, link)
]


def _examples():
    """Each example under the first link that reaches it, of which the default is the first of all."""
    for family in UNIVARIATE.values():
        for number in range(len(family.examples)):
            of_example = [case for case in EVERYWHERE if (case.family, case.number) == (family, number)]
            of_example.sort(key=lambda case: case.link != case.family.default_link)
            for case in list(filter(_is_fitted, of_example))[:1]:
                yield case
                if can_open(case.truth):
                    yield replace(case, opened=True)


def _links():
    """Each link but the default with the first example that it reaches."""
    for family in UNIVARIATE.values():
        for link in family._links():
            found = [case for case in EVERYWHERE if (case.family, case.link) == (family, link) and _is_fitted(case)]
            if found and link != family.default_link:
                yield replace(found[0], opened=bool(can_open(found[0].truth)))


EXAMPLES, LINKED = list(_examples()), list(_links())
FIRST = [case for case in EXAMPLES if case.number == 0]  # of each family


def each(cases, name="case"):
    """Parametrise a test over cases."""
    return pytest.mark.parametrize(name, cases, ids=str)


# ---- rows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Columns, targets and what goes with them. Where a precision says how often a row was observed, `draws` are the
    observations whose mean y is, NaN where there are none, and `orders` the log of the number of ways to their sum.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    precision: np.ndarray | None = None
    offset: np.ndarray | None = None
    draws: np.ndarray | None = None
    orders: np.ndarray | None = None

    @property
    def matrix(self):
        """The columns with that of the intercept."""
        return np.column_stack([np.ones(len(self.y)), self.X])

    @property
    def w(self):
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def options(self):
        """What a fit takes beside X and y."""
        return {"sample_weight": self.weight, "precision": self.precision, "offset": self.offset}

    def fit(self, noise, prior=nl.Flat(), **options):  # noqa: B008
        """A sharp fit."""
        return nl.fit(self.X, self.y, noise, prior, **self.options, **{"tol": 1e-9, **options})

    def eta(self, intercept, coef):
        return intercept + self.X @ coef + (0.0 if self.offset is None else self.offset)

    def nats(self, noise, eta):
        """-log p of each row at its raw prediction."""
        if self.draws is None:
            return noise.with_precision(self.precision).given(eta).nll(self.y)
        observed = np.isfinite(self.draws)
        nats = noise.given(eta[:, None]).nll(np.where(observed, self.draws, self.draws[:, :1]))
        return np.sum(np.where(observed, nats, 0.0), axis=1) - self.orders

    def minus_log_posterior(self, fit, names, z):
        """At z: intercept, coefficients, and the raw values of the named parameters."""
        columns = self.X.shape[1]
        noise = fit.noise.at_raw(**dict(zip(names, z[1 + columns :].tolist(), strict=True)))
        coef = z[1 : 1 + columns]
        return float(self.w @ self.nats(noise, self.eta(z[0], coef)) + np.sum(fit.prior.nll(coef)))

    def taken(self, chosen):
        """Some of the rows."""
        values = (getattr(self, name) for name in self.__dataclass_fields__)
        return Rows(*(None if value is None else value[chosen] for value in values))


@lru_cache(maxsize=512)
def _rows(noise, centre, size, extras, n, seed):
    for attempt in range(100):
        rows = _drawn(noise, centre, size, extras, n, np.random.default_rng([seed, attempt, n]))
        if _is_rich(noise, rows):
            return rows
    raise AssertionError(f"{noise!r} draws too few different y around {centre}")


def _drawn(noise, centre, size, extras, n, rng):
    X = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, len(COEF)))
    eta = centre + size * X @ COEF
    if extras == "plain":
        return Rows(X, np.asarray(noise.given(eta).sample(rng=rng), float))
    offset = size * rng.uniform(-0.5, 0.5, n)
    weight = rng.uniform(0.5, 2, n)
    eta = eta + offset
    if not noise.takes_precision():
        return Rows(X, np.asarray(noise.given(eta).sample(rng=rng), float), weight, None, offset)
    if noise.traits.repeats:
        draws = np.asarray(noise.given(eta[:, None]).sample((n, 2), rng=rng), float)
        draws[rng.random(n) < 0.5, 1] = np.nan
        times = np.sum(np.isfinite(draws), axis=1).astype(float)
        return Rows(X, np.nanmean(draws, axis=1), weight, times, offset, draws, _orders(noise, eta, draws))
    precision = rng.uniform(0.5, 2, n)
    y = np.asarray(noise.with_precision(precision).given(eta).sample(rng=rng), float)
    return Rows(X, y, weight, precision, offset)


def _orders(noise, eta, draws):
    """The log of the probability of the sum of two draws, of all pairs on the lattice that have it, by that of the
    pair that was drawn; 0 where there is one.
    """
    orders = np.zeros(len(draws))
    for i in np.flatnonzero(np.isfinite(draws[:, 1])):
        law, total = noise.given(eta[i]), draws[i].sum()
        steps = round((total - 2 * noise.support.low) / noise.support.step)
        masses = law.pdf(noise.support.low + noise.support.step * np.arange(steps + 1.0))
        orders[i] = np.log(masses @ masses[::-1]) + law.nll(draws[i]).sum()
    return orders


def _is_rich(noise, rows):
    """Inside the support and not all alike; of a law with a mass at the end of its support, some there and some not."""
    one_draw = rows.y if rows.draws is None else rows.draws[:, 0]
    if noise.support.step is None or rows.precision is None or rows.draws is not None:
        assert noise.support.contains(one_draw).all()  # a precision would make the lattice finer
    assert np.isfinite(rows.y).all()
    _, counts = np.unique(one_draw, return_counts=True)
    at_end = np.count_nonzero(one_draw == noise.support.low)
    return len(one_draw) - counts.max() >= 5 and (noise.measure != "mixed" or 0 < at_end < len(one_draw))


# ---- differences -----------------------------------------------------------------------------------------------------


def estimates(fit, names):
    """Where the fit stands: intercept, coefficients, raw parameters."""
    return np.array([fit.intercept, *fit.coef, *(_raw(fit.noise, name) for name in names)])


def errors(fit, names):
    """Its standard errors, in the same order and on the same scales."""
    slopes = [fit.noise.parameter(name).raw.slope(fit.noise.parameters[name]) for name in names]
    noise = [fit.noise_standard_errors[name] / slope for name, slope in zip(names, slopes, strict=True)]
    return np.array([fit.intercept_standard_error, *fit.standard_errors, *noise])


def second_derivatives(function, at, steps):
    """By central differences."""
    n = len(at)
    shifts, found = np.diag(steps), np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            a, b = shifts[i], shifts[j]
            corners = function(at + a + b) - function(at + a - b) - function(at - a + b) + function(at - a - b)
            found[i, j] = found[j, i] = corners / (4 * steps[i] * steps[j])
    return found


def slope(function, at, step):
    """The central difference with an error of the fourth order."""
    near, far = function(at + step) - function(at - step), function(at + 2 * step) - function(at - 2 * step)
    return (8 * near - far) / (12 * step)


def movable(fit, names):
    """Which of the estimates may move a little: not the coefficients that a Laplace prior holds at 0."""
    held = isinstance(fit.prior, nl.Laplace) & (fit.coef == 0)
    return np.concatenate([[True], ~held, np.ones(len(names), bool)])


def curvature(fit, rows, names, errors):
    """Second derivatives of minus the log posterior at the fit, by differences in small parts of the errors."""
    # a curvature that jumps is what it is only between the rows at which it does
    steps = errors * (0.02 if fit.noise.traits.steady else 1e-3)
    own = slice(1, 1 + len(fit.coef))
    if isinstance(fit.prior, nl.Laplace):  # which has a kink at 0
        steps[own] = np.where(fit.coef != 0, np.minimum(steps[own], 0.2 * np.abs(fit.coef)), steps[own])
    at = estimates(fit, names)
    if fit.noise.traits.smooth:
        return second_derivatives(lambda z: rows.minus_log_posterior(fit, names, z), at, steps)
    return _expected_curvature(fit, rows, names, at, steps)


def _expected_curvature(fit, rows, names, at, steps):
    """Where the nll has kinks: the information of the coefficients; that of a spread which divides the loss, by
    differences; and between them what the prior pulls, as the loss pulls as much the other way.
    """
    columns, own = 1 + len(fit.coef), slice(1, 1 + len(fit.coef))
    noise, eta = fit.noise.with_precision(rows.precision), rows.eta(fit.intercept, fit.coef)
    weight = rows.w * noise.gradient_hessian(rows.y, eta, expected=True)[1]
    pull = slope(fit.prior.nll, fit.coef, steps[own])
    bend = slope(lambda coef: slope(fit.prior.nll, coef, steps[own]), fit.coef, steps[own])
    found = np.zeros((len(at), len(at)))
    found[:columns, :columns] = (rows.matrix.T * weight) @ rows.matrix
    found[own, own] += np.diag(bend)
    if names:
        found[columns:, own], found[own, columns:] = pull, pull[:, None]
        found[columns:, columns:] = second_derivatives(
            lambda v: rows.minus_log_posterior(fit, names, np.append(at[:columns], v)), at[columns:], steps[columns:]
        )
    return found
