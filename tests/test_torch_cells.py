"""NLLLoss of y in cells: the core's numbers with derivatives of both orders, for whatever noise has cells."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from families import TESTED
from laws.cases import NOISES, each
from laws.test_cells import LAWS, REACHED, quantile_cells

import neglog as nl

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'neglog[torch]'")

from neglog.torch import NLLLoss  # noqa: E402 - needs PyTorch

torch.set_num_threads(1)  # for a handful of rows threads cost more than they save
INF = math.inf
FIRST = [law for k, law in enumerate(LAWS) if type(law) in TESTED.values() and type(law) not in map(type, LAWS[:k])]


def tensor(values, grad=False, dtype=torch.float64):
    return torch.tensor(np.asarray(values), dtype=dtype, requires_grad=grad)


def mixed(law):
    """A cell that is open below, intervals, one that is open above, and values."""
    cells, values = quantile_cells(law), law.icdf(np.array([0.3, 0.8]))
    return nl.censored(np.append(cells.lower, values), np.append(cells.upper, values))


def few(law):
    """One of each kind."""
    return mixed(law)[[0, 3, -3, -1]]


def predicted(law, rows):
    """The law as a noise, and raw predictions that give it, a little apart."""
    noise = type(law)(**law.parameters | {law.location: None}, link=law.default_link)
    centre = float(noise.link.forward(getattr(law, f"_{law.location}")))
    return noise, centre + 0.05 * np.linspace(-1, 1, rows) * law.parameters.get(
        "scale" if noise.link.name == "identity" else "", 1
    )


def opened(noise):
    """The noise with all its parameters open, and what they were in the unconstrained forms that NLLLoss documents; the
    one that is the question stays stated.
    """
    raw = {}
    for own in noise.beside_location():
        if own.name == noise.traits.asks:
            continue
        value = noise.parameters[own.name]
        if own.within is not None:
            low, high = own.within
            raw[f"logit_{own.name}"] = math.log((value - low) / (high - value))
        else:
            raw["_".join(filter(None, (own.raw.name, own.name)))] = float(own.raw.raw(value))
    stated = {name: value for name, value in noise.parameters.items() if name == noise.traits.asks}
    return type(noise)(**dict.fromkeys(noise.parameters) | stated, link=noise.link.name), raw


def stands_alone(law):
    """Whether a parameter has a value about which nothing can be learned, as a power of 2, which is Gamma noise."""
    bounded = [(law.parameters[own.name], *own.within) for own in law.beside_location() if own.within]
    return any(not low < value < high for value, low, high in bounded)


def names(noise):
    return [own.name for own in noise.beside_location() if own.name != noise.traits.asks]


# ---- the same numbers as NumPy's -------------------------------------------------------------------------------------


@each(REACHED)
def test_the_loss_is_the_nll_of_the_law(law):
    y = mixed(law)
    noise, eta = predicted(law, len(y))
    raw, loss = tensor(eta, grad=True), NLLLoss(noise, "none")
    nats = loss(raw, tensor(y.lower), upper=tensor(y.upper))
    np.testing.assert_allclose(nats.detach(), noise.given(eta).nll(y), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(loss(raw, y), nats, rtol=0, atol=0)
    (gradient,) = torch.autograd.grad(nats.sum(), raw, create_graph=True)
    (hessian,) = torch.autograd.grad(gradient.sum(), raw)
    _, slopes, bends = noise.joint(y, eta, curvature=True)
    np.testing.assert_allclose(gradient.detach(), slopes[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(hessian, bends[0], rtol=1e-12, atol=1e-12)


@each([law for law in REACHED if not stands_alone(law)])
def test_autograd_agrees_with_differences_twice(law):
    """In the prediction and in every parameter, all of them heads."""
    y = few(law)
    noise, eta = predicted(law, len(y))
    loose, raw = opened(noise)
    loss = NLLLoss(loose, "none", heads=names(noise))

    def nats(eta, *heads):
        return loss(eta, y, **dict(zip(raw, heads, strict=True)))

    inputs = (tensor(eta, grad=True), *(tensor(np.full(len(y), value), grad=True) for value in raw.values()))
    np.testing.assert_allclose(nats(*inputs).detach(), noise.given(eta).nll(y), rtol=1e-10, atol=1e-10)
    assert torch.autograd.gradcheck(nats, inputs, atol=1e-5, rtol=1e-5, fast_mode=True)
    assert torch.autograd.gradgradcheck(nats, inputs, atol=1e-4, rtol=1e-4, fast_mode=True)


@each([law for law in FIRST if law.beside_location()])
def test_slopes_in_learned_parameters_are_differences_of_the_nll(law):
    y = few(law)
    noise, eta = predicted(law, len(y))
    loose, raw = opened(noise)
    loss = NLLLoss(loose, "sum").double()
    with torch.no_grad():
        for name, value in raw.items():
            getattr(loss, name).fill_(value)
    loss(tensor(eta), y).backward()
    for name, value in raw.items():
        own, ends = getattr(loss, name), []
        for step in (1e-5, -1e-5):
            own.data.fill_(value + step)
            ends.append(float(np.sum(loss.noise.given(eta).nll(y))))
        own.data.fill_(value)
        assert float(own.grad) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-5)


@each([law for law in REACHED if law.support.high == INF])
def test_far_out_the_nll_is_finite_and_its_slope_right(law):
    middle, upper = law.icdf(0.5), law.icdf(0.8413)
    far = middle + 40 * (upper - middle or 1.0)
    noise, eta = predicted(law, 1)
    raw, y = tensor(eta, grad=True), nl.censored([far], [INF])
    nats = NLLLoss(noise, "sum")(raw, y)
    nats.backward()
    assert torch.isfinite(nats)
    slope = float(noise.joint(y, eta)[1][0, 0])
    step = min(1e-4, 1e-4 * nats.item() / abs(slope))
    up, down = (float(noise.given(eta + h).nll(y)[0]) for h in (step, -step))
    assert raw.grad.item() == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_forty_standard_deviations_away(dtype):
    """-log of Phi(-40), and the slope, from the asymptotic series of Mills' ratio."""
    eta = torch.zeros(2, dtype=dtype, requires_grad=True)
    nats = NLLLoss("gaussian(scale=1)", "none")(eta, tensor([40.0, -INF]), upper=tensor([INF, -40.0]))
    nats.sum().backward()
    assert nats.dtype == dtype
    series = sum((-1) ** k * math.prod(range(1, 2 * k, 2)) / 40.0 ** (2 * k) for k in range(8))
    rtol = 1e-12 if dtype == torch.float64 else 1e-6
    np.testing.assert_allclose(
        nats.detach(), 800 + 0.5 * math.log(2 * math.pi) + math.log(40) - math.log(series), rtol=rtol
    )
    np.testing.assert_allclose(eta.grad, np.array([-1, 1]) * 40 / series, rtol=rtol)


