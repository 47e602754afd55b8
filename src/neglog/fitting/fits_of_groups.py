"""All groups of one question: in one native call what that can settle, and the others one by one."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.design import Design
from neglog.design.selection import take_rows
from neglog.distributions.base import Prior
from neglog.distributions.censored import cells_of
from neglog.distributions.noise import Noise
from neglog.engines.groups import Grouping
from neglog.engines.memory import Memory
from neglog.estimation.by_group import GroupAnswers, endless, is_native
from neglog.estimation.groups_at_limits import solve_groups
from neglog.estimation.joint_newton import at_limit_note
from neglog.estimation.learned_prior import is_open
from neglog.estimation.rows_of_groups import Groups, nll_of, variances_of
from neglog.fitting.fit import fit
from neglog.fitting.rows_by_group import RowsByGroup
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.prior_terms import make_penalty
from neglog.likelihood.row_values import ConvergenceWarning, checked, combined_offset
from neglog.likelihood.targets import ALL, Target
from neglog.results.fit_by import FitBy
from neglog.results.fit_of_rows import FitOfRows
from neglog.typing import Numbers


@dataclass
class _Found:
    """The answers as they are gathered, one row for each group."""

    coef: Numbers
    intercept: Numbers
    parameters: dict[str, Numbers]
    converged: NDArray[np.bool_]
    n_iter: NDArray[np.int64]
    texts: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    held: dict[int, tuple[int, ...]] = field(default_factory=dict)
    refused: list[Exception] = field(default_factory=list)  # of groups that could not even be asked
    own: dict[int, tuple[float, Numbers, float, dict[str, float]]] = field(default_factory=dict)  # nll and errors


class Asked:
    """The question: rows of groups, a noise and a prior."""

    def __init__(self, rows: RowsByGroup, noise: Noise, prior: Prior, options: dict[str, Any]) -> None:
        self.rows, self.noise, self.prior, self.options = rows, noise, prior, options
        values = rows.values
        self.y = cells_of(values)
        self.weight = checked(values["sample_weight"], "sample_weight", zero=True)
        if self.weight is not None and not self.weight.any():
            raise ValueError("sample_weight is zero in every row; at least one row must count")
        self.precision = checked(values["precision"], "precision")
        self.offset = combined_offset(noise, values["offset"], values["exposure"])
        self.grouping = Grouping(rows.codes, len(rows.labels))

    def answered(self, named: dict[str, str]) -> FitBy:
        """All of it."""
        count, design = self.grouping.count, self.rows.design
        names = self.noise.unknown
        found = _Found(
            np.full((count, design.columns), np.nan),
            np.full(count, np.nan),
            {name: np.full(count, np.nan) for name in names},
            np.zeros(count, bool),
            np.zeros(count, np.int64),
        )
        parts = self._in_one_call()
        others = np.ones(count, bool)
        for part in parts:
            others &= ~part.sure
            self._take(found, part)
        if parts:
            others[self._without_end(found, parts[0], others)] = False
        for group, text in self.rows.failed.items():
            found.texts[group] = text
        others[list(self.rows.failed)] = False
        for group in np.flatnonzero(others).tolist():
            self._ask(found, group)
        if found.refused and len(found.refused) + len(self.rows.failed) == count:
            raise found.refused[0]  # it is the question that cannot be asked
        state = self.stated(named) | {
            "coef": found.coef,
            "intercept": found.intercept
            if self.options["intercept"]
            else np.where(np.isnan(found.intercept), np.nan, 0.0),
            "noise_parameters": found.parameters,
            "converged": found.converged,
            "n_iter": found.n_iter,
            "texts": found.texts,
            "remarks": found.notes,
            "held": found.held,
        }
        return FitBy(state, _Late(parts, found))

    def stated(self, named: dict[str, str]) -> dict[str, Any]:
        """What is known before anything is found."""
        return {
            "stated_noise": self.noise,
            "prior": self.prior,
            "schema": self.rows.design.schema,
            "labels": self.rows.labels,
            "named": named,
            "notes": list(self.rows.design.notes),
            "n_rows": self.rows.sizes,
            "has_intercept": self.options["intercept"],
            "pooled": None,
        }

    # ---- all at once -------------------------------------------------------------------------------------------------

    def _in_one_call(self) -> list[GroupAnswers]:
        """What one call could settle; nothing where there is no such call."""
        if is_open(self.prior):
            return []
        task = self.task()
        return solve_groups(task) if is_native(task.target, task.engine.design, task.penalty) else []

    def task(self) -> Groups:
        """The rows that count of groups whose targets the noise can explain."""
        design, grouping = self.rows.design, self.grouping
        kept = np.ones(design.rows, bool) if self.weight is None else self.weight > 0
        target = self._target(kept)
        whole = kept.all()
        chosen = np.flatnonzero(kept)
        inside = design if whole else take_rows(design, chosen)
        offset = self.offset if self.offset is None or whole else self.offset[chosen]
        centre = np.zeros(design.columns)
        engine = Memory(
            inside, target.y, target.weight, offset, target.loss, intercept=self.options["intercept"], centre=centre
        )
        penalty = make_penalty(self.prior, engine)
        grouping = grouping if whole else grouping.take(chosen)
        return Groups(target, engine, penalty, grouping, self.options["tol"], self.options["max_iter"])

    def _target(self, kept: NDArray[np.bool_]) -> Target:
        """Of the rows that are kept; `kept` loses those of groups with a y that the noise cannot explain."""
        try:
            return self._explained(ALL if kept.all() else np.flatnonzero(kept))
        except ValueError:
            bad = self._unexplained(
                np.flatnonzero(np.bincount(self.grouping.codes[kept], minlength=self.grouping.count))
            )
            lost = np.zeros(self.grouping.count, bool)
            lost[bad] = True
            if lost[self.grouping.codes[kept]].all():  # it is the question that cannot be asked
                raise
            kept &= ~lost[self.grouping.codes]
            return self._explained(np.flatnonzero(kept))

    def _explained(self, rows: Any) -> Target:
        own = [None if values is None else values[rows] for values in (self.weight, self.precision)]
        return make_target(self.noise, self.y[rows], *own, whole=False)

    def _unexplained(self, groups: NDArray[np.intp]) -> list[int]:
        """The groups that the noise refuses, by halves."""
        rows = np.concatenate([self.grouping.rows(group) for group in groups.tolist()])
        rows = rows if self.weight is None else rows[self.weight[rows] > 0]
        try:
            self._explained(rows)
        except ValueError:
            if len(groups) == 1:
                return [int(groups[0])]
            half = len(groups) // 2
            return self._unexplained(groups[:half]) + self._unexplained(groups[half:])
        return []

    def _take(self, found: _Found, part: GroupAnswers) -> None:
        """What was found in one call, of the groups that it has settled."""
        engine, sure = part.task.engine, part.sure
        found.coef[sure] = part.theta[sure][:, engine.where]
        found.intercept[sure] = part.theta[sure, 0] if engine.intercept else 0.0
        for k, own in enumerate(part.task.target.opened):
            found.parameters[own.name][sure] = own.raw.value(part.raw[sure, k])
        found.converged[sure], found.n_iter[sure] = True, part.steps[sure]
        flat = part.task.penalty.flat[engine.where]
        still = part.held[:, engine.where] & flat & sure[:, None]
        for group in np.flatnonzero(still.any(axis=1)).tolist():
            found.held[group] = tuple(np.flatnonzero(still[group]).tolist())
        for own in part.at_limit:
            assert own.limit is not None
            found.parameters[own.name][sure] = own.limit.value
            note = at_limit_note(own, self.noise)
            for group in np.flatnonzero(sure).tolist():
                found.notes[group] = f"{found.notes[group]} {note}" if group in found.notes else note

    def _without_end(self, found: _Found, part: GroupAnswers, others: NDArray[np.bool_]) -> list[int]:
        """Groups whose intercept grows for ever: where the search ended is all that there is."""
        ends = {group: end for group, end in endless(part.task).items() if others[group]}
        engine, columns = part.task.engine, found.coef.shape[1]
        for group, end in ends.items():
            found.texts[group] = (
                f"There is no maximum of the likelihood: every y is {end:g}, so that the intercept grows without end. "
                "Leave the group out, or let groups know of each other: pool=True."
            )
            found.coef[group], found.intercept[group] = part.theta[group, engine.where], part.theta[group, 0]
            found.n_iter[group] = part.steps[group]
            found.own[group] = 0.0, np.full(columns, np.inf), np.inf, {}
        return list(ends)

    # ---- one by one --------------------------------------------------------------------------------------------------

    def _ask(self, found: _Found, group: int) -> None:
        """A single fit, with everything that this knows about what may be wrong."""
        try:
            one = self.one(group)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            found.texts[group] = str(error)
            found.refused.append(error)
            return
        found.texts[group] = one.message
        found.coef[group], found.intercept[group] = one.coef, one.intercept
        for name, values in found.parameters.items():
            values[group] = getattr(one.noise, name)
        found.converged[group], found.n_iter[group] = one.converged, one.n_iter
        errors = one.noise_standard_errors
        found.own[group] = one.nll, one.standard_errors, one.intercept_standard_error, errors

    def refusal(self, group: int) -> str:
        """Why a group cannot be fitted."""
        try:
            return self.one(group).message
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return str(error)

    def set_aside_infinite(self) -> None:
        """Groups with NaN or infinities in X are failed before they touch what all groups share."""
        design = self.rows.design
        bad = [
            rows
            for block in design.blocks
            for _, missing, infinite in block.nonfinite()
            for rows in (missing, infinite)
        ]
        if not bad:
            return
        groups = np.unique(self.grouping.codes[np.concatenate(bad)])
        self.rows.failed.update({group: self.refusal(group) for group in groups.tolist()})
        if len(self.rows.failed) == self.grouping.count:
            design.check_finite()
        kept = np.flatnonzero(~np.isin(self.grouping.codes, groups))
        self.rows = self.rows.taken(kept)
        self.grouping = self.grouping.take(kept)
        self.y = self.y[kept]
        for name in ("weight", "precision", "offset"):
            values = getattr(self, name)
            setattr(self, name, None if values is None else values[kept])

    def one(self, group: int) -> FitOfRows:
        """The fit of the rows of a single group."""
        rows = self.grouping.rows(group)
        design: Design = replace(take_rows(self.rows.design, rows), notes=())
        own: dict[str, Any] = {
            what: None if v is None else v[rows] for what, v in self.rows.values.items() if what in _BESIDE
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit(design, self.y[rows], self.noise, self.prior, **own, **self.options)


_BESIDE = ("sample_weight", "precision", "offset", "exposure")


@dataclass
class _Late:
    """What costs another pass over the rows."""

    parts: list[GroupAnswers]
    found: _Found

    def nll(self) -> Numbers:
        """-log p of the rows of each group."""
        out = np.full(len(self.found.converged), np.nan)
        for part in self.parts:
            if part.sure.any():
                out[part.sure] = nll_of(part.task, part.theta, part.raw)[part.sure]
        for group, (nats, *_) in self.found.own.items():
            out[group] = nats
        return out

    def errors(self) -> tuple[Numbers, Numbers, dict[str, Numbers]]:
        """Standard errors of coefficients, intercepts and what the noise left open."""
        found = self.found
        coef, intercept = np.full(found.coef.shape, np.nan), np.full(len(found.coef), np.nan)
        noise = {name: np.full(len(found.coef), np.nan) for name in found.parameters}
        for part in self.parts:
            engine, sure = part.task.engine, part.sure
            if not sure.any():
                continue
            with np.errstate(all="ignore"):
                errors = np.sqrt(variances_of(part.task, part.theta, part.raw))[sure]
            coef[sure] = errors[:, engine.where]
            if engine.intercept:
                intercept[sure] = errors[:, 0]
            for k, own in enumerate(part.task.target.opened):
                slope = own.raw.slope(found.parameters[own.name][sure])
                noise[own.name][sure] = np.abs(slope) * errors[:, engine.width + k]
        for group, (_, own_coef, own_intercept, own_noise) in found.own.items():
            coef[group], intercept[group] = own_coef, own_intercept
            for name, value in own_noise.items():
                noise[name][group] = value
        return coef, intercept, noise
