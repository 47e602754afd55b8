"""Fits for the package marginaleffects: its predictions, comparisons, slopes and hypotheses, of any fit of nl.fit.

    import marginaleffects
    from neglog.marginaleffects import as_model

    marginaleffects.avg_comparisons(as_model(fit), variables={"age": 10})

What it varies are intercept, coefficients and the raw values of what the noise leaves open, with their joint
covariance, so that errors are of the whole prediction. vcov="HC3" and the like are the kinds of `fit.covariance`.
Average slopes of all columns are in `fit.effects` without it. marginaleffects 0.6 needs polars below 2.
"""

from typing import Any

import numpy as np

from neglog.design.tables import as_table
from neglog.engines.memory import Memory
from neglog.margins.columns import factors_of, numbers_of
from neglog.margins.delta import Delta
from neglog.margins.points import predicted
from neglog.results.fit_of_rows import FitOfRows
from neglog.typing import Numbers

try:
    import polars as pl
    from marginaleffects.classes import ModelAbstract, ModelVault
except ImportError:
    raise ImportError("this adapter needs the package marginaleffects: pip install marginaleffects") from None


def as_model(fit: FitOfRows, data: Any = None) -> "Model":
    """A fit as marginaleffects takes it. `data` is the table that averages go over, by default that of the fit."""
    if not isinstance(fit, FitOfRows):
        raise TypeError(f"as_model takes a fit with its rows, as nl.fit gives it, but got {fit!r}")
    if fit.schema.by_name and fit.schema.table is None:
        raise ValueError("the fit is of a formula with functions that neglog does not know; make columns of these")
    rows = fit.table if data is None else data
    if rows is None:
        raise ValueError("the rows of the fit are not in memory; say for which, as in as_model(fit, table)")
    return Model(fit, _frame(fit, rows))


class Model(ModelAbstract):  # type: ignore[misc]
    """A fit and a table, as marginaleffects asks for them."""

    def __init__(self, fit: FitOfRows, frame: Any) -> None:
        joint = fit._joint
        self._turn = joint.public_matrix()
        self._back = np.linalg.pinv(self._turn)
        self._at = np.append(fit._answer.theta, joint.start)
        self._read: tuple[Any, Memory] | None = None
        self.df_resid = np.inf if fit.residual_degrees is None else float(fit.residual_degrees)
        columns = [*numbers_of(fit.schema), *factors_of(fit.schema)]
        vault = ModelVault(
            coef=self._turn @ self._at,
            coefnames=np.array(joint.public_names()),
            formula=_whole,  # which says that columns are known by name, not by a formula of theirs
            modeldata=frame,
            package="neglog",
            variable_names=[fit.named.get("y", "y"), *columns],
        )
        super().__init__(fit, vault)

    def get_vcov(self, vcov: Any = True) -> Numbers | None:
        """Of all that was estimated: the posterior's if True, else a kind of `fit.covariance`, {"cluster": ...}."""
        if vcov is False or vcov is None:
            return None
        kind, cluster = ("posterior", None) if vcov is True else (vcov, None)
        if isinstance(vcov, dict):
            kind, cluster = "cluster", vcov["cluster"]
        return Delta(self.model, self.model._spread(kind, cluster)).covariance(self._turn)

    def get_exog(self, newdata: Any) -> Any:
        """The table itself."""
        return newdata

    def get_predict(self, params: Any, newdata: Any) -> Any:
        """What is predicted for a table if this had been estimated."""
        joint = self.model._joint
        at = self._at + self._back @ (np.asarray(params, float) - self._turn @ self._at)
        engine = self._engine(newdata)
        n = len(self.model._answer.theta)
        values = predicted(joint.noise(at[n:]), engine.predict(np.ascontiguousarray(at[:n])))
        rows = np.arange(engine.rows, dtype=np.int32)
        if not self.model.noise.labelled:
            return pl.DataFrame({"rowid": rows, "estimate": values[:, 0]})
        labels = [str(label) for label in self.model.classes]
        order = np.argsort(labels)
        return pl.DataFrame(
            {
                "rowid": np.tile(rows, len(labels)),
                "group": np.repeat(np.array(labels)[order], len(rows)),
                "estimate": values[:, order].T.reshape(-1),
            }
        )

    def _engine(self, frame: Any) -> Memory:
        """The rows of a table, which is asked for again and again."""
        if self._read is None or self._read[0] is not frame:
            fit, table = self.model, frame
            if fit.schema.table is None:
                table = frame.select(list(fit.schema.names)).to_numpy()
            self._read = frame, fit.prediction_engine(table, None, None, fit._task.engine)
        return self._read[1]


def _whole(frame: Any) -> tuple[None, Any]:
    """In the place of a formula: every column of the table."""
    return None, frame


def _frame(fit: FitOfRows, rows: Any) -> Any:
    """A polars dataframe, with categories that know their levels in the order that the fit has them in."""
    if fit.schema.table is None:
        return pl.DataFrame(np.asarray(rows, float), schema=list(fit.schema.names))
    table = as_table(rows)
    if table is None:
        raise TypeError(f"data must be a table in memory, but is a {type(rows).__name__}")
    frame = pl.DataFrame({name: pl.Series(name, table.series(name).to_list()) for name in table.names})
    texts = {name: levels for name, levels in factors_of(fit.schema).items() if all(isinstance(v, str) for v in levels)}
    return frame.with_columns(pl.col(name).cast(pl.Enum(list(levels))) for name, levels in texts.items())
