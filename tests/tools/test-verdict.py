#!/usr/bin/env python3
"""The verdict on runs that are slow on purpose: whom the trainer waits for, of which kind, and what is advised.

usage: test-verdict.py HR_LAUNCH SOURCE_ROOT
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402 # pylint: disable=wrong-import-position

SERVER = ROOT / "tools" / "bad-night-s3"
IMAGE = ROOT / "tests/data/golden/images/large_1600x1200.jpg"
FETCH = "s3src location=s3://set/ ! jsonlparse ! imagefetch name=f concurrency=2 ! batch size=4 ! prefetchqueue ! trainsim step-time=1ms"


def run(text, *server, status=0):
    """the stats of a run, from a server of ours if there are words for one"""
    command = [HR_LAUNCH, "-q", "--stats=json", text]
    if server:
        command = [sys.executable, SERVER, *server, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def crowd(n):
    """this process and all that it starts share one processor with n programs that compute all the time"""
    may = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(may)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]  # pylint: disable=consider-using-with
    try:
        yield
    finally:
        os.sched_setaffinity(0, may)
        for other in others:
            other.kill()
            other.wait()


class Verdict(unittest.TestCase):
    def expect(self, stats, who, kind, **advice):
        self.assertEqual(stats["bottleneck"], {"element": who, "kind": kind}, stats["advice"])
        for key, value in advice.items():
            self.assertEqual(stats["advice"][key], value, stats["advice"])

    def test_cpu(self):
        """an element whose workers are too few, and one that can have no more"""
        stats = run("fakesrc num-buffers=240 ! identity name=w sleep=10ms ! batch size=4 ! prefetchqueue ! trainsim step-time=1ms")
        self.expect(stats, "w", "cpu", element="w", property="workers", value=8)
        stats = run("fakesrc name=s num-buffers=240 interval=8ms ! batch size=4 ! prefetchqueue ! trainsim step-time=1ms")
        self.expect(stats, "s", "cpu", element="s", property=None, predicted_wait_ratio=None)

    def test_automatic(self):
        """nobody is told to set what is found by itself"""
        stats = run("fakesrc num-buffers=80 ! identity name=w sleep=10ms workers=auto ! batch size=4 ! prefetchqueue ! "
                    "trainsim step-time=1ms")
        self.assertTrue(any(s["element"] == "w" and s["property"] == "workers" for s in stats["auto"]["settings"]), stats["auto"])
        self.assertNotEqual(stats["advice"]["property"], "workers", stats["advice"])

    def test_ahead(self):
        """nothing prepared ahead: a prefetchqueue; one after the other: no serial"""
        text = "fakesrc num-buffers=240 ! identity name=w sleep=10ms workers=4 ! batch size=4 ! {}trainsim step-time=10ms"
        self.expect(run(text.format("")), "w", "cpu", property="max-batches", value=4, element=None)
        self.expect(run("serial=true " + text.format("prefetchqueue ! ")), "w", "cpu", property="serial", value=None)

    def test_trainer(self):
        """a trainer that is fed needs nothing"""
        stats = run("fakesrc num-buffers=100 ! batch size=4 ! prefetchqueue ! trainsim name=t step-time=100ms")
        self.expect(stats, "t", "trainer", property=None, predicted_wait_ratio=None, next=None)

    def test_network(self):
        """late answers want more transfers at once; a full line wants fewer bytes: of media, and of lines"""
        with tempfile.TemporaryDirectory(prefix="hr-verdict-") as folder:
            root = pathlib.Path(folder)
            (root / "set").mkdir()
            shutil.copy(IMAGE, root / "set" / "i.jpg")
            record = {"messages": [{"role": "user", "content": [{"type": "image", "image": "i.jpg"}, {"type": "text", "text": "?"}]},
                                   {"role": "assistant", "content": "!"}]}
            (root / "set" / "a.jsonl").write_text(100 * (json.dumps(record) + "\n"))
            stats = run(FETCH, "--root", root, "--latency", "60ms")
            self.expect(stats, "f", "network-latency", element="f", property="concurrency")
            self.assertGreater(stats["advice"]["value"], 2)
            stats = run(FETCH, "--root", root, "--connection-bandwidth", "4MB")
            self.expect(stats, "f", "network-bandwidth", property=None, predicted_wait_ratio=None)
            self.assertIn("its line is full", stats["advice"]["text"])
            lines = "s3src name=s location=s3://set/ part-bytes=2KiB block-bytes=1KiB read-ahead=0 ! jsonlparse ! batch size=2 ! prefetchqueue ! {}"
            stats = run(lines.format("trainsim step-time=1ms"), "--root", root, "--latency", "60ms")
            self.expect(stats, "s", "network-latency", element="s", property=None)
            stats = run(lines.format("trainsim step-time=1ms"), "--root", root, "--connection-bandwidth", "10kB")
            self.expect(stats, "s", "network-bandwidth", element="s", property=None)

    def test_disk(self):
        """media that lie on a disk are not waited for in a network"""
        with tempfile.TemporaryDirectory(prefix="hr-verdict-") as folder:
            shutil.copy(IMAGE, pathlib.Path(folder) / "i.jpg")
            record = {"messages": [{"role": "user", "content": [{"type": "image", "image": "i.jpg"}]}, {"role": "assistant", "content": "!"}]}
            lines = pathlib.Path(folder) / "a.jsonl"
            lines.write_text(5000 * (json.dumps(record) + "\n"))
            stats = run(f"filesrc location={lines} ! jsonlparse ! imagefetch ! trainsim step-time=0ms")
        # a page cache is as quick as a trainer that does nothing: which of the two it is, is the machine's affair
        self.assertIn(stats["bottleneck"]["kind"], ("cpu", "trainer"))

    def test_second_trainer(self):
        """of two trainers the one that waits is told that it waits for the other"""
        branch = "x. ! batch size=4 ! prefetchqueue ! trainsim name={} step-time={} "
        stats = run("fakesrc num-buffers=200 ! tee name=x " + branch.format("fast", "1ms") + branch.format("slow", "25ms"))
        self.expect(stats, "slow", "trainer", element="slow", property=None)

    def test_mixed(self):
        """the slow member of a mix, and the slow branch of a join"""
        stats = run("fakesrc num-buffers=120 ! identity name=late sleep=8ms ! join name=j mode=any ! batch size=4 ! prefetchqueue ! "
                    "trainsim step-time=1ms fakesrc num-buffers=120 ! j.")
        self.expect(stats, "late", "cpu", element="late", property="workers")
        stats = run("fakesrc num-buffers=120 ! tee name=x x. ! join name=j ! batch size=4 ! prefetchqueue ! trainsim step-time=1ms "
                    "x. ! identity name=late sleep=8ms ! j.")
        self.expect(stats, "late", "cpu", element="late", property="workers")

    def test_no_trainer(self):
        """a sink that takes what comes has no wait ratio; what it waits for is told, with a speed"""
        stats = run("fakesrc num-buffers=200 ! identity name=w sleep=4ms ! fakesink")
        self.assertIsNone(stats["wait_ratio"])
        self.expect(stats, "w", "cpu", property="workers", predicted_wait_ratio=None)
        self.assertNotIn("wait ratio", stats["advice"]["text"])
        with tempfile.TemporaryDirectory(prefix="hr-verdict-") as folder:
            stats = run(f"fakesrc num-buffers=60 ! identity name=w sleep=4ms ! filesink location={folder}/out")
        self.expect(stats, "w", "cpu", property="workers")

    def test_holes(self):
        """samples that are skipped, all of them or most, took their time all the same"""
        for every in (1, 2):
            stats = run(f"on-error=skip fakesrc num-buffers=120 ! identity name=w sleep=8ms error-every={every} ! batch size=4 ! prefetchqueue ! "
                        "trainsim step-time=1ms", status=3)
            self.expect(stats, "w", "cpu", property="workers")

    def test_ends(self):
        """runs of no step, of one, and failed ones: no advice where nothing is known, and none that makes no sense"""
        text = "fakesrc num-buffers={} ! identity name=w sleep=8ms {}! batch size=4 ! prefetchqueue ! trainsim step-time=1ms"
        stats = run(text.format(0, ""))
        self.assertIsNone(stats["bottleneck"])
        self.assertIsNone(stats["advice"])
        stats = run(text.format(4, ""))
        self.assertEqual(stats["bottleneck"], {"element": "w", "kind": "cpu"})
        self.assertIsNone(stats["advice"])
        stats = run(text.format(-1, "error-after=80 "), status=1)
        self.expect(stats, "w", "cpu", property="workers")
        stats = run(text.format(-1, "error-after=0 "), status=1)
        self.assertIsNone(stats["bottleneck"])
        self.assertIsNone(stats["recent"])

    def test_crowd(self):
        """where other programs have the processor, more workers are not promised anything"""
        text = "fakesrc name=s num-buffers=150 {} ! batch size=2 ! prefetchqueue ! trainsim step-time=1ms"
        with crowd(4):
            stats = run(text.format("work=4ms"))
            self.expect(stats, "s", "cpu", element=None, property=None, predicted_wait_ratio=None, next=None)
            self.assertIn("for other programs", stats["advice"]["text"])
            # it would be sooner done than another's sleep, if it were alone
            stats = run("fakesrc name=s num-buffers=150 work=4ms ! identity name=w sleep=6ms ! batch size=2 ! prefetchqueue ! trainsim step-time=1ms")
            self.expect(stats, "s", "cpu", element=None, property=None, predicted_wait_ratio=None)
            # who needs none of it, but a clock, is slow for another reason
            stats = run("fakesrc num-buffers=200 ! identity name=w sleep=20ms ! batch size=4 ! prefetchqueue ! trainsim step-time=1ms")
            self.expect(stats, "w", "cpu", element="w", property="workers")

    def test_processors(self):
        """cpus=1 on more than one: that is what binds, and not the workers, which have to wait for each other"""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor")
        with tempfile.TemporaryDirectory(prefix="hr-verdict-") as folder:
            shutil.copy(IMAGE, pathlib.Path(folder) / "i.jpg")
            record = {"messages": [{"role": "user", "content": [{"type": "image", "image": "i.jpg"}]}, {"role": "assistant", "content": "!"}]}
            lines = pathlib.Path(folder) / "a.jsonl"
            lines.write_text(120 * (json.dumps(record) + "\n"))
            stats = run(f"cpus=1 filesrc location={lines} ! jsonlparse ! imagefetch ! imagedecode name=d workers=4 ! batch size=2 ! prefetchqueue ! "
                        "trainsim step-time=1ms")
        self.expect(stats, "d", "cpu", element=None)
        self.assertIn(stats["advice"]["property"], ("cpus", None))
        self.assertIn("processor", stats["advice"]["text"])

    def test_unsure(self):
        """after few steps there is advice, and no prediction"""
        stats = run("fakesrc num-buffers=40 ! identity name=w sleep=10ms ! batch size=4 ! prefetchqueue ! trainsim step-time=1ms")
        self.expect(stats, "w", "cpu", property="workers", predicted_wait_ratio=None, predicted_speedup=None, next=None)
        self.assertIn("these numbers do not tell", stats["advice"]["text"])

    def test_clocks(self):
        """processor time of what computes is counted, and that of what sleeps is none to speak of; live and at the end"""
        stats = run("fakesrc name=s num-buffers=60 work=4ms ! identity name=w sleep=4ms ! fakesink")
        times = {e["name"]: e for e in stats["elements"]}
        self.assertGreater(times["s"]["cpu_s"], 0.02)
        self.assertLess(times["w"]["cpu_s"], times["w"]["working_s"] / 2)


tap.main()
