"""Values that go with the rows of X: weights, offsets, exposures."""

from typing import Any

import numpy as np

from neglog.design.faults import first_rows
from neglog.distributions.noise import Noise
from neglog.engines.memory import Memory
from neglog.typing import Numbers


class ConvergenceWarning(UserWarning):
    """A fit ended without having reached the optimum."""


class UnseenLevelWarning(UserWarning):
    """A table to predict for has levels of a category that the fit knows nothing about."""


def check_counted_classes(counted: list[Any], classes: int) -> None:
    """Refuse a target of which all rows that count are of one class."""
    if len(counted) == 1 < classes:
        raise ValueError(
            f"at least two classes are needed, but only rows of the class {counted[0]!r} have a weight: that of every "
            f"other row is 0, {classes - 1} class{'es' if classes > 2 else ''} in all"
        )


def checked(values: Any, what: str, *, zero: bool = False) -> Numbers | None:
    """Finite numbers that are positive, or at least not negative."""
    if values is None:
        return None
    good = (values >= 0 if zero else values > 0) & (values < np.inf)
    if not good.all():
        bad = np.flatnonzero(~good)
        wanted = "≥ 0" if zero else "> 0"
        raise ValueError(f"{what} must be {wanted} and finite, but {first_rows(bad, len(values))} {values[bad[0]]:.6g}")
    return np.asarray(values, np.float64)


def finite_prediction(engine: Memory, theta: Numbers) -> Numbers:
    """The raw predictions; where they are no numbers, the error says which columns are to blame."""
    eta = engine.predict(theta)
    if not np.all(np.isfinite(eta)):
        engine.design.check_finite()
    return eta


def class_offsets(offset: Any, rows: int, classes: int) -> Numbers:
    """Offsets of a Categorical noise, one per row and class, in the order of the core: class by class."""
    values = np.asarray(offset, np.float64)
    if values.shape != (rows, classes):
        raise ValueError(
            f"for {classes} classes offset must have one column per class, the shape {(rows, classes)}, "
            f"but has {values.shape}; the same offset for all classes changes nothing"
        )
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        raise ValueError(f"offset must be finite, but {first_rows(bad, rows)} {values[bad[0]]}")
    return np.ascontiguousarray(values.T).reshape(-1)


def combined_offset(noise: Noise, offset: Any, exposure: Any) -> Numbers | None:
    """What is added to the raw prediction: the offset and the log of the exposure."""
    if offset is not None and not np.isfinite(offset).all():
        bad = np.flatnonzero(~np.isfinite(offset).reshape(len(offset), -1).all(axis=1))
        raise ValueError(f"offset must be finite, but {first_rows(bad, len(offset))} {offset[bad[0]]}")
    if exposure is None:
        return None if offset is None else np.asarray(offset, np.float64)
    if noise.link.name != "log":
        raise ValueError(
            f"exposure multiplies the mean, which needs the log link, but {noise!r} has the link {noise.link.name!r}; "
            "use offset, which is added to the raw prediction, or precision"
        )
    return known_offset(offset, checked(exposure, "exposure"))


def known_offset(offset: Any, exposure: Any) -> Numbers | None:
    """The same of values that were looked at before."""
    if exposure is None:
        return None if offset is None else np.asarray(offset, np.float64)
    logs = np.log(np.asarray(exposure))
    return np.asarray(logs if offset is None else logs + offset)
