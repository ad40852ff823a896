#!/usr/bin/env python3
"""hr-scale: what can be worked out by hand comes out, bytes are conserved, and the ablation has the shape that was measured.

usage: test-scale.py HR_SCALE SOURCE_ROOT
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

HR_SCALE, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402 # pylint: disable=wrong-import-position

loader = importlib.machinery.SourceFileLoader("hr_scale", HR_SCALE)
scale = importlib.util.module_from_spec(importlib.util.spec_from_loader("hr_scale", loader))
sys.modules["hr_scale"] = scale
loader.exec_module(scale)

# four namespaces with links of 100 Mbit/s, a MiB a unit: what docs/scale.md compares with
NAMESPACES = {"ranks_per_node": 1, "cores": 32.0, "nic_mbit": 100.0, "store_latency_s": 0.001}
UNIT = {"images_per_step": 1, "step_s": 0.12, "cpu_ms_per_image": 2.0, "raw_bytes": scale.MIB, "wire_bytes": scale.MIB}


def run(cluster=None, **job):
    return scale.Simulation(scale.Cluster(**(cluster or {})), scale.Job(**job)).run()


def command(*words):
    return subprocess.run([sys.executable, HR_SCALE, *words], capture_output=True, text=True, timeout=120, check=False)


class Links(unittest.TestCase):
    def test_shares(self):
        """two flows of one link take turns with its rate; the shorter ends first, the longer goes on alone"""
        clock, link, ends = scale.Clock(), scale.Link(10.0), []
        scale.Flow(clock, 50, [link], lambda: ends.append(("short", clock.now)))
        scale.Flow(clock, 100, [link], lambda: ends.append(("long", clock.now)))
        clock.run(lambda: len(ends) == 2)
        self.assertEqual([name for name, _ in ends], ["short", "long"])
        self.assertAlmostEqual(ends[0][1], 10)  # 5 bytes a second each
        self.assertAlmostEqual(ends[1][1], 15)  # 150 bytes in all, 10 a second
        self.assertEqual(link.bytes, 150)

    def test_least(self):
        """a flow over two links is as fast as the slower"""
        clock, ends = scale.Clock(), []
        scale.Flow(clock, 30, [scale.Link(10.0), scale.Link(3.0)], lambda: ends.append(clock.now))
        clock.run(lambda: bool(ends))
        self.assertAlmostEqual(ends[0], 10)

    def test_processors(self):
        clock, ends = scale.Clock(), []
        cpu = scale.Processors(clock, 2)
        for _ in range(5):
            cpu.work(1.0, lambda: ends.append(clock.now))
        clock.run(lambda: len(ends) == 5)
        self.assertEqual(ends, [1, 1, 2, 2, 3])
        self.assertEqual(cpu.busy, 5)


class Bounds(unittest.TestCase):
    """by hand: what is slowest is how fast it goes"""

    ONE = {"nodes": 1, "ranks_per_node": 1, "cores": 2.0, "nic_mbit": 800.0, "store_latency_s": 0.0}

    def test_trainer(self):
        told = run(self.ONE, step_s=1.0)
        self.assertLess(told["wait_ratio"], 0.001)
        self.assertAlmostEqual(told["images_per_s"], 8, delta=0.1)

    def test_processor(self):
        told = run(self.ONE, step_s=0.001, cpu_ms_per_image=100.0, raw_bytes=1)
        self.assertAlmostEqual(told["images_per_s"], 20, delta=0.5)
        self.assertGreater(told["cpu"][0], 0.97)

    def test_link(self):
        told = run(self.ONE, step_s=0.001, cpu_ms_per_image=0.0, raw_bytes=1_000_000)  # 100 MB/s
        self.assertAlmostEqual(told["images_per_s"], 100, delta=2)
        self.assertAlmostEqual(told["nic_in"][0], 1, delta=0.03)

    def test_latency(self):
        """one unit at a time, a second each; with four at once a quarter"""
        slow = dict(self.ONE, store_latency_s=1.0)
        quick = {"step_s": 0.001, "cpu_ms_per_image": 0.0, "raw_bytes": 1, "steps": 400}
        one = run(slow, in_flight=1, depth=4, **quick)["images_per_s"]
        four = run(slow, in_flight=4, depth=4, **quick)["images_per_s"]
        self.assertAlmostEqual(one, 8, delta=0.2)
        self.assertAlmostEqual(four / one, 4, delta=0.1)

    def test_store(self):
        """all nodes share the way to the store"""
        told = run({"nodes": 4, "ranks_per_node": 1, "store_mbit": 80.0}, step_s=0.001, cpu_ms_per_image=0.0, raw_bytes=1_000_000)
        self.assertAlmostEqual(told["images_per_s"], 10, delta=0.3)

    def test_same(self):
        self.assertEqual(run(step_s=0.05), run(step_s=0.05))

    def test_no_card_is_passed(self):
        for placement in scale.CHOICES["placement"]:
            for retrieval in scale.CHOICES["retrieval"]:
                told = run(NAMESPACES | {"nodes": 4}, producers=8, placement=placement, retrieval=retrieval, **UNIT)
                for key in ("nic_in", "nic_out", "cpu"):
                    self.assertLess(max(told[key]), 1.2, (placement, retrieval, key))  # bytes count where a flow begins


class Ablation(unittest.TestCase):
    def times(self, **cluster):
        producers = 8 if cluster["nodes"] > 1 or cluster.get("data_nodes") else 1
        rows = scale.ablate(scale.Cluster(**(NAMESPACES | cluster)), scale.Job(producers=producers, **UNIT))
        return {row["arm"]: row["times"] for row in rows}

    def test_small(self):
        self.assertLessEqual(max(self.times(nodes=1).values()), 1.15)

    def test_large(self):
        times = self.times(nodes=4)
        self.assertLessEqual(times["lazy"], 1.3)
        self.assertLessEqual(times["spread"], 1.3)
        self.assertGreaterEqual(times["lazy and spread"], 1.4)
        self.assertGreaterEqual(times["beside the rank"], times["lazy and spread"])

    def test_coming(self):
        """what comes one at a time comes late where its sender's link is shared; a driver takes all anyway"""
        def rate(coming, retrieval):
            return run(NAMESPACES | {"nodes": 4}, producers=8, placement="spread", retrieval=retrieval, depth=4, coming=coming,
                       **UNIT)["images_per_s"]
        self.assertLess(rate(1, "lazy"), 0.97 * rate(2, "lazy"))
        self.assertEqual(rate(1, "eager"), rate(2, "eager"))

    def test_all_ranks_on_one_node(self):
        """where it does not hold: the card of that node is what there is"""
        self.assertLessEqual(max(self.times(nodes=1, ranks_per_node=4, data_nodes=3).values()), 1.15)


