#!/usr/bin/env python3
"""What is found out about lengths: when, how often, and that it changes nothing but what is asked for.

usage: test-lengths.py ORDER_RUN HR_LAUNCH [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

import reference
import tokenizer
from runner import Data, Runner, got_members, main, random_data, random_rules, record, show

ORDER_RUN, HR_LAUNCH = sys.argv[1:3]
OPTIONS = {"n": 60, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[3:])}}


def some_data(n=30):
    data = Data()
    for key in ("a.jsonl", "b.jsonl"):
        data.add(key, b"".join(record(f"{key}{i}", 1 + i % 7) + b"\n" for i in range(n)))
    tokenizer.write(data.folder / "tokenizer.json")
    return data


def text(data, run="", source="", tokenize="", batch="batch mode=padded size=4"):
    return (f"{run} filesrc location={data.folder} {source} ! jsonlparse ! "
            f"tokenize tokenizer={data.folder}/tokenizer.json {tokenize} ! {batch} ! appsink")


def scans(runner, cache, *args, **more):
    """Is anything found out?"""
    answer = runner.run(text(*args, **more), environment={"HR_PLAN_CACHE": cache})
    assert answer["error"] is None, answer["error"]
    return answer["scans"] > 0


def test_kept(runner):
    """found out once; again when what lengths depend on has changed, and for the objects that have"""
    data = some_data()
    with tempfile.TemporaryDirectory() as cache:
        assert not scans(runner, cache, data, "scan=lines")
        assert scans(runner, cache, data, "scan=lengths")
        assert len([f for f in os.listdir(cache) if f.endswith(".lengths")]) == 2
        for same in ({"source": "shuffle=full seed=5 epochs=2"}, {"batch": "batch size=7"}, {"source": "shuffle=window block-bytes=100"}):
            assert not scans(runner, cache, data, "scan=lengths", **same), same
        assert scans(runner, cache, data, "scan=lengths", tokenize="max-length=4096")
        assert scans(runner, cache, data, "scan=lengths on-error=skip")
        assert not scans(runner, cache, data, "scan=lengths on-error=skip")
        kept = len(os.listdir(cache))
        data.add("b.jsonl", record("new") + b"\n")
        assert scans(runner, cache, data, "scan=lengths")
        assert len(os.listdir(cache)) == kept + 2  # lines and lengths of one object
        path = data.folder / "tokenizer.json"
        path.write_text(path.read_text() + "\n")
        assert scans(runner, cache, data, "scan=lengths")
        assert not scans(runner, cache, data, "scan=lengths")
    data.remove()


def test_same_stream(runner):
    """what is delivered is the same, whatever is known"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        rng = random.Random(seed)
        data = random_data(rng, bad=rng.choice([0, 0, 0.2]))
        tokenizer.write(data.folder / "tokenizer.json")
        rules, run = random_rules(rng, sum(map(len, data.objects.values())))
        more = {"source": show(rules), "tokenize": "max-length=200", "batch": f"batch mode={rng.choice(['list', 'padded'])} size={rng.choice([1, 3])}"}
        steps = []
        for scan in ("auto", "lines", "lengths"):
            serial = rng.choice(["true", "false"])
            one = runner.run(text(data, f"on-error=skip scan={scan} serial={serial} {show(run)}", **more), environment={"HR_PLAN_CACHE": ""})
            assert one["error"] is None, f"seed={seed}: {one['error']}"
            steps.append([[*s[:4], [[m[0], m[1], *m[3:]] for m in s[4]]] for s in one["steps"]])
        assert steps[0] == steps[1] == steps[2], f"seed={seed}"
        data.remove()


