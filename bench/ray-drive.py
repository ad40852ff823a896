"""A contestant of bench/ray, as the driver of a run on a cluster that is there; obeys lines, answers each with a line of JSON.

usage: ray-drive.py ADDRESS WHO JOB (JSON)

Says {"version", "settings"} when its ranks are there. `check`: the first batches, as {who: digest of pixels}. `epoch`: all of them,
{seconds, first, ids}: how long it took, how long to the first batch of the slowest rank, and who came, a list a rank.
`watch`: the same, and what stood in the object stores at most. `train`: the same with a step behind each batch; says {"at"} when
a third is done, and later {…, "stall"}: the longest wait behind the first steps.
"""
import json
import os
import sys
import threading
import time

import image_rules as rules
import ray
import ray_peers as peers
from ray._private.internal_api import node_stats
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

READY_SECONDS = 120


@ray.remote(num_cpus=0, max_concurrency=2)
class Rank:
    """A trainer's process."""

    def __init__(self, who, job):
        self.who, self.job, self.keep, self.n = peers.WHO[who], job, [], 0

    def check(self, source):
        """{who: digests of its pixels}"""
        found = {}
        for names, images in self.who.batches(source, self.keep):
            for name, image in zip(names, images, strict=True):
                found[name] = describe(image.numpy())
        return found

    def run(self, source, step_s):
        """(who came, when the first batch came and the last had been used, waits for the others)"""
        ids, waits, first, self.n = [], [], None, 0
        asked = time.monotonic()
        for names, images in self.who.batches(source, self.keep):
            now = time.monotonic()
            first = first or now
            waits.append(now - asked)
            ids += names
            # a number of each page is looked at, as a copy to a device would
            for image in images:
                image.reshape(-1)[::4096].sum()
            del images
            time.sleep(step_s)
            self.n += 1
            asked = time.monotonic()
        return ids, first, time.monotonic(), waits

    def steps(self):
        return self.n

    def links(self):
        """{address of a node: batches that came from there}, as far as the loader knows"""
        return self.who.links(self.keep[-1]) if self.keep else {}


def describe(pixels):
    return f"{pixels.dtype} {pixels.shape} {rules.digest(pixels)}"


class Watch:
    """What stands in the object stores of all nodes together, looked at ten times a second."""

    def __init__(self):
        self.peak, self.done = 0, threading.Event()
        self.nodes = [(node["NodeManagerAddress"], node["NodeManagerPort"]) for node in ray.nodes() if node["Alive"]]
        self.thread = threading.Thread(target=self.look)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def look(self):
        while not self.done.wait(0.1):
            self.peak = max(self.peak, sum(node_stats(*node, include_memory_info=False).store_stats.object_store_bytes_used
                                           for node in self.nodes))


class Driver:
    def __init__(self, who, job, out):
        self.job, self.out = job, out
        self.peer = peers.WHO[who](job, len(job["rank_addresses"]))
        nodes = {node["NodeManagerAddress"]: node["NodeID"] for node in ray.nodes() if node["Alive"]}
        self.ranks = [Rank.options(scheduling_strategy=NodeAffinitySchedulingStrategy(nodes[address], soft=False)).remote(who, job)
                      for address in job["rank_addresses"]]
        ray.get([rank.steps.remote() for rank in self.ranks])

    def say(self, **told):
        print(json.dumps(told), file=self.out, flush=True)

    def check(self):
        found = {}
        for one in ray.get([rank.check.remote(self.peer.source(number, True)) for number, rank in enumerate(self.ranks)]):
            found |= one
        return found

    def begin(self, step_s=0.0):
        return [rank.run.remote(self.peer.source(number, False), step_s) for number, rank in enumerate(self.ranks)]

    def epoch(self, step_s=0.0):
        begin = time.monotonic()
        return self.result(begin, ray.get(self.begin(step_s)))

    @staticmethod
    def result(begin, found):
        return {"seconds": max(last for _, _, last, _ in found) - begin, "first": max(first for _, first, _, _ in found) - begin,
                "ids": [ids for ids, _, _, _ in found]}

    def watch(self):
        with Watch() as watch:
            told = self.epoch()
        return {**told, "peak": watch.peak}

    def train(self):
        begin, running = time.monotonic(), self.begin(self.job["step_s"])
        while min(ray.get([rank.steps.remote() for rank in self.ranks])) < self.job["fail_at"]:
            ray.wait(running, timeout=0.05)
        self.say(at=time.monotonic() - begin)
        try:
            found = ray.get(running, timeout=self.job["patience_s"])
        except ray.exceptions.RayError as error:
            return {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        behind, links = self.job["fail_at"], ray.get([rank.links.remote() for rank in self.ranks])
        return {**self.result(begin, found), "links": links, "stall": max(max(waits[behind:]) for _, _, _, waits in found),
                "before": max(max(waits[3:behind]) for _, _, _, waits in found)}


def main():
    address, who, job = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    out = os.fdopen(os.dup(1), "w")  # libraries may print
    os.dup2(2, 1)
    ray.init(address=address, _node_ip_address=address.split(":")[0], log_to_driver=False, logging_level="WARNING")
    until = time.monotonic() + READY_SECONDS
    while sum(node["Alive"] for node in ray.nodes()) < job["nodes"]:
        if time.monotonic() > until:
            sys.exit(f"ray-drive: not {job['nodes']} nodes after {READY_SECONDS} s")
        time.sleep(0.1)
    driver = Driver(who, job, out)
    driver.say(version=driver.peer.version, settings=driver.peer.settings)
    commands = {"check": driver.check, "epoch": driver.epoch, "watch": driver.watch, "train": driver.train}
    for line in sys.stdin:
        print(json.dumps(commands[line.strip()]()), file=out, flush=True)


if __name__ == "__main__":
    main()
