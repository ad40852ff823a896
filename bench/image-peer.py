#!/usr/bin/env python3
"""image-peer.py WHO THREADS LIST WORK: JPEG files to float32 patches, or decoded images to resized ones, as WHO's users do it.

Says {"version", "settings"} when it is ready, then obeys lines: "run" goes over all files once, in batches, and
answers "done"; "check" answers with a description of each image; "resize" resizes decoded images and answers with
the milliseconds an image. LIST has a file a line; WORK is a folder for what a peer needs on disk.
"""
import concurrent.futures
import collections
import io
import json
import os
import pathlib
import resource
import sys
import tarfile
from importlib.metadata import version

import numpy

import image_rules as rules

THREADS = int(sys.argv[2])
FILES = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8").split("\n")
WORK = pathlib.Path(sys.argv[4])
BATCHES = [FILES[at:at + rules.BATCH] for at in range(0, len(FILES), rules.BATCH)]


def versions(*names):
    return " ".join(f"{name} {version(name)}" for name in names)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def in_threads(work):
    """work(batch) in THREADS threads, in order, with one batch more than threads under way"""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        waiting = collections.deque()
        for batch in BATCHES:
            waiting.append(pool.submit(work, batch))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def concatenate(images):
    """rows of a batch from uint8 images"""
    rows = [rules.to_rows(image) for image in images]
    return numpy.concatenate(rows), [len(r) for r in rows]


# ---- transformers' processors

def processor(backend):
    options = {"patch_size": rules.PATCH, "merge_size": rules.MERGE, "temporal_patch_size": rules.TEMPORAL,
               "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
               "size": {"shortest_edge": rules.MIN_PIXELS, "longest_edge": rules.MAX_PIXELS}}
    if backend == "pillow":
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
        made, tensors = Qwen2VLImageProcessorPil(**options), "np"
    else:
        from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
        import torch
        torch.set_num_threads(1)  # the threads are above
        made, tensors = Qwen2VLImageProcessor(**options), "pt"

    def process(images):
        out = made(images=images, return_tensors=tensors)
        return out["pixel_values"], [int(t * h * w) for t, h, w in out["image_grid_thw"]]
    return process


def open_pillow(path):
    from PIL import Image, ImageOps
    with Image.open(path) as image:
        return ImageOps.exif_transpose(image).convert("RGB")


def pillow_hf(backend):
    process = processor(backend)
    return (lambda: in_threads(lambda batch: process([open_pillow(path) for path in batch])),
            versions("pillow", "transformers", *(["torchvision"] if backend == "torchvision" else [])),
            f"Pillow decodes, the {backend} processor on a batch, {THREADS} threads over batches")


def torchvision_hf():
    from torchvision.io import ImageReadMode, decode_image
    process = processor("torchvision")
    return (lambda: in_threads(lambda batch: process([decode_image(path, ImageReadMode.RGB, apply_exif_orientation=True)
                                                      for path in batch])),
            versions("torchvision", "transformers"),
            f"torchvision.io decodes, the torchvision processor on a batch, {THREADS} threads over batches")


class Paths:
    """a map-style data set"""
    def __len__(self):
        return len(FILES)

    def __getitem__(self, index):
        return open_pillow(FILES[index])


def dataloader(backend):
    import torch.utils.data
    process = processor(backend)

    def collate(images):
        rows, counts = process(images)
        return torch.as_tensor(rows), counts
    loader = torch.utils.data.DataLoader(Paths(), batch_size=rules.BATCH, num_workers=THREADS, prefetch_factor=2,
                                         persistent_workers=True, collate_fn=collate)
    return (lambda: iter(loader), versions("torch", "pillow", "transformers"),
            f"num_workers={THREADS} prefetch_factor=2 persistent_workers, Pillow decodes, the {backend} processor "
            "in collate_fn")


def webdataset():
    import webdataset as wds
    process = processor("torchvision")
    WORK.mkdir(parents=True, exist_ok=True)
    for shard in range(THREADS):
        with tarfile.open(WORK / f"images-{shard}.tar", "w") as tar:
            for number in [n for n in range(len(FILES)) if n // rules.BATCH % THREADS == shard]:
                data = read(FILES[number])
                entry = tarfile.TarInfo(f"{number:06d}.jpg")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))

    def collate(samples):
        rows, counts = process([image for _, image in samples])
        return rows, counts, [int(key) for key, _ in samples]
    urls = [str(WORK / f"images-{shard}.tar") for shard in range(THREADS)]
    data = (wds.WebDataset(urls, shardshuffle=False).decode("pilrgb").to_tuple("__key__", "jpg")
            .batched(rules.BATCH, collation_fn=collate))
    loader = wds.WebLoader(data, batch_size=None, num_workers=THREADS, persistent_workers=True)
    return (lambda: iter(loader), versions("webdataset", "torch", "transformers"),
            f"WebLoader num_workers={THREADS} persistent_workers, {THREADS} shards, decode(pilrgb), the torchvision "
            f"processor on a batch")