def test_a_probability_that_rounds_to_one_keeps_its_logit():
    loss = NLLLoss("zeroinflated(poisson)", "none", heads="p")
    logit_p = tensor([50.0], grad=True)
    nats = loss(tensor([0.0]), tensor([1.0]), upper=tensor([INF]), logit_p=logit_p)
    nats.sum().backward()
    assert nats.item() == pytest.approx(50 - math.log(-math.expm1(-1)), rel=1e-12)
    assert float(logit_p.grad) == pytest.approx(1)


# ---- reductions, weights, training -----------------------------------------------------------------------------------


def test_weights_and_reductions_are_those_of_values():
    eta, y = tensor([0.1, 0.5, -0.2, 0.3]), nl.censored([1, 0, 2, 3], [1, 4, INF, 3])
    weight = torch.tensor([1, 2, 0, 1])
    rows = np.repeat(np.arange(4), weight.numpy())
    for reduction in ("mean", "sum"):
        loss = NLLLoss("poisson", reduction)
        torch.testing.assert_close(loss(eta, y, weight), loss(eta[rows], y[rows]))
    each_row = NLLLoss("poisson", "none")
    torch.testing.assert_close(each_row(eta, y, weight), weight * each_row(eta, y))
    assert NLLLoss("poisson", "sum")(eta[:0], y[:0]) == 0


