"""NLLLoss: the same numbers and derivatives as NumPy's noises, for every noise and link, and PyTorch's own losses."""

import copy
import math

import numpy as np
import pytest
from laws.cases import LINKED_NOISES, each, plausible, raw_predictions

import neglog as nl

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'neglog[torch]'")

from neglog.torch import NLLLoss  # noqa: E402 - needs PyTorch

torch.set_num_threads(1)  # for a handful of rows threads cost more than they save
OPEN = {"scale", "shape", "dispersion", "delta", "power"}


def tensor(values, grad=False, dtype=torch.float64):
    return torch.tensor(np.asarray(values), dtype=dtype, requires_grad=grad)


def problem(noise, rng, size=7):
    """Labels and raw predictions, away from kinks."""
    eta = raw_predictions(noise, size)
    y = plausible(noise, eta, rng)
    for kink in (*noise.jumps(), *(() if noise.smooth else (0.0,))):
        away = noise.located(y) - noise.link.inverse(eta)
        y = np.where(np.abs(away - kink) < 0.05 * noise.scale, y + 0.2 * noise.scale, y)
    return y, eta


def opened(noise):
    """The noise with every parameter left open that can be learned, and their unconstrained values."""
    kept, raw = {}, {}
    for name, value in noise.parameters.items():
        if name not in OPEN or name == noise.location or (name == "dispersion" and noise.parameters.get("power") == 1):
            kept[name] = value
        elif name == "power":
            if 1 < value < 2:
                raw["logit_power"] = math.log((value - 1) / (2 - value))
            else:
                kept[name] = value
        else:
            kept[name], raw[f"log_{name}"] = None, math.log(value)
    return type(noise)(**kept, link=noise.link.name), raw


# ---- the same numbers as NumPy's -------------------------------------------------------------------------------------


