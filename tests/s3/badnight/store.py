"""Buckets and objects: the files of a folder, and what was put in memory on top of them.

Memory holds any key, also those that no file can have; a key that was removed is hidden.
"""
import base64
import hashlib
import mmap
import os
import pathlib
import struct
import time
import zlib

LARGE = 4 << 20


def make_table(polynomial, bits):
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (polynomial if value & 1 else 0)
        table.append(value)
    return table, (1 << bits) - 1


CRC32C = make_table(0x82F63B78, 32)
CRC64NVME = make_table(0x9A6C9329AC4BC9B5, 64)


def reflected_crc(data, table_mask):
    table, mask = table_mask
    value = mask
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value ^ mask


def checksum(name, data):
    """the value of x-amz-checksum-NAME"""
    if name == "crc32c":
        raw = struct.pack(">I", reflected_crc(data, CRC32C))
    elif name == "crc64nvme":
        raw = struct.pack(">Q", reflected_crc(data, CRC64NVME))
    elif name == "crc32":
        raw = struct.pack(">I", zlib.crc32(data))
    else:
        raw = hashlib.new(name, data).digest()
    return base64.b64encode(raw).decode()


CHECKSUMS = ("crc32c", "crc32", "crc64nvme", "sha256", "sha1", "none")
TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".jsonl": "application/jsonl",
         ".json": "application/json"}


class Object:
    def __init__(self, key, data, modified=None, etag=None):
        self.key, self.data = key, data
        self.modified = time.time() if modified is None else modified
        self.etag = etag or f'"{hashlib.md5(data).hexdigest()}"'
        self.type = TYPES.get(os.path.splitext(key)[1].lower(), "binary/octet-stream")
        self.checksums = {}

    def checksum(self, name):
        if name not in self.checksums:
            self.checksums[name] = checksum(name, self.data)
        return self.checksums[name]


def read_file(path):
    if path.stat().st_size < LARGE:
        return path.read_bytes()
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Store:
    def __init__(self, root):
        self.root = pathlib.Path(root) if root else None
        self.memory = {}  # (bucket, key): Object, None if it was removed
        self.cache = {}  # path: ((mtime, size), Object)
        self.made = set()

    def buckets(self):
        names = set(self.made) | {bucket for bucket, _ in self.memory}
        if self.root:
            names |= {p.name for p in self.root.iterdir() if p.is_dir()}
        return sorted(names)

    def has_bucket(self, bucket):
        return bucket in self.made or any(b == bucket for b, _ in self.memory) or bool(
            self.root and bucket not in ("", ".", "..") and "/" not in bucket and (self.root / bucket).is_dir())

    def put(self, bucket, key, data, etag=None):
        self.made.add(bucket)
        self.memory[bucket, key] = Object(key, data, etag=etag)
        return self.memory[bucket, key]

    def set_etag(self, bucket, key, etag):
        """the same bytes under another name"""
        old = self.get(bucket, key)
        self.memory[bucket, key] = Object(key, old.data, old.modified, etag)

    def remove(self, bucket, key):
        self.memory[bucket, key] = None

    def forget(self):
        """back to the files"""
        self.memory.clear()
        self.made.clear()

    def find_file(self, bucket, key):
        # a key is the name of a file only if the name has no second meaning
        if not self.root or "\0" in key or any(part in ("", ".", "..") for part in key.split("/")):
            return None
        path = self.root / bucket / key
        try:
            return path if path.is_file() else None
        except (OSError, ValueError):
            return None

    def get(self, bucket, key):
        if (bucket, key) in self.memory:
            return self.memory[bucket, key]
        path = self.find_file(bucket, key)
        if not path:
            return None
        state = path.stat()
        identity = (state.st_mtime_ns, state.st_size)
        known = self.cache.get(path)
        if not known or known[0] != identity:
            known = identity, Object(key, read_file(path), state.st_mtime)
            self.cache[path] = known
        return known[1]

    def keys(self, bucket):
        """in the order of their bytes"""
        names = set()
        if self.root:
            base = self.root / bucket
            for folder, _, files in os.walk(base):
                inner = os.path.relpath(folder, base)
                names.update(name if inner == "." else f"{inner}/{name}" for name in files)
        for (where, key), known in self.memory.items():
            if where == bucket:
                (names.add if known else names.discard)(key)
        return sorted(names, key=lambda k: k.encode("utf-8", "surrogateescape"))
