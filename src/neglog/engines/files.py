"""Rows in files: Parquet, CSV or Arrow files, one or many, larger than memory.

A pass decodes pieces (row groups of a Parquet file, whole files otherwise) and works on them in as many threads as
there are processors; each thread holds one batch of rows, so that memory does not grow with the files. What the pieces
give is added in their order.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from neglog.design.files import ENDINGS, check_header, delimiter_of, kind_of_file, open_stream
from neglog.design.tables import quoted
from neglog.distributions.arrays import available_threads
from neglog.engines.sources import Work, added, first_rows, folded, piece_and_row

ROWS_AT_ONCE = 1 << 18  # of a batch
ROWS_OF_PIECE = 1 << 18  # row groups are put together until they have so many
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Piece:
    """Some row groups of a file, or all of it (`groups` None), with the columns that its directory names."""

    path: str
    kind: str
    stamp: tuple[int, int]  # size and time of change, by which a file that changed is told
    groups: tuple[int, ...] | None
    rows: int | None
    keys: tuple[tuple[str, Any], ...]
    first_in_file: int = 0
    as_written: tuple[tuple[str, Any], ...] = ()  # types of a text's columns of true and false, and of dates

    def __str__(self) -> str:
        if self.groups is None:
            return self.path
        last = f" to {self.groups[-1]}" if len(self.groups) > 1 else ""
        return f"{self.path}, row group{'s' if last else ''} {self.groups[0]}{last}"


class Files:
    """The rows of files that have the same columns.

    `paths` is a path, a glob, a directory (with key=value directories below it, if there are any) or a list of these.
    `watch(rows done, rows in all or None)` is called after each piece; `passes` counts the passes.
    """

    def __init__(self, paths: Any, *, threads: int | None = None, watch: Callable[..., None] | None = None) -> None:
        self.paths = _listed(paths)
        self.threads = threads or available_threads()
        self.watch = watch
        self.passes = 0
        self.types, self.pieces = _surveyed(self.paths)
        known = [piece.rows for piece in self.pieces]
        self.lengths: list[int] | None = None if None in known else [rows or 0 for rows in known]

    def without(self, names: Collection[str]) -> "Files":
        """The same files, these columns left out."""
        other = copy(self)
        other.types = {name: dtype for name, dtype in self.types.items() if name not in names}
        return other

    def total(self, work: Work, columns: list[str], *, count: Callable[[Any], int] | None = None) -> Any:
        """The sum of the work over all rows."""
        self.passes += 1
        reading = [(name, self.types[name]) for name in columns]
        firsts = first_rows(self.lengths, len(self.pieces))
        lengths: list[int] = []
        total = None
        everything = None if self.lengths is None else sum(self.lengths)
        for i, result in enumerate(self._in_order(work, reading, firsts)):
            total = added(total, result)
            lengths.append(_rows(count, result) if count is not None else (self.lengths or [0] * len(self.pieces))[i])
            if self.watch is not None:
                self.watch(sum(lengths), everything)
        if count is not None:
            self.lengths = lengths
        return total

    def _in_order(self, work: Work, reading: list[tuple[str, Any]], firsts: list[int]) -> Iterator[Any]:
        """Results piece by piece, a few pieces being worked on ahead of the one that is waited for."""
        stop = threading.Event()
        waiting: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                for piece, first in zip(self.pieces, firsts, strict=True):
                    waiting.append(pool.submit(run_piece, piece, work, reading, first, stop))
                    if len(waiting) > 2 * self.threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:  # an error, or an interrupt: the threads end at their next batch
                stop.set()
                for future in waiting:
                    future.cancel()

    def where(self, row: int) -> str:
        """The file of a row, and the row's number in it."""
        number, row = piece_and_row(row, self.lengths)
        piece = self.pieces[number]
        return f"row {row + piece.first_in_file:,} of {piece.path}"


def _rows(count: Callable[[Any], int], result: Any) -> int:
    """A piece without rows gives nothing."""
    return 0 if result is None else count(result)


class Stopped(Exception):  # noqa: N818 - nothing went wrong
    """Another piece failed, or the user interrupted."""


def run_piece(
    piece: Piece, work: Work, reading: list[tuple[str, Any]], first: int, stop: threading.Event | None = None
) -> Any:
    """The sum of the work over the batches of one piece."""

    def results() -> Iterator[Any]:
        row = first
        for table in batches(piece, reading):
            if stop is not None and stop.is_set():
                raise Stopped
            yield work(table, row)
            row += table.num_rows

    return folded(results())


