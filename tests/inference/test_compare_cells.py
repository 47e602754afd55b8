"""Comparisons of y in cells: the same scores for all noises, in memory and from files."""

import numpy as np
import pandas as pd
import pytest

import neglog as nl

INF = np.inf


def lives(rows=1500):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    life = nl.Weibull(shape=1.8).given(1.0 + table.to_numpy() @ [0.5, -0.3]).sample(rng=rng)
    end = rng.uniform(0.5, 8, size=rows)
    table["days"], table["died"] = np.minimum(life, end), (life <= end).astype(int)
    table["upper"] = np.where(table["died"] == 1, table["days"], INF)
    return table


NOISES = ["weibull", "lognormal", "gamma", "gaussian"]


def test_the_law_of_censored_rows_is_found():
    table = lives()
    found = nl.compare(table.drop(columns="upper"), nl.censored("days", event="died"))
    assert "Weibull" in found.ties
    assert found.call.startswith('nl.fit(X, nl.censored("days", event="died"), nl.')
    assert "cells" in found.resolution
    assert found.scores[0].ks < 1.63 / np.sqrt(len(table))
    assert "Tweedie" in found.refused


def test_capped_amounts_with_zeros_are_compared_with_their_law():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 2))
    y = nl.Tweedie(power=1.5, dispersion=1.2).given(0.8 + X @ [0.5, -0.3]).sample(rng=rng).round(2)
    cells = nl.censored(np.minimum(y, 4.0), np.where(y < 4.0, y, INF))
    found = nl.compare(X, cells, ["tweedie", "hurdle(gamma)", "gaussian"])
    assert found.ties[0] == "Tweedie"
    assert not found.refused


def test_what_a_row_costs_is_the_probability_of_its_cell_or_its_density():
    table = lives()
    X, y = table[["a", "b"]].to_numpy(), nl.censored(table["days"], table["upper"])
    found = nl.compare(X, y, ["weibull", "gamma"], nl.Flat(), folds=2)
    for score in found.scores:
        ways = [nl.fit(X[part], y[part], score.noise).distribution(X).nll(y) for part in halves(len(table))]
        assert np.all(np.isclose(score.nll, ways, rtol=1e-2, atol=1e-2).any(axis=0))


def halves(rows):
    from neglog.streaming.pieces import fold_of

    fold = fold_of(np.arange(rows), 2, 0)
    return [np.flatnonzero(fold == k) for k in (0, 1)]


def test_files_give_the_comparison_of_memory(tmp_path):
    table = lives().drop(columns="upper")
    table.to_parquet(tmp_path / "rows.parquet")
    y = nl.censored("days", event="died")
    memory, files = (nl.compare(X, y, NOISES, nl.Gaussian(scale=1.0)) for X in (table, tmp_path / "rows.parquet"))
    assert [record["noise"] for record in memory.table] == [record["noise"] for record in files.table]
    for one, other in zip(memory.table, files.table, strict=True):
        assert other["nats"] == pytest.approx(one["nats"], rel=1e-5)


def test_cells_are_not_taken_for_numbers():
    y = nl.censored([1.0, 2.0], [1.0, INF])
    with pytest.raises(TypeError, match="y holds cells"):
        np.asarray(y)
    with pytest.raises(TypeError, match="y holds cells"):
        nl.Gaussian(0.0, 1.0).cdf(y)
    with pytest.raises(TypeError, match="take the derivatives from joint"):
        nl.Gaussian(0.0, 1.0).gradient_hessian(y, 0.0)
