"""A small Ray cluster on this machine, of one node or of several, in a folder of its own; and what tests compare."""
import atexit
import os
import pathlib
import secrets
import shutil
import tempfile
import time
import unittest

# Before ray is imported: a token of our own, so that another cluster on this machine is another one. Processes of
# the cluster inherit all of it.
if "HR_RAY_FOLDER" not in os.environ:
    folder = tempfile.mkdtemp(prefix="hr-ray-")  # short: sockets are in it
    pathlib.Path(folder, "token").write_text(secrets.token_hex(32), encoding="ascii")
    os.environ.update({
        "HR_RAY_FOLDER": folder, "RAY_TMPDIR": folder, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": folder + "/token",
        "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "RAY_memory_monitor_refresh_ms": "0", "OMP_NUM_THREADS": "1",
        # what nobody refers to is freed at once, not in batches, so that a test can see what somebody does refer to
        "RAY_free_objects_period_milliseconds": "10", "RAY_free_objects_batch_size": "1",
        # what a busy machine needs longer for is no failure
        "RAY_worker_register_timeout_seconds": "120", "RAY_raylet_start_wait_time_s": "120"})
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
FOLDER = pathlib.Path(os.environ["HR_RAY_FOLDER"])

import dataset  # noqa: E402
import numpy as np  # noqa: E402
import ray  # noqa: E402

STORE = 200 << 20
# of a cluster of several nodes; a server that listens on loopback alone is not found by the others
IP = ray.util.get_node_ip_address()


def start(**options):
    """A node, in this process's hands."""
    ray.init(num_cpus=options.pop("num_cpus", 2), object_store_memory=STORE, include_dashboard=False,
             _node_ip_address=IP, log_to_driver=False, logging_level="WARNING", **options)


def finish():
    ray.shutdown()


class Steps(unittest.TestCase):
    """Tests that compare what two loaders deliver."""

    def check_step(self, mine, other):
        self.assertEqual(list(mine), list(other))
        for name in other:
            self.assertTrue(same(mine[name], other[name]), name)
        self.assertEqual(mine.batch.samples, other.batch.samples)
        self.assertEqual((mine.batch.step, mine.batch.epoch, mine.batch.place),
                         (other.batch.step, other.batch.epoch, other.batch.place))


class WithCluster(Steps):
    """Tests on a node of this process, over one set of data, in which a record's image is missing."""

    @classmethod
    def setUpClass(cls):
        start()
        cls.data = dataset.DataSet(bad={5})
        cls.text = cls.data.pipeline(head="on-error=skip", tail="prefetchqueue")

    @classmethod
    def tearDownClass(cls):
        cls.data.remove()
        finish()


def wait_for(what, seconds=120):
    until = time.monotonic() + seconds
    while not (value := what()):
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.05)
    return value


def same(mine, other):
    """Whether two fields are the same to the byte, dtypes and shapes too."""
    if isinstance(other, np.ndarray):
        return isinstance(mine, np.ndarray) and mine.dtype == other.dtype and mine.shape == other.shape and \
            mine.tobytes() == other.tobytes()
    if isinstance(other, (list, tuple)):
        return len(mine) == len(other) and all(same(a, b) for a, b in zip(mine, other))
    return mine == other


def arrays(value):
    """All arrays in a field."""
    if isinstance(value, list):
        return [array for item in value for array in arrays(item)]
    return [value] if isinstance(value, np.ndarray) else []
