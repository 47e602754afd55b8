"""The threads of the BLAS libraries that NumPy and SciPy bring along.

They wait for their next call by spinning. Fits make many calls that are just large enough to wake them, and on a busy
machine each then waits for threads that have no core: minutes instead of seconds. What is large here goes through
threads of the core, so that one BLAS thread is enough for the rest.
"""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager, nullcontext
from typing import Any, Self

EVERYBODY = 0  # in the place of a thread
WAKING = 8_000  # numbers in X from which calls of BLAS begin to wake threads


class OneBlasThread(ContextDecorator):
    """While anybody is inside, BLAS works on one thread; afterwards on as many as before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depths: Counter[int] = Counter()  # by thread, how often it is inside
        self._before: dict[tuple[str, int], tuple[Any, int]] = {}  # by library and owner, how many threads it had

    def __enter__(self) -> Self:
        me = threading.get_ident()
        with self._lock:
            self._depths[me] += 1
            for library in _libraries("scipy.linalg" in sys.modules):
                key = library.filepath, me if _is_own(library) else EVERYBODY
                if key not in self._before:
                    self._before[key] = library, library.num_threads
                    _set_threads(library, 1)
        return self

    def __exit__(self, *error: object) -> None:
        me = threading.get_ident()
        with self._lock:
            self._depths[me] -= 1
            if self._depths[me]:
                return
            del self._depths[me]
            left = {me} if self._depths else {me, EVERYBODY}
            for key in [key for key in self._before if key[1] in left]:
                _set_threads(*self._before.pop(key))

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """For one long call: as many threads as before, unless others are inside, too."""
        with self._lock:
            held = list(self._before.values()) if len(self._depths) == 1 else []
            for library, threads in held:
                _set_threads(library, threads)
        try:
            yield
        finally:
            with self._lock:
                for library, _ in held:
                    _set_threads(library, 1)


def _is_own(library: Any) -> bool:
    """Whether each thread has a number of its own: where the threads are OpenMP's."""
    return getattr(library, "threading_layer", None) == "openmp"


def _set_threads(library: Any, threads: int) -> None:
    """Whoever was the last to set them: threadpoolctl would not let another thread do it."""
    anybody = getattr(library, "clear_controlling_thread", lambda force: None)
    anybody(force=True)
    library.set_num_threads(threads)
    anybody(force=True)


_found: dict[bool, list[Any]] = {}


def _libraries(scipy_too: bool) -> list[Any]:
    """What is loaded: SciPy has a BLAS of its own, which comes with its linear algebra."""
    if scipy_too not in _found:
        from threadpoolctl import ThreadpoolController

        _found[scipy_too] = ThreadpoolController().select(user_api="blas").lib_controllers
    return _found[scipy_too]


one_blas_thread = OneBlasThread()


def quiet_blas(engine: Any) -> Any:
    """One BLAS thread for a fit of these rows, if any call could wake more."""
    return one_blas_thread if engine.rows * engine.columns >= WAKING else nullcontext()
