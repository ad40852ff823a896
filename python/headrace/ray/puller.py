"""The thread of a rank that asks for units and lets them come, ahead of the trainer."""
from __future__ import annotations

import atexit
import collections
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import ray

from . import errors
from .clock import Links
from .lateness import UNKNOWN, Lateness
from .room import NEXT, Attempt, Pending, Room
from .team import Team
from .then import Then
from .unit import Unit

_log = logging.getLogger("headrace")

# how long it waits at once; and where it has something else to see meanwhile
_SLICE = 0.1
_BRIEF = 0.02
# a unit that is waited for so long is told, each time
_TELL = 60.0
# what fails on one node may go well on another
_TRIED_ELSEWHERE = "SpreadResourceError"


class Puller:
    """Asks for as many units as there is :class:`Room` for, and lets the next two come to the rank's node. A unit is
    pulled from one producer at a time, so that it is never there more than twice."""

    def __init__(self, team: Team, units: Iterator[Unit], depth: int, then: Then | None,
                 warn: Callable[[str], None] = _log.warning) -> None:
        self._team = team
        self._units = units
        self._next: Pending | None = None  # has no room yet
        self._room = Room(depth)
        self._then = then
        self._warn = warn
        self._changed = threading.Condition()
        self._arrived: tuple[Unit, dict[str, Any]] | None = None  # and not taken yet
        self._failed: BaseException | None = None
        self._at_end = False  # of the units: all have been asked for
        self._ended = self._closing = False
        self._fixed: dict[str, Any] | None = None
        self._run: str | None = None
        self._late = Lateness()  # of making
        self._far = Lateness()  # of the way from other nodes
        self._warm: dict[int, float] = {}  # producers that have started, and since when that is known
        self._told = 0.0
        self._shared_at = time.monotonic()
        self.counts: collections.Counter[str] = collections.Counter()
        self.links = Links()
        self._thread = threading.Thread(target=self._work, name="headrace-spread", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # before Ray's own end: what asked Ray behind that would start a cluster

    # ---- the trainer's side ----

    def take(self) -> tuple[Unit, dict[str, Any]] | None:
        """The next unit; waits for it. ``None``: that was the last.

        :raises headrace.ray.SpreadError: of that unit.
        """
        with self._changed:
            while self._arrived is None and self._failed is None and not self._ended and not self._closing:
                self._changed.wait(_SLICE)  # for signals, too
            if self._arrived is not None:
                arrived, self._arrived = self._arrived, None
                self._room.hand_over()
                self._changed.notify_all()
                return arrived
            if self._failed is not None:
                raise self._failed
            return None

    @property
    def fixed(self) -> dict[str, Any]:
        """What is the same in all checkpoints of the run."""
        assert self._fixed is not None, "it has come with the first unit"
        return self._fixed

    @property
    def peak(self) -> int:
        """Most copies of units of this rank that there were at once, in all stores."""
        return self._room.peak

    def fail(self, error: BaseException) -> None:
        """Ends with that, unless it has ended."""
        with self._changed:
            if not self._closing and not (self._ended and self._arrived is None):
                self._failed = self._failed or error
                self._arrived = None
        self.close()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._arrived = None
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:  # which the garbage collector may run in
            self._thread.join()
        atexit.unregister(self.close)

    # ---- the thread ----

    def _work(self) -> None:
        queue = self._room.queue
        try:
            while not self._closing:
                self._team.refresh()
                self._look()
                self._fill()
                self._let_come()
                if self._arrived is None and not queue and self._at_end:
                    break
                if self._arrived is None and queue and queue[0].let is not None and queue[0].let.come_at is not None:
                    self._receive(queue[0], queue[0].let)
                    continue
                self._wait()
                if self._arrived is None and queue:
                    self._hurry(queue[0])
        except BaseException as error:  # it is the trainer's to handle
            self._failed = self._failed or error
        with self._changed:
            self._ended = True
            queue.clear()
            self._room.given_up.clear()
            self._changed.notify_all()

    def _rest(self, seconds: float) -> None:
        with self._changed:
            if not self._closing:
                self._changed.wait(seconds)

    # ---- asking ----

    def _fill(self) -> None:
        """Asks for what there is room for: first for what was lost or given up, then for more."""
        for pending in self._room.queue:
            if not pending.attempts:
                if not self._ask(pending):
                    return
                self.counts["reissued"] += 1
        while not self._at_end:
            if self._next is None:
                unit = next(self._units, None)
                if unit is None:
                    self._at_end = True
                    return
                self._next = Pending(unit)
            if not self._ask(self._next):
                return
            self._room.queue.append(self._next)
            self._next = None

    def _ask(self, pending: Pending) -> bool:
        """Asks for it, of one more producer, if there is room."""
        beside = frozenset(attempt.index for attempt in pending.attempts)
        behind = frozenset(attempt.index for attempt, _ in self._room.given_up)
        entry = self._team.pick(pending.unit, beside, behind)
        if entry is None:
            return False
        local = self._team.is_here(entry.index)
        if not self._room.may_ask(pending, local):
            return False
        reference = entry.actor.produce.remote(pending.unit.epoch, pending.unit.slice, self._fixed is None)
        pending.attempts.append(Attempt(entry.index, reference, local, time.monotonic(), is_hedge=bool(beside)))
        self.counts["asked"] += 1
        self._room.note()
        return True

    # ---- looking and waiting ----

    def _look(self) -> None:
        """What has been made, whether or not it is on this node; and what has not been although it is not waited for."""
        given_up = [attempt for attempt, _ in self._room.given_up]
        waiting = {attempt.reference: attempt for attempt in
                   [*given_up, *(attempt for pending in self._room.queue for attempt in pending.attempts)]
                   if attempt.made_at is None}
        if waiting:
            done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=0, fetch_local=False)
            for reference in done:
                self._see(waiting[reference], counts=waiting[reference] not in given_up)
        self._room.clear(time.monotonic())

    def _see(self, attempt: Attempt, counts: bool = True) -> None:
        """It has been made, or has failed."""
        attempt.made_at = time.monotonic()
        # what was asked of a producer that was just being started says nothing of the others
        if attempt.since >= self._warm.setdefault(attempt.index, attempt.made_at) and counts:
            self._late.add(attempt.made_at - attempt.since)

    def _window(self) -> list[Pending]:
        """Those that may come to this node now."""
        n = NEXT - (self._arrived is not None)
        return [pending for pending, _ in zip(self._room.queue, range(n))]

    def _let_come(self) -> None:
        self._share()
        for pending in self._window():
            let, made = pending.let, pending.made
            if made is None or not (let is None or (let.is_late and let.come_at is None)):
                continue
            now = time.monotonic()
            if let is not None:  # it takes over: what is on its way is given up, and with it its place
                pending.passed.append((let.index, now - (let.let_at or now)))
                pending.attempts.remove(let)
            elif made.is_hedge:  # it has overtaken those that are not even made
                for other in pending.attempts:
                    if other.made_at is None and other.since < made.since:
                        self._suspect(other.index, pending)
            if self._room.may_come(pending, made):
                made.let_at = now
                self._room.note()

    def _coming(self) -> list[Attempt]:
        return [attempt for pending in self._room.queue for attempt in pending.attempts if attempt.is_coming]

    def _share(self) -> None:
        """The time since the last call is that of what was on its way in it: two at once have half of it each, so that
        bytes by time is what a link carries."""
        now, coming = time.monotonic(), self._coming()
        for attempt in coming:
            attempt.way_s += (now - self._shared_at) / len(coming)
        self._shared_at = now

    def _wait(self) -> None:
        """Until something has been made or has come, for a moment. It is one after the other, as only so it can be told
        which of them takes the time."""
        coming = self._coming()
        unmade = [attempt for pending in self._window() for attempt in pending.attempts if attempt.made_at is None]
        if coming:
            done, _ = ray.wait([attempt.reference for attempt in coming], num_returns=1, fetch_local=True,
                               timeout=_BRIEF if unmade or self._arrived is not None else _SLICE)
            self._share()
            for attempt in coming:
                if attempt.reference in done:
                    self._come(attempt)
        elif unmade and self._arrived is None:
            ray.wait([attempt.reference for attempt in unmade], num_returns=1, timeout=_SLICE, fetch_local=False)
            self._look()
        else:
            self._rest(_BRIEF if unmade else _SLICE)

    def _come(self, attempt: Attempt) -> None:
        attempt.come_at = time.monotonic()
        if not attempt.local:
            self._far.add(attempt.come_at - (attempt.let_at or attempt.come_at))

    # ---- what has come ----

    def _receive(self, head: Pending, attempt: Attempt) -> None:
        try:
            value = ray.get(attempt.reference)
        except ray.exceptions.RayTaskError as error:
            raise errors.make(errors.describe(error), None, head.unit) from error
        except ray.exceptions.RayError as error:
            self._lose(head, attempt, error)
            return
        self._team.saw(attempt.index, value["node"])
        if "error" in value:
            self._refuse(head, attempt, value)
        else:
            self._deliver(head, attempt, value)

    def _deliver(self, head: Pending, attempt: Attempt, value: dict[str, Any]) -> None:
        if self._run is None:
            self._run, self._fixed = value["run"], value["fixed"]
        elif value["run"] != self._run:
            raise errors.make({"class": "SpreadCoreError", "kind": "state",
                               "text": "this producer reads other data, or runs another version, than the first one that"
                                       " answered: all nodes must see the same objects"}, value["ip"], head.unit)
        self.counts["units"] += 1
        self.links.add(value["ip"], value["nbytes"], value["made_s"], attempt.way_s)
        if attempt.is_hedge:
            self.counts["hedge_won"] += 1
        assert attempt.come_at is not None and attempt.let_at is not None, "it has been waited for"
        for index, had in head.passed:
            if attempt.come_at - attempt.let_at < had:  # it is not this node's own link that is slow
                self._suspect(index, head)
        for other in head.attempts:
            if other is not attempt:
                self._room.give_up(other, time.monotonic())
        if self._then is not None:
            self._then.push(value.pop("fields"))
        with self._changed:
            if self._closing:
                return
            self._room.arrive(1 if self._team.is_here(attempt.index) else 2)
            self._arrived = head.unit, value
            self._changed.notify_all()

    # ---- what goes wrong ----

    def _hurry(self, head: Pending) -> None:
        """The head may be late: another one is asked. Whether a node is to blame is seen when that one overtakes; if
        everything has become slow, as over this node's own link, it will not."""
        now = time.monotonic()
        head.first_at = head.first_at or now
        waited = now - head.first_at
        if waited > max(self._told, _TELL):
            self._told = waited + _TELL
            self._warn(f"{head.unit} has been waited for for {waited:.0f} s")
        if not head.attempts:
            return
        attempt = head.current
        if attempt.come_at is not None or not self._is_late(head, attempt, now):
            return
        attempt.is_late = attempt.is_coming
        if attempt.is_coming and head.made is not None:
            head.tries.n_late += 1
            return  # another one takes over
        if len(self._team.entries) <= len(head.attempts) or not self._ask(head):
            return
        self.counts["hedged"] += 1
        head.tries.n_late += 1
        if len(head.attempts) > 2:  # never more than two; what is on its way stays
            oldest = next(other for other in head.attempts if not other.is_coming)
            head.attempts.remove(oldest)
            self._room.give_up(oldest, now)

    def _is_late(self, head: Pending, attempt: Attempt, now: float) -> bool:
        """Whether it takes too long to what comes next: its being made, or its way to this node."""
        if attempt.let_at is not None:
            begin, limit = attempt.let_at, self._far.limit
        elif attempt.made_at is not None:
            return False  # there is no room for it yet
        else:
            warm = self._warm.get(attempt.index)
            begin = attempt.since if warm is None else max(attempt.since, warm)
            limit = UNKNOWN if warm is None else self._late.limit
        return now - begin >= head.tries.patience(limit, self._team.is_suspected(attempt.index))

    def _suspect(self, index: int, but: Pending) -> None:
        """Gives up what the node of that producer was asked for, and what would have to come from there: others are
        asked, as there is room."""
        if not self._team.suspect(index):
            return
        node = self._team.node_of(index)
        self.counts["suspected"] += 1
        self._warn(f"node {self._team.ip_of(index) or node} is suspected: others are asked")
        now = time.monotonic()
        for pending in self._room.queue:
            if pending is but:
                continue
            for attempt in list(pending.attempts):
                is_here = attempt.come_at is not None or (attempt.made_at is not None and attempt.local)
                if self._team.node_of(attempt.index) == node and not is_here:
                    pending.attempts.remove(attempt)  # drops the reference, and with it what still comes
                    self._room.give_up(attempt, now)

    def _lose(self, head: Pending, attempt: Attempt, error: Exception) -> None:
        """A producer, its node, or what it had made, is gone."""
        why = errors.shorten(error)
        self._warn(f"{head.unit} is lost, and asked for again: {why}")
        self.counts["lost"] += 1
        rest = head.tries.lose()
        if head.tries.is_hopeless:
            raise errors.make({"class": "SpreadResourceError", "kind": "failed",
                               "text": f"lost {head.tries.n_lost} times, with its producers: {why}"}, None, head.unit) from error
        self._team.fail(attempt.index, isinstance(error, ray.exceptions.ActorDiedError))
        self._warm.pop(attempt.index, None)
        head.attempts.remove(attempt)
        if not isinstance(error, ray.exceptions.RayActorError):
            self._suspect(attempt.index, head)
        if not head.attempts:
            self._rest(rest)

    def _refuse(self, head: Pending, attempt: Attempt, value: dict[str, Any]) -> None:
        """The pipeline over there has failed."""
        first, head.error = head.error, errors.make(value["error"], value["ip"], head.unit)
        if first is not None or value["error"]["class"] != _TRIED_ELSEWHERE or len(self._team.entries) < 2:
            raise head.error
        self._warn(f"{head.error}; tried once more elsewhere")
        self._team.fail(attempt.index, dead=False)
        head.attempts.remove(attempt)
