"""Amounts with zeros of which some are known to lie in cells: sums that were capped, rounded or lost below a limit."""

import numpy as np
import pytest
from scipy import optimize

import neglog as nl

INF = np.inf
TRUTH = nl.Tweedie(power=1.5, dispersion=1.2)
COEF, INTERCEPT = np.array([0.5, -0.3]), 0.8
CAP = 4.0


def amounts(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    return X, TRUTH.given(INTERCEPT + X @ COEF).sample(rng=rng)


def capped(y):
    """What an insurer with a limit sees of each sum."""
    return nl.censored(np.minimum(y, CAP), np.where(y < CAP, y, INF))


# ---- fits ------------------------------------------------------------------------------------------------------------


def test_capped_amounts_have_the_law_that_they_had_before():
    X, y = amounts(4000)
    fit, blind = nl.fit(X, capped(y), nl.Tweedie()), nl.fit(X, np.minimum(y, CAP), nl.Tweedie())
    assert fit.converged, fit.message
    assert np.all(np.abs(fit.coef - COEF) < 4 * fit.standard_errors)
    assert abs(fit.intercept - INTERCEPT) < 4 * fit.intercept_standard_error
    for name, error in fit.noise_standard_errors.items():
        assert abs(getattr(fit.noise, name) - getattr(TRUTH, name)) < 4 * error
    others, whole = amounts(4000, seed=1)
    nats, lost = (np.mean(model.distribution(others).nll(whole)) for model in (fit, blind))
    assert nats < lost - 0.02
    assert nats == pytest.approx(np.mean(TRUTH.given(INTERCEPT + others @ COEF).nll(whole)), abs=0.005)


@pytest.mark.parametrize("power", [1.5, None])
@pytest.mark.parametrize("dispersion", [1.2, None])
def test_a_fit_is_where_the_nll_of_the_law_is_least(power, dispersion):
    X, y = amounts(400)
    cells = capped(y)
    noise = nl.Tweedie(power=power, dispersion=dispersion)
    fit = nl.fit(X, cells, noise, tol=1e-9)

    def nats(point):
        raw = iter(point[3:])
        p = power if power is not None else 1 + 1 / (1 + np.exp(-next(raw)))
        phi = dispersion if dispersion is not None else np.exp(next(raw))
        law = nl.Tweedie(power=p, dispersion=phi).given(point[0] + X @ point[1:3])
        return float(np.sum(law.nll(cells)))

    begin = np.array([0.5, 0.0, 0.0, *np.zeros(len(noise.unknown))])
    found = optimize.minimize(nats, begin, method="BFGS", options={"gtol": 1e-4})
    assert fit.nll == pytest.approx(found.fun, abs=1e-6)
    np.testing.assert_allclose([fit.intercept, *fit.coef], found.x[:3], atol=2e-4)


def test_a_dispersion_that_columns_predict():
    X, _ = amounts(2000)
    eta, log_dispersion = INTERCEPT + X @ COEF, 0.4 * X[:, 0]
    law = nl.Tweedie(power=1.5, dispersion=np.exp(log_dispersion)).given(eta)
    fit = nl.fit(X, capped(law.sample(rng=2)), nl.Tweedie(power=1.5, dispersion="model"))
    assert fit.converged, fit.message
    assert fit.predictors["dispersion"].coef == pytest.approx([0.4, 0.0], abs=0.15)


def test_amounts_below_a_limit_may_be_zeros():
    """Nobody saw whether they were: the power is found all the same."""
    X, y = amounts(3000)
    lost = y < 0.5
    fit = nl.fit(X, nl.censored(np.where(lost, 0.0, y), np.where(lost, 0.5, y)), nl.Tweedie())
    assert fit.converged, fit.message
    assert abs(fit.noise.power - TRUTH.power) < 4 * fit.noise_standard_errors["power"]


def test_whole_numbers_send_the_power_to_its_edge():
    """At which all of them have a mass, and no density is as good: as with values, that is said."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = rng.poisson(np.exp(0.8 + 0.5 * X[:, 0])).astype(float)
    with pytest.warns(UserWarning, match="The power of the Tweedie noise ran to 1, the edge of its range"):
        fit = nl.fit(X, capped(y), nl.Tweedie())
    assert not fit.converged


# ---- probabilities ---------------------------------------------------------------------------------------------------


LAWS = [
    nl.Tweedie(1.0, 1.5, 1.0),
    nl.Tweedie(250.0, 1.7, 30.0),
    nl.Tweedie(2.0, 1.1, 0.4),
    nl.Tweedie(2.0, 1.01, 0.1),
    nl.Tweedie(2.0, 1.001, 0.05),
    nl.Tweedie(1.0, 1.9, 3.0),
    nl.Tweedie(3.0, 1.99, 1.0),
    nl.Tweedie(5.0, 1.3, 0.01),
    nl.Tweedie(0.01, 1.5, 1.0),
    nl.Tweedie(0.75, 1.88, 0.001),
]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)


@each_law
def test_cells_between_any_ends_add_up(law):
    levels = np.exp(-law.nll(0.0)) + np.linspace(1e-9, 0.999, 12) * -np.expm1(-law.nll(0.0))
    ends = np.unique(law.icdf(levels))
    cells = nl.censored(np.append(-INF, ends), np.append(ends, INF))
    assert np.exp(-law.nll(cells)).sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(np.exp(-law.nll(cells))[1:-1], np.diff(law.cdf(ends)), rtol=1e-9, atol=1e-13)


@each_law
def test_scores_of_a_partition_obey_bartlett(law):
    """Slopes have mean 0, and curvatures the mean of the products of slopes: what cancels anywhere shows here."""
    ends = np.unique(law.icdf(np.exp(-law.nll(0.0)) + np.array([0.02, 0.3, 0.8, 0.99]) * -np.expm1(-law.nll(0.0))))
    cells = nl.censored(np.append(-INF, ends), np.append(ends, INF))
    eta = np.full(len(cells), np.log(law.parameters["mean"]))
    noise = nl.Tweedie(power=law.power, dispersion=law.dispersion)
    nats, slopes, bends = noise.joint(cells, eta, curvature=True)
    p, asked = np.exp(-nats), 1e-10 if 1.02 < law.power < 1.98 else 1e-6  # near its ends the power is all that matters
    np.testing.assert_array_less(np.abs(slopes @ p), asked * np.abs(slopes) @ p + 1e-12)
    for pair, (i, j) in enumerate(((0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2))):
        gap, size = p @ (bends[pair] - slopes[i] * slopes[j]), p @ np.abs(bends[pair])
        assert abs(gap) < asked * size + 1e-12


@each_law
def test_a_narrow_cell_costs_the_density_and_its_width(law):
    y = law.icdf(np.exp(-law.nll(0.0)) + np.array([0.1, 0.5, 0.99]) * -np.expm1(-law.nll(0.0)))
    width = 1e-7 * y
    found = law.nll(nl.censored(y - width / 2, y + width / 2))
    np.testing.assert_allclose(found, law.nll(y) - np.log(width), atol=1e-7)


@each_law
def test_zero_is_in_the_cells_that_begin_there(law):
    y = float(law.icdf(0.9))
    below, zero, above = (float(law.nll(nl.censored(*ends))) for ends in ((-INF, y), (0.0, y), (5e-324, y)))
    assert zero == below
    assert np.exp(-zero) - np.exp(-above) == pytest.approx(np.exp(-law.nll(0.0)), rel=1e-9, abs=1e-14)
    assert law.nll(nl.censored(-1.0, 0.0)) == pytest.approx(law.nll(0.0), rel=1e-14)
    assert law.nll(nl.censored(-2.0, -1.0)) == INF


@each_law
def test_curvatures_are_slopes_of_slopes(law):
    ends = law.icdf(np.exp(-law.nll(0.0)) + np.array([0.05, 0.6, 0.999]) * -np.expm1(-law.nll(0.0)))
    cells = nl.censored([-INF, *ends[:2], 0.0, ends[2]], [ends[0], *ends[1:], ends[2], INF])
    at = np.array([np.log(law.parameters["mean"]), law.power, np.log(law.dispersion)])

    def joint(point):
        noise = nl.Tweedie(power=point[1], dispersion=np.exp(point[2]))
        return noise.joint(cells, np.full(len(cells), point[0]), curvature=True)

    second = joint(at)[2]
    size = np.array([1e-4, 1e-4 * min(law.power - 1, 2 - law.power), 1e-4])
    for k in range(3):
        way = size[k] * np.eye(3)[k]
        steps = [joint(at + h * way)[1] - joint(at - h * way)[1] for h in (1, 2)]
        slopes = (8 * steps[0] - steps[1]) / (12 * size[k])
        for other in range(3):
            pair = max(k, other) * (max(k, other) + 1) // 2 + min(k, other)
            scale = np.abs(second[pair]).max() + np.abs(joint(at)[1][other]).max() / size[k] * 1e-8
            np.testing.assert_allclose(slopes[other], second[pair], atol=1e-6 * scale + 1e-8)


@pytest.mark.parametrize("dispersion", [0.01, 0.3, 2.0])
def test_both_ways_to_a_cell_meet(dispersion):
    """Up to power 1.02 it is summed over jumps, and from there integrated."""
    cells = nl.censored([-INF, 0.3, 1.7, 2.0, 30.0], [0.5, 2.2, INF, 2.001, 31.0])
    step = 1e-10
    sides = [nl.Tweedie(2.0, 1.02 + way, dispersion) for way in (-step, step)]
    (below, slopes, bends), (above, _, others) = (law.joint(cells, np.log(2.0), curvature=True) for law in sides)
    np.testing.assert_allclose(above, below + 2 * step * slopes[1], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(others, bends, rtol=1e-5, atol=1e-7 * np.abs(bends).max())


def test_amounts_that_are_smaller_than_every_number():
    """Jumps of power 1.99 are so small, and so few are large, that a share of the sums is below 1e-300."""
    law = nl.Tweedie(3.0, 1.99, 100.0)
    below, above = np.exp(-law.nll(nl.censored([0.0, 1e-300], [1e-300, INF])))
    assert below == pytest.approx(law.cdf(1e-300), rel=1e-10)
    assert below + above == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("tweedie", "same"),
    [
        (nl.Tweedie(-0.5, 0.0, 2.0), nl.Gaussian(-0.5, np.sqrt(2.0))),
        (nl.Tweedie(3.0, 1.0, 1.0), nl.Poisson(3.0)),
        (nl.Tweedie(3.0, 2.0, 0.5), nl.Gamma(3.0, 2.0)),
        (nl.Tweedie(1.5, 3.0, 0.3), nl.InverseGaussian(1.5, 0.3)),
    ],
    ids=repr,
)
def test_powers_that_are_other_laws_have_their_cells(tweedie, same):
    cells = nl.censored([-INF, 1.0, 2.0, 2.0, 40.0], [2.0, 3.5, 2.0, INF, INF])
    np.testing.assert_allclose(tweedie.nll(cells), same.nll(cells), rtol=1e-12)


def test_cells_of_a_lattice_end_at_its_steps():
    counts, amounts = nl.Poisson(10.0), nl.Tweedie(3.0, 1.0, 0.3)
    ends = np.arange(5.0), np.arange(5.0) + 2
    np.testing.assert_allclose(
        amounts.nll(nl.censored(0.3 * ends[0], 0.3 * ends[1])), counts.nll(nl.censored(*ends)), rtol=1e-12
    )
