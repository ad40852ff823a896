"""A loader beside ours, or ours, for bench/python: as its users have it.

usage: python-peer.py WHO WORK

Says {"version", "settings"} when it is ready, then obeys lines and answers each with a line of JSON. `epoch` goes over
the data once: {samples, seconds}. `check`: the digests of all images, sorted. `train UNITS`: an epoch with a
step of UNITS of work behind each batch: {steps, waited, worked}, seconds behind the first batch. `alone UNITS
STEPS`: the same steps without a loader. `calibrate SECONDS`: UNITS of that much. WHO is a loader; WORK has
`records.jsonl` and `settings.json`.
"""
import io
import json
import os
import pathlib
import sys
import tarfile
import time
from importlib.metadata import version

import numpy
import torch
from PIL import Image

import image_rules as rules

WORK = pathlib.Path(sys.argv[2])
SETTINGS = json.loads((WORK / "settings.json").read_text(encoding="utf-8"))
BATCH, WORKERS, MAX_PIXELS = SETTINGS["batch"], SETTINGS["workers"], SETTINGS["max_pixels"]
RECORDS = (WORK / "records.jsonl").read_text(encoding="utf-8").splitlines()


def versions(*names):
    return " ".join(f"{name} {version(name)}" for name in names)


# ---- what everybody's users write in Python: a record, its image, a batch

