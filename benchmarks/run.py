"""`make bench`: every problem, neglog and its rivals in one run; prints tables and writes results.md beside this file.

A ratio above 1 means that neglog is faster. Names on the command line choose groups: gradients, tweedie, rows, imports;
fits, latency, motor, lasso, paths, sparse, absolute, quantiles, huber, softmax; opened; vocabulary; terms;
tweedie_power, growth, memory;
samplers, learned, left_out; coverage, few_rows, bands; asked; tables; trees, laws; files, cluster; serving; by.
`--quick` takes few rows, to see that everything runs. Without it each group replaces its lines in results.md.
"""

import argparse
import json
import os
import platform
import time
from functools import partial
from pathlib import Path

# Threads of OpenMP that spin after their work would take a core from whoever is measured next.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import accuracy
import asked
import band_coverage
import bayes
import boosting
import by_group
import fits
import interval_coverage
import numpy as np
import opened
import problems
import resources
import scipy
import serving
import sklearn
import streaming
import tables as real_tables
import terms
import timing
import vocabulary
from contest import ACCURACY
from data import AbsentError
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
from rich.table import Table

import neglog as nl
from neglog import _core

RESULTS = Path(__file__).with_name("results.md")
KEPT = Path(__file__).with_name("results.json")
ELEMENTARY = {
    "gradients": problems.gradients,
    "tweedie": problems.tweedie_density,
    "rows": problems.rows,
    "imports": lambda: [problems.imports()],
}
GROUPS = (
    *ELEMENTARY,
    *fits.GROUPS,
    *opened.GROUPS,
    *vocabulary.GROUPS,
    *terms.GROUPS,
    "versions",  # which versions.py measures
    *resources.GROUPS,
    *bayes.GROUPS,
    *interval_coverage.GROUPS,
    *band_coverage.GROUPS,
    *asked.GROUPS,
    *real_tables.GROUPS,
    *boosting.GROUPS,
    *streaming.GROUPS,
    *serving.GROUPS,
    *by_group.GROUPS,
)
COLUMNS = ("problem", "neglog ms", "rival", "rival ms", "ratio", "wanted", "largest difference")
NUMBERS = {
    "neglog ms",
    "rival ms",
    "ms",
    "its ms",
    "µs",
    "its µs",
    "Poisson ms",
    "× Poisson",
    "ratio",
    "wanted",
    "× X'X",
    "allowed",
    "measured",
    "tolerance",
    "seconds",
    "× Gaussian",
}
TITLES = {
    "opened": "What open parameters cost",
    "vocabulary": "Counts, zeros, times, ranks and proportions",
    "terms": "Curves, groups and modelled scales",
    "versions": "The version before, 0.1.0, and the present one (`versions.py`)",
    "elementary": "Elementary functions",
    "fits": f"Fits, each at the cheapest tolerance whose objective is within {ACCURACY:g} of the best found",
    "rivals": "Every contestant of the fits",
    "resources": "Growth, memory and unknown parameters",
    "bayes": "Posteriors and learned priors",
    "coverage": "How often intervals of 90% hold the truth",
    "bands": "How often bands of 90% hold true curves",
    "asked": "What is asked of a fit besides its coefficients",
    "tables": "`compare` on real tables: seconds of the processor for each noise, five folds and all rows",
    "boosting": "Gradient-boosted trees",
    "streaming": "Rows in files and on a cluster",
    "serving": "Predictions where they are served",
    "by": "One fit for each group of rows",
    "accuracy": "Largest errors of the exact Tweedie density and its derivatives, against 50-digit mpmath",
}
HEADS = {
    "elementary": COLUMNS,
    "fits": fits.COLUMNS,
    "rivals": fits.RIVAL_COLUMNS,
    "resources": resources.COLUMNS,
    "bayes": bayes.COLUMNS,
    "coverage": interval_coverage.COLUMNS,
    "bands": band_coverage.COLUMNS,
    "asked": asked.COLUMNS,
    "tables": real_tables.COLUMNS,
    "boosting": boosting.COLUMNS,
    "streaming": streaming.COLUMNS,
    "serving": serving.COLUMNS,
    "by": by_group.COLUMNS,
    "accuracy": accuracy.COLUMNS,
    "opened": opened.COLUMNS,
    "vocabulary": vocabulary.COLUMNS,
    "terms": terms.COLUMNS,
    "versions": ("problem", "before ms", "after ms", "after / before"),
}


def measured(problem):
    """One line of the table for each rival."""
    times = timing.best_times({"neglog": problem.ours, **problem.rivals}, problem.rounds)
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


