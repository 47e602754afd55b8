"""Formulas as data. A family states its mean and its quantiles once, in NumPy; given expressions in the place of
numbers, the same lines say what a database is to compute, and what none can is refused by the name of its function.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


class InexpressibleError(TypeError):
    """A formula needs what SQL does not have."""


class Expression(np.lib.mixins.NDArrayOperatorsMixin):
    """An operation and what it is done to. NumPy's operators and functions of it are expressions again.

    A label is the name of the column in which an inner query keeps the value, if it is needed more than once.
    """

    __slots__ = ("label", "operation", "parts")
    shape = ()

    def __init__(self, operation: str, *parts: Any, label: str | None = None) -> None:
        self.operation, self.parts, self.label = operation, parts, label

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        rule = RULES.get(ufunc.__name__)
        if rule is None or method != "__call__" or options:
            raise InexpressibleError(f"{ufunc.__name__} is no function of SQL")
        return rule(*map(expression, inputs))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        rule = FUNCTIONS.get(function.__name__)
        if rule is None or options:
            raise InexpressibleError(f"{function.__name__} is no function of SQL")
        return rule(*arguments)

    def __getitem__(self, key: Any) -> "Expression":
        if key != ():
            raise InexpressibleError("a row of a table has single numbers only")
        return self

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise InexpressibleError("it takes a search by numbers, which SQL has no words for")

    __array__ = __float__ = __bool__ = __iter__ = _refused
    __hash__ = object.__hash__


def expression(value: Any) -> Expression:
    """A number, or an array of one, as an expression; an expression as it is."""
    if isinstance(value, Expression):
        return value
    array = np.asarray(value)
    if array.size != 1:
        raise InexpressibleError("a row of a table has single numbers only")
    return Expression("number", array.item())


def column(name: str) -> Expression:
    """A column of the rows."""
    return Expression("column", name)


def total(parts: Iterable[Any], label: str | None = None) -> Expression:
    """The sum of parts."""
    return Expression("sum", *map(expression, parts), label=label)


def cases(pairs: Iterable[tuple[Any, Any]], otherwise: Any) -> Expression:
    """The value of the first condition that is met, or the other one. None is no value."""
    flat = [part for condition, value in pairs for part in (condition, _or_null(value))]
    return Expression("case", *flat, _or_null(otherwise)) if flat else expression(otherwise)


def is_null(value: Expression) -> Expression:
    """Whether there is no value."""
    return Expression("is null", value)


def equals(value: Expression, level: Any) -> Expression:
    """Whether a column is of this level: a text, a number or a truth."""
    return Expression("compare =", value, Expression("level", level))


def both(one: Expression, other: Expression) -> Expression:
    """Whether both conditions are met."""
    return Expression("and", one, other)


def _or_null(value: Any) -> Expression:
    return Expression("null") if value is None else expression(value)


# ---- functions: SQL's own, and those that are made of them -----------------------------------------------------------


def _own(name: str) -> Callable[..., Expression]:
    return lambda *parts: Expression(name, *parts)


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    """np.where: at once, if the condition is known."""
    if isinstance(condition, Expression):
        return cases([(condition, yes)], no)
    return yes if bool(np.all(condition)) else no


def logarithm(x: Any) -> Expression:
    """No value where it has none: fits refuse such rows, and some databases would refuse all."""
    return cases([(x > 0, Expression("LN", x))], None)


def root(x: Any) -> Expression:
    """The same of the square root."""
    return cases([(x >= 0, Expression("SQRT", x))], None)


def exponential_less_one(x: Any) -> Expression:
    """exp(x) - 1 with the digits of small x."""
    near = 2 * np.exp(0.5 * x) * np.sinh(0.5 * x)
    return cases([(np.abs(x) < 1, near)], np.exp(x) - 1)


def logarithm_of_one_and(x: Any) -> Expression:
    """log(1 + x) with the digits of small x."""
    return cases([(np.abs(x) < 0.5, 2 * Expression("ATANH", x / (2 + x)))], logarithm(1 + x))


def logistic(x: Any) -> Expression:
    """1 / (1 + exp(-x)), of which nothing overflows."""
    small = np.exp(-np.abs(x))
    return cases([(x >= 0, 1 / (1 + small))], small / (1 + small))


# Cody (1969), Math. Comp. 23, 631-637: erf near 0, erfc beyond, as ratios of polynomials, from the highest power down
NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02,
     3.20937758913846947e03),
    (1.0, 2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03),
)  # fmt: skip
MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e00, 6.61191906371416295e01,
     2.98635138197400131e02, 8.81952221241769090e02, 1.71204761263407058e03,
     2.05107837782607147e03, 1.23033935479799725e03),
    (1.0, 1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02, 1.62138957456669019e03,
     3.29079923573345963e03, 4.36261909014324716e03, 3.43936767414372164e03, 1.23033935480374942e03),
)  # fmt: skip
FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e00, 1.87295284992346725e00, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip


def polynomial(coefficients: Iterable[Any], x: Any) -> Any:
    """By Horner's rule, from the highest power down."""
    first, *others = coefficients
    for own in others:
        first = own + x * first if isinstance(first, Expression) or first != 0 else own
    return first


