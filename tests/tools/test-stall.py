#!/usr/bin/env python3
"""A server that stands still: hr-launch says who waits for which request, once, and that it goes on when it does.

usage: test-stall.py HR_LAUNCH IMAGE
"""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HR_LAUNCH, IMAGE = sys.argv[1], pathlib.Path(sys.argv[2]).read_bytes()


class Server(http.server.ThreadingHTTPServer):
    """Answers one path only when it is let go: nothing at all, or half of it before."""

    def __init__(self, files, held, half=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.held, self.half, self.go = files, held, half, threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:  # who waited for it has ended
            pass

    def answer(self, body):
        data = self.server.files[self.path.split("?")[0]]
        wait = body and self.path.split("?")[0] == self.server.held
        if wait and not self.server.half:
            self.server.go.wait()
        first, last = 0, len(data) - 1
        if "Range" in self.headers:
            first, last = (int(x) for x in self.headers["Range"].removeprefix("bytes=").split("-"))
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("ETag", '"1"')
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.end_headers()
        data = data[first:last + 1]
        if body and wait and self.server.half:
            self.wfile.write(data[:len(data) // 2])
            self.wfile.flush()
            self.server.go.wait()
            data = data[len(data) // 2:]
        if body:
            self.wfile.write(data)

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)


def launch(server, *args):
    """Lets the server go when the stall has been told; everything that was said."""
    environment = {**os.environ, "AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "HR_PLAN_CACHE": ""}
    process = subprocess.Popen([HR_LAUNCH, "--stall-timeout=5", "--progress=none", *args], stderr=subprocess.PIPE, text=True, env=environment)
    said = []
    for line in process.stderr:
        said.append(line.rstrip("\n"))
        if any("nothing has moved" in s for s in said) and "fakesink0" in line and not server.go.is_set():
            server.go.set()
    server.go.set()
    status = process.wait()
    server.shutdown()
    return status, said


def check(status, said, words):
    text = "\n".join(said)
    assert status == 0, (status, text)
    assert sum("nothing has moved" in s for s in said) == 1, text
    first = next(i for i, s in enumerate(said) if "nothing has moved" in s)
    again = [i for i, s in enumerate(said) if s.startswith("moves again")]
    assert len(again) <= 1 and (not again or again[0] > first), text  # or the run was over first
    for word in words:
        assert word in text, f"no {word!r} in\n{text}"


def record(link):
    return json.dumps({"id": "1", "image": link, "conversations": [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "A"}]})


def test_image():
    """no byte of an image comes: its link and the server's address are told"""
    with tempfile.TemporaryDirectory() as folder:
        server = Server({"/a.png": IMAGE}, "/a.png")
        (pathlib.Path(folder) / "a.jsonl").write_text(record(f"{server.url}/a.png") + "\n")
        status, said = launch(server, f"filesrc location={folder} ! jsonlparse ! imagefetch allow-links=all allow-addresses=127.0.0.1 ! fakesink")
        check(status, said, [f'  "imagefetch0" waits for 1 request: {server.url}/a.png from 127.0.0.1:{server.server_address[1]}, '
                             "no byte of the answer yet", '  "fakesink0" waits for the output of "imagefetch0"'])


def test_half():
    """half of an image has come"""
    with tempfile.TemporaryDirectory() as folder:
        server = Server({"/a.png": IMAGE}, "/a.png", half=True)
        (pathlib.Path(folder) / "a.jsonl").write_text(record(f"{server.url}/a.png") + "\n")
        status, said = launch(server, f"filesrc location={folder} ! jsonlparse ! imagefetch allow-links=all allow-addresses=127.0.0.1 ! fakesink")
        check(status, said, [f"{len(IMAGE) // 2} of {len(IMAGE)} bytes so far"])


def test_source():
    """s3src waits for an object"""
    server = Server({"/b/a.jsonl": (record("x.png") + "\n").encode()}, "/b/a.jsonl")
    status, said = launch(server, "s3src location=s3://b/a.jsonl ! jsonlparse ! fakesink")
    check(status, said, ['  "s3src0" waits for 1 request: s3://b/a.jsonl from 127.0.0.1'])


def test_fail():
    """--on-stall=fail ends the run: status 1"""
    with tempfile.TemporaryDirectory() as folder:
        server = Server({"/a.png": IMAGE}, "/a.png")
        (pathlib.Path(folder) / "a.jsonl").write_text(record(f"{server.url}/a.png") + "\n")
        environment = {**os.environ, "HR_PLAN_CACHE": ""}
        done = subprocess.run([HR_LAUNCH, "--stall-timeout=500ms", "--on-stall=fail", "--progress=none",
                               f"filesrc location={folder} ! jsonlparse ! imagefetch allow-links=all allow-addresses=127.0.0.1 ! fakesink"],
                              capture_output=True, text=True, env=environment)
        server.go.set()
        server.shutdown()
        assert done.returncode == 1 and "nothing has moved" in done.stderr, done.stderr


TESTS = [t for n, t in list(globals().items()) if n.startswith("test_")]
print(f"1..{len(TESTS)}", flush=True)
failed = False
for number, test in enumerate(TESTS, 1):
    try:
        test()
        print(f"ok {number} {test.__doc__}", flush=True)
    except AssertionError as error:
        failed = True
        print("# " + str(error).replace("\n", "\n# ") + f"\nnot ok {number} {test.__doc__}", flush=True)
sys.exit(failed)
