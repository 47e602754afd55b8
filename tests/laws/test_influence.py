"""What one row decides, against fits without it: for whatever the registry holds."""

from dataclasses import replace

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, each, estimates

import neglog as nl

SMOOTH = [case for case in EXAMPLES if case.truth.smooth]
KINKED = [case for case in EXAMPLES if not case.truth.smooth]


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each([case for case in SMOOTH if not case.opened])
def test_a_row_moves_the_fit_as_a_fit_without_it_says(case, prior, extras):
    rows, prior = case.rows(extras), case.prior(prior)
    fit = rows.fit(case.noise, prior)
    found = fit.influence()
    covariance = np.asarray(fit.covariance())
    errors = np.sqrt(covariance.diagonal())
    typical = np.argsort(found.cooks_distance)[[50, 200, 350, 395]]
    for row in typical:
        without = rows.taken(np.delete(np.arange(len(rows.y)), row)).fit(case.noise, prior)
        moved = estimates(fit, ()) - estimates(without, ())
        size = np.abs(moved / errors).max()
        bent = 1e-7 if case.truth.measure == "density" and case.truth.link.name == "identity" and exact(case) else 0.3
        np.testing.assert_allclose(found.dfbeta[row] / errors, moved / errors, atol=bent * size + 2e-6)
        few = 1 if fit.residual_degrees is None else fit.total_weight / fit.residual_degrees
        wanted = found.dfbeta[row] @ np.linalg.solve(covariance, found.dfbeta[row]) / found.coefficients / few
        assert found.cooks_distance[row] == pytest.approx(wanted, rel=1e-5)


def exact(case):
    return case.truth.traits.settled_by == "squares"


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["flat", "gaussian", "laplace"])
@each(SMOOTH)
def test_leverages_add_up_to_the_coefficients(case, prior, extras):
    rows = case.rows(extras)
    fit = rows.fit(case.noise, case.prior(prior))
    found = fit.influence()
    assert found.leverage.sum() == pytest.approx(found.coefficients, rel=1e-6)
    if prior == "flat":
        assert found.coefficients == pytest.approx(1 + len(fit.coef), rel=1e-6)
    if not case.opened:  # else parameters of the noise take some of what the prior leaves
        assert found.coefficients == pytest.approx(fit.effective_parameters, rel=1e-6)
    few = 1 if fit.residual_degrees is None else np.sqrt(fit.total_weight / fit.residual_degrees)
    if not case.opened:
        wanted = fit.covariance()
        assert found.names == wanted.names
        told = np.isfinite(wanted.standard_errors)  # not of what a Laplace prior holds, nor of what that centres
        np.testing.assert_allclose(found.standard_errors[told], few * wanted.standard_errors[told], rtol=1e-6)
        held = np.append(False, (prior == "laplace") & (fit.coef == 0))
        assert not found.dfbetas[:, held].any()
        assert found.dfbetas[:, ~held].any(axis=0).all()
    again = fit.influence(rows.X, rows.y, sample_weight=rows.weight, precision=rows.precision, offset=rows.offset)
    np.testing.assert_allclose(again.leverage, found.leverage, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(again.dfbetas, found.dfbetas, rtol=1e-5, atol=1e-9)


@each([case for case in SMOOTH if case.number == 0])
def test_a_row_of_weight_two_goes_with_both_copies(case):
    rows = case.rows()
    weight = np.where(np.arange(len(rows.y)) % 3 == 0, 2.0, 1.0)
    longer = rows.taken(np.repeat(np.arange(len(rows.y)), weight.astype(int)))
    one, other = replace(rows, weight=weight).fit(case.noise), longer.fit(case.noise)
    first, copies = one.influence().leverage, other.influence().leverage
    ends = np.cumsum(weight).astype(int) - 1
    np.testing.assert_allclose(first, weight * copies[ends], rtol=1e-4, atol=1e-8)
    rare = replace(rows, weight=np.where(weight == 2, 0.0, 1.0))
    found = rare.fit(case.noise).influence()
    fewer = rows.taken(weight == 1).fit(case.noise).influence()
    np.testing.assert_allclose(found.cooks_distance[weight == 1], fewer.cooks_distance, rtol=1e-4, atol=1e-12)
    assert not found.dfbetas[weight == 2].any()
    assert not found.cooks_distance[weight == 2].any()


@each([case for case in SMOOTH if not case.opened])
def test_expected_curvature(case):
    """The same as what is observed, on average over rows of the noise; exactly so where y has no part in it."""
    rows = case.rows(n=4000)
    fit = rows.fit(case.noise)
    observed, expected = fit.influence(), fit.influence(expected=True)
    assert (expected.leverage >= 0).all()
    assert expected.leverage.sum() == pytest.approx(1 + len(fit.coef), rel=1e-6)
    np.testing.assert_allclose(expected.standard_errors, observed.standard_errors, rtol=0.2)


@each([case for case in KINKED if case.number == 0])
def test_kinks_are_refused(case):
    with pytest.raises(ValueError, match="moves by jumps; take Huber or StudentT noise"):
        case.rows().fit(case.noise).influence()


def test_modelled_parameters_move_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, 0.0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=300)
    y[7] += 6
    fit = nl.fit(X, y, nl.Gaussian(scale="model"), tol=1e-11)
    found = fit.influence()
    assert found.names == fit.covariance().names
    assert found.largest(1) == [7]
    assert found.leverage.sum() == pytest.approx(6, rel=1e-6)
    keep = np.delete(np.arange(300), 20)
    other = nl.fit(X[keep], y[keep], nl.Gaussian(scale="model"), tol=1e-11)

    def values(one):
        scale = one.predictors["scale"]
        return np.concatenate([[one.intercept], one.coef, [scale.intercept], scale.coef])

    np.testing.assert_allclose(found.dfbeta[20], values(fit) - values(other), rtol=0.05, atol=1e-4)
    np.testing.assert_allclose(fit.influence(X, y).dfbetas, found.dfbetas)
    with pytest.raises(ValueError, match="modelled parameters have several"):
        fit.influence(expected=True)


