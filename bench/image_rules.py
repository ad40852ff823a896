"""What bench/image and its peers agree on: sizes, the order and the numbers of patches. NumPy alone."""
import hashlib
import math

import numpy

MIN_PIXELS, MAX_PIXELS = 65536, 1003520
BATCH = 8
PATCH, MERGE, TEMPORAL = 16, 2, 2
COLUMNS = 3 * TEMPORAL * PATCH * PATCH
_bytes = numpy.arange(256)
# the two spellings of (u / 255 - 0.5) / 0.5 in float32: the processor's on torchvision, and on Pillow
TABLES = {
    "torchvision": (_bytes.astype(numpy.float32) - numpy.float32(127.5)) / numpy.float32(127.5),
    "pillow": ((_bytes * (1 / 255)).astype(numpy.float32) - numpy.float32(0.5)) / numpy.float32(0.5)}


def smart_resize(height, width, most=MAX_PIXELS):
    """transformers' rule for the size of an image of at most @most pixels"""
    factor = PATCH * MERGE
    h, w = round(height / factor) * factor, round(width / factor) * factor
    if h * w > most:
        beta = math.sqrt(height * width / most)
        h = max(factor, math.floor(height / beta / factor) * factor)
        w = max(factor, math.floor(width / beta / factor) * factor)
    elif h * w < MIN_PIXELS:
        beta = math.sqrt(MIN_PIXELS / (height * width))
        h, w = math.ceil(height * beta / factor) * factor, math.ceil(width * beta / factor) * factor
    return h, w


def _blocks(pixels):
    """[by, bx, my, mx, channel, y, x]: a row's patches stand together"""
    h, w = pixels.shape[:2]
    blocks = pixels.reshape(h // PATCH // MERGE, MERGE, PATCH, w // PATCH // MERGE, MERGE, PATCH, 3)
    return blocks.transpose(0, 3, 1, 4, 6, 2, 5)


def to_levels(pixels):
    """uint8 [h, w, 3] to uint8 [rows, COLUMNS]"""
    blocks = _blocks(pixels)[:, :, :, :, :, None]
    return numpy.broadcast_to(blocks, blocks.shape[:5] + (TEMPORAL, PATCH, PATCH)).reshape(-1, COLUMNS)


def to_rows(pixels):
    """uint8 [h, w, 3] to float32 [rows, COLUMNS], for peers that have no patches: one pass over the numbers"""
    blocks = _blocks(pixels)
    rows = numpy.empty(blocks.shape[:5] + (TEMPORAL, PATCH, PATCH), numpy.float32)
    numpy.multiply(blocks, numpy.float32(1 / 127.5), out=rows[:, :, :, :, :, 0])
    rows[:, :, :, :, :, 0] -= numpy.float32(1)
    rows[:, :, :, :, :, 1:] = rows[:, :, :, :, :, :1]
    return rows.reshape(-1, COLUMNS)


def to_bfloat16(values):
    bits = values.view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def digest(array):
    return hashlib.sha256(numpy.ascontiguousarray(array)).hexdigest()


def describe(rows):
    """(digest of the levels that the float32 rows stand for, "" if they are none; whose float32 they are, or None)"""
    scaled = rows * numpy.float32(127.5) + numpy.float32(127.5)
    levels = numpy.clip(numpy.rint(scaled), 0, 255).astype(numpy.uint8)
    if not numpy.all(numpy.abs(scaled - levels) < 1e-3):
        return "", None
    whose = [name for name, table in TABLES.items() if numpy.array_equal(table[levels], rows)]
    return digest(levels), whose[0] if whose else None
