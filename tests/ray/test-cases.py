#!/usr/bin/env python3
"""The cases of tests/data/cases, bad records and images of all kinds: a SpreadLoader delivers, skips and remembers what a Loader
does."""
import json
import pathlib
import tempfile

import cluster
import dataset
import headrace
import tap
import tokenizer
from headrace.ray import SpreadLoader

CASES = dataset.ROOT / "tests/data/cases"
# where reading goes on, which only who reads in order knows
START = ("unit", "byte", "first")


def read_state(loader):
    state = json.loads(loader.state_dict()["checkpoint"])
    state["data"] = [{name: value for name, value in source.items() if name not in START} for source in state["data"]]
    return state


class Cases(cluster.Steps):
    @classmethod
    def setUpClass(cls):
        cluster.start()
        folder = tempfile.TemporaryDirectory(prefix="hr-ray-")
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(cluster.finish)
        cls.tokenizer = pathlib.Path(folder.name, "tokenizer.json")
        tokenizer.write(cls.tokenizer)

    def check_states(self, spread, loader):
        """The same, but that who reads in order may not have seen yet where the epoch ends."""
        mine, other = read_state(spread), read_state(loader)
        if other["data"][0]["lines"] is None:
            self.assertGreaterEqual(mine["data"][0]["lines"], mine["steps"])
            mine["data"][0]["lines"] = None
            if (mine["epoch"], mine["step"]) == (1, 0):
                mine.update(epoch=0, step=mine["steps"])
        self.assertEqual(mine, other)

    def check(self, folder):
        """How many samples were delivered, and the kinds of those that were not."""
        text = (f"on-error=skip filesrc location={folder}/ ! jsonlparse ! imagefetch ! imagedecode ! resize min-pixels=4096 max-pixels=65536"
                f" ! tokenize tokenizer={self.tokenizer} ! batch size=2 ! appsink")
        options = {"rank": 0, "world": 1, "epochs": 1, "framework": "numpy"}
        samples, states = [], []
        with SpreadLoader(text, num_cpus=0, **options) as spread:
            with headrace.Loader(text, **options) as loader:
                for mine, other in zip(spread, loader, strict=True):
                    self.check_step(mine, other)
                    self.check_states(spread, loader)
                    samples += mine.batch.samples
                    states.append(spread.state_dict())
                self.assertEqual(spread.stats()["exit"], loader.stats()["exit"])
            if len(states) > 1:  # a plain one goes on from half way, and a spread one from its state
                half = len(states) // 2
                with headrace.Loader(text, **options) as loader, SpreadLoader(text, num_cpus=0, **options) as again:
                    loader.load_state_dict(states[half - 1])
                    behind = next(loader)
                    again.load_state_dict(loader.state_dict())
                    self.assertEqual(behind.batch.samples + [sample for step in again for sample in step.batch.samples],
                                     samples[2 * half:])
        return (sum(not sample["skipped"] for sample in samples),
                sorted({sample["kind"] for sample in samples if sample["error"]}))

    def test_cases(self):
        """bytes, samples, errors and states of a Loader over each case, and a state goes on in either"""
        n, kinds = 0, set()
        for folder in sorted({path.parent for path in CASES.rglob("*.jsonl")}):
            print(f"# {folder.relative_to(CASES)}", flush=True)
            delivered, rejected = self.check(folder)
            print(f"#   {delivered} delivered, {', '.join(rejected) or 'none'} rejected", flush=True)
            n += delivered
            kinds.update(rejected)
        self.assertGreater(n, 400)
        self.assertGreater(len(kinds), 8)


tap.main()
