"""The threads of a trainer, for the core to compute in what the trainer asks for.

Between two of its loops the threads of OpenMP spin, so that a trainer leaves no core for threads of our own.
"""

import ctypes
from typing import Any, NamedTuple

from neglog.distributions.arrays import stated_threads


class Team(NamedTuple):
    """Where the functions of a running OpenMP lie, and how many threads to use: 0 for as many as it would."""

    parallel: int
    number: int
    size: int
    threads: int


def team_of(library: Any) -> Team | None:
    """The team of a shared library by the names that GCC gives OpenMP; None where it was built with another."""
    try:
        functions = [getattr(library, name) for name in ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")]
    except AttributeError:
        return None
    parallel, number, size = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
    return Team(parallel, number, size, threads=stated_threads() or 0)
