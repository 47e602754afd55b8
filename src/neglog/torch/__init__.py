"""Losses for PyTorch made from neglog's noises, and penalties made from its priors.

>>> import torch
>>> from neglog.torch import NLLLoss
>>> loss = NLLLoss("poisson")
>>> eta = torch.zeros(3, requires_grad=True)
>>> loss(eta, torch.tensor([0, 1, 2])).backward()
>>> eta.grad
tensor([ 0.3333,  0.0000, -0.3333])

`NLLLoss(noise)` is the whole -log p of y at a raw prediction eta, in nats, so that losses of different noises can be
compared and open parameters of a noise can be learned. Each loss of PyTorch is one of them up to what does not depend
on the prediction; with s the scale and reduction="none" on both sides:

==============================  ============================  ===================================================
PyTorch                         noise                         nll of this module
==============================  ============================  ===================================================
MSELoss()                       Gaussian(scale=s)             loss / (2 s^2) + log(s) + log(2 pi) / 2
L1Loss()                        Laplace(scale=s)              loss / s + log(2 s)
HuberLoss(delta=k s)            Huber(scale=s, delta=k)       loss / s^2 + log(s C), C Huber's normaliser; the
                                                              delta of PyTorch is in units of y, neglog's in
                                                              units of the scale
PoissonNLLLoss(full=True)       Poisson()                     loss + log(y!) - [Stirling's formula for it], which
                                                              PyTorch uses for y > 1 (short by 0.04 nats at y = 2)
GaussianNLLLoss(full=True)      Gaussian(), heads="scale"     loss, with log_scale = log(var) / 2; PyTorch clamps
                                                              var from below at eps = 1e-6
BCEWithLogitsLoss()             Bernoulli()                   loss
CrossEntropyLoss()              Categorical()                 loss, with the classes on the last axis of eta
==============================  ============================  ===================================================

`penalty` and `log_prior` are the -log p of a module's weights without and with its constants, `map_objective` joins
them to mini-batches, `weight_decay` translates a Gaussian prior for an optimiser. `entropy`, `cross_entropy` and
`kl_divergence` take tensors under the rules of those in `neglog`.
"""

try:
    import torch as _pytorch  # noqa: F401
except ImportError as error:
    raise ImportError("neglog.torch needs PyTorch; install it with: pip install 'neglog[torch]'") from error

from neglog.torch.information import cross_entropy, entropy, kl_divergence
from neglog.torch.losses import NLLLoss
from neglog.torch.priors import log_prior, map_objective, penalty, weight_decay, weights

__all__ = [
    "NLLLoss",
    "cross_entropy",
    "entropy",
    "kl_divergence",
    "log_prior",
    "map_objective",
    "penalty",
    "weight_decay",
    "weights",
]
