"""When a unit is late: known from how long others took."""
from __future__ import annotations

import collections

# nobody is late before
_LEAST = 1.0
# of few times those are known first that were short
_N_FEW = 16
_LEAST_OF_FEW = 2.5
# where nothing is known: the first units wait for processes that start and for lines that are counted
UNKNOWN = 60.0
_N_KEPT = 256


class Lateness:
    """The limit is max(1 s, 3 × p99) of how long the last 256 took, the longest left out; max(2.5 s, 3 × the median) of
    fewer than 16. So one that was held up by chance while everything started is not what is known of all others, and
    those that were quick, and so are known first, are neither."""

    def __init__(self) -> None:
        self._ages: collections.deque[float] = collections.deque(maxlen=_N_KEPT)

    def add(self, age: float) -> None:
        self._ages.append(age)

    @property
    def limit(self) -> float:
        """A unit that is older is late."""
        ages = sorted(self._ages)
        n = len(ages)
        if n == 0:
            return UNKNOWN
        if n < _N_FEW:
            return max(_LEAST_OF_FEW, 3 * ages[n // 2])
        return max(_LEAST, 3 * ages[min(n - 2, -(-n * 99 // 100) - 1)])