# ---- loaders with decoders of their own

def spdl(own):
    import spdl.io
    from spdl.pipeline import PipelineBuilder
    process = None if own else processor("torchvision")

    def load(path):
        packets = spdl.io.demux_image(path)
        h, w = rules.smart_resize(packets.height, packets.width)
        size = {"scale_width": w, "scale_height": h, "scale_algo": "bicubic", "scale_mode": None} if own else {}
        wanted = spdl.io.get_video_filter_desc(pix_fmt="rgb24", **size)
        return spdl.io.to_numpy(spdl.io.convert_frames(spdl.io.decode_packets(packets, filter_desc=wanted)))

    def work(batch):
        images = [load(path) for path in batch]
        if own:
            return concatenate(images)
        import torch
        return process([torch.from_numpy(image).permute(2, 0, 1) for image in images])

    def batches():
        pipeline = (PipelineBuilder().add_source(BATCHES).pipe(work, concurrency=THREADS, output_order="input")
                    .add_sink(2).build(num_threads=THREADS))
        with pipeline.auto_stop():
            yield from pipeline
    rest = "its filter resizes, patches by NumPy" if own else "the torchvision processor on a batch"
    return (batches, versions("spdl", *([] if own else ["transformers"])),
            f"Pipeline of {THREADS} threads, spdl.io decodes, {rest}")


