#!/usr/bin/env python3
"""The server for bad nights: each of its faults is what its name says, byte by byte; what it does by
itself is what S3 does.

usage: test-bad-night.py
"""
import errno
import gzip
import hashlib
import pathlib
import re
import socket
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True

from badnight import client, faults, store  # noqa: E402

BODY = b"".join(b"line %04d\n" % i for i in range(500))
ETAG = f'"{hashlib.md5(BODY).hexdigest()}"'
KEYS = ["a.txt", "b c+d.txt", "e/f.txt", "e/g.txt", "h.txt"]
PART = "bytes=1000-2999"


class Raw:
    """an answer as it came, to the end of the connection"""

    def __init__(self, data, end, seconds):
        self.data, self.end, self.seconds = data, end, seconds
        self.head, _, self.body = data.partition(b"\r\n\r\n")
        lines = self.head.decode("latin-1").split("\r\n")
        found = re.fullmatch(r"(HTTP/1\.[01]) (\d+) .*", lines[0])
        self.version, self.status = (found[1], int(found[2])) if found else (None, 0)
        self.headers = [tuple(line.split(": ", 1)) for line in lines[1:] if ": " in line]

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name]

    def get(self, name):
        return (self.all(name) or [None])[0]

    def length(self):
        return int(self.get("content-length"))

    def code(self):
        return re.search(rb"<Code>(.*?)</Code>", self.body)[1].decode()

    def keys(self):
        return [e.text for e in xml.fromstring(self.body).iterfind(".//{*}Contents/{*}Key")]

    def text(self, tag):
        found = xml.fromstring(self.body).find("{*}" + tag)
        return None if found is None else found.text


def receive(connection, began):
    data, end = b"", "close"
    try:
        while True:
            piece = connection.recv(1 << 20)
            if not piece:
                break
            data += piece
            if len(data) > 10_000_000:
                end = "endless"
                break
    except ConnectionResetError:
        end = "reset"
    except TimeoutError:
        end = "open"
    return Raw(data, end, time.monotonic() - began)


def ask(night, path="/demo/a.txt", query="", method="GET", part=None, headers=(), before=False, close=True, timeout=60):
    """@before: after another request on the same connection"""
    host, port = night.host.rsplit(":", 1)
    began = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=timeout) as connection:
        rounds = ([False] if before else []) + [close]
        for last in rounds:
            lines = client.sign(method, path, query, night.host, [("x-amz-checksum-mode", "ENABLED"), *headers])
            lines += [("Range", part)] if part else []
            lines += [("Connection", "close")] if last else []
            text = f"{method} {path}{'?' + query if query else ''} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in lines)
            connection.sendall(text.encode() + b"\r\n")
            if len(rounds) > 1 and not last:
                while not (data := connection.recv(1 << 16)).endswith(BODY[-9:]):
                    assert data
        return receive(connection, began)


def ask_list(night, query="list-type=2&encoding-type=url", **more):
    return ask(night, "/demo", query, **more)


# ---- each fault: how it is asked for, and what must come ----

CHECKS = {}


def check(*names, **how):
    def register(function):
        for name in names:
            CHECKS[name] = function, how
        return function
    return register


def is_right(raw, body=BODY):
    return raw.status == 200 and raw.body == body and raw.get("etag") == ETAG and raw.length() == len(body)


check("latency", "jitter", args={"seconds": 0.01})(is_right)
check("slow-first-byte", args={"seconds": 0.2})(lambda raw: is_right(raw) and raw.seconds >= 0.2)
check("slow-head", args={"seconds": 0.01})(lambda raw: is_right(raw) and raw.seconds >= len(raw.head) / 20 * 0.01)
check("trickle", args={"seconds": 0.01})(lambda raw: is_right(raw) and raw.seconds >= 0.4)
check("close-unsaid", close=False)(lambda raw: is_right(raw) and raw.end == "close" and not raw.get("connection"))
check("http-1.0")(lambda raw: raw.version == "HTTP/1.0" and raw.body == BODY)
check("continue")(lambda raw: raw.data.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n")
                  and raw.data.endswith(BODY) and b"HTTP/1.1 200 OK\r\n" in raw.data)
