"""How many copies of its units a rank has in the stores of all nodes, and whether there is room for one more."""
from __future__ import annotations

import collections
from typing import Any

from . import errors
from .tries import Tries
from .unit import Unit

# units on a rank's node or on their way to it, ahead of the one that the trainer has
NEXT = 2
# what was given up takes a place so long at most: who hangs would keep it for ever
_FORGET = 10.0


class Attempt:
    """A unit that has been asked for, of one producer. Who holds it holds the reference, and so the memory.

    :ivar local: whether that producer is on the rank's own node, so that nothing has to come over.
    :ivar is_hedge: whether it was asked for beside another attempt, which was late.
    """

    def __init__(self, index: int, reference: Any, local: bool, since: float, is_hedge: bool = False) -> None:
        self.index = index
        self.reference = reference
        self.local = local
        self.since = since
        self.is_hedge = is_hedge
        self.made_at: float | None = None  # when that was seen
        self.let_at: float | None = None  # since when it is let come to this node
        self.come_at: float | None = None
        self.is_late = False  # on its way
        self.way_s = 0.0  # of its link's time: two that come at once share it

    @property
    def is_coming(self) -> bool:
        return self.let_at is not None and self.come_at is None

    @property
    def copies(self) -> int:
        """That there are or may be: what comes from another node is here as well, whole from the first byte on."""
        return 1 if self.local or self.let_at is None else 2


class Pending:
    """A unit that the trainer's queue waits for."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.attempts: list[Attempt] = []
        self.tries = Tries()
        self.first_at: float | None = None  # since when it is the one that is waited for
        self.error: errors.SpreadError | None = None  # of an attempt; there may be others
        self.passed: list[tuple[int, float]] = []  # producers whose attempts were given up on their way, and after how long

    @property
    def let(self) -> Attempt | None:
        """The one attempt that is let come, or has."""
        return next((attempt for attempt in self.attempts if attempt.let_at is not None), None)

    @property
    def made(self) -> Attempt | None:
        """The first one that has been made and is not let come."""
        made = [attempt for attempt in self.attempts if attempt.made_at is not None and attempt.let_at is None]
        return min(made, default=None, key=lambda attempt: attempt.made_at or 0.0)

    def keeps(self, *asked: bool) -> int:
        """Places that it needs to come to this node, beside what it has.

        :param asked: of whom it is to be asked for now: whether that producer is on this node.
        """
        here = [attempt.local for attempt in self.attempts] + list(asked)
        return 0 if self.let is not None or (here and all(here)) else 1

    @property
    def current(self) -> Attempt:
        """The one that may be late: which comes, unless that is known to be late, else the last one asked for."""
        let = self.let
        return let if let is not None and not let.is_late else self.attempts[-1]


class Room:
    """There are never more than ``depth`` copies, and one more for what the trainer waits for. A unit is one copy from
    the moment it is asked for; one from another node is two, from when it is let come until the trainer has let go of
    it. What was given up is one until it has been made: then Ray frees it.

    Places are kept: one for the first of the queue to come to, as otherwise nothing might ever move; one for the second,
    before a third one is asked for; and one for the trainer, before it has its first unit.

    :ivar arrived: copies of the unit that waits for the trainer.
    :ivar held: copies of the unit that the trainer has.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.queue: collections.deque[Pending] = collections.deque()
        self.arrived = self.held = 0
        self.given_up: list[tuple[Attempt, float]] = []  # and until when it counts
        self.peak = 0

    @property
    def used(self) -> int:
        return (self.held + self.arrived + sum(attempt.copies for attempt, _ in self.given_up)
                + sum(attempt.copies for pending in self.queue for attempt in pending.attempts))

    def note(self) -> None:
        """Whoever adds a copy."""
        self.peak = max(self.peak, self.used)

    def _fits(self, position: int, kept: int) -> bool:
        """Whether one more copy does, of who has that position in the queue, with so many places kept. What the trainer waits
        for next has the place beyond depth, too."""
        limit = self._depth + (1 if position == 0 and not self.arrived else 0)
        return self.used + 1 + kept + (0 if self.held else 1) <= limit

    def _keeps(self, before: int) -> int:
        """Places for the ways of those in front."""
        return sum(self.queue[i].keeps() for i in range(min(before, NEXT)))

    def _find(self, pending: Pending) -> int:
        """Its position in the queue, or that which it will have."""
        return self.queue.index(pending) if pending in self.queue else len(self.queue)

    def may_ask(self, pending: Pending, local: bool) -> bool:
        """Whether it may be asked for, of a producer that is on this node or not."""
        position = self._find(pending)
        return self._fits(position, self._keeps(position) if position else pending.keeps(local))

    def may_come(self, pending: Pending, attempt: Attempt) -> bool:
        """Whether what has been made may come to this node."""
        position = self._find(pending)
        return attempt.local or self._fits(position, self._keeps(position))

    def give_up(self, attempt: Attempt, now: float) -> None:
        """It is not waited for any longer."""
        if attempt.made_at is None:
            self.given_up.append((attempt, now + _FORGET))

    def clear(self, now: float) -> None:
        """What has been made, or will not be, takes no place any longer."""
        self.given_up = [(attempt, until) for attempt, until in self.given_up if attempt.made_at is None and until > now]

    def arrive(self, copies: int) -> None:
        """The first of the queue waits for the trainer now."""
        self.queue.popleft()
        self.arrived = copies
        self.note()

    def hand_over(self) -> None:
        """The trainer takes what has arrived, and lets go of what it had."""
        self.held, self.arrived = self.arrived, 0
