#!/usr/bin/env python3
"""The verdict on runs that are slow on purpose: whom the trainer waits for, of which kind, and what is advised.

usage: test-verdict.py HR_LAUNCH SOURCE_ROOT
"""
import json
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


def run(text, *server):
    """the stats of a run, from a server of ours if there are words for one"""
    command = [HR_LAUNCH, "-q", "--stats=json", text]
    if server:
        command = [sys.executable, SERVER, *server, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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
        """late answers want more transfers at once; a full line wants fewer bytes"""
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
