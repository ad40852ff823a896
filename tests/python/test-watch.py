#!/usr/bin/env python3
"""dashboard= and record= of a Loader: what hr-launch --dashboard and --record do, of a training loop."""
import copy
import gc
import json
import logging
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import headrace
import tap

REPORT = pathlib.Path(os.environ["HR_TOOLS"]) / "hr-report"
RUN = "fakesrc num-buffers={} ! identity name=decode sleep=5ms ! batch size=4 ! prefetchqueue ! appsink"
TOKEN = "a-token-of-the-tests"


def load(text=RUN.format(-1), **options):
    return headrace.Loader(text, **{"framework": "numpy", "epochs": 1, **options})


def ask(uri, path):
    """(status, body)"""
    try:
        with urllib.request.urlopen(uri.partition("?")[0] + path, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def until_running(loader):
    """its page says so"""
    until = time.monotonic() + 60
    while ask(loader.dashboard_uri, "healthz")[1] != "running\n":
        assert time.monotonic() < until
        time.sleep(0.01)


def watches():
    return [thread for thread in threading.enumerate() if thread.name == "headrace-watch"]


class Watch(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="hr-watch-")  # pylint: disable=consider-using-with
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()
        gc.collect()
        self.assertEqual(watches(), [])

    def report(self, *paths):
        done = subprocess.run([sys.executable, REPORT, "-o", "-", *paths], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_both(self):
        """numbers while it runs, rows in the file, and how it ended; also of a pipeline in a process of its own"""
        for process in (False, True):
            path = self.folder / f"process-{process}.jsonl"
            with load(RUN.format(400), dashboard="127.0.0.1:0", record=path, process=process) as loader:
                self.assertIsNone(loader.dashboard_uri)
                self.assertFalse(path.exists())
                told = []
                next(loader)
                until_running(loader)
                for n, _ in enumerate(loader):
                    time.sleep(0.02)
                    if n % 30 == 28:
                        told.append(json.loads(ask(loader.dashboard_uri, "stats.json")[1]))
                        while len(told) == 3 and told[2]["steps"] <= told[0]["steps"]:  # it looks once a second, or later
                            time.sleep(0.1)
                            told[2] = json.loads(ask(loader.dashboard_uri, "stats.json")[1])
                self.assertEqual([stats["status"] for stats in told], ["running"] * 3)
                self.assertLess(told[0]["steps"], told[2]["steps"])
                self.assertIn("decode", [element["name"] for element in told[2]["elements"]])
                self.assertEqual(ask(loader.dashboard_uri, "healthz"), (200, "ended\n"))
                last = json.loads(ask(loader.dashboard_uri, "stats.json")[1])
                uri = loader.dashboard_uri
            self.assertIsNone(loader.dashboard_uri)
            with self.assertRaises(urllib.error.URLError):
                ask(uri, "healthz")
            head, *rows, end = lines_of(path)
            self.assertEqual((head["record"], head["version"]), (1, headrace.__version__))
            self.assertIn("identity name=decode", head["pipeline"])
            self.assertGreaterEqual(len(rows), 2)
            for before, after in zip(rows, rows[1:]):
                self.assertLess(before["row"]["wall_s"], after["row"]["wall_s"])
            self.assertEqual((end["end"]["status"], end["end"]["exit"], end["end"]["steps"], end["end"]["samples"]), ("ended", 0, 100, 400))
            self.assertEqual(last["steps"], 100)
            page = self.report(path)
            self.assertIn("400</td>", page)
            self.assertIn("ended", page)

    def test_stopped(self):
        """who leaves early has a run that was stopped; a loader that is dropped as well"""
        for name, leave in (("closed", lambda loaders: loaders[0].close()), ("dropped", lambda loaders: loaders.clear())):
            path = self.folder / f"{name}.jsonl"
            loaders = [load(record=path)]
            next(loaders[0])
            leave(loaders)
            gc.collect()
            self.assertEqual(lines_of(path)[-1]["end"]["status"], "stopped", name)
            self.assertEqual(watches(), [], name)

    def test_failed(self):
        """a run that fails says so, and why; so does one that cannot begin"""
        path = self.folder / "failed.jsonl"
        with load(RUN.format(-1).replace("sleep=5ms", "error-after=20"), dashboard="127.0.0.1:0", record=path) as loader:
            with self.assertRaises(headrace.Error) as caught:
                for _ in loader:
                    pass
            self.assertEqual(ask(loader.dashboard_uri, "healthz"), (503, "failed\n"))
            stats = json.loads(ask(loader.dashboard_uri, "stats.json")[1])
            self.assertEqual([(note["kind"], note["text"]) for note in stats["notes"]], [("error", str(caught.exception))])
        self.assertEqual((lines_of(path)[-1]["end"]["status"], lines_of(path)[-1]["end"]["exit"]), ("failed", 1))
        path = self.folder / "none.jsonl"
        loader = load("filesrc location=/no/such/folder/ ! jsonlparse ! batch ! appsink", record=path)
        with self.assertRaises(headrace.Error):
            next(loader)
        self.assertEqual(lines_of(path)[-1]["end"]["status"], "failed")

    def test_skipped(self):
        """samples that were left out are notes with their place, and count"""
        (self.folder / "a.jsonl").write_text('{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}\n{bad\n')
        path = self.folder / "record"
        with load(f"on-error=skip filesrc location={self.folder}/a.jsonl ! jsonlparse ! batch size=2 ! appsink", dashboard=True, record=path) as loader:
            for _ in loader:
                pass
            note, = json.loads(ask(loader.dashboard_uri, "stats.json")[1])["notes"]
            self.assertEqual(note["kind"], "bad-json")
            self.assertIn("a.jsonl:2", note["text"])
            self.assertEqual(ask(loader.dashboard_uri, "healthz"), (200, "ended-with-skipped\n"))
        end = lines_of(path)[-1]["end"]
        self.assertEqual((end["status"], end["exit"], end["skipped"]), ("ended-with-skipped", 3, {"bad-json": 1}))

    def test_killed(self):
        """what a killed program leaves is a record up to its last row; one that just ends leaves a whole one"""
        program = ("import sys, time, headrace\n"
                   "loader = headrace.Loader(sys.argv[1], framework='numpy', record=sys.argv[2])\n"
                   "while True:\n    next(loader)\n    if len(sys.argv) > 3: break\n")
        for name, *more in (("killed",), ("ended", "once")):
            path = self.folder / f"{name}.jsonl"
            with subprocess.Popen([sys.executable, "-c", program, RUN.format(-1), path, *more]) as process:
                if not more:
                    while not path.exists() or path.read_text().count("\n") < 3:
                        self.assertIsNone(process.poll())
                        time.sleep(0.05)
                    process.send_signal(signal.SIGKILL)
                self.assertEqual(process.wait(timeout=60), 0 if more else -signal.SIGKILL)
        self.assertIn("cut off", self.report(self.folder / "killed.jsonl"))
        self.assertEqual(lines_of(self.folder / "ended.jsonl")[-1]["end"]["status"], "stopped")

    def test_refused(self):
        """what cannot be is told before anything runs: an address, a port, a token, a file"""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            where = "127.0.0.1:%d" % taken.getsockname()[1]
            for options, error, told in (({"dashboard": "a/b"}, headrace.ParseError, "HOST:PORT"), ({"dashboard": where}, headrace.Error, "in use"),
                                         ({"dashboard": "0.0.0.0:0"}, headrace.ParseError, "HR_DASHBOARD_TOKEN"),
                                         ({"dashboard": True, "record": self.folder / "no" / "such"}, OSError, "record: No such file")):
                loader = load(**options)
                with self.assertRaisesRegex(error, told):
                    next(loader)
                self.assertIsNone(loader.dashboard_uri)
        os.mkfifo(self.folder / "pipe")
        with self.assertRaisesRegex(OSError, "nobody reads this pipe"):
            next(load(record=self.folder / "pipe"))

    def test_token(self):
        """an address that others reach is served to who knows the token"""
        os.environ["HR_DASHBOARD_TOKEN"] = TOKEN
        try:
            with load(dashboard="0.0.0.0:0") as loader:
                next(loader)
                uri = loader.dashboard_uri.replace("0.0.0.0", "127.0.0.1")
        finally:
            del os.environ["HR_DASHBOARD_TOKEN"]
            self.assertTrue(uri.endswith("/?token=" + TOKEN))

    def test_full(self):
        """a file that cannot be written any more is told once, and the run goes on"""
        with self.assertLogs("headrace", logging.WARNING) as logs:
            with load(RUN.format(40), record="/dev/full") as loader:
                self.assertEqual(sum(1 for _ in loader), 10)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("/dev/full: No space left on device; its last lines are missing", logs.output[0])

    def test_again(self):
        """a loader that begins anew has a page and a file of the new run; a copy has its own options"""
        path = self.folder / "again.jsonl"
        with load(RUN.format(40), dashboard="127.0.0.1:0", record=path) as loader:
            state = loader.state_dict()
            for _ in range(3):
                next(loader)
            loader.load_state_dict(state)
            self.assertEqual(lines_of(path)[-1]["end"]["steps"], 3)
            self.assertIsNone(loader.dashboard_uri)
            self.assertEqual(sum(1 for _ in loader), 10)
            self.assertEqual(ask(loader.dashboard_uri, "healthz")[0], 200)
        self.assertEqual([list(line)[0] for line in lines_of(path)][::len(lines_of(path)) - 1], ["record", "end"])
        self.assertEqual(lines_of(path)[-1]["end"]["steps"], 10)
        loader = load("filesrc location=nowhere/ ! jsonlparse ! batch ! appsink", dashboard="127.0.0.1:0", record=path)
        for again in (copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
            self.assertEqual(again._watched, {"dashboard": "127.0.0.1:0", "record": path})

    def test_fork(self):
        """a fork's copy of a loader that is watched writes nothing, and ends nothing"""
        path = self.folder / "fork.jsonl"
        with load(RUN.format(-1), dashboard="127.0.0.1:0", record=path) as loader:
            next(loader)
            until_running(loader)
            child = os.fork()
            if child == 0:
                loader._watch.close()
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertNotIn("end", lines_of(path)[-1])
            self.assertEqual(ask(loader.dashboard_uri, "healthz"), (200, "running\n"))
        self.assertEqual(sum("end" in line for line in lines_of(path)), 1)

    def test_nobody(self):
        """who asks for neither has no thread, and no HTTP server in the process"""
        program = ("import sys, threading, headrace\n"
                   "loader = headrace.Loader(sys.argv[1], framework='numpy')\nnext(loader)\n"
                   "assert not any(t.name == 'headrace-watch' for t in threading.enumerate())\n"
                   "assert 'libsoup' not in open('/proc/self/maps').read()\n")
        subprocess.run([sys.executable, "-c", program, RUN.format(40)], check=True, timeout=60)


tap.main()
