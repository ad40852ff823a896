#!/usr/bin/env python3
"""What is found out about lengths: when, how often, and that it changes nothing but what is asked for.

usage: test-lengths.py ORDER_RUN HR_LAUNCH [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

import mixing
import reference
import tokenizer
from runner import (Data, Runner, got_members, main, random_data, random_member, random_mix_rules, random_rules, record,
                    show)

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


def test_automatic(runner):
    """they are found out with automatic settings too, whether all are or one by one, and the rows are the same"""
    data = some_data()
    packed = "batch mode=packed pack-window=9 max-tokens=60"
    with tempfile.TemporaryDirectory() as cache:
        said = runner.run(text(data, "scan=lengths", batch=packed), environment={"HR_PLAN_CACHE": cache})
    for run, tokenize in (("auto=true", ""), ("auto=true", "workers=auto"), ("", "workers=auto queue-items=auto"), ("serial=true auto=true", "")):
        with tempfile.TemporaryDirectory() as cache:
            assert scans(runner, cache, data, f"{run} scan=lengths", tokenize=tokenize, batch=packed), (run, tokenize)
            answer = runner.run(text(data, f"{run} scan=lengths", tokenize=tokenize, batch=packed), environment={"HR_PLAN_CACHE": cache})
        assert answer["steps"] == said["steps"] and said["steps"], (run, tokenize)
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
    """Random data with images in it, of one source or of a mix, and what reference.py must know of its samples."""

    def __init__(self, rng, mixed=False):
        self.mix, self.limit = random_mix_rules(rng) if mixed else None, rng.choice([0, 0, 150])
        bad = rng.choice([0, 0, 0.1])
        self.members = [random_member(rng, i, self.mix, bad=bad) for i in range(rng.choice([1, 2, 3, 5]))] if mixed \
            else [(random_data(rng, bad=bad), {})]
        self.data = self.members[0][0]
        for data, _ in self.members:
            self.add_images(rng, data)
        tokenizer.write(self.data.folder / "tokenizer.json")
        self.objects = {key: content for data, _ in self.members for key, content in data.objects.items()}
        self.sizes, self.bad = {}, set()
        for key, content in self.objects.items():
            for byte in reference.lines(content):
                self.sizes[key, byte] = self.measure(content[byte:].split(b"\n")[0])
                if self.sizes[key, byte] is None:
                    self.bad.add((key, byte))

    def add_images(self, rng, data):
        for key, content in list(data.objects.items()):
            lines = content.split(b"\n")
            for i, line in enumerate(lines):
                if line.endswith(b"}") and rng.random() < 0.3:
                    lines[i] = line.replace(b'"value": "say ', b'"value": "<image>say ').replace(b"{", b'{"image": "%d.png", ' % rng.randrange(3), 1)
            data.add(key, b"\n".join(lines))
        for i, (width, height) in enumerate(SIZES):
            for folder in {(data.folder / key).parent for key in data.objects}:
                (folder / f"{i}.png").write_bytes(png(width, height))

    def remove(self):
        for data, _ in self.members:
            data.remove()

    def order(self, epoch, **rules):
        """The lines of an epoch; rules: those of the source, if it is one alone."""
        if self.mix is None:
            return reference.order(self.objects, epoch, **rules)
        how = {("pattern_of" if k == "pattern" else k): v for k, v in self.mix.items()}
        return mixing.order([{"objects": data.objects, **said} for data, said in self.members], epoch, **how)

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

    def is_json(self, line):
        key, byte = line
        try:
            json.loads(self.objects[key][byte:].split(b"\n")[0].removeprefix(b"\xef\xbb\xbf"))
        except json.JSONDecodeError:
            return False
        return True

    def chain(self, rules, batch, rng=random):
        if self.mix is None:
            before, behind = f"filesrc location={self.data.folder} {show(rules)}", ""
        else:
            before = f"mix name=m {show(self.mix)} queue-items={rng.choice([1, 2, 100])} block-bytes={rng.choice([1, 300, 1 << 20])}"
            behind = " ".join(f" filesrc location={data.folder} {show(said)} ! m." for data, said in self.members)
        return (f"{before} ! jsonlparse workers={rng.choice([1, 3])} ! imagefetch ! "
                f"tokenize tokenizer={self.data.folder}/tokenizer.json {f'max-length={self.limit} ' if self.limit else ''}"
                f"workers={rng.choice([1, 2])} ! {batch} ! {rng.choice(['', 'prefetchqueue max-batches=2 ! '])}appsink{behind}")

    def cost(self, line):
        tokens, pixels = self.sizes.get(line) or (0, 0)
        return 4096 * tokens + pixels


SIZES = [(256, 256), (320, 640), (1024, 512)]


def check_balance(runner, seed, mixed):
    rng = random.Random(seed)
    costs = Costs(rng, mixed)
    rules, run = random_rules(rng, sum(map(len, costs.objects.values())))
    group, drop_last = rng.choice([1, 2, 4, 6, 12]), rng.random() < 0.3
    run.pop("world")
    steps = list(reference.steps(None, group, drop_last=drop_last, order_of=lambda _, epoch: costs.order(epoch, **rules), **run))
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
            assert answer["n_steps"] == len(steps), f"{answer['n_steps']}, not {len(steps)}\n{text(world, rank, show(run))}"
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
    costs.remove()


def repeat(check, *args):
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check(seed, *args)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:3])} seed={seed} n=1")
            raise


def test_balance(runner):
    """steps dealt by cost are those of the reference, resumed with other ranks and asked for as well"""
    repeat(lambda seed: check_balance(runner, seed, False))


def test_balance_of_mix(runner):
    """… of random mixes as well"""
    repeat(lambda seed: check_balance(runner, seed, True))


class Rows:
    """A stream of packed rows whose lengths are known, and what it must be."""

    def __init__(self, runners, seed, mixed=False):
        self.rng, self.runners = random.Random(seed), runners
        self.costs = Costs(self.rng, mixed)
        self.rules, self.run = random_rules(self.rng, sum(map(len, self.costs.objects.values())))
        self.run.pop("world")
        self.limits = {"pack_window": self.rng.choice([1, 2, 5, 16, 512]), "max_tokens": self.rng.choice([100, 250, 600, 2000]),
                       **self.rng.choice([{}, {}, {"max_image_tokens": 500}])}
        self.sizes = {line: size and (size[0], size[1] // 1024) for line, size in self.costs.sizes.items()}
        self.cache, self.digests, self.epochs = tempfile.TemporaryDirectory(), {}, {}

    def close(self):
        self.cache.cleanup()
        self.costs.remove()

    def order(self, epoch, bounded=True):
        if (epoch, bounded) not in self.epochs:
            places = self.costs.order(epoch, **self.rules)
            if bounded and "limit" in self.run:
                places = places[:max(self.run["limit"] - epoch * len(places), 0)]
            made = reference.rows(places, self.sizes, self.limits["pack_window"], self.limits["max_tokens"],
                                  self.limits.get("max_image_tokens", 0))
            self.epochs[epoch, bounded] = places, made
        return self.epochs[epoch, bounded]

    def members(self, epoch, row, bounded=True):
        places, made = self.order(epoch, bounded)
        return [[*places[p], p, False] for p in made[row]] if row < len(made) else []

    def steps(self, world, rank, at, taken):
        """From that position on: (epoch, row, members, position behind it)."""
        epoch, first = at
        while not self.run["epochs"] or epoch < self.run["epochs"]:
            n = len(self.order(epoch)[1])
            if n == 0:
                return
            for row in range(first, n, world):
                if self.run.get("steps") == taken:
                    return
                taken += 1
                behind = (epoch, row + world) if row + world < n else (epoch + 1, 0)
                yield epoch, row + rank, self.members(epoch, row + rank), behind
            epoch, first = epoch + 1, 0

    def text(self, more, scan="scan=lengths"):
        rng = self.rng
        free = {"serial": rng.random() < 0.2, "cpus": rng.choice([1, 2, 5]), "memory": rng.choice(["2GiB", "2GiB", "1"])}
        return (f"on-error=skip {scan} {show(free)} {show(more)} "
                f"{self.costs.chain(self.rules, f'batch mode=packed {show(self.limits)}', rng)}")

    def ask(self, text, **request):
        answer = rng_choice(self).run(text, environment={"HR_PLAN_CACHE": self.cache.name}, **request)
        assert answer["error"] is None, f"{answer['error']}\n{text}"
        for step in answer["steps"]:
            for key, byte, _, _, digest in step[4]:
                assert self.digests.setdefault((key, byte), digest) == digest
        return answer

    def check_nothing(self):
        """TRUE: no line makes a sample that fits into a row; an error says so, if there are lines."""
        if not self.sizes or any(reference.rows([line], self.sizes, 1, self.limits["max_tokens"], self.limits.get("max_image_tokens", 0))
                                 for line in self.sizes):
            return not self.sizes
        answer = self.runners[0].run(self.text(self.run), environment={"HR_PLAN_CACHE": self.cache.name})
        assert "no packed row can be made" in (answer["error"] or ""), answer["error"]
        return True

    def check_legs(self):
        rng, at, taken, resume = self.rng, (0, 0), 0, None
        for _ in range(3):
            world = rng.choice([1, 1, 2, 3, 5])
            rank = rng.randrange(world)
            wanted = list(self.steps(world, rank, at, taken))
            mark = rng.randrange(1, len(wanted) + 1) if wanted else 0
            text = self.text({**self.run, "world": world, "rank": rank})
            answer = self.ask(text, resume=resume, mark=mark)
            got = [(s[0], s[1], got_members(s)) for s in answer["steps"]]
            assert got == [w[:3] for w in wanted], f"{got}\nnot {[w[:3] for w in wanted]}\nfrom {at}: {text}"
            assert answer["n_steps"] == taken + len(wanted), f"{answer['n_steps']} steps, not {taken} + {len(wanted)}: {text}"
            if mark:
                resume, at, taken = answer["checkpoint"], wanted[mark - 1][3], taken + mark

    def check_counts(self):
        """All ranks together skip and drop each line once."""
        rng, world = self.rng, self.rng.choice([1, 2, 3])
        run = {"epochs": 1, "world": world}
        answers = [self.ask(self.text({**run, "rank": r})) for r in range(world)]
        places, made = self.order(0, False)
        skipped = sum(not self.costs.is_json(line) for line in places) if made else 0
        assert sum(a["skipped"] for a in answers) == skipped, f"{[a['skipped'] for a in answers]}, not {skipped}"
        seen = [m[:2] for a in answers for s in a["steps"] for m in s[4]]
        wanted = [list(places[p]) for row in made for p in row]
        assert sorted(seen) == sorted(wanted)

    def check_requests(self):
        rng, rows = self.rng, [(e, r) for e in range(2) for r in range(len(self.order(e, False)[1]) + 2)]
        asked = rng.choices(rows, k=6)
        answer = self.ask(self.text({"requests": True, "world": rng.choice([1, 4])}), requests=asked)
        got = [(s[0], s[1], got_members(s)) for s in answer["steps"]]
        assert got == [(e, r, self.members(e, r, False)) for e, r in asked], got

    def check_same_rows(self):
        """One rank alone gets the same rows as without lengths; there, an epoch without any ends nothing."""
        if not all(self.order(epoch, False)[1] for epoch in range(2)):
            return
        run = {"epochs": 2}
        one, other = (self.ask(self.text(run, scan))["steps"] for scan in ("scan=lengths", ""))
        assert [(s[0], s[3]) for s in one] == [(s[0], s[3]) for s in other]


def rng_choice(rows):
    return rows.rng.choice(rows.runners)


def check_rows(seed, runners, mixed):
    one = Rows(runners, seed, mixed)
    try:
        if one.check_nothing():
            return
        one.check_legs()
        one.check_counts()
        one.check_requests()
        one.check_same_rows()
    finally:
        one.close()


def test_rows(_):
    """packed rows that are numbered are those of the reference: ranks, cuts, requests, what is left out"""
    runners = [Runner(ORDER_RUN), Runner(ORDER_RUN, HR_STALL="1")]
    repeat(check_rows, runners, False)
    for runner in runners:
        runner.close()


def test_rows_of_mix(_):
    """… of random mixes as well"""
    runners = [Runner(ORDER_RUN), Runner(ORDER_RUN, HR_STALL="1"), Runner(ORDER_RUN, HR_STALL="77")]
    check_rows(10049, runners, True)  # an epoch of the mix without a row ends a run that has no other end than its steps
    repeat(check_rows, runners, True)
    for runner in runners:
        runner.close()


def test_lost_images(runner):
    """a sample that turns out bad after all is missing in its row, and moves nothing; an empty row is padding"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"] // 4 + 1):
        one = Rows([runner], seed)
        if one.check_nothing():
            one.close()
            continue
        before = one.ask(one.text({"epochs": 2}))
        for path in one.costs.data.folder.rglob("0.png"):
            path.unlink()
        after = one.ask(one.text({"epochs": 2}))
        lost = {line for line in one.sizes if b'"image": "0.png"' in one.costs.objects[line[0]][line[1]:].split(b"\n")[0]}
        wanted = [(s[0], s[1], [m for m in got_members(s) if tuple(m[:2]) not in lost]) for s in before["steps"]]
        assert [(s[0], s[1], got_members(s)) for s in after["steps"]] == wanted, f"seed={seed}"
        assert before["n_steps"] == after["n_steps"]
        one.close()


