"""Arrays for results whose memory is used again.

A trainer asks for derivatives in every round and drops them at its end. New arrays of that size are new pages of the
system each time, and to have those made costs more than the derivatives do.
"""

import math
import weakref
from typing import Literal

import numpy as np

from neglog.typing import Numbers


class Buffers:
    """Memory that goes from arrays nobody holds any more to the next ones of the same size."""

    def __init__(self) -> None:
        self._free: list[bytearray] = []

    def empty(self, shape: tuple[int, ...], order: Literal["C", "F"] = "C") -> Numbers:
        """A float32 array of any content, whose memory is its own as long as it or a view of it lives.

        >>> buffers = Buffers()
        >>> first, second = buffers.empty((3,)), buffers.empty((3,))
        >>> np.shares_memory(first, second)
        False
        """
        size = 4 * math.prod(shape)
        try:
            memory = self._free.pop()  # at once, so that two threads never get the same
        except IndexError:
            memory = bytearray()
        if len(memory) != size:
            memory = bytearray(size)
        flat = np.frombuffer(memory, np.float32)  # every view keeps this one alive, because its base is no array
        weakref.finalize(flat, self._free.append, memory).atexit = False
        return flat.reshape(shape, order=order)
