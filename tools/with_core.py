"""Run a module with another build of the native core: `python tools/with_core.py build/clang -m pytest tests/laws`.

The package is the installed one; only `neglog._core` comes from the first file of that name below the directory.
"""

import importlib.machinery
import importlib.util
import runpy
import sys
from pathlib import Path


def load_core(directory: Path) -> None:
    """Put the core below the directory in the place of the installed one, before anybody imports that."""
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    found = [path for path in sorted(directory.rglob("_core.*")) if path.name.endswith(suffixes)]
    if not found:
        raise SystemExit(f"there is no native core below {directory}")
    spec = importlib.util.spec_from_file_location("neglog._core", found[0])
    assert spec is not None
    assert spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    sys.modules["neglog._core"] = core
    print(f"The core is {found[0]} with the instruction set {core.instruction_set()}", flush=True)


def main() -> None:
    """The arguments are those of Python itself, after the directory."""
    if len(sys.argv) < 4 or sys.argv[2] != "-m":
        raise SystemExit(__doc__)
    load_core(Path(sys.argv[1]))
    module, sys.argv = sys.argv[3], sys.argv[3:]
    sys.path.insert(0, "")
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
