"""Numbers computed by others: R packages, scikit-learn, Keras, SciPy, NIST and printed books.

Each row of oracles.json carries its origin, how the number was read there, the precision it was printed
with and the tolerance that follows from it. Nothing in that file was computed by neglog.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special

import neglog as nl

ROWS = json.loads(Path(__file__).with_name("oracles.json").read_text(encoding="utf-8"))


def oracle(*cases, having=None, family=None):
    """Parametrise a test with the rows of some cases: those with a field, or of these families."""
    rows = [row for row in ROWS if row["id"] in cases]
    rows = [row for row in rows if having is None or having in row]
    rows = [row for row in rows if family is None or row["family"] in family]
    assert rows, cases
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


def check(actual, expected, row):
    np.testing.assert_allclose(actual, expected, rtol=row["rtol"], atol=row["atol"], err_msg=row["origin"])


def test_every_row_says_where_it_comes_from_and_how_precise_it_is():
    for row in ROWS:
        assert row["origin"]
        assert row["read"]
        assert row["precision"]
        assert row["rtol"] + row["atol"] > 0


# --- likelihoods at a given fit ---------------------------------------------------------------------


@oracle("A15")
def test_log_likelihood_of_intercept_only_fits(row):
    """R's logLik plugs in dispersion = deviance / n."""
    y, coef, phi = np.array(row["y"], float), row["coef"], row["deviance"] / len(row["y"])
    noise = {
        "poisson": nl.Poisson(),
        "gamma": nl.Gamma(shape=1 / phi),
        "gaussian": nl.Gaussian(scale=np.sqrt(phi)),
        "tweedie1.5": nl.Tweedie(power=1.5, dispersion=phi),
        "binomial": nl.Bernoulli(),
    }[row["family"]]
    check(-noise.given(np.full(len(y), coef)).nll(y).sum(), row["loglik"], row)
    per_loss = 1 if row["family"] == "gaussian" else 2
    check(per_loss * noise.loss(y, noise.link.inverse(coef)).sum(), row["deviance"], row)


@oracle("A18")
def test_poisson_objective_of_a_nonlinear_model(row):
    x, y = np.array(row["x"], float), np.array(row["y"], float)

    def nll(ymax, xhalf):
        return nl.Poisson(ymax / (1 + x / xhalf)).nll(y).sum()

    def least(objective, low, high):
        return optimize.minimize_scalar(objective, bounds=(low, high), method="bounded", options={"xatol": 1e-8})

    best = nll(row["ymax"], row["xhalf"])
    check(2 * best, row["minus2loglik"], row)
    check(least(lambda ymax: nll(ymax, 6.0), 1, 90).x, row["ymax_at_xhalf_6"], row)
    # R finds the ends of its profile intervals by a spline: half a percent of the 95 % quantile 3.8415
    for end in row["profile_ymax"]:
        assert 2 * (least(lambda h, a=end: nll(a, h), 0.1, 60).fun - best) == pytest.approx(3.8415, abs=5e-3)
    for end in row["profile_xhalf"]:
        assert 2 * (least(lambda a, h=end: nll(a, h), 1, 90).fun - best) == pytest.approx(3.8415, abs=5e-3)


@oracle("A19")
def test_gaussian_objective_of_a_line(row):
    x, y = np.array(row["x"], float), np.array(row["y"])
    law = nl.Gaussian(row["coef"][0] + row["coef"][1] * x, row["sigma_mle"])
    check(2 * law.nll(y).sum(), row["minus2loglik"], row)


@oracle("A21")
def test_horse_kicks(row):
    """Expected frequencies of 200 corps-years; the mean is the MLE."""
    deaths, freq = np.array(row["deaths"]), np.array(row["freq"])
    check(freq.sum() * nl.Poisson(row["mean"]).pdf(deaths), row["expected"], row)
    gradient = nl.Poisson().derivatives(deaths, np.full(5, np.log(row["mean"])))[1]
    assert freq @ gradient == pytest.approx(0, abs=1e-10)


@oracle("A22")
def test_squared_residuals_keep_their_digits(row):
    """At the certified mean and sd the squared residuals sum to n - 1; expanding the square loses them."""
    y = np.array(row["y"] if "y" in row else [row["first"], *row["pair"] * row["repeat"]], float)
    law = nl.Gaussian(row["mean"], row["sd"])
    squares = 2 * (law.nll(y).sum() - len(y) * law.nll(row["mean"]))
    check(squares, len(y) - 1, row)


# --- Huber ------------------------------------------------------------------------------------------


@oracle("B09")
def test_huber_rho_psi_and_weights(row):
    noise, z = nl.Huber(scale=1.0, delta=row["k"]), np.array(row["z"], float)
    psi = -noise.derivatives(z, np.zeros_like(z))[1]
    check(noise.loss(z, np.zeros_like(z)), row["rho"], row)
    check(psi, row["psi"], row)
    check(np.where(z == 0, 1.0, psi / np.where(z == 0, 1.0, z)), row["weights"], row)


