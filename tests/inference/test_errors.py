"""Input that cannot be fitted: the error says what was wanted, what came (how many, where first) and what to do."""

import numpy as np
import pandas
import pytest
from scipy import sparse

import neglog as nl

N = 20
X = np.random.default_rng(1).normal(size=(N, 3))
Y = np.random.default_rng(2).poisson(2.0, N) + 1.0


def spoiled(values, *places):
    """A copy with other values at some places."""
    copy = np.array(values, float)
    for place, value in places:
        copy[place] = value
    return copy


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, sparse.csr_array, sparse.csc_array])
def test_the_numbers_of_the_columns_must_be_finite(form, bad):
    table = spoiled(X, ((4, 1), bad), ((9, 2), bad))
    with pytest.raises(ValueError, match=r"(?s)X.*(NaN|nan|inf|missing|finite)"):
        nl.fit(form(table), Y, nl.Poisson())


def test_a_bad_column_of_a_table_is_named():
    table = pandas.DataFrame(spoiled(X, ((4, 1), np.nan)), columns=["one", "two", "three"])
    with pytest.raises(ValueError, match=r"two"):
        nl.fit(table, Y, nl.Poisson())


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Categorical()], ids=repr)
def test_targets_must_be_given(noise, tmp_path):
    pandas.DataFrame(X, columns=["a", "b", "c"]).to_parquet(tmp_path / "rows.parquet")
    for table in (X, pandas.DataFrame(X), tmp_path / "rows.parquet"):
        with pytest.raises(TypeError, match=r"y must be .* but is None"):
            nl.fit(table, None, noise)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson(), nl.Gamma(), nl.Bernoulli(), nl.Laplace()], ids=repr)
def test_targets_must_be_numbers(noise):
    with pytest.raises(ValueError, match=r"(?s)\by\b.*(NaN|nan|missing|finite|support|must be)"):
        nl.fit(X, spoiled(Y > 2, (5, np.nan)), noise)


OUTSIDE = [
    (nl.Poisson(), -1.0),
    (nl.Poisson(), 0.5),
    (nl.Gamma(), 0.0),
    (nl.Gamma(), -2.0),
    (nl.LogNormal(), 0.0),
    (nl.Tweedie(power=1.5), -0.1),
    (nl.Tweedie(power=2.0), 0.0),
    (nl.Tweedie(power=3.0), 0.0),
    (nl.Tweedie(), -1.0),
]


@pytest.mark.parametrize(("noise", "bad"), OUTSIDE, ids=repr)
def test_targets_outside_the_support_are_counted_and_the_first_is_shown(noise, bad):
    with pytest.raises(ValueError, match=rf"(?s)2 of {N}.*{bad:g}.*\b3\b|(?s:2 of {N}.*\b3\b.*{bad:g})") as caught:
        nl.fit(X, spoiled(Y, (3, bad), (11, bad)), noise)
    assert type(noise).__name__ in str(caught.value)


def test_shares_need_a_number_of_trials():
    """Bernoulli: 0.5 is no answer of one trial, but is of two; 0.4 is of neither."""
    halves = spoiled(np.arange(N) % 2, (3, 0.5))
    with pytest.raises(ValueError, match=rf"(?s)1 of {N}"):
        nl.fit(X, halves, nl.Bernoulli())
    assert np.isfinite(nl.fit(X, halves, nl.Bernoulli(), precision=np.full(N, 2.0)).nll)
    with pytest.raises(ValueError, match=rf"(?s)1 of {N}"):
        nl.fit(X, spoiled(halves, (3, 0.4)), nl.Bernoulli(), precision=np.full(N, 2.0))


def test_counts_per_trial_need_whole_counts():
    rates = Y / 2
    assert np.isfinite(nl.fit(X, rates, nl.Poisson(), precision=np.full(N, 2.0)).nll)
    with pytest.raises(ValueError, match=r"(?s)Poisson"):
        nl.fit(X, rates, nl.Poisson(), precision=np.full(N, 3.0))


@pytest.mark.parametrize("name", ["sample_weight", "precision", "offset", "exposure"])
def test_what_comes_with_the_rows_must_be_numbers_of_the_same_length(name):
    with pytest.raises(ValueError, match=rf"(?s){name}.*(NaN|nan|missing|finite|must be)"):
        nl.fit(X, Y, nl.Poisson(), **{name: spoiled(np.ones(N), (6, np.nan))})
    with pytest.raises(ValueError, match=rf"(?s){name}.*{N - 1}"):
        nl.fit(X, Y, nl.Poisson(), **{name: np.ones(N - 1)})
    with pytest.raises(ValueError, match=rf"(?s){name}"):
        nl.fit(X, Y, nl.Poisson(), **{name: np.ones((N, 2))})


