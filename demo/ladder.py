#!/usr/bin/env python3
"""Climbs the ladder: runs its pipelines against an S3 server that is 30 ms away, and checks what they
claim.

usage: pipelines/ladder [--build build] [--delay 15]

Writes build/demo/ladder.json, of each rung what `hr-launch --record` keeps (build/demo/ladder/), and hr-report's page of them,
build/demo/ladder.html. Exit status 1 if a bar is missed: serial waits at least 70 % of its
time, concurrent less, prefetched at most 5 % over at least 20 steps; all deliver the same bytes; the
proxy between us and the server has seen as many requests in flight as claimed; and with the trainer in a
process of its own, every byte of a batch is copied twice on its way by pipe, and none by shared memory.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.parse

# a second pipeline is the trainer's process
RUNGS = [("serial", ["pipelines/1-serial.hr"]), ("concurrent", ["pipelines/2-concurrent.hr"]),
         ("prefetched", ["pipelines/3-prefetch.hr"]), ("by pipe", ["pipelines/3b-bypipe.hr", "pipelines/3b-trainer.hr"]),
         ("zero-copy", ["pipelines/4-zerocopy.hr", "pipelines/4-trainer.hr"])]
# a wait ratio that changes by less has not moved: so much it does from run to run
NOISE = 0.02
MIB = 1 << 20
OUT = pathlib.Path("build/demo")
RECORDS = OUT / "ladder"


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


def record_of(pipelines, pipeline):
    """where its record goes: two processes of one run share a folder"""
    name = pathlib.Path(pipeline).stem
    return RECORDS / f"{name}.jsonl" if len(pipelines) == 1 else RECORDS / pathlib.Path(pipelines[0]).stem / f"{name}.jsonl"


def launch(options, pipelines, endpoint, *more, last=(), record=False):
    """Runs them at the same time; the statistics of each. `last`: options of the trainer's alone."""
    processes = []
    for pipeline in pipelines:
        command = [options.build / "tools/hr-launch", "-f", pipeline, "--stats=json", "-D", f"ADDRESS=ladder-{os.getpid()}",
                   *more, *(last if pipeline == pipelines[-1] else ["--progress=none"])]
        if record:
            path = record_of(pipelines, pipeline)
            path.parent.mkdir(parents=True, exist_ok=True)
            command.append(f"--record={path}")
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                          env={**os.environ, "AWS_ENDPOINT_URL": endpoint}))
    outputs = [process.communicate()[0] for process in processes]
    for pipeline, process in zip(pipelines, processes):
        if process.returncode != 0:
            sys.exit(f"demo: {pipeline} ended with {process.returncode}")
    return [json.loads(output.strip().splitlines()[-1]) for output in outputs]


def copied_behind_resize(runs):
    elements = [element for run in runs for element in run["elements"]]
    first = [element["factory"] for element in elements].index("resize") + 1
    return sum(element["bytes_copied"] for element in elements[first:])


def together(runs):
    """The trainer's statistics, with what both processes took."""
    *_, trainer = runs
    cpu = sum(run["cpu_s"] for run in runs)
    return {**trainer, "cpu_ms_per_image": cpu * 1e3 / max(1, trainer["images"]),
            "bottleneck": trainer["bottleneck"] if (trainer["bottleneck"] or {}).get("kind") == "trainer"
            else runs[0]["bottleneck"],
            "cpu_ms_per_batch": cpu * 1e3 / max(1, trainer["steps"]),
            "batch_bytes": trainer["elements"][-1]["bytes"] / max(1, trainer["steps"]),
            "copied_per_batch": copied_behind_resize(runs) / max(1, trainer["steps"]),
            "peaks": [run["peak_rss_bytes"] for run in runs], "runs": runs}


def climb(options, rung, pipelines):
    server = int(os.environ["HR_S3_SERVER_PID"])
    print(f"\n{rung}: " + " & ".join(f"hr-launch -f {pipeline}" for pipeline in pipelines), flush=True)
    proxy = Proxy(options.build, options.delay, OUT / f"{rung.replace(' ', '-')}-requests.jsonl")
    before = cpu_seconds(server)
    try:
        stats = together(launch(options, pipelines, proxy.endpoint, record=True))
    finally:
        seen = proxy.finish()
    stats["server_cpu_s"] = cpu_seconds(server) - before
    stats["proxy"] = seen
    return stats


def digest(options, pipelines):
    """The sha256 of all batches. In a run of its own, without delay and without a trainer: a sum over
    pixels takes time in which a prefetched pipeline would get ahead for nothing."""
    return launch(options, pipelines, os.environ["AWS_ENDPOINT_URL"], "--quiet", "-D", "STEP_TIME=0s",
                  last=["--checksum"])[-1]["sha256"]


def cell(value, form):
    return "?" if value is None else form.format(value)


def show(head, rows, left):
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    print()
    for row in [head, *rows]:
        print("  ".join(text.ljust(w) if i in left else text.rjust(w)
                        for i, (text, w) in enumerate(zip(row, widths))).rstrip())


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
    show(head, rows, (0, 7))


