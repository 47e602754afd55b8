"""A pytest plugin: tests on another build of the native core, and on all instruction sets that this processor has.

    OTHER_CORE=build/clang PYTHONPATH=tools python -m pytest -p other_core tests/laws

The package is the installed one; only `neglog._core` comes from the first file of that name below the directory. Each
test runs on one instruction set, chosen by its name, so that all of them see some of everything.
"""

import importlib.machinery
import importlib.util
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SETS = ("baseline", "avx2", "avx512")


def load_core(directory: Path) -> ModuleType:
    """Put the core below the directory in the place of the installed one, before anybody imports that."""
    if "neglog._core" in sys.modules:
        raise RuntimeError("the native core was imported before another one could take its place")
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    found = [path for path in sorted(directory.rglob("_core.*")) if path.name.endswith(suffixes)]
    if not found:
        raise FileNotFoundError(f"there is no native core below {directory}")
    spec = importlib.util.spec_from_file_location("neglog._core", found[0])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["neglog._core"] = module
    spec.loader.exec_module(module)
    return module


def usable_sets() -> list[str]:
    """The instruction sets of this build that this processor has."""
    best, usable = core.instruction_set(), []
    for name in SETS:
        try:
            core.use_instruction_set(name)
        except ValueError:
            continue
        usable.append(name)
    core.use_instruction_set(best)
    return usable


core = load_core(Path(os.environ["OTHER_CORE"]))
usable = usable_sets()


def pytest_report_header() -> str:
    """Which core, and on what."""
    return f"native core: {core.__file__} on {', '.join(usable)}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """On the instruction set that the test's name says."""
    name = usable[zlib.crc32(item.nodeid.encode()) % len(usable)]
    core.use_instruction_set(name)
    item.add_report_section("setup", "instruction set", name)
    return (yield)
