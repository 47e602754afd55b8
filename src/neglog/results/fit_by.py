"""What a fit of each group found: one row of coefficients for each, and how each of them ended."""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neglog.design import beside, split
from neglog.design.design import Design, Schema
from neglog.design.labels import Labels
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.engines.groups import raw_predictions
from neglog.likelihood.messages import listed
from neglog.likelihood.row_values import combined_offset
from neglog.printing import as_text, did_you_mean
from neglog.results.one_row import as_columns
from neglog.results.pooled import Pooled
from neglog.results.storage import write
from neglog.typing import Numbers

SHOWN = 10  # groups that are printed
WIDE = 6  # coefficients that are printed

STATED = (
    "stated_noise",
    "prior",
    "schema",
    "labels",
    "named",
    "notes",
    "coef",
    "intercept",
    "noise_parameters",
    "converged",
    "n_iter",
    "n_rows",
    "has_intercept",
    "texts",
    "remarks",
    "held",
    "pooled",
)
COMPUTED = ("nll", "standard_errors", "intercept_standard_errors", "noise_standard_errors")


class Late(Protocol):
    """What costs another pass over the rows."""

    def nll(self) -> Numbers:
        """-log p of the rows of each group."""
        ...

    def errors(self) -> tuple[Numbers, Numbers, dict[str, Numbers]]:
        """Standard errors of coefficients, intercepts and what the noise left open."""
        ...


