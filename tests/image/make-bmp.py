#!/usr/bin/env python3
"""make-bmp.py OUT: small bitmaps of every kind, and index.json with the sha256 of their pixels.

The pixels are known here, because they are what the files are made from; Pillow 11.3 reads those it
can, and must agree. Run once; the results are in tests/data/image/bmp.
"""
import hashlib
import io
import json
import pathlib
import random
import struct
import sys

from PIL import Image

W, H = 13, 7
rng = random.Random(11)
palette = [tuple(rng.randrange(256) for _ in range(3)) for _ in range(256)]


def indices(n):
    return [[rng.randrange(n) for _ in range(W)] for _ in range(H)]


def pad(row):
    return row + b"\0" * (-len(row) % 4)


def pack(rows, bits):
    out = []
    for row in rows:
        text = "".join(format(v, f"0{bits}b") for v in row)
        text += "0" * (-len(text) % 8)
        out.append(pad(bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))))
    return out


def bmp(rows, bits, compression=0, masks=b"", colours=(), used=0, top_down=False, info=40, tail=b"", data=None):
    """one file; @masks lie in the header where that is large enough"""
    if info == 12:
        head = struct.pack("<IHHHH", 12, W, H, 1, bits)
        table = b"".join(bytes((b, g, r)) for r, g, b in colours)
    else:
        head = struct.pack("<IiiHHIIiiII", info, W, -H if top_down else H, 1, bits, compression, 0, 2835, 2835, used, 0)
        if info > 40:
            head += masks.ljust(16, b"\0")[:min(16, info - 40)] + b"\0" * (info - 56)
        elif masks:
            head += masks
        table = b"".join(bytes((b, g, r, 0)) for r, g, b in colours)
    body = data if data is not None else b"".join(rows if top_down else rows[::-1])
    start = 14 + len(head) + len(table)
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + head + table + body + tail


def white(s, a):
    t = s * a + 255 * (255 - a) + 128
    return ((t >> 8) + t) >> 8


files = {}


def add(name, data, pixels):
    files[name] = (data, bytes(v for row in pixels for p in row for v in p))


def coloured(rows):
    return [[palette[v] for v in row] for row in rows]


for bits in (1, 2, 4, 8):
    rows = indices(1 << bits)
    add(f"palette-{bits}.bmp", bmp(pack(rows, bits), bits, colours=palette[:1 << bits]), coloured(rows))
    add(f"palette-{bits}-top-down.bmp", bmp(pack(rows, bits), bits, colours=palette[:1 << bits], top_down=True),
        coloured(rows))
rows = indices(20)
add("palette-8-of-20.bmp", bmp(pack(rows, 8), 8, colours=palette[:20], used=20), coloured(rows))
add("os2-8.bmp", bmp(pack(rows, 8), 8, colours=palette, info=12), coloured(rows))

rgb = [[tuple(rng.randrange(256) for _ in range(3)) for _ in range(W)] for _ in range(H)]
bgr = [pad(b"".join(bytes((b, g, r)) for r, g, b in row)) for row in rgb]
add("rgb-24.bmp", bmp(bgr, 24), rgb)
add("rgb-24-top-down.bmp", bmp(bgr, 24, top_down=True), rgb)
add("rgb-24-v5.bmp", bmp(bgr, 24, info=124), rgb)
add("os2-24.bmp", bmp(bgr, 24, info=12), rgb)
whole = bmp(bgr, 24)
add("rgb-24-no-last-padding.bmp", whole[:len(whole) - len(bgr[0]) + W * 3] if len(bgr[0]) > W * 3 else whole, rgb)
bgrx = [b"".join(bytes((b, g, r, 77)) for r, g, b in row) for row in rgb]
add("rgb-32.bmp", bmp(bgrx, 32), rgb)


