#!/usr/bin/env python3
"""Climbs the ladder: runs the three pipelines against an S3 server that is 30 ms away, and checks
what they claim.

usage: tests/s3/server --root build/demo/s3 -- demo/ladder.py [--build build] [--delay 15]

Writes build/demo/ladder.json. Exit status 1 if a bar is missed: serial waits at least 70 % of its
time, concurrent less, prefetched at most 5 % over at least 20 steps; the three deliver the same
bytes; and the proxy between us and the server has seen as many requests in flight as claimed.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.parse

RUNGS = [("serial", "pipelines/1-serial.hr"), ("concurrent", "pipelines/2-concurrent.hr"),
         ("prefetched", "pipelines/3-prefetch.hr")]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Proxy:
    """The delaying proxy in front of the server; see tests/s3/delay.c."""

    def __init__(self, build, delay, log):
        target = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc
        self.process = subprocess.Popen([build / "tests/s3/delay", "--to", target, "--delay", str(delay),
                                         "--log", log], stdout=subprocess.PIPE, text=True)
        self.endpoint = "http://" + self.process.stdout.readline().split()[-1]

    def finish(self):
        self.process.send_signal(signal.SIGTERM)
        return json.loads(self.process.communicate(timeout=30)[0])


def launch(options, pipeline, endpoint, *more):
    command = [options.build / "tools/hr-launch", "-f", pipeline, "--stats=json", *more]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                         env={**os.environ, "AWS_ENDPOINT_URL": endpoint})
    if run.returncode != 0:
        sys.exit(f"demo: {pipeline} ended with {run.returncode}")
    return json.loads(run.stdout.strip().splitlines()[-1])


def climb(options, rung, pipeline):
    server = int(os.environ["HR_S3_SERVER_PID"])
    print(f"\n{rung}: hr-launch -f {pipeline}", flush=True)
    proxy = Proxy(options.build, options.delay, f"build/demo/{rung}-requests.jsonl")
    before = cpu_seconds(server)
    try:
        stats = launch(options, pipeline, proxy.endpoint)
    finally:
        seen = proxy.finish()
    stats["server_cpu_s"] = cpu_seconds(server) - before
    stats["proxy"] = seen
    return stats


def digest(options, pipeline):
    """The sha256 of all batches. In a run of its own, without delay and without a trainer: a sum over
    pixels takes time in which a prefetched pipeline would get ahead for nothing."""
    return launch(options, pipeline, os.environ["AWS_ENDPOINT_URL"], "--checksum", "--quiet", "-D", "STEP_TIME=0s")["sha256"]


def cell(value, form):
    return "?" if value is None else form.format(value)


def table(results):
    head = ["rung", "waiting", "images/s", "CPU ms/image", "(server, proxy)", "in flight", "cold start", "bottleneck"]
    rows = []
    for (rung, _), s in zip(RUNGS, results):
        images = max(1, s["images"])
        bottleneck = s.get("bottleneck") or {}
        rows.append([
            rung, cell(s["wait_ratio"], "{:.1%}"), cell(s["images_per_s"], "{:.0f}"),
            cell(s["cpu_ms_per_image"], "{:.1f}"),
            f"({s['server_cpu_s'] * 1e3 / images:.1f}, {s['proxy']['cpu_s'] * 1e3 / images:.1f})",
            str(s["proxy"]["max_in_flight"]), cell(s["cold_start_s"], "{:.2f} s"),
            f"{bottleneck.get('element')} ({bottleneck.get('kind')})" if bottleneck else "none"])
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    print()
    for row in [head, *rows]:
        print("  ".join(text.ljust(w) if i in (0, 7) else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths))).rstrip())


def judge(results):
    serial, concurrent, prefetched = results
    waits = [s["wait_ratio"] for s in results]
    flights = [s["proxy"]["max_in_flight"] for s in results]
    digests = {s["sha256"] for s in results}
    steps = prefetched["steps"] - 1
    verdicts = [
        (waits[0] >= 0.70, f"serial waits {waits[0]:.1%} of its time (at least 70 %)"),
        (waits[2] < waits[1] < waits[0], f"concurrent waits {waits[1]:.1%} (between the others)"),
        (waits[2] <= 0.05, f"prefetched waits {waits[2]:.1%} (at most 5 %)"),
        (steps >= 20, f"over {steps} steps after the cold start (at least 20)"),
        (len(digests) == 1 and None not in digests,
         "all batches are the same: sha256 " + ", ".join(str(d) for d in sorted(digests, key=str))),
        (len({(s["samples"], s["images"]) for s in results}) == 1,
         f"{serial['samples']} samples, {serial['images']} images each"),
        (flights[0] == 1 and flights[1] > 1 and flights[2] > 1,
         "the proxy saw at most {}, {} and {} requests in flight (1 in serial, more in the others)".format(*flights)),
        (all(s["proxy"]["aborted"] == 0 for s in results), "no request was broken off"),
    ]
    print()
    for good, text in verdicts:
        print(("ok      " if good else "MISSED  ") + text)
    return all(good for good, _ in verdicts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--delay", type=float, default=15.0)
    options = parser.parse_args()
    print(f"an S3 server on loopback, {options.delay:g} ms away each way; {os.cpu_count()} processors")
    results = [climb(options, *rung) for rung in RUNGS]
    print("\nthe same three once more, for a sha256 of all batches", flush=True)
    for (_, pipeline), stats in zip(RUNGS, results):
        stats["sha256"] = digest(options, pipeline)
    table(results)
    good = judge(results)
    with open("build/demo/ladder.json", "w", encoding="utf-8") as out:
        json.dump([{"rung": rung, "pipeline": pipeline, "wait_ratio": s["wait_ratio"],
                    "images_per_s": s["images_per_s"], "cpu_ms_per_image": s["cpu_ms_per_image"],
                    "bottleneck": s["bottleneck"]} for (rung, pipeline), s in zip(RUNGS, results)], out, indent=1)
        out.write("\n")
    with open("build/demo/ladder-full.json", "w", encoding="utf-8") as out:
        json.dump(results, out, indent=1)
    print("\nwritten: build/demo/ladder.json, the proxy's log of requests: build/demo/*-requests.jsonl")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
