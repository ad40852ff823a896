"""Batches of bytes from those who write them to a torch tensor here, for bench/python.

usage: python-pull.py WHO BYTES WORKERS BATCHES

Says {"version", "settings"} when it is ready, then obeys lines: `floor N` writes N batches and hands over none,
`pull` gets BATCHES of them from a loader that goes on all the time: {bytes, seconds}; `check`: whether the last one
had the bytes that it should have.
"""
import atexit
import json
import os
import pathlib
import sys
import time
from importlib.metadata import version

import numpy
import torch
import torch.multiprocessing

SIZE, WORKERS, BATCHES = map(int, sys.argv[2:])
SAMPLES = 8  # of a batch


def mix(value):
    """the core's hr_mix64(), of which fakesrc makes its bytes"""
    value = value.copy()
    value += numpy.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value ^= value >> numpy.uint64(shift)
        value *= numpy.uint64(factor)
    return value ^ value >> numpy.uint64(31)


def make_batch(index):
    """what fakesrc gives as its buffer of that number"""
    key = mix(mix(numpy.zeros(1, numpy.uint64)) ^ numpy.uint64(index))
    return mix(key + numpy.arange(0, SIZE, 8, dtype=numpy.uint64)).view(numpy.uint8)[:SIZE]


def look_at(batch):
    """a number of each page"""
    return int(batch.view(-1)[::4096].sum())


def equal(batch, expected):
    return torch.equal(batch.view(-1), torch.from_numpy(expected))


# ---- those who give: (write so many, an iterator over BATCHES more, what the batch of a number is, version, settings)

def headrace_in_process(process=False):
    import headrace
    chain = "batch size=1 ! prefetchqueue max-batches=2"
    loader = headrace.Loader(f"fakesrc size={SIZE} ! {chain} ! appsink", **({"process": True} if process else {}))

    def write(number):
        pipeline = headrace.Pipeline(f"fakesrc size={SIZE} num-buffers={number} ! {chain} ! fakesink")
        pipeline.start()
        pipeline.wait()

    def batches():
        for _ in range(BATCHES):
            yield next(loader)["bytes"][0]
    return (write, batches, make_batch, versions("torch"),
            f"{'process=True, ' if process else ''}fakesrc ! batch size=1 ! prefetchqueue max-batches=2 ! "
            "appsink; floor: fakesink")


def shmsink():
    import subprocess
    import headrace
    write, _, expect, known, _ = headrace_in_process()
    address = f"@headrace-bench-{os.getpid()}"
    program = pathlib.Path(headrace.__file__).parents[2] / "tools/hr-launch"
    chain = "batch size=1 ! prefetchqueue max-batches=2"
    child = subprocess.Popen([program, f"fakesrc size={SIZE} ! {chain} ! shmsink address={address}"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    atexit.register(child.kill)
    loader = headrace.Loader(f"shmsrc address={address} ! appsink")

    def batches():
        for _ in range(BATCHES):
            yield next(loader)["bytes"][0]
    return (write, batches, expect, known, f"hr-launch 'fakesrc ! {chain} ! shmsink', shmsrc ! appsink; floor: "
            f"{chain} ! fakesink")


def samples_of(batch):
    return list(torch.from_numpy(batch[: SIZE // SAMPLES * SAMPLES]).view(SAMPLES, -1).unbind())


class Samples:
    """a map-style data set: samples that are there already, so that putting them together is the one time that a
    batch is written"""
    def __init__(self):
        self.samples = samples_of(make_batch(0))

    def __len__(self):
        return SAMPLES * BATCHES

    def __getitem__(self, index):
        return self.samples[index % SAMPLES]


def write_stacks(number):
    data = Samples()
    for _ in range(number):
        torch.stack(data.samples)


def dataloader():
    loader = torch.utils.data.DataLoader(Samples(), batch_size=SAMPLES, num_workers=WORKERS, prefetch_factor=2,
                                         persistent_workers=True)
    return (write_stacks, lambda: iter(loader), lambda number: make_batch(0), versions("torch"),
            f"num_workers={WORKERS} prefetch_factor=2 persistent_workers, pin_memory off, {SAMPLES} samples a batch, "
            "default_collate; floor: torch.stack")


def give(orders, queue):
    torch.set_num_threads(1)
    data = Samples()
    while orders.get():
        for _ in range(BATCHES):
            queue.put(torch.stack(data.samples))


def multiprocessing():
    context = torch.multiprocessing.get_context("spawn")
    orders, queue = context.Queue(), context.Queue(2)
    context.Process(target=give, args=(orders, queue), daemon=True).start()

    def batches():
        orders.put(True)
        for _ in range(BATCHES):
            yield queue.get()
    return (write_stacks, batches, lambda number: make_batch(0), versions("torch"),
            "a spawned process, torch.multiprocessing.Queue(2), torch.stack; floor: torch.stack")


WHO = {"headrace": headrace_in_process, "headrace process": lambda: headrace_in_process(True),
       "headrace shmsink": shmsink, "dataloader": dataloader,
       "torch.multiprocessing": multiprocessing}


def versions(*names):
    return " ".join(f"{name} {version(name)}" for name in names)


# ---- commands

def pull(batches):
    size, seconds, before = 0, 0.0, None
    for batch in batches():
        now = time.perf_counter()
        if before is not None:  # the first one is the start
            seconds += now - before
        look_at(batch)
        size += batch.numel()
        before = now
    return batch, {"bytes": size, "seconds": seconds}


def main():
    torch.set_num_threads(1)
    out = os.fdopen(os.dup(1), "w")  # libraries may print
    os.dup2(2, 1)
    write, batches, expect, known, settings = WHO[sys.argv[1]]()
    got, batch = 0, None

    def get():
        nonlocal got, batch
        batch, answer = pull(batches)
        got += BATCHES
        return answer

    def check():  # the numbers behind the last whole sample are nobody's
        return equal(batch, expect(got - 1)[: batch.numel()])
    get()
    write(BATCHES)
    commands = {"pull": get, "check": check, "floor": lambda number: write(int(number))}
    print(json.dumps({"version": known, "settings": settings}), file=out, flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        print(json.dumps(commands[command](*arguments)), file=out, flush=True)


if __name__ == "__main__":
    main()
