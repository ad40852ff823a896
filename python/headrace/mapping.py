"""Functions of yours that work on each sample: what ``Loader(map=)`` runs for the ``appmap`` of its pipeline."""
from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Union

from ._core import Batch, Error, Pipeline, Tensor

Function = Callable[[Any], Union[Mapping[str, Any], None]]
Functions = Union[Function, Mapping[str, Function], None]


def assign(functions: Functions, elements: list[str]) -> dict[str, Function]:
    """Which function works for which ``appmap``; every one has its own, and none is left over."""
    if callable(functions):
        if len(elements) > 1:
            raise ValueError(f"map=: there are several: {', '.join(elements)}; give a dict of their names to functions")
        functions = {elements[0] if elements else "appmap0": functions}
    elif not isinstance(functions, (Mapping, NoneType)):
        raise TypeError(f"map=: a function, or a dict of names to functions, was expected, not {type(functions).__name__}")
    named = dict(functions or {})
    for name in named:
        if name not in elements:
            raise ValueError(f"map=: there is no appmap \"{name}\" in the pipeline; write \"! appmap !\" where the"
                             " function shall work, behind jsonlparse and before batch")
    for name in elements:
        if name not in named:
            raise ValueError(f"map=: appmap \"{name}\" has no function; give one, or leave the element out")
    return named


def describe(error: BaseException, function: Function) -> str:
    """One line: the function, what it raised, and where in it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    code = getattr(function, "__code__", None)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    where = ""
    if frames:
        where = f" ({os.path.basename(frames[0].filename)}:{frames[0].lineno})"
    elif code is not None:  # it returned what is no sample
        where = f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
    return f"{getattr(function, '__qualname__', repr(function))}: {text}{where}"


class _Given:
    """An array that a function got, and how it was then: what is in its memory may be new."""

    def __init__(self, array: Any, tensor: Tensor) -> None:
        self.array, self.tensor = array, tensor
        self.shape, self.dtype = array.shape, array.dtype

    def is_whole(self) -> bool:
        """Whether it still is all of the tensor's memory, in the tensor's order."""
        array = self.array
        compact = array.is_contiguous() if hasattr(array, "is_contiguous") else array.flags.c_contiguous
        return bool(compact) and array.shape == self.shape and array.dtype == self.dtype


class _Worker(threading.Thread):
    """Works for one ``appmap``. Holds the pipeline, but not the loader, which may so be forgotten."""

    def __init__(self, pipeline: Pipeline, element: str, function: Function,
                 make_step: Callable[[Batch, Callable[[Tensor], Any]], Any], to_array: Callable[[Tensor], Any]) -> None:
        super().__init__(name=f"headrace {element}", daemon=True)
        self.failure: tuple[str, BaseException] | None = None  # the last: its line, and itself
        self._pipeline, self._element, self._function = pipeline, element, function
        self._make_step, self._to_array = make_step, to_array

    def _answer(self, sample: Batch) -> None:
        given: dict[int, _Given] = {}

        def to_array(tensor: Tensor) -> Any:
            array = self._to_array(tensor)
            if array is not tensor:
                given[id(array)] = _Given(array, tensor)
            return array

        def give_back(value: Any) -> Any:
            """What it got and gives back is the pipeline's own memory, and counts as that."""
            if isinstance(value, (list, tuple)):
                return [give_back(item) for item in value]
            known = given.get(id(value))
            return known.tensor if known is not None and known.is_whole() else value

        result = self._function(self._make_step(sample, to_array))
        if isinstance(result, Mapping):
            result = {name: give_back(value) for name, value in result.items()}
        self._pipeline.answer(self._element, sample, result)

    def run(self) -> None:
        try:
            while (sample := self._pipeline.take(self._element)) is not None:
                try:
                    self._answer(sample)
                except BaseException as error:  # whatever it is, the run has to know
                    line = describe(error, self._function)
                    self.failure = (line, error)
                    self._pipeline.answer(self._element, sample, error=line, fatal=not isinstance(error, Exception))
                del sample  # not while the next one is waited for
        except Error:
            pass  # the pipeline is over, and says why where a batch is asked for


class Mapper:
    """The threads that work for the pipeline of one loader."""

    def __init__(self, pipeline: Pipeline, functions: Mapping[str, Function],
                 make_step: Callable[[Batch, Callable[[Tensor], Any]], Any], to_array: Callable[[Tensor], Any]) -> None:
        self._pipeline = pipeline
        self._workers = [_Worker(pipeline, element, function, make_step, to_array)
                         for element, function in functions.items()]
        for worker in self._workers:
            worker.start()

    def find_cause(self, error: Error) -> BaseException | None:
        """The exception of a function that is behind the end of the run."""
        for worker in self._workers:
            if worker.failure is not None and worker.failure[0] in str(error):
                return worker.failure[1]
        return None

    def close(self) -> None:
        self._pipeline.stop()
        for worker in self._workers:
            if worker is not threading.current_thread():
                worker.join()
            worker.failure = None
