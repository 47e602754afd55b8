"""What the adapters to gradient-boosted trees share: derivatives, starts, held-out nats, and the trained model.

A noise is everything that they need to know: `derivatives` makes gradients and Hessians of it, `cell_slopes` where y
lies in cells; `estimation` has the intercept-only fit that boosting begins with and what the noise left open; `nats`
the metric. `training` puts these together for any trainer; `neglog.lightgbm` and `neglog.xgboost` are the trainers.
"""

from neglog.boosting.ensemble import BoostedEnsemble
from neglog.boosting.model import BoostedModel
from neglog.boosting.storage import load

__all__ = ["BoostedEnsemble", "BoostedModel", "load"]
