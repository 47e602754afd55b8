"""Writes the table of families and the output of the demo into README.md, between their markers.

`make readme` runs it; tests keep both true.
"""

from pathlib import Path

import neglog as nl
from neglog.design.files import open_table
from neglog.overview import markdown

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
FAMILIES = ("<!-- families: written by `make readme` -->", "<!-- end of families -->")
DEMO = ("<!-- demo: written by `make readme` -->", "<!-- end of demo -->")


def inserted(text: str, markers: tuple[str, str], content: str) -> str:
    """The text with this content between its markers."""
    begin, end = markers
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{content}\n{end}{after}"


def demo() -> str:
    """What `make demo` prints."""
    visits = open_table(ROOT / "demo" / "doctor_visits.parquet")
    return f"```\n{nl.compare(visits, 'visits', structures=('linear', 'smooth'))!r}\n```"


def current(text: str) -> str:
    """The text as it should be."""
    return inserted(inserted(text, FAMILIES, markdown()), DEMO, demo())


if __name__ == "__main__":
    README.write_text(current(README.read_text(encoding="utf-8")), encoding="utf-8")
