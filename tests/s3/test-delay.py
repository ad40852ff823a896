#!/usr/bin/env python3
"""The delaying proxy: what it delivers, how late, and whether it counts requests in flight truly.

usage: test-delay.py PROXY. The server behind it is ours and answers only when told to, so the
counts do not depend on how fast anything is.
"""
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

DELAY = 0.015
PROXY = sys.argv[1]


class Server(threading.Thread):
    """Answers by the path: /length/N /chunked/N /close/N /empty, and /meet/N when N have come."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.waiting, self.lock = 0, threading.Condition()
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rb") as lines:
            while True:
                request = lines.readline().split()
                if not request:
                    return
                length = 0
                while (line := lines.readline().strip()):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                sent = lines.read(length)
                kind, _, number = request[1].decode()[1:].partition("/")
                body = payload(0 if kind == "meet" else int(number or 0))
                if kind == "meet":
                    with self.lock:
                        self.waiting += 1
                        self.lock.notify_all()
                        self.lock.wait_for(lambda: self.waiting >= int(number), timeout=60)
                if kind == "chunked":
                    client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    for i in range(0, len(body), 1000):
                        part = body[i:i + 1000]
                        client.sendall(b"%x;x=y\r\n%s\r\n" % (len(part), part))
                    client.sendall(b"0\r\nTrailer: 1\r\n\r\n")
                elif kind == "close":
                    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + body)
                    return
                elif kind == "empty":
                    client.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                elif kind == "echo":
                    client.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                                   % (len(sent), sent))
                elif kind == "drop":
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")
                    return
                else:
                    head = request[0] == b"HEAD"
                    client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), b"" if head else body))


def payload(size):
    return (hashlib.sha256(b"%d" % size).digest() * (size // 32 + 1))[:size]


class Proxy:
    def __init__(self, server, delay=DELAY * 1000):
        self.log = tempfile.NamedTemporaryFile(suffix=".jsonl")
        self.process = subprocess.Popen([PROXY, "--to", f"127.0.0.1:{server.port}", "--delay", str(delay),
                                         "--log", self.log.name], stdout=subprocess.PIPE, text=True)
        self.port = int(re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", self.process.stdout.readline()).group(1))

    def finish(self):
        self.process.send_signal(signal.SIGTERM)
        report = json.loads(self.process.communicate(timeout=60)[0])
        assert self.process.returncode == 0, self.process.returncode
        lines = [json.loads(line) for line in open(self.log.name, encoding="utf-8")]
        return report, [l for l in lines if "method" in l], [l for l in lines if "opened" in l]


def talk(port, *requests):
    """Sends each request on one connection and reads its whole answer; returns status and body."""
    with socket.create_connection(("127.0.0.1", port)) as s, s.makefile("rb") as lines:
        for method, path, *body in requests:
            body = body[0] if body else b""
            s.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            status = 100
            while status == 100:
                status, headers = int(lines.readline().split()[1]), {}
                while (line := lines.readline().strip()):
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
            if method == "HEAD" or status == 204:
                yield status, b""
            elif "content-length" in headers:
                yield status, lines.read(int(headers["content-length"]))
            elif "transfer-encoding" in headers:
                got = b""
                while (size := int(lines.readline().split(b";")[0], 16)):
                    got += lines.read(size)
                    lines.readline()
                while lines.readline().strip():
                    pass
                yield status, got
            else:
                yield status, lines.read()


def test_bytes_and_log(server):
    """bytes of every framing arrive whole and each request is logged with them"""
    proxy = Proxy(server)
    requests = [("GET", "/length/100000"), ("HEAD", "/length/500"), ("GET", "/chunked/5000"), ("GET", "/empty"),
                ("PUT", "/echo", b"x" * 300000), ("GET", "/length/0"), ("GET", "/close/70000")]
    answers = list(talk(proxy.port, *requests))
    assert answers[0][1] == payload(100000)
    assert answers[2][1] == payload(5000)
    assert answers[4][1] == b"x" * 300000
    assert answers[6][1] == payload(70000)
    report, logged, connections = proxy.finish()
    assert [(l["method"], l["path"], l["status"]) for l in logged] == \
        [(m, p, s) for (m, p, *_), (s, _) in zip(requests, answers)], logged
    assert [l["bytes"] for l in logged] == [len(b) for _, b in answers], logged
    assert report["requests"] == 7 and report["aborted"] == 0 and report["connections"] == 1, report
    assert len(connections) == 1


def test_serial_is_one(server):
    """one request after the other is never more than one in flight"""
    proxy = Proxy(server)
    for _ in range(3):
        list(talk(proxy.port, *[("GET", "/length/3000")] * 5))
    report, logged, _ = proxy.finish()
    assert report["max_in_flight"] == 1, report
    assert report["requests"] == 15 and report["connections"] == 3, report
    assert all(a["end"] <= b["begin"] for a, b in zip(logged, logged[1:])), logged


def test_meeting_is_counted(server):
    """six requests that the server holds until all have come are six in flight"""
    proxy = Proxy(server)
    threads = [threading.Thread(target=lambda: list(talk(proxy.port, ("GET", "/meet/6")))) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    report, _, _ = proxy.finish()
    assert report["max_in_flight"] == 6, report
    assert 1 < report["mean_in_flight"] <= 6, report


def test_delay_each_way(server):
    """an answer takes at least a round trip, the first of a connection two; with 0 it need not"""
    proxy = Proxy(server)
    start = time.monotonic()
    list(talk(proxy.port, ("GET", "/length/10"), ("GET", "/length/10")))
    assert time.monotonic() - start >= 6 * DELAY - 0.001
    _, logged, _ = proxy.finish()
    assert logged[0]["end"] - logged[0]["begin"] >= 4 * DELAY - 0.001, logged
    assert logged[1]["end"] - logged[1]["begin"] >= 2 * DELAY - 0.001, logged
    proxy = Proxy(server, 0)
    assert list(talk(proxy.port, ("GET", "/length/10")))[0][1] == payload(10)
    proxy.finish()


def test_broken_answer(server):
    """an answer that breaks off is logged as aborted, and the client sees the end"""
    proxy = Proxy(server)
    assert list(talk(proxy.port, ("GET", "/drop")))[0][1] == b"short"
    report, logged, _ = proxy.finish()
    assert report["aborted"] == 1 and logged[0]["aborted"] is True, report


def test_large(server):
    """many megabytes pass, both ways at once on several connections"""
    proxy = Proxy(server)
    size, bad = 20_000_000, []

    def one():
        body = os.urandom(32) * (size // 32)
        if list(talk(proxy.port, ("PUT", "/echo", body)))[0][1] != body:
            bad.append(1)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    report, _, _ = proxy.finish()
    assert not bad
    assert report["bytes_up"] > 4 * size and report["bytes_down"] > 4 * size, report


def test_in_front(_server):
    """tests/s3/server --delay puts it in front: an answer comes through it, and no sooner than the way there and back"""
    script = """if 1:
        import os, time, urllib.error, urllib.request
        began = time.monotonic()
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(os.environ["AWS_ENDPOINT_URL"], timeout=30)
        except urllib.error.HTTPError as answer:
            print(answer.code, time.monotonic() - began)
    """
    server = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server")
    build = os.path.abspath(PROXY).removesuffix("/tests/s3/delay")
    done = subprocess.run([server, "--kind", "badnight", "--delay", "50", "--", sys.executable, "-c", script], check=True,
                          stdout=subprocess.PIPE, text=True, timeout=60, env={**os.environ, "HR_BUILD": build})
    code, seconds = done.stdout.split()
    assert code == "403" and float(seconds) >= 0.1, done.stdout


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    print(f"1..{len(tests)}", flush=True)
    for i, (name, test) in enumerate(tests, 1):
        try:
            server = Server()
            server.waiting = 0
            test(server)
            print(f"ok {i} {test.__doc__}", flush=True)
        except Exception as error:  # a failed test is a line of TAP, whatever it was
            print(f"# {type(error).__name__}: {error}")
            print(f"not ok {i} {test.__doc__}", flush=True)


main()
