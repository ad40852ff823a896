#!/usr/bin/env python3
"""usage: test-units.py BUILD ROOT: the parts of hr-verify parity that need no library but NumPy. Every comparison
must be able to fail, and to say where. TAP."""
import os
import sys

import numpy as np

from verify import run_cases

ROOT = sys.argv[2]
sys.path.insert(0, os.path.join(ROOT, "tools", "verify", "parity"))
from bounds import Bound, pixel_bound, spelling_bound, spellings, to_bfloat16  # noqa: E402
from fields import Field, to_levels  # noqa: E402
from media import Media  # noqa: E402
from records import read_line, read_record  # noqa: E402
from settings import Settings  # noqa: E402

HALF = [0.5] * 3, [0.5] * 3, 1 / 255
CLIP = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711], 1 / 255


def settings(resize="pillow", normalize="torchvision", dtype="float32", exact=True, stats=HALF):
    return Settings([
        {"factory": "tokenize", "properties": {"patch-size": 14, "min-pixels": 7}},
        {"factory": "imagedecode", "properties": {"exact": exact}},
        {"factory": "resize", "properties": {"reference": resize, "patch-size": 16, "merge-size": 3}},
        {"factory": "patchify", "properties": {"normalize": normalize, "dtype": dtype, "image-mean": [str(x) for x in stats[0]],
                                               "image-std": [str(x) for x in stats[1]], "rescale-factor": stats[2]}}])


def test_settings():
    value = settings()
    assert value.sizing("patch-size", 16) == 14 and value.sizing("merge-size", 2) == 3 and value.factor == 42
    assert value.get("jsonlparse", "strip", "x") == "x" and value.statistics == HALF


def test_bounds():
    assert pixel_bound(settings(normalize="pillow"), "pillow", False) == Bound()
    assert pixel_bound(settings("torchvision"), "torchvision", False) == Bound()
    assert pixel_bound(settings(), "torchvision", False) == Bound(2, 0.005, 0)
    assert pixel_bound(settings("torchvision", "pillow", exact=False), "pillow", False).levels is None
    assert pixel_bound(settings("torchvision"), "pillow", True) == Bound()
    # the two spellings: 128 of 256 differ, by 6e-8 at most; not at all once they are bfloat16
    pillow, torchvision = spellings(0.5, 0.5, 1 / 255)
    assert (pillow != torchvision).sum() == 128
    assert 5e-8 < pixel_bound(settings(), "pillow", False).value <= 6e-8
    assert spelling_bound(HALF, "bfloat16") == 0 and spelling_bound(HALF, "uint8") == 0
    assert 0 < spelling_bound(CLIP, "float32") < 5e-7


def test_golden_tables():
    """both spellings are what the processors gave"""
    golden = np.load(os.path.join(ROOT, "tests/data/golden/pixel_values_u8.npz"))
    for table, name in zip(spellings(0.5, 0.5, 1 / 255), ("lut_pil", "lut_tv")):
        known = ~np.isnan(golden[name])
        assert known.sum() > 250 and (table[known] == golden[name][known]).all(), name


def test_bfloat16():
    values = np.array([1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -8 + 2 ** -20, -0.1], np.float32)
    assert to_bfloat16(values).tolist() == [1, 1, 1 + 2 ** -6, 1 + 2 ** -7, -0.10009765625]


def test_numbers():
    field = Field("input_ids", Bound())
    assert field.compare(np.arange(6), np.arange(6)) and field.good and field.first is None
    other = np.arange(6).reshape(2, 3)
    assert not field.compare(other, np.array([[0, 1, 2], [3, 9, 5]]))
    assert (field.first, field.good, field.differing, field.values, field.greatest) == (
        {"what": "value", "index": [1, 1], "ours": 4, "theirs": 9}, False, 1, 12, 5.0)
    field = Field("input_ids", Bound())
    assert not field.compare(np.arange(6), np.array([0, 1, 2, 4, 5])) and not field.good
    assert (field.other_shapes, field.samples, field.values) == (1, 1, 0)
    assert field.first == {"what": "shape", "ours": [6], "theirs": [5], "index": 3}


def pixels(levels):
    return ((levels.astype(np.float32) - 127.5) / 127.5).astype(np.float32)


def test_pixels():
    levels = np.random.default_rng(1).integers(0, 254, (40, 1536), np.uint8)
    ours = pixels(levels)
    assert (to_levels(ours, HALF) == levels).all()
    field = Field("pixel_values", Bound())
    assert field.compare_pixels(ours, ours.copy(), HALF) and field.good
    # one value, one bit: equal levels, and yet not equal
    theirs = ours.copy()
    theirs[3, 5] = np.nextafter(theirs[3, 5], np.float32(2))
    assert not field.compare_pixels(ours, theirs, HALF) and not field.good and field.first["index"] == [3, 5]
    field = Field("pixel_values", Bound(value=6e-8))
    assert not field.compare_pixels(ours, theirs, HALF) and field.good and field.differing == 1
    theirs[3, 5] += np.float32(2e-7)
    field.compare_pixels(ours, theirs, HALF)
    assert not field.good


