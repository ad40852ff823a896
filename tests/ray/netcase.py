"""What the tests in network namespaces share: nodes of their own for each case, and ranks that are processes on them."""
import atexit
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest

import cluster
import dataset
import net
import trainer

HERE = pathlib.Path(__file__).parent
# who is stopped ends what it has started
signal.signal(signal.SIGTERM, signal.default_int_handler)
SECONDS = 400  # a busy machine takes long; none of this is a limit of the product


class NetCase(unittest.TestCase):
    """`N_NODES` nodes with links of `MBIT` Mbit/s; node 0 is Ray's head. `N` samples, which the nodes read from disk."""

    N_NODES, MBIT, N, SIZE = 4, 200, 120, 2
    ENV: dict[str, str] = {}
    TAIL = "prefetchqueue"

    def setUp(self):
        if not net.can():
            self.skipTest("optional: needs root and network namespaces")
        # each node has a /tmp of its own
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hr-net-test-", dir="/var/tmp"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = dataset.DataSet(n=self.N, parent=self.folder)
        self.cluster = net.Cluster(self.N_NODES, self.MBIT, env={"RAY_TMPDIR": "/tmp", **self.ENV})
        self.addCleanup(self.cluster.close)
        atexit.register(self.cluster.close)  # an interrupt skips clean-ups

    def text(self, size=None):
        return self.data.pipeline(size=size or self.SIZE, tail=self.TAIL)

    def path(self, name, rank):
        return self.folder / f"{name}-{rank}"

    def start_ranks(self, name, nodes, size=None, step_time=0.1, **options):
        """A rank on each of those nodes, which writes what it gets to `path (name, rank)`."""
        options = {"placement": "spread", "producers": self.N_NODES, "epochs": 1, "nodes": len(self.cluster.alive), **options}
        started = [self.cluster.inside(node, sys.executable, HERE / "trainer.py", self.cluster.address, self.text(size),
                                       self.path(name, rank), str(step_time), json.dumps(options),
                                       stdout=sys.stderr, env={"RANK": str(rank), "WORLD_SIZE": str(len(nodes))})
                   for rank, node in enumerate(nodes)]
        for process in started:
            self.addCleanup(self.end, process)
        return started

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def logs(self, name, world):
        return [trainer.read_log(self.path(name, rank)) for rank in range(world)]

    def wait_for_steps(self, name, world, n):
        cluster.wait_for(lambda: min(map(len, self.logs(name, world))) >= n, SECONDS)

    def go_on(self, name, world):
        """For ranks that were started with `hold`, and stand there."""
        for rank in range(world):
            pathlib.Path(f"{self.path(name, rank)}.go").touch()

    def finish(self, name, processes):
        """Waits for the ranks: their logs and statistics."""
        for process in processes:
            self.assertEqual(process.wait(SECONDS), 0)
        logs = self.logs(name, len(processes))
        stats = [json.loads(pathlib.Path(f"{self.path(name, rank)}.stats").read_text()) for rank in range(len(processes))]
        for rank, log in enumerate(logs):
            print(f"# {name}, rank {rank}: {stats[rank]['units']}, longest wait behind the first"
                  f" {max(step['waited'] for step in log[1:]):.2f} s", flush=True)
        return logs, stats

    def check(self, logs, behind=0, size=None):
        """Each step is a plain loader's from there on, and together they have each sample once."""
        wanted = [log[behind:] for log in trainer.expected(self.text(size), len(logs))]
        for log, one in zip(logs, wanted, strict=True):
            self.assertEqual(trainer.strip(log), one)
        ids = [name for log in logs for step in log for name in step["ids"]]
        self.assertEqual(len(set(ids)), len(ids))
        if behind == 0:
            self.assertEqual(sorted(ids), sorted(f"r{i}" for i in range(self.N)))

    @staticmethod
    def made_by(logs):
        """How many of the units were made on which node, by its number."""
        numbers = {net.address_of(node): node for node in range(99)}
        made = [numbers[step["node"]] for log in logs for step in log]
        return {node: made.count(node) for node in set(made)}

    def kill_all(self, text):
        """All processes on the nodes that have it in their command line."""
        pids = self.cluster.find(text)
        for pid in pids:
            os.kill(pid, 9)
        return pids
