"""What furo and myst-nb leave undone for people who use a screen reader."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Headings have a level, a button is called what it says, and a list has items."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )
    if "body" in context:
        body = context["body"].replace(' aria-label="Toggle hidden content"', "")
        context["body"] = body.replace('role="doc-biblioentry"', 'role="listitem"')  # whose parent is a list


def describe_plots(app: Sphinx, doctree: nodes.document) -> None:
    """A plot that a cell made, and that has no description of its own, does not get its file's name for one."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt"):
            image["alt"] = "Plot drawn by the code above"


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    app.connect("html-page-context", mend, priority=900)  # after furo has made its navigation
    app.connect("doctree-read", describe_plots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
