"""Tables in files: Parquet, CSV with any delimiter (also compressed), Arrow."""

import csv
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neglog.design.tables import quoted

SAMPLE = 1 << 16  # characters from which the delimiter is guessed
DELIMITERS = ",;\t|"
ROWS_AT_ONCE = 100_000
DECODED = 5  # bytes in memory for each in a file, with what is made of them
PARQUET, ARROW, TEXT = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".csv", ".tsv", ".txt")
ENDINGS = (*PARQUET, *TEXT, *ARROW)


def open_table(path: str | Path) -> Any:
    """The table in a file, as an Arrow table; the ending tells the kind of file."""
    path = Path(path)
    kind = kind_of_file(path)
    with _plain_errors(path):
        if kind == "parquet":
            from pyarrow import parquet

            return _checked(parquet.ParquetFile(path).read(), path)  # read_table would import pandas on the way
        if kind == "arrow":
            from pyarrow import feather

            return _checked(feather.read_table(path), path)
        from pyarrow import csv as arrow_csv

        parsing = arrow_csv.ParseOptions(delimiter=delimiter_of(path))
        empty_is_missing = arrow_csv.ConvertOptions(strings_can_be_null=True)
        read = arrow_csv.read_csv(open_stream(path), parse_options=parsing, convert_options=empty_is_missing)
        return _checked(read, path)


def _checked(table: Any, path: Path) -> Any:
    check_header(table.column_names, path)
    return table


def check_header(names: list[str], path: Path) -> None:
    """Refuse a table in which two columns have one name: Arrow would take the first, or none."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has the columns {quoted(twice)} more than once; give each column a name of its own")


def open_batches(path: str | Path, types: dict[str, Any]) -> Iterator[Any]:
    """The same table some rows at a time, only the columns that `types` names; CSV is read as these types."""
    import pyarrow as pa

    path = Path(path)
    kind = kind_of_file(path)
    with _plain_errors(path):
        if kind == "parquet":
            from pyarrow import parquet

            file = parquet.ParquetFile(path)
            check_header(file.schema_arrow.names, path)
            present = [name for name in file.schema_arrow.names if name in types]
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=present):
                yield pa.Table.from_batches([batch])
        elif kind == "arrow":
            with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
                check_header(file.schema.names, path)
                for i in range(file.num_record_batches):
                    yield pa.Table.from_batches([file.get_batch(i)])
        else:
            from pyarrow import csv as arrow_csv

            parsing = arrow_csv.ParseOptions(delimiter=delimiter_of(path))
            with arrow_csv.open_csv(open_stream(path), parse_options=parsing) as reader:
                check_header(reader.schema.names, path)
                booleans = {field.name for field in reader.schema if pa.types.is_boolean(field.type)}
            stated = {name: dtype for name, dtype in types.items() if dtype is not None and name not in booleans}
            reading = arrow_csv.ConvertOptions(column_types=stated, strings_can_be_null=True)
            with arrow_csv.open_csv(open_stream(path), parse_options=parsing, convert_options=reading) as reader:
                for batch in reader:
                    yield pa.Table.from_batches([batch])


def is_large(path: Path) -> bool:
    """Whether a table may not fit well in memory, from the size of its file: decoded it is a few times as large."""
    if not hasattr(os, "sysconf"):
        return False
    return DECODED * path.stat().st_size > 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def kind_of_file(path: Path) -> str:
    """parquet, arrow or text, by the ending."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in (".gz", ".bz2", ".zst"):
        endings.pop()
    ending = endings[-1] if endings else ""
    for kind, known in (("parquet", PARQUET), ("arrow", ARROW), ("text", TEXT)):
        if ending in known:
            return kind
    raise ValueError(
        f"{path} has the ending {path.suffix!r}; known are {', '.join(ENDINGS)}, and .gz, .bz2 or "
        ".zst after those of text"
    )


def delimiter_of(path: Path) -> str:
    """What stands between the values of a text file, from its first lines."""
    with open_stream(path) as file:
        head = file.read(SAMPLE).decode("utf-8", errors="replace")
    if ".tsv" in path.suffixes:
        return "\t"
    lines = head.splitlines()[:-1] or [head]
    try:
        return csv.Sniffer().sniff("\n".join(lines[:50]), DELIMITERS).delimiter
    except csv.Error:  # one column only
        return max(DELIMITERS, key=lines[0].count)


def open_stream(path: Path) -> Any:
    """The bytes of a file, decompressed."""
    import pyarrow as pa

    return pa.input_stream(str(path), compression="detect")


class _plain_errors:  # noqa: N801 - a context manager that reads like a word
    """Arrow's errors with the name of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException) or (
            isinstance(error, OSError) and not isinstance(error, FileNotFoundError)
        ):
            raise ValueError(f"{self.path} cannot be read: {error}") from None
