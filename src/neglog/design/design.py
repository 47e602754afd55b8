"""The design: blocks of columns in the order of the coefficients, and the schema that gives new data the same order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neglog.design import tables
from neglog.design.arrays import as_array, check_shape, dense_block, unmasked
from neglog.design.blocks import Basis, Block, Codes, Dense, Sparse, is_sparse, rows_of
from neglog.design.faults import Fault, refusal
from neglog.design.functions import applied, function_of
from neglog.design.parts import Part, built, check_columns, chosen_terms
from neglog.design.tables import Level, Table, as_table, quoted
from neglog.design.terms import Factor, Terms, checked_terms
from neglog.printing import did_you_mean
from neglog.typing import Array


@dataclass(frozen=True)
class Column:
    """One column of a table: numbers, dates, or a category with these levels.

    `fill` stands for the missing values of numbers and dates; a coefficient of its own then says where they are. A
    category keeps its missing values as the level "(missing)". With `reference` the first level of a category has no
    coefficient.
    """

    name: str
    levels: tuple[Level, ...] | None = None
    dates: bool = False
    fill: float | None = None
    reference: bool = False
    function: str | None = None  # of another column: its name is then that of both, as in log(power)

    @property
    def source(self) -> str:
        """The column of the table that it is, or is a function of."""
        return self.name if self.function is None else self.name[len(self.function) + 1 : -1]

    @property
    def kind(self) -> str:
        """The word for it: numeric, date or categorical."""
        return "categorical" if self.levels is not None else "date" if self.dates else "numeric"

    @property
    def takes_missing(self) -> bool:
        """Whether it has a value for what is missing."""
        return self.fill is not None if self.levels is None else tables.MISSING in self.levels

    @property
    def coefficients(self) -> list[str]:
        """The names of its coefficients: its own, or one per level, as in Area[B]."""
        if self.levels is None:
            return [self.name] if self.fill is None else [self.name, f"{self.name} missing"]
        return [f"{self.name}[{level}]" for level in self.levels[int(self.reference) :]]


@dataclass(frozen=True)
class Gap:
    """Where a column lacks values, beside a curve of it."""

    column: str

    @property
    def coefficients(self) -> list[str]:
        """One, as of a column that is used as it is."""
        return [f"{self.column} missing"]

    def block(self, base: Mapping[str, list[Block]]) -> Block:
        """The second block of the column."""
        return base[self.column][1]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"gap": self.column}


@dataclass(frozen=True)
class Schema:
    """What the columns of X meant when it was read. `read` gives new data the same coefficients in the same order.

    `table` holds the columns of a table by name; it is None for an array, whose columns only have a number.
    `terms` are what is made of them, if that is not each by itself: some of the columns as they are, and parts.
    `inputs` counts the columns of X, `columns` the coefficients.
    """

    inputs: int
    table: tuple[Column, ...] | None = None
    terms: tuple[Column | Gap | Part, ...] | None = None
    shares: Mapping[str, tuple[int, ...]] | None = None  # of the terms: those of "location" and of what is modelled

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients; x0, x1, … for an array."""
        if self.table is None:
            return tuple(f"x{column}" for column in range(self.inputs))
        return tuple(name for part in self.parts for name in part.coefficients)

    @property
    def parts(self) -> tuple[Column | Gap | Part, ...]:
        """What stands side by side: the columns of a table, or its terms."""
        return (self.table or ()) if self.terms is None else self.terms

    def kept(self, predictor: str) -> Array:
        """Which coefficients the location has ("location"), or a parameter that is modelled: a mask."""
        if self.shares is None:
            return np.ones(self.columns, bool)
        own = self.shares[predictor]
        return np.concatenate(
            [np.empty(0, bool), *(np.full(len(part.coefficients), k in own) for k, part in enumerate(self.parts))]
        )

    @property
    def columns(self) -> int:
        """The number of coefficients."""
        return self.inputs if self.table is None else len(self.names)

    @property
    def by_name(self) -> bool:
        """Whether columns are found by their names, so that others may stand beside them."""
        return self.table is not None

    @property
    def categorical(self) -> list[str]:
        """The names of the categorical columns."""
        return [column.name for column in self.table or () if column.levels is not None]

    def read(self, X: Any) -> "Design":
        """New data as a design with the coefficients of this schema.

        A table is matched by the names of its columns, an array by their number. Levels that the schema does not know
        get the code -1 and are counted in `Design.unseen`.
        """
        source = _opened(X)
        if not isinstance(source, Table):
            return self._design_of_array(source)
        return self._design_of_numbers(source) if self.table is None else self._design_of_table(source, self.table)

    def _design_of_array(self, block: Dense | Sparse) -> "Design":
        if self.categorical:
            raise TypeError(
                f"the model was made from a table in which {quoted(self.categorical)} are categories; "
                f"X must be a table with these columns, not an array"
            )
        self._check_count(block.columns)
        return Design((block,), block.rows, block.columns, self)

    def _design_of_numbers(self, table: Table) -> "Design":
        """A table for a model of an array: its columns are taken in the order in which they stand."""
        self._check_count(len(table.names))
        categories = [name for name, kind in _kinds(table, table.names).items() if kind == "categorical"]
        if categories:
            raise TypeError(
                f"the model was made from an array of numbers, but the columns {quoted(categories)} of X are categories"
            )
        blocks = tuple(block for name in table.names for block in _numbers(table, Column(name)))
        return Design(blocks, table.rows, len(blocks), self)

    def _design_of_table(self, table: Table, columns: tuple[Column, ...]) -> "Design":
        present = set(table.names)
        absent = list(dict.fromkeys(column.source for column in columns if column.source not in present))
        if absent:
            raise ValueError(
                f"X lacks the columns {quoted(absent)} of the model; it has {quoted(table.names) or 'no columns'}"
                f"{did_you_mean(absent, table.names)}"
            )
        gaps = [column for column in columns if column.levels and column.takes_missing]
        table = _with_missing_levels(table, [c.name for c in gaps if not tables.are_numbers(c.levels or ())])
        sources = list(dict.fromkeys(column.source for column in columns))
        kinds = _kinds(table, sources, {column.source for column in columns if column.takes_missing})
        base: dict[str, list[Block]] = {}
        unseen = {}
        for column in columns:
            if column.levels is None:
                if kinds[column.source] != column.kind:
                    raise TypeError(
                        f"the column {column.source!r} of X held {'dates' if column.dates else 'numbers'} when the "
                        f"model was made, but is now {kinds[column.source]} ({table.series(column.source).dtype})"
                    )
                base[column.name] = _numbers(table, column)
                continue
            codes = _known_codes(table, column.name, column.levels, kinds[column.name])
            unknown = int(np.count_nonzero(codes < 0))
            if unknown and column in self.parts:  # of a group they have the prior
                unseen[column.name] = unknown
            base[column.name] = [Codes(codes, column.levels, column.reference)]
        return Design(self.blocks(base), table.rows, self.columns, self, unseen)

    def blocks(self, base: Mapping[str, list[Block]]) -> tuple[Block, ...]:
        """What is made of the blocks of the columns of a table."""
        return tuple(
            block
            for part in self.parts
            for block in (base[part.name] if isinstance(part, Column) else [part.block(base)])
        )

    def _check_count(self, given: int) -> None:
        if given != self.inputs:
            raise ValueError(f"the model was made from {self.inputs} columns, but X has {given}")

    def to_json(self) -> dict[str, Any]:
        """The schema as a dict of plain values."""
        table = self.table
        flags = [column.reference for column in table or ()]
        functions = [column.function for column in table or ()]
        mixed = len({column.reference for column in table or () if column.levels is not None}) > 1
        return {
            "columns": self.inputs,
            "names": None if table is None else [column.name for column in table],
            "kinds": None if table is None else [column.kind for column in table],
            "levels": None if table is None else [column.levels and list(column.levels) for column in table],
            "fill": None if table is None else [column.fill for column in table],
            "reference": flags if mixed else any(flags),
            **({"functions": functions} if any(functions) else {}),
            **({} if self.terms is None else {"terms": [_part_to_json(part) for part in self.terms]}),
            **({} if self.shares is None else {"shares": {name: list(own) for name, own in self.shares.items()}}),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The schema that `to_json` described."""
        if stored["names"] is None:
            return cls(stored["columns"])
        functions = stored.get("functions") or [None] * len(stored["names"])
        own = (stored["names"], stored["kinds"], stored["levels"], stored["fill"], reference_flags(stored), functions)
        table = tuple(
            Column(name, None if levels is None else tuple(levels), kind == "date", fill, reference, function)
            for name, kind, levels, fill, reference, function in zip(*own, strict=True)
        )
        terms = stored.get("terms")
        if terms is None:
            return cls(stored["columns"], table)
        by_name = {column.name: column for column in table}
        shares = stored.get("shares")
        shares = None if shares is None else {name: tuple(places) for name, places in shares.items()}
        return cls(stored["columns"], table, tuple(_part_from_json(part, by_name) for part in terms), shares)


def _part_to_json(part: Column | Gap | Part) -> Any:
    """A term as plain values: a column by its name."""
    return part.name if isinstance(part, Column) else part.to_json()


def _part_from_json(stored: Any, columns: Mapping[str, Column]) -> Column | Gap | Part:
    if isinstance(stored, str):
        return columns[stored]
    return Gap(stored["gap"]) if "gap" in stored else Part.from_json(stored)


def reference_flags(stored: Mapping[str, Any]) -> list[bool]:
    """Which columns of a stored schema are categories with a reference level: one word for all, or one for each."""
    said, levels = stored["reference"], stored["levels"]
    return said if isinstance(said, list) else [said and own is not None for own in levels]


@dataclass(frozen=True, eq=False)
class Design:
    """X as blocks side by side, in the order of the coefficients: that of its columns, a category expanded in place.

    `unseen` counts, by column, the rows with a level that the schema does not know; `notes` says what was done to
    columns that could not be used as they were.
    """

    blocks: tuple[Block, ...]
    rows: int
    columns: int
    schema: Schema
    unseen: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coefficients."""
        return self.rows, self.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self.schema.names

    def unseen_spread(self, variances: Array) -> Array:
        """What the raw prediction of each row lacks of a group, or of another term by level, whose level is not known:
        the variance of its prior. `variances` are those of the coefficients, the same for all levels of a term.
        """
        out = np.zeros(self.rows)
        start, blocks = 0, iter(self.blocks)
        for part in self.schema.parts:
            count = len(part.coefficients)
            of_part = [next(blocks)]
            while sum(block.columns for block in of_part) < count:
                of_part.append(next(blocks))
            block = of_part[0]
            if isinstance(part, Part) and part.factors and isinstance(block, Codes | Basis):
                lost = np.flatnonzero(block.codes < 0) if block.codes is not None else np.empty(0, int)
                own = variances[start : start + count // part.levels]
                values = block.rows_of(lost).values_of_level() if isinstance(block, Basis) else np.ones((len(lost), 1))
                out[lost] += values**2 @ own
            start += count
        return out

    def check_finite(self) -> None:
        """Refuse NaN and infinities, by column, with their counts and first rows.

        This scans all numbers, so reading does not do it: call it when a pass over the data gave a number that is not
        finite, to say why.
        """
        faults = list(self._faults())
        if faults:
            raise refusal(faults)

    def _faults(self) -> Iterator[Fault]:
        start = 0
        for block in self.blocks:
            for column, missing, infinite in block.nonfinite():
                name = self.names[start + column]
                if len(missing):
                    yield Fault.at(name, "missing", missing)
                if len(infinite):
                    yield Fault.at(name, "infinite", infinite)
            start += block.columns


def read(
    X: Any,
    *,
    reference: bool = False,
    intercept: bool = True,
    missing: str = "error",
    rare: int = 0,
    weight: NDArray[Any] | None = None,
    terms: Any = None,
    modelled: Mapping[str, Any] | None = None,
) -> Design:
    """X as a design: a NumPy array, a SciPy sparse matrix, a list of rows, or a dataframe that narwhals knows.

    An array or a matrix is one block. In a table each column of numbers or booleans is a block, dates are days, and
    each column of strings or categories is a block of codes with the sorted levels that occur. `reference=True` leaves
    the first level without a coefficient; where there is to be no intercept, the first category stands in its place and
    keeps all its levels. Levels of fewer than `rare` rows have none either: their effect is 0.

    Missing values are refused, though NaN among floats only by `Design.check_finite`. With missing="impute" those of a
    number or date are its mean (over the rows, each counted by its weight), with a column that says where they are, and
    those of a category are a level of their own.

    With `terms` the design is made of these: a list of names of columns and of `smooth`, `group` and `interaction`, or
    "smooth", which chooses by the columns. `modelled` has those of parameters of the noise that have terms of their
    own, and None for those that have the location's.
    """
    source = _opened(X)
    if not isinstance(source, Table):
        if terms is not None or any(own is not None for own in (modelled or {}).values()):
            raise TypeError("terms are of columns with names, but X is an array without; make a table of it")
        if missing == "impute":
            Design((source,), source.rows, source.columns, Schema(source.columns)).check_finite()
        return Design((source,), source.rows, source.columns, Schema(source.columns))
    stated = TermsByPredictor.of(terms, modelled, source.names)
    derived: dict[str, tuple[str, str]] = {}
    if stated is not None and stated.columns is not None:
        found = {name: function_of(name, source.names) for name in stated.columns}
        derived = {name: own for name, own in found.items() if own is not None}
        check_columns([name for name in stated.columns if name not in derived], source.names)
        needed = {*stated.columns, *(column for _, column in derived.values())}
        source = source.without(set(source.names) - needed)
    gaps = {fault.column: fault.count for fault in source.gaps(source.names)} if missing == "impute" else {}
    kinds = _kinds(source, source.names, set(gaps))
    grouped = set() if stated is None else stated.grouped_numbers(kinds)
    source = _with_missing_levels(source, [name for name in gaps if kinds[name] == "categorical"])
    columns: list[Column] = []
    base: dict[str, list[Block]] = {}
    notes: list[str] = []
    for name, (function, of) in derived.items():
        if kinds[of] != "numeric":
            raise TypeError(f"{name} needs a column of numbers, but {of!r} is {kinds[of]}")
        values = applied(function, _with_nan(source, of, dates=False))
        known = np.isfinite(values) if weight is None else np.isfinite(values) & (weight > 0)
        fill = (
            float(np.average(values[known], weights=None if weight is None else weight[known])) if of in gaps else None
        )
        columns.append(Column(name, fill=fill, function=function))
        base[name] = _numbers(source, columns[-1])
    as_they_are = kinds if stated is None or stated.columns is None else stated.columns
    for name, kind in kinds.items():
        if name not in as_they_are:
            continue
        if kind == "categorical" or name in grouped:
            codes, values = _number_codes(source, name, name in gaps) if name in grouped else _codes(source, name)
            levels = tables.sorted_levels(values.values())
            if kind == "categorical" and not tables.is_declared(source.series(name)):
                tables.refuse_commas(levels, f"the column {name!r} of X")
            block = Codes(tables.recode(codes, values, levels), levels, has_reference(columns, reference, intercept))
            if rare:
                block = _without_rare(block, name, rare, notes)
            columns.append(Column(name, block.levels, reference=block.reference))
            base[name] = [block]
            if name in gaps:
                notes.append(f"{name}: {gaps[name]:,} missing values are a level of their own")
            continue
        column = Column(name, dates=kind == "date", fill=_mean(source, name, kind, weight) if name in gaps else None)
        columns.append(column)
        base[name] = _numbers(source, column)
        if column.dates:
            notes.append(f"{name}: dates are days since 1970-01-01")
        if column.fill is not None:
            notes.append(
                f"{name}: {gaps[name]:,} missing values are the mean, {column.fill:.6g}, and a column says where"
            )
    schema = Schema(len(columns), tuple(columns))
    if stated is not None:
        schema = with_terms(schema, stated, base, weight, notes)
    return Design(schema.blocks(base), source.rows, schema.columns, schema, notes=tuple(notes))


@dataclass(frozen=True)
class TermsByPredictor:
    """The terms of the location, None for those that suit the columns, and of what is modelled, None for the same."""

    location: Terms | None
    modelled: Mapping[str, Terms | None]

    @classmethod
    def of(cls, terms: Any, modelled: Mapping[str, Any] | None, names: Sequence[str]) -> "TermsByPredictor | None":
        """What was stated: a list, "smooth", or None for every column as it is. None if there are no terms at all."""
        own = {name: None if one is None else checked_terms(one) for name, one in (modelled or {}).items()}
        if terms is None:
            return cls(Terms(tuple(names)), own) if any(one is not None for one in own.values()) else None
        return cls(None if isinstance(terms, str) and terms == "smooth" else checked_terms(terms), own)

    @property
    def all(self) -> list[Terms]:
        """All that were stated."""
        return [one for one in (self.location, *self.modelled.values()) if one is not None]

    @property
    def columns(self) -> list[str] | None:
        """The columns that are needed, each once; None for all."""
        if self.location is None:
            return None
        return list(dict.fromkeys(name for one in self.all for name in one.columns))

    def grouped_numbers(self, kinds: Mapping[str, str]) -> set[str]:
        """The columns of numbers whose values are levels, because a term says so."""
        grouped = {name for one in self.all for name in one.grouped}
        for name in sorted(grouped):
            if name not in kinds:
                raise TypeError(f"group({name!r}): levels are of a column, not of a function of one; group that column")
            if kinds[name] == "date":
                raise TypeError(
                    f"group({name!r}) needs a column of texts, categories or numbers, but {name!r} holds dates; make a "
                    "column of what days have in common, such as their month, or texts of them"
                )
        return {name for name in grouped if kinds[name] == "numeric"}


def with_terms(
    schema: Schema,
    stated: TermsByPredictor,
    base: Mapping[str, list[Block]],
    weight: Any,
    notes: list[str],
    ends: Mapping[str, tuple[float, float]] | None = None,
) -> Schema:
    """The schema with terms made for these rows. A term that is a column as it is, is that column. `ends` are those of
    columns of which these rows are but some. Rows without weight say nothing about where a curve may bend.
    """
    if weight is not None and not weight.all():
        counted = np.flatnonzero(weight)
        base = {name: [rows_of(block, counted) for block in blocks] for name, blocks in base.items()}
        weight = weight[counted]
    own = {column.name: column for column in schema.table or ()}
    location = chosen_terms(base) if stated.location is None else stated.location
    by_name = {str(item): item for one in (location, *stated.all) for item in one}
    made = {
        name: own[name] if isinstance(item, str | Factor) else built(item, base, weight, ends or {}, notes)
        for name, item in by_name.items()
    }
    found = {name: own[part] if isinstance(part, str) else part for name, part in made.items()}
    parts: list[Column | Gap | Part] = list(dict.fromkeys(found.values()))
    gaps = [Gap(name) for name, column in own.items() if column.fill is not None and column not in parts]
    whole = replace(schema, terms=(*parts, *gaps))
    if not any(one is not None for one in stated.modelled.values()):
        return whole
    shares = {}
    for predictor, one in {"location": location, **stated.modelled}.items():
        items = location if one is None else one
        places = [parts.index(found[str(item)]) for item in items]
        places += [len(parts) + k for k, gap in enumerate(gaps) if gap.column in items.columns]
        shares[predictor] = tuple(sorted(set(places)))
    return replace(whole, shares=shares)


def has_reference(before: list[Column], reference: bool, intercept: bool) -> bool:
    """Whether the category that comes after these columns has a reference level: without an intercept, the first one
    says what the intercept would.
    """
    return reference and (intercept or any(column.levels is not None for column in before))


def _without_rare(block: Codes, name: str, least: int, notes: list[str]) -> Codes:
    """Levels of few rows get the code -1: their effect is 0, the middle of the prior."""
    counts = np.bincount(block.codes, minlength=len(block.levels))
    kept = counts >= least
    if kept.all():
        return block
    if not kept.any():
        raise ValueError(
            f"each level of the column {name!r} has fewer than {least} rows; lower rare, or leave the column out"
        )
    few = int(np.count_nonzero(~kept))
    notes.append(
        f"{name}: {few:,} of {len(kept):,} levels have fewer than {least:,} rows, {counts[~kept].sum():,} in all; "
        "their effect is 0"
    )
    place = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    levels = tuple(level for level, keep in zip(block.levels, kept, strict=True) if keep)
    return Codes(place[block.codes], levels, block.reference)


def _opened(X: Any) -> Dense | Sparse | Table:
    """X as one block or as a table with at least one row, or the error that says what X may be."""
    if type(X) is np.ndarray:
        return dense_block(X)
    if is_sparse(X):
        check_shape(X.shape)
        return Sparse.of(X)
    if isinstance(X, np.ma.MaskedArray):
        return dense_block(unmasked(X))
    if isinstance(X, np.ndarray | list | tuple):
        return dense_block(as_array(X))
    table = as_table(X)
    if table is not None:
        if table.rows == 0:
            raise ValueError(f"X must have at least one row, but is a table of the shape {table.shape}")
        return table
    given = f"{type(X).__module__}.{type(X).__qualname__}"
    if tables.as_series(X) is not None:
        raise ValueError(f"X must have rows and columns, but is one column ({given}); make a table with X.to_frame()")
    if any(hasattr(X, sign) for sign in ("collect", "compute", "__dataframe__")):
        raise TypeError(f"X is a {given}, whose rows are not a table in memory; collect it into one first")
    if hasattr(X, "__array__"):  # tensors and the like
        return dense_block(np.asarray(X))
    raise TypeError(
        f"X must be a NumPy array, a SciPy sparse matrix, a list of rows or a dataframe (pandas, polars, Arrow), "
        f"but is a {given}"
    )


# ---- tables ----------------------------------------------------------------------------------------------------------


def _kinds(table: Table, names: list[str], incomplete: Collection[str] = ()) -> dict[str, str]:
    """The kind of each of these columns, all of a type that can be used, and complete but for those that need not."""
    missing = table.missing([name for name in names if name not in incomplete])
    if missing:
        raise refusal(missing)
    kinds = {name: tables.kind_of(table.series(name)) for name in names}
    if not set(kinds.values()) <= tables.KINDS:
        raise tables.unsupported((name, kind) for name, kind in kinds.items() if kind not in tables.KINDS)
    return kinds


def _with_missing_levels(table: Table, names: list[str]) -> Table:
    return table.with_series({name: tables.named_missing(table.series(name)) for name in names}) if names else table


def _mean(table: Table, name: str, kind: str, weight: NDArray[Any] | None) -> float:
    values = _with_nan(table, name, dates=kind == "date")
    known = ~np.isnan(values) if weight is None else ~np.isnan(values) & (weight > 0)
    if not known.any():
        raise no_values(name, weight is not None)
    return float(np.average(values[known], weights=None if weight is None else weight[known]))


def no_values(name: str, weighted: bool) -> ValueError:
    """The error for a column whose missing values have no mean to take."""
    where = " in any row that counts" if weighted else " at all"
    return ValueError(f"the column {name!r} of X has no values{where}; leave it out")


def _with_nan(table: Table, name: str, *, dates: bool) -> NDArray[Any]:
    """A column of numbers or dates that may lack values."""
    series = table.series(name)
    return tables.days_of(series) if dates else tables.numbers_or_nan(series)


def _numbers(table: Table, column: Column) -> list[Block]:
    """The numbers of a column and, if it takes missing values, where they are."""
    if column.fill is None:
        series = table.series(column.source)
        values = tables.days_of(series) if column.dates else tables.numbers_of(series)
        if column.function is not None:
            values = applied(column.function, values)
        return [Dense.of(values[:, np.newaxis])]
    values = _with_nan(table, column.source, dates=column.dates)
    lost = np.isnan(values)
    if column.function is not None:
        values = applied(column.function, values)
    filled = np.where(lost, column.fill, values)
    return [Dense.of(filled[:, np.newaxis]), Dense.of(lost[:, np.newaxis])]


def _codes(table: Table, name: str) -> tuple[NDArray[Any], dict[int, Any]]:
    codes, values = tables.codes_of(table.series(name))
    missing = tables.coded_nulls(codes, values)
    if len(missing):
        raise refusal([Fault.at(name, "missing", missing)])
    return codes, values


def _number_codes(table: Table, name: str, incomplete: bool) -> tuple[NDArray[Any], dict[int, Any]]:
    """Numbers as levels; what is missing is one of them where it may be."""
    codes, values = tables.number_codes(table.series(name))
    if not incomplete and tables.MISSING in values.values():
        raise refusal([Fault.at(name, "missing", tables.missing_in(table.series(name)))])
    return codes, values


def _known_codes(table: Table, name: str, levels: tuple[Level, ...], kind: str) -> NDArray[np.int32]:
    series = table.series(name)
    if kind == "categorical":
        codes, values = _codes(table, name)
        if tables.are_numbers(levels) and values and all(isinstance(value, str) for value in values.values()):
            raise TypeError(
                f"the column {name!r} of X held numbers when the model was made, such as {levels[0]!r}, but now holds "
                f"texts, such as {next(iter(values.values()))!r}"
            )
        return tables.recode(codes, values, levels)
    if not tables.are_numbers(levels):
        raise TypeError(
            f"the column {name!r} of X held strings or categories when the model was made, such as {levels[0]!r}, "
            f"but now holds numbers ({series.dtype})"
        )
    return tables.recode(*_number_codes(table, name, tables.MISSING in levels), levels)
