#!/usr/bin/env python3
"""SpreadLoader on one node: what it delivers is what a Loader does."""
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import cluster
import dataset
import headrace
import ray
import tap
import tokenizer
from cluster import wait_for
from headrace.ray import SpreadDataError, SpreadLoader, team
from headrace.ray.spec import NAMESPACE
from ray._private.internal_api import node_stats

WORLD = 2
EPOCHS = 2
# a driver of its own
DRIVER = """
import logging, sys, time
import ray
from headrace.ray import SpreadCoreError, SpreadLoader, SpreadResourceError

logging.getLogger("ray").setLevel(logging.CRITICAL)

def connect():
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR", _node_ip_address=sys.argv[2])

loader = SpreadLoader(sys.argv[3], framework="numpy", epochs=0, linger=5)
"""


def actors():
    return ray.util.list_named_actors(all_namespaces=True)


def nobody():
    return not actors()


def stands_in_store(array):
    """Whether its bytes are those of Ray's store, and no copy of them."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if begin <= array.ctypes.data < end:
                return "plasma" in line
    return False


class Spread(cluster.WithCluster):
    def spread(self, **options):
        return SpreadLoader(self.text, **{"framework": "numpy", "epochs": EPOCHS, **options})

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
                        self.assertTrue(all(map(stands_in_store, mine.get("images", []))))
                        n += 1
                self.assertEqual(n, len(spread))
                self.assertEqual(n, len(loader))
                self.assertRaises(StopIteration, next, spread)
            self.assertEqual(len(ray.util.list_named_actors(all_namespaces=True)), WORLD + 1)
        wait_for(nobody)

    def test_ends(self):
        """who stops half way, closes twice, asks behind the end or forgets the loader leaves nobody behind"""
        loader = self.spread(epochs=0)
        next(loader)
        state = loader.state_dict()
        for _ in range(2):
            loader.close()
            self.assertRaises(StopIteration, next, loader)
            self.assertEqual((list(loader), loader.state_dict(), loader.stats()["status"]), ([], state, "stopped"))
        wait_for(nobody)
        loader = self.spread(epochs=0)
        for step in loader:
            self.assertEqual(len(actors()), 2)
            break
        del step, loader
        gc.collect()
        wait_for(nobody)
        self.assertNotIn("headrace-spread", [thread.name for thread in threading.enumerate()])

    @staticmethod
    def find_producers():
        """(the directory, pids of all producers) of the one run there is"""
        directory, *producers = sorted((actor["name"] for actor in actors()), key=lambda name: (name.count("-"), name))
        return ray.get_actor(directory, NAMESPACE), [ray.get(ray.get_actor(name, NAMESPACE).where.remote())["pid"] for name in producers]

    def test_twins(self):
        """two loaders of the same run and rank share producers, and one that leaves does not take them along"""
        with self.spread(epochs=0) as second:
            with self.spread(epochs=0) as first:
                next(first)
                next(second)
                there = sorted(actor["name"] for actor in actors())
                pids = self.find_producers()[1]
            first.close()
            with headrace.Loader(self.text, framework="numpy") as loader:
                next(loader)
                for _ in range(20):  # more than are there already
                    self.check_step(next(second), next(loader))
            self.assertEqual(sorted(actor["name"] for actor in actors()), there)
            self.assertEqual(self.find_producers()[1], pids)
            self.assertNotIn("lost", second.stats()["units"])
        wait_for(nobody)

    def test_directory_killed(self):
        """a directory that was started anew finds the producers, and does not end them before it can have heard of all ranks"""
        with self.spread(epochs=0, producers=2, num_cpus=0, linger=15) as second:
            with self.spread(epochs=0, producers=2, num_cpus=0, linger=15) as first:
                next(first)
                next(second)
                wait_for(lambda: len(actors()) == 3)
                directory, pids = self.find_producers()
                pid = ray.get(directory.get_pid.remote())

                def is_anew():
                    try:
                        return ray.get(directory.get_pid.remote()) != pid
                    except ray.exceptions.RayActorError:
                        return False
                with unittest.mock.patch.object(second._pipeline._team, "refresh"):  # the others' signs are due later
                    os.kill(pid, signal.SIGKILL)
                    wait_for(is_anew)
                    first.close()
                    ray.get(directory.get_pid.remote())  # behind leave
            entries, failed = ray.get(directory.join.remote(0, "a sign", second._pipeline._team._node, []))
            self.assertEqual(([entry.index for entry in entries], failed), ([0, 1], None))
            for _ in range(20):  # more than are there already
                next(second)
            self.assertEqual(self.find_producers()[1], pids)
            self.assertNotIn("lost", second.stats()["units"])
        wait_for(nobody)  # linger=

    def test_linger(self):
        """producers of ranks that died stay for the next ones, and go when nobody comes"""
        loader = self.spread(epochs=0, linger=15)
        next(loader)
        directory, pids = self.find_producers()
        with unittest.mock.patch.object(loader._pipeline._team, "leave"):
            loader.close()
        time.sleep(3)  # the directory looks more often
        with self.spread(epochs=0, linger=15) as again:
            next(again)
            self.assertEqual(self.find_producers()[1], pids)
        ray.get(directory.get_pid.remote())  # behind leave: the dead one may be only silent
        self.assertEqual(self.find_producers()[1], pids)
        wait_for(nobody)

    def test_worlds(self):
        """fewer samples than ranks, and none at all: steps and holes of a Loader"""
        for n in (0, 1, 3):
            data = dataset.DataSet(n=n)
            self.addCleanup(data.remove)
            for rank in range(4):
                options = {"rank": rank, "world": 4, "epochs": 2, "framework": "numpy"}
                with SpreadLoader(data.pipeline(size=2, tail="prefetchqueue"), producers=1, num_cpus=0, **options) as spread, \
                        headrace.Loader(data.pipeline(size=2, tail="prefetchqueue"), **options) as loader:
                    for _ in range(2):
                        for mine, other in zip(spread, loader, strict=True):
                            self.check_step(mine, other)
                    self.assertEqual(len(spread), 2 if n else 0)

    @staticmethod
    def run_driver(code, *arguments, **environment):
        """(status, stdout, stderr)"""
        done = subprocess.run([sys.executable, "-c", DRIVER + code, *arguments], capture_output=True, text=True, timeout=240, check=False,
                              env={**os.environ, **environment})
        return done.returncode, done.stdout, done.stderr

    def test_unplugged(self):
        """ray.shutdown() in front of a loader's end is told, and neither that nor a program that ends without close() starts a cluster"""
        here = (ray.get_runtime_context().gcs_address, cluster.IP, self.text)
        sessions = set(cluster.FOLDER.glob("**/session_2*"))
        told = self.run_driver("""
connect()
next(loader)
wait = ray.wait

def wait_late(*arguments, **options):  # the thread has looked whether Ray is there, and asks it for something a moment later
    time.sleep(0.3)
    return wait(*arguments, **options)

ray.wait = wait_late
ray.shutdown()
try:
    while True:
        next(loader)
except SpreadCoreError as error:
    print(error)
loader.close()
print(loader.stats()["status"])
time.sleep(1)
print(ray.is_initialized())
""", *here)
        self.assertEqual(told, (0, "ray.shutdown() was called while a SpreadLoader was at work: close() that before\nfailed\nFalse\n", ""))
        self.assertEqual(self.run_driver("connect(); next(loader); print('one')", *here), (0, "one\n", ""))
        self.assertEqual(set(cluster.FOLDER.glob("**/session_2*")), sessions)
        wait_for(nobody)  # linger=

    def test_no_cluster(self):
        """a cluster that is not there is an error that says where"""
        status, told, _ = self.run_driver("""
try:
    next(loader)
except SpreadResourceError as error:
    print(error)
print(ray.is_initialized())
""", "", "", self.text, RAY_ADDRESS="127.0.0.1:1", RAY_gcs_server_port_wait_time_s="1")
        self.assertEqual(status, 0)
        self.assertRegex(told, r"^no Ray cluster at 127.0.0.1:1: .*`ray start --head`.*\nFalse\n$")

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

    def test_whole_rung(self):
        """pipelines/5-spread.hr and 5-trainer.hr: what a whole pipeline delivers"""
        there, here = (dataset.ROOT / f"pipelines/5-{name}.hr" for name in ("spread", "trainer"))
        text = there.read_text(encoding="utf-8").replace("s3src ", "on-error=skip filesrc ")
        options = {"rank": 0, "world": 1, "epochs": 1, "framework": "numpy", "variables": {"LOCATION": f"{self.data.folder}/", "BATCH": 5}}
        with SpreadLoader(text, then=here, **options) as spread, \
                headrace.Loader(text.replace("! appsink", "! patchify ! appsink"), **options) as loader:
            n = 0
            for mine, other in zip(spread, loader, strict=True):
                self.assertEqual(set(mine), set(other))
                for name in other:
                    self.assertTrue(cluster.same(mine[name], other[name]), name)
                n += 1
            self.assertEqual(n, 5)

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
        depth, peak, done, node = 4, 0, threading.Event(), ray.nodes()[0]

        def look():
            stats = node_stats(node["NodeManagerAddress"], node["NodeManagerPort"], include_memory_info=False)
            return stats.store_stats.object_store_bytes_used

        def watch():
            nonlocal peak
            while not done.wait(0.02):
                peak = max(peak, look() - before)

        # where Ray frees at once it forgets some of what nobody referred to when it was made: units of loaders that stopped half way
        before = look()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            n, largest, total = 0, 0, 0
            with unittest.mock.patch.object(team, "_STATS", 120), self.spread(epochs=4, depth=depth) as spread:
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