def test_levels():
    levels = np.random.default_rng(1).integers(0, 250, (40, 1536), np.uint8)
    changed = levels.copy()
    changed[7, 9] += 2
    field = Field("pixel_values", Bound(2, 0.005, 0))
    assert not field.compare_pixels(pixels(levels), pixels(changed), HALF)
    assert field.good and field.greatest_levels == 2 and field.other_levels == 1
    # too many of them
    changed[:, 10:50] += 1
    field.compare_pixels(pixels(levels), pixels(changed), HALF)
    assert not field.good and not field.broken
    # one that is too far, named before those that are not
    changed = levels.copy()
    changed[0, 0] += 1
    changed[7, 9] += 3
    field = Field("pixel_values", Bound(2, 0.005, 0))
    assert not field.compare_pixels(levels, changed, HALF) and not field.good
    assert field.first == {"what": "level", "index": [7, 9], "ours": levels[7, 9], "theirs": levels[7, 9] + 3}, field.first
    # not a number is never equal
    broken = pixels(levels)
    broken[1, 1] = np.nan
    field = Field("pixel_values", Bound(2, 0.005, 6e-8))
    assert not field.compare_pixels(broken, pixels(levels), HALF) and not field.good
    # nothing is promised
    field = Field("pixel_values", Bound(levels=None))
    field.compare_pixels(pixels(levels), pixels(changed), HALF)
    assert field.good and field.differing == 2


def test_documented_records():
    """the examples of docs/records.md are read, each as something"""
    with open(os.path.join(ROOT, "docs/records.md"), encoding="utf-8") as file:
        parts = file.read().split("```json\n")[1:]
    lines = [line for part in parts for line in part.split("```")[0].splitlines()]
    assert len(lines) > 10
    read = {}
    for line in lines:
        for value in read_line(line.encode()):
            read[value.get("id")] = read_record(value)
    assert read["3"].turns[0] == ("user", False, [("image", 0), ("text", "What is it?")])
    assert read["4"].turns == read["3"].turns and read["3"].images == ["images/cat.jpg"]
    assert read["6"].turns[0] == ("system", False, [("text", "Be brief.")])
    assert read["8"].turns[0] == ("user", False, [("text", "1+1?")]) and len(read["8"].turns) == 4
    assert read["9"].turns[0] == ("user", False, [("text", "Translate.\nKatze")])
    assert read["10"].turns == [("assistant", True, [("text", "A text to learn, without a question.")])]


def test_rules():
    value = {"image": "a.png", "conversations": [{"from": "human", "value": " Q "}, {"from": "gpt", "value": "A", "loss": False},
                                                 {"from": "system", "value": "S"}, {"from": "gpt", "value": "B"}]}
    record = read_record(value, missing_placeholder="prepend", late_system="drop")
    assert record.turns == [("user", False, [("image", 0), ("text", "Q")]), ("assistant", False, [("text", "A")]),
                            ("assistant", True, [("text", "B")])] and record.images == ["a.png"]
    kept = read_record(value, "none", "prepend", "keep")
    assert kept.turns[2] == ("system", False, [("text", "S")]) and kept.turns[0][2][1] == ("text", " Q ")


def test_links():
    media = Media(Settings([{"factory": "jsonlparse", "properties": {"media-base": None}}]))
    for link, uri, target in (("images/a b%20.png", "/data/x/a.jsonl", "/data/x/images/a b%20.png"),
                              ("../c.png", "/data/x/a.jsonl", "/data/c.png"), ("/c.png", "/data/x/a.jsonl", "/c.png"),
                              ("c/../d.png", "s3://b/x/a.jsonl", "s3://b/x/d.png"), ("s3://c/d", "/a.jsonl", "s3://c/d")):
        assert media.resolve(link, uri) == target, (link, uri, media.resolve(link, uri))
    media = Media(Settings([{"factory": "jsonlparse", "properties": {"media-base": "s3://b/images"}}]))
    assert media.resolve("d.png", "/x/a.jsonl") == "s3://b/images/d.png"
    for ref in ("data:image/png;base64,QUJD", {"bytes": "QUJD", "path": "b.png"}, {"base64": "QUJD"}, "data:,ABC"):
        assert media.read_image(ref, "/x/a.jsonl") == b"ABC", ref


def test_requirements():
    """the long tests compare with what users are told to compare with"""
    def lines(name):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            return {line.strip() for line in file if not line.startswith("#")}
    assert lines("tools/verify/parity/requirements.txt") <= lines("tests/long-requirements.txt")


sys.exit(run_cases(globals()))
