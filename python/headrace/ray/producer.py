"""An actor that makes units: a pipeline on some node. It keeps no state between them, so it may be killed, started
anew elsewhere, and asked twice."""
from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any

import ray

from .. import _core
from .._core import Pipeline
from ..convert import FRAMEWORKS, convert
from .errors import describe
from .requests import Requests
from .spec import Spec

# of a checkpoint, what differs from unit to unit; all else is the same for the whole run
_POSITION = ("epoch", "step", "steps", "rank", "row", "skipped")
# … and of each source where to begin to read
_START = ("unit", "byte", "first")


def split_document(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is the same for all units of a run, and where this one is."""
    document: dict[str, Any] = json.loads(text)
    position = {name: document.pop(name) for name in _POSITION}
    position["data"] = [{name: source.pop(name) for name in _START} for source in document["data"]]
    return document, position


def join_document(fixed: dict[str, Any], position: dict[str, Any]) -> str:
    """The checkpoint again, as the core writes it."""
    data = [{**source, **start} for source, start in zip(fixed["data"], position["data"], strict=True)]
    return json.dumps({**fixed, **position, "data": data})


# a group of threads of its own for calls that shall not stand behind units
CONTROL = "control"


def _count_steps(pipeline: Pipeline) -> int:
    """They are known when there is a batch, or when the first one has failed, which is its unit's business."""
    try:
        pipeline.pull()
    except _core.Error:
        if pipeline.n_steps is None:
            raise
    assert pipeline.n_steps is not None, "lines are counted before the first batch"
    return pipeline.n_steps


class Producer:
    """What ``ray.remote`` makes an actor of."""

    def __init__(self, spec: Spec, index: int) -> None:
        self._spec = spec
        self._index = index
        self._requests = Requests(spec.make_pipeline)
        self._to_array = FRAMEWORKS["numpy"]()
        self._where = {"node": ray.get_runtime_context().get_node_id(), "ip": ray.util.get_node_ip_address(),
                       "pid": os.getpid(), "index": index}
        self._n_units = self._n_bytes = 0
        self._made_s = 0.0

    def where(self) -> dict[str, Any]:
        """Which node it is on."""
        return self._where

    def produce(self, epoch: int, part: int, with_document: bool) -> dict[str, Any]:
        """A part of the order: docs/order.md, request mode. A pure function of it.

        :param with_document: with what is the same in all checkpoints of the run, for who has not got it yet.
        """
        begin = time.monotonic()
        try:
            batch, document = self._requests.take(epoch, part)
            fixed, position = split_document(document)
            fields = {name: convert(batch[name], self._to_array) for name in batch.keys()}
        except Exception as error:  # whatever it is, the rank is told who and where
            return {**self._where, "error": describe(error)}
        took = time.monotonic() - begin
        self._n_units += 1
        self._n_bytes += batch.nbytes
        self._made_s += took
        fixed_text = json.dumps(fixed, sort_keys=True)
        return {**self._where, "fields": fields, "samples": batch.samples, "place": batch.place, "nbytes": batch.nbytes,
                "position": position, "run": hashlib.sha256(fixed_text.encode()).hexdigest(),
                "fixed": fixed if with_document else None, "made_s": took}

    def plan(self, checkpoint: str | None) -> dict[str, Any]:
        """How many slices an epoch has; with a checkpoint after it has been found to fit."""
        try:
            pipeline = self._spec.make_epoch()
            pipeline.start()
            try:
                n_steps = pipeline.n_steps if pipeline.n_steps is not None else _count_steps(pipeline)
            finally:
                pipeline.stop()
            if checkpoint is not None:
                resumed = self._spec.make_pipeline()
                resumed.resume(checkpoint)
                resumed.start()
                resumed.stop()
        except Exception as error:  # as above
            return {**self._where, "error": describe(error)}
        return {**self._where, "n_slices": n_steps * (1 if self._spec.rows else self._spec.world)}

    def stats(self) -> dict[str, Any]:
        """The pipeline's own (docs/stats.md), and what became of it."""
        text = self._requests.stats()
        return {**self._where, "units": self._n_units, "bytes": self._n_bytes, "made_s": self._made_s,
                "pipeline": json.loads(text) if text is not None else None}
