"""The loop of a trainer over a pipeline."""
from __future__ import annotations

import json
import logging
import numbers
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import Any

from ._core import Batch, Error, Pipeline, Tensor, __version__
from .convert import convert, converter
from .mapping import Functions, Mapper, assign
from .process import ProcessPipeline
from .watch import Watch

_log = logging.getLogger("headrace")


class Step(dict[str, Any]):
    """What a step delivers: field names to tensors, lists, strings, or what JSON has.

    With ``batch mode=padded`` (B rows of length L) or ``mode=packed`` (one row of N tokens, of k samples), and P patches
    of I images in all: ``input_ids``, ``labels`` (-100: not learned) int64 [B, L] or [1, N]; ``attention_mask`` int64
    [B, L]; ``position_ids`` int64 [3, B, L] or [3, 1, N]; ``cu_seqlens`` int32 [k + 1]; ``pixel_values`` [P, 1536] of
    ``patchify dtype=``; ``image_grid_thw`` int64 [I, 3]. With ``tokenize ids=int32`` what is int64 of tokens is int32.
    All of them, and those of other modes, are in docs/batching.md.

    The memory is the pipeline's: it lives as long as any tensor of it, also behind the loader's end, and may be
    written to.

    :ivar batch: the :class:`headrace.Batch` it was made of: ``batch.step``, ``batch.epoch``, and in
        ``batch.samples`` where each sample comes from.
    """

    batch: Batch | None = None
    _run: object = None  # of its loader

    @property
    def origin(self) -> dict[str, Any]:
        """Of a single sample, as a function of ``map=`` gets it: where it comes from, ``uri``, ``line``, ``id`` …"""
        assert self.batch is not None
        return self.batch.samples[0]


def _make_step(batch: Batch, to_array: Callable[[Tensor], Any]) -> Step:
    step = Step((name, convert(batch[name], to_array)) for name in batch.keys())
    step.batch = batch
    return step


def _distributed() -> tuple[int, int] | None:
    """(rank, world) of torch.distributed where that is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def _refuse_workers() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.utils.data.get_worker_info() is not None:
        raise RuntimeError("headrace.Loader inside a worker of torch's DataLoader: the pipeline has threads of its"
                           " own, and each worker would read everything; set num_workers=0")


def _read_text(pipeline: str | os.PathLike[str]) -> str:
    if not isinstance(pipeline, (str, os.PathLike)):
        raise TypeError(f"a pipeline's text, or the path of a file with it, was expected, not {type(pipeline).__name__}")
    if isinstance(pipeline, os.PathLike) or (pipeline.endswith(".hr") and "!" not in pipeline):
        with open(pipeline, encoding="utf-8") as file:
            return file.read()
    return pipeline


def _sets(name: str, text: str) -> bool:
    """Whether a pipeline's text says it, in its canonical form; a value may have that word in it, quoted if it is a word of its own."""
    return re.search(rf"(?<!\S){name}=", re.sub(r"""'[^']*'|"(?:[^"\\]|\\.)*\"""", "", text)) is not None


