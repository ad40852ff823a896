#!/usr/bin/env python3
"""The report of `make ladder-full`, of runs that are made up: what it compares, what it judges, and that the page has all of it."""
import html.parser
import sys
import unittest

import dataset
import tap

sys.path.insert(0, str(dataset.ROOT / "demo/full"))
import ladder  # noqa: E402 # pylint: disable=wrong-import-position
import page  # noqa: E402 # pylint: disable=wrong-import-position


def result(name, rate, waits=0.25, nodes=2):
    used = [{"in_mb": 11.0 + node, "out_mb": 21.0 + node, "cpu_s": 31.5 + node} for node in range(nodes)]
    return {"name": name, "images_per_s": rate, "wait_ratio": waits, "used": used}


def arms(*rates):
    return [result(name, rate) for (name, _, _), rate in zip(ladder.ARMS, rates, strict=True)]


class Cells(html.parser.HTMLParser):
    """Rows of all tables, as lists of texts, and all texts."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.texts, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True
        elif tag == "br":
            self.rows[-1][-1] += "; "

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "tr"

    def handle_data(self, data):
        self.texts.append(data)
        if self.inside:
            self.rows[-1][-1] += data


class Ladder(unittest.TestCase):
    def test_times(self):
        """each arm beside neither of its own round, the median of the rounds"""
        rounds = arms(10, 11, 12, 30, 40) + arms(20, 20, 20, 20, 20) + arms(10, 30, 9, 16, 50)
        self.assertEqual(ladder.times(rounds), {"neither": 1, "lazy": 1.1, "spread": 1, "lazy and spread": 1.6, "beside the rank": 4})

    def test_judges(self):
        """small: nothing helps by more than 1.15; large: both help by 1.4 at least, each alone by 1.3 at most"""
        small = dict.fromkeys((name for name, _, _ in ladder.ARMS), 1.15)
        self.assertEqual(ladder.judge_small(small), [])
        for name in small:
            self.assertRegex(ladder.judge_small({**small, name: 1.16})[0], f"^small scale: {name} 1.16 times")
        large = {"neither": 1, "lazy": 1.3, "spread": 1.3, "lazy and spread": 1.4, "beside the rank": 9}
        self.assertEqual(ladder.judge_large(large), [])
        for name, value, words in (("lazy", 1.31, "lazy alone 1.31"), ("spread", 1.31, "spread alone 1.31"), ("lazy and spread", 1.39, "both 1.39")):
            self.assertRegex(ladder.judge_large({**large, name: value})[0], f"^large scale: {words} times")

    def test_rungs(self):
        """the five, each one setting or placement apart"""
        self.assertEqual([name for name, *_ in ladder.RUNGS], ["1 serial", "2 concurrent", "3 prefetched", "4 zero-copy", "5 spread"])
        self.assertEqual([(scale[0], scale[1], scale[3]) for scale in ladder.SCALES], [("small", 1, 1), ("large", 4, 4), ("all ranks on one node", 4, 1)])

    def test_page(self):
        """of each rung and arm: how long it waits, images a second, and of each node its link and its processors; what is wrong, and where it ends"""
        rungs = [result(name, 10.5 + at, waits=0.9 - at / 10) for at, (name, *_) in enumerate(ladder.RUNGS)]
        results = {"small": {"rungs": rungs, "arms": arms(10, 10, 10, 10, 10)},
                   "large": {"rungs": rungs, "arms": arms(10, 12, 9, 18, 33) + arms(10, 14, 11, 20, 33)}, "all ranks on one node": {"rungs": [], "arms": []}}
        ratios = {scale: ladder.times(results[scale]["arms"]) for scale in ("small", "large")}
        told = Cells(page.write(results, ratios, ["large scale: <both> 1.00"], vars(ladder.parse([]))))
        used = "11 in, 21 out, 31.5 s; 12 in, 22 out, 32.5 s"
        for at, (name, *_) in enumerate(ladder.RUNGS):
            self.assertEqual(told.rows.count([name, "", f"{90 - 10 * at:.1f}%", f"{10.5 + at:.1f}", used]), 2, told.rows)
        for name, times, rate in (("lazy", "1.30", "13.0"), ("spread", "1.00", "10.0"), ("lazy and spread", "1.90", "19.0")):
            self.assertIn([name, times, "25.0% to 25.0%", rate, used], told.rows)
        self.assertIn("large scale: <both> 1.00", "".join(told.texts))
        self.assertRegex("".join(told.texts), "Where it does not hold.*all ranks on one node")


tap.main()
