"""What covariances, intervals and tests answer where terms, classes and names make it less than plain."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import t

import neglog as nl

ROWS = 60


@pytest.fixture(name="table", scope="module")
def rows():
    rng = np.random.default_rng(0)
    x, own = rng.normal(size=ROWS), np.repeat(np.arange(12), 5)
    y = rng.normal(size=12)[own] + x + rng.normal(size=ROWS)
    kind = rng.choice(list("abc"), ROWS)
    return pa.table({"x": x, "c": [f"c{k}" for k in own], "k": kind, "y": y, "count": rng.poisson(np.exp(0.5 * y))})


@pytest.fixture(name="fit", scope="module")
def fit_with_terms(table):
    terms = ["x", nl.group("c"), "k", nl.interaction("k", "x")]
    return nl.fit(table, "y", nl.Gaussian(), terms=terms)


@pytest.mark.parametrize(
    ("name", "what"),
    [("(1|c)", "a group"), ("c", "a group"), ("k:x", "an interaction"), ("x:k", "an interaction")],
)
def test_what_a_prior_draws_to_zero_is_not_tested_by_its_coefficients(fit, name, what):
    with pytest.raises(ValueError, match=f"is {what}, whose coefficients have a prior .* nl.likelihood_ratio"):
        fit.test(name)


def test_the_straight_line_of_a_curve_has_no_prior_and_is_tested(table):
    curve = nl.fit(table, "y", nl.Gaussian(), terms=[nl.smooth("x")])
    assert curve.test("x").p < 1e-4
    with pytest.raises(ValueError, match="is a curve, whose wiggles have a prior"):
        curve.test("s(x)")


def test_unknown_names_are_guessed(fit):
    with pytest.raises(ValueError, match=r"^there is no coefficient or factor 'scala'$"):
        fit.test("scala")
    with pytest.raises(ValueError, match=r"no coefficient or factor 'X', which 'k\[b\] = X' names; did you mean 'x'"):
        fit.test("k[b] = X")
    with pytest.raises(KeyError, match=r"no coefficient 'k\[d\]'; did you mean 'k\["):
        fit.covariance()["k[d]", "x"]
    with pytest.raises(ValueError, match=r"'c\[c1\]' is one of the coefficients of a term"):
        fit.interval(names="c[c1]")
    assert len(fit.interval(method="profile", names="c[c1]")) == 1


def test_of_classes_only_differences_are_tested(table):
    """Under a prior all classes have coefficients, whose mean the data say nothing about."""
    y = np.random.default_rng(1).choice(list("pqrs"), ROWS)
    held = nl.fit(table.select(["x", "k"]), y, nl.Categorical(), nl.Gaussian(scale=1.0))
    assert held.test("x").law == "chi-square(3)"
    assert held.test("k").law == "chi-square(6)"
    assert held.test("p: x").law == "chi-square(1)"


def test_a_wide_prior_tests_classes_as_none_does(table):
    y = np.random.default_rng(1).choice(list("pqrs"), ROWS)
    fits = [nl.fit(table.select(["x"]), y, nl.Categorical(), prior) for prior in (nl.Flat(), nl.Gaussian(scale=1e3))]
    free, held = (fit.test("x") for fit in fits)
    assert (held.law, held.statistic) == (free.law, pytest.approx(free.statistic, rel=1e-4))


def test_several_quantiles_are_asked_one_by_one(table):
    fit = nl.fit(table, "y", nl.AsymmetricLaplace(quantile=[0.2, 0.8]), terms=["x"])
    for ask in (fit.interval, lambda: fit.test("x")):
        with pytest.raises(ValueError, match="ask that of one"):
            ask()
    assert "p" in fit.summary(tests=True).each[0].table
    assert len(fit[0.2].interval()) == 3


def test_many_coefficients_print_their_errors(fit):
    text = repr(fit.covariance())
    assert "a matrix of 19 by 19" in " ".join(text.split())
    assert max(map(len, text.splitlines())) < 40


def test_p_has_as_many_digits_as_say_something(fit):
    assert f"{fit.summary(tests=True).table['p'][1]:.3g} │" in repr(fit.summary(tests=True))


def test_factors_of_what_is_modelled_have_names_too(table):
    fit = nl.fit(table, "y", nl.Gaussian(scale="model"), terms=["x", "k"])
    matrix, theta = fit.covariance(), fit.predictors["scale"].coef[1:]
    places = [matrix.names.index(f"scale: k[{level}]") for level in "bc"]
    wanted = theta @ np.linalg.solve(np.asarray(matrix)[np.ix_(places, places)], theta)
    assert fit.test("scale: k").statistic == pytest.approx(wanted)
    assert fit.test("k").statistic != pytest.approx(wanted)
    assert fit.test("scale: k", "scale: k[b] = scale: k[c]").law == "chi-square(2)"
    held = nl.fit(table.select(["x", "k", "y"]), "y", nl.Gaussian(scale="model"), nl.Gaussian(scale=1.0))
    assert held.test("scale: k").law == held.test("k").law == "chi-square(2)"  # of three coefficients


# ---- profiles where scales were learned ------------------------------------------------------------------------------


def test_profiles_show_what_summaries_show(fit, table):
    assert fit.interval(method="profile").names == fit.interval().names
    curve = nl.fit(table, "y", nl.Gaussian(scale="model"), terms=[nl.smooth("x"), nl.group("c")])
    assert curve.interval(method="profile").names == curve.interval().names


@pytest.mark.parametrize("evidence", ["all", "groups"])
def test_profiles_begin_where_the_noise_was_learned(table, evidence):
    """Each end costs what its level says, with the scale of the noise where it is cheapest less what was integrated."""
    level, own = 0.9, table["x"].to_numpy()
    fit = nl.fit(table, "y", nl.Gaussian(), terms=["x", nl.group("c")], evidence=evidence)
    held = [nl.group("c", scale=fit.terms["c"].scale)]
    y = table["y"].to_numpy()

    def least(c):
        """Over the scale of the noise."""

        def cost(log_scale):
            noise = nl.Gaussian(scale=float(np.exp(log_scale)))
            there = nl.fit(table.set_column(3, "y", [y - c * own]), "y", noise, terms=held, tol=1e-10)
            return there.nll + there.penalty - counted * log_scale

        return minimize_scalar(cost, bounds=np.log(fit.noise.scale) + np.array([-1, 1]), method="bounded").fun

    squares = np.sum((y - fit.predict(table)) ** 2) / fit.noise.scale**2
    counted = ROWS - squares  # where the slope in the log of the scale is 0
    found = fit.interval(level, "profile", "x")["x"]
    degrees = fit.residual_degrees
    loss = 0.5 * squares * np.log1p(t.ppf(0.95, degrees) ** 2 / degrees)
    best = least(fit.coef[0])
    for end in found:
        assert least(end) - best == pytest.approx(loss, rel=1e-4)
    wald = fit.interval(level, names="x")["x"]
    np.testing.assert_allclose(found, wald, atol=0.05 * (wald[1] - wald[0]))


def test_profiles_of_counts_begin_there_too(table):
    fit = nl.fit(table, "count", nl.NegativeBinomial(), terms=[nl.smooth("x"), nl.group("c")])
    found, wald = (np.asarray(fit.interval(0.9, method, ["intercept", "x"])) for method in ("profile", "wald"))
    np.testing.assert_allclose(found, wald, atol=0.1 * np.max(wald[:, 1] - wald[:, 0]))
