"""Where the time of a rank goes: the trainer's, and what it waits for."""
from __future__ import annotations

import collections
import time


class Clock:
    """As the statistics of a pipeline count (docs/stats.md): the first batch's time is apart."""

    def __init__(self) -> None:
        self.cold_start_s: float | None = None
        self.prepare_s = self.train_s = 0.0
        self.n_steps = 0
        self._asked = time.monotonic()  # what starts before the first batch is its time as well
        self._given: float | None = None

    def ask(self) -> None:
        """The trainer asks for a batch."""
        if self._given is not None:
            self._asked = time.monotonic()
            self.train_s += self._asked - self._given

    def give(self) -> None:
        """It gets it."""
        self._given = time.monotonic()
        waited = self._given - self._asked
        if self.cold_start_s is None:
            self.cold_start_s = waited
        else:
            self.prepare_s += waited
        self.n_steps += 1

    @property
    def wait_ratio(self) -> float | None:
        """The share of its time that the trainer waited."""
        whole = self.prepare_s + self.train_s
        return self.prepare_s / whole if whole > 0 else None


class Link:
    """What has come from one node: ``made_s`` is its producers' time, ``pulled_s`` how long units came over, from when
    they were made and asked for."""

    def __init__(self) -> None:
        self.units = self.bytes = 0
        self.made_s = self.pulled_s = 0.0


class Links(collections.defaultdict[str, Link]):
    """By address of the node."""

    def __init__(self) -> None:
        super().__init__(Link)

    def add(self, ip: str, n_bytes: int, made_s: float, pulled_s: float) -> None:
        link = self[ip]
        link.units += 1
        link.bytes += n_bytes
        link.made_s += made_s
        link.pulled_s += pulled_s
