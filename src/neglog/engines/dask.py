"""Rows on a Dask cluster: files that its workers read, or the partitions of a Dask dataframe."""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from neglog.engines.cluster import TIMEOUT, Graph, OnCluster, Watch
from neglog.engines.files import ROWS_AT_ONCE, Files, as_read, batches
from neglog.engines.sources import piece_and_row


def is_dask(X: Any) -> bool:
    """Whether X is a Dask dataframe; Dask is asked only if something has imported it already."""
    module = sys.modules.get("dask.dataframe")
    return module is not None and isinstance(X, module.DataFrame)


class FilesOnCluster(OnCluster):
    """The rows of files, as of `Files`, read by the workers of a cluster: they see the same paths as the client."""

    smaller = "write files with smaller row groups"

    def __init__(self, paths: Any, *, client: Any = None, timeout: float = TIMEOUT, watch: Watch | None = None) -> None:
        self.files = Files(paths)
        super().__init__(self.files.types, self.files.pieces, client=client, timeout=timeout, watch=watch)
        self.lengths = self.files.lengths

    def _tables(self, columns: list[str]) -> tuple[Graph, list[tuple[Any, ...]]]:
        return {}, [(partial(batches, piece),) for piece in self.files.pieces]

    def where(self, row: int) -> str:
        """The file of a row, and the row's number in it."""
        self.files.lengths = self.lengths
        return self.files.where(row)


class Partitions(OnCluster):
    """The rows of a Dask dataframe. Every pass computes it anew, unless it was persisted."""

    smaller = "make partitions smaller (frame.repartition(npartitions=...))"

    def __init__(self, frame: Any, *, client: Any = None, timeout: float = TIMEOUT, watch: Watch | None = None) -> None:
        self.frame = frame
        self.keys = {str(key): key for key in frame.columns}  # pandas' names need not be strings
        if len(self.keys) < len(frame.columns):
            raise ValueError(f"the columns of X must have different names, but they are {list(frame.columns)}")
        pieces = [f"partition {i}" for i in range(frame.npartitions)]
        super().__init__(_types(frame._meta), pieces, client=client, timeout=timeout, watch=watch)

    def _tables(self, columns: list[str]) -> tuple[Graph, list[tuple[Any, ...]]]:
        chosen = self.frame[[self.keys[name] for name in columns]]
        plan = chosen.simplify().expr.lower_completely().fuse()  # optimize() would join partitions of few columns
        return dict(plan.__dask_graph__()), [
            (partial(_frame_batches, piece), key) for piece, key in zip(self.pieces, plan.__dask_keys__(), strict=True)
        ]

    def where(self, row: int) -> str:
        """The partition of a row, and the row's number in it."""
        piece, row = piece_and_row(row, self.lengths)
        return f"{self.pieces[piece]}, row {row:,}"


def _frame_batches(name: str, frame: Any, reading: list[tuple[str, Any]]) -> Iterator[Any]:
    """The rows of a pandas dataframe as Arrow tables like those of files."""
    import pyarrow as pa

    for start in range(0, len(frame), ROWS_AT_ONCE):
        rows = frame.iloc[start : start + ROWS_AT_ONCE]
        columns = {}
        for i, (column, dtype) in enumerate(reading):
            try:
                columns[column] = _as_arrow(rows.iloc[:, i], dtype)
            except pa.ArrowException as error:
                raise ValueError(f"{name}, column {column!r} cannot be read as {dtype}: {error}") from error
        yield pa.table(columns)


def _as_arrow(series: Any, dtype: Any) -> Any:
    """A column of pandas in the type it is to have; levels keep their codes."""
    import pyarrow as pa

    values = pa.array(series, from_pandas=True)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(dtype) and pa.types.is_dictionary(values.type):
        codes, levels = values.indices.cast(dtype.index_type), values.dictionary.cast(dtype.value_type)
        return pa.DictionaryArray.from_arrays(codes, levels)
    if pa.types.is_dictionary(dtype):
        return values.cast(dtype.value_type).dictionary_encode()
    return values.cast(dtype)


def _types(meta: Any) -> dict[str, Any]:
    """The types that the columns of an empty pandas dataframe are read as; objects are taken for strings."""
    import pyarrow as pa

    schema = pa.Schema.from_pandas(meta, preserve_index=False)
    return {
        field.name: as_read(pa.string() if pa.types.is_null(field.type) else field.type, "frame") for field in schema
    }
