#!/usr/bin/env python3
"""Producers, nodes, the directory and ranks die in the middle: nothing is lost, nothing comes twice."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

import cluster
import dataset
import driver
import headrace
import ray
import tap
import trainer
from cluster import wait_for
from headrace.ray import SpreadLoader
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from trainer import expected, strip

WORLD = 2
N = 120
SIZE = 2
OVERHEAD = 20_000  # names, samples and places of a unit
HERE = pathlib.Path(__file__).parent


class Failures(unittest.TestCase):
    """A head without processors, where the ranks are, and two nodes that make units."""

    @classmethod
    def setUpClass(cls):
        cls.data = dataset.DataSet(n=N)
        cls.text = cls.data.pipeline(size=SIZE, tail="prefetchqueue")
        cls.wanted = expected(cls.text, WORLD)

    @classmethod
    def tearDownClass(cls):
        cls.data.remove()

    def setUp(self):
        node = {"object_store_memory": cluster.STORE, "include_dashboard": False, "node_ip_address": cluster.IP,
                "include_log_monitor": False, "dashboard_agent_listen_port": 0}
        self.cluster = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 0})
        self.nodes = [self.cluster.add_node(**{**node, "num_cpus": 2}) for _ in range(2)]
        self.address = self.cluster.address
        ray.init(address=self.address, log_to_driver=False, logging_level="WARNING", _node_ip_address=cluster.IP)
        self.cluster.wait_for_nodes(120)
        self.head = self.cluster.head_node.node_id

    def tearDown(self):
        ray.shutdown()
        self.cluster.shutdown()

    def start_ranks(self, nodes=None, **options):
        options = {"placement": "spread", "producers": 4, "num_cpus": 1, "epochs": 1, "step_time": 0.05, **options}
        ranks = [ray.remote(trainer.Trainer).options(
            num_cpus=0, max_concurrency=2, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
        ).remote(self.text, rank=rank, world=WORLD, **options) for rank, node in enumerate(nodes or WORLD * [self.head])]
        return ranks, [rank.train.remote() for rank in ranks]

    def wait_for_steps(self, ranks, n):
        wait_for(lambda: min(ray.get([rank.get_n.remote() for rank in ranks])) >= n)

    def stop_producer(self, ranks, n, number=0):
        """One hangs while the ranks stand behind their first `n` steps, so that much is asked of it behind that."""
        self.wait_for_steps(ranks, n)
        pid = ray.get(self.producers()[number].where.remote())["pid"]
        os.kill(pid, signal.SIGSTOP)
        ray.get([rank.go_on.remote() for rank in ranks])
        return pid

    def count_asked(self, ranks):
        return sum(rank["units"].get("asked", 0) for rank in ray.get([rank.stats.remote() for rank in ranks]))

    def check(self, ranks, running):
        logs = ray.get(running, timeout=240)
        for log, wanted in zip(logs, self.wanted, strict=True):
            self.assertEqual(strip(log), wanted)
        ids = [name for log in logs for step in log for name in step["ids"]]
        self.assertEqual(sorted(ids), sorted(f"r{i}" for i in range(N)))
        stats = ray.get([rank.stats.remote() for rank in ranks])
        for number, rank in enumerate(ranks):
            print(f"# rank {number}: {stats[number]['units']}, longest wait behind the first"
                  f" {max(ray.get(rank.get_gaps.remote())[1:]):.2f} s", flush=True)
        return logs, stats

    def producers(self):
        return [ray.get_actor(actor["name"], actor["namespace"])
                for actor in ray.util.list_named_actors(all_namespaces=True) if actor["name"].count("-") > 1]

    def test_producer_killed(self):
        """a producer's process is killed"""
        ranks, running = self.start_ranks(hold=8)
        self.wait_for_steps(ranks, 8)
        asked = self.count_asked(ranks)
        victim = self.stop_producer(ranks, 8)
        wait_for(lambda: self.count_asked(ranks) > asked + 4)  # so it has been asked, too
        os.kill(victim, signal.SIGKILL)
        _, stats = self.check(ranks, running)
        # whichever is sooner: that it is gone, or that its unit is late
        self.assertGreater(sum(rank["units"].get("lost", 0) + rank["units"].get("hedged", 0) for rank in stats), 0)

    def test_producer_stopped(self):
        """a producer hangs: others are asked for what it was asked for"""
        ranks, running = self.start_ranks(hold=8)
        victim = self.stop_producer(ranks, 8)
        try:
            _, stats = self.check(ranks, running)
        finally:
            os.kill(victim, signal.SIGKILL)
        self.assertGreater(sum(rank["units"].get("hedged", 0) for rank in stats), 0)

    def test_store(self):
        """a producer hangs for a while and goes on: the stores of all nodes never hold more copies than depth, and one more"""
        depth, done, watch = 6, threading.Event(), driver.Watch()

        def look():
            while not done.wait(0.01):
                watch.look()

        thread = threading.Thread(target=look)
        thread.start()
        try:
            ranks, running = self.start_ranks(depth=depth, step_time=0.1, hold=6)
            for number in range(2):
                victim = self.stop_producer(ranks, 6 + 8 * number, number)
                try:
                    self.wait_for_steps(ranks, 12 + 8 * number)
                finally:
                    os.kill(victim, signal.SIGCONT)
            logs, stats = self.check(ranks, running)
        finally:
            done.set()
            thread.join()
        batch = max(step["nbytes"] for log in logs for step in log)
        print(f"# {watch.looks} looks: {watch.bytes} bytes in all stores, {watch.bytes / batch / WORLD:.1f} batches of {batch} a rank;"
              f" counted {[rank['peak_units'] for rank in stats]}", flush=True)
        self.assertGreater(watch.bytes, 2 * WORLD * batch, "there is nothing to be seen")
        self.assertLessEqual(watch.bytes, (depth + 1) * WORLD * (batch + OVERHEAD))
        self.assertGreater(sum(rank["units"].get("hedged", 0) for rank in stats), 0)

    def test_node_killed(self):
        """a node is gone, with its object store and all its producers"""
        ranks, running = self.start_ranks(hold=8)
        self.wait_for_steps(ranks, 8)
        self.cluster.remove_node(self.nodes[1], allow_graceful=False)
        ray.get([rank.go_on.remote() for rank in ranks])
        logs, _ = self.check(ranks, running)
        self.assertEqual(len({step["node"] for log in logs for step in log[-4:]}), 1)

    def test_placement(self):
        """producers are beside their ranks, or over all nodes evenly, or together; what comes from whom is told by the links"""
        places = [node.node_id for node in self.nodes]
        for placement, producers, wanted in (("aligned", WORLD, places), ("spread", 4, places + places), ("pack", WORLD, None)):
            ranks, running = self.start_ranks(places, placement=placement, producers=producers, step_time=0)
            _, stats = self.check(ranks, running)
            # rank 0 may be done before it hears of the producer that is made for rank 1
            told = {producer["index"]: producer["node"] for rank in stats for producer in rank["producers"]}
            if wanted is None:
                wanted = WORLD * [told[0]]
            self.assertEqual(sorted(told[index] for index in range(producers)), sorted(wanted))
            if placement == "aligned":
                self.assertEqual([told[index] for index in range(producers)], wanted)
            ray.get([rank.close.remote() for rank in ranks])
            wait_for(lambda: not ray.util.list_named_actors(all_namespaces=True))

    def test_no_room(self):
        """a node has no processors left for the second of its ranks: its producer goes to another"""
        ranks, running = self.start_ranks(WORLD * [self.nodes[0].node_id], placement="aligned", producers=WORLD, num_cpus=2)
        self.check(ranks, running)
        nodes = {ray.get(producer.where.remote())["node"] for producer in self.producers()}
        self.assertEqual(nodes, {node.node_id for node in self.nodes})

    def test_directory_killed(self):
        """the directory is killed"""
        ranks, running = self.start_ranks()
        self.wait_for_steps(ranks, 8)
        name, = [actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True)
                 if actor["name"].count("-") == 1]
        directory = ray.get_actor(name, "headrace")
        pid = ray.get(directory.get_pid.remote())
        os.kill(pid, signal.SIGKILL)
        self.check(ranks, running)

        def is_anew():
            try:
                return ray.get(ray.get_actor(name, "headrace").get_pid.remote()) != pid
            except ray.exceptions.RayActorError:  # it is about to be
                return False
        wait_for(is_anew)

    def test_plain_state(self):
        """a plain loader's state goes on in a spread one; one of other steps is refused"""
        with headrace.Loader(self.text, rank=0, world=WORLD, framework="numpy", epochs=1) as loader:
            for _ in range(7):
                next(loader)
            state = loader.state_dict()
        options = {"rank": 0, "world": WORLD, "framework": "numpy", "epochs": 1, "placement": "spread"}
        with SpreadLoader(self.text, **options) as spread:
            spread.load_state_dict(state)
            steps = list(spread)
            self.assertEqual([trainer.describe(step) for step in steps], self.wanted[0][7:])
            self.assertEqual([step.batch.step for step in steps], list(range(len(steps))))
        with SpreadLoader(self.text, **options, properties={"batch0.size": SIZE + 1}) as spread:
            spread.load_state_dict(state)
            with self.assertRaisesRegex(headrace.ParseError, f"{SIZE * WORLD}.*{(SIZE + 1) * WORLD}"):
                next(spread)

    def start_processes(self, world, size, folder, step_time, **options):
        text = self.data.pipeline(size=size, tail="prefetchqueue")
        processes = []
        for rank in range(world):
            processes.append(subprocess.Popen(
                [sys.executable, HERE / "trainer.py", self.address, text, folder / f"{world}-{rank}", str(step_time),
                 json.dumps({"placement": "spread", "producers": 2, "epochs": 1, **options})],
                env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world)}))
        return processes

    @staticmethod
    def read(folder, world, rank):
        return trainer.read_log(folder / f"{world}-{rank}")

    def test_rank_killed(self):
        """ranks that are processes: one is killed, and all go on from a checkpoint, as many as before and half as many"""
        folder = cluster.FOLDER
        processes = self.start_processes(WORLD, SIZE, folder, 0.1)
        wait_for(lambda: min(len(self.read(folder, WORLD, rank)) for rank in range(WORLD)) >= 6)
        processes[1].kill()
        processes[1].wait(60)
        processes[0].kill()  # as torchrun does with the others
        processes[0].wait(60)
        logs = [self.read(folder, WORLD, rank) for rank in range(WORLD)]
        at = min(map(len, logs))
        for log, wanted in zip(logs, self.wanted, strict=True):
            self.assertEqual(strip(log), wanted[:len(log)])
        state = logs[0][at - 1]["state"]
        for world, size in ((WORLD, SIZE), (1, SIZE * WORLD)):
            rest = self.start_processes(world, size, folder, 0, state=state)
            for process in rest:
                self.assertEqual(process.wait(180), 0)
            wanted = expected(self.data.pipeline(size=size, tail="prefetchqueue"), world)
            for rank in range(world):
                self.assertEqual(strip(self.read(folder, world, rank)), wanted[rank][at:])


tap.main()
