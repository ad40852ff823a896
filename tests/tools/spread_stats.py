"""Numbers of a run that is spread over nodes, as SpreadLoader.stats() has them (docs/ray.md), made for tests."""

NODES = ("10.0.0.1", "10.0.0.2")


def element(name, inputs, working, items, now=0):
    return {"name": name, "factory": name.rstrip("0"), "workers": 2, "inputs": inputs, "items": items, "bytes": 1000 * items, "bytes_copied": 10 * items,
            "working_s": working, "blocked_in_s": 0.0, "blocked_out_s": 0.0, "blocked_cpu_s": 0.0, "cpu_s": working,
            "queue": {"now": now, "room": 8, "mean": 1.0, "max": 4, "bytes": 0}}


def producer(index, at, working=0.5, **more):
    """after `at` seconds, in which it has made 2 units of 3 MB each second"""
    pipeline = {"status": "running", "wall_s": at, "cpu_s": 0.5 * at, "peak_rss_bytes": 200 << 20, "elements": [
        element("filesrc0", [], 0.1 * at, int(at)), element("imagefetch0", ["filesrc0"], 2 * working * at, 10 * int(at), 3),
        element("resize0", ["imagefetch0"], 0.2 * at, 10 * int(at), 1)]}
    return {"node": f"id-{index}", "ip": NODES[index % 2], "pid": 4000 + index, "index": index, "units": int(2 * at), "bytes": int(6e6 * at),
            "made_s": 0.4 * at, "pipeline": pipeline, **more}


def dead(index):
    return {"node": f"id-{index}", "ip": NODES[index % 2], "index": index, "error": "no answer within 2 s"}


def stats(at, producers=None, **more):
    """of rank 0 of 2, on the first node"""
    return {"status": "running", "exit": 0, "rank": 0, "world": 2, "placement": "spread", "node": NODES[0], "steps": int(2 * at), "n_steps": None,
            "samples": int(16 * at), "images": None, "skipped": {}, "dropped": {}, "wait_ratio": 0.4, "prepare_s": 0.4 * at, "train_s": 0.6 * at,
            "transfer_s": 0.0, "transfer_wait_s": 0.0, "cold_start_s": 0.5, "wall_s": at, "cpu_s": 0.3 * at, "peak_rss_bytes": 100 << 20,
            "units": {"units": int(2 * at), "asked": int(2 * at) + 3, "lost": 1, "hedged": 2}, "peak_units": 5,
            "links": {ip: {"units": int(at), "bytes": int(3e6 * at), "made_s": 0.2 * at, "pulled_s": 0.1 * at * which} for which, ip in enumerate(NODES)},
            "producers": producers if producers is not None else [producer(0, at, 0.2), producer(1, at, 0.9)],
            "elements": [element("patchify0", ["spread"], 0.1 * at, int(2 * at))],
            "bottleneck": {"kind": "producers", "node": NODES[1], "element": "imagefetch0"},
            "advice": {"element": "imagefetch0", "text": "producers: the trainer waits for 40% of its time; imagefetch0 works most"}, "recent": None, **more}
