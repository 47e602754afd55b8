"""Priors of weights, mini-batches and weight decay; entropy, cross-entropy and divergence of tensors."""

import numpy as np
import pytest

import neglog as nl

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'neglog[torch]'")

from neglog.torch import (  # noqa: E402 - needs PyTorch
    NLLLoss,
    cross_entropy,
    entropy,
    kl_divergence,
    log_prior,
    map_objective,
    penalty,
    weight_decay,
    weights,
)

torch.set_num_threads(1)  # for a handful of rows threads cost more than they save
N, TAU = 60, 0.3


def tensor(values):
    return torch.tensor(np.asarray(values), dtype=torch.float64)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(N, 3))
    return X, 0.5 + X @ [1.0, -0.7, 0.2] + 0.8 * rng.normal(size=N)


@pytest.fixture
def layer():
    torch.manual_seed(3)
    return torch.nn.Linear(3, 1).double()


def predicted(layer, X):
    return layer(tensor(X)).squeeze(-1)


def full_gradient(layer, rows, loss):
    layer.zero_grad()
    loss(predicted(layer, rows[0]), tensor(rows[1])).backward()
    return layer.weight.grad.clone()


# ---- the prior of a module -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior",
    [
        nl.Gaussian(scale=0.7),
        nl.Gaussian(0.2, 0.7),
        nl.Laplace(scale=0.4),
        nl.Gaussian(scale=0.7) * nl.Laplace(scale=0.4),
        nl.Flat(),
    ],
    ids=repr,
)
def test_penalty_and_log_prior_are_those_of_the_distribution(prior):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3), torch.nn.Linear(3, 2)).double()
    theta = np.concatenate([module[k].weight.detach().numpy().ravel() for k in (0, 2)])
    assert penalty(module, prior).item() == pytest.approx(prior.penalty(theta), rel=1e-12)
    assert log_prior(module, prior).item() == pytest.approx(np.sum(prior.nll(theta)), rel=1e-12)
    everything = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])
    assert log_prior(module, prior, lambda name, _: True).item() == pytest.approx(np.sum(prior.nll(everything)))
    assert penalty(module, prior, lambda name, _: name == "2.weight").item() == pytest.approx(
        prior.penalty(module[2].weight.detach().numpy())
    )


def test_a_prior_may_be_text_and_frozen_weights_do_not_count():
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    assert penalty(module, "gaussian(scale=2)") == penalty(module, nl.Gaussian(scale=2.0))
    module[0].weight.requires_grad_(False)
    expected = nl.Laplace(scale=2.0).penalty(module[1].weight.detach().numpy())
    assert penalty(module, "laplace(scale=2)").item() == pytest.approx(float(expected), rel=1e-6)
    assert weights("weight", module[0].weight)
    assert not weights("bias", module[0].bias)


def test_what_cannot_be_a_prior_of_weights_is_refused():
    module = torch.nn.Linear(2, 1)
    with pytest.raises(TypeError, match=r"must be Gaussian, Laplace, a product of them, or Flat, but is Beta"):
        penalty(module, nl.Beta(2, 2))
    with pytest.raises(ValueError, match="scale is unknown"):
        log_prior(module, nl.Gaussian())
    with pytest.raises(ValueError, match="one loc and one scale for all weights"):
        penalty(module, nl.Gaussian(scale=[1.0, 2.0]))
    with pytest.raises(ValueError, match=r"no parameter of ReLU is counted by the prior; it has: none"):
        penalty(torch.nn.ReLU(), nl.Gaussian(scale=1.0))
    with pytest.raises(ValueError, match="infinite scale"):
        log_prior(module, nl.Gaussian(scale=np.inf))
    with pytest.raises(ValueError, match=r"loss_sum must be one number.*\(3,\)"):
        map_objective(torch.zeros(3), 3, 3, torch.zeros(()))
    with pytest.raises(ValueError, match="batch_size is 5 and n is 3"):
        map_objective(torch.zeros(()), 3, 5, torch.zeros(()))


# ---- mini-batches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [nl.Gaussian(scale=TAU), nl.Gaussian(scale=TAU) * nl.Laplace(scale=0.5)], ids=repr)
def test_batches_of_any_size_average_to_the_whole_objective(rows, layer, prior):
    X, y = rows
    loss = NLLLoss("gaussian(scale=0.8)", "sum")
    whole = loss(predicted(layer, X), tensor(y)) + penalty(layer, prior)
    batches = [slice(0, 20), slice(20, 50), slice(50, 60)]
    parts = [
        map_objective(loss(predicted(layer, X[b]), tensor(y[b])), N, len(y[b]), penalty(layer, prior)) for b in batches
    ]
    share = [len(y[b]) / N for b in batches]
    assert sum(s * p for s, p in zip(share, parts, strict=True)).item() == pytest.approx(whole.item(), rel=1e-12)


