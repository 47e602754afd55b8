"""What the adapters to gradient-boosted trees share: derivatives, starts, held-out nats, and the trained model.

A noise is everything that they need to know: `derivatives` makes gradients and Hessians of it, `start` the
intercept-only fit that boosting begins with, `nats` the metric, `estimation` what it left open. `training` puts these
together for any trainer; `neglog.lightgbm` and `neglog.xgboost` are the trainers.
"""

from neglog.boosting.model import BoostedModel
from neglog.boosting.storage import load

__all__ = ["BoostedModel", "load"]