def test_errors(runner):
    """a bad line fails the run, or is a hole; what cannot know lengths is refused"""
    data = some_data()
    data.add("b.jsonl", record("fine") + b"\n{bad\n" + record("fine, too"))
    answer = runner.run(text(data, "scan=lengths"))
    assert "b.jsonl:2" in answer["error"] and "while the lengths" in answer["error"], answer["error"]
    assert not answer["steps"]
    answer = runner.run(text(data, "scan=lengths on-error=skip"))
    assert answer["error"] is None and answer["skipped"] == 1, answer
    answer = runner.run(f"scan=lengths filesrc location={data.folder} ! jsonlparse ! batch size=4 ! appsink")
    assert "no element behind filesrc" in answer["error"], answer["error"]
    data.remove()


def png(width, height):
    """A header, and no pixels."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


def test_no_pixel(runner):
    """sizes come from headers: no pixel is decoded to find them"""
    data = some_data()
    data.add("b.jsonl", b'{"image": "x.png", "conversations": [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "yes"}]}')
    (data.folder / "x.png").write_bytes(png(640, 480))
    chain = text(data, "scan=lengths", batch="imagedecode ! resize ! batch size=100").replace("jsonlparse", "jsonlparse ! imagefetch")
    answer = runner.run(chain)
    assert "imagedecode" in answer["error"] and "while the lengths" not in answer["error"], answer["error"]
    assert answer["scans"] > 0
    late = runner.run(f"scan=lengths filesrc location={data.folder} ! jsonlparse ! imagefetch ! imagedecode ! resize ! "
                      f"tokenize tokenizer={data.folder}/tokenizer.json ! batch size=2 ! appsink")
    assert "no element behind filesrc" in late["error"], late["error"]
    data.remove()


class Costs:
    """Random data with images in it, and what reference.py must know of its samples."""

    def __init__(self, rng, most=40):
        self.data = random_data(rng, bad=rng.choice([0, 0, 0.1]), most=most)
        self.limit = rng.choice([0, 0, 150])
        for key, content in list(self.data.objects.items()):
            lines = content.split(b"\n")
            for i, line in enumerate(lines):
                if line.endswith(b"}") and rng.random() < 0.3:
                    lines[i] = line.replace(b'"value": "say ', b'"value": "<image>say ').replace(b"{", b'{"image": "%d.png", ' % rng.randrange(3), 1)
            self.data.add(key, b"\n".join(lines))
        for i, (width, height) in enumerate(SIZES):
            for folder in {(self.data.folder / key).parent for key in self.data.objects}:
                (folder / f"{i}.png").write_bytes(png(width, height))
        tokenizer.write(self.data.folder / "tokenizer.json")
        self.sizes, self.bad = {}, set()
        for key, content in self.data.objects.items():
            for byte in reference.lines(content):
                self.sizes[key, byte] = self.measure(content[byte:].split(b"\n")[0])
                if self.sizes[key, byte] is None:
                    self.bad.add((key, byte))

    def measure(self, line):
        """Tokens and pixels; None: no sample."""
        try:
            sample = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except json.JSONDecodeError:
            return None
        says = [turn["value"].removeprefix("<image>").encode() for turn in sample["conversations"]]
        tokens, pixels = 4 + len("user\n" "\n" "assistant\n" "\n") + sum(map(len, says)), 0
        if "image" in sample:
            width, height = SIZES[int(sample["image"][0])]
            pixels = width * height
            tokens += 2 + pixels // 1024
        return None if self.limit and tokens > self.limit else (tokens, pixels)

    def chain(self, rules, batch, rng=random):
        return (f"filesrc location={self.data.folder} {show(rules)} ! jsonlparse workers={rng.choice([1, 3])} ! imagefetch ! "
                f"tokenize tokenizer={self.data.folder}/tokenizer.json {f'max-length={self.limit} ' if self.limit else ''}"
                f"workers={rng.choice([1, 2])} ! {batch} ! {rng.choice(['', 'prefetchqueue max-batches=2 ! '])}appsink")

    def cost(self, line):
        tokens, pixels = self.sizes.get(line) or (0, 0)
        return 4096 * tokens + pixels


SIZES = [(256, 256), (320, 640), (1024, 512)]


def check_balance(runner, seed):
    rng = random.Random(seed)
    costs = Costs(rng)
    rules, run = random_rules(rng, sum(map(len, costs.data.objects.values())))
    group, drop_last = rng.choice([1, 2, 4, 6, 12]), rng.random() < 0.3
    run.pop("world")
    steps = list(reference.steps(costs.data.objects, group, drop_last=drop_last, **rules, **run))
    common = "on-error=skip scan=lengths balance=pixels"

    def text(world, rank, more=""):
        serial = rng.choice(["false", "false", "true"])
        batch = f"batch size={group // world} drop-last={str(drop_last).lower()}"
        return f"{common} serial={serial} world={world} rank={rank} {more} {costs.chain(rules, batch, rng)}"

    def expected(world, rank, step):
        epoch, first, slots = step
        mine = reference.deal([costs.cost(slot) for slot in slots], world, group // world)[rank]
        return [[*(slots[i] or (None, None)), first + i, slots[i] is None or slots[i] in costs.bad] for i in mine]

    worlds = [w for w in (1, 2, 3, 4, 6) if group % w == 0]
    with tempfile.TemporaryDirectory() as cache:
        resume, at = None, 0
        for _ in range(3):
            world = rng.choice(worlds)
            rank = rng.randrange(world)
            left = steps[at:]
            mark = rng.randrange(1, len(left) + 1) if left else 0
            answer = runner.run(text(world, rank, show(run)), environment={"HR_PLAN_CACHE": cache}, resume=resume, mark=mark)
            assert answer["error"] is None, answer["error"]
            got, wanted = [got_members(s) for s in answer["steps"]], [expected(world, rank, s) for s in left]
            assert got == wanted, f"{got}\nnot {wanted}\n{text(world, rank, show(run))}"
            assert answer["n_steps"] == len(steps)
            if mark:
                resume, at = answer["checkpoint"], at + mark
        whole = [k for k, s in enumerate(steps) if all(s[2])]  # bounds cut runs, not requests
        if whole:
            asked = rng.choices(whole, k=5)
            world = rng.choice(worlds)
            slices = [(steps[k], rng.randrange(world)) for k in asked]
            requests = [[s[0], s[1] // group * world + rank] for s, rank in slices]
            answer = runner.run(text(world, 0, "requests=true"), environment={"HR_PLAN_CACHE": cache}, requests=requests)
            assert answer["error"] is None, answer["error"]
            assert [got_members(s) for s in answer["steps"]] == [expected(world, rank, s) for s, rank in slices]
    costs.data.remove()


def test_balance(runner):
    """steps dealt by cost are those of the reference, resumed with other ranks and asked for as well"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check_balance(runner, seed)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:3])} seed={seed} n=1")
            raise