def test_a_row_of_weight_zero_may_have_any_ends():
    eta, weight = tensor([0.3, 0.4, 0.5, 0.6], grad=True), tensor([1.0, 0.0, 0.0, 0.0])
    loss = NLLLoss("gamma").double()
    nats = loss(eta, tensor([2.0, math.nan, 3.0, -2.0]), weight, upper=tensor([INF, 1.0, 1.0, -1.0]))
    nats.backward()
    assert nats.item() == pytest.approx(float(loss.noise.given(0.3).nll(nl.censored(2.0, INF))))
    assert eta.grad[0] != 0
    assert (eta.grad[1:] == 0).all()
    assert torch.isfinite(loss.log_shape.grad)


@pytest.mark.parametrize("noise", ["poisson", "gamma(shape=2)", "studentt(scale=1, df=4)", "logit(gaussian(scale=1))"])
def test_a_prediction_that_is_no_number_stays_none(noise):
    eta = tensor([math.nan, 0.1], grad=True)
    nats = NLLLoss(noise, "none")(eta, tensor([0.5, 0.5]), upper=tensor([INF, INF]))
    nats.sum().backward()
    assert torch.isnan(nats).tolist() == torch.isnan(eta.grad).tolist() == [True, False]


def test_ends_of_arrays_that_must_not_be_written_to():
    ends = np.array([1.0, 2.0])
    ends.flags.writeable = False
    nats = NLLLoss("weibull(shape=1)", "none")(torch.zeros(2), nl.censored(ends, INF))
    np.testing.assert_allclose(nats, ends)


def test_any_shape_and_counts_as_integers():
    y, upper = torch.tensor([[0, 1, 2], [3, 4, 5]]), torch.tensor([[0, 4, INF], [3, 4, 9]])
    nats = NLLLoss("poisson", "none")(torch.ones(2, 3), y, upper=upper)
    expected = nl.Poisson().given(1.0).nll(nl.censored(y.numpy(), upper.numpy()))
    np.testing.assert_allclose(nats, expected, rtol=1e-6)
    back = NLLLoss("poisson", "none")(torch.ones(2, 3), y.float(), upper=torch.full_like(y, 9))
    np.testing.assert_allclose(back, nl.Poisson().given(1.0).nll(nl.censored(y.numpy(), 9.0)), rtol=1e-6)
    assert NLLLoss("poisson", "none")(torch.tensor(1.0), y[0, 1], upper=upper[0, 1]).shape == ()


def test_censored_durations_are_learned_as_a_fit_finds_them(rng):
    X = rng.normal(size=(300, 2))
    life = nl.Weibull(shape=1.7).given(1.0 + X @ [0.5, -0.3]).sample(rng=rng)
    end = rng.uniform(1, 6, size=300)
    y = nl.censored(np.minimum(life, end), event=life <= end)
    model, loss = torch.nn.Linear(2, 1).double(), NLLLoss("weibull").double()
    learned = [*model.parameters(), *loss.parameters()]
    options = {"max_iter": 200, "tolerance_grad": 1e-10, "tolerance_change": 1e-14}
    optimiser = torch.optim.LBFGS(learned, line_search_fn="strong_wolfe", **options)

    def closure():
        optimiser.zero_grad()
        value = loss(model(tensor(X)).squeeze(-1), tensor(y.lower), upper=tensor(y.upper))
        value.backward()
        return value

    optimiser.step(closure)
    fit = nl.fit(X, y, nl.Weibull(), tol=1e-10)
    assert float(closure().detach()) * 300 == pytest.approx(fit.nll, rel=1e-10)
    np.testing.assert_allclose(model.weight.detach().ravel(), fit.coef, atol=1e-6)
    assert model.bias.item() == pytest.approx(fit.intercept, abs=1e-6)
    assert loss.noise.shape == pytest.approx(fit.noise.shape, abs=1e-6)


