"""The exact absolute loss: against the linear program, with the certificate checked by hand."""

import numpy as np
import pytest
from scipy.optimize import linprog

import neglog as nl
from neglog import _core
from neglog.solvers import absolute
from neglog.solvers.absolute import DenseRows, Status, least_absolute

OPTIMAL, DEFICIENT, UNBOUNDED = Status.OPTIMAL, Status.RANK_DEFICIENT, Status.UNBOUNDED

STACKLOSS = np.array(
    [
        [80, 27, 89, 42], [80, 27, 88, 37], [75, 25, 90, 37], [62, 24, 87, 28], [62, 22, 87, 18], [62, 23, 87, 18],
        [62, 24, 93, 19], [62, 24, 93, 20], [58, 23, 87, 15], [58, 18, 80, 14], [58, 18, 89, 14], [58, 17, 88, 13],
        [58, 18, 82, 11], [58, 19, 93, 12], [50, 18, 89, 8], [50, 18, 86, 7], [50, 19, 72, 8], [50, 19, 79, 8],
        [50, 20, 80, 9], [56, 20, 82, 15], [70, 20, 91, 15],
    ],
    dtype=float,
)  # fmt: skip


def linear_program(X, y, w, g):
    """The minimum by HiGHS, with columns of size one; None if there is none."""
    n, d = X.shape
    size = np.abs(X).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    constraints = np.hstack([X / size, np.eye(n), -np.eye(n)])
    bounds = [(None, None)] * d + [(0, None)] * (2 * n)
    result = linprog(np.concatenate([g / size, w, w]), A_eq=constraints, b_eq=y, bounds=bounds, method="highs")
    return result.fun if result.status == 0 else None


def assert_certified(X, y, w, g, theta, dual):
    """Multipliers that satisfy all constraints, and the same value from both sides."""
    residuals = y - X @ theta
    assert np.all(np.abs(dual) <= w * (1 + 1e-12))
    assert np.all(np.abs(dual @ X - g) <= 1e-10 * (w @ np.abs(X) + np.abs(g)))
    size = w @ np.abs(y) + w @ (np.abs(X) @ np.abs(theta))
    assert abs(w @ np.abs(residuals) + g @ theta - dual @ y) <= 1e-10 * size
    sizes = np.abs(y) + np.abs(X) @ np.abs(theta)
    clear = np.abs(residuals) > 1e-9 * sizes + 1e-12 * sizes.max(initial=0.0)
    np.testing.assert_array_equal(dual[clear], (w * np.sign(residuals))[clear])


def assert_minimum(X, y, w=None, g=None, start=None):
    n, d = X.shape
    X, y = np.ascontiguousarray(X, float), np.asarray(y, float)
    w = np.ones(n) if w is None else np.asarray(w, float)
    g = np.zeros(d) if g is None else g
    theta, basis, dual, _, status = _core.absolute_vertex(X, y, w, g, start)
    expected = linear_program(X, y, w, g)
    if expected is None:
        assert status == UNBOUNDED
        return theta
    rank = np.linalg.matrix_rank(X / np.maximum(np.abs(X).max(axis=0), 1e-300))
    assert status == (OPTIMAL if rank == d else DEFICIENT)
    assert len(basis) == rank
    assert len(set(basis.tolist())) == rank
    assert np.count_nonzero(theta) <= rank
    assert_certified(X, y, w, g, theta, dual)
    assert w @ np.abs(y - X @ theta) + g @ theta == pytest.approx(expected, rel=1e-7, abs=1e-7 * (w @ np.abs(y)))
    return theta


