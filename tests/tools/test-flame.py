#!/usr/bin/env python3
"""hr-launch --flamegraph: folded stacks and a picture hold the times of the stats, and all of them.

usage: test-flame.py HR_LAUNCH SOURCE_ROOT
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402 # pylint: disable=wrong-import-position

TEXT = ("fakesrc name=source num-buffers=60 work=1ms ! identity name=slow sleep=3ms workers=2 ! batch size=4 ! "
        "prefetchqueue ! trainsim step-time=5ms")
SVG = "{http://www.w3.org/2000/svg}"


def run(path):
    done = subprocess.run([HR_LAUNCH, "-q", "--stats=json", f"--flamegraph={path}", TEXT], capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def spent(element):
    return sum(element[key] for key in ("working_s", "blocked_in_s", "blocked_out_s", "blocked_cpu_s"))


class Flame(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="hr-flame-")  # pylint: disable=consider-using-with
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def test_folded(self):
        """a line a phase; those of an element add up to its time"""
        stats = run(self.folder / "out.folded")
        sums, computes = {}, {}
        for line in (self.folder / "out.folded").read_text().splitlines():
            root, element, phase, number = re.fullmatch(r"([a-z]+);([a-z0-9]+);([a-z ]+) (\d+)", line).groups()
            self.assertEqual(root, "headrace")
            sums[element] = sums.get(element, 0) + int(number)
            if phase == "computes":
                computes[element] = int(number)
        for element in stats["elements"]:
            self.assertAlmostEqual(sums.get(element["name"], 0) / 1e6, spent(element), delta=1e-4)
        source = stats["elements"][0]
        self.assertAlmostEqual(computes["source"] / 1e6, min(source["cpu_s"], source["working_s"]), delta=1e-4)

    def test_picture(self):
        """frames are as wide as their time, and stand above the element's"""
        stats = run(self.folder / "out.svg")
        root = xml.parse(self.folder / "out.svg").getroot()
        frames = [(g.find(SVG + "title").text, g.find(SVG + "rect").attrib) for g in root.iter(SVG + "g")]
        total = sum(spent(e) for e in stats["elements"])
        rows = sorted({float(r["y"]) for _, r in frames})
        self.assertEqual(len(rows), 3)
        elements = [(title, float(r["x"]), float(r["width"])) for title, r in frames if float(r["y"]) == rows[1]]
        self.assertEqual([title.split(":")[0] for title, _, _ in elements], [e["name"] for e in stats["elements"]])
        for (title, _, width), element in zip(elements, stats["elements"]):
            self.assertAlmostEqual(width, max(0.1, 1200 * spent(element) / total), delta=0.1, msg=title)
        phases = [(float(r["x"]), float(r["width"])) for _, r in frames if float(r["y"]) == rows[0]]
        self.assertAlmostEqual(sum(width for _, width in phases), 1200, delta=3)
        self.assertGreater(len(phases), len(elements))

    def test_unwritable(self):
        """a file that cannot be written is told, and is an error"""
        done = subprocess.run([HR_LAUNCH, "-q", f"--flamegraph={self.folder}/no/file", "fakesrc num-buffers=1 ! fakesink"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^hr-launch: --flamegraph: .*No such file or directory\n$")


tap.main()
