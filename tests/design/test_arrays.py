"""Arrays, lists and sparse matrices as designs: views where possible, clear refusals where not."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from neglog.design import Dense, Sparse, read


def dense(design):
    (block,) = design.blocks
    assert isinstance(block, Dense)
    return block.values


# ---- dense -----------------------------------------------------------------------------------------------------------


def read_only(array):
    array.flags.writeable = False
    return array


LAYOUTS = {
    "C": lambda x: np.ascontiguousarray(x),
    "F": lambda x: np.asfortranarray(x),
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every third column": lambda x: np.repeat(x, 3, axis=1)[:, ::3],
    "a column that is repeated": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "read-only": lambda x: read_only(x.copy()),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_floats_are_never_copied(layout, dtype, rng):
    X = LAYOUTS[layout](rng.normal(size=(7, 3)).astype(dtype))
    design = read(X)
    assert dense(design) is X
    assert (design.rows, design.columns, design.names) == (7, 3, ("x0", "x1", "x2"))
    assert (design.blocks[0].rows, design.blocks[0].columns) == (7, 3)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.longdouble, np.int8, np.uint64, np.int64, np.bool_, np.dtype(">f8"), np.dtype(">i4")]
)
def test_other_numbers_become_double_precision(dtype, rng):
    X = rng.integers(0, 2, size=(6, 2)).astype(dtype)
    values = dense(read(X))
    assert values.dtype == np.float64
    assert values.dtype.isnative
    assert np.array_equal(values, X)


def test_single_precision_of_the_other_byte_order_stays_single():
    values = dense(read(np.ones((2, 2), ">f4")))
    assert values.dtype == np.float32
    assert values.dtype.isnative


def unaligned(x):
    raw = np.empty(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def field_of_records(x):
    records = np.zeros(len(x), [("flag", "i1"), ("x", "f8", x.shape[1])])
    records["x"] = x
    return records["x"]


@pytest.mark.parametrize("layout", [lambda x: x[::-1], lambda x: x[:, ::-1], unaligned, field_of_records])
def test_layouts_that_native_code_cannot_walk_are_copied(layout, rng):
    X = layout(rng.normal(size=(5, 3)))
    values = dense(read(X))
    assert np.array_equal(values, X)
    assert values.flags.aligned
    assert all(stride >= 0 and stride % 8 == 0 for stride in values.strides)


def test_lists_tuples_matrices_and_what_makes_arrays(rng):
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.eye(2)

    assert np.array_equal(dense(read([[1, 2], [3, 4]])), [[1, 2], [3, 4]])
    assert np.array_equal(dense(read(((1.5,), (2.5,)))), [[1.5], [2.5]])
    assert np.array_equal(dense(read(Tensor())), np.eye(2))
    subclass = np.ones((3, 2)).view(type("Subclass", (np.ndarray,), {}))
    assert type(dense(read(subclass))) is np.ndarray
    assert np.shares_memory(dense(read(subclass)), subclass)


def test_no_columns_is_a_model_with_an_intercept_only():
    design = read(np.empty((4, 0)))
    assert (design.rows, design.columns, design.names) == (4, 0, ())
    design.check_finite()
    assert read(sp.csr_array((4, 0))).columns == 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(5), r"two dimensions.* shape \(5,\); .*X\.reshape\(-1, 1\)"),
        ([1.0, 2.0], r"shape \(2,\); .*X\.reshape\(-1, 1\)"),
        (np.float64(3.0) * np.ones(()), r"shape \(\)$"),
        (np.ones((2, 2, 2)), r"shape \(2, 2, 2\)$"),
        (np.ones((0, 3)), r"at least one row, but has the shape \(0, 3\)"),
        (sp.csr_array((0, 3)), r"at least one row, but has the shape \(0, 3\)"),
        (sp.coo_array(np.ones(3)), r"two dimensions.* shape \(3,\)"),
        ([[1, 2], [3]], "as many values in each row"),
    ],
)
def test_shapes_that_are_not_rows_and_columns_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        read(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((2, 2), complex), "must hold numbers, but is an array of the type complex128"),
        (np.array([["a"], ["b"]]), "type <U1; a dataframe may hold strings, which become categories"),
        (np.array([["2020-01-01"]], "M8[D]"), r"type datetime64\[D\]"),
        (np.zeros((2, 2), [("a", "f8")]), "must hold numbers"),
        (np.array([[1, 2], [3, "red"]], object), "'red' in row 1 of column 'x1'; a dataframe may hold strings"),
        (np.array([[1j, 2]], object), "1j in row 0 of column 'x0'"),
        (sp.csr_array(np.eye(2) * 1j), "sparse matrix of the type complex128"),
        ("claims.parquet", "must be a NumPy array.* but is a builtins.str"),
        (None, "but is a builtins.NoneType"),
        ({"a": [1, 2]}, "but is a builtins.dict"),
    ],
)
def test_what_is_not_numbers_is_refused(X, message):
    with pytest.raises(TypeError, match=message):
        read(X)


def test_objects_that_are_numbers_are_converted():
    values = dense(read(np.array([[1, 2.5], [True, None]], object)))
    assert np.array_equal(values, [[1, 2.5], [1, np.nan]], equal_nan=True)


def test_masked_arrays_are_read_unless_something_is_masked():
    X = np.ma.masked_array(np.arange(6.0).reshape(3, 2), mask=[[0, 0], [0, 1], [0, 1]])
    with pytest.raises(ValueError, match="X has missing values: column 'x1' has 2, the first in row 1; drop these"):
        read(X)
    X = np.ma.masked_array(np.ones((3, 2)))
    assert type(dense(read(X))) is np.ndarray
    assert np.shares_memory(dense(read(X)), X.data)


# ---- finite or not ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", "CF")
def test_values_that_are_not_finite_are_named_on_request(order):
    X = np.ones((50_000, 3), order=order)
    X[40_000, 2] = X[40_007, 2] = np.nan
    X[3, 1], X[40_001, 2] = -np.inf, np.inf
    design = read(X)
    with pytest.raises(ValueError, match="missing values: column 'x2' has 2, the first in row 40000; drop") as error:
        design.check_finite()
    assert "infinite values: column 'x1' has 1, the first in row 3; 'x2' has 1, the first in row 40001" in str(
        error.value
    )


def test_an_error_lists_ten_columns_at_most():
    with pytest.raises(ValueError, match="'x9' has 2, the first in row 0; and 15 more columns; drop"):
        read(np.full((2, 25), np.nan)).check_finite()


def test_values_that_are_not_finite_are_found_in_sparse_matrices():
    X = sp.lil_array((6, 4))
    X[1, 2], X[5, 2], X[0, 3], X[4, 0] = np.nan, np.nan, np.inf, 1.0
    with pytest.raises(ValueError, match=r"column 'x2' has 2, the first in row 1; .*'x3' has 1, the first in row 0"):
        read(X.tocsr()).check_finite()


def test_finite_values_pass(rng):
    read(rng.normal(size=(5, 2))).check_finite()
    read(sp.random_array((50, 20), density=0.1, rng=rng)).check_finite()


# ---- sparse ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_sparse_format_becomes_csr(form, dtype, rng):
    X = sp.random_array((20, 6), density=0.3, rng=rng, dtype=dtype)
    block = read(X.asformat(form)).blocks[0]
    assert isinstance(block, Sparse)
    assert (block.rows, block.columns) == (20, 6)
    assert block.matrix.format == "csr"
    assert block.matrix.dtype == dtype
    assert block.matrix.has_canonical_format
    assert np.array_equal(block.matrix.toarray(), X.toarray())


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
def test_csr_shares_its_buffers(container, rng):
    X = container(sp.random_array((20, 6), density=0.3, rng=rng, format="csr"))
    matrix = read(X).blocks[0].matrix
    assert matrix is not X
    assert all(np.shares_memory(getattr(matrix, part), getattr(X, part)) for part in ("data", "indices", "indptr"))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64])
def test_sparse_integers_become_double_precision(dtype):
    matrix = read(sp.csr_array(np.eye(3, dtype=dtype))).blocks[0].matrix
    assert matrix.dtype == np.float64
    assert np.array_equal(matrix.toarray(), np.eye(3))


def test_duplicates_are_added_up_in_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1, 1, 2, 0]), np.array([0, 2, 4])
    X = sp.csr_array((data, indices, indptr), shape=(2, 3))
    matrix = read(X).blocks[0].matrix
    assert np.array_equal(matrix.toarray(), [[0, 3, 0], [8, 0, 4]])
    assert matrix.nnz == 3
    assert np.array_equal(X.data, [1, 2, 4, 8])
    assert np.array_equal(X.indices, [1, 1, 2, 0])


def test_sparse_parts_are_contiguous():
    X = sp.csr_array(np.eye(3))
    X.data = np.repeat(X.data, 2)[::2]
    assert read(X).blocks[0].matrix.data.flags.c_contiguous


@pytest.mark.parametrize(("part", "at", "value"), [("indices", 0, 7), ("indices", 0, -1), ("indptr", 1, 3)])
def test_indices_outside_a_sparse_matrix_are_refused(part, at, value):
    X = sp.csr_array(np.eye(3))
    getattr(X, part)[at] = value
    with pytest.raises(ValueError, match=r"shape \(3, 3\) whose indices or pointers lie outside"):
        read(X)


# ---- promises --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [np.arange(12).reshape(4, 3), np.arange(12.0).reshape(4, 3)[::-1], sp.csc_array(np.eye(4)), [[1, 2], [3, 4]]],
    ids=["integers", "backwards", "CSC", "list"],
)
def test_the_input_is_not_changed(X):
    before = X.copy()
    read(X).check_finite()
    same = before != X
    assert not (same if isinstance(same, bool) else same.sum())


def test_blocks_and_designs_are_frozen():
    design = read(np.ones((2, 2)))
    with pytest.raises(AttributeError):
        design.rows = 3
    with pytest.raises(AttributeError):
        design.blocks[0].values = None


def test_arrays_load_no_dataframe_library():
    code = (
        "import sys, numpy as np, neglog; from neglog.design import read, split\n"
        "read(np.ones((3, 2))); read([[1, 2]]); split(np.ones((3, 2)), {'y': [1, 2, 3], 'offset': None})\n"
        "sys.exit(any(name in sys.modules for name in ('narwhals', 'pandas', 'polars', 'pyarrow', 'scipy.sparse')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
