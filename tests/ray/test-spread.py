#!/usr/bin/env python3
"""SpreadLoader on one node: what it delivers is what a Loader does."""
import json
import threading
import time

import cluster
import headrace
import ray
import tap
import tokenizer
from headrace.ray import SpreadDataError, SpreadLoader
from ray._private.internal_api import node_stats

WORLD = 2
EPOCHS = 2


class Spread(cluster.WithCluster):
    def spread(self, **options):
        return SpreadLoader(self.text, **{"framework": "numpy", "epochs": EPOCHS, **options})

    def check_step(self, mine, other):
        self.assertEqual(list(mine), list(other))
        for name in other:
            self.assertTrue(cluster.same(mine[name], other[name]), name)
        self.assertEqual(mine.batch.samples, other.batch.samples)
        self.assertEqual((mine.batch.step, mine.batch.epoch, mine.batch.place),
                         (other.batch.step, other.batch.epoch, other.batch.place))

    def test_exact(self):
        """all ranks get the bytes, samples, errors, steps and states of a Loader, read-only, and nobody is left behind"""
        with self.spread(rank=0, world=WORLD) as first, self.spread(rank=1, world=WORLD) as second:
            for rank, spread in enumerate((first, second)):
                loader = headrace.Loader(self.text, rank=rank, world=WORLD, epochs=EPOCHS, framework="numpy")
                n = 0
                for _ in range(EPOCHS):
                    for mine, other in zip(spread, loader, strict=True):
                        self.check_step(mine, other)
                        self.assertEqual(json.loads(spread.state_dict()["checkpoint"]),
                                         json.loads(loader.state_dict()["checkpoint"]))
                        for name in mine:
                            for array in cluster.arrays(mine[name]):
                                self.assertFalse(array.flags.writeable)
                        n += 1
                self.assertEqual(n, len(spread))
                self.assertEqual(n, len(loader))
                self.assertRaises(StopIteration, next, spread)
            self.assertEqual(len(ray.util.list_named_actors(all_namespaces=True)), WORLD + 1)
        until = time.monotonic() + 60
        while ray.util.list_named_actors(all_namespaces=True):
            self.assertLess(time.monotonic(), until, "producers are left behind")
            time.sleep(0.1)

    def test_then(self):
        """what runs on the rank makes of uint8 what a whole pipeline delivers"""
        whole = self.data.pipeline(head="on-error=skip")
        with SpreadLoader(self.text, framework="numpy", epochs=1, then="patchify ! appsink") as spread, \
                headrace.Loader(whole, framework="numpy", epochs=1) as loader:
            for mine, other in zip(spread, loader, strict=True):
                self.assertEqual(set(mine), set(other))
                for name in other:
                    self.assertTrue(cluster.same(mine[name], other[name]), name)
                self.assertEqual(mine.batch.samples, other.batch.samples)

    def test_packed_rows(self):
        """packed rows that are numbered: those of a Loader, and gone on with on other numbers of ranks"""
        tokenizer.write(self.data.folder / "tokenizer.json")
        text = (f"scan=lengths on-error=skip filesrc location={self.data.folder}/ shuffle=window seed=3 ! jsonlparse ! imagefetch !"
                f" tokenize tokenizer={self.data.folder}/tokenizer.json max-pixels=65536 ! imagedecode ! resize !"
                " batch mode=packed max-tokens=400 pack-window=8 ! appsink")
        state, n_rows = None, set()
        for world in (2, 3, 1):
            options = {"world": world, "epochs": 2, "framework": "numpy"}
            behind_second = None
            for rank in range(world):
                with SpreadLoader(text, rank=rank, **options) as spread, headrace.Loader(text, rank=rank, **options) as loader:
                    for one in (spread, loader):
                        if state is not None:
                            one.load_state_dict(state)
                    n = 0
                    for _ in range(2):
                        for mine, other in zip(spread, loader, strict=True):
                            self.check_step(mine, other)
                            self.assertEqual(json.loads(spread.state_dict()["checkpoint"]),
                                             json.loads(loader.state_dict()["checkpoint"]))
                            n += 1
                            n_rows.add(other.batch.place)
                            if rank == 0 and n == 2:
                                behind_second = spread.state_dict()
                    self.assertGreater(n, 3)
                    self.assertEqual(len(spread), len(loader))
            state = behind_second
        self.assertGreater(len(n_rows), 8)

    def test_errors(self):
        """a sample that is bad is an error of its class, which says node, unit, element and line; only its own unit fails"""
        with self.spread(rank=0, world=WORLD, epochs=1, properties={"on-error": "fail"}) as spread:
            n = 0
            with self.assertRaises(SpreadDataError) as caught:
                while True:
                    next(spread)
                    n += 1
        with headrace.Loader(self.text, rank=0, world=WORLD, framework="numpy") as loader:
            good = next(at for at, step in enumerate(loader) if any(sample["skipped"] for sample in step.batch.samples))
        error = caught.exception
        self.assertIsInstance(error, headrace.DataError)
        self.assertEqual((n, error.unit.step, error.unit.rank), (good, good, 0))
        self.assertEqual((error.element, error.node), ("imagefetch0", cluster.IP))
        self.assertIn("a.jsonl:6", str(error))

    def test_store(self):
        """the object store never holds more than depth units of each rank, and one more"""
        depth, peak, done = 4, 0, threading.Event()

        def watch():
            nonlocal peak
            node = ray.nodes()[0]
            while not done.wait(0.02):
                stats = node_stats(node["NodeManagerAddress"], node["NodeManagerPort"], include_memory_info=False)
                peak = max(peak, stats.store_stats.object_store_bytes_used)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            n, largest, total = 0, 0, 0
            with self.spread(epochs=4, depth=depth) as spread:
                for _ in range(4):
                    for step in spread:
                        n += 1
                        nbytes = sum(array.nbytes for name in step for array in cluster.arrays(step[name]))
                        largest, total = max(largest, nbytes), total + nbytes
            stats = spread.stats()
        finally:
            done.set()
            thread.join()
        self.assertEqual(n, 4 * 6)
        self.assertLessEqual(stats["peak_units"], depth + 1)
        self.assertEqual((stats["steps"], stats["units"]["units"], stats["n_steps"]), (n, n, n))
        self.assertEqual(sum(link["bytes"] for link in stats["links"].values()), total)
        self.assertEqual([producer["units"] for producer in stats["producers"]], [stats["units"]["asked"]])
        self.assertEqual(stats["producers"][0]["pipeline"]["elements"][0]["factory"], "filesrc")
        self.assertIn(stats["bottleneck"]["kind"], ("trainer", "producers"))
        self.assertGreater(peak, 0)
        self.assertLessEqual(peak, (depth + 1) * (largest + 64 * 1024))


tap.main()
