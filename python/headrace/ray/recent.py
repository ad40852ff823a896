"""The last seconds of a run: what changed between two looks at its statistics."""
from __future__ import annotations

import collections
from typing import Any

from .verdict import judge

# as the core has it (docs/stats.md): so many seconds, or as many as so many steps took, at most a minute
_SECONDS = 10.0
_STEPS = 20
_MOST = 60.0
_SUMS = ("wall_s", "prepare_s", "train_s", "transfer_wait_s", "steps", "samples")
_OF_LINK = ("units", "bytes", "made_s", "pulled_s")
_OF_PRODUCER = ("units", "bytes", "made_s")


def _less(now: dict[str, Any], then: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: now[name] - then.get(name, 0) for name in names}


def _producer(now: dict[str, Any], then: dict[str, Any] | None) -> dict[str, Any]:
    """What one has done since; of one that was started anew in between, all of it."""
    if "error" in now:
        return now
    if then is None or then.get("pid") != now["pid"] or "error" in then:
        then = {}
    made = {**now, **_less(now, then, _OF_PRODUCER)}
    if now["pipeline"] is None:
        return made
    before = {element["name"]: element for element in (then.get("pipeline") or {}).get("elements", [])}
    elements = [{**element, **_less(element, before.get(element["name"], {}), ("working_s",))}
                for element in now["pipeline"]["elements"]]
    # it has the same of itself
    own = now["pipeline"].get("recent") or now["pipeline"]
    made["pipeline"] = {"elements": elements, "bottleneck": own.get("bottleneck"), "advice": own.get("advice")}
    return made


def subtract(now: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    """The statistics of the time between two of them, as far as a verdict needs them."""
    told = {producer["index"]: producer for producer in then["producers"]}
    sums = _less(now, then, _SUMS)
    whole = sums["prepare_s"] + sums["train_s"]
    stood = min(max(sums["transfer_wait_s"], 0.0), sums["train_s"])
    return {**now, **sums, "cold_start_s": 0.0, "wait_ratio": (sums["prepare_s"] + stood) / whole if whole > 0 else None,
            "links": {ip: _less(link, then["links"].get(ip, {}), _OF_LINK) for ip, link in now["links"].items()},
            "producers": [_producer(producer, told.get(producer["index"])) for producer in now["producers"]]}


class Recent:
    """What there was a while ago."""

    def __init__(self) -> None:
        self._rows: collections.deque[dict[str, Any]] = collections.deque()

    def add(self, stats: dict[str, Any]) -> dict[str, Any] | None:
        """The statistics of now.

        :returns: ``seconds``, ``steps``, ``samples``, ``wait_ratio``, ``bottleneck`` and ``advice`` of the last seconds;
            ``None``: there are none yet, or nobody has looked in between.
        """
        while self._rows and stats["wall_s"] - self._rows[0]["wall_s"] > _MOST:
            self._rows.popleft()
        long_ago = [row for row in self._rows if stats["wall_s"] - row["wall_s"] >= _SECONDS and stats["steps"] - row["steps"] >= _STEPS]
        then = long_ago[-1] if long_ago else self._rows[0] if self._rows else None
        self._rows.append(stats)
        if then is None or stats["wall_s"] <= then["wall_s"]:
            return None
        between = subtract(stats, then)
        return {"seconds": between["wall_s"], "steps": between["steps"], "samples": between["samples"],
                "wait_ratio": between["wait_ratio"], **judge(between, least_steps=0)}
