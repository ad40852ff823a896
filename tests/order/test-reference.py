#!/usr/bin/env python3
"""The product's order beside reference.py, which was written from docs/order.md alone.

usage: test-reference.py ORDER_RUN [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import random
import sys
import tempfile

import reference
from runner import Runner, expected_members, got_members, main, random_data, random_rules, show

ORDER_RUN = sys.argv[1]
OPTIONS = {"n": 200, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[2:])}}


def check_run(runner, data, text, size, rank, environment=None, known=False, **rules):
    wanted = list(enumerate(reference.steps(data.objects, size, **rules)))
    if "! batch" not in text:  # a hole is then not delivered
        wanted = [w for w in wanted if w[1][2][rank] and w[1][2][rank] not in data.bad]
    answer = runner.run(text, environment=environment or {"HR_PLAN_CACHE": ""})
    assert answer["error"] is None, f"{answer['error']}\n{text}"
    got = answer["steps"]
    n_steps = sum(1 for _ in reference.steps(data.objects, size, **rules))
    assert answer["n_steps"] == n_steps, f"{answer['n_steps']} steps were told, not {n_steps}: {text}"
    for step, (k, (epoch, first, slots)) in zip(got, wanted):
        where = f"step {k} of\n{text}"
        assert (step[0], step[2]) == (epoch, k), f"epoch {step[0]}, number {step[2]}, not {epoch}: {where}"
        assert step[1] == first + rank * size, f"place {step[1]}: {where}"
        members = expected_members(slots, first, rank, size, data.bad)
        assert got_members(step) == members, f"{got_members(step)}\nnot {members}\n{where}"
        for key, byte, line, _, _ in step[4]:  # the number of a line, if all before it have been seen
            right = key and data.objects[key][:byte].count(b"\n") + 1
            assert line in ([right] if known or not key else [right, -1]), f"line {line}, not {right}: {where}"
    assert len(got) == len(wanted), f"{len(got)} steps, not {len(wanted)}: {text}"


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
            check_run(runner, data, text, size, rank, environment={"HR_PLAN_CACHE": cache}, drop_last=drop_last, **rules, **run)
            runner.steps(f"on-error=skip filesrc location={data.folder} shuffle=full ! jsonlparse ! appsink")
            check_run(runner, data, text, size, rank, environment={"HR_PLAN_CACHE": cache}, known=True, drop_last=drop_last,
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
