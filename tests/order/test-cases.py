#!/usr/bin/env python3
"""The cases about resuming and ranks in tests/data/cases, and the edges of epochs.

usage: test-cases.py ORDER_RUN HR_LAUNCH CASES
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import reference
import tokenizer
from runner import Data, Runner, main, record, show

ORDER_RUN, HR_LAUNCH, CASES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
ONE_SHARD = CASES / "19-resume-one-shard"
SHARDS = CASES / "20-resume-shards-worlds"
UNEVEN = CASES / "22-uneven-ranks"


def case(folder):
    return json.loads((folder / "case.json").read_text())


def names(objects):
    """(key, byte) to id, for every line."""
    return {(k, b): json.loads(data[b:].split(b"\n")[0])["id"] for k, data in objects.items() for b in reference.lines(data)}


class Stream:
    """A pipeline over a case's objects, with tokens; its order is told by the ids of the records."""

    def __init__(self, runner, location):
        self.runner, self.location = runner, location
        files = [location] if location.is_file() else list(location.glob("*.jsonl"))
        self.objects = {f.name: f.read_bytes() for f in files}
        self.names = names(self.objects)
        self.folder = tempfile.TemporaryDirectory()
        tokenizer.write(pathlib.Path(self.folder.name) / "tokenizer.json")

    def text(self, source="", batch="batch size=1 ! ", run="", workers=1):
        return (f"{run} filesrc location={self.location} {source} ! jsonlparse workers={workers} ! "
                f"tokenize tokenizer={self.folder.name}/tokenizer.json workers={workers} ! {batch}appsink")

    def run(self, text, **request):
        """(epoch, ids) of each step, and the answer."""
        answer = self.runner.run(text, **request)
        assert answer["error"] is None, f"{answer['error']}\n{text}"
        return [(s[0], [self.names[m[0], m[1]] for m in s[4] if m[0]]) for s in answer["steps"]], answer


# ---- 19-resume-one-shard

def check_every_stop(stream, text, again):
    """Stops behind every step; `again` is the text that goes on."""
    whole, _ = stream.run(text)
    for k in range(1, len(whole) + 1):
        before, answer = stream.run(text, take=k, mark=k)
        for _ in range(2):  # the document is not used up
            after, _ = stream.run(again, resume=answer["checkpoint"])
            assert before + after == whole, f"cut at {k}: {before} and {after} are not {whole}\n{text}\n{again}"
    return whole


def test_one_shard_plain(runner):
    """19: unshuffled, stopped at each of 36 points; the ends of epochs too"""
    stream, expected = Stream(runner, ONE_SHARD / "a.jsonl"), case(ONE_SHARD)["expected"]["order_without_shuffle"]
    for batch in ("", "batch size=1 ! ", "batch size=1 ! prefetchqueue max-batches=8 ! "):
        whole = check_every_stop(stream, stream.text("epochs=3", batch), stream.text("epochs=3", batch, workers=4))
        assert whole == [(epoch, [i]) for epoch, ids in expected for i in ids]


def test_one_shard_shuffled(runner):
    """19: shuffled, batches that do and do not divide an epoch, workers and prefetch changed"""
    stream = Stream(runner, ONE_SHARD / "a.jsonl")
    every = sorted(stream.names.values())
    ways = itertools.product(("shuffle=window block-bytes=300 window-blocks=2", "shuffle=full"), (1, 2), (1, 4, 5), (False, True))
    for n, (shuffle, seed, size, drop_last) in enumerate(ways):
        source, batch = f"epochs=3 {shuffle} seed={seed}", f"batch size={size} drop-last={str(drop_last).lower()} ! "
        ahead = ["", "prefetchqueue max-batches=1 ! ", "prefetchqueue max-batches=8 ! ", "prefetchqueue max-batches=100 ! "]
        whole = check_every_stop(stream, stream.text(source, batch + ahead[n % 4]),
                                 stream.text(source, batch + ahead[(n + 1) % 4], workers=4))
        epochs = [sum((ids for e, ids in whole if e == epoch), []) for epoch in range(3)]
        assert epochs[0] != epochs[1] != epochs[2]
        for ids in epochs:
            assert len(set(ids)) == len(ids) and (sorted(ids) == every or drop_last)


# ---- the same from the command line, ended by signals

