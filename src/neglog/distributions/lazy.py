"""SciPy's special functions, imported when the first of them is called: `import neglog` does not wait for them."""

import importlib
from typing import Any


class LazyModule:
    """Stands for a module until one of its attributes is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value


special: Any = LazyModule("scipy.special")
