"""Batches of images, the arguments of a launch over them, and what patchify makes of them.

Pixels come from a seed, so that what patchify made of them elsewhere can be a digest in expected.json:
the machine with the GPU needs none of our libraries. Standard library only, Python 3.8.
"""
import hashlib
import itertools
import struct

TYPES = ("float32", "bfloat16", "float16", "uint8")  # as in HrPatchType
SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "uint8": 1}
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 1 / 255)
CLIP = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711), 1 / 255)
TIES = ((0.5, 0.5, 0.5), (1.0, 1.0, 1.0), 1.0)  # half of the bytes lie in the middle of two bfloat16


def round32(value):
    """to float32; a double's quotient, sum or product of two of those, so rounded, is theirs"""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def number(value, kind):
    """the bytes of a float32 as that type, to nearest, ties to even"""
    if kind == "float32":
        return struct.pack("<f", value)
    if kind == "float16":
        return struct.pack("<e", value)
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def make_table(kind, pillow, normalizing):
    """what each byte of each channel becomes: [3][256], or nothing for uint8"""
    mean, std, scale = normalizing
    table = b""
    if kind == "uint8":
        return table
    for middle, spread in zip(map(round32, mean), map(round32, std)):
        minus, by = (round32(x * round32(1 / scale)) for x in (middle, spread))
        for byte in range(256):
            value = (round32(round32(round32(byte * scale) - middle) / spread) if pillow
                     else round32(round32(byte - minus) / by))
            table += number(value, kind)
    return table


class Case:
    """one launch"""
    def __init__(self, name, kind, shape, images, *, pillow=False, normalizing=HALF, gap=0):
        self.name, self.kind, self.pillow, self.normalizing, self.gap = name, kind, pillow, normalizing, gap
        self.patch, self.merge, self.temporal = shape
        block = self.patch * self.merge
        self.sides = [(height * block, width * block) for height, width in images]
        self.sources, self.rows, at, row = [], [], gap, 0
        for height, width in self.sides:
            self.sources.append(at)
            self.rows.append(row)
            at += height * width * 3 + gap
            row += height // self.patch * (width // self.patch)
        self.n_pixels, self.n_rows = at, row
        self.row_bytes = 3 * self.temporal * self.patch ** 2 * SIZES[kind]
        self.out_bytes = row * self.row_bytes

    def pixels(self):
        return hashlib.shake_256(self.name.encode()).digest(self.n_pixels)

    def table(self):
        return make_table(self.kind, self.pillow, self.normalizing)

    def images(self):
        """the array of HrPatchImage"""
        return b"".join(struct.pack("<QQII", source, row, *sides)
                        for source, row, sides in zip(self.sources, self.rows, self.sides))

    def run_length(self):
        """hr_patch_run_length() of plugins/cuda/kernel-params.h"""
        longest = 16 // SIZES[self.kind]
        return longest if self.patch % longest == 0 else 4 if self.patch % 2 == 0 else 1

    def blocks(self):
        """hr_patch_blocks()"""
        runs = self.patch ** 2 // self.run_length()
        group = 256 // runs if runs < 256 else 1
        return min(-(-self.n_rows // group), 1 << 20)

    def expect(self, pixels, table, at):
        """byte @at of the output, by the formula of plugins/image/patch.h"""
        size, row = SIZES[self.kind], at // self.row_bytes
        column, part = divmod(at % self.row_bytes, SIZES[self.kind])
        image = max(i for i, first in enumerate(self.rows) if first <= row)
        width, q = self.sides[image][1], row - self.rows[image]
        m, p = self.merge, self.patch
        by, bx = divmod(q // (m * m), width // p // m)
        my, mx = divmod(q % (m * m), m)
        channel, rest = divmod(column, self.temporal * p * p)
        y, x = divmod(rest % (p * p), p)
        byte = pixels[self.sources[image] + (((by * m + my) * p + y) * width + (bx * m + mx) * p + x) * 3 + channel]
        return table[(channel * 256 + byte) * size + part] if table else byte


def make_cases():
    cases = []
    shapes = ((16, 2, 2), (14, 2, 2), (8, 1, 1), (9, 3, 2), (15, 2, 3), (1, 1, 1), (4, 2, 4), (32, 1, 2), (2, 3, 1))
    for kind, shape in itertools.product(TYPES, shapes):
        name = f"{kind} {'x'.join(map(str, shape))}"
        cases.append(Case(name, kind, shape, ((1, 1), (2, 3), (3, 1)), gap=16))
    for kind in TYPES:
        cases.append(Case(f"{kind} large", kind, (16, 2, 2), ((16, 22), (1, 40), (9, 9)), gap=0))
        cases.append(Case(f"{kind} unaligned", kind, (16, 2, 2), ((2, 3), (2, 2)), gap=3))
        cases.append(Case(f"{kind} many", kind, (14, 2, 2), ((1, 1), (1, 2)) * 50))
    for kind in TYPES[:3]:
        cases.append(Case(f"{kind} pillow", kind, (16, 2, 2), ((3, 3),), pillow=True))
        cases.append(Case(f"{kind} clip", kind, (14, 2, 2), ((3, 3),), normalizing=CLIP))
        cases.append(Case(f"{kind} clip pillow", kind, (14, 2, 2), ((3, 3),), normalizing=CLIP, pillow=True))
        cases.append(Case(f"{kind} ties", kind, (16, 2, 2), ((3, 3),), normalizing=TIES))
    return cases
