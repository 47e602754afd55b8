"""Expressions as the text of a query: what is used more than once becomes a column of an inner query."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from neglog.export.dialects import Dialect, decimal, identifier, literal
from neglog.export.expressions import Expression

LEAVES = ("column", "number", "level", "null")
TERMS_IN_A_SUM = 100  # more at once would be deeper than databases take
LOOSE, SUM, PRODUCT, TIGHT = range(4)  # how an operation holds its parts together
INFIX = {  # its sign, how it holds, and how its parts must
    "add": ("+", SUM, SUM, SUM),
    "subtract": ("-", SUM, SUM, PRODUCT),
    "multiply": ("*", PRODUCT, PRODUCT, PRODUCT),
    "divide": ("/", PRODUCT, PRODUCT, TIGHT),
    "and": ("AND", LOOSE, TIGHT, TIGHT),
    **{f"compare {sign}": (sign, LOOSE, SUM, SUM) for sign in ("<", "<=", ">", ">=", "=", "<>")},
}


class Names:
    """Names that no column, table or inner query has yet; SQL does not tell small letters from large ones."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {name.lower() for name in taken}

    def fresh(self, wish: str) -> str:
        """The name that is wished for, or one like it."""
        name, number = wish, 1
        while name.lower() in self._taken:
            name, number = f"{wish} {number + 1}", number + 1
        self._taken.add(name.lower())
        return name


class Writer:
    """Expressions as text; some are columns by now."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.columns: dict[Expression, str] = {}

    def text(self, node: Expression, hold: int = LOOSE) -> str:
        """An expression, in parentheses if it holds its parts together less than what it is part of."""
        if node in self.columns:
            return identifier(self.columns[node])
        text, own = self._written(node)
        return text if own >= hold else f"({text})"

    def _written(self, node: Expression) -> tuple[str, int]:
        parts = node.parts
        match node.operation:
            case "number":
                return self._number(parts[0]), TIGHT
            case "level":
                return literal(parts[0]), TIGHT
            case "null":
                return "NULL", TIGHT
            case "column":
                return identifier(parts[0]), TIGHT
            case "sum":
                return self._sum([self.text(part, PRODUCT) for part in parts]), SUM
            case "case":
                return self._case(parts), TIGHT
            case "is null":
                return f"{self.text(parts[0], TIGHT)} IS NULL", LOOSE
            case "double":
                return f"CAST({self.text(parts[0])} AS DOUBLE PRECISION)", TIGHT
            case "negative":
                return f"-({self.text(parts[0])})", TIGHT
            case infix if infix in INFIX:
                sign, own, left, right = INFIX[infix]
                return f"{self.text(parts[0], left)} {sign} {self.text(parts[1], right)}", own
            case function:
                return f"{self.dialect.functions.get(function, function)}({', '.join(map(self.text, parts))})", TIGHT

    def _number(self, value: float) -> str:
        if math.isnan(value):
            return "NULL"
        return decimal(value) if math.isfinite(value) else "-" * (value < 0) + self.dialect.infinity

    def _sum(self, texts: list[str]) -> str:
        while len(texts) > TERMS_IN_A_SUM:
            starts = range(0, len(texts), TERMS_IN_A_SUM)
            texts = [f"({self._sum(texts[k : k + TERMS_IN_A_SUM])})" for k in starts]
        return "\n    + ".join(texts)

    def _case(self, parts: Sequence[Expression]) -> str:
        *pairs, otherwise = map(self.text, parts)
        lines = [f"WHEN {when} THEN {then}" for when, then in zip(pairs[::2], pairs[1::2], strict=True)]
        lines += [] if otherwise == "NULL" else [f"ELSE {otherwise}"]
        return f"CASE {' '.join(lines)} END" if len(lines) <= 2 else _listed(["CASE", *lines, "END"], "      ", "")


def lowered(node: Expression, dialect: Dialect, known: dict[Expression, Expression]) -> Expression:
    """The same by functions that the database has for every number. What occurs twice stays one."""
    if node.operation in LEAVES:
        return node
    if node not in known:
        parts = [lowered(part, dialect, known) for part in node.parts]
        known[node] = dialect.guarded(Expression(node.operation, *parts, label=node.label))
    return known[node]


def steps(roots: Iterable[Expression]) -> list[list[Expression]]:
    """What is used more than once: each in the first step after all that it is made of."""
    uses: Counter[Expression] = Counter()
    order: list[Expression] = []

    def visit(node: Expression) -> None:
        uses[node] += 1
        if uses[node] == 1 and node.operation not in LEAVES:
            for part in node.parts:
                visit(part)
            order.append(node)

    for root in roots:
        visit(root)
    step_of: dict[Expression, int] = {}  # the step whose columns a node needs
    out: list[list[Expression]] = []
    for node in order:
        step = max((step_of.get(part, 0) for part in node.parts), default=0)
        step_of[node] = step
        if uses[node] > 1 and not _is_short(node):
            out.extend([] for _ in range(step + 1 - len(out)))
            out[step].append(node)
            step_of[node] = step + 1
    return out


def _is_short(node: Expression) -> bool:
    """Whether an operation is written as easily as its name would be."""
    return node.operation in INFIX and all(part.operation in LEAVES for part in node.parts)


def query(
    dialect: Dialect,
    names: Names,
    tables: Sequence[str],
    source: str,
    inputs: Mapping[str, str],
    outputs: Mapping[str, Expression],
) -> str:
    """A SELECT with a column for each output.

    tables   inner queries that stand before, as text
    source   what the rows are read from
    inputs   the columns that the expressions know, each as the source has it
    """
    known: dict[Expression, Expression] = {}
    wanted = {name: lowered(node, dialect, known) for name, node in outputs.items()}
    writer = Writer(dialect)
    own = [f"{text} AS {identifier(name)}" for name, text in inputs.items()] or ['1 AS "one"']
    inner = [*tables]
    place = names.fresh("inputs")
    inner.append(_inner(place, own, source, dialect))
    for nodes in steps(wanted.values()):
        labels = {node: names.fresh(node.label or "part") for node in nodes}
        own = ["*", *(f"{writer.text(node)} AS {identifier(name)}" for node, name in labels.items())]
        writer.columns.update(labels)
        before, place = place, names.fresh("step")
        inner.append(_inner(place, own, identifier(before), dialect))
    shown = [f"{writer.text(node)} AS {identifier(name)}" for name, node in wanted.items()]
    return f"WITH {_listed(inner, '')}\nSELECT\n  {_listed(shown, '  ')}\nFROM {identifier(place)}"


def _inner(name: str, columns: Sequence[str], source: str, dialect: Dialect) -> str:
    return f"{identifier(name)} AS (\n  SELECT\n    {_listed(columns, '    ')}\n  FROM {source}{dialect.fence}\n)"


def _listed(parts: Sequence[str], margin: str, mark: str = ",") -> str:
    return f"{mark}\n{margin}".join(parts)
