"""What all producers of a run are made of."""
from __future__ import annotations

import dataclasses
import hashlib
import json

from .._core import Pipeline

PLACEMENTS = ("aligned", "spread", "pack")
# of all actors, so that ranks that are drivers of their own find them
NAMESPACE = "headrace"


@dataclasses.dataclass(frozen=True)
class Spec:
    """The same on all ranks: its name is what they find each other by.

    :ivar text: the pipeline of a producer, in its canonical form, in request mode.
    :ivar rows: packed rows, which are numbered: each is a unit.
    :ivar linger: seconds that producers stay behind the last sign of any rank.
    """

    text: str
    world: int
    rows: bool
    placement: str
    n_producers: int
    num_cpus: float
    at_once: int
    linger: float
    job: str

    @property
    def name(self) -> str:
        made_of = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return "headrace-" + hashlib.sha256(made_of.encode()).hexdigest()[:16]

    def producer_name(self, index: int | str) -> str:
        return f"{self.name}-{index}"

    def is_beside(self, index: int, rank: int) -> bool:
        """Whether that producer is that rank's own, aligned; of fewer producers than ranks each is several ranks' own."""
        return index % self.world == rank % self.n_producers

    def make_pipeline(self) -> Pipeline:
        """For units that are asked for."""
        return Pipeline(self.text)

    def make_epoch(self) -> Pipeline:
        """For what only a run through the order knows: how many steps it has; of rows, which one rank gets all of."""
        pipeline = Pipeline(self.text)
        for name, value in {"requests": False, "epochs": 1, **({"world": 1} if self.rows else {})}.items():
            pipeline.set(None, name, value)
        return pipeline
