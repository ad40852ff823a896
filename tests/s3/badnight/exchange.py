"""A request, the right answer to it, and what a fault may do to that."""
import dataclasses
import email.utils
import re
import urllib.parse

from . import listing
from .auth import Refusal
from .reply import Reply


@dataclasses.dataclass
class Request:
    method: str
    path: str  # as it came: encoded
    query: str
    headers: list
    body: bytes = b""

    def get(self, name):
        """all values of a header in one, None if there is none"""
        values = [v for n, v in self.headers if n.lower() == name]
        return ",".join(values) if values else None


class BadRequest(Exception):
    pass


def parse_head(head):
    lines = head.decode("latin-1").split("\r\n")
    found = re.fullmatch(r"([A-Z]+) (/[^ ?]*)(?:\?([^ ]*))? HTTP/1\.([01])", lines[0])
    if not found:
        raise BadRequest(f"no request: {lines[0][:100]!r}")
    headers = []
    for line in lines[1:-2]:
        name, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise BadRequest(f"no header: {line[:100]!r}")
        headers.append((name, value.strip(" \t")))
    return Request(found[1], found[2], found[3] or "", headers), found[4] == "0"


def parse_range(text, size):
    """(first, last), None if it is to be ignored; Refusal if there is no such part"""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", text or "")
    if not found or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        first, last = max(0, size - int(last)), size - 1
        if first > last:
            first = size
    else:
        first, last = int(first), min(int(last) if last else size - 1, size - 1)
        if found[2] and int(found[2]) < first:
            return None
    if first >= size:
        raise Refusal(416, "InvalidRange", "The requested range is not satisfiable", RangeRequested=text,
                      ActualObjectSize=str(size))
    return first, last


def same_etag(a, b):
    return a.removeprefix("W/").strip('"') == b.removeprefix("W/").strip('"')


class Exchange:
    """what faults see and change: reply, object, page"""

    def __init__(self, server, request, bucket, key, address="", number=1):
        self.server, self.request, self.bucket, self.key = server, request, bucket, key
        self.address, self.number = address, number
        self.op = self.find_op()
        self.object = self.range = self.page = None
        self.reads = 0
        self.identity = ()
        self.args, self.rng = {}, None
        self.reply = None

    def find_op(self):
        if self.request.method == "HEAD":
            return "head"
        if self.request.method != "GET":
            return self.request.method.lower()
        return "get" if self.key else "list"

    # ---- answers ----

    def error(self, status, code, message, **more):
        self.reply = Reply(status, self.server.common_headers(), listing.error_document(
            code, message, {"Resource": self.request.path, **more}), head_only=self.op == "head")
        self.reply.set("Content-Type", "application/xml")

    def plain(self, status, kind, body):
        self.reply = Reply(status, self.server.common_headers(), body, head_only=self.op == "head")
        self.reply.set("Content-Type", kind)

    def page_of_proxy(self, status, html):
        """an answer that is not S3's"""
        self.reply = Reply(status, [self.server.common_headers()[0], ("Server", "nginx")], html, head_only=self.op == "head")
        self.reply.set("Content-Type", "text/html")

    def refuse(self, refusal):
        self.error(refusal.status, refusal.code, refusal.message, **refusal.more)
        if refusal.status == 416:
            self.reply.set("Content-Range", f"bytes */{refusal.more['ActualObjectSize']}")
        if "Region" in refusal.more:
            self.reply.set("x-amz-bucket-region", refusal.more["Region"])
        return self.reply

    def answer(self):
        """the right answer; changes nothing"""
        try:
            self.server.check_bucket(self)
            return self.list_answer() if self.op == "list" else self.object_answer()
        except Refusal as refusal:
            return self.refuse(refusal)

    def list_answer(self):
        params = listing.read_params(self.request.query)
        if params.get("list-type") != "2":
            raise Refusal(501, "NotImplemented", "This server knows ListObjectsV2 only")
        self.page = self.server.list_page(self.bucket, params)
        self.list_reply()
        return self.reply

    def list_reply(self, quote_etags=True):
        self.plain(200, "application/xml", self.page.document(quote_etags))

    def check_conditions(self, known):
        get = self.request.get
        deaf = (self.bucket, self.key) in self.server.deaf
        wanted = get("if-match")
        if wanted and wanted != "*" and not deaf and not any(same_etag(e.strip(), known.etag) for e in wanted.split(",")):
            raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold",
                          Condition="If-Match")
        unwanted = get("if-none-match")
        if unwanted and (unwanted == "*" or any(same_etag(e.strip(), known.etag) for e in unwanted.split(","))):
            return False
        since = email.utils.parsedate_to_datetime(get("if-modified-since")) if get("if-modified-since") else None
        return unwanted is not None or since is None or int(known.modified) > since.timestamp()

    def object_answer(self):
        if not self.key:
            self.plain(200, "application/xml", b"")
            return self.reply
        known = self.object = self.server.store.get(self.bucket, self.key)
        if not known:
            raise Refusal(404, "NoSuchKey", "The specified key does not exist.",
                          Key=self.key.encode("utf-8", "replace").decode())
        if not self.check_conditions(known):
            self.reply = Reply(304, self.server.common_headers() + [("ETag", known.etag)])
            return self.reply
        size = len(known.data)
        self.range = parse_range(self.request.get("range"), size)
        first, last = self.range or (0, size - 1)
        body = known.data if self.range is None and isinstance(known.data, bytes) else known.data[first:last + 1]
        headers = self.server.common_headers() + [
            ("Last-Modified", email.utils.formatdate(int(known.modified), usegmt=True)), ("ETag", known.etag),
            ("Accept-Ranges", "bytes"), ("Content-Type", known.type)]
        if self.range:
            headers.append(("Content-Range", f"bytes {first}-{last}/{size}"))
        if (self.request.get("x-amz-checksum-mode") or "").upper() == "ENABLED" and self.server.checksum != "none" \
                and len(body) == size:
            headers += [(f"x-amz-checksum-{self.server.checksum}", known.checksum(self.server.checksum)),
                        ("x-amz-checksum-type", "FULL_OBJECT")]
        if self.bucket in self.server.requester_pays:
            headers.append(("x-amz-request-charged", "requester"))
        self.reply = Reply(206 if self.range else 200, headers, body, head_only=self.op == "head")
        return self.reply


def split_target(request, domains):
    """(bucket, key) of path or virtual-host style"""
    host = re.sub(r":\d+$", "", request.get("host") or "")
    path = urllib.parse.unquote(request.path, errors="surrogateescape")
    for domain in domains:
        if host.endswith("." + domain):
            return host[:-len(domain) - 1], path[1:]
    bucket, _, key = path[1:].partition("/")
    return bucket, key
