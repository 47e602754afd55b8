"""A fit as a table for people."""

from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.inference.printing import as_text

if TYPE_CHECKING:
    from neglog.inference.result import Fit


class Summary:
    """Estimates, standard errors and intervals by name, and the numbers that judge the whole; prints itself."""

    def __init__(self, fit: "Fit", level: float = 0.95) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, but is {level}")
        self.fit, self.level = fit, level
        reach = float(special.ndtri(0.5 + 0.5 * level))
        names, estimates, errors = _lines(fit)
        self.table: dict[str, Any] = {
            "name": names,
            "estimate": np.array(estimates),
            "standard error": np.array(errors),
            "lower": np.array(estimates) - reach * np.array(errors),
            "upper": np.array(estimates) + reach * np.array(errors),
        }
        for i, name in enumerate(names):  # positive parameters of the noise: the interval of the logarithm
            if name in fit.noise_standard_errors and name != "power":
                factor = np.exp(reach * errors[i] / estimates[i])
                self.table["lower"][i], self.table["upper"][i] = estimates[i] / factor, estimates[i] * factor

    @property
    def facts(self) -> dict[str, Any]:
        """The numbers that judge the whole fit."""
        fit = self.fit
        return {
            "rows": fit.n_rows,
            "parameters": fit.n_parameters,
            "log likelihood": fit.log_likelihood,
            "penalty": fit.penalty,
            "AIC": fit.aic,
            "BIC": fit.bic,
            "D²": fit.d2,
        }

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table

        percent = f"{100 * self.level:g}%"
        table = Table(
            title=f"{self.fit.noise!r}, prior {self.fit.prior!r}", caption=self.fit.message, caption_justify="left"
        )
        table.add_column("")
        for column in ("estimate", "std. error", f"{percent} from", "to"):
            table.add_column(column, justify="right")
        for line in zip(*self.table.values(), strict=True):
            table.add_row(line[0], *(_short(value) for value in line[1:]))
        yield table
        yield "  ".join(f"{name} {_short(value)}" for name, value in self.facts.items())

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return str(self)


def _lines(fit: "Fit") -> tuple[list[str], list[float], list[float]]:
    names: list[str] = []
    estimates: list[float] = []
    errors: list[float] = []

    def add(name: str, estimate: Any, error: Any) -> None:
        names.append(name)
        estimates.append(float(estimate))
        errors.append(float(error))

    rows = [("", fit.intercept, fit.intercept_standard_error, fit.coef, fit.standard_errors)]
    if np.ndim(fit.coef) == 2:
        parts = zip(fit.intercept, fit.intercept_standard_error, fit.coef, fit.standard_errors, strict=True)
        rows = [(f"{label}: ", *part) for label, part in zip(fit.classes, parts, strict=True)]
    for label, intercept, intercept_error, coef, coef_errors in rows:
        if fit.has_intercept:
            add(f"{label}intercept", intercept, intercept_error)
        for name, estimate, error in zip(fit.names, coef, coef_errors, strict=True):
            add(f"{label}{name}", estimate, error)
    for name, error in fit.noise_standard_errors.items():
        add(name, fit.noise.parameters[name], error)
    return names, estimates, errors


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else ("–" if np.isnan(value) else f"{value:.5g}")
