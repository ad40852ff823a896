#!/usr/bin/env python3
"""usage: test-rules.py STRESS: every wrong rule of core/hr-rules.h must be noticed.

Each runs alone, in the smallest configurations that it breaks (docs/scheduling.md tells why), and
must end in a fault of the expected kind: a hang, a deadlock that is named, a broken bound or a
count. The right rules must pass the very same configurations.
"""
import concurrent.futures
import subprocess
import sys

HANG = "HANG"
TRIES = 5  # on a busy machine threads may happen to run one after the other
RULES = [
    # rule, the fault that shows it, configurations
    ("lowest-undelivered", HANG, "top=S P1g B2 K", "N=2 cpus=1 memory=1"),
    ("lowest-unbatched", "bytes were reserved", "top=S A32g P4gs B8 Q4 K", "N=64 memory=1 train=3000 n=40"),
    ("budget-fifo", HANG, "top=S P2gs B2 Q1 K", "N=8 memory=1 stall=50 n=300"),
    ("permit-in-budget", HANG, "top=S P4g B1 Q2 K", "N=20 cpus=1 memory=1 stall=50 n=300"),
    ("permit-in-push", HANG, "top=R10 X1 P1 K", "N=20 cpus=1"),
    ("async-waits", HANG, "top=S A2g B2 Q1 K", "N=8 memory=1 n=300"),
    ("holes-not-counted", "deadlock", "top=S P1 B1 K", "N=2 fail=1000"),
    ("close-queues-only", HANG, "top=[ Sn0 | Sst3600000000 ]z K", ""),
    ("no-restamp", HANG, "top=S P2su P1g K", "N=40 memory=1 n=100"),
    ("waiter-flag", HANG, "top=Sxt50000 P4sk4 K", "N=40 items=4 n=5"),
    ("async-window", HANG, "top=S A32k32 K", "N=64"),
    ("prefetch-window", "behind the prefetchqueue|tickets are out", "top=S B4 Q8 P4g K",
     "N=160 items=-1 train=2000 n=20"),
    # the queue's bound turns the stress's own check off: this one must hang
    ("heavy-anywhere", HANG, "top=S P2gc B2 Q1 K", "N=40 memory=1 items=8 bytes=1000000 n=20"),
    ("heavy-anywhere", "of an earlier step is not", "top=S P2c B2 Q4 K", "N=40 items=8 n=20"),
    ("number-order", "of the same step costs more", "top=S P2c B8 Q2 K", "N=60 items=8 n=20"),
    ("number-order", "of the same step costs more", "top=S E2c B8 Q2 K", "N=60 items=8 n=20"),
    ("rows-are-groups", "deadlock", "top=S G4 K", "N=20"),
    ("empty-block", "deadlock", "top=S P1 G4 K", "N=20 fail=1000"),
    ("block-of-rows", "bytes were reserved", "top=S G40 P4gs K", "N=400 memory=1 train=2000 n=20"),
    ("open-blocks", "bytes were reserved", "top=R6 X1l P4gs G8m Q2 P2 K", "N=200 memory=1 train=2000 n=20"),
    ("held-counts", "grants were forced", "top=S P2gs B2 Q2 K", "N=200 memory=6000 hold=1000 forced=0"),
]


def run(stress, rule, top, settings, hang):
    command = [stress, f"rule={rule}", top, *settings.split(), *hang]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def judge(stress, rule, fault, top, settings):
    """the faults found, as lines; none if all is as it should be"""
    right = run(stress, "right", top, settings, [])
    for _ in range(TRIES):
        wrong = run(stress, rule, top, settings, ["hang=4"])
        if wrong.returncode != 0:
            break
    trouble = []
    if right.returncode != 0:
        trouble += ["the right rules fail:"] + right.stdout.splitlines()
    if wrong.returncode == 0:
        trouble += ["nothing was noticed"]
    elif not any(word in wrong.stdout for word in fault.split("|")):
        trouble += [f"noticed by something else than '{fault}':"] + wrong.stdout.splitlines()
    return trouble


def main():
    stress = sys.argv[1]
    print(f"1..{len(RULES)}", flush=True)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = [pool.submit(judge, stress, *rule) for rule in RULES]
        for number, (rule, result) in enumerate(zip(RULES, results), 1):
            trouble = result.result()
            for line in trouble:
                print("#", line)
            print("not ok" if trouble else "ok", number, rule[0], flush=True)
            failed = failed or bool(trouble)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