def batches(piece: Piece, reading: list[tuple[str, Any]]) -> Iterator[Any]:
    """The rows of a piece as Arrow tables of at most some ten thousand rows, with these columns and types."""
    import pyarrow as pa

    keys = dict(piece.keys)
    own = {name: dtype for name, dtype in reading if name not in keys}
    _check_unchanged(piece)
    read = {"parquet": _parquet_batches, "arrow": _arrow_batches, "text": _text_batches}[piece.kind]
    try:
        for batch in read(piece, own):
            columns = [
                pa.repeat(pa.scalar(keys[name], dtype), batch.num_rows)
                if name in keys
                else as_type(batch.column(name), dtype)
                for name, dtype in reading
            ]
            # not pa.table, which would import pandas to see whether a column is one of its own
            yield pa.Table.from_arrays(columns, [name for name, _ in reading]) if columns else batch
        _check_unchanged(piece)
    except (pa.ArrowException, OSError) as error:
        _check_unchanged(piece)
        raise ValueError(f"{piece} cannot be read: {error}") from error


def _parquet_batches(piece: Piece, own: dict[str, Any]) -> Iterator[Any]:
    from pyarrow import parquet
    from pyarrow.types import is_dictionary, is_string

    coded = [name for name, dtype in own.items() if is_dictionary(dtype) and is_string(dtype.value_type)]
    with parquet.ParquetFile(
        piece.path, read_dictionary=coded
    ) as file:  # a map of a file that is cut short would crash
        yield from file.iter_batches(
            ROWS_AT_ONCE, row_groups=list(piece.groups or ()), columns=list(own), use_threads=False
        )


def _arrow_batches(piece: Piece, own: dict[str, Any]) -> Iterator[Any]:
    import pyarrow as pa

    with pa.memory_map(piece.path) as source, pa.ipc.open_file(source) as file:
        for i in range(file.num_record_batches):
            batch = file.get_batch(i).select(list(own))
            for start in range(0, batch.num_rows, ROWS_AT_ONCE):
                yield batch.slice(start, ROWS_AT_ONCE)


