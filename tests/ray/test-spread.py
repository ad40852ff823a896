#!/usr/bin/env python3
"""SpreadLoader on one node: what it delivers is what a Loader does."""
import json
import time
import unittest

import cluster
import dataset
import headrace
import ray
import tap
from headrace.ray import SpreadLoader

WORLD = 2
EPOCHS = 2


class Spread(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cluster.start()
        cls.data = dataset.DataSet(bad={5})
        cls.text = cls.data.pipeline(head="on-error=skip", tail="prefetchqueue")

    @classmethod
    def tearDownClass(cls):
        cls.data.remove()
        cluster.finish()

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


tap.main()
