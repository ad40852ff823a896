"""When a unit is late: known from how long others took."""
from __future__ import annotations

import collections

# nobody is late before
_LEAST = 1.0
# where nothing is known: the first units wait for processes that start and for lines that are counted
UNKNOWN = 60.0
_N_KEPT = 256


class Lateness:
    """The limit is max(1 s, 3 × p99) of how long the last 256 took. The longest of them does not count: among few, one
    that was held up by chance would be all that is known of the others."""

    def __init__(self) -> None:
        self._ages: collections.deque[float] = collections.deque(maxlen=_N_KEPT)

    def add(self, age: float) -> None:
        self._ages.append(age)

    @property
    def p99(self) -> float | None:
        """Of all but the longest; ``None`` before there are some."""
        ages = sorted(self._ages)
        return ages[max(0, min(len(ages) - 2, -(-len(ages) * 99 // 100) - 1))] if ages else None

    @property
    def limit(self) -> float:
        """A unit that is older is late."""
        p99 = self.p99
        return UNKNOWN if p99 is None else max(_LEAST, 3 * p99)
