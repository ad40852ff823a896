#!/usr/bin/env python3
"""scan=lengths reads the beginnings of images, from files, S3 and the web: counts of bytes, and the sizes that it finds.

usage: test-scan-images.py ORDER_RUN
"""
import http.server
import json
import pathlib
import re
import struct
import sys
import tempfile
import threading
import zlib

from runner import Data, Runner, main

ORDER_RUN = sys.argv[1]
FIRST, MORE = 64 * 1024, 8


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def jpeg(width, height, before=0, behind=0):
    segments = b"".join(b"\xff\xe2" + struct.pack(">H", 60002) + bytes(60000) for _ in range(before // 60000))
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + segments + frame + b"\xff\xda" + struct.pack(">H", 12) + bytes(10) + bytes(behind)


def webp(width, height, behind, told=None):
    body = b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body += b"XXXX" + struct.pack("<I", behind) + bytes(behind)
    return b"RIFF" + struct.pack("<I", told or len(body)) + body


EXIF6 = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
KB = 1024
# name: (bytes, pixels); a size of 0: what it is tells nobody
IMAGES = {
    "plain.jpg": (jpeg(640, 480, behind=12000 * KB), 640 * 480),
    "profile.jpg": (jpeg(300, 200, before=180 * KB, behind=1900 * KB), 300 * 200),
    "far.jpg": (jpeg(31, 17, before=800 * KB, behind=5000 * KB), 31 * 17),
    "turned.png": (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 800, 100, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", bytes(700 * KB)) + chunk(b"eXIf", EXIF6) + chunk(b"IEND", b""), 800 * 100),
    "large.webp": (webp(1000, 700, 800 * KB), 1000 * 700),
    "cut.webp": (webp(50, 50, 300 * KB, told=400 * KB), 0),
    "one.gif": (b"GIF89a" + struct.pack("<HH", 70, 60) + b"\0\0\0" + b"," + struct.pack("<HHHH", 0, 0, 70, 60) + bytes(500 * KB), 70 * 60),
    "end.tif": (b"II*\0" + struct.pack("<I", 600 * KB + 8) + bytes(600 * KB) + struct.pack("<H", 2)
                + struct.pack("<HHII", 256, 4, 1, 90) + struct.pack("<HHII", 257, 4, 1, 80) + bytes(4), 90 * 80),
    "big.bmp": (b"BM" + bytes(12) + struct.pack("<III", 40, 400, 300) + struct.pack("<HH", 1, 24) + bytes(360 * KB), 400 * 300),
    "empty.png": (b"", 0),
    "text.jpg": (b"no image at all\n" * 6000, 0),
    "small.png": (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 5, 7, 8, 2, 0, 0, 0)), 35),
}
WHOLE = sum(len(data) for data, _ in IMAGES.values())
# where the header of an image ends, for those whose beginning does not tell it
FAR = {"profile.jpg": 180 * KB, "far.jpg": 800 * KB, "end.tif": 1 << 40, "cut.webp": 1 << 40, "text.jpg": 1 << 40}


def parts(name):
    """Bytes that are asked for, one question after the other."""
    size, part = len(IMAGES[name][0]), FIRST
    while part < size:
        yield part
        if FAR.get(name, 0) < part:
            return
        part = part * MORE if part < size // MORE else size
    yield size


PARTS = sum(sum(parts(name)) for name in IMAGES)


class Server(http.server.ThreadingHTTPServer):
    """Gives the images: kind says how it takes ranges."""
    kind, n_bytes, questions = "ranges", 0, 0
    lock = threading.Lock()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client may leave
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        body = IMAGES[self.path.rsplit("/", 1)[1]][0]
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        size, status, told = len(body), 200, None
        if asked and self.server.kind != "ignores":
            first, last = int(asked[1]), min(int(asked[2]), size - 1)
            status, told = (206, f"bytes {first}-{last}/{'*' if self.server.kind == 'star' else size}") if first < size else (416, f"bytes */{size}")
            body = body[first:last + 1]
        if self.headers.get("If-None-Match") == '"e%d"' % size:
            status, body, told = 304, b"", None
        with self.server.lock:
            self.server.n_bytes += len(body)
            self.server.questions += 1
        self.send_response(status)
        self.send_header("ETag", '"e%d"' % size)
        self.send_header("Content-Length", str(len(body)))
        if told:
            self.send_header("Content-Range", told)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Fixture:
    def __init__(self):
        self.runner, self.data = Runner(ORDER_RUN), Data()
        for name, (content, _) in IMAGES.items():
            (self.data.folder / name).write_bytes(content)
        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.where = f"http://127.0.0.1:{self.server.server_address[1]}"

    def run(self, prefix, more="", kind="ranges", steps=1):
        """Scans, and delivers some. Returns what imagefetch has read in the scan, what the server has given, and lengths."""
        with tempfile.TemporaryDirectory() as cache:
            turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "x"}]
            self.data.add("a.jsonl", b"".join(json.dumps({"image": prefix + name, "conversations": turns}).encode() + b"\n" for name in IMAGES))
            self.server.kind, self.server.n_bytes, self.server.questions = kind, 0, 0
            answer = self.runner.run(f"on-error=skip scan=lengths filesrc location={self.data.folder}/a.jsonl ! jsonlparse ! "
                                     f"imagefetch allow-links=all allow-addresses=127.0.0.1 no-sign-request=true endpoint={self.where} {more} ! batch size=4 ! appsink",
                                     environment={"HR_PLAN_CACHE": cache}, stats=True, take=steps)
            assert answer["error"] is None, answer["error"]
            scan, = answer["stats"]["scans"]
            assert scan["lines"] == len(IMAGES) and scan["objects"] == 1 and scan["source"] == "filesrc0", scan
            kept, = pathlib.Path(cache).glob("*.lengths")
            lengths = struct.iter_unpack("<4I", kept.read_bytes()[-16 * len(IMAGES):])
            fetch, = (e for e in scan["elements"] if e["factory"] == "imagefetch")
            return fetch["fetched_bytes"], list(lengths), answer


