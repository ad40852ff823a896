#!/usr/bin/env python3
"""The main job on a real S3 server, killed (SIGKILL) at random moments and gone on, until it is over: what all runs have
delivered up to their checkpoints, joined, is what one uninterrupted run delivers, every byte and every origin.

usage: tests/s3/server -- test-killed.py HR_LAUNCH HR_LAUNCH_THAT_CAN_BREAK_RULES ROOT [n=ROUNDS] [seed=FIRST]

With n: rounds drawn at random instead of the fixed ones; seed=N n=1 repeats one.
"""
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy

from job import GOLDEN, Job

sys.path.insert(0, str(pathlib.Path(sys.argv[3]) / "tests/order"))
import runner  # pylint: disable=wrong-import-position
import tokenizer  # pylint: disable=wrong-import-position

HR_LAUNCH, HR_LAUNCH_RULES = sys.argv[1], sys.argv[2]
PLUGINS = str(pathlib.Path(HR_LAUNCH).resolve().parent.parent / "plugins")
OPTIONS = {"seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[4:])}}
WAITS = 200 * int(os.environ.get("MESON_TEST_TIMEOUT_MULTIPLIER", "1"))
IN_TRAIN, IN_MORE = "s3://corpus/train/part-*.jsonl", "s3://corpus/more/"
GROUP, EPOCHS = 4, 4
STEP = "40ms"  # in runs that are killed


class Way:
    """One stream. What is drawn anew for each run cannot change it."""

    def __init__(self, rng, folder, kind, shuffle):
        self.kind, self.name, self.rng, self.folder = kind, f"{kind}, shuffle={shuffle}", rng, folder
        self.source = f"shuffle={shuffle} " + ("block-bytes=900 window-blocks=2 " if shuffle == "window" else "")
        self.worlds = {"padded": (1,), "packed": (1,), "mixed rows": (1,), "ranks": (1, 2, 4), "mixed ranks": (1, 2, 4),
                       "numbered rows": (1, 2, 3)}[kind]
        self.cache = tempfile.mkdtemp(dir=folder)

    def text(self, world, rank, sleep):
        rng, mixed, rows = self.rng, self.kind.startswith("mixed"), self.kind in ("packed", "numbered rows", "mixed rows")
        source = f"mix name=m epochs={EPOCHS} seed=3" if mixed else f"s3src location={IN_TRAIN} {self.source} epochs={EPOCHS} seed=3"
        members = (f" s3src location={IN_TRAIN} weight=2 {self.source} ! m. s3src location={IN_MORE} {self.source} ! m." if mixed else "")
        batch = ("mode=packed pack-window=12 max-tokens=700" if rows else
                 f"mode={'padded' if self.kind == 'padded' else 'list'} size={GROUP // world}")
        scan = "scan=lengths" if self.kind == "numbered rows" else f"scan={rng.choice(['auto', 'lines'])}"
        return (f"{scan} rank={rank} world={world} cpus={rng.choice([1, 2, 5])} {source} ! jsonlparse ! "
                f"imagefetch concurrency={rng.choice([1, 16])} ! tokenize tokenizer={self.folder}/tokenizer.json max-pixels=65536 ! "
                f"imagedecode workers={rng.choice([1, 2, 4])} ! resize workers={rng.choice([1, 4])} ! batch {batch} ! "
                f"prefetchqueue max-batches={rng.choice([1, 3, 8])} ! {'' if 'ranks' in self.kind else 'patchify ! '}"
                f"identity sleep={sleep} ! npysink location=OUT{members}")


class Joined:
    """What was delivered: of each field its arrays, in the order of steps and ranks, and where the samples come from."""

    def __init__(self, listed):
        self.fields, self.listed = {"samples": []}, listed

    def add(self, told, out):
        members = [[told["epoch"], *(m[k] for k in ("id", "uri", "byte", "length"))] for m in told["members"] if m["id"] is not None]
        if not members:
            return  # a row of padding: for other ranks there are others
        self.fields["samples"] += members
        arrays = [(path.name.split(".")[1:-1], path) for path in out.glob(f"{told['index']:06d}.*.npy")]
        for (field, *number), path in sorted(arrays, key=lambda a: [a[0][0], *map(int, a[0][1:])]):
            if not (self.listed and field.endswith("_cu")):  # which samples are in one batch is no matter of the stream there
                self.fields.setdefault(field, []).append(hashlib.sha256(path.read_bytes()).hexdigest())

    def check(self, whole, where):
        assert set(self.fields) == set(whole.fields), f"{where}: {sorted(self.fields)} are not {sorted(whole.fields)}"
        for field, wanted in sorted(whole.fields.items(), key=lambda f: f[0] != "samples"):
            got = self.fields[field]
            first = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
            assert got == wanted, (f"{where}: {field} differ from number {first} on: {got[first:first + 2]}, not {wanted[first:first + 2]}; "
                                   f"{len(got)} in all, not {len(wanted)}")


class Runs:
    """Runs of one stream, one behind the other, each of all ranks at once."""

    def __init__(self, way, program=HR_LAUNCH, rule=""):
        self.way, self.program, self.rule = way, program, rule
        self.joined, self.document, self.n_steps, self.told = Joined("ranks" in way.kind), None, 0, []
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=way.folder))

    def start(self, world, sleep):
        """(process, folder, checkpoint) of each rank"""
        ranks, place = [], pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        environment = {**os.environ, "HR_WRONG_RULE": self.rule, "HR_PLUGIN_PATH": PLUGINS,
                       "HR_PLAN_CACHE": self.way.rng.choice(["", self.way.cache])}
        for rank in range(world):
            out, checkpoint = place / f"{rank}", place / f"{rank}.checkpoint"
            out.mkdir()
            if self.document:
                checkpoint.write_text(json.dumps(self.document))
            text = self.way.text(world, rank, sleep).replace("OUT", str(out))
            every = self.way.rng.choice([1, 1, 2])
            ranks.append((subprocess.Popen([self.program, "-q", "--checkpoint", checkpoint, "--checkpoint-every", str(every), "--resume", text],
                                           stderr=subprocess.PIPE, text=True, env=environment), out, checkpoint))
        return ranks

    @staticmethod
    def read(checkpoint):
        return json.loads(checkpoint.read_text()) if checkpoint.exists() else {"steps": 0}

    def wait(self, ranks, moment):
        """until @moment: ("seconds", from the start on) or ("steps", that all ranks have noted, seconds from then on)"""
        what, n, *behind = moment
        if what == "steps":
            deadline = time.monotonic() + WAITS
            while any(run.poll() is None and self.read(checkpoint)["steps"] < self.n_steps + n for run, _, checkpoint in ranks):
                assert time.monotonic() < deadline, f"no {n} steps in {WAITS} s"
                time.sleep(0.001)
        time.sleep(behind[0] if behind else n)

    def go(self, world, moment=None):
        """Runs on from the last checkpoint, to the end, or kills all ranks then."""
        ranks = self.start(world, STEP if moment else "0")
        if moment:
            self.wait(ranks, moment)
            for run, _, _ in ranks:
                run.kill()
        for run, _, _ in ranks:
            errors = run.communicate(timeout=WAITS)[1]
            assert run.returncode == 0 or (moment and run.returncode == -9), f"{run.returncode}: {errors}\n{self.way.name}"
        documents = [self.read(checkpoint) for _, _, checkpoint in ranks]
        lowest = min(documents, key=lambda d: d["steps"])  # the slowest rank's: all have delivered what it counts
        n = lowest["steps"] - self.n_steps if moment else len(list(ranks[0][1].glob("*.json")))
        self.told.append((world, moment, n))
        for step in range(n):
            for _, out, _ in ranks:
                path = out / f"{step:06d}.json"
                assert path.exists(), f"{self.way.name}: the checkpoint counts {n} steps, and step {step} was not delivered: {self.told}"
                self.joined.add(json.loads(path.read_text()), out)
        if n > 0 and moment:
            self.document, self.n_steps = lowest, lowest["steps"]


