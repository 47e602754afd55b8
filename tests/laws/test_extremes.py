"""Distribution functions and quantiles at the ends of what numbers can say: levels, parameters, and no number."""

import numpy as np
import pytest
from families import stands_alone
from laws.cases import PREDICTIVES, UNIVARIATE, each

import neglog as nl
from neglog.distributions import FAMILIES, Categorical, Dirichlet, Flat
from neglog.distributions.beta_binomial import BetaBinomial
from neglog.distributions.beta_prime import BetaPrime
from neglog.distributions.negative_binomial import NegativeBinomial
from neglog.distributions.student import StudentT

LEVELS = [1e-250, 1e-151, 1e-149, 1e-20, 0.1, 0.9]
SIZES = [1e-3, 1e5, 1e10]


def check_quantile(law, level, upper, tolerance=1e-8):
    """The level lies between the tails at the neighbours of the quantile: no other number is nearer."""
    y = float((law.isf if upper else law.icdf)(level))
    tail = law.sf if upper else law.cdf
    assert not np.isnan(y)
    if law.measure == "mass":
        step = law.dispersion if isinstance(law, nl.Tweedie) else 1.0
        reached, before = float(tail(y)), float(tail(y - step))
        low, high = (reached, before if y > 0 else np.inf) if upper else (before, reached)
        assert low <= level * (1 + tolerance)
        assert high >= level * (1 - tolerance)
        return
    if law.measure == "mixed" and y == 0:
        assert float(tail(y)) <= level if upper else float(tail(y)) >= level
        return
    below, above = np.nextafter(y, -np.inf), np.nextafter(y, np.inf)
    if abs(y) < 1e-300:  # a quantile that rounds to 0
        below, above = -1e-300, 1e-300
    elif abs(y) > 1e300:  # or to infinity
        below, above = sorted([np.sign(y) * 1e300, np.sign(y) * np.inf])
    near = [float(tail(point)) for point in (below, y, above)]
    assert min(near) * (1 - tolerance) <= level <= max(near) * (1 + tolerance)


@each(UNIVARIATE)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_the_tail_at_a_quantile_is_its_level(law, level, upper):
    check_quantile(law, level, upper)


@each(UNIVARIATE)
def test_what_is_no_number_has_no_probability_and_no_quantile(law):
    for method in (law.nll, law.pdf, law.cdf, law.sf, law.icdf, law.isf):
        assert np.isnan(method(np.nan))
        assert np.isnan(method(np.array([np.nan, 0.5]))).tolist() == [True, False]
    for level in (-0.1, 1.1, np.inf):
        assert np.isnan(law.icdf(level))
        assert np.isnan(law.isf(level))


@each(UNIVARIATE)
def test_all_probability_lies_between_the_infinities(law):
    assert (law.cdf(np.inf), law.sf(np.inf)) == (1, 0)
    assert (law.cdf(-np.inf), law.sf(-np.inf)) == (0, 1)


def extreme_laws():
    """Each family with one parameter of each example made very small or very large."""
    families = [f for f in FAMILIES.values() if f not in (Flat, Dirichlet, Categorical) and stands_alone(f)]
    for family in (*families, *(law for law in PREDICTIVES if law is not BetaBinomial)):
        for example in family.examples:
            for name in example:
                for size in SIZES:
                    try:
                        yield family(**{**example, name: size})
                    except ValueError:  # outside the domain
                        continue


@each(list(extreme_laws()))
def test_extreme_parameters(law):
    for level in (1e-200, 0.1, 0.9):
        for upper in (False, True):
            check_quantile(law, level, upper)
        y = law.icdf(level)
        assert law.cdf(y) + law.sf(y) == pytest.approx(1, abs=1e-11)
    if not isinstance(law, nl.Tweedie):
        assert np.isfinite(law.entropy())


def test_quantiles_of_beta_by_its_leading_power():
    """y^a / (a B(a, b)) is all of the cdf near 0."""
    law = nl.Beta(40.0, 8.0)
    y = float(law.icdf(1e-300))
    front = 40 * np.exp(np.sum(np.log(np.arange(1, 8))) - np.sum(np.log(np.arange(40, 48))))  # 40 B(40, 8)
    assert 40 * np.log(y) == pytest.approx(np.log(1e-300) + np.log(front), abs=1e-3)


