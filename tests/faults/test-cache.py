#!/usr/bin/env python3
"""The object cache between processes: two at once, killed while they write, on a disk that is full.

usage: test-cache.py HR_LAUNCH SOURCE_ROOT
"""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests/s3"))
from badnight.client import BadNight  # noqa: E402 # pylint: disable=wrong-import-position

N = 40


def make_data(folder):
    """images that are none, of 1 to 40 kB"""
    (folder / "i").mkdir(parents=True)
    rng, lines = random.Random(1), []
    for n in range(N):
        (folder / "i" / str(n)).write_bytes(rng.randbytes(1000 * (n + 1)))
        lines.append(json.dumps({"id": f"r{n}", "image": f"i/{n}", "conversations": [
            {"from": "human", "value": "<image>What?"}, {"from": "gpt", "value": "That."}]}))
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n")


class Runs:
    def __init__(self, night):
        self.night = night
        self.environment = night.child_environment(HR_PLAN_CACHE="")
        self.right = self.end(self.start(""))["sha256"]

    def start(self, cache, more="", prefix=()):
        setting = f"cache={cache} " if cache else ""
        return subprocess.Popen(
            [*prefix, HR_LAUNCH, "-q", "--checksum", "--stats=json",
             f"s3src location=s3://data/ {setting} ! jsonlparse ! imagefetch {setting} {more} ! fakesink"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

    @staticmethod
    def end(run):
        told, errors = run.communicate(timeout=100)
        assert run.returncode == 0, errors
        return {**json.loads(told.splitlines()[-1]), "errors": errors}

    def check(self, run):
        got = self.end(run)
        assert got["sha256"] == self.right, "other bytes"
        return next(e for e in got["elements"] if e["factory"] == "imagefetch"), got["errors"]


def names(cache):
    return sorted(p.name for p in cache.iterdir())


def test_together(runs, folder):
    """four processes at once, with the server asked and not: the same bytes, and each object once"""
    cache = folder / "c"
    for age in ("", "cache-age=1h"):
        for run in [runs.start(cache, age) for _ in range(4)]:
            fetch, errors = runs.check(run)
            assert fetch["cache_spoilt"] == 0 and fetch["cache_not_stored"] == 0 and not errors, (fetch, errors)
    assert len([n for n in names(cache) if not n.endswith(".object")]) == 0, names(cache)
    fetch, _ = runs.check(runs.start(cache, "cache-age=1h"))
    assert (fetch["cache_hits"], fetch["requests"]) == (N, 0), fetch


def test_killed(runs, folder):
    """killed while they write, two at once: what is left is whole, or as good as none; halves go when they are old"""
    cache, rng = folder / "c", random.Random()
    for _ in range(12):
        pair = [runs.start(cache), runs.start(cache, "cache-age=1h")]
        time.sleep(rng.uniform(0.02, 0.25))
        for run in pair:
            run.send_signal(signal.SIGKILL)
            run.communicate()
    if not cache.is_dir():  # a machine that has so much to do that none has come to store anything
        run = runs.start(cache)
        while not cache.is_dir() and run.poll() is None:
            time.sleep(0.005)
        run.kill()
        run.communicate()
    assert cache.is_dir(), "nothing is stored"
    # as if a kill had been between the bytes and the name, some time ago
    old = cache / ("0" * 64 + ".abcdef.tmp")
    old.write_bytes(b"half")
    os.utime(old, (0, 0))
    fresh = cache / ("1" * 64 + ".abcdef.tmp")
    fresh.write_bytes(b"half")
    # what is missing by now is stored, and that removes it
    for path in list(cache.glob("*.object"))[:3]:
        path.unlink()
    fetch, _ = runs.check(runs.start(cache))
    assert not old.exists() and fresh.exists(), names(cache)
    fetch, _ = runs.check(runs.start(cache, "cache-age=1h"))
    assert (fetch["cache_hits"], fetch["cache_spoilt"], fetch["requests"]) == (N, 0, 0), fetch


def test_full(runs, folder):
    """a file system that is full: one warning an element, counted, the same bytes, no half of a file"""
    cache = folder / "c"
    cache.mkdir()
    # a mount of its own, which ends with the process
    script = ('mount -t tmpfs -o size=300k none "$1" || exit 99; c=$1; shift; "$@"; s=$?; ls "$c" >&2; exit $s')
    run = runs.start(cache, prefix=("unshare", "-rm", "sh", "-c", script, "sh", str(cache)))
    told, errors = run.communicate(timeout=100)
    if run.returncode == 99 or "unshare: " in errors:
        return "no mounts here"
    assert run.returncode == 0, errors
    got = json.loads(told.splitlines()[-1])
    fetch = next(e for e in got["elements"] if e["factory"] == "imagefetch")
    assert got["sha256"] == runs.right, "other bytes"
    warnings = [line for line in errors.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1 and "No space left on device: goes on without storing more" in warnings[0], errors
    assert fetch["cache_not_stored"] > 0 and 0 < fetch["cache_stored_bytes"] < 300 << 10, fetch
    assert not re.search(r"\.tmp$", errors, re.MULTILINE), errors
    return None


def test_read_only(runs, folder):
    """a folder that may be read only: what is in it is used"""
    cache = folder / "c"
    runs.check(runs.start(cache))
    # root may write anywhere: a file system that is mounted for reading
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99; shift; exec "$@"'
    for path in list(cache.glob("*.object"))[:5]:
        path.unlink()
    run = runs.start(cache, "cache-age=1h", prefix=("unshare", "-rm", "sh", "-c", script, "sh", str(cache)))
    told, errors = run.communicate(timeout=100)
    if run.returncode == 99 or "unshare: " in errors:
        return "no mounts here"
    assert run.returncode == 0, errors
    got = json.loads(told.splitlines()[-1])
    assert got["sha256"] == runs.right, "other bytes"
    assert "Read-only file system" in errors and errors.count("warning: ") <= 2, errors
    fetch = next(e for e in got["elements"] if e["factory"] == "imagefetch")
    assert fetch["cache_hits"] >= N - 5, fetch
    return None


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    print(f"1..{len(tests)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="headrace-cache-") as root, BadNight("--root", root) as night:
        make_data(pathlib.Path(root) / "data")
        runs = Runs(night)
        for i, (_, test) in enumerate(tests, 1):
            try:
                with tempfile.TemporaryDirectory(prefix="headrace-cache-") as folder:
                    skipped = test(runs, pathlib.Path(folder))
                print(f"ok {i} {test.__doc__.splitlines()[0]}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
            except Exception:  # a failed test is a line of TAP, whatever it was
                print("# " + traceback.format_exc().replace("\n", "\n# "))
                print(f"not ok {i} {test.__doc__}", flush=True)


main()
