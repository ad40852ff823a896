#!/usr/bin/env python3
"""Two ranks that train from producers on a Ray node of this machine, one of which is killed on the way; beside the same
two ranks with a plain loader.

usage: demo/spread.py LOCATION [--epochs 3] [--step-time 0.15]

Exit status 1 if a batch is not that of the plain loader, byte for byte, or a sample is lost or comes twice.
"""
import argparse
import collections
import hashlib
import os
import pathlib
import secrets
import shutil
import signal
import sys
import tempfile
import time

FOLDER = tempfile.mkdtemp(prefix="hr-demo-")  # short: sockets are in it
pathlib.Path(FOLDER, "token").write_text(secrets.token_hex(32), encoding="ascii")
os.environ.update({"RAY_TMPDIR": FOLDER, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": FOLDER + "/token",
                   "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"})

import headrace  # noqa: E402
import ray  # noqa: E402
from headrace.ray import SpreadLoader  # noqa: E402

WORLD = 2
ROOT = pathlib.Path(__file__).resolve().parents[1]
PIPELINE = str(ROOT / "pipelines/5-spread.hr")
MIB = 1 << 20
WIDTH = 40


class Rank:
    """One of the two: each step takes some time, as a trainer's would."""

    def __init__(self, options, rank, spread, step_time):
        options = {"rank": rank, "world": WORLD, "framework": "numpy", **options}
        self.loader = SpreadLoader(PIPELINE, placement="spread", depth=6, **options) if spread else \
            headrace.Loader(PIPELINE, **options)
        self.step_time = step_time
        self.done, self.longest = [], 0.0

    def train(self):
        begin = time.monotonic()
        while (step := next(self.loader, None)) is not None:
            waited = time.monotonic() - begin
            if self.done:  # the first one waits for processes that start
                self.longest = max(self.longest, waited)
            self.done.append(([sample["id"] for sample in step.batch.samples if not sample["skipped"]],
                              hashlib.sha256(b"".join(image.tobytes() for image in step.get("images", []))).hexdigest()))
            del step
            time.sleep(self.step_time)
            begin = time.monotonic()
        return self.done, self.longest, self.loader.stats()

    def count(self):
        return len(self.done)

    def close(self):
        self.loader.close()


def show(name, done, of, note=""):
    bar = "#" * (WIDTH * done // max(1, of))
    text = f"{name:13} [{bar:{WIDTH}}] {done:4} of {of} steps {note}"
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def kill_producer():
    name = next(actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True)
                if actor["name"].startswith("headrace-") and actor["name"].endswith("-1"))
    os.kill(ray.get(ray.get_actor(name, "headrace").where.remote())["pid"], signal.SIGKILL)


def run(name, options, n_steps, step_time, spread):
    """Both ranks to the end; what each got, its longest wait, and its statistics."""
    ranks = [ray.remote(Rank).options(num_cpus=0, max_concurrency=2).remote(options, rank, spread, step_time)
             for rank in range(WORLD)]
    running = [rank.train.remote() for rank in ranks]
    note, shown = "", -1.0
    while ray.wait(running, num_returns=WORLD, timeout=0.5)[1]:
        done = min(ray.get([rank.count.remote() for rank in ranks]))
        if spread and not note and done >= n_steps // 2:
            kill_producer()
            note = "- a producer was killed"
        if sys.stderr.isatty() or time.monotonic() - shown > 5:
            show(name, done, n_steps, note)
            shown = time.monotonic()
    results = ray.get(running)
    show(name, n_steps, n_steps, note)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    ray.get([rank.close.remote() for rank in ranks])
    for rank in ranks:
        ray.kill(rank)
    return results


def report(arms, seconds):
    print(f"\n{'':13}  waiting  longest wait  cold start  steps/s")
    for name, results in arms.items():
        stats = [stats for _, _, stats in results]
        print(f"{name:13}  {max(one['wait_ratio'] for one in stats):7.1%}  {max(longest for _, longest, _ in results):10.2f} s"
              f"  {max(one['cold_start_s'] for one in stats):8.1f} s"
              f"  {sum(len(done) for done, _, _ in results) / seconds[name]:7.1f}")
    units = collections.Counter()
    for _, _, stats in arms["spread"]:
        units.update(stats["units"])
    mib = sum(link["bytes"] for _, _, stats in arms["spread"] for link in stats["links"].values()) / MIB
    print(f"\n{units['units']} units, {mib:.0f} MiB through the object store, none through this program;"
          f" at most {max(stats['peak_units'] for _, _, stats in arms['spread'])} units of a rank at once")
    print(f"a producer was killed: {units['lost']} units lost and asked for again, {units['hedged']} late ones asked for twice")
    for _, _, stats in arms["spread"]:
        print(f"verdict of rank {stats['rank']}: {stats['advice']['text']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("location")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--step-time", type=float, default=0.15)
    arguments = parser.parse_args()
    text = (ROOT / "pipelines/5-spread.hr").read_text(encoding="utf-8").replace("s3src ", "filesrc ")
    global PIPELINE  # pylint: disable=global-statement
    PIPELINE = text
    options = {"epochs": arguments.epochs, "variables": {"LOCATION": arguments.location}, "properties": {"scan": "lines"}}
    with headrace.Loader(text, rank=0, world=WORLD, **options) as loader:
        n_steps = loader.count_steps()
    print(f"{WORLD} ranks of {n_steps} steps, each of {arguments.step_time:.2f} s and the time that data takes", flush=True)
    ray.init(num_cpus=2, object_store_memory=300 * MIB, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             _node_ip_address=ray.util.get_node_ip_address())
    arms, seconds = {}, {}
    try:
        for name, spread in (("plain loader", False), ("spread", True)):
            begin = time.monotonic()
            arms[name] = run(name, options, n_steps, arguments.step_time, spread)
            seconds[name] = time.monotonic() - begin
    finally:
        ray.shutdown()
        shutil.rmtree(FOLDER, ignore_errors=True)
    report(arms, seconds)
    wrong = [rank for rank in range(WORLD) if arms["spread"][rank][0] != arms["plain loader"][rank][0]]
    counts = collections.Counter(name for done, _, _ in arms["spread"] for ids, _ in done for name in ids)
    uneven = [name for name, n in counts.items() if n != arguments.epochs]
    if wrong or uneven:
        sys.exit(f"demo-spread: ranks with other batches than the plain loader: {wrong}; samples lost or doubled: {uneven}")
    print(f"all batches are those of the plain loader, byte for byte: {len(counts)} samples, each {arguments.epochs} times,"
          " none lost, none twice")


if __name__ == "__main__":
    main()
