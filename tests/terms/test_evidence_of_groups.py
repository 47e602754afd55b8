"""evidence="groups": coefficients without a prior are where the likelihood of the rest is largest."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.stats import multivariate_normal

import neglog as nl

N = 240


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.uniform(size=N), "z": rng.normal(size=N), "g": rng.choice(list("abcdefgh"), N)})
    level = frame.g.map(dict(zip("abcdefgh", rng.normal(0, 0.7, 8), strict=True)))
    frame["y"] = np.sin(5 * frame.x) + 0.5 * frame.z + level + np.exp(-1 + frame.x) * rng.normal(size=N)
    frame["count"] = rng.poisson(np.exp(0.3 * frame.y))
    return frame


def test_gaussian_noise_has_the_largest_likelihood(table):
    """Of the Gaussian law that y has when the levels and wiggles are integrated."""
    fit = nl.fit(table, "y", terms=["z", nl.smooth("x", size=8), nl.group("g")], evidence="groups")
    rows = fit._task.engine.dense_rows(np.arange(N))
    held = fit._task.penalty.bend > 0
    on = [np.isin(np.arange(rows.shape[1]), fit._task.engine.places[places]) for places in (range(2, 8), range(8, 16))]
    mean = rows[:, ~held] @ fit._answer.theta[~held]

    def value(log_curve, log_group, log_scale, shift):
        curve, group = (rows[:, own] @ rows[:, own].T for own in on)
        law = np.exp(2 * log_scale) * np.eye(N) + np.exp(2 * log_curve) * curve + np.exp(2 * log_group) * group
        return multivariate_normal.logpdf(table.y, mean + shift * rows[:, ~held].sum(axis=1), law)

    at = np.log([fit.terms["x"].scale, fit.terms["g"].scale, fit.noise.scale])
    for k in range(4):
        way = 1e-3 * (np.arange(4) == k)
        slope = (value(*(np.append(at, 0.0) + way)) - value(*(np.append(at, 0.0) - way))) / 2e-3
        assert slope == pytest.approx(0.0, abs=1e-2)


def test_it_differs_from_the_evidence_of_all_where_coefficients_are_many(rng):
    X = pd.DataFrame(rng.normal(size=(60, 15)), columns=[f"x{k}" for k in range(15)])
    frame = X.assign(g=rng.choice(list("abcdef"), 60), y=rng.normal(size=60))
    terms = [*X.columns, nl.group("g")]
    most, all_of_them = (nl.fit(frame, "y", terms=terms, evidence=kind).noise.scale for kind in ("groups", "all"))
    assert most**2 / all_of_them**2 == pytest.approx(44 / 60, rel=0.1)  # which counts what the columns take


@pytest.mark.parametrize(
    "noise", [nl.Gaussian(), nl.Gaussian(scale="model"), nl.Gaussian(scale=nl.terms(nl.smooth("x", size=6)))], ids=str
)
def test_modelled_parameters_and_files(table, noise, tmp_path, monkeypatch):
    from neglog.engines import files

    monkeypatch.setattr(files, "ROWS_OF_PIECE", 70)
    parquet.write_table(pa.Table.from_pandas(table, preserve_index=False), tmp_path / "a.parquet", row_group_size=50)
    terms = ["z", nl.smooth("x", size=8), nl.group("g")]
    memory = nl.fit(table, "y", noise, terms=terms, evidence="groups")
    found = nl.fit(str(tmp_path / "a.parquet"), "y", noise, terms=terms, evidence="groups", progress=False)
    assert memory.converged
    np.testing.assert_allclose(found.predict(table), memory.predict(table), atol=1e-4)
    assert found.terms["g"].scale == pytest.approx(memory.terms["g"].scale, rel=1e-3)


def test_what_it_cannot_be_is_said(table):
    with pytest.raises(ValueError, match='evidence must be "all" or "groups", but is \'ml\''):
        nl.fit(table, "y", terms=[nl.group("g")], evidence="ml")
    with pytest.raises(ValueError, match=r"is of terms with priors, such as group\(...\), but there are none"):
        nl.fit(table, "y", terms=["z"], evidence="groups")
    with pytest.raises(ValueError, match=r"second derivatives, unlike Laplace.*take evidence=\"all\""):
        nl.fit(table, "y", nl.Laplace(), terms=["z", nl.group("g")], evidence="groups")


def test_a_group_without_effect_ends_at_0(table):
    gone = 0
    for seed in range(5):
        frame = table.assign(y=table.z + np.random.default_rng(seed).normal(size=N))
        fit = nl.fit(frame, "y", terms=["z", nl.group("g")], evidence="groups")
        if fit.terms["g"].scale == 0.0:
            gone += 1
            assert "the levels do not differ" in fit.message
            np.testing.assert_allclose(fit.predict(frame), nl.fit(frame[["z"]], frame.y).predict(frame), atol=1e-4)
    assert gone >= 2
