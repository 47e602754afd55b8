"""What the columns of X mean: a table, an array or a sparse matrix becomes blocks of columns with names."""

from neglog.design.blocks import Basis, Block, Codes, Dense, Sparse
from neglog.design.columns import beside, check_index, column, declared_order, row_count, split
from neglog.design.design import Column, Design, Schema, read
from neglog.design.foreign_formula import opened_formula
from neglog.design.formula import is_formula
from neglog.design.tables import Level, Table

__all__ = [
    "Basis",
    "Block",
    "Codes",
    "Column",
    "Dense",
    "Design",
    "Level",
    "Schema",
    "Sparse",
    "Table",
    "beside",
    "check_index",
    "column",
    "declared_order",
    "is_formula",
    "opened_formula",
    "read",
    "row_count",
    "split",
]