def test_sgd_on_mini_batches_reaches_the_map_of_a_fit(rows, layer):
    X, y = rows
    prior, loss = nl.Gaussian(scale=TAU), NLLLoss("gaussian(scale=0.8)", "sum")
    fit = nl.fit(X, y, nl.Gaussian(scale=0.8), prior)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.15)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epoch: 1 / (1 + 0.1 * epoch))
    order, average, kept = np.random.default_rng(0), torch.zeros(4, dtype=torch.float64), 0
    for epoch in range(300):
        for batch in np.array_split(order.permutation(N), 4):
            optimiser.zero_grad()
            total = loss(predicted(layer, X[batch]), tensor(y[batch]))
            (map_objective(total, N, len(batch), penalty(layer, prior)) / N).backward()
            optimiser.step()
        schedule.step()
        if epoch >= 150:  # the average of the last half: what is left of the noise of the batches cancels
            average += torch.cat([layer.weight.detach().ravel(), layer.bias.detach()])
            kept += 1
    np.testing.assert_allclose(average[:3] / kept, fit.coef, atol=2e-3)
    np.testing.assert_allclose(average[3] / kept, fit.intercept, atol=2e-3)
    mle = nl.fit(X, y, nl.Gaussian(scale=0.8)).coef
    assert np.abs(mle - fit.coef).max() > 0.05  # so that the prior was seen


# ---- weight decay ----------------------------------------------------------------------------------------------------


def groups(layer, decay):
    return [
        {"params": [layer.weight], "weight_decay": decay},
        {"params": [layer.bias], "weight_decay": 0.0},
    ]


@pytest.mark.parametrize("optimiser", ["SGD", "SGD with momentum", "Adam"])
def test_weight_decay_of_the_mean_loss_is_a_gaussian_prior(rows, layer, optimiser):
    decay = weight_decay(nl.Gaussian(scale=TAU), N)
    assert decay == pytest.approx(1 / (N * TAU**2))
    made = {
        "SGD": lambda p: torch.optim.SGD(p, lr=0.2),
        "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
        "Adam": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.99)),
    }[optimiser](groups(layer, decay))
    loss = NLLLoss("gaussian(scale=0.8)")
    schedule = torch.optim.lr_scheduler.ExponentialLR(made, 0.99 if optimiser == "Adam" else 1.0)
    for step in range(1500):
        full_gradient(layer, rows, loss)
        made.step()
        if step > 500:  # Adam circles the minimum at the distance of a step
            schedule.step()
    fit = nl.fit(*rows, nl.Gaussian(scale=0.8), nl.Gaussian(scale=TAU))
    np.testing.assert_allclose(layer.weight.detach().ravel(), fit.coef, atol=1e-6)


def test_weight_decay_beside_mse_needs_the_noise_scale(rows, layer):
    sigma = 0.8
    optimiser = torch.optim.SGD(groups(layer, 2 * sigma**2 * weight_decay(nl.Gaussian(scale=TAU), N)), lr=0.1)
    for _ in range(1500):
        full_gradient(layer, rows, torch.nn.MSELoss())
        optimiser.step()
    fit = nl.fit(*rows, nl.Gaussian(scale=sigma), nl.Gaussian(scale=TAU))
    np.testing.assert_allclose(layer.weight.detach().ravel(), fit.coef, atol=1e-6)


def test_adamw_with_full_batches_forgets_its_decay(rows, layer):
    """Its steps are measured in gradients, which vanish at the optimum; a step of the decay is not, and oscillates."""
    optimiser = torch.optim.AdamW(groups(layer, weight_decay(nl.Gaussian(scale=TAU), N)), lr=0.02, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.995)
    loss = NLLLoss("gaussian(scale=0.8)")
    for _ in range(1500):
        full_gradient(layer, rows, loss)
        optimiser.step()
        schedule.step()
    mle, posterior = (
        nl.fit(*rows, nl.Gaussian(scale=0.8), prior).coef for prior in (nl.Flat(), nl.Gaussian(scale=TAU))
    )
    np.testing.assert_allclose(layer.weight.detach().ravel(), mle, atol=2e-3)
    assert np.abs(mle - posterior).max() > 0.05


def test_adamw_rests_at_the_map_of_a_prior_that_its_gradients_choose(rows, layer):
    decay, eps = 0.15, 0.4
    optimiser = torch.optim.AdamW(groups(layer, decay), lr=0.05, betas=(0.9, 0.99), eps=eps)
    loss = NLLLoss("gaussian(scale=0.8)")
    for _ in range(3000):
        full_gradient(layer, rows, loss)
        optimiser.step()
    v = optimiser.state[layer.weight]["exp_avg_sq"]  # its correction for the start has long become 1
    scale = 1 / np.sqrt(N * decay * (np.sqrt(v.numpy().ravel()) + eps))
    fit = nl.fit(*rows, nl.Gaussian(scale=0.8), nl.Gaussian(scale=scale))
    np.testing.assert_allclose(layer.weight.detach().ravel(), fit.coef, atol=1e-5)
    assert np.ptp(scale) > 0.01 * scale.min()  # another one for each weight


