"""The native core (C++). Arrays are contiguous float32 or float64; inputs have one element or as many as the output."""

from collections.abc import Sequence
from typing import Any

from numpy import float64, int32, int64, uint8
from numpy.typing import NDArray

Input = NDArray[Any]
Output = NDArray[Any]
Doubles = NDArray[float64]

def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
def links(family: str) -> list[str]: ...
def nll(
    family: str,
    link: str,
    y: Input,
    eta: Input,
    parameters: Sequence[Input],
    constant: Input,
    out: Output,
    threads: int,
) -> None: ...
def slopes(
    family: str,
    link: str,
    expected: bool,
    y: Input,
    eta: Input,
    parameters: Sequence[Input],
    weight: Input,
    least: float,
    gradient: Output,
    hessian: Output | None,
    threads: int,
    team: tuple[int, int, int, int] | None = None,
) -> None: ...

# All raw parameters at once (formulas.hpp): the nll, its slopes (variables, rows) and, if wanted, second derivatives
# (pairs, rows) in the order (0,0), (1,0), (1,1), (2,0), ...
def joint(
    family: str,
    link: str,
    y: Input,
    eta: Input,
    parameters: Sequence[Input],
    nll: Doubles,
    slopes: Doubles,
    bends: Doubles | None,
    threads: int,
) -> None: ...
def tweedie_slopes(
    y: Input,
    mean: Input,
    power: Input,
    dispersion: Input,
    nll: Output,
    d_mean: Output,
    d_power: Output,
    d_dispersion: Output,
    threads: int,
) -> None: ...
def half_deviance(y: Input, mean: Input, power: Input, out: Output, threads: int) -> None: ...
def stirling_error(x: Doubles, out: Doubles) -> None: ...
def stirling_error_slope(x: Doubles, out: Doubles) -> None: ...
def stirling_error_bend(x: Doubles, out: Doubles) -> None: ...
def entropy(p: Doubles, q: Doubles, out: Doubles, threads: int) -> None: ...
def divergence(p: Doubles, q: Doubles, out: Doubles, threads: int) -> None: ...
def row_sum(p: Doubles, q: Doubles, out: Doubles, threads: int) -> None: ...
def class_slopes(
    y: Input,
    eta: Input,
    weight: Input,
    factor: float,
    least: float,
    gradient: Output,
    hessian: Output,
    threads: int,
    team: tuple[int, int, int, int] | None,
) -> None: ...
def softmax(y: Doubles, eta: Doubles, nll: Doubles, gradient: Doubles, threads: int) -> None: ...

# The minimum of sum w |y - X theta| + linear' theta: theta, the rows with residual zero that fix it, a multiplier for
# every row, the number of pivots, and how it ended: 0 optimal, 1 optimal in as many columns as are independent,
# 2 unbounded, 3 too many pivots.
def absolute_vertex(
    X: Doubles, y: Doubles, w: Doubles, linear: Doubles, start: Doubles | None
) -> tuple[Doubles, NDArray[int64], Doubles, int, int]: ...

# The same with + 1/2 sum strength (theta - centre)^2; 1 means that nothing was solved: a direction is undetermined.
# Where the start is the minimum of a problem like this one, `active` are the rows that fixed it.
def absolute_ridge(
    X: Doubles,
    y: Doubles,
    w: Doubles,
    linear: Doubles,
    start: Doubles | None,
    strength: Doubles,
    centre: Doubles,
    active: NDArray[int64] | None = None,
) -> tuple[Doubles, NDArray[int64], Doubles, int, int]: ...

class Table:
    """Blocks of columns over the same rows; keeps their arrays alive."""

    def __init__(self, rows: int, intercept: bool) -> None: ...
    def add_dense(self, values: Input, centre: Input) -> None: ...
    def add_codes(self, codes: NDArray[Any], first: int, columns: int) -> None: ...
    def add_sparse(self, starts: NDArray[Any], indices: NDArray[Any], values: Input, columns: int) -> None: ...
    def add_basis(
        self, factors: Sequence[tuple[Any, ...]], levels: NDArray[Any] | None, count: int, turn: Input
    ) -> None: ...

