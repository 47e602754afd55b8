"""A fit as a table for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.design.design import Column, Gap
from neglog.design.parts import Part
from neglog.distributions.lazy import special
from neglog.printing import as_text, did_you_mean
from neglog.results.contrasts import Shown, shown
from neglog.testing.covariance import Spread, of_posterior
from neglog.testing.intervals import Intervals
from neglog.testing.outcome import short_p

if TYPE_CHECKING:
    from neglog.results.fit import Fit


class Summary:
    """Estimates, standard errors and intervals by name, and the numbers that judge the whole; prints itself.

    Where every level of a factor has a coefficient, as under a prior, levels are shown less the mean of their factor
    over the rows, which the intercept takes, or the edges of ordered classes; with contrasts=False coefficients are
    shown as they are.
    """

    def __init__(
        self,
        fit: "Fit",
        level: float = 0.95,
        contrasts: bool = True,
        spread: Spread | None = None,
        tests: bool = False,
    ) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, but is {level}")
        self.fit, self.level = fit, level
        self.contrasts = contrasts and fit._contrasts is not None
        self.spread = of_posterior(fit) if spread is None else spread
        values = shown(fit, contrasts, None if spread is None else fit._errors_by(spread))
        names, estimates, errors = _lines(fit, values)
        estimate, error = np.array(estimates), np.array(errors)
        first = len(names) - len(values.noise)  # a column may be called like a parameter
        error[:first] *= self.spread.widened
        reach = self.spread.reach(level) * error
        self.table: dict[str, Any] = {
            "name": names,
            "estimate": estimate,
            "standard error": error,
            "lower": estimate - reach,
            "upper": estimate + reach,
        }
        for i, name in enumerate(names[first:], first):
            self.table["lower"][i], self.table["upper"][i] = self._of_noise(name, estimate[i], error[i])
        if tests:
            with np.errstate(all="ignore"):
                statistic = np.where(np.arange(len(names)) < first, estimate / error, np.nan)
            self.table |= {self.spread.law: statistic, "p": self.spread.p_value(statistic)}

    def _of_noise(self, name: str, estimate: float, error: float) -> tuple[float, float]:
        """The interval of a parameter of the noise: of its logarithm, where it is positive, and of a spread that rows
        tell that of chi-square, with the degrees of freedom that its error has: those of the rows for squares.
        """
        fit, spread = self.fit, self.spread
        with np.errstate(all="ignore"):  # of a scale that vanished
            if name == fit.noise.spread and spread.of_posterior and spread.degrees is not None:
                power = -2 * fit.noise.parameter(name).precision  # of the scale, which this is
                degrees = 0.5 * (power * estimate / error / spread.widened) ** 2
                tails = special.chdtri(degrees, [0.5 - 0.5 * self.level, 0.5 + 0.5 * self.level])
                lower, upper = sorted(estimate * (spread.widened * np.sqrt(degrees / tails)) ** power)
                return float(lower), float(upper)
            reach = float(special.ndtri(0.5 + 0.5 * self.level)) * error
            if not fit.noise.number(name)[1]:
                return estimate - reach, estimate + reach
            factor = np.exp(np.divide(reach, estimate))
            return estimate / factor, estimate * factor

    def intervals(self, names: Sequence[str] | None = None) -> Intervals:
        """Those of the table, or of the lines that are named."""
        own = self.table["name"]
        lost = [name for name in names or () if name not in own]
        if lost and lost[0] in self.fit.schema.names:
            raise ValueError(
                f"{lost[0]!r} is one of the coefficients of a term, which have no lines in a summary: fit.effect has "
                'intervals of what they add, and fit.interval(method="profile") theirs by name'
            )
        if lost:
            raise ValueError(f"there is no parameter {lost[0]!r}{did_you_mean(lost[:1], own)}")
        chosen = list(range(len(own))) if names is None else [own.index(name) for name in names]
        estimate, lower, upper = (self.table[name][chosen] for name in ("estimate", "lower", "upper"))
        return Intervals(tuple(own[k] for k in chosen), estimate, lower, upper, self.level, self._about_errors)

    @property
    def _about_errors(self) -> str:
        law = "the normal law" if self.spread.degrees is None else f"Student's {self.spread.law}"
        return f"Standard errors {self.spread.text}; intervals by {law}."

    @property
    def facts(self) -> dict[str, Any]:
        """The numbers that judge the whole fit."""
        fit = self.fit
        counted = fit.n_parameters if fit.effective_parameters in (fit.n_parameters, None) else fit.effective_parameters
        return {
            "rows": fit.n_rows,
            "parameters": counted,
            "log likelihood": fit.log_likelihood,
            "penalty": fit.penalty,
            "AIC": fit.aic,
            "BIC": fit.bic,
            "D²": fit.d2,
        }

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        percent = f"{100 * self.level:g}%"
        table = Table(
            title=Text(
                f"{self.fit.noise!r}, prior {self.fit.prior!r}"
                if self.fit.schema.terms is None
                else repr(self.fit.noise)
            ),
            caption=Text(self.fit.message),
            caption_justify="left",
        )
        table.add_column("")
        for column in ("estimate", "std. error", f"{percent} from", "to", *list(self.table)[5:]):
            table.add_column(column, justify="right")
        for line in zip(*self.table.values(), strict=True):
            cells = [_short(value) for value in line[1:]]
            if "p" in self.table:
                cells[-1] = short_p(line[-1])
            table.add_row(Text(line[0]), *cells)  # [..] would be markup in a str
        yield table
        yield "  ".join(f"{name} {_short(value)}" for name, value in self.facts.items())
        for name, predictor in self.fit.predictors.items():
            if self.fit.schema.terms is not None:
                yield Text(f"\nTerms of the {name}" if self.fit.noise.modelled else "\nTerms")
                yield predictor.terms
            elif predictor.prior != self.fit.prior:
                yield Text(f"The prior of the coefficients of the {name} is {predictor.prior!r}.")
        if self.contrasts:
            yield _about(self.fit)
        if self.spread.degrees is not None or self.spread.covariance is not None:
            yield Text(self._about_errors)
        yield from map(Text, self.fit.notes)

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return str(self)


def equation(fit: "Fit") -> str:
    """What is predicted from what, as in log(mean of cost) = intercept + age + area (6 levels); a line for the location
    and one for each parameter that is modelled.
    """
    left = fit.noise.traits.predicts.format(y=fit.named.get("y", "y"), **fit.noise.parameters)
    if fit.noise.link.name != "identity":
        left = f"{fit.noise.link.name}({left})"
    terms = ["intercept"] * fit.has_intercept
    if "exposure" in fit.named:
        terms.insert(0, f"log({fit.named['exposure']})")
    if "offset" in fit.named:
        terms.insert(0, fit.named["offset"])
    lines = [f"{left} = {' + '.join(terms + _right(fit, 'location')) or '0'}"]
    for name in fit.noise.modelled:
        left = fit.noise.parameter(name).predicted.of(name)
        lines.append(f"{left} = {' + '.join(['intercept'] * fit.has_intercept + _right(fit, name))}")
    return "\n".join(lines)


def _right(fit: "Fit", predictor: str) -> list[str]:
    """The terms of one predictor, factors with the number of their levels."""
    schema = fit.schema
    if schema.table is None:
        return list(fit.names)
    own = range(len(schema.parts)) if schema.shares is None else schema.shares[predictor]
    parts = [schema.parts[k] for k in own]
    counts = [len(c.levels) if isinstance(c, Column) and c.levels is not None else 0 for c in parts]
    names = [c.coefficients[0] if isinstance(c, Gap) else c.name for c in parts]
    return [f"{name} ({count} levels)" if count else name for name, count in zip(names, counts, strict=True)]


def _lines(fit: "Fit", values: Shown) -> tuple[list[str], list[float], list[float]]:
    names: list[str] = []
    estimates: list[float] = []
    errors: list[float] = []

    def add(name: str, estimate: Any, error: Any) -> None:
        names.append(name)
        estimates.append(float(estimate))
        errors.append(float(error))

    labels = [f"{label}: " for label in fit.classes] if fit.noise.of_classes else [""]
    labels += [f"{name}: " for name in fit.noise.modelled]
    for k, label in enumerate(labels):
        if fit.has_intercept:
            add(f"{label}intercept", values.intercepts[k], values.intercept_errors[k])
        own = shown_coefficients(fit, k)
        lines = zip(fit.schema.names, values.coefficients[k], values.errors[k], own, strict=True)
        for name, estimate, error, is_shown in lines:
            if is_shown:
                add(f"{label}{name}", estimate, error)
    for name, (estimate, error) in values.noise.items():
        add(name, estimate, error)
    return names, estimates, errors


def shown_coefficients(fit: "Fit", output: int) -> Any:
    """Which coefficients have a line of their own: those of columns as they are, and of the straight lines of curves.
    The others have their terms.
    """
    predictors = ["location"] * np.atleast_1d(fit.intercept).size + list(fit.noise.modelled)
    kept = fit.schema.kept(predictors[output])
    if fit.schema.terms is None:
        return kept
    own = []
    for part in fit.schema.parts:
        plain = np.full(len(part.coefficients), not isinstance(part, Part))
        plain[0] |= isinstance(part, Part) and part.kind == "smooth"
        own.append(plain)
    return kept & np.concatenate([np.empty(0, bool), *own])


def _about(fit: "Fit") -> str:
    """What the coefficients are differences from."""
    assert fit._contrasts is not None
    parts = ["Levels are differences from the mean of their factor over the rows"] * bool(fit._contrasts.shares.any())
    if np.ndim(fit.coef) == 2:
        parts.append("classes are differences from the mean of all")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else ("–" if np.isnan(value) else f"{value:.5g}")
