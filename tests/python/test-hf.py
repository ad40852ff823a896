#!/usr/bin/env python3
"""headrace.hf with transformers' Trainer: on two ranks of gloo each sample comes once, and a run that goes on from a
checkpoint trains on the same batches, bit for bit, to the same weights."""
import gc
import json
import os
import pathlib
import shutil
import sys
import tempfile

import torch
import torch.distributed
import torch.multiprocessing
from transformers import TrainingArguments

import headrace
import tap
from dataset import ROOT, DataSet, WithData
from headrace import hf

sys.path.insert(0, str(ROOT / "tests/order"))
import tokenizer  # pylint: disable=wrong-import-position


class Model(torch.nn.Module):
    """The smallest that all fields go into."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.embed = torch.nn.Embedding(300, 16)
        self.image = torch.nn.Linear(1536, 16)
        self.dropout = torch.nn.Dropout(0.1)  # so that the state of the random numbers counts
        self.out = torch.nn.Linear(16, 300)

    def forward(self, input_ids, labels, pixel_values, image_grid_thw):
        assert int(image_grid_thw.prod(1).sum()) == pixel_values.flatten(0, -2).size(0)
        hidden = self.dropout(self.embed(input_ids) + self.image(pixel_values.flatten(0, -2)).mean(0))
        loss = torch.nn.functional.cross_entropy(self.out(hidden)[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return {"loss": loss}


def pipeline(data, size, head=""):
    tokenizer.write(data.folder / "tokenizer.json")
    return (f"{head} filesrc location={data.folder}/ shuffle=full seed=3 ! jsonlparse ! imagefetch"
            f" ! tokenize tokenizer={data.folder}/tokenizer.json max-pixels=65536 min-pixels=4096 ! imagedecode workers=2 ! resize"
            f" ! batch mode=padded pad-id=299 size={size} ! prefetchqueue ! patchify ! appsink")


class Trainer(hf.Trainer):
    """One that remembers what it was given."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.remove_callback(hf.transformers.PrinterCallback)  # standard output is TAP
        self.seen = []

    def batch_to_inputs(self, step):
        inputs = super().batch_to_inputs(step)
        self.seen.append({"digest": step.batch.digest(), "epoch": step.batch.epoch, "fields": sorted(inputs),
                          "ids": [sample["id"] for sample in step.batch.samples if sample["id"] is not None]})
        return inputs


def arguments(folder, **options):
    return TrainingArguments(output_dir=folder, use_cpu=True, report_to=[], disable_tqdm=True, seed=1, logging_strategy="no",
                             save_strategy="steps", **{"save_steps": 1, "per_device_train_batch_size": 2,
                                                       "gradient_accumulation_steps": 2, **options})


def train(text, folder, resume=None, **options):
    """(what it has seen, what the weights are, how many steps)"""
    trainer = Trainer(model=Model(), args=arguments(folder, **options), train_dataset=headrace.Loader(text))
    trainer.train(resume_from_checkpoint=resume)
    weights = {name: value.tolist() for name, value in trainer.model.state_dict().items()}
    trainer.loader.close()
    return {"seen": trainer.seen, "weights": weights, "steps": trainer.state.global_step, "epoch": trainer.state.epoch}


def become(rank):
    """As torchrun says who one is; the address is asked for, but not used."""
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT="1")


