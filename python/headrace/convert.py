"""A batch's fields as torch tensors or numpy arrays, without copying them."""
from __future__ import annotations

import importlib
from typing import Any, Callable

from ._core import Tensor


_CPU = 1  # DLPack's number


def _to_torch() -> Callable[[Tensor], Any]:
    from_dlpack: Callable[[Tensor], Any] = importlib.import_module("torch").from_dlpack
    return from_dlpack


def _to_numpy() -> Callable[[Tensor], Any]:
    numpy = importlib.import_module("numpy")

    def convert(tensor: Tensor) -> Any:
        if tensor.__dlpack_device__()[0] != _CPU:
            raise TypeError("numpy has no tensors on a GPU: install torch, or use framework=\"raw\" and the tensor's"
                            " __dlpack__()")
        if tensor.dtype == "bfloat16":
            raise TypeError("numpy has no bfloat16: set patchify dtype=float32 or float16, install torch, or use"
                            " framework=\"raw\"")
        return numpy.asarray(tensor)

    return convert


FRAMEWORKS: dict[str, Callable[[], Callable[[Tensor], Any]]] = {
    "torch": _to_torch, "numpy": _to_numpy, "raw": lambda: lambda tensor: tensor}


def converter(framework: str | None) -> Callable[[Tensor], Any]:
    """What makes an array of a :class:`headrace.Tensor`; ``None``: torch's, or numpy's where there is no torch."""
    if framework is not None and framework not in FRAMEWORKS:
        raise ValueError(f"framework={framework!r}: expected one of {', '.join(FRAMEWORKS)}")
    for name in [framework] if framework is not None else FRAMEWORKS:
        try:
            return FRAMEWORKS[name]()
        except ImportError:
            if framework is not None:
                raise
    raise AssertionError("raw needs no module")


def convert(value: Any, to_array: Callable[[Tensor], Any]) -> Any:
    """One field: tensors, and whatever else has DLPack, also in lists, become arrays; all else stays as it is."""
    if hasattr(value, "__dlpack__"):
        return to_array(value)
    if isinstance(value, list):
        return [convert(item, to_array) for item in value]
    return value
