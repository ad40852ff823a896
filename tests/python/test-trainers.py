#!/usr/bin/env python3
"""The examples of docs/trainers.md run: against torch, torchdata, transformers; and a tiny model that is trained, killed and gone on."""
import dataclasses
import json
import os
import pathlib
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import types

import torch

import headrace
import tap
from dataset import ROOT, WithData
from headrace import megatron

sys.path.insert(0, str(ROOT / "tests/order"))
import tokenizer  # pylint: disable=wrong-import-position

EXAMPLES = ROOT / "examples/python"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run(*command, status=0):
    done = subprocess.run([sys.executable, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, env=ENVIRONMENT)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr[-3000:]}")
    return done.stdout


def torchrun(*command):
    return run("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *command)


class Examples(WithData):
    """23 samples; 12 batches an epoch of one rank"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tokenizer.write(cls.data.folder / "tokenizer.json")
        for name in ("train", "valid"):
            (cls.data.folder / f"{name}.hr").write_text(cls.pipeline(2), encoding="utf-8")
        cls.text = cls.data.folder / "train.hr"

    @classmethod
    def pipeline(cls, size):
        return (f"filesrc location={cls.data.folder}/ shuffle=full seed=3 ! jsonlparse ! imagefetch"
                f" ! tokenize tokenizer={cls.data.folder}/tokenizer.json max-pixels=65536 min-pixels=4096 ! imagedecode ! resize"
                f" ! batch mode=padded pad-id=299 size={size} ! prefetchqueue ! patchify ! appsink")

    def test_torch(self):
        """torch: two ranks, each sample once, and from a checkpoint in mid epoch the same batches and losses"""
        with tempfile.TemporaryDirectory() as folder:
            # two processes write into one pipe: a line's end may come behind the other's line
            def lines(steps, to):
                return re.findall(r"rank \d step \d+ loss \S+ samples \[[^]]*\]",
                                  torchrun(EXAMPLES / "torch-loop.py", self.text, f"{folder}/{to}.pt", steps))
            whole, parts = sorted(lines(6, "whole")), lines(3, "parts") + lines(6, "parts")
        self.assertEqual(len(whole), 12)
        self.assertEqual(sorted(parts), whole)
        self.assertEqual(sorted(re.findall(r"'(r\d+)'", "".join(whole))), sorted(f"r{i}" for i in range(23)))

    def test_stateful(self):
        """StatefulDataLoader: from a checkpoint in mid epoch, the first and the second, the same batches and losses"""
        with tempfile.TemporaryDirectory() as folder:
            whole = run(EXAMPLES / "stateful-dataloader.py", self.text, f"{folder}/whole.pt", 18)
            parts = "".join(run(EXAMPLES / "stateful-dataloader.py", self.text, f"{folder}/parts.pt", n) for n in (5, 14, 18))
        self.assertEqual(whole.count("\n"), 18)
        self.assertEqual(parts, whole)

    def test_hf(self):
        """the Trainer on two ranks: stopped and gone on it ends with the weights of the whole run"""
        with tempfile.TemporaryDirectory() as folder:
            torchrun(EXAMPLES / "hf-trainer.py", self.text, f"{folder}/whole", 4)
            for name in ("optimizer.pt", "scheduler.pt"):  # the last steps once more, from the checkpoint in the middle
                self.assertTrue(os.path.exists(f"{folder}/whole/checkpoint-2/{name}"))
            os.makedirs(f"{folder}/parts")
            os.rename(f"{folder}/whole/checkpoint-2", f"{folder}/parts/checkpoint-2")
            torchrun(EXAMPLES / "hf-trainer.py", self.text, f"{folder}/parts", 4)
            weights = [pathlib.Path(folder, name, "checkpoint-4/model.safetensors").read_bytes() for name in ("whole", "parts")]
        self.assertEqual(*weights)

    def test_megatron(self):
        """Megatron-LM's and Megatron-Bridge's examples make the loaders that test-megatron.py runs"""
        got = []
        doubles = {name: types.ModuleType(name) for name in (
            "megatron", "megatron.core", "megatron.core.enums", "megatron.core.parallel_state",
            "megatron.core.num_microbatches_calculator", "megatron.training", "megatron.training.checkpointing", "megatron.bridge",
            "megatron.bridge.data", "megatron.bridge.data.utils", "my_model")}
        doubles["megatron.core.enums"].ModelType = types.SimpleNamespace(encoder_or_decoder=1)
        state = doubles["megatron.core"].parallel_state = doubles["megatron.core.parallel_state"]
        for name, value in (("data_parallel_rank", 1), ("data_parallel_world_size", 2), ("tensor_model_parallel_rank", 0),
                            ("pipeline_model_parallel_rank", 0), ("pipeline_model_parallel_world_size", 1)):
            setattr(state, f"get_{name}", lambda value=value: value)
        doubles["megatron.core.num_microbatches_calculator"].get_num_microbatches = lambda: 3
        doubles["megatron.training"].get_args = lambda: types.SimpleNamespace(load=None, iteration=0, eval_iters=2)
        doubles["megatron.training"].pretrain = lambda *arguments: got.append(arguments)
        doubles["megatron.training.checkpointing"].get_checkpoint_name = None
        doubles["my_model"].forward_step = doubles["my_model"].model_provider = None
        doubles["megatron.bridge.data.utils"].DatasetProvider = object
        doubles["megatron.bridge.data.utils"].DatasetBuildContext = object
        before = os.getcwd()
        sys.modules.update(doubles)
        os.chdir(self.data.folder)
        try:
            runpy.run_path(str(EXAMPLES / "megatron-lm.py"), run_name="__main__")
            train, valid, _ = got[0][0]((1, 1, 1))
            provider = runpy.run_path(str(EXAMPLES / "megatron-bridge.py"))["HeadraceProvider"]
            self.assertTrue(dataclasses.is_dataclass(provider))
            groups = types.SimpleNamespace(dp=types.SimpleNamespace(rank=lambda: 1, size=lambda: 2))
            bridge, *_ = provider(pipeline="train.hr").build_datasets(types.SimpleNamespace(pg_collection=groups))
        finally:
            os.chdir(before)
            for name in doubles:
                del sys.modules[name]
        direct = megatron.Dataloader(headrace.Loader(self.text, rank=1, world=2), transform=megatron.next_token)
        for _ in range(3):
            tokens = [next(loader)["tokens"].tolist() for loader in (train, bridge, direct)]
            self.assertTrue(tokens[0] == tokens[1] == tokens[2])
        evaluated = [next(valid)["tokens"].tolist() for _ in range(12)]  # eval_iters × micro-batches, twice
        self.assertEqual(evaluated[6:], evaluated[:6])
        for loader in (train, valid, bridge, direct):
            loader.loader.close()

    def test_tiny_vlm(self):
        """a vision-language model learns; killed in mid epoch and gone on its batches and losses are bit for bit the same"""
        script, data = ROOT / "examples/train-tiny-vlm.py", f"{self.data.folder}/"
        with tempfile.TemporaryDirectory() as folder:
            options = ("--steps=30", "--size=4", "--save-every=5")
            said = run(script, "train", data, f"{folder}/whole", *options)
            os.makedirs(f"{folder}/killed")
            os.link(f"{folder}/whole/tokenizer.json", f"{folder}/killed/tokenizer.json")
            run(script, "train", data, f"{folder}/killed", *options, "--kill-at=13", status=-signal.SIGKILL)
            run(script, "train", data, f"{folder}/killed", *options)
            logs = [[json.loads(line) for line in pathlib.Path(folder, name, "log.jsonl").read_text(encoding="utf-8").splitlines()]
                    for name in ("whole", "killed")]
            states = [torch.load(f"{folder}/{name}/checkpoint.pt") for name in ("whole", "killed")]
        self.assertTrue(all(torch.equal(value, states[1]["model"][name]) for name, value in states[0]["model"].items()))
        # the images have their part in it: the second parameter is that of patches
        self.assertGreater(states[0]["optimizer"]["state"][1]["exp_avg_sq"].sum(), 0)
        self.assertRegex(said, r"waited [0-9.]+ % of the time for 115 samples, 115 images")
        self.assertEqual([line["step"] for line in logs[0]], [*range(1, 31)])
        self.assertEqual([line["epoch"] for line in logs[0]], [step // 6 for step in range(30)])
        self.assertEqual([line["step"] for line in logs[1]], [*range(1, 14), *range(11, 31)])
        for line in logs[1]:
            self.assertEqual(line, logs[0][line["step"] - 1])
        losses = [float.fromhex(line["loss"]) for line in logs[0]]
        self.assertLess(sum(losses[-5:]), 0.8 * sum(losses[:5]))
        self.assertEqual(len({line["batch"] for line in logs[0]}), 30)

    def test_tiny_vlm_proves(self):
        """its own proof sees what differs: other batches under the same steps"""
        script, data = ROOT / "examples/train-tiny-vlm.py", f"{self.data.folder}/"
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("all 6 batches and losses are bit for bit those of the whole run",
                          run(script, "prove", data, folder, "--steps=6", "--size=4", "--save-every=2", "--kill-at=3"))
            read_log = runpy.run_path(str(script))["read_log"]
            log = pathlib.Path(folder, "killed/log.jsonl")
            self.assertEqual(read_log(f"{folder}/killed")[1], 1)
            lines = log.read_text(encoding="utf-8").splitlines()
            lines[3] = lines[3].replace('"batch": "', '"batch": "0')  # step 3 for the second time
            log.write_text("\n".join(lines), encoding="utf-8")
            with self.assertRaisesRegex(SystemExit, "step 3 came again, but not as before"):
                read_log(f"{folder}/killed")


if __name__ == "__main__":
    tap.main()
