"""Priors of a module's weights: the penalty, the MAP objective of mini-batches, and what weight decay believes."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from neglog.distributions import Flat, Gaussian, Laplace, Prior
from neglog.distributions.product import Product
from neglog.distributions.specification import prior_of

Which = Callable[[str, Tensor], bool]


def weights(name: str, parameter: Tensor) -> bool:
    """Whether a parameter is a matrix (or more) of weights: not a bias, nor the gain of a normalisation."""
    return bool(parameter.ndim >= 2)


def penalty(module: nn.Module, prior: Prior | str, which: Which = weights) -> Tensor:
    """-log p(theta) of the module's parameters without the constants, as `prior.penalty`.

    It is the sum of theta^2 / (2 tau^2) under Gaussian(scale=tau), of |theta| / b under Laplace(scale=b), of both under
    their product.

    `which(name, parameter)` says which parameters the prior is about; the default is `weights`, so biases are free, as
    the intercept of `nl.fit` is. Frozen parameters do not count.
    """
    law, counted = _factors(prior), list(_counted(module, which))
    total = counted[0].new_zeros((), dtype=_at_least_single(counted[0]))
    for parameter in counted:
        theta = parameter.to(_at_least_single(parameter))
        for factor in law:
            away = theta - factor.loc
            total = total + factor.strength * (away.square() if isinstance(factor, Gaussian) else away.abs()).sum()
    return total


def log_prior(module: nn.Module, prior: Prior | str, which: Which = weights) -> Tensor:
    """-log p(theta) of the module's parameters with every constant, in nats; `penalty` is the same without.

    Minimising either gives the same theta; only with the constants can priors be compared. (It is minus the log of the
    prior: what is added to a loss.)

    >>> import torch, neglog as nl
    >>> layer = torch.nn.Linear(3, 1)
    >>> expected = nl.Laplace(scale=0.1).nll(layer.weight.detach().numpy()).sum()
    >>> bool(abs(log_prior(layer, nl.Laplace(scale=0.1)).item() - expected) < 1e-4)
    True
    """
    law = prior_of(prior)
    _factors(law)  # refuses what is no prior of weights
    count = sum(parameter.numel() for parameter in _counted(module, which))
    constant = float(law.nll(0.0)) - float(law.penalty(0.0))
    if constant == float("inf"):
        raise ValueError(f"{law!r} has infinite scale, so its constant is infinite too; use penalty, or Flat()")
    return penalty(module, law, which) + count * constant


def map_objective(loss_sum: Tensor, n: float, batch_size: float, penalty: Tensor) -> Tensor:
    """An unbiased estimate, from a mini-batch, of what MAP minimises: the nll of all n rows plus the penalty.

    loss_sum    the nll summed over the mini-batch: NLLLoss(noise, reduction="sum")
    n           the rows of the training set (with weights: their sum)
    batch_size  the rows of this mini-batch (with weights: their sum); the last one may be smaller
    penalty     -log p(theta), from `penalty` or `log_prior`, once per step however small the batch

    It is loss_sum * (n / batch_size) + penalty. Adding the penalty to the sum or the mean of a batch instead counts the
    prior n / batch_size or n times. Divide by n where learning rates are tuned to losses per row.
    """
    if loss_sum.ndim:
        raise ValueError(
            f"loss_sum must be one number, the sum over the batch, but has the shape {tuple(loss_sum.shape)}"
        )
    if not 0 < batch_size <= n:
        raise ValueError(f"batch_size must be between 0 and n, but batch_size is {batch_size} and n is {n}")
    return loss_sum * (n / batch_size) + penalty


def weight_decay(prior: Prior | str, n: float) -> float:
    """The weight_decay of SGD or Adam that is this Gaussian prior, when the loss is the mean nll of n rows.

    These optimisers add weight_decay * theta to the gradient of the loss: they minimise

        mean nll + weight_decay / 2 * theta^2  =  (1/n) (nll of all rows + n weight_decay / 2 * theta^2),

    the MAP under Gaussian(scale=tau) with tau = 1 / sqrt(n weight_decay). So weight_decay = 1 / (n tau^2); a loss that
    is the sum over all rows takes 1 / tau^2, and a loss without the factor 1 / (2 sigma^2), such as MSELoss, takes
    2 sigma^2 / (n tau^2). It holds with momentum too, and for Adam (not AdamW) at the point where it comes to rest.
    Give it to a group of the weights alone; by default biases decay as well.

    AdamW decays theta outside of its gradient, which is the gradient of no penalty. It rests where

        gradient of the mean nll  =  -weight_decay * (sqrt(v) + eps) * theta,

    with v its running mean of squared gradients: as if each weight had its own prior scale

        tau = 1 / sqrt(n weight_decay (sqrt(v) + eps)),

    that depends on the noise of the gradient, hence on the batch size and on the units of the loss, and is known only
    afterwards. With full batches v vanishes at the optimum and so does the prior: it reaches the MLE wherever that has
    |theta| < 1 / weight_decay. For a MAP with AdamW set its weight_decay to 0 and use `map_objective`.
    """
    law = prior_of(prior)
    if isinstance(law, Flat):
        return 0.0
    factors = _factors(law)
    if len(factors) != 1 or not isinstance(factors[0], Gaussian) or factors[0].loc != 0:
        raise TypeError(f"weight decay is a Gaussian prior around 0, but the prior is {law!r}; use map_objective")
    return 2 * float(factors[0].strength) / n


def _factors(prior: Prior | str) -> list[Gaussian | Laplace]:
    """The Gaussian and Laplace factors whose penalties add up to that of the prior."""
    law = prior_of(prior)
    if isinstance(law, Flat):
        return []
    factors: list[Gaussian | Laplace] = []
    for factor in law.factors if isinstance(law, Product) else (law,):
        if not isinstance(factor, Gaussian | Laplace):
            raise TypeError(
                f"the prior of weights must be Gaussian, Laplace, a product of them, or Flat, but is {law!r}"
            )
        if getattr(factor.strength, "ndim", 0) or getattr(factor.loc, "ndim", 0):
            raise ValueError(
                f"the prior must have one loc and one scale for all weights, but is {law!r}; "
                "add up penalties with a `which` for each group"
            )
        factors.append(factor)
    return factors


def _counted(module: nn.Module, which: Which) -> Iterator[Tensor]:
    found = False
    for name, parameter in module.named_parameters():
        if parameter.requires_grad and which(name, parameter):
            found = True
            yield parameter
    if not found:
        names = ", ".join(name for name, _ in module.named_parameters()) or "none"
        raise ValueError(
            f"no parameter of {type(module).__name__} is counted by the prior; it has: {names}. "
            "Pass which=lambda name, parameter: ... to choose"
        )


def _at_least_single(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32
