"""A driver that starts ranks as actors, and looks what Ray's stores hold while they train, on the head of a cluster.

usage: driver.py ADDRESS TEXT OPTIONS (JSON: world, nodes, step_time, and the loader's)

Prints one line of JSON.
"""
import json
import sys

import cluster
import ray
import trainer
from ray._private.internal_api import node_stats
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

PAUSE = 0.02
# what is smaller is no unit
UNIT = 20_000


class Watch:
    """The most that was seen at once."""

    def __init__(self):
        self.bytes = self.units = self.mine = self.looks = 0
        self.me = ray.get_runtime_context().get_worker_id()

    def look(self):
        """Each process tells Ray which objects it refers to; ranks own what producers make for them."""
        stats = [node_stats(node["NodeManagerAddress"], node["NodeManagerPort"]) for node in ray.nodes()]
        units = set()
        for worker in (worker for node in stats for worker in node.core_workers_stats):
            large = {ref.object_id for ref in worker.object_refs if ref.object_size >= UNIT}
            units |= large
            if worker.worker_id.hex() == self.me:
                self.looks += 1
                self.mine = max(self.mine, len(large))
        self.units = max(self.units, len(units))
        self.bytes = max(self.bytes, sum(node.store_stats.object_store_bytes_used for node in stats))


def main():
    address, text, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    world, n_nodes = options.pop("world"), options.pop("nodes")
    ray.init(address=address, log_to_driver=False, logging_level="WARNING", _node_ip_address=cluster.IP)
    cluster.wait_for(lambda: sum(node["Alive"] for node in ray.nodes()) >= n_nodes)
    nodes = [node["NodeID"] for node in sorted(ray.nodes(), key=lambda node: node["NodeManagerAddress"])]
    ranks = [ray.remote(trainer.Trainer).options(
        num_cpus=0, max_concurrency=2, scheduling_strategy=NodeAffinitySchedulingStrategy(nodes[rank % len(nodes)], soft=False)
    ).remote(text, rank=rank, world=world, **options) for rank in range(world)]
    running = [rank.train.remote() for rank in ranks]
    watch = Watch()
    while len(ray.wait(running, num_returns=world, timeout=PAUSE)[0]) < world:
        watch.look()
    logs, stats = ray.get(running), ray.get([rank.stats.remote() for rank in ranks])
    print(json.dumps({**vars(watch), "logs": logs, "stats": stats}))


if __name__ == "__main__":
    main()
