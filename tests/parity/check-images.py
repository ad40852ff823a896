#!/usr/bin/env python3
"""usage: check-images.py BUILD ROOT [IMAGES [SEED]]: random images of many sizes, modes, formats and orientations
through the whole path, bytes to patches, beside Pillow and transformers' image processors. TAP; a failure tells
the smallest image that differs, and leaves nothing behind but how it was made."""
import json
import os
import sys
import tempfile

import numpy as np
from PIL import Image, ImageFile

from verify import Tap, Verify, say, seeded

BUILD, ROOT = sys.argv[1:3]
# what each format can hold, and how it is written
FORMATS = {
    "JPEG": (["L", "RGB", "CMYK"], lambda rng, mode: {
        "quality": rng.randint(30, 100), "progressive": rng.random() < 0.3,
        **({"subsampling": rng.choice([0, 1, 2])} if mode == "RGB" else {})}),
    "PNG": (["1", "L", "LA", "RGB", "RGBA", "P", "P+alpha", "P+tRNS", "L+tRNS", "RGB+tRNS", "I;16"],
            lambda rng, mode: {"compress_level": 1}),
    "WEBP": (["RGB", "RGBA", "L"], lambda rng, mode: {"lossless": rng.random() < 0.5, "quality": rng.randint(20, 100), "method": 1}),
    "GIF": (["L", "P", "P+tRNS", "1"], lambda rng, mode: {}),
    "TIFF": (["1", "L", "LA", "RGB", "RGBA", "P", "CMYK", "I;16"],
             lambda rng, mode: {"compression": rng.choice([None, "tiff_lzw", "tiff_adobe_deflate", "packbits"])}),
    "BMP": (["1", "L", "RGB", "P", "RGBA"], lambda rng, mode: {}),
}
ORIENTED = ("JPEG", "PNG", "WEBP", "TIFF")
GROUPS = [  # sizes, decoding, tail, backend
    ("small", "", "resize ! patchify normalize=pillow", "pillow"),
    ("large", "workers=2", "resize workers=2 ! patchify dtype=bfloat16 workers=2", "pillow"),
    ("small", "alpha=drop", "resize reference=torchvision ! patchify", "torchvision"),
    ("large", "", "resize ! patchify dtype=uint8", "torchvision"),
]


def random_size(rng, kind):
    """most are small, some long and thin; none more than 200 times as long as wide"""
    most = 60 if kind == "small" else 900
    if rng.random() < 0.1:
        short = rng.randint(1, 6)
        sides = [short, rng.randint(short, min(200 * short, most * 4))]
        rng.shuffle(sides)
        return tuple(sides)
    sides = rng.randint(1, most), rng.randint(1, most)
    return sides if max(sides) <= 200 * min(sides) else random_size(rng, kind)


def random_pixels(rng, size, bands):
    """noise, a gradient, or flat areas with sharp edges: shape (height, width, bands)"""
    noise = np.random.default_rng(rng.randrange(1 << 63))
    width, height = size
    kind = rng.randrange(3)
    if kind == 0:
        return noise.integers(0, 256, (height, width, bands), np.uint8)
    y, x = np.mgrid[0:height, 0:width]
    if kind == 1:
        planes = [(x * rng.uniform(0, 5) + y * rng.uniform(0, 5) + rng.randint(0, 255)) % 256 for _ in range(bands)]
        return np.stack(planes, -1).astype(np.uint8)
    step = rng.randint(1, 20)
    cells = noise.integers(0, 2, (height // step + 1, width // step + 1, bands), np.uint8) * 255
    return np.kron(cells, np.ones((step, step, 1), np.uint8))[:height, :width]


def random_image(rng, size, mode):
    """an image, and what else its file has to say"""
    if mode == "I;16":
        high = random_pixels(rng, size, 1)[..., 0].astype(np.uint16)
        return Image.fromarray(high * 256 + random_pixels(rng, size, 1)[..., 0]), {}
    base, _, extra = mode.partition("+")
    bands = {"1": 1, "L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[base]
    pixels = random_pixels(rng, size, bands)
    if base == "P":
        colours = rng.randint(2, 256)
        image = Image.fromarray((pixels[..., 0].astype(int) * colours // 256).astype(np.uint8))
        # of mode L until it has a palette
        image.putpalette(rng.randbytes(3 * colours))
        if extra == "alpha":
            return image, {"transparency": rng.randbytes(colours)}
        return image, {"transparency": rng.randrange(colours)} if extra else {}
    if base == "1":
        return Image.fromarray(pixels[..., 0] > 127), {}
    planes = [Image.fromarray(np.ascontiguousarray(pixels[..., band])) for band in range(bands)]
    image = Image.merge(base, planes)
    if extra:
        pixel = image.getpixel((rng.randrange(size[0]), rng.randrange(size[1])))
        return image, {"transparency": pixel}
    return image, {}


def write_image(rng, path, kind):
    """how it was made"""
    form = rng.choice(list(FORMATS))
    modes, options = FORMATS[form]
    mode, size = rng.choice(modes), random_size(rng, kind)
    image, extra = random_image(rng, size, mode)
    extra.update(options(rng, mode))
    told = {"format": form, "mode": mode, "size": list(size)}
    if form in ORIENTED and rng.random() < 0.4:
        told["orientation"] = rng.randint(1, 8)
        exif = Image.Exif()
        exif[0x112] = told["orientation"]
        extra["exif"] = exif if form == "TIFF" else exif.tobytes()
    # noise needs more room than Pillow gives a progressive JPEG
    ImageFile.MAXBLOCK = 1 << 24
    image.save(path, form, **extra)
    told.update({key: value for key, value in extra.items() if key not in ("exif", "transparency") and value is not None})
    return told


def write_records(rng, folder, n, kind):
    """a line an image; the numbers of lines say how it was made"""
    made = []
    with open(os.path.join(folder, "a.jsonl"), "w", encoding="utf-8") as file:
        for number in range(n):
            made.append(write_image(rng, os.path.join(folder, f"{number}"), kind))
            file.write(json.dumps({"image": str(number), "query": "<image>", "response": "A"}) + "\n")
    return made


def main():
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    verify, tap = Verify(BUILD, ROOT), Tap(len(GROUPS))
    rng = seeded(sys.argv[4] if len(sys.argv) > 4 else None)
    for kind, decode, tail, backend in GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            made = write_records(rng, folder, n, kind)
            result = verify.result(f"filesrc location={folder}/a.jsonl ! jsonlparse",
                                   "workers=2 min-pixels=4096 max-pixels=65536", tail, "--backend", backend, decode=decode)
            good = result["ok"] and result["samples"] == n and not result["left-out"]
            field = result["fields"]["pixel_values"]
            if not good:
                say(f"{result['error']} {result['left-out']} {field} {result['first']} {result['stderr']}"[:2000])
                bad = [w for w in result["differences"] if w.get("beyond", True) or backend != "torchvision"]
                bad.sort(key=lambda w: made[w["line"] - 1]["size"][0] * made[w["line"] - 1]["size"][1])
                for wrong in bad[:8]:
                    say(f"{made[wrong['line'] - 1]}: {wrong['field']} {wrong}"[:600])
            tap.case(good, f"{kind}; {decode or 'defaults'}; {tail}; {backend}: {result['samples']} of {n} images, "
                     f"{field['values']} values, {field['share']:.4%} differ, most {field['greatest-levels']} levels")
    return tap.failed


sys.exit(main())