class Loader:
    """Iterates over what a pipeline's pullable sink (``appsink``, ``cudasink``) delivers.

    ``for batch in loader`` is one epoch; the next ``for`` is the next epoch, in an order of its own, and the
    pipeline reads ahead across the border. ``next(loader)`` goes on through all epochs, for trainers that count
    steps. Nothing is started before the first batch is asked for. Shapes and dtypes: :class:`Step`; ids and labels are
    int64, unless ``tokenize`` has ``ids=int32`` (in the text, or ``properties={"tokenize0.ids": "int32"}``).

    :param pipeline: its text (docs/grammar.md), or a file with it: a path object, or a name that ends in ``.hr``.
    :param rank: which of
    :param world: so many ranks this is. Both default to those of ``torch.distributed`` where that is initialised,
        else to what the text says (0 of 1). With tensor or pipeline parallelism give the data-parallel ones.
    :param seed: of the order; overrides the text's.
    :param epochs: the run ends behind so many; 0: it does not end. Default: what the text says, else 0.
    :param limit: the run ends behind so many samples, of all ranks together.
    :param steps: the run ends behind so many steps.
    :param variables: values for ``${NAME}`` in the text.
    :param properties: ``{"decode.workers": 4, "memory": "8GiB"}``: properties of named elements, or without a
        point of the pipeline.
    :param framework: ``"torch"``, ``"numpy"`` or ``"raw"`` (:class:`headrace.Tensor`). Default: torch, or numpy
        where there is no torch.
    :param map: a function for the text's ``appmap``, or a dict of names to functions for several. It gets each
        sample as a :class:`Step` (``sample.batch.samples[0]`` says where it comes from) and returns the fields it
        shall have, or ``None`` to leave it out. What it raises is the sample's error, as ``on-error`` says. It runs
        in one thread of Python's, in the order of the samples, while the loop trains; docs/python.md has its cost.
    :param process: the pipeline runs in a process of its own, which takes nothing from this one's interpreter and
        ends with it; batches come through shared memory. The same batches, byte for byte (docs/processes.md).
    :param cpus: most processors that the pipeline computes on; as ``properties={"cpus": …}``.
    :param nice: with ``process``: the niceness of the pipeline's threads, 19 for those that yield to everybody.
    :param headspace: how fast could the trainer be? The run ends behind twice so many steps: behind the first ones
        everything but the trainer stops, and it gets the same batches once more, at no cost. ``stats()["headspace"]``
        has both paces, and its ``text`` is logged (docs/headspace.md). The batches must not be written to.
    :param dashboard: ``True`` or ``"HOST:PORT"``: a page in the browser shows the run while it goes on, and Prometheus
        finds its numbers there; :attr:`dashboard_uri` is its address (docs/dashboard.md). As ``hr-launch --dashboard``: by
        default for this machine alone; an address that others reach needs a token in ``HR_DASHBOARD_TOKEN``.
    :param record: a file, which gets the run's numbers once a second, for ``hr-report`` (docs/report.md). As
        ``hr-launch --record``; each run begins it anew.
    :raises headrace.ParseError: the text is wrong; found here, before anything runs.

    Errors of a run are raised where a batch is asked for; ``kind`` says what, ``str()`` is one line that says who,
    where and what to do. Skipped samples are logged (logger ``headrace``) and never replaced by others.
    """

    def __init__(self, pipeline: str | os.PathLike[str], *, rank: int | None = None, world: int | None = None,
                 seed: int | None = None, epochs: int | None = None, limit: int | None = None,
                 steps: int | None = None, variables: Mapping[str, Any] | None = None,
                 properties: Mapping[str, Any] | None = None, framework: str | None = None, process: bool = False,
                 cpus: int | None = None, nice: int = 0, map: Functions = None, headspace: int | None = None,
                 dashboard: str | bool | None = None, record: str | os.PathLike[str] | None = None) -> None:
        if (rank is None) != (world is None):
            raise ValueError("rank and world belong together: give both, or none")
        for name, value in (("rank", rank), ("world", world)):
            if value is not None and not isinstance(value, numbers.Integral):
                raise TypeError(f"{name}={value!r}: expected a whole number")
        if rank is not None and world is not None and not 0 <= rank < world:
            raise ValueError(f"rank={rank} of world={world}: ranks are counted from 0, the last is {world - 1}")
        if nice != 0 and not process:
            raise ValueError(f"nice={nice} is for a pipeline in a process of its own: add process=True")
        if not -20 <= nice <= 19:
            raise ValueError(f"nice={nice}: expected -20 to 19")
        self._text = _read_text(pipeline)
        self._options = {"rank": rank, "world": world, "seed": seed, "epochs": epochs, "limit": limit, "steps": steps,
                         "cpus": cpus, "headspace": headspace}
        self._process = {"process": process, "nice": nice}
        self._variables = dict(variables or {})
        self._properties = dict(properties or {})
        self._framework = framework
        self._to_array = converter(framework)
        self._map = map
        self._mapper: Mapper | None = None
        self._watched: dict[str, Any] = {"dashboard": dashboard, "record": record}
        self._watch: Watch | None = None
        self._state: str | None = None  # to start from
        self._force = False
        self._last: Batch | None = None
        self._ahead: Batch | None = None  # pulled, and not yet returned: the first of the next epoch
        self._epoch: int | None = None  # that the loop at hand is in
        self._started = False
        self._pipeline = self._make()

    # ---- the pipeline ----

    def _make(self) -> Pipeline | ProcessPipeline:
        self._run = object()
        pipeline = Pipeline(self._text, variables=self._variables)
        options = dict(self._options)
        if options["rank"] is None:
            options["rank"], options["world"] = self._find_ranks() or (None, None)
        self._is_alone = options["rank"] is None and not _sets("world", str(pipeline))
        if options["epochs"] is None and not _sets("epochs", str(pipeline)):
            options["epochs"] = 0
        for name, value in options.items():
            if value is not None:
                pipeline.set(None, name, value)
        for name, value in self._properties.items():
            element, _, prop = name.rpartition(".")
            pipeline.set(element or None, prop, value)
        self._functions = assign(self._map, pipeline.maps)
        if self._functions and self._process["process"]:
            raise ValueError("map= works in this process, and with process=True the pipeline is in another")
        return ProcessPipeline(pipeline, self._process["nice"]) if self._process["process"] else pipeline

    def _find_ranks(self) -> tuple[int, int] | None:
        """(rank, world) where they are not given; ``None``: what the text says."""
        return _distributed()

    def _warn_of_others(self) -> None:
        """A launcher has started several processes, which nobody has told the loader of."""
        if self._is_alone and os.environ.get("WORLD_SIZE", "1") not in ("", "0", "1") and "RANK" in os.environ:
            _log.warning("this process is RANK=%s of WORLD_SIZE=%s, and the loader gives all samples to each of them: call"
                         " torch.distributed.init_process_group() before the loader is made, or give rank= and world=",
                         os.environ["RANK"], os.environ["WORLD_SIZE"])

    def _start(self) -> None:
        if self._started:
            return
        _refuse_workers()
        self._warn_of_others()
        if self._state is not None:
            self._pipeline.resume(self._state, force=self._force)
        self._open_watch()
        try:
            self._pipeline.start()
            self._started = True
            if self._watch is not None:
                self._watch.look()
        except BaseException as error:  # KeyboardInterrupt, too: a pipeline starts once, and who tries again gets another
            self._close_watch(error)
            self._pipeline = self._make()
            raise
        if self._functions:
            assert isinstance(self._pipeline, Pipeline)  # _make() has refused the other
            self._mapper = Mapper(self._pipeline, self._functions, _make_step, self._to_array)
            weakref.finalize(self, self._mapper.close)  # a loader that is forgotten, and the interpreter's end

    def _describe(self) -> dict[str, Any]:
        """What the run is, for its record."""
        return {"pipeline": self._pipeline.to_shown_string()}

    def _open_watch(self) -> None:
        if self._watched["dashboard"] in (None, False) and self._watched["record"] is None:
            return
        self._watch = Watch(self._pipeline, self._describe(), **self._watched)
        weakref.finalize(self, self._watch.close)

    def _close_watch(self, error: BaseException | None = None) -> None:
        if self._watch is not None:
            if error is not None:
                self._watch.fail(error)
            self._watch.close()

    def _note(self, kind: str, text: str) -> None:
        if self._watch is not None:
            self._watch.note(kind, text)

    def _restart(self) -> None:
        """A pipeline runs once: another one of the same text."""
        self.close()
        self._pipeline = self._make()
        self._started = False
        self._last = self._ahead = self._epoch = None

    def _tell(self) -> None:
        while (message := self._pipeline.pop_message()) is not None:
            if message["type"] == "skipped":
                _log.warning("skipped: %s", message["error"])
                self._note(message["kind"], message["error"])
            elif message["type"] == "warning":
                _log.warning("%s", message["error"] or message["text"])
                self._note("warning", message["error"] or message["text"])
            elif message["type"] == "stall":
                self._note("stall", message["text"])
            elif message["type"] == "scan":
                _log.info("%s", message["text"])

    def _tell_headspace(self) -> None:
        if self._options["headspace"]:
            _log.info("headspace: %s", self.stats()["headspace"]["text"] or "too few steps to tell")

    def _pull(self) -> Batch | None:
        self._start()
        batch: Batch | None
        if self._ahead is not None:
            batch, self._ahead = self._ahead, None
        else:
            try:
                batch = self._pipeline.pull()
            except Error as error:
                if self._watch is not None:
                    self._watch.fail(error)
                raise error from (self._mapper.find_cause(error) if self._mapper is not None else None)
            self._tell()
            if batch is None:
                self._tell_headspace()
                if self._watch is not None:
                    self._watch.end()
        return batch

    def _give(self, batch: Batch) -> Step:
        self._last = batch
        step = _make_step(batch, self._to_array)
        step._run = self._run
        return step

    # ---- iteration ----

    def __iter__(self) -> Iterator[Step]:
        """The batches of one epoch, as :class:`Step`."""
        return self._iterate()

    def _iterate(self) -> Iterator[Step]:
        epoch: int | None = None
        while (batch := self._pull()) is not None:
            if epoch is not None and batch.epoch != epoch:
                self._ahead = batch
                return
            epoch = batch.epoch
            yield self._give(batch)

    def __next__(self) -> Step:
        """The next batch, of this epoch or the next one, as :class:`Step`."""
        batch = self._pull()
        if batch is None:
            raise StopIteration
        return self._give(batch)

    def __len__(self) -> int:
        """Steps of the whole run, all epochs, of this rank.

        :raises TypeError: it is not known (yet): the lines have not been counted. ``scan=lines`` in the text
            counts them before the first batch.
        """
        steps = self.n_steps
        if steps is None:
            raise TypeError("the number of steps is not known: no end is set, or the lines have not been counted yet;"
                            " see n_steps")
        return steps

    def __bool__(self) -> bool:
        return True  # not a matter of len(), which is not always known

    @property
    def n_steps(self) -> int | None:
        """Steps of the whole run from its beginning to its end, of this rank; ``None`` while that is not known."""
        return self._pipeline.n_steps

    def count_steps(self) -> int | None:
        """:attr:`n_steps`, after waiting until it is known: starts the pipeline, and pulls the next batch if need be,
        which the next ``next()`` returns."""
        self._start()
        if self.n_steps is None:
            self._ahead = self._pull()
        return self.n_steps

    # ---- going on ----

    def state_dict(self, batch: Step | None = None) -> dict[str, Any]:
        """Where to go on: behind ``batch``, by default behind the last one that was returned.

        A loop that looks ahead names the batch it is done with. Some hundred bytes; any rank's serves all ranks,
        for another number of them too (docs/resume.md says when not).
        """
        at = self._last
        if batch is not None:
            at = batch.batch if isinstance(batch, Step) else None
            if at is None:
                raise TypeError("state_dict(batch): a Step as this loader returned it was expected; moving a batch"
                                " to a device makes another dict: keep the one it was made of")
            if batch._run is not self._run:
                raise ValueError("state_dict(batch): the batch is of another loader, or from before load_state_dict();"
                                 " a loader tells the places of its own run")
        if at is None:
            return {"headrace": __version__, "checkpoint": self._state}
        return {"headrace": __version__, "checkpoint": self._pipeline.checkpoint(at)}

    def load_state_dict(self, state: Mapping[str, Any], *, force: bool = False) -> None:
        """Goes on from what :meth:`state_dict` returned, with the next batch.

        :param force: although elements behind the source have changed, or the version: the order is the same,
            what is made of each sample perhaps not.
        :raises headrace.Error: (at the next batch) the data or the stream is another; says what differs.
        """
        if not isinstance(state, Mapping) or not isinstance(state.get("checkpoint", 0), (str, NoneType)):
            raise ValueError("load_state_dict: no text \"checkpoint\" in it: not the state of a headrace.Loader")
        self._restart()
        self._state, self._force = state["checkpoint"], force

    def set_epoch(self, epoch: int) -> None:
        """For trainers that count epochs themselves: the next ``for`` is this one.

        Epochs follow each other of themselves, so usually this confirms what is so. Another epoch than the next
        one is refused: its place comes with ``load_state_dict``.
        """
        following = self._next_epoch()
        if epoch != following:
            raise ValueError(f"set_epoch({epoch}): the next epoch of this loader is {following}; epochs follow each"
                             " other, and load_state_dict() goes on inside one")

    def _next_epoch(self) -> int:
        if self._ahead is not None:
            return self._ahead.epoch
        if self._last is not None:
            return self._last.epoch
        return json.loads(self._state)["epoch"] if self._state else 0

    # names that Megatron-Energon and its users call
    save_state_rank = state_dict
    save_state = state_dict
    restore_state_rank = load_state_dict

    # ---- numbers ----

    def stats(self) -> dict[str, Any]:
        """Statistics of the run so far, docs/stats.md: ``stats()["wait_ratio"]`` is the share of its time that the
        trainer waited."""
        stats: dict[str, Any] = json.loads(self._pipeline.stats())
        return stats

    @property
    def dashboard_uri(self) -> str | None:
        """Where the page of ``dashboard=`` is, from the first batch on; with the token, if one is needed."""
        return self._watch.uri if self._watch is not None else None

    # ---- ends ----

    def close(self) -> None:
        """Stops the pipeline; tensors that you hold stay. Also at the end of a ``with``."""
        self._pipeline.stop()
        if self._mapper is not None:
            self._mapper.close()
        if self._started:
            try:
                self._pipeline.wait()
            except Exception as error:  # it has been raised where a batch was asked for, or nobody asks any more
                _log.debug("closed: %s", error)
        self._close_watch()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_unused: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self._text, "options": self._options, "variables": self._variables,
                "properties": self._properties, "framework": self._framework, "process": self._process, "map": self._map,
                "watched": self._watched, "state": self.state_dict()["checkpoint"], "force": self._force}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Loader.__init__(self, state["text"], variables=state["variables"], properties=state["properties"],
                        framework=state["framework"], map=state["map"], **state["process"], **state["watched"],
                        **state["options"])
        self._state, self._force = state["state"], state["force"]
