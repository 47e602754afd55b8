"""What a person or a machine sees: text, JSON, progress."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def show(what: Any, *, error: bool = False) -> None:
    """Print on the standard output, or on the standard error."""
    from rich.console import Console

    console = Console(stderr=error, highlight=False, markup=False)  # brackets are names of levels, not markup
    if not console.is_terminal:
        console.width = 120  # pipes and files have none
    console.print(what)


def print_json(value: Any) -> None:
    """Print plain values for machines."""
    print(json.dumps(_plain(value), indent=1, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Without NumPy's types, and null for what is no number: JSON has no NaN."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


@contextmanager
def progress() -> Iterator[Callable[[str, float | None], None]]:
    """A bar on the standard error while a person looks at it; it is told a sentence and the share that is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(text: str, share: float | None) -> None:
            bar.update(task, description=text, completed=share or 0.0, total=None if share is None else 1.0)

        yield tell


def command_line() -> str:
    """What was typed."""
    return shlex.join(["neglog", *sys.argv[1:]])
