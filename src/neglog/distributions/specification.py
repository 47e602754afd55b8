"""Noises and priors as text: "gamma", "hurdle(gamma, p=0.5)", "gaussian(scale=2) * laplace(scale=0.1)"."""

import ast
from typing import Any

from neglog.distributions.base import Prior
from neglog.distributions.flat import Flat
from neglog.distributions.noise import Noise
from neglog.distributions.registry import FAMILIES, WRAPPERS, listed, public_names
from neglog.printing import did_you_mean


def noise_of(given: str | Noise) -> Noise:
    """A noise, from itself or from its text."""
    law = parsed(given) if isinstance(given, str) else given
    if not isinstance(law, Noise):
        raise ValueError(f"noise must be one of {listed(Noise)}, but is {given!r}")
    return law


def prior_of(given: str | Prior | None) -> Prior:
    """A prior, from itself or from its text; None is Flat()."""
    if given is None:
        return Flat()
    law = parsed(given) if isinstance(given, str) else given
    if not isinstance(law, Prior):
        raise ValueError(f"prior must be one of {listed(Prior)} or a product of them, but is {given!r}")
    return law


def parsed(text: str) -> Any:
    """The distribution that the text describes. It is read, never run: it may have names, numbers and products only."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is not a distribution; write one as in 'gamma' or 'tweedie(power=1.5)'") from None
    return _law(tree, text)


def _law(node: ast.expr, text: str) -> Any:
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _law(left, text) * _law(right, text)
        case ast.Name(id=name):
            return _made(name, [], {}, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if all(k.arg for k in keywords):
            inside = 1 if _plain(name) in WRAPPERS else 0  # which take a noise first
            values = [*(_law(arg, text) for arg in args[:inside]), *(_value(arg, text) for arg in args[inside:])]
            return _made(name, values, {str(k.arg): _value(k.value, text) for k in keywords}, text)
    raise ValueError(f"{text!r} is not a distribution; write one as in 'gamma' or 'tweedie(power=1.5)'")


def _value(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, int | float | str):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _value(operand, text)
            if isinstance(value, int | float):
                return -value
        case ast.Name(id="inf"):
            return float("inf")
        case ast.List(elts=values) | ast.Tuple(elts=values):
            return [_value(value, text) for value in values]
    raise ValueError(f"{text!r}: the values of a distribution must be numbers, names in quotes or lists of them")


def _made(name: str, values: list[Any], named: dict[str, Any], text: str) -> Any:
    family: Any = (FAMILIES | WRAPPERS).get(_plain(name))
    if family is None:
        near = did_you_mean([name], public_names())
        raise ValueError(f"{text!r}: there is no distribution {name!r}; there are {listed()}{near}")
    try:
        return family(*values, **named)
    except TypeError as error:
        raise ValueError(f"{text!r}: {family.__name__} takes {family.takes()} ({error})") from None


def _plain(name: str) -> str:
    """A name as the registry knows it."""
    return name.lower().replace("_", "")
