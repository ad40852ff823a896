"""Is a request signed as AWS Signature Version 4 says?

Written from "Authenticating Requests (AWS Signature Version 4)" of the S3 API reference: headers and
presigned URLs, single chunk. Everything that S3 checks is checked: the scope, the clock, that the host
and every x-amz- header are signed, and the hash of the body.
"""
import calendar
import dataclasses
import hashlib
import hmac
import re
import time
import urllib.parse

ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY = hashlib.sha256(b"").hexdigest()
SKEW_SECONDS = 15 * 60
UNRESERVED = "-._~"


@dataclasses.dataclass
class Credentials:
    """who may ask; a token of None means that none must be sent"""
    access_key: str
    secret_key: str
    token: str | None = None
    expired: bool = False


class Refusal(Exception):
    """what S3 would answer: a status, a code, words, and more elements of its document"""

    def __init__(self, status, code, message, **more):
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message, self.more = status, code, message, more


def encode(text, safe=""):
    return urllib.parse.quote(text, safe=UNRESERVED + safe)


def decode(text):
    return urllib.parse.unquote_to_bytes(text)


def split_query(raw):
    """the parameters of a query as bytes, in their order; a '+' is a plus, as in a signature"""
    pairs = []
    for part in raw.split("&") if raw else []:
        name, _, value = part.partition("=")
        pairs.append((decode(name), decode(value)))
    return pairs


def canonical_query(raw, without=()):
    pairs = sorted((encode(n), encode(v)) for n, v in split_query(raw) if n not in without)
    return "&".join(f"{n}={v}" for n, v in pairs)


def canonical_headers(headers, names):
    lines = []
    for name in names:
        values = [" ".join(v.split()) for n, v in headers if n.lower() == name]
        lines.append(f"{name}:{','.join(values)}\n")
    return "".join(lines)


def canonical_request(request, names, payload, without=()):
    # S3 decodes the path and encodes it once; it removes neither dots nor slashes
    return "\n".join([request.method, encode(decode(request.path), "/"), canonical_query(request.query, without),
                      canonical_headers(request.headers, names), ";".join(names), payload])


def signing_key(secret, date, region, service="s3"):
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def string_to_sign(stamp, scope, canonical):
    return "\n".join([ALGORITHM, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])


def malformed(message, **more):
    return Refusal(400, "AuthorizationHeaderMalformed", f"The authorization header is malformed; {message}", **more)


def parse_header(value):
    found = re.fullmatch(r"AWS4-HMAC-SHA256 +Credential=([^, ]+), ?SignedHeaders=([^, ]+), ?Signature=([0-9a-f]{64})",
                         value)
    if not found:
        raise malformed("it is not AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=….")
    return found.groups()


