"""What can be asked of a fit about what it missed: residuals, influence, and the pictures of both."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from neglog.checking.influence import Influence
from neglog.checking.residuals import residuals_of
from neglog.checking.rows import read_target, refuse_alone
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.results.check import Check


class Checked(ABC):
    """A fit that can be held against rows: those that it was made from, or others."""

    noise: Any
    named: dict[str, str]

    @abstractmethod
    def _raw(self, X: Any, offset: Any, exposure: Any) -> Numbers:
        """The raw predictions for rows, as `noise.given` takes them."""

    def _seen(self, what: str) -> tuple[Any, Any, Numbers]:
        """The target of the fitted rows, their filled noise and their raw predictions, by the fit of the rows."""
        raise ValueError(f"a fit that was loaded or unpickled has no data; give {what} the rows, X and y")

    def _given(self, X: Any, y: Any, given: dict[str, Any]) -> tuple[Any, Any, Numbers]:
        """The same of other rows."""
        target = read_target(self, self.noise, X, y, given)
        return target, self.noise, self._raw(X, given["offset"], given["exposure"])

    def residuals(
        self,
        kind: str = "quantile",
        X: Any = None,
        y: Any = None,
        *,
        precision: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        exposure: ArrayLike | str | None = None,
        rng: Any = None,
    ) -> Numbers:
        """How far y lies from what was expected, one number for each row: of those that were fitted, in their order, or
        of X and y.

        kind   "quantile": the place of y in its law as that of a standard normal, Φ⁻¹(F(y)): standard normal for every
               noise, if it is the right one. Where the law has mass, as of counts and zeros, or y is a cell, the place
               is drawn within it
               "deviance": the signed root of the unit deviance times the precision, at dispersion one as in R, so that
               the squares add up to `deviance`; of a negative binomial at its dispersion
               "pearson": y less its mean, over the standard deviation of the law, precision and dispersion included
               (R's leave the dispersion out)
               "response": y less `predict`
        y      and precision, offset and exposure: as in `nl.fit`; columns that were named at the fit are taken from X
        rng    a seed or a Generator for other draws; without one the same rows have the same residuals

        Rows that were left out for missing values have none; a row of weight 0 has NaN if its y is not possible.

        >>> import numpy as np, neglog as nl
        >>> X = np.arange(8.0)[:, None]
        >>> fit = nl.fit(X, [1, 1, 3, 2, 4, 9, 9, 16], nl.Poisson())
        >>> fit.residuals("pearson").round(2).tolist()
        [0.1, -0.31, 0.67, -0.61, -0.28, 0.79, -0.44, 0.08]
        """
        target, noise, eta = self._rows(
            "residuals", X, y, {"precision": precision, "offset": offset, "exposure": exposure}
        )
        return residuals_of(target, noise, eta, kind, rng)

    def _rows(self, what: str, X: Any, y: Any, given: dict[str, Any]) -> tuple[Any, Any, Numbers]:
        if X is not None:
            return self._given(X, y, given)
        refuse_alone(y, given)
        return self._seen(what)

    def influence(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        precision: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        exposure: ArrayLike | str | None = None,
        expected: bool = False,
    ) -> Influence:
        """How much single rows decide: `leverage`, `cooks_distance` and `dfbetas`, from one pass and without refitting.

        X, y      some of the rows that were fitted, where these are not in memory; with what goes with them, as in
                  `nl.fit`. Without them: all rows, in their order
        expected  takes second derivatives as the noise expects them, as R's glm does, not as they are: the same for
                  links such as the log of Poisson and the logit of Bernoulli noise, not for that of Gamma

        A row counts with all its weight, so that it is left out as a whole. Where rows also tell the spread of the
        noise, covariances are times n / (n - k), as in `summary`.

        >>> import numpy as np, neglog as nl
        >>> X = np.array([0.0, 1, 2, 3, 4, 20])[:, None]
        >>> found = nl.fit(X, [1, 1, 2, 4, 4, 10], nl.Gaussian()).influence()
        >>> found.leverage.round(2).tolist(), found.largest(2).tolist(), found.names
        ([0.26, 0.22, 0.2, 0.18, 0.17, 0.97], [5, 3], ('intercept', 'x0'))
        """
        given = {"sample_weight": sample_weight, "precision": precision, "offset": offset, "exposure": exposure}
        if X is None:
            refuse_alone(y, given)
        return self._influence(X, y, given, expected)

    def _influence(self, X: Any, y: Any, given: dict[str, Any], expected: bool) -> Influence:
        raise ValueError(
            "a fit that was loaded or unpickled has no data; how much a row decides depends on all others: fit again"
        )

    def check(
        self,
        X: Any = None,
        y: Any = None,
        *,
        precision: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        exposure: ArrayLike | str | None = None,
        rng: Any = None,
    ) -> "Check":
        """What the fit missed, in four pictures and as many sentences: whether the quantile residuals are normal, the
        law beside the data (a hanging rootogram of counts, promised and observed probabilities, or places in the law),
        residuals along the prediction, and the rows that decide most. Of X and y, which the fit need not have seen, or
        where there is no influence: residuals in the order of the rows.

        The arguments are those of `residuals`. Of more than 50,000 rows so many are drawn, and that is said.

        >>> import numpy as np, neglog as nl
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 1))
        >>> found = nl.fit(X, rng.negative_binomial(1, 0.2, size=500), nl.Poisson()).check()
        >>> found.text.partition(". ")[0]
        '500 rows: Poisson noise does not fit'
        """
        from neglog.results.check import check_of

        given = {"precision": precision, "offset": offset, "exposure": exposure}
        rows = self._rows("a check", X, y, given)
        why: Influence | str = "rows that are given may not be those of the fit"
        if X is None:
            try:
                why = self.influence()
            except ValueError as error:
                why = str(error)
        return check_of(self, rows, why, rng)  # type: ignore[arg-type]