check("many-headers")(lambda raw: is_right(raw) and len(raw.headers) > 200)
check("no-date")(lambda raw: is_right(raw) and not raw.get("date") and not raw.get("last-modified")
                 and not raw.get("content-type"))
check("wrong-type")(lambda raw: is_right(raw) and raw.get("content-type").startswith("text/html"))
check("lower-case")(lambda raw: is_right(raw) and b"\r\netag: " in raw.head)
check("server-is-other")(lambda raw: is_right(raw) and raw.get("server") == "MinIO" and not raw.get("x-amz-request-id"))
check("chunked")(lambda raw: raw.get("transfer-encoding") == "chunked" and not raw.get("content-length")
                 and raw.body == b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
check("chunk-trailer")(lambda raw: raw.all("transfer-encoding") == ["chunked"] and not raw.get("content-length")
                       and raw.body == b"9c4;name=value\r\n%s\r\n9c4;name=value\r\n%s\r\n0\r\nx-amz-trailer: 1\r\n\r\n"
                       % (BODY[:2500], BODY[2500:]))
check("range-200", part=PART)(lambda raw: raw.status == 200 and raw.body == BODY[1000:3000]
                              and raw.get("content-range") == "bytes 1000-2999/5000")
check("range-no-total", part=PART)(lambda raw: raw.status == 206 and raw.body == BODY[1000:3000]
                                   and raw.get("content-range") == "bytes 1000-2999/*")
check("empty-200", path="/demo/empty", part=PART)(
    lambda raw: raw.status == 200 and raw.length() == 0 and not raw.body and not raw.get("content-range"))
check("empty-206", path="/demo/empty", part=PART)(
    lambda raw: raw.status == 206 and raw.length() == 0 and raw.get("content-range") == "bytes 0--1/0")
check("weak-etag")(lambda raw: raw.body == BODY and raw.get("etag") == "W/" + ETAG)
check("no-etag")(lambda raw: raw.body == BODY and not raw.get("etag"))
check("multipart-etag")(lambda raw: raw.body == BODY and raw.get("etag") == ETAG[:-1] + '-3"')
check("no-length", method="HEAD")(lambda raw: raw.status == 200 and not raw.get("content-length") and not raw.body)
check("claims-5gb", method="HEAD")(lambda raw: raw.status == 200 and raw.length() == len(BODY) + (5 << 30))

check("stall-head", args={"seconds": 0.2})(lambda raw: raw.data == b"" and raw.seconds >= 0.2)
check("stall-body", args={"seconds": 0.2})(
    lambda raw: raw.body == BODY[:500] and raw.length() == 5000 and raw.seconds >= 0.2)
check("stall-end", args={"seconds": 0.2})(
    lambda raw: raw.body == BODY[:-1] and raw.length() == 5000 and raw.seconds >= 0.2)
check("reset-head")(lambda raw: raw.data == b"" and raw.end == "reset")
check("close-head")(lambda raw: raw.data == b"" and raw.end == "close")
check("reset-body")(lambda raw: raw.body == BODY[:2500] and raw.length() == 5000 and raw.end == "reset")
check("idle-close", before=True)(lambda raw: raw.data == b"" and raw.end == "close")
check("idle-reset", before=True)(lambda raw: raw.data == b"" and raw.end == "reset")
check("garbage")(lambda raw: len(raw.data) > 100 and raw.status == 0 and b"HTTP" not in raw.data)
check("huge-header")(lambda raw: raw.status == 200 and len(raw.head) > 1_000_000 and raw.body == BODY)
check("endless-head", timeout=10)(lambda raw: raw.end in ("endless", "open") and len(raw.data) > 50_000 and b"\r\n\r\n" not in raw.data)
check("bad-header")(lambda raw: b"\0" in raw.head and b"Content-Length 5\r\n" in raw.head)
check("bad-status")(lambda raw: raw.data.startswith(b"HTTP/1.1 OK\r\n"))


def refused(status, code, **headers):
    def function(raw):
        return raw.status == status and raw.code() == code and raw.length() == len(raw.body) \
            and raw.get("content-type") == "application/xml" \
            and all(raw.get(n.replace("_", "-")) == v for n, v in headers.items())
    return function


for _name, _status, _code, _headers in (
        ("500", 500, "InternalError", {}), ("503", 503, "ServiceUnavailable", {}), ("504", 504, "GatewayTimeout", {}),
        ("slow-down", 503, "SlowDown", {"retry_after": None}), ("slow-down-retry-after", 503, "SlowDown", {"retry_after": "1"}),
        ("429", 429, "TooManyRequests", {"retry_after": None}), ("429-retry-after", 429, "TooManyRequests", {"retry_after": "1"}),
        ("request-timeout", 400, "RequestTimeout", {}), ("expired-token", 400, "ExpiredToken", {}),
        ("expired-token-403", 403, "ExpiredToken", {}),
        ("redirect-301", 301, "PermanentRedirect", {"x_amz_bucket_region": "eu-west-1"}),
        ("region-malformed", 400, "AuthorizationHeaderMalformed", {"x_amz_bucket_region": "eu-west-1"}),
        ("not-found", 404, "NoSuchKey", {}), ("no-such-bucket", 404, "NoSuchBucket", {}),
        ("access-denied", 403, "AccessDenied", {}), ("invalid-access-key", 403, "InvalidAccessKeyId", {}),
        ("signature-mismatch", 403, "SignatureDoesNotMatch", {}), ("not-implemented", 501, "NotImplemented", {}),
        ("archived", 403, "InvalidObjectState", {}), ("deleted", 404, "NoSuchKey", {}),
        ("error-in-200", 200, "InternalError", {"etag": None}), ("error-with-etag", 200, "InternalError", {"etag": ETAG}),
        ("storm", 503, "SlowDown", {})):
    check(_name)(refused(_status, _code, **_headers))
check("range-416", part=PART)(refused(416, "InvalidRange", content_range="bytes */5000"))
check("list-error-in-200", op="list")(refused(200, "InternalError"))


def http_date(text):
    return time.mktime(time.strptime(text, "%a, %d %b %Y %H:%M:%S GMT")) - time.timezone


check("retry-after-date")(lambda raw: raw.status == 503 and http_date(raw.get("retry-after")) > http_date(raw.get("date")))
check("clock-skew")(lambda raw: refused(403, "RequestTimeTooSkewed")(raw) and http_date(raw.get("date")) > time.time() + 1000)
check("502-html")(lambda raw: raw.status == 502 and b"<html>" in raw.body)
check("503-empty")(lambda raw: raw.status == 503 and raw.body == b"" and raw.length() == 0)
check("503-close", close=False)(lambda raw: raw.status == 503 and raw.end == "close" and raw.get("connection") == "close")
check("huge-error")(lambda raw: raw.status == 500 and len(raw.body) == raw.length() > 8_000_000)
check("gone-410")(lambda raw: raw.status == 410 and b"gone" in raw.body)
check("redirect-away")(lambda raw: raw.status == 307 and raw.get("location") == "http://169.254.169.254/latest/"
                       and raw.code() == "TemporaryRedirect")

check("truncate")(lambda raw: raw.body == BODY[:3000] and raw.length() == 5000 and raw.end == "close")
check("truncate-end")(lambda raw: raw.body == BODY[:-1] and raw.length() == 5000 and raw.end == "close")
check("truncate-unsized")(lambda raw: raw.body == BODY[:3000] and not raw.get("content-length"))
check("unsized")(lambda raw: raw.body == BODY and not raw.get("content-length"))
check("short-length")(lambda raw: raw.body == BODY[:-10] and raw.length() == 4990 and raw.get("etag") == ETAG)
check("long-length", close=False)(lambda raw: raw.body == BODY and raw.length() == 5010 and raw.end == "close")
check("two-lengths")(lambda raw: sorted(raw.all("content-length")) == ["4990", "5000"] and raw.body == BODY)
check("bad-length")(lambda raw: raw.get("content-length") == "5000, or so" and raw.body == BODY)
check("negative-length")(lambda raw: raw.length() == -1)
check("huge-length", close=False)(lambda raw: raw.length() == 5 << 30 and raw.body == BODY and raw.end == "close")
check("extra-bytes")(lambda raw: raw.length() == 5000 and raw.body[:5000] == BODY
                     and raw.body[5000:].startswith(b"HTTP/1.1 200 OK\r\n"))
check("empty-body")(lambda raw: raw.status == 200 and raw.length() == 0 and raw.get("etag") == ETAG)
check("chunk-unfinished")(lambda raw: raw.get("transfer-encoding") == "chunked" and raw.end == "close"
                          and raw.body == b"%x\r\n%s\r\n" % (len(BODY), BODY))
check("chunk-bad-size")(lambda raw: raw.body == b"%x\r\n%s\r\nxyz\r\nwhat\r\n" % (2500, BODY[:2500]))


def differing_bits(raw):
    return sum((a ^ b).bit_count() for a, b in zip(raw.body, BODY)) if len(raw.body) == len(BODY) else -1


CRC = store.checksum("crc32c", BODY)
check("corrupt")(lambda raw: differing_bits(raw) == 1 and not raw.get("x-amz-checksum-crc32c") and raw.get("etag") == ETAG)
check("corrupt-checksummed")(lambda raw: differing_bits(raw) == 1 and raw.get("x-amz-checksum-crc32c") == CRC)
check("wrong-checksum")(lambda raw: raw.body == BODY and raw.get("x-amz-checksum-crc32c") not in (None, CRC))
check("html-in-200")(lambda raw: raw.status == 200 and b"<html>" in raw.body and not raw.get("etag"))
check("gzip")(lambda raw: raw.get("content-encoding") == "gzip" and gzip.decompress(raw.body) == BODY)
check("gzip-unsaid")(lambda raw: not raw.get("content-encoding") and gzip.decompress(raw.body) == BODY)
check("range-ignored", part=PART)(lambda raw: is_right(raw) and not raw.get("content-range"))
check("range-wrong", part=PART)(lambda raw: raw.status == 206 and raw.body == BODY[:2000]
                                and raw.get("content-range") == "bytes 0-1999/5000")
check("range-total", part=PART)(lambda raw: raw.body == BODY[1000:3000] and raw.get("content-range") == "bytes 1000-2999/6000")
check("range-short", part=PART)(lambda raw: raw.body == BODY[1000:2000] and raw.get("content-range") == "bytes 1000-1999/5000")
check("range-unsaid", part=PART)(lambda raw: raw.status == 206 and raw.body == BODY[1000:3000] and not raw.get("content-range"))
check("range-multipart", part=PART)(lambda raw: raw.status == 206 and BODY[1000:3000] in raw.body
                                    and raw.get("content-type").startswith("multipart/byteranges"))
check("etag-changes")(lambda raw: raw.body == BODY and raw.get("etag") not in (None, ETAG))
check("replaced", "replaced-unsaid")(lambda raw: raw.status == 200 and raw.body == BODY + b"\n" and raw.get("etag") != ETAG)

ORDER = ["a.txt", "b+c%2Bd.txt", "e/f.txt", "e/g.txt", "empty", "h.txt"]
check("list-small-pages", op="list")(lambda raw: raw.keys() == ORDER[:2] and raw.text("IsTruncated") == "true")
check("list-empty-page", op="list")(lambda raw: raw.keys() == [] and raw.text("NextContinuationToken"))
check("list-plain", op="list")(lambda raw: raw.keys()[1] == "b c+d.txt" and raw.text("EncodingType") is None)
check("list-bare-etags", op="list")(lambda raw: b"<ETag>" + ETAG.strip('"').encode() in raw.body)
check("list-duplicates", op="list")(lambda raw: raw.keys() == ORDER[:3] and raw.text("IsTruncated") == "true")
check("list-unordered", op="list")(lambda raw: sorted(raw.keys()) == ORDER and raw.keys() != ORDER)
check("list-error-inside", op="list")(lambda raw: b"<Contents>" in raw.body and raw.code() == "InternalError")
check("list-cut", op="list")(lambda raw: raw.length() == len(raw.body) and b"</ListBucketResult>" not in raw.body)
check("list-truncated", op="list")(lambda raw: raw.length() > len(raw.body) > 100)
check("list-broken-xml", op="list")(lambda raw: b"</Kee>" in raw.body)
check("list-entities", op="list")(lambda raw: b"<!ENTITY e9" in raw.body and b"<Key>&e9;" in raw.body)
check("list-html", op="list")(lambda raw: raw.status == 200 and b"<html>" in raw.body)
check("list-empty-body", op="list")(lambda raw: raw.status == 200 and raw.length() == 0)
check("list-no-token", op="list")(lambda raw: raw.keys() == ORDER[:1] and raw.text("IsTruncated") == "true"
                                  and raw.text("NextContinuationToken") is None)
check("list-same-token", op="list")(lambda raw: raw.keys() == ORDER[:1] and raw.text("NextContinuationToken"))
check("list-cycle", op="list")(lambda raw: raw.keys() == ORDER[:1] and raw.text("NextContinuationToken") == "2")
check("list-other-prefix", op="list")(lambda raw: all(k.startswith("elsewhere/") for k in raw.keys()))
check("list-wrong-size", op="list")(lambda raw: b"<Size>5001</Size>" in raw.body)
check("list-ghost", op="list")(lambda raw: "zz-ghost.jsonl" in raw.keys())
check("list-bad-key", op="list")(lambda raw: b"<Key>%zz" in raw.body)
check("list-bad-size", op="list")(lambda raw: b"<Size>many " in raw.body)
# its own test
SEPARATE = {"refuse"}


def spoil(night, name):
    how = dict(CHECKS[name][1])
    night.forget()
    night.rules({"fault": name, "args": how.pop("args", {}), "from": 1})
    raw = (ask_list if how.pop("op", "get") == "list" else ask)(night, **how)
    log = [line for line in night.log() if line["fault"] == name]
    assert len(log) == 1 and night.counts()["faults"] == {name: 1}, (name, night.counts())
    return raw


def test_table(night):
    """every fault has a check, and there are at least 40"""
    assert set(CHECKS) | SEPARATE == set(faults.FAULTS), set(CHECKS) ^ set(faults.FAULTS)
    assert len(faults.FAULTS) >= 40


def test_refuse(night):
    """refuse: for a while no connection is accepted, then again"""
    night.rules({"fault": "refuse", "times": 1, "args": {"seconds": 5}})
    raw = ask(night)
    assert raw.data == b"" and raw.end == "reset", raw.data
    try:
        ask(night)
        raise AssertionError("accepted")
    except ConnectionRefusedError:
        pass
    try:  # the port stays its own meanwhile
        host, _, port = night.host.partition(":")
        with socket.create_server((host, int(port))):
            raise AssertionError(f"port {port} was free")
    except OSError as error:
        assert error.errno == errno.EADDRINUSE, error
    for _ in range(600):
        try:
            assert is_right(ask(night))
            return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("it does not come back")


def make_fault_test(name):
    def test(night):
        raw = spoil(night, name)
        assert CHECKS[name][0](raw), (raw.head[:600], raw.body[:200], len(raw.body), raw.end, raw.seconds)
    test.__doc__ = f"{name}: {faults.FAULTS[name].summary}"
    return test


def main():
    tests = [f for n, f in globals().items() if n.startswith("test_")]
    tests += [make_fault_test(name) for name in CHECKS]
    with tempfile.TemporaryDirectory() as folder:
        for key in KEYS:
            path = pathlib.Path(folder) / "demo" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(BODY)
        (pathlib.Path(folder) / "demo" / "empty").touch()
        with client.BadNight(f"--root={folder}", "--seed=5") as night:
            client.run_tests(tests, night, client.prepare_afresh)


main()
