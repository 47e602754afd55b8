"""What a noise predicts, as expressions of its raw predictions: by the formulas that its family has for numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neglog.distributions.noise import Noise
from neglog.export.expressions import Expression, cases, expression, total


def law_at(noise: Noise, raw: Sequence[Expression]) -> Noise:
    """The noise with expressions for its location and for what is modelled, as `noise.given` has numbers."""
    own = {name: noise.parameter(name).predicted.value(one) for name, one in zip(noise.modelled, raw[1:], strict=True)}
    location = raw[0] if noise.labelled else noise.link.of_expression(raw[0])
    if location is not raw[0]:
        location.label = noise.location
    return noise.unmodelled().estimated(**own, **{noise.location: location})


def point_of(law: Noise, noise: Noise) -> Expression:
    """What `fit.predict` returns of the law."""
    return _traced(law.point, noise, "prediction", "predict in Python, or in files with `neglog predict`")


def quantile_of(law: Noise, noise: Noise, level: float) -> Expression:
    """A quantile of the law."""
    advice = (
        "leave quantiles out, for the prediction itself can be said, or take them from fit.distribution(X).icdf or "
        "`neglog predict --quantiles`"
    )
    return _traced(lambda: law.quantile_formula(level), noise, f"quantile {level:g}", advice)


def _traced(formula: Callable[[], Any], noise: Noise, what: str, instead: str) -> Expression:
    try:
        with np.errstate(all="ignore"):
            found = expression(formula())
    except TypeError as error:  # also NumPy's own, where a function takes numbers alone
        raise ValueError(f"the {what} of {noise!r} is no formula that SQL could compute ({error}); {instead}") from None
    return cases([(found, 1.0)], 0.0) if found.operation.startswith("compare") else found


def probabilities(noise: Noise, raw: Sequence[Expression]) -> list[Expression]:
    """Those of the classes, in their order."""
    if noise.of_classes:
        largest: Any = raw[0]
        for one in raw[1:]:
            largest = np.maximum(largest, one)
        sizes = [np.exp(one - largest) for one in raw]
        whole = total(sizes, label="all classes")
        return [size / whole for size in sizes]
    law = law_at(noise, raw)
    inner = range(noise.class_count - 1)
    below = [0.0, *(law.tail_formula(k, upper=False) for k in inner), 1.0]
    above = [1.0, *(law.tail_formula(k, upper=True) for k in inner), 0.0]
    return [  # from the nearer end, where differences keep their digits
        expression(np.where(below[k] > 0.5, above[k] - above[k + 1], below[k + 1] - below[k]))
        for k in range(noise.class_count)
    ]


def in_order(values: Sequence[Expression]) -> list[Expression]:
    """Numbers sorted within each row, by exchanging neighbours as often as there are numbers."""
    out: list[Any] = list(values)
    for turn in range(len(out)):
        for k in range(turn % 2, len(out) - 1, 2):
            out[k], out[k + 1] = np.minimum(out[k], out[k + 1]), np.maximum(out[k], out[k + 1])
    return out
