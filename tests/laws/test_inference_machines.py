"""What trees and networks are told, for whatever the registry holds: the gradients of the same nll that fits use."""

import numpy as np
import pytest
from laws.inference_cases import EVERYWHERE, EXAMPLES, LINKED, can_open, each
from scipy import optimize

from neglog.boosting.derivatives import slopes_of
from neglog.boosting.laws import suited
from neglog.distributions.expectation import expectation
from neglog.distributions.parameters import MODEL


def rows_off(case, n=400):
    """Targets, raw predictions that are not those they were drawn at, and weights."""
    rows, rng = case.rows(n=n), np.random.default_rng(8)
    eta = case.centre + case.size * (rows.X @ [0.7, -0.2, 0.3])
    return rows.y, np.ascontiguousarray(eta), rng.uniform(0.5, 2, n)


# ---- trees -----------------------------------------------------------------------------------------------------------


def fits_trees(case):
    """Whether every raw prediction has a law."""
    try:
        return suited(case.truth) is not None
    except ValueError:
        return False


TREES = [case for case in [*EXAMPLES, *LINKED] if fits_trees(case)]
SPREAD = [case for case in TREES if not case.opened and case.family.spread in can_open(case.truth)]


def most_probable(noise, truth, y, eta, weight):
    """The noise with its open parameters where the nll is least at these predictions, beginning at the truth."""
    opened = [noise.parameter(name) for name in noise.unknown]
    if not opened:
        return noise

    def at(raw):
        return noise.at_raw(**{own.name: float(x) for own, x in zip(opened, raw, strict=True)})

    def nats(raw):
        if any(own.within and not own.within[0] < x < own.within[1] for own, x in zip(opened, raw, strict=True)):
            return np.inf
        return float(weight @ at(raw).given(eta).nll(y))

    start = [float(own.raw.raw(truth.parameters[own.name])) for own in opened]
    return at(optimize.minimize(nats, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10}).x)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@each(TREES)
def test_trees_step_along_the_gradient_at_the_most_probable_parameters(case, weighted):
    """Gradient and Hessian in one unit, whichever it is, where a spread is open; in nats where nothing is."""
    noise = case.noise
    y, eta, weight = rows_off(case, case.n)
    weight = weight if weighted else np.ones(len(y))
    filled = most_probable(noise, case.truth, y, eta, weight)
    gradient, hessian = slopes_of(noise)(y, eta, weight if weighted else None)
    slope, bend = filled.gradient_hessian(y, eta, expected=not noise.curved)
    slope, bend = weight * slope, weight * bend
    unit = (gradient @ slope) / (slope @ slope)
    assert unit > 0 if noise.unknown else unit == pytest.approx(1.0, rel=1e-6)
    close = 1e-4 if noise.unknown else 1e-6
    np.testing.assert_allclose(gradient, unit * slope, rtol=close, atol=close * unit * np.std(slope))
    np.testing.assert_allclose(hessian, unit * bend, rtol=10 * close)


@each(SPREAD)
def test_trees_of_a_modelled_spread_step_along_both_gradients(case):
    truth, name = case.truth, case.family.spread
    values = {own.name: truth.parameters[own.name] for own in truth.beside_location()}
    noise = case.family(**values | {name: MODEL}, link=case.link)
    y, eta, weight = rows_off(case)
    log_spread = np.log(values[name]) + 0.2 * np.cos(np.arange(len(y)))
    law = truth.estimated(**{name: np.exp(log_spread)})
    slopes = law.joint(y, eta)[1]
    place = 1 + [own.name for own in truth.beside_location()].index(name)
    chain = np.exp(log_spread) / truth.parameter(name).raw.slope(np.exp(log_spread))
    information = law.gradient_hessian(y, eta, expected=True)[1]
    gradient, hessian = slopes_of(noise)(y, np.column_stack([eta, log_spread]), weight)
    unit = np.average(information, weights=weight)
    np.testing.assert_allclose(gradient[:, 0], weight * slopes[0] / unit, rtol=1e-4, atol=1e-5 / np.sqrt(unit))
    np.testing.assert_allclose(hessian[:, 0], weight * information / unit, rtol=1e-4)
    np.testing.assert_allclose(gradient[:, 1], weight * chain * slopes[place], rtol=1e-4, atol=1e-5)
    assert np.all(hessian[:, 1] >= np.abs(gradient[:, 1]) * (1 - 1e-6))
    own = truth.given(case.centre)
    score = expectation(own, lambda y: (own.parameter_gradient(y)[name] * values[name]) ** 2).value
    one = slopes_of(noise)(np.array([y[0]]), np.array([[case.centre, np.log(values[name])]]), None)
    wanted = max(float(score), abs(float(one[0][0, 1])))
    assert one[1][0, 1] == pytest.approx(wanted, rel=0.1)


