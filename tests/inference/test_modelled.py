"""Parameters of a noise that the columns predict, wherever a fit can be asked: tables, priors, paths, comparisons, the
command line, clusters; and what is said where they run away.
"""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

import neglog as nl
from neglog.cli import app
from neglog.distributions.specification import noise_of
from neglog.likelihood.row_values import ConvergenceWarning

N = 1200


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.normal(50, 10, N), "kind": rng.choice(["a", "b", "c"], N), "late": rng.random(N)})
    scale = np.exp(0.03 * (frame.age - 50) + 0.5 * (frame.kind == "b"))
    frame["y"] = 1 + 0.02 * frame.age + 0.5 * (frame.kind == "c") + scale * rng.normal(size=N)
    return frame


MODEL = nl.Gaussian(scale="model")


# ---- results ---------------------------------------------------------------------------------------------------------


def test_predictors_and_the_rows_of_the_summary(table):
    fit = nl.fit(table, "y", MODEL)
    assert fit.noise == MODEL
    assert list(fit.predictors) == ["location", "scale"]
    location, scale = fit.predictors["location"], fit.predictors["scale"]
    assert location.intercept == fit.intercept
    assert location.coef is fit.coef
    assert scale.names == fit.names == ("age", "kind[b]", "kind[c]", "late")
    assert scale.coef == pytest.approx([0.03, 0.5, 0.0, 0.0], abs=0.2)
    names = fit.summary().table["name"]
    assert names == ["intercept", *fit.names, "scale: intercept", *(f"scale: {name}" for name in fit.names)]
    assert fit.n_parameters == 10
    assert fit.standard_errors.shape == (4,)
    assert isinstance(fit.intercept_standard_error, float)
    assert fit.raw_prediction(table).shape == (N,)
    assert repr(fit) == "<Fit of 8 coefficients: Gaussian(loc=0.0, scale='model'), Flat()>"
    assert 0 < fit.d2 < 1


def test_levels_are_less_their_mean_in_every_predictor(table):
    fit = nl.fit(table, "y", MODEL, nl.Gaussian(scale=1.0))
    plain, shown = fit.summary(contrasts=False).table, fit.summary().table
    own = [k for k, name in enumerate(plain["name"]) if name.startswith("scale: kind")]
    shares = table.kind.value_counts(normalize=True).sort_index().to_numpy()
    less = plain["estimate"][own] - shares @ plain["estimate"][own]
    np.testing.assert_allclose(shown["estimate"][own], less, rtol=1e-12)
    assert np.all(shown["standard error"][own] < plain["standard error"][own])


def test_a_fit_without_rows_predicts_the_same(table, tmp_path):
    fit = nl.fit(table, "y", nl.StudentT(scale="model", df="model"), nl.Gaussian(scale=1.0))
    fit.save(tmp_path / "fit.json")
    for again in (nl.load(tmp_path / "fit.json"), pickle.loads(pickle.dumps(fit)), fit.without_data()):
        assert again.distribution(table) == fit.distribution(table)
        assert again.predictors["df"].prior == nl.Gaussian(scale=1.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda stored: stored.pop("predictors"), "of the modelled parameters of the noise, scale, but are of none"),
        (lambda stored: stored["predictors"]["scale"]["coef"].update(array=[1.0]), "for each of 4 columns"),
        (lambda stored: stored["predictors"]["scale"].pop("intercept"), "predictors.scale' lacks intercept"),
        (lambda stored: stored["noise"].update(scale=1.0), "of the noise, none, but are of scale"),
    ],
)
def test_a_spoilt_file_is_refused(table, tmp_path, change, said):
    path = tmp_path / "fit.json"
    nl.fit(table, "y", MODEL).save(path)
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=said):
        nl.load(path)


def test_without_an_intercept_each_level_has_its_own(table):
    with_one, without = nl.fit(table, "y", MODEL), nl.fit(table, "y", MODEL, intercept=False)
    assert without.nll == pytest.approx(with_one.nll, rel=1e-9)
    assert without.predictors["scale"].intercept == 0.0


def test_sparse_columns_are_columns(table):
    X = pd.get_dummies(table.drop(columns="y"), dtype=float).to_numpy()[:, [0, 1, 3, 4]]
    dense, loose = nl.fit(X, table.y, MODEL), nl.fit(sparse.csr_matrix(X), table.y, MODEL)
    np.testing.assert_allclose(loose.predictors["scale"].coef, dense.predictors["scale"].coef, rtol=1e-7, atol=1e-9)


