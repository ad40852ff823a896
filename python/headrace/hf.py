"""Hugging Face's Trainer over a :class:`headrace.Loader`: every rank reads its own samples only, and a run that goes
on from a checkpoint gets the same batches as one that was not interrupted.

>>> from headrace.hf import Trainer          # instead of transformers.Trainer
>>> trainer = Trainer(model=model, args=args, train_dataset=headrace.Loader("train.hr"))
>>> trainer.train(resume_from_checkpoint=True)

docs/trainers.md has the whole of it.
"""
from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch.utils.data
import transformers
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, get_last_checkpoint

from .loader import Loader, Step

if TYPE_CHECKING:
    _Base = transformers.Trainer  # what a mix-in stands before
else:
    _Base = object


class _Skipped:
    """Stands for a batch that was trained on before the checkpoint: the Trainer draws and drops so many."""


def _state_path(folder: str | os.PathLike[str], rank: int) -> str:
    return os.path.join(folder, f"headrace_{rank}.json")


def _as_it_is(batch: Any) -> Any:
    return batch


class StateCallback(transformers.TrainerCallback):
    """Writes where to go on, ``headrace_RANK.json``, into each of the Trainer's checkpoints, on every rank."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def on_save(self, args: transformers.TrainingArguments, state: transformers.TrainerState,
                control: transformers.TrainerControl, **_unused: Any) -> None:
        # The Trainer saves behind an optimizer's step, when it has used all batches that it has drawn.
        assert args.output_dir is not None  # it has a default
        folder = os.path.join(args.output_dir, f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}")
        os.makedirs(folder, exist_ok=True)
        path = _state_path(folder, args.process_index)
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(self.loader.state_dict(), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".part", path)


class _Batches(torch.utils.data.IterableDataset[Any]):
    """What the Trainer's DataLoader iterates over: an epoch, as the Trainer counts them, each time."""

    def __init__(self, trainer: TrainerMixin, steps: int | None) -> None:
        super().__init__()
        self._trainer = trainer
        self._steps = steps  # of an epoch; None: the whole run is one
        self.drawn = 0  # batches that left the loader

    def __len__(self) -> int:
        if self._steps is None:
            raise TypeError("the length of an epoch is not known where max_steps says how long the run is")
        return self._steps

    def __iter__(self) -> Iterator[Any]:
        loader = self._trainer.loader
        assert loader is not None
        skipped = self._trainer._take_skipped(self._steps)
        for _ in range(skipped):
            yield _Skipped()
        left = None if self._steps is None else self._steps - skipped
        while left is None or left > 0:
            try:
                step = next(loader)
            except StopIteration:
                return
            self.drawn += 1
            yield self._trainer.batch_to_inputs(step)
            left = None if left is None else left - 1


