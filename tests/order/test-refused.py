#!/usr/bin/env python3
"""What a run does not go on from: other data, another stream, another version, a broken document.

usage: test-refused.py ORDER_RUN HR_LAUNCH
"""
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import tokenizer
from runner import Data, Runner, main, record

ORDER_RUN, HR_LAUNCH = sys.argv[1], sys.argv[2]


class Stream:
    def __init__(self, runner):
        self.runner, self.data = runner, Data()
        for key, n in (("a.jsonl", 7), ("b.jsonl", 5)):
            self.data.add(key, b"".join(record(f"{key}-{i}") + b"\n" for i in range(n)))
        tokenizer.write(self.data.folder / "tokenizer.json")
        self.checkpoint = self.run(take=2, mark=2)["checkpoint"]
        self.rest = self.run()["steps"][2:]

    def text(self, run="", source="", parse="", tokens="", batch="", size=2, queue="max-batches=2"):
        return (f"{run} filesrc location={self.data.folder} {source} ! jsonlparse {parse} ! "
                f"tokenize tokenizer={self.data.folder}/tokenizer.json {tokens} ! "
                f"batch mode=padded size={size} {batch} ! prefetchqueue {queue} ! appsink")

    def run(self, take=-1, mark=0, resume=None, force=False, checkpoint=None, **parts):
        resume = self.checkpoint if resume else checkpoint
        return self.runner.run(self.text(**parts), take=take, mark=mark, resume=resume, force=force)

    def refused(self, pattern, **how):
        answer = self.run(**{"resume": True, **how})
        assert answer["error"] and re.search(pattern, answer["error"]), f"{pattern}: {answer['error']}"
        assert not answer.get("steps"), answer["steps"]

    def accepted(self, **how):
        answer = self.run(**{"resume": True, **how})
        assert answer["error"] is None, (how, answer["error"])
        return [s[4] for s in answer["steps"]]

    def goes_on(self, **how):
        got, wanted = self.accepted(**how), [s[4] for s in self.rest]
        assert [[m[:2] for m in s] for s in got] == [[m[:2] for m in s] for s in wanted], how


def test_data(runner):
    """other data is refused, with or without force, and what changed is named"""
    for force in (False, True):
        for change, pattern in (("grow", r"b\.jsonl had \d+ bytes .* and has"), ("touch", r"b\.jsonl had .*identity"),
                                ("add", r"aa\.jsonl is new"), ("remove", r"b\.jsonl is not there any more"),
                                ("rename", r"b\.jsonl is not there any more|c\.jsonl is new")):
            stream = Stream(runner)
            path = stream.data.folder / "b.jsonl"
            if change == "grow":
                path.write_bytes(path.read_bytes() + record("more"))
            elif change == "touch":
                os.utime(path, (1, 1))
            elif change == "add":
                stream.data.add("aa.jsonl", record("more"))
            elif change == "remove":
                path.unlink()
            else:
                path.rename(stream.data.folder / "c.jsonl")
            stream.refused(pattern, force=force)
            stream.data.remove()


def test_stream(runner):
    """a property that changes the stream is refused, with its old and new value"""
    stream = Stream(runner)
    for part, value, pattern in (
            ("source", "shuffle=full", "shuffle of filesrc location=.* was none and is full"),
            ("source", "seed=3", "seed of filesrc location=.* was 0 and is 3"), ("run", "seed=3", "seed of filesrc location=.* was 0 and is 3"),
            ("source", "block-bytes=100", "block-bytes of filesrc location=.* was 1MiB and is 100"),
            ("source", "window-blocks=3", "window-blocks of filesrc location=.* was 16 and is 3"),
            ("parse", "strip=none", "strip of jsonlparse was qwen and is none"),
            ("parse", "max-line-bytes=1MiB", "max-line-bytes of jsonlparse was 16MiB and is 1MiB"),
            ("tokens", "max-length=50", "max-length of tokenize was .* and is 50"),
            ("batch", "pad-id=7", "pad-id of batch was 151643 and is 7"),
            ("batch", "drop-last=true", "drop-last .*"),
            ("run", "on-error=skip", "on-error of the pipeline was fail and is skip")):
        stream.refused(pattern, **{part: value})
    stream.refused("a step had 2 samples of all ranks together and has 6", size=6)
    stream.refused("a step had 2 samples of all ranks together and has 4", run="world=2")
    changed = stream.runner.run(stream.text().replace("! batch", "! identity error-every=9 ! batch"), resume=stream.checkpoint)
    assert "batch" in changed["error"] and "identity" in changed["error"], changed
    stream.data.remove()


def test_accepted(runner):
    """what does not change the stream may change"""
    stream = Stream(runner)
    for how in ({"run": "serial=true"}, {"run": "cpus=1"}, {"run": "memory=1"}, {"run": "epochs=1"}, {"run": "max-errors=3"},
                {"run": "limit=1000"}, {"parse": "workers=4"}, {"tokens": "workers=3 queue-items=1"}, {"batch": "queue-bytes=1"},
                {"queue": ""}, {"queue": "max-batches=50"}, {"source": "queue-items=1"}, {"run": "checkpoint-every=3"}):
        stream.goes_on(**how)
    texts = [stream.text(run=f"world=2 rank={r}", size=1) for r in range(2)]
    ranks = [runner.steps(t, resume=stream.checkpoint) for t in texts]
    assert [[m[:2] for m in a[4] + b[4]] for a, b in zip(*ranks)] == [[m[:2] for m in s[4]] for s in stream.rest]
    plain = runner.run(stream.text().replace("! prefetchqueue max-batches=2", ""), resume=stream.checkpoint)
    assert len(plain["steps"]) == len(stream.rest), plain["error"]
    stream.data.remove()


