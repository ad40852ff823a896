"""ListObjectsV2 and the documents of S3."""
import base64
import dataclasses
import datetime
import urllib.parse
from xml.sax.saxutils import escape

from .auth import Refusal, split_query

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n'


def xml_text(text):
    """as S3 writes it: what XML 1.0 has no letter for becomes a number"""
    return "".join(c if c >= " " else f"&#x{ord(c):X};" for c in escape(text))


def timestamp(seconds):
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def error_document(code, message, more):
    inner = "".join(f"<{n}>{xml_text(v)}</{n}>" for n, v in {"Code": code, "Message": message, **more}.items())
    return f"{HEADER}<Error>{inner}<RequestId>BADNIGHT</RequestId></Error>".encode()


@dataclasses.dataclass
class Page:
    """what a list says; faults change it before it is written"""
    bucket: str
    params: dict
    entries: list  # of (key, size, etag, modified)
    prefixes: list
    next: str | None
    encoded: bool

    def write_key(self, key):
        return xml_text(urllib.parse.quote_plus(key, safe="/")) if self.encoded else xml_text(key)

    def document(self, quote_etags=True):
        out = [HEADER, f'<ListBucketResult xmlns="{NAMESPACE}"><Name>{self.bucket}</Name>']
        for name, tag in (("prefix", "Prefix"), ("delimiter", "Delimiter"), ("start-after", "StartAfter")):
            if name in self.params:
                out.append(f"<{tag}>{self.write_key(self.params[name])}</{tag}>")
        if "continuation-token" in self.params:
            out.append(f"<ContinuationToken>{xml_text(self.params['continuation-token'])}</ContinuationToken>")
        out.append(f"<KeyCount>{len(self.entries) + len(self.prefixes)}</KeyCount>"
                   f"<MaxKeys>{self.params['max-keys']}</MaxKeys>"
                   f"<IsTruncated>{'true' if self.next is not None else 'false'}</IsTruncated>")
        if self.next:
            out.append(f"<NextContinuationToken>{xml_text(self.next)}</NextContinuationToken>")
        if self.encoded:
            out.append("<EncodingType>url</EncodingType>")
        for key, size, etag, modified in self.entries:
            etag = xml_text(etag if quote_etags else etag.strip('"')).replace('"', "&quot;")
            out.append(f"<Contents><Key>{self.write_key(key)}</Key><LastModified>{timestamp(modified)}</LastModified>"
                       f"<ETag>{etag}</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>")
        out += [f"<CommonPrefixes><Prefix>{self.write_key(p)}</Prefix></CommonPrefixes>" for p in self.prefixes]
        return "".join([*out, "</ListBucketResult>"]).encode()


FULL_PAGE, EMPTY_PAGE = "1", "2"


def make_token(last):
    return FULL_PAGE + base64.b64encode(last.encode("utf-8", "surrogateescape")).decode()


def read_token(token):
    try:
        if token[:1] not in (FULL_PAGE, EMPTY_PAGE):
            raise ValueError
        return base64.b64decode(token[1:], validate=True)
    except ValueError:
        raise Refusal(400, "InvalidArgument", "The continuation token provided is incorrect",
                      ArgumentName="continuation-token") from None


def read_params(query):
    # in a query of a list a plus is a space, as AWS has it
    params = {n.decode(): v.decode("utf-8", "surrogateescape") for n, v in split_query(query.replace("+", "%20"))}
    try:
        params["max-keys"] = min(1000, int(params.get("max-keys", "1000")))
        if params["max-keys"] < 0:
            raise ValueError
    except ValueError:
        raise Refusal(400, "InvalidArgument", "Provided max-keys not an integer or within integer range",
                      ArgumentName="max-keys") from None
    if params.get("encoding-type", "url") != "url":
        raise Refusal(400, "InvalidArgument", "Invalid Encoding Method specified in Request", ArgumentName="encoding-type")
    return params


def list_page(store, bucket, params):
    prefix, delimiter = params.get("prefix", ""), params.get("delimiter", "")
    after = params.get("start-after", "").encode("utf-8", "surrogateescape")
    if "continuation-token" in params:
        after = read_token(params["continuation-token"])
    goes_on = "continuation-token" in params
    entries, prefixes, last, more = [], [], None, False
    for key in store.keys(bucket):
        raw = key.encode("utf-8", "surrogateescape")
        if not key.startswith(prefix) or raw <= after:
            continue
        cut = key.find(delimiter, len(prefix)) if delimiter else -1
        common = key[:cut + len(delimiter)] if cut >= 0 else None
        if common is not None and (common in prefixes[-1:] or goes_on and after.startswith(
                common.encode("utf-8", "surrogateescape"))):
            last = key
            continue
        if len(entries) + len(prefixes) >= params["max-keys"]:
            more = params["max-keys"] > 0
            break
        if common is not None:
            prefixes.append(common)
        else:
            known = store.get(bucket, key)
            entries.append((key, len(known.data), known.etag, known.modified))
        last = key
    return Page(bucket, params, entries, prefixes, make_token(last) if more else None,
                params.get("encoding-type") == "url")
