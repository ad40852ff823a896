"""Megatron-LM's ``--dataloader-type external`` and Megatron-Bridge's ``dataloader_type="external"``.

Both take an object on which they call ``next()``, never ``iter()`` again, and which they ask for ``save_state()``
when they write a checkpoint. What belongs to one data-parallel rank is the same for all its tensor-, pipeline- and
context-parallel peers. Nothing of Megatron is imported here but by :func:`dataloader_provider`. docs/trainers.md has
the whole of it.
"""
from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .loader import Loader, Step

_log = logging.getLogger("headrace")


class Dataloader:
    """A :class:`headrace.Loader` as Megatron's loops call it: an iterator over all epochs, with its state.

    :param loader: made with the data-parallel rank and world: see :func:`data_parallel`.
    :param transform: what the model's step gets of a batch, default: all its fields in a plain dict.
    :param cyclic: begin anew where the loader ends, as for validation: with ``Loader(steps=…)`` each evaluation sees
        the same batches.
    """

    def __init__(self, loader: Loader, *, transform: Callable[[Step], Any] | None = None, cyclic: bool = False) -> None:
        self.loader = loader
        self._transform = transform if transform is not None else dict
        self._start = loader.state_dict() if cyclic else None

    def __iter__(self) -> Dataloader:
        return self  # Megatron-Bridge's providers hand out iter(dataloader), and ask that for save_state()

    def __next__(self) -> Any:
        try:
            step = next(self.loader)
        except StopIteration:
            if self._start is None:
                raise
            self.loader.load_state_dict(self._start)
            step = next(self.loader)
        return self._transform(step)

    def __len__(self) -> int:
        self.loader.count_steps()
        return len(self.loader)

    def __bool__(self) -> bool:
        return True  # and does not start to count

    def save_state(self) -> dict[str, Any]:
        """Where to go on behind the last batch that ``next()`` returned."""
        return self.loader.state_dict()

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """The next batch is the one behind ``state``."""
        self.loader.load_state_dict(state)

    # as Megatron-Energon calls them
    save_state_rank = save_state
    restore_state_rank = restore_state


def data_parallel(groups: Any) -> dict[str, int]:
    """``rank`` and ``world`` for a :class:`headrace.Loader`: those of data parallelism alone, without context
    parallelism, as context-parallel ranks cut up one batch.

    :param groups: ``megatron.core.parallel_state``, or the ``ProcessGroupCollection`` of Megatron-Bridge.
    """
    if hasattr(groups, "get_data_parallel_rank"):
        return {"rank": groups.get_data_parallel_rank(), "world": groups.get_data_parallel_world_size()}
    return {"rank": groups.dp.rank(), "world": groups.dp.size()}


def next_token(step: Step) -> dict[str, Any]:
    """A batch with labels as Megatron's losses want them: ``labels[i]`` is what follows token ``i``, and
    ``loss_mask`` says where it counts. ``tokens`` is ``input_ids``; all else is as it was.

    Labels are [B, L] or [1, N] int64, ``loss_mask`` float32 of the same shape. Where ``loss_mask`` is 0 the label
    is 0, so that it indexes any vocabulary. The first token of a sample has no label, so nothing crosses the borders
    of packed samples.
    """
    fields = dict(step)
    fields["tokens"] = fields["input_ids"]
    labels = torch.full_like(fields["labels"], -100)
    labels[..., :-1] = fields["labels"][..., 1:]
    counts = labels != -100
    fields["loss_mask"] = counts.to(torch.float32)
    fields["labels"] = torch.where(counts, labels, 0)
    return fields


def restore(dataloader: Dataloader, path: str | os.PathLike[str]) -> None:
    """Goes on from ``train_dataloader_dprankNNN.pt``, which both Megatrons write beside their checkpoints.

    :raises FileNotFoundError: it is not there: the data would begin anew, which is never done without a word.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is missing: the checkpoint does not say where the data goes on; it is written"
                                " where dataloader_save is set")
    dataloader.restore_state(torch.load(path, map_location="cpu", weights_only=True)["dataloader_state_dict"])


def restore_latest(dataloader: Dataloader, folder: str | os.PathLike[str], rank: int) -> int:
    """For Megatron-Bridge, whose providers are not told of the iteration: goes on from the latest checkpoint in
    ``folder``, its ``dataloader_save``, if there is one.

    :param rank: the data-parallel rank.
    :returns: the iteration, 0: there is no checkpoint.
    """
    tracker = os.path.join(folder, "latest_checkpointed_iteration.txt")
    if not os.path.exists(tracker):
        return 0
    with open(tracker, encoding="ascii") as file:
        iteration = int(file.read())
    restore(dataloader, os.path.join(folder, f"iter_{iteration:07d}", f"train_dataloader_dprank{rank:03d}.pt"))
    return iteration


def dataloader_provider(pipeline: str | os.PathLike[str], *, valid: str | os.PathLike[str] | None = None,
                        transform: Callable[[Step], Any] | None = next_token, **options: Any) -> Callable[..., Any]:
    """What Megatron-LM's ``pretrain()`` takes as its first argument with ``--dataloader-type external``.

    It makes loaders on the ranks that read (the first of each tensor-parallel group, on the first and the last
    pipeline stage; the others get their batches by Megatron's broadcast), and goes on from
    ``--dataloader-save`` where the run goes on from a checkpoint.

    :param pipeline: as for :class:`headrace.Loader`, ``batch size`` being Megatron's ``--micro-batch-size``.
    :param valid: the pipeline of validation; each evaluation sees its first ``eval_iters`` steps.
    :param options: more for the loaders: ``variables``, ``seed`` …
    """
    def provide(_train_val_test_num_samples: Any, vp_stage: int | None = None) -> tuple[Any, Any, Any]:
        del vp_stage  # each stage of virtual pipelining has an iterator of its own over the same batches
        # pylint: disable=import-outside-toplevel
        from megatron.core import parallel_state
        from megatron.core.num_microbatches_calculator import get_num_microbatches
        from megatron.training import get_args
        from megatron.training.checkpointing import get_checkpoint_name
        args = get_args()
        stages = parallel_state.get_pipeline_model_parallel_world_size()
        if (parallel_state.get_tensor_model_parallel_rank() != 0
                or parallel_state.get_pipeline_model_parallel_rank() not in (0, stages - 1)):
            return None, None, None
        ranks = data_parallel(parallel_state)
        train = Dataloader(Loader(pipeline, rank=ranks["rank"], world=ranks["world"], **options), transform=transform)
        if args.load is not None and args.iteration > 0:
            if getattr(args, "dataloader_save", None):
                restore(train, get_checkpoint_name(args.dataloader_save, args.iteration, pipeline_rank=0,
                                                   basename=f"train_dataloader_dprank{ranks['rank']:03d}.pt"))
            else:
                _log.warning("the model goes on at iteration %d, but the data begins anew: set --dataloader-save",
                             args.iteration)
        evaluated = None
        if valid is not None:
            steps = args.eval_iters * get_num_microbatches()
            evaluated = Dataloader(Loader(valid, rank=ranks["rank"], world=ranks["world"], steps=steps, **options),
                                   transform=transform, cyclic=True)
        return train, evaluated, None

    setattr(provide, "is_distributed", True)  # called on all ranks, not on the first of a tensor-parallel group alone
    return provide
