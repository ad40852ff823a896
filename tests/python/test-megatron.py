#!/usr/bin/env python3
"""headrace.megatron between doubles of Megatron-LM and Megatron-Bridge that call as they do: each double names the file
and function of the call it stands for. Two data-parallel by two tensor-parallel ranks of gloo."""
import argparse
import json
import os
import pathlib
import pickle
import shutil
import sys
import tempfile
import types

import torch
import torch.distributed as dist
import torch.multiprocessing

import headrace
import tap
from dataset import ROOT, WithData
from headrace import megatron

sys.path.insert(0, str(ROOT / "tests/order"))
import tokenizer  # pylint: disable=wrong-import-position

TP, DP, MICRO_BATCHES = 2, 2, 2


def pipeline(data, size):
    tokenizer.write(data.folder / "tokenizer.json")
    return (f"filesrc location={data.folder}/ shuffle=full seed=3 ! jsonlparse ! imagefetch"
            f" ! tokenize tokenizer={data.folder}/tokenizer.json max-pixels=65536 min-pixels=4096 ! imagedecode workers=2 ! resize"
            f" ! batch mode=padded pad-id=299 size={size} ! prefetchqueue ! patchify ! appsink")


def told(step):
    """what a batch is, beside what the step's function gets"""
    fields = megatron.next_token(step)
    fields["digest"] = step.batch.digest()
    fields["told"] = [sample["id"] for sample in step.batch.samples if sample["id"] is not None]
    return fields


class Groups:
    """Groups of ranks in Megatron's order, tensor-parallel peers beside each other, as Megatron-Bridge's
    ProcessGroupCollection has them: megatron/core/process_groups_config.py."""

    class Group:
        def __init__(self, ranks):
            self.ranks, self.group = ranks, dist.new_group(ranks)

        def rank(self):
            return self.ranks.index(dist.get_rank())

        def size(self):
            return len(self.ranks)

    def __init__(self):
        mine = dist.get_rank()
        for tp in [list(range(i * TP, (i + 1) * TP)) for i in range(DP)]:
            group = self.Group(tp)
            if mine in tp:
                self.tp = group
        for dp in [list(range(i, TP * DP, TP)) for i in range(TP)]:
            group = self.Group(dp)
            if mine in dp:
                self.dp = group
        for pp in [[rank] for rank in range(TP * DP)]:
            group = self.Group(pp)
            if mine in pp:
                self.pp = group


class RerunDataIterator:
    """megatron/core/rerun_state_machine.py, RerunDataIterator.__next__, rewind, advance, state_dict: next() on what it
    was given, without iter(); an iteration may be run again from what it has kept."""

    def __init__(self, iterable):
        self.iterable, self.saved, self.replaying, self.position = iterable, [], False, 0

    def __next__(self):
        if self.replaying:
            self.position += 1
            return self.saved[self.position - 1]
        self.saved.append(next(self.iterable))
        return self.saved[-1]

    def rewind(self):
        self.replaying, self.position = True, 0

    def advance(self):
        self.replaying, self.saved = False, []

    def state_dict(self):
        return {"saved_microbatches": self.saved, "replaying": self.replaying, "replay_pos": self.position}


