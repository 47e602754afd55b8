"""Ordered classes: the fit, its errors and beliefs, labels in every form, and what is refused."""

import numpy as np
import pandas
import polars
import pytest

import neglog as nl

EDGES = np.array([-1.5, -0.2, 0.9])
COEF = np.array([1.0, -0.5, 0.2])
NAMES = ["poor", "fair", "good", "best"]  # not in the order of the alphabet
LINKS = pytest.mark.parametrize("link", ["logit", "probit"])


def rows(n=600, link="logit", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    latent = X @ COEF + (rng.logistic(size=n) if link == "logit" else rng.normal(size=n))
    return X, np.digitize(latent, EDGES)


def objective(fit, X, y, z, weight=1.0):
    """Minus the log posterior at coefficients and edges."""
    law = nl.Ordinal(edges=z[X.shape[1] :], link=fit.noise.link.name).given(X @ z[: X.shape[1]])
    return float(np.sum(weight * law.nll(y)) + np.sum(fit.prior.nll(z[: X.shape[1]])))


# ---- the fit ---------------------------------------------------------------------------------------------------------


@LINKS
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=0.2)], ids=["flat", "gaussian"])
def test_errors_are_those_of_the_curvature(prior, link):
    X, y = rows(link=link)
    X = X + np.array([3.0, 0.0, -50.0])  # of which the edges take up what centring leaves out
    fit = nl.fit(X, y, nl.Ordinal(link=link), prior, tol=1e-10)
    at = np.concatenate([fit.coef, fit.noise.edges])
    errors = np.concatenate([fit.standard_errors, list(fit.noise_standard_errors.values())])
    assert list(fit.noise_standard_errors) == ["0|1", "1|2", "2|3"]
    shifts = np.diag(1e-3 * np.array([*fit.standard_errors, 0.1, 0.1, 0.1]))

    def f(z):
        return objective(fit, X, y, z)

    H = [[f(at + a + b) - f(at + a - b) - f(at - a + b) + f(at - a - b) for a in shifts] for b in shifts]
    H = np.array(H) / (4 * np.outer(shifts.diagonal(), shifts.diagonal()))
    np.testing.assert_allclose(errors, np.sqrt(np.linalg.inv(H).diagonal()), rtol=2e-3)
    assert all(f(at + a) > f(at) - 1e-9 for a in (*shifts, *-shifts))


@LINKS
def test_two_classes_are_bernoulli(link):
    X, y = rows(link=link)
    two = y > 1
    fit = nl.fit(X, two, nl.Ordinal(link=link), nl.Gaussian(scale=0.5), tol=1e-10)
    other = nl.fit(X, two.astype(float), nl.Bernoulli(link=link), nl.Gaussian(scale=0.5), tol=1e-10)
    np.testing.assert_allclose(fit.coef, other.coef, atol=1e-9)
    np.testing.assert_allclose(fit.noise.edges, [-other.intercept], atol=1e-9)
    np.testing.assert_allclose(fit.standard_errors, other.standard_errors, rtol=1e-8)
    np.testing.assert_allclose(fit.noise_standard_errors["False|True"], other.intercept_standard_error, rtol=1e-8)
    assert fit.nll == pytest.approx(other.nll, rel=1e-12)
    assert fit.d2 == pytest.approx(other.d2, rel=1e-9)
    assert fit.loo().total == pytest.approx(other.loo().total, rel=1e-9)


@LINKS
def test_the_other_way_round_every_sign_changes(link):
    X, y = rows(link=link)
    fit, turned = (nl.fit(X, one, nl.Ordinal(link=link), tol=1e-10) for one in (y, 3 - y))
    np.testing.assert_allclose(turned.coef, -fit.coef, atol=1e-8)
    np.testing.assert_allclose(turned.noise.edges, -fit.noise.edges[::-1], atol=1e-8)


def test_without_columns_the_classes_have_their_shares():
    _, y = rows()
    fit = nl.fit(np.empty((len(y), 0)), y, nl.Ordinal(), tol=1e-12)
    np.testing.assert_allclose(fit.noise.given(0.0).p, np.bincount(y) / len(y), atol=1e-10)


