#!/usr/bin/env python3
"""cudasink on the stand-in: what goes wrong and is said, every function of the runtime failing, and tensors in Python.

usage: test-cuda.py STANDIN  (the library in place of libcudart)
"""
import ctypes
import gc
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

STANDIN = os.path.abspath(sys.argv.pop())
os.environ["HR_CUDART"] = STANDIN

import fatbin  # noqa: E402
import headrace  # noqa: E402
import tap  # noqa: E402
from dataset import ROOT, DataSet, WithData, tool  # noqa: E402

CUDA, CPU = 2, 1
SCRATCH = tempfile.TemporaryDirectory(prefix="headrace-cuda-")


def kernel(*capabilities):
    return fatbin.write(pathlib.Path(SCRATCH.name) / f"kernel-{'-'.join(map(str, capabilities))}.fatbin", *capabilities)


os.environ["HR_CUDA_KERNEL"] = kernel(80, 90)


def run(text, **env):
    """hr-launch, which must end by itself."""
    return subprocess.run([tool("hr-launch"), "-q", text], env={**os.environ, **env}, capture_output=True, text=True,
                          timeout=60)


class Errors(unittest.TestCase):
    """Each names the element, what was there and what to do, in one line."""

    @classmethod
    def setUpClass(cls):
        cls.data = DataSet(n=9)

    @classmethod
    def tearDownClass(cls):
        cls.data.remove()

    def fails(self, wanted, sink="cudasink", **env):
        env.setdefault("HR_STANDIN_LEAKS", "allow")
        done = run(self.data.pipeline(size=2, tail="prefetchqueue", sink=sink), **env)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, wanted)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("hr-launch: cudasink \"cudasink0\": ", done.stderr)

    def test_no_library(self):
        """a library that is not there"""
        self.fails(r"HR_CUDART names a library that cannot be loaded: /nowhere/libcudart.so", HR_CUDART="/nowhere/libcudart.so")

    def test_other_library(self):
        """a library that is another one"""
        self.fails(r"libm\.so\.6 has no function cudaRuntimeGetVersion: it is not the runtime of CUDA 12 or 13",
                   HR_CUDART="libm.so.6")

    def test_old_library(self):
        """a runtime of CUDA 11"""
        self.fails(r"is of CUDA 11\.8; 12 or 13 is needed", HR_STANDIN_RUNTIME="11080")

    def test_no_driver(self):
        """no driver"""
        self.fails(r"there is no NVIDIA driver: install one; without a GPU use patchify and appsink", HR_STANDIN_DRIVER="0")

    def test_old_driver(self):
        """a driver that is older than the runtime"""
        self.fails(r"the NVIDIA driver is for CUDA 11\.4, the runtime .* for 13\.0: install a newer driver",
                   HR_STANDIN_DRIVER="11040")

    def test_no_device(self):
        """no device"""
        self.fails(r"there is no CUDA device: see nvidia-smi and CUDA_VISIBLE_DEVICES", HR_STANDIN_DEVICES="0")

    def test_device_index(self):
        """a device that is not there"""
        self.fails(r"there is no device 2: there are 2, counted from 0", "cudasink device=0,2", HR_STANDIN_DEVICES="2")

    def test_memory(self):
        """too little memory on the device: what is needed, and what is free"""
        self.fails(r"device 0: too little memory: \d+ bytes are needed, \d+ of 1048576 are free: lower prefetch",
                   HR_STANDIN_MEMORY=str(1 << 20))

    def test_image(self):
        """a device that the kernel is not for, found when it is loaded or when it is started"""
        for lazy in "01":
            self.fails(r"device 0 is sm_75, and the kernel does not run there \(cudaError\w+\); this build"
                       r" has sm_80, .*patchify ! cudaupload", HR_STANDIN_CAPABILITY="7.5", HR_STANDIN_LAZY=lazy)

    def test_no_kernel(self):
        """a file of kernels that is not there, and one that is none"""
        self.fails(r"HR_CUDA_KERNEL: .*/nowhere", HR_CUDA_KERNEL="/nowhere")
        self.fails(r"the kernel does not run there", HR_CUDA_KERNEL=__file__)

    def test_properties(self):
        """devices that are no numbers, twice the same, and a negative one"""
        for device in ["gpu", "0,0", "0,00", "-1", "current,0", "12345"]:
            with self.assertRaisesRegex(headrace.ParseError, "device wants the number of a CUDA device"):
                headrace.Pipeline(f"fakesrc ! batch size=2 ! cudasink device={device}")
        with self.assertRaisesRegex(headrace.ParseError, "image-std is divided by"):
            headrace.Pipeline("fakesrc ! batch size=2 ! cudasink image-std=1,0,1")

    def test_place(self):
        """what stands behind cudaupload must not read bytes"""
        with self.assertRaisesRegex(headrace.ParseError, "\"npysink\" behind it reads bytes that are on the GPU"):
            headrace.Pipeline("fakesrc ! batch size=2 ! cudaupload ! identity ! npysink location=x")
        headrace.Pipeline("fakesrc ! batch size=2 ! cudaupload ! identity ! tee name=t t. ! fakesink t. ! trainsim")
        with self.assertRaisesRegex(headrace.ParseError, "would both be pulled"):
            headrace.Pipeline("fakesrc ! tee name=t t. ! cudasink t. ! appsink")

    def test_image_shape(self):
        """an image that patches do not fit into: without resize"""
        text = self.data.pipeline(size=2, tail="prefetchqueue", sink="cudasink").replace("max-pixels=65536 min-pixels=4096",
                                                                                        "patch-size=10 max-pixels=65536")
        with self.assertRaisesRegex(headrace.ParseError, "patch-size"):
            headrace.Pipeline(text.replace("cudasink", "cudasink patch-size=16"))

    def test_chain(self):
        """a chain that lacks elements is corrected up to cudasink"""
        with self.assertRaisesRegex(headrace.ParseError, r"(?s)imagefetch.*batch.*cudasink"):
            headrace.Pipeline("filesrc location=x ! jsonlparse ! imagedecode ! resize ! prefetchqueue ! cudasink")

    def test_every_function(self):
        """each function of the runtime fails once, early or late: the run ends and says so, and nothing is misused"""
        table = (ROOT / "plugins/cuda/cudart.h").read_text()
        names = re.findall(r"^  X \((\w+),", table, re.M)
        self.assertGreater(len(names), 25)
        told = 0
        for name in names:
            for nth in (1, 4):
                text = self.data.pipeline(size=2, tail="prefetchqueue", sink="cudasink")
                done = run(text, HR_STANDIN_FAIL=f"{name}:{nth}=719", HR_STANDIN_LEAKS="allow")
                which = f"{name} {nth}: {done.stderr}"
                self.assertIn(done.returncode, (0, 1), which)
                self.assertNotIn("cuda stand-in", done.stderr, which)
                if done.returncode == 1:
                    self.assertRegex(done.stderr, r"^hr-launch: \w+ \"\w+0\": .*\n$", which)
                    told += 1
        self.assertGreater(told, 15)


