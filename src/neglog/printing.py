"""Tables for people, as plain text; and what they may have meant."""

from collections.abc import Iterable
from typing import Any


def as_text(table: Any) -> str:
    """What a terminal of 110 letters without colours shows."""
    from rich.console import Console

    console = Console(width=110, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip("\n")


def did_you_mean(said: Iterable[Any], known: Iterable[Any]) -> str:
    """The end of an error about unknown names: "; did you mean 'age'?", or nothing where no name is like them."""
    from difflib import get_close_matches

    by_letters = {str(name).lower(): str(name) for name in known}
    near = [by_letters[one] for name in said for one in get_close_matches(str(name).lower(), by_letters, n=1)]
    return f"; did you mean {', '.join(map(repr, dict.fromkeys(near)))}?" if near else ""
