#!/usr/bin/env python3
"""The whole ladder, and what spread and lazy retrieval do alone and together, at small and at large scale.

usage: demo/full/ladder.py [--build build] [--rounds N] [--out build/demo/full] (as root)

Small: a node with one rank. Large: four nodes in network namespaces, a rank on each, links of --mbit Mbit/s; a fifth
namespace has a real S3 server. Writes ladder.json and ladder.html. Exit status 1 if the shape is not the expected one:
at small scale no arm above 1.15 times neither; at large scale lazy and spread together at least 1.4 times, each alone
at most 1.3 times (medians of the rounds).
"""
import argparse
import json
import pathlib
import signal
import statistics
import subprocess
import sys

import page

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ray"))
import net  # noqa: E402 # pylint: disable=wrong-import-position

PIPELINE = """{head} s3src location=s3://demo/train/ ! jsonlparse ! imagefetch concurrency={fetches} ! imagedecode workers={workers} !
resize {resize} workers={workers} ! batch size={batch} ! {queue}appsink"""
QUEUE = "prefetchqueue max-batches=2 ! "
# name, way, placement, what the pipeline is like, steps handed on ahead
RUNGS = (("1 serial", "here", "pack", {"head": "serial=true"}, 0),
         ("2 concurrent", "here", "pack", {"fetches": 64, "workers": 2}, 0),
         ("3 prefetched", "here", "pack", {"fetches": 64, "workers": 2, "queue": QUEUE}, 2),
         ("4 zero-copy", "lazy", "pack", {"fetches": 64, "workers": 2}, 2),
         ("5 spread", "lazy", "spread", {"fetches": 64, "workers": 2}, 2))
ARMS = (("neither", "eager", "pack"), ("lazy", "lazy", "pack"), ("spread", "eager", "spread"), ("lazy and spread", "lazy", "spread"),
        ("beside the rank", "lazy", "aligned"))
AHEAD = 3  # steps handed on in the eager arms: with the one that comes as many as drive.py's depth is of other nodes
# name, nodes, ranks, nodes with ranks, producers
SCALES = (("small", 1, 1, 1, 1), ("large", 4, 4, 4, 8), ("all ranks on one node", 4, 4, 1, 8))


def pipeline(options, **more):
    words = {"head": "", "fetches": 1, "workers": 1, "queue": "", **more}
    return PIPELINE.format(resize=options.resize, batch=options.batch, **words)


def run(cluster, options, scale, name, way, placement, text, ahead):
    """One of them, with what each node's link and processors did for it."""
    label, nodes, ranks, rank_nodes, producers = scale
    job = {"name": f"{label} {name}", "nodes": nodes, "ranks": ranks, "rank_nodes": rank_nodes, "producers": producers, "way": way,
           "placement": placement, "pipeline": text, "ahead": ahead, "step_s": options.step_s, "steps": options.steps, "warm": options.warm}
    before = [(*cluster.network.carried(i), cluster.cpu_seconds(i)) for i in range(nodes)]
    with cluster.inside(0, sys.executable, HERE / "drive.py", cluster.address, json.dumps(job), stdout=subprocess.PIPE,
                        text=True) as process:
        out = process.communicate()[0]
    if process.returncode != 0:
        sys.exit(f"ladder: {label}, {name}: ended with {process.returncode}")
    told = json.loads(out.splitlines()[-1])
    after = [(*cluster.network.carried(i), cluster.cpu_seconds(i)) for i in range(nodes)]
    told["used"] = [{"in_mb": round((b[0] - a[0]) / 1e6, 1), "out_mb": round((b[1] - a[1]) / 1e6, 1), "cpu_s": round(b[2] - a[2], 1)}
                    for a, b in zip(before, after)]
    if told["distinct"] != told["samples"] and told["samples"] <= options.data:
        sys.exit(f"ladder: {label}, {name}: {told['samples']} samples, and only {told['distinct']} different ones")
    if way != "here" and placement == "pack" and list(told["made_on"]) != [net.address_of(0)]:
        sys.exit(f"ladder: {label}, {name}: made on {told['made_on']}, not all on node 0")
    links = ", ".join(f"{used['in_mb']:.0f}/{used['out_mb']:.0f}" for used in told["used"])
    made = ", ".join(str(told["made_on"].get(net.address_of(i), 0)) for i in range(nodes))
    print(f"# {label:>22}  {name:<16} waits {told['wait_ratio']:6.1%}  {told['images_per_s']:7.1f} images/s;"
          f" of each node: MB in/out {links}; units made {made}", flush=True)
    return {"scale": label, "name": name, "way": way, "placement": placement, **told}