# ---- Python ----

class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("n_dims", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def unpack(capsule, versioned=False):
    name, kind = (b"dltensor_versioned", _Versioned) if versioned else (b"dltensor", _Tensor)
    whole = kind.from_address(_pointer(capsule, name))
    return whole.tensor if versioned else whole


class Tensors(WithData):
    """The process uses the stand-in, which ends it with a status of its own after any misuse."""

    def load(self, sink="cudasink", **options):
        options.setdefault("framework", "raw")
        return headrace.Loader(self.data.pipeline(tail="prefetchqueue", sink=sink), epochs=1, **options)

    def expected(self):
        with headrace.Loader(self.data.pipeline(tail="prefetchqueue ! patchify"), epochs=1, framework="raw") as loader:
            return [batch.batch.digest() for batch in loader]

    def test_same(self):
        """batches are patchify's, on another device"""
        with self.load("cudasink device=1") as loader:
            digests = []
            for batch in loader:
                self.assertEqual(batch["pixel_values"].__dlpack_device__(), (CUDA, 1))
                self.assertEqual(batch["image_grid_thw"].__dlpack_device__(), (CUDA, 1))
                digests.append(batch.batch.digest())
        self.assertEqual(digests, self.expected())

    def test_capsule(self):
        """a capsule says device, shape, type and place, in both versions"""
        with self.load("cudasink device=1") as loader:
            batch = next(loader)
        for name, code, bits in [("pixel_values", 2, 32), ("image_grid_thw", 0, 64)]:
            tensor = batch[name]
            places = set()
            for versioned in (False, True):
                capsule = tensor.__dlpack__(stream=2, **({"max_version": (1, 0)} if versioned else {}))
                inside = unpack(capsule, versioned)
                self.assertEqual((inside.device_type, inside.device_id), (CUDA, 1))
                self.assertEqual((inside.code, inside.bits, inside.lanes), (code, bits, 1))
                self.assertEqual(tuple(inside.shape[:inside.n_dims]), tensor.shape)
                self.assertEqual(inside.strides[inside.n_dims - 1], 1)
                self.assertEqual(inside.byte_offset, 0)
                places.add(inside.data)
            self.assertEqual(len(places), 1)
            self.assertEqual(places.pop() % 256, 0)

    def test_stream(self):
        """stream is a number as the array API standard has them; 0 may mean two things"""
        with self.load() as loader:
            tensor = next(loader)["pixel_values"]
        for stream in (None, 1, 2, -1):
            tensor.__dlpack__(stream=stream)
        tensor.__dlpack__()
        for stream in (0, -2):
            with self.assertRaisesRegex(BufferError, "1 is the legacy default stream"):
                tensor.__dlpack__(stream=stream)
        with self.assertRaises(TypeError):
            tensor.__dlpack__(stream="1")
        tensor.__dlpack__(dl_device=(CUDA, 0))
        for device in [(CPU, 0), (CUDA, 1)]:
            with self.assertRaisesRegex(BufferError, r"on device \(2, 0\)"):
                tensor.__dlpack__(dl_device=device)

    def test_order(self):
        """what a stream is given behind __dlpack__() finds the batch, and its memory is used again only behind that"""
        cudart = ctypes.CDLL(STANDIN)
        stream = ctypes.c_void_p()
        self.assertEqual(cudart.cudaStreamCreateWithFlags(ctypes.byref(stream), 1), 0)
        with headrace.Loader(self.data.pipeline(tail="prefetchqueue ! patchify"), epochs=1, framework="numpy") as loader:
            wanted = [batch["pixel_values"].tobytes() for batch in loader]
        copies = []
        with self.load("cudasink prefetch=1") as loader:
            for batch in loader:
                for name in ("image_grid_thw", "pixel_values"):
                    capsule = batch[name].__dlpack__(stream=stream.value)
                place, size = ctypes.c_void_p(), batch["pixel_values"].nbytes
                self.assertEqual(cudart.cudaHostAlloc(ctypes.byref(place), ctypes.c_size_t(size), 1), 0)
                self.assertEqual(cudart.cudaMemcpyAsync(place, ctypes.c_void_p(unpack(capsule).data), ctypes.c_size_t(size), 2,
                                                        stream), 0)
                copies.append((place, size))
                del capsule
        del batch, loader
        gc.collect()
        self.assertEqual(cudart.cudaStreamSynchronize(stream), 0)
        self.assertEqual([ctypes.string_at(place, size) for place, size in copies], wanted)
        for place, _ in copies:
            self.assertEqual(cudart.cudaFreeHost(place), 0)
        self.assertEqual(cudart.cudaStreamDestroy(stream), 0)

    def test_no_cpu(self):
        """the CPU does not get at it: neither as a buffer nor as a numpy array"""
        with self.load() as loader:
            tensor = next(loader)["pixel_values"]
        with self.assertRaisesRegex(BufferError, "on a GPU"):
            memoryview(tensor)
        with self.load(framework="numpy") as loader, self.assertRaisesRegex(TypeError, "numpy has no tensors on a GPU"):
            next(loader)

    def test_resume(self):
        """a run goes on from a checkpoint, by way of the CPU or the GPU"""
        expected = self.expected()
        with self.load(properties={"cudasink0.prefetch": 3}) as loader:
            first = [next(loader).batch.digest() for _ in range(2)]
            state = loader.state_dict()
        self.assertEqual(first, expected[:2])
        with self.load("cudasink prefetch=1") as loader:
            loader.load_state_dict(state)
            self.assertEqual([batch.batch.digest() for batch in loader], expected[2:])

    def test_outlive(self):
        """tensors and capsules are there when loader and batch are gone, and may end in any thread"""
        with self.load() as loader:
            held = [step for step in loader]
        digests = [step.batch.digest() for step in held]
        self.assertEqual(digests, self.expected())
        capsules = [step["pixel_values"].__dlpack__(stream=1) for step in held]
        del loader, held
        gc.collect()
        thread = threading.Thread(target=capsules.clear)
        thread.start()
        thread.join()

    def test_stats(self):
        """the stats have the copies' times"""
        with self.load() as loader:
            for step in loader:
                step["pixel_values"].__dlpack__(stream=2)
            stats = loader.stats()
        del step
        sink = stats["elements"][-1]
        self.assertEqual(sink["factory"], "cudasink")
        self.assertEqual(sink["uploads"], stats["steps"])
        self.assertGreater(stats["transfer_s"], 0)
        self.assertGreaterEqual(stats["transfer_wait_s"], 0)

    def test_fork(self):
        """in a forked child tensors may be let go; using them is an error"""
        with self.load() as loader:
            tensor = next(loader)["pixel_values"]
        child = os.fork()
        if child == 0:
            status = 1
            try:
                tensor.__dlpack__(stream=1)
            except headrace.Error as error:
                status = 0 if "spawn, not fork" in str(error) else 2
            del tensor
            gc.collect()
            os._exit(status)
        signal.alarm(60)
        _, status = os.waitpid(child, 0)
        signal.alarm(0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_process(self):
        """a loader's own process prepares, and the batch is put on the GPU in this one"""
        def pixels(**options):
            with self.load(**options) as loader:
                return [(batch["pixel_values"].__dlpack_device__()[0], batch.batch.step) for batch in loader]
        here, there = pixels(), pixels(process=True)
        self.assertEqual(here, there)
        self.assertEqual({kind for kind, _ in there}, {2})

    def test_exit(self):
        """tensors that live until the interpreter ends do no harm"""
        code = ("import headrace, sys\n"
                "held = list(headrace.Loader(sys.argv[1], epochs=1, framework='raw'))\n"
                "capsule = held[0]['pixel_values'].__dlpack__(stream=1)\n")
        done = subprocess.run([sys.executable, "-c", code, self.data.pipeline(tail="prefetchqueue", sink="cudasink")],
                              env={**os.environ, "HR_STANDIN_LEAKS": "allow"}, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    tap.main()
    gc.collect()
