"""The exact Tweedie density where its algorithms meet, and at the powers that are other families."""

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import neglog as nl
from neglog import _core

POWERS = [1.001, 1.02, 1.1, 1.3, 1.5, 1.7, 1.9, 1.98, 1.999]


def dispersion_for_jumps(power, jumps):
    """The dispersion at which y = 1 is made of this many jumps."""
    return 1 / (jumps * (2 - power))


def switches(power):
    """Dispersions, at y = 1, at which the density changes its algorithm."""
    steepness = 1 / (power - 1)
    lattice = 2 * np.sin(np.pi * (power - 1)) ** 2 / ((2 - power) * (power - 1))
    stride = dispersion_for_jumps(power, max(1.5**2 * steepness, 60 / steepness))
    table = dispersion_for_jumps(power, 1000.0)
    return {"expansion": min(0.1, lattice / 40), "stride": stride, "table": table}


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("switch", ["expansion", "stride", "table"])
def test_both_sides_of_a_switch_lie_on_one_curve(power, switch):
    """Four points on each side: the cubic through seven of them must predict the eighth."""
    at = switches(power)[switch]
    dispersions = at * np.exp(1e-6 * (np.arange(8) - 3.5))
    nats = nl.Tweedie(1.0, power, dispersions).nll(1.0)
    eighth = np.diff(nats, 7)[0]  # the seventh difference of a smooth curve vanishes
    assert abs(eighth) <= 128 * 2e-14 * (1 + np.abs(nats).max())
    slopes = nl.Tweedie(1.0, power, dispersions).parameter_gradient(np.ones(8))
    for name in ("power", "dispersion"):
        size = np.abs(slopes[name]).max() + 1 / dispersions[0] + 1 / ((power - 1) * (2 - power))
        assert abs(np.diff(slopes[name], 7)[0]) <= 128 * 1e-11 * size


@pytest.mark.parametrize("power", POWERS)
def test_many_points_get_the_same_density_as_single_ones(power, rng):
    """Panels that many points share are interpolated; single points are summed."""
    y = np.exp(rng.uniform(-6, 3, 20_000))
    many = nl.Tweedie(0.7, power, 1.3).nll(y)
    for i in range(0, 20_000, 997):
        alone = nl.Tweedie(0.7, np.array([power, 1.5]), 1.3).nll(y[i])[0]  # two powers: no panel is kept
        assert many[i] == pytest.approx(alone, rel=2e-13, abs=2e-13)