def table_of_transport(results):
    """what changes when the trainer is another process, and how it gets its batches"""
    head = ["rung", "waiting", "MiB/batch", "copied behind resize", "CPU ms/batch", "peak memory, MiB", "of the trainer"]
    rows = [[rung, cell(s["wait_ratio"], "{:.1%}"), f"{s['batch_bytes'] / MIB:.1f}", f"{s['copied_per_batch'] / MIB:.1f}",
             f"{s['cpu_ms_per_batch']:.1f}", f"{s['peaks'][0] / MIB:.0f}",
             f"{s['peaks'][1] / MIB:.0f}" if len(s["peaks"]) > 1 else "the same"]
            for (rung, _), s in list(zip(RUNGS, results))[2:]]
    show(head, rows, (0,))
    *_, pipe, shared = results
    moved = pipe["wait_ratio"] - shared["wait_ratio"]
    print()
    if abs(moved) < NOISE:
        print(f"The wait ratio does not move: {pipe['wait_ratio']:.1%} by pipe, {shared['wait_ratio']:.1%} by shared memory."
              " The copies are made\nwhile the trainer works. What shared memory saves here is"
              f" {(pipe['copied_per_batch'] - shared['copied_per_batch']) / MIB:.1f} MiB of copies and"
              f" {pipe['cpu_ms_per_batch'] - shared['cpu_ms_per_batch']:.1f} ms of CPU a batch.")
    else:
        print(f"By shared memory the trainer waits {abs(moved):.1%} {'less' if moved > 0 else 'more'} than by pipe, in one run of"
              " each.")


def hedged(stats):
    return sum(element.get("hedged", 0) for run in stats["runs"] for element in run["elements"])


def judge(results):
    serial, _, prefetched, pipe, shared = results
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
        (all(wait <= 0.05 for wait in waits[3:]),
         f"with the trainer in a process of its own it waits {waits[3]:.1%} by pipe, {waits[4]:.1%} by shared memory (at most 5 %)"),
        (pipe["copied_per_batch"] >= 2 * pipe["batch_bytes"] > 0,
         f"by pipe a batch of {pipe['batch_bytes'] / MIB:.1f} MiB is copied twice: {pipe['copied_per_batch'] / MIB:.1f} MiB"),
        (shared["copied_per_batch"] < 0.01 * shared["batch_bytes"],
         f"by shared memory {shared['copied_per_batch'] / MIB:.2f} MiB of it are copied (less than 1 %)"),
        # of two requests for a late answer the slower one is broken off; that is no fault
        (all(s["proxy"]["aborted"] <= hedged(s) for s in results),
         f"no request was broken off, but {sum(s['proxy']['aborted'] for s in results)} of {sum(hedged(s) for s in results)} that were sent twice"),
    ]
    print()
    for good, text in verdicts:
        print(("ok      " if good else "MISSED  ") + text)
    return all(good for good, _ in verdicts)


def draw(options, results):
    """the page of all rungs, from their records"""
    digests = {s["sha256"] for s in results}
    serial, path = results[0], OUT / "ladder.html"
    note = (f"{serial['samples']} conversations with {serial['images']} photographs from an S3 server {options.delay:g} ms away each way;"
            f" {os.cpu_count()} processors. Rungs 3b and 4 are two processes each: waiting is the trainer's, cost what both take. "
            + (f"All rungs delivered the same bytes: sha256 {digests.pop()}." if len(digests) == 1 else "The rungs did not deliver the same bytes."))
    subprocess.run([options.build / "tools/hr-report", "-o", path, "--title", "The ladder", "--note", note, RECORDS], check=True)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--delay", type=float, default=15.0)
    options = parser.parse_args()
    print(f"an S3 server on loopback, {options.delay:g} ms away each way; {os.cpu_count()} processors")
    shutil.rmtree(RECORDS, ignore_errors=True)
    results = [climb(options, *rung) for rung in RUNGS]
    print("\nthe same once more, for a sha256 of all batches", flush=True)
    for (_, pipelines), stats in zip(RUNGS, results):
        stats["sha256"] = digest(options, pipelines)
    table(results)
    table_of_transport(results)
    good = judge(results)
    with open(OUT / "ladder.json", "w", encoding="utf-8") as out:
        json.dump([{"rung": rung, "pipelines": pipelines, "wait_ratio": s["wait_ratio"],
                    "images_per_s": s["images_per_s"], "cpu_ms_per_image": s["cpu_ms_per_image"],
                    "cpu_ms_per_batch": s["cpu_ms_per_batch"], "copied_bytes_per_batch": s["copied_per_batch"],
                    "batch_bytes": s["batch_bytes"], "peak_rss_bytes": s["peaks"], "sha256": s["sha256"],
                    "bottleneck": s["bottleneck"]} for (rung, pipelines), s in zip(RUNGS, results)], out, indent=1)
        out.write("\n")
    with open(OUT / "ladder-full.json", "w", encoding="utf-8") as out:
        json.dump(results, out, indent=1)
    print(f"\nwritten: {OUT}/ladder.json, the proxy's log of requests: {OUT}/*-requests.jsonl")
    print(f"the ladder as a picture: {draw(options, results)} (each rung's step, its waiting, its cost, and both over time)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
