"""What the tests do with tables on workers, which import it from here."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def counted(result):
    return result["rows"]


@dataclass(frozen=True)
class Sums:
    """Rows, where tables begin, sums of numbers, and how often each level occurs."""

    numbers: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    def __call__(self, table, first):
        assert all(table[name].type == pa.dictionary(pa.int32(), pa.string()) for name in self.levels)
        values = [table[name].to_numpy() for name in self.numbers]
        return {
            "rows": table.num_rows,
            "firsts": [first],
            "sums": np.array([np.nansum(one) for one in values]),
            "levels": {name: frequencies(table[name]) for name in self.levels},
        }


def frequencies(column):
    found = pc.value_counts(column.cast(pa.string())).to_pylist()
    return {each["values"]: each["counts"] for each in found}


@dataclass(frozen=True)
class Slow:
    """Sums that take a while, and say in a folder who makes them."""

    folder: Path
    seconds: float = 0.25

    def __call__(self, table, first):
        (self.folder / str(os.getpid())).touch()
        time.sleep(self.seconds)
        return Sums(("x",))(table, first)


def refuse(table, first):
    raise ValueError("there is a minus sign in the column 'x'")


def devour(table, first):
    memory = np.ones(1 << 27)  # a gigabyte
    time.sleep(20)
    return memory[0]


def pid():
    return os.getpid()


def tasks_of_scheduler(dask_scheduler):
    return list(dask_scheduler.tasks)


def tasks_of_worker(dask_worker):
    return list(dask_worker.state.tasks)