def dali():
    from nvidia.dali import fn, pipeline_def, types
    from PIL import Image

    def source():
        while True:  # it reads ahead, into the next round as well
            for batch in BATCHES:
                sizes = [rules.smart_resize(*Image.open(path).size[::-1]) for path in batch]
                yield [numpy.fromfile(path, numpy.uint8) for path in batch], [numpy.array(s, numpy.float32) for s in sizes]

    @pipeline_def(batch_size=rules.BATCH, num_threads=THREADS, device_id=None, prefetch_queue_depth=2)
    def define():
        data, sizes = fn.external_source(source=source(), num_outputs=2)
        image = fn.decoders.image(data, device="cpu", output_type=types.RGB)
        image = fn.resize(image, size=sizes, interp_type=types.INTERP_CUBIC, antialias=True)
        return fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW", mean=[127.5] * 3, std=[127.5] * 3)
    pipeline = define()
    pipeline.build()

    def to_rows(planes):
        c, h, w = planes.shape
        p = planes.reshape(3, h // 32, 2, 16, w // 32, 2, 16).transpose(1, 4, 2, 5, 0, 3, 6)[:, :, :, :, :, None]
        return numpy.broadcast_to(p, p.shape[:5] + (rules.TEMPORAL, 16, 16)).reshape(-1, rules.COLUMNS)

    def batches():
        for batch in BATCHES:
            out, = pipeline.run()
            rows = [to_rows(numpy.asarray(out[i])) for i in range(len(batch))]
            yield numpy.concatenate(rows), [len(r) for r in rows]
    return (batches, versions("nvidia-dali-cuda130"),
            f"processor only, num_threads={THREADS} prefetch_queue_depth=2, decoders.image, resize cubic antialias, "
            "crop_mirror_normalize, patches by NumPy")


def pyvips():
    import pyvips as vips
    vips.cache_set_max(0)
    vips.vips_lib.vips_concurrency_set(1)

    def load(path):
        image = vips.Image.new_from_file(path, access="sequential")
        h, w = rules.smart_resize(image.height, image.width)
        if image.interpretation != "srgb":
            image = image.colourspace("srgb")
        return image.resize(w / image.width, vscale=h / image.height, kernel="cubic").numpy()
    library = ".".join(str(vips.version(i)) for i in range(3))
    return (lambda: in_threads(lambda batch: concatenate([load(path) for path in batch])),
            f"{versions('pyvips')} libvips {library}",
            f"sequential access, no cache, {THREADS} threads over batches, resize kernel=cubic, patches by NumPy")


def simplejpeg_opencv():
    import cv2
    import simplejpeg
    cv2.setNumThreads(1)

    def load(path):
        image = simplejpeg.decode_jpeg(read(path), "RGB")
        h, w = rules.smart_resize(*image.shape[:2])
        kind = cv2.INTER_AREA if w < image.shape[1] else cv2.INTER_CUBIC
        return cv2.resize(image, (w, h), interpolation=kind)
    return (lambda: in_threads(lambda batch: concatenate([load(path) for path in batch])),
            versions("simplejpeg", "opencv-python-headless"),
            f"{THREADS} threads over batches, INTER_AREA to shrink and INTER_CUBIC to enlarge, patches by NumPy")


def hf_processors_rs():
    import hf_processors_rs as rust
    options = {"image_processor_type": "Qwen2VLImageProcessorPil", "patch_size": rules.PATCH,
               "merge_size": rules.MERGE, "temporal_patch_size": rules.TEMPORAL, "image_mean": [0.5] * 3,
               "image_std": [0.5] * 3, "size": {"shortest_edge": rules.MIN_PIXELS, "longest_edge": rules.MAX_PIXELS},
               "min_pixels": rules.MIN_PIXELS, "max_pixels": rules.MAX_PIXELS, "do_resize": True, "do_rescale": True,
               "do_normalize": True, "do_convert_rgb": True, "resample": 3, "rescale_factor": 1 / 255}
    made = rust.Qwen2VLImageProcessor.from_dict(options, backend="pil")

    def batches():
        for batch in BATCHES:
            out = made(batch, num_threads=THREADS)
            yield out["pixel_values"], [int(t * h * w) for t, h, w in out["image_grid_thw"]]
    return batches, versions("hf-processors-rs"), f"backend=pil, a batch of paths, num_threads={THREADS}"


PEERS = {"pillow + hf pillow": lambda: pillow_hf("pillow"),
         "pillow + hf torchvision": lambda: pillow_hf("torchvision"),
         "torchvision + hf torchvision": torchvision_hf,
         "dataloader + hf pillow": lambda: dataloader("pillow"),
         "dataloader + hf torchvision": lambda: dataloader("torchvision"),
         "webdataset + hf torchvision": webdataset,
         "spdl": lambda: spdl(True),
         "spdl + hf torchvision": lambda: spdl(False),
         "dali": dali,
         "pyvips": pyvips,
         "simplejpeg + opencv": simplejpeg_opencv,
         "hf-processors-rs": hf_processors_rs}


# ---- resizers alone, in one thread

def resizer_pillow():
    import PIL
    from PIL import Image
    images = [open_pillow(path) for path in FILES]
    return ([lambda i=i: i.resize(rules.smart_resize(i.height, i.width)[::-1], Image.Resampling.BICUBIC)
             for i in images], PIL.__version__)


def resizer_torchvision():
    import torch
    import torchvision
    from torchvision.transforms.v2 import InterpolationMode, functional
    torch.set_num_threads(1)
    images = [torch.from_numpy(numpy.array(open_pillow(path))).permute(2, 0, 1) for path in FILES]
    return ([lambda i=i: functional.resize(i, list(rules.smart_resize(*i.shape[1:])), antialias=True,
                                           interpolation=InterpolationMode.BICUBIC) for i in images],
            torchvision.__version__)


def resizer_libvips():
    import pyvips as vips
    vips.cache_set_max(0)
    vips.vips_lib.vips_concurrency_set(1)

    def work(array):
        h, w = rules.smart_resize(*array.shape[:2])
        image = vips.Image.new_from_array(array)
        return image.resize(w / image.width, vscale=h / image.height, kernel="cubic").numpy()
    images = [numpy.array(open_pillow(path)) for path in FILES]
    return [lambda i=i: work(i) for i in images], ".".join(str(vips.version(i)) for i in range(3))


RESIZERS = {"resize: pillow": resizer_pillow, "resize: torchvision": resizer_torchvision,
            "resize: libvips": resizer_libvips}


# ---- commands

def run(batches):
    for batch in batches():
        rows = batch[0]
        float(rows[0, 0]) + float(rows[-1, -1])


def check(batches):
    found, number = [None] * len(FILES), 0
    for batch in batches():
        rows, at = numpy.asarray(batch[0]), 0
        for i, count in enumerate(batch[1]):
            index = batch[2][i] if len(batch) > 2 else number
            found[index] = rules.describe(rows[at:at + count])
            at, number = at + count, number + 1
    return found


def resize(works):
    before = resource.getrusage(resource.RUSAGE_SELF)
    for work in works:
        work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return [(after.ru_utime - before.ru_utime) * 1e3 / len(works), (after.ru_stime - before.ru_stime) * 1e3 / len(works)]


def main():
    os.environ["HF_HUB_OFFLINE"] = "1"
    out = os.fdopen(os.dup(1), "w")  # libraries may print
    os.dup2(2, 1)
    who = sys.argv[1]
    if who in PEERS:
        batches, known, settings = PEERS[who]()
    else:
        works, known = RESIZERS[who]()
        settings = "one thread, images decoded before"
    print(json.dumps({"version": known, "settings": settings}), file=out, flush=True)
    for line in sys.stdin:
        command = line.strip()
        if command == "run":
            run(batches)
            print(json.dumps("done"), file=out, flush=True)
        elif command == "check":
            print(json.dumps(check(batches)), file=out, flush=True)
        elif command == "resize":
            print(json.dumps(resize(works)), file=out, flush=True)


if __name__ == "__main__":
    main()