@each(LINKED_NOISES, "noise")
def test_value_gradient_and_hessian_are_those_of_the_noise(noise, rng):
    y, eta = problem(noise, rng)
    raw = tensor(eta, grad=True)
    nats = NLLLoss(noise, "none")(raw, tensor(y))
    (gradient,) = torch.autograd.grad(nats.sum(), raw, create_graph=True)
    (hessian,) = torch.autograd.grad(gradient.sum(), raw) if gradient.requires_grad else (torch.zeros_like(raw),)
    expected = noise.derivatives(y, eta)
    for ours, theirs in zip((nats, gradient, hessian), expected, strict=True):
        np.testing.assert_allclose(ours.detach(), theirs, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(nats.detach(), noise.given(eta).nll(y), rtol=1e-10, atol=1e-10)


@each(LINKED_NOISES, "noise")
def test_autograd_agrees_with_differences_twice(noise, rng):
    y, eta = problem(noise, rng, 3)
    loose, raw = opened(noise)
    loss = NLLLoss(loose, "none", heads=[name.split("_", 1)[1] for name in raw])
    labels, heads = tensor(y), [tensor(np.full(3, value), grad=True) for value in raw.values()]

    def nats(eta, *heads):
        return loss(eta, labels, **dict(zip(raw, heads, strict=True)))

    inputs = (tensor(eta, grad=True), *heads)
    assert torch.autograd.gradcheck(nats, inputs, atol=1e-6, rtol=1e-5)
    assert torch.autograd.gradgradcheck(nats, inputs, atol=1e-4, rtol=1e-4)


@each(LINKED_NOISES, "noise")
def test_slopes_in_the_open_parameters_are_those_of_the_noise(noise, rng):
    loose, raw = opened(noise)
    if not raw:
        return
    y, eta = problem(noise, rng)
    loss = NLLLoss(loose, "none", heads=[name.split("_", 1)[1] for name in raw])
    heads = {name: tensor(np.full(eta.shape, value), grad=True) for name, value in raw.items()}
    loss(tensor(eta), tensor(y), **heads).sum().backward()
    slopes = noise.given(eta).parameter_gradient(y)
    for name, head in heads.items():
        plain = name.split("_", 1)[1]
        value = noise.parameters[plain]
        chain = (value - 1) * (2 - value) if plain == "power" else value
        np.testing.assert_allclose(head.grad, slopes[plain] * chain, rtol=1e-9, atol=1e-9)


def test_classes_are_those_of_the_noise(rng):
    eta, y = rng.normal(size=(6, 4)) * 3, rng.integers(0, 4, 6)
    raw = tensor(eta, grad=True)
    nats = NLLLoss("categorical", "none")(raw, torch.tensor(y))
    (gradient,) = torch.autograd.grad(nats.sum(), raw, create_graph=True)
    value, slope, curvature = nl.Categorical().derivatives(y, eta)
    np.testing.assert_allclose(nats.detach(), value, rtol=1e-12)
    np.testing.assert_allclose(gradient.detach(), slope, atol=1e-12)
    hessian = torch.stack([torch.autograd.grad(gradient[:, k].sum(), raw, retain_graph=True)[0] for k in range(4)], 1)
    np.testing.assert_allclose(hessian, curvature, atol=1e-12)
    check = (lambda e: NLLLoss("categorical", "none")(e, torch.tensor(y)), (raw,))
    assert torch.autograd.gradcheck(*check)
    assert torch.autograd.gradgradcheck(*check)


@pytest.mark.parametrize("power", [1.001, 1.02, 1.1, 1.3, 1.5, 1.7, 1.9, 1.98, 1.999])
def test_the_tweedie_density_is_exact_over_means_dispersions_and_powers(power):
    mean, dispersion, ratio = np.meshgrid(10.0 ** np.arange(-3, 5), 10.0 ** np.arange(-3, 4), [0, 0.02, 0.5, 1, 3, 60])
    mean, dispersion, y = mean.ravel(), dispersion.ravel(), (ratio * mean).ravel()
    t, log_phi = tensor(np.log(mean), grad=True), tensor(np.log(dispersion), grad=True)
    logit = tensor(np.full(mean.shape, math.log((power - 1) / (2 - power))), grad=True)
    law = nl.Tweedie(mean=mean, power=power, dispersion=dispersion)
    expected, slopes = law.nll(y), law.parameter_gradient(y)
    size = np.abs(expected) + 1
    stated = NLLLoss(nl.Tweedie(power=power), "none", heads="dispersion")(t, tensor(y), log_dispersion=log_phi)
    np.testing.assert_allclose(stated.detach().numpy() / size, expected / size, atol=1e-10)
    learned = NLLLoss("tweedie", "none", heads=["power", "dispersion"])
    learned = learned(t, tensor(y), logit_power=logit, log_dispersion=log_phi)
    np.testing.assert_allclose(learned.detach().numpy() / size, expected / size, atol=1e-10)
    in_mean, in_dispersion = torch.autograd.grad(stated.sum(), (t, log_phi))
    for ours, theirs in (
        (in_mean, slopes["mean"] * mean),
        (in_dispersion, slopes["dispersion"] * dispersion),
        (torch.autograd.grad(learned.sum(), logit)[0], slopes["power"] * (power - 1) * (2 - power)),
    ):
        np.testing.assert_allclose(ours.numpy() / size, theirs / size, rtol=1e-8, atol=1e-8)


def test_extreme_predictions_cost_what_they_cost():
    eta = [-700.0, -40.0, -5.0, 5.0, 40.0, 600.0]
    for link in ("logit", "probit"):
        for y in (0.0, 1.0):
            noise, raw = nl.Bernoulli(link=link), tensor(eta, grad=True)
            nats = NLLLoss(noise, "none")(raw, tensor([y] * 6))
            nats.sum().backward()
            value, slope, _ = noise.derivatives(y, eta)
            np.testing.assert_allclose(nats.detach(), value, rtol=1e-10)
            np.testing.assert_allclose(raw.grad, slope, rtol=1e-7)
    noise, raw = nl.Bernoulli(link="cloglog"), tensor([-300.0, -20.0, -3.0, 1.0, 4.0], grad=True)
    nats = NLLLoss(noise, "none")(raw, tensor([1.0] * 5))
    nats.sum().backward()
    value, slope, _ = noise.derivatives(1.0, raw.detach().numpy())
    np.testing.assert_allclose(nats.detach(), value, rtol=1e-10)
    np.testing.assert_allclose(raw.grad, slope, rtol=1e-7)


def test_large_counts_and_shapes_keep_their_digits():
    y = np.array([1e4, 1e6, 1e9])
    nats = NLLLoss("poisson", "none")(tensor(np.log(y) + 1e-3), tensor(y))
    np.testing.assert_allclose(nats, nl.Poisson().derivatives(y, np.log(y) + 1e-3)[0], rtol=1e-9)
    noise = nl.Gamma(shape=1e7)
    nats = NLLLoss(noise, "none")(tensor([1.0]), tensor([np.e * 1.0001]))
    np.testing.assert_allclose(nats, noise.derivatives([np.e * 1.0001], [1.0])[0], rtol=1e-9)


# ---- the same as PyTorch's own losses, up to what the module's docstring says ----------------------------------------


@pytest.fixture
def rows(rng):
    return tensor(rng.normal(size=50)), tensor(rng.normal(size=50) * 2)


def test_mse_is_gaussian(rows):
    eta, y = rows
    loss = torch.nn.MSELoss(reduction="none")(eta, y)
    nats = NLLLoss(nl.Gaussian(scale=1.7), "none")(eta, y)
    torch.testing.assert_close(nats, loss / (2 * 1.7**2) + math.log(1.7) + 0.5 * math.log(2 * math.pi))


def test_l1_is_laplace(rows):
    eta, y = rows
    nats = NLLLoss(nl.Laplace(scale=1.7), "none")(eta, y)
    torch.testing.assert_close(nats, torch.nn.L1Loss(reduction="none")(eta, y) / 1.7 + math.log(2 * 1.7))


def test_huber_is_huber_with_its_threshold_in_scales(rows):
    eta, y = rows
    s, k = 1.7, 0.8
    loss = torch.nn.HuberLoss(reduction="none", delta=k * s)(eta, y)
    c = math.sqrt(2 * math.pi) * math.erf(k / math.sqrt(2)) + 2 * math.exp(-(k**2) / 2) / k
    nats = NLLLoss(nl.Huber(scale=s, delta=k), "none")(eta, y)
    torch.testing.assert_close(nats, loss / s**2 + math.log(s * c))


def test_poisson_is_pytorchs_with_the_exact_factorial(rows):
    eta, y = rows[0], torch.arange(50, dtype=torch.float64)
    loss = torch.nn.PoissonNLLLoss(full=True, reduction="none")(eta, y)
    nats = NLLLoss("poisson", "none")(eta, y)
    stirling = torch.where(y > 1, y * torch.log(y) - y + 0.5 * torch.log(2 * math.pi * y), 0.0)
    torch.testing.assert_close(nats, loss + torch.lgamma(y + 1) - stirling)
    assert float((nats - loss)[2]) == pytest.approx(0.0413, abs=1e-4)


def test_gaussian_nll_is_gaussian_with_a_second_head(rows, rng):
    eta, y = rows
    variance = tensor(rng.gamma(2.0, size=50))
    loss = torch.nn.GaussianNLLLoss(full=True, reduction="none")(eta, y, variance)
    nats = NLLLoss("gaussian", "none", heads="scale")(eta, y, log_scale=0.5 * variance.log())
    torch.testing.assert_close(nats, loss)


def test_bce_with_logits_is_bernoulli_and_takes_shares(rows, rng):
    for y in (tensor(rng.integers(0, 2, 50)), tensor(rng.random(50))):
        loss = torch.nn.BCEWithLogitsLoss(reduction="none")(rows[0], y)
        torch.testing.assert_close(NLLLoss("bernoulli", "none")(rows[0], y), loss)


def test_cross_entropy_is_categorical(rng):
    eta, y = tensor(rng.normal(size=(50, 5))), torch.tensor(rng.integers(0, 5, 50))
    torch.testing.assert_close(NLLLoss("categorical")(eta, y), torch.nn.CrossEntropyLoss()(eta, y))
    image, pixels = tensor(rng.normal(size=(2, 5, 3, 4))), torch.tensor(rng.integers(0, 5, (2, 3, 4)))
    loss = torch.nn.CrossEntropyLoss(reduction="none")(image, pixels)
    torch.testing.assert_close(NLLLoss("categorical", "none")(image.movedim(1, -1), pixels), loss)


# ---- reductions, weights, learned parameters -------------------------------------------------------------------------


def test_a_weight_repeats_its_row(rng):
    eta, y = tensor(rng.normal(size=4)), tensor([0.0, 3.0, 1.0, 2.0])
    weight = torch.tensor([1, 2, 0, 1])
    repeated = torch.repeat_interleave(torch.arange(4), weight)
    for reduction in ("mean", "sum"):
        loss = NLLLoss("poisson", reduction)
        torch.testing.assert_close(loss(eta, y, weight), loss(eta[repeated], y[repeated]))
    each_row = NLLLoss("poisson", "none")
    torch.testing.assert_close(each_row(eta, y, weight), weight * each_row(eta, y))


def test_a_row_of_weight_zero_may_have_no_label():
    eta = tensor([0.3, 0.4], grad=True)
    NLLLoss("poisson")(eta, tensor([2.0, math.nan]), tensor([1.0, 0.0])).backward()
    np.testing.assert_allclose(eta.grad, [math.exp(0.3) - 2, 0])


@pytest.mark.parametrize(
    ("noise", "sampled"),
    [
        ("gaussian", nl.Gaussian(1.5, 0.4)),
        ("laplace", nl.Laplace(-1.0, 2.0)),
        ("huber", nl.Huber(2.0, 1.5)),
        ("lognormal", nl.LogNormal(0.5, 0.6)),
        ("gamma", nl.Gamma(3.0, 2.5)),
        ("tweedie", nl.Tweedie(2.0, 1.4, 0.8)),
    ],
)
def test_open_parameters_are_learned_as_a_fit_finds_them(noise, sampled, rng):
    y = sampled.sample(400, rng=rng)
    loss = NLLLoss(noise, "mean").double()
    eta = tensor(0.0 if noise != "laplace" else np.median(y), grad=noise != "laplace")  # L-BFGS is for smooth losses
    learned = [*loss.parameters(), *([eta] if eta.requires_grad else [])]
    optimiser = torch.optim.LBFGS(learned, max_iter=60, tolerance_grad=1e-8, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        value = loss(eta.expand(400), tensor(y))
        value.backward()
        return value

    optimiser.step(closure)
    fit = nl.fit(np.empty((400, 0)), y, noise=type(sampled)())
    assert float(closure().detach()) * 400 == pytest.approx(fit.nll, rel=1e-7)
    for name, value in fit.noise.parameters.items():
        if name in OPEN and name != fit.noise.location:
            assert float(loss.noise.parameters[name]) == pytest.approx(float(value), rel=2e-3)


def test_what_is_learned_is_a_parameter_and_what_is_stated_or_a_head_is_not():
    names = [name for name, _ in NLLLoss("tweedie").named_parameters()]
    assert names == ["logit_power", "log_dispersion"]
    assert [name for name, _ in NLLLoss("huber(delta=None)").named_parameters()] == ["log_scale", "log_delta"]
    assert not list(NLLLoss("gaussian(scale=2)").parameters())
    assert not list(NLLLoss("gaussian", heads="scale").parameters())
    assert NLLLoss("huber(delta=None)").noise.delta == pytest.approx(1.345)


def test_modules_are_copied_and_stored_with_what_they_learned():
    loss = NLLLoss("gamma")
    with torch.no_grad():
        loss.log_shape.fill_(1.0)
    other = NLLLoss("gamma")
    other.load_state_dict(loss.state_dict())
    for twin in (other, copy.deepcopy(loss)):
        assert twin.noise == loss.noise
    assert "Gamma(mean=None, shape=None), reduction='mean'" in repr(loss)


def test_a_network_with_a_second_head_learns_location_and_scale(rng):
    X = rng.uniform(-1, 1, (800, 1))
    y = X[:, 0] + np.exp(-1 + X[:, 0]) * rng.normal(size=800)
    model, loss = torch.nn.Linear(1, 2).double(), NLLLoss("gaussian", heads="scale")
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        eta, log_scale = model(tensor(X)).unbind(-1)
        value = loss(eta, tensor(y), log_scale=log_scale)
        value.backward()
        return value

    optimiser.step(closure)
    np.testing.assert_allclose(model.weight.detach().ravel(), [1, 1], atol=0.15)
    np.testing.assert_allclose(model.bias.detach(), [0, -1], atol=0.15)
    eta, log_scale = model(tensor(X)).unbind(-1)
    law = loss.distribution(eta, log_scale=log_scale)
    assert law.nll(y).mean() == pytest.approx(float(closure().detach()), rel=1e-10)
    assert np.mean(law.cdf(y) < 0.9) == pytest.approx(0.9, abs=0.04)


@each([*LINKED_NOISES, nl.Categorical()], "noise")
def test_distribution_is_the_law_of_the_noise(noise, rng):
    if noise._family() == "categorical":
        eta = rng.normal(size=(5, 3))
        assert NLLLoss(noise).distribution(tensor(eta)) == noise.given(eta)
        return
    eta = raw_predictions(noise)
    assert NLLLoss(noise).distribution(tensor(eta, grad=True)) == noise.given(eta)


# ---- precision, compilation, devices ---------------------------------------------------------------------------------


@each(LINKED_NOISES, "noise")
def test_single_precision_is_close_and_stays_single(noise, rng):
    y, eta = problem(noise, rng)
    nats = NLLLoss(noise, "none")(tensor(eta, dtype=torch.float32), tensor(y, dtype=torch.float32))
    assert nats.dtype == torch.float32
    single, labels = eta.astype(np.float32).astype(float), y.astype(np.float32).astype(float)
    if noise.parameters.get("power") == 1:
        labels = y
    sensitivity = np.abs(noise.derivatives(labels, single)[1]) * np.abs(single) + np.abs(labels) + 1
    expected = noise.derivatives(labels, single)[0]
    assert np.all(np.abs(nats.numpy() - expected) < 1e-5 * (np.abs(expected) + sensitivity))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("noise", ["gaussian(scale=1)", "poisson", "gamma", "tweedie", "bernoulli", "categorical"])
def test_under_autocast_the_loss_is_single_precision(noise, dtype):
    torch.manual_seed(0)
    loss, model = NLLLoss(noise), torch.nn.Linear(3, 4)
    X = torch.randn(6, 3)
    y = torch.tensor([1, 3, 2, 1, 2, 3]) if noise == "categorical" else torch.tensor([[1.0, 1.0, 1.0, 1.0]] * 6)
    with torch.autocast("cpu", dtype):
        eta = model(X)
        value = loss(eta, y)
    assert eta.dtype == dtype
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, loss(eta.float(), y))
    value.backward()
    assert torch.isfinite(model.weight.grad).all()


def test_a_half_precision_prediction_does_not_overflow_the_loss():
    nats = NLLLoss("poisson", "none")(torch.tensor([12.0], dtype=torch.float16), torch.tensor([170000]))
    np.testing.assert_allclose(nats, nl.Poisson().derivatives([170000.0], [12.0])[0], rtol=1e-4)


@pytest.mark.parametrize("noise", ["tweedie", "bernoulli(link='cloglog')"])
def test_the_loss_compiles_into_one_graph(noise):
    loss = NLLLoss(noise)
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    values = []
    for one in (loss, compiled):
        eta = torch.linspace(-1, 1, 5).requires_grad_()
        value = one(eta, torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0]), torch.ones(5))
        value.backward()
        values.append((value.detach(), eta.grad))
    torch.testing.assert_close(*values)
    torch.compiler.reset()


