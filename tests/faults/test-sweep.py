#!/usr/bin/env python3
"""Fail the n-th step that can fail, n = 1, 2, 3 …, until a run is over before its n-th step; as SQLite is tested.

usage: test-sweep.py HR_LAUNCH FAIL_NTH SOURCE_ROOT [every=N] [seed=N] [only=NAME]

A step is a call on what belongs to the run: a file, a socket, a memfd, a thread (tests/faults/fail-nth.c). It fails once,
or from then on always, or the process is killed there. Each run must end with the exact result, or with one error that is
true; what goes on from its checkpoint, with the caches that it has left, must make it exact; and nothing may be left over:
no descriptor, no temporary file, no process that hangs.

every=N: only each N-th n, beginning at one that the seed chooses.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import traceback

HR_LAUNCH, FAIL_NTH, ROOT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
OPTIONS = dict(a.split("=", 1) for a in sys.argv[4:])
EVERY, ONLY = int(OPTIONS.get("every", 1)), OPTIONS.get("only", "")
HANG = 30  # seconds: a run takes a fraction of one
RANDOM = random.Random(int(OPTIONS.get("seed", random.randrange(1 << 30))))
sys.path[:0] = [str(ROOT / "tests/order"), str(ROOT / "tests/s3")]
import tokenizer  # noqa: E402 # pylint: disable=wrong-import-position
from badnight.client import BadNight  # noqa: E402 # pylint: disable=wrong-import-position

IMAGES = ["tiny10.png", "rgba.png", "exif6.jpg", "bilevel.png"]
MODES = ("once", "from", "kill")
# those that pass by another try
FAULTS = ("reset-head", "reset-body", "close-head", "truncate", "short-length", "error-in-200", "500", "range-ignored", "range-wrong",
          "list-cut", "list-error-in-200", "stall-head", "stall-body", "slow-down")
PATIENCE = " tries=4 first-byte-timeout=500ms progress-timeout=500ms"


def make_data(folder):
    """Four records a file; one with an image that is none, one that is no JSON: they are skipped."""
    (folder / "images").mkdir(parents=True)
    for name in IMAGES:
        shutil.copy(ROOT / "tests/data/golden/images" / name, folder / "images" / name)
    (folder / "images/bad.png").write_bytes(b"no image")
    for k, name in enumerate("ab"):
        lines = []
        for i in range(4):
            n = 4 * k + i
            image = "images/" + ("bad.png" if n == 6 else IMAGES[n % len(IMAGES)])
            lines.append(json.dumps({"id": f"r{n}", "image": image, "conversations": [
                {"from": "human", "value": f"<image>What is {n}?"}, {"from": "gpt", "value": "A picture. " * (n + 1)}]}))
        lines[2 - k] = lines[2 - k][:-3] if k == 0 else lines[2 - k]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def is_about(message, failed):
    _, call, code, path = failed
    words = ["connect", "Connect"] if call in ("socket", "connect") else ["reset", "Recv", "Send"] if call in ("recv", "send") else []
    return any(w in message for w in [os.strerror(int(code)), *words]) or (path.startswith("/") and path in message)


class Case:
    """One pipeline in a folder of its own, run again and again with steps that fail. Runs share nothing that they write."""
    at_once = 2 * (os.cpu_count() or 1)  # most of a run is starting and waiting

    def __init__(self, name, source, environment=None, fetch=""):
        self.name, self.source, self.fetch = name, source, fetch
        self.temporary = tempfile.TemporaryDirectory(prefix="headrace-sweep-")
        self.folder = pathlib.Path(self.temporary.name)
        self.environment = environment or {}
        make_data(self.folder / "data")
        tokenizer.write(self.folder / "data/tokenizer.json")
        self.right = self.exact()

    def text(self, out, work):
        return (f"{self.source.format(data=self.folder / 'data', cache=work / 'objects')} ! jsonlparse ! "
                f"imagefetch {self.fetch.format(cache=work / 'objects')} ! "
                f"tokenize tokenizer={self.folder}/data/tokenizer.json min-pixels=4096 max-pixels=16384 ! imagedecode ! resize ! "
                f"batch mode=padded size=2 ! prefetchqueue max-batches=2 ! npysink location={out}")

    def run(self, work, out, nth=0, mode="once"):
        """(exit status, lines on stderr, steps counted, what failed, descriptors left open)"""
        report = work / "report"
        report.unlink(missing_ok=True)
        ours = [self.folder / "data", work / "state", work / "objects", work / "plan", out]
        command = [HR_LAUNCH, "-q", "--on-error=skip", "--checkpoint", work / "state/checkpoint", "--checkpoint-every=1", "--resume",
                   "--dead-letter", work / "state/dead",
                   self.text(out, work)]
        preload = {"LD_PRELOAD": FAIL_NTH, "HR_FAIL_NTH": str(nth), "HR_FAIL_MODE": mode, "HR_FAIL_REPORT": str(report),
                   "HR_FAIL_FOLDERS": ":".join(map(str, ours)), "HR_PLAN_CACHE": str(work / "plan")}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False,
                                  env={**os.environ, **self.environment, **preload})
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"step {nth} ({mode}): it hangs: {report.read_text()} {error.stderr}") from error
        told = [line.split(" ", 1) for line in report.read_text().splitlines()]
        count = next((int(rest) for word, rest in told if word == "steps"), None)
        failed = [rest.split(" ", 3) for word, rest in told if word == "failed"]
        return done.returncode, done.stderr.splitlines(), count, failed, [rest for word, rest in told if word == "open"]

    @staticmethod
    def steps(out):
        """Of each whole step: its digest. The JSON is written last, and makes it whole. (Numbers of lines and samples are a run's own.)"""
        found = []
        for path in sorted(out.glob("*.json")):
            try:
                told = json.loads(path.read_text())
            except ValueError:
                break
            digest = hashlib.sha256(repr([[m[k] for k in ("id", "byte", "length", "epoch")] for m in told["members"]]).encode())
            for array in sorted(out.glob(path.stem + ".*.npy")):
                digest.update(array.name.partition(".")[2].encode() + array.read_bytes())
            found.append((told["epoch"], digest.hexdigest()))
        return found

    @staticmethod
    def letters(work):
        """Which samples were noted as skipped, and why: each once."""
        file = work / "state/dead"
        letters = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return sorted((letter["uri"].rpartition("/")[2], letter["byte"], letter["kind"]) for letter in letters)

    def exact(self):
        work = self.new_work()
        status, errors, self.count, failed, left = self.run(work, work / "out")
        assert status == 3 and not failed, (status, errors)
        # credentials are the process's, and so is what wakes their thread
        assert set(left) <= {"eventfd"} and len(left) <= 2, f"descriptors that a run without faults leaves open: {left}"
        self.left = len(left)
        steps = self.steps(work / "out")
        assert len(steps) == 4, steps
        self.right_letters = self.letters(work)
        assert [letter[2] for letter in self.right_letters] == ["bad-json", "media-undecodable"], self.right_letters
        # once more: everything is kept by now, and nothing is different
        shutil.rmtree(work / "state")
        (work / "state").mkdir()
        assert self.run(work, work / "again")[0] == 3 and self.steps(work / "again") == steps
        shutil.rmtree(work)
        return steps

    def leaks_nothing(self, left):
        return set(left) <= {"eventfd"} and len(left) <= self.left

    def new_work(self):
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (work / "state").mkdir()
        return work

    def check_end(self, work, status, errors, failed):
        """Whether the run was exact to its end."""
        own = [line for line in errors if line.startswith("hr-launch: ")]
        if status == 3:
            assert not own, own
            return self.steps(work / "out")
        assert status == 1, f"exit status {status}"
        assert len(own) == 1, f"{len(own)} errors"
        assert any(is_about(own[0], f) for f in failed), "the error is about none of the faults"
        return None

    def check_nothing_left(self, work):
        """of temporary files; a killed run may leave some, which the next one or time removes"""
        files = [p.name for folder in ("state", "objects", "plan") for p in (work / folder).glob("*")]
        assert [f for f in files if not f.endswith((".lines", ".object", "checkpoint", "dead"))] == [], files

    def one(self, nth, mode):
        """False: the run was over before its n-th step"""
        work = self.new_work()
        status, errors, failed = None, [], []
        try:
            status, errors, count, failed, left = self.run(work, work / "out", nth, mode)
            if not failed:
                assert status == 3 and self.steps(work / "out") == self.right
                return False
            self.note(failed[0])
            if mode == "kill":
                assert status == -9, f"exit status {status}"
                whole = None
            else:
                whole = self.check_end(work, status, errors, failed)
                assert count is not None and self.leaks_nothing(left), f"descriptors left open: {left}"
                self.check_nothing_left(work)
            if whole is not None:
                assert whole == self.right, "the result is another one"
                assert self.letters(work) == self.right_letters, self.letters(work)
                self.recovered += 1
            # go on from the checkpoint, with what is in the caches
            checkpoint = work / "state/checkpoint"
            done = json.loads(checkpoint.read_text())["steps"] if checkpoint.exists() else 0
            before = self.steps(work / "out")[:done]
            status, errors, _, _, left = self.run(work, work / "more")
            assert status in (0, 3) and self.leaks_nothing(left), (status, errors, left)
            steps = before + self.steps(work / "more")
            assert self.letters(work) == self.right_letters, self.letters(work)
            assert steps == self.right, f"gone on from step {done}: {len(steps)} steps, or other bytes"
            # and what has been kept is right: all of it once more
            checkpoint.unlink()
            status, errors, _, _, left = self.run(work, work / "again")
            assert status == 3 and self.steps(work / "again") == self.right, (status, errors)
            return True
        except AssertionError as error:
            raise AssertionError(f"step {nth} ({mode}) {failed[:3]}: {error}\nexit status {status}\n" + "\n".join(errors)) from error
        finally:
            shutil.rmtree(work)

    def note(self, failed):
        self.calls[failed[1]] = self.calls.get(failed[1], 0) + 1

    def sweep(self, mode):
        self.calls, self.recovered, n = {}, 0, 0
        faults = []
        every = 1 + EVERY // 9 if self.name == "requests" else EVERY
        nth = int(OPTIONS.get("from", 1 + RANDOM.randrange(every)))
        with concurrent.futures.ThreadPoolExecutor(self.at_once) as pool:
            over = False
            while not over and len(faults) < 5:
                runs = [pool.submit(self.one, nth + k * every, mode) for k in range(self.at_once)]
                for run in runs:
                    try:
                        if not run.result():
                            over = True
                            continue
                    except AssertionError as error:
                        faults.append(str(error))
                        print("# " + str(error).replace("\n", "\n# "), flush=True)
                    n += 1
                nth += every * self.at_once
        print(f"# {self.name}, {mode}: {n} runs, {self.recovered} recovered; {self.calls}", flush=True)
        assert n > 0 or EVERY > 1, "no step could fail"
        assert not faults, f"{len(faults)} runs were not as they should be"


class Requests(Case):
    """The same from S3: it is the n-th request that fails, as each fault of the server has it, which has one rule at a time."""
    at_once = 1

    def __init__(self, night, *args):
        self.night = night
        super().__init__("requests", *args)

    def one(self, nth, mode):
        self.night.rules({"fault": mode, "nth": [nth]})
        work = self.new_work()
        try:
            status, errors, _, _, left = self.run(work, work / "out")
            fired = self.night.counts()["rules"][0][1]
            assert status == 3 and self.leaks_nothing(left), (status, errors, left)
            assert self.steps(work / "out") == self.right, "the result is another one"
            self.check_nothing_left(work)
            self.recovered += fired
            return fired > 0
        except AssertionError as error:
            raise AssertionError(f"request {nth} ({mode}): {error}") from error
        finally:
            self.night.rules()
            shutil.rmtree(work)


def main():
    # one session of hr-launch starts a server, too, that serves the same data
    with tempfile.TemporaryDirectory(prefix="headrace-sweep-") as root, BadNight("--root", root) as night:
        make_data(pathlib.Path(root) / "data")
        remote = ("s3src location=s3://data/*.jsonl part-bytes=300 shuffle=window block-bytes=400 cache={cache}" + PATIENCE,
                  "cache={cache}" + PATIENCE)
        cases = {"files": lambda: Case("files", "filesrc location={data}/*.jsonl shuffle=window block-bytes=400"),
                 "s3": lambda: Case("s3", remote[0], night.child_environment(), remote[1]),
                 "requests": lambda: Requests(night, remote[0], night.child_environment(), remote[1])}
        tests = [(name, mode) for name in cases for mode in (FAULTS if name == "requests" else MODES) if ONLY in f"{name} {mode}"]
        print(f"1..{len(tests)}", flush=True)
        made = {}
        for i, (name, mode) in enumerate(tests, 1):
            try:
                made[name] = made.get(name) or cases[name]()
                made[name].sweep(mode)
                print(f"ok {i} {name}: {mode}", flush=True)
            except Exception:  # a failed test is a line of TAP, whatever it was
                print("# " + traceback.format_exc().replace("\n", "\n# "))
                print(f"not ok {i} {name}: {mode}", flush=True)


main()
