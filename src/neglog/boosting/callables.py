"""Objectives and metrics as objects that both the native and the scikit-learn interface of a trainer can call."""

import weakref
from typing import Any

import numpy as np

from neglog.boosting.cell_slopes import OfCells
from neglog.boosting.derivatives import Slopes, slopes_of
from neglog.boosting.laws import outputs_of, suited
from neglog.boosting.nats import NAME, mean_nats
from neglog.boosting.observed import cells_of_labels, check_cells, numbers
from neglog.boosting.team import Team
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.censored import refuse_without_cells
from neglog.typing import Numbers


class OfNoise:
    """A function of labels, raw predictions and weights that a noise defines. Labels are checked when first seen."""

    __name__ = NAME

    def __init__(self, noise: str | Noise, upper: Any = None) -> None:
        self.noise = suited(noise)
        self.upper = None if upper is None else np.asarray(upper, np.float64)
        self._seen: Any = None
        self._cells: tuple[Numbers, Cells] | None = None
        if upper is not None:
            refuse_without_cells(self.noise)

    def __reduce__(self) -> Any:
        return type(self), (self.noise, self.upper)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {self.noise!r}>"

    def read(self, first: Any, second: Any, weight: Any) -> tuple[Any, Numbers, Numbers | None]:
        """Labels, raw predictions and weights, from (predictions, dataset) or (labels, predictions, weights)."""
        native = hasattr(second, "get_label")
        source = second if native else first
        y, weight = self.stored(second) if native else (first, weight)
        y, raw = np.asarray(y), np.asarray(first if native else second)
        y = y if self.upper is None else self._in_cells(y, self.upper)
        weight = None if weight is None or np.size(weight) == 0 else np.asarray(weight)
        if self._seen is None or self._seen() is not source:
            self.check(y, raw)
            try:
                self._seen = weakref.ref(source)
            except TypeError:  # a list: checked every time
                self._seen = None
        return y, raw, weight

    def _in_cells(self, labels: Numbers, upper: Numbers) -> Cells:
        """The cells between the labels and the upper ends, made anew if the labels are others than before."""
        if self._cells is None or not np.array_equal(self._cells[0], labels):
            self._cells, self._seen = (labels.copy(), cells_of_labels(labels, upper)), None
        return self._cells[1]

    def stored(self, dataset: Any) -> tuple[Any, Any]:
        """Labels and weights of a dataset of the trainer."""
        return dataset.get_label(), dataset.get_weight()

    def check(self, y: Any, raw: Numbers) -> None:
        """Refuse labels outside the support, and raw predictions of another shape than the noise has."""
        wanted = outputs_of(self.noise, raw.shape[1] if raw.ndim == 2 else 0)
        if raw.shape != ((len(y),) if wanted == 1 else (len(y), wanted)):
            number = "no num_class" if wanted == 1 else f"num_class={wanted or 'the number of classes'}"
            raise ValueError(
                f"the trainer hands over raw predictions of the shape {raw.shape} for {len(y)} rows; {self.noise!r} "
                f"needs {number} in the trainer's parameters"
            )
        if isinstance(y, Cells):
            check_cells(self.noise, y, whole=False)
            return
        if self.noise.of_classes:
            inside = (y >= 0) & (y < wanted) & (y == np.floor(y))
            if not inside.all():
                raise ValueError(
                    f"Categorical noise needs class numbers 0 to {wanted - 1}, but {np.count_nonzero(~inside)} of "
                    f"{len(y)} labels are not: the first is {y[~inside][0]:g}"
                )
            return
        if self.noise.labelled and not np.array_equal(np.unique(y), np.arange(y.max(initial=0) + 1)):
            raise ValueError(
                f"{type(self.noise).__name__} noise needs class numbers 0, 1, … in their order, each of which occurs, "
                f"but the labels are {', '.join(f'{label:g}' for label in np.unique(y)[:8])}, …"
            )
        make_target(self.noise.unmodelled(), y.astype(np.float64), None, None, whole=False)


class Objective(OfNoise):
    """Gradient and Hessian of the nll, times the weights of the rows."""

    def __init__(self, noise: str | Noise, upper: Any = None) -> None:
        super().__init__(noise, upper)
        self._slopes: Slopes = slopes_of(self.noise) if upper is None else OfCells(self.noise)

    def slopes(self, first: Any, second: Any, weight: Any, team: Team | None) -> tuple[Numbers, Numbers]:
        """For either order of arguments, in the threads of the trainer."""
        return self._slopes(*self.read(first, second, weight), team)


class Metric(OfNoise):
    """The mean nll in nats, lower is better."""

    def nats(self, first: Any, second: Any, weight: Any) -> float:
        """For either order of arguments."""
        y, raw, weight = self.read(first, second, weight)
        weight = None if weight is None else np.asarray(weight, np.float64)
        return mean_nats(self.noise, numbers(y), np.asarray(raw, np.float64), weight)
