"""CUDA's runtime library by ctypes: what the checks call. Standard library only, Python 3.8."""
import ctypes
import glob
import os
import sys

NAMES = ("libcudart.so.13", "libcudart.so.12")
TO_DEVICE, TO_HOST, WITHIN = 1, 2, 3
PORTABLE, NON_BLOCKING = 1, 1


class CudaError(Exception):
    pass


class Size(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Params(ctypes.Structure):
    """HrPatchParams of plugins/cuda/kernel-params.h"""
    _fields_ = [("pixels", ctypes.c_void_p), ("images", ctypes.c_void_p), ("table", ctypes.c_void_p),
                ("out", ctypes.c_void_p), ("n_rows", ctypes.c_ulonglong), ("n_images", ctypes.c_uint),
                ("patch", ctypes.c_uint), ("merge", ctypes.c_uint), ("temporal", ctypes.c_uint),
                ("type", ctypes.c_uint)]


def candidates():
    """the one that is named, else what pip has installed, what the loader finds, and what lies in /usr/local"""
    if os.environ.get("HR_CUDART"):
        return [os.environ["HR_CUDART"]]
    folders = [os.path.join(entry, "nvidia", "*", "lib") for entry in sys.path if entry]
    folders += ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib"]
    found = [path for folder in folders for name in NAMES for path in sorted(glob.glob(os.path.join(folder, name)))]
    return found + list(NAMES)


class Cuda:
    """The library of the first path that has a device; functions raise CudaError."""
    def __init__(self):
        tried = []
        for path in candidates():
            try:
                self.path, self.library = path, ctypes.CDLL(path)
                count = ctypes.c_int()
                self.call("GetDeviceCount", ctypes.byref(count))
                self.n_devices = count.value
                break
            except (OSError, CudaError) as error:
                tried.append(f"{path}: {error}")
        else:
            raise CudaError("; ".join(tried))
        self.driver = None
        if not hasattr(self.library, "cudaLibraryLoadData"):  # before 12.8
            self.driver = self.library if hasattr(self.library, "cuLibraryLoadData") else ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments, library=None, prefix="cuda"):
        code = getattr(library or self.library, prefix + name)(*arguments)
        if code != 0:
            self.library.cudaGetErrorString.restype = ctypes.c_char_p
            raise CudaError(f"{prefix}{name}: error {code}, {self.library.cudaGetErrorString(code).decode()}")

    def kernel_call(self, name, *arguments):
        self.call(name, *arguments, library=self.driver, prefix="cu" if self.driver else "cuda")

    def integer(self, name, *arguments):
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    # ---- memory

    def pointer(self, name, size, *arguments):
        memory = ctypes.c_void_p()
        self.call(name, ctypes.byref(memory), ctypes.c_size_t(size), *arguments)
        return memory

    def malloc(self, size):
        return self.pointer("Malloc", size)

    def host(self, size):
        return self.pointer("HostAlloc", size, ctypes.c_uint(PORTABLE))

    def free(self, *memory):
        for block in memory:
            self.call("Free", block)

    def free_host(self, *memory):
        for block in memory:
            self.call("FreeHost", block)

    def memory(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("MemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def copy(self, into, source, size, kind, stream):
        self.call("MemcpyAsync", into, source, ctypes.c_size_t(size), ctypes.c_int(kind), stream)

    # ---- streams and events

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("StreamCreateWithFlags", ctypes.byref(stream), ctypes.c_uint(NON_BLOCKING))
        return stream

    def synchronize(self, stream):
        self.call("StreamSynchronize", stream)

    def event(self):
        event = ctypes.c_void_p()
        self.call("EventCreateWithFlags", ctypes.byref(event), ctypes.c_uint(0))
        return event

    def seconds(self, stream, work):
        """of the device's clock, for what @work gives to the stream"""
        begin, end, milliseconds = self.event(), self.event(), ctypes.c_float()
        self.call("EventRecord", begin, stream)
        work()
        self.call("EventRecord", end, stream)
        self.call("EventSynchronize", end)
        self.call("EventElapsedTime", ctypes.byref(milliseconds), begin, end)
        self.call("EventDestroy", begin)
        self.call("EventDestroy", end)
        return milliseconds.value / 1000


class Kernel:
    """hr_patchify of a fatbin"""
    def __init__(self, cuda, fatbin):
        self.cuda = cuda
        self.room = ctypes.create_string_buffer(len(fatbin) + 64)  # it must stay
        at = -ctypes.addressof(self.room) % 64
        ctypes.memmove(ctypes.byref(self.room, at), fatbin, len(fatbin))
        self.library, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        cuda.kernel_call("LibraryLoadData", ctypes.byref(self.library), ctypes.byref(self.room, at), None, None, 0, None,
                         None, 0)
        cuda.kernel_call("LibraryGetKernel", ctypes.byref(self.kernel), self.library, b"hr_patchify")

    def launch(self, case, params, stream):
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(params))
        if self.cuda.driver:
            self.cuda.kernel_call("LaunchKernel", self.kernel, case.blocks(), 1, 1, 256, 1, 1, 0, stream, arguments, None)
        else:
            self.cuda.kernel_call("LaunchKernel", self.kernel, Size(case.blocks(), 1, 1), Size(256, 1, 1), arguments,
                                  ctypes.c_size_t(0), stream)

    def unload(self):
        self.cuda.kernel_call("LibraryUnload", self.library)


class Loaded:
    """A case's list, table and pixels on the device, and room for its rows."""
    TABLE, PIXELS = 1 << 14, 1 << 15

    def __init__(self, cuda, case, pixels, stream):
        self.cuda, self.case = cuda, case
        images, table = case.images(), case.table()
        assert len(images) <= self.TABLE and len(table) <= self.PIXELS - self.TABLE
        self.size = self.PIXELS + len(pixels)
        self.staged, self.inputs = cuda.host(self.size), cuda.malloc(self.size)
        self.out = cuda.malloc(case.out_bytes)
        ctypes.memset(self.staged, 0, self.PIXELS)
        for at, part in ((0, images), (self.TABLE, table), (self.PIXELS, pixels)):
            ctypes.memmove(self.staged.value + at, part, len(part))
        self.give(stream)
        self.params = Params(self.inputs.value + self.PIXELS, self.inputs.value,
                             self.inputs.value + self.TABLE if table else None, self.out.value, case.n_rows,
                             len(case.sides), case.patch, case.merge, case.temporal,
                             ("float32", "bfloat16", "float16", "uint8").index(case.kind))

    def give(self, stream):
        self.cuda.copy(self.inputs, self.staged, self.size, TO_DEVICE, stream)

    def rows(self, stream):
        back = self.cuda.host(self.case.out_bytes)
        self.cuda.copy(back, self.out, self.case.out_bytes, TO_HOST, stream)
        self.cuda.synchronize(stream)
        out = ctypes.string_at(back, self.case.out_bytes)
        self.cuda.free_host(back)
        return out

    def free(self):
        self.cuda.free(self.inputs, self.out)
        self.cuda.free_host(self.staged)
