#!/usr/bin/env python3
"""Lazy retrieval and spread, alone and together, on nodes in network namespaces with a real S3 server: demo/full."""
import atexit
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest

import dataset
import net
import tap

sys.path.insert(0, str(dataset.ROOT / "demo/full"))
import ladder  # noqa: E402 # pylint: disable=wrong-import-position

# small files and large images, so that processors have less to do than links
WORDS = ["--rounds", "1", "--resize", "min-pixels=262144 max-pixels=262144", "--steps", "8", "--mbit", "60"]
SECOND_ROUNDS = 2  # a machine that others use: what was not as expected is looked at by the median of three


class Ratio(unittest.TestCase):
    """What is compared are rates of the same machine at nearly the same time, which links of a fixed rate make."""

    def setUp(self):
        if not net.can():
            self.skipTest("optional: needs root and network namespaces")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hr-net-ratio-", dir="/var/tmp"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        (folder / "demo").mkdir()
        dataset.DataSet(n=311, parent=folder / "demo").folder.rename(folder / "demo/train")
        self.words = [*WORDS, "--build", str(pathlib.Path(os.environ["HR_TOOLS"]).parent), "--data-root", str(folder)]

    def look(self, name, arms):
        scale = next(scale for scale in ladder.SCALES if scale[0] == name)
        seen = ladder.climb(ladder.parse(self.words), scale, (), arms)["arms"]
        if ladder.JUDGES[name](ladder.times(seen)):
            seen += ladder.climb(ladder.parse([*self.words, "--rounds", str(SECOND_ROUNDS)]), scale, (), arms)["arms"]
        ratios = ladder.times(seen)
        print("# times neither: " + ", ".join(f"{arm} {x:.2f}" for arm, x in ratios.items()), flush=True)
        self.assertEqual(ladder.JUDGES[name](ratios), [])

    def test_large(self):
        """four nodes with a rank each: both together help, neither alone"""
        self.look("large", ladder.ARMS[:4])

    def test_small(self):
        """one node: nothing helps"""
        self.look("small", ladder.ARMS[:4])


signal.signal(signal.SIGTERM, signal.default_int_handler)
tap.main()
