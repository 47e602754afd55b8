"""Rows of a Spark dataframe: a pass is one job, in which each executor sums over its partitions.

The driver adds what the partitions give in their order, whoever computed it.
"""

import pickle
import sys
from collections.abc import Callable, Iterator
from traceback import format_exc
from typing import Any

from neglog.engines.files import as_read
from neglog.engines.sources import Work, added, folded, piece_and_row


def is_spark(X: Any) -> bool:
    """Whether X is a Spark dataframe; Spark is asked only if something has imported it already."""
    module = sys.modules.get("pyspark.sql")
    return module is not None and isinstance(X, module.DataFrame)


class SparkRows:
    """The rows of a Spark dataframe.

    Every pass computes the frame anew and must find the same rows in the same partitions, so it is best read from files
    or kept by its cache(). Rows are counted at once, by a job that reads no columns: the first pass then knows how few
    of them make a sample. `watch(rows done, rows in all)` is called after each pass; `passes` counts them.
    """

    def __init__(self, frame: Any, *, watch: Callable[..., None] | None = None) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        names = frame.columns
        if len(set(names)) < len(names):
            raise ValueError(f"the columns of X must have different names, but they are {names}")
        self.watch, self.passes = watch, 0
        self.types = {field.name: as_read(field.type, "frame") for field in to_arrow_schema(frame.schema)}
        self.plain = {name: f"c{i}" for i, name in enumerate(names)}  # Spark reads dots in names as paths
        self.frame = frame.toDF(*self.plain.values())
        self.lengths: list[int] | None = None
        self.lengths, _ = self._job(lambda table, first: None, [])
        if not self.lengths:
            raise ValueError("there are no rows")

    def total(self, work: Work, columns: list[str], *, count: Callable[[Any], int] | None = None) -> Any:
        """The sum of the work over all rows."""
        self.passes += 1
        lengths, total = self._job(work, columns)
        if lengths != self.lengths:
            raise ValueError("the partitions of the Spark dataframe changed between passes; keep them by its cache()")
        if self.watch is not None:
            self.watch(sum(lengths), sum(lengths))
        return total

    def _job(self, work: Work, columns: list[str]) -> tuple[list[int], Any]:
        """The rows of each partition, up to the last that has some, and the sum of the work."""
        from pyspark.sql.functions import lit

        run = _summing(work, [(name, self.types[name]) for name in columns], self.lengths or [])
        read = self.frame.select([self.plain[name] for name in columns] or lit(0))
        found = sorted(read.mapInArrow(run, "piece long, rows long, sum binary").collect(), key=lambda row: row.piece)
        sums = [pickle.loads(row.sum) for row in found]
        for error in sums:
            if isinstance(error, Exception):
                raise error
        rows = {row.piece: row.rows for row in found if row.rows}
        return [rows.get(piece, 0) for piece in range(max(rows, default=-1) + 1)], folded(sums)

    def where(self, row: int) -> str:
        """The partition of a row, and the row's number in it."""
        piece, row = piece_and_row(row, self.lengths)
        return f"row {row:,} of partition {piece}"


def _summing(work: Work, reading: list[tuple[str, Any]], lengths: list[int]) -> Callable[[Any], Iterator[Any]]:
    """What an executor does with the Arrow batches of a partition: the sum of the work, or the error it raised."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext, cloudpickle

        piece, rows, total = TaskContext.get().partitionId(), 0, None
        first = sum(lengths[:piece])
        try:
            for batch in batches:
                table = pa.table({name: _as_arrow(batch.column(i), dtype) for i, (name, dtype) in enumerate(reading)})
                total, rows = added(total, work(table, first + rows)), rows + batch.num_rows
        except Exception as error:  # Spark would try again, and then tell the user its own story
            error.add_note(format_exc())
            total = error
        yield pa.RecordBatch.from_pydict({"piece": [piece], "rows": [rows], "sum": [cloudpickle.dumps(total)]})

    return run


def _as_arrow(column: Any, dtype: Any) -> Any:
    """A column in the type it is to have; strings by their codes."""
    from pyarrow.types import is_dictionary

    return column.cast(dtype.value_type).dictionary_encode() if is_dictionary(dtype) else column.cast(dtype)
