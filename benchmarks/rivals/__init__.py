"""One file per rival; each says which of the problems it can do, and how."""

from importlib import import_module
from types import ModuleType

MODELS = ("glum_models", "skglm_models", "celer_models", "sklearn_models", "statsmodels_models", "r_models")


def models() -> tuple[list[ModuleType], dict[str, str]]:
    """The rivals that fit models, and why the others are missing."""
    present, missing = [], {}
    for name in MODELS:
        try:
            present.append(import_module(f"rivals.{name}"))
        except ImportError as error:
            missing[name.removesuffix("_models")] = f"not installed ({error})"
    return present, missing
