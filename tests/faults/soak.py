#!/usr/bin/env python3
"""The main job against the server for bad nights, killed and gone on again and again: nothing lost, nothing twice, nothing left.

usage: soak.py HR_LAUNCH SOURCE_ROOT [SUMMARY]

HR_SOAK_SECONDS (3600) is how long, HR_SOAK_SEED what is drawn, HR_SOAK_RATE (0.01) the share that is spoiled: in half of the
lives of the process of all requests, in the other half by each of the faults by itself, some eighty of them, so that every
second request is spoiled. One process at a time. What the job must deliver comes from a clean run over
the same files on disk. SUMMARY is a JSON file with the figures; docs/reliability.md explains them.
"""
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
SUMMARY = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
SECONDS = float(os.environ.get("HR_SOAK_SECONDS", 3600))
RATE = float(os.environ.get("HR_SOAK_RATE", 0.01))
SEED = int(os.environ.get("HR_SOAK_SEED", time.time()))
sys.path[:0] = [str(ROOT / "tests/order"), str(ROOT / "tests/s3")]
import tokenizer  # noqa: E402 # pylint: disable=wrong-import-position
from badnight.client import BadNight  # noqa: E402 # pylint: disable=wrong-import-position
from badnight import answers, bodies, lists  # noqa: E402,F401 # pylint: disable=wrong-import-position,unused-import
from badnight.faults import FAULTS  # noqa: E402 # pylint: disable=wrong-import-position

IMAGES = ["tiny10.png", "rgba.png", "exif6.jpg", "bilevel.png", "gray.jpg", "la.png", "palette_trns.png", "lossy.webp"]
N_FILES, N_RECORDS, EPOCHS, BATCH = 3, 16, 50, 4
ORDER = f"epochs={EPOCHS} seed=5 shuffle=window block-bytes=1000 window-blocks=3"
# a life of the process, in seconds: mostly short, some long enough to see memory grow
LIVES = ((0.02, 1), (0.5, 8), (5, 30), (60, 240))
WARM = 20  # seconds of a life before its memory counts
MOST_GROWTH = 24 << 20  # bytes from the second to the last quarter of a life
MOST_FDS = 64  # 8 transfers, as many idle connections, what the process has anyway


def make_data(folder):
    (folder / "images").mkdir(parents=True)
    names = []
    for k in range(N_FILES):
        lines = []
        for i in range(N_RECORDS):
            n = N_RECORDS * k + i
            source = IMAGES[n % len(IMAGES)]
            name = f"{n}{pathlib.Path(source).suffix}"
            shutil.copy(ROOT / "tests/data/golden/images" / source, folder / "images" / name)
            names.append(name)
            lines.append(json.dumps({"id": f"r{n}", "image": f"images/{name}", "conversations": [
                {"from": "human", "value": f"<image>What is {n}?"}, {"from": "gpt", "value": "A picture. " * (n % 7 + 1)}]}))
        (folder / f"{k}.jsonl").write_text("\n".join(lines) + "\n")
    return names


def survivable():
    """All but those after which a client may end as well, or does as yet; the test of single faults names them."""
    tables = (ROOT / "tests/s3/test-bad-night-launch.py").read_text().partition("\nONCE = {")[2].partition("\nALWAYS = {")
    tables = tables[0] + tables[2].partition("\nPENDING = {")[2].partition("\n}")[0]
    unfit = set(re.findall(r'\("([a-z0-9-]+)", (?:"text"|"image"|"list"|None)[,)]', tables))
    assert "huge-length" in unfit and "range-416" in unfit, unfit
    unfit.add("long-length")  # of a first answer it is the object's size, and all others are wrong then
    return [f.name for f in FAULTS.values() if f.kind in ("legal", "passing") and f.name not in unfit]


