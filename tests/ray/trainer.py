"""A rank as a process or an actor: it goes through a loader, and writes down what it got."""
import hashlib
import json
import os
import pathlib
import sys
import threading
import time

import cluster
import headrace
import numpy as np
from headrace.ray import SpreadLoader


def fingerprint(step):
    """sha256 of names, dtypes, shapes and bytes of all arrays."""
    sum_ = hashlib.sha256()
    for name in sorted(step):
        for array in cluster.arrays(step[name]):
            sum_.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return sum_.hexdigest()


def describe(step):
    """What is written down of a step."""
    batch = step.batch
    return {"epoch": batch.epoch, "sha": fingerprint(step),
            "ids": [sample["id"] for sample in batch.samples if not sample["skipped"]]}


def expected(text, world):
    """What a plain Loader gives each rank."""
    ranks = []
    for rank in range(world):
        with headrace.Loader(text, rank=rank, world=world, epochs=1, framework="numpy") as loader:
            ranks.append([describe(step) for step in loader])
    return ranks


def strip(log):
    """What two logs must have in common."""
    return [{name: step[name] for name in ("epoch", "sha", "ids")} for step in log]


def read_log(path):
    """What a rank that is a process has written down so far."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


class Trainer:
    """Each step takes `step_time` seconds; behind `hold` of them it waits for `go_on()`."""

    def __init__(self, text, step_time=0.0, hold=None, **options):
        self.loader = SpreadLoader(text, framework="numpy", **options)
        self.step_time, self.hold, self.free = step_time, hold, threading.Event()
        self.log, self.gaps = [], []

    def train(self, n_steps=None):
        begin = time.monotonic()
        for step in self.loader if n_steps is None else (next(self.loader) for _ in range(n_steps)):
            self.gaps.append(time.monotonic() - begin)
            self.log.append({**describe(step), "node": step.batch.node, "nbytes": step.batch.nbytes})
            time.sleep(self.step_time)  # and has it meanwhile, as trainers do
            if len(self.log) == self.hold:
                self.free.wait()
            begin = time.monotonic()
        return self.log

    def go_on(self):
        self.free.set()

    def get_log(self):
        return self.log

    def get_n(self):
        return len(self.log)

    def get_gaps(self):
        return self.gaps

    def stats(self):
        return self.loader.stats()

    def close(self):
        self.loader.close()


def main():
    """A rank as torchrun starts them: RANK and WORLD_SIZE, and a file that each step and the place behind it go to; at
    the end FILE.stats gets the loader's statistics. Behind `hold` steps it waits for FILE.go.

    usage: trainer.py ADDRESS TEXT FILE STEP_TIME OPTIONS (JSON)
    """
    address, text, path, step_time, options = sys.argv[1:]
    ranks = {"rank": int(os.environ["RANK"]), "world": int(os.environ["WORLD_SIZE"])}
    cluster.ray.init(address=address, log_to_driver=False, logging_level="WARNING", _node_ip_address=cluster.IP)
    options = json.loads(options)
    state, n_nodes, hold = options.pop("state", None), options.pop("nodes", 1), options.pop("hold", None)
    cluster.wait_for(lambda: sum(node["Alive"] for node in cluster.ray.nodes()) >= n_nodes)
    with open(path, "w", encoding="utf-8") as file, SpreadLoader(text, framework="numpy", **ranks, **options) as loader:
        if state is not None:
            loader.load_state_dict(state)
        begin, n = time.monotonic(), 0
        while (step := next(loader, None)) is not None:
            told = {**describe(step), "node": step.batch.node, "waited": time.monotonic() - begin}
            time.sleep(float(step_time))
            file.write(json.dumps({**told, "state": loader.state_dict()}) + "\n")
            file.flush()
            n += 1
            while n == hold and not os.path.exists(path + ".go"):
                time.sleep(0.02)
            begin = time.monotonic()
        pathlib.Path(path + ".stats").write_text(json.dumps(loader.stats()), encoding="utf-8")


if __name__ == "__main__":
    main()
