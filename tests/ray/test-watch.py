#!/usr/bin/env python3
"""dashboard= and record= of a SpreadLoader, on one node: what is served and what is written, and hr-report of it."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import cluster
import headrace
import tap
from headrace.ray import SpreadDataError, SpreadLoader

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from metrics_text import parse  # noqa: E402 # pylint: disable=wrong-import-position

REPORT = pathlib.Path(os.environ["HR_TOOLS"]) / "hr-report"
ELEMENTS = ["filesrc0", "jsonlparse0", "imagefetch0", "imagedecode0", "resize0", "batch0", "prefetchqueue0", "appsink0"]


def ask(loader, path):
    """(status, body)"""
    try:
        with urllib.request.urlopen(loader.dashboard_uri + path, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask_stats(loader):
    return json.loads(ask(loader, "stats.json")[1])


class Watch(cluster.WithCluster):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="hr-watch-")  # pylint: disable=consider-using-with
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def spread(self, **options):
        return SpreadLoader(self.text, **{"framework": "numpy", "producers": 2, "num_cpus": 1, "job": self.id(), **options})

    def step_until(self, loader, found, seconds=120):
        """steps, until the page's numbers are as they are awaited; those"""
        until = time.monotonic() + seconds
        while not found(stats := ask_stats(loader) if loader.dashboard_uri else {}):
            self.assertLess(time.monotonic(), until, {**stats, "history": None})
            next(loader)
            time.sleep(0.05)
        return stats

    def report(self, *paths):
        done = subprocess.run([sys.executable, REPORT, "-o", "-", *paths], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_served(self):
        """the page has producers with their elements, links, this rank's numbers and the verdict; /metrics and /healthz say the same"""
        path = self.folder / "spread.jsonl"
        with self.spread(dashboard="127.0.0.1:0", record=path, then="patchify ! appsink") as loader:
            self.assertIsNone(loader.dashboard_uri)
            next(loader)
            stats = self.step_until(loader, lambda told: len(told.get("history", ())) > 3 and told["recent"]
                                    and any(note["kind"] == "media-not-found" for note in told["notes"])
                                    and len(told["producers"]) == 2 and all(producer.get("units") for producer in told["producers"]))
            self.assertEqual((stats["status"], stats["rank"], stats["world"], stats["node"]), ("running", 0, 1, cluster.IP))
            self.assertEqual([element["name"] for element in stats["elements"]], ["spread", "patchify0", "appsink0"])
            self.assertEqual([producer["index"] for producer in stats["producers"]], [0, 1])
            for producer in stats["producers"]:
                self.assertEqual(producer["ip"], cluster.IP)
                self.assertEqual([element["name"] for element in producer["pipeline"]["elements"]], ELEMENTS)
                self.assertGreater(producer["units"], 0)
            self.assertEqual(list(stats["links"]), [cluster.IP])
            self.assertIn(stats["recent"]["bottleneck"]["kind"], ("trainer", "producers"))
            self.assertRegex(stats["verdict"], "trainer")
            note = next(note for note in stats["notes"] if note["kind"] == "media-not-found")
            self.assertRegex(note["text"], f"on node {cluster.IP}: .*a.jsonl:6: missing.jpg")
            metrics = parse(ask(loader, "metrics")[1])
            labels = (("node", cluster.IP), ("producer", "1"))
            self.assertEqual(metrics["headrace_producer_up", labels], 1)
            self.assertGreaterEqual(metrics["headrace_producer_units_total", labels], stats["producers"][1]["units"])
            self.assertGreater(metrics["headrace_element_items_total", (*labels, ("element", "resize0"), ("factory", "resize"))], 0)
            self.assertGreaterEqual(metrics["headrace_link_bytes_total", labels[:1]], stats["links"][cluster.IP]["bytes"])
            self.assertEqual(ask(loader, "healthz"), (200, "running\n"))
            loader._pipeline._warn("what the thread that asks for units has to tell")
            self.assertIn(("warning", "what the thread that asks for units has to tell"),
                          [(note["kind"], note["text"]) for note in ask_stats(loader)["notes"]])
            told = loader.stats()
        last = json.loads(path.read_text().splitlines()[-1])["end"]
        self.assertEqual(last["status"], "stopped")
        self.assertGreaterEqual(last["steps"], told["steps"])
        page = self.report(path)
        for words in ("Nodes of spread", "Links of spread", "Producers of spread", "patchify0", "imagefetch0", cluster.IP, "1 of 1 ranks"):
            self.assertIn(words, page)

    def test_record(self):
        """ranks of a run are one run to hr-report, beside that of a plain Loader of the same text"""
        with headrace.Loader(self.text, framework="numpy", epochs=1, record=self.folder / "plain.jsonl") as plain:
            n_samples = sum(not sample["skipped"] for step in plain for sample in step.batch.samples)
        loaders = [self.spread(rank=rank, world=2, epochs=1, record=self.folder / f"spread-{rank}.jsonl") for rank in range(2)]
        for loader in loaders:
            for step in loader:
                del step
        for loader in loaders:
            loader.close()
        heads, ends = [], []
        for rank in range(2):
            lines = [json.loads(line) for line in (self.folder / f"spread-{rank}.jsonl").read_text().splitlines()]
            heads.append(lines[0])
            ends.append(lines[-1]["end"])
            self.assertEqual((lines[0]["rank"], lines[0]["world"]), (rank, 2))
        self.assertEqual(heads[0]["run"], heads[1]["run"])
        self.assertEqual({end["status"] for end in ends}, {"ended-with-skipped", "ended"})
        self.assertEqual(sum(end["samples"] for end in ends), n_samples)
        page = self.report(self.folder)
        self.assertEqual([f'aria-labelledby="run-{n}"' in page for n in (1, 2, 3)], [True, True, False])
        for words in ("2 of 2 ranks", "Ranks of spread", "0 of 2", "1 of 2", "Elements of plain"):
            self.assertIn(words, page)

    def test_silent(self):
        """a producer that hangs is shown as one that does not answer, and as one that does when it goes on"""
        with self.spread(dashboard="127.0.0.1:0", linger=300) as loader:
            next(loader)
            stats = self.step_until(loader, lambda told: len(told.get("producers", ())) == 2 and all(p.get("units") for p in told["producers"]))
            victim = stats["producers"][1]
            os.kill(victim["pid"], signal.SIGSTOP)
            try:
                until = time.monotonic() + 120
                while "error" not in (told := ask_stats(loader)["producers"][1]):
                    self.assertLess(time.monotonic(), until, told)
                    time.sleep(0.2)
                self.assertEqual((told["index"], told["ip"]), (1, cluster.IP))
                labels = (("node", cluster.IP), ("producer", "1"))
                self.assertEqual(parse(ask(loader, "metrics")[1])["headrace_producer_up", labels], 0)
                self.assertEqual(ask(loader, "healthz")[0], 200)
            finally:
                os.kill(victim["pid"], signal.SIGCONT)
            while "error" in (told := ask_stats(loader)["producers"][1]):
                self.assertLess(time.monotonic(), until, told)
                time.sleep(0.2)
            self.assertEqual(told["pid"], victim["pid"])

    def test_died(self):
        """of a producer that is killed what was lost is told; the one in its place has another process"""
        with self.spread(dashboard="127.0.0.1:0", linger=300) as loader:
            next(loader)
            stats = self.step_until(loader, lambda told: len(told.get("producers", ())) == 2 and all(p.get("units") for p in told["producers"]))
            pid = stats["producers"][1]["pid"]
            os.kill(pid, signal.SIGKILL)
            # whichever is sooner: that it is gone, or that its unit is late
            stats = self.step_until(loader, lambda told: told["producers"][1].get("pid", pid) != pid
                                    and told["units"].get("lost", 0) + told["units"].get("hedged", 0) > 0)
            lost = [note for note in stats["notes"] if "is lost" in note["text"]]
            self.assertEqual(len(lost) > 0, stats["units"].get("lost", 0) > 0)
            for note in lost:
                self.assertEqual(note["kind"], "warning")
                self.assertRegex(note["text"], "^epoch [0-9]+, step [0-9]+, rank 0 is lost, and asked for again")

    def test_failed(self):
        """a run that fails says so, and why, and where"""
        path = self.folder / "failed.jsonl"
        with self.spread(dashboard="127.0.0.1:0", record=path, epochs=1, properties={"on-error": "fail"}) as loader:
            with self.assertRaises(SpreadDataError):
                for step in loader:
                    del step
            self.assertEqual(ask(loader, "healthz"), (503, "failed\n"))
            note = ask_stats(loader)["notes"][-1]
            self.assertEqual(note["kind"], "error")
            self.assertRegex(note["text"], f"on node {cluster.IP}: imagefetch .*a.jsonl:6")
        end = json.loads(path.read_text().splitlines()[-1])["end"]
        self.assertEqual((end["status"], end["exit"]), ("failed", 1))
        self.assertIn("failed", self.report(path))


tap.main()
