#!/usr/bin/env python3
"""What is found out about lengths: when, how often, and that it changes nothing but what is asked for.

usage: test-lengths.py ORDER_RUN HR_LAUNCH [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

import tokenizer
from runner import Data, Runner, main, random_data, random_rules, record, show

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
