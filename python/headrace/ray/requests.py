"""Answers requests of several threads with one pipeline in request mode, so that one is fetched while another decodes."""
from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable

from .._core import Batch, Error, Pipeline


class Requests:
    """A pipeline ends with its first error, and which request that was of is not told. So those that waited then are
    made once more, each by a pipeline of its own: who fails there has failed itself."""

    def __init__(self, make: Callable[[], Pipeline]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._pipeline: Pipeline | None = None
        self._waiting: collections.deque[concurrent.futures.Future[Batch]] = collections.deque()

    def take(self, epoch: int, part: int) -> tuple[Batch, str]:
        """The batch of that part of the order, and the checkpoint behind it.

        :raises headrace.Error: of this part.
        """
        ticket: concurrent.futures.Future[Batch] = concurrent.futures.Future()
        with self._lock:
            if self._pipeline is None:
                self._start()
            assert self._pipeline is not None
            pipeline = self._pipeline
            try:
                pipeline.request(epoch, part)
                self._waiting.append(ticket)
            except Error as error:  # of this request; or the pipeline has just failed, which is not told yet
                ticket.set_exception(error)
        try:
            batch = ticket.result()
            return batch, pipeline.checkpoint(batch)
        except Error:
            return self._take_alone(epoch, part)

    def _start(self) -> None:
        pipeline = self._make()
        pipeline.start()
        self._pipeline, self._waiting = pipeline, collections.deque()
        threading.Thread(target=self._pull, args=(pipeline, self._waiting), name="headrace-pull", daemon=True).start()

    def _pull(self, pipeline: Pipeline, waiting: collections.deque[concurrent.futures.Future[Batch]]) -> None:
        while True:
            try:
                batch = pipeline.pull()
            except Error as error:
                with self._lock:
                    if self._pipeline is pipeline:
                        self._pipeline = None
                    left = list(waiting)
                    waiting.clear()
                for ticket in left:
                    ticket.set_exception(error)
                pipeline.stop()
                with contextlib.suppress(Error):  # the same one
                    pipeline.wait()
                return
            assert batch is not None, "requests are never ended"
            with self._lock:
                ticket = waiting.popleft()
            ticket.set_result(batch)

    def _take_alone(self, epoch: int, part: int) -> tuple[Batch, str]:
        pipeline = self._make()
        pipeline.request(epoch, part)
        pipeline.end_requests()
        pipeline.start()
        try:
            batch = pipeline.pull()
            assert batch is not None, "what was asked for comes, or an error"
            return batch, pipeline.checkpoint(batch)
        finally:
            pipeline.stop()

    def stats(self) -> str | None:
        """Those of the pipeline at hand, as JSON."""
        with self._lock:
            return self._pipeline.stats() if self._pipeline is not None else None
