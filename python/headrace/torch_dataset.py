"""A loader as a torch dataset, for trainers that insist on a torch DataLoader around it."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch.utils.data

from .loader import Loader, Step


class IterableDataset(torch.utils.data.IterableDataset[Step]):
    """What a :class:`headrace.Loader` gives, ready batches (:class:`headrace.Step`, which tells shapes and
    dtypes), for ``DataLoader(dataset, batch_size=None, num_workers=0)``.

    ``torchdata.stateful_dataloader.StatefulDataLoader`` around it saves and restores the loader's place.
    """

    def __init__(self, loader: Loader) -> None:
        super().__init__()
        self.loader = loader

    def __iter__(self) -> Iterator[Step]:
        return iter(self.loader)

    def state_dict(self) -> dict[str, Any]:
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.loader.load_state_dict(state)
