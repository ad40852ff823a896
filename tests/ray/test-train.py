#!/usr/bin/env python3
"""SpreadLoader inside Ray Train, with torch: workers that die and go on from their checkpoints, what they leave behind, and
the processors that producers need beside them."""
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings

import cluster
import dataset
import headrace
import numpy as np
import ray
import ray.train
import tap
import torch
import torch_rank
import trainer
from cluster import wait_for
from headrace.ray import SpreadLoader
from headrace.ray.spec import NAMESPACE
from ray.train.torch import TorchTrainer
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

WORLD = 2
N = 48
SIZE = 2
STEPS = 12  # an epoch
EXAMPLE = dataset.ROOT / "examples/python/ray-train.py"
THEN = "patchify dtype=bfloat16 ! appsink"
LINE = re.compile(r"pid=(\d+)[^)]*\).*?(rank (\d) step (\d+) loss \S+ samples \[[^]]*\])")


def actors():
    """Ours; Ray Train has some of its own."""
    return [actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True) if actor["namespace"] == NAMESPACE]


class WithCluster(unittest.TestCase):
    """A node with processors for two workers and two producers."""

    @classmethod
    def setUpClass(cls):
        cluster.start(num_cpus=2 * WORLD)
        cls.data = dataset.DataSet(n=N)
        cls.text = cls.data.pipeline(size=SIZE, tail="prefetchqueue")

    @classmethod
    def tearDownClass(cls):
        cls.data.remove()
        cluster.finish()

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="headrace-train-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def wait_for_nobody(self):
        wait_for(lambda: not actors())


