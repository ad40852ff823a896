"""Faults of time, of connections, of the head of an answer, and refusals."""
import email.utils

from .faults import ANY, DATA, GET, fault
from .listing import error_document
from .reply import BEFORE_HEAD

SKEW_SECONDS = 20 * 60

# ---- time ----


@fault("latency", "legal", ANY)
def latency(x):
    """the answer is up to 300 ms late (arg seconds)"""
    x.reply.delay += x.rng.random() * x.args.get("seconds", 0.3)


@fault("jitter", "legal", ANY)
def jitter(x):
    """the answer is late by an exponential draw with a mean of 50 ms (arg seconds)"""
    x.reply.delay += min(5, x.rng.expovariate(1 / x.args.get("seconds", 0.05)))


@fault("slow-first-byte", "legal", ANY)
def slow_first_byte(x):
    """nothing for 2 s (arg seconds), then the answer: the slow tail"""
    x.reply.delay += x.args.get("seconds", 2)


@fault("slow-head", "legal", ANY)
def slow_head(x):
    """the head comes 20 bytes at a time, 5 ms apart (arg seconds)"""
    x.reply.head_step = 20, x.args.get("seconds", 0.005)


@fault("trickle", "legal", DATA, "body")
def trickle(x):
    """the body comes in 50 pieces, 10 ms apart (arg seconds)"""
    x.reply.body_step = max(1, len(x.reply.body) // 50), x.args.get("seconds", 0.01)


@fault("stall-head", "passing", ANY)
def stall_head(x):
    """nothing for 60 s (arg seconds), then the connection closes"""
    x.reply.stall_at, x.reply.stall = BEFORE_HEAD, x.args.get("seconds", 60)


@fault("stall-body", "passing", DATA, "body")
def stall_body(x):
    """a tenth of the body, then nothing for 60 s (arg seconds), then the connection closes"""
    x.reply.stall_at, x.reply.stall = len(x.reply.body) // 10, x.args.get("seconds", 60)


@fault("stall-end", "passing", DATA, "body")
def stall_end(x):
    """all but the last byte, then nothing for 60 s (arg seconds)"""
    x.reply.stall_at, x.reply.stall = len(x.reply.body) - 1, x.args.get("seconds", 60)


# ---- connections ----


@fault("reset-head", "passing", ANY)
def reset_head(x):
    """the connection is reset instead of an answer"""
    x.reply.cut_at, x.reply.cut = BEFORE_HEAD, "reset"


@fault("reset-body", "passing", DATA, "body")
def reset_body(x):
    """the connection is reset after half of the body (arg bytes)"""
    x.reply.cut_at, x.reply.cut = x.args.get("bytes", len(x.reply.body) // 2), "reset"


@fault("close-head", "passing", ANY)
def close_head(x):
    """the connection closes instead of an answer"""
    x.reply.cut_at = BEFORE_HEAD


@fault("refuse", "passing", ANY)
def refuse(x):
    """the connection is reset, and for 0.2 s (arg seconds) no connection is accepted at all"""
    x.server.go_away(x.args.get("seconds", 0.2))
    reset_head(x)


@fault("idle-close", "passing", ANY, "reused")
def idle_close(x):
    """a connection that was kept alive closes when the next request comes on it"""
    close_head(x)


@fault("idle-reset", "passing", ANY, "reused")
def idle_reset(x):
    """a connection that was kept alive is reset when the next request comes on it"""
    reset_head(x)


@fault("close-unsaid", "legal", ANY)
def close_unsaid(x):
    """a right answer, after which the connection closes without a word"""
    x.reply.close = True


@fault("garbage", "passing", ANY)
def garbage(x):
    """bytes that are no HTTP, and the connection closes"""
    x.reply.raw, x.reply.close = b"\x16\x03\x01\x02\x00" + x.rng.randbytes(200), True


# ---- heads ----


@fault("http-1.0", "legal", ANY)
def http_1_0(x):
    """an HTTP/1.0 answer; the connection closes after it"""
    x.reply.version, x.reply.close = "HTTP/1.0", True


@fault("continue", "legal", ANY)
def early_hints(x):
    """100 Continue and 103 Early Hints in front of the answer, unasked for"""
    x.reply.before = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\nETag: \"early\"\r\n\r\n"


@fault("many-headers", "legal", ANY)
def many_headers(x):
    """200 more headers of 100 bytes"""
    x.reply.headers += [(f"x-amz-meta-{i}", "m" * 100) for i in range(200)]


@fault("huge-header", "passing", ANY)
def huge_header(x):
    """a header of 1 MB"""
    x.reply.set("x-amz-meta-huge", "h" * 1_000_000)


@fault("endless-head", "passing", ANY)
def endless_head(x):
    """headers without end"""
    x.reply.endless = b"x-amz-meta-again: and again\r\n" * 2000


@fault("bad-header", "passing", ANY)
def bad_header(x):
    """a head with a NUL and a line that is no header"""
    x.reply.raw = b"HTTP/1.1 200 OK\r\nContent-Length 5\r\nx\0y: 1\r\n\r\nhello"
    x.reply.close = True


@fault("bad-status", "passing", ANY)
def bad_status(x):
    """a status line without a number"""
    x.reply.raw, x.reply.close = b"HTTP/1.1 OK\r\nContent-Length: 5\r\n\r\nhello", True


@fault("no-date", "legal", ANY)
def no_date(x):
    """an answer without Date, Last-Modified and Content-Type"""
    for name in ("Date", "Last-Modified", "Content-Type"):
        x.reply.set(name, None)


@fault("wrong-type", "legal", GET)
def wrong_type(x):
    """Content-Type: text/html for data"""
    x.reply.set("Content-Type", "text/html; charset=latin-1")


@fault("lower-case", "legal", ANY)
def lower_case(x):
    """header names in lower case, as proxies write them"""
    x.reply.headers = [(n.lower(), v) for n, v in x.reply.headers]


# ---- refusals that pass ----


def refuse_with(name, kind, status, code, message, summary, **headers):
    def apply(x):
        x.error(status, code, message)
        for header, value in headers.items():
            x.reply.set(header.replace("_", "-"), value)
    apply.__doc__ = summary
    fault(name, kind, ANY)(apply)


SLOW = "Please reduce your request rate."
refuse_with("500", "passing", 500, "InternalError", "We encountered an internal error. Please try again.",
            "500 InternalError")
refuse_with("503", "passing", 503, "ServiceUnavailable", "Service is unable to handle request.", "503 ServiceUnavailable")
refuse_with("504", "passing", 504, "GatewayTimeout", "The gateway timed out.", "504 with a document of S3's kind")
refuse_with("slow-down", "passing", 503, "SlowDown", SLOW, "503 SlowDown")
refuse_with("slow-down-retry-after", "passing", 503, "SlowDown", SLOW, "503 SlowDown with Retry-After: 1", Retry_After="1")
refuse_with("429", "passing", 429, "TooManyRequests", SLOW, "429")
refuse_with("429-retry-after", "passing", 429, "TooManyRequests", SLOW, "429 with Retry-After: 1", Retry_After="1")
refuse_with("request-timeout", "passing", 400, "RequestTimeout", "Your socket connection to the server was not read from "
            "or written to within the timeout period.", "400 RequestTimeout, which passes")


@fault("retry-after-date", "passing", ANY)
def retry_after_date(x):
    """503 SlowDown with a Retry-After that is a date, 1 s ahead"""
    x.error(503, "SlowDown", SLOW)
    x.reply.set("Retry-After", email.utils.formatdate(x.server.verifier.now() + 1, usegmt=True))


@fault("502-html", "passing", ANY)
def html_502(x):
    """502 with a page of a proxy"""
    x.page_of_proxy(502, b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>")


@fault("503-empty", "passing", ANY)
def empty_503(x):
    """503 without a body"""
    x.plain(503, None, b"")


@fault("503-close", "passing", ANY)
def close_503(x):
    """503 SlowDown, and the connection closes"""
    x.error(503, "SlowDown", SLOW)
    x.reply.set("Connection", "close")
    x.reply.close = True


@fault("huge-error", "passing", ANY)
def huge_error(x):
    """500 with a document of 8 MB"""
    x.error(500, "InternalError", "We encountered an internal error." + " " * 8_000_000)


@fault("storm", "passing", ANY)
def storm(x):
    """503 SlowDown to all that comes faster than 20 a second (arg rate), for 2 s (arg seconds)"""
    x.server.start_storm(x.args.get("rate", 20), x.args.get("seconds", 2))
    x.error(503, "SlowDown", SLOW)


@fault("expired-token", "final", ANY)
def expired_token(x):
    """400 ExpiredToken: final for who finds no other credentials"""
    x.error(400, "ExpiredToken", "The provided token has expired.")


@fault("expired-token-403", "final", ANY)
def expired_token_403(x):
    """the same with a 403, as some gateways have it"""
    x.error(403, "ExpiredToken", "The provided token has expired.")


@fault("clock-skew", "passing", ANY)
def clock_skew(x):
    """403 RequestTimeTooSkewed: the server's clock, and its Date, are 20 minutes ahead from now on; right again the next time"""
    right = x.server.options.clock_skew
    x.server.verifier.skew = right + SKEW_SECONDS if x.server.verifier.skew == right else right
    x.error(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.",
            MaxAllowedSkewMilliseconds="900000")


def move(x, status, code):
    """to the region of the arguments, and back the next time"""
    region, home = x.args.get("region", "eu-west-1"), x.server.verifier.region
    region = home if x.server.regions.get(x.bucket, home) == region else region
    x.server.regions[x.bucket] = region
    x.error(status, code, f"The bucket is in {region}", Region=region, Bucket=x.bucket)
    x.reply.set("x-amz-bucket-region", region)


@fault("redirect-301", "passing", ANY)
def redirect_301(x):
    """301 PermanentRedirect; from now on the bucket is in eu-west-1 (arg region)"""
    move(x, 301, "PermanentRedirect")


@fault("region-malformed", "passing", ANY)
def region_malformed(x):
    """400 AuthorizationHeaderMalformed with the region; from now on the bucket is in eu-west-1 (arg region)"""
    move(x, 400, "AuthorizationHeaderMalformed")


# ---- refusals that are final ----

refuse_with("not-found", "final", 404, "NoSuchKey", "The specified key does not exist.", "404 NoSuchKey")
refuse_with("no-such-bucket", "final", 404, "NoSuchBucket", "The specified bucket does not exist", "404 NoSuchBucket")
refuse_with("access-denied", "final", 403, "AccessDenied", "Access Denied", "403 AccessDenied")
refuse_with("invalid-access-key", "final", 403, "InvalidAccessKeyId",
            "The AWS Access Key Id you provided does not exist in our records.", "403 InvalidAccessKeyId")
refuse_with("signature-mismatch", "final", 403, "SignatureDoesNotMatch", "The request signature we calculated does not "
            "match the signature you provided. Check your key and signing method.", "403 SignatureDoesNotMatch")
refuse_with("not-implemented", "final", 501, "NotImplemented", "A header you provided implies functionality that is not "
            "implemented.", "501 NotImplemented")
refuse_with("archived", "final", 403, "InvalidObjectState", "The operation is not valid for the object's storage class",
            "403 InvalidObjectState: the object is in an archive")


@fault("gone-410", "final", GET)
def gone(x):
    """410 with a page of a proxy"""
    x.page_of_proxy(410, b"<html>gone</html>")


@fault("redirect-away", "final", ANY)
def redirect_away(x):
    """307 to another host: a client that follows sends its signature, or its trust, to a stranger"""
    x.reply.status, x.reply.headers = 307, [("Location", x.args.get("location", "http://169.254.169.254/latest/"))]
    x.reply.set("Content-Type", "application/xml")
    x.reply.body = error_document("TemporaryRedirect", "Please re-send this request to the specified temporary endpoint.",
                                  {"Bucket": x.bucket, "Endpoint": "169.254.169.254"})