def _text_batches(piece: Piece, own: dict[str, Any]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    path = Path(piece.path)
    plain = {name: dtype.value_type if pa.types.is_dictionary(dtype) else dtype for name, dtype in own.items()}
    plain |= {name: dtype for name, dtype in piece.as_written if name in own}
    with csv.open_csv(
        open_stream(path),
        read_options=csv.ReadOptions(block_size=1 << 22, use_threads=False),  # whose errors name the line
        parse_options=csv.ParseOptions(delimiter=delimiter_of(path)),
        convert_options=csv.ConvertOptions(column_types=plain, include_columns=list(own), strings_can_be_null=True),
    ) as reader:
        yield from reader


def _check_unchanged(piece: Piece) -> None:
    try:
        now = stamp_of(piece.path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{piece.path} is no longer there: it was when the work began") from None
    if now != piece.stamp:
        raise ValueError(f"{piece.path} changed since the work began; nothing was computed from it: begin again")


def stamp_of(path: str) -> tuple[int, int]:
    """Size and time of change."""
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


# ---- which files, which columns --------------------------------------------------------------------------------------


def is_paths(X: Any) -> bool:
    """Whether X names files."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(path, str | os.PathLike) for path in X)
    return isinstance(X, str | os.PathLike)


def _listed(paths: Any) -> list[tuple[str, dict[str, Any]]]:
    """Every file, with the keys of its key=value directories."""
    found: list[tuple[str, dict[str, Any]]] = []
    for given in paths if isinstance(paths, list | tuple) else [paths]:
        text = os.fspath(given)
        if os.path.isdir(text):
            names = [os.path.join(folder, name) for folder, _, files in os.walk(text) for name in files]
            names = [name for name in names if _is_data(os.path.relpath(name, text))]
        elif os.path.exists(text):
            names = [text]
        else:
            names = [name for name in glob(text, recursive=True) if os.path.isfile(name)]
        if not names:
            raise FileNotFoundError(
                f"there is no file {text}" + (" with an ending that is known" if os.path.isdir(text) else "")
            )
        found += [(name, _keys(name)) for name in sorted(names)]
    keys = [set(own) for _, own in found]
    if any(own != keys[0] for own in keys):
        odd = next(name for (name, _), own in zip(found, keys, strict=True) if own != keys[0])
        raise ValueError(f"{odd} is not below the same key=value directories as {found[0][0]}")
    for key in keys[0]:
        _settle_type(key, [own for _, own in found])
    return found


def _is_data(relative: str) -> bool:
    """Whether a file below a directory is one of its tables: not hidden, not a writer's note to itself."""
    hidden = any(part.startswith((".", "_")) for part in Path(relative).parts)
    return not hidden and any(
        relative.lower().endswith(ending) or f"{ending}." in relative.lower() for ending in ENDINGS
    )


def _keys(path: str) -> dict[str, Any]:
    parts = [part.partition("=") for part in Path(path).parts[:-1] if "=" in part]
    return {key: None if value == NO_VALUE else unquote(value) for key, _, value in parts}


def _settle_type(key: str, owners: list[dict[str, Any]]) -> None:
    """The values of a key become numbers if all of them are."""
    try:
        numbers = [None if own[key] is None else float(own[key]) for own in owners]
    except ValueError:
        return
    for own, number in zip(owners, numbers, strict=True):
        own[key] = number


def _surveyed(paths: list[tuple[str, dict[str, Any]]]) -> tuple[dict[str, Any], list[Piece]]:
    """The columns that all files have, with their types, and the pieces."""
    import pyarrow as pa

    types: dict[str, Any] = {}
    pieces: list[Piece] = []
    for path, keys in paths:
        kind, stamp = kind_of_file(Path(path)), stamp_of(path)
        try:
            own, found = _opened(path, kind, stamp, tuple(keys.items()))
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from error
        for key, value in keys.items():
            own[key] = pa.float64() if isinstance(value, float) else _coded(pa.string())
        types = own if not types else _agreed(types, own, paths[0][0], path)
        pieces += found
    if not types:
        raise ValueError(f"{paths[0][0]} has no columns")
    return types, pieces


def _opened(path: str, kind: str, stamp: tuple[int, int], keys: Any) -> tuple[dict[str, Any], list[Piece]]:
    """The columns of one file as they will be read, and its pieces."""
    import pyarrow as pa

    if kind == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        pieces, start, first = [], 0, 0
        for end in range(1, len(sizes) + 1):
            rows = sum(sizes[start:end])
            if rows >= ROWS_OF_PIECE or end == len(sizes):
                pieces.append(Piece(path, kind, stamp, tuple(range(start, end)), rows, keys, first))
                start, first = end, first + rows
    elif kind == "arrow":
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            schema = file.schema
            rows = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
        pieces = [Piece(path, kind, stamp, None, rows, keys)]
    else:
        from pyarrow import csv

        parsing = csv.ParseOptions(delimiter=delimiter_of(Path(path)))
        with csv.open_csv(open_stream(Path(path)), parse_options=parsing) as reader:
            schema = reader.schema
        as_written = tuple(
            (field.name, field.type)
            for field in schema
            if pa.types.is_boolean(field.type) or kind_of_type(field.type) == "date"
        )
        pieces = [Piece(path, kind, stamp, None, None, keys, as_written=as_written)]
    check_header(schema.names, Path(path))
    return {field.name: as_read(field.type, kind) for field in schema}, pieces


def as_read(dtype: Any, kind: str) -> Any:
    """The type a column is read as: strings by their codes, and the whole numbers of a text as numbers, because a later
    line may hold others.
    """
    import pyarrow as pa

    values = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    if pa.types.is_string(values) or pa.types.is_large_string(values):
        return _coded(pa.string())
    if pa.types.is_dictionary(dtype):
        return _coded(values)
    if kind == "text" and (pa.types.is_integer(dtype) or pa.types.is_null(dtype)):
        return pa.float64()
    return dtype


def _coded(dtype: Any) -> Any:
    import pyarrow as pa

    return pa.dictionary(pa.int32(), dtype)


def _agreed(types: dict[str, Any], own: dict[str, Any], before: str, path: str) -> dict[str, Any]:
    """Types of columns that both have; refused where they differ."""
    absent = [name for name in types if name not in own]
    if absent:
        raise ValueError(f"{path} lacks the columns {quoted(absent)}, which {before} has")
    added_ones = [name for name in own if name not in types]
    if added_ones:
        raise ValueError(f"{path} has the columns {quoted(added_ones)}, which {before} has not")
    agreed = {name: _common_type(dtype, own[name]) for name, dtype in types.items()}
    for name, dtype in agreed.items():
        if dtype is None:
            raise ValueError(f"the column {name!r} is {own[name]} in {path}, but {types[name]} in {before}")
    return agreed


def _common_type(one: Any, other: Any) -> Any:
    """The type that both can be read as: numbers of different widths as float64, dates as moments; None if there is
    none.
    """
    import pyarrow as pa

    if one == other:
        return one
    kind = kind_of_type(one)
    wide = {"numeric": pa.float64(), "date": pa.timestamp("us")}
    return wide.get(kind) if kind_of_type(other) == kind else None


def as_type(column: Any, dtype: Any) -> Any:
    """A column of a file in the type that it has in all files; levels keep their codes."""
    import pyarrow as pa

    if column.type == dtype:
        return column
    if not pa.types.is_dictionary(dtype):
        return column.cast(dtype, safe=False)  # large whole numbers are rounded, as in any sum of them
    if not pa.types.is_dictionary(column.type):
        return column.cast(dtype.value_type).dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([as_type(chunk, dtype) for chunk in column.chunks], dtype)
    return pa.DictionaryArray.from_arrays(
        column.indices.cast(dtype.index_type), column.dictionary.cast(dtype.value_type)
    )


def kind_of_type(dtype: Any) -> str:
    """The word for what a column of an Arrow type holds: numeric, date, categorical, or the type's own name."""
    from pyarrow import types

    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_boolean(dtype) or types.is_decimal(dtype):
        return "numeric"
    if types.is_dictionary(dtype) or types.is_string(dtype) or types.is_large_string(dtype):
        return "categorical"
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return "date"
    return str(dtype)


def is_whole(dtype: Any) -> bool:
    """Whether a column of an Arrow type holds whole numbers as they are."""
    from pyarrow import types

    return bool(types.is_integer(dtype) or types.is_boolean(dtype))
