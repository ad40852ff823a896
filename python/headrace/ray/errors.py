"""What went wrong on another node, as an exception of the class it had there."""
from __future__ import annotations

import re
from typing import Any

from .. import _core
from .unit import Unit

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ELEMENT = re.compile(r'^(?P<factory>[a-z0-9]+) "(?P<name>[^"]+)": ')


class SpreadError(_core.Error):
    """An error of the part of the order that a producer was making, or of the producers.

    Those that a pipeline has told are of its class as well: ``except headrace.DataError`` finds a bad sample, wherever
    it was read.

    :ivar node: the address of the node it happened on; ``None``: on none.
    :ivar unit: which part of the order it was, ``None``: of none.
    :ivar element: the name of the element of the pipeline, ``None``: of none.
    """

    kind = "failed"
    node: str | None = None
    unit: Unit | None = None
    element: str | None = None


class SpreadParseError(SpreadError, _core.ParseError):
    """The text of a pipeline, or a checkpoint, does not fit there."""


class SpreadCoreError(SpreadError, _core.CoreError):
    """Headrace was used wrongly, or a run cannot go on."""


class SpreadResourceError(SpreadError, _core.ResourceError):
    """A file, a socket or a service failed, or a node."""


class SpreadDataError(SpreadError, _core.DataError):
    """A sample is bad."""


_CLASSES = ((SpreadParseError, _core.ParseError), (SpreadCoreError, _core.CoreError),
            (SpreadResourceError, _core.ResourceError), (SpreadDataError, _core.DataError))


def describe(error: Exception) -> dict[str, Any]:
    """An error of a producer, as it travels."""
    name = next((mine.__name__ for mine, core in _CLASSES if isinstance(error, core)), "SpreadError")
    text = str(error) if isinstance(error, _core.Error) else f"{type(error).__name__}: {error}"
    return {"class": name, "kind": getattr(error, "kind", "failed"), "text": text}


def shorten(error: Exception) -> str:
    """One line of one of Ray's, which are many: what it is, and at its end why."""
    lines = [line.strip() for line in _COLOUR.sub("", str(error)).splitlines() if line.strip()] or [type(error).__name__]
    first = lines[0].rstrip(":.")
    return first if len(lines) == 1 else f"{first}: {lines[-1]}"


def make(told: dict[str, Any], node: str | None, unit: Unit | None) -> SpreadError:
    """The other way round: where it was comes in front."""
    cls = next((mine for mine, _ in _CLASSES if mine.__name__ == told["class"]), SpreadError)
    where = ", ".join(([str(unit)] if unit is not None else []) + ([f"on node {node}"] if node else []))
    error = cls(f"{where}: {told['text']}" if where else told["text"])
    error.kind, error.node, error.unit = told["kind"], node, unit
    if (match := _ELEMENT.match(told["text"])) is not None:
        error.element = match["name"]
    return error
