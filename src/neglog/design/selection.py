"""Some of the rows, or some of the columns, of a design. Both copy: they are for samples and working sets."""

from typing import Any

import numpy as np

from neglog.design.blocks import Basis, Block, Codes, Dense, Sparse, rows_of
from neglog.design.design import Design, Schema


def take_rows(design: Design, rows: Any) -> Design:
    """The rows of a slice or of row numbers."""
    blocks = tuple(rows_of(block, rows) for block in design.blocks)
    count = blocks[0].rows if blocks else len(np.empty(design.rows, bool)[rows])
    return Design(blocks, count, design.columns, design.schema)


def take_columns(design: Design, columns: Any) -> Design:
    """The columns of these (ascending) numbers; their names are not carried over."""
    columns = np.asarray(columns)
    blocks: list[Block] = []
    start = 0
    for block in design.blocks:
        here = columns[(columns >= start) & (columns < start + block.columns)] - start
        start += block.columns
        if not len(here):
            continue
        if isinstance(block, Dense):
            blocks.append(Dense(np.asfortranarray(block.values[:, here])))
        elif isinstance(block, Codes):
            place = np.full(len(block.levels) + 1, -1, np.int32)  # the last entry is that of the code -1
            place[here + block.reference] = np.arange(len(here), dtype=np.int32)
            kept = tuple(block.levels[level + block.reference] for level in here)
            blocks.append(Codes(place[block.codes], kept))
        elif isinstance(block, Basis):
            whole = len(here) == block.columns
            blocks.append(block if whole else Dense(np.asfortranarray(block.values()[:, here])))
        else:
            blocks.append(Sparse(block.matrix[:, here].tocsr()))
    return Design(tuple(blocks), design.rows, len(columns), Schema(len(columns)))
