"""What SpreadLoader puts in the place of a Pipeline."""
from __future__ import annotations

import collections
import json
import logging
import resource
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .._core import Error, Pipeline
from . import unplug
from .clock import Clock
from .producer import join_document
from .puller import Puller
from .recent import Recent
from .spec import Spec
from .team import Team
from .then import Then
from .unit import Made, Unit
from .verdict import judge

_log = logging.getLogger("headrace")

# so often in a second a rank asks producers for their numbers, and a producer is asked by all ranks
_ASKS = 20


class SpreadPipeline:
    """Has the methods of :class:`headrace.Pipeline` that a loader calls, with the same results and errors.

    :param made: the pipeline of the text, which is not run here.
    """

    def __init__(self, made: Pipeline, spec: Spec, *, rank: int, epochs: int, steps: int, depth: int,
                 then: Then | None) -> None:
        self._made = made
        self._spec = spec
        self._rank = rank
        self._epochs, self._steps = epochs, steps
        self._depth = depth
        self._then = then
        self._clock = Clock()
        self._checkpoint: str | None = None
        self._at = (0, 0, 0)  # epoch and slice of rank 0 in it to begin with, and how many steps were before
        self._n_slices = 0  # of an epoch
        self._n_steps: int | None = None
        self._next = 0
        self.on_warning: Callable[[str], None] | None = None  # who else wants to hear of them at once
        self._notes: list[dict[str, Any]] = []
        self._puller: Puller | None = None
        self._team: Team | None = None
        self._stopped = self._failed = self._ended = False
        self._n_samples = 0
        self._skipped: collections.Counter[str] = collections.Counter()
        self._lock = threading.Lock()  # of what stats() needs from one call to the next
        self._gathered: list[dict[str, Any]] = []  # of producers
        self._gathered_at = 0.0
        self._ips: dict[int, str] = {}  # of producers, where they were last
        self._recent = Recent()
        self._last_stats: str | None = None  # of a run that has ended: its producers may be gone

    def __str__(self) -> str:
        return str(self._made)

    @property
    def elements(self) -> list[str]:
        return self._made.elements

    def to_shown_string(self) -> str:
        return self._made.to_shown_string()

    def describe(self) -> dict[str, Any]:
        """What the run is, for its record: ranks of one run have the same name."""
        return {"pipeline": self.to_shown_string(), "then": self._then.to_shown_string() if self._then is not None else None,
                "run": self._spec.name, "rank": self._rank, "world": self._spec.world}

    # ---- the run ----

    def resume(self, checkpoint: str, *, force: bool = False) -> None:
        self._made.resume(checkpoint, force=force)  # that it is one at all
        document = json.loads(checkpoint)
        # of rows it says how many there were, of all ranks
        at = document["step"] * (1 if self._spec.rows else self._spec.world)
        self._checkpoint, self._at = checkpoint, (document["epoch"], at, document["steps"])

    def start(self) -> None:
        if self._stopped:
            return
        self._clock = Clock()
        self._team = Team(self._spec, self._rank)
        unplug.watch(self)
        try:
            self._n_slices = self._team.plan(self._checkpoint)
        except BaseException:  # KeyboardInterrupt, too
            self._failed = True
            self._team.leave()
            raise
        self._n_steps = self._find_end()
        self._puller = Puller(self._team, self._units(), self._depth, self._then, self._warn)

    def _find_end(self) -> int | None:
        """How many steps there are, with those before; ``None``: as many as somebody takes."""
        epoch, at, before = self._at
        if self._n_slices == 0:
            return 0
        ends = [self._steps] if self._steps else []
        if self._epochs > epoch:
            ends.append(before + self._steps_of(self._n_slices - at) + (self._epochs - epoch - 1) * self._steps_of(self._n_slices))
        elif self._epochs:
            ends.append(before)
        return min(ends, default=None)

    def _steps_of(self, n_slices: int) -> int:
        return -(-n_slices // self._spec.world)

    def _units(self) -> Iterator[Unit]:
        epoch, at, number = self._at
        while self._n_steps is None or number < self._n_steps:
            if at >= self._n_slices:
                epoch, at = epoch + 1, 0
            yield Unit(epoch, at + self._rank, self._spec.world, at % self._spec.world)
            at, number = at + self._spec.world, number + 1

    def pull(self) -> Made | None:
        if self._stopped:
            return None
        assert self._puller is not None, "a loader starts before it pulls"
        self._clock.ask()
        try:
            if (arrived := self._puller.take()) is None:
                self._ended = not self._stopped  # by another thread, meanwhile
                self._clock.end()
                return None
            unit, told = arrived
            if self._then is not None:
                told["fields"] = self._then.pull()
        except Error:
            self._failed = True
            self._clock.end()
            raise
        self._clock.give()
        made = Made(unit, told, self._next)
        self._next += 1
        self._count(made)
        return made

    def _count(self, made: Made) -> None:
        self._n_samples += sum(not sample["skipped"] for sample in made.samples)
        for sample in made.samples:
            if sample["error"] is not None:
                self._skipped[sample["kind"]] += 1
                self._notes.append({"type": "skipped", **sample, "error": f"on node {made.node}: {sample['error']}"})

    def _warn(self, text: str) -> None:
        """By the puller's thread, while the trainer may wait."""
        _log.warning("%s", text)
        if self.on_warning is not None:
            self.on_warning(text)

    def pop_message(self) -> dict[str, Any] | None:
        return self._notes.pop(0) if self._notes else None

    def stop(self) -> None:
        self._stopped = True

    def wait(self) -> None:
        self._end()
        if self._team is not None and self._last_stats is None:
            self._clock.end()
            self._gathered_at = 0.0
            self._last_stats = self.stats()
            self._team.leave()

    def leave(self) -> None:
        """As :meth:`wait`, for who does not even ask for numbers any more."""
        self.stop()
        self._end()
        if self._team is not None and self._last_stats is None:
            self._team.leave()

    def unplug(self) -> None:
        """Ray is about to go: nobody asks it for anything behind that, and who waits for a batch is told."""
        if self._puller is not None:
            self._puller.fail(unplug.make_error())
        with self._lock:  # somebody may just be asking for numbers
            if self._team is not None:
                self._team.unplug()

    def _end(self) -> None:
        if self._puller is not None:
            self._puller.close()
        if self._then is not None:
            self._then.close()

    # ---- numbers and places ----

    def checkpoint(self, made: Made) -> str:
        assert self._puller is not None
        position = {**made.position, "steps": self._at[2] + made.step + 1}
        if self._spec.rows:  # which one came first on this number of ranks, who made it does not know
            at = made.unit.slice - self._rank + self._spec.world
            position["epoch"], position["step"] = (made.epoch + 1, 0) if at >= self._n_slices else (made.epoch, at)
        return join_document(self._puller.fixed, position)

    @property
    def n_steps(self) -> int | None:
        return self._n_steps

    @property
    def _status(self) -> str:
        if self._failed:
            return "failed"
        if self._ended:
            return "ended-with-skipped" if self._skipped else "ended"
        if self._stopped:
            return "stopped"
        return "running" if self._team is not None else "not-started"

    def stats(self) -> str:
        """As docs/ray.md has them: this rank's, in the words of docs/stats.md, and what the producers tell of themselves."""
        with self._lock:
            return self._last_stats or self._make_stats()

    def _make_stats(self) -> str:
        puller, team, status = self._puller, self._team, self._status
        then = self._then.stats() if self._then is not None else {}
        times = self._clock.read() if team is not None else {"prepare_s": 0.0, "train_s": 0.0, "wall_s": 0.0, "cpu_s": 0.0}
        # what the device waits for copies lies in the trainer's own time
        stood = min(then.get("transfer_wait_s", 0.0), times["train_s"])
        whole = times["prepare_s"] + times["train_s"]
        stats: dict[str, Any] = {
            "status": status, "exit": 1 if self._failed else 3 if self._skipped else 0,
            "rank": self._rank, "world": self._spec.world, "placement": self._spec.placement,
            "node": team.ip if team is not None else None,
            "steps": self._clock.n_steps, "n_steps": self._n_steps, "samples": self._n_samples, "images": None,
            "skipped": dict(self._skipped), "dropped": {}, "wait_ratio": (times["prepare_s"] + stood) / whole if whole > 0 else None,
            **times, "transfer_s": then.get("transfer_s", 0.0), "transfer_wait_s": stood, "cold_start_s": self._clock.cold_start_s,
            "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "units": dict(puller.counts) if puller is not None else {}, "peak_units": puller.peak if puller is not None else 0,
            "links": {ip: dict(vars(link)) for ip, link in sorted(dict(puller.links).items())} if puller is not None else {},
            "producers": self._gather(team) if team is not None else [], "elements": then.get("elements", [])}
        return json.dumps({**stats, **judge(stats), "recent": self._recent.add(stats) if status == "running" else None})

    def _gather(self, team: Team) -> list[dict[str, Any]]:
        """What producers tell, and of those that do not answer where they were."""
        if time.monotonic() - self._gathered_at > max(len(self._gathered), self._spec.world) / _ASKS:
            self._gathered = team.gather_stats()
            self._gathered_at = time.monotonic()
            for producer in self._gathered:
                if producer.get("ip") is not None:
                    self._ips[producer["index"]] = producer["ip"]
                producer.setdefault("ip", self._ips.get(producer["index"]))
        return self._gathered
