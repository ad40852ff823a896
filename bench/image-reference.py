#!/usr/bin/env python3
"""image-reference.py LIST: what Pillow makes of each JPEG file of LIST, a line of JSON each.

Sizes, and sha256 of the resized pixels, of their patches as levels, and of pixel_values in each dtype.
"""
import concurrent.futures
import json
import sys

import numpy
import PIL
from PIL import Image, ImageOps

import image_rules as rules


def work(path):
    with Image.open(path) as image:
        upright = image.getexif().get(0x112, 1) == 1
        image = ImageOps.exif_transpose(image).convert("RGB")
    h, w = rules.smart_resize(image.height, image.width)
    pixels = numpy.asarray(image.resize((w, h), Image.Resampling.BICUBIC))
    levels = rules.to_levels(pixels)
    values = rules.TABLES["torchvision"]
    return {"height": h, "width": w, "upright": upright, "pixels": rules.digest(pixels), "levels": rules.digest(levels),
            "float32": rules.digest(values[levels]), "bfloat16": rules.digest(rules.to_bfloat16(values)[levels]),
            "float16": rules.digest(values.astype(numpy.float16)[levels])}


if __name__ == "__main__":
    print(json.dumps({"pillow": PIL.__version__}))
    with concurrent.futures.ProcessPoolExecutor() as pool, open(sys.argv[1], encoding="utf-8") as files:
        for found in pool.map(work, files.read().split("\n"), chunksize=8):
            print(json.dumps(found))
