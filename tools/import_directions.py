"""Imports point one way, from the core through distributions to comparison. Fails with the line that points back."""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "neglog"

# A layer may import itself and whatever stands before it. Modules that are not named here are the outermost layer.
LAYERS = [
    "_core",
    "typing",
    "atomic",
    "printing",
    "distributions",
    "information",
    "design",
    "engines",
    "solvers",
    "likelihood",
    "streaming",
    "belief",
    "estimation",
    "evidence",
    "testing",
    "checking",
    "margins",
    "export",
    "results",
    "fitting",
    "boosting",
    "lightgbm",
    "comparison",
]


def layer_of(module: str) -> int:
    """The position of a module of the package in the order of layers."""
    name = module.split(".")[1] if "." in module else ""
    return LAYERS.index(name) if name in LAYERS else len(LAYERS)


def imported_modules(tree: ast.AST) -> list[tuple[int, str]]:
    """Every import of the package, late ones inside functions included, with its line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.append((node.lineno, "a relative import"))
        elif isinstance(node, ast.ImportFrom) and node.module == "neglog":
            found += [(node.lineno, f"neglog.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.lineno, node.module or ""))
    return [(line, name) for line, name in found if name.split(".")[0] == "neglog" or name.startswith("a relative")]


def faults(package: Path = PACKAGE) -> list[str]:
    """One sentence per import that points the wrong way."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        module = ".".join(["neglog", *path.relative_to(package).with_suffix("").parts])
        for line, name in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
            if name.startswith("a relative") or layer_of(name) > layer_of(module):
                wrong.append(f"{path.relative_to(package.parent)}:{line}: {module} must not import {name}")
    return wrong


if __name__ == "__main__":
    problems = faults()
    print("\n".join(problems) or "Imports point one way.")
    sys.exit(bool(problems))
