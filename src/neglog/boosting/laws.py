"""Which noises trees can be trained with, and the law of y at their raw predictions."""

from typing import Any

import numpy as np

from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.distributions.specification import noise_of
from neglog.distributions.support import REALS
from neglog.likelihood.modelled import refuse_own_terms, refuse_told
from neglog.typing import Numbers

# Trees add up to any number, so that the inverse of the link must make something of any number.
WHOLE_LINE = ("identity", "log", "logit", "probit", "cloglog", "softmax")


def suited(given: str | Noise) -> Noise:
    """The noise, from itself or its text, if trees can be trained with it."""
    noise = noise_of(given)
    refuse_own_terms(noise, "trees choose themselves")
    refuse_told(noise)
    link = noise.link.name
    low, high = noise.locations
    if link not in WHOLE_LINE or (link == "identity" and low == 0) or (link == "log" and high == 1):
        raise ValueError(
            f"{noise!r}: trees add up to any number, but under the link {link!r} not every raw prediction has a law; "
            f"use link={noise.default_link!r}"
        )
    objection = noise.cannot_tell(2, 1)  # from targets of both sorts
    if objection is not None:
        raise ValueError(objection)
    for name, value in noise.parameters.items():
        if np.ndim(value) > noise.parameter(name).several and name != noise.location:
            raise ValueError(f"{type(noise).__name__}: {name} must be one number, not an array of {np.shape(value)}")
    return noise


def open_parameters(noise: Noise) -> tuple[str, ...]:
    """The parameters that are to be estimated: unknown, and predicted by nobody."""
    predicted = (noise.location, *noise.modelled)
    return tuple(name for name, value in noise.parameters.items() if value is None and name not in predicted)


def is_real_valued(noise: Noise) -> bool:
    """Whether the noise is one of numbers with any sign and any digits, as Gaussian noise is."""
    return noise.support is REALS


def outputs_of(noise: Noise, classes: int = 0) -> int:
    """How many raw predictions a row has."""
    if noise.of_classes:
        return classes
    return 1 + len(noise.modelled)


def law_of(noise: Noise, raw: Numbers) -> Any:
    """The law of y at raw predictions: (n,), or (n, outputs) with those of modelled parameters, or (n, classes)."""
    return noise.given(raw)


def slopes_beside(noise: Noise, law: Any, y: Any, raw: Numbers) -> dict[str, Any]:
    """Slopes of the nll in every parameter beside the location, on the scale it is predicted on, row by row."""
    own = [one for one in noise.beside_location() if not one.several]
    if isinstance(y, Cells):
        _, slopes, _ = law.joint(y, np.ascontiguousarray(raw[:, 0]))
        by_name = {one.name: slopes[k] / one.raw.slope(getattr(law, one.name)) for k, one in enumerate(own, 1)}
    else:
        by_name = law.parameter_gradient(y)
    return {one.name: by_name[one.name] * one.predicted.slope(getattr(law, one.name)) for one in own}
