"""Where the time of a rank goes: the trainer's, and what it waits for."""
from __future__ import annotations

import collections
import time


class Clock:
    """As the statistics of a pipeline count (docs/stats.md): the first batch's time is apart."""

    def __init__(self) -> None:
        self.cold_start_s: float | None = None
        self.n_steps = 0
        self._prepare_s = self._train_s = 0.0
        self._began, self._cpu_began = time.monotonic(), time.process_time()
        self._ended: tuple[float, float] | None = None
        self._waits = True  # what starts before the first batch is its time as well
        self._since = self._began  # the trainer waits, or works

    def ask(self) -> None:
        """The trainer asks for a batch."""
        if not self._waits:
            now = time.monotonic()
            self._train_s += now - self._since
            self._waits, self._since = True, now

    def give(self) -> None:
        """It gets it."""
        now = time.monotonic()
        waited = now - self._since
        if self.cold_start_s is None:
            self.cold_start_s = waited
        else:
            self._prepare_s += waited
        self._waits, self._since = False, now
        self.n_steps += 1

    def end(self) -> None:
        """The run is over."""
        self._ended = self._ended or (time.monotonic(), time.process_time())

    def read(self) -> dict[str, float]:
        """``prepare_s``, ``train_s``, ``wall_s``, ``cpu_s`` up to now: a wait or a step that goes on counts as far as it has
        come."""
        now, cpu = self._ended or (time.monotonic(), time.process_time())
        going_on = now - self._since if self.n_steps and self._ended is None else 0.0
        return {"prepare_s": self._prepare_s + (going_on if self._waits else 0.0),
                "train_s": self._train_s + (0.0 if self._waits else going_on),
                "wall_s": now - self._began, "cpu_s": cpu - self._cpu_began}


class Link:
    """What has come from one node: ``made_s`` is its producers' time, ``pulled_s`` how long units came over; two
    at once share that time, so that bytes by time is what the link carries."""

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
