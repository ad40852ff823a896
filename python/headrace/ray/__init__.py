"""Pipelines spread over the nodes of a Ray cluster.

>>> from headrace.ray import SpreadLoader
>>> loader = SpreadLoader("filesrc location=train/ ! jsonlparse ! imagefetch ! imagedecode ! resize ! batch size=8 ! appsink",
...                       rank=rank, world=world, then="patchify ! appsink")
>>> for batch in loader:        # as a headrace.Loader's
...     train(batch["pixel_values"])

Each rank makes one. Producers, which are actors of Ray with a pipeline each, make the parts of the order that ranks
ask for; what they make goes from their node to the rank's through Ray's object store. docs/ray.md has the whole of it.
"""
from .errors import SpreadCoreError, SpreadDataError, SpreadError, SpreadParseError, SpreadResourceError
from .loader import SpreadLoader

__all__ = ["SpreadCoreError", "SpreadDataError", "SpreadError", "SpreadLoader", "SpreadParseError", "SpreadResourceError"]
