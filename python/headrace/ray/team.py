"""The producers, as a rank sees them: who is there, who is asked for a unit, who is not for the time being."""
from __future__ import annotations

import logging
import secrets
import time
from typing import Any

import ray

from . import errors, unplug
from .directory import Entry, find_directory
from .producer import CONTROL
from .spec import Spec
from .suspects import Suspects
from .unit import Unit

_log = logging.getLogger("headrace")

# between two signs of life
_SIGN = 2.0
# a directory that does not answer so long is asked anew
_PATIENCE = 30.0
# a producer that is gone is asked again after, if others are there
_DOWN = 5.0
# somebody must have answered within; who waits is told before
_COME = 120.0
_TELL = 15.0
_POLL = 0.05
_STATS = 2.0


class Team:
    """Used by one thread at a time. Nothing in here waits, but :meth:`plan`."""

    def __init__(self, spec: Spec, rank: int) -> None:
        self._spec = spec
        self._rank = rank
        context = ray.get_runtime_context()
        self._worker, self._node = context.get_worker_id(), context.get_node_id()
        self._sign = secrets.token_hex(8)  # of this loader: there may be others of this rank, or have been
        self.ip: str = ray.util.get_node_ip_address()
        self._directory = find_directory(spec)
        self._entries: dict[int, Entry] = {}
        self._nodes: dict[int, str] = {}  # where they were last, as they tell themselves
        self._down: dict[int, float] = {}  # until when
        self._asked: Any = None
        self._asked_at = 0.0
        self._dead: set[int] = set()
        self._failed: str | None = None  # why there is nobody, if that is known
        self._unplugged = False
        self.suspects = Suspects()

    # ---- who is there ----

    def refresh(self) -> None:
        """Gives a sign of life now and then, and takes what has changed."""
        if not self.is_connected:
            raise unplug.make_error()
        now = time.monotonic()
        if self._asked is not None:
            done, _ = ray.wait([self._asked], timeout=0)
            if done or now - self._asked_at > _PATIENCE:
                try:
                    if done:
                        self._take(ray.get(done[0]))
                    else:
                        self._directory = find_directory(self._spec)
                except ray.exceptions.RayError as error:  # it is started anew, or has gone with those that were done
                    self._failed = errors.shorten(error)
                    self._directory = find_directory(self._spec)
                self._asked = None
        elif now - self._asked_at > (_SIGN if all(entry.node for entry in self.entries) and self.entries else _POLL):
            self._asked = self._directory.join.remote(self._rank, self._sign, self._node, sorted(self._dead))
            self._asked_at = now
            self._dead.clear()

    def _take(self, told: tuple[list[Entry], str | None]) -> None:
        entries, failed = told
        self._failed = failed or self._failed
        self._entries = {entry.index: entry for entry in entries}
        for entry in entries:
            if entry.node is not None:
                self._nodes.setdefault(entry.index, entry.node)

    @property
    def is_connected(self) -> bool:
        """Whether Ray is there as it was; who asks it for anything when it is not starts a cluster."""
        return not self._unplugged and ray.is_initialized() and bool(ray.get_runtime_context().get_worker_id() == self._worker)

    def unplug(self) -> None:
        """Ray is about to go."""
        self._unplugged = True

    @property
    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def plan(self, checkpoint: str | None) -> int:
        """How many slices an epoch has, which all producers know; and whether the checkpoint fits. Waits as long as lines
        are counted; gives signs of life meanwhile."""
        begin, told_at = time.monotonic(), _TELL
        while True:
            self.refresh()
            for entry in self.entries:
                if entry.node is None or self._down.get(entry.index, 0) > time.monotonic():
                    continue
                asked = entry.actor.plan.remote(checkpoint)
                while not ray.wait([asked], timeout=_SIGN)[0]:
                    self.refresh()
                try:
                    told = ray.get(asked)
                except ray.exceptions.RayError as error:
                    self._failed = errors.shorten(error)
                    self.fail(entry.index, isinstance(error, ray.exceptions.ActorDiedError))
                    continue
                if "error" in told:
                    raise errors.make(told["error"], told["ip"], None)
                self.saw(entry.index, told["node"])
                return int(told["n_slices"])
            waited = time.monotonic() - begin
            if waited > min(_COME, told_at):
                text = (f"no producer has come within {waited:.0f} s; has the cluster {self._spec.num_cpus:g} processors left for"
                        f" each of {self._spec.n_producers} (num_cpus=, producers=), and all nodes headrace?"
                        + (f" {self._failed}" if self._failed is not None else ""))
                if waited > _COME:
                    raise errors.make({"class": "SpreadCoreError", "kind": "state", "text": text}, None, None)
                _log.warning("%s", text)
                told_at = _COME
            time.sleep(_POLL)

    def leave(self) -> None:
        """The rank is done."""
        if self.is_connected:
            self._directory.leave.remote(self._sign)

    def gather_stats(self) -> list[dict[str, Any]]:
        """Of all producers; who does not answer in time is told so."""
        entries = sorted(self.entries, key=lambda entry: entry.index) if self.is_connected else []
        asked = [entry.actor.stats.options(concurrency_group=CONTROL).remote() for entry in entries]
        done = set(ray.wait(asked, num_returns=len(asked), timeout=_STATS)[0]) if asked else set()
        gathered: list[dict[str, Any]] = []
        for entry, reference in zip(entries, asked, strict=True):
            told = {"index": entry.index, "node": self.node_of(entry.index), "error": f"no answer within {_STATS:.0f} s"}
            if reference in done:
                try:
                    told = ray.get(reference)
                except ray.exceptions.RayError as error:
                    told["error"] = errors.shorten(error)
            gathered.append(told)
        return gathered

    # ---- who is asked ----

    def pick(self, unit: Unit, beside: frozenset[int] = frozenset(), behind: frozenset[int] = frozenset()) -> Entry | None:
        """Who makes the unit: somebody else than those beside, if there is; ``None``: nobody is known yet.

        :param behind: who has not made yet what is not waited for any longer.
        """
        now = time.monotonic()
        suspected = self.suspects.at(now)
        nodes_beside = {self.node_of(index) for index in beside}
        return min(self._entries.values(), default=None, key=lambda entry: (
            entry.index in beside, self._down.get(entry.index, 0) > now, self.node_of(entry.index) in suspected,
            entry.index in behind, self.node_of(entry.index) in nodes_beside, *self._order(entry.index, unit)))

    def _order(self, index: int, unit: Unit) -> tuple[int, ...]:
        """In turn, one further each round, so that a rank does not always get the same ones; aligned, the rank's own
        ones first."""
        if self._spec.placement != "aligned":
            n = self._spec.n_producers
            return (index - unit.slice - unit.slice // n) % n,
        own = self._spec.is_beside(index, self._rank)
        return not own, (index // unit.world - unit.step) % -(-self._spec.n_producers // unit.world), index

    def node_of(self, index: int) -> str | None:
        """Where it was last, as it tells itself; ``None``: it is not known yet."""
        return self._nodes.get(index)

    def ip_of(self, index: int) -> str | None:
        """The address of that node, for people."""
        entry = self._entries.get(index)
        return entry.ip if entry is not None else None

    def saw(self, index: int, node: str) -> None:
        """It has answered from there."""
        self._nodes[index] = node
        self._down.pop(index, None)

    def fail(self, index: int, dead: bool) -> None:
        """It is gone: for some time, in which Ray starts it anew, or for good."""
        self._down[index] = time.monotonic() + _DOWN
        if dead:
            self._dead.add(index)

    def is_here(self, index: int) -> bool:
        """Whether it is on the rank's own node; one that is gone may be started anew elsewhere."""
        return bool(index not in self._down and self.node_of(index) == self._node)

    def is_suspected(self, index: int) -> bool:
        """Whether its node is, at present."""
        return self.node_of(index) in self.suspects.at(time.monotonic())

    def suspect(self, index: int) -> bool:
        """Suspects the node that it is on; whether that is new."""
        node = self.node_of(index)
        others = {other for entry in self._entries if (other := self.node_of(entry)) is not None}
        return node is not None and self.suspects.add(node, others, time.monotonic())