def test_many_rows_begin_on_a_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 12))
    y = X[:, 0] + np.exp(0.5 - 0.3 * X[:, 1]) * rng.normal(size=len(X))
    fit = nl.fit(X, y, MODEL)
    assert fit.converged
    assert fit.predictors["scale"].coef[:3] == pytest.approx([0.0, -0.3, 0.0], abs=0.02)
    law = fit.distribution(X)
    z = (y - law.loc) / law.scale
    np.testing.assert_allclose(X.T @ (z / law.scale), 0.0, atol=1e-2)  # the slopes in the coefficients of both
    np.testing.assert_allclose(X.T @ (1 - z**2), 0.0, atol=1e-2)


# ---- priors ----------------------------------------------------------------------------------------------------------


def test_a_learned_prior_has_a_scale_for_each_predictor():
    """MacKay's rule for each: scale² = sum of squares / effective number of coefficients."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 10))
    y = 1000 * (X @ rng.normal(0, 0.5, 10) + np.exp(X @ rng.normal(0, 0.15, 10)) * rng.normal(size=N))
    fit = nl.fit(X, y, MODEL, nl.Gaussian(), standardize=False)
    covariance = fit._information.covariance.diagonal().reshape(2, 11)[:, 1:]
    for own, variances in zip(fit.predictors.values(), covariance, strict=True):
        effective = np.sum(1 - variances / own.prior.scale**2)
        assert own.prior.scale**2 * effective == pytest.approx(np.sum(own.coef**2), rel=2e-3)
    assert fit.predictors["scale"].prior.scale == pytest.approx(0.15, rel=0.6)
    assert fit.prior.scale == pytest.approx(500, rel=0.6)
    assert fit.penalty == pytest.approx(sum(one.prior.penalty(one.coef) for one in fit.predictors.values()))


def test_a_parameter_that_no_column_changes_is_said():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 5))
    fit = nl.fit(X, X[:, 0] + rng.choice([-1.0, 1.0], N), MODEL, nl.Gaussian())
    assert "no effect of the columns on the scale" in fit.message
    assert np.abs(fit.predictors["scale"].coef).max() < 1e-5
    assert fit.coef[0] > 0.9


def test_the_scale_of_a_lasso_is_to_be_stated(table):
    with pytest.raises(ValueError, match=r"not learned where parameters are modelled.*state scale"):
        nl.fit(table, "y", MODEL, nl.Laplace())
    found = nl.path(table[["age", "late"]], table.y, MODEL, nl.Laplace(), n=6)
    again = nl.fit(table[["age", "late"]], table.y, MODEL, nl.Laplace(scale=1 / found.strengths[3]))
    np.testing.assert_allclose(found[3].predictors["scale"].coef, again.predictors["scale"].coef, rtol=1e-5, atol=1e-7)


# ---- comparisons, scikit-learn, the command line ---------------------------------------------------------------------


def test_a_comparison_names_what_is_modelled(table, tmp_path):
    noises = ["gaussian", "gaussian(scale='model')", nl.Laplace(scale="model")]
    found = nl.compare(table, "y", noises)
    assert found.best == MODEL
    assert [score.name for score in found.scores] == ['Gaussian(scale="model")', "Gaussian"]
    assert "has a kink" in found.refused['Laplace(scale="model")']
    assert 'nl.Gaussian(scale="model")' in found.call
    table.to_parquet(tmp_path / "rows.parquet")
    streamed = nl.compare(tmp_path / "rows.parquet", "y", noises[:2], prior=nl.Gaussian(scale=1.0))
    memory = nl.compare(table, "y", noises[:2], prior=nl.Gaussian(scale=1.0))
    assert streamed.scores[0].mean == pytest.approx(memory.scores[0].mean, rel=1e-6)
    from neglog.report.fitted import coefficient_figure, loss_figure

    assert "<svg" in loss_figure(found).svg
    assert "scale" in coefficient_figure(found.fit).svg


def test_a_regressor_predicts_intervals_of_their_own_width(table):
    X, y = table[["age", "late"]], table.y
    model = nl.Regressor("gaussian(scale='model')").fit(X, y)
    ends = model.predict_interval(X)
    assert np.corrcoef(ends[:, 1] - ends[:, 0], X.age)[0, 1] > 0.5
    assert model.d2(X, y) == pytest.approx(model.fit_.d2, rel=1e-9)
    assert nl.Regressor(MODEL, link="log").fit(X, np.exp(y / 10)).fit_.noise.modelled == ("scale",)


def test_the_command_line_models_parameters(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    runner, model = CliRunner(), str(tmp_path / "model.json")
    arguments = ["fit", str(tmp_path / "rows.csv"), "--target", "y", "--noise", "gaussian", "--model", "scale"]
    assert runner.invoke(app, [*arguments, "--save", model]).exit_code == 0
    fit = nl.fit(table, "y", MODEL)
    assert nl.load(model).predictors["scale"].coef == pytest.approx(fit.predictors["scale"].coef, rel=1e-6)
    shown = runner.invoke(app, ["explain", model]).output
    assert "log(scale) = intercept + age + kind (3 levels) + late" in shown
    wrong = runner.invoke(app, [*arguments[:-1], "df"])
    assert wrong.exit_code != 0


def test_text_and_objects_say_the_same():
    assert noise_of("studentt(scale='model', df='model')") == nl.StudentT(scale="model", df="model")
    assert nl.StudentT().modelling("df", "scale") == nl.StudentT(scale="model", df="model")
    assert nl.StudentT(df="model").modelling("scale").modelled == ("scale", "df")
    with pytest.raises(ValueError, match="Gaussian has no parameter df that could be modelled; it has scale"):
        nl.Gaussian().modelling("df")
    with pytest.raises(ValueError, match=r"2 raw predictions for each row, of loc, scale.*shape \(3,\)"):
        MODEL.given(np.zeros(3))


# ---- samplers --------------------------------------------------------------------------------------------------------


def test_draws_have_the_names_and_the_spread_of_the_approximation(table):
    pytest.importorskip("nutpie")
    fit = nl.fit(table[["age", "late"]], table.y, nl.StudentT(scale="model", df=5.0), nl.Gaussian(scale=1.0))
    plain, drawn = fit.posterior(), fit.posterior("nuts", draws=400, chains=2, progress=False, rng=0)
    assert drawn.names == plain.names
    assert drawn.names[3:] == ("scale: intercept", "scale: age", "scale: late")
    np.testing.assert_allclose(drawn.mean, plain.mean, atol=0.3 * plain.std.max())
    assert np.all(np.abs(drawn.mean - plain.mean) < 0.3 * plain.std)
    np.testing.assert_allclose(drawn.std, plain.std, rtol=0.2)
    few = table[["age", "late"]][:5]
    y = table.y[:5].to_numpy()
    np.testing.assert_allclose(drawn.predictive(few).nll(y), plain.predictive(few).nll(y), atol=0.05)


# ---- what has no answer ----------------------------------------------------------------------------------------------


def test_a_model_by_no_columns_is_refused():
    with pytest.raises(ValueError, match="by the columns of X, but X has none; state scale=None"):
        nl.fit(np.empty((5, 0)), np.arange(5.0), MODEL)


def test_a_power_and_a_modelled_dispersion_are_one(table):
    y = np.floor(np.exp(table.y / 4))
    with pytest.raises(ValueError, match="cannot be told apart; state power"):
        nl.fit(table[["age"]], y, nl.NegativeBinomial(dispersion="model", power=None))


def test_a_row_that_a_column_singles_out_has_no_spread(table):
    alone = table[["age"]].assign(first=np.arange(N) == 7)
    with pytest.warns(ConvergenceWarning, match="1 of 1200 rows, the first is row 7"):
        fit = nl.fit(alone, table.y, MODEL)
    assert not fit.converged
    held = nl.fit(alone, table.y, MODEL, nl.Gaussian(scale=1.0))
    assert held.converged


def test_one_row_that_is_to_have_a_dispersion_of_its_own_is_no_maximum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = rng.poisson(np.exp(0.5 + 0.3 * X[:, 0]))
    with pytest.warns(ConvergenceWarning, match="There is no maximum of the likelihood: the model of the dispersion"):
        nl.fit(X, y, nl.NegativeBinomial(dispersion="model"))


def test_a_fit_through_every_point_is_said(table):
    with pytest.warns(ConvergenceWarning, match="passes through every point"):
        nl.fit(table[["age"]], 1 + 2 * table.age, MODEL)


def test_a_dispersion_beyond_its_limit_in_every_row_is_said():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 2))
    y = rng.binomial(4, 1 / (1 + np.exp(-0.3 * X[:, 0])))  # which vary less than Poisson's
    fit, plain = nl.fit(X, y, nl.NegativeBinomial(dispersion="model")), nl.fit(X, y, nl.Poisson())
    assert "in every row: to these data it is as good as Poisson noise" in fit.message
    assert fit.nll == pytest.approx(plain.nll, rel=1e-6)


def test_collinear_columns_leave_the_law_alone(table):
    X = table[["age", "late"]]
    fit, twice = nl.fit(X, table.y, MODEL), nl.fit(X.assign(again=X.age), table.y, MODEL)
    assert "age, again are collinear" in twice.message
    assert twice.nll == pytest.approx(fit.nll, rel=1e-9)
    assert twice.n_parameters == fit.n_parameters