def test_compiled_a_label_outside_the_support_costs_infinity():
    compiled = torch.compile(NLLLoss("gamma(shape=2)", "none"), backend="aot_eager", fullgraph=True)
    eta = torch.zeros(3, requires_grad=True)
    nats = compiled(eta, torch.tensor([1.0, -1.0, math.nan]))
    first, outside, missing = nats.tolist()
    assert math.isfinite(first)
    assert outside == math.inf
    assert math.isnan(missing)
    nats[0].backward()
    assert torch.isfinite(eta.grad).all()
    torch.compiler.reset()


def test_no_tensor_is_made_on_another_device():
    for noise in ("gaussian", "huber", "poisson", "gamma", "tweedie", "tweedie(power=1.5)", "bernoulli", "lognormal"):
        loss = NLLLoss(noise, check=False).to("meta")
        eta = torch.zeros(4, device="meta", requires_grad=True)
        assert loss(eta, torch.ones(4, device="meta")).device.type == "meta"


def test_outside_the_domain_of_the_link_the_nll_is_infinite_and_passes_no_gradient():
    eta = tensor([-0.5, 0.5], grad=True)
    nats = NLLLoss("poisson(link='sqrt')", "none")(eta, tensor([1.0, 1.0]))
    assert nats[0] == math.inf
    nats.sum().backward()
    assert eta.grad[0] == 0
    np.testing.assert_allclose(eta.grad[1], nl.Poisson(link="sqrt").derivatives(1.0, 0.5)[1])