def test_one_and_a_half_is_a_bessel_function():
    """f = exp(-lam - y/g) sqrt(lam / (g y)) I1(2 sqrt(lam y / g))."""
    y = np.geomspace(1e-8, 1e4, 200)
    mean, dispersion = 1.7, 0.6
    lam, scale = 2 * np.sqrt(mean) / dispersion, dispersion * np.sqrt(mean) / 2
    root = 2 * np.sqrt(lam * y / scale)
    log_f = -lam - y / scale + 0.5 * np.log(lam / (scale * y)) + np.log(special.ive(1, root)) + root
    np.testing.assert_allclose(nl.Tweedie(mean, 1.5, dispersion).nll(y), -log_f, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("power", [1.2, 1.5, 1.8])
def test_rescaling(power):
    """f(y; mu, phi) = c f(c y; c mu, c^(2-p) phi)."""
    y, c = np.geomspace(0.01, 50, 30), 37.0
    scaled = nl.Tweedie(c * 2.0, power, c ** (2 - power) * 0.8).nll(c * y) - np.log(c)
    np.testing.assert_allclose(nl.Tweedie(2.0, power, 0.8).nll(y), scaled, rtol=1e-12, atol=1e-12)


def test_at_its_special_powers_it_is_another_family():
    y = np.array([0.5, 1.0, 2.0, 7.5])
    np.testing.assert_allclose(nl.Tweedie(2.0, 0, 0.49).nll(y), nl.Gaussian(2.0, 0.7).nll(y), rtol=1e-13)
    np.testing.assert_allclose(nl.Tweedie(2.0, 2, 0.4).nll(y), nl.Gamma(2.0, 2.5).nll(y), rtol=1e-13)
    inverse_gaussian = stats.invgauss(2.0 * 0.4, scale=1 / 0.4)
    np.testing.assert_allclose(nl.Tweedie(2.0, 3, 0.4).nll(y), -inverse_gaussian.logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(nl.Tweedie(2.0, 1, 1.0).nll([0, 1, 5]), nl.Poisson(2.0).nll([0, 1, 5]), rtol=1e-13)
    np.testing.assert_allclose(nl.Tweedie(2.0, 1, 0.5).nll([0, 0.5, 2.5]), nl.Poisson(4.0).nll([0, 1, 5]), rtol=1e-13)


@pytest.mark.parametrize(("power", "limit"), [(2 - 1e-9, nl.Gamma(1.4, 1 / 0.3)), (1 + 1e-6, None)])
def test_towards_the_ends_it_approaches_its_neighbours(power, limit):
    law = nl.Tweedie(1.4, power, 0.3)
    if limit is not None:
        y = np.array([0.3, 1.0, 4.0])
        np.testing.assert_allclose(law.nll(y), limit.nll(y), rtol=1e-7)
        np.testing.assert_allclose(law.cdf(y), limit.cdf(y), rtol=1e-7)
        return
    edges = 0.3 * (np.arange(8) + 0.5)  # all mass lies close to the multiples of the dispersion
    np.testing.assert_allclose(np.diff(law.cdf(edges)), nl.Poisson(1.4 / 0.3).pdf(np.arange(1, 8)), rtol=1e-4)


def test_several_powers_at_once():
    powers = np.array([0.0, 1.0, 1.5, 2.0, 3.0])
    law = nl.Tweedie(2.0, powers, 0.5)
    singles = [nl.Tweedie(2.0, float(p), 0.5) for p in powers]
    for method, argument in (("nll", 1.5), ("cdf", 1.5), ("sf", 1.5), ("icdf", 0.3), ("isf", 0.3)):
        expected = [getattr(single, method)(argument) for single in singles]
        np.testing.assert_allclose(getattr(law, method)(argument), expected, rtol=1e-13)
    np.testing.assert_allclose(law.entropy(), [single.entropy() for single in singles], rtol=1e-12)
    assert law.measure == "mixed"


def test_a_power_without_a_law_is_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"Tweedie: power must be .*no Tweedie law exists between 0 and 1.* 0.5"):
        nl.Tweedie(power=0.5)
    with pytest.raises(ValueError, match=r"other powers have no exact density here.* but is 2.5"):
        nl.Tweedie(power=2.5)
    with pytest.raises(ValueError, match="mean must be > 0 unless the power is 0"):
        nl.Tweedie(mean=-1.0, power=1.5)


def test_jump_law():
    """Draws are zero as often, and have the moments, as the law says, far into both ends of the power."""
    for power in (1.01, 1.5, 1.99):
        law = nl.Tweedie(3.0, power, 2.0)
        y = law.sample(100_000, rng=5)
        zeros = np.exp(-law.nll(0.0))
        assert abs((y == 0).mean() - zeros) < 5 * np.sqrt(zeros * (1 - zeros) / len(y)) + 1e-12
        assert abs(y.mean() - 3.0) < 5 * np.sqrt(law.variance() / len(y))


def test_predictions_beyond_the_range_of_the_mean():
    """exp(800) is no number, but its square root is, and that is all that the mass at zero needs."""
    noise = nl.Tweedie(power=1.5, dispersion=1.0)
    eta = np.array([800.0, -800.0, np.inf, -np.inf])
    np.testing.assert_allclose(
        noise.derivatives(0.0, eta)[0], [2 * np.exp(400), 2 * np.exp(-400), np.inf, 0.0], rtol=1e-12
    )
    nats = noise.derivatives(1.0, eta)[0]
    np.testing.assert_allclose(nats[:2], [2 * np.exp(400), 2 * np.exp(400)], rtol=1e-12)
    assert np.isposinf(nats[2:]).all()


@pytest.mark.parametrize("many_means", [False, True])
def test_neither_threads_nor_earlier_calls_change_a_bit(many_means, rng, monkeypatch):
    y = nl.Tweedie(1.0, 1.4, 0.7).sample(150_001, rng=rng)
    mean = np.exp(0.2 * rng.normal(size=y.size)) if many_means else 1.1
    results = []
    for threads in ("1", "2", "7", "1"):
        monkeypatch.setenv("NEGLOG_NUM_THREADS", threads)
        nl.Tweedie(2.0, 1.0 + 0.1 * int(threads), 0.7).nll(y[:5000])  # another law in between
        results.append(nl.Tweedie(mean, 1.4, 0.7).nll(y))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("power", [1.05, 1.3, 1.5, 1.8])
@pytest.mark.parametrize(
    ("y", "dispersion"), [(1.0, 1e200), (1.0, 1e308), (1e-100, 1e150), (1e-300, 1e10), (1e60, 1e60)]
)
def test_next_to_no_jumps_are_one_jump(y, dispersion, power):
    # as the number of jumps becomes improbable, y > 0 means one: exp(-m) m times a Gamma density
    with mpmath.workdps(40):
        p, phi, value = mpmath.mpf(power), mpmath.mpf(dispersion), mpmath.mpf(y)
        rate, shape, scale = 1 / (phi * (2 - p)), (2 - p) / (p - 1), phi * (p - 1)
        jump = -mpmath.log(value) * (shape - 1) + value / scale + mpmath.loggamma(shape) + shape * mpmath.log(scale)
        exact = float(rate - mpmath.log(rate) + jump)
    assert nl.Tweedie(1.0, power=power, dispersion=dispersion).nll(y) == pytest.approx(exact, rel=1e-13)


def test_numbers_that_are_none_or_too_large_give_none_back():
    for dispersion in (np.nan, np.inf, 0.0, 1e308, 5e-324, -1.0):
        for y in (1.0, np.nan, np.inf, 0.0, 1e300, 5e-324):
            for power in (1.0000001, 1.5, 1.9999999, np.nan):
                out = [np.empty(1) for _ in range(4)]
                given = [np.array([value]) for value in (y, 1.0, power, dispersion)]
                _core.tweedie_slopes(*given, *out, 1)
                if np.isnan([y, power, dispersion]).any() and y != 0:
                    assert not np.isfinite(out[0][0])


def exact_nll(y, mean, power, dispersion):
    """The series over the number of jumps in mpmath, from its largest term outwards."""
    with mpmath.workdps(50):
        y, m, p, phi = (mpmath.mpf(float(x)) for x in (y, mean, power, dispersion))
        nu, rate = (2 - p) / (p - 1), y ** (2 - p) / (phi * (2 - p))
        drift = nu * mpmath.log(y / (p - 1)) - (1 + nu) * mpmath.log(phi) - mpmath.log(2 - p)
        near = max(1, int(rate))
        reach = 2 + int(15 * mpmath.sqrt(rate * (p - 1) + 1))
        js = range(max(1, near - reach), near + reach)
        logs = [j * drift - mpmath.loggamma(j + 1) - mpmath.loggamma(j * nu) for j in js]
        top = max(logs)
        total = top + mpmath.log(sum(mpmath.exp(one - top) for one in logs))
        return float(mpmath.log(y) - total + (m ** (2 - p) / (2 - p) - y * m ** (1 - p) / (1 - p)) / phi)


@pytest.mark.parametrize("gap", [1e-3, 8.19507e-6, 1e-6, 1e-7, 1e-9, 1e-12])
def test_near_power_one_the_nearest_number_of_jumps_need_not_be_the_likeliest(gap):
    mean, dispersion, power = 0.3632168253346361, 0.11238574438169929, 1 + gap
    step = dispersion * (2 - power)
    for count in (1, 2, 7):
        for share in (0.05, 0.4, 0.49, 0.4975, 0.502, 0.6, 0.97):  # of the way to the next number of jumps
            y = ((count + share) * step) ** (1 / (2 - power))
            truth = exact_nll(y, mean, power, dispersion)
            law = nl.Tweedie(mean, power, dispersion)
            assert law.nll(y) == pytest.approx(truth, rel=1e-12)
            np.testing.assert_allclose(law.nll(np.full(300, y)), truth, rtol=1e-12)
            np.testing.assert_allclose(nl.Tweedie(np.full(3, mean), power, dispersion).nll(y), truth, rtol=1e-12)
            assert np.isfinite(law.parameter_gradient(y)["dispersion"])


def test_a_point_that_was_minus_infinity():
    law = nl.Tweedie(0.3632168253346361, 1.0000081950700495, 0.11238574438169929)
    assert law.nll(0.16773574229053045) == pytest.approx(9497.803, abs=5e-3)


@pytest.mark.parametrize("gap", [1e-9, 1e-11, 3e-13])
def test_near_power_two_nodes_are_not_rounded_away(gap):
    """There are 1 / gap jumps; the Gamma law is the limit, and the difference to it is of the order of the gap."""
    y = np.array([0.05, 0.4, 1.3])
    nats = nl.Tweedie(0.35, 2 - gap, 1.05).nll(y)
    np.testing.assert_allclose(nats, nl.Gamma(0.35, 1 / 1.05).nll(y), rtol=0, atol=10 * gap + 1e-13)


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-9])
def test_one_whole_number_of_jumps_near_power_one(gap):
    """At y made of exactly one jump the density has a peak that all digits of the exponent are needed for."""
    power = 1 + gap
    y = 0.25 ** (1 / (2 - power))
    dispersion = 0.25 / (2 - power)
    assert nl.Tweedie(0.3, power, dispersion).nll(y) == pytest.approx(exact_nll(y, 0.3, power, dispersion), abs=1e-12)
