#!/usr/bin/env python3
"""image-peer.py WHO THREADS MIN_PIXELS MAX_PIXELS < LIST: a peer of hr-image, with its protocol.

JPEG bytes in memory become uint8 [height, width, 3] of the size smart_resize gives, by what WHO's
users use: decoder and bicubic of the same package.
"""
import concurrent.futures
import hashlib
import io
import math
import resource
import sys

WHO, THREADS, MIN_PIXELS, MAX_PIXELS = sys.argv[1], *map(int, sys.argv[2:5])
FACTOR = 32


def smart_resize(h, w):
    oh, ow = round(h / FACTOR) * FACTOR, round(w / FACTOR) * FACTOR
    if oh * ow > MAX_PIXELS:
        beta = math.sqrt(h * w / MAX_PIXELS)
        oh = max(FACTOR, math.floor(h / beta / FACTOR) * FACTOR)
        ow = max(FACTOR, math.floor(w / beta / FACTOR) * FACTOR)
    elif oh * ow < MIN_PIXELS:
        beta = math.sqrt(MIN_PIXELS / (h * w))
        oh, ow = math.ceil(h * beta / FACTOR) * FACTOR, math.ceil(w * beta / FACTOR) * FACTOR
    return oh, ow


def pillow():
    import numpy
    import PIL
    from PIL import Image

    def one(data):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        h, w = smart_resize(image.height, image.width)
        return numpy.asarray(image.resize((w, h), Image.Resampling.BICUBIC))
    return one, PIL.__version__


def torchvision():
    import torch
    import torchvision as tv
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms.v2 import functional
    torch.set_num_threads(1)

    def one(data):
        image = decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), ImageReadMode.RGB)
        size = list(smart_resize(image.shape[1], image.shape[2]))
        image = functional.resize(image, size, interpolation=functional.InterpolationMode.BICUBIC, antialias=True)
        return image.permute(1, 2, 0).numpy()
    return one, tv.__version__


def pyvips():
    import pyvips as vips
    vips.cache_set_max(0)
    vips.vips_lib.vips_concurrency_set(1)

    def one(data):
        image = vips.Image.new_from_buffer(data, "", access="sequential")
        h, w = smart_resize(image.height, image.width)
        if image.interpretation != "srgb":
            image = image.colourspace("srgb")
        return image.resize(w / image.width, vscale=h / image.height, kernel="cubic").numpy()
    return one, ".".join(str(vips.version(i)) for i in range(3))


def spdl():
    import importlib.metadata
    import spdl.io

    def one(data):
        packets = spdl.io.demux_image(data)
        h, w = smart_resize(packets.height, packets.width)
        wanted = spdl.io.get_video_filter_desc(scale_width=w, scale_height=h, scale_algo="bicubic", scale_mode=None,
                                               pix_fmt="rgb24")
        return spdl.io.to_numpy(spdl.io.convert_frames(spdl.io.decode_packets(packets, filter_desc=wanted)))
    return one, importlib.metadata.version("spdl")


def simplejpeg_opencv():
    import cv2
    import importlib.metadata
    import simplejpeg
    cv2.setNumThreads(1)

    def one(data):
        image = simplejpeg.decode_jpeg(data, "RGB")
        h, w = smart_resize(*image.shape[:2])
        kind = cv2.INTER_AREA if w < image.shape[1] else cv2.INTER_CUBIC
        return cv2.resize(image, (w, h), interpolation=kind)
    return one, importlib.metadata.version("simplejpeg") + "+" + cv2.__version__


def main():
    one, version = {"pillow": pillow, "torchvision": torchvision, "pyvips": pyvips, "spdl": spdl,
                    "simplejpeg-opencv": simplejpeg_opencv}[WHO]()
    print(version, flush=True)
    files = []
    pool = concurrent.futures.ThreadPoolExecutor(THREADS)

    def touch(data):
        return int(one(data).reshape(-1)[::4096].sum())

    def digest(data):
        return hashlib.sha256(one(data).tobytes()).hexdigest()

    for line in sys.stdin:
        line = line.rstrip("\n")
        if line == "run":
            before = resource.getrusage(resource.RUSAGE_SELF)
            for _ in pool.map(touch, files):
                pass
            after = resource.getrusage(resource.RUSAGE_SELF)
            print(f"{(after.ru_utime - before.ru_utime) * 1e3 / len(files):.4f} "
                  f"{(after.ru_stime - before.ru_stime) * 1e3 / len(files):.4f}", flush=True)
        elif line == "check":
            print(hashlib.sha256("".join(pool.map(digest, files)).encode()).hexdigest(), flush=True)
        else:
            with open(line, "rb") as file:
                files.append(file.read())


main()