# ---- networks --------------------------------------------------------------------------------------------------------


def form_of(own):
    """The name of what a network gives for a parameter: its raw value, or the log odds of one within an interval."""
    if own.within is not None:
        return f"logit_{own.name}"
    return f"{own.raw.name}_{own.name}".strip("_")


@pytest.fixture(scope="module")
def torch():
    found = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'neglog[torch]'")
    found.set_num_threads(1)
    return found


class Told:
    """What a network is told at some rows: labels, raw predictions, heads, and the nll with its slopes in all these."""

    def __init__(self, case, torch):
        self.noise, self.names, self.torch = case.truth, can_open(case.truth), torch
        self.eta = case.centre + case.size * np.linspace(-3, 3, 30)
        self.y = np.asarray(self.noise.given(self.eta).sample(rng=5), float)
        self.nll, slopes, _ = self.noise.joint(self.y, self.eta)
        self.in_eta, self.forms, self.slopes = slopes[0], {}, {}
        for own, in_raw in zip(self.noise.beside_location(), slopes[1:], strict=True):
            if own.name not in self.names:
                continue
            value = float(own.raw.raw(self.noise.parameters[own.name]))
            if own.within is None:
                self.forms[form_of(own)], self.slopes[form_of(own)] = value, in_raw
            else:
                below, above = value - own.within[0], own.within[1] - value
                self.forms[form_of(own)] = np.log(below / above)
                self.slopes[form_of(own)] = below * above / (below + above) * in_raw

    @property
    def opened(self):
        return self.noise.with_(**dict.fromkeys(self.names, None))

    def tensor(self, values):
        return self.torch.tensor(np.array(values, float), dtype=self.torch.float64, requires_grad=True)


@each(EVERYWHERE)
def test_networks_see_the_nll_and_its_slopes(case, torch):
    from neglog.torch import NLLLoss

    told = Told(case, torch)
    eta, labels = told.tensor(told.eta), torch.tensor(told.y)
    heads = {form: told.tensor(np.full(30, value)) for form, value in told.forms.items()}
    nats = NLLLoss(told.opened, "none", heads=told.names)(eta, labels, **heads)
    np.testing.assert_allclose(nats.detach(), told.nll, rtol=1e-9, atol=1e-9)
    nats.sum().backward()
    np.testing.assert_allclose(eta.grad, told.in_eta, rtol=1e-8, atol=1e-8 / case.size)
    for form, head in heads.items():
        np.testing.assert_allclose(head.grad, told.slopes[form], rtol=1e-7, atol=1e-8, err_msg=form)
    stated = NLLLoss(told.noise, "none")(eta.detach(), labels)
    np.testing.assert_allclose(stated, told.nll, rtol=1e-9, atol=1e-9)


@each([case for case in EVERYWHERE if can_open(case.truth)])
def test_networks_learn_what_is_open(case, torch):
    from neglog.torch import NLLLoss

    told = Told(case, torch)
    loss = NLLLoss(told.opened, "sum").double()
    assert {name for name, _ in loss.named_parameters()} == set(told.forms)
    with torch.no_grad():
        for form, value in told.forms.items():
            getattr(loss, form).fill_(value)
    for name in told.names:
        assert loss.noise.parameters[name] == pytest.approx(told.noise.parameters[name], rel=1e-9)
    loss(torch.tensor(told.eta), torch.tensor(told.y)).backward()
    for form, slopes in told.slopes.items():
        assert float(getattr(loss, form).grad) == pytest.approx(slopes.sum(), rel=1e-6, abs=1e-6)