def meet(rank, folder):
    """By a file: a port that is free now may be somebody's a moment later."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)


def run_rank(rank, text, folder):
    become(rank)
    meet(rank, folder)
    torch.set_num_threads(1)
    told = {}
    # 23 samples, 2 ranks of 2 rows: 6 batches an epoch, 3 steps of 2 batches; 2 epochs
    told["whole"] = train(text, f"{folder}/whole", num_train_epochs=2)
    for steps in (1, 3, 4):  # in mid epoch, at its end, in mid of the second
        told[f"from {steps}"] = train(text, f"{folder}/again", resume=f"{folder}/whole/checkpoint-{steps}", num_train_epochs=2)
    # of 6 batches by 4: the last step of an epoch has two
    told["uneven"] = train(text, f"{folder}/uneven", num_train_epochs=2, gradient_accumulation_steps=4)
    told["uneven from 1"] = train(text, f"{folder}/again", resume=f"{folder}/uneven/checkpoint-1", num_train_epochs=2,
                                  gradient_accumulation_steps=4)
    told["steps"] = train(text, f"{folder}/steps", max_steps=5)
    told["steps from 2"] = train(text, f"{folder}/again", resume=f"{folder}/steps/checkpoint-2", max_steps=5)
    told["no skip from 1"] = train(text, f"{folder}/again", resume=f"{folder}/whole/checkpoint-1", num_train_epochs=2,
                                   ignore_data_skip=True)
    pathlib.Path(folder, str(rank)).write_text(json.dumps(told), encoding="utf-8")
    torch.distributed.destroy_process_group()


class Ranks(WithData):
    """Two ranks, once; the tests look at what they tell."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp()
        torch.multiprocessing.spawn(run_rank, (pipeline(cls.data, 2), cls.folder), nprocs=2)
        cls.told = [json.loads(pathlib.Path(cls.folder, str(rank)).read_text(encoding="utf-8")) for rank in range(2)]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)
        super().tearDownClass()

    def test_each_once(self):
        """each sample once an epoch over both ranks, as many batches on each"""
        for told in self.told:
            self.assertEqual((len(told["whole"]["seen"]), told["whole"]["steps"], told["whole"]["epoch"]), (12, 6, 2.0))
        for epoch in range(2):
            seen = [name for told in self.told for batch in told["whole"]["seen"] if batch["epoch"] == epoch for name in batch["ids"]]
            self.assertEqual(sorted(seen), sorted(f"r{i}" for i in range(23)))
        self.assertNotEqual(self.told[0]["whole"]["seen"][0], self.told[1]["whole"]["seen"][0])
        self.assertEqual(self.told[0]["whole"]["weights"], self.told[1]["whole"]["weights"])
        self.assertEqual(self.told[0]["whole"]["seen"][0]["fields"], ["image_grid_thw", "input_ids", "labels", "pixel_values"])

    def compare(self, whole, again, batches):
        for told in self.told:
            self.assertEqual(told[again]["seen"], told[whole]["seen"][batches:])
            self.assertEqual(told[again]["weights"], told[whole]["weights"])
            self.assertEqual((told[again]["steps"], told[again]["epoch"]), (told[whole]["steps"], told[whole]["epoch"]))

    def test_goes_on(self):
        """from a checkpoint in mid epoch and at its end: the same batches, the same weights"""
        for steps in (1, 3, 4):
            self.compare("whole", f"from {steps}", steps * 2)

    def test_uneven(self):
        """epochs that are no multiple of the accumulated batches"""
        self.assertEqual(self.told[0]["uneven"]["steps"], 4)
        self.compare("uneven", "uneven from 1", 4)

    def test_max_steps(self):
        """with max_steps nothing is counted, and epochs follow each other"""
        self.assertEqual([batch["digest"] for batch in self.told[0]["steps"]["seen"]],
                         [batch["digest"] for batch in self.told[0]["whole"]["seen"][:10]])
        self.compare("steps", "steps from 2", 4)

    def test_ignore_data_skip(self):
        """ignore_data_skip changes nothing of the batches: nothing is read to be skipped"""
        for told in self.told:
            n = len(told["no skip from 1"]["seen"])
            self.assertEqual(n, 10)
            self.assertEqual(told["no skip from 1"]["seen"], told["whole"]["seen"][2:])

    def test_files(self):
        """a file a rank in each checkpoint, of which any serves"""
        for steps in range(1, 7):
            files = sorted(path.name for path in pathlib.Path(self.folder, f"whole/checkpoint-{steps}").glob("headrace*"))
            self.assertEqual(files, ["headrace_0.json", "headrace_1.json"])


