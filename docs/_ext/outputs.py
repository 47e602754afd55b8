"""What cells print: sentences may wrap, tables may not."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def sort_outputs(app: Sphinx, doctree: nodes.document) -> None:
    """Say of each text that a cell printed which of the two it is; handbook.css sets them."""
    for output in doctree.findall(lambda node: "cell_output" in getattr(node, "attributes", {}).get("classes", ())):
        for block in output.findall(nodes.literal_block):
            block["classes"].append("tables" if "│" in block.astext() else "sentences")


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    app.connect("doctree-read", sort_outputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
