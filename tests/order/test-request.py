#!/usr/bin/env python3
"""Slices and blocks that are asked for one by one equal those of a run through the whole order.

usage: test-request.py ORDER_RUN [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import random
import sys

import tokenizer
from runner import Runner, main, random_data, random_rules, show

ORDER_RUN = sys.argv[1]
OPTIONS = {"n": 100, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[2:])}}


def known(members):
    """Without the lines' numbers: they are told only where they are known."""
    return [[m[0], m[1], m[3], m[4]] for m in members]


class Round:
    def __init__(self, runner, seed):
        self.rng, self.runner = random.Random(seed), runner
        self.data = random_data(self.rng, bad=self.rng.choice([0, 0, 0.1, 0.5]))
        self.rules, self.bounds = random_rules(self.rng, sum(map(len, self.data.objects.values())))
        self.mode = self.rng.choice(["list", "padded", "packed"])
        self.size = self.rng.choice([1, 2, 3, 7])
        self.epochs = self.rng.choice([1, 2, 3])
        tokenizer.write(self.data.folder / "tokenizer.json")

    def text(self, world, **more):
        rng = self.rng
        size = "pack-window" if self.mode == "packed" else "size"
        return (f"on-error=skip world={world} cpus={rng.choice([1, 3])} serial={rng.choice(['false', 'false', 'true'])} "
                f"memory={rng.choice(['2GiB', '1'])} {show(more)} "
                f"filesrc location={self.data.folder} {show(self.rules)} ! jsonlparse workers={rng.choice([1, 4])} ! "
                f"tokenize tokenizer={self.data.folder}/tokenizer.json workers={rng.choice([1, 3])} ! "
                f"batch mode={self.mode} {size}={self.size} {'max-tokens=300 ' if self.mode == 'packed' else ''}! "
                f"{rng.choice(['', 'prefetchqueue max-batches=2 ! '])}appsink")

    def run(self):
        """What belongs to a slice: by epoch and by its number, the digests."""
        world = 1 if self.mode == "packed" else self.rng.choice([1, 2, 3])
        parts = {}
        for rank in range(world):
            for epoch, place, _, digest, members in self.runner.steps(self.text(world, rank=rank, epochs=self.epochs)):
                parts.setdefault((epoch, place // self.size), []).append((digest, known(members)))
        asked = self.rng.choices(list(parts), k=self.rng.randrange(1, 30)) if parts else []
        steps = self.runner.steps(self.text(world, requests=True), requests=asked)
        wanted = [(*key, part) for key in asked for part in parts[key]]
        got = [(epoch, place // self.size, (digest, known(members))) for epoch, place, _, digest, members in steps
               if members or self.mode != "packed"]
        assert got == wanted, f"asked for {asked}, got {[g[:2] for g in got]}, wanted {[w[:2] for w in wanted]}"


def test_requests():
    """what is asked for equals what a run delivers"""
    runner = Runner(ORDER_RUN)
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        one = Round(runner, seed)
        try:
            one.run()
        except AssertionError as error:
            raise AssertionError(f"seed={seed}: {error}") from None
        finally:
            one.data.remove()
    runner.close()


def test_what_is_not_there_is_padding():
    """behind the last step is padding; a run through the order takes no requests"""
    runner = Runner(ORDER_RUN)
    one = Round(runner, 1)
    one.mode, one.size = "list", 2
    steps = runner.steps(one.text(1, requests=True), requests=[[0, 100000]])
    assert [len(s[4]) for s in steps] == [2] and all(m[4] is None for m in steps[0][4])
    answer = runner.run(one.text(1), requests=[[0, 0]])
    assert "requests=true" in answer["error"], answer
    one.data.remove()
    runner.close()


sys.exit(main([test_requests, test_what_is_not_there_is_padding]))
