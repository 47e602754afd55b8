"""From a fit and tables in files to predictions in others, some rows at a time."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neglog.atomic import umask, written_whole
from neglog.design.files import open_batches
from neglog.design.tables import quoted
from neglog.printing import did_you_mean


def predict_file(
    fit: Any,
    table: Path,
    output: Path | None,
    levels: list[float],
    *,
    named: dict[str, str],
    keep: list[str],
    tell: Callable[[int], None],
) -> None:
    """Predictions for every row of a table, written to the output or, without one, as CSV to the standard output.

    `named` says which columns are exposure and offset, `keep` which are copied; `tell` hears how many rows are done.
    """
    _check_levels(fit, levels)
    writers = {".parquet": _write_parquet, ".csv": _write_csv}
    if output is not None and output.suffix.lower() not in writers:
        raise ValueError(f"predictions are written to .parquet or .csv files, not to {output.name!r}")
    batches = _predictions(fit, table, levels, named, keep, tell)
    if output is None:
        _write_csv(batches, sys.stdout.buffer)
        return
    with written_whole(output) as file:
        writers[output.suffix.lower()](batches, file)


def _predictions(
    fit: Any, path: Path, levels: list[float], named: dict[str, str], keep: list[str], tell: Callable[[int], None]
) -> Iterator[Any]:
    import pyarrow as pa

    for table in open_batches(path, _types(fit, named, keep)):
        absent = [name for name in [*named.values(), *keep] if name not in table.column_names]
        if absent:
            raise ValueError(_lacks(path, absent, table.column_names))
        yield pa.table(_columns(fit, table, levels, named, keep))
        tell(table.num_rows)


def _lacks(what: Any, absent: list[str], names: Iterable[str]) -> str:
    return f"{what} lacks the columns {quoted(absent)}; it has {quoted(names)}{did_you_mean(absent, names)}"


def _check_levels(fit: Any, levels: list[float]) -> None:
    if levels and fit.noise.of_classes:
        raise ValueError("classes have no quantiles; leave them out")
    if levels and fit.noise.batch_shape:
        raise ValueError("the predictions of this fit are quantiles already, those it was fitted for; leave them out")


def _columns(fit: Any, table: Any, levels: list[float], named: dict[str, str], keep: list[str]) -> dict[str, Any]:
    """Predictions for the rows of a table, beside the columns that are copied."""
    law = fit.distribution(table, **named)
    columns: dict[str, Any] = {name: table.column(name) for name in keep}
    if law.labelled:
        columns |= {f"probability of {label}": law.p[:, k] for k, label in enumerate(fit.classes)}
        places = {f"q{level:g}": law.icdf(np.full(law.batch_shape, level)) for level in levels}  # of ordered ones
        return columns | {name: fit.classes[place.astype(int)] for name, place in places.items()}
    point = np.asarray(law.point(), float)
    if point.ndim == 2:  # of several quantiles
        return columns | {f"q{level:g}": point[:, k] for k, level in enumerate(fit.quantiles)}
    columns["prediction"] = point
    for level in levels:
        columns[f"q{level:g}"] = np.asarray(law.icdf(np.full(law.batch_shape, level)), float)
    return columns


# ---- many files ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PredictionWork:
    """Predictions for the rows of one table, written as a file of the output."""

    fit: Any
    levels: list[float]
    named: dict[str, str]
    keep: list[str]
    directory: str

    def __call__(self, table: Any, first: int) -> int:
        import pyarrow as pa
        from pyarrow import parquet

        found = pa.table(_columns(self.fit, table, self.levels, self.named, self.keep))
        parquet.write_table(found, os.path.join(self.directory, f"part-{first:015d}.parquet"))
        return int(table.num_rows)


def predict_source(
    fit: Any, source: Any, output: Path, levels: list[float], *, named: dict[str, str], keep: list[str]
) -> int:
    """Predictions for every row of a source as a directory of Parquet files, in the order of the rows; their number.

    The directory appears only when it is complete.
    """
    _check_levels(fit, levels)
    if output.exists():
        raise FileExistsError(f"{output} is already there; predictions of many files are written to a new directory")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {output.parent} to write {output.name} to")
    needed = list(dict.fromkeys([*_types(fit, named, keep)]))
    absent = [name for name in needed if name not in source.types]
    if absent:
        raise ValueError(_lacks("the table", absent, source.types))
    unfinished = tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}.")
    try:
        rows = source.total(PredictionWork(fit.without_data(), levels, named, keep, unfinished), needed, count=int)
        os.chmod(unfinished, 0o777 & ~umask())
        os.rename(unfinished, output)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return int(rows or 0)


def _types(fit: Any, named: dict[str, str], keep: list[str]) -> dict[str, Any]:
    """The columns that are needed, with their types: a part of a text file may look like another type."""
    import pyarrow as pa

    kinds = {"numeric": pa.float64(), "categorical": pa.string(), "date": None}
    own = fit.schema.table
    if own is None:
        raise ValueError("the fit was made from an array without names, and so cannot be applied to a table in a file")
    types = {column.name: kinds[column.kind] for column in own}
    return {**dict.fromkeys(keep), **types, **dict.fromkeys(named.values(), pa.float64())}


def _write_csv(tables: Iterable[Any], file: Any) -> None:
    from pyarrow import csv

    _write(tables, lambda schema: csv.CSVWriter(file, schema))


def _write_parquet(tables: Iterable[Any], file: Any) -> None:
    from pyarrow import parquet

    _write(tables, lambda schema: parquet.ParquetWriter(file, schema))


def _write(tables: Iterable[Any], opened: Callable[[Any], Any]) -> None:
    writer = None
    try:
        for table in tables:
            writer = writer or opened(table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
