"""When a unit is late: known from how long others took."""
from __future__ import annotations

import collections

# nobody is late before
_LEAST = 1.0
# the first units wait for processes that start and for lines that are counted
_COLD = 60.0
_N_WARM = 4
_N_KEPT = 256


class Lateness:
    """The limit is max(1 s, 3 × p99) of how long the last 256 took."""

    def __init__(self) -> None:
        self._ages: collections.deque[float] = collections.deque(maxlen=_N_KEPT)
        self._n = 0

    def add(self, age: float) -> None:
        self._n += 1
        self._ages.append(age)

    @property
    def p99(self) -> float | None:
        """``None`` before there are some."""
        if not self._ages:
            return None
        ages = sorted(self._ages)
        return ages[min(len(ages) - 1, (len(ages) * 99) // 100)]

    @property
    def limit(self) -> float:
        """A unit that is older is late."""
        p99 = self.p99
        if p99 is None or self._n < _N_WARM:
            return _COLD
        return max(_LEAST, 3 * p99)
