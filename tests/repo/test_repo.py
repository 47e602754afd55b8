"""The repository keeps its promises: generated texts are current, imports are lazy and point one way, examples run."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import import_directions
import pytest
import readme_table
import tweedie_expansion

import neglog as nl
from neglog import overview

ROOT = Path(__file__).parents[2]
MODULES = [module.name for module in pkgutil.walk_packages(nl.__path__, "neglog.") if module.name != "neglog.__main__"]
ADAPTERS = ("torch", "marginaleffects")  # modules called like the optional package that they are for


def test_the_readme_shows_the_registry_and_the_demo():
    text = readme_table.README.read_text(encoding="utf-8")
    assert readme_table.current(text) == text
    assert overview.markdown() in text


def test_the_examples_of_the_readme_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", None, 0)
    assert test.examples
    assert runner.run(test).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name):
    if name.split(".")[1] in ADAPTERS:
        pytest.importorskip(name.split(".")[1], reason=f"{name} is for an optional package that is not installed")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_imports_point_one_way():
    assert import_directions.faults() == []


def test_an_import_against_the_direction_is_found(tmp_path):
    package = tmp_path / "neglog"
    (package / "distributions").mkdir(parents=True)
    (package / "distributions" / "wrong.py").write_text("def f():\n    from neglog.information import kl\n")
    faults = import_directions.faults(package)
    assert len(faults) == 1
    assert "wrong.py:2" in faults[0]


def test_public_names_are_sorted_and_exist():
    assert sorted(nl.__all__) == nl.__all__
    assert all(hasattr(nl, name) for name in nl.__all__)


@pytest.mark.parametrize(
    "heavy",
    [
        "scipy.special",
        "scipy.optimize",
        "scipy.spatial",
        "scipy.sparse",
        "scipy.stats",
        "rich",
        "sklearn",
        "narwhals",
        "pandas",
        "polars",
        "pyarrow",
        "torch",
    ],
)
def test_the_import_loads_nothing_heavy(heavy):
    code = f"import sys, neglog; neglog.Gaussian, neglog.fit; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_tweedie_expansion_is_what_its_generator_writes(tmp_path, monkeypatch):
    written = tweedie_expansion.HEADER.read_text()
    monkeypatch.setattr(tweedie_expansion, "HEADER", tmp_path / "header.hpp")
    tweedie_expansion.main()
    assert (tmp_path / "header.hpp").read_text() == written


def test_the_demo_shows_every_family():
    shown = subprocess.run(
        [sys.executable, "-m", "neglog", "families"], capture_output=True, text=True, check=True
    ).stdout
    for row in overview.rows():
        assert row.family in shown


def test_the_version_is_the_one_of_the_package():
    from importlib.metadata import version

    assert version("neglog") == nl.__version__
