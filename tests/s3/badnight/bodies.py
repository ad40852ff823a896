"""Faults of bodies, of ranges, and of objects that change under way."""
import gzip

from .faults import ANY, DATA, GET, fault
from .listing import error_document
from .store import CHECKSUMS

ETAG_MULTIPART = "-3\""

# ---- framing ----


@fault("truncate", "passing", DATA, "body")
def truncate(x):
    """the Content-Length is right; the connection closes after 60 % of the body"""
    x.reply.cut_at = len(x.reply.body) * 6 // 10


@fault("truncate-end", "passing", DATA, "body")
def truncate_end(x):
    """the last byte is missing"""
    x.reply.cut_at = len(x.reply.body) - 1


@fault("truncate-unsized", "passing", DATA, "body")
def truncate_unsized(x):
    """no Content-Length, and the connection closes after 60 % of the body"""
    x.reply.body = x.reply.body[:len(x.reply.body) * 6 // 10]
    x.reply.framing = "close"


@fault("unsized", "passing", DATA, "body")
def unsized(x):
    """no Content-Length: the body, whole, ends where the connection closes"""
    x.reply.framing = "close"


@fault("short-length", "passing", DATA, "body")
def short_length(x):
    """the Content-Length is 10 less than the body"""
    x.reply.length = max(0, len(x.reply.body) - 10)
    x.reply.body, x.reply.close = x.reply.body[:x.reply.length], True


@fault("long-length", "passing", DATA, "body")
def long_length(x):
    """the Content-Length is 10 more than the body, and the connection closes after the body"""
    x.reply.length, x.reply.close = len(x.reply.body) + 10, True


@fault("two-lengths", "passing", DATA, "body")
def two_lengths(x):
    """two different Content-Lengths"""
    x.reply.set("Content-Length", str(max(0, len(x.reply.body) - 10)))
    x.reply.close = True


@fault("bad-length", "passing", DATA, "body")
def bad_length(x):
    """a Content-Length that is no number"""
    x.reply.length = f"{len(x.reply.body)}, or so"


@fault("negative-length", "passing", DATA, "body")
def negative_length(x):
    """Content-Length: -1"""
    x.reply.length = -1


@fault("huge-length", "passing", DATA, "body")
def huge_length(x):
    """a claim of 5 GB, and the connection closes after the body"""
    x.reply.length, x.reply.close = 5 << 30, True


@fault("extra-bytes", "passing", DATA, "body")
def extra_bytes(x):
    """after the body, on the same connection, bytes that look like another answer"""
    x.reply.length = len(x.reply.body)
    x.reply.body = bytes(x.reply.body) + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"


@fault("empty-body", "passing", DATA, "body")
def empty_body(x):
    """Content-Length: 0 where there is an object"""
    x.reply.body = b""


@fault("chunked", "legal", DATA)
def chunked(x):
    """chunked instead of a Content-Length"""
    x.reply.framing = "chunked"


@fault("chunk-trailer", "legal", DATA, "body")
def chunk_trailer(x):
    """chunked, with extensions and a trailer"""
    body = bytes(x.reply.body)
    half = max(1, len(body) // 2)
    x.reply.set("Transfer-Encoding", "chunked")
    x.reply.framing = "none"
    x.reply.body = b"".join(b"%x;name=value\r\n%s\r\n" % (len(p), p) for p in (body[:half], body[half:]) if p) \
        + b"0\r\nx-amz-trailer: 1\r\n\r\n"


@fault("chunk-unfinished", "passing", DATA, "body")
def chunk_unfinished(x):
    """chunked, and the connection closes before the last chunk"""
    x.reply.framing = "chunked"
    x.reply.cut_at = len(x.reply.wire_body()) - 5


@fault("chunk-bad-size", "passing", DATA, "body")
def chunk_bad_size(x):
    """chunked, with a size that is no number in the middle"""
    half = bytes(x.reply.body[:len(x.reply.body) // 2])
    x.reply.set("Transfer-Encoding", "chunked")
    x.reply.framing, x.reply.close = "none", True
    x.reply.body = (b"%x\r\n%s\r\n" % (len(half), half) if half else b"") + b"xyz\r\nwhat\r\n"


# ---- what is in the body ----


def flip(x):
    body = bytearray(x.reply.body)
    at = x.args.get("at", x.rng.randrange(len(body)))
    body[at] ^= 1 << x.rng.randrange(8)
    x.reply.body = bytes(body)


@fault("corrupt", "silent", DATA, "body")
def corrupt(x):
    """one bit is flipped; there is no checksum"""
    flip(x)
    for name in (*CHECKSUMS, "type"):
        x.reply.set(f"x-amz-checksum-{name}", None)


@fault("corrupt-checksummed", "passing", DATA, "whole")
def corrupt_checksummed(x):
    """one bit is flipped; the object's checksum, if one was asked for, tells"""
    flip(x)


@fault("wrong-checksum", "passing", DATA, "whole")
def wrong_checksum(x):
    """the body is right, and its checksum, if one was asked for, that of another"""
    for name in CHECKSUMS:
        value = x.reply.get(f"x-amz-checksum-{name}")
        if value:
            x.reply.set(f"x-amz-checksum-{name}", ("B" if value[0] == "A" else "A") + value[1:])


@fault("error-in-200", "passing", GET)
def error_in_200(x):
    """200 with an <Error> document"""
    x.error(200, "InternalError", "We encountered an internal error. Please try again.")


@fault("error-with-etag", "passing", GET, "body")
def error_with_etag(x):
    """200 or 206 with the head of the object, and an <Error> document for a body"""
    x.reply.set("Content-Type", "application/xml")
    x.reply.body = error_document("InternalError", "We encountered an internal error. Please try again.", {})


@fault("html-in-200", "passing", GET)
def html_in_200(x):
    """200 with a page of a proxy that wants a login"""
    x.page_of_proxy(200, b"<html><body>Please log in</body></html>")


@fault("gzip", "final", DATA, "body")
def compressed(x):
    """Content-Encoding: gzip, and so is the body"""
    x.reply.body = gzip.compress(bytes(x.reply.body), mtime=0)
    x.reply.set("Content-Encoding", "gzip")


@fault("gzip-unsaid", "passing", DATA, "body")
def compressed_unsaid(x):
    """the body is compressed, and nothing says so but its length"""
    x.reply.body = gzip.compress(bytes(x.reply.body), mtime=0)


# ---- ranges ----


@fault("range-ignored", "passing", DATA, "range")
def range_ignored(x):
    """200 with the whole object where a part was asked for"""
    x.reply.status, x.reply.body = 200, x.object.data
    x.reply.set("Content-Range", None)


@fault("range-200", "legal", DATA, "range")
def range_200(x):
    """200 with the right part and its Content-Range, as rclone has it"""
    x.reply.status = 200


@fault("range-wrong", "passing", DATA, "range")
def range_wrong(x):
    """206 with another part of the same length, and the Content-Range of that"""
    size, total = len(x.reply.body), len(x.object.data)
    at = 0 if x.range[0] > 0 else min(1, total - size)
    if at == x.range[0]:
        size, at = max(1, size - 1), 1 if size > 1 else 0
    x.reply.body = x.object.data[at:at + size]
    x.reply.set("Content-Range", f"bytes {at}-{at + size - 1}/{total}")


@fault("range-total", "passing", DATA, "range")
def range_total(x):
    """206 with a wrong total in its Content-Range"""
    x.reply.set("Content-Range", f"bytes {x.range[0]}-{x.range[1]}/{len(x.object.data) + 1000}")


@fault("range-no-total", "legal", DATA, "range")
def range_no_total(x):
    """206 with a total of "*" in its Content-Range"""
    x.reply.set("Content-Range", f"bytes {x.range[0]}-{x.range[1]}/*")


@fault("range-short", "passing", DATA, "range")
def range_short(x):
    """206 with the first half of what was asked for, and says so"""
    half = max(1, len(x.reply.body) // 2)
    if half == len(x.reply.body):
        range_total(x)
        return
    x.reply.body = x.reply.body[:half]
    x.reply.set("Content-Range", f"bytes {x.range[0]}-{x.range[0] + half - 1}/{len(x.object.data)}")


@fault("range-unsaid", "passing", DATA, "range")
def range_unsaid(x):
    """206 without a Content-Range"""
    x.reply.set("Content-Range", None)


@fault("range-multipart", "passing", DATA, "range")
def range_multipart(x):
    """206 as multipart/byteranges"""
    head = f"--cut\r\nContent-Range: {x.reply.get('Content-Range')}\r\n\r\n".encode()
    x.reply.body = head + bytes(x.reply.body) + b"\r\n--cut--\r\n"
    x.reply.set("Content-Range", None)
    x.reply.set("Content-Type", "multipart/byteranges; boundary=cut")


@fault("range-416", "passing", DATA, "range")
def range_416(x):
    """416 InvalidRange for a range that exists"""
    x.error(416, "InvalidRange", "The requested range is not satisfiable", ActualObjectSize=str(len(x.object.data)))
    x.reply.set("Content-Range", f"bytes */{len(x.object.data)}")


# ---- empty objects, where a range was asked for: S3 says 416 ----


@fault("empty-200", "legal", DATA, "empty")
def empty_200(x):
    """an empty object, where a range was asked for: 200, Content-Length: 0"""
    x.reply.status, x.reply.body = 200, b""
    x.reply.set("Content-Range", None)


@fault("empty-206", "legal", DATA, "empty")
def empty_206(x):
    """an empty object, where a range was asked for: 206, Content-Range: bytes 0--1/0"""
    x.reply.status, x.reply.body = 206, b""
    x.reply.set("Content-Range", "bytes 0--1/0")


# ---- what an object is ----


def set_etag(x, change):
    etag = x.reply.get("ETag")
    if etag:
        x.reply.set("ETag", change(etag))


@fault("weak-etag", "legal", ("get", "head"))
def weak_etag(x):
    """a weak ETag, W/\"…\", as proxies make them"""
    set_etag(x, lambda e: e if e.startswith("W/") else "W/" + e)


@fault("no-etag", "legal", ("get", "head"))
def no_etag(x):
    """no ETag"""
    x.reply.set("ETag", None)


@fault("multipart-etag", "final", ("get",), "reread")
def multipart_etag(x):
    """from now on the object's ETag is that of an upload in parts: the same bytes, put again"""
    if x.object and not x.object.etag.endswith(ETAG_MULTIPART):
        x.server.store.set_etag(x.bucket, x.key, x.object.etag.rstrip('"') + ETAG_MULTIPART)
        x.reply = x.answer()


@fault("etag-changes", "final", DATA, "body")
def etag_changes(x):
    """the same bytes with an ETag of their own at each answer"""
    set_etag(x, lambda e: f'"{x.rng.randbytes(16).hex()}"')


def replace(x, honest):
    """what happens between two requests for an object"""
    x.server.replace(x.bucket, x.key)
    if not honest:
        x.server.deaf.add((x.bucket, x.key))
    x.object = x.server.store.get(x.bucket, x.key)
    x.reply = x.answer()


@fault("replaced", "final", DATA, "reread")
def replaced(x):
    """from now on the object is another one (what was put as KEY.replaced, else itself and a line end), with another ETag"""
    replace(x, True)


@fault("replaced-unsaid", "final", DATA, "reread")
def replaced_unsaid(x):
    """the same on a server that ignores If-Match"""
    replace(x, False)


@fault("deleted", "final", ("get", "head"))
def deleted(x):
    """from now on the object is not there"""
    x.server.store.remove(x.bucket, x.key)
    x.object = None
    x.reply = x.answer()


@fault("claims-5gb", "final", ("head",))
def claims_5gb(x):
    """HEAD claims 5 GB more than there is"""
    x.reply.length = len(x.object.data) + (5 << 30) if x.object else 5 << 30


@fault("no-length", "legal", ("head",))
def no_length(x):
    """HEAD does not tell how long the object is"""
    x.reply.framing = "none"


@fault("server-is-other", "legal", ANY)
def other_server(x):
    """headers of another maker: Server: MinIO, no x-amz-request-id, x-amz-id-2"""
    x.reply.set("Server", "MinIO")
    for name in ("x-amz-request-id", "x-amz-id-2"):
        x.reply.set(name, None)
