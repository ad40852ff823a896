"""A small data set of real images in a temporary folder, and pipelines over it."""
import gc
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import headrace
from headrace import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = ["coffee_444.jpg", "rgba.png", "cat_420.jpg", "gray.jpg", "tiny10.png", "lossy.webp", "palette_trns.png"]


class DataSet:
    """`n` records with one image each, in two files; in `parent`, where temporary files are not seen by all."""

    def __init__(self, n=23, bad=(), parent=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-python-", dir=parent))
        for image in IMAGES:
            shutil.copy(ROOT / "tests/data/golden/images" / image, self.folder)
        records = [{"id": f"r{i}", "image": "missing.jpg" if i in bad else IMAGES[i % len(IMAGES)],
                    "conversations": [{"from": "human", "value": "<image>\nWhat?"},
                                      {"from": "gpt", "value": f"Number {i}."}]} for i in range(n)]
        lines = [json.dumps(record) + "\n" for record in records]
        (self.folder / "a.jsonl").write_text("".join(lines[:n // 3]))
        (self.folder / "b.jsonl").write_text("".join(lines[n // 3:]))

    def pipeline(self, size=4, source="", head="", tail="prefetchqueue ! patchify", sink="appsink"):
        return (f"{head} filesrc location={self.folder}/ shuffle=full seed=3 {source} ! jsonlparse ! imagefetch"
                " ! imagedecode workers=2 ! resize max-pixels=65536 min-pixels=4096"
                f" ! batch size={size} ! {tail} ! {sink}")

    def remove(self):
        shutil.rmtree(self.folder)


class WithData(unittest.TestCase):
    """Tests over one set, of which none leaves memory of the pipeline behind."""

    @classmethod
    def setUpClass(cls):
        cls.data = DataSet()

    @classmethod
    def tearDownClass(cls):
        cls.data.remove()

    def setUp(self):
        gc.collect()
        self.live = _core.live()

    def tearDown(self):
        gc.collect()
        self.assertEqual(_core.live(), self.live)


def ids(batches):
    """of all samples that were not skipped"""
    return [sample["id"] for batch in batches for sample in batch.batch.samples if not sample["skipped"]]


def load(text, **options):
    return headrace.Loader(text, framework="numpy", **options)


def digests(batches):
    return [batch.batch.digest() for batch in batches]


def run_python(code, *args, **options):
    return subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **options)


def tool(name):
    return os.environ["HR_TOOLS"] + "/" + name
