"""From data, a noise and a prior to an answer."""

from neglog.inference.fit import fit
from neglog.inference.path import Path, path
from neglog.inference.result import Fit
from neglog.inference.rows import ConvergenceWarning
from neglog.inference.storage import load

__all__ = ["ConvergenceWarning", "Fit", "Path", "fit", "load", "path"]
