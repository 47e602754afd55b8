"""A group of many levels where parameters of the noise are modelled: in the location, in the parameter, or in both."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import neglog as nl
from neglog.engines import files
from neglog.evidence import large_groups
from neglog.evidence.maximum import Maximum

LEVELS = [f"l{k:02d}" for k in range(40)]
GROUP = nl.group("g")
TERMS = ["x", nl.smooth("z", size=6), GROUP]
CASES = {
    "alike": (nl.Gaussian(scale="model"), TERMS),
    "by a column": (nl.Gaussian(scale=nl.terms("x")), TERMS),
    "in both": (nl.Gaussian(scale=nl.terms("x", GROUP)), TERMS),
    "in the scale alone": (nl.Gaussian(scale=nl.terms("x", GROUP)), ["x", "z"]),
    "counts": (nl.NegativeBinomial(dispersion=nl.terms("x")), TERMS),
    "counts in both": (nl.NegativeBinomial(dispersion=nl.terms("x", GROUP)), TERMS),
    "amounts": (nl.Gamma(shape=nl.terms(GROUP)), TERMS),
    "one more is open": (nl.StudentT(scale=nl.terms("x", GROUP)), TERMS),
    "two": (nl.StudentT(scale=nl.terms("x", GROUP), df=nl.terms("x")), ["x", GROUP]),
    "zeros": (nl.ZeroInflated(nl.Poisson(), p=nl.terms("x")), ["x", GROUP]),
}


@pytest.fixture(autouse=True)
def to_the_end(monkeypatch):
    """Searches go on as long as the evidence grows, and small tables have many pieces."""
    monkeypatch.setattr(Maximum.find, "__defaults__", (1e-16, None))
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 400)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 800)


def table(noise, n=2000):
    """With a column of weights; the scale of y, or what takes its place, differs by row and by level."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(size=n), "w": rng.integers(1, 3, n).astype(float)})
    data["g"] = rng.choice(LEVELS, n)
    effects, spreads = (dict(zip(LEVELS, rng.normal(0, s, len(LEVELS)), strict=True)) for s in (0.6, 0.5))
    eta = 0.5 + 0.4 * data.x + np.sin(4 * data.z) + data.g.map(effects)
    spread = np.exp(-0.2 + 0.3 * data.x + data.g.map(spreads)).to_numpy()
    if isinstance(noise, nl.Gaussian | nl.StudentT):
        return data.assign(y=eta + spread * rng.standard_t(5, n))
    if isinstance(noise, nl.Gamma):
        return data.assign(y=rng.gamma(1 / spread, np.exp(eta) * spread))
    counts = rng.poisson(np.exp(eta) * rng.gamma(1 / spread, spread)).astype(float)
    return data.assign(y=np.where(rng.random(n) < 0.2, 0.0, counts))


def fits(monkeypatch, data, noise, terms, **options):
    """With a dense curvature, and with the levels eliminated."""
    for least in (10**9, 20):
        monkeypatch.setattr(large_groups, "LARGE", least)
        yield nl.fit(data, "y", noise, terms=terms, tol=1e-9, **options)


def alike(found, other, errors=1e-6):
    assert found.converged == other.converged is True
    assert found._information.places is not None
    for name, one in other.predictors.items():
        own = found.predictors[name]
        np.testing.assert_allclose(own.coef, one.coef, atol=2e-6 * np.abs(one.coef).max())
        assert own.intercept == pytest.approx(one.intercept, rel=1e-5, abs=1e-6)
        for mine, its in zip(own.terms, one.terms, strict=True):
            assert mine.effective == pytest.approx(its.effective, rel=1e-5, abs=1e-5)
            if isinstance(its.scale, float):
                assert mine.scale == pytest.approx(its.scale, rel=1e-5)
    assert found.nll == pytest.approx(other.nll, rel=1e-7)
    np.testing.assert_allclose(found._information.coefficients, other._information.coefficients, rtol=errors, atol=1e-8)
    np.testing.assert_allclose(found._information.intercepts, other._information.intercepts, rtol=errors)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weight", [None, "w"])
