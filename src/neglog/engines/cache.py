"""Decoded copies of files, from which further passes, and further fits, read at the speed of the disk."""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from neglog.design.arrow import Encoder
from neglog.engines.files import Files

VERSION = 1  # of what is stored


@dataclass(frozen=True)
class Copy:
    """The work of the pass that fills the cache: each table becomes an Arrow file, named by its first row."""

    encoder: Encoder
    directory: str

    def __call__(self, table: Any, first: int) -> int:
        import pyarrow as pa

        rows = self.encoder.to_arrow(table, first)
        path = os.path.join(self.directory, f"{first:015d}.arrow")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        return int(rows.num_rows)


def cached(source: Any, encoder: Encoder, directory: str | os.PathLike[str]) -> tuple[Any, Encoder]:
    """The same rows from the cache, which is filled if it does not have them; and how to read them there.

    A copy belongs to the files as they are now: where one of them changes, another copy is made. It appears only when
    it is complete.
    """
    if not isinstance(source, Files):
        raise TypeError(
            "a cache is for files that this process reads; a Dask dataframe is kept by its persist(), a Spark "
            "dataframe by its cache()"
        )
    parent = Path(directory)
    parent.mkdir(parents=True, exist_ok=True)
    target = parent / f"neglog-{_name(source, encoder)}"
    if not target.is_dir():
        unfinished = tempfile.mkdtemp(dir=parent, prefix=".unfinished-")
        try:
            source.total(Copy(encoder, unfinished), encoder.columns)
            os.rename(unfinished, target)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            if not target.is_dir():  # nor did another process make it meanwhile
                raise
    copy = Files(target, threads=source.threads)
    copy.passes = source.passes
    if source.watch is not None:
        copy.watch = partial(_told, source, copy)
    return copy, replace(encoder, encoded=True, drop=False)


def _told(source: Any, copy: Any, rows: int, everything: int | None) -> None:
    """Whoever watches the files hears of the passes over their copy."""
    source.passes, source.nats = copy.passes, getattr(copy, "nats", None)
    if source.watch is not None:  # who need not watch for as long as the copy is read
        source.watch(rows, everything)


def _name(source: Files, encoder: Encoder) -> str:
    files = sorted({(os.path.abspath(piece.path), *piece.stamp) for piece in source.pieces})
    meaning = [VERSION, files, encoder.schema.to_json(), encoder.named, encoder.classes, encoder.drop]
    return hashlib.sha256(json.dumps(meaning, default=str).encode()).hexdigest()[:20]