class Problem:
    """A table with a target and a loss. An empty family asks for Gram matrices of the weights, "softmax" for classes.
    With `found` the parameters are raw, and those of these numbers come after the coefficients; if `ordered`, as many
    raw edges of ordered classes. Those that are `modelled` have a row of coefficients each, after that of the
    prediction; one that lies between two `ends` is predicted by the log odds of its place there.
    """

    def __init__(
        self,
        table: Table,
        family: str,
        link: str,
        y: Input,
        weight: Input | None,
        offset: Input | None,
        parameters: Sequence[Input],
        found: Sequence[int] | None,
        response: bool,
        response_centre: float,
        classes: int,
        modelled: Sequence[int] = ...,
        ends: Sequence[tuple[float, float]] = ...,
        ordered: bool = False,
    ) -> None: ...
    def evaluate(
        self, theta: Input, gradient: Output | None, gram: Output | None, expected: bool, threads: int
    ) -> float: ...
    def newton(
        self,
        bend: Input,
        centre: Input,
        factor: float,
        tol: float,
        most_steps: int,
        theta: Output,
        gradient: Output,
        hessian: Output,
        threads: int,
    ) -> tuple[bool, int, float, float, float]: ...
    def search_groups(
        self,
        order: NDArray[int64] | None,
        starts: NDArray[int64],
        bend: Input,
        centre: Input,
        unit: Input | None,
        factor: float,
        within: Sequence[tuple[float, float]],
        tol: float,
        most_steps: int,
        looked_at: Input,
        shifts: Input,
        theta: Output,
        value: Output,
        decrement: Output,
        largest: Output,
        steps: NDArray[int32],
        ends: NDArray[uint8],
        held: NDArray[uint8],
        threads: int,
    ) -> None:
        """Newton's method for each group of rows, from theta on and in place (groups.hpp)."""

    def curvature_of_groups(
        self,
        order: NDArray[int64] | None,
        starts: NDArray[int64],
        bend: Input,
        centre: Input,
        unit: Input | None,
        factor: float,
        theta: Input,
        value: Output,
        variances: Output,
        log_determinant: Output,
        slopes: Output | None,
        threads: int,
    ) -> None:
        """What is known at theta of each group."""

class Density:
    """A log density for samplers that call C functions; addresses of the functions and of what they are called with."""

    log_density: int
    same_draw: int
    data: int

# log p(x) = -factor loss(x, v) - x' bend x / 2 - slope' x, with v = centre + turn x for the open raw parameters
def density(problem: Problem, factor: float, bend: Input, slope: Input, centre: Input, turn: Input) -> Density: ...
def rows_by_group(groups: NDArray[int32], starts: NDArray[int64], order: NDArray[int64]) -> None:
    """Where the rows of each group begin among all, sorted by group and otherwise as they stand."""

def pieces_of(x: NDArray[Any], breaks: Input, out: NDArray[Any]) -> None:
    """The piece that each number lies in: how many of the ascending breaks are not above it."""

def row_forms(table: Table, matrix: Input, out: Doubles, threads: int) -> None:
    """x' matrix x of each row, for a symmetric matrix over the columns."""

def predict_rows(table: Table, theta: Input, classes: int, offset: Input | None, eta: Output, threads: int) -> None: ...

# The smallest pivot of the matrix at unit diagonal; x is the solution if that is positive.
def solve_positive(matrix: Input, right: Input, x: Output, threads: int) -> float: ...

class Factor:
    """The triangular factor of an n x n matrix at unit diagonal; there is none where a pivot is not positive."""

    smallest_pivot: float

    def __init__(self, matrix: Input, n: int, threads: int) -> None: ...
    def solve(self, right: Input, x: Output) -> None: ...
    def inverse_diagonal(self, out: Output) -> float:
        """That of the matrix itself; returns the log determinant of the inverse."""

# out += left right', where rows hold a multiple of eight numbers.
def add_row_products(left: Input, right: Input, out: Output, threads: int) -> None: ...

# Sparse matrices as row pointers (int64), columns (int32), in order in each row, and values. out -= rows' diag(w) rows:
# its lower triangle; and of each row its product with a symmetric matrix (its lower triangle), where the row is not 0.
def subtract_products(
    rows: tuple[Input, Input, Input], transposed: tuple[Input, Input, Input], w: Input, out: Output, threads: int
) -> None: ...
def symmetric_products(rows: tuple[Input, Input, Input], matrix: Input, n: int, out: Output, threads: int) -> None: ...

# log of the ridge strength of most evidence, and the variance of the noise there; an unknown variance is given as 0.
def ridge(values: Input, squares: Input, left: float, rows: float, variance: float) -> tuple[float, float]: ...

# The number of sweeps; x is where the descent begins and ends.
def coordinate_descent(
    curvature: Input, slope: Input, strength: Input, kink: Input, tolerance: float, most_sweeps: int, x: Output
) -> int: ...

# The weighted sum of the loss at known raw predictions; the derivatives of each row, times its weight, come out.
def row_losses(
    family: str,
    link: str,
    y: Input,
    eta: Input,
    weight: Input | None,
    parameters: Sequence[Input],
    gradient: Output,
    hessian: Output,
    threads: int,
) -> float: ...

# Sums of the entries of sparse columns (CSC) times x, for the chosen columns or all.
def column_products(
    starts: Any, indices: Any, values: Input, chosen: Any, x: Input, out: Output, threads: int
) -> None: ...

# A lasso step on sparse columns (columns.hpp): its gain, the step of the intercept, and the number of sweeps.
def sparse_descent(
    starts: Any,
    indices: Any,
    values: Input,
    chosen: Any,
    weight: Input,
    slope: Input,
    bend: Input,
    strength: Input,
    kink: Input,
    slope0: float | None,
    tolerance: float,
    most_sweeps: int,
    x: Output,
    change: Output,
) -> tuple[float, float, int]: ...
