#!/usr/bin/env python3
"""hr-launch --dashboard: what it serves, to whom, and what stands in the numbers.

usage: test-dashboard.py HR_LAUNCH SOURCE_ROOT [SANITIZER]
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
SANITIZER = sys.argv[3] if len(sys.argv) > 3 else "none"
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "tools")]
import tap  # noqa: E402 # pylint: disable=wrong-import-position
from metrics_text import check, parse  # noqa: E402 # pylint: disable=wrong-import-position

from prometheus_client.parser import text_string_to_metric_families  # noqa: E402 # pylint: disable=wrong-import-position

TOKEN = "a-token-of-the-tests"
RUN = "fakesrc ! identity name=i ! batch size=4 ! prefetchqueue ! trainsim step-time=5ms"


class Run:
    """hr-launch with a dashboard on a free port, until it is stopped"""

    def __init__(self, text=RUN, where="127.0.0.1:0", token=None, options=()):
        environment = {k: v for k, v in os.environ.items() if k != "HR_DASHBOARD_TOKEN"}
        if token:
            environment["HR_DASHBOARD_TOKEN"] = token
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([HR_LAUNCH, f"--dashboard={where}", "--progress=none", *options, text], env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert line.startswith("dashboard: http://"), line + self.process.stderr.read()
        self.uri = line.split()[1]
        self.token = {"Authorization": "Bearer " + token} if token else {}
        split = urllib.parse.urlsplit(self.uri)
        self.host, self.port = split.hostname, split.port

    def ask(self, path, method="GET", **headers):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        return reply.status, reply.headers, body

    def stats(self):
        status, _, body = self.ask("/stats.json", **self.token)
        assert status == 200, body
        return json.loads(body)

    def until(self, found):
        """the stats, once found(stats)"""
        while not found(stats := self.stats()):
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.05)
        return stats

    def stop(self):
        """stopped, and asked how it ended: it would wait for who looked and is not told"""
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(AssertionError, OSError, http.client.HTTPException):
            self.until(lambda s: s["status"] not in ("not-started", "running"))

    def end(self):
        """what it said on stdout, once it has ended"""
        out, _ = self.process.communicate(timeout=60)
        return out


@contextlib.contextmanager
def running(*args, **kwargs):
    run = Run(*args, **kwargs)
    try:
        yield run
    finally:
        run.stop()
        run.end()


class Serves(unittest.TestCase):
    def test_page(self):
        """the page and its parts, none from elsewhere, nothing inline"""
        with running() as run:
            status, headers, page = run.ask("/")
            self.assertEqual((status, headers.get_content_type()), (200, "text/html"))
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            parts = re.findall(r'(?:src|href)="([^"]*)"', page)
            self.assertEqual(sorted(parts), ["data:,", "page.css", "page.js"])
            self.assertNotRegex(page, r"<style|style=|<script>| on[a-z]+=")
            for part, kind in (("page.css", "text/css"), ("page.js", "text/javascript")):
                status, headers, body = run.ask("/" + part)
                self.assertEqual((status, headers.get_content_type()), (200, kind))
                self.assertEqual(body, (ROOT / "tools/dashboard" / part).read_text())
                self.assertNotRegex(body.replace("http://www.w3.org/2000/svg", ""), r"https?://")
            self.assertEqual(run.ask("/nothing")[0], 404)
            self.assertEqual(run.ask("/", "HEAD")[2], "")

    def test_stats(self):
        """the run's own stats, the graph, what stands in queues, history and verdict"""
        with running() as run:
            stats = run.until(lambda s: len(s["history"]) >= 2)
            self.assertEqual(stats["status"], "running")
            self.assertEqual([e["inputs"] for e in stats["elements"]], [[], ["fakesrc0"], ["i"], ["batch0"], ["prefetchqueue0"]])
            self.assertGreater(stats["steps"], 0)
            rows = stats["history"]
            self.assertLess(rows[0]["wall_s"], rows[1]["wall_s"])
            self.assertLessEqual(rows[0]["steps"], rows[1]["steps"])
            for element in stats["elements"][1:]:
                self.assertLessEqual(element["queue"]["now"], element["queue"]["room"])
                self.assertGreater(element["queue"]["room"], 0)
            # on a busy machine it may be another one for some time
            self.assertGreater(run.until(lambda s: "the trainer itself" in (s["verdict"] or ""))["steps"], 0)

    def test_metrics(self):
        """text format by its rules, the numbers are the stats', totals only grow"""
        with running() as run:
            stats = run.until(lambda s: s["steps"] > 5)
            status, headers, text = run.ask("/metrics")
            self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
            first, second = check(text), parse(run.ask("/metrics")[2])
            self.assertEqual(set(first), set(second))
            for key, value in first.items():
                if key[0].endswith("_total"):
                    self.assertGreaterEqual(second[key], value, key)
            self.assertGreaterEqual(first["headrace_steps_total", ()], stats["steps"])
            self.assertEqual(first["headrace_running", ()], 1)
            self.assertGreaterEqual(first["headrace_element_items_total", (("element", "i"), ("factory", "identity"))],
                                    stats["elements"][1]["items"])
            reasons = {dict(labels)["reason"] for name, labels in first if name == "headrace_element_blocked_seconds_total"}
            self.assertEqual(reasons, {"input", "output", "processor"})

    def test_errors(self):
        """skipped samples come with their kind and where they are"""
        with running("fakesrc ! fault error-rate=0.2 seed=3 on-error=skip ! batch size=4 ! trainsim step-time=50ms") as run:
            stats = run.until(lambda s: s["n_notes"] >= 5)
            self.assertEqual(len(stats["notes"]), min(100, stats["n_notes"]))
            kinds = set(stats["skipped"])
            self.assertTrue(kinds)
            for note in stats["notes"]:
                self.assertIn(note["kind"], kinds)
                self.assertIn("fault0", note["text"])
            metrics = parse(run.ask("/metrics")[2])
            official = [sample for family in text_string_to_metric_families(run.ask("/metrics")[2]) for sample in family.samples]
            # meanwhile there may be more
            self.assertLessEqual(kinds, {sample.labels["kind"] for sample in official if sample.name == "headrace_skipped_samples_total"})
            for kind in kinds:
                self.assertGreater(metrics["headrace_skipped_samples_total", (("kind", kind),)], 0)


    def test_provenance(self):
        """a bad line comes with its file and its number"""
        with tempfile.TemporaryDirectory(prefix="hr-dashboard-") as folder:
            path = pathlib.Path(folder) / "a.jsonl"
            good = json.dumps({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]})
            path.write_text("\n".join([good, good, "{broken", *[good] * 400]) + "\n")
            with running(f"on-error=skip filesrc location={path} ! jsonlparse ! trainsim step-time=20ms") as run:
                note, = run.until(lambda s: s["notes"])["notes"]
        self.assertEqual(note["kind"], "bad-json")
        self.assertIn(f"{path}:3", note["text"])

    def test_failed(self):
        """who looks when the run fails is told so, and why; /healthz says it to those who ask by status alone"""
        with running("fakesrc ! identity name=bad error-after=1000 ! trainsim step-time=5ms") as run:
            self.assertEqual(run.ask("/healthz")[0], 200)
            stats = run.until(lambda s: s["status"] == "failed" and s["notes"])
            self.assertEqual(run.ask("/healthz")[::2], (503, "failed\n"))
            self.assertEqual(parse(run.ask("/metrics")[2])["headrace_running", ()], 0)
            self.assertEqual([(note["kind"], "bad" in note["text"]) for note in stats["notes"]], [("error", True)])
            self.assertEqual(run.process.wait(timeout=60), 1)
        with running("fakesrc num-buffers=1000 ! trainsim step-time=5ms") as run:
            self.assertEqual(run.until(lambda s: s["status"] not in ("not-started", "running"))["samples"], 1000)
            self.assertEqual(run.ask("/healthz")[::2], (200, "ended\n"))
            self.assertEqual(run.process.wait(timeout=60), 0)

    def test_asks_late(self):
        """who looked while it ran and asks late is told how it ended; who does not come again is not waited for without end"""
        for late in (3, None):
            with running() as run:
                run.until(lambda s: s["samples"] > 20)
                run.process.send_signal(signal.SIGINT)
                if late is not None:
                    time.sleep(late)
                    self.assertEqual(run.stats()["status"], "stopped")
                self.assertEqual(run.process.wait(timeout=60), 130)


