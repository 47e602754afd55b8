"""Noises with zeros of their own: what a fit says where p has no value of its own, and which y are refused."""

import numpy as np
import pytest

import neglog as nl


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(800, 2))
    return X, np.exp(0.6 + X @ [0.4, -0.2])


def drawn(rng, mean, what):
    """Targets that have no zeros beyond those of the noise inside."""
    if what == "counts":
        return rng.poisson(mean).astype(float)
    return rng.poisson(mean) + 1.0 if what == "positive counts" else rng.gamma(2.0, mean / 2)


@pytest.mark.parametrize(
    ("noise", "what", "named"),
    [
        (nl.ZeroInflated(nl.Poisson()), "counts", "as good as Poisson noise"),
        (nl.Hurdle(nl.Poisson()), "positive counts", "as good as zero-truncated Poisson noise"),
        (nl.Hurdle(nl.Gamma()), "amounts", "as good as Gamma noise"),
        (nl.Hurdle(nl.LogNormal()), "amounts", "as good as LogNormal noise"),
    ],
    ids=repr,
)
def test_p_that_goes_to_zero_is_said_in_words(noise, what, named, rows, tmp_path):
    X, mean = rows
    y = drawn(np.random.default_rng(0), mean, what)
    fit = nl.fit(X, y, noise)
    assert fit.converged
    assert named in fit.message
    assert fit.noise.p == pytest.approx(1e-10)
    assert np.isfinite(fit.standard_errors).all()
    assert fit.loo().total > fit.nll
    assert "p" in str(fit.summary())
    fit.save(tmp_path / "fit.json")
    assert nl.load(tmp_path / "fit.json").noise == fit.noise
    if what != "positive counts":
        plain = nl.fit(X, y, noise.noise)
        np.testing.assert_allclose(fit.coef, plain.coef, atol=1e-4)
        np.testing.assert_allclose(fit.standard_errors, plain.standard_errors, rtol=1e-3)
        assert fit.nll == pytest.approx(plain.nll, abs=1e-4)


def test_two_parameters_may_be_at_their_limits(rows):
    X, mean = rows
    y = np.random.default_rng(7).binomial(3, np.minimum(mean / 3, 0.9)).astype(float)  # varies less than Poisson
    fit = nl.fit(X, y, nl.ZeroInflated(nl.NegativeBinomial()))
    assert fit.converged
    assert "The p of" in fit.message
    assert "as good as ZeroInflated(Poisson) noise" in fit.message


def test_the_rows_above_a_hurdle_alone_tell_the_rest(rows, rng):
    X, mean = rows
    y = rng.gamma(2.0, mean / 2) * (rng.random(len(mean)) < 0.4)
    fit, some = nl.fit(X, y, nl.Hurdle(nl.Gamma()), tol=1e-9), y > 0
    positive = nl.fit(X[some], y[some], nl.Gamma(), tol=1e-9)
    assert fit.noise.p == pytest.approx(np.mean(~some), rel=1e-6)
    assert fit.noise.shape == pytest.approx(positive.noise.shape, rel=1e-6)
    np.testing.assert_allclose(fit.coef, positive.coef, rtol=1e-6)
    zeros = np.count_nonzero(~some)
    share = zeros / len(y)
    apart = -zeros * np.log(share) - (len(y) - zeros) * np.log1p(-share)
    assert fit.nll == pytest.approx(positive.nll + apart, rel=1e-10)


@pytest.mark.parametrize(
    ("noise", "y", "message"),
    [
        (nl.ZeroInflated(nl.Poisson()), [1.0, -1.0, 0.0, 2.5], r"needs counts .* 2 of 4 rows are not: .* row 1, is -1"),
        (nl.Hurdle(nl.NegativeBinomial()), [1.0, 0.5, 0.0, 2.0], "needs counts .* row 1"),
        (nl.Hurdle(nl.Gamma()), [1.0, -2.0, 0.0, 2.0], r"needs y ≥ 0, but .* row 1.*-2; a Gaussian"),
        (nl.Hurdle(nl.Gamma()), [0.0, 0.0, 0.0], "can be estimated only where some y is, but all 3 are 0"),
        (nl.Hurdle(nl.Poisson(), p=0.3), [0.0, 0.0, 0.0], "can be estimated only where some y is, but all 3 are 0"),
        (
            nl.ZeroInflated(nl.Poisson()),
            [0.0, 0.0, 0.0],
            "p can be estimated only where some y is not 0, but all 3 are 0",
        ),
        (nl.Log(nl.Laplace()), [1.0, 0.0, 2.0], r"needs y > 0, but .* row 1.*Hurdle takes zeros too"),
        (nl.Logit(nl.Huber()), [0.5, 1.0, 0.2], "needs 0 < y < 1,.* row 1"),
    ],
    ids=repr,
)
def test_y_that_cannot_be_is_refused_in_words(noise, y, message):
    with pytest.raises(ValueError, match=message):
        nl.fit(np.arange(len(y))[:, None] / 7, np.array(y), noise)


def test_a_change_of_variables_is_a_fit_of_what_y_becomes(rows, rng):
    X, mean = rows
    y = mean * np.exp(0.4 * rng.laplace(size=len(mean)))
    share = y / (1 + y)
    for noise in (nl.Laplace(), nl.Huber(), nl.StudentT(), nl.Gaussian()):
        plain = nl.fit(X, np.log(y), noise, tol=1e-9)
        for fit, jacobian in (
            (nl.fit(X, y, nl.Log(noise), tol=1e-9), np.log(y)),
            (nl.fit(X, share, nl.Logit(noise), tol=1e-9), np.log(share) + np.log1p(-share)),
        ):
            np.testing.assert_allclose(fit.coef, plain.coef, rtol=1e-6)
            np.testing.assert_allclose(fit.standard_errors, plain.standard_errors, rtol=1e-5)
            assert fit.nll == pytest.approx(plain.nll + jacobian.sum(), rel=1e-8)
