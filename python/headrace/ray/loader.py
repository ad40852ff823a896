"""The loop of a trainer over pipelines that are spread over nodes."""
from __future__ import annotations

import functools
import json
import numbers
import os
import sys
import weakref
from collections.abc import Mapping
from typing import Any, cast

import ray

from .._core import Pipeline
from ..loader import Loader, _read_text
from . import errors
from .pipeline import SpreadPipeline
from .spec import PLACEMENTS, Spec
from .then import Then


def _ranks_of_train() -> tuple[int, int] | None:
    """(rank, world) of Ray Train, inside a worker of it: with trainers of other frameworks than torch there is no
    torch.distributed."""
    train = sys.modules.get("ray.train")  # no worker of it is without
    if train is None:
        return None
    try:
        context = train.get_context()
    except (RuntimeError, DeprecationWarning):  # not in a worker; inside Ray Tune
        return None
    return context.get_world_rank(), context.get_world_size()


def _read_number(name: str, value: Any, least: int, kind: Any = numbers.Integral) -> Any:
    """In Python's own type: it goes into the name that ranks find each other by."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}={value!r}: expected a {'whole ' if kind is numbers.Integral else ''}number")
    if not value >= least:  # NaN, too
        raise ValueError(f"{name}={value}: expected at least {least}")
    return int(value) if kind is numbers.Integral else float(value)


def _connect(address: str | None) -> None:
    try:
        ray.init(address=address)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        where = address or os.environ.get("RAY_ADDRESS")
        raise errors.make({"class": "SpreadResourceError", "kind": "failed", "text": (
            f"no Ray cluster{f' at {where}' if where else ''}: {errors.shorten(error)}; `ray start --head` starts one and says its"
            " address, for address= or RAY_ADDRESS")}, None, None) from error


class SpreadLoader(Loader):
    """A :class:`headrace.Loader` whose pipelines run on the nodes of a Ray cluster.

    Every rank makes one, with the same arguments but ``rank``; the first of them starts the producers, which are named
    actors that all share. The batches, their order and the states are those of a Loader of the same text, byte for
    byte, so that a state goes on in either; only where reading begins again is not known. Arrays are read-only: they
    stand in the node's object store.

    :param pipeline: its text, with an ``appsink`` at its end, or a file with it. Pixels should travel as they are,
        uint8: what makes floats of them belongs into ``then``. Its lines are counted before the first batch, once for
        each plan cache.
    :param rank: which of
    :param world: so many ranks this is. Both default to those of ``torch.distributed`` where it is initialised, else to
        those of Ray Train in a worker of it, else to what the text says.
    :param depth: at most so many copies of this rank's units, each its slice of a step, are in the object stores of all
        nodes at once: of those that are being made, those that wait, and the one that the trainer has. What comes from
        another node is there as well as here.
    :param placement: where producers are: ``"aligned"`` on the node of the rank that they work for, as long as it has
        processors; ``"spread"`` over all nodes; ``"pack"`` together on the node of the rank that came first.
    :param producers: how many, of all ranks together; ``None``: one a rank.
    :param num_cpus: that Ray sets aside for each, and that its pipeline computes on, unless the text says ``cpus``.
    :param at_once: how many units a producer works on at a time: one is fetched while another is decoded.
    :param then: what runs on the rank behind the object store, ``"patchify dtype=bfloat16 ! appsink"``, or a file with
        it. It gets whole batches.
    :param linger: seconds for which producers stay when no rank gives a sign of life: a run that is started again in
        that time finds them.
    :param job: runs of the same text and the same ``job`` share producers.
    :param address: of the cluster, where ``ray.init()`` has not been called; ``None``: as Ray finds it.
    :param seed: and ``epochs``, ``steps``, ``variables``, ``properties``, ``framework``: as for a Loader.
    :param dashboard: and ``record``: as for a Loader, of this rank and of all producers.
    """

    def __init__(self, pipeline: str | os.PathLike[str], *, rank: int | None = None, world: int | None = None,
                 depth: int = 8, placement: str = "aligned", producers: int | None = None, num_cpus: float = 1,
                 at_once: int = 2, then: str | os.PathLike[str] | None = None, linger: float = 60, job: str = "",
                 address: str | None = None, seed: int | None = None, epochs: int | None = None, steps: int | None = None,
                 variables: Mapping[str, Any] | None = None, properties: Mapping[str, Any] | None = None,
                 framework: str | None = None, dashboard: str | bool | None = None,
                 record: str | os.PathLike[str] | None = None) -> None:
        if placement not in PLACEMENTS:
            raise ValueError(f"placement={placement!r}: expected one of {', '.join(PLACEMENTS)}")
        for name, text in (("job", job), ("address", address or "")):
            if not isinstance(text, str):
                raise TypeError(f"{name}={text!r}: expected a text")
        self._spread: dict[str, Any] = {
            # what the trainer has and what comes next are each on its node and on the one that has made it
            "depth": _read_number("depth", depth, 4), "placement": placement,
            "producers": _read_number("producers", producers, 1) if producers is not None else None,
            "num_cpus": _read_number("num_cpus", num_cpus, 0, numbers.Real),
            "at_once": _read_number("at_once", at_once, 1), "then": _read_text(then) if then is not None else None,
            "linger": _read_number("linger", linger, 5, numbers.Real),  # ranks give signs each 2 s
            "job": job, "address": address}
        if num_cpus > 1 and not self._spread["num_cpus"].is_integer():
            raise ValueError(f"num_cpus={num_cpus}: expected a whole number, or a part of one processor, as Ray has it")
        super().__init__(pipeline, rank=rank, world=world, seed=seed, epochs=epochs, steps=steps, variables=variables,
                         properties=properties, framework=framework, dashboard=dashboard, record=record)

    def _make(self) -> Pipeline:
        made = cast(Pipeline, super()._make())
        spread = self._spread
        if made.maps:
            raise ValueError("appmap calls a function of this process, and the pipeline runs in others")
        if made.get(None, "limit"):
            raise ValueError("limit= may end a run inside a step, which is for one pipeline alone: use steps=")
        sink = made._split("fakesink")[1]
        if sink is None or sink.startswith("cudasink"):
            raise ValueError("a pipeline that runs on other nodes ends in appsink, which its batches are taken from; what brings"
                             " them to a device belongs into then=")
        ordered = self._find(made, "shuffle")
        for element in json.loads(made.stats())["elements"]:
            if not element["inputs"] and element["name"] not in ordered:
                raise ValueError(f"{element['name']}: a pipeline that runs on other nodes begins with filesrc or s3src, whose lines all"
                                 " nodes can read and count")
        packed = any("packed" in str(mode) for mode in self._find(made, "mode").values())
        if packed and "lengths" not in str(made.get(None, "scan")):
            raise ValueError("batch mode=packed without scan=lengths: how many rows an epoch has is not known beforehand, so ranks"
                             " cannot ask for them; set scan=lengths, with tokenize in front of imagedecode")
        rank, world, epochs = made.get(None, "rank"), made.get(None, "world"), self._find_epochs(made)
        steps = made.get(None, "steps")
        asked = Pipeline(str(made))
        for name, value in {"requests": True, "rank": 0, "epochs": 1, "steps": 0}.items():
            asked.set(None, name, value)
        if not asked.get(None, "cpus"):
            asked.set(None, "cpus", max(1, round(spread["num_cpus"])))
        if "auto" in asked.get(None, "scan"):
            asked.set(None, "scan", "lines")
        spec = Spec(text=str(asked), world=world, rows=packed, placement=spread["placement"],
                    n_producers=spread["producers"] or world, num_cpus=spread["num_cpus"], at_once=spread["at_once"],
                    linger=spread["linger"], job=spread["job"])
        # what a Loader calls is there, as of a pipeline in a process of its own
        return cast(Pipeline, SpreadPipeline(made, spec, rank=rank, epochs=epochs, steps=steps, depth=spread["depth"],
                                             then=self._make_then()))

    def _make_then(self) -> Then | None:
        then = self._spread["then"]
        return Then(then, self._variables) if then is not None else None

    def _find_ranks(self) -> tuple[int, int] | None:
        return super()._find_ranks() or _ranks_of_train()

    def _start(self) -> None:
        if self._started:
            return
        if not ray.is_initialized():
            _connect(self._spread["address"])
        super()._start()
        # of a loader that is forgotten; at the interpreter's end producers stay for a run that is started again
        weakref.finalize(self, cast(SpreadPipeline, self._pipeline).leave).atexit = False

    def _open_watch(self) -> None:
        super()._open_watch()
        if self._watch is not None:
            cast(SpreadPipeline, self._pipeline).on_warning = functools.partial(self._watch.note, "warning")

    def _describe(self) -> dict[str, Any]:
        return cast(SpreadPipeline, self._pipeline).describe()

    @staticmethod
    def _find(made: Pipeline, name: str) -> dict[str, Any]:
        """What the elements that have such a property say."""
        found = {}
        for element in made.elements:
            try:
                found[element] = made.get(element, name)
            except KeyError:
                continue
        return found

    def _find_epochs(self, made: Pipeline) -> int:
        """0: no end. Of a mix its own count, not its members'."""
        epochs = made.get(None, "epochs")
        if epochs >= 0:
            return int(epochs)
        said, mixes = self._find(made, "epochs"), self._find(made, "weights")
        return int(next((said[element] for element in mixes), next(iter(said.values()), 1)))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "spread": self._spread}

    def __setstate__(self, state: dict[str, Any]) -> None:
        options = {name: state["options"][name] for name in ("rank", "world", "seed", "epochs", "steps")}
        SpreadLoader.__init__(self, state["text"], variables=state["variables"], properties=state["properties"],
                              framework=state["framework"], **options, **state["watched"], **state["spread"])
        self._state, self._force = state["state"], state["force"]
