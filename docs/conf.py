"""The handbook's settings; `make docs` builds it."""

import logging
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import sphinxcontrib.katex
from sphinx.application import Sphinx
from sphinx.errors import ConfigError

import neglog

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

if not (HERE / "_static" / "bundle.js").exists():
    raise ConfigError("docs/_static/bundle.js is missing; `make docs` makes it, or `npm ci && npm run build` in docs")

project = "neglog"
author = "The neglog developers"
copyright = author  # noqa: A001
version = release = neglog.__version__

extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinxcontrib.katex",
    "sphinxcontrib.bibtex",
    "sphinx.ext.autodoc",
    "access",
    "docstrings",
    "live",
    "outputs",
]
exclude_patterns = ["_build", "node_modules", "_static"]

# Pages: MyST notebooks, executed at every build; a cell that fails fails the build.
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
runs = {  # what is too large to install for one page
    "guides/networks.md": find_spec("torch") is not None,
    "guides/spark.md": find_spec("pyspark") is not None and which("java") is not None,
}
nb_execution_excludepatterns = [page for page, can in runs.items() if not can]
if nb_execution_excludepatterns:
    suppress_warnings = ["myst-nb.lexer"]  # only an execution tells the language of the cells
nb_merge_streams = True
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")
os.environ["IPYTHONDIR"] = str(HERE / "_build" / "ipython")  # not the settings of whoever builds
settings = HERE / "_build" / "ipython" / "profile_default" / "ipython_kernel_config.py"
settings.parent.mkdir(parents=True, exist_ok=True)
settings.write_text("c.IPKernelApp.log_level = 'ERROR'\nc.HistoryManager.enabled = False\n", encoding="utf-8")
logging.basicConfig(level=logging.WARNING)  # before a style sheet's package asks for more

# Maths: rendered at build time by the KaTeX of node_modules, whose style and fonts are served with the pages.
katex_prerender = True
katex_css_path = "bundle_katex/katex.min.css"
sphinxcontrib.katex.KATEX_DEFAULT_OPTIONS = {"throwOnError": True}  # maths that is wrong fails the build
sphinxcontrib.katex.KATEX_PATH = str(HERE / "node_modules" / "katex" / "dist" / "katex.js")
html_math_renderer = "katex"

# Citations: every page cites from one file, whose entries are all listed on one page.
bibtex_bibfiles = ["references/references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

# Reference: from the docstrings.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
default_role = "literal"
add_module_names = False

html_theme = "furo"
html_title = "neglog"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["handbook.css", "live.css"]
html_js_files = ["handbook.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def write_one_after_the_other(app: Sphinx, env: Any) -> None:
    """Pages are read, and so executed, in parallel; but KaTeX answers all of them through one socket."""
    app.parallel = 1


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    app.connect("env-updated", write_one_after_the_other)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