def _ratio(parts: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Expression:
    above, below = parts
    return Expression("divide", polynomial(above, x), polynomial(below, x))


def normal_cdf(x: Any) -> Expression:
    """The standard Gaussian's, which databases lack, with full relative accuracy in both tails."""
    y = Expression("multiply", np.abs(x), expression(np.sqrt(0.5)))
    square = Expression("multiply", y, y)
    far = np.maximum(y, 4.0)  # for PostgreSQL may divide before it looks where
    inverse = 1 / (far * far)
    near = 0.5 + 0.5 * np.sqrt(0.5) * x * _ratio(NEAR, square)
    beyond = (np.sqrt(1 / np.pi) - inverse * _ratio(FAR, inverse)) / far
    tail = 0.5 * np.exp(-square) * cases([(y <= 4, _ratio(MIDDLE, y))], beyond)
    return cases([(y <= 0.46875, near), (x < 0, tail)], 1 - tail)


# Lanczos (1964), J. SIAM Numer. Anal. B 1, 86-96, with the terms of P. Godfrey, for all arguments from 1 on
SHIFT = 607 / 128
LANCZOS = (
    57.156235665862923517, -59.597960355475491248, 14.136097974741747174, -0.49191381609762019978,
    0.33994649984811888699e-4, 0.46523628927048575665e-4, -0.98374475304879564677e-4, 0.15808870322491248884e-3,
    -0.21026444172410488319e-3, 0.21743961811521264320e-3, -0.16431810653676389022e-3, 0.84418223983852743293e-4,
    -0.26190838401581408670e-4, 0.36899182659531622704e-5,
)  # fmt: skip


def gamma_function(x: Any) -> Any:
    """Gamma(x), which most databases lack, for x from 1 on."""
    z = x - 1
    base = z + (SHIFT + 0.5)
    series = total([0.99999999999999709182, *(own / (z + k) for k, own in enumerate(LANCZOS, 1))])
    return np.sqrt(2 * np.pi) * np.exp((z + 0.5) * np.log(base) - base) * series


SIGNS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "=", "not_equal": "<>"}
CALLED = {"exp": "EXP", "sinh": "SINH", "arcsinh": "ASINH", "absolute": "ABS", "power": "POWER"}
RULES: dict[str, Callable[..., Any]] = {
    **{name: _own(name) for name in ("add", "subtract", "multiply", "divide", "negative")},
    **{ufunc: _own(f"compare {sign}") for ufunc, sign in SIGNS.items()},
    **{ufunc: _own(name) for ufunc, name in CALLED.items()},
    "minimum": _own("LEAST"),
    "maximum": _own("GREATEST"),
    "positive": lambda x: x,
    "square": lambda x: x * x,
    "reciprocal": lambda x: cases([(x != 0, 1 / x)], None),
    "log": logarithm,
    "log2": lambda x: logarithm(x) / np.log(2),
    "log10": lambda x: logarithm(x) / np.log(10),
    "log1p": logarithm_of_one_and,
    "expm1": exponential_less_one,
    "sqrt": root,
    "expit": logistic,
    "ndtr": normal_cdf,
    "gamma": gamma_function,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": chosen,
    "broadcast_to": lambda x, shape: x,
    "shape": lambda x: (),
    "ndim": lambda x: 0,
    "clip": lambda x, low, high: cases([(x < low, low), (x > high, high)], x),  # LEAST may overlook what is NULL
}
