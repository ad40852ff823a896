"""A pipeline in a process of its own: what Loader(process=True) puts in the place of a Pipeline."""
from __future__ import annotations

import collections
import fcntl
import json
import logging
import os
import pathlib
import select
import signal
import socket
import weakref
from typing import Any

from . import _core
from ._core import Batch, Pipeline

_log = logging.getLogger("headrace")

# beside the extension: in the build tree, installed, and in the wheel
PROGRAM = str(pathlib.Path(_core.__file__).with_name("headrace-worker"))
# where the program looks for its ends of the sockets: control.h
_CONTROL_FD, _DATA_FD = 3, 4
# what the process takes to leave is bounded in there; beyond that it hangs
_LEAVE_TIME_MS = 15_000


def _spawn(control: socket.socket, data: socket.socket) -> int:
    # out of the way of the numbers they get over there
    high = [fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, 16) for end in (control, data)]
    try:
        return os.posix_spawn(PROGRAM, [PROGRAM, str(os.getpid())], os.environ, setsigmask=[signal.SIGINT],
                              file_actions=[(os.POSIX_SPAWN_DUP2, high[0], _CONTROL_FD),
                                            (os.POSIX_SPAWN_DUP2, high[1], _DATA_FD)])
    except OSError as error:
        raise _error("resource", 0, f"the process of the pipeline cannot be started: {PROGRAM}:"
                     f" {error.strerror}") from None
    finally:
        for fd in high:
            os.close(fd)


def _how_it_ended(pid: int) -> str:
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return "has ended; how is not known, as this program takes the status of all of its children"
    if status < 0:
        try:
            return f"was killed by signal {-status} ({signal.Signals(-status).name})"
        except ValueError:
            return f"was killed by signal {-status}"
    return f"ended with status {status}"


def _end(connection: _core.Connection, pid: int, owner: int) -> None:
    """Closes the sockets, whereupon the process leaves, and takes its status."""
    connection.close()
    if os.getpid() != owner:  # a fork's copy: the process is another's
        return
    try:
        fd = os.pidfd_open(pid)
    except OSError:  # it has been waited for already
        return
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if not poll.poll(_LEAVE_TIME_MS):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
    finally:
        os.close(fd)


def _error(domain: str, code: int, message: str) -> _core.Error:
    return _core.error(f"hr-{domain}-error-quark", code, message)


class ProcessPipeline:
    """Has the methods of :class:`headrace.Pipeline` that a loader calls, with the same results and errors.

    The text was parsed and properties were set in this process; it runs in the other one, and nothing of it is
    started here.
    """

    def __init__(self, pipeline: Pipeline, nice: int) -> None:
        self._made = pipeline
        self._nice = nice
        self._resume: dict[str, Any] = {}
        self._connection: _core.Connection | None = None
        self._pid = self._owner = 0
        self._messages: collections.deque[dict[str, Any]] = collections.deque()
        # number of a batch -> where to go on behind it, of the last two: a loader may hold one back
        self._places: collections.OrderedDict[int, str] = collections.OrderedDict()
        self._stats, self._n_steps = "", None
        self._gone: _core.Error | None = None  # why there is no process any more

    def __str__(self) -> str:
        return str(self._made)

    @property
    def elements(self) -> list[str]:
        return self._made.elements

    # ---- the process ----

    def _died(self) -> _core.Error:
        if self._gone is None:
            self._read_notes()
            self._finalizer.detach()
            self._gone = _error("resource", 0, f"the process of the pipeline (pid {self._pid})"
                                f" {_how_it_ended(self._pid)}; its run has ended, and another loader goes on from"
                                " state_dict()")
            self._connection.close()
        return self._gone

    def _running(self) -> _core.Connection:
        if self._connection is None:
            raise _error("core", 2, "the pipeline has not been started")
        if os.getpid() != self._owner:
            raise _error("core", 3, f"started in process {self._owner}, used in process {os.getpid()}: the process of"
                         " a pipeline serves the one that started it; create the loader in the process that uses it")
        if self._gone is not None:
            raise self._gone
        return self._connection

    def _ask(self, do: str, **what: Any) -> dict[str, Any]:
        text = self._running().request(json.dumps({"do": do, **what}))
        if text is None:
            raise self._died()
        answer = json.loads(text)
        if "error" in answer:
            raise _core.error(**answer["error"])
        return answer

    def _read_notes(self) -> None:
        while (note := self._connection.pop_note()) is not None:
            kind, _, text = note.partition(" ")
            if kind == "messages":
                self._messages.extend(json.loads(text))
            else:
                number, _, document = text.partition(" ")
                self._places[int(number)] = document
                while len(self._places) > 2:
                    self._places.popitem(last=False)

    # ---- the run ----

    def set(self, element: str | None, property: str, value: object) -> None:
        self._made.set(element, property, value)
        if self._connection is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self._ask("set", element=element, property=property, value=text)

    def resume(self, checkpoint: str, *, force: bool = False) -> None:
        self._made.resume(checkpoint, force=force)
        self._resume = {"checkpoint": checkpoint, "force": force}

    def start(self) -> None:
        (control, control_there), (data, data_there) = socket.socketpair(), socket.socketpair()
        with control, data, control_there, data_there:
            pid = _spawn(control_there, data_there)
            self._connection = _core.Connection(control.detach(), data.detach())
        self._pid, self._owner = pid, os.getpid()
        self._finalizer = weakref.finalize(self, _end, self._connection, pid, self._owner)
        try:
            self._ask("start", version=_core.__version__, text=str(self._made), nice=self._nice, **self._resume)
        except _core.Error:
            self._finalizer()
            self._connection = None
            raise

    def pull(self) -> Batch | None:
        try:
            return self._running().pull()
        except EOFError:
            raise self._died() from None

    def pop_message(self) -> dict[str, Any] | None:
        if self._gone is None and self._connection is not None:
            self._read_notes()
        if not self._messages:
            return None
        message = self._messages.popleft()
        error = _core.error(**message["error"]) if message["error"] is not None else None
        return {**message, "kind": error.kind if error else None, "error": str(error) if error else None}

    def stop(self) -> None:
        if self._connection is None or self._gone is not None or os.getpid() != self._owner:
            return
        try:
            self._ask("stop")
        except _core.Error as error:  # it is gone: who asks it for something is told
            _log.debug("stop: %s", error)

    def wait(self) -> None:
        """Waits for the end of the run, keeps what may be asked for afterwards, and lets the process go."""
        failed = None
        try:
            self._ask("wait")
        except _core.Error as error:
            failed = error
        if self._gone is None and os.getpid() == self._owner:
            self._stats, self._n_steps = self.stats(), self.n_steps
            self._read_notes()
            self._gone = _error("core", 2, "the loader has been closed, and the process of its pipeline with it;"
                                " what is known is state_dict() behind the last batch, and stats()")
            self._finalizer()
        if failed is not None:
            raise failed

    # ---- numbers and places ----

    def checkpoint(self, batch: Batch | None = None) -> str:
        if self._gone is not None and batch is not None:
            document = self._places.get(batch.step)
            if document is not None:
                return document
        numbers = batch._numbers if batch is not None else None
        return self._ask("checkpoint", batch=numbers)["checkpoint"]

    def stats(self) -> str:
        if self._connection is None:
            return self._made.stats()
        return self._stats if self._gone is not None else self._ask("stats")["stats"]

    @property
    def n_steps(self) -> int | None:
        if self._connection is None:
            return self._made.n_steps
        if self._gone is not None:
            return self._n_steps
        n = self._ask("n_steps")["n_steps"]
        return n if n >= 0 else None
