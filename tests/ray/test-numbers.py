#!/usr/bin/env python3
"""What a spread run tells of itself: times, the last seconds, producers that do not answer; without a cluster."""
import json
import pathlib
import sys
import time
import unittest
from unittest import mock

import tap
from headrace.ray import SpreadLoader
from headrace.ray import clock as clock_module
from headrace.ray.clock import Clock
from headrace.ray.recent import Recent, subtract

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import spread_stats  # noqa: E402 # pylint: disable=wrong-import-position

A, B = spread_stats.NODES
TEXT = "filesrc location=nowhere/ ! jsonlparse ! batch size=2 ! appsink"


class Team:
    """As far as statistics ask it."""

    ip = A

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def gather_stats(self):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else [dict(producer) for producer in self.answers[0]]


class Numbers(unittest.TestCase):
    def test_clock(self):
        """the first wait is apart; a wait or a step that goes on counts as far as it has come, and nothing behind the end"""
        now = 100.0
        with mock.patch.object(clock_module.time, "monotonic", lambda: now), mock.patch.object(clock_module.time, "process_time", lambda: now / 2):
            clock = Clock()

            def times():
                told = clock.read()
                return tuple(told[name] for name in ("wall_s", "prepare_s", "train_s", "cpu_s"))

            clock.ask()
            now += 3
            self.assertEqual((times(), clock.cold_start_s), ((3, 0, 0, 1.5), None))
            clock.give()
            self.assertEqual((times(), clock.cold_start_s), ((3, 0, 0, 1.5), 3))
            now += 2
            self.assertEqual(times(), (5, 0, 2, 2.5))
            clock.ask()
            now += 1
            self.assertEqual(times(), (6, 1, 2, 3))
            clock.give()
            now += 4
            self.assertEqual(times(), (10, 1, 6, 5))
            clock.ask()
            clock.end()
            now += 50
            clock.end()
            self.assertEqual(times(), (10, 1, 6, 5))
            self.assertEqual(clock.n_steps, 2)

    def test_between(self):
        """what changed between two looks, of links, of producers and of their elements; one that was started anew counts from its start"""
        then = spread_stats.stats(10.0)
        now = spread_stats.stats(15.0, [spread_stats.producer(0, 15.0), spread_stats.producer(1, 2.0, pid=7)], prepare_s=8.0, train_s=7.0)
        told = subtract(now, then)
        self.assertEqual((told["wall_s"], told["steps"], told["prepare_s"], told["train_s"]), (5.0, 10, 4.0, 1.0))
        self.assertAlmostEqual(told["wait_ratio"], 0.8)
        self.assertEqual({ip: link["bytes"] for ip, link in told["links"].items()}, {A: 15e6, B: 15e6})
        self.assertAlmostEqual(told["links"][B]["pulled_s"], 0.5)
        first, second = told["producers"]
        self.assertEqual((first["units"], second["units"]), (10, 4))
        working = {element["name"]: element["working_s"] for element in first["pipeline"]["elements"]}
        self.assertAlmostEqual(working["imagefetch0"], 5.0 + 10 * 2 * (0.5 - 0.2))  # it was less at work before

    def test_recent(self):
        """the last ten seconds, or as many as twenty steps took, at most a minute; the verdict is of those alone"""
        recent = Recent()
        self.assertIsNone(recent.add(spread_stats.stats(0.0, steps=0)))
        for at in range(1, 31):  # two steps a second
            told = recent.add(spread_stats.stats(float(at)))
            self.assertEqual(told["seconds"], min(at, 10))
        # the trainer waits no more
        for at in range(31, 46):
            told = recent.add(spread_stats.stats(float(at), prepare_s=12.0, train_s=at - 12.0))
        self.assertEqual((told["bottleneck"]["kind"], told["wait_ratio"]), ("trainer", 0))
        # … then for a link, and hardly takes a step
        links = spread_stats.stats(45.0)["links"]
        for at in range(46, 140):
            slow = {A: links[A], B: {**links[B], "units": links[B]["units"] + (at - 45) // 20, "bytes": links[B]["bytes"] + 1e6 * (at - 45), "pulled_s": at - 30.0}}
            told = recent.add(spread_stats.stats(float(at), steps=90, prepare_s=at - 33.0, train_s=33.0, links=slow))
            self.assertLessEqual(told["seconds"], 60)
        self.assertEqual((told["seconds"], told["steps"], told["bottleneck"]), (60, 0, {"kind": "link", "node": B, "element": None}))
        self.assertIn("1.0 MB/s", told["advice"]["text"])
        # nobody has looked for long
        self.assertIsNone(recent.add(spread_stats.stats(1000.0)))

    def pipeline(self, team, **options):
        """of a loader that was not started, with such a team"""
        pipeline = SpreadLoader(TEXT, **{"rank": 0, "world": 2, **options})._pipeline
        pipeline._team = team
        return pipeline

    def test_words(self):
        """the words of docs/stats.md, before the start and without anybody to ask as well"""
        stats = json.loads(SpreadLoader(TEXT, then="patchify ! appsink")._pipeline.stats())
        self.assertEqual((stats["status"], stats["exit"], stats["steps"], stats["samples"], stats["wall_s"], stats["node"]), ("not-started", 0, 0, 0, 0, None))
        self.assertEqual((stats["producers"], stats["links"], stats["units"], stats["recent"], stats["bottleneck"], stats["advice"]), ([], {}, {}, None, None, None))
        self.assertEqual([element["factory"] for element in stats["elements"]], ["appsrc", "patchify", "appsink"])
        plain = json.loads(SpreadLoader(TEXT)._pipeline._made.stats())
        wanted = {"status", "exit", "steps", "n_steps", "samples", "images", "skipped", "dropped", "wait_ratio", "prepare_s", "transfer_s", "transfer_wait_s",
                  "train_s", "cold_start_s", "wall_s", "cpu_s", "peak_rss_bytes", "bottleneck", "advice", "recent", "elements"}
        self.assertEqual(wanted - set(plain), set())
        self.assertEqual(wanted - set(stats), set())

    def test_silent(self):
        """a producer that does not answer is told with the node where it was last"""
        dead = {key: value for key, value in spread_stats.dead(1).items() if key != "ip"}
        pipeline = self.pipeline(Team([spread_stats.producer(0, 1.0), spread_stats.producer(1, 1.0)], [spread_stats.producer(0, 2.0), dead]))
        self.assertNotIn("error", json.loads(pipeline.stats())["producers"][1])
        pipeline._gathered_at = 0.0
        told = json.loads(pipeline.stats())["producers"]
        self.assertEqual((told[1]["ip"], told[1]["error"], told[0]["units"]), (B, dead["error"], 4))
        pipeline = self.pipeline(Team([dead]))
        self.assertIsNone(json.loads(pipeline.stats())["producers"][0]["ip"])

    def test_many(self):
        """many producers are not asked each time, nor any by many ranks: twenty times a second"""
        team = Team([spread_stats.producer(index, 1.0) for index in range(200)])
        pipeline = self.pipeline(team)
        for _ in range(3):
            pipeline.stats()
        self.assertEqual(team.asked, 1)
        with mock.patch.object(time, "monotonic", lambda now=time.monotonic() + 10.5: now):
            pipeline.stats()
        self.assertEqual(team.asked, 2)
        pipeline = self.pipeline(Team([spread_stats.producer(0, 1.0)]), world=200)
        pipeline.stats()
        for later, asked in ((9.0, 1), (10.5, 2)):
            with mock.patch.object(time, "monotonic", lambda now=time.monotonic() + later: now):
                pipeline.stats()
            self.assertEqual(pipeline._team.asked, asked)

    def test_status(self):
        """running, ended with and without skipped samples, stopped, failed"""
        pipeline = self.pipeline(Team([]))

        def status():
            told = json.loads(pipeline.stats())
            return told["status"], told["exit"]

        self.assertEqual(status(), ("running", 0))
        pipeline._ended = True
        self.assertEqual(status(), ("ended", 0))
        pipeline._skipped["bad-json"] += 1
        self.assertEqual(status(), ("ended-with-skipped", 3))
        pipeline._ended, pipeline._stopped = False, True
        self.assertEqual(status(), ("stopped", 3))
        pipeline._failed = True
        self.assertEqual(status(), ("failed", 1))

    def test_skipped(self):
        """a sample that was left out is told with the node that it was read on"""
        pipeline = self.pipeline(Team([]))
        sample = {"uri": "a.jsonl", "line": 3, "skipped": True, "kind": "media-not-found", "error": "a.jsonl:3: cat.jpg"}
        good = {"uri": "a.jsonl", "line": 4, "skipped": False, "kind": None, "error": None}
        pipeline._count(mock.Mock(samples=[sample, good, good], node=B))
        self.assertEqual(pipeline.pop_message()["error"], f"on node {B}: a.jsonl:3: cat.jpg")
        self.assertIsNone(pipeline.pop_message())
        heard = []
        pipeline.on_warning = heard.append
        with self.assertLogs("headrace") as logs:
            pipeline._warn("100 % lost")
        self.assertEqual((heard, [record.getMessage() for record in logs.records]), (["100 % lost"], ["100 % lost"]))
        told = json.loads(pipeline.stats())
        self.assertEqual((told["samples"], told["skipped"]), (2, {"media-not-found": 1}))


tap.main()
