"""One bibliography from many files."""

from pathlib import Path

from pybtex.database import BibliographyData, parse_file


def gathered(folder: Path, target: Path) -> str:
    """Write every entry of folder/*.bib to `target`; a work that two files name is taken from the first."""
    entries = {}
    for path in sorted(folder.glob("*.bib")):
        for key, entry in parse_file(str(path)).entries.items():
            entries.setdefault(key, entry)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = BibliographyData(entries=entries).to_string("bibtex")
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")
    return str(target)
