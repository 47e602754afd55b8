"""Several quantiles of the same rows: one exact fit for each, and predictions that do not cross."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from neglog.likelihood.row_values import finite_prediction
from neglog.printing import as_text
from neglog.results.fit import Fit
from neglog.results.one_row import as_columns, is_row
from neglog.results.summary import Summary
from neglog.typing import Numbers


class QuantileFit(Fit):
    """Several quantiles of y, each the exact minimum of its own pinball loss, in increasing order.

    `coef` is (quantiles, columns), `intercept`, `nll`, `penalty` and the like (quantiles,); `fits` are the fits one by
    one, and `fit[0.9]` is that of a quantile. Lines that were fitted one by one may cross: `crossed` says in how many
    rows of the fit they do. `predict` (rows, quantiles) puts the predictions of each row in order, so that none cross,
    in these rows or in any other. Whatever y is, that costs no more pinball loss in total: exchanging two predictions
    that cross changes it by the difference of their quantiles times that of the predictions, downwards.

    Chernozhukov, Fernandez-Val and Galichon (2010), Econometrica 78, 1093-1125.
    """

    fits: tuple[Fit, ...]  # one for each quantile
    crossed: int  # rows of the fit in which lines cross

    def __init__(self, fits: Sequence[Fit], crossed: int) -> None:
        self.fits, self.crossed = tuple(fits), crossed
        first = self.fits[0]
        self.schema, self.named, self.notes = first.schema, first.named, first.notes
        self.converged = all(fit.converged for fit in self.fits)
        self.n_iter = sum(fit.n_iter for fit in self.fits)

    def state(self) -> dict[str, Any]:
        """What can be asked without the rows."""
        return {"fits": self.fits, "crossed": self.crossed}

    def __reduce__(self) -> Any:
        return QuantileFit, (self.fits, self.crossed)

    def without_data(self) -> "QuantileFit":
        """What predictions need."""
        return QuantileFit([fit.without_data() for fit in self.fits], self.crossed)

    # ---- one by one --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.fits)

    def __getitem__(self, quantile: float) -> Fit:
        found = np.flatnonzero(np.isclose(self.quantiles, quantile, rtol=0.0, atol=1e-12))
        if not len(found):
            listed = ", ".join(f"{own:g}" for own in self.quantiles)
            raise KeyError(f"there is no fit of the quantile {quantile!r}; there are {listed}")
        return self.fits[int(found[0])]

    def _each(self, name: str) -> Numbers:
        return np.array([getattr(fit, name) for fit in self.fits])

    @cached_property
    def quantiles(self) -> Numbers:
        """The quantiles, in increasing order."""
        return np.array([getattr(fit.noise, str(fit.noise.traits.asks)) for fit in self.fits])

    @cached_property
    def noise(self) -> Any:
        """The noise with a scale for each quantile."""
        first = self.fits[0].noise
        values = {name: np.array([fit.noise.parameters[name] for fit in self.fits]) for name in first.parameters}
        return first.estimated(**{own.name: values[own.name] for own in first.beside_location()})

    @cached_property
    def prior(self) -> Any:
        """The prior of each quantile's coefficients, one if it is the same for all."""
        priors = tuple(fit.prior for fit in self.fits)
        return priors[0] if all(prior == priors[0] for prior in priors) else priors

    @cached_property
    def coef(self) -> Numbers:
        """(quantiles, columns)"""
        return self._each("coef").reshape(len(self), -1)

    @cached_property
    def intercept(self) -> Numbers:
        """(quantiles,)"""
        return self._each("intercept")

    @cached_property
    def message(self) -> str:
        """How the searches ended, and how often the quantiles cross."""
        failed = [f"Quantile {q:g}: {fit.message}" for q, fit in zip(self.quantiles, self.fits, strict=True)]
        found = (
            [] if self.converged else [text for text, fit in zip(failed, self.fits, strict=True) if not fit.converged]
        )
        head = f"Converged: {len(self)} quantiles, each at the minimum of its own loss." if self.converged else ""
        if self.crossed:
            tail = (
                f"They cross in {self.crossed:,} of {self.n_rows:,} rows; predict puts the predictions of a row in "
                "order, which never raises their loss."
            )
        else:
            tail = (
                f"They do not cross in any of the {self.n_rows:,} rows; where they do elsewhere, predict puts them in "
                "order."
            )
        return " ".join([*filter(None, [head, *found]), tail])

    @cached_property
    def n_rows(self) -> int:
        """The number of rows that were fitted."""
        return self.fits[0].n_rows

    @cached_property
    def target_summary(self) -> dict[str, Any]:
        """What y was: its mean and range."""
        return self.fits[0].target_summary

    @cached_property
    def has_intercept(self) -> bool:
        """Whether an intercept was fitted."""
        return self.fits[0].has_intercept

    @cached_property
    def total_weight(self) -> float:
        """The number of rows, each counted by its weight."""
        return self.fits[0].total_weight

    @cached_property
    def nll(self) -> Any:
        """-log p of the sample under each quantile's noise."""
        return self._each("nll")

    @cached_property
    def penalty(self) -> Any:
        """-log prior of each quantile's coefficients."""
        return self._each("penalty")

    @cached_property
    def n_parameters(self) -> Any:
        """How many each has."""
        return self._each("n_parameters")

    @cached_property
    def d2(self) -> Any:
        """The share of the loss of a constant quantile that the columns explain."""
        return self._each("d2")

    @property
    def bic(self) -> Any:
        """Schwarz's criterion of each."""
        return self._each("bic")

    @property
    def standard_errors(self) -> Numbers:
        """Of the coefficients, in their shape."""
        return self._each("standard_errors").reshape(len(self), -1)

    @property
    def intercept_standard_error(self) -> Any:
        """Of the intercepts."""
        return self._each("intercept_standard_error")

    @property
    def noise_standard_errors(self) -> dict[str, Any]:
        """Of the estimated parameters of the noise, by name."""
        errors = [fit.noise_standard_errors for fit in self.fits]
        return {name: np.array([own[name] for own in errors]) for name in errors[0]}

    def summary(self, level: float = 0.95, contrasts: bool = True, **options: Any) -> Any:
        """The summaries one after the other, which print themselves."""
        return Summaries([fit.summary(level, contrasts, **options) for fit in self.fits], self.message)

    def interval(self, *_: Any, **__: Any) -> NoReturn:
        """Those of one quantile, as in fit[0.5].interval()."""
        self._without_rows()

    def _without_rows(self) -> NoReturn:
        raise ValueError(
            "several quantiles have as many posteriors, errors and effects; ask that of one, as in fit[0.5].posterior()"
        )

    def _rows(self, *_: Any) -> NoReturn:
        raise ValueError("several quantiles have as many residuals; ask those of one, as in fit[0.5].residuals()")

    def _influence(self, *_: Any) -> NoReturn:
        raise ValueError("rows decide each quantile otherwise; ask one of them, as in fit[0.5].influence()")

    # ---- predictions -------------------------------------------------------------------------------------------------

    def raw_prediction(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """(rows, quantiles): offset + intercept + X coef of each quantile as it was fitted, which may cross."""
        if is_row(X):
            return np.column_stack([fit.raw_prediction(X, offset=offset, exposure=exposure) for fit in self.fits])
        engine = self.fits[0].prediction_engine(as_columns(X), offset, exposure)
        coefficients = zip(self.coef, self.intercept, strict=True)
        lines = [finite_prediction(engine, engine.native(coef, np.atleast_1d(own))) for coef, own in coefficients]
        return np.column_stack(lines)

    def distribution(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The laws of y for each row of X, one for each quantile, which do not cross."""
        return self.noise.given(np.sort(self.raw_prediction(X, offset=offset, exposure=exposure), axis=1))

    def __repr__(self) -> str:
        listed = ", ".join(f"{quantile:g}" for quantile in self.quantiles)
        ending = "" if self.converged else ", not converged"
        return f"<Fit of the quantiles {listed}, {self.coef.shape[1]} coefficients each, {self.prior!r}{ending}>"


class Summaries:
    """Summaries one after the other."""

    def __init__(self, each: Sequence[Summary], message: str) -> None:
        self.each, self.message = tuple(each), message

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.text import Text

        yield from self.each
        yield Text(self.message)

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return str(self)