def test_many_rows_and_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60_000, 8))
    y = np.digitize(X @ np.linspace(-1, 1, 8) + rng.logistic(size=len(X)), np.linspace(-3, 3, 19))
    fit = nl.fit(X, y, nl.Ordinal())
    assert fit.converged
    np.testing.assert_allclose(fit.noise.edges, np.linspace(-3, 3, 19), atol=0.1)


def test_stated_edges_stay_and_leave_an_intercept():
    X, y = rows()
    fit = nl.fit(X, y, nl.Ordinal(edges=EDGES + 2.0))
    np.testing.assert_array_equal(fit.noise.edges, EDGES + 2.0)
    assert fit.intercept == pytest.approx(2.0, abs=0.3)
    assert fit.noise_standard_errors == {}


def test_columns_far_from_0_change_nothing_but_the_edges():
    X, y = rows()
    fit, far = nl.fit(X, y, nl.Ordinal(), tol=1e-10), nl.fit(X + np.array([1e6, 0, 0]), y, nl.Ordinal(), tol=1e-10)
    assert far.converged
    np.testing.assert_allclose(far.coef, fit.coef, atol=1e-7)
    np.testing.assert_allclose(far.predict(X + np.array([1e6, 0, 0])), fit.predict(X), atol=1e-6)
    assert far.nll == pytest.approx(fit.nll, rel=1e-9)


def test_a_separation_is_said():
    X, _ = rows()
    with pytest.warns(nl.ConvergenceWarning, match="no maximum of the likelihood: the columns .* separate the classes"):
        nl.fit(X, np.digitize(X[:, 0], [-1.0, 0.0, 1.0]), nl.Ordinal())
    assert nl.fit(X, np.digitize(X[:, 0], [-1.0, 0.0, 1.0]), nl.Ordinal(), nl.Gaussian(scale=1.0)).converged


# ---- beliefs ---------------------------------------------------------------------------------------------------------


def test_leave_one_out_is_near_refits():
    X, y = rows(200)
    fit = nl.fit(X, y, nl.Ordinal(), tol=1e-10)
    loo = fit.loo()
    for i in range(0, 200, 23):
        left = np.arange(200) != i
        again = nl.fit(X[left], y[left], nl.Ordinal(), tol=1e-10)
        assert loo.nll[i] == pytest.approx(float(again.distribution(X[i : i + 1]).nll(y[i])[0]), rel=2e-3)


def test_the_posterior_keeps_edges_in_order():
    X, y = rows(120)
    X = X + np.array([5.0, 0.0, 0.0])
    fit = nl.fit(X, y, nl.Ordinal(), nl.Gaussian(scale=1.0))
    posterior = fit.posterior()
    assert posterior.names == ("x0", "x1", "x2", "edge 0|1", "log width of 1", "log width of 2")
    np.testing.assert_allclose(posterior.mean[3], fit.noise.edges[0])
    np.testing.assert_allclose(np.exp(posterior.mean[4:]), np.diff(fit.noise.edges))
    np.testing.assert_allclose(posterior.std[3], fit.noise_standard_errors["0|1"])
    law = posterior.predictive(X[:5])
    np.testing.assert_allclose(law.p.sum(axis=1), 1)
    np.testing.assert_allclose(law.p, fit.predict(X[:5]), atol=0.03)


def test_nuts_draws_the_same_posterior():
    pytest.importorskip("nutpie")
    X, y = rows(300)
    X = X + np.array([5.0, 0.0, 0.0])
    fit = nl.fit(X, y, nl.Ordinal())
    laplace, draws = fit.posterior(), fit.posterior("nuts", draws=500, chains=2, progress=False, rng=1)
    np.testing.assert_allclose(draws.mean, laplace.mean, atol=0.25 * laplace.std.max() + 0.05)
    np.testing.assert_allclose(draws.std, laplace.std, rtol=0.2)
    np.testing.assert_allclose(draws.predictive(X[:5]).p, laplace.predictive(X[:5]).p, atol=0.02)


# ---- labels ----------------------------------------------------------------------------------------------------------


