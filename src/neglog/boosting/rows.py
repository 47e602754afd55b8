"""What training reads: X as the trainers take it, and beside it labels, weights and offsets, all checked first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neglog.boosting.laws import is_real_valued, open_parameters
from neglog.boosting.observed import check_cells, points_of, values_or_cells
from neglog.design.blocks import is_sparse
from neglog.design.columns import beside, column, declared_order
from neglog.design.faults import first_rows
from neglog.design.tables import as_table, quoted
from neglog.distributions.censored import Cells, NamedCells, cells_of, ends_of
from neglog.distributions.noise import Noise
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.censored import refuse_without_cells
from neglog.likelihood.row_values import checked, class_offsets, combined_offset
from neglog.printing import did_you_mean
from neglog.typing import Numbers

AHEAD = ("offset", "exposure")  # what predictions need too
BESIDE = ("sample_weight", *AHEAD)


@dataclass(frozen=True)
class Features:
    """How many columns X has, their names if it is a table, and the columns that offset and exposure were called by."""

    count: int
    names: tuple[str, ...] | None = None
    named: Mapping[str, str] = field(default_factory=dict)

    def read(self, X: Any) -> Any:
        """X with these columns in this order: a table is matched by name, anything else by their number."""
        if self.names is not None and is_table(X):
            table = as_table(X)
            present = [] if table is None else table.names
            absent = [name for name in self.names if name not in present]
            if absent:
                raise ValueError(
                    f"X lacks the columns {quoted(absent)} of the model; it has {quoted(present)}"
                    f"{did_you_mean(absent, present)}"
                )
            return prepared(X if list(self.names) == present else _selected(X, self.names))
        X = prepared(X)
        if X.shape[1] != self.count:
            raise ValueError(f"X must have the {self.count} columns of the model, but has {X.shape[1]}")
        return X


@dataclass(frozen=True)
class Rows:
    """Features with labels or cells, weights (None for ones) and offsets (None for zeros)."""

    X: Any
    y: Any
    weight: Numbers | None
    offset: Numbers | None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def labels(self) -> Numbers:
        """What a dataset of a trainer holds for y: of a cell, which only the objective knows, a number in it."""
        return points_of(self.y)

    def take(self, index: Numbers) -> "Rows":
        """Some of the rows."""
        beside = (None if values is None else values[index] for values in (self.weight, self.offset))
        return Rows(_taken(self.X, index), self.y[index], *beside)


def read_rows(
    X: Any, y: Any, noise: Noise, given: Mapping[str, Any], classes: Numbers | None = None, *, whole: bool = True
) -> tuple[Rows, Features, Numbers | None]:
    """Rows, features and the labels of the classes (those given, or all that y has)."""
    named = {what: name for what in AHEAD if isinstance(name := given.get(what), str)}
    whole_table = X
    X, values = _split(X, {"y": y, **given}, noise)
    labels = values["y"]
    if noise.labelled:
        if classes is None:
            order = declared_order(whole_table, y) if noise.classes is None else None
            target: Any = make_target(noise if order is None else noise.with_classes(order), labels, None, None)
            classes = target.classes  # of a single class it has said what is wrong
        codes = codes_of(labels, classes)
    elif isinstance(labels, Cells):
        check_cells(noise, labels, whole=whole or bool(open_parameters(noise) or noise.modelled))
        codes = values_or_cells(labels)
    else:
        codes = labels
    if not noise.labelled and not isinstance(codes, Cells):
        make_target(noise.unmodelled(), codes, None, None, whole=whole)  # refuses labels outside the support
    weight = checked(values["sample_weight"], "sample_weight", zero=True)
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is zero in every row; at least one row must count")
    offset = offset_of(noise, values["offset"], values["exposure"], len(codes), classes)
    names = tuple(as_table(X).names) if is_table(X) else None  # type: ignore[union-attr]
    plain = prepared(X)
    return Rows(plain, codes, weight, offset), Features(plain.shape[1], names, named), classes


def read_new(X: Any, noise: Noise, features: Features, classes: Numbers | None, **given: Any) -> tuple[Any, Any]:
    """Features and offsets of rows to predict for."""
    X, values = _split(X, {"y": None, "sample_weight": None, **beside(X, given, features.named)}, noise)
    rows = features.read(X)
    return rows, offset_of(noise, values["offset"], values["exposure"], rows.shape[0], classes)


def offset_of(noise: Noise, offset: Any, exposure: Any, rows: int, classes: Numbers | None) -> Numbers | None:
    """What is added to the raw prediction of the location; for classes one column each."""
    if classes is not None and noise.of_classes:
        if exposure is not None:
            raise ValueError("exposure multiplies the mean of amounts and counts; classes have none")
        return None if offset is None else class_offsets(offset, rows, len(classes)).reshape(len(classes), rows).T
    return combined_offset(noise, offset, exposure)


def codes_of(labels: Numbers, classes: Numbers) -> Numbers:
    """The number of each label among the classes."""
    known = np.isin(labels, classes)
    if not known.all():
        bad = np.flatnonzero(~known)
        raise ValueError(
            f"labels must be among the {len(classes)} classes of the training rows, but "
            f"{first_rows(bad, len(labels))} {labels[bad[0]]!r}"
        )
    order = np.argsort(classes)  # in which ordered classes need not be
    return order[np.searchsorted(classes, labels, sorter=order)].astype(np.float64)


def labels_of(X: Any, y: Any, noise: Noise) -> Any:
    """Labels as they are for classes, as float64 for all other noises; cells as such."""
    if isinstance(y, Cells | NamedCells):
        refuse_without_cells(noise)
        ends = y.ends if isinstance(y, NamedCells) else {"y": y.lower, "upper": y.upper}
        return cells_of({what: np.asarray(column(X, end, what), np.float64) for what, end in ends.items()})
    raw = column(X, y, "y", numeric=False)
    if noise.labelled:
        return raw
    if raw.dtype.kind in "iub" and is_real_valued(noise):
        raise TypeError(
            f"{type(noise).__name__} noise is one of real numbers, but y holds {len(np.unique(raw))} different "
            f"{'booleans' if raw.dtype.kind == 'b' else 'integers'} in {len(raw)} rows (type {raw.dtype}). If they are "
            "classes use Categorical or Bernoulli, if counts Poisson; if amounts that happen to be whole, say so: "
            "y.astype(float)"
        )
    return np.asarray(column(X, y, "y"), np.float64)


def is_table(X: Any) -> bool:
    """Whether X is a dataframe."""
    return not isinstance(X, np.ndarray | list | tuple) and not is_sparse(X) and as_table(X) is not None


def prepared(X: Any) -> Any:
    """X as both trainers take it: an array, a sparse matrix or a pandas dataframe; other tables become arrays."""
    if is_table(X) and not hasattr(X, "iloc"):
        import narwhals.stable.v1 as nw

        frame: Any = nw.from_native(X, eager_only=True)
        other = [name for name, kind in frame.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
        if other:
            raise TypeError(
                f"the columns {quoted(other)} of X do not hold numbers; the trainers take categories from pandas "
                "dataframes only, so use X.to_pandas() with categories, or codes"
            )
        X = frame.to_numpy()
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, but has the shape {tuple(shape)}")
    if 0 in shape:
        raise ValueError(f"X must have rows and columns, but has the shape {tuple(shape)}")
    return X


def _split(X: Any, columns: Mapping[str, Any], noise: Noise) -> tuple[Any, dict[str, Any]]:
    """X without the columns that were called by name, and each argument as an array."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if X is None or not getattr(X, "shape", None):
        raise ValueError(f"X must have two dimensions, rows and columns, but is {X!r}")
    found: dict[str, Any] = {}
    for what, values in columns.items():
        if values is None:
            found[what] = None
        elif what == "y":
            found[what] = labels_of(X, values, noise)
        elif what == "offset" and noise.of_classes:
            found[what] = values
        else:
            found[what] = column(X, values, what)
    every = {**columns, **(ends_of(columns["y"]) if columns["y"] is not None else {})}
    named = [values for values in every.values() if isinstance(values, str)]
    return (_selected(X, [name for name in as_table(X).names if name not in named]) if named else X), found  # type: ignore[union-attr]


