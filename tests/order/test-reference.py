#!/usr/bin/env python3
"""The product's order beside reference.py, which was written from docs/order.md alone.

usage: test-reference.py ORDER_RUN [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import random
import sys
import tempfile

import reference
from runner import Data, Runner, main, random_data, show

ORDER_RUN = sys.argv[1]
OPTIONS = {"n": 200, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[2:])}}


def expected_members(slots, first, rank, size, bad):
    """What a rank gets of a step: [key, byte, place, is it a hole]."""
    return [[*(slot or (None, None)), first + i, slot is None or slot in bad]
            for i, slot in enumerate(slots) if i // size == rank]


def got_members(step):
    return [[m[0], m[1], m[3], m[4:] == ["hole"]] for m in step[4]]


def check_run(runner, data, text, size, rank, environment=None, **rules):
    wanted = list(enumerate(reference.steps(data.objects, size, **rules)))
    if "! batch" not in text:  # a hole is then not delivered
        wanted = [w for w in wanted if w[1][2][rank] and w[1][2][rank] not in data.bad]
    got = runner.steps(text, environment=environment or {"HR_PLAN_CACHE": ""})
    for step, (k, (epoch, first, slots)) in zip(got, wanted):
        where = f"step {k} of\n{text}"
        assert (step[0], step[2]) == (epoch, k), f"epoch {step[0]}, number {step[2]}, not {epoch}: {where}"
        assert step[1] == first + rank * size, f"place {step[1]}: {where}"
        members = expected_members(slots, first, rank, size, data.bad)
        assert got_members(step) == members, f"{got_members(step)}\nnot {members}\n{where}"
    assert len(got) == len(wanted), f"{len(got)} steps, not {len(wanted)}: {text}"


def random_rules(rng, n_bytes):
    rules = {"shuffle": rng.choice(["none", "window", "full"]), "seed": rng.choice([0, 1, 7, 2**63 - 1]),
             "block_bytes": rng.choice([*([1] if n_bytes < 1000 else []), 50, 200, 1000, n_bytes + 1]), "window_blocks": rng.choice([1, 2, 3, 16])}
    run = {"world": rng.choice([1, 1, 2, 3, 4]), "epochs": rng.choice([0, 1, 1, 2, 3])}
    for name in ("limit", "steps"):
        if rng.random() < 0.25:
            run[name] = rng.randrange(1, 60)
    if run["epochs"] == 0 and "limit" not in run and "steps" not in run:
        run["steps"] = rng.randrange(1, 30)
    return rules, run


def check_round(runner, seed):
    rng = random.Random(seed)
    long = rng.choice([0, 0, 250])
    data = random_data(rng, bad=rng.choice([0, 0, 0.1]), long=long)
    rules, run = random_rules(rng, sum(map(len, data.objects.values())))
    size, drop_last = rng.choice([1, 2, 3, 5, 8]), rng.random() < 0.3
    batch = f"batch size={size} drop-last={str(drop_last).lower()} ! {rng.choice(['', 'prefetchqueue max-batches=2 ! '])}"
    if size == 1 and not drop_last and rng.random() < 0.3:
        batch = ""
    workers = rng.choice([1, 1, 3])
    for rank in range(run["world"]):
        text = (f"on-error=skip {show(run)} rank={rank} serial={rng.choice(['true', 'false', 'false'])} "
                f"filesrc location={data.folder} {show(rules)} ! "
                f"jsonlparse workers={workers} {f'max-line-bytes={long} ' if long else ''}! {batch}appsink")
        check_run(runner, data, text, size, rank, drop_last=drop_last, **rules, **run)
        with tempfile.TemporaryDirectory() as cache:  # lines found, noted, known
            for _ in range(2):
                check_run(runner, data, text, size, rank, environment={"HR_PLAN_CACHE": cache}, drop_last=drop_last,
                          **rules, **run)
    data.remove()


def test_random(runner):
    """random data, rules, ranks: the same order, while lines are found, noted and known"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check_round(runner, seed)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:2])} seed={seed} n=1")
            raise


if __name__ == "__main__":
    RUNNER = Runner(ORDER_RUN)
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER))