def test_labels_in_every_form():
    X, y = rows()
    labels = np.array(NAMES)[y]
    plain = nl.fit(X, y, nl.Ordinal())
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    forms = {
        "stated": (X, labels, nl.Ordinal(NAMES)),
        "pandas": (X, pandas.Series(pandas.Categorical(labels, NAMES, ordered=True)), nl.Ordinal()),
        "polars": (frame.with_columns(y=polars.Series(labels, dtype=polars.Enum(NAMES))), "y", nl.Ordinal()),
        "objects": (X, labels.astype(object), nl.Ordinal(NAMES)),
    }
    for name, (table, target, noise) in forms.items():
        fit = nl.fit(table, target, noise)
        assert fit.classes.tolist() == NAMES, name
        assert fit.noise.classes == tuple(NAMES), name
        np.testing.assert_allclose(fit.coef, plain.coef, rtol=1e-9, err_msg=name)
    sorted_ones = nl.fit(X, labels, nl.Ordinal())
    assert sorted_ones.classes.tolist() == sorted(NAMES)
    assert "in the order of their texts, best < fair < good < poor; state another" in sorted_ones.notes[-1]
    assert plain.notes == []
    assert nl.fit(X, y + 1.0, nl.Ordinal()).classes.tolist() == [1, 2, 3, 4]


def test_a_fit_is_kept(tmp_path):
    X, y = rows()
    fit = nl.fit(X, np.array(NAMES)[y], nl.Ordinal(NAMES, link="probit"))
    fit.save(tmp_path / "fit.json")
    kept = nl.load(tmp_path / "fit.json")
    assert kept.noise == fit.noise
    assert kept.classes.tolist() == NAMES
    np.testing.assert_array_equal(kept.predict(X), fit.predict(X))
    assert str(kept.summary()) == str(fit.summary())
    assert "poor|fair" in str(kept.summary())


def test_laws_over_classes():
    X, y = rows()
    fit = nl.fit(X, y, nl.Ordinal())
    law = fit.distribution(X)
    np.testing.assert_allclose(law.p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fit.predict(X), law.p)
    np.testing.assert_allclose(law.cdf(np.full(len(X), 1.0)), law.p[:, :2].sum(axis=1))
    np.testing.assert_array_equal(law.median(), (np.cumsum(law.p, axis=1) < 0.5).sum(axis=1))
    np.testing.assert_allclose(law.expected_rank(), law.p @ np.arange(4))


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "change", "said"),
    [
        (nl.Ordinal(), lambda y: y * 0, "at least two classes, but y is 0 throughout"),
        (
            nl.Ordinal([0, 1, 2]),
            lambda y: y,
            r"one of the 3 classes 0, 1, 2, but \d+ of 600 rows are not: the first, row",
        ),
        (nl.Ordinal([0, 1, 2, 3, 4, 5]), lambda y: y, r"2 of 6 classes have no rows.*: 4, 5; leave them out, as in"),
        (nl.Ordinal(), lambda y: y + np.linspace(0, 0.1, len(y)), "at most 200, but y has 600 different values in 600"),
        (nl.Ordinal(edges=[0.0]), lambda y: y, "4 classes have 3 edges between them, but edges has 1"),
    ],
)
def test_targets_that_are_refused(noise, change, said):
    X, y = rows()
    with pytest.raises(ValueError, match=said):
        nl.fit(X, change(y), noise)


