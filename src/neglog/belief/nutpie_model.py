"""A density as nutpie takes it: a C function of the core where there is one, else a Python function.

nutpie calls the C function from its own threads, as it calls models that numba compiled; a Python function has to wait
for the interpreter at every step, which costs as much as the step itself.
"""

from typing import Any

import numpy as np
from nutpie import _lib
from nutpie.compiled_pyfunc import from_pyfunc
from nutpie.sample import CompiledModel

from neglog.typing import Numbers


def compiled(density: Any, size: int) -> Any:
    """The model of a density over `size` coordinates, of which a chain starts at standard Gaussian ones."""

    def start(seed: Any) -> Numbers:
        return np.random.default_rng(seed).standard_normal(size)

    law = density.in_core()
    if law is not None:
        return InCore(law, size, start)
    return from_pyfunc(
        size,
        lambda: lambda x: density(x),
        lambda *_: lambda x: {"x": np.asarray(x)},
        [np.dtype(np.float64)],
        [(size,)],
        ["x"],
        make_initial_point_fn=start,
    )


class InCore(CompiledModel):  # type: ignore[misc]
    """A density of the core."""

    dims: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (as nutpie reads it)

    def __init__(self, law: Any, size: int, start: Any) -> None:
        self.law, self.size, self.start = law, size, start

    @property
    def n_dim(self) -> int:
        return self.size

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"x": (self.size,)}

    @property
    def coords(self) -> dict[str, Any]:
        return {}

    def _make_model(self, *_: Any) -> Any:
        law = self.law
        sizes: dict[str, int] = {}  # of the dimensions, filled by the variables
        variables = _lib.PyVariable.new_variables(["x"], ["float64"], [(self.size,)], sizes, {})
        return _lib.PyMcModel(
            _lib.LogpFunc(law.log_density, law.data, law),
            _lib.ExpandFunc(self.size, self.size, law.same_draw, law.data, law),
            variables,
            self.size,
            sizes,
            {},
            self.start,
            None,
        )

    def _make_sampler(self, settings: Any, init_mean: Any, cores: Any, *others: Any) -> Any:
        """What comes after the cores differs between versions of nutpie, and is passed on as it is."""
        return _lib.PySampler.from_pymc(settings, cores, self._make_model(init_mean), *others)