def test_the_example_of_the_guide_runs():
    text = (Path(__file__).parents[1] / "docs" / "guides" / "censored.md").read_text(encoding="utf-8")
    data, fit, *_ = re.findall(r"```{code-cell} ipython3\n(.*?)```", text, re.S)
    (network,) = re.findall(r"```python\n(.*?)```", text, re.S)
    named: dict = {}
    for block in (data, fit, network):
        exec(block, named)
    np.testing.assert_allclose(named["layer"].weight.detach()[0], named["fit"].coef, atol=1e-4)
    np.testing.assert_allclose(named["loss"].noise.shape, named["fit"].noise.shape, atol=1e-4)


# ---- precision, compilation, devices ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast_the_loss_is_single_precision(dtype):
    torch.manual_seed(0)
    loss, model = NLLLoss("weibull"), torch.nn.Linear(3, 1)
    with torch.autocast("cpu", dtype):
        eta = model(torch.randn(6, 3)).squeeze(-1)
        value = loss(eta, torch.ones(6), upper=torch.full((6,), INF))
    assert eta.dtype == dtype
    assert value.dtype == torch.float32
    value.backward()
    assert torch.isfinite(model.weight.grad).all()


@pytest.mark.parametrize("noise", ["weibull", "zeroinflated(negativebinomial(power=None))", "logit(studentt)"])
def test_the_loss_compiles_into_one_graph(noise):
    loss, lower, upper = NLLLoss(noise), torch.tensor([0.0, 0.5, 0.2, 0.0]), torch.tensor([1.0, 1.0, 2.0, INF])
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    values = []
    for one in (loss, compiled):
        eta = torch.linspace(-1, 1, 4).requires_grad_()
        loss.zero_grad()
        value = one(eta, lower, torch.ones(4), upper=upper)
        value.backward()
        values.append((value.detach(), eta.grad, *(own.grad for own in loss.parameters())))
    torch.testing.assert_close(*values)
    assert compiled(eta, nl.censored(lower, upper)) == value
    torch.compiler.reset()


def test_counts_compile_as_values_too():
    compiled = torch.compile(NLLLoss("poisson"), backend="aot_eager", fullgraph=True)
    eta, y = torch.zeros(3), torch.tensor([0.0, 1.0, 2.0])
    torch.testing.assert_close(compiled(eta, y), NLLLoss("poisson")(eta, y))
    torch.compiler.reset()


def test_compiled_cells_of_no_probability_cost_infinity():
    compiled = torch.compile(NLLLoss("gamma(shape=2)", "none"), backend="aot_eager", fullgraph=True)
    eta = torch.zeros(4, requires_grad=True)
    nats = compiled(eta, torch.tensor([1.0, -2.0, math.nan, 3.0]), upper=torch.tensor([2.0, -1.0, 1.0, 2.0]))
    first, outside, missing, upside_down = nats.tolist()
    assert math.isfinite(first)
    assert outside == upside_down == INF
    assert math.isnan(missing)
    nats[0].backward()
    assert torch.isfinite(eta.grad).all()
    torch.compiler.reset()


def test_the_operators_are_what_pytorch_asks_of_them():
    from neglog.torch import cells

    ends, variables = (tensor([1.0, 2.0, 3.0]), tensor([2.0, INF, 3.0])), tensor(np.zeros((2, 3)), grad=True)
    torch.library.opcheck(cells.joint, ("weibull", *ends, variables))
    torch.library.opcheck(cells.curvatures, ("weibull", *ends, variables.detach()))