class MegatronLM:
    """Megatron-LM with --dataloader-type external."""

    def __init__(self, groups, folder, load=None, iteration=0, save=True):
        self.groups = groups
        self.args = argparse.Namespace(load=load, iteration=iteration, eval_iters=1, dataloader_save=folder if save else None)
        self._install()

    def _install(self):
        """what the provider imports"""
        groups, modules = self.groups, {}
        for name in ("megatron", "megatron.core", "megatron.core.parallel_state", "megatron.core.num_microbatches_calculator",
                     "megatron.training", "megatron.training.checkpointing"):
            modules[name] = types.ModuleType(name)
        state = modules["megatron.core.parallel_state"]
        state.get_data_parallel_rank, state.get_data_parallel_world_size = groups.dp.rank, groups.dp.size
        state.get_tensor_model_parallel_rank = groups.tp.rank
        state.get_pipeline_model_parallel_rank, state.get_pipeline_model_parallel_world_size = groups.pp.rank, groups.pp.size
        modules["megatron.core"].parallel_state = state
        modules["megatron.core.num_microbatches_calculator"].get_num_microbatches = lambda: MICRO_BATCHES
        modules["megatron.training"].get_args = lambda: self.args
        modules["megatron.training.checkpointing"].get_checkpoint_name = self.checkpoint_name
        sys.modules.update(modules)

    @staticmethod
    def checkpoint_name(folder, iteration, pipeline_rank=0, basename="model_optim_rng.pt"):
        """megatron/training/checkpointing.py, get_checkpoint_name, of the first tensor- and pipeline-parallel rank"""
        return os.path.join(folder, f"iter_{iteration:07d}", f"mp_rank_00_{pipeline_rank:03d}", basename)

    def build(self, provider):
        """megatron/training/training.py, build_train_valid_test_data_loaders: a provider that is_distributed is called on
        all ranks; build_train_valid_test_data_iterators, _get_iterator: external ones are passed through"""
        train, valid = None, None
        if getattr(provider, "is_distributed", False) or self.groups.tp.rank() == 0:
            train, valid, _ = provider((1, 1, 1))
        return (RerunDataIterator(train) if train is not None else None,
                RerunDataIterator(valid) if valid is not None else None)

    def get_batch(self, iterator):
        """examples/multimodal/train.py, get_batch: the first tensor-parallel rank calls next();
        megatron/core/tensor_parallel/data.py, broadcast_data: its peers get shapes, then the values"""
        data = next(iterator) if iterator is not None and self.groups.tp.rank() == 0 else None
        got, first = {}, self.groups.tp.ranks[0]
        for key in ("tokens", "labels", "loss_mask"):
            size = torch.tensor(data[key].shape if data is not None else [0, 0])
            dist.broadcast(size, first, group=self.groups.tp.group)
            value = data[key].contiguous() if data is not None else torch.empty(
                size.tolist(), dtype=torch.float32 if key == "loss_mask" else torch.int64)
            dist.broadcast(value, first, group=self.groups.tp.group)
            got[key] = value
        return got, data

    def save(self, iterator, iteration):
        """megatron/training/checkpointing.py, maybe_save_dataloader_state"""
        if iterator is None or not self.args.dataloader_save:
            return
        if not hasattr(iterator.iterable, "save_state"):
            raise RuntimeError("no save_state")
        if self.groups.tp.rank() != 0 or self.groups.pp.rank() != 0:
            return
        state = iterator.iterable.save_state()
        path = self.checkpoint_name(self.args.dataloader_save, iteration,
                                    basename=f"train_dataloader_dprank{self.groups.dp.rank():03d}.pt")
        dist.barrier(group=self.groups.dp.group)
        if self.groups.dp.rank() == 0:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        dist.barrier(group=self.groups.dp.group)
        torch.save({"dataloader_state_dict": state}, path)

    def run(self, provider, iterations, evaluate=False):
        """(what each micro-batch was, what each evaluation was, what the peers got)"""
        train, valid = self.build(provider)
        seen, evaluated, got = [], [], []
        for iteration in range(self.args.iteration + 1, self.args.iteration + iterations + 1):
            for again in range(2 if iteration == 2 else 1):  # run again in place, as the rerun state machine does
                if again and train is not None:
                    pickle.dumps(train.state_dict())
                    train.rewind()
                batches = [self.get_batch(train) for _ in range(MICRO_BATCHES)]
                if again:
                    assert [values["tokens"].tolist() for values, _ in batches] == got[-MICRO_BATCHES:]
                    continue
                got += [values["tokens"].tolist() for values, _ in batches]
                seen += [[data["digest"], data["told"]] for _, data in batches if data is not None]
            if train is not None:
                train.advance()
            self.save(train, iteration)
            if evaluate:
                evaluated.append([data["digest"] for _, data in (self.get_batch(valid) for _ in range(MICRO_BATCHES)) if data])
        for iterator in (train, valid):
            if iterator is not None:
                iterator.iterable.loader.close()
        return {"seen": seen, "evaluated": evaluated, "tokens": got, "reads": train is not None}


