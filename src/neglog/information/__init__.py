"""Information: entropy, cross-entropy, divergence, in nats."""

from neglog.information import from_samples
from neglog.information.cross_entropy import cross_entropy
from neglog.information.decompose import Decomposition, decompose
from neglog.information.entropy import entropy, mutual_information
from neglog.information.kl import jensen_shannon, kl_divergence

__all__ = [
    "Decomposition",
    "cross_entropy",
    "decompose",
    "entropy",
    "from_samples",
    "jensen_shannon",
    "kl_divergence",
    "mutual_information",
]
