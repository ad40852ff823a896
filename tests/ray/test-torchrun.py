#!/usr/bin/env python3
"""SpreadLoader in ranks that torchrun starts: a rank that dies, and other numbers of ranks."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import cluster
import dataset
import headrace
import ray
import tap
import trainer
from cluster import wait_for

HERE = pathlib.Path(__file__).parent
EXAMPLE = dataset.ROOT / "examples/python/ray-torchrun.py"
GLOBAL_BATCH = 12
N = 8 * GLOBAL_BATCH
EPOCH = N // GLOBAL_BATCH


class Torchrun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cluster.start(num_cpus=3)
        cls.address = ray.get_runtime_context().gcs_address
        cls.data = dataset.DataSet(n=N)

    @classmethod
    def tearDownClass(cls):
        cls.data.remove()
        cluster.finish()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="headrace-torchrun-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def torchrun(self, world, *arguments, restarts=0):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}",
                   f"--max-restarts={restarts}", *map(str, arguments)]
        # ranks that are started anew must not find the addresses of the dead in torchrun's own store
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def expected(self, world):
        """What a plain Loader gives each rank in one epoch."""
        return trainer.expected(self.data.pipeline(size=GLOBAL_BATCH // world), world)

    def train(self, world, steps, restarts=0, **config):
        text = self.data.pipeline(size=GLOBAL_BATCH // world, tail="prefetchqueue")
        self.torchrun(world, HERE / "torch_rank.py", json.dumps({
            "address": self.address, "text": text, "folder": str(self.folder), "steps": steps,
            "every": 2, "options": {"then": "patchify ! appsink", "placement": "spread"}, **config}), restarts=restarts)

    def logs(self, world, done):
        return [trainer.read_log(self.folder / f"{world}-{rank}-{done}.log") for rank in range(world)]

    def test_rank_dies(self):
        """a rank is killed, and torchrun starts all anew; then there is one rank, then three: the batches are those of a Loader
        from each checkpoint on, and each sample comes once"""
        self.train(2, 4, restarts=1, die_at=3)
        self.train(1, 6)
        self.train(3, EPOCH)
        lives = [(2, 0, 2), (2, 2, 4), (1, 4, 6), (3, 6, EPOCH)]  # ranks, from the checkpoint to where the next went on
        ids, pids = collections.Counter(), set()
        for world, first, last in lives:
            wanted = self.expected(world)
            for rank, log in enumerate(self.logs(world, first)):
                self.assertGreaterEqual(len(log), last - first)
                self.assertEqual(trainer.strip(log), wanted[rank][first:first + len(log)])
                ids.update(name for step in log[:last - first] for name in step["ids"])
                pids |= {step["pid"] for step in log}
        self.assertEqual(ids, {f"r{i}": 1 for i in range(N)})
        self.assertEqual(len(pids), sum(world for world, _, _ in lives))
        wait_for(lambda: not ray.util.list_named_actors(all_namespaces=True))

    def test_example(self):
        """examples/python/ray-torchrun.py, with two ranks, then one, then three"""
        pipeline = self.folder / "pictures.hr"
        pipeline.write_text(self.data.pipeline(size="${SIZE}", tail="prefetchqueue"), encoding="utf-8")
        samples = {}
        for world, steps in ((2, 3), (1, 5), (3, EPOCH)):
            told = self.torchrun(world, EXAMPLE, self.address, pipeline, self.folder / "run.pt", steps)
            # two processes write into one pipe: a line's end may come behind the other's line
            for rank, step, names in re.findall(r"rank (\d) step (\d+) loss \S+ samples \[([^]]*)\]", told):
                self.assertNotIn((int(step), int(rank)), samples)
                samples[int(step), int(rank)] = re.findall(r"r\d+", names)
        self.assertEqual(sorted(samples), [(step, rank) for step in range(1, EPOCH + 1)
                                           for rank in range(2 if step <= 3 else 1 if step <= 5 else 3)])
        for (step, rank), names in samples.items():
            wanted = self.expected(2 if step <= 3 else 1 if step <= 5 else 3)[rank][step - 1]["ids"]
            self.assertEqual(names, wanted)
        self.assertEqual(sorted(sum(samples.values(), [])), sorted(f"r{i}" for i in range(N)))


tap.main()
