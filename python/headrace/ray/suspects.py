"""Which nodes are not asked for the time being."""
from __future__ import annotations

from collections.abc import Iterable

# how long for, the first time; each further time twice as long
_FIRST = 10.0
_LONGEST = 300.0


class Suspects:
    """A whole node is suspected, as what makes one of its producers late, its link or its death, is the others' as
    well; never the last one, as late units are better than none."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._times: dict[str, int] = {}

    def add(self, node: str, nodes: Iterable[str], now: float) -> bool:
        """Suspects it, unless it is the last of those nodes; whether it did so just now."""
        if node in self.at(now) or not set(nodes) - self.at(now) - {node}:
            return False
        n = self._times.get(node, 0)
        self._times[node] = n + 1
        self._until[node] = now + min(_LONGEST, _FIRST * 2 ** n)
        return True

    def at(self, now: float) -> set[str]:
        """Those that are suspected then."""
        return {node for node, until in self._until.items() if until > now}