def test_no_tensor_is_made_on_another_device():
    loss = NLLLoss("gamma", check=False).to("meta")
    eta = torch.zeros(4, device="meta", requires_grad=True)
    for y, upper in ((torch.ones(4, device="meta"), torch.ones(4, device="meta")), (nl.censored([1.0] * 4, INF), None)):
        value = loss(eta, y, upper=upper)
        assert value.device.type == "meta"
        value.backward()


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "lower", "upper", "message"),
    [
        (
            "gaussian(scale=1)",
            [1.0, math.nan, 3.0, 4.0],
            [1.0, 2.0, 2.0, INF],
            r"lower end of a cell must not be above the upper one, but 2 of 4 cells have such ends \(1 of them NaN\); "
            r"the first is \[nan, 2\] at index 1. Correct them, leave those rows out or give them weight 0",
        ),
        ("gamma(shape=1)", [1.0, 0.0, 0.0], [2.0, 0.0, 3.0], "> 0 and finite under Gamma.* 1 of 3 .* 0.0 at index 1"),
        ("gaussian(scale=1)", [1.0, INF], [1.0, INF], "1 of 2 labels are not; the first is inf at index 1"),
        (
            "poisson",
            [0.2, 0.0, -3.0],
            [0.8, 0.5, -1.0],
            r"cells must hold a y that is a count 0, 1, 2, … under Poisson.* 2 of 3 hold none; the first is "
            r"\[0.2, 0.8\] at index 0. Widen or correct them, leave those rows out or give them weight 0",
        ),
        ("gamma(shape=1)", [-1.0, -1.0], [0.0, 0.1], r"1 of 2 hold none; the first is \[-1, 0\] at index 0"),
    ],
)
def test_ends_that_cannot_be_are_counted(noise, lower, upper, message):
    loss = NLLLoss(noise)
    for ask in (loss.check_labels, lambda y, upper: loss(torch.zeros_like(y), y, upper=upper)):
        with pytest.raises(ValueError, match=message):
            ask(tensor(lower), upper=tensor(upper))
    quiet = NLLLoss(noise, "none", check=False)(tensor(np.zeros(len(lower))), tensor(lower), upper=tensor(upper))
    assert not torch.isfinite(quiet).all()


def test_labels_are_checked_as_cells_too():
    loss = NLLLoss("hurdle(gamma)")
    loss.check_labels(nl.censored([0.0, 1.0], [0.0, INF]))
    loss.check_labels(torch.zeros(2), upper=torch.tensor([0.0, 5.0]))
    with pytest.raises(ValueError, match="1 of 2 hold none"):
        loss.check_labels(nl.censored([-2.0, 1.0], [-1.0, INF]))


@each([law for law in NOISES if law not in LAWS])
def test_a_noise_without_cells_says_so(law):
    loss = NLLLoss(type(law)(**law.parameters | {law.location: None}, **law.extras))
    y = nl.censored([0.0, 1.0], [0.0, 1.0])
    wanted = "holds classes" if law.labelled else "has no probabilities of cells"
    for ask in (loss.check_labels, lambda y: loss(torch.zeros(2), y)):
        with pytest.raises(ValueError, match=wanted):
            ask(y)


def test_wrong_arguments_are_named():
    loss, eta = NLLLoss("gamma"), torch.zeros(3)
    ones = torch.ones(3)
    with pytest.raises(ValueError, match="takes cells with the link 'log' only, but has 'inverse'"):
        NLLLoss("gamma(link='inverse')")(eta, ones, upper=ones)
    with pytest.raises(TypeError, match="upper must be a tensor, but is a float"):
        loss(eta, ones, upper=INF)
    with pytest.raises(ValueError, match=r"upper must have the shape of y, \(3,\), but has \(3, 1\)"):
        loss(eta, ones, upper=ones[:, None])
    with pytest.raises(ValueError, match="upper must have the shape of y"):
        loss.check_labels(ones, upper=ones[:1])
    with pytest.raises(ValueError, match=r"eta has the shape \(3,\) and y the shape \(2,\)"):
        loss(eta, nl.censored([1.0, 2.0], INF))
    with pytest.raises(TypeError, match=r"upper must hold real numbers under .*torch\.int64"):
        loss(eta, ones, upper=ones.long())
    with pytest.raises(TypeError, match=r"types torch\.float32 and torch\.float64.*the same type"):
        loss(eta, ones, upper=ones.double())
    with pytest.raises(TypeError, match="y has the upper ends of its cells already"):
        loss(eta, nl.censored(np.ones(3), INF), upper=ones)
    with pytest.raises(TypeError, match=r"pass no gradient.*detach\(\)"):
        loss(eta, ones.clone().requires_grad_(), upper=ones)
    with pytest.raises(TypeError, match="eta must be a tensor, but is a list"):
        loss([0.0], nl.censored([1.0], [2.0]))
    with pytest.raises(TypeError, match="y must be a tensor, but is a NamedCells"):
        loss(eta, nl.censored("low", "high"))