def check(way, moments, program=HR_LAUNCH, rule=""):
    whole = Runs(way)
    whole.go(1)
    samples = [tuple(s) for s in whole.joined.fields["samples"]]
    if "mixed" not in way.kind:  # each once an epoch
        assert len(samples) == len(set(samples)) == EPOCHS * N_RECORDS, (len(samples), len(set(samples)))
    runs = Runs(way, program, rule)
    for moment in moments:
        runs.go(way.rng.choice(way.worlds), moment)
    n = len(runs.joined.fields["samples"])
    runs.go(way.rng.choice(way.worlds))
    runs.joined.check(whole.joined, f"{way.name}, {runs.told}")
    return n, len(whole.joined.fields["samples"])


def soon(rng):
    return "steps", rng.randrange(1, 4), rng.uniform(0, 0.1)


def whenever(rng):
    """while it starts, or in the midst of it"""
    return "seconds", rng.uniform(0, 1)


def check_fixed(kind, shuffle, seed, cuts=3):
    """Cut behind some steps, several times, and once whenever it may be."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.write(pathlib.Path(folder) / "tokenizer.json")
        rng = random.Random(seed)
        n, all_of_them = check(Way(rng, folder, kind, shuffle), [*(soon(rng) for _ in range(cuts)), whenever(rng)])
        assert 0 < n, "no test: nothing was delivered before the last run"
        print(f"# {kind}, shuffle={shuffle}: {n} of {all_of_them} samples by runs that were killed", flush=True)


def test_padded():
    """padded batches, in each order: killed and gone on with other workers and queues"""
    for seed, shuffle in enumerate(("none", "window", "full")):
        check_fixed("padded", shuffle, seed)


def test_ranks():
    """batches of other numbers of ranks"""
    check_fixed("ranks", "window", 11)


def test_rows():
    """packed rows: inside blocks, and numbered ones of other numbers of ranks"""
    check_fixed("packed", "full", 21)
    check_fixed("numbered rows", "window", 22)


def test_mixes():
    """mixes: packed rows, and batches of other numbers of ranks"""
    check_fixed("mixed rows", "window", 31)
    check_fixed("mixed ranks", "full", 32)


def test_planted():
    """a checkpoint that stands one step too early, and one that is ignored where reading begins, are seen"""
    for rule in ("", "cursor", "no-start"):
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.write(pathlib.Path(folder) / "tokenizer.json")
            rng = random.Random(41)
            try:
                check(Way(rng, folder, "padded", "window"), [soon(rng), soon(rng)], HR_LAUNCH_RULES, rule)
            except AssertionError as error:
                assert rule and "differ from number" in str(error), error
            else:
                assert not rule, f"{rule}: nothing was noticed"


def test_random():
    """any way, any number of cuts at any time"""
    n = 0
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        rng = random.Random(seed)
        kind = rng.choice(["padded", "packed", "ranks", "numbered rows", "mixed rows", "mixed ranks"])
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.write(pathlib.Path(folder) / "tokenizer.json")
            try:
                way = Way(rng, folder, kind, rng.choice(["none", "window", "full"]))
                n += check(way, [rng.choice([soon, whenever])(rng) for _ in range(rng.randrange(2, 9))])[0] > 0
            except Exception:
                print(f"# repeat: seed={seed} n=1")
                raise
    assert n > OPTIONS["n"] // 4, f"no test: of {OPTIONS['n']} rounds only {n} had come to a checkpoint"


def put_more(job):
    """a second set: some of the pictures, in other words"""
    files = ["cat_420.jpg", "rgba.png", "exif6.jpg"]
    for file in files:
        job.bucket.put("more/images/" + file, (GOLDEN / "images" / file).read_bytes())
    records = [job.record(1000 + n, files[n % 4:n % 4 + 1]) for n in range(17)]
    job.bucket.put("more/a.jsonl", "".join(json.dumps(r) + "\n" for r in records).encode())


if __name__ == "__main__":
    JOB = Job()
    N_RECORDS = len(JOB.records)
    put_more(JOB)
    TESTS = [t for name, t in list(globals().items()) if name.startswith("test_")]
    sys.exit(runner.main([test_random] if "n" in OPTIONS else [t for t in TESTS if t != test_random]))