class Soak:
    def __init__(self, folder, night):
        self.folder, self.night, self.random = folder, night, random.Random(SEED)
        self.summary = {"seconds": SECONDS, "seed": SEED, "rate": RATE, "sessions": 0, "lives": 0, "killed": 0, "ended": 0,
                        "steps": 0, "steps_again": 0, "samples": 0, "fd_max": 0, "rss_max": 0, "growth_max": 0, "lives_measured": 0,
                        "requests": 0, "faults": {}, "client_requests": 0, "server_requests": 0, "retries": 0, "cache_hits": 0, "cache_misses": 0}
        tokenizer.write(folder / "tokenizer.json")
        self.right = self.reference()

    def text(self, source, fetch, out):
        return (f"{source} {ORDER} ! jsonlparse ! imagefetch concurrency=8 {fetch} ! "
                f"tokenize tokenizer={self.folder}/tokenizer.json min-pixels=4096 max-pixels=16384 ! imagedecode ! resize ! "
                f"batch mode=padded size={BATCH} ! prefetchqueue max-batches=4 ! npysink location={out}")

    def take(self, out, wanted=None):
        """Digests of the whole steps that lie there, in their order; they are removed. The JSON is written last."""
        steps = []
        for path in sorted(out.glob("*.json")):
            try:
                told = json.loads(path.read_text())
            except ValueError:
                break  # it is being written
            digest = hashlib.sha256(repr([[m[k] for k in ("id", "byte", "length", "epoch")] for m in told["members"]]).encode())
            for array in sorted(out.glob(path.stem + ".*.npy")):
                digest.update(array.name.partition(".")[2].encode() + array.read_bytes())
                array.unlink()
            path.unlink()
            steps.append(digest.hexdigest())
            if wanted is not None and len(steps) >= wanted:
                break
        return steps

    def reference(self):
        out = self.folder / "reference"
        run = subprocess.Popen([HR_LAUNCH, "-q", self.text(f"filesrc location={self.folder}/root/corpus/", "", out)])
        steps = []
        while run.poll() is None:
            time.sleep(0.3)
            steps += self.take(out)
        steps += self.take(out)
        assert run.returncode == 0, f"the reference run exits with {run.returncode}"
        assert len(steps) == EPOCHS * N_FILES * N_RECORDS // BATCH, len(steps)
        return steps

    def watch(self, run, until, out, samples):
        """Looks at the process until it ends, or its time has come; gives what it has delivered."""
        steps, begun = [], time.monotonic()
        while run.poll() is None and time.monotonic() < until:
            try:
                rss = int(pathlib.Path(f"/proc/{run.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                fds = len(os.listdir(f"/proc/{run.pid}/fd"))
            except (OSError, IndexError, ValueError):
                break  # it has just ended
            samples.append((time.monotonic() - begun, rss, fds))
            steps += self.take(out)
            time.sleep(min(0.5, max(until - time.monotonic(), 0.001)))
        return steps

    def check_samples(self, samples):
        self.summary["fd_max"] = max([self.summary["fd_max"], *[s[2] for s in samples]])
        self.summary["rss_max"] = max([self.summary["rss_max"], *[s[1] for s in samples]])
        assert self.summary["fd_max"] <= MOST_FDS, f"{self.summary['fd_max']} descriptors are open"
        warm = [s for s in samples if s[0] > WARM]
        if len(warm) < 60:
            return
        quarter = len(warm) // 4
        growth = statistics.median(s[1] for s in warm[-quarter:]) - statistics.median(s[1] for s in warm[quarter:2 * quarter])
        # descriptors come and go; a leak would show in the least of them
        leak = min(s[2] for s in warm[-quarter:]) - min(s[2] for s in warm[quarter:2 * quarter])
        self.summary["lives_measured"] += 1
        self.summary["growth_max"] = max(self.summary["growth_max"], growth)
        assert growth < MOST_GROWTH, f"the process grew by {growth >> 20} MiB in {warm[-1][0]:.0f} s"
        assert leak <= 8, f"{leak} more descriptors are open at the end of {warm[-1][0]:.0f} s"

    def check_steps(self, first, steps, known):
        """@first: which step the first of them is; @known: how many had been seen before"""
        for n, digest in enumerate(steps, first):
            assert n < len(self.right), f"step {n} of {len(self.right)}"
            assert digest == self.right[n], f"step {n} is another one, or has other bytes"
        self.summary["steps"] += max(first + len(steps) - max(known, first), 0)
        self.summary["steps_again"] += max(min(known, first + len(steps)) - first, 0)

    def life(self, session, known, until):
        """Runs the job once; returns (steps that have been delivered so far, whether it has ended)."""
        out, checkpoint = pathlib.Path(tempfile.mkdtemp(dir=session)), session / "checkpoint"
        first = json.loads(checkpoint.read_text())["steps"] if checkpoint.exists() else 0
        assert first <= known, f"the checkpoint is at step {first}, delivered were {known}: some would be lost"
        cache = f" cache={self.folder}/cache cache-size=1MiB" if self.summary["sessions"] % 2 else ""
        patience = " tries=100 first-byte-timeout=2s progress-timeout=2s connect-timeout=2s" + cache
        self.draw_night()
        run = subprocess.Popen([HR_LAUNCH, "-q", "--stats=json", "--checkpoint", checkpoint, "--checkpoint-every=3", "--resume",
                                self.text("s3src location=s3://corpus/" + patience, patience, out)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=self.night.child_environment(HR_PLAN_CACHE=str(self.folder / "plan")))
        samples = []
        least, most = self.random.choices(LIVES, (2, 4, 4, 2))[0]
        steps = self.watch(run, min(time.monotonic() + self.random.uniform(least, most), until), out, samples)
        killed = run.poll() is None
        if killed:
            run.send_signal(signal.SIGKILL)
        told, errors = run.communicate()
        steps += self.take(out)
        shutil.rmtree(out)
        self.summary["lives"] += 1
        self.summary["killed" if killed else "ended"] += 1
        self.check_steps(first, steps, known)
        self.check_samples(samples)
        if not killed:
            assert run.returncode == 0, f"exit status {run.returncode}\n{errors}"
            assert first + len(steps) == len(self.right), f"the job ended behind step {first + len(steps)} of {len(self.right)}"
            self.compare_requests(json.loads(told.splitlines()[-1]))
        self.count_faults()
        return max(known, first + len(steps)), not killed

    def draw_night(self):
        """What goes wrong in this life; the server's counts begin anew."""
        wild = self.random.random() < 0.5
        self.night.night(self.random.randrange(1 << 30), 0 if wild else RATE, ",".join(survivable()))
        self.night.rules(*[{"fault": name, "rate": RATE} for name in survivable() if wild])

    def count_faults(self):
        counts = self.night.counts()
        self.summary["requests"] += counts["requests"]
        for name, n in counts["faults"].items():
            self.summary["faults"][name] = self.summary["faults"].get(name, 0) + n

    def compare_requests(self, stats):
        """The server has seen what the client says that it has sent, but for what it refused to listen to."""
        elements = [e for e in stats["elements"] if "requests" in e]
        sent, seen = sum(e["requests"] for e in elements), self.night.counts()["requests"]
        self.summary["client_requests"] += sent
        self.summary["server_requests"] += seen
        self.summary["retries"] += sum(e["retries"] for e in elements)
        for name in ("cache_hits", "cache_misses"):
            self.summary[name] += sum(e.get(name, 0) for e in elements)
        assert 0.5 * sent <= seen <= sent * 1.05 + 16, f"the client says {sent} requests, the server {seen}"

    def run(self):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            session, known, ended = pathlib.Path(tempfile.mkdtemp(dir=self.folder)), 0, False
            while not ended and time.monotonic() < until:
                known, ended = self.life(session, known, until)
            left = [p.name for p in session.iterdir() if p.name != "checkpoint" and not p.name.startswith("checkpoint.")]
            assert not left, f"left over: {left}"
            shutil.rmtree(session)
            self.summary["sessions"] += 1
        self.summary["samples"] = self.summary["steps"] * BATCH
        met = len(self.summary["faults"])
        assert self.summary["steps"] > 0, "nothing was delivered"
        # as many kinds as there are, once the time was long enough to meet them
        kinds = len(survivable())
        self.summary["left_out"] = sorted(f.name for f in FAULTS.values() if f.kind in ("legal", "passing") and f.name not in survivable())
        self.summary["kinds_met"], self.summary["kinds"] = met, kinds
        if SECONDS >= 1800:
            assert met >= kinds * 2 // 3, f"{met} of {kinds} kinds of faults were met"


def main():
    print("1..1", flush=True)
    with tempfile.TemporaryDirectory(prefix="headrace-soak-") as temporary:
        folder = pathlib.Path(temporary)
        (folder / "root").mkdir()
        make_data(folder / "root/corpus")
        with BadNight("--root", str(folder / "root"), f"--seed={SEED}") as night:
            soak = None
            try:
                soak = Soak(folder, night)
                soak.run()
                print("ok 1 nothing lost, nothing twice, nothing left", flush=True)
            except Exception:  # a failed test is a line of TAP, whatever it was
                print("# " + traceback.format_exc().replace("\n", "\n# "))
                for line in [entry for entry in night.log() if entry.get("fault")][-20:]:
                    print("# " + json.dumps(line))
                print("not ok 1 nothing lost, nothing twice, nothing left", flush=True)
            if soak:
                text = json.dumps(soak.summary, indent=2)
                print("# " + text.replace("\n", "\n# "), flush=True)
                if SUMMARY:
                    SUMMARY.write_text(text + "\n")


main()