class One(WithData):
    """Without torch.distributed."""

    def trainer(self, folder, text=None, **options):
        loader = headrace.Loader(text or pipeline(self.data, 4))
        return Trainer(model=Model(), args=arguments(folder, **options), train_dataset=loader)

    def test_other_world(self):
        """what two ranks have begun one goes on with, with batches of twice the size"""
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(one_step, (pipeline(self.data, 2), folder), nprocs=2)
            trainer = self.trainer(folder, num_train_epochs=1, gradient_accumulation_steps=1, per_device_train_batch_size=4)
            trainer.train(resume_from_checkpoint=True)
            begun = [name for rank in range(2) for name in json.loads(pathlib.Path(folder, str(rank)).read_text(encoding="utf-8"))]
            self.assertEqual(sorted(begun + [name for batch in trainer.seen for name in batch["ids"]]),
                             sorted(f"r{i}" for i in range(23)))
            trainer.loader.close()
            del trainer

    def test_refused(self):
        """what cannot work is said before the first step"""
        with tempfile.TemporaryDirectory() as folder:
            for options, said in (({"dataloader_num_workers": 2}, "threads of its own"), ({"auto_find_batch_size": True}, "\"batch\"")):
                with self.assertRaisesRegex(ValueError, said):
                    self.trainer(folder, max_steps=1, **options)
            trainer = Trainer(model=Model(), args=arguments(folder, num_train_epochs=2),
                              train_dataset=headrace.Loader(pipeline(self.data, 4), epochs=1))
            with self.assertRaisesRegex(ValueError, r"but Loader\(epochs=1\)"):
                trainer.train()
            with self.assertRaisesRegex(ValueError, "eval_dataset is a headrace.Loader"):
                Trainer(model=Model(), args=arguments(folder, max_steps=1), eval_dataset=headrace.Loader(pipeline(self.data, 4)))
            os.makedirs(f"{folder}/checkpoint-7")
            with self.assertRaisesRegex(FileNotFoundError, "checkpoint-7/headrace_0.json is missing"):
                trainer.train(resume_from_checkpoint=True)
            del trainer

    def test_miscounted(self):
        """a Trainer that skips another number of batches is stopped, not fed others"""
        with tempfile.TemporaryDirectory() as folder:
            trainer = self.trainer(folder, max_steps=2)
            trainer.train()
            trainer.loader.close()
            for wrong in (1, 3):
                trainer = self.trainer(folder, max_steps=2)
                trainer._take_skipped = lambda steps, wrong=wrong: wrong
                with self.assertRaisesRegex(RuntimeError, "has not skipped as many"):
                    trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-1")
                trainer.loader.close()
            del trainer

    def test_other_datasets(self):
        """without a loader it is the Trainer it was"""
        rows = [{"input_ids": torch.arange(8), "labels": torch.arange(8), "pixel_values": torch.ones(4, 1536),
                 "image_grid_thw": torch.tensor([1, 2, 2])} for _ in range(4)]
        with tempfile.TemporaryDirectory() as folder:
            trainer = Trainer(model=Model(), args=arguments(folder, max_steps=1, gradient_accumulation_steps=1,
                                                            per_device_train_batch_size=1), train_dataset=rows)
            trainer.train()
            self.assertEqual(trainer.state.global_step, 1)


def one_step(rank, text, folder):
    become(rank)
    loader = headrace.Loader(text)  # before torch.distributed is there
    meet(rank, folder)
    trainer = Trainer(model=Model(), args=arguments(folder, num_train_epochs=1, gradient_accumulation_steps=1), train_dataset=loader)
    trainer.add_callback(StopBehindOne())
    trainer.train()
    pathlib.Path(folder, str(rank)).write_text(json.dumps(trainer.seen[0]["ids"]), encoding="utf-8")
    trainer.loader.close()
    del loader, trainer  # a model of torch's that outlives its group now and then aborts the process while it ends
    gc.collect()
    torch.distributed.destroy_process_group()


class StopBehindOne(hf.transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = True


if __name__ == "__main__":  # children of spawn import this file
    sys.stdout.reconfigure(line_buffering=True)
    tap.main()
