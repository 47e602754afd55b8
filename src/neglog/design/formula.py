"""Formulas such as "y ~ s(age) + (1|region) + log(power):fuel + offset(start)", read into terms."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from neglog.design.functions import FUNCTIONS
from neglog.design.terms import Factor, Group, Interaction, Smooth, Term, Terms, columns_of
from neglog.printing import did_you_mean

NAME = re.compile(r"[A-Za-z_.][\w.]*")
CALL = re.compile(r"(\w+)\((.*)\)")
SURFACE = 8  # knots each way, of te(a, b)
SIZE = re.compile(r"(?:(?:k|size)\s*=\s*)?(\d+)")
OWN = ("s", "te", "ti", "offset")  # functions that nobody else knows
REST = "."  # all other columns
WRITE = {
    "s": "write s(age), or s(age, 10) with its number of knots, of a column by its name",
    "te": "write te(age, power), of two columns by their names",
    "ti": "write ti(age, power), of two columns by their names",
    "offset": "write offset(start), of a column by its name, or offset(log(years)); make a column of anything else",
}


@dataclass(frozen=True)
class Formula:
    """A target and what explains it; `rest` is the place among the terms of all columns that are not named elsewhere,
    but for those in `without`.
    """

    text: str
    target: str
    items: tuple[Term, ...]
    intercept: bool
    offset: str | None = None
    exposure: str | None = None
    rest: int | None = None
    without: tuple[str, ...] = ()

    @property
    def terms(self) -> Terms:
        """Those that are stated one by one."""
        return Terms(self.items)

    def terms_among(self, names: Callable[[], Sequence[str]], taken: Sequence[str]) -> Terms:
        """All terms, in a table with columns of these names, of which some are taken for something else."""
        if self.rest is None:
            return self.terms
        known = list(names())
        own = {_inside(name) for item in self.items for name in columns_of(item)}
        absent = [name for name in self.without if name not in known]
        if absent:
            raise fault(self.text, f"- {absent[0]}", f"X has no such column{did_you_mean(absent, known)}")
        used = {self.target, self.offset, self.exposure, *own, *self.without, *taken}
        others = [name for name in known if name not in used]
        if not others and not self.items:
            raise fault(self.text, REST, "X has no other columns than the target and what goes with the rows")
        return Terms((*self.items[: self.rest], *others, *self.items[self.rest :]))


def is_formula(y: Any) -> bool:
    """Whether the target is a formula."""
    return isinstance(y, str) and "~" in y


def fault(text: str, part: str, why: str) -> ValueError:
    """The error about a part of a formula, which says where that stands."""
    place = text.find(part)
    where = f", from letter {place + 1}" if place >= 0 and len(part) < len(text) else ""
    return ValueError(f"the formula {text!r} has {part!r}{where}: {why}")


def read_formula(text: str) -> Formula | None:
    """The formula as terms; None if it has what terms are not."""
    left, right = _sides(text)
    target = _name(left)
    if target is None:
        return None
    items: list[Term] = []
    rest: int | None = None
    beside: dict[str, str] = {}
    removed: list[str] = []
    intercept = True
    for sign, part in _split(right, "+-"):
        if part in ("0", "1"):
            intercept = (part == "1") == (sign == "+")
        elif part == REST and sign == "+" and rest is None:
            rest = len(items)
        elif sign == "-" and _name(part) is not None:
            removed.append(str(_name(part)))
        elif sign == "+" and part.replace(" ", "").startswith("offset("):
            what, name = _offset(text, part)
            if beside:
                raise fault(text, part, "one offset there is already; make one column of both")
            beside[what] = name
        else:
            found = _terms(text, part) if sign == "+" and part else None
            if found is None:
                return None
            items += [item for item in found if str(item) not in map(str, items)]
    if removed and rest is None:
        return None
    return Formula(text, target, tuple(items), intercept, **beside, rest=rest, without=tuple(removed))


def beside_terms(text: str) -> tuple[str, bool, dict[str, str]]:
    """Of a formula that is not ours to read: the same without offset(column), whether it keeps the intercept, and the
    offset.
    """
    left, right = _sides(text)
    intercept, beside, kept = True, dict[str, str](), ""
    for sign, part in _split(right, "+-"):
        if part in ("0", "1"):
            intercept = (part == "1") == (sign == "+")
        if part.replace(" ", "").startswith("offset("):
            what, beside[what] = _offset(text, part)
            continue
        kept += f" {sign} {part}" if kept or sign == "-" else part
    return (f"{left} ~ {kept}" if beside else text), intercept, beside


def _sides(text: str) -> tuple[str, str]:
    """What stands before and after ~, or the error that says what is wrong with the whole."""
    left, _, right = text.partition("~")
    if "~" in right:
        raise fault(text, text, "~ stands between the target and the terms, once")
    if not left.strip():
        raise fault(text, text, "nothing stands before ~; name the target, as in y ~ age")
    if not right.strip():
        raise fault(text, text, "nothing stands after ~; write the terms, or 1 for an intercept alone")
    depth = 0
    for place, mark in enumerate(_unquoted(right)):
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            raise fault(text, right[: place + 1].strip(), "a bracket is closed that was never opened")
        if mark == "|" and depth == 0:
            raise fault(
                text,
                right.strip(),
                "| stands inside brackets: (1|z) for the levels of z as a group, (1 + x|z) for slopes by level, too. "
                "What predicts another parameter of the noise is stated there, as in nl.Gaussian(scale=nl.terms('z')); "
                "instruments are not known",
            )
    if depth:
        raise fault(text, right.strip(), "a bracket is never closed")
    return left.strip(), right


def _unquoted(text: str) -> str:
    """The same text with blanks in the place of what stands in backticks."""
    return re.sub(r"`[^`]*`", lambda found: " " * len(found[0]), text)


def _split(text: str, signs: str) -> list[tuple[str, str]]:
    """Parts between signs that stand in no brackets, each with the sign before it."""
    parts: list[tuple[str, str]] = []
    depth, sign, start = 0, "+", 0
    for place, mark in enumerate(_unquoted(text)):
        depth += (mark == "(") - (mark == ")")
        if mark in signs and depth == 0:
            if text[start:place].strip() or parts:
                parts.append((sign, text[start:place].strip()))
            sign, start = mark, place + 1
    return [*parts, (sign, text[start:].strip())]


def _offset(text: str, part: str) -> tuple[str, str]:
    """What an offset is called elsewhere, and its column: the log of a column is what an exposure adds."""
    called = CALL.fullmatch(part)
    inside = called[2].strip() if called and called[1] == "offset" else ""
    name = _name(inside)
    if name is not None:
        return "offset", name
    function = CALL.fullmatch(inside)
    of = _name(function[2]) if function and function[1] == "log" else None
    if of is None:
        raise fault(text, part, WRITE["offset"])
    return "exposure", of


def _inside(name: str) -> str:
    """The column that a name is a function of, or the name."""
    called = CALL.fullmatch(name)
    return called[2] if called and called[1] in FUNCTIONS else name


def _terms(text: str, part: str) -> list[Term] | None:
    """One summand as terms; None for what others may know."""
    found = _known(part)
    called = re.match(r"(\w+)\s*\(", part)
    if found is None and called and called[1] in OWN:
        raise fault(text, part, WRITE[called[1]])
    if found is None and part.startswith("(") and "|" in part:
        raise fault(text, part, "a group is (1|g), with slopes (1 + x|g), of a column g by its name")
    return found


def _known(part: str) -> list[Term] | None:
    if part.startswith("(") and part.endswith(")") and "|" in part:
        return _grouped(part[1:-1])
    crossed = [_atom(one) for _, one in _split(part, "*")]
    if len(crossed) == 2 and None not in crossed:
        first, second = crossed
        return [first, second, Interaction(first, second)]
    both = [_atom(one) for _, one in _split(part, ":")]
    if len(both) == 2 and None not in both:
        return [Interaction(*both)]
    called = CALL.fullmatch(part)
    if called and called[1] in ("te", "ti"):
        names = [_name(one) for _, one in _split(called[2], ",")]
        if len(names) != 2 or None in names:
            return None
        first, second = (str(name) for name in names)
        surface = Interaction(Smooth(first, SURFACE), Smooth(second, SURFACE))
        return [Smooth(first), Smooth(second), surface] if called[1] == "te" else [surface]
    own = _atom(part)
    return None if own is None else [own]


def _grouped(part: str) -> list[Term] | None:
    """What stands in (1 + x|g): the levels of g, and the slopes of x by level."""
    effects, _, name = part.replace("||", "|").partition("|")  # levels and slopes have priors of their own either way
    group = _name(name.strip())
    if group is None:
        return None
    found: list[Term] = []
    levels = True
    for sign, effect in _split(effects, "+-"):
        if effect in ("0", "1"):
            levels = (effect == "1") == (sign == "+")
            continue
        slope = _atom(effect)
        if slope is None or sign == "-":
            return None
        found.append(Interaction(Group(group), slope))
    return [Group(group), *found] if levels else found


def _atom(part: str) -> Any:
    """A column, a function of one, a curve or a factor; None if it is none of these."""
    name = _name(part)
    if name is not None:
        return name
    called = CALL.fullmatch(part)
    if called is None:
        return None
    inside = [one for _, one in _split(called[2], ",")]
    own = _name(inside[0])
    if own is None:
        return None
    if called[1] == "s" and len(inside) <= 2:
        size = SIZE.fullmatch(inside[1]) if len(inside) == 2 else None
        return None if len(inside) == 2 and size is None else Smooth(own) if size is None else Smooth(own, int(size[1]))
    if len(inside) > 1:
        return None
    if called[1] == "C":
        return Factor(own)
    return f"{called[1]}({own})" if called[1] in FUNCTIONS else None


def _name(text: str) -> str | None:
    """The name of a column, also one in backticks."""
    text = text.strip()
    if len(text) > 2 and text[0] == text[-1] == "`":
        return text[1:-1]
    return text if NAME.fullmatch(text) and text != REST else None
