#!/usr/bin/env python3
"""Automatic settings with a server that is far away or has a bad night: they change while images are fetched, and not a byte does.

usage: test-auto.py HR_LAUNCH SOURCE_ROOT
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
IMAGES = [ROOT / "tests/data/golden/images" / name for name in ("cat_420.jpg", "tiny10.png")]
LINES = 200
STEPS = 120
TEXT = ("s3src location=s3://set/ {order} ! jsonlparse ! imagefetch name=f {concurrency} {decode}! batch size=4 ! prefetchqueue "
        "{ahead} ! trainsim step-time=0s")
DECODE = "! imagedecode "
ORDER = "shuffle=window seed=5 epochs=0"


def run(root, text, *server):
    command = [HR_LAUNCH, "-q", "--checksum", "--stats=json", f"--steps={STEPS}", text]
    command = [sys.executable, SERVER, "--root", root, *server, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


class Auto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="hr-auto-")  # pylint: disable=consider-using-with
        cls.root = pathlib.Path(cls.folder.name)
        (cls.root / "set").mkdir()
        with open(cls.root / "set" / "a.jsonl", "w", encoding="utf-8") as lines:
            for i in range(LINES):
                name = f"{i % 20}{IMAGES[i % 2].suffix}"
                shutil.copy(IMAGES[i % 2], cls.root / "set" / name)
                lines.write(json.dumps({"id": str(i), "messages": [{"role": "user", "content": [{"type": "image", "image": name}]},
                                                                   {"role": "assistant", "content": str(i)}]}) + "\n")
        cls.sums = {decode: run(cls.root, "serial=true " + TEXT.format(order=ORDER, concurrency="", decode=decode, ahead=""))["sha256"]
                    for decode in ("", DECODE)}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def expect_same(self, text, decode, *server):
        stats = run(self.root, text.format(order=ORDER, concurrency="concurrency=auto", decode=decode, ahead="max-batches=auto"), *server)
        self.assertEqual(stats["sha256"], self.sums[decode])
        found = {(s["element"], s["property"]): s for s in stats["auto"]["settings"]}
        self.assertTrue(1 <= found["f", "concurrency"]["value"] <= 1024, found)
        return stats["auto"], found

    def test_far(self):
        """60 ms away, and nothing else to do: more transfers at once are tried"""
        auto, found = self.expect_same(TEXT, "", "--latency", "60ms")
        self.assertGreater(auto["changes"], 0)
        self.assertGreater(found["f", "concurrency"]["changes"], 0)
        self.assertEqual(set(found), {("f", "concurrency"), ("prefetchqueue0", "max-batches")})

    def test_all(self):
        """the same with auto=true: all that can be"""
        _, found = self.expect_same("auto=true memory=64MiB " + TEXT, DECODE, "--latency", "10ms", "--jitter", "20ms")
        self.assertIn(("imagedecode0", "workers"), found)
        self.assertLessEqual(sum(s["value"] for (_, name), s in found.items() if name == "queue-bytes"), 64 << 20)

    def test_bad_night(self):
        """tries that fail, answers that stop in the middle, servers that ask for less"""
        self.expect_same("auto=true " + TEXT, DECODE, "--latency", "5ms", "--rate", "4%", "--faults", "503,slow-down,reset-body,truncate")


tap.main()
