"""Progress for whoever waits. Whatever goes wrong in showing it, the work goes on."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Progress = bool | Callable[..., None] | None


def unfailing(tell: Callable[..., None]) -> Callable[..., None]:
    """The same function until it fails, which is said once; from then on it is silent."""
    failed = False

    def told(*what: Any) -> None:
        nonlocal failed
        if failed:
            return
        try:
            tell(*what)
        except Exception as error:  # whatever it is, hours of work are worth more
            failed = True
            warnings.warn(f"progress is no longer shown, since showing it failed: {error!r}", stacklevel=2)

    return told


@contextmanager
def watched(source: Any, progress: Progress) -> Iterator[None]:
    """Passes over the source are told to `progress`, or shown as a bar; None shows one on a terminal."""
    with _shown(progress, lambda: sys.stderr.isatty()) as (tell, bar):
        if tell is None and bar is None:
            yield
            return

        def show(rows: int, everything: int | None) -> None:
            text = _step(source, rows, everything)
            if tell is not None:
                tell(text)
            else:
                bar(text, rows, everything)

        source.watch = unfailing(show)
        try:
            yield
        finally:
            source.watch = None


def tells(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose keyword `progress` may be True for a bar or a function; it is itself given a function or None.

    What it tells is a sentence and the share of the work that is done.
    """

    @wraps(function)
    def call(*given: P.args, **settings: P.kwargs) -> R:
        progress: Any = settings.get("progress")
        with _shown(progress, lambda: False) as (tell, bar):
            shown = tell if bar is None else lambda text, share: bar(text, share, 1.0)
            settings["progress"] = None if shown is None else unfailing(shown)
            return function(*given, **settings)

    return call


@contextmanager
def _shown(progress: Progress, by_default: Callable[[], bool]) -> Iterator[tuple[Any, Any]]:
    """The caller's own function, or one that moves a bar: it is given a text, what is done and what there is."""
    if callable(progress):
        yield progress, None
        return
    if not (by_default() if progress is None else progress):
        yield None, None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True)
    line = bar.add_task("reading", total=None)
    unfailing(bar.start)()  # as where another bar is being shown already
    try:
        yield None, lambda text, done, everything: bar.update(line, completed=done, total=everything, description=text)
    finally:
        unfailing(bar.stop)()


def _step(source: Any, rows: int, everything: int | None) -> str:
    text = f"pass {source.passes}: {rows:,} of {everything:,} rows" if everything else f"pass 1: {rows:,} rows"
    nats = getattr(source, "nats", None)
    return text if nats is None else f"{text}, {nats:.4f} nats a row before it"
