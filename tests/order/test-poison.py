#!/usr/bin/env python3
"""Samples that are bad for one rank only, for a while or for good: nobody else's bytes change, and nobody's number of steps.

usage: test-poison.py ORDER_RUN IMAGE [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import json
import pathlib
import random
import sys

import tokenizer
from runner import Data, Runner, main

ORDER_RUN, IMAGE = sys.argv[1], pathlib.Path(sys.argv[2])
OPTIONS = {"n": 60, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[3:])}}


def picture_record(i):
    return json.dumps({"id": f"r{i}", "image": f"{i}.png", "conversations": [
        {"from": "human", "value": f"<image>What is {i}?"}, {"from": "gpt", "value": "A picture." * (i % 4 + 1)}]}).encode()


class Round:
    def __init__(self, runner, seed):
        self.runner, self.rng, self.data = runner, random.Random(seed), Data()
        rng = self.rng
        self.n = rng.randrange(1, 30)
        for i in range(self.n):
            (self.data.folder / f"{i}.png").write_bytes(IMAGE.read_bytes())
        cut = rng.randrange(self.n + 1)
        for key, numbers in (("a.jsonl", range(cut)), ("b.jsonl", range(cut, self.n))):
            self.data.add(key, b"".join(picture_record(i) + b"\n" for i in numbers))
        tokenizer.write(self.data.folder / "tokenizer.json")
        self.world, self.size = rng.choice([1, 2, 3]), rng.choice([1, 2, 4])
        self.source = f"epochs={rng.choice([1, 2])} shuffle={rng.choice(['none', 'window', 'full'])} block-bytes=300 window-blocks=2"
        self.padded, self.drop_last = rng.random() < 0.5, rng.random() < 0.3

    def text(self, rank):
        rng = self.rng
        tokens = (f"tokenize tokenizer={self.data.folder}/tokenizer.json min-pixels=1024 max-pixels=4096 workers={rng.choice([1, 3])} ! "
                  if self.padded else "")
        return (f"on-error=skip world={self.world} rank={rank} filesrc location={self.data.folder} {self.source} ! "
                f"jsonlparse workers={rng.choice([1, 2])} ! imagefetch concurrency={rng.choice([1, 8])} ! {tokens}"
                f"batch size={self.size} drop-last={str(self.drop_last).lower()} mode={'padded' if self.padded else 'list'} ! "
                f"{rng.choice(['', 'prefetchqueue max-batches=3 ! '])}appsink")

    def steps(self, rank, **request):
        return self.runner.steps(self.text(rank), **request)

    def poison(self, numbers):
        for i in numbers:
            (self.data.folder / f"{i}.png").unlink()

    def cure(self, numbers):
        for i in numbers:
            (self.data.folder / f"{i}.png").write_bytes(IMAGE.read_bytes())


def plain(steps):
    """Without numbers of lines and of steps, which begin anew with every run."""
    return [[s[0], s[1], s[3], [m[:2] + m[3:] for m in s[4]]] for s in steps]


def check_round(runner, seed):
    this = Round(runner, seed)
    clean = [plain(this.steps(r)) for r in range(this.world)]
    assert len({len(c) for c in clean}) == 1
    sick = this.rng.randrange(this.world)
    bad = this.rng.sample(range(this.n), this.rng.randrange(1, this.n + 1))
    # the records' bytes tell which they are
    where = {(k, data.index(picture_record(i))): i for k, data in this.data.objects.items()
             for i in range(this.n) if picture_record(i) in data}

    this.poison(bad)
    answer = this.runner.run(this.text(sick), take=-1 if not clean[sick] else len(clean[sick]), mark=len(clean[sick]) // 2)
    assert answer["error"] is None, answer["error"]
    this.cure(bad)
    got = plain(answer["steps"])
    assert len(got) == len(clean[sick]), f"{len(got)} steps, not {len(clean[sick])}"
    for step, wanted in zip(got, clean[sick]):
        assert step[:2] == wanted[:2] and len(step[3]) == len(wanted[3]), (step, wanted)
        hit = 0
        for member, healthy in zip(step[3], wanted[3]):
            is_bad = healthy[0] is not None and where[healthy[0], healthy[1]] in bad
            hit += is_bad
            assert member[:3] == healthy[:3] and member[3] == (None if is_bad else healthy[3]), (member, healthy)
        assert (step[2] != wanted[2]) == (hit > 0), "bytes of a step that has, or has no, bad sample"
    if answer["checkpoint"]:  # the fault is gone after the resume
        k = len(clean[sick]) // 2
        rank = this.rng.randrange(this.world)
        assert plain(this.steps(rank, resume=answer["checkpoint"])) == clean[rank][k:], f"rank {rank} from step {k}"
        # it comes after the resume, for one rank
        this.poison(bad)
        assert len(this.steps(sick, resume=answer["checkpoint"])) == len(clean[sick]) - k
        this.cure(bad)
    this.data.remove()


def test_poison(runner):
    """k samples bad on one rank: its steps and places stay, all else is the same bytes, also when the fault has gone"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check_round(runner, seed)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:3])} seed={seed} n=1")
            raise


if __name__ == "__main__":
    RUNNER = Runner(ORDER_RUN)
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER))
