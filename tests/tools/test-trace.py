#!/usr/bin/env python3
"""hr-launch --trace: events hold the format's rules, and say what the stats say.

usage: test-trace.py HR_LAUNCH SOURCE_ROOT
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "tools")]
import tap  # noqa: E402 # pylint: disable=wrong-import-position
from trace_format import WAITS, Trace, owner  # noqa: E402 # pylint: disable=wrong-import-position

SERVER = ROOT / "tools" / "bad-night-s3"
IMAGES = ROOT / "tests/data/golden/images"
TEXT = ("fakesrc name=source num-buffers=60 work=1ms ! identity name=slow sleep=3ms workers={workers} ! batch size=4 ! "
        "prefetchqueue max-batches=2 ! trainsim step-time=5ms")
FETCH = ("s3src location=s3://set/ ! jsonlparse ! imagefetch name=f ! imagedecode workers={workers} ! resize max-pixels=65536 "
         "! batch size=4 ! prefetchqueue ! trainsim step-time=2ms")


def launch(path, text, *options, server=(), **more):
    command = [HR_LAUNCH, "-q", "--stats=json", f"--trace={path}", *options, text]
    if server:
        command = [sys.executable, SERVER, *server, "--", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, **more)


def run(path, text, *options, server=()):
    """(trace, stats)"""
    done = launch(path, text, *options, server=server)
    assert done.returncode == 0, done.stderr
    return Trace(path.read_text(encoding="utf-8")), json.loads(done.stdout.splitlines()[-1])


class Tracing(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="hr-trace-")  # pylint: disable=consider-using-with
        self.folder = pathlib.Path(self.temporary.name)
        self.path = self.folder / "run.json"

    def tearDown(self):
        self.temporary.cleanup()

    def make_bucket(self, n, n_images=1):
        folder = self.folder / "root" / "set"
        folder.mkdir(parents=True)
        shutil.copy(IMAGES / "cat_420.jpg", folder / "a.jpg")
        content = [{"type": "image", "image": "a.jpg"}] * n_images + [{"type": "text", "text": "What?"}]
        messages = [{"role": "user", "content": content}, {"role": "assistant", "content": "A cat."}]
        (folder / "lines.jsonl").write_text("".join(json.dumps({"id": str(i), "messages": messages}) + "\n" for i in range(n)))
        return "--root", str(self.folder / "root")

    def compare(self, trace, stats):
        """the trace says what the stats say"""
        self.assertEqual(stats["trace"], {"events": len(trace.events), "left_out": 0, "error": None})
        for element in stats["elements"]:
            name, slices = element["name"], trace.work_of(element["name"])
            if name.startswith("appsink"):  # it has no thread
                continue
            worked = sum(s.worked(name) for s in slices if not any(s in other.inside for other in slices)) / 1e9
            self.assertAlmostEqual(worked, element["working_s"], delta=0.002 + 0.01 * element["working_s"], msg=name)
            if "requests" in element and name != "s3src0":  # those that were done without a wait are in no slice
                self.assertEqual(len([1 for b, _ in trace.tickets if b["name"] == name + " in flight"]), element["items"])
            else:
                items = sum(1 if s.category == "step" else s.args["items"] for s in slices if s.category != "member")
                self.assertEqual(items, element["items"], name)
        self.assertTrue(all(s.name in WAITS for s in trace.slices("wait")))
        self.assertLessEqual(max(s.end for s in trace.slices("work", "member", "step", "wait", "fetch")) / 1e9, stats["wall_s"])

    def test_threads(self):
        """work of each thread, its waits, queues and steps; one worker and four"""
        for workers in (1, 4):
            trace, stats = run(self.path, TEXT.format(workers=workers))
            self.compare(trace, stats)
            names = {"source", "batch0", "prefetchqueue0", "trainsim0"} | ({"slow"} if workers == 1 else {f"slow {i + 1}" for i in range(4)})
            told = set(trace.threads.values())  # a worker that comes when all is done has nothing to tell
            self.assertLessEqual(told, names)
            self.assertLessEqual(names - told, {f"slow {i + 1}" for i in range(4)})
            self.assertEqual(sorted(s.args["sample"] for s in trace.work_of("slow")), list(range(60)))
            self.assertEqual([s.args["step"] for s in trace.work_of("trainsim0")], list(range(15)))
            self.assertEqual(trace.counters, {"memory budget"} | {"queue of " + n for n in ("slow", "batch0", "prefetchqueue0", "trainsim0")})
            self.assertTrue(any(s.name == "waits outside" for top in trace.work_of("slow") for s in top.inside))
            self.assertTrue({"waits for input", "waits for the trainer"} & {s.name for s in trace.slices("wait")})

    def test_memory_and_processors(self):
        """waits for bytes and for a processor lie in the work that they interrupt, and are none"""
        trace, stats = run(self.path, "memory=4KiB cpus=1 join name=j mode=any ! identity sleep=2ms ! fakesink "
                           "fakesrc num-buffers=100 size=2KiB work=1ms ! j. fakesrc num-buffers=100 size=2KiB work=1ms ! j.")
        self.compare(trace, stats)
        for name in ("waits for memory", "waits for a processor"):
            inside = sum(s.end - s.begin for work in trace.slices("work") for s in work.inside if s.name == name) / 1e9
            counted = sum(e["blocked_out_s" if name == "waits for memory" else "blocked_cpu_s"] for e in stats["elements"])
            self.assertGreater(inside, 0, name)
            self.assertLess(inside, 1.3 * counted + 0.01, name)  # who is interrupted between two clocks counts in one of them

    def test_serial(self):
        """one thread: what an element demands from the one before it lies in its slice"""
        trace, stats = run(self.path, TEXT.format(workers=4), "--serial")
        self.compare(trace, stats)
        self.assertEqual(list(trace.threads.values()), ["all elements"])

    def test_pulled(self):
        """what a program pulls: its steps, and that it waits for them, on a track of its own; with --serial all that is done for it, too"""
        for options, names in (((), {"fakesrc0", "identity0", "batch0", "appsink0, the program"}), (("--serial",), {"appsink0, the program"})):
            trace, stats = run(self.path, "fakesrc num-buffers=40 ! identity sleep=1ms ! batch size=4 ! appsink", *options)
            self.compare(trace, stats)
            self.assertEqual(set(trace.threads.values()), names)
            steps = trace.slices("step")
            self.assertEqual([s.args["step"] for s in steps], list(range(10)))
            waits = [s for s in trace.slices("wait") if owner(s) == "appsink0"]
            self.assertEqual(len(waits), 10)
            self.assertAlmostEqual(sum(s.end - s.begin for s in waits[1:]) / 1e9, stats["prepare_s"], delta=0.001)
            self.assertAlmostEqual(sum(s.end - s.begin for s in steps) / 1e9, stats["train_s"], delta=0.001)

    def test_join(self):
        """the work of all inputs is there"""
        trace, stats = run(self.path, "join name=j mode=concat ! fakesink fakesrc num-buffers=5 ! j. fakesrc num-buffers=7 ! tee name=t "
                           "t. ! j. t. ! fakesink")
        self.compare(trace, stats)

    def test_fetches(self):
        """each transfer has its slices, and a flow to the step that its sample is in; one worker and four, and serial"""
        server = self.make_bucket(24)
        for options, workers in (((), 1), ((), 4), (("--serial",), 1)):
            trace, stats = run(self.path, FETCH.format(workers=workers), *options, server=(*server, "--latency", "5ms"))
            self.compare(trace, stats)
            fetches = [s for s in trace.slices("fetch") if s.name == "fetch"]
            images = [s for s in fetches if s.args["what"].endswith("/a.jpg")]
            self.assertEqual(sorted(s.args["sample"] for s in images), list(range(24)))
            self.assertTrue(all(s.args["bytes"] == (IMAGES / "cat_420.jpg").stat().st_size for s in images))
            self.assertEqual([s.args["what"] for s in fetches if s not in images], ["s3://set/lines.jsonl"])
            self.assertTrue(all([p.name for p in s.inside] in (["first byte"], ["first byte", "body"]) for s in fetches), fetches)
            self.assertEqual(sorted(fetch.args["sample"] for fetch, _, _ in trace.flows), list(range(24)))
            for fetch, works, step in trace.flows:
                self.assertEqual(step.args["step"], fetch.args["sample"] // 4)
                self.assertLessEqual({"imagedecode0", "resize0", "batch0"}, {owner(work) for work in works})

    def test_other_numbers(self):
        """where order is given up, or streams are joined, no arrow leads to the step of another sample: there is none"""
        server = self.make_bucket(12)
        front = "s3src location=s3://set/ ! jsonlparse ! imagefetch ! imagedecode ! resize max-pixels=65536 ! j. "
        for text, n in ((FETCH.format(workers="2 ordered=false"), 12),
                        ("join name=j mode=concat ! batch size=4 ! trainsim step-time=2ms " + 2 * front, 24)):
            trace, _ = run(self.path, text, server=server)
            images = [s for s in trace.slices("fetch") if s.name == "fetch" and s.args["what"].endswith("/a.jpg")]
            self.assertEqual(len(images), n)
            self.assertEqual(trace.flows, [], text)

    def test_several_images(self):
        """a sample of three images has three fetches, and three flows into one step"""
        server = self.make_bucket(4, n_images=3)
        trace, stats = run(self.path, FETCH.format(workers=2), server=server)
        self.compare(trace, stats)
        self.assertEqual(sorted(fetch.args["sample"] for fetch, _, _ in trace.flows), [i // 3 for i in range(12)])
        works = trace.work_of("imagedecode0")
        self.assertEqual(sorted(s.args["sample"] for s in works), [i // 3 for i in range(12)])
        self.assertEqual(sum(s.category == "work" for s in works), 4)

    def test_retries(self):
        """a transfer that took several tries says so"""
        server = self.make_bucket(24)
        rules = self.folder / "rules.json"
        rules.write_text(json.dumps([{"match": "*.jpg", "times": 3, "fault": "503"}]))
        trace, stats = run(self.path, FETCH.format(workers=1), server=(*server, "--rules", str(rules)))
        self.compare(trace, stats)
        again = [s for s in trace.slices("fetch") if s.args.get("tries", 0) > 1]
        self.assertEqual(sum(s.args["tries"] - 1 for s in again), sum(e.get("retries", 0) for e in stats["elements"]))
        self.assertTrue(again and all(s.inside[0].name == "earlier tries" for s in again), again)

    def test_skipped(self):
        """a sample that is skipped is marked, and has no flow without its end"""
        server = self.make_bucket(8)
        lines = self.folder / "root" / "set" / "lines.jsonl"
        lines.write_text(lines.read_text().replace("a.jpg", "none.jpg", 1))
        done = launch(self.path, FETCH.format(workers=1), "--on-error=skip", server=server)
        self.assertEqual(done.returncode, 3, done.stderr)
        trace = Trace(self.path.read_text(encoding="utf-8"))
        self.assertEqual([e["name"] for e in trace.of("i")], ["skipped"])
        self.assertIn("none.jpg", trace.of("i")[0]["args"]["why"])
        self.assertEqual(sorted(fetch.args["sample"] for fetch, _, _ in trace.flows), list(range(1, 8)))
        failed = [s for s in trace.slices("fetch") if s.args.get("failed")]
        self.assertEqual([s.args["sample"] for s in failed], [0])

    def test_killed(self):
        """what a run that is killed leaves can be read"""
        command = [HR_LAUNCH, "-q", f"--trace={self.path}", "fakesrc interval=1ms ! identity ! fakesink"]
        with subprocess.Popen(command) as process:
            try:
                while not self.path.exists() or self.path.stat().st_size < 50000:
                    self.assertIsNone(process.poll())
                    time.sleep(0.05)
            finally:
                process.send_signal(signal.SIGKILL)
        text = self.path.read_text(encoding="utf-8")
        self.assertFalse(text.rstrip().endswith("]"))
        self.assertGreater(len(Trace(text + "\n]").slices("work")), 20)

    def test_stopped(self):
        """a run that is stopped leaves a whole file; what was still in flight is unfinished"""
        rules = self.folder / "rules.json"
        rules.write_text(json.dumps([{"match": "*.jpg", "fault": "slow-first-byte", "args": {"seconds": 60}}]))
        server = [sys.executable, SERVER, *self.make_bucket(8), "--rules", str(rules)]
        with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
            there = dict(serving.stdout.readline().rstrip("\n").split("=", 1) for _ in range(6))
            with subprocess.Popen([HR_LAUNCH, "-q", f"--trace={self.path}", FETCH.format(workers=1)], env={**os.environ, **there}) as process:
                counts = there["AWS_ENDPOINT_URL"] + "/_badnight/counts"
                while json.loads(urllib.request.urlopen(counts).read())["faults"].get("slow-first-byte", 0) < 8:
                    self.assertIsNone(process.poll())
                    time.sleep(0.05)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(timeout=100), 130)
            serving.stdin.close()
        trace = Trace(self.path.read_text(encoding="utf-8"))
        self.assertEqual([(b["args"], e["args"]) for b, e in trace.tickets], [({"sample": i}, {"unfinished": 1}) for i in range(8)])

    def test_slow_disk(self):
        """where events come faster than they can be written some are missing: how many is said in three places"""
        os.mkfifo(self.path)
        texts = []

        def read():
            with open(self.path, encoding="utf-8") as fifo:
                time.sleep(1)
                texts.append(fifo.read())

        reader = threading.Thread(target=read)
        reader.start()
        done = launch(self.path, "fakesrc num-buffers=200000 ! identity ! fakesink")
        reader.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        stats, trace = json.loads(done.stdout), Trace(texts[0])
        missing = stats["trace"]["left_out"]
        self.assertGreater(missing, 0)
        self.assertEqual(sum(e["args"]["events"] for e in trace.of("i", "events left out")), missing)
        self.assertIn(f"warning: --trace: {missing} events are missing in {self.path}", done.stderr)
        self.assertEqual(len(trace.events), stats["trace"]["events"])

    def test_nobody_reads(self):
        """a pipe that nobody reads is waited for, and a signal ends that; a record says that nobody does"""
        os.mkfifo(self.path)
        with subprocess.Popen([HR_LAUNCH, "-q", f"--trace={self.path}", "fakesrc ! fakesink"], stderr=subprocess.PIPE, text=True) as process:
            while not int(re.search(r"SigBlk:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1], 16) >> 14 & 1:
                time.sleep(0.01)  # before, SIGTERM ends it without a word
            time.sleep(0.3)  # it has come to wait, as a rule; else the signal is there before
            process.send_signal(signal.SIGTERM)
            err = process.communicate(timeout=100)[1]
        self.assertEqual((process.returncode, err), (143, "hr-launch: stopped by SIGTERM before the run began\n"))
        done = subprocess.run([HR_LAUNCH, "-q", f"--record={self.path}", "fakesrc ! fakesink"], capture_output=True, text=True, timeout=100,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (1, f"hr-launch: --record: {self.path}: nobody reads this pipe; start its reader first\n"))

    def test_full_disk(self):
        """a disk that is full ends the trace, not the run: that is told at once, and an error at the end"""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        picture = self.folder / "run.svg"
        done = launch(self.path, TEXT.format(workers=1).replace("=60", "=400"), f"--flamegraph={picture}", preexec_fn=limit,
                      restore_signals=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"warning: trace: {self.path}: File too large; the trace ends here, the run goes on\n", done.stderr)
        self.assertIn(f"hr-launch: --trace: {self.path}: File too large; its last events are missing\n", done.stderr)
        stats = json.loads(done.stdout)
        self.assertEqual((stats["status"], stats["steps"]), ("ended", 100))
        # what is there can be read: it ends behind an event, where the limit lies within one
        text = self.path.read_text(encoding="utf-8")
        self.assertTrue(19000 < len(text) < 20000 and text.endswith("},\n"), text[-200:])
        self.assertGreater(len(json.loads(text[:-2] + "]")), 100)
        self.assertTrue(picture.exists())  # what else was asked for

    def test_unwritable(self):
        """a file that cannot be made is an error before anything runs"""
        done = launch(self.folder / "no" / "file", "fakesrc num-buffers=1 ! fakesink")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"hr-launch: trace: {self.folder}/no/file: No such file or directory\n")


tap.main()