def test_version(runner):
    """another version is refused unless forced, another format always"""
    stream = Stream(runner)
    other = json.loads(stream.checkpoint)
    other["headrace"] = "9.9.9"
    stream.refused(r"written by headrace 9\.9\.9", resume=None, checkpoint=json.dumps(other))
    stream.goes_on(resume=None, checkpoint=json.dumps(other), force=True)
    other["checkpoint"] += 1
    for force in (False, True):
        stream.refused("the checkpoint has format", resume=None, checkpoint=json.dumps(other), force=force)
    stream.data.remove()


def test_force(runner):
    """force goes on where the order is the same: behind the source, not in it"""
    stream = Stream(runner)
    stream.goes_on(force=True, parse="strip=none")
    stream.goes_on(force=True, batch="pad-id=7")
    stream.refused("shuffle of filesrc location=.*", force=True, source="shuffle=full")
    stream.refused("a step had 2", force=True, size=6)
    stream.data.remove()


def test_broken(runner):
    """a document that was cut, anywhere, is refused as none; so is anything else"""
    stream = Stream(runner)
    whole = stream.checkpoint
    for n in range(len(whole.rstrip()) - 1):
        stream.refused("this is no checkpoint", resume=None, checkpoint=whole[:n])
    for text in ("", " ", "null", "[]", "{}", "1", '"x"', "[" * 10000, '{"a":' * 1000000, '{"a":"' + '[' * 1000000 + '"}', whole + "}", '{"checkpoint":1}', whole + whole, "\x00" + whole):
        stream.refused("this is no checkpoint", resume=None, checkpoint=text)
    stream.data.remove()


def test_places(runner):
    """where to begin is told by whole numbers; anything else would be another place, and is refused"""
    stream = Stream(runner)
    for name in ("unit", "byte", "first", "lines"):
        for value in ("x", -1, 1.5, 2**63, [], None, ...):
            other = json.loads(stream.checkpoint)
            other["data"][0][name] = value
            if value is ...:
                del other["data"][0][name]
            if name != "lines" or value is not None:  # which need not be known
                stream.refused("this is no checkpoint", resume=None, checkpoint=json.dumps(other))
    for unit in (1000, 2**62, 2**63 - 1):
        other = json.loads(stream.checkpoint)
        other["data"][0]["unit"] = unit
        stream.refused("is not in the data", resume=None, checkpoint=json.dumps(other))
    stream.data.remove()


VALUES = [None, True, -1, 0, 1, 2**31, 2**32, 2**62, 2**63 - 1, -2**63, 2**64, 0.5, 1e300, "", "x", "1", [], [1], {}, {"a": 1}]


def change_at_random(rng, node):
    """One value somewhere in the tree becomes another, or goes, or a member comes twice."""
    places = []

    def walk(at):
        for k in (at if isinstance(at, dict) else range(len(at))):
            places.append((at, k))
            if isinstance(at[k], (dict, list)):
                walk(at[k])
    walk(node)
    where, k = rng.choice(places)
    if rng.random() < 0.1:
        del where[k]
    else:
        where[k] = rng.choice(VALUES)


def test_hostile(runner):
    """any value of a document may be anything: an error, or a run that ends; never a crash or a hang"""
    stream, n_accepted = Stream(runner), 0
    for seed in range(1500):
        rng = random.Random(seed)
        document = json.loads(stream.checkpoint)
        for _ in range(rng.choice([1, 1, 2, 4])):
            change_at_random(rng, document)
        answer = stream.run(checkpoint=json.dumps(document), force=rng.random() < 0.5,
                            source=rng.choice(["", "shuffle=window"]))
        assert answer["error"] is None or len(answer["error"]) < 2000, answer["error"]
        n_accepted += answer["error"] is None
    assert 100 < n_accepted < 1400, n_accepted
    stream.data.remove()


def test_launch(runner):
    """hr-launch says which file, and keeps it"""
    stream = Stream(runner)
    text = stream.text().replace("appsink", "fakesink")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "checkpoint"
        for content, pattern in ((stream.checkpoint[:50], r"checkpoint: this is no checkpoint"), ("", "no checkpoint")):
            file.write_text(content)
            done = subprocess.run([HR_LAUNCH, "-q", "--checkpoint", file, "--resume", text], capture_output=True, text=True, check=False)
            assert done.returncode and str(file) in done.stderr and re.search(pattern, done.stderr), done
            assert file.read_text() == content
        file.write_text(stream.checkpoint)
        changed = text.replace("pad-id", "").replace("mode=padded", "mode=padded pad-id=7")
        for options, status in (["--resume"], 1), (["--resume=force"], 0):
            done = subprocess.run([HR_LAUNCH, "-q", "--checkpoint", file, *options, changed], capture_output=True, text=True, check=False)
            assert done.returncode == status or (status and done.returncode == 2), done
            assert "pad-id of batch was 151643 and is 7" in done.stderr, done
        # that there cannot be one is told before the first step
        place = pathlib.Path(folder) / "missing" / "checkpoint"
        done = subprocess.run([HR_LAUNCH, "-q", "--checkpoint", place, text], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and f"{place}: no file can be written into" in done.stderr, done
    stream.data.remove()


if __name__ == "__main__":
    RUNNER = Runner(ORDER_RUN)
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER))
