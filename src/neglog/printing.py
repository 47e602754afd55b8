"""Tables for people, as plain text."""

from typing import Any


def as_text(table: Any) -> str:
    """What a terminal of 110 letters without colours shows."""
    from rich.console import Console

    console = Console(width=110, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip("\n")