class FitBy:
    """The most probable coefficients of each group, (groups, columns), and what follows from them.

    Groups stand in the order of their labels, `groups`. A group that could not be fitted has NaN for coefficients, or
    those where the search ended; `converged` is then False, and `message` says why. `noise_parameters` has what was
    estimated of the noise by name, one number for each group, and `noise` the laws with these filled in.
    """

    stated_noise: Noise
    prior: Prior
    schema: Schema
    labels: Labels
    named: dict[str, str]  # the columns of the table that served as y, offset and the like
    notes: list[str]  # what was done to columns that could not be used as they were
    coef: Numbers
    intercept: Numbers
    noise_parameters: dict[str, Numbers]
    converged: NDArray[np.bool_]
    n_iter: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    has_intercept: bool
    texts: dict[int, str]  # how the groups ended that were asked one by one
    remarks: dict[int, str]  # what else is to be said of the others
    held: dict[int, tuple[int, ...]]  # columns that do not vary within a group, where no prior holds them
    pooled: Pooled | None

    def __init__(self, state: Mapping[str, Any], late: Late | None = None) -> None:
        self.__dict__.update(state)
        self._late = late

    def state(self) -> dict[str, Any]:
        """All that can be asked without the rows."""
        return {name: getattr(self, name) for name in (*STATED, *COMPUTED)}

    def __reduce__(self) -> Any:
        return FitBy, (self.state(),)

    # ---- what was found ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def groups(self) -> tuple[Any, ...]:
        """The label of each group; of several columns, a tuple."""
        return self.labels.groups

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self.schema.names

    @cached_property
    def noise(self) -> Noise:
        """The laws of the groups: the noise with one number for each group in the place of what was estimated."""
        return self.stated_noise.estimated(**self.noise_parameters)

    @cached_property
    def message(self) -> NDArray[Any]:
        """How the search of each group ended, in a sentence."""
        out = np.empty(len(self), object)
        sentences = {int(n): f"Converged after {n} iteration{'s' if n != 1 else ''}." for n in np.unique(self.n_iter)}
        out[:] = [sentences[int(n)] for n in self.n_iter]
        for group, columns in self.held.items():
            who = listed([self.names[k] for k in columns])
            several = len(columns) > 1
            does = f"The columns {who} do" if several else f"The column {who} does"
            out[group] += f" {does} not vary within the group: the effect there is 0."
        for group, text in self.remarks.items():
            out[group] += f" {text}"
        for group, text in self.texts.items():
            out[group] = text
        return out

    @cached_property
    def nll(self) -> Numbers:
        """-log p of the rows of each group, every constant included; NaN where there is no fit."""
        return self._asked().nll()

    @cached_property
    def _errors(self) -> tuple[Numbers, Numbers, dict[str, Numbers]]:
        return self._asked().errors()

    @cached_property
    def standard_errors(self) -> Numbers:
        """Of the coefficients, in their shape: from the inverse of the observed information, prior included."""
        return self._errors[0]

    @cached_property
    def intercept_standard_errors(self) -> Numbers:
        """Of the intercepts."""
        return self._errors[1]

    @cached_property
    def noise_standard_errors(self) -> dict[str, Numbers]:
        """Of what was estimated of the noise, by name."""
        return self._errors[2]

    def _asked(self) -> Late:
        assert self._late is not None, "what has no rows has all numbers"
        return self._late

    def __getitem__(self, label: Any) -> dict[str, Any]:
        """One group by its label: its row of `table`, and its message."""
        place = self.labels.place.get(label)
        if place is None:
            raise KeyError(f"there is no group {label!r}{did_you_mean([label], self.groups[:1000])}")
        row = {name: values[place] for name, values in self.table().items()}
        return {**row, "message": self.message[place]}

    def table(self) -> dict[str, Any]:
        """One row for each group, by column, as pandas, polars and Arrow make a table of: labels, "rows", "converged",
        "nll", the intercept, coefficients and what was estimated of the noise, and the standard error of each.
        """
        found: dict[str, Any] = {name: list(own) for name, own in self.labels.keys.items()}
        own = {"rows": self.n_rows, "converged": self.converged, "nll": self.nll}
        found |= {name if name not in found else f"{name} of fit": values for name, values in own.items()}
        columns: list[tuple[str, Numbers, Numbers]] = []
        if self.has_intercept:
            columns.append(("intercept", self.intercept, self.intercept_standard_errors))
        columns += [(name, self.coef[:, k], self.standard_errors[:, k]) for k, name in enumerate(self.names)]
        columns += [(name, own, self.noise_standard_errors[name]) for name, own in self.noise_parameters.items()]
        for name, values, errors in columns:
            unique = name if name not in found else f"{name} effect"
            found |= {unique: values, f"{unique} error": errors}
        return found

    # ---- predictions -------------------------------------------------------------------------------------------------

    def raw_prediction(
        self,
        X: Any,
        *,
        by: Any = None,
        offset: ArrayLike | str | None = None,
        exposure: ArrayLike | str | None = None,
    ) -> Numbers:
        """eta = offset + intercept + X coef of each row's group, before the link.

        by        labels of the rows, where those of the fit were values or X does not have their columns
        offset    and exposure are as at the fit; columns that were named there are taken from X
        """
        return self._raw(X, by, offset, exposure)[0]

    def distribution(self, X: Any, *, by: Any = None, offset: Any = None, exposure: Any = None) -> Any:
        """The law of y for each row of X, at what was found for its group."""
        eta, groups = self._raw(X, by, offset, exposure)
        own = {name: self._beyond(values, name)[groups] for name, values in self.noise_parameters.items()}
        return self.stated_noise.estimated(**own).given(eta)

    def predict(self, X: Any, *, by: Any = None, offset: Any = None, exposure: Any = None) -> Numbers:
        """The mean of y for each row of X, or the centre of a law that has none, by its group."""
        return np.asarray(self.distribution(X, by=by, offset=offset, exposure=exposure).point())

    def _raw(self, X: Any, by: Any, offset: Any, exposure: Any) -> tuple[Numbers, NDArray[np.int64]]:
        X = as_columns(X) if isinstance(X, dict) else X
        groups, unseen = self.labels.codes(X, by)
        if unseen and self.pooled is None:
            count = int(np.count_nonzero(groups < 0))
            raise ValueError(
                f"{count:,} of {len(groups):,} rows are of groups that the fit has not seen, {len(unseen):,} in all, "
                f"the first is {unseen[0]!r}; leave these rows out, or fit with pool=True, which knows what to expect "
                "of them"
            )
        values = beside(X, {"offset": offset, "exposure": exposure}, self.named)
        rest, beside_rows = split(X, values)
        design = rest if isinstance(rest, Design) else self.schema.read(X if self.schema.by_name else rest)
        shift = combined_offset(self.stated_noise, beside_rows["offset"], beside_rows["exposure"])
        coef, intercept = self.coef, self.intercept
        if self.pooled is not None:
            coef = np.vstack([coef, self.pooled.mean])
            intercept = np.append(intercept, self.pooled.intercept)
        lost = np.logical_not(np.isfinite(coef).all(axis=1))
        rows = np.flatnonzero(lost[groups]) if lost.any() else np.empty(0, np.intp)
        if len(rows):
            first = int(groups[rows[0]])
            raise ValueError(
                f"{len(rows):,} of {len(groups):,} rows are of groups that could not be fitted; leave them out. The "
                f"first is {self.groups[first]!r}: {self.message[first]}"
            )
        return raw_predictions(design, groups, intercept, coef, shift), groups

    def _beyond(self, values: Numbers, name: str) -> Numbers:
        """What was estimated of the noise for each group, and for those that nobody has seen."""
        return values if self.pooled is None else np.append(values, self.pooled.noise[name])

    # ---- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fits, without the data, as JSON; `nl.load` reads it."""
        from neglog.results.stored_groups import groups_to_json

        write(groups_to_json(self), path)

    @property
    def _failures(self) -> str:
        failed = np.flatnonzero(~self.converged)
        if not len(failed):
            return f"{len(self):,} groups, all converged."
        first = int(failed[0])
        return (
            f"{len(self):,} groups, of which {len(failed):,} did not converge. The first is {self.groups[first]!r}: "
            f"{self.message[first]}"
        )

    def __repr__(self) -> str:
        lost = int(np.count_nonzero(~self.converged))
        ending = f", {lost:,} not converged" if lost else ""
        kind = ", pooled" if self.pooled is not None else f", {self.prior!r}"
        return f"<{len(self):,} fits of {self.coef.shape[1]} coefficients: {self.stated_noise!r}{kind}{ending}>"

    def __str__(self) -> str:
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        keys = {name: list(own) for name, own in self.labels.keys.items()}
        numbers: dict[str, Any] = {"intercept": self.intercept} if self.has_intercept else {}
        numbers |= {name: self.coef[:, k] for k, name in enumerate(self.names[:WIDE])}
        for name in keys:
            table.add_column(escape(name))
        for name in ("rows", *numbers, *self.noise_parameters, ""):
            table.add_column(escape(name), justify="right")
        for group in range(min(len(self), SHOWN)):
            own = [escape(str(labels[group])) for labels in keys.values()]
            values = [*numbers.values(), *self.noise_parameters.values()]
            shown = [f"{column[group]:.4g}" for column in values]
            table.add_row(*own, f"{self.n_rows[group]:,}", *shown, "" if self.converged[group] else "not converged")
        lines = [as_text(table)]
        hidden = [f"{len(self) - SHOWN:,} more groups"] if len(self) > SHOWN else []
        hidden += [f"{len(self.names) - WIDE} more columns"] if len(self.names) > WIDE else []
        if hidden:
            lines.append(f"and {' and '.join(hidden)}")
        if self.pooled is not None:
            lines.append(str(self.pooled))
        return "\n".join([*lines, self._failures])
