"""An actor that knows who makes units and where. Ranks ask it now and then; no unit waits for it, and none passes it."""
from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import threading
import time
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .errors import shorten
from .producer import CONTROL, Producer
from .spec import NAMESPACE, Spec

# how often it looks whether there is anybody left
_LOOK = 1.0
# a node that has no room so long has none
_ROOM = 30.0
# at the end of the name of a producer that was to be on such a node: the first one may not be quite gone
_ELSEWHERE = "-elsewhere"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A producer, as ranks hear of it."""

    index: int
    actor: Any
    node: str | None  # None: it is not known yet
    ip: str | None


class _Place:
    """A producer, and what is known about where it is."""

    def __init__(self, actor: Any, chosen: str | None) -> None:
        self.actor = actor
        self.chosen = chosen  # its node, by us
        self.since = time.monotonic()
        self.where: dict[str, Any] | None = None
        self.failed: str | None = None  # why it is not there any more
        self.ask()

    def ask(self) -> None:
        """Whether it is there, and where."""
        self.asked = self.actor.where.options(concurrency_group=CONTROL).remote()

    @property
    def node(self) -> str | None:
        """Where it is, or is to be."""
        return self.where["node"] if self.where is not None else self.chosen

    @property
    def has_no_room(self) -> bool:
        return self.chosen is not None and self.where is None and time.monotonic() - self.since > _ROOM

    def look(self) -> bool:
        """Whether it is still there, as far as that can be told without waiting."""
        done, _ = ray.wait([self.asked], timeout=0)
        if done:
            try:
                self.where = ray.get(done[0])
            except ray.exceptions.ActorUnavailableError:  # it is being started anew
                self.ask()
            except ray.exceptions.RayError as error:
                self.failed = shorten(error)
                return False
        return True


class Directory:
    """Made by whichever rank comes first. Its state is what ranks tell it every few seconds, and names; so it may be
    killed, and is started anew."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._places: dict[int, _Place] = {}
        self._signs: dict[str, float] = {}  # of ranks: of each loader its own
        self._last = time.monotonic()
        if ray.get_runtime_context().was_current_actor_reconstructed:
            self._signs[""] = self._last  # there may be ranks that it has not heard of yet
        self._lock = threading.Lock()
        self._pack: str | None = None  # the node that all shall be on
        threading.Thread(target=self._watch, name="headrace-watch", daemon=True).start()

    # ---- what ranks call ----

    def join(self, rank: int, sign: str, node: str, dead: list[int]) -> tuple[list[Entry], str | None]:
        """A rank's sign of life, from that node: all producers there are, and why others are gone.

        :param dead: those that will not come back, as far as the rank can tell.
        """
        with self._lock:
            self._signs[sign] = self._last = time.monotonic()
            failed: str | None = None
            self._pack = self._pack or node
            for index in dead:
                if index in self._places:
                    self._places[index].ask()
            for index, place in list(self._places.items()):
                if not place.look():
                    failed = place.failed
                    del self._places[index]
                elif place.has_no_room:
                    ray.kill(place.actor)
                    self._places[index] = _Place(self._make(index, None, _ELSEWHERE), None)
            aligned, pack = self._spec.placement == "aligned", self._spec.placement == "pack"
            for index in range(self._spec.n_producers):
                if index not in self._places and (not aligned or self._spec.is_beside(index, rank)):
                    chosen = node if aligned else self._pack if pack else self._find_emptiest()
                    self._places[index] = _Place(self._make(index, chosen), chosen)
            return [Entry(index, place.actor, place.where["node"] if place.where else None,
                          place.where["ip"] if place.where else None) for index, place in sorted(self._places.items())], failed

    def leave(self, sign: str) -> None:
        """That one is done. With the last one all actors go; who was killed is there as long as it may only be silent."""
        with self._lock:
            self._signs.pop(sign, None)
            now = time.monotonic()
            if all(now - at > self._spec.linger for at in self._signs.values()):
                self._end()

    def get_pid(self) -> int:
        return os.getpid()

    # ---- producers ----

    def _find_emptiest(self) -> str | None:
        """The node with the fewest producers for its processors; Ray's own SPREAD leaves whole nodes out."""
        cpus = {node["NodeID"]: node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]}
        taken = collections.Counter(place.node for place in self._places.values())
        least = max(self._spec.num_cpus, 1e-3)
        return min((node for node, n in cpus.items() if n >= least), key=lambda node: ((taken[node] + 1) / cpus[node], node),
                   default=None)

    def _make(self, index: int, node: str | None, suffix: str = "") -> Any:
        """On that node, or where Ray likes."""
        spec = self._spec
        strategy: Any = NodeAffinitySchedulingStrategy(node, soft=True) if node is not None else "SPREAD"
        return ray.remote(concurrency_groups={CONTROL: 1})(Producer).options(
            name=spec.producer_name(index) + suffix, namespace=NAMESPACE, lifetime="detached", get_if_exists=True,
            num_cpus=spec.num_cpus, max_restarts=-1, max_task_retries=0, scheduling_strategy=strategy,
            max_concurrency=spec.at_once).remote(spec, index)

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK)
            with self._lock:
                if time.monotonic() - self._last > self._spec.linger:
                    self._end()
                    return

    def _end(self) -> None:
        """By their names: one that was started anew may not have met all of them."""
        for actor in ray.util.list_named_actors(all_namespaces=True):
            if actor["namespace"] == NAMESPACE and actor["name"].startswith(self._spec.producer_name("")):
                with contextlib.suppress(ValueError):  # it has just gone
                    ray.kill(ray.get_actor(actor["name"], NAMESPACE))
        ray.kill(ray.get_actor(self._spec.name, NAMESPACE))


def find_directory(spec: Spec) -> Any:
    """The one of that run, which is made if there is none."""
    # with a strategy that is said: else it would be in the placement group of a rank whose group takes its children in,
    # and go with that rank
    return ray.remote(Directory).options(
        name=spec.name, namespace=NAMESPACE, lifetime="detached", get_if_exists=True, num_cpus=0, max_restarts=-1,
        max_task_retries=0, scheduling_strategy="DEFAULT").remote(spec)
