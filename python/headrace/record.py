"""A run's numbers in a file, for hr-report: docs/report.md has the format."""
from __future__ import annotations

import datetime
import errno
import json
import logging
import os
import socket
from collections.abc import Mapping
from typing import Any

from ._core import __version__

_log = logging.getLogger("headrace")

_FORMAT = 1


def _open(path: str) -> int:
    """Of a pipe that nobody reads open() would wait, and no signal would end that."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    except OSError as error:
        why = "nobody reads this pipe; start its reader first" if error.errno == errno.ENXIO else error.strerror
        raise OSError(error.errno, f"record: {why}", path) from None
    os.set_blocking(fd, True)
    return fd


class Record:
    """What ``hr-launch --record`` writes: a head, a row now and then, and the end.

    :param head: what the run is: its ``pipeline``, and whatever else tells it from others.
    """

    def __init__(self, path: str | os.PathLike[str], head: Mapping[str, Any]) -> None:
        self._path = os.fspath(path)
        self._file = open(_open(self._path), "w", encoding="utf-8")
        self._wrong: OSError | None = None  # the first one
        started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._write(json.dumps({"record": _FORMAT, "version": __version__, **head, "started": started,
                                "host": socket.gethostname(), "processors": len(os.sched_getaffinity(0))}))

    def _write(self, line: str) -> None:
        if self._wrong is None:
            try:
                self._file.write(line + "\n")
                self._file.flush()
            except OSError as error:
                self._wrong = error

    def add(self, stats: str) -> None:
        """The numbers up to now, JSON."""
        self._write(f'{{"row": {stats}}}')

    def end(self, stats: str) -> None:
        """The numbers of the whole run. What could not be written is told: a training run does not end for that."""
        self._write(f'{{"end": {stats}}}')
        try:
            self._file.close()
        except OSError as error:
            self._wrong = self._wrong or error
        if self._wrong is not None:
            _log.warning("record: %s: %s; its last lines are missing", self._path, self._wrong.strerror)
