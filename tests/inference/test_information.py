"""Standard errors against the second derivatives of the nll itself, by differences, for every noise and link; for
Laplace noise, whose nll has none, against the information that takes their place.
"""

import numpy as np
import pytest
from inference.problems import FAMILY_OF, estimated, of_rows

import neglog as nl
from neglog import _core

ROWS = 3000
CENTRE = {"identity": 2.0, "log": 0.5, "inverse": 0.8, "sqrt": 1.4, "logit": 0.2, "probit": 0.2, "cloglog": -0.3}
TRUTH = {
    "gaussian": {"scale": 0.3},
    "huber": {"scale": 0.3, "delta": 1.345},
    "lognormal": {"scale": 0.3},
    "gamma": {"shape": 4.0},
    "tweedie": {"power": 1.5, "dispersion": 0.5},
}
OPEN = {"tweedie": [{}, {"power": 1.5}], "huber": [{}, {"delta": None}, {"scale": 0.3, "delta": None}]}
# an nll with kinks has no second derivative, and classes have errors of differences only
CASES = [
    (name, link, stated)
    for name in FAMILY_OF.keys() - {"categorical"}
    if FAMILY_OF[name].traits.smooth
    if FAMILY_OF[name].traits.intercept  # or its place is taken by several numbers; test_ordinal.py has these
    for link in _core.links(name)
    if link not in ("log", "identity") or FAMILY_OF[name]().locations[1] > 1  # or its predictions are bounded
    for stated in OPEN.get(name, [{}])
]


def truth(family):
    """What the parameters beside the location are: as stated above, or in the family's first example."""
    example = {k: v for k, v in family.examples[0].items() if k != family.location}
    return TRUTH.get(family.__name__.lower(), example)


class Sample:
    """Rows drawn from a noise, with weights and, where the noise has a dispersion, precisions."""

    def __init__(self, name, link, stated, rng):
        family = FAMILY_OF[name]
        self.X, self.w = rng.normal(size=(ROWS, 2)), rng.uniform(0.5, 2, ROWS)
        self.p = rng.uniform(0.5, 2, ROWS) if any(own.precision for own in family.declared) else None
        eta = CENTRE[link] + 0.05 * self.X @ [1, -0.5]
        self.y = of_rows(family(**truth(family), link=link), self.p).given(eta).sample(rng=rng)
        self.noise = family(**stated, link=link)

    def fit(self, prior):
        return nl.fit(self.X, self.y, self.noise, prior, precision=self.p, sample_weight=self.w, tol=1e-9)

    def nll(self, fit, theta):
        """At other coefficients and open parameters."""
        names = estimated(self.noise)
        known = {name: value for name, value in fit.noise.parameters.items() if name != self.noise.location}
        noise = type(self.noise)(**known | dict(zip(names, theta[3:], strict=True)), link=self.noise.link)
        return float(self.w @ of_rows(noise, self.p).given(theta[0] + self.X @ theta[1:3]).nll(self.y))


def second_derivatives(f, x, steps):
    shifts = np.diag(steps)
    H = [[f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b) for a in shifts] for b in shifts]
    return np.array(H) / (4 * np.outer(steps, steps))


@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=0.1)], ids=["flat", "gaussian"])
@pytest.mark.parametrize(("name", "link", "stated"), sorted(CASES, key=str), ids=str)
def test_standard_errors_are_those_of_the_curvature(name, link, stated, prior, rng):
    sample = Sample(name, link, stated, rng)
    fit = sample.fit(prior)
    names = estimated(sample.noise)
    estimates = np.array([fit.intercept, *fit.coef, *(getattr(fit.noise, name) for name in names)])
    errors = np.array([fit.intercept_standard_error, *fit.standard_errors, *fit.noise_standard_errors.values()])
    assert list(fit.noise_standard_errors) == names

    def objective(theta):
        return sample.nll(fit, theta) + np.sum(prior.nll(theta[1:3]))

    curvature = second_derivatives(objective, estimates, 0.005 * errors)
    # rows whose residual passes Huber's threshold between two differences are what they are uncertain by
    tolerance = {"huber": 0.05 if "delta" in names else 0.01}.get(name, 2e-3)
    np.testing.assert_allclose(errors, np.sqrt(np.linalg.inv(curvature).diagonal()), rtol=tolerance)