SIZES = [(0, 0, pixels, pixels) for _, pixels in IMAGES.values()]


def check(this, prefix):
    # to the end: the second reading, of the run itself, is whole
    read, lengths, answer = this.run(prefix, steps=-1)
    assert lengths == SIZES, [(n, l) for n, l, s in zip(IMAGES, lengths, SIZES) if l != s]
    assert read == PARTS, (read, PARTS)
    fetch, = (e for e in answer["stats"]["elements"] if e["factory"] == "imagefetch")
    assert fetch["fetched_bytes"] == WHOLE, (fetch["fetched_bytes"], WHOLE)
    assert [m[4] is None for step in answer["steps"] for m in step[4]] == [False] * len(IMAGES)


def test_files(this):
    """of files, beginnings are read; all of those that tell it nowhere else; the run reads all"""
    assert PARTS < WHOLE / 2  # else it would not show anything
    check(this, "")


def test_web(this):
    """the same from a server that knows ranges, one question an image where that is enough"""
    check(this, f"{this.where}/")
    assert this.server.n_bytes == PARTS + WHOLE, (this.server.n_bytes, PARTS, WHOLE)


def test_s3(this):
    """the same from S3"""
    check(this, "s3://demo/")
    assert this.server.n_bytes == PARTS + WHOLE, (this.server.n_bytes, PARTS, WHOLE)


def test_no_ranges(this):
    """a server that ignores ranges is asked once; one that does not tell sizes gives the whole"""
    read, lengths, _ = this.run(f"{this.where}/", kind="ignores")
    assert lengths == SIZES and read == WHOLE, (read, WHOLE, lengths)
    read, lengths, _ = this.run(f"{this.where}/", kind="star")
    assert lengths == SIZES and read == WHOLE + sum(min(len(d), FIRST) for d, _ in IMAGES.values()), (read, lengths)


def test_too_large(this):
    """an image over max-bytes is too large also where its beginning is not; no byte more is read of it"""
    limit = 500 * KB
    wanted = [(0xffffffff, length[1], length[2], length[3]) if len(data) > limit else tuple(length)
              for (data, _), length in zip(IMAGES.values(), SIZES)]
    for prefix in ("", f"{this.where}/", "s3://demo/"):
        read, lengths, answer = this.run(prefix, more=f"max-bytes={limit}", steps=-1)
        assert [l[0] == 0xffffffff for l in lengths] == [w[0] == 0xffffffff for w in wanted], lengths
        assert len({l[1:] for l in lengths if l[0] == 0xffffffff}) == 1, lengths
        assert set(answer["stats"]["skipped"]) == {"image-too-large"}, answer["stats"]["skipped"]
        small = sum(sum(parts(n)) for n, (d, _) in IMAGES.items() if len(d) <= limit)
        over = sum(FIRST for d, _ in IMAGES.values() if len(d) > limit)
        assert read == small + (over if prefix else 0), (prefix, read, small, over)


def test_cache(this):
    """with a cache, beginnings are not kept as images; images that are kept are taken whole, if the server says so"""
    prefix = f"{this.where}/"
    with tempfile.TemporaryDirectory() as folder:
        _, _, plain = this.run(prefix, steps=-1)
        wanted = [[m[4] for m in step[4]] for step in plain["steps"]]
        for again in (False, True):
            read, lengths, answer = this.run(prefix, more=f"cache={folder}", steps=-1)
            assert lengths == SIZES, lengths
            assert [[m[4] for m in step[4]] for step in answer["steps"]] == wanted
            assert read == (0 if again else PARTS), (again, read)
        fetch, = (e for e in answer["stats"]["elements"] if e["factory"] == "imagefetch")
        assert fetch["fetched_bytes"] == 0 and fetch["cache_hit_bytes"] == WHOLE, fetch


if __name__ == "__main__":
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], Fixture()))
