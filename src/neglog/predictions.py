"""From a saved fit and a table in a file to predictions in another, some rows at a time."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neglog.atomic import written_whole
from neglog.design.files import open_batches
from neglog.design.tables import quoted
from neglog.inference.result import Fit


def predict_file(
    fit: Fit,
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
    if levels and fit.noise._family() == "categorical":
        raise ValueError("classes have no quantiles; leave them out")
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
    fit: Fit, path: Path, levels: list[float], named: dict[str, str], keep: list[str], tell: Callable[[int], None]
) -> Iterator[Any]:
    import pyarrow as pa

    for table in open_batches(path, _types(fit, named, keep)):
        absent = [name for name in [*named.values(), *keep] if name not in table.column_names]
        if absent:
            raise ValueError(f"{path} lacks the columns {quoted(absent)}; it has {quoted(table.column_names)}")
        law = fit.distribution(table, **named)
        columns: dict[str, Any] = {name: table.column(name) for name in keep}
        if law._family() == "categorical":
            columns |= {f"probability of {label}": law.p[:, k] for k, label in enumerate(fit.classes)}
        else:
            columns["prediction"] = np.asarray(law.mean(), float)
            for level in levels:
                columns[f"q{level:g}"] = np.asarray(law.icdf(np.full(law.batch_shape, level)), float)
        yield pa.table(columns)
        tell(table.num_rows)


def _types(fit: Fit, named: dict[str, str], keep: list[str]) -> dict[str, Any]:
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