def climb(options, scale, rungs=RUNGS, arms=ARMS):
    """Rungs, and as many rounds of arms as options say, on one cluster."""
    results = {"rungs": [], "arms": []}
    environment = {"PYTHONPATH": str(options.build / "python"), "PYTHONDONTWRITEBYTECODE": "1", "HR_PLAN_CACHE": ""}
    with net.Cluster(scale[1], options.mbit, store_bytes=300 << 20, env=environment,
                     serve=(options.data_root, options.delay, options.build)) as cluster:
        for name, way, placement, words, ahead in rungs:
            results["rungs"].append(run(cluster, options, scale, name, way, placement, pipeline(options, **words), ahead))
        for _ in range(options.rounds):
            results["arms"] += [run(cluster, options, scale, name, way, placement,
                                    pipeline(options, fetches=64, workers=2), AHEAD) for name, way, placement in arms]
    return results


def times(results):
    """{arm: median of its rate as a multiple of the rate of neither, in the same round}"""
    rates = {}
    for result in results:
        rates.setdefault(result["name"], []).append(result["images_per_s"])
    return {name: statistics.median(x / base for x, base in zip(of_arm, rates["neither"])) for name, of_arm in rates.items()}


def judge_small(small):
    """what is not as expected"""
    return [f"small scale: {name} {x:.2f} times neither, expected at most 1.15" for name, x in small.items() if x > 1.15]


def judge_large(large):
    wrong = [f"large scale: {name} alone {large[name]:.2f} times neither, expected at most 1.3" for name in ("lazy", "spread")
             if large[name] > 1.3]
    if large["lazy and spread"] < 1.4:
        wrong.append(f"large scale: both {large['lazy and spread']:.2f} times neither, expected at least 1.4")
    return wrong


JUDGES = {"small": judge_small, "large": judge_large}


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/demo/full")
    parser.add_argument("--data-root", type=pathlib.Path, default=ROOT / "build/demo/s3")
    parser.add_argument("--data", type=int, default=311, help="samples in it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mbit", type=int, default=100)
    parser.add_argument("--delay", type=float, default=15, help="of the store, milliseconds each way")
    parser.add_argument("--step-s", type=float, default=0.25)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--resize", default="max-pixels=262144", help="properties: a decoded image should be several times its file")
    parser.add_argument("--scales", default="small,large,all ranks on one node")
    options = parser.parse_args(words)
    options.build = options.build.resolve()
    return options


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and the namespaces go
    results = {scale[0]: climb(options, scale, RUNGS if scale[0] in JUDGES else ())
               for scale in SCALES if scale[0] in options.scales.split(",")}
    ratios = {scale: times(result["arms"]) for scale, result in results.items() if result["arms"]}
    wrong = [line for scale, judge in JUDGES.items() if scale in ratios for line in judge(ratios[scale])]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ladder.json").write_text(json.dumps({"settings": {k: str(v) for k, v in vars(options).items()}, "results": results,
                                                         "times": ratios, "wrong": wrong}, indent=1))
    (options.out / "ladder.html").write_text(page.write(results, ratios, wrong, vars(options)))
    for scale, arms in ratios.items():
        print(f"{scale}: " + ", ".join(f"{name} {x:.2f}" for name, x in arms.items()))
    print(f"written: {options.out}/ladder.html")
    for line in wrong:
        print("ladder: " + line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