def test_quantiles_of_gamma_at_large_shapes():
    """Cornish and Fisher: z + (z^2 - 1) skewness / 6, whose error is of the order of 1 / shape."""
    from scipy import special

    for shape in (1e8, 1e10, 1e12):
        for level in (1e-200, 1e-20, 1e-3):
            z = float(special.ndtri(level))
            lower = (float(nl.Gamma(1.0, shape).icdf(level)) - 1) * np.sqrt(shape)
            upper = (float(nl.Gamma(1.0, shape).isf(level)) - 1) * np.sqrt(shape)
            assert lower == pytest.approx(z + (z**2 - 1) / 3 / np.sqrt(shape), abs=(abs(z) ** 3 + 1) / shape + 3e-10)
            assert upper == pytest.approx(-z + (z**2 - 1) / 3 / np.sqrt(shape), abs=(abs(z) ** 3 + 1) / shape + 3e-10)


@pytest.mark.parametrize(
    ("power", "dispersion"),
    [(1.5, 1e-300), (1 + 1e-9, 1e-14), (1.000001, 1e-9), (1.01, 1e-7), (1.3, 1e300), (2 - 1e-12, 0.5), (1.2, 1e-12)],
)
def test_tweedie_tails_take_bounded_memory(power, dispersion):
    """Any number of jumps: by sums of some hundred terms, Poisson tails or a saddle point."""
    law = nl.Tweedie(1.0, power, dispersion)
    y = law.icdf(np.array([1e-30, 0.2, 0.7]))
    spread = np.sqrt(dispersion)
    z = (y - 1) / spread
    if spread < 1e-2:  # nearly Gaussian
        if spread > 1e-10:
            np.testing.assert_allclose(z, nl.Gaussian(0.0, 1.0).icdf([1e-30, 0.2, 0.7]), rtol=50 * spread + 1e-5)
        np.testing.assert_allclose([law.cdf(1.0), law.sf(1.0)], 0.5, atol=spread)
    assert law.cdf(1.0) + law.sf(1.0) == pytest.approx(1, abs=1e-9)
    assert np.isfinite(law.entropy()) or dispersion in (1e-300, 1e300)


@pytest.mark.parametrize("power", [1.000004, 1.0001, 1.01, 1.2, 1.5, 1.9, 1.999])
@pytest.mark.parametrize("z", [-8.0, -1.0, 0.0, 0.7, 9.0])
def test_tweedie_tails_agree_where_their_formulas_meet(power, z):
    from neglog.distributions import compound

    mean = 2.0
    for effective in (3e4, 1.2e7):
        dispersion = mean ** (2 - power) / effective
        y = mean + z * np.sqrt(dispersion * mean**power)
        lam, nu, gamma = compound.jumps(mean, power, dispersion)
        around = y ** (2 - power) * effective / mean ** (2 - power) / (2 - power)
        given = [np.array([x]) for x in (y, mean, power, dispersion, lam, nu, gamma, around)]
        law, upper = nl.Tweedie(mean, power, dispersion), z > 0
        expected = compound._over_jumps(*given, upper=upper)[0]
        assert (law.sf if upper else law.cdf)(y) == pytest.approx(expected, rel=1e-9)


def test_entropy_of_counts_beyond_those_that_are_all_added(monkeypatch):
    from neglog.distributions import expectation

    laws = [NegativeBinomial(5e4, 1 / shape) for shape in (0.7, 2.0, 500.0)]
    all_added = [law.entropy() for law in laws]
    monkeypatch.setattr(expectation, "MOST_TERMS", 1000)
    np.testing.assert_allclose([law.entropy() for law in laws], all_added, rtol=1e-9)
    wide = NegativeBinomial(1e12, 0.5)  # a Gamma law, but for counts
    assert wide.entropy() == pytest.approx(nl.Gamma(1e12, 2.0).entropy(), rel=1e-8)


def test_far_tails_of_student_and_beta_prime():
    assert StudentT(0.0, 1.0, 0.3).sf(1e200) == pytest.approx(float(StudentT(0.0, 1.0, 0.3).sf(1e90)) * 1e-33, rel=1e-9)
    assert StudentT(0.0, 1.0, 7.5).icdf(1e-300) == pytest.approx(-float(StudentT(0.0, 1.0, 7.5).isf(1e-300)), rel=1e-14)
    assert BetaPrime(2.0, 1e12, 1.0).cdf(1e-12) == pytest.approx(float(nl.Gamma(2.0, 2.0).cdf(1.0)), rel=1e-9)