class Guards(unittest.TestCase):
    def test_rebinding(self):
        """without a token only names of this machine are answered; nothing can be changed"""
        with running() as run:
            for host in (f"localhost:{run.port}", "127.0.0.1", "[::1]:80", "LOCALHOST"):
                self.assertEqual(run.ask("/stats.json", Host=host)[0], 200, host)
            for host in ("evil.example", f"127.0.0.1.evil.example:{run.port}", "", "a b", "10.0.0.1"):
                self.assertIn(run.ask("/stats.json", Host=host)[0], (400, 403), host)
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                self.assertEqual(run.ask("/", method)[0], 405, method)

    def test_token(self):
        """an address that others reach needs a token, in the address, a header or the cookie; never in what is served"""
        with running(where="0.0.0.0:0", token=TOKEN) as run:
            self.assertTrue(run.uri.endswith("/?token=" + TOKEN), run.uri)
            run.host = "127.0.0.1"
            for path in ("/", "/stats.json", "/metrics", "/page.js"):
                self.assertEqual(run.ask(path)[0], 403)
                self.assertEqual(run.ask(path + "?token=" + TOKEN[:-1])[0], 403)
                self.assertEqual(run.ask(path + "?token=" + TOKEN[:-1] + "x")[0], 403)
                for reply in (run.ask(path + "?token=" + TOKEN), run.ask(path, Authorization="Bearer " + TOKEN),
                              run.ask(path, Cookie=f"a=b; headrace={TOKEN}")):
                    self.assertEqual(reply[0], 200)
                    self.assertNotIn(TOKEN, reply[2])
            cookie = run.ask("/?token=" + TOKEN)[1]["Set-Cookie"]
            self.assertIn("HttpOnly", cookie)
            self.assertIn("SameSite=Strict", cookie)
            self.assertEqual(run.ask("/healthz")[0], 200)

    def test_refused(self):
        """no token, a short one, no address, a taken port: an error that says what to do, and nothing runs"""
        with running() as run:
            for where, token, told in (("0.0.0.0:0", None, "HR_DASHBOARD_TOKEN"), ("0.0.0.0:0", "short", "16 characters"),
                                       ("a/b", None, "HOST:PORT"), (f"127.0.0.1:{run.port}", None, "in use"),
                                       ("no.such.host.invalid:1", None, "no.such.host.invalid")):
                environment = {**os.environ, "HR_DASHBOARD_TOKEN": token or ""}
                done = subprocess.run([HR_LAUNCH, f"--dashboard={where}", "fakesrc num-buffers=1 ! fakesink"], env=environment,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertIn(done.returncode, (1, 2), where)
                self.assertIn(told, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_ports(self):
        """without a port the next one is free, so that all ranks of a machine have one"""
        with running(where="127.0.0.1") as first, running(where="127.0.0.1") as second:
            self.assertGreater(second.port, first.port)

    def test_crowd(self):
        """visitors who stand still take no descriptors from the run, and are sent away; what they send is not kept"""
        def keeps(run, what):
            with open(f"/proc/{run.process.pid}/status", encoding="ascii") as file:
                size = int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1])
            n_files = len(os.listdir(f"/proc/{run.process.pid}/fd"))
            self.assertLess(n_files, 120, what)
            return size

        with running() as run, contextlib.ExitStack() as crowd:
            run.ask("/healthz")
            before = keeps(run, "at first")
            with contextlib.suppress(ConnectionError), socket.create_connection((run.host, run.port)) as sender:
                sender.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000000\r\n\r\n")
                for _ in range(100):
                    sender.sendall(bytes(1000000))
                size = keeps(run, "while much is sent")
                if "address" not in SANITIZER:  # which keeps what was freed
                    self.assertLess(size, before + 50000)
            for _ in range(300):
                crowd.enter_context(socket.create_connection((run.host, run.port))).sendall(b"GET / HT")
            keeps(run, "with a crowd")
            for _ in range(600):  # sooner or later they are gone
                with contextlib.suppress(ConnectionError, http.client.HTTPException):
                    if run.ask("/healthz")[0] == 200:
                        break
                time.sleep(0.1)
            else:
                self.fail("nobody gets in any more")
            keeps(run, "afterwards")

    def test_end(self):
        """it ends with the run, and what was asked for on stdout is all that is there"""
        run = Run(options=["--stats=json"])
        run.until(lambda s: s["steps"] > 0)
        run.stop()
        self.assertEqual(json.loads(run.end())["status"], "stopped")
        with self.assertRaises(OSError):
            run.ask("/healthz")
        # stopped before it began, and one that is over at once
        for _ in range(20):
            run = Run("fakesrc num-buffers=1 ! fakesink")
            run.process.send_signal(signal.SIGINT)
            run.end()


tap.main()
