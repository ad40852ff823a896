"""The thread of a rank that asks for units and gets them, one ahead of the trainer."""
from __future__ import annotations

import collections
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import ray

from . import errors
from .clock import Links
from .lateness import Lateness
from .team import Team
from .then import Then
from .unit import Unit

_log = logging.getLogger("headrace")

# how long it waits at once
_SLICE = 0.1
# a unit that is waited for so long is told, each time
_TELL = 60.0
# a unit that is lost so often will be lost again
_MOST_LOST = 100
_LONGEST_REST = 2.0
# what fails on one node may go well on another
_TRIED_ELSEWHERE = "SpreadResourceError"


class _Attempt:
    """A unit that has been asked for, of one producer. Who holds it holds the reference, and so the memory."""

    def __init__(self, index: int, reference: Any) -> None:
        self.index = index
        self.reference = reference
        self.since = time.monotonic()


class _Pending:
    """A unit that has not come yet."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.attempts: list[_Attempt] = []
        self.made_at: float | None = None  # when that was seen
        self.n_lost = self.n_late = 0
        self.first_at: float | None = None  # since when it is the one that is waited for
        self.error: errors.SpreadError | None = None  # of an attempt; there may be others

    @property
    def age(self) -> float:
        """Since when the one thing is waited for that comes next: its being made, or its way to this node."""
        begins = [self.attempts[-1].since]
        if self.made_at is not None:
            begins += [self.made_at, self.first_at or self.made_at]
        return time.monotonic() - max(begins)


class Puller:
    """At most ``depth`` units of a rank are in the object store: asked for, waiting for the trainer, or held by it; and
    one more while the one that the trainer waits for is late and another producer has been asked for it as well."""

    def __init__(self, team: Team, units: Iterator[Unit], depth: int, then: Then | None) -> None:
        self._team = team
        self._units = units
        self._depth = depth
        self._then = then
        self._queue: collections.deque[_Pending] = collections.deque()
        self._changed = threading.Condition()
        self._arrived: tuple[Unit, dict[str, Any]] | None = None  # and not taken yet
        self._failed: BaseException | None = None
        self._at_end = False  # of the units: all have been asked for
        self._ended = self._closing = False
        self._n_held = 0  # by the trainer
        self._fixed: dict[str, Any] | None = None
        self._run: str | None = None
        self._late = Lateness()  # of making
        self._far = Lateness()  # of the way from other nodes
        self._warm: dict[int, float] = {}  # producers that have started, and since when that is known
        self._told = 0.0
        self.counts: collections.Counter[str] = collections.Counter()
        self.links = Links()
        self.peak = 0  # most units of this rank that there were at once
        self._thread = threading.Thread(target=self._work, name="headrace-spread", daemon=True)
        self._thread.start()

    # ---- the trainer's side ----

    def take(self) -> tuple[Unit, dict[str, Any]] | None:
        """The next unit; waits for it. ``None``: that was the last.

        :raises headrace.ray.SpreadError: of that unit.
        """
        with self._changed:
            while self._arrived is None and self._failed is None and not self._ended and not self._closing:
                self._changed.wait(_SLICE)  # for signals, too
            if self._arrived is not None:
                arrived, self._arrived, self._n_held = self._arrived, None, 1
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

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    # ---- the thread ----

    def _work(self) -> None:
        try:
            while not self._closing:
                self._team.refresh()
                self._issue()
                self._look()
                if self._arrived is not None or not self._queue:
                    if self._arrived is None and self._at_end:
                        break
                    self._rest()
                else:
                    self._wait_for_head()
        except BaseException as error:  # it is the trainer's to handle
            self._failed = error
        with self._changed:
            self._ended = True
            self._queue.clear()
            self._changed.notify_all()

    def _rest(self, seconds: float = _SLICE) -> None:
        with self._changed:
            if not self._closing:
                self._changed.wait(seconds)

    def _issue(self) -> None:
        while not self._at_end and len(self._queue) + (self._arrived is not None) + self._n_held < self._depth:
            if not self._team.entries:
                return
            unit = next(self._units, None)
            if unit is None:
                self._at_end = True
                return
            pending = _Pending(unit)
            self._ask(pending)
            self._queue.append(pending)
            self._count()

    def _ask(self, pending: _Pending) -> None:
        entry = self._team.pick(pending.unit, frozenset(attempt.index for attempt in pending.attempts))
        assert entry is not None, "nothing is asked for before somebody is there"
        reference = entry.actor.produce.remote(pending.unit.epoch, pending.unit.slice, self._fixed is None)
        pending.attempts.append(_Attempt(entry.index, reference))
        self.counts["asked"] += 1

    def _count(self) -> None:
        n = sum(len(pending.attempts) for pending in self._queue) + (self._arrived is not None) + self._n_held
        self.peak = max(self.peak, n)

    def _look(self) -> None:
        """How long those took that have been made, whether or not they are on this node."""
        waiting = {pending.attempts[0].reference: pending for pending in self._queue
                   if pending.made_at is None and pending.attempts}
        if waiting:
            done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=0, fetch_local=False)
            for reference in done:
                self._see(waiting[reference], waiting[reference].attempts[0])

    def _see(self, pending: _Pending, attempt: _Attempt) -> None:
        pending.made_at = time.monotonic()
        # what was asked of a producer that was just being started says nothing of the others
        if attempt.since >= self._warm.setdefault(attempt.index, pending.made_at):
            self._late.add(pending.made_at - attempt.since)

    def _wait_for_head(self) -> None:
        """For its being made, then for its coming to this node. It is one after the other, as only so it can be told
        which of them takes the time."""
        head = self._queue[0]
        head.first_at = head.first_at or time.monotonic()
        if not head.attempts:
            self._ask(head)
        references = [attempt.reference for attempt in head.attempts]
        if head.made_at is None:
            made, _ = ray.wait(references, num_returns=1, timeout=_SLICE, fetch_local=False)
            if not made:
                self._hurry(head)
                return
            self._see(head, next(attempt for attempt in head.attempts if attempt.reference == made[0]))
        done, _ = ray.wait(references, num_returns=1, timeout=_SLICE, fetch_local=True)
        if not done:
            self._hurry(head)
            return
        attempt = next(attempt for attempt in head.attempts if attempt.reference == done[0])
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

    def _deliver(self, head: _Pending, attempt: _Attempt, value: dict[str, Any]) -> None:
        if self._run is None:
            self._run, self._fixed = value["run"], value["fixed"]
        elif value["run"] != self._run:
            raise errors.make({"class": "SpreadCoreError", "kind": "state",
                               "text": "this producer reads other data, or runs another version, than the first one that"
                                       " answered: all nodes must see the same objects"}, value["ip"], head.unit)
        self.counts["units"] += 1
        assert head.made_at is not None and head.first_at is not None, "it has been waited for"
        took = time.monotonic() - max(head.made_at, head.first_at, attempt.since)
        self.links.add(value["ip"], value["nbytes"], value["made_s"], took)
        if attempt is not head.attempts[0]:
            self.counts["hedge_won"] += 1
            self._suspect(head.attempts[0].index, head)
        elif value["ip"] != self._team.ip:
            self._far.add(took)
        if self._then is not None:
            self._then.push(value.pop("fields"))
        self._queue.popleft()
        with self._changed:
            self._arrived = head.unit, value
            self._changed.notify_all()

    # ---- what goes wrong ----

    def _hurry(self, head: _Pending) -> None:
        """The head may be late: another one is asked. Each time it gets twice as long, so that it comes also where
        everything has become slow."""
        waited = time.monotonic() - (head.first_at or 0.0)
        if waited > max(self._told, _TELL):
            self._told = waited + _TELL
            _log.warning("%s has been waited for for %.0f s", head.unit, waited)
        limit = self._late.limit if head.made_at is None else self._far.limit
        if head.n_late == 0 and self._team.is_suspected(head.attempts[-1].index):
            limit = 0.0
        if head.age < limit * 2 ** head.n_late or len(self._team.entries) <= len(head.attempts):
            return
        self.counts["hedged"] += 1
        head.n_late += 1
        late = head.attempts[-1].index
        self._ask(head)
        del head.attempts[:-2]  # never more than two
        self._count()
        # what is on its way may be slow because of this node's own link: then another one is no sooner
        if head.made_at is None:
            self._suspect(late, head)

    def _suspect(self, index: int, but: _Pending) -> None:
        """Asks others for what the node of that producer was asked for, and for what would have to come from there."""
        if not self._team.suspect(index):
            return
        node = self._team.node_of(index)
        self.counts["suspected"] += 1
        _log.warning("node %s is suspected: others are asked", node)
        for pending in self._queue:
            if pending is but or (pending.made_at is not None and self._team.is_here(index)):
                continue
            if any(self._team.node_of(attempt.index) == node for attempt in pending.attempts):
                pending.attempts.clear()  # drops the references, and with them what still comes
                pending.made_at = None
                self._ask(pending)
                self.counts["reissued"] += 1

    def _lose(self, head: _Pending, attempt: _Attempt, error: Exception) -> None:
        """A producer, its node, or what it had made, is gone."""
        _log.warning("%s is lost, and asked for again: %s", head.unit, str(error).splitlines()[0])
        self.counts["lost"] += 1
        head.n_lost += 1
        if head.n_lost > _MOST_LOST:
            raise errors.make({"class": "SpreadResourceError", "kind": "failed",
                               "text": f"lost {head.n_lost} times, with its producers: {error}"}, None, head.unit) from error
        self._team.fail(attempt.index, isinstance(error, ray.exceptions.ActorDiedError))
        head.attempts.remove(attempt)
        head.made_at = None
        if not isinstance(error, ray.exceptions.RayActorError):
            self._suspect(attempt.index, head)
        if not head.attempts:
            self._rest(min(_LONGEST_REST, _SLICE * 2 ** (head.n_lost - 1)))
            self._ask(head)
            self.counts["reissued"] += 1

    def _refuse(self, head: _Pending, attempt: _Attempt, value: dict[str, Any]) -> None:
        """The pipeline over there has failed."""
        first, head.error = head.error, errors.make(value["error"], value["ip"], head.unit)
        if first is not None or value["error"]["class"] != _TRIED_ELSEWHERE or len(self._team.entries) < 2:
            raise head.error
        _log.warning("%s; tried once more elsewhere", head.error)
        self._team.fail(attempt.index, dead=False)
        if len(head.attempts) == 1:
            self._ask(head)
        head.attempts.remove(attempt)
        head.made_at = None