def normal_expectations(k):
    """E rho, E psi^2 and E psi' of Huber's loss under N(0, 1), by Gauss-Legendre on each side of k."""
    node, weight = np.polynomial.legendre.leggauss(200)
    noise, total = nl.Huber(scale=1.0, delta=k), np.zeros(3)
    for low, high in ((0.0, k), (k, 14.0)):
        z = (high - low) / 2 * node + (high + low) / 2
        _, gradient, hessian = noise.derivatives(z, np.zeros_like(z))
        mass = 2 * (high - low) / 2 * weight * nl.Gaussian(0.0, 1.0).pdf(z)
        total += [mass @ noise.loss(z, np.zeros_like(z)), mass @ gradient**2, mass @ hessian]
    return total


@oracle("B10")
def test_huber_expectations_under_the_normal(row):
    check(normal_expectations(row["k"]), [row["Erho"], row["Epsi2"], row["EDpsi"]], row)


@oracle("B11")
def test_huber_cdf(row):
    check(nl.Huber(0.0, 1.0, row["k"]).cdf(row["q"]), row["cdf"], row)


@oracle("B12", having="contamination")
def test_huber_contamination(row):
    """1 - sqrt(2 pi) f(0) is the contamination of the normal."""
    check(1 - np.sqrt(2 * np.pi) * nl.Huber(0.0, 1.0, row["k"]).pdf(0.0), row["contamination"], row)


@oracle("B12", having="efficiency")
def test_huber_efficiency_at_the_normal(row):
    _, psi2, slope = normal_expectations(row["k"])
    check(slope**2 / psi2, row["efficiency"], row)


# --- densities --------------------------------------------------------------------------------------


@oracle("C01")
def test_tweedie_density_and_cdf(row):
    law = nl.Tweedie(mean=row["mean"], power=row["power"], dispersion=row["dispersion"])
    y = np.arange(11.0)
    check(law.pdf(y), row["pdf"], row)
    check(law.cdf(y), row["cdf"], row)


@oracle("C02")
def test_tweedie_is_a_noncentral_chi_square(row):
    law, y = (
        nl.Tweedie(mean=row["mean"], power=row["power"], dispersion=row["dispersion"]),
        np.array(row["y"]),
    )
    log_bessel = np.log(special.ive(1, np.sqrt(y))) + np.sqrt(y)
    check(law.nll(y), (y + 1) / 2 + np.log(2 * np.sqrt(y)) - log_bessel, row)
    check(law.pdf(0.0), np.exp(-0.5), row)


@oracle("C03")
def test_tweedie_mass_at_zero(row):
    law = nl.Tweedie(mean=row["mean"], power=row["power"], dispersion=row["dispersion"])
    check(law.pdf(0.0), row["zero"], row)


@oracle("C09")
def test_gamma_density(row):
    check(nl.Gamma(row["shape"] / row["rate"], row["shape"]).pdf(row["y"]), row["pdf"], row)


# --- losses and deviances ---------------------------------------------------------------------------


# scikit-learn drops constants: what the exact -log p adds to its loss
CONSTANT = {
    "half_squared": (nl.Gaussian(scale=1.0), lambda y: 0.5 * np.log(2 * np.pi)),
    "absolute": (nl.Laplace(scale=1.0), lambda y: np.log(2)),
    "huber_delta3": (
        nl.Huber(scale=1.0, delta=3.0),
        lambda y: np.log(np.sqrt(2 * np.pi) * special.erf(3 / np.sqrt(2)) + 2 / 3 * np.exp(-4.5)),
    ),
    "poisson_log": (nl.Poisson(), lambda y: special.gammaln(y + 1)),
    "gamma_log_shape1": (nl.Gamma(shape=1.0), lambda y: 0.0),
    "tweedie3_log": (
        nl.Tweedie(power=3, dispersion=1.0),
        lambda y: 0.5 * np.log(2 * np.pi * y**3) + 1 / (2 * y),
    ),
    "logistic": (nl.Bernoulli(), lambda y: 0.0),
}


@oracle("C06", family=CONSTANT)
def test_scikit_learn_losses_and_derivatives(row):
    noise, constant = CONSTANT[row["family"]]
    y, raw = np.array([row["y"]]), np.array([row["raw"]])
    nll, gradient, hessian = noise.derivatives(y, raw)
    check(nll, row["loss"] + constant(y), row)
    if "gradient" in row:
        check(gradient, row["gradient"], row)
    if "hessian" in row:
        check(hessian, row["hessian"], row)


