"""How often a unit has been lost or late, and how long the next try gets."""
from __future__ import annotations

# a unit that was lost waits before it is asked for again, each time twice as long
_FIRST_REST = 0.1
_LONGEST_REST = 2.0
# one that was lost more often will be lost again
_MOST_LOST = 100


class Tries:
    """Of one unit."""

    def __init__(self) -> None:
        self.n_lost = self.n_late = 0

    def lose(self) -> float:
        """It has been lost once more: for how many seconds it is not asked for."""
        self.n_lost += 1
        return min(_LONGEST_REST, _FIRST_REST * 2.0 ** min(self.n_lost - 1, _MOST_LOST))

    @property
    def is_hopeless(self) -> bool:
        return self.n_lost > _MOST_LOST

    def patience(self, limit: float, suspected: bool) -> float:
        """How old it may become. Each time it is late it gets twice as long, so that it comes also where everything has
        become slow; of a node that is suspected nothing is waited for the first time.

        :param limit: for the others.
        """
        return 0.0 if suspected and self.n_late == 0 else limit * 2.0 ** self.n_late
