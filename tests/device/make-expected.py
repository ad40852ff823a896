#!/usr/bin/env python3
"""Digests of what patchify makes of the cases of patches.py: expected.json.

usage: make-expected.py REFERENCE.so > expected.json     or: make-expected.py REFERENCE.so --check EXPECTED.json
The second is a test (TAP): the file is what patchify makes today, and a formula of its own agrees.
"""
import ctypes
import hashlib
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from patches import SIZES, TYPES, make_cases  # noqa: E402 # pylint: disable=wrong-import-position


def write(library, case):
    pixels, out = case.pixels(), bytearray(case.out_bytes)
    into = (ctypes.c_uint8 * len(out)).from_buffer(out)
    mean, std, scale = case.normalizing
    three = ctypes.c_double * 3
    for source, row, (height, width) in zip(case.sources, case.rows, case.sides):
        library.device_reference_write(
            TYPES.index(case.kind), int(case.pillow), three(*mean), three(*std), ctypes.c_double(scale), case.patch,
            case.merge, case.temporal, pixels[source:source + height * width * 3], ctypes.c_size_t(height),
            ctypes.c_size_t(width), ctypes.byref(into, row * case.row_bytes))
    return bytes(out)


def check_formula(case, out):
    pixels, table, rng = case.pixels(), case.table(), random.Random(1)
    for at in [0, len(out) - 1] + [rng.randrange(len(out)) for _ in range(500)]:
        assert out[at] == case.expect(pixels, table, at), f"{case.name}: byte {at}"
    assert len(table) == (0 if case.kind == "uint8" else 768 * SIZES[case.kind])


def main():
    library = ctypes.CDLL(sys.argv[1])
    made, formulas = {}, []
    for case in make_cases():
        out = write(library, case)
        made[case.name] = hashlib.sha256(out).hexdigest()
        try:
            check_formula(case, out)
        except AssertionError as error:
            formulas.append(str(error))
    if len(sys.argv) == 2:
        print(json.dumps(made, indent=1))
        return 1 if formulas else 0
    kept = json.loads(pathlib.Path(sys.argv[3]).read_text(encoding="utf-8"))
    other = [name for name in sorted(set(made) | set(kept)) if made.get(name) != kept.get(name)]
    print("1..2")
    print(f"{'not ok' if other else 'ok'} 1 /device/expected {other or ''}")
    print(f"{'not ok' if formulas else 'ok'} 2 /device/formula {formulas or ''}")
    return 1 if other or formulas else 0


if __name__ == "__main__":
    sys.exit(main())