def test_classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(200, 3)), axis=1)]
    fit = nl.fit(X, y, nl.Categorical(), tol=1e-11)
    found = fit.influence()
    assert found.names == fit.covariance().names
    assert found.leverage.sum() == pytest.approx(6, rel=1e-5)
    row = int(found.largest(1)[0])
    keep = np.delete(np.arange(200), row)
    other = nl.fit(X[keep], y[keep], nl.Categorical(), tol=1e-11)
    moved = np.column_stack([fit.intercept - other.intercept, fit.coef - other.coef]).ravel()
    np.testing.assert_allclose(found.dfbeta[row], moved, rtol=0.3, atol=0.02)
    np.testing.assert_allclose(fit.influence(X, y).leverage, found.leverage)


def test_what_cannot_be_told(tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    fit = nl.fit(X, y, nl.Gaussian())
    fit.save(tmp_path / "fit.json")
    with pytest.raises(ValueError, match="depends on all others: fit again"):
        nl.load(tmp_path / "fit.json").influence(X, y)
    with pytest.raises(TypeError, match="y without X"):
        fit.influence(y=y)
    alone = np.column_stack([X[:, 0], np.eye(50)[:, 3]])
    found = nl.fit(alone, y, nl.Gaussian()).influence()
    assert found.leverage[3] == pytest.approx(1)
    assert np.isnan(found.cooks_distance[3])
    assert found.largest(1) == [3]
    assert "nan" in repr(found)


def test_rows_elsewhere(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rng = np.random.default_rng(4)
    table = pyarrow.table({"x": rng.normal(size=500), "y": rng.poisson(2.0, size=500).astype(float)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    fit, near = nl.fit(str(tmp_path / "rows.parquet"), "y", nl.Poisson()), nl.fit(table, "y", nl.Poisson())
    with pytest.raises(ValueError, match="must be in memory; give X and y of some"):
        fit.influence()
    for expected in (False, True):
        wanted = near.influence(expected=expected)
        found = fit.influence(table.slice(100, 50), expected=expected)
        np.testing.assert_allclose(found.dfbetas, wanted.dfbetas[100:150], rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(found.cooks_distance, wanted.cooks_distance[100:150], rtol=1e-5)


def test_the_table_and_its_sentence():
    X = np.array([0.0, 1, 2, 3, 4, 20])[:, None]
    found = nl.fit(X, [1, 1, 2, 4, 4, 10], nl.Gaussian()).influence()
    assert found.largest(2).tolist() == [5, 3]
    assert "6 rows, 2 coefficients" in found.text
    assert "43.5" in repr(found)
