"""What SpreadLoader puts in the place of a Pipeline."""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .._core import Pipeline
from .clock import Clock
from .producer import join_document
from .puller import Puller
from .spec import Spec
from .team import Team
from .then import Then
from .unit import Made, Unit
from .verdict import judge


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
        self._at = (0, 0, 0)  # epoch and step in it to begin with, and how many steps were before
        self._n_steps: int | None = None
        self._next = 0
        self._notes: list[dict[str, Any]] = []
        self._puller: Puller | None = None
        self._team: Team | None = None
        self._stopped = False
        self._last_stats: str | None = None  # of a run that has ended: its producers may be gone

    def __str__(self) -> str:
        return str(self._made)

    @property
    def elements(self) -> list[str]:
        return self._made.elements

    # ---- the run ----

    def resume(self, checkpoint: str, *, force: bool = False) -> None:
        self._made.resume(checkpoint, force=force)  # that it is one at all
        document = json.loads(checkpoint)
        self._checkpoint, self._at = checkpoint, (document["epoch"], document["step"], document["steps"])

    def start(self) -> None:
        if self._stopped:
            return
        self._clock = Clock()
        self._team = Team(self._spec, self._rank)
        try:
            per_epoch = self._team.plan(self._checkpoint)
        except BaseException:  # KeyboardInterrupt, too
            self._team.leave()
            raise
        _, _, before = self._at
        ends = ([max(0, self._epochs * per_epoch)] if self._epochs else []) + ([self._steps] if self._steps else [])
        self._n_steps = min(ends) if per_epoch > 0 and ends else 0 if per_epoch == 0 else None
        self._next = before
        self._puller = Puller(self._team, self._units(per_epoch), self._depth, self._then)

    def _units(self, per_epoch: int) -> Iterator[Unit]:
        epoch, step, number = self._at
        while self._n_steps is None or number < self._n_steps:
            if step >= per_epoch:
                epoch, step = epoch + 1, 0
            yield Unit(epoch, step * self._spec.world + self._rank, self._spec.world)
            step, number = step + 1, number + 1

    def pull(self) -> Made | None:
        if self._stopped:
            return None
        assert self._puller is not None, "a loader starts before it pulls"
        self._clock.ask()
        if (arrived := self._puller.take()) is None:
            return None
        unit, told = arrived
        if self._then is not None:
            told["fields"] = self._then.pull()
        self._clock.give()
        made = Made(unit, told, self._next)
        self._next += 1
        self._notes += [{"type": "skipped", **sample} for sample in made.samples if sample["error"] is not None]
        return made

    def pop_message(self) -> dict[str, Any] | None:
        return self._notes.pop(0) if self._notes else None

    def stop(self) -> None:
        self._stopped = True

    def wait(self) -> None:
        if self._puller is not None:
            self._puller.close()
        if self._then is not None:
            self._then.close()
        if self._team is not None:
            self._last_stats = self.stats()
            self._team.leave()

    # ---- numbers and places ----

    def checkpoint(self, made: Made) -> str:
        assert self._puller is not None
        return join_document(self._puller.fixed, {**made.position, "steps": made.step + 1})

    @property
    def n_steps(self) -> int | None:
        return self._n_steps

    def stats(self) -> str:
        """As docs/ray.md has them: this rank's, and what the producers tell of themselves."""
        if self._last_stats is not None:
            return self._last_stats
        clock, puller, team = self._clock, self._puller, self._team
        stats: dict[str, Any] = {
            "rank": self._rank, "world": self._spec.world, "placement": self._spec.placement, "node": None,
            "steps": clock.n_steps, "n_steps": self._n_steps, "wait_ratio": clock.wait_ratio,
            "prepare_s": clock.prepare_s, "train_s": clock.train_s, "cold_start_s": clock.cold_start_s,
            "units": {}, "peak_units": 0, "links": {}, "producers": []}
        if puller is not None and team is not None:
            stats.update(node=team.ip, units=dict(puller.counts), peak_units=puller.peak,
                         links={ip: vars(link) for ip, link in sorted(puller.links.items())},
                         producers=team.gather_stats())
        return json.dumps({**stats, "verdict": judge(stats)})
