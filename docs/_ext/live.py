"""The `live` directive: a figure with controls, drawn in the browser from numbers that neglog computed at build time.

For a figure NAME there are two files: live/NAME.js draws it, live/NAME.py has `data()`, which is handed to the script,
and `expected(**controls)`, what its readouts must show: the browser test compares them.
"""

import html
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def figure_module(folder: Path, name: str) -> ModuleType:
    """live/NAME.py, imported by its path."""
    spec = importlib.util.spec_from_file_location(f"live_{name}", folder / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"live/{name}.py cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class LiveFigure(nodes.General, nodes.Element):
    """A figure in the document; its HTML is complete in the attribute `html`."""


class Live(SphinxDirective):
    """A live figure by name, with a description for those who do not see it."""

    required_arguments = 1
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The figure, with its data."""
        name, folder = self.arguments[0], Path(self.env.srcdir) / "live"
        for suffix in (".py", ".js"):
            path = folder / f"{name}{suffix}"
            if not path.exists():
                raise self.error(f"live/{path.name} does not exist")
            self.env.note_dependency(str(path))
        if "alt" not in self.options:
            raise self.error(f"the live figure {name} needs an :alt: that says what it shows")
        data = json.dumps(figure_module(folder, name).data(), allow_nan=False).replace("</", "<\\/")
        caption = html.escape(" ".join(self.options["alt"].split()))
        text = (
            f'<figure class="live" data-live="{name}">\n'
            f'<figcaption id="live-{name}-caption">{caption}</figcaption>\n'
            f'<script type="application/json">{data}</script>\n'
            "<noscript><p>This figure needs JavaScript; the text and the code below say the same.</p></noscript>\n"
            "</figure>\n"
        )
        return [LiveFigure("", html=text)]


def write_html(writer: Any, node: LiveFigure) -> None:
    """The figure as it stands."""
    writer.body.append(node["html"])
    raise nodes.SkipNode


def add_script(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Load the figures' code only where there are figures."""
    if doctree is not None and next(doctree.findall(LiveFigure), None) is not None:
        app.add_js_file("bundle.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    app.add_node(LiveFigure, html=(write_html, None))
    app.add_directive("live", Live)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
