"""Rows that are not in memory: a source hands them out as Arrow tables and sums what is made of them."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np

# What is done with one table: (table, number of its first row among all rows) -> something that `added` can add.
Work = Callable[[Any, int], Any]


class Source(Protocol):
    """Where the rows live: files here, or partitions of a cluster.

    Pieces have a fixed order, and sums are made in that order (or in a tree over it), so that they do not depend on how
    many workers there are.
    """

    types: dict[str, Any]  # of all columns, as Arrow's
    lengths: list[int] | None  # rows of each piece, once a pass has counted them

    def total(self, work: Work, columns: list[str], *, count: Callable[[Any], int] | None = None) -> Any:
        """The sum of the work over all pieces, reading these columns only. `count` tells a piece's rows from its
        result: in the first pass, when nobody knows them yet.
        """
        ...

    def where(self, row: int) -> str:
        """The place of a row as people look for it: the file and the row in it."""
        ...


def added(one: Any, other: Any) -> Any:
    """The sum of two results: numbers, arrays, and tuples, dicts and dataclasses of them; lists are joined."""
    if one is None or other is None:
        return one if other is None else other
    if hasattr(one, "__add__") and not isinstance(one, tuple):
        return one + other
    if isinstance(one, tuple):
        return type(one)(*map(added, one, other)) if hasattr(one, "_fields") else tuple(map(added, one, other))
    if isinstance(one, dict):
        return {key: added(one.get(key), other.get(key)) for key in one | other}
    if is_dataclass(one):
        kind: Any = type(one)
        return kind(*(added(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)))
    raise TypeError(f"results of the type {type(one).__name__} cannot be added")


def folded(results: Any) -> Any:
    """The sum of many results in their order."""
    total = None
    for result in results:
        total = added(total, result)
    return total


PIECE = 40  # bits of a row's number in its piece, until the lengths of pieces are known


def first_rows(lengths: list[int] | None, count: int) -> list[int]:
    """The number of the first row of each piece; while lengths are unknown, the piece's own number in the high bits."""
    if lengths is None:
        return [piece << PIECE for piece in range(count)]
    firsts = [0]
    for length in lengths[:-1]:
        firsts.append(firsts[-1] + length)
    return firsts[:count]


def final_numbers(numbers: Any, lengths: list[int] | None) -> Any:
    """Numbers given while lengths were unknown as they are now."""
    assert lengths is not None
    firsts = np.array(first_rows(lengths, len(lengths)))
    pieces = numbers >> PIECE
    return np.where(pieces > 0, firsts[pieces] + (numbers & ((1 << PIECE) - 1)), numbers)


def piece_and_row(row: int, lengths: list[int] | None) -> tuple[int, int]:
    """Which piece a row is in, and its number there."""
    if lengths is None or row >> PIECE:
        return row >> PIECE, row & ((1 << PIECE) - 1)
    piece = 0
    while piece < len(lengths) - 1 and row >= lengths[piece]:
        row -= lengths[piece]
        piece += 1
    return piece, row