class Command(unittest.TestCase):
    def print_rows(self, *words):
        """of a run in this process"""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(scale.main(words), 0)
        rows = [json.loads(line) for line in out.getvalue().splitlines()]
        self.assertGreater(len(rows), 0)
        return rows

    def test_run(self):
        told = json.loads(command("run", "--nodes=2", "--steps=5").stdout)
        self.assertEqual(len(told["cpu"]), 2)

    def test_size(self):
        rows = [json.loads(line) for line in command("size", "--json", "--ranks=8,64,1024").stdout.splitlines()]
        self.assertEqual([row["ranks"] for row in rows], [8, 64, 1024])
        self.assertEqual([row["nodes"] for row in rows], [1, 8, 128])
        self.assertTrue(all(row["simulated_wait_ratio"] <= 0.05 for row in rows), rows)
        self.assertAlmostEqual(rows[1]["images_per_s"], 8 * rows[0]["images_per_s"])

    def test_overflow(self):
        """nodes without ranks are added where a rank's node has too few processors, until its card is full"""
        busy = ("size", "--json", "--ranks=64", "--step-s=0.25", "--images-per-step=32", "--cores=2")
        row = json.loads(command(*busy).stdout)
        self.assertGreater(row["data_nodes"], 0)
        self.assertLessEqual(row["simulated_wait_ratio"], 0.05)
        row = json.loads(command(*busy, "--nic-mbit=2500").stdout)
        self.assertIn("card", row["why_not"])
        self.assertNotIn("simulated_wait_ratio", row)

    def test_nothing(self):
        """what may be 0 is worked out with 0, as well as rates that are nearly 0"""
        for name in scale.MAY_BE_ZERO:
            option = f"--{name.replace('_', '-')}=0"
            for words in (("run", "--steps=3"), ("ablate", "--steps=3", "--json"), ("size", "--ranks=8", "--steps=3", "--json"),
                          ("size", "--ranks=8", "--steps=3", "--json", "--cores=1", "--images-per-step=64")):
                print("#", *words, option)
                self.print_rows(*words, option)
        rows = self.print_rows("ablate", "--json", "--steps=3", "--step-s=1e7")
        self.assertEqual([row["times"] for row in rows], [None] * len(scale.ARMS))

    def test_wrong(self):
        for words, text in ((("size", "--ranks=8,x"), "no whole number"), (("size", "--ranks=12"), "multiple of --ranks-per-node=8"),
                            (("run", "--nic-mbit=0"), "above 0"), (("run", "--nodes=-1"), "above 0"), (("run", "--step-s=nan"), "number"),
                            (("run", "--placement=here"), "invalid choice"), (("go",), "invalid choice")):
            told = command(*words)
            self.assertEqual(told.returncode, 2, words)
            self.assertIn(text, told.stderr)
            self.assertEqual(told.stdout, "")

    def test_output_not_taken(self):
        """a full disk, or a reader that has gone, is one line and a status"""
        for words in (("--help",), ("run", "--steps=5"), ("size", "--ranks=8"), ("--version",)):
            with open("/dev/full", "wb") as full:
                told = subprocess.run([sys.executable, HR_SCALE, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            self.assertEqual((told.returncode, told.stderr), (1, "hr-scale: stdout: No space left on device\n"), words)
            reader, writer = os.pipe()
            os.close(reader)
            with open(writer, "wb") as gone:
                told = subprocess.run([sys.executable, HR_SCALE, *words], stdout=gone, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            self.assertEqual((told.returncode, told.stderr), (1, "hr-scale: stdout: Broken pipe\n"), words)
        closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', sys.executable, HR_SCALE, "run", "--steps=5"], stderr=subprocess.PIPE, text=True,
                                timeout=120, check=False)
        self.assertEqual((closed.returncode, closed.stderr), (0, ""))


tap.main()
