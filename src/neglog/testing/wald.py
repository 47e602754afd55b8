"""Tests of coefficients by their covariance (Wald): whether they are 0, or stand to each other as is said."""

import re
from typing import Any

import numpy as np

from neglog.design.parts import Part
from neglog.distributions.lazy import special
from neglog.printing import did_you_mean
from neglog.testing.covariance import Covariance, spread_of, turned
from neglog.testing.outcome import Outcome, Test, holm
from neglog.typing import Numbers

NOTHING = 1e-10  # of the largest eigenvalue: a direction that says nothing
KINDS = {"smooth": "a curve", "group": "a group", "interaction": "an interaction"}
TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?)\s*\*?)?\s*(.*)", re.DOTALL)


def wald(fit: Any, hypotheses: tuple[str, ...], errors: str, cluster: Any) -> Outcome:
    """All of them at once, and each by itself."""
    if not hypotheses:
        raise TypeError('test needs names of coefficients or factors, or equations such as "age = 2 * income"')
    spread = spread_of(fit, errors, cluster)
    covariance = turned(fit, spread, noise=False)
    values = fit._joint.public_matrix()[: len(covariance.names)] @ np.append(fit._answer.theta, fit._joint.start)
    asked = [_asked(fit, one, covariance) for one in hypotheses]
    parts = [_tested(text, *one, values, covariance, spread) for text, one in zip(hypotheses, asked, strict=True)]
    rows, right = (np.concatenate([one[k] for one in asked]) for k in (0, 1))
    if len(parts) == 1:
        return Outcome(parts[0], f"Standard errors {spread.text}.")
    whole = _tested("all of them", rows, right, values, covariance, spread)
    text = f"Standard errors {spread.text}; p of several by Holm."
    return Outcome(whole, text, tuple(parts), holm([one.p for one in parts]))


def _tested(what: str, rows: Numbers, right: Numbers, values: Numbers, covariance: Covariance, spread: Any) -> Test:
    """Whether rows @ values is what it is said to be."""
    away = rows @ values - right
    matrix = rows @ covariance.matrix @ rows.T * spread.widened**2
    if not np.isfinite(matrix).all():
        lost = [name for name, row in zip(covariance.names, rows.T, strict=True) if row.any()]
        raise ValueError(f"nothing is known about how sure {', '.join(lost)} are, so that they cannot be tested")
    scale = np.sqrt(matrix.diagonal())
    directions, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    known = directions > NOTHING * directions[-1]
    statistic = float(np.sum((vectors[:, known].T @ (away / scale)) ** 2 / directions[known]))
    degrees = int(known.sum())
    if spread.degrees is None:
        return Test(what, statistic, f"chi-square({degrees})", float(special.chdtrc(degrees, statistic)))
    p = float(special.fdtrc(degrees, spread.degrees, statistic / degrees))
    return Test(what, statistic / degrees, f"F({degrees}, {spread.degrees:.4g})", p)


def _asked(fit: Any, text: str, covariance: Covariance) -> tuple[Numbers, Numbers]:
    """The rows of an equation, and its right-hand side; of a name, that it is 0."""
    names = covariance.names
    places = places_of(fit, text, names)
    if places:
        classes = len(fit.classes) if fit.noise.of_classes and text not in names else 1
        rows = np.eye(len(names))[places].reshape(classes, -1, len(names))
        if classes > 1:  # what they have in common, the prior says
            rows = rows - rows.mean(axis=0)
        if _all_levels(fit, text):
            rows = rows - rows.mean(axis=1, keepdims=True)
        return rows.reshape(-1, len(names)), np.zeros(len(places))
    left, _, right = text.partition("=")
    row, level = np.zeros(len(names)), 0.0
    for sign, side in ((1.0, left), (-1.0, right)):
        for factor, name in _terms(side, names, text):
            if name is None:
                level -= sign * factor
            else:
                row[names.index(name)] += sign * factor
    if not row.any():
        raise ValueError(f"{text!r} says nothing about any coefficient")
    return row[None], np.array([level])


def places_of(fit: Any, name: str, names: tuple[str, ...]) -> list[int]:
    """Where a coefficient stands, or the levels of a factor; under classes those of each class."""
    alike = [k for k, other in enumerate(names) if other == name or (fit.noise.of_classes and _ends(other, name))]
    if alike:
        return alike
    output, part = _part(fit, name)
    if part is None:
        return []
    if isinstance(part, Part):
        held = "wiggles" if part.kind == "smooth" else "coefficients"
        raise ValueError(
            f"{name!r} is {KINDS[part.kind]}, whose {held} have a prior that draws them to 0: nl.likelihood_ratio "
            "compares fits with and without it, and fit.terms says how many parameters it counts"
        )
    own = {f"{output}{level}" for level in part.coefficients}
    return [k for k, other in enumerate(names) if (other.split(": ", 1)[-1] if fit.noise.of_classes else other) in own]


def _ends(name: str, end: str) -> bool:
    return name.endswith(f": {end}")


def _part(fit: Any, name: str) -> tuple[str, Any]:
    """The part of the columns that is called so, and what its coefficients begin with where it is for a parameter."""
    output = next((f"{own}: " for own in fit.noise.modelled if name.startswith(f"{own}: ")), "")
    return output, next((part for part in fit.schema.parts if name.removeprefix(output) in _called(part)), None)


def _called(part: Any) -> tuple[str, ...]:
    """Its name; of a term also those that its columns make."""
    return (part.name, ":".join(part.inputs), ":".join(part.inputs[::-1])) if isinstance(part, Part) else (part.name,)


def _all_levels(fit: Any, name: str) -> bool:
    """Whether every level of a factor has a coefficient, of which only differences mean something."""
    _, part = _part(fit, name)
    levels = None if isinstance(part, Part) else getattr(part, "levels", None)
    return levels is not None and len(part.coefficients) == len(levels) and fit.has_intercept


def _terms(side: str, names: tuple[str, ...], text: str) -> list[tuple[float, str | None]]:
    """Factors with the names that they multiply; numbers alone have none."""
    if not side.strip():
        return []
    found: list[tuple[float, str | None]] = []
    for sign, piece in _pieces(side, names):
        match = TERM.fullmatch(piece)
        assert match is not None
        if piece in names:
            found.append((sign, piece))
            continue
        number, name = match[2], match[3].strip()
        if name and name not in names:
            inside = "" if name == text else f", which {text!r} names"
            raise ValueError(f"there is no coefficient or factor {name!r}{inside}{did_you_mean([name], names)}")
        if not name and number is None:
            raise ValueError(f"{text!r} is no equation of coefficients, such as 'age = 2 * income'")
        found.append((sign * (1.0 if number is None else float(number)), name or None))
    return found


def _pieces(side: str, names: tuple[str, ...]) -> list[tuple[float, str]]:
    """What stands between plus and minus, where these are no part of a name."""
    longest = sorted((name for name in names if re.search(r"[+\-=*]", name)), key=len, reverse=True)
    kept = {f"\0{k}\0": name for k, name in enumerate(longest)}
    for mark, name in kept.items():
        side = side.replace(name, mark)
    pieces: list[tuple[float, str]] = []
    for sign, piece in re.findall(r"([+-]?)((?:\d[eE][+-]?\d|[^+-])+)", side):
        for mark, name in kept.items():
            piece = piece.replace(mark, name)
        pieces.append((-1.0 if sign == "-" else 1.0, piece.strip()))
    return [(sign, piece) for sign, piece in pieces if piece]
