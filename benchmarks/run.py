"""`make bench`: every problem, neglog and its rivals in one run; prints a table and writes results.md beside this file.

A ratio above 1 means that neglog is faster. Names on the command line choose: gradients, tweedie, rows, imports.
"""

import os
import platform
import sys
from pathlib import Path

# Threads of OpenMP that spin after their work would take a core from whoever is measured next.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import accuracy
import numpy as np
import problems
import scipy
import sklearn
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from timing import best_times

from neglog import _core

RESULTS = Path(__file__).with_name("results.md")
GROUPS = {
    "gradients": problems.gradients,
    "tweedie": problems.tweedie_density,
    "rows": problems.rows,
    "imports": lambda: [problems.imports()],
}
COLUMNS = ("problem", "neglog ms", "rival", "rival ms", "ratio", "wanted", "largest difference")
NUMBERS = ("neglog ms", "rival ms", "ratio", "wanted")
ACCURACY = "Largest errors of the exact Tweedie density and its derivatives, against 50-digit mpmath"


def measured(problem):
    """One line of the table for each rival."""
    times = best_times({"neglog": problem.ours, **problem.rivals}, problem.rounds)
    for rival in problem.rivals:
        wanted = problem.wanted.get(rival)
        difference = problem.disagreement.get(rival)
        yield (
            problem.name,
            f"{1e3 * times['neglog']:.1f}",
            rival,
            f"{1e3 * times[rival]:.1f}",
            f"{times[rival] / times['neglog']:.2f}",
            f"≥ {wanted:.2g}" if wanted else "",
            f"{difference:.1e}" if difference is not None else "",
        )


def machine():
    """Where and with what the numbers were made."""
    versions = {"NumPy": np, "SciPy": scipy, "scikit-learn": sklearn}
    libraries = ", ".join(f"{name} {module.__version__}" for name, module in versions.items())
    return (
        f"{os.cpu_count()} processors ({platform.machine()}, {_core.instruction_set()}), "
        f"Python {platform.python_version()}, {libraries}; best of interleaved runs"
    )


def shown(title, columns, lines):
    """A table for people."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right" if column in NUMBERS else "left")
    for line in lines:
        table.add_row(*line)
    return table


def markdown(columns, lines):
    """The same table for the file."""
    head, *body = (f"| {' | '.join(line)} |" for line in [columns, *lines])
    return "\n".join([head, "|" + "---|" * len(columns), *body])


def main(names):
    """Run the groups and show what came out."""
    lines = []
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=None)
        for name in names or GROUPS:
            for problem in GROUPS[name]():
                progress.update(task, description=problem.name)
                lines += measured(problem)
    errors = list(accuracy.table())
    console = Console(width=170)
    console.print(shown(machine(), COLUMNS, lines))
    console.print(shown(ACCURACY, accuracy.COLUMNS, errors))
    if not names:
        tables = f"{machine()}.\n\n{markdown(COLUMNS, lines)}\n\n{ACCURACY}.\n\n{markdown(accuracy.COLUMNS, errors)}"
        RESULTS.write_text(f"# Benchmarks\n\n{tables}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
