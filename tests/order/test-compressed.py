#!/usr/bin/env python3
"""*.jsonl.gz and *.jsonl.zst: the same order and bytes as of their texts, whatever the rules; spoilt ones are named with their byte.

usage: test-compressed.py ORDER_RUN [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import gzip
import random
import sys

from runner import Data, Runner, main, random_data, random_rules, record, show, zstd_frame

ORDER_RUN = sys.argv[1]
OPTIONS = {"n": 60, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[2:])}}


def pieces(rng, text):
    cuts = sorted(rng.randrange(len(text) + 1) for _ in range(rng.choice([0, 0, 1, 3])))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]


def zst(rng, text):
    """Frames, with skippable ones between them."""
    out = b""
    for piece in pieces(rng, text):
        if rng.random() < 0.3:
            out += b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
        out += zstd_frame(piece)
    return out


def gz(rng, text):
    """Members, and zeros behind the last."""
    return b"".join(gzip.compress(p, mtime=0) for p in pieces(rng, text)) + b"\0" * rng.choice([0, 0, 1, 512])


def compress(rng, data):
    packed = Data()
    for key, text in data.objects.items():
        suffix, pack = rng.choice([("", lambda rng, text: text), (".gz", gz), (".gz", gz), (".zst", zst), (".zst", zst)])
        packed.add(key + suffix, pack(rng, text))
    return packed


def stripped(steps):
    for step in steps:
        for member in step[4]:
            if member[0] is not None:
                member[0] = member[0].removesuffix(".gz").removesuffix(".zst")
    return steps


def check_round(runner, seed):
    rng = random.Random(seed)
    data = random_data(rng, bad=0.05)
    packed = compress(rng, data)
    rules, run = random_rules(rng, sum(map(len, data.objects.values())))
    run["scan"] = rng.choice(["auto", "auto", "lines"])
    run["rank"] = rng.randrange(run["world"])
    size = rng.choice([1, 2, 5])

    def text(folder, workers=1):
        return (f"on-error=skip {show(run)} filesrc location={folder} {show(rules)} max-expansion=0 ! jsonlparse workers={workers} ! "
                f"batch size={size} ! appsink")

    plain = runner.run(text(data.folder), take=60)
    mark = rng.randrange(1, 20)
    got = runner.run(text(packed.folder, rng.choice([1, 3])), take=60, mark=mark)
    assert (got["error"] is None) == (plain["error"] is None), (got["error"], plain["error"])
    strip = [[s[0], s[1], s[3], s[4]] for s in stripped(got["steps"])]
    wanted = [[s[0], s[1], s[3], s[4]] for s in plain["steps"]]
    for a, b in zip(strip, wanted):  # whoever knows lines numbers them, too
        for x, y in zip(a[3], b[3]):
            x[2] = y[2] = None
    assert strip == wanted, "the order or the bytes are others"
    if got["checkpoint"] and got["error"] is None:
        rest = runner.run(text(packed.folder), resume=got["checkpoint"], take=10)
        assert rest["error"] is None, rest["error"]
        after, whole = ([[m[:2] + m[3:] for m in s[4]] for s in stripped(one["steps"])] for one in (rest, got))
        n = min(len(after), len(whole) - mark)
        assert after[:n] == whole[mark:][:n] and (n > 0 or len(whole) == mark), "the rest is another"
    data.remove()
    packed.remove()


def test_order(runner):
    """members, frames, skippable frames: all as if they had been expanded before, also after a resume"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check_round(runner, seed)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:2])} seed={seed} n=1")
            raise


def fails(runner, key, content, words, more=""):
    for rules in ("shuffle=none", "shuffle=full"):
        data = Data()
        data.add(key, content)
        answer = runner.run(f"filesrc location={data.folder} {rules} {more} ! jsonlparse ! appsink")
        assert answer["error"], f"{key} {rules}: no error, {len(answer['steps'])} samples"
        for word in (f"{data.folder}/{key}: byte ", *words):
            assert word in answer["error"], (word, answer["error"])
        data.remove()


def test_spoilt(runner):
    """cut anywhere, changed, followed by something else, or nothing of the kind: an error with URI and byte"""
    rng = random.Random(7)
    text = b"".join(record(f"r{i}", 5) + b"\n" for i in range(50))
    for key, whole in (("a.jsonl.gz", gzip.compress(text)), ("a.jsonl.zst", zstd_frame(text))):
        for _ in range(12):
            fails(runner, key, whole[:rng.randrange(1, len(whole))], ["it ends inside"])
        for word, content in (("is no ", b"hello, world, this is text"), ("is no ", whole + b"hello, world, hello, world"),
                              ("is no ", whole[:len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 0x55]) * 40 + whole[len(whole) // 2 + 40:])):
            fails(runner, key, content, [word])


def test_bomb(runner):
    """a small object does not make a large text, unless that is allowed; one long line takes no memory"""
    text = b" " * (64 << 20) + b"\n" + record("a") + b"\n"
    for key, whole in (("a.jsonl.gz", gzip.compress(text)), ("a.jsonl.zst", zstd_frame(text))):
        fails(runner, key, whole, ["bytes of text so far, more than 250 for each stored byte", "max-expansion=0"])
        data = Data()
        data.add(key, whole)
        steps = runner.steps(f"filesrc location={data.folder} max-expansion=0 ! jsonlparse ! appsink")
        assert len(steps) == 1 and steps[0][4][0][1] == (64 << 20) + 1, steps
        data.remove()


if __name__ == "__main__":
    RUNNER = Runner(ORDER_RUN)
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER))