class Bridge:
    """Megatron-Bridge with dataloader_type="external": src/megatron/bridge/data/energon/energon_provider.py,
    EnergonProvider.build_datasets, hands out iter() of its dataloader on every rank."""

    def __init__(self, groups, folder):
        self.groups, self.folder = groups, folder

    def checkpoint_name(self, iteration):
        """src/megatron/bridge/training/utils/checkpoint_utils.py, get_checkpoint_name"""
        return os.path.join(self.folder, f"iter_{iteration:07d}")

    def save(self, iterator, iteration):
        """src/megatron/bridge/training/checkpointing.py, maybe_save_dataloader_state"""
        if not hasattr(iterator.iterable, "save_state"):
            raise RuntimeError("no save_state")
        if self.groups.pp.rank() != 0 or self.groups.tp.rank() != 0:
            return
        state = iterator.iterable.save_state()
        path = os.path.join(self.checkpoint_name(iteration), f"train_dataloader_dprank{self.groups.dp.rank():03d}.pt")
        dist.barrier(group=self.groups.dp.group)
        if self.groups.dp.rank() == 0:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        dist.barrier(group=self.groups.dp.group)
        torch.save({"dataloader_state_dict": state}, path)

    def run(self, dataloader, first, iterations, save=True):
        # src/megatron/bridge/data/loaders.py, build_train_valid_test_data_iterators, _get_iterator
        iterator = RerunDataIterator(iter(dataloader))
        seen = []
        for iteration in range(first + 1, first + iterations + 1):
            for _ in range(MICRO_BATCHES):
                batch = next(iterator)  # src/megatron/bridge/training/vlm_step.py, get_batch_from_iterator: on every rank
                seen.append([batch["digest"], batch["told"]])
            iterator.advance()
            if save:
                self.save(iterator, iteration)
                dist.barrier()
                if dist.get_rank() == 0:
                    pathlib.Path(self.folder, "latest_checkpointed_iteration.txt").write_text(str(iteration), encoding="ascii")
                dist.barrier()
        iterator.iterable.loader.close()
        return {"seen": seen}


def run_rank(rank, text, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=TP * DP)
    torch.set_num_threads(1)
    groups, results = Groups(), {}
    provider = megatron.dataloader_provider(text, valid=text, transform=told)
    results["lm"] = MegatronLM(groups, f"{folder}/lm").run(provider, 6, evaluate=True)
    results["lm from 4"] = MegatronLM(groups, f"{folder}/lm", load=f"{folder}/lm", iteration=4).run(provider, 2)

    def bridge_dataloader():
        return megatron.Dataloader(headrace.Loader(text, **megatron.data_parallel(groups)), transform=told)

    bridge = Bridge(groups, f"{folder}/bridge")
    results["bridge"] = bridge.run(bridge_dataloader(), 0, 2)
    again = bridge_dataloader()
    results["bridge at"] = megatron.restore_latest(again, f"{folder}/bridge", groups.dp.rank())
    results["bridge from 2"] = bridge.run(again, 2, 2, save=False)
    pathlib.Path(folder, str(rank)).write_text(json.dumps(results), encoding="utf-8")
    dist.destroy_process_group()