class Launch:
    """hr-launch with a checkpoint file; what it has delivered is read from a folder."""

    def __init__(self, stream):
        self.stream, self.folder = stream, tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "checkpoint"

    def start(self, source, batch, step_time, *options):
        out = tempfile.mkdtemp(dir=self.folder.name)
        sink = f"identity sleep={step_time} ! npysink location={out}"
        text = self.stream.text(source, batch).replace("appsink", sink)
        run = subprocess.Popen([HR_LAUNCH, "-q", "--checkpoint", self.file, *options, text], stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "HR_PLAN_CACHE": ""})
        return run, pathlib.Path(out)

    @staticmethod
    def wait_for(run, out, n):
        while len(list(out.glob("*.json"))) < n:
            assert run.poll() is None, run.stderr.read()

    def delivered(self, out):
        found = []
        for path in sorted(out.glob("*.json")):
            try:
                step = json.loads(path.read_text())
            except ValueError:
                break  # being written when the run was killed
            found.append((step["epoch"], [m["id"] for m in step["members"] if m["id"] is not None]))
        return found


def check_signal(runner, name, status, exact):
    stream = Stream(runner, ONE_SHARD / "a.jsonl")
    source, batch = "epochs=3 shuffle=full seed=1", "batch size=1 ! prefetchqueue max-batches=8 ! "
    whole, _ = stream.run(stream.text(source, batch))
    for n, every in ((1, 1), (5, 2), (9, 3), (15, 7)):
        launch = Launch(stream)
        run, out = launch.start(source, batch, "5ms", "--resume", "--checkpoint-every", str(every))
        launch.wait_for(run, out, n)
        while not exact and not launch.file.exists():  # disks have their own pace
            assert run.poll() is None, run.stderr.read()
        run.send_signal(getattr(__import__("signal"), name))
        assert run.wait() == status, (run.returncode, run.stderr.read())
        before = launch.delivered(out)
        document = json.loads(launch.file.read_text()) if launch.file.exists() else {"steps": 0}
        kept = document["steps"]
        assert kept == len(before) if exact else 0 < kept <= len(before) and kept % every == 0, (kept, len(before))
        run, out = launch.start(source, batch, "0", "--resume")
        assert run.wait() == 0, run.stderr.read()
        assert before[:kept] + launch.delivered(out) == whole, f"{name} after {n}: {before[:kept]}, {launch.delivered(out)}"


def test_terminated(runner):
    """19: hr-launch ended by SIGTERM writes where it was, and goes on there"""
    check_signal(runner, "SIGTERM", 143, exact=True)


def test_killed(runner):
    """19: hr-launch ended by SIGKILL goes on from the last checkpoint"""
    check_signal(runner, "SIGKILL", -9, exact=False)


def test_finished(runner):
    """19: a run that was complete delivers nothing more, and succeeds"""
    launch = Launch(Stream(runner, ONE_SHARD / "a.jsonl"))
    for n in (36, 0):
        run, out = launch.start("epochs=3", "batch size=1 ! ", "0", "--resume")
        assert run.wait() == 0, run.stderr.read()
        assert len(launch.delivered(out)) == n


# ---- 20-resume-shards-worlds