def test_padding_row(_):
    """the row of a rank that has none is one token of padding, with the fields of any other"""
    data = some_data(3)
    chain = text(data, "", batch="batch mode=packed max-tokens=100")
    rows = {}
    for rank in (0, 3):  # the one row that is left is the first rank's
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([HR_LAUNCH, "-q", "--scan=lengths", "--world=4", f"--rank={rank}", chain.replace("appsink", f"npysink location={out}")],
                           check=True, env={**os.environ, "HR_PLAN_CACHE": ""})
            last = max(pathlib.Path(out).glob("*.json"), key=lambda p: json.loads(p.read_text())["index"])
            rows[rank] = json.loads(last.read_text()), {p.name.split(".")[1]: p.read_bytes() for p in pathlib.Path(out).glob(f"{last.stem}.*.npy")}
    (full, _), (last, arrays) = rows[0], rows[3]
    assert full["members"] and not last["members"], rows
    tensors = [{name for name, field in r["fields"].items() if isinstance(field, dict)} for r in (full, last)]
    assert tensors[0] == tensors[1], tensors
    shapes = {name: field["shape"] for name, field in last["fields"].items()}
    assert shapes["input_ids"] == shapes["labels"] == [1, 1] and shapes["position_ids"] == [3, 1, 1], shapes
    assert shapes["cu_seqlens"] == shapes["image_cu"] == [2], shapes
    assert struct.unpack("<q", arrays["labels"][-8:]) == (-100,) and struct.unpack("<q", arrays["input_ids"][-8:]) == (151643,)
    assert struct.unpack("<2i", arrays["cu_seqlens"][-8:]) == (0, 1)
    data.remove()