class Ranks(WithData):
    """Four ranks, once; the tests look at what they tell. 23 samples, 2 data-parallel ranks of 1 row: 12 steps an epoch."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp()
        torch.multiprocessing.spawn(run_rank, (pipeline(cls.data, 1), cls.folder), nprocs=TP * DP)
        cls.told = [json.loads(pathlib.Path(cls.folder, str(rank)).read_text(encoding="utf-8")) for rank in range(TP * DP)]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)
        super().tearDownClass()

    def test_megatron_lm(self):
        """Megatron-LM: the first tensor-parallel rank reads; each sample comes once over the data-parallel ranks"""
        self.assertEqual([told["lm"]["reads"] for told in self.told], [True, False, True, False])
        self.assertEqual(sorted(name for told in self.told for _, names in told["lm"]["seen"] for name in names),
                         sorted(f"r{i}" for i in range(23)))
        for peers in ((0, 1), (2, 3)):
            self.assertEqual(*(self.told[rank]["lm"]["tokens"] for rank in peers))
        self.assertNotEqual(self.told[0]["lm"]["tokens"], self.told[2]["lm"]["tokens"])

    def test_megatron_lm_goes_on(self):
        """Megatron-LM: from --dataloader-save in mid epoch on, the same batches; a rerun iteration moves nothing"""
        for told in self.told:
            self.assertEqual(told["lm from 4"]["seen"], told["lm"]["seen"][4 * MICRO_BATCHES:])
            self.assertEqual(told["lm from 4"]["tokens"], told["lm"]["tokens"][4 * MICRO_BATCHES:])

    def test_megatron_lm_valid(self):
        """Megatron-LM: each evaluation sees the same batches"""
        evaluated = self.told[0]["lm"]["evaluated"]
        self.assertEqual((len(evaluated), len(evaluated[0])), (6, MICRO_BATCHES))
        self.assertTrue(all(one == evaluated[0] for one in evaluated))

    def test_bridge(self):
        """Megatron-Bridge: each rank calls next(), and tensor-parallel peers get the same batches, bit for bit"""
        for peers in ((0, 1), (2, 3)):
            self.assertEqual(*(self.told[rank]["bridge"] for rank in peers))
        both = [name for rank in (0, 2) for _, names in self.told[rank]["bridge"]["seen"] for name in names]
        self.assertEqual(len(both), len(set(both)))
        self.assertEqual(self.told[0]["bridge"]["seen"], self.told[0]["lm"]["seen"][:2 * MICRO_BATCHES])

    def test_bridge_goes_on(self):
        """Megatron-Bridge: all peers go on from the file of their data-parallel rank"""
        for rank, told in enumerate(self.told):
            self.assertEqual(told["bridge at"], 2)
            self.assertEqual(told["bridge from 2"]["seen"], self.told[rank // TP * TP]["lm"]["seen"][2 * MICRO_BATCHES:4 * MICRO_BATCHES])


class One(WithData):
    def test_next_token(self):
        """labels are those of the next token, and none beyond the end"""
        step = next(headrace.Loader(pipeline(self.data, 2)))
        fields = megatron.next_token(step)
        counts = step["labels"][:, 1:] != -100
        self.assertTrue(torch.equal(fields["tokens"], step["input_ids"]))
        self.assertTrue(counts.any() and not counts.all())
        self.assertTrue(torch.equal(fields["loss_mask"][:, :-1] == 1, counts))
        self.assertTrue(torch.equal(fields["labels"][:, :-1][counts], step["input_ids"][:, 1:][counts]))
        self.assertEqual((fields["loss_mask"][:, -1].sum(), fields["labels"].min()), (0, 0))

    def test_ends(self):
        """a loader that ends ends, but a cyclic one begins anew"""
        def dataloader(**options):
            return megatron.Dataloader(headrace.Loader(self.data.pipeline(), steps=2), transform=lambda step: step.batch.digest(),
                                       **options)

        self.assertTrue(dataloader() and headrace.Loader(self.data.pipeline()))
        once = list(dataloader())
        self.assertEqual(len(once), 2)
        self.assertEqual(len(megatron.Dataloader(headrace.Loader(self.data.pipeline(head="scan=lines"), steps=2))), 2)
        cyclic = dataloader(cyclic=True)
        self.assertEqual([next(cyclic) for _ in range(5)], [*once, *once, once[0]])
        again = dataloader()
        next(again)
        other = dataloader()
        other.restore_state_rank(again.save_state_rank())
        self.assertEqual(list(other), once[1:])

    def test_missing(self):
        """no state is an error that names the file; no checkpoint at all is a beginning"""
        dataloader = megatron.Dataloader(headrace.Loader(self.data.pipeline()))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(megatron.restore_latest(dataloader, folder, 0), 0)
            pathlib.Path(folder, "latest_checkpointed_iteration.txt").write_text("7", encoding="ascii")
            with self.assertRaisesRegex(FileNotFoundError, "iter_0000007/train_dataloader_dprank003.pt is missing"):
                megatron.restore_latest(dataloader, folder, 3)


if __name__ == "__main__":  # children of spawn import this file
    sys.stdout.reconfigure(line_buffering=True)
    tap.main()