# the familiar loss, as a function of y and of the prediction on the scale of y
FAMILIAR = {
    "half_squared": lambda y, f: nl.Gaussian().loss(y, f) / 2,
    "absolute": nl.Laplace().loss,
    "huber_delta3": nl.Huber(scale=1.0, delta=3.0).loss,
    "half_deviance_p1_identity": nl.Poisson().loss,
    "half_deviance_p2_identity": nl.Gamma().loss,
    "half_deviance_p3_identity": nl.Tweedie(power=3).loss,
}


@oracle("C06", family=FAMILIAR)
def test_scikit_learn_losses_on_the_scale_of_y(row):
    check(FAMILIAR[row["family"]](row["y"], row["raw"]), row["loss"], row)


@oracle("C07")
def test_scikit_learn_deviances(row):
    y, mean = np.array(row["y"], float), np.array(row["mean"], float)

    def explained(power):
        noise = nl.Tweedie(power=power)
        return 1 - noise.deviance(y, mean).sum() / noise.deviance(y, np.full_like(y, y.mean())).sum()

    value = {
        "poisson_deviance": lambda: nl.Poisson().deviance(y, mean).mean(),
        "gamma_deviance": lambda: nl.Gamma().deviance(y, mean).mean(),
        "msle_log1p": lambda: nl.LogNormal().loss(1 + y, 1 + mean).mean(),
        "d2_tweedie_p0": lambda: explained(0),
        "d2_tweedie_p1": lambda: explained(1),
        "d2_tweedie_p2": lambda: explained(2),
    }[row["metric"]]()
    check(value, row["value"], row)


@oracle("C08")
def test_keras_losses(row):
    prediction = np.array(row["prediction"], float)
    y = np.array(row["y"])
    value = {
        "squared": lambda: nl.Gaussian().loss(y, prediction),
        "absolute": lambda: nl.Laplace().loss(y, prediction),
        "binary": lambda: nl.Bernoulli().loss(y, prediction),
        "categorical": lambda: nl.Categorical().loss(y, prediction),
        "categorical_logits": lambda: nl.Categorical().given(prediction).nll(y),
    }[row["loss"]]()
    if "rows" in row:
        check(value, row["rows"], row)
    else:
        check((np.array(row["weight"]) * value).mean(), row["value"], row)


@oracle("F04")
def test_log_loss(row):
    y, p = np.array(row["y"], float), np.array(row["p"])
    check(nl.Bernoulli().loss(y, p).mean(), row["value"], row)
    check(nl.Bernoulli(p).nll(y).mean(), row["value"], row)


# --- Bayes ------------------------------------------------------------------------------------------


@oracle("E01", having="sd")
def test_placenta_praevia_posterior(row):
    """437 girls among 980 births, uniform prior: Beta(438, 544)."""
    law = nl.Beta(row["a"], row["b"])
    check(law.mean(), row["mean"], row)
    check(np.sqrt(law.variance()), row["sd"], row)
    check(law.median(), row["median"], row)
    check(law.icdf(np.array([0.025, 0.975])), row["interval"], row)
    ratio = [(1 - q) / q for q in (law.median(), law.icdf(0.975), law.icdf(0.025))]
    expected = [row["sex_ratio_median"], *row["sex_ratio_interval"]]
    np.testing.assert_allclose(ratio, expected, atol=6e-3, err_msg=row["origin"])  # 2 decimals printed


@oracle("E01", having="prior_mean")
def test_placenta_praevia_under_other_priors(row):
    mean, size = row["prior_mean"], row["prior_size"]
    law = nl.Beta(mean * size + 437, (1 - mean) * size + 543)
    check(law.median(), row["median"], row)
    check(law.icdf(np.array([0.025, 0.975])), row["interval"], row)


@oracle("E03")
def test_screening(row):
    """A positive test: posterior from sums of -log p."""
    sick = nl.Bernoulli(row["prior"]).nll(1) + nl.Bernoulli(row["sensitivity"]).nll(1)
    well = nl.Bernoulli(row["prior"]).nll(0) + nl.Bernoulli(row["false_positive"]).nll(1)
    check(1 / (1 + np.exp(sick - well)), row["posterior"], row)


# --- information ------------------------------------------------------------------------------------


@oracle("F01", "F02")
def test_entropy_cross_entropy_and_kl(row):
    arguments = [row[name] for name in ("p", "q") if name in row]
    check(getattr(nl, row["function"])(*arguments, base=row["base"]), float(row["value"]), row)


@oracle("F07")
def test_kl_of_what_is_no_distribution_is_refused(row):
    """TensorFlow sums over numbers that do not add up to one; the result is no divergence."""
    p, q = np.array(row["y_true"]), np.array(row["y_pred"])
    check(np.sum(p * np.log(p / q)), row["value"], row)
    with pytest.raises(ValueError, match="must sum to 1"):
        nl.kl_divergence(p, q)
    divergence = np.sum(p / p.sum() * np.log(p / p.sum() / (q / q.sum())))
    assert nl.kl_divergence(p, q, normalize=True) == pytest.approx(divergence, rel=1e-12)
