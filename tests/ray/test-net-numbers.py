#!/usr/bin/env python3
"""What a spread run tells of itself, and what Ray tells of it, on nodes in network namespaces."""
import json
import subprocess
import sys

import net
import tap
from netcase import HERE, SECONDS, NetCase

WORLD, DEPTH = 2, 8
OVERHEAD = 20_000  # names, samples and places of a unit


class Link(NetCase):
    # a machine that is busy starts slowly: that is not what most of the time may go to
    N_NODES, N, SIZE = 3, 360, 8
    # what the head asks the others has to wait behind units: that is no death
    ENV = {"RAY_health_check_timeout_ms": "20000"}

    def run_slow(self, slow):
        self.cluster.network.limit(self.cluster.network.names[slow], 5)
        logs, stats = self.finish("all", self.start_ranks("all", [1], step_time=0))
        self.check(logs)
        verdict = stats[0]["bottleneck"]
        print(f"# {stats[0]['advice']['text']}", flush=True)
        self.assertEqual(stats[0]["node"], net.address_of(1))
        return verdict

    def test_there(self):
        """the link of a node with a producer is slow: the verdict names it"""
        verdict = self.run_slow(2)
        self.assertEqual((verdict["kind"], verdict["node"]), ("link", net.address_of(2)))

    def test_here(self):
        """the link of the rank's own node is slow: the verdict names it"""
        verdict = self.run_slow(1)
        self.assertEqual((verdict["kind"], verdict["node"]), ("link", net.address_of(1)))


class Store(NetCase):
    N_NODES = 3

    def test_store(self):
        """the stores hold what depth= allows, and the driver holds no unit"""
        options = {"world": WORLD, "nodes": self.N_NODES, "step_time": 0.2, "placement": "spread", "producers": 4, "epochs": 1,
                   "depth": DEPTH}
        with self.cluster.inside(0, sys.executable, HERE / "driver.py", self.cluster.address, self.text(), json.dumps(options),
                                 stdout=subprocess.PIPE, text=True) as process:
            out = process.communicate(timeout=SECONDS)[0]
        self.assertEqual(process.returncode, 0)
        told = json.loads(out.splitlines()[-1])
        self.check(told["logs"])
        batch = max(step["nbytes"] for log in told["logs"] for step in log)
        most = [rank["peak_units"] for rank in told["stats"]]
        print(f"# {told['looks']} looks: {told['units']} units at most, {told['bytes']} bytes in all stores; a batch: {batch} at most;"
              f" units of each rank: {most}", flush=True)
        self.assertGreater(told["looks"], 20)
        self.assertGreater(told["units"], WORLD, "there is nothing to be seen")
        self.assertLessEqual(told["units"], (DEPTH + 1) * WORLD)
        self.assertLessEqual(max(most), DEPTH + 1)
        self.assertLessEqual(told["bytes"], (DEPTH + 1) * WORLD * (batch + OVERHEAD))
        self.assertEqual(told["mine"], 0)


tap.main()