def designs(rng, kind, n, d):
    if kind == "integers":
        X = rng.integers(-2, 3, size=(n, d)).astype(float)
        return X, np.round(X @ rng.normal(size=d) + rng.normal(size=n))
    X = rng.normal(size=(n, d))
    if kind == "duplicates":
        X[:, 0] = 1.0
        pick = rng.integers(0, max(1, n // 3), n)
        return X[pick], np.round(X @ rng.normal(size=d) + rng.normal(size=n))[pick]
    if kind == "dependent":
        X[:, -1] = X[:, 0] - 2 * X[:, d // 2]
    if kind == "scales":
        X *= 10.0 ** rng.uniform(-6, 6, d)
    if kind == "exact fit":
        return X, X @ rng.normal(size=d)
    return X, X @ (rng.normal(size=d) / np.abs(X).max(axis=0)) + rng.standard_t(2, size=n)


@pytest.mark.parametrize("kind", ["plain", "integers", "duplicates", "dependent", "scales", "exact fit"])
@pytest.mark.parametrize("term", ["none", "inside", "far outside"])
def test_linear_program(kind, term, rng):
    for _ in range(25):
        d, n = int(rng.integers(1, 9)), int(rng.integers(1, 70))
        X, y = designs(rng, kind, n, d)
        w = rng.choice([np.ones(n), rng.uniform(0.5, 2.0, n), rng.integers(1, 4, n).astype(float)])
        g = np.zeros(d)
        if term == "inside":
            g = (w * rng.uniform(-0.9, 0.9, n)) @ X
        if term == "far outside":
            g = 3 * (w @ np.abs(X) + 1) * rng.choice([-1.0, 1.0], d)
        assert_minimum(X, y, w, g, None if rng.random() < 0.5 else rng.normal(size=d))


def test_stackloss():
    X = np.column_stack([np.ones(21), STACKLOSS[:, :3]])
    theta = assert_minimum(X, STACKLOSS[:, 3])
    np.testing.assert_allclose(
        theta, [-39.68986, 0.83188, 0.57391, -0.06087], atol=5e-6
    )  # quantreg 5.94, rq(stack.loss ~ .)


def test_weighted_median(rng):
    y, w = rng.normal(size=31), rng.uniform(0.1, 3.0, 31)
    order = np.argsort(y)
    median = y[order][np.searchsorted(np.cumsum(w[order]), w.sum() / 2)]
    assert assert_minimum(np.ones((31, 1)), y, w)[0] == median


def test_intercept_with_ties():
    y = np.array([1.0] * 3 + [2.0] * 30 + [7.0] * 4)
    assert assert_minimum(np.ones((37, 1)), y)[0] == 2.0


@pytest.mark.parametrize("n", [1, 4, 6])
def test_few_rows_are_fitted_exactly(n, rng):
    X, y = rng.normal(size=(n, 6)), rng.normal(size=n)
    theta = assert_minimum(X, y)
    np.testing.assert_allclose(X @ theta, y, atol=1e-12)


def test_no_rows():
    empty = np.empty((0, 2)), np.empty(0), np.empty(0)
    theta, basis, dual, _, status = _core.absolute_vertex(*empty, np.zeros(2), None)
    assert (theta.tolist(), len(basis), len(dual), status) == ([0.0, 0.0], 0, 0, DEFICIENT)
    assert _core.absolute_vertex(*empty, np.ones(2), None)[4] == UNBOUNDED


def test_rows_of_zeros(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    X[::4] = 0.0
    assert_minimum(X, y)


def test_grid_with_many_ties():
    a, b = np.meshgrid(np.arange(-5.0, 6.0), np.arange(-5.0, 6.0))
    X = np.column_stack([np.ones(121), a.ravel(), b.ravel()])
    assert_minimum(X, np.round(X @ [0.3, 0.5, -0.5]))
    assert_minimum(X, np.round((a * b).ravel() % 3))


def test_the_start_of_a_minimum_needs_no_pivot(rng):
    X, y = rng.normal(size=(300, 7)), rng.normal(size=300)
    theta = assert_minimum(X, y)
    again = _core.absolute_vertex(X, y, np.ones(300), np.zeros(7), theta)
    assert again[3] == 0
    np.testing.assert_allclose(again[0], theta, rtol=1e-12)


def test_inputs_that_do_not_fit():
    X, y = np.ones((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match="rows"):
        _core.absolute_vertex(X, y[:2], y, np.zeros(2), None)
    with pytest.raises(ValueError, match="one number per column"):
        _core.absolute_vertex(X, y, y, np.zeros(3), None)


@pytest.mark.parametrize(("place", "value"), [(0, np.nan), (1, np.inf), (2, 0.0), (2, -1.0), (3, np.nan), (4, np.inf)])
def test_numbers_that_make_no_sense(place, value, rng):
    arguments = [rng.normal(size=(9, 2)), rng.normal(size=9), np.ones(9), np.zeros(2), np.zeros(2)]
    arguments[place].flat[1] = value
    with pytest.raises(ValueError, match="finite"):
        _core.absolute_vertex(*arguments)
    with pytest.raises(ValueError, match="finite"):
        _core.absolute_ridge(*arguments, np.ones(2), np.zeros(2))


def test_every_instruction_set_finds_it(rng):
    X, y = rng.normal(size=(500, 6)), rng.normal(size=500)
    best, found = _core.instruction_set(), []
    for name in ("baseline", best):
        _core.use_instruction_set(name)
        found.append(_core.absolute_vertex(X, y, np.ones(500), np.zeros(6), None))
    assert set(found[0][1]) == set(found[1][1])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)


# Many rows, through the protocol.


class Counted:
    """An implementation of the protocol that shares nothing with the one of the solver."""

    def __init__(self, X, y, w=None):
        self.X, self.y, self.w = X, y, np.ones(len(y)) if w is None else w
        self.weights = w
        self.rows, self.columns = X.shape
        self.passes = 0

    def sample(self, count):
        return self.take(np.linspace(0, self.rows - 1, count).astype(int))

    def residuals(self, theta):
        self.passes += 1
        return self.y - self.X @ theta

    def signed_sum(self, theta, skip):
        others = np.ones(self.rows, bool)
        others[skip] = False
        signs = np.sign(self.y - self.X @ theta)[others]
        return (self.w[others] * signs) @ self.X[others], int(others.sum())

    def take(self, index):
        return self.X[index], self.y[index], self.w[index]


def full_dual(data, solution, extra=None):
    X, y, w = (data.X, data.y, data.w)
    if extra is not None:
        X, y, w = np.vstack([X, extra[0]]), np.concatenate([y, extra[1]]), np.concatenate([w, extra[2]])
    dual = w * np.sign(y - X @ solution.theta)
    dual[solution.tied] = solution.tied_dual
    dual[solution.basis] = solution.dual
    return X, y, w, dual


def many(rng, n, d, noise=None):
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    X[:, 0] = 1.0
    return X, X @ rng.normal(size=d) + (rng.standard_t(2, size=n) if noise is None else noise)


def small_steps(monkeypatch):
    monkeypatch.setattr(absolute, "DIRECT", 200)


@pytest.mark.parametrize("n", [50, 201, 1500, 9000])
@pytest.mark.parametrize("weighted", [False, True])
def test_bands_find_the_minimum_of_all_rows(n, weighted, rng, monkeypatch):
    small_steps(monkeypatch)
    X, y = many(rng, n, 4)
    w = rng.uniform(0.2, 3.0, n) if weighted else None
    g = 0.1 * n * rng.normal(size=4)
    data = Counted(X, y, w)
    for linear in (None, g):
        solution = least_absolute(data, linear)
        assert solution.status == OPTIMAL, solution.message
        assert solution.gap < 1e-13
        assert solution.infeasibility < 1e-13
        *rows, dual = full_dual(data, solution)
        assert_certified(*rows, np.zeros(4) if linear is None else g, solution.theta, dual)
        everything = _core.absolute_vertex(X, y, data.w, np.zeros(4) if linear is None else g, None)
        np.testing.assert_allclose(solution.theta, everything[0], rtol=1e-9, atol=1e-12)


def test_a_hundred_thousand_rows_take_few_passes(rng):
    data = Counted(*many(rng, 100_000, 6))
    solution = least_absolute(data)
    *rows, dual = full_dual(data, solution)
    assert_certified(*rows, np.zeros(6), solution.theta, dual)
    assert solution.objective == pytest.approx(np.abs(data.y - data.X @ solution.theta).sum(), rel=1e-13)
    assert data.passes <= 4


@pytest.mark.parametrize("noise", ["counts", "mostly zeros", "sparse column", "sorted", "leverage", "two clusters"])
def test_bands_survive_hard_data(noise, rng, monkeypatch):
    small_steps(monkeypatch)
    n = 4000
    X, y = many(rng, n, 5)
    if noise == "counts":
        X, y = np.round(X), np.round(y)
    if noise == "mostly zeros":
        X, y = X[rng.integers(0, n // 3, n)], np.round(y / 8)
    if noise == "sparse column":
        X[:, 4] = np.arange(n) == 17
    if noise == "sorted":
        order = np.argsort(y)
        X, y = X[order], y[order]
    if noise == "leverage":
        X[::50] *= 1000.0
    if noise == "two clusters":
        y += 100.0 * (np.arange(n) % 2)
    data = Counted(X, y)
    solution = least_absolute(data)
    everything = _core.absolute_vertex(X, y, data.w, np.zeros(5), None)
    assert solution.status == OPTIMAL, solution.message
    *rows, dual = full_dual(data, solution)
    assert_certified(*rows, np.zeros(5), solution.theta, dual)
    assert solution.gap < 1e-12
    assert solution.infeasibility < 1e-12
    assert solution.objective == pytest.approx(np.abs(y - X @ everything[0]).sum(), rel=1e-12)


def test_a_start_far_away(rng, monkeypatch):
    small_steps(monkeypatch)
    X, y = many(rng, 3000, 3)
    near, far = least_absolute(DenseRows(X, y)), least_absolute(DenseRows(X, y), start=np.full(3, 1e3))
    np.testing.assert_allclose(near.theta, far.theta, rtol=1e-10)


def test_laplace_prior_as_extra_rows(rng, monkeypatch):
    small_steps(monkeypatch)
    X, y = many(rng, 3000, 4)
    strength = np.array([1.0, 20.0, 3000.0, 1e5])
    extra = np.eye(4), np.array([0.0, 0.5, 0.25, -1.0]), strength
    data = Counted(X, y)
    solution = least_absolute(data, extra_rows=extra)
    assert solution.theta[3] == -1.0
    assert 3000 + 3 in solution.basis
    X, y, w = (np.concatenate(pair) for pair in zip((X, y, data.w), extra, strict=True))
    everything = _core.absolute_vertex(X, y, w, np.zeros(4), None)
    np.testing.assert_allclose(solution.theta, everything[0], rtol=1e-9)
    assert solution.objective == pytest.approx(w @ np.abs(y - X @ solution.theta), rel=1e-13)
    assert solution.gap < 1e-13


def test_dependent_columns_of_many_rows(rng, monkeypatch):
    small_steps(monkeypatch)
    X, y = many(rng, 3000, 4)
    X[:, 3] = X[:, 0] + X[:, 1]
    solution = least_absolute(DenseRows(X, y))
    assert solution.status == DEFICIENT
    assert "linearly dependent" in solution.message
    assert solution.gap < 1e-12
    assert len(solution.basis) == 3
    assert solution.objective == pytest.approx(least_absolute(DenseRows(X[:, :3], y)).objective, rel=1e-12)


def test_a_linear_term_that_outweighs_all_rows(rng, monkeypatch):
    small_steps(monkeypatch)
    X, y = many(rng, 1000, 2)
    assert least_absolute(DenseRows(X, y), np.array([0.0, 1e5])).status == UNBOUNDED


# With a ridge.


def assert_ridge_certified(X, y, w, g, q, m, theta, dual):
    """The stationarity of all columns and the complementarity of all rows: together they prove the minimum."""
    residuals, away = y - X @ theta, theta - m
    assert np.all(np.abs(dual) <= w * (1 + 1e-12))
    summed = w @ np.abs(X) + np.abs(g) + q * (np.abs(theta) + np.abs(m))
    assert np.all(np.abs(dual @ X - g - q * away) <= 1e-10 * summed)
    size = w @ (np.abs(y) + np.abs(X) @ (np.abs(theta) + np.abs(m)))
    assert w @ np.abs(residuals) - dual @ residuals <= 1e-10 * size


@pytest.mark.parametrize("kind", ["plain", "integers", "duplicates", "dependent", "scales", "exact fit"])
@pytest.mark.parametrize("strength", ["weak", "strong", "mixed", "integers"])
def test_ridge(kind, strength, rng):
    for _ in range(25):
        d, n = int(rng.integers(1, 9)), int(rng.integers(1, 90))
        X, y = designs(rng, kind, n, d)
        size = np.maximum(np.abs(X).max(axis=0), 1e-6)
        w = rng.choice([np.ones(n), rng.uniform(0.5, 2.0, n)])
        exponents = {"weak": (-6, -3), "strong": (2, 5), "mixed": (-4, 4), "integers": (0, 0)}[strength]
        q, m = 10.0 ** rng.uniform(*exponents, d) * size**2, rng.normal(size=d) / size
        if strength == "integers":
            q, m = np.ceil(4 * rng.random(d)), np.round(m)
        g = (w * rng.uniform(-0.9, 0.9, n)) @ X * rng.integers(0, 2)
        start = None if rng.random() < 0.5 else rng.normal(size=d) / size
        theta, basis, dual, _, status = _core.absolute_ridge(X, y, w, g, start, q, m)
        assert status == OPTIMAL
        assert len(basis) <= min(d, n)
        np.testing.assert_allclose((y - X @ theta)[basis], 0.0, atol=1e-9 * (np.abs(y).max() + 10))
        assert_ridge_certified(X, y, w, g, q, m, theta, dual)


@pytest.mark.parametrize("free", [0, 1, 3, 7])
@pytest.mark.parametrize("kind", ["plain", "factors", "copies"])
def test_ridge_of_many_columns_from_any_start(kind, free, rng):
    n, d = 240, 60
    X = rng.normal(size=(n, d))
    if kind == "factors":  # all levels beside an intercept: the columns depend on each other
        X[:, 10:] = np.eye(50)[rng.integers(0, 50, n)]
    if kind == "copies":  # rows that are held may be there twice, with other targets
        X[n // 2 :] = X[: n // 2]
    X[:, 0] = 1.0
    y, w, g = X @ rng.normal(size=d) + rng.standard_t(2, n), rng.uniform(0.5, 2.0, n), np.zeros(d)
    theta, active = None, None
    for strength in (1e-3, 0.3, 40.0, 2.0):  # each from the last: where other rows are held
        q = np.r_[np.zeros(free), np.full(d - free, strength)]
        cold = _core.absolute_ridge(X, y, w, g, None, q, np.zeros(d))
        warm = _core.absolute_ridge(X, y, w, g, theta, q, np.zeros(d), active)
        misled = _core.absolute_ridge(X, y, w, g, rng.normal(size=d), q, np.zeros(d), rng.integers(0, n, d))
        for found in (cold, warm, misled):
            assert found[4] == OPTIMAL
            assert_ridge_certified(X, y, w, g, q, np.zeros(d), found[0], found[2])
            np.testing.assert_allclose(found[0], cold[0], rtol=1e-7, atol=1e-9)
        theta, active = warm[:2]


def test_rows_that_are_held_must_be_there():
    one = np.ones(3), np.ones(3), np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1)
    with pytest.raises(ValueError, match="active rows must be rows of X"):
        _core.absolute_ridge(np.ones((3, 1)), *one, np.array([3]))
    with pytest.raises(ValueError, match="as many rows may be active as X has columns"):
        _core.absolute_ridge(np.ones((3, 1)), *one, np.array([0, 1]))


def test_ridge_in_one_dimension():
    # |1 - t| + |2 - t| + |6 - t| + t^2 / 2: the slope just above 1 is -1 + 1, so 1 is the minimum, with u = 0 there.
    one = np.ones(3)
    X, y = np.ones((3, 1)), np.array([1.0, 2.0, 6.0])
    theta, _, dual, _, status = _core.absolute_ridge(X, y, one, np.zeros(1), None, np.ones(1), np.zeros(1))
    assert (theta[0], status) == (1.0, OPTIMAL)
    np.testing.assert_allclose(dual, [-1.0, 1.0, 1.0], atol=1e-12)
    # With strength 4 it lies between the rows, where all signs are positive: 4 t = 3.
    theta, basis, dual, _, status = _core.absolute_ridge(X, y, one, np.zeros(1), None, np.full(1, 4.0), np.zeros(1))
    assert (theta[0], len(basis), status) == (0.75, 0, OPTIMAL)
    np.testing.assert_array_equal(dual, one)


def test_ridge_of_one_column_leaves_the_others_free(rng):
    X, y = many(rng, 200, 5)
    q = np.array([0.0, 0.0, 1e9, 0.0, 0.0])
    theta, _, dual, _, status = _core.absolute_ridge(X, y, np.ones(200), np.zeros(5), None, q, np.zeros(5))
    assert status == OPTIMAL
    assert_ridge_certified(X, y, np.ones(200), np.zeros(5), q, np.zeros(5), theta, dual)
    without = np.delete(X, 2, axis=1)
    np.testing.assert_allclose(np.delete(theta, 2), least_absolute(DenseRows(without, y)).theta, atol=1e-5)


def test_ridge_bounds_what_was_unbounded(rng):
    X, y = many(rng, 50, 2)
    g, q = np.array([0.0, 1e3]), np.ones(2)
    theta, _, dual, _, status = _core.absolute_ridge(X, y, np.ones(50), g, None, q, np.zeros(2))
    assert status == OPTIMAL
    assert_ridge_certified(X, y, np.ones(50), g, q, np.zeros(2), theta, dual)
    free = np.array([1.0, 0.0])
    assert _core.absolute_ridge(X, y, np.ones(50), g, None, free, np.zeros(2))[4] == UNBOUNDED


@pytest.mark.parametrize("strength", [1e-3, 1.0, 300.0, 1e5])
@pytest.mark.parametrize("shape", ["plain", "counts", "mostly zeros", "leverage"])
def test_ridge_in_bands(strength, shape, rng, monkeypatch):
    small_steps(monkeypatch)
    X, y = many(rng, 5000, 5)
    if shape == "counts":
        X, y = np.round(X), np.round(y)
    if shape == "mostly zeros":
        X, y = X[rng.integers(0, 1500, 5000)], np.round(y / 8)
    if shape == "leverage":
        X[::50] *= 100.0
    q, m = np.full(5, strength), np.ones(5)
    q[0] = 0.0
    data = Counted(X, y, rng.uniform(0.5, 2.0, 5000))
    solution = least_absolute(data, ridge=(q, m))
    assert solution.status == OPTIMAL, solution.message
    assert solution.gap < 1e-12
    assert solution.infeasibility < 1e-12
    *rows, dual = full_dual(data, solution)
    assert_ridge_certified(*rows, np.zeros(5), q, m, solution.theta, dual)
    value = data.w @ np.abs(y - X @ solution.theta) + 0.5 * q @ (solution.theta - m) ** 2
    assert solution.objective == pytest.approx(value, rel=1e-12)


def test_ridge_with_dependent_free_columns(rng):
    X, y = many(rng, 300, 5)
    X[:, 2] = X[:, 0] - X[:, 1]
    q = np.array([0.0, 0.0, 0.0, 2.0, 2.0])
    solution = least_absolute(DenseRows(X, y), ridge=(q, np.zeros(5)))
    assert solution.status == DEFICIENT
    assert solution.gap < 1e-12
    assert solution.infeasibility < 1e-12
    unbounded = least_absolute(DenseRows(X, y), np.array([0.0, 0.0, 5.0, 0.0, 0.0]), ridge=(q, np.zeros(5)))
    assert unbounded.status == UNBOUNDED


def test_same_input_same_bits(rng):
    X, y = many(rng, 30_000, 5)
    for ridge in (None, (np.full(5, 30.0), np.zeros(5))):
        one, two = (least_absolute(DenseRows(X, y), ridge=ridge) for _ in range(2))
        assert one.theta.tobytes() == two.theta.tobytes()
        assert one.basis.tobytes() == two.basis.tobytes()
        assert one.dual.tobytes() == two.dual.tobytes()


def test_input_is_not_touched(rng):
    X, y = many(rng, 500, 3)
    copies = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    least_absolute(DenseRows(X, y))
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])


def test_most_targets_equal_needs_no_search_but_a_proof(rng):
    """Where 0 is the median whatever the columns say, multipliers of the tied rows prove it."""
    n = 4000
    X = rng.normal(size=(n, 3)) * [1.0, 1e3, 1e-3]
    y = np.where(rng.random(n) < 0.8, 0.0, rng.gamma(2.0, size=n))
    weight = rng.integers(1, 3, n).astype(float)
    fit = nl.fit(X, y, nl.Laplace(), sample_weight=weight)
    proof = fit.certificate
    assert not fit.coef.any()
    assert fit.intercept == 0
    assert np.all(np.abs(proof.tied_dual) <= weight[proof.tied])
    u = weight * np.sign(y)
    u[proof.tied] = proof.tied_dual
    columns = np.column_stack([np.ones(n), X])
    np.testing.assert_allclose(u @ columns / (weight @ np.abs(columns)), 0.0, atol=1e-12)
    best = least_absolute(DenseRows(columns, y, weight)).objective
    assert proof.objective == pytest.approx(best, rel=1e-12)


def test_ties_that_a_column_explains_are_searched(rng):
    group = np.arange(603) % 3 == 0  # 201 of them, so that their median is one of them
    y = np.where(group, 5.0 + rng.normal(size=603), 0.0)
    fit = nl.fit(group[:, None].astype(float), y, nl.Laplace())
    assert fit.coef[0] == pytest.approx(np.median(y[group]), abs=1e-9)


@pytest.mark.parametrize("away", [0.0, 1e-3, 0.3, 100.0])
@pytest.mark.parametrize("strength", [0.0, 5.0])
def test_a_close_start_ends_where_any_other_does(away, strength):
    """The band about it is narrow at first, and grows where the start was not as close as was said."""
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(3000), rng.normal(size=(3000, 7))])
    data = DenseRows(X, X @ rng.normal(size=8) + rng.laplace(size=3000), rng.uniform(0.5, 2.0, size=3000))
    ridge = np.full(8, strength), np.zeros(8)
    cold = least_absolute(data, ridge=ridge)
    close = least_absolute(data, ridge=ridge, start=cold.theta + away * rng.normal(size=8), close=True)
    assert close.status == OPTIMAL
    assert close.gap < 1e-12
    np.testing.assert_allclose(close.theta, cold.theta, rtol=1e-9)
