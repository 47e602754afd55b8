"""Passes over pieces of rows that the workers of a Dask cluster work on.

A pass is one graph of tasks. What is done travels to the cluster once, each piece is a task, and their results are
added in pairs of neighbours: the sum depends on the pieces, not on how many workers there are, and only the sum comes
back. When a worker dies, Dask runs its tasks again elsewhere, also the one that holds what is done (scattered data
would be lost); how often it tries is the scheduler's setting `distributed.scheduler.allowed-failures`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from uuid import uuid4

from neglog.engines.sources import Work, added, first_rows, folded

TIMEOUT = 60.0  # seconds
POLL = 1.0  # seconds between two looks at the client

Graph = dict[Any, Any]
Watch = Callable[[int, int | None], None]


class OnCluster(ABC):
    """Pieces that the workers of a cluster work on: what sources of different pieces share.

    The client is the current one unless given. A pass gives up when for `timeout` seconds the scheduler does not answer
    or has no worker. `watch(rows done, rows in all or None)` is called as pieces end; `passes` counts the passes.
    """

    smaller: str  # what a user can do about pieces that are too large

    def __init__(
        self, types: dict[str, Any], pieces: list[Any], *, client: Any, timeout: float, watch: Watch | None
    ) -> None:
        self.client = _client(client)
        self.types, self.pieces = types, pieces
        self.timeout, self.watch = timeout, watch
        self.lengths: list[int] | None = None
        self.passes = 0

    def total(self, work: Work, columns: list[str], *, count: Callable[[Any], int] | None = None) -> Any:
        """The sum of the work over all rows."""
        self.passes += 1
        if not self.pieces:
            return None
        graph, ends = self._graph(work, columns, count)
        lengths = list(self.lengths or [0] * len(self.pieces))
        everything = None if self.lengths is None else sum(self.lengths)
        rows, total = 0, None
        futures = self._submitted(graph, ends)
        try:
            for i, result in self._results(futures):
                if i == len(ends) - 1:
                    total = result
                    continue
                lengths[i] = lengths[i] if count is None else result
                rows += lengths[i]
                if self.watch is not None:
                    self.watch(rows, everything)
        except BaseException:  # an interrupt as well
            with suppress(Exception):  # the first error is the one to tell
                self.client.cancel(futures, force=True)  # ends all: Dask drops what nobody waits for
            raise
        if count is not None:
            self.lengths = lengths
        return total

    @abstractmethod
    def _tables(self, columns: list[str]) -> tuple[Graph, list[tuple[Any, ...]]]:
        """What must be computed before, and for each piece a function that gives its tables and what it is given."""

    def _graph(self, work: Work, columns: list[str], count: Callable[[Any], int] | None) -> tuple[Graph, list[Any]]:
        """The tasks of a pass, and those that nothing else waits for: the rows of each piece, if anybody asks for them,
        and the sum.
        """
        name = f"neglog-{{}}-{uuid4().hex}".format
        graph, tables = self._tables(columns)
        shared = name("work")
        graph[shared] = (partial(_pair, work, [(column, self.types[column]) for column in columns]),)
        pieces = [(name("piece"), i) for i in range(len(self.pieces))]
        firsts = first_rows(self.lengths, len(pieces))
        for key, first, (function, *given) in zip(pieces, firsts, tables, strict=True):
            graph[key] = (partial(_run, function, first), shared, *given)
        ends: list[Any] = []
        if count is not None or self.watch is not None:
            ends = [(name("rows"), i) for i in range(len(pieces))]
            graph |= {end: (partial(_rows, count), piece) for end, piece in zip(ends, pieces, strict=True)}
        return graph, [*ends, _tree(graph, pieces, name("sum"))]

    def _submitted(self, graph: Graph, ends: list[Any]) -> list[Any]:
        from dask.highlevelgraph import HighLevelGraph

        self._check_connected()
        layer = uuid4().hex  # as one layer, because Dask hashes what every task of a plain dict holds
        futures: list[Any] = self.client.get(HighLevelGraph({layer: graph}, {layer: set()}), ends, sync=False)
        return futures

    def _results(self, futures: list[Any]) -> Iterator[tuple[int, Any]]:
        """The number and the result of each future as they come, for as long as the cluster lives."""
        from distributed import KilledWorker

        ended: SimpleQueue[Future[Any]] = SimpleQueue()
        waiting: dict[Future[Any], int] = {}
        for i, future in enumerate(futures):
            coming = self.client.gather(future, asynchronous=True)
            waiting[asyncio.run_coroutine_threadsafe(coming, self.client.loop.asyncio_loop)] = i
        for one in waiting:
            one.add_done_callback(ended.put)
        heard = manned = monotonic()
        while waiting:
            try:
                one = ended.get(timeout=POLL)
            except Empty:
                self._check_connected()
                if monotonic() > heard + self.timeout / 4:
                    manned = monotonic() if self._workers() else manned
                    heard = monotonic()
                if heard > manned + self.timeout:
                    raise ConnectionError(f"the Dask cluster has had no worker for {self.timeout:g} s") from None
                continue
            heard = manned = monotonic()
            i = waiting.pop(one)
            try:
                result = one.result()
            except KilledWorker as error:
                raise RuntimeError(self._why_killed(error)) from error
            except (CancelledError, asyncio.CancelledError, OSError) as error:
                if futures[i].status == "error":  # which the work raised
                    raise
                raise ConnectionError(
                    f"the Dask cluster dropped a pass over the rows ({getattr(error, 'reason', error)}); see whether "
                    f"the scheduler {self.client.scheduler.address} still runs, and begin again"
                ) from error
            yield i, result

    def _check_connected(self) -> None:
        if self.client.status != "running":
            raise ConnectionError(
                f"the client is {self.client.status}: it has no connection to the Dask scheduler any more; "
                "see whether that runs, and make a new client"
            )

    def _workers(self) -> int:
        """How many workers there are: a question to the scheduler, which shows that it is alive."""
        try:
            return len(self.client.nthreads(callback_timeout=self.timeout / 2))
        except OSError as error:  # time that ran out is one
            raise ConnectionError(
                f"the Dask scheduler {self.client.scheduler.address} did not answer for {0.75 * self.timeout:g} s"
            ) from error

    def _why_killed(self, error: Any) -> str:
        name, *number = error.task if isinstance(error.task, tuple) else (error.task,)
        task = self.pieces[number[0]] if name.startswith("neglog-piece-") else f"the task {error.task!r}"
        return (
            f"{task}: {error.allowed_failures + 1} workers died while they worked on it, the last one at "
            f"{error.last_worker.address}; most often a worker's memory is too small: give each worker more "
            f"(memory_limit=...) or fewer threads, or {self.smaller}"
        )


def _client(client: Any) -> Any:
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(
            f'rows on a cluster need Dask, which cannot be imported ({error}); pip install "neglog[dask]"'
        ) from error
    try:
        return get_client() if client is None else client
    except ValueError:
        raise RuntimeError(
            "rows on a cluster need a client of it, and there is none: "
            "from dask.distributed import Client; client = Client()"
        ) from None


def _tree(graph: Graph, keys: list[Any], name: str) -> Any:
    """The key of the sum, after the tasks that add neighbours in pairs, and the pairs in pairs, are in the graph."""
    depth = 0
    while len(keys) > 1:
        pairs = [keys[i : i + 2] for i in range(0, len(keys), 2)]
        keys = [(name, depth, i) if len(pair) > 1 else pair[0] for i, pair in enumerate(pairs)]
        graph |= {key: (added, *pair) for key, pair in zip(keys, pairs, strict=True) if len(pair) > 1}
        depth += 1
    return keys[0]


# ---- on the workers --------------------------------------------------------------------------------------------------


def _pair(*pair: Any) -> Any:
    return pair


def _rows(count: Callable[[Any], int] | None, result: Any) -> int:
    return 0 if count is None or result is None else count(result)


def _run(tables: Callable[..., Iterator[Any]], first: int, shared: Any, *given: Any) -> Any:
    """The sum of the work over the tables of one piece."""
    from distributed import Reschedule, get_worker

    work, reading = shared
    worker = get_worker()
    key = worker.get_current_task()

    def results() -> Iterator[Any]:
        row = first
        for table in tables(*given, reading):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":  # the pass failed, or was interrupted: nobody waits
                raise Reschedule
            yield work(table, row)
            row += table.num_rows

    return folded(results())