def masked(bits, masks, values, info=40):
    """pixels of @values (one tuple of channels as stored), and the file"""
    shifts = [(m & -m).bit_length() - 1 if m else 0 for m in masks]
    tops = [m >> s for m, s in zip(masks, shifts)]
    fmt = "<H" if bits == 16 else "<I"
    stored = [pad(b"".join(struct.pack(fmt, sum(v << s for v, s in zip(p, shifts))) for p in row)) for row in values]
    full = [[tuple(v * 255 // t if t else 0 for v, t in zip(p, tops)) for p in row] for row in values]
    pixels = [[tuple(white(c, p[3]) for c in p[:3]) if len(masks) == 4 and masks[3] else p[:3] for p in row]
              for row in full]
    words = b"".join(struct.pack("<I", m) for m in masks)
    return bmp(stored, bits, 3, masks=words, info=info), pixels


def values(tops):
    return [[tuple(rng.randrange(t + 1) for t in tops) for _ in range(W)] for _ in range(H)]


v555 = values((31, 31, 31))
plain = [pad(b"".join(struct.pack("<H", r << 10 | g << 5 | b) for r, g, b in row)) for row in v555]
add("rgb-555.bmp", bmp(plain, 16), [[tuple(c * 255 // 31 for c in p) for p in row] for row in v555])
add("rgb-565.bmp", *masked(16, (0xf800, 0x7e0, 0x1f), values((31, 63, 31))))
add("rgb-444.bmp", *masked(16, (0xf00, 0xf0, 0xf), values((15, 15, 15))))
add("rgb-101010.bmp", *masked(32, (0x3ff00000, 0xffc00, 0x3ff), values((1023, 1023, 1023))))
add("bgra-v4.bmp", *masked(32, (0xff0000, 0xff00, 0xff, 0xff000000), values((255, 255, 255, 255)), info=108))
add("rgba-v5.bmp", *masked(32, (0xff, 0xff00, 0xff0000, 0xff000000), values((255, 255, 255, 255)), info=124))
add("bgrx-v4.bmp", *masked(32, (0xff0000, 0xff00, 0xff, 0), values((255, 255, 255, 0)), info=108))


def rle(rows, nibbles, plain):
    """a mix of runs, literal stretches and jumps; Pillow gets jumps and odd literals of 4 bits wrong"""
    out, pixels = b"", [[0] * W for _ in range(H)]
    for y, row in enumerate(rows[::-1]):
        x = 0
        while x < W:
            kind = rng.randrange(2 if plain else 3)
            n = min(W - x, rng.randrange(3, 7))
            if kind == 0 or n < 3 or (plain and nibbles and n % 4):
                a, b = (row[x], row[min(x + 1, W - 1)]) if nibbles else (row[x], row[x])
                out += bytes((n, a << 4 | b if nibbles else a))
                for i in range(n):
                    pixels[H - 1 - y][x + i] = (a, b)[i % 2]
            elif kind == 1:
                part = row[x:x + n]
                body = (bytes(part) if not nibbles else
                        bytes(part[i] << 4 | (part[i + 1] if i + 1 < n else 0) for i in range(0, n, 2)))
                out += bytes((0, n)) + body + b"\0" * (len(body) % 2)
                pixels[H - 1 - y][x:x + n] = part
            else:
                out += bytes((0, 2, n, 0))
            x += n
        out += b"\0\0"
    return out + b"\0\1", pixels


for bits, compression, plain in ((8, 1, False), (8, 1, True), (4, 2, False), (4, 2, True)):
    data, pixels = rle(indices(1 << bits), bits == 4, plain)
    add(f"rle-{bits}{'-plain' if plain else ''}.bmp", bmp(None, bits, compression, colours=palette[:1 << bits], data=data), coloured(pixels))

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
index = {}
for name, (data, pixels) in files.items():
    assert len(pixels) == W * H * 3, name
    agrees = None
    try:
        image = Image.open(io.BytesIO(data))
        if image.mode == "RGBA":
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        agrees = image.convert("RGB").tobytes() == pixels
    except Exception as error:  # what Pillow does not read
        print(f"{name}: Pillow: {error}")
    if agrees is False:
        print(f"{name}: Pillow reads other pixels")
    (out / name).write_bytes(data)
    index[name] = {"sha256": hashlib.sha256(pixels).hexdigest(), "pillow": bool(agrees)}
(out / "index.json").write_text(json.dumps(index, indent=1) + "\n")