def link_of(record):
    return json.loads(record)["messages"][0]["content"][0]["image"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def to_rows(file):
    """a JPEG as float32 patches"""
    with Image.open(file) as image:
        size = rules.smart_resize(image.height, image.width, MAX_PIXELS)
        return rules.to_rows(numpy.asarray(image.convert("RGB").resize(size[::-1], Image.Resampling.BICUBIC)))


def collate(samples):
    return torch.from_numpy(numpy.concatenate(samples)), [len(rows) for rows in samples]


# ---- the loaders: each gives (a function that iterates over an epoch's batches, version, settings)

def headrace(process=False):
    import headrace
    text = (f"cpus={WORKERS} filesrc location={WORK}/records.jsonl ! jsonlparse ! imagefetch allow-links=file ! "
            f"imagedecode workers={WORKERS} ! resize max-pixels={MAX_PIXELS} workers={WORKERS} ! batch size={BATCH} ! "
            f"prefetchqueue max-batches=2 ! patchify dtype=float32 workers={WORKERS} ! appsink")
    headrace.Loader(text, **({"process": True} if process else {}))  # what is wrong is said now

    def epoch():  # a new one, so that it has read nothing ahead: the others have not either
        loader = headrace.Loader(text, epochs=1, **({"process": True} if process else {}))
        for batch in loader:
            yield batch["pixel_values"], batch["image_grid_thw"].prod(1).tolist()
        loader.close()
    return epoch, versions("torch"), ("process=True, " if process else "") + text


class Records:
    """a map-style data set"""
    def __len__(self):
        return len(RECORDS)

    def __getitem__(self, index):
        return to_rows(link_of(RECORDS[index]))


def loader_options():
    return {"num_workers": WORKERS, "prefetch_factor": 2, "persistent_workers": True}


def dataloader():
    loader = torch.utils.data.DataLoader(Records(), batch_size=BATCH, collate_fn=collate, **loader_options())
    return (lambda: iter(loader), versions("torch", "pillow"),
            f"num_workers={WORKERS} prefetch_factor=2 persistent_workers, pin_memory off, map-style data set, Pillow")


def spdl():
    import spdl.io
    from spdl.pipeline import PipelineBuilder
    batches = [RECORDS[at:at + BATCH] for at in range(0, len(RECORDS), BATCH)]

    def load(path):
        packets = spdl.io.demux_image(path)
        height, width = rules.smart_resize(packets.height, packets.width, MAX_PIXELS)
        wanted = spdl.io.get_video_filter_desc(scale_width=width, scale_height=height, scale_algo="bicubic",
                                               scale_mode=None, pix_fmt="rgb24")
        return rules.to_rows(spdl.io.to_numpy(spdl.io.convert_frames(
            spdl.io.decode_packets(packets, filter_desc=wanted))))

    def work(batch):
        return collate([load(link_of(record)) for record in batch])

    def epoch():
        pipeline = (PipelineBuilder().add_source(batches).pipe(work, concurrency=WORKERS, output_order="input")
                    .add_sink(2).build(num_threads=WORKERS))
        with pipeline.auto_stop():
            yield from pipeline
    return epoch, versions("spdl", "torch"), f"Pipeline of {WORKERS} threads over batches, spdl.io decodes and resizes"


def webdataset():
    import webdataset as wds
    folder = WORK / "webdataset"
    folder.mkdir(exist_ok=True)
    urls = [str(folder / f"{shard}.tar") for shard in range(WORKERS)]
    for shard, url in enumerate(urls):
        with tarfile.open(url, "w") as tar:
            for number in [n for n in range(len(RECORDS)) if n // BATCH % WORKERS == shard]:
                for kind, data in (("json", RECORDS[number].encode()), ("jpg", read(link_of(RECORDS[number])))):
                    entry = tarfile.TarInfo(f"{number:06d}.{kind}")
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
    data = (wds.WebDataset(urls, shardshuffle=False).map(lambda sample: to_rows(io.BytesIO(sample["jpg"])))
            .batched(BATCH, collation_fn=collate))
    loader = wds.WebLoader(data, batch_size=None, **loader_options())
    return (lambda: iter(loader), versions("webdataset", "torch", "pillow"),
            f"WebLoader num_workers={WORKERS} prefetch_factor=2 persistent_workers, {WORKERS} shards, Pillow")


def mosaicml():
    import streaming
    streaming.base.util.clean_stale_shared_memory()
    folder = WORK / "mds"
    if not folder.exists():
        with streaming.MDSWriter(out=str(folder), columns={"record": "str", "image": "bytes"}) as out:
            for record in RECORDS:
                out.write({"record": record, "image": read(link_of(record))})

    class Mosaic(streaming.StreamingDataset):
        def __getitem__(self, at):
            return to_rows(io.BytesIO(super().__getitem__(at)["image"]))
    data = Mosaic(local=str(folder), shuffle=False, batch_size=BATCH)
    loader = streaming.StreamingDataLoader(data, batch_size=BATCH, collate_fn=collate, **loader_options())
    return (lambda: iter(loader), versions("mosaicml-streaming", "torch", "pillow"),
            f"StreamingDataLoader num_workers={WORKERS} prefetch_factor=2 persistent_workers, MDS on local disk, Pillow")


def energon():
    import subprocess
    from dataclasses import dataclass
    from megatron.energon import (Cooker, DefaultTaskEncoder, Sample, WorkerConfig, basic_sample_keys, get_loader,
                                  get_train_dataset, stateless)
    folder = WORK / "energon"
    if not folder.exists():
        folder.mkdir()
        (folder / "train.jsonl").write_text("\n".join(RECORDS) + "\n", encoding="utf-8")
        subprocess.run([pathlib.Path(sys.executable).parent / "energon", "prepare", folder / "train.jsonl"], check=True,
                       stdin=subprocess.DEVNULL, stdout=sys.stderr)

    @dataclass
    class Rows(Sample):
        rows: object

    @stateless
    def cook(sample):
        return Rows(**basic_sample_keys(sample), rows=to_rows(link_of(json.dumps(sample["json"]))))

    class Encoder(DefaultTaskEncoder):
        cookers = [Cooker(cook)]

        @stateless
        def batch(self, samples):
            return collate([sample.rows for sample in samples])

        @stateless
        def encode_batch(self, batch):
            return batch
    data = get_train_dataset(
        folder / "train.jsonl", batch_size=BATCH, shuffle_buffer_size=None, max_samples_per_sequence=None,
        worker_config=WorkerConfig(rank=0, world_size=1, num_workers=WORKERS), task_encoder=Encoder(), repeat=False)
    loader = get_loader(data)
    return (lambda: iter(loader), versions("megatron-energon", "torch", "pillow"),
            f"get_loader, num_workers={WORKERS}, crude JSON lines, no shuffling, Pillow")


WHO = {"headrace": headrace, "headrace process": lambda: headrace(True), "dataloader": dataloader, "spdl": spdl,
       "energon": energon, "webdataset": webdataset, "mosaicml": mosaicml}


# ---- a trainer that needs a processor, and the interpreter half of the time

_matrix = numpy.random.default_rng(1).random((128, 128), numpy.float32)


def work(units):
    for _ in range(units):
        total = 0
        for i in range(4000):
            total += i * i
        product = _matrix
        for _ in range(5):
            product = _matrix @ product


def calibrate(seconds):
    """so many units take that long; the least of some tries, as the machine may have other things to do"""
    return max(1, round(seconds / min(timed(lambda: work(20)) for _ in range(7)) * 20))


def timed(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def look_at(rows):
    """a number of each page, so that nobody's memory is only promised"""
    return float(rows.view(-1)[::1024].sum())


# ---- commands

def run_epoch(epoch):
    begin, samples = time.perf_counter(), 0
    for rows, counts in epoch():
        look_at(rows)
        samples += len(counts)
    return {"samples": samples, "seconds": time.perf_counter() - begin}


def check(epoch):
    found = []
    for rows, counts in epoch():
        at = 0
        for count in counts:
            found.append(rules.describe(rows[at:at + count].numpy())[0])
            at += count
    return sorted(found)


def train(epoch, units):
    steps, waited, worked = 0, 0.0, 0.0
    before = None
    for rows, _ in epoch():
        begin = time.perf_counter()
        if before is not None:  # the first batch is the start
            waited += begin - before
        look_at(rows)
        work(units)
        before = time.perf_counter()
        worked += before - begin
        steps += 1
    return {"steps": steps, "waited": waited / (steps - 1), "worked": worked / steps}


def alone(units, steps):
    rows = torch.zeros(BATCH * 1000, rules.COLUMNS)
    return {"worked": timed(lambda: [(look_at(rows), work(units)) for _ in range(steps)]) / steps}


def main():
    torch.set_num_threads(1)
    out = os.fdopen(os.dup(1), "w")  # libraries may print
    os.dup2(2, 1)
    epoch, known, settings = WHO[sys.argv[1]]()
    commands = {"epoch": lambda: run_epoch(epoch), "check": lambda: check(epoch),
                "train": lambda units: train(epoch, int(units)),
                "alone": lambda units, steps: alone(int(units), int(steps)),
                "calibrate": lambda seconds: calibrate(float(seconds))}
    print(json.dumps({"version": known, "settings": settings}), file=out, flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        print(json.dumps(commands[command](*arguments)), file=out, flush=True)


if __name__ == "__main__":
    main()