def _selected(X: Any, names: Any) -> Any:
    import narwhals.stable.v1 as nw

    return nw.from_native(X, eager_only=True).select(list(names)).to_native()


def _taken(X: Any, index: Numbers) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def read_valid(valid: Any, rows: Rows, features: Features, noise: Noise, classes: Numbers | None) -> Rows:
    """The rows held out for early stopping and estimates: (X, y) or (X, y, {"sample_weight": ..., "offset": ...})."""
    if not isinstance(valid, tuple | list) or not 2 <= len(valid) <= 3:
        raise TypeError(
            'valid must be (X, y), (X, y, {"sample_weight": ..., "offset": ..., "exposure": ...}), or the share of the '
            f"rows to hold out, but is a {type(valid).__name__}"
        )
    given = dict(valid[2]) if len(valid) == 3 else {}
    unknown = set(given) - set(BESIDE)
    if unknown:
        raise TypeError(f"valid takes {', '.join(BESIDE)} beside X and y, but got {', '.join(sorted(unknown))}")
    try:
        X = valid[0]
        values = beside(X, {name: given.get(name) for name in BESIDE}, features.named)
        held, own, _ = read_rows(X, valid[1], noise, values, classes, whole=False)  # these need not tell all
        if own.count != features.count or (features.names and own.names and own.names != features.names):
            held = Rows(features.read(held.X), held.y, held.weight, held.offset)
    except (ValueError, TypeError) as error:
        raise type(error)(f"valid: {error}") from None
    if (rows.offset is None) != (held.offset is None):
        which = "the training rows have" if rows.offset is not None else "valid has"
        raise ValueError(
            f"only {which} an offset or exposure; both need one, or neither: valid=(X, y, {{'offset': ...}})"
        )
    return held
