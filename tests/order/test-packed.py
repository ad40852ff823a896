#!/usr/bin/env python3
"""Packed rows: a run that is cut inside a block goes on inside it, on every rank.

usage: test-packed.py ORDER_RUN [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import json
import random
import sys

import tokenizer
from runner import Runner, main, random_data, random_rules, record, show

ORDER_RUN = sys.argv[1]
OPTIONS = {"n": 60, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[2:])}}


class Round:
    def __init__(self, runner, seed):
        self.rng, self.runner = random.Random(seed), runner
        self.data = random_data(self.rng, bad=self.rng.choice([0, 0, 0.2]))
        self.rules, _ = random_rules(self.rng, sum(map(len, self.data.objects.values())))
        self.window, self.tokens = self.rng.choice([1, 2, 5, 9]), self.rng.choice([120, 300, 900])
        tokenizer.write(self.data.folder / "tokenizer.json")

    def text(self, world, rank, bounds, tokenize=""):
        rng = self.rng
        return (f"on-error=skip world={world} rank={rank} {show(bounds)} memory={rng.choice(['2GiB', '1'])} "
                f"serial={rng.choice(['false', 'false', 'true'])} filesrc location={self.data.folder} {show(self.rules)} ! "
                f"jsonlparse workers={rng.choice([1, 4])} ! "
                f"tokenize tokenizer={self.data.folder}/tokenizer.json {tokenize} workers={rng.choice([1, 3])} ! "
                f"batch mode=packed pack-window={self.window} max-tokens={self.tokens} ! "
                f"{rng.choice(['', 'prefetchqueue max-batches=3 ! '])}appsink")


def seen(steps):
    """Place of the block, digest and members of each row."""
    return [(s[0], s[1], s[3], [(m[0], m[1], m[3]) for m in s[4]]) for s in steps]


def rounds():
    runners = [Runner(ORDER_RUN), Runner(ORDER_RUN, HR_STALL="5")]
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        one = Round(runners[seed % 2], seed)
        try:
            yield one
        except AssertionError as error:
            raise AssertionError(f"seed={seed}: {error}") from None
        finally:
            one.data.remove()
    for runner in runners:
        runner.close()


def test_cuts():
    """rows before a cut and behind it are those of the uninterrupted run"""
    for one in rounds():
        world = one.rng.choice([1, 1, 2, 3])
        bounds = {"epochs": one.rng.choice([1, 2, 3])} if world == 1 else {"epochs": 0, "steps": one.rng.randrange(1, 25)}
        rank = one.rng.randrange(world)
        answer = one.runner.run(one.text(world, rank, bounds))
        if answer["error"] and world > 1:  # no block of this rank has anything in it
            assert "no row came of 100 epochs" in answer["error"], answer["error"]
            continue
        assert answer["error"] is None, answer["error"]
        whole = seen(answer["steps"])
        cuts = sorted(one.rng.sample(range(1, len(whole) + 1), min(len(whole), 3)))
        got, resume = [], {}
        for n in [*cuts, None]:
            answer = one.runner.run(one.text(world, rank, bounds), **resume,
                                    **({"take": n - len(got), "mark": n - len(got)} if n else {}))
            assert answer["error"] is None, answer["error"]
            got += seen(answer["steps"])
            resume = {"resume": answer["checkpoint"]} if n and answer["checkpoint"] else resume
            assert got == whole[:len(got)], f"cut at {cuts}: row {len(got)} differs"
        assert len(got) == len(whole), f"cut at {cuts}: {len(got)} of {len(whole)} rows"


def test_open_block_is_made_as_before():
    """what was left out of an open block stays out of it, also when it would be good now"""
    n_inside = 0
    for one in rounds():
        lines = [record(f"more-{i}", one.rng.randrange(1, 9)) for i in range(one.rng.randrange(20, 60))]
        one.data.add("more.jsonl", b"\n".join(lines))
        one.window, one.tokens, drop = one.rng.choice([5, 9, 20]), 400, f"max-length={one.rng.choice([80, 100])}"
        first = one.runner.run(one.text(1, 0, {}, drop))
        assert first["error"] is None, first["error"]
        rows = seen(first["steps"])
        for cut in one.rng.sample(range(1, len(rows)), min(3, max(len(rows) - 1, 0))):
            answer = one.runner.run(one.text(1, 0, {}, drop), take=cut, mark=cut)
            if json.loads(answer["checkpoint"])["row"] == 0:
                continue
            n_inside += 1
            steps = one.runner.steps(one.text(1, 0, {}), resume=answer["checkpoint"], force=True)
            rest = [row for row in rows[cut:] if row[:2] == rows[cut - 1][:2]]
            assert seen(steps)[:len(rest)] == rest, f"cut at {cut}"
    assert n_inside > 20, "no test: hardly any cut fell inside a block"


def test_ranks():
    """another rank's checkpoint is refused, and ranks that could not keep step"""
    runner = Runner(ORDER_RUN)
    one = Round(runner, 1)
    one.data.add("more.jsonl", b"".join(json.dumps({"id": i, "response": "x" * 50}).encode() + b"\n" for i in range(50)))
    bounds = {"epochs": 0, "steps": 5}
    checkpoint = runner.run(one.text(2, 1, bounds), take=2, mark=2)["checkpoint"]
    error = runner.run(one.text(2, 0, bounds), resume=checkpoint)["error"]
    assert "rank 1" in error and "scan=lengths" in error, error
    for world in (1, 3):  # nobody knows where the streams of other ranks are
        error = runner.run(one.text(world, 0, bounds), resume=checkpoint)["error"]
        assert f"had {2 * one.window} samples and have {world * one.window}" in error and "scan=lengths" in error, error
    assert runner.run(one.text(2, 1, bounds), resume=checkpoint)["error"] is None
    for bad in ({}, {"epochs": 0}, {"steps": 5}):
        assert "steps=N epochs=0" in runner.run(one.text(2, 0, bad))["error"], bad
    endless = one.text(2, 0, {"steps": 5}).replace("filesrc ", "filesrc epochs=0 ")  # the source may say it as well
    answer = runner.run(endless)
    assert answer["error"] is None and len(answer["steps"]) == 5, answer["error"]
    one.data.remove()
    runner.close()


sys.exit(main([test_cuts, test_open_block_is_made_as_before, test_ranks]))
