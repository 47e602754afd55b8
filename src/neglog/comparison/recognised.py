"""What a target looks like beside what it was taken for: grades, shares, values cut off at an end, durations."""

import re
from typing import Any

import numpy as np

from neglog.comparison.recorded import Facts
from neglog.design.blocks import Dense
from neglog.design.design import Design

GRADES = (3, 10)  # as many different whole values in a row may be grades
PILED = 0.005  # share of the rows at one end from which on they may have been cut off there
TALLER = 5  # times as many rows as at any of the next values
NEXT = 20
EVENTS = re.compile(
    r"(^|[_\W])(event|status|censor\w*|dead|death|died|fail\w*|observed|churn\w*|relapse\w*)([_\W]|$)", re.I
)


def looks_like_grades(facts: Facts) -> bool:
    """Few whole numbers, one after the other."""
    values = sorted(facts.values or ())
    whole = all(value == round(value) for value in values)
    return GRADES[0] <= len(values) <= GRADES[1] and whole and values[-1] - values[0] == len(values) - 1


def recognised(facts: Facts, y: Any, design: Design, target: str) -> list[str]:
    """Sentences about what the target may be."""
    if facts.cells:
        return []
    found = [*_cut_off(facts, np.asarray(y, float), target), *_durations(facts, design, target)]
    low, high = facts.least[0], facts.largest[0]
    if looks_like_grades(facts):
        found.append(
            f"{target} has {len(facts.values or ())} whole values from {low:g} to {high:g}, as grades have: noises of "
            "classes, Categorical and Ordinal, are compared too where the rows are in memory"
        )
    elif low >= 0 and high <= 1 and facts.values is None:
        ends = facts.least[1] * (low == 0) + facts.largest[1] * (high == 1)
        but = f", but {ends:,} are 0 or 1, which keeps BetaProportion and Logit noises out" if ends else ""
        found.append(f"{target} lies between 0 and 1, as shares do{but}")
    return found


def _cut_off(facts: Facts, y: Any, target: str) -> list[str]:
    """Values piled up at an end: what lay beyond may have been written as that."""
    found: list[str] = []
    if facts.values is not None:
        return found
    for (value, count), side, open_end, words in (
        (facts.largest, "largest", "np.where(y == {0:g}, np.inf, y)", "nl.censored(y, {1})"),
        (facts.least, "smallest", "np.where(y == {0:g}, -np.inf, y)", "nl.censored({1}, y)"),
    ):
        if value == 0 or count < max(PILED * facts.rows, 10):  # zeros have noises of their own
            continue
        others, counts = np.unique(y, return_counts=True)
        near = counts[-NEXT - 1 : -1] if side == "largest" else counts[1 : NEXT + 1]
        if len(others) < NEXT or count < TALLER * near.max() * facts.rows / len(y) * 0.999:
            continue
        call = words.format(value, open_end.format(value))
        more = "at least" if side == "largest" else "at most"
        found.append(
            f"{count:,} of {facts.rows:,} rows ({count / facts.rows:.1%}) have the {side} {target}, {value:g}, as if "
            f"it had been cut off there; if so, {call} in the place of y says that they are {more} that"
        )
    return found


def _durations(facts: Facts, design: Design, target: str) -> list[str]:
    """A positive target beside a column of 0 and 1 that is called like an event."""
    if not facts.least[0] > 0:
        return []
    names = design.names
    start = 0
    found = []
    for block in design.blocks:
        for k in range(block.columns):
            name = names[start + k]
            if isinstance(block, Dense) and EVENTS.search(name):
                values = np.asarray(block.values[:, k])
                if np.isin(values, (0, 1)).all():
                    found.append(
                        f"is {name!r} 1 where {target} was observed and 0 where it went on? Then it is no column to "
                        f"predict by: nl.censored({target!r}, event={name!r}) takes it (--event {name})"
                    )
        start += block.columns
    return found
