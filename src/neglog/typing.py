"""The types that everybody speaks of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Numbers = NDArray[Any]  # of any kind: floats, row numbers, masks