@pytest.mark.parametrize(
    ("name", "bad"),
    [("sample_weight", -1.0), ("precision", 0.0), ("precision", -1.0), ("exposure", 0.0), ("exposure", -2.0)],
)
def test_weights_precisions_and_exposures_have_a_sign(name, bad):
    with pytest.raises(ValueError, match=rf"(?s){name}.*\b6\b"):
        nl.fit(X, Y, nl.Poisson(), **{name: spoiled(np.ones(N), (6, bad))})


def test_some_row_must_count():
    with pytest.raises(ValueError, match="sample_weight"):
        nl.fit(X, Y, nl.Poisson(), sample_weight=np.zeros(N))


@pytest.mark.parametrize(
    "noise",
    [nl.Gaussian(), nl.Laplace(), nl.Huber(), nl.Bernoulli(), nl.Poisson(link="identity"), nl.Gamma(link="inverse")],
    ids=repr,
)
def test_an_exposure_needs_a_log_link(noise):
    y = np.arange(N) % 2 if isinstance(noise, nl.Bernoulli) else Y
    with pytest.raises(ValueError, match=r"(?s)exposure.*log"):
        nl.fit(X, y, noise, exposure=np.full(N, 2.0))


def test_a_precision_needs_a_dispersion():
    with pytest.raises(ValueError, match=r"(?s)precision.*Categorical|(?s:Categorical.*precision)"):
        nl.fit(X, np.arange(N) % 3, nl.Categorical(), precision=np.full(N, 2.0))


def test_lengths_must_agree():
    with pytest.raises(ValueError, match=rf"(?s){N}.*{N - 1}|(?s:{N - 1}.*{N})"):
        nl.fit(X, Y[:-1], nl.Poisson())


@pytest.mark.parametrize("wrong", [X[:, 0], X[None], np.float64(1.0)])
def test_columns_are_a_matrix(wrong):
    with pytest.raises(ValueError, match="X"):
        nl.fit(wrong, Y, nl.Poisson())


def test_y_is_one_column():
    with pytest.raises(ValueError, match=r"\by\b"):
        nl.fit(X, np.column_stack([Y, Y]), nl.Poisson())


def test_no_rows():
    with pytest.raises(ValueError, match="row"):
        nl.fit(np.empty((0, 3)), np.empty(0), nl.Poisson())


@pytest.mark.parametrize(
    "prior",
    [
        nl.Gaussian(scale=[1.0, 2.0]),
        nl.Laplace(scale=[1.0, 2.0, 3.0, 4.0]),
        nl.Gaussian(loc=[0.0, 1.0], scale=1.0),
        nl.Gaussian(scale=1.0) * nl.Laplace(scale=[1.0, 2.0]),
    ],
    ids=repr,
)
def test_priors_by_column_need_one_value_per_coefficient(prior):
    with pytest.raises(ValueError, match=r"(?s)prior.*\b3\b|(?s:\b3\b.*prior)"):
        nl.fit(X, Y, nl.Poisson(), prior)


@pytest.mark.parametrize("prior", [nl.Beta(1.0, 1.0), nl.Dirichlet([1.0, 1.0, 1.0])], ids=repr)
def test_priors_of_probabilities_are_no_priors_of_coefficients(prior):
    with pytest.raises((TypeError, ValueError), match=type(prior).__name__):
        nl.fit(X, Y, nl.Poisson(), prior)


@pytest.mark.parametrize("noise", ["poisson", nl.Flat(), nl.Beta(1.0, 1.0), None])
def test_a_noise_is_a_noise(noise):
    with pytest.raises((TypeError, ValueError), match="noise"):
        nl.fit(X, Y, noise)


@pytest.mark.parametrize(
    ("name", "bad"), [("tol", 0.0), ("tol", -1.0), ("tol", np.nan), ("max_iter", 0), ("max_iter", -3)]
)
def test_tolerance_and_iterations_are_positive(name, bad):
    with pytest.raises(ValueError, match=name):
        nl.fit(X, Y, nl.Poisson(), **{name: bad})


def test_one_class_is_no_choice():
    with pytest.raises(ValueError, match="class"):
        nl.fit(X, np.full(N, "only"), nl.Categorical())


def test_predictions_need_the_same_columns():
    fit = nl.fit(X, Y, nl.Poisson())
    with pytest.raises(ValueError, match=r"(?s)3"):
        fit.predict(X[:, :2])
    table = pandas.DataFrame(X, columns=["one", "two", "three"])
    named = nl.fit(table, Y, nl.Poisson())
    np.testing.assert_allclose(named.predict(table[["three", "one", "two"]]), named.predict(table), rtol=1e-13)
    with pytest.raises(ValueError, match="two"):
        named.predict(table[["one", "three"]])


def test_a_prior_whose_square_is_no_number_is_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="Gaussian prior: the scale 4e-202 is below 1e-153"):
        nl.fit(X, X[:, 0], nl.Gaussian(scale=1.0), nl.Gaussian(scale=4e-202))
