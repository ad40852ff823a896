"""A part of the order: what a producer makes at once, and the same bytes whoever makes it."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._core import Batch


class Unit(NamedTuple):
    """What one rank gets in one step."""

    epoch: int
    slice: int  # step * world + rank, or the number of a row: docs/order.md, request mode
    world: int
    base: int = 0  # rows that were left when an epoch was gone on with on another number of ranks: where steps begin

    @property
    def step(self) -> int:
        return (self.slice - self.base) // self.world

    @property
    def rank(self) -> int:
        return (self.slice - self.base) % self.world

    def __str__(self) -> str:
        return f"epoch {self.epoch}, step {self.step}, rank {self.rank}"


class Made:
    """A unit as it has arrived: what :class:`headrace.Batch` tells of a batch, about one from another node.

    :ivar step: of this run, counted from 0.
    :ivar node: the address of the node that has made it.
    """

    def __init__(self, unit: Unit, told: dict[str, Any], step: int) -> None:
        self.unit = unit
        self.step = step
        self.epoch = unit.epoch
        self.node: str = told["ip"]
        self.place: int | None = told["place"]
        self.samples: list[dict[str, Any]] = told["samples"]
        self.nbytes: int = told["nbytes"]
        self.position: dict[str, Any] = told["position"]
        self._fields: Mapping[str, Any] | Batch = told["fields"]

    def keys(self) -> list[str]:
        """Names of the fields."""
        return list(self._fields.keys())

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]
