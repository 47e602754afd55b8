"""Packages that only those need who use them."""

from importlib import import_module
from typing import Any


def required(package: str, distribution: str) -> Any:
    """The package, or an error that says what to install."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"neglog.{package} needs {package}, which cannot be imported ({error}); "
            f'pip install "neglog[{package}]", or {distribution}'
        ) from error
