"""Megatron-Bridge: a provider for ConfigContainer(dataset=HeadraceProvider(pipeline="train.hr", …))"""
from dataclasses import dataclass

from megatron.bridge.data.utils import DatasetBuildContext, DatasetProvider

import headrace
from headrace.megatron import Dataloader, data_parallel, next_token, restore_latest


@dataclass(kw_only=True)
class HeadraceProvider(DatasetProvider):
    pipeline: str
    dataloader_type: str = "external"
    dataloader_save: str | None = None  # the folder of the checkpoints

    def build_datasets(self, context: DatasetBuildContext):
        ranks = data_parallel(context.pg_collection)
        train = Dataloader(headrace.Loader(self.pipeline, **ranks), transform=next_token)
        if self.dataloader_save:
            restore_latest(train, self.dataloader_save, ranks["rank"])
        return train, None, None