class Train(WithCluster):
    def trainer(self, loop=torch_rank.train_in_ray, maker=TorchTrainer, max_failures=0, cpus=1, **config):
        config = {"text": self.text, "folder": str(self.folder), "steps": STEPS, "every": 4, "options": {}, **config}
        return maker(loop, train_loop_config=config,
                     scaling_config=ray.train.ScalingConfig(num_workers=WORLD, resources_per_worker={"CPU": cpus}),
                     run_config=ray.train.RunConfig(storage_path=str(self.folder / "runs"),
                                                    failure_config=ray.train.FailureConfig(max_failures=max_failures)))

    def logs(self, done):
        return [trainer.read_log(self.folder / f"{WORLD}-{rank}-{done}.log") for rank in range(WORLD)]

    def test_worker_dies(self):
        """a worker is killed: from the checkpoint both go on, with the batches of a Loader, and each sample comes once an epoch"""
        self.trainer(max_failures=1, steps=2 * STEPS, die_at=14,
                     options={"then": "patchify ! appsink", "epochs": 2, "depth": 4}).fit()
        # the last but one may be the last that Ray Train had heard of
        last, = {int(path.stem.split("-")[-1]) for path in self.folder.glob("*.log")} - {0}
        self.assertIn(last, (4, 8, 12))
        before, after = self.logs(0), self.logs(last)
        epochs = collections.defaultdict(collections.Counter)
        for rank in range(WORLD):
            with headrace.Loader(self.data.pipeline(size=SIZE), rank=rank, world=WORLD, epochs=2, framework="numpy") as loader:
                wanted = [trainer.describe(step) for _ in range(2) for step in loader]
            self.assertEqual(len(wanted), 2 * STEPS)
            self.assertGreaterEqual(len(before[rank]), 13)
            self.assertEqual(trainer.strip(before[rank]), wanted[:len(before[rank])])
            self.assertEqual(trainer.strip(after[rank]), wanted[last:])
            # … and the model is where it would be
            again = [step["loss"] for step in before[rank][last:]]
            self.assertEqual(again, [step["loss"] for step in after[rank][:len(again)]])
            self.assertNotEqual(before[rank][0]["pid"], after[rank][0]["pid"])
            for step in before[rank][:last] + after[rank]:
                epochs[step["epoch"]].update(step["ids"])
        everything = {f"r{i}": 1 for i in range(N)}
        self.assertEqual(epochs, {0: everything, 1: everything})
        self.wait_for_nobody()

    def test_workers_are_gone(self):
        """a run ends with its workers killed: its actors go when nobody gives a sign of life any more"""
        with self.assertRaises(ray.train.TrainingFailedError):
            self.trainer(die_at=3, options={"then": "patchify ! appsink", "linger": 5}).fit()
        self.assertEqual(len(self.logs(0)[WORLD - 1]), 3)
        self.wait_for_nobody()

    def test_no_processors(self):
        """workers that leave no processors to producers are told so; producers that count as nothing find room"""
        def hurry(config):
            headrace.ray.team._COME = 5.0
            torch_rank.train_in_ray(config)
        with self.assertRaisesRegex(ray.train.TrainingFailedError, "has the cluster 1 processors left for each of 2"):
            self.trainer(loop=hurry, cpus=2, options={"then": "patchify ! appsink"}).fit()
        self.wait_for_nobody()
        self.trainer(cpus=2, steps=4, options={"then": "patchify ! appsink", "num_cpus": 0}).fit()
        self.assertEqual([len(log) for log in self.logs(0)], [4, 4])
        self.wait_for_nobody()

    def test_ranks(self):
        """rank and world are those of Ray Train where nobody uses torch.distributed"""
        def loop(config):
            loader = SpreadLoader(config["text"], framework="numpy")
            stats = loader.stats()
            context = ray.train.get_context()
            path = pathlib.Path(config["folder"], str(context.get_world_rank()))
            path.write_text(f"{stats['rank']} of {stats['world']}", encoding="utf-8")
        self.trainer(loop=loop, maker=DataParallelTrainer).fit()
        self.assertEqual([(self.folder / str(rank)).read_text(encoding="utf-8") for rank in range(WORLD)], ["0 of 2", "1 of 2"])
        with SpreadLoader(self.text, framework="numpy") as loader:  # here nobody is a worker
            self.assertEqual((loader.stats()["rank"], loader.stats()["world"]), (0, 1))

    def test_placement_group(self):
        """a rank in a placement group that takes its children in: neither directory nor producers are in it, nor go with it"""
        group = ray.util.placement_group([{"CPU": 1}])
        ray.get(group.ready())

        class Rank:
            def start(self, text):
                self.loader = SpreadLoader(text, rank=0, world=1, framework="numpy", job="group", linger=20)
                return len(next(self.loader)["images"])

        rank = ray.remote(Rank).options(num_cpus=1, scheduling_strategy=PlacementGroupSchedulingStrategy(
            group, placement_group_capture_child_tasks=True)).remote()
        self.assertEqual(ray.get(rank.start.remote(self.text), timeout=120), SIZE)
        mine = sorted(actors())
        self.assertEqual(len(mine), 2)
        ray.util.remove_placement_group(group)
        self.assertRaises(ray.exceptions.RayActorError, lambda: ray.get(rank.start.remote(self.text), timeout=60))
        directory, producer = (ray.get_actor(name, NAMESPACE) for name in mine)
        self.assertGreater(ray.get(directory.get_pid.remote(), timeout=60), 0)
        self.assertEqual(ray.get(producer.where.remote(), timeout=60)["index"], 0)
        self.wait_for_nobody()  # when the dead one has been silent for long


class Example(WithCluster):
    def run_example(self, name, until=None):
        """What its ranks print; one is killed when it prints that."""
        address = ray.get_runtime_context().gcs_address
        (self.folder / "pictures.hr").write_text(self.text, encoding="utf-8")
        command = [sys.executable, EXAMPLE, self.folder / "pictures.hr", self.folder / name, str(2 * STEPS)]
        lines, pid = [], None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "RAY_ADDRESS": address, "RAY_TRAIN_ENABLE_PRINT_PATCH": "0"}) as running:
            output = []
            for line in running.stdout:
                output.append(line)
                for found in LINE.finditer(line):
                    lines.append((int(found[3]), int(found[4]), found[2]))
                    if until is not None and pid is None and found[2].startswith(until):
                        pid = int(found[1])
                        os.kill(pid, signal.SIGKILL)
        self.assertEqual(running.returncode, 0, "".join(output[-60:]))
        self.assertEqual(pid is None, until is None)
        return lines

    def test_example(self):
        """examples/python/ray-train.py: killed and gone on it has the batches and losses of a whole run"""
        whole = self.run_example("whole")
        steps = range(1, 2 * STEPS + 1)
        self.assertEqual(sorted(step[:2] for step in whole), [(rank, step) for rank in range(WORLD) for step in steps])
        for epoch in (steps[:STEPS], steps[STEPS:]):
            ids = re.findall(r"'(r\d+)'", str([told for _, step, told in whole if step in epoch]))
            self.assertEqual(sorted(ids), sorted(f"r{i}" for i in range(N)))
        parts = self.run_example("parts", until="rank 1 step 11 ")
        self.assertEqual(set(parts), set(whole))
        twice = {step for step in parts if parts.count(step) > 1}
        self.assertTrue(twice)
        self.assertGreater(min(step for _, step, _ in twice), 4)  # it went on from there, or from the next one
        self.wait_for_nobody()


