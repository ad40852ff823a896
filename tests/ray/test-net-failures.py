#!/usr/bin/env python3
"""Nodes in network namespaces lose their power, are cut off, or have slow links: nothing is lost, nothing comes twice."""
import os
import signal

import tap
from cluster import wait_for
from netcase import SECONDS, NetCase

WORLD = 2


class Nodes(NetCase):
    """Ranks on nodes 0 and 1; the others only make units."""

    def lose(self, how):
        # so far ahead that each node has several units of a rank
        running = self.start_ranks("all", [0, 1], depth=16, hold=8)
        self.wait_for_steps("all", WORLD, 8)
        made = self.made_by(self.logs("all", WORLD))
        victim = max((2, 3), key=lambda node: made.get(node, 0))
        self.assertGreater(made.get(victim, 0), 0, "it has made nothing that could be lost")
        how(victim)
        self.go_on("all", WORLD)
        logs, stats = self.finish("all", running)
        self.check(logs)
        self.assertGreater(sum(rank["units"].get(what, 0) for rank in stats for what in ("lost", "hedged", "reissued")), 0)
        # what had been made may still have been on its way
        self.assertNotIn(victim, self.made_by([log[12:] for log in logs]))

    def test_killed(self):
        """a node is killed in mid epoch"""
        self.lose(self.cluster.kill)

    def test_cut(self):
        """a node is cut off in mid epoch: nobody is told that it is gone"""
        self.lose(self.cluster.network.cut)


class Slow(NetCase):
    # what the head asks the others has to wait behind units: that is no death
    ENV = {"RAY_health_check_timeout_ms": "20000"}

    def test_head(self):
        """the head's link becomes slow, and then the directory is killed"""
        running = self.start_ranks("all", [1, 2], hold=6)
        self.wait_for_steps("all", WORLD, 6)
        self.cluster.network.limit(self.cluster.network.names[0], 2)
        before, = self.cluster.find("ray::Directory")
        os.kill(before, signal.SIGKILL)
        self.go_on("all", WORLD)
        wait_for(lambda: set(self.cluster.find("ray::Directory")) - {before}, SECONDS)
        logs, _ = self.finish("all", running)
        self.check(logs)

    def test_all(self):
        """all links become a hundred times slower: units come late, but they come"""
        running = self.start_ranks("all", [0, 1], step_time=0.05, hold=8)
        self.wait_for_steps("all", WORLD, 8)
        for name in self.cluster.network.names:
            self.cluster.network.limit(name, 2)
        self.go_on("all", WORLD)
        logs, _ = self.finish("all", running)
        self.check(logs)


class Ranks(NetCase):
    def test_rank(self):
        """the node of a rank is killed: all go on from a checkpoint, as many as before and half as many"""
        running = self.start_ranks("first", [1, 2], hold=6)
        self.wait_for_steps("first", WORLD, 6)
        self.cluster.kill(2)
        self.assertTrue(self.kill_all(str(self.path("first", 0))), "as torchrun does with the others")
        for process in running:
            process.wait(SECONDS)
        logs = self.logs("first", WORLD)
        at = min(map(len, logs))
        self.assertLess(at, self.N // self.SIZE // WORLD, "there is something left to do")
        for world, size, nodes in ((WORLD, self.SIZE, [1, 3]), (1, self.SIZE * WORLD, [0])):
            again, _ = self.finish(f"world{world}", self.start_ranks(
                f"world{world}", nodes, size=size, step_time=0, state=logs[0][at - 1]["state"]))
            self.check(again, behind=at, size=size)
            ids = [name for log in [*again, *(log[:at] for log in logs)] for step in log for name in step["ids"]]
            self.assertEqual(sorted(ids), sorted(f"r{i}" for i in range(self.N)))


tap.main()
