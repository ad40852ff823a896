"""Headrace: keeps accelerators fed.

A pipeline is text: elements linked by ``!``, each in threads of its own, with bounded queues between
them. :class:`Loader` iterates over what a pipeline's ``appsink`` delivers, as dicts of torch tensors
(numpy arrays without torch) that share the pipeline's memory, and goes on exactly from any of them.

>>> import headrace
>>> loader = headrace.Loader("s3src location=s3://corpus/train/ shuffle=window ! jsonlparse ! imagefetch"
...                          " ! imagedecode ! resize ! batch size=8 ! prefetchqueue ! patchify ! appsink",
...                          rank=0, world=1, seed=7)
>>> for batch in loader:        # one epoch
...     train(batch["pixel_values"])
...     state = loader.state_dict()
"""
from ._core import (Batch, CoreError, DataError, Error, ParseError, Pipeline, ResourceError, StoppedError, Tensor,
                    __version__)
from .loader import Loader, Step

__all__ = ["Batch", "CoreError", "DataError", "Error", "Loader", "ParseError", "Pipeline", "ResourceError", "Step",
           "StoppedError", "Tensor", "__version__"]
