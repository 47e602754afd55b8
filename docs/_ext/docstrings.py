"""neglog's docstrings are plain text with aligned columns; this turns them into what autodoc reads."""

import re
from typing import Any

from sphinx.application import Sphinx

COLUMNS = re.compile(r"(?=.{1,24}  )(\S+(?: \S+)*) {2,}(\S.*)")  # a short name, two or more spaces, what is said of it
CODE = re.compile(r"(`[^`]+`)")


def escaped(text: str) -> str:
    """Prose whose stars, bars and underscores are only characters; what stands in backticks is code."""
    parts = CODE.split(text)
    return "".join(part if i % 2 else re.sub(r"([\\*|_])", r"\\\1", part) for i, part in enumerate(parts))


def paragraphs(lines: list[str]) -> list[list[str]]:
    """The lines between blank lines."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [paragraph for paragraph in found if paragraph]


def columns(paragraph: list[str]) -> list[str]:
    """A definition list: a name at the left begins an item, every other line continues it."""
    result: list[str] = []
    for line in paragraph:
        if found := COLUMNS.fullmatch(line):
            result += [escaped(found[1]), f"    {escaped(found[2])}"]
        else:
            result.append(f"    {escaped(line.strip())}")
    return result


def as_restructured_text(lines: list[str]) -> list[str]:
    """Prose stays prose, examples stay examples, columns become a list."""
    result: list[str] = []
    for paragraph in paragraphs(lines):
        if paragraph[0].lstrip().startswith(">>>"):
            result += paragraph
        elif COLUMNS.fullmatch(paragraph[0]):
            result += columns(paragraph)
        else:
            result += escaped("\n".join(paragraph)).split("\n")
        result.append("")
    return result


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """For autodoc's event of this name."""
    lines[:] = as_restructured_text(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