def check_refused(runner, mixed):
    one = next(r for r in (Rows([runner], seed, mixed) for seed in range(100)) if len(r.order(0)[1]) > 1 and any(s and s[1] for s in r.sizes.values()))
    one.run = {"epochs": 3}
    first = one.ask(one.text(one.run), mark=1)["checkpoint"]
    plain = one.ask(one.text(one.run, scan=""), mark=1)["checkpoint"]
    environment = {"HR_PLAN_CACHE": one.cache.name}
    for resume, scan, why in ((first, "", "are not now"), (plain, "scan=lengths", "are now")):
        answer = runner.run(one.text(one.run, scan), environment=environment, resume=resume)
        assert why in (answer["error"] or ""), answer["error"]
    for path in (p for data, _ in one.costs.members for p in data.folder.rglob("[0-9].png")):
        path.write_bytes(png(512, 512))
    answer = runner.run(one.text(one.run), environment={"HR_PLAN_CACHE": ""}, resume=first)
    assert "lengths of lines are not" in (answer["error"] or ""), answer["error"]
    one.close()


def test_rows_refused(runner):
    """what could not go on exactly, and what rows cannot be made up for"""
    for mixed in (False, True):
        check_refused(runner, mixed)
    data = some_data()
    for more, batch, why in (("", "tee name=t ! batch mode=packed max-tokens=500 ! fakesink t. ! batch size=4", "no tee"),
                             ("ordered=false", "batch mode=packed max-tokens=500", "ordered=false there")):
        answer = runner.run(text(data, "scan=lengths", tokenize=more, batch=batch))
        assert why in (answer["error"] or ""), (batch, answer["error"])
    data.remove()


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
