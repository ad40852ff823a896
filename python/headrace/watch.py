"""Who wants to see a run while it goes on: a page in the browser, and a file for hr-report."""
from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from .record import Record

if TYPE_CHECKING:
    from ._dashboard import Dashboard

_log = logging.getLogger("headrace")

# between two looks
_INTERVAL = 1.0


class _Watched(Protocol):
    def stats(self) -> str: ...


def _open_page(stats: str, where: str | bool) -> Dashboard:
    try:
        from ._dashboard import Dashboard
    except ImportError as error:
        raise RuntimeError("dashboard: headrace was built without it, or libsoup 3 is not installed here (libsoup-3.0-0);"
                           f" {error}") from None
    page = Dashboard(stats, where if isinstance(where, str) else "", os.environ.get("HR_DASHBOARD_TOKEN"))
    _log.info("dashboard: %s", page.uri)
    return page


class Watch:
    """A thread that looks at the numbers of a run once a second, and shows them.

    :param pipeline: whose ``stats()`` any thread may call.
    :param head: what the run is, for the record.
    :param dashboard: ``"HOST:PORT"``; ``True``: this machine, a free port.
    :param record: the file.
    """

    def __init__(self, pipeline: _Watched, head: Mapping[str, Any], dashboard: str | bool | None,
                 record: str | os.PathLike[str] | None) -> None:
        self._pipeline = pipeline
        self._owner = os.getpid()  # a fork's copy has no thread, and writes nothing
        self._stats = pipeline.stats()
        self._page = _open_page(self._stats, dashboard) if isinstance(dashboard, str) or dashboard else None
        try:
            self._record = Record(record, head) if record is not None else None
        except BaseException:
            self._close_page()
            raise
        self._lock = threading.Lock()  # of what is shown
        self._over = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="headrace-watch", daemon=True)
        self._thread.start()

    @property
    def uri(self) -> str | None:
        """The page's address; ``None``: there is none, or it is closed."""
        return self._page.uri if self._page is not None else None

    # ---- the thread ----

    def _work(self) -> None:
        while not self._over.is_set():
            self._wake.wait(_INTERVAL)
            self._wake.clear()
            if self._over.is_set():
                return
            stats = self._read()
            with self._lock:
                if not self._over.is_set():
                    self._show(stats)
                    if self._record is not None:
                        self._record.add(stats)

    def _read(self) -> str:
        try:
            self._stats = self._pipeline.stats()
        except Exception as error:  # its process is being started, or has died: who asks for a batch is told
            _log.debug("no new numbers: %s", error)
        return self._stats

    def _show(self, stats: str) -> None:
        if self._page is not None:
            self._page.show(stats)

    # ---- what the loader tells ----

    def look(self) -> None:
        """There is something new: at once, not in a second."""
        self._wake.set()

    def note(self, kind: str, text: str) -> None:
        """A sample that was skipped, a warning: any thread."""
        if self._page is not None:
            self._page.note(kind, text)

    def end(self) -> None:
        """The last batch has been given."""
        self._end("ended", 0)

    def fail(self, error: BaseException) -> None:
        """The run has failed, or could not begin."""
        self.note("error", str(error) or type(error).__name__)
        self._end("failed", 1)

    def close(self) -> None:
        """Nobody looks any more. A run that goes on is told as one that was stopped."""
        if os.getpid() != self._owner:
            return
        self._end("stopped", 0)
        if threading.current_thread() is not self._thread:  # which the garbage collector may run in
            self._thread.join()
        self._close_page()

    def _close_page(self) -> None:
        if self._page is not None:
            self._page.close()

    def _end(self, status: str, code: int) -> None:
        if self._over.is_set() or os.getpid() != self._owner:
            return
        told = json.loads(self._read())
        if status == "ended" and told["skipped"]:
            status, code = "ended-with-skipped", 3
        told.update(status=status, exit=code)
        stats = json.dumps(told)
        with self._lock:
            if self._over.is_set():
                return
            self._over.set()
            self._wake.set()
            self._show(stats)
            if self._record is not None:
                self._record.end(stats)
