"""Batches of bytes from those who write them to a torch tensor here, for bench/python.

usage: python-pull.py WHO BYTES WORKERS BATCHES

Says {"version", "settings"} when it is ready, then obeys lines: `floor` writes all batches and hands over none,
`pull` gets them: {bytes, seconds, exact}: whether the last one has the bytes that it should have.
"""
import json
import os
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


# ---- those who give: (write all, iterate over all, the last batch, version, settings)

def headrace(process=False):
    import headrace
    source = f"fakesrc size={SIZE} num-buffers={BATCHES}"

    def write():
        pipeline = headrace.Pipeline(f"{source} ! fakesink")
        pipeline.start()
        pipeline.wait()

    def batches():
        loader = headrace.Loader(f"{source} ! batch size=1 ! prefetchqueue max-batches=2 ! appsink",
                                 **({"process": True} if process else {}))
        for batch in loader:
            yield batch["bytes"][0]
        loader.close()
    return (write, batches, make_batch(BATCHES - 1), versions("torch"),
            f"{'process=True, ' if process else ''}fakesrc ! batch size=1 ! prefetchqueue max-batches=2 ! "
            "appsink; floor: fakesink")


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


def write_stacks():
    data = Samples()
    for _ in range(BATCHES):
        torch.stack(data.samples)


def dataloader():
    loader = torch.utils.data.DataLoader(Samples(), batch_size=SAMPLES, num_workers=WORKERS, prefetch_factor=2,
                                         persistent_workers=True)
    return (write_stacks, lambda: iter(loader), make_batch(0), versions("torch"),
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
    return (write_stacks, batches, make_batch(0), versions("torch"),
            "a spawned process, torch.multiprocessing.Queue(2), torch.stack; floor: torch.stack")


WHO = {"headrace": headrace, "headrace process": lambda: headrace(True), "dataloader": dataloader,
       "torch.multiprocessing": multiprocessing}


def versions(*names):
    return " ".join(f"{name} {version(name)}" for name in names)


# ---- commands

def pull(batches, last):
    size, seconds, before = 0, 0.0, None
    for batch in batches():
        now = time.perf_counter()
        if before is not None:  # the first one is the start
            seconds += now - before
        look_at(batch)
        size += batch.numel()
        before = now
    # the numbers behind the last whole sample are nobody's
    return {"bytes": size, "seconds": seconds, "exact": equal(batch, last[: batch.numel()])}


def main():
    torch.set_num_threads(1)
    out = os.fdopen(os.dup(1), "w")  # libraries may print
    os.dup2(2, 1)
    write, batches, last, known, settings = WHO[sys.argv[1]]()
    pull(batches, last)
    write()
    print(json.dumps({"version": known, "settings": settings}), file=out, flush=True)
    for line in sys.stdin:
        answer = pull(batches, last) if line.strip() == "pull" else write()
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
