"""What runs on the rank, between the object store and the trainer: pixels become floats only here."""
from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from .._core import Batch, Error, Pipeline

_SOURCE = "spread"


class Then:
    """A pipeline that batches pass on their way: pushed as they arrive, pulled as the trainer asks, so it works while the
    trainer does. Arrays go in without a copy."""

    def __init__(self, text: str, variables: Mapping[str, Any]) -> None:
        # behind the source, so that a text may begin with comments
        self._pipeline = Pipeline(f"appsrc name={_SOURCE} !\n{text}", variables=variables)
        if self._pipeline._split("fakesink")[1] is None:
            raise ValueError("then=: expected appsink or cudasink at its end, which batches are taken from")
        for element in self.stats()["elements"]:  # of each batch that goes in one is waited for
            if element["factory"] == "batch" or "skip" in str(self._pipeline.get(element["name"], "on-error")):
                raise ValueError(f"then=: {element['name']}: batches are whole, and each comes out as one: neither batch nor on-error=skip"
                                 " has a place there; they stand in front of appsink, in the text that producers run")
        self._started = False

    def push(self, fields: Mapping[str, Any]) -> None:
        if not self._started:
            self._started = True
            self._pipeline.start()
        self._pipeline.push(_SOURCE, fields)

    def pull(self) -> Batch:
        """What became of the oldest one that was pushed and not pulled yet."""
        batch = self._pipeline.pull()
        assert batch is not None, "it does not end before it is closed"
        return batch

    def stats(self) -> dict[str, Any]:
        """Its own (docs/stats.md)."""
        stats: dict[str, Any] = json.loads(self._pipeline.stats())
        return stats

    def to_shown_string(self) -> str:
        return self._pipeline.to_shown_string()

    def close(self) -> None:
        self._pipeline.stop()
        if self._started:
            with contextlib.suppress(Error):  # it has been raised by pull()
                self._pipeline.wait()