def test_only_a_gaussian_around_zero_is_weight_decay():
    assert weight_decay(nl.Flat(), 10) == 0
    for prior in (nl.Laplace(scale=1.0), nl.Gaussian(1.0, 1.0), nl.Gaussian(scale=1.0) * nl.Laplace(scale=1.0)):
        with pytest.raises(TypeError, match="weight decay is a Gaussian prior around 0"):
            weight_decay(prior, 10)


# ---- information -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [None, 2, 10])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_the_same_as_for_arrays(base, axis, rng):
    p, q = (rng.gamma(0.7, size=(4, 5, 6)) for _ in range(2))
    p, q = (x / x.sum(axis=axis, keepdims=True) for x in (p, q))
    options = {"base": base, "axis": axis}
    np.testing.assert_allclose(entropy(tensor(p), **options), nl.entropy(p, **options), rtol=1e-12)
    np.testing.assert_allclose(kl_divergence(tensor(p), tensor(q), **options), nl.kl_divergence(p, q, **options))
    np.testing.assert_allclose(cross_entropy(tensor(p), tensor(q), **options), nl.cross_entropy(p, q, **options))
    options["normalize"] = True
    np.testing.assert_allclose(
        kl_divergence(tensor(3 * p), tensor(q * 7), **options), nl.kl_divergence(p, q, **options), rtol=1e-10
    )


def test_divergence_is_that_of_pytorch_when_told_to_add_up(rng):
    p, q = tensor(rng.dirichlet(np.ones(5), 8)), tensor(rng.dirichlet(np.ones(5), 8))
    theirs = torch.nn.functional.kl_div(q.log(), p, reduction="none").sum(-1)
    torch.testing.assert_close(kl_divergence(p, q), theirs)
    mean = torch.nn.functional.kl_div(q.log(), p, reduction="batchmean")
    torch.testing.assert_close(kl_divergence(p, q).mean(), mean)


def test_zeros_follow_their_limits_with_finite_gradients():
    one, half = tensor([1.0, 0.0]), tensor([0.5, 0.5])
    assert entropy(one) == 0
    assert kl_divergence(half, one) == np.inf
    assert cross_entropy(half, one) == np.inf
    assert kl_divergence(one, one) == 0
    p, q = one.clone().requires_grad_(), half.clone().requires_grad_()
    (kl_divergence(p, q) + cross_entropy(p, q) + entropy(p)).backward()
    assert torch.isfinite(p.grad).all()
    assert torch.isfinite(q.grad).all()


def test_gradients_and_precision(rng):
    logits = tensor(rng.normal(size=(3, 4))).requires_grad_()
    p = tensor(rng.dirichlet(np.ones(4), 3))
    for function in (lambda x: kl_divergence(p, x.softmax(-1)), lambda x: entropy(x.softmax(-1))):
        assert torch.autograd.gradcheck(function, (logits,))
        assert torch.autograd.gradgradcheck(function, (logits,))
    shift = 1e-9 * np.array([1.0, 1.0, -2.0])
    near = np.array([0.2, 0.3, 0.5])
    exact = np.sum(shift**2 / near) / 2
    assert kl_divergence(tensor(near), tensor(near + shift)).item() == pytest.approx(exact, rel=1e-6)
    assert entropy(torch.full((4,), 0.25)).dtype == torch.float32
    assert entropy(torch.full((4,), 0.25, dtype=torch.bfloat16)).dtype == torch.float32


def test_bad_probabilities_are_refused_with_place_and_sum():
    with pytest.raises(ValueError, match=r"p must sum to 1, but it sums to 0.9; pass normalize=True"):
        entropy(tensor([0.5, 0.4]))
    with pytest.raises(ValueError, match=r"q must sum to 1, but 1 of 2 rows do not; the first sums to 1.5 at index 1"):
        kl_divergence(tensor([0.5, 0.5]), tensor([[0.5, 0.5], [1.0, 0.5]]))
    with pytest.raises(ValueError, match=r"1 of 2 are negative or NaN; the first is -0.5 at index 1"):
        entropy(tensor([1.5, -0.5]))
    with pytest.raises(ValueError, match="positive sum to be normalised, but it sums to 0"):
        entropy(tensor([0.0, 0.0]), normalize=True)
    with pytest.raises(ValueError, match="same classes, but have 2 and 3"):
        kl_divergence(tensor([0.5, 0.5]), tensor([0.2, 0.3, 0.5]))
    with pytest.raises(ValueError, match="not the single number"):
        entropy(tensor(0.5))
    with pytest.raises(TypeError, match="must be a tensor, but is a list"):
        entropy([0.5, 0.5])
    with pytest.raises(TypeError, match="axis must be one integer"):
        entropy(tensor([0.5, 0.5]), axis=(0,))
    with pytest.raises(ValueError, match="base must be positive"):
        entropy(tensor([0.5, 0.5]), base=1)
