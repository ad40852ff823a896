#!/usr/bin/env python3
"""headrace._dashboard: the server of hr-launch --dashboard with numbers that a program gives it, here of a run that is spread over nodes.

usage: test-nodes.py SOURCE_ROOT
"""
import json
import os
import pathlib
import socket
import sys
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "tools")]
import spread_stats  # noqa: E402 # pylint: disable=wrong-import-position
import tap  # noqa: E402 # pylint: disable=wrong-import-position
from metrics_text import check  # noqa: E402 # pylint: disable=wrong-import-position

import headrace  # noqa: E402 # pylint: disable=wrong-import-position
from headrace._dashboard import Dashboard  # noqa: E402 # pylint: disable=wrong-import-position

A, B = spread_stats.NODES
TOKEN = "a-token-of-the-tests"


class Nodes(unittest.TestCase):
    def setUp(self):
        self.page = self.open(spread_stats.stats(1.0))

    def tearDown(self):
        self.page.close()

    @staticmethod
    def open(stats, where="127.0.0.1:0", token=None):
        return Dashboard(json.dumps(stats), where, token)

    def ask(self, path, **headers):
        """(status, body)"""
        try:
            request = urllib.request.Request(self.page.uri.partition("?")[0].replace("0.0.0.0", "127.0.0.1") + path, headers=headers)
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def stats(self):
        return json.loads(self.ask("stats.json")[1])

    def test_page(self):
        """the page is hr-launch's, to the byte"""
        for name in ("page.html", "page.js", "page.css"):
            self.assertEqual(self.ask("" if name == "page.html" else name), (200, (ROOT / "tools/dashboard" / name).read_text()))

    def test_shows(self):
        """what is given last is served, with history, notes, and the verdict in words"""
        self.page.show(json.dumps(spread_stats.stats(2.0)))
        self.page.note("media-not-found", f"on node {B}: cat.jpg")
        told = self.stats()
        self.assertEqual((told["wall_s"], told["status"]), (2.0, "running"))
        self.assertEqual([producer["ip"] for producer in told["producers"]], [A, B])
        self.assertEqual(told["verdict"], "Producers: the trainer waits for 40% of its time; imagefetch0 works most.")
        self.assertEqual([(note["kind"], note["text"]) for note in told["notes"]], [("media-not-found", f"on node {B}: cat.jpg")])
        recent = {"seconds": 10, "bottleneck": {"kind": "link", "node": B, "element": None}, "advice": {"text": "the link from there", "element": None}}
        self.page.show(json.dumps(spread_stats.stats(3.0, recent=recent)))
        self.assertEqual(self.stats()["verdict"], "The link from there.")
        nobody = {"bottleneck": {"kind": "trainer", "node": None, "element": None}, "advice": {"text": "the trainer", "element": None}}
        self.page.show(json.dumps(spread_stats.stats(3.0, recent={"seconds": 10, **nobody})))
        self.assertIn("the trainer itself", self.stats()["verdict"])
        self.page.show(json.dumps(spread_stats.stats(3.0, bottleneck=None, advice=None)))
        self.assertIn("long enough", self.stats()["verdict"])

    def test_history(self):
        """a row a second; what was there before is none"""
        for at in range(2, 60):
            self.page.show(json.dumps(spread_stats.stats(float(min(at, 4)))))
            time.sleep(0.1)
        rows = [row["wall_s"] for row in self.stats()["history"]]
        self.assertEqual(rows, sorted(set(rows)))
        self.assertEqual(rows[-1], 4.0)

    def test_metrics(self):
        """labels say which node and which producer; all by the rules of the format, and the numbers are those that were given"""
        self.page.show(json.dumps(spread_stats.stats(10.0, [spread_stats.producer(0, 10.0), spread_stats.producer(1, 10.0), spread_stats.dead(3)])))
        found = check(self.ask("metrics")[1])
        first, second, third = ((("node", ip), ("producer", str(index))) for ip, index in ((A, 0), (B, 1), (B, 3)))
        element = (("element", "imagefetch0"), ("factory", "imagefetch"))
        self.assertEqual([found["headrace_producer_up", labels] for labels in (first, second, third)], [1, 1, 0])
        self.assertEqual(found["headrace_producer_units_total", second], 20)
        self.assertEqual(found["headrace_producer_bytes_total", first], 6e7)
        self.assertEqual(found["headrace_producer_making_seconds_total", first], 4)
        self.assertEqual(found["headrace_producer_cpu_seconds_total", second], 5)
        self.assertEqual(found["headrace_producer_peak_resident_bytes", second], 200 << 20)
        self.assertNotIn(("headrace_producer_units_total", third), found)
        self.assertEqual(found["headrace_element_items_total", (*second, *element)], 100)
        self.assertEqual(found["headrace_queue_items", (*first, *element)], 3)
        self.assertEqual(found["headrace_element_blocked_seconds_total", (*first, *element, ("reason", "input"))], 0)
        self.assertEqual(found["headrace_element_items_total", (("element", "patchify0"), ("factory", "patchify"))], 20)
        self.assertEqual(found["headrace_link_units_total", (("node", B),)], 10)
        self.assertEqual(found["headrace_link_bytes_total", (("node", B),)], 3e7)
        self.assertEqual(found["headrace_link_transfer_seconds_total", (("node", B),)], 1)
        self.assertEqual(found["headrace_link_making_seconds_total", (("node", A),)], 2)
        self.assertEqual(found["headrace_units_total", (("event", "asked"),)], 23)
        self.assertEqual(found["headrace_steps_total", ()], 20)
        self.assertEqual(found["headrace_running", ()], 1)

    def test_few(self):
        """before anybody has answered, and before a producer has begun, there is less, and nothing that is wrong"""
        for producers in ([], [spread_stats.dead(0)], [spread_stats.producer(0, 0.0, pipeline=None, units=0)], [{**spread_stats.dead(0), "ip": None}]):
            self.page.show(json.dumps(spread_stats.stats(0.0, producers, links={}, units={}, elements=[], bottleneck=None, advice=None)))
            check(self.ask("metrics")[1])
            self.assertEqual(len(self.stats()["producers"]), len(producers))

    def test_health(self):
        """by status alone"""
        for status, code in (("running", 200), ("not-started", 200), ("ended", 200), ("failed", 503), ("stopped", 503)):
            self.page.show(json.dumps(spread_stats.stats(1.0, status=status)))
            self.assertEqual(self.ask("healthz"), (code, status + "\n"))

    def test_guards(self):
        """loopback alone, by its own names; elsewhere a token"""
        self.assertEqual(self.ask("stats.json", Host="evil.example")[0], 403)
        for where, token, told in (("0.0.0.0:0", None, "HR_DASHBOARD_TOKEN"), ("0.0.0.0:0", "short", "16 characters"), ("a/b", None, "HOST:PORT")):
            with self.assertRaisesRegex(headrace.ParseError, f"^dashboard: .*{told}"):
                self.open(spread_stats.stats(1.0), where, token)
        with self.assertRaisesRegex(headrace.Error, "in use"):
            self.open(spread_stats.stats(1.0), self.page.uri.split("/")[2])
        self.page.close()
        self.page = self.open(spread_stats.stats(1.0), "0.0.0.0:0", TOKEN)
        self.assertTrue(self.page.uri.endswith("/?token=" + TOKEN))
        self.assertEqual(self.ask("stats.json")[0], 403)
        self.assertEqual(self.ask("stats.json", Authorization="Bearer " + TOKEN)[0], 200)
        self.assertEqual(self.ask("healthz")[0], 200)

    def test_wrong(self):
        """what are no numbers is refused, and what was shown stays"""
        for text in ("", "{", "[]", "7"):
            with self.assertRaisesRegex(ValueError, "JSON object"):
                self.page.show(text)
            with self.assertRaisesRegex(ValueError, "JSON object"):
                Dashboard(text, "127.0.0.1:0", None)
        self.assertEqual(self.stats()["wall_s"], 1.0)

    def test_end(self):
        """closed, or dropped, it is gone, with its thread and its port; a fork's copy leaves it alone"""
        def threads():
            return len(os.listdir("/proc/self/task"))

        before = threads()
        other = self.open(spread_stats.stats(1.0))
        address = other.uri.split("/")[2].split(":")
        self.assertGreater(threads(), before)
        child = os.fork()
        if child == 0:
            other.close()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        socket.create_connection((address[0], int(address[1]))).close()
        del other
        self.assertEqual(threads(), before)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((address[0], int(address[1])))
        self.page.close()
        self.page.close()
        self.assertIsNone(self.page.uri)
        self.page.note("a", "b")


tap.main()
