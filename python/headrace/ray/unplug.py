"""``ray.shutdown()``, which loaders at work hear of before it happens."""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import ray

from . import errors


class _AtWork(Protocol):
    def unplug(self) -> None:
        """Asks Ray for nothing from now on."""


_at_work: weakref.WeakSet[_AtWork] = weakref.WeakSet()


def watch(who: _AtWork) -> None:
    """Its ``unplug()`` is called in front of ``ray.shutdown()``, as long as somebody refers to it. Ray has no place to ask for
    that, and ends the process in which a thread is just asking it for something, or starts a cluster for that thread."""
    _at_work.add(who)


def make_error() -> Exception:
    """What a run fails with behind it."""
    return errors.make({"class": "SpreadCoreError", "kind": "state", "text": (
        "ray.shutdown() was called while a SpreadLoader was at work: close() that before")}, None, None)


def _tell_first(shutdown: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(shutdown)
    def tell_and_shut_down(*args: Any, **kwargs: Any) -> None:
        for who in list(_at_work):
            who.unplug()
        shutdown(*args, **kwargs)
    return tell_and_shut_down


ray.shutdown = _tell_first(ray.shutdown)