def run(group, size, only, tables, tell, save):
    """Add the lines of one group to the tables, saving what there is after each fit."""
    if group in ELEMENTARY:
        for problem in ELEMENTARY[group]():
            tell(problem.name)
            tables["elementary"] += measured(problem)
    elif group in opened.GROUPS:
        tables["opened"] += opened.GROUPS[group](size, tell)
    elif group in vocabulary.GROUPS:
        for line in vocabulary.GROUPS[group](size, tell):
            tables["vocabulary"].append(line)
            save()
    elif group in terms.GROUPS:
        for line in terms.GROUPS[group](size, tell):
            tables["terms"].append(line)
            save()
    elif group in fits.GROUPS:
        tasks = (task for task in fits.GROUPS[group](size) if only in task.name)
        for outcome in fits.outcomes(tasks, tell):
            tables["fits"].append(fits.line(outcome))
            tables["rivals"] += fits.rival_lines(outcome)
            save()
    elif group in bayes.GROUPS:
        tables["bayes"] += bayes.GROUPS[group](size, tell)
    elif group in interval_coverage.GROUPS:
        for line in interval_coverage.GROUPS[group](size, tell):
            tables["coverage"].append(line)
            save()
    elif group in band_coverage.GROUPS:
        tables["bands"] += band_coverage.GROUPS[group](size, tell)
    elif group in asked.GROUPS:
        tables["asked"] += asked.GROUPS[group](size, tell)
    elif group in real_tables.GROUPS:
        for lines in real_tables.GROUPS[group](size, tell):
            tables["tables"] += lines
            save()
    elif group in boosting.GROUPS:
        tables["boosting"] += boosting.GROUPS[group](size, tell)
    elif group in streaming.GROUPS:
        tables["streaming"] += streaming.GROUPS[group](size, tell)
    elif group in serving.GROUPS:
        tables["serving"] += serving.GROUPS[group](size, tell)
    elif group in by_group.GROUPS:
        tables["by"] += by_group.GROUPS[group](size, tell)
    else:
        tables["resources"] += resources.GROUPS[group](size, tell)


def keep(group, tables):
    """Put the lines of a problem in place of those of its last run, and write all that is known for people."""
    known = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    entry = known.setdefault(group, {})
    entry["machine"], entry["version"] = machine(), nl.__version__
    # how an earlier run of the whole group ended no longer matters
    entry["resources"] = [line for line in entry.get("resources", []) if line[0] != group]
    for name, lines in tables.items():
        new = {line[0] for line in lines}
        if lines:
            entry[name] = [line for line in entry.get(name, []) if line[0] not in new] + lines
    KEPT.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sections = []
    for name, head in HEADS.items():
        lines = [line for group in GROUPS for line in known.get(group, {}).get(name, [])]
        if lines:
            sections.append(f"## {TITLES[name]}\n\n{markdown(head, lines)}")
    where = [(group, entry["version"], entry["machine"]) for group, entry in sorted(known.items())]
    sections.append(f"## Where each group was measured\n\n{markdown(('group', 'version', 'machine'), where)}")
    RESULTS.write_text("\n\n".join(["# Benchmarks", *sections]) + "\n", encoding="utf-8")


def main(names, quick, only):
    """Run the groups and show what came out of each."""
    if quick:
        timing.BUDGET = 0.2
    console = Console(width=190)
    console.print(machine())
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("measuring", total=len(names or GROUPS))

        def tell(text):
            progress.update(task, description=text)
            if not console.is_terminal:
                print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

        for group in names or GROUPS:
            tables = {name: [] for name in HEADS}
            save = partial(keep, group, tables) if not quick else bool
            try:
                run(group, fits.Size(quick), only, tables, tell, save)
            except AbsentError as reason:
                tables["resources"].append((group, f"skipped: {reason}", ""))
            except Exception as error:  # the groups after it are worth measuring
                console.print_exception()
                tables["resources"].append((group, f"failed: {type(error).__name__}: {error}", ""))
            if group == "tweedie":
                tables["accuracy"] = list(accuracy.table())
            for name, lines in tables.items():
                if lines:
                    console.print(shown(TITLES[name], HEADS[name], lines))
            save()
            progress.advance(task)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", nargs="*", help=", ".join(GROUPS))
    parser.add_argument("--quick", action="store_true", help="few rows, to see that everything runs")
    parser.add_argument("--only", default="", help="of the fits, those whose name contains this")
    arguments = parser.parse_args()
    if unknown := set(arguments.group) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    main(arguments.group, arguments.quick, arguments.only)
