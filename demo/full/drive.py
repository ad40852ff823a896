#!/usr/bin/env python3
"""One rung, or one arm of the ablation, on a cluster that is there: runs on its head, prints one line of JSON.

usage: drive.py ADDRESS '{"ranks": N, "nodes": N, "way": …, "placement": …, …}'

Ways a rank gets its batches:
  here    the pipelines are in this process, one a rank; batches are handed to the ranks by value
  eager   producers make them (headrace.ray); this process takes them and hands them on by value
  lazy    each rank asks the producers itself, and reads what came in its node's object store

Nothing else differs: the same producers, placed alike, and as many units of a rank under way, from the request for it
until the trainer is done with it.
"""
import collections
import json
import sys
import time

import headrace
import ray
from headrace.ray import SpreadLoader
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

READY_SECONDS = 120
DEPTH = 7  # copies of a rank's units: four of other nodes, with the one that it trains on, three of which are on its own as well


@ray.remote(num_cpus=1)
class Rank:
    """A trainer: a step takes as long as it takes, whatever is in the batch."""

    def __init__(self, number, job):
        self.number, self.job = number, job
        self.steps, self.wait, self.train, self.images, self.ids = 0, 0.0, 0.0, 0, []
        self.begin = self.ended = self.loader = None
        self.made_on = {}

    def where(self):
        return ray.util.get_node_ip_address()

    def step(self, fields, samples):
        now = time.monotonic()
        if self.steps == self.job["warm"]:
            self.begin = self.ended
        if self.steps >= self.job["warm"]:
            self.wait += now - self.ended
            self.train += self.job["step_s"]
            self.images += len(samples)
        self.ids += [tuple(sorted((key, str(value)) for key, value in sample.items())) for sample in samples]
        # each page is looked at, as a copy to a device would
        touched = sum(int(part.reshape(-1)[::4096].sum()) for part in arrays(fields))
        time.sleep(self.job["step_s"])
        self.steps += 1
        self.ended = time.monotonic()
        return touched

    def open(self):
        """the first to come places the producers"""
        self.loader = make_loader(self.job, self.number, DEPTH)
        self.next()

    def next(self):
        batch = next(self.loader)
        self.step(batch, batch.batch.samples)

    def loop(self):
        """asks for its batches itself"""
        while self.steps < self.job["warm"] + self.job["steps"]:
            self.next()
        self.made_on = count_made(self.loader)
        self.loader.close()

    def result(self):
        return {"made_on": self.made_on, "wait": self.wait, "train": self.train, "images": self.images, "took": self.ended - self.begin, "ids": self.ids}


def arrays(value):
    if isinstance(value, dict):
        return [part for field in value.values() for part in arrays(field)]
    if isinstance(value, (list, tuple)):
        return [part for field in value for part in arrays(field)]
    return [value] if hasattr(value, "reshape") else []


def make_loader(job, rank, depth):
    if job["way"] == "here":
        return headrace.Loader(job["pipeline"], rank=rank, world=job["ranks"], framework="numpy", epochs=0)
    return SpreadLoader(job["pipeline"], rank=rank, world=job["ranks"], framework="numpy", epochs=0, depth=depth,
                        placement=job["placement"], producers=job["producers"], job=job["name"])


def count_made(loader):
    """units by the address of the node that made them"""
    return {ip: link["units"] for ip, link in loader.stats().get("links", {}).items()}


def hand_on(job, ranks):
    """This process takes a step's batches, and gives each rank its own; where units were made."""
    # one that comes, and the one that was handed on last, which is one of those ahead
    loaders = [make_loader(job, rank, 4) for rank in range(len(ranks))]
    under_way = collections.deque()
    for _ in range(job["warm"] + job["steps"]):
        batches = [next(loader) for loader in loaders]
        under_way.append([rank.step.remote(dict(batch), batch.batch.samples) for rank, batch in zip(ranks, batches)])
        del batches
        while len(under_way) > job["ahead"]:
            ray.get(under_way.popleft())
    while under_way:
        ray.get(under_way.popleft())
    made_on = [count_made(loader) for loader in loaders]
    for loader in loaders:
        loader.close()
    return made_on


def main():
    address, job = sys.argv[1], json.loads(sys.argv[2])
    ray.init(address=address, _node_ip_address=address.split(":")[0], log_to_driver=False, logging_level="WARNING")
    until = time.monotonic() + READY_SECONDS
    while len(nodes := sorted((n for n in ray.nodes() if n["Alive"]), key=lambda n: n["NodeManagerAddress"])) < job["nodes"]:
        if time.monotonic() > until:
            sys.exit(f"drive: {len(nodes)} of {job['nodes']} nodes after {READY_SECONDS} s")
        time.sleep(0.1)
    ranks = [Rank.options(scheduling_strategy=NodeAffinitySchedulingStrategy(nodes[r * job["rank_nodes"] // job["ranks"]]["NodeID"], False))
             .remote(r, job) for r in range(job["ranks"])]
    where = ray.get([rank.where.remote() for rank in ranks])
    made_on = []
    if job["way"] == "lazy":
        ray.get(ranks[0].open.remote())  # on this node, as hand_on() is
        ray.get([rank.open.remote() for rank in ranks[1:]])
        ray.get([rank.loop.remote() for rank in ranks])
    else:
        made_on = hand_on(job, ranks)
    results = ray.get([rank.result.remote() for rank in ranks])
    made = collections.Counter()
    for counted in [*made_on, *(r["made_on"] for r in results)]:
        made.update(counted)
    ids = [tuple(map(tuple, one)) for r in results for one in r["ids"]]
    # ranks wait for each other where gradients are summed: the slowest one's rate is that of all
    slowest = max(results, key=lambda r: r["took"])
    print(json.dumps({"wait_ratio": slowest["wait"] / (slowest["wait"] + slowest["train"]),
                      "images_per_s": sum(r["images"] for r in results) / slowest["took"],
                      "samples": len(ids), "distinct": len(set(ids)), "ranks_at": where, "made_on": made}))


if __name__ == "__main__":
    main()
