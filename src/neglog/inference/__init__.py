"""From data, a noise and a prior to an answer."""

from neglog.inference.bayes import Belief, bayes
from neglog.inference.compare import compare
from neglog.inference.comparison import Comparison
from neglog.inference.conjugate import ParameterPosterior, posterior
from neglog.inference.fit import fit
from neglog.inference.loo import LeaveOneOut
from neglog.inference.nuts import SamplingWarning
from neglog.inference.path import Path, path
from neglog.inference.posterior import Posterior
from neglog.inference.result import Fit
from neglog.inference.rows import ConvergenceWarning, UnseenLevelWarning
from neglog.inference.storage import load

__all__ = [
    "Belief",
    "Comparison",
    "ConvergenceWarning",
    "Fit",
    "LeaveOneOut",
    "ParameterPosterior",
    "Path",
    "Posterior",
    "SamplingWarning",
    "UnseenLevelWarning",
    "bayes",
    "compare",
    "fit",
    "load",
    "path",
    "posterior",
]