class Verifier:
    """knows who may ask, where, and what time it is"""

    def __init__(self, credentials, region, anonymous=False):
        self.credentials = credentials
        self.region = region
        self.anonymous = anonymous
        self.skew = 0

    def now(self):
        return time.time() + self.skew

    def check(self, request, region=None):
        """raises Refusal; gives the access key, "" if nobody signed"""
        region = region or self.region
        params = dict(split_query(request.query))
        header = request.get("authorization")
        if header is not None:
            credential, names, signature = parse_header(header)
            return self.check_header(request, region, credential, names.split(";"), signature)
        if b"X-Amz-Signature" in params:
            return self.check_presigned(request, region, {n.decode(): v.decode() for n, v in params.items()})
        if self.anonymous:
            return ""
        raise Refusal(403, "AccessDenied", "Access Denied: the request is not signed")

    def find(self, credential, region, stamp, token):
        parts = credential.rsplit("/", 4)
        if len(parts) != 5 or parts[3:] != ["s3", "aws4_request"]:
            raise malformed("the Credential is not KEY/DATE/REGION/s3/aws4_request.")
        key, date, used = parts[0], parts[1], parts[2]
        who = next((c for c in self.credentials if c.access_key == key), None)
        if not who:
            raise Refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.",
                          AWSAccessKeyId=key)
        if used != region:
            raise malformed(f"the region '{used}' is wrong; expecting '{region}'", Region=region)
        if date != stamp[:8]:
            raise malformed(f"the date of the Credential, {date}, is not that of the request, {stamp[:8]}.")
        if who.token is not None and who.token != token or who.token is None and token is not None:
            raise Refusal(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
        if who.expired:
            raise Refusal(400, "ExpiredToken", "The provided token has expired.")
        return who, f"{date}/{region}/s3/aws4_request"

    def read_stamp(self, stamp):
        if not re.fullmatch(r"\d{8}T\d{6}Z", stamp or ""):
            raise Refusal(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
        return calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))

    def compare(self, who, request, scope, stamp, names, payload, signature, without=()):
        canonical = canonical_request(request, names, payload, without)
        text = string_to_sign(stamp, scope, canonical)
        date, region = scope.split("/")[:2]
        right = hmac.new(signing_key(who.secret_key, date, region), text.encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(right, signature):
            raise Refusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the "
                          "signature you provided. Check your key and signing method.", AWSAccessKeyId=who.access_key,
                          StringToSign=text, CanonicalRequest=canonical)
        return who.access_key

    def check_names(self, request, names):
        if names != sorted(names) or any(n != n.lower() for n in names):
            raise malformed("the SignedHeaders are not lower case letters in order.")
        missing = sorted({n.lower() for n, _ in request.headers if n.lower().startswith("x-amz-")} | {"host"})
        missing = [n for n in missing if n not in names]
        absent = [n for n in names if request.get(n) is None]
        if missing or absent:
            raise Refusal(403, "AccessDenied", "There were headers present in the request which were not signed"
                          if missing else "There were headers signed which are not in the request",
                          HeadersNotSigned=", ".join(missing or absent))

    def check_header(self, request, region, credential, names, signature):
        stamp = request.get("x-amz-date")
        sent = self.read_stamp(stamp)
        who, scope = self.find(credential, region, stamp, request.get("x-amz-security-token"))
        self.check_names(request, names)
        if abs(sent - self.now()) > SKEW_SECONDS:
            raise Refusal(403, "RequestTimeTooSkewed", "The difference between the request time and the current time "
                          "is too large.", RequestTime=stamp, MaxAllowedSkewMilliseconds=str(SKEW_SECONDS * 1000))
        payload = request.get("x-amz-content-sha256")
        if payload is None:
            raise Refusal(400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
        if payload != "UNSIGNED-PAYLOAD" and payload != hashlib.sha256(request.body).hexdigest():
            raise Refusal(400, "XAmzContentSHA256Mismatch",
                          "The provided 'x-amz-content-sha256' header does not match what was computed.")
        return self.compare(who, request, scope, stamp, names, payload, signature)

    def check_presigned(self, request, region, params):
        try:
            algorithm, credential, stamp = (params[n] for n in ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date"))
            expires, names = int(params["X-Amz-Expires"]), params["X-Amz-SignedHeaders"].split(";")
        except (KeyError, ValueError):
            raise Refusal(400, "AuthorizationQueryParametersError", "Query-string authentication version 4 requires "
                          "the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, "
                          "and X-Amz-Expires parameters.") from None
        if algorithm != ALGORITHM or not 0 < expires <= 604800:
            raise Refusal(400, "AuthorizationQueryParametersError", "X-Amz-Algorithm must be AWS4-HMAC-SHA256 and "
                          "X-Amz-Expires between 1 and 604800")
        sent = self.read_stamp(stamp)
        who, scope = self.find(credential, region, stamp, params.get("X-Amz-Security-Token"))
        if "host" not in names:
            raise Refusal(403, "AccessDenied", "There were headers present in the request which were not signed",
                          HeadersNotSigned="host")
        if sent > self.now() + SKEW_SECONDS:
            raise Refusal(403, "AccessDenied", "Request is not yet valid")
        if self.now() > sent + expires:
            raise Refusal(403, "AccessDenied", "Request has expired")
        return self.compare(who, request, scope, stamp, names, "UNSIGNED-PAYLOAD", params["X-Amz-Signature"],
                            (b"X-Amz-Signature",))