def test_it_is_the_same_fit_in_memory_and_in_files(monkeypatch, case, weight, tmp_path):
    noise, terms = CASES[case]
    data = table(noise)
    dense, fit = fits(monkeypatch, data, noise, terms, sample_weight=weight)
    alike(fit, dense, 3e-2 if fit.noise_standard_errors else 1e-5)  # which know the noise
    parquet.write_table(pa.Table.from_pandas(data, preserve_index=False), tmp_path / "rows.parquet", row_group_size=300)
    given = {"terms": terms, "tol": 1e-9, "sample_weight": weight, "progress": False}
    alike(nl.fit(str(tmp_path / "rows.parquet"), "y", noise, **given), fit)


def test_what_is_known_of_each_predictor(monkeypatch, tmp_path):
    noise, terms = CASES["in both"]
    data = table(noise)
    dense, fit = fits(monkeypatch, data, noise, terms)
    fit.save(tmp_path / "fit.json")
    for one in (fit, nl.load(tmp_path / "fit.json")):
        for name, of in (("g", "location"), ("g", "scale"), ("z", "location")):
            mine, its = one.effect(name, of=of), dense.effect(name, of=of)
            np.testing.assert_allclose(mine.estimate, its.estimate, atol=1e-5)
            np.testing.assert_allclose(mine.upper, its.upper, atol=1e-4)
    np.testing.assert_allclose(fit.distribution(data).scale, dense.distribution(data).scale, rtol=1e-5)
    for ask in (fit.posterior, fit.loo):
        with pytest.raises(ValueError, match="of so many levels"):
            ask()


def test_levels_without_rows_are_what_their_prior_says(monkeypatch):
    noise, terms = CASES["in both"]
    data = table(noise)
    data["g"] = pd.Categorical(data["g"], [*LEVELS, "nobody"])
    data["w"] = np.where(data["g"] == LEVELS[3], 0.0, 1.0)
    dense, fit = fits(monkeypatch, data, noise, terms, sample_weight="w")
    alike(fit, dense, 1e-5)
    effect = fit.effect("g", of="scale")
    assert effect.estimate[list(effect.x).index(f"g[{LEVELS[3]}]")] == pytest.approx(0.0, abs=1e-9)


def test_two_thousand_levels_take_no_square():
    rng = np.random.default_rng(0)
    n, levels = 20_000, 2_000
    codes = rng.integers(0, levels, n)
    effects, spreads = rng.normal(0, 0.5, levels), rng.normal(0, 0.3, levels)
    data = pd.DataFrame({"x": rng.normal(size=n), "g": [f"l{k}" for k in codes]})
    data["y"] = 0.2 + 0.3 * data.x + effects[codes] + np.exp(0.1 * data.x + spreads[codes]) * rng.normal(size=n)
    fit = nl.fit(data, "y", nl.Gaussian(scale="model"), terms=["x", GROUP])
    assert fit.converged
    assert fit._information.covariance.shape == (4, 4)
    location, scale = fit.predictors.values()
    assert location.terms["g"].scale == pytest.approx(0.5, rel=0.1)
    assert scale.terms["g"].scale == pytest.approx(0.3, rel=0.15)
    assert abs(scale.coef[0] - 0.1) < 4 * fit._information.coefficients[1, 0]


def test_a_second_group_counts_among_the_others(monkeypatch):
    noise, terms = CASES["in both"]
    data = table(noise)
    data["b"] = np.random.default_rng(1).choice([f"b{k}" for k in range(30)], len(data))
    monkeypatch.setattr(large_groups, "CROSSED", 20)
    alike(*reversed(list(fits(monkeypatch, data, noise, [*terms, nl.group("b")]))), 1e-5)
    monkeypatch.setattr(large_groups, "MOST", 50)
    with pytest.raises(
        ValueError, match=r"beside the group .*g.* at most 50 are fitted.*levels of further groups count"
    ):
        nl.fit(data, "y", noise, terms=[*terms, nl.group("b")])
