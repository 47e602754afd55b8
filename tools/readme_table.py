"""Writes the table of families into README.md, between its two markers. `make readme` runs it; a test keeps it true."""

from pathlib import Path

from neglog.overview import markdown

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- families: written by `make readme` -->", "<!-- end of families -->"


def inserted(text: str) -> str:
    """The text with the table of today."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{markdown()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(inserted(README.read_text(encoding="utf-8")), encoding="utf-8")