def test_balance_refused(runner):
    """balance without lengths, of packed rows, of steps of several sizes"""
    data = some_data()
    for more, batch, why in (("balance=pixels", "batch size=2", "say scan=lengths"),
                             ("balance=pixels scan=lengths", "batch mode=packed max-tokens=500", "packed row"),
                             ("balance=pixels scan=lengths", "tee name=t ! batch size=2 ! fakesink t. ! batch size=4", "different sizes")):
        answer = runner.run(text(data, more, batch=batch))
        assert why in (answer["error"] or ""), (more, answer["error"])
    data.remove()


def test_interrupted(_):
    """a signal ends it at once"""
    data = some_data(100000)
    chain = text(data, "", batch="batch size=4").replace("appsink", "fakesink")
    run = subprocess.Popen([HR_LAUNCH, "--scan=lengths", "--progress=lines", chain], stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "HR_PLAN_CACHE": ""})
    for line in run.stderr:
        if line.startswith("scan: lengths of 0 of"):
            break
    run.send_signal(signal.SIGINT)
    rest = run.stderr.read()
    assert run.wait() == 130 and "stopped by SIGINT after 0 batches" in rest, (run.returncode, rest)
    data.remove()


if __name__ == "__main__":
    RUNNER = Runner(ORDER_RUN)
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER))