class TrainerMixin(_Base):
    """For a Trainer class of your own: ``class MyTrainer(headrace.hf.TrainerMixin, transformers.Trainer)``.

    With a :class:`headrace.Loader` as ``train_dataset`` it takes ready batches from it; everything else is the
    Trainer's. ``num_train_epochs`` takes the place of the pipeline's ``epochs``, and counts the lines first
    (``scan=lines``), as the Trainer must know the number of steps; with ``max_steps`` nothing is counted, and the
    epochs of the data just follow each other.

    :ivar loader: the loader.
    """

    loader: Loader | None = None

    def __init__(self, *args: Any, train_dataset: Any = None, **kwargs: Any) -> None:
        loader = train_dataset if isinstance(train_dataset, Loader) else None
        if isinstance(kwargs.get("eval_dataset"), Loader):
            raise ValueError("eval_dataset is a headrace.Loader: the Trainer deals evaluation out to the ranks by itself,"
                             " sample by sample; give it a dataset of torch's or Hugging Face's")
        kwargs["train_dataset"] = train_dataset if loader is None else None
        super().__init__(*args, **kwargs)
        self.loader = loader
        self._resumed = False
        self._n_handed = 0
        self._batches: _Batches | None = None
        if loader is not None:
            self._check_arguments()
            self.add_callback(StateCallback(loader))

    def _check_arguments(self) -> None:
        if self.args.dataloader_num_workers != 0:
            raise ValueError(f"dataloader_num_workers={self.args.dataloader_num_workers} with a headrace.Loader: the"
                             " pipeline has threads of its own; leave it at 0, and set workers= in its text")
        if self.args.auto_find_batch_size:
            raise ValueError("auto_find_batch_size with a headrace.Loader: the size of a batch is that of \"batch\" in"
                             " the pipeline's text")
        if self.args.n_gpu > 1:
            raise ValueError(f"one process with {self.args.n_gpu} GPUs would cut a batch along the rows of each of its"
                             " tensors, and pixel_values has one a patch; start one process a GPU (torchrun)")

    # ---- what a user may override ----

    def batch_to_inputs(self, step: Step) -> dict[str, Any]:
        """What the model gets of a batch: the fields that its ``forward`` names, and labels.

        With ``remove_unused_columns=False`` all fields of the batch. Override it to rename fields.
        """
        if not self.args.remove_unused_columns:
            return dict(step)
        model: Any = self.model
        if hasattr(model, "get_base_model"):
            model = model.get_base_model()
        names = set(inspect.signature(model.forward).parameters) | {"label", "label_ids"} | set(self.label_names)
        return {name: value for name, value in step.items() if name in names}

    # ---- what the Trainer calls ----

    def get_train_dataloader(self) -> torch.utils.data.DataLoader[Any]:
        if self.loader is None:
            return super().get_train_dataloader()
        # Not accelerator.prepare()d: that would deal out the batches of this rank once more.
        self._batches = _Batches(self, self._count_epoch())
        self._n_handed = 0
        return torch.utils.data.DataLoader(self._batches, batch_size=None, collate_fn=_as_it_is)

    def num_examples(self, dataloader: torch.utils.data.DataLoader[Any]) -> int:
        if dataloader.dataset is not self._batches:
            counted: int = super().num_examples(dataloader)
            return counted
        n_rows: int = self.args.per_device_train_batch_size * self.args.world_size
        return len(dataloader) * n_rows

    def get_batch_samples(self, epoch_iterator: Iterator[Any], num_batches: int, device: torch.device) -> Any:
        if self._batches is not None:
            epoch_iterator = self._checked(epoch_iterator)
        return super().get_batch_samples(epoch_iterator, num_batches, device)

    def _checked(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What is drawn must be trained on, and what was skipped must be nothing."""
        assert self._batches is not None
        for batch in batches:
            self._n_handed += 1
            if self._n_handed != self._batches.drawn or isinstance(batch, _Skipped):
                raise RuntimeError(f"the Trainer trains on batch {self._n_handed} where {self._batches.drawn} were drawn:"
                                   " it has not skipped as many as it had trained on before the checkpoint")
            yield batch

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        if self.loader is not None:
            folder = resume_from_checkpoint or None
            if folder is True:
                folder = get_last_checkpoint(self.args.output_dir)  # None: the Trainer says so
            state = self.loader.state_dict() if folder is None else self._read_state(folder)
            self._resumed = folder is not None
            # Also where nothing is resumed: the loader may have been made before torch.distributed was.
            self.loader.load_state_dict(state)
        return super().train(resume_from_checkpoint, *args, **kwargs)

    # ---- epochs and going on ----

    def _read_state(self, folder: str | os.PathLike[str]) -> dict[str, Any]:
        # any rank's serves all, where it can: more ranks than before go on with the first one's
        for rank in (self.args.process_index, 0):
            path = _state_path(folder, rank)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    state: dict[str, Any] = json.load(file)
                    return state
        raise FileNotFoundError(
            f"{_state_path(folder, self.args.process_index)} is missing: the checkpoint does not say where the data"
            " goes on. It was made without headrace.hf, or the run was killed while it was written: go on from an"
            " earlier one, or load its weights into the model and train without resume_from_checkpoint")

    def _count_epoch(self) -> int | None:
        """Steps of an epoch, where the Trainer counts epochs."""
        if self.args.max_steps > 0:
            return None
        loader, epochs = self.loader, math.ceil(self.args.num_train_epochs)
        assert loader is not None
        if loader._options["epochs"] not in (None, epochs):
            raise ValueError(f"num_train_epochs={self.args.num_train_epochs}, but Loader(epochs={loader._options['epochs']}):"
                             " leave epochs out, the Trainer's take its place")
        loader._options["epochs"] = epochs
        if "scan=" not in loader._text:
            loader._properties.setdefault("scan", "lines")
        loader.load_state_dict(loader.state_dict())
        steps = loader.count_steps()
        if steps is None or steps % epochs != 0:
            raise ValueError("num_train_epochs needs epochs of one length, known beforehand, and this pipeline has none"
                             f" ({steps} steps in {epochs} epochs); set max_steps, the epochs of the data follow each"
                             " other all the same")
        return steps // epochs

    def _take_skipped(self, steps: int | None) -> int:
        """So many batches of the epoch at hand the Trainer will drop, as it had trained on them: those that are
        behind the place the loader goes on at. They cost nothing."""
        resumed, self._resumed = self._resumed, False
        if not resumed or self.args.ignore_data_skip:
            return 0
        accumulated = self.args.gradient_accumulation_steps
        updates = self.args.max_steps if steps is None else max(1, math.ceil(steps / accumulated))
        done: int = self.state.global_step
        return done % updates * accumulated


class Trainer(TrainerMixin, transformers.Trainer):
    """``transformers.Trainer`` that takes a :class:`headrace.Loader` as ``train_dataset``; see :class:`TrainerMixin`."""
