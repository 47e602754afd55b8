"""What NLLLoss refuses: labels outside the support, NaN, types and shapes that mean something else."""

import math

import numpy as np
import pytest

import neglog as nl

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'neglog[torch]'")

from neglog.torch import NLLLoss  # noqa: E402 - needs PyTorch


def tensor(values):
    return torch.tensor(np.asarray(values), dtype=torch.float64)


@pytest.mark.parametrize(
    ("noise", "y", "message"),
    [
        (
            "gaussian(scale=1)",
            [1.0, math.nan, math.nan, math.inf],
            r"3 of 4 labels are not \(2 of them NaN\); .* nan at",
        ),
        ("poisson", [1.0, -1.0, 2.5, 3.0], "a count 0, 1, 2, … under Poisson.* 2 of 4 .* the first is -1.0 at index 1"),
        ("gamma(shape=1)", [1.0, 2.0, 0.0, 3.0], "> 0 and finite under Gamma.* 1 of 4 .* the first is 0.0 at index 2"),
        ("lognormal(scale=1)", [-1.0, 2.0, 0.0, 3.0], "2 of 4 labels"),
        ("bernoulli", [0.0, 1.0, 2.0, -0.1], "0 or 1, or a share between them"),
        ("tweedie(power=1.5)", [0.0, -1.0, 2.0, 3.0], "≥ 0 under Tweedie.* 1 of 4"),
        ("tweedie(power=3)", [0.0, 1.0, 2.0, 3.0], "> 0 and finite under Tweedie"),
        ("tweedie(power=1, dispersion=0.1)", [0.1, 0.3, 0.25, 0.7], "0, φ, 2φ, … under .* 1 of 4 .* first is 0.25"),
    ],
)
def test_labels_outside_the_support_are_counted(noise, y, message):
    loss = NLLLoss(noise)
    with pytest.raises(ValueError, match=message):
        loss(tensor(np.zeros(4)), tensor(y))
    with pytest.raises(ValueError, match=message):
        loss.check_labels(tensor(y))


def test_classes_outside_the_range_are_counted():
    loss = NLLLoss("categorical")
    with pytest.raises(
        ValueError, match=r"a class from 0 to 2 under .* 2 of 4 labels are not; the first is 3 at index 1"
    ):
        loss(torch.zeros(4, 3), torch.tensor([0, 3, -1, 2]))
    with pytest.raises(ValueError, match="2 of 4 labels"):
        loss.check_labels(torch.tensor([0, 3, -1, 2]), classes=3)
    with pytest.raises(TypeError, match="needs the number of classes"):
        loss.check_labels(torch.tensor([0]))


def test_integers_are_refused_where_real_numbers_are_meant_and_the_reverse():
    for noise in ("gaussian", "laplace", "huber", "gamma", "lognormal", "tweedie"):
        with pytest.raises(TypeError, match=r"must hold real numbers under .*torch\.int64.*use y\.float\(\)"):
            NLLLoss(noise)(torch.zeros(3), torch.tensor([1, 2, 3]))
    with pytest.raises(TypeError, match=r"class numbers .* torch\.float32; use y\.long\(\)"):
        NLLLoss("categorical")(torch.zeros(3, 2), torch.zeros(3))
    for noise in ("poisson", "bernoulli"):
        loss = NLLLoss(noise)
        torch.testing.assert_close(
            loss(torch.zeros(2), torch.tensor([0, 1])), loss(torch.zeros(2), torch.tensor([0.0, 1.0]))
        )


def test_shapes_that_would_broadcast_are_refused():
    loss = NLLLoss("gaussian(scale=1)")
    with pytest.raises(
        ValueError, match=r"\(8, 1\) and y the shape \(8,\): they would broadcast.*use eta\.squeeze\(-1\)"
    ):
        loss(torch.zeros(8, 1), torch.zeros(8))
    with pytest.raises(ValueError, match=r"use y\.squeeze\(-1\)"):
        loss(torch.zeros(8), torch.zeros(8, 1))
    with pytest.raises(ValueError, match="must be equal"):
        loss(torch.zeros(8), torch.zeros(7))
    with pytest.raises(ValueError, match=r"weight must have the shape of y, \(8,\), but has \(8, 1\)"):
        loss(torch.zeros(8), torch.zeros(8), torch.ones(8, 1))
    with pytest.raises(ValueError, match="log_scale must have the shape of y"):
        NLLLoss("gaussian", heads="scale")(torch.zeros(8), torch.zeros(8), log_scale=torch.zeros(8, 1))
    with pytest.raises(ValueError, match=r"movedim\(1, -1\)"):
        NLLLoss("categorical")(torch.zeros(2, 5, 3), torch.zeros(2, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"argmax\(-1\)"):
        NLLLoss("categorical")(torch.zeros(2, 5), torch.zeros(2, 5, dtype=torch.long))


@pytest.mark.parametrize(
    ("weight", "message"),
    [([1.0, -1.0], "1 of 2 are not; the first is -1.0 at index 1"), ([0.0, 0.0], "all 2 weights are 0")],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        NLLLoss("poisson")(torch.zeros(2), torch.ones(2), torch.tensor(weight))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="reduction must be one of 'mean', 'sum', 'none', but is 'avg'"):
        NLLLoss("poisson", "avg")
    with pytest.raises(ValueError, match="noise must be one of"):
        NLLLoss("flat")
    with pytest.raises(ValueError, match=r"leaves open \(none\), but names 'scale'"):
        NLLLoss("gaussian(scale=1)", heads="scale")
    with pytest.raises(TypeError, match=r"takes no log_scale .*heads='scale'"):
        NLLLoss("gaussian")(torch.zeros(2), torch.zeros(2), log_scale=torch.zeros(2))
    with pytest.raises(TypeError, match="log_scale of each row must be passed"):
        NLLLoss("gaussian", heads="scale")(torch.zeros(2), torch.zeros(2))
    with pytest.raises(ValueError, match=r"scale of .* must be a single number"):
        NLLLoss(nl.Gaussian(scale=[1.0, 2.0]))
    with pytest.raises(ValueError, match="at power 1 y lies on the multiples"):
        NLLLoss("tweedie(power=1)")
    with pytest.raises(TypeError, match="y must be a tensor, but is a list"):
        NLLLoss("poisson")(torch.zeros(1), [1.0])
    with pytest.raises(TypeError, match=r"eta must hold real numbers, but has the type torch\.int64"):
        NLLLoss("poisson")(torch.zeros(1, dtype=torch.long), torch.ones(1))
    with pytest.raises(ValueError, match="the mean over no rows"):
        NLLLoss("poisson")(torch.zeros(0), torch.zeros(0))


def test_nothing_is_checked_when_that_is_asked_for():
    assert NLLLoss("gamma(shape=1)", check=False)(torch.zeros(1), torch.tensor([-1.0])) == math.inf