def _example(family):
    return {name: value for name, value in family.examples[0].items() if name != family.location}


@pytest.mark.parametrize("name", [n for n in sorted(FAMILY_OF) if FAMILY_OF[n].spread and FAMILY_OF[n].traits.divided])
def test_a_column_that_a_lasso_leaves_out_changes_no_error(name, rng):
    """As a second copy of another column does: the curvature of all coefficients is singular, that of others is not."""
    X, noise = rng.normal(size=(60, 2)), FAMILY_OF[name](**({"power": 1.5} if name == "tweedie" else {}))
    eta = CENTRE[noise.link.name] + 0.3 * X @ [1, -0.5]
    y = FAMILY_OF[name](**TRUTH.get(name, _example(FAMILY_OF[name]))).given(eta).sample(rng=rng)
    alone = nl.fit(X, y, noise, nl.Laplace(scale=0.1), tol=1e-10)
    twice = nl.fit(X[:, [0, 1, 1]], y, noise, nl.Laplace(scale=[0.1, 0.1, 0.05]), tol=1e-10)
    np.testing.assert_allclose(twice.coef, [*alone.coef, 0.0], atol=1e-6)
    np.testing.assert_allclose(twice.standard_errors, [*alone.standard_errors, np.nan], rtol=1e-6)


def test_an_open_threshold_with_precisions_is_where_the_nll_is_least(rng):
    sample = Sample("huber", "identity", {"delta": None}, rng)
    fit = sample.fit(nl.Flat())
    best = np.array([fit.intercept, *fit.coef, fit.noise.scale, fit.noise.delta])
    least = sample.nll(fit, best)
    assert -fit.log_likelihood == pytest.approx(least, rel=1e-9)
    for shift in 1e-3 * np.eye(5):
        assert sample.nll(fit, best + shift) > least < sample.nll(fit, best - shift)


def test_the_summary_of_an_open_threshold_shows_its_error(rng):
    fit = Sample("huber", "identity", {"delta": None}, rng).fit(nl.Flat())
    assert 0 < fit.noise_standard_errors["delta"] < fit.noise.delta
    assert "delta" in str(fit.summary())


@pytest.mark.parametrize("stated", [{}, {"scale": 0.3}], ids=["open", "stated"])
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=0.02), nl.Laplace(scale=0.05)], ids=str)
def test_standard_errors_of_laplace_noise_are_those_of_its_information(prior, stated, rng):
    X, w, p = rng.normal(size=(ROWS, 2)), rng.uniform(0.5, 2, ROWS), rng.uniform(0.5, 2, ROWS)
    y = 2 + X @ [0.05, -0.1] + 0.3 * rng.laplace(size=ROWS) / p
    fit = nl.fit(X, y, nl.Laplace(**stated), prior, precision=p, sample_weight=w)
    A, scale = np.column_stack([np.ones(ROWS), X]), fit.noise.scale
    bend = 1 / prior.scale**2 if isinstance(prior, nl.Gaussian) else 0.0
    pull = bend * fit.coef + (np.sign(fit.coef) / prior.scale if isinstance(prior, nl.Laplace) else 0.0)
    matrix = np.empty((4, 4))
    matrix[:3, :3] = (A.T * (w * (p / scale) ** 2)) @ A + np.diag([0, bend, bend])
    matrix[3, :3] = matrix[:3, 3] = np.append(0, pull)  # d/d log scale of a gradient that balances the prior's
    matrix[3, 3] = w @ (p * np.abs(y - fit.predict(X))) / scale
    size = 3 if stated else 4
    wanted = np.sqrt(np.linalg.inv(matrix[:size, :size]).diagonal())
    np.testing.assert_allclose([fit.intercept_standard_error, *fit.standard_errors], wanted[:3], rtol=1e-9)
    assert list(fit.noise_standard_errors.values()) == pytest.approx(
        [scale * wanted[3]] if not stated else [], rel=1e-9
    )
    if not isinstance(prior, nl.Laplace):
        np.testing.assert_allclose(fit.posterior().std, wanted, rtol=1e-9)