def test_shards_worlds(runner):
    """20: any number of ranks goes on where another stopped; steps hold the same samples"""
    stream, expected = Stream(runner, SHARDS), case(SHARDS)["expected"]
    assert len(stream.names) == expected["records"]
    worlds = {8: [(1, 8), (2, 4), (4, 2), (8, 1)], 12: [(1, 12), (2, 6), (3, 4), (4, 3)]}
    counts = expected["steps_per_epoch"]
    for group, drop_last, shuffle in itertools.product((8, 12), (True, False), ("none", "full")):
        def text(world, size, rank, workers=1):
            return stream.text(f"epochs=3 seed=7 shuffle={shuffle}", f"batch size={size} drop-last={str(drop_last).lower()} ! prefetchqueue ! ",
                               f"world={world} rank={rank}", workers)
        whole, _ = stream.run(text(1, group, 0))
        a_third = counts["global batch 8"] if group == 8 else \
            counts["global batch 12, drop-last" if drop_last else "global batch 12, padding"]
        assert len(whole) == 3 * a_third
        ids = [i for epoch, step in whole for i in step]
        assert group != 8 or all(sorted(ids[e * 128:e * 128 + 128]) == sorted(stream.names.values()) for e in range(3))
        stops = [k for k in (0, 1, 7, 13, 15, 16, 17, 31, 32, 47, 48) if k <= len(whole)]
        for n, k in enumerate(stops):
            world, size = worlds[group][n % 4]
            checkpoint = stream.run(text(world, size, n % world), take=k, mark=k)[1]["checkpoint"]
            world, size = worlds[group][(n // 4 + n + 1) % 4]
            ranks = [stream.run(text(world, size, r, 1 + 3 * (n % 2)), resume=checkpoint)[0] for r in range(world)]
            assert len({len(r) for r in ranks}) == 1, [len(r) for r in ranks]
            after = [(step[0][0], sum((ids for _, ids in step), [])) for step in zip(*ranks)]
            assert after == whole[k:], f"stopped at {k}, going on with {world} ranks"


# ---- 22-uneven-ranks

def test_uneven_ranks(runner):
    """22: every rank makes the same number of steps, whichever record is bad"""
    expected = case(UNEVEN)["expected"]["table"]
    lines = (UNEVEN / "a.jsonl").read_bytes().splitlines(keepends=True)
    for row in expected:
        n, world, size = row["samples"], row["world"], row["batch"]
        for bad in [None] if n < 9 else [None, 0, 4, 8]:
            data = Data()
            data.add("a.jsonl", b"".join(b"{}\n" if i == bad else line for i, line in enumerate(lines[:n])))
            for drop_last in (True, False):
                steps = []
                for rank in range(world):
                    text = (f"on-error=skip world={world} rank={rank} filesrc location={data.folder}/a.jsonl ! jsonlparse ! "
                            f"batch size={size} drop-last={str(drop_last).lower()} ! appsink")
                    steps.append(runner.steps(text))
                wanted = row["steps_drop_last" if drop_last else "steps_padding"]
                assert [len(s) for s in steps] == [wanted] * world, (row, bad, [len(s) for s in steps])
                seen = [m[1] for s in steps for step in s for m in step[4] if m[0]]
                assert len(set(seen)) == len(seen) and (drop_last or len(seen) == n), (row, bad)
            data.remove()


# ---- the edges of epochs

def plain(step):
    """Without what may differ: numbers of lines are not known in the middle of a text that was not counted."""
    return [step[0], step[1], step[3], [m[:2] + m[3:] for m in step[4]]]


def test_edges(runner):
    """a checkpoint at the end of an epoch is the beginning of the next, and nothing else is"""
    data = Data()
    for key, n in (("a.jsonl", 5), ("b.jsonl", 0), ("c.jsonl", 4)):
        data.add(key, b"".join(record(f"{key}-{i}") + b"\n" for i in range(n)))
    for shuffle, size, drop_last, warm in itertools.product(("none", "window", "full"), (1, 2, 3, 4, 9), (False, True), (False, True)):
        with tempfile.TemporaryDirectory() as cache:
            per_epoch = 9 // size if drop_last else -(-9 // size)
            text = (f"epochs=3 filesrc location={data.folder} shuffle={shuffle} block-bytes=150 window-blocks=2 ! jsonlparse ! "
                    f"batch size={size} drop-last={str(drop_last).lower()} ! prefetchqueue max-batches=2 ! appsink")
            environment = {"HR_PLAN_CACHE": cache if warm else ""}
            whole = runner.steps(text, environment=environment)
            assert len(whole) == 3 * per_epoch
            for k in sorted({per_epoch - 1, per_epoch, per_epoch + 1, 2 * per_epoch, 3 * per_epoch - 1, 3 * per_epoch} - {0}):
                answer = runner.run(text, environment=environment, take=k, mark=k)
                at = json.loads(answer["checkpoint"])
                # before the text has been read to its end, nobody knows that it has
                known = shuffle == "full" or warm or k > per_epoch
                place = [(at["epoch"], at["step"])]
                assert divmod(k, per_epoch) in place if known else place[0] in (divmod(k, per_epoch), (0, k)), (at, k)
                after = runner.steps(text, environment=environment, resume=answer["checkpoint"])
                assert [plain(s) for s in answer["steps"] + after] == [plain(s) for s in whole], f"cut at {k}: {after}\n{text}"
    data.remove()


# ---- what is read once more

def test_read_again(runner):
    """going on at 90 % reads at most a group of blocks, or the rest of a block, once more, and says how much"""
    data, n = Data(), 4000
    for k in range(8):
        data.add(f"{k}.jsonl", b"".join(record(f"{k}-{i}") + b"\n" for i in range(n // 8)))
    line = len(data.objects["0.jsonl"]) / (n // 8)
    block = 4096
    cold, warm = {"HR_PLAN_CACHE": ""}, {"HR_PLAN_CACHE": str(data.folder / "cache")}
    runner.steps(f"filesrc location={data.folder}/*.jsonl shuffle=full ! jsonlparse ! batch size=100 ! appsink", environment=warm)
    for shuffle, most_blocks in (("none", 1), ("window", 4), ("full", 0)):
        for before, after in ((cold, cold), (warm, cold), (cold, warm), (warm, warm)):
            text = (f"filesrc location={data.folder}/*.jsonl shuffle={shuffle} block-bytes={block} window-blocks=4 ! jsonlparse ! "
                    "batch size=10 ! prefetchqueue max-batches=20 ! appsink")
            k = n // 10 * 9 // 10
            answer = runner.run(text, environment=before, take=k, mark=k)
            last = runner.run(text, environment=after, resume=answer["checkpoint"], stats=True)
            assert last["error"] is None and len(last["steps"]) == n // 10 - k, last["error"]
            source = last["stats"]["elements"][0]
            lines, size = source["reread_lines"], source["reread_bytes"]
            most = 0 if after == warm else most_blocks * (block / line + 1)
            assert lines <= most and lines * (line - 8) <= size <= lines * (line + 8), (shuffle, lines, size, most)
            assert lines > 0 or shuffle != "window" or after == warm, "nothing was counted"
            # nor is more of the text read than that: blocks that are read ahead, a tenth of the text, some blocks
            assert shuffle == "full" or source["bytes"] <= 0.1 * n * line + (most_blocks + 2) * block + most * line, (shuffle, source)
    data.remove()


def launch_on(folder, text, steps):
    """hr-launch takes that many steps, and another goes on from its checkpoint. Returns that, and what the other one says."""
    def launch(*arguments):
        return subprocess.run([HR_LAUNCH, "--checkpoint", folder / "checkpoint", *arguments], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env={**os.environ, "HR_PLAN_CACHE": ""}).stdout
    launch("-q", f"steps={steps} {text}")
    checkpoint = json.loads((folder / "checkpoint").read_text())
    return checkpoint, json.loads(launch("--resume", "--stats=json", text).splitlines()[-1])


def told_again(stats, factory):
    return next((e["reread_lines"], e["reread_bytes"]) for e in stats["elements"] if e["factory"] == factory)


def test_read_again_counted(runner):
    """how many lines, and bytes of them, are read once more at 90 %: as many as docs/order.md says stand before the place in its group"""
    data, n, size, block, most = Data(), 4000, 10, 4096, 0
    for k in range(8):
        data.add(f"{k}.jsonl", b"".join(record(f"{k}-{i}", 1 + i % 5) + b"\n" for i in range(n // 8)))
    length = {(key, b): text[b:].index(b"\n") for key, text in data.objects.items() for b in reference.lines(text)}
    for shuffle, blocks in (("none", 1), ("window", 1), ("window", 4), ("full", 1)):
        rules, taken = {"shuffle": shuffle, "block_bytes": block, "window_blocks": blocks}, n * 9 // 10
        text = f"filesrc location={data.folder}/*.jsonl {show(rules)} ! jsonlparse ! batch size={size} ! prefetchqueue ! fakesink"
        _, stats = launch_on(data.folder, text, taken // size)
        groups = reference.groups(data.objects, 0, **rules)
        order, first = sum(groups, []), max(end for end in itertools.accumulate(map(len, groups), initial=0) if end <= taken)
        lines, told = told_again(stats, "filesrc")
        again = order[first:taken] if shuffle != "none" else order[taken - lines:taken]
        assert (lines, told) == (len(again), sum(length[one] for one in again)), (shuffle, blocks, lines, told, len(again))
        assert told <= blocks * block, (shuffle, blocks, told)
        assert stats["samples"] == n - taken, stats["samples"]
        most = max(most, len(again))
    assert most > 20, "no test: nothing is read again anywhere"
    data.remove()


def test_packs_read_again_counted(runner):
    """… of packed rows, besides, the samples of the open block whose rows have been taken; none where rows are numbered"""
    data, inside = Data(), 0
    data.add("a.jsonl", b"".join(record(str(i), 1 + i % 7) + b"\n" for i in range(400)))
    tokenizer.write(data.folder / "tokenizer.json")
    for steps in (30, 31, 32, 33):
        for scan in ("auto", "lengths"):
            text = (f"scan={scan} filesrc location={data.folder}/*.jsonl shuffle=full ! jsonlparse ! tokenize tokenizer={data.folder}/tokenizer.json ! "
                    "batch mode=packed pack-window=50 max-tokens=600 ! prefetchqueue ! ")
            rows = runner.steps(text + "appsink")
            checkpoint, stats = launch_on(data.folder, text + "fakesink", steps)
            taken = [row[4] for row in rows[steps - checkpoint["row"]:steps]]
            lines = [(key, byte) for row in taken for key, byte, *_ in row]
            size = sum(data.objects[key][byte:].index(b"\n") for key, byte in lines)
            assert told_again(stats, "batch") == (len(lines), size), (scan, steps, told_again(stats, "batch"), len(lines), size)
            assert scan == "auto" or not lines
            assert stats["samples"] == sum(len(row[4]) for row in rows[steps:]), stats["samples"]
            inside += bool(lines)
    assert inside > 1, "no test: no cut fell inside a block"
    data.remove()


if __name__ == "__main__":
    RUNNER = Runner(ORDER_RUN)
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER))