def test_arguments_that_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="no dispersion that a precision could divide; use sample_weight"):
        nl.fit(X, y, nl.Ordinal(), precision=np.ones(len(y)))
    with pytest.raises(ValueError, match="only rows of the class 2 have a weight"):
        nl.fit(X, y, nl.Ordinal(), sample_weight=(y == 2).astype(float))
    with pytest.raises(ValueError, match=r"edges must be finite and increasing, but 1 of 3 values are not"):
        nl.Ordinal(edges=[0.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=r"'a' occurs twice"):
        nl.Ordinal(["a", "b", "a"])
    with pytest.raises(TypeError, match=r"labels of the kinds int, str have no order"):
        nl.fit(X, np.array(["a", *y[1:].tolist()], dtype=object), nl.Ordinal())


# ---- everywhere else -------------------------------------------------------------------------------------------------


def test_a_classifier_of_ordered_classes():
    X, y = rows()
    labels = np.array(NAMES)[y]
    model = nl.Classifier(ordered=NAMES).fit(X, labels)
    assert model.classes_.tolist() == NAMES
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (model.predict(X) == labels).mean() > 0.4
    law = model.predict_distribution(X)
    assert model.log_score(X, labels) == pytest.approx(-float(law.nll(y).mean()))
    declared = nl.Classifier(ordered=True).fit(X, pandas.Series(pandas.Categorical(labels, NAMES, ordered=True)))
    assert declared.classes_.tolist() == NAMES
    with pytest.raises(ValueError, match=r"is of classes; use nl\.Classifier"):
        nl.Regressor("ordinal").fit(X, y.astype(float))


@pytest.mark.parametrize("shift", [0, 1])
def test_compare_scores_classes_by_their_probability(shift):
    X, y = rows(2000)
    found = nl.compare(X, y + shift, [nl.Ordinal(), nl.Categorical(), nl.Gaussian()])
    assert found.scores[0].name == "Ordinal"
    exact = float(nl.Ordinal(edges=EDGES).given(X @ COEF).nll(y).mean())
    assert found.scores[0].mean == pytest.approx(exact, abs=0.02)
    assert found.scores[0].ks < 0.03
    assert found.call == "nl.fit(X, y, nl.Ordinal(), nl.Gaussian())"


def test_files_give_the_same(tmp_path):
    X, y = rows(3000)
    table = pandas.DataFrame(X + np.array([1000.0, 0, 0]), columns=list("abc"))
    table["g"], table["y"] = np.array(["u", "v"])[np.arange(3000) % 2], np.array(NAMES)[y]
    for k in range(3):
        table.iloc[k * 1000 : (k + 1) * 1000].to_parquet(tmp_path / f"{k}.parquet")
    path = str(tmp_path / "*.parquet")
    for noise, prior in (
        (nl.Ordinal(NAMES), nl.Flat()),
        (nl.Ordinal(NAMES, link="probit"), nl.Laplace(scale=0.01)),
        (nl.Ordinal(NAMES, edges=EDGES + 1000.0), nl.Gaussian(scale=1.0)),
    ):
        fit, there = (nl.fit(X, "y", noise, prior, tol=1e-9) for X in (table, path))
        assert there.classes.tolist() == NAMES
        np.testing.assert_allclose(there.coef, fit.coef, atol=1e-6)
        np.testing.assert_allclose(there.noise.edges, fit.noise.edges, rtol=1e-8)
        assert there.nll == pytest.approx(fit.nll, rel=1e-9)
        assert there.d2 == pytest.approx(fit.d2, rel=1e-6)
    fit.predict_to(tmp_path / "out", path, quantiles=[0.5])
    written = pandas.read_parquet(tmp_path / "out")
    np.testing.assert_allclose(written["probability of good"], fit.predict(table)[:, 2])
    assert written["q0.5"].tolist() == fit.classes[fit.distribution(table).median().astype(int)].tolist()
    found = nl.compare(path, "y", [nl.Ordinal(), nl.Categorical()], folds=2)
    assert not found.refused


def test_a_path_of_lassos():
    X, y = rows()
    path = nl.path(X, y, nl.Ordinal(), n=5, tol=1e-9)
    one = nl.fit(X, y, nl.Ordinal(), nl.Laplace(scale=path.scales[2]), tol=1e-9)
    np.testing.assert_allclose(path[2].coef, one.coef, atol=1e-6)
    np.testing.assert_allclose(path[2].noise.edges, one.noise.edges, atol=1e-6)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_trees_with_edges_that_follow(library, tmp_path):
    pytest.importorskip(library)
    trainer = __import__(f"neglog.{library}", fromlist=["train"])
    X, y = rows(2000)
    params = {"max_depth": 2, "num_threads" if library == "lightgbm" else "nthread": 1}
    model = trainer.train(params, X, np.array(NAMES)[y], nl.Ordinal(NAMES), num_boost_round=40, valid=0.25)
    assert model.classes.tolist() == NAMES
    assert model.noise.classes == tuple(NAMES)
    linear = nl.fit(X, y, nl.Ordinal()).nll / len(y)
    assert linear < model.held_out < linear + 0.1
    np.testing.assert_allclose(model.predict(X).sum(axis=1), 1, rtol=1e-9)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(trainer.load(tmp_path / "model.json").predict(X), model.predict(X))
