"""A pipeline in a process of its own: what Loader(process=True) puts in the place of a Pipeline."""
from __future__ import annotations

import contextlib
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

# what hands batches on over there, and takes them here
_SINK, _SOURCE, _SOURCE_NAME = "shmsink", "shmsrc", "process"
# statistics of the pipeline that the trainer pulls from
_OF_TRAINER = ("wait_ratio", "prepare_s", "transfer_s", "transfer_wait_s", "train_s", "cold_start_s")

# beside the extension: in the build tree, installed, and in the wheel
PROGRAM = str(pathlib.Path(_core.__file__).with_name("headrace-worker"))
# where the program looks for its ends of the sockets: control.h
_CONTROL_FD, _DATA_FD = 3, 4
# what the process takes to leave is bounded in there; beyond that it hangs
_LEAVE_TIME = 15.0


def _spawn(control: socket.socket, data: socket.socket) -> int:
    # out of the way of the numbers they get over there
    high: list[int] = []
    try:
        for end in (control, data):
            high.append(fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, _DATA_FD + 1))
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
        if not poll.poll(_LEAVE_TIME * 1000):
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

    The text was read and checked in this process. All but its sink runs in the other one, and ends there in
    another sink, which hands batches on; here a small pipeline takes them from there to the sink of the text.
    """

    def __init__(self, pipeline: Pipeline, nice: int) -> None:
        self._made = pipeline
        self._nice = nice
        self._resume: dict[str, Any] = {}
        self._stopped = False  # before it was started
        self._here: Pipeline | None = None  # what takes the batches
        self._connection: _core.Connection | None = None
        self._pid = self._owner = 0
        self._stats: dict[str, Any] | None = None  # of a run whose process is gone …
        self._n_steps: int | None = None
        self._gone: _core.Error | None = None  # … and why it is

    def __str__(self) -> str:
        return str(self._made)

    @property
    def elements(self) -> list[str]:
        return self._made.elements

    def to_shown_string(self) -> str:
        return self._made.to_shown_string()

    # ---- the process ----

    def _died(self) -> _core.Error:
        if self._gone is None:
            self._finalizer.detach()
            assert self._connection is not None
            self._connection.close()
            self._gone = _error("resource", 0, f"the process of the pipeline (pid {self._pid})"
                                f" {_how_it_ended(self._pid)}; another loader goes on from state_dict()")
        return self._gone

    def _ask(self, do: str, within: float = 0, **what: Any) -> dict[str, Any]:
        if self._connection is None:
            raise _error("core", 2, "the pipeline has not been started")
        if os.getpid() != self._owner:
            raise _error("core", 3, f"started in process {self._owner}, used in process {os.getpid()}: the process of"
                         " a pipeline serves the one that started it; create the loader in the process that uses it")
        if self._gone is not None:
            raise self._gone
        text = self._connection.request(json.dumps({"do": do, **what}), within)
        if text is None:
            raise self._died()
        answer: dict[str, Any] = json.loads(text)
        if "error" in answer:
            raise _core.error(**answer["error"])
        return answer

    def _ask_to_leave(self, do: str) -> None:
        try:
            self._ask(do, within=_LEAVE_TIME)
        except TimeoutError:  # it hangs: stopped by a signal, or worse
            os.kill(self._pid, signal.SIGKILL)
            raise self._died() from None

    # ---- the run ----

    def set(self, element: str | None, property: str, value: object) -> None:
        self._made.set(element, property, value)
        if self._here is not None and element in self._here.elements:
            self._here.set(element, property, value)
        elif self._connection is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self._ask("set", element=element, property=property, value=text)

    def resume(self, checkpoint: str, *, force: bool = False) -> None:
        self._made.resume(checkpoint, force=force)
        self._resume = {"checkpoint": checkpoint, "force": force}

    def start(self) -> None:
        if self._stopped:
            return
        text, sink = self._made._split(f"{_SINK} fd={_DATA_FD}")
        (control, control_there), (data, data_there) = socket.socketpair(), socket.socketpair()
        with control, data, control_there, data_there:
            self._pid = _spawn(control_there, data_there)
            control_there.close()
            data_there.close()
            self._owner = os.getpid()
            self._connection = _core.Connection(control.detach())
            self._finalizer = weakref.finalize(self, _end, self._connection, self._pid, self._owner)
            try:
                self._ask("start", version=_core.__version__, text=text, nice=self._nice, **self._resume)
                if sink is not None:
                    self._here = Pipeline(f"{_SOURCE} name={_SOURCE_NAME} fd={data.detach()} max-batches=1 ! {sink}")
                    self._here.start()
            except BaseException:  # KeyboardInterrupt, too
                self._finalizer()
                self._connection = self._here = None
                raise

    def pull(self) -> Batch | None:
        if self._stopped:
            return None
        if self._here is None:
            self._ask("stats")  # says what is missing, if it is that
            raise _error("core", 2, "pull: the pipeline has no sink to pull from, such as appsink")
        try:
            batch = self._here.pull()
            if batch is None and self._gone is None:
                self._ask("wait")  # all that it has to tell is here now
            return batch
        except _core.Error as error:
            if not str(error).startswith(f'{_SOURCE} "{_SOURCE_NAME}": '):
                raise
            self._ask("wait")  # the other process knows what has happened, or has died
            raise

    def pop_message(self) -> dict[str, Any] | None:
        note = self._connection.pop_note() if self._connection is not None else None
        if note is None:
            return None
        message = json.loads(note)
        error = _core.error(**message["error"]) if message["error"] is not None else None
        return {**message, "kind": error.kind if error else None, "error": str(error) if error else None}

    def stop(self) -> None:
        self._stopped = self._stopped or self._connection is None
        if self._connection is None or self._gone is not None or os.getpid() != self._owner:
            return
        try:
            self._ask_to_leave("stop")
        except _core.Error as error:  # it is gone: who asks it for something is told
            _log.debug("stop: %s", error)
        if self._here is not None:
            self._here.stop()

    def wait(self) -> None:
        """Behind stop(): waits for the end of the run, keeps its numbers, and lets the process go."""
        failed = None
        try:
            self._ask_to_leave("wait")
        except _core.Error as error:
            failed = error
        if self._gone is None and self._connection is not None and os.getpid() == self._owner:
            self._stats, self._n_steps = self._read_stats(), self.n_steps
            self._gone = _error("core", 2, "the loader has been closed, and the process of its pipeline with it")
            self._finalizer()
            if self._here is not None:
                with contextlib.suppress(_core.Error):  # that the other end has been stopped
                    self._here.wait()
        if failed is not None:
            raise failed

    # ---- numbers and places ----

    def checkpoint(self, batch: Batch | None = None) -> str:
        return (self._here if self._here is not None else self._made).checkpoint(batch)  # they have come with it

    def _read_stats(self) -> dict[str, Any]:
        if self._gone is not None:
            if self._stats is None:
                raise self._gone
            return self._stats
        stats: dict[str, Any] = json.loads(self._ask("stats")["stats"])
        # how long the trainer waits is known where it does; but there, not when a replay began
        if self._here is not None and stats["headspace"] is None:
            here = json.loads(self._here.stats())
            stats.update((name, here[name]) for name in _OF_TRAINER)
            for made, own in ((stats, here), (stats["recent"] or {}, here["recent"] or {})):
                if (own.get("bottleneck") or {}).get("kind") == "trainer":
                    made.update((name, own[name]) for name in ("bottleneck", "advice"))
        return stats

    def stats(self) -> str:
        return self._made.stats() if self._connection is None else json.dumps(self._read_stats())

    @property
    def n_steps(self) -> int | None:
        if self._connection is None:
            return self._made.n_steps
        if self._gone is not None:
            return self._n_steps
        n = self._ask("n_steps")["n_steps"]
        return n if n >= 0 else None