class Tensors(WithCluster):
    def spread(self, **options):
        return SpreadLoader(self.text, **{"rank": 0, "world": 1, "framework": "torch", "epochs": 1, **options})

    def setUp(self):
        super().setUp()
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("error")

    def check(self, value, other):
        if isinstance(other, list):
            self.assertEqual(len(value), len(other))
            for one, two in zip(value, other):
                self.check(one, two)
        elif isinstance(other, np.ndarray):
            self.assertIsInstance(value, torch.Tensor)
            self.assertEqual(str(value.dtype), f"torch.{other.dtype}")
            self.assertTrue(cluster.same(value.numpy(), other))
            self.assertTrue(torch.equal(value.to("cpu", copy=True), value))
            if torch.cuda.is_available():
                self.assertTrue(torch.equal(value.to("cuda").cpu(), value))
                self.assertTrue(torch.equal(value.pin_memory(), value))
        else:
            self.assertEqual(value, other)

    def test_values(self):
        """tensors, also in lists, have dtypes and values of numpy's arrays, and nobody is warned of views that are read-only"""
        dtypes = set()
        for options in ({}, {"then": "patchify ! appsink"}):
            with self.spread(**options) as tensors, self.spread(**options, framework="numpy") as arrays:
                for mine, other in zip(tensors, arrays, strict=True):
                    self.assertEqual(list(mine), list(other))
                    for name in other:
                        self.check(mine[name], other[name])
                        dtypes |= {str(array.dtype) for array in cluster.arrays(other[name])}
        self.assertLessEqual({"uint8", "int64", "float32"}, dtypes)

    def test_bfloat16(self):
        """bfloat16 is made on the rank, to the bit as a Loader does"""
        with self.spread(then=THEN) as spread, headrace.Loader(
                self.data.pipeline(size=SIZE, tail="prefetchqueue ! patchify dtype=bfloat16"), rank=0, world=1, epochs=1,
                framework="torch") as loader:
            for mine, other in zip(spread, loader, strict=True):
                self.assertEqual(mine["pixel_values"].dtype, torch.bfloat16)
                self.assertTrue(torch.equal(mine["pixel_values"].view(torch.int16), other["pixel_values"].view(torch.int16)))

    def test_written(self):
        """a write into a tensor of the store is not refused, and touches neither other batches, nor the other rank, nor a state"""
        def spoil(value):
            if isinstance(value, torch.Tensor):
                value.zero_()
            for item in value if isinstance(value, list) else ():
                spoil(item)

        options = {"world": WORLD, "depth": 4, "job": "written"}
        wanted = trainer.expected(self.text, WORLD)
        with self.spread(rank=0, **options) as first, self.spread(rank=1, **options) as second:
            for at in range(STEPS):
                for rank, loader in enumerate((first, second)):
                    step = next(loader)
                    self.assertEqual(torch_rank.describe(step), wanted[rank][at])
                    spoil(list(step.values()))
                    self.assertEqual(int(step["images"][0].sum()), 0)
                if at == 4:
                    state = first.state_dict()
        with self.spread(rank=0, **options) as again:
            again.load_state_dict(state)
            self.assertEqual([torch_rank.describe(step) for step in again], wanted[0][5:])


tap.main()
