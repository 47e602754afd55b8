"""Parameters that are predicted for each row, for whatever the registry holds: fits against minus the log of the
posterior density, written with nothing but the nll of the noise and of the prior.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from laws.inference_cases import COEF, EXAMPLES, EXTRAS, KNOWN, LINKED, Case, can_open, each, second_derivatives, slope

import neglog as nl
from neglog import _core
from neglog.engines import files, survey
from neglog.likelihood.accelerators import make_target
from neglog.streaming import first_pass

ROWS = 1600
MOVES = np.array([0.4, 0.0, -0.2])  # of what is predicted with the columns
PRIORS = ("flat", "gaussian", "laplace")


@dataclass(frozen=True)
class Modelled:
    """A family at its first example, with one parameter that changes with the columns; others may be open."""

    case: Case
    name: str

    def __str__(self):
        return f"{self.case.family.__name__}-{self.case.link}-{self.name}"

    @property
    def noise(self):
        """Of what the rows say enough about, only that is open which they can tell from what is modelled."""
        noise = self.case.open_at(ROWS).modelling(self.name)
        for name in noise.unknown:
            if noise.cannot_tell(ROWS, 1) is not None or _error_beside(self, name) > KNOWN:
                noise = noise.with_(**{name: self.case.truth.parameters[name]})
        return noise

    @property
    def own(self):
        return self.case.family.parameter(self.name)

    @property
    def refused(self):
        """Whether a fit says that it cannot be modelled."""
        with suppress(ValueError):
            make_target(self.noise, self.case.rows().y, None, None)
            return False
        return True

    def law(self, X):
        """The noise with the parameter as it is in these rows."""
        raw = float(self.own.predicted.raw(self.case.truth.parameters[self.name])) + X @ MOVES
        return self.case.truth.estimated(**{self.name: self.own.predicted.value(raw)})

    def rows(self, extras="plain"):
        rng = np.random.default_rng(5)
        X = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(ROWS, len(COEF)))
        eta, law = self.case.centre + self.case.size * X @ COEF, self.law(X)
        if extras == "plain":
            return Rows(X, np.asarray(law.given(eta).sample(rng=rng), float))
        offset, weight = self.case.size * rng.uniform(-0.5, 0.5, ROWS), rng.uniform(0.5, 2, ROWS)
        precision = rng.uniform(0.5, 2, ROWS) if law.takes_precision() and not law.traits.repeats else None
        y = law.with_precision(precision).given(eta + offset).sample(rng=rng)
        return Rows(X, np.asarray(y, float), weight, precision, offset)


@cache
def _error_beside(modelled, name):
    """The standard error of a raw parameter beside one that is modelled, by the scores of the rows at the truth."""
    case, rows = modelled.case, modelled.rows()
    matrix = np.column_stack([np.ones(ROWS), rows.X])
    places = [own.name for own in case.truth.beside_location()]
    slopes = modelled.law(rows.X).joint(rows.y, case.centre + case.size * rows.X @ COEF)[1]
    columns = [slopes[k] * matrix.T for k in (0, 1 + places.index(modelled.name))]
    scores = np.vstack([*columns, slopes[1 + places.index(name)]])
    units = np.sqrt(np.sum(scores**2, axis=1))
    return np.sqrt(np.linalg.inv((scores / units[:, None]) @ (scores / units[:, None]).T)[-1, -1]) / units[-1]


@dataclass(frozen=True)
class Rows:
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    precision: np.ndarray | None = None
    offset: np.ndarray | None = None

    @property
    def options(self):
        return {"sample_weight": self.weight, "precision": self.precision, "offset": self.offset}

    def fit(self, noise, prior=nl.Flat(), **options):  # noqa: B008
        return nl.fit(self.X, self.y, noise, prior, **self.options, **{"tol": 1e-9, **options})

    def minus_log_posterior(self, fit, z):
        """At z: intercept and coefficients of the location, those of the parameter, and raw values of what is open."""
        (name,), columns = fit.noise.modelled, 1 + self.X.shape[1]
        location, model, rest = z[:columns], z[columns : 2 * columns], z[2 * columns :]
        values = dict(zip(fit.noise_standard_errors, rest.tolist(), strict=True))
        predicted = fit.noise.parameter(name).predicted.value(model[0] + self.X @ model[1:])
        noise = fit.noise.unmodelled().at_raw(**values).estimated(**{name: predicted})
        eta = location[0] + self.X @ location[1:] + (0.0 if self.offset is None else self.offset)
        w = np.ones(len(self.y)) if self.weight is None else self.weight
        prior = np.sum(fit.prior.nll(location[1:])) + np.sum(fit.prior.nll(model[1:]))
        return float(w @ noise.with_precision(self.precision).given(eta).nll(self.y) + prior)


def prior_of(name, modelled):
    error = modelled.case.error(ROWS)
    return {"flat": nl.Flat(), "gaussian": nl.Gaussian(scale=2 * error), "laplace": nl.Laplace(scale=error)}[name]


def estimates(fit):
    raws = [float(fit.noise.parameter(name).raw.raw(getattr(fit.noise, name))) for name in fit.noise_standard_errors]
    parts = [np.append(one.intercept, one.coef) for one in fit.predictors.values()]
    return np.concatenate([*parts, raws])


def errors(fit):
    table = fit.summary(contrasts=False).table
    found = table["standard error"].copy()
    for k, name in enumerate(fit.noise_standard_errors, len(found) - len(fit.noise_standard_errors)):
        found[k] /= fit.noise.parameter(name).raw.slope(getattr(fit.noise, name))
    return found


FIRST = [case for case in EXAMPLES if case.number == 0 and not case.opened]
CASES, UNDER_LINKS = (
    [Modelled(replace(case, opened=True), name) for case in cases for name in can_open(case.truth)]
    for cases in (FIRST, LINKED)
)
TAKEN, TAKEN_UNDER_LINKS = (
    [case for case in cases if not case.refused and case.name in case.case.open_at(ROWS).unknown]
    for cases in (CASES, UNDER_LINKS)
)


@each(CASES)
def test_what_cannot_be_modelled_is_refused_for_a_reason_that_is_declared(case):
    if case.refused:
        with pytest.raises(
            ValueError, match=rf"{case.name}='model' asks for a prediction of the {case.name}.*; .*None"
        ):
            nl.fit(case.case.rows().X, case.case.rows().y, case.noise)
        assert not case.noise.smooth


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", PRIORS)
@each(TAKEN)
def test_the_answer_is_a_maximum_with_the_errors_of_its_curvature(case, prior, extras):
    check_maximum(case, prior, extras)


@each(TAKEN_UNDER_LINKS)
def test_so_it_is_under_every_link(case):
    check_maximum(case, "gaussian", "weighted")


@each([case for case in TAKEN if case.case.link in _core.links(f"cells({case.noise._family()})")])
def test_so_it_is_where_every_third_row_is_censored(case):
    check_maximum(case, "gaussian", "weighted", censored=True)


def check_maximum(case, prior, extras, *, censored=False):
    rows = case.rows(extras)
    if censored:
        rows = replace(rows, y=nl.censored(rows.y, np.where(np.arange(ROWS) % 3 == 0, np.inf, rows.y)))
    fit = rows.fit(case.noise, prior_of(prior, case))
    assert fit.converged, fit.message
    at, found = estimates(fit), errors(fit)
    free = ~np.isnan(found)
    held = np.concatenate([np.append(False, one.coef == 0) for one in fit.predictors.values()])
    np.testing.assert_array_equal(free[: len(held)], ~held if prior == "laplace" else np.ones(len(held), bool))
    steps = np.where(free, found, 1.0) * (0.02 if fit.noise.traits.steady else 1e-3)
    if prior == "laplace":
        steps = np.where((at != 0) & free, np.minimum(steps, 0.2 * np.abs(at)), steps)

    def along(k):
        return lambda t: rows.minus_log_posterior(fit, at + t * np.eye(len(at))[k])

    for k in np.flatnonzero(free):
        assert abs(slope(along(k), 0.0, steps[k]) * found[k]) < 2e-5
    inside = np.ix_(free, free)
    whole = second_derivatives(lambda z: rows.minus_log_posterior(fit, z), at, steps)[inside]
    wanted = np.sqrt(np.linalg.inv(whole).diagonal())
    np.testing.assert_allclose(found[free], wanted, rtol=2e-3 if fit.noise.traits.steady else 2e-2)


@each(TAKEN)
def test_the_nats_are_those_of_the_law_of_each_row(case):
    rows = case.rows("weighted")
    fit = rows.fit(case.noise)
    law = fit.distribution(rows.X, offset=rows.offset).with_precision(rows.precision)
    assert fit.nll == pytest.approx(float(rows.weight @ law.nll(rows.y)), rel=1e-12)
    predictor = fit.predictors[case.name]
    assert predictor.names == fit.names
    values = case.own.predicted.value(predictor.intercept + rows.X @ predictor.coef)
    np.testing.assert_allclose(getattr(fit.distribution(rows.X), case.name), values, rtol=1e-10)
    np.testing.assert_allclose(fit.predict(rows.X), fit.distribution(rows.X).point(), rtol=1e-14)


@each(TAKEN)
def test_the_truth_is_found(case):
    fit = case.rows().fit(case.noise)
    predictor = fit.predictors[case.name]
    truth = np.append(case.own.predicted.raw(case.case.truth.parameters[case.name]), MOVES)
    names = fit.summary().table["name"]
    own = [names.index(f"{case.name}: {name}") for name in ("intercept", *fit.names)]
    away = (np.append(predictor.intercept, predictor.coef) - truth) / fit.summary().table["standard error"][own]
    assert np.abs(away).max() < 4.5


@each(TAKEN)
def test_weight_two_is_a_row_twice(case):
    rows = case.rows()
    weight = np.where(np.arange(ROWS) % 3 == 0, 2.0, 1.0)
    again = np.repeat(np.arange(ROWS), weight.astype(int))
    weighted, twice = replace(rows, weight=weight).fit(case.noise), Rows(rows.X[again], rows.y[again]).fit(case.noise)
    np.testing.assert_allclose(estimates(weighted), estimates(twice), rtol=1e-6, atol=1e-6 * errors(twice).max())


@each(TAKEN)
def test_a_constant_column_changes_nothing(case):
    rows = case.rows()
    fit = rows.fit(case.noise)
    other = Rows(np.column_stack([rows.X, np.full(ROWS, 3.0)]), rows.y).fit(case.noise)
    assert other.nll == pytest.approx(fit.nll, rel=1e-9)
    assert other.n_parameters == fit.n_parameters
    np.testing.assert_allclose(
        getattr(other.distribution(np.column_stack([rows.X, np.full(ROWS, 3.0)])), case.name),
        getattr(fit.distribution(rows.X), case.name),
        rtol=1e-6,
    )


@each(TAKEN)
def test_coefficients_that_are_held_at_0_leave_the_open_fit(case):
    rows, prior = case.rows(), nl.Gaussian(scale=1e-7 * case.case.size)
    held, plain = rows.fit(case.noise, prior), rows.fit(case.noise.unmodelled(), prior)
    assert held.nll == pytest.approx(plain.nll, rel=1e-9)
    raw = case.own.predicted.raw(getattr(plain.noise, case.name))
    assert held.predictors[case.name].intercept == pytest.approx(raw, rel=1e-5, abs=1e-5)
    assert held.intercept == pytest.approx(plain.intercept, rel=1e-6, abs=1e-6 * case.case.size)


@each(TAKEN)
def test_a_saved_fit_has_the_same_law(case, tmp_path):
    rows = case.rows()
    fit = rows.fit(case.noise)
    fit.save(tmp_path / "fit.json")
    again = nl.load(tmp_path / "fit.json")
    assert again.noise == fit.noise
    assert again.distribution(rows.X) == fit.distribution(rows.X)
    assert str(again.summary()) == str(fit.summary())


@each(TAKEN)
def test_rows_in_files_give_the_answer_of_rows_in_memory(case, monkeypatch, tmp_path):
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 300)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 450)
    monkeypatch.setattr(first_pass, "SAMPLE_ROWS", 400)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 400)
    rows = case.rows("weighted")
    beside = {name: values for name, values in rows.options.items() if values is not None}
    table = pd.DataFrame({**{f"x{k}": x for k, x in enumerate(rows.X.T)}, "y": rows.y, **beside})
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    named = {name: name for name in beside}
    streamed = nl.fit(tmp_path / "rows.parquet", "y", case.noise, **named, tol=1e-9, progress=False)
    memory = nl.fit(table, "y", case.noise, **named, tol=1e-9)
    assert streamed.converged
    np.testing.assert_allclose(estimates(streamed), estimates(memory), rtol=1e-6, atol=1e-6 * errors(memory).max())
    np.testing.assert_allclose(errors(streamed), errors(memory), rtol=1e-5)
    assert streamed.nll == pytest.approx(memory.nll, rel=1e-9)
    assert streamed.d2 == pytest.approx(memory.d2, rel=1e-5, abs=1e-8, nan_ok=True)


@each(TAKEN)
def test_leave_one_out_is_near_a_fit_without_the_row(case):
    rows = case.rows("weighted")
    rows = replace(rows, weight=None)
    found = rows.fit(case.noise).loo()
    assert len(found.nll) == ROWS
    chosen = np.flatnonzero(~found.unreliable)[[3, 400, 900]]
    for i in chosen:
        rest = np.delete(np.arange(ROWS), i)
        part = Rows(*(None if v is None else v[rest] for v in vars(rows).values())).fit(case.noise)
        offset = None if rows.offset is None else rows.offset[[i]]
        precision = None if rows.precision is None else rows.precision[[i]]
        law = part.distribution(rows.X[[i]], offset=offset).with_precision(precision)
        assert found.nll[i] == pytest.approx(law.nll(rows.y[[i]])[0], abs=2e-3)


@each(TAKEN)
def test_the_posterior_averages_over_what_is_not_known(case):
    rows = case.rows()
    fit = rows.fit(case.noise)
    posterior = fit.posterior()
    np.testing.assert_allclose(posterior.mean, estimates(fit), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.std, errors(fit), rtol=1e-6)
    few = rows.X[:20]
    law, plain = posterior.predictive(few), fit.distribution(few)
    nats = law.nll(rows.y[:20])
    np.testing.assert_allclose(nats, plain.nll(rows.y[:20]), atol=0.2)
