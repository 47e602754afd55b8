"""Passes over curves, surfaces, and numbers and curves by level: the same numbers as over a dense matrix of columns."""

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog import _core
from neglog.design.blocks import Basis, Dense
from neglog.design.design import Design, Schema, read
from neglog.engines.memory import Memory
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.joint import joint_engine

N = 700
TERMS = {
    "smooth": [nl.smooth("a", size=7)],
    "smooth of few knots": [nl.smooth("a", size=3)],
    "two smooths": [nl.smooth("a", size=7), nl.smooth("b", size=20), "c"],
    "group": [nl.group("g"), "a"],
    "factor by number": [nl.interaction("g", "a"), "k"],
    "factor by smooth": [nl.interaction("g", nl.smooth("b", size=5)), "a"],
    "smooth by smooth": [nl.interaction(nl.smooth("a", size=5), nl.smooth("b", size=4)), "k"],
    "number by number": [nl.interaction("a", "c"), "a"],
    "number by smooth": [nl.interaction("c", nl.smooth("b", size=5)), nl.group("k")],
    "factor by factor": [nl.interaction("g", "k")],
    "all": [
        "k",
        nl.smooth("a", size=6),
        "c",
        nl.interaction("g", "k"),
        nl.interaction(nl.smooth("a", size=4), nl.smooth("c", size=4)),
        nl.group("g"),
        nl.interaction("k", nl.smooth("b", size=4)),
        nl.interaction("b", "c"),
        nl.interaction("g", "c"),
    ],
}
NOISES = {
    "poisson": nl.Poisson(),
    "dispersion open": nl.NegativeBinomial(),
    "scale modelled": nl.Gaussian(scale="model"),
    "classes": nl.Categorical(),
    "ordered classes": nl.Ordinal(),
}


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instructions(request):
    best = _core.instruction_set()
    try:
        _core.use_instruction_set(request.param)
    except ValueError:
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    _core.use_instruction_set(best)


def table_of(rng, rows, dtype=np.float64):
    numbers = {"a": rng.normal(size=rows), "b": rng.exponential(size=rows), "c": rng.uniform(-3, 9, rows)}
    levels = {"g": rng.choice(list("pqrstu"), rows), "k": rng.choice(["x", "y", "z"], rows)}
    return pd.DataFrame({name: x.astype(dtype) for name, x in numbers.items()} | levels)


def design_of(terms, rng, rows=N, dtype=np.float64):
    """Of rows of which some are beyond the ends of the curves, or have levels that are not known."""
    schema = read(table_of(rng, 300, dtype), terms=terms).schema
    table = table_of(rng, rows, dtype)
    table["a"] *= np.array(1.3, dtype)
    for name, share in (("g", 0.1), ("k", 0.05)):
        table.loc[rng.random(rows) < share, name] = "new"
    return schema.read(table)


def engine_of(terms, noise, rng, rows=N, dtype=np.float64):
    design = design_of(terms, rng, rows, dtype)
    labels = rng.choice(["low", "mid", "top"], rows) if noise.labelled else None
    y = labels if noise.labelled else rng.poisson(2.0, rows).astype(float)
    target = make_target(noise, y, rng.uniform(0.1, 2, rows), None)
    offset = rng.normal(0, 0.2, rows * target.loss.classes)
    engine = Memory(design, target.y, target.weight, offset, target.loss, intercept=noise.takes_intercept)
    return joint_engine(engine, target) if target.open else engine


def dense_engine(engine):
    """The same columns, in the core's order, as one dense matrix."""
    matrix = engine.dense_rows(np.arange(engine.rows))
    design = Design((Dense.of(matrix),), engine.rows, engine.columns, Schema(engine.columns))
    nowhere = np.zeros(engine.columns)
    return Memory(design, engine.y, engine.weight, engine.offset, engine.loss, intercept=False, centre=nowhere)


def start_of(engine, rng):
    """Some coefficients, and raw parameters at which every noise here is what it should be: edges in order."""
    theta = rng.normal(0, 0.1, engine.width)
    theta[engine.coefficients :] = np.arange(engine.width - engine.coefficients)
    return theta


def check_same(found, wanted, tight=1e-11):
    found, wanted = np.asarray(found), np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, rtol=tight, atol=tight * np.abs(wanted).max())


def passes(engine, theta, matrix, x):
    """All that the core makes of rows."""
    out = {}
    for expected in (False,) if engine.loss.open else (False, True):  # of what is open there is no expectation
        value, gradient, gram = engine.evaluate(theta, True, expected)
        out |= {f"value {expected}": value, f"gradient {expected}": gradient, f"curvature {expected}": gram}
    value, gradient, _ = engine.evaluate(theta, False)
    return out | {
        "value alone": value,
        "gradient alone": gradient,
        "prediction": engine.predict(theta),
        "transposed": engine.transposed(x),
        "forms": engine.forms(matrix),
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_passes_are_those_over_a_dense_matrix(terms, noise, dtype, instructions, rng):
    engine = engine_of(terms, noise, rng, dtype=dtype)
    assert engine.loss.outputs == {"Gaussian": 2, "Categorical": 3}.get(type(noise).__name__, 1)
    dense = dense_engine(engine)
    theta, x = start_of(engine, rng), rng.normal(size=engine.rows)
    matrix = rng.normal(size=(engine.columns, engine.columns))
    found, wanted = (passes(one, theta, matrix + matrix.T, x) for one in (engine, dense))
    for name, values in found.items():
        check_same(values, wanted[name])


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_moments_are_those_of_a_dense_matrix(terms, instructions, rng):
    engine = engine_of(terms, nl.Gaussian(scale=1.0), rng)
    matrix = np.column_stack([engine.dense_rows(np.arange(N)), engine.y - engine.offset - 0.5])
    check_same(engine.moments(0.5), matrix.T @ (engine.weight[:, None] * matrix))


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_number_of_threads_changes_no_bit(noise, rng):
    engine = engine_of(TERMS["all"], noise, rng, rows=20_000)
    theta, x = start_of(engine, rng), rng.normal(size=engine.rows)
    matrix = np.eye(engine.columns)
    engine.threads = 1
    wanted = passes(engine, theta, matrix, x)
    for threads in (2, 3, 7):
        engine.threads = threads
        for name, values in passes(engine, theta, matrix, x).items():
            np.testing.assert_array_equal(values, wanted[name], err_msg=name)


def test_the_core_knows_a_column_of_an_array_that_is_not_contiguous(rng):
    schema = read(table_of(rng, 300), terms=TERMS["smooth"]).schema
    wide = rng.normal(size=(N, 5))
    table = pd.DataFrame(wide, columns=list("abcde"), copy=False)
    design = schema.read(table)
    engine = Memory(design, np.zeros(N), None, None, make_target(nl.Poisson(), np.ones(N), None, None).loss)
    theta = rng.normal(size=engine.width)
    check_same(engine.predict(theta), engine.dense_rows(np.arange(N)) @ theta)


def test_rows_of_a_level_that_is_not_known_have_no_columns(rng):
    design = design_of(TERMS["factor by smooth"], rng)
    block = next(block for block in design.blocks if isinstance(block, Basis))
    lost = block.codes < 0
    assert 0.02 * N < lost.sum() < 0.3 * N
    assert not block.values()[lost].any()
    assert block.values()[~lost].any(axis=1).all()
    assert block.rows_of(lost).values_of_level().any(axis=1).all()
