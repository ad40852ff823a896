#!/usr/bin/env python3
"""The server for bad nights in a quiet one: what it does by itself is what S3 does, and it is strict.

usage: test-bad-night-s3.py DATA, with the Python of tools/venv
"""
import datetime
import hashlib
import http.client
import json
import pathlib
import random
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True

import botocore.auth  # noqa: E402
import botocore.awsrequest  # noqa: E402
import botocore.credentials  # noqa: E402

from badnight import auth, client, exchange, faults, store  # noqa: E402

DATA = pathlib.Path(sys.argv[1])
KEYS = json.loads((DATA / "cases/17-s3-keys/keys.json").read_text())
BODY = bytes(range(256)) * 20
ETAG = f'"{hashlib.md5(BODY).hexdigest()}"'


def quote(key):
    return urllib.parse.quote(key, safe="/-._~")


def ask(night, path, query="", method="GET", headers=(), body=b"", host=None, connection=None, **signing):
    """(status, headers, body)"""
    lines = client.sign(method, path, query, host or night.host, headers, body=body, **signing)
    return send(night, path, query, method, lines, body, connection)


def send(night, path, query, method, lines, body=b"", connection=None):
    connection = connection or http.client.HTTPConnection(night.host, timeout=30)
    connection.putrequest(method, path + ("?" + query if query else ""), skip_host=True, skip_accept_encoding=True)
    for name, value in lines:
        connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    result = answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read()
    connection.close()
    return result


def code(answer):
    return answer[0], xml.fromstring(answer[2]).findtext("Code")


# ---- signatures ----


def botocore_lines(request, token=None, region=client.REGION):
    credentials = botocore.credentials.Credentials(client.KEY, client.SECRET, token)
    botocore.auth.S3SigV4Auth(credentials, "s3", region).add_auth(request)
    return [("Host", urllib.parse.urlsplit(request.url).netloc), *request.headers.items()]


def test_botocore(night):
    """what botocore signs is accepted: odd keys, queries, headers"""
    rng = random.Random(3)
    for key in KEYS:
        night.put("demo", key, key.encode())
    for key in KEYS:
        query = rng.choice(["", "partNumber=1", "a=%20b&A=c&a%2Fb=", "x-id=GetObject"])
        request = botocore.awsrequest.AWSRequest(
            method="GET", url=f"{night.endpoint}/demo/{quote(key)}" + ("?" + query if query else ""),
            headers={"x-amz-checksum-mode": "ENABLED", "x-amz-a-b": "  two   words ", "Range": "bytes=0-"})
        answer = send(night, "/demo/" + quote(key), query, "GET", botocore_lines(request))
        assert answer[0] == 206 and answer[2] == key.encode(), (key, answer)


def test_presigned(night):
    """a presigned URL is accepted as long as it lasts, and no other"""
    night.put("demo", "a b.jpg", BODY)
    request = botocore.awsrequest.AWSRequest(method="GET", url=f"{night.endpoint}/demo/a%20b.jpg")
    credentials = botocore.credentials.Credentials(client.KEY, client.SECRET)
    botocore.auth.S3SigV4QueryAuth(credentials, "s3", client.REGION, expires=60).add_auth(request)
    query = urllib.parse.urlsplit(request.url).query
    assert send(night, "/demo/a%20b.jpg", query, "GET", [("Host", night.host)])[2] == BODY
    ours = client.presign("/demo/a%20b.jpg", night.host, 60)
    assert send(night, "/demo/a%20b.jpg", ours, "GET", [("Host", night.host)])[2] == BODY
    old = client.presign("/demo/a%20b.jpg", night.host, 60, at=datetime.datetime.now().timestamp() - 61)
    for wrong, word in ((query.replace("Expires=60", "Expires=61"), "SignatureDoesNotMatch"), (old, "AccessDenied"),
                        (query.replace("X-Amz-Expires=60", "X-Amz-Expires=0"), "AuthorizationQueryParametersError")):
        answer = send(night, "/demo/a%20b.jpg", wrong, "GET", [("Host", night.host)])
        assert code(answer)[1] == word, (word, answer)


def test_case_17(_night):
    """the signatures of case 17 are what we compute"""
    case = json.loads((DATA / "cases/17-s3-keys/case.json").read_text())["expected"]["keys"]
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc).timestamp()
    for row in case:
        lines = client.sign("GET", row["wire_path"], "", "s3.example.test:9000", key="HRACCESSKEY",
                            secret="hrSecretKey/example", at=at)
        assert dict(lines)["Authorization"].endswith(row["signature"]), row["key"]
        assert "/corpus/" + quote(row["key"]) == row["wire_path"]


def test_refused(night):
    """what is signed otherwise than S3 wants is refused, with its word for it"""
    night.put("demo", "a.txt", BODY)
    path, now = "/demo/a.txt", datetime.datetime.now().timestamp()
    good = client.sign("GET", path, "", night.host, [("x-amz-meta-x", "1")])
    assert send(night, path, "", "GET", good)[2] == BODY

    def changed(name, function):
        return [(n, function(v) if n.lower() == name else v) for n, v in good]
    signed = dict(good)["Authorization"]
    for word, lines, where in (
            ("AccessDenied", good[:-1], path),
            ("SignatureDoesNotMatch", good, "/demo/b.txt"),
            ("SignatureDoesNotMatch", changed("x-amz-meta-x", lambda v: "2"), path),
            ("SignatureDoesNotMatch", changed("authorization", lambda v: v[:-1] + ("0" if v[-1] != "0" else "1")), path),
            ("AccessDenied", [*good, ("x-amz-unsigned", "1")], path),
            ("AccessDenied", changed("authorization", lambda v: v.replace("host;", "")), path),
            ("AccessDenied", [(n, v) for n, v in good if n != "x-amz-meta-x"], path),
            ("AuthorizationHeaderMalformed", changed("authorization", lambda v: v.replace("/s3/", "/ec2/")), path),
            ("AuthorizationHeaderMalformed", changed("authorization", lambda v: "Basic eA=="), path),
            ("AuthorizationHeaderMalformed", changed("authorization", lambda v: v.replace("host;", "x;host;", 1)
                                                     if "x-amz-x" in v else v.replace("SignedHeaders=host", "SignedHeaders=z;host")), path),
            ("XAmzContentSHA256Mismatch", changed("x-amz-content-sha256", lambda v: "0" * 64), path),
            ("AccessDenied", changed("x-amz-date", lambda v: "yesterday"), path),
            ("InvalidAccessKeyId", client.sign("GET", path, "", night.host, key="AKIANOBODY"), path),
            ("SignatureDoesNotMatch", client.sign("GET", path, "", night.host, secret="wrong"), path),
            ("SignatureDoesNotMatch", client.sign("GET", path, "", "elsewhere:1")[:0]
             + [("Host", night.host)] + client.sign("GET", path, "", "elsewhere:1")[1:], path),
            ("AuthorizationHeaderMalformed", client.sign("GET", path, "", night.host, region="eu-west-1"), path),
            ("InvalidToken", client.sign("GET", path, "", night.host, token="unknown"), path),
            ("RequestTimeTooSkewed", client.sign("GET", path, "", night.host, at=now - 901), path),
            ("RequestTimeTooSkewed", client.sign("GET", path, "", night.host, at=now + 910), path)):
        answer = send(night, where, "", "GET", lines)
        assert code(answer)[1] == word, (word, code(answer), signed)
    assert send(night, path, "", "GET", client.sign("GET", path, "", night.host, at=now - 800))[2] == BODY
    lines = client.sign("PUT", path, "", night.host, body=b"one")
    assert code(send(night, path, "", "PUT", lines, b"two"))[1] == "XAmzContentSHA256Mismatch"


def test_tokens_regions_payers(night):
    """session tokens, anonymous requests, regions of buckets, buckets whose requester pays"""
    night.put("demo", "a.txt", BODY)
    who = {"access_key": client.KEY, "secret_key": client.SECRET}
    try:
        night.settings(credentials=[{**who, "token": "T/+="}])
        assert ask(night, "/demo/a.txt", token="T/+=")[2] == BODY
        assert code(ask(night, "/demo/a.txt")) == (400, "InvalidToken")
        night.settings(credentials=[{**who, "token": "T/+=", "expired": True}])
        assert code(ask(night, "/demo/a.txt", token="T/+=")) == (400, "ExpiredToken")
        night.settings(credentials=[who], anonymous=True)
        assert send(night, "/demo/a.txt", "", "GET", [("Host", night.host)])[2] == BODY
        night.settings(anonymous=False, regions={"demo": "eu-west-1"})
        answer = ask(night, "/demo/a.txt")
        assert code(answer) == (400, "AuthorizationHeaderMalformed"), answer
        assert answer[1]["x-amz-bucket-region"] == "eu-west-1" and b"<Region>eu-west-1</Region>" in answer[2]
        assert ask(night, "/demo/a.txt", region="eu-west-1")[2] == BODY
        night.settings(regions={}, **{"requester_pays": ["demo"]})
        assert code(ask(night, "/demo/a.txt")) == (403, "AccessDenied")
        answer = ask(night, "/demo/a.txt", headers=[("x-amz-request-payer", "requester")])
        assert answer[2] == BODY and answer[1]["x-amz-request-charged"] == "requester"
    finally:
        night.settings(credentials=[who], anonymous=False, regions={}, requester_pays=[])


# ---- objects ----


def test_ranges(night):
    """ranges, of every form, against a slice"""
    night.put("demo", "a.bin", BODY)
    night.put("demo", "empty", b"")
    size = len(BODY)
    rng = random.Random(1)
    for _ in range(60):
        a, b = rng.randrange(size + 50), rng.randrange(size + 50)
        text, first, last = rng.choice([(f"bytes={a}-{b}", a, b), (f"bytes={a}-", a, size - 1),
                                        (f"bytes=-{b}", max(0, size - b), size - 1)])
        status, headers, body = ask(night, "/demo/a.bin", headers=[("Range", text)])
        if text.startswith("bytes=-") and b == 0 or first >= size and (first <= last or text.endswith("-")):
            assert status == 416 and headers["content-range"] == f"bytes */{size}", (text, status)
        elif first > last:
            assert (status, body) == (200, BODY), text
        else:
            assert status == 206 and body == BODY[first:last + 1], (text, status)
            assert headers["content-range"] == f"bytes {first}-{min(last, size - 1)}/{size}", (text, headers)
    assert ask(night, "/demo/empty", headers=[("Range", "bytes=0-9")])[0] == 416
    assert ask(night, "/demo/a.bin", headers=[("Range", "lines=1-2")])[2] == BODY


def test_conditions_and_heads(night):
    """If-Match, If-None-Match, If-Modified-Since; HEAD tells what GET does"""
    night.put("demo", "a.bin", BODY)
    for header, value, status in (("If-Match", ETAG, 200), ("If-Match", "*", 200), ("If-Match", '"x", ' + ETAG, 200),
                                  ("If-Match", '"x"', 412), ("If-None-Match", ETAG, 304), ("If-None-Match", '"x"', 200),
                                  ("If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT", 200),
                                  ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT", 304)):
        assert ask(night, "/demo/a.bin", headers=[(header, value)])[0] == status, (header, value)
    get, head = ask(night, "/demo/a.bin"), ask(night, "/demo/a.bin", method="HEAD")
    differ = {n for n in {*get[1], *head[1]} if get[1].get(n) != head[1].get(n)} - {"date"}
    assert head[0] == 200 and not head[2] and not differ, differ
    assert head[1]["etag"] == ETAG and head[1]["content-length"] == str(len(BODY))
    assert ask(night, "/demo/none", method="HEAD")[::2] == (404, b"") and code(ask(night, "/demo/none")) == (404, "NoSuchKey")
    assert code(ask(night, "/none/a")) == (404, "NoSuchBucket")


def test_checksums(night):
    """checksums of whole objects, for who asks; the values are the published ones of 123456789"""
    night.put("demo", "digits", b"123456789")
    mode = [("x-amz-checksum-mode", "ENABLED")]
    try:
        for name, value in (("crc32c", "4waSgw=="), ("crc32", "y/Q5Jg=="), ("crc64nvme", "rosUhgp5mIg=")):
            night.settings(checksum=name)
            assert ask(night, "/demo/digits", headers=mode)[1][f"x-amz-checksum-{name}"] == value, name
        assert "x-amz-checksum-crc64nvme" not in ask(night, "/demo/digits")[1]
        part = ask(night, "/demo/digits", headers=[*mode, ("Range", "bytes=0-3")])
        assert part[0] == 206 and not any(n.startswith("x-amz-checksum") for n in part[1])
    finally:
        night.settings(checksum="crc32c")
    assert store.checksum("sha256", b"") == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


def test_odd_keys(night):
    """every key of case 17 is put, listed, fetched and removed, as it is"""
    assert code(ask(night, "/odd/a", method="PUT", body=b"x")) == (404, "NoSuchBucket")
    assert ask(night, "/odd", method="PUT")[0] == 200
    assert code(ask(night, "/odd/" + "k" * 1025, method="PUT", body=b"x")) == (400, "KeyTooLongError")
    for key in KEYS:
        assert ask(night, "/odd/" + quote(key), method="PUT", body=key.encode())[0] == 200, key
        assert ask(night, "/odd/" + quote(key))[2] == key.encode(), key
    got = list_all(night, "odd", "encoding-type=url&max-keys=7")
    assert got == sorted(KEYS, key=str.encode), set(got) ^ set(KEYS)
    assert list_all(night, "odd", "max-keys=11") == got
    for key in KEYS:
        assert ask(night, "/odd/" + quote(key), method="DELETE")[0] == 204
    assert list_all(night, "odd", "") == []


def list_page(night, bucket, query):
    status, _, body = ask(night, "/" + bucket, "list-type=2" + ("&" + query if query else ""))
    assert status == 200, body
    page = xml.fromstring(body)
    decode = urllib.parse.unquote_plus if page.findtext("{*}EncodingType") == "url" else str
    keys = [decode(e.text) for e in page.iterfind("{*}Contents/{*}Key")]
    prefixes = [decode(e.text) for e in page.iterfind("{*}CommonPrefixes/{*}Prefix")]
    return keys, prefixes, page.findtext("{*}NextContinuationToken")


def list_all(night, bucket, query):
    keys, token = [], None
    while True:
        more = query + ("&continuation-token=" + urllib.parse.quote(token, safe="") if token else "")
        page, _, token = list_page(night, bucket, more.strip("&"))
        keys += page
        if not token:
            return keys


def test_lists(night):
    """prefix, delimiter, start-after, tokens and page sizes, against a plain computation"""
    names = sorted({f"{a}{s}{b}{t}{c}" for a in "ab" for s in ("/", "-") for b in ("x", "xy") for t in ("/", "") for c in "12"})
    for name in names:
        night.put("many", name, b"x")
    rng = random.Random(5)
    for _ in range(40):
        prefix, delimiter = rng.choice(["", "a", "a/", "a/x", "b-", "zz"]), rng.choice(["", "/", "x"])
        after, size = rng.choice(["", "a/x1", "a/xy", "b"]), rng.randrange(1, 6)
        query = urllib.parse.urlencode({"prefix": prefix, "delimiter": delimiter, "start-after": after, "max-keys": size,
                                        "encoding-type": "url"})
        expected_keys, expected_prefixes = [], []
        for name in names:
            if not name.startswith(prefix) or name <= after:
                continue
            cut = name.find(delimiter, len(prefix)) if delimiter else -1
            if cut < 0:
                expected_keys.append(name)
            elif name[:cut + 1] not in expected_prefixes:
                expected_prefixes.append(name[:cut + 1])
        keys, prefixes, token = [], [], None
        while True:
            page = list_page(night, "many", query + (f"&continuation-token={urllib.parse.quote(token)}" if token else ""))
            assert 0 < len(page[0]) + len(page[1]) <= size or not keys
            keys, prefixes, token = keys + page[0], prefixes + page[1], page[2]
            if not token:
                break
        assert (keys, prefixes) == (expected_keys, expected_prefixes), (query, keys, expected_keys, prefixes, expected_prefixes)
    night.put("many", "p q+r", b"x")
    assert list_page(night, "many", "prefix=p+q%2B")[0] == ["p q+r"]
    assert code(ask(night, "/many", "list-type=2&continuation-token=nonsense")) == (400, "InvalidArgument")
    assert code(ask(night, "/many", "list-type=2&max-keys=many")) == (400, "InvalidArgument")


def test_files(night):
    """files of the folder; one that changes has another ETag; nothing outside is served"""
    assert ask(night, "/files/in/a.txt")[2] == b"one"
    first = ask(night, "/files/in/a.txt")[1]["etag"]
    (night.root / "files/in/a.txt").write_bytes(b"other")
    assert ask(night, "/files/in/a.txt")[2] == b"other" and ask(night, "/files/in/a.txt")[1]["etag"] != first
    assert list_all(night, "files", "") == ["in/a.txt"]
    for path in ("/files/../secret.txt", "/files/in/../in/a.txt", "/../secret.txt", "/files//in/a.txt", "/./files/in/a.txt"):
        assert ask(night, path)[0] == 404, path
    ask(night, "/files/in/a.txt", method="DELETE")
    assert ask(night, "/files/in/a.txt")[0] == 404 and (night.root / "files/in/a.txt").exists()


def test_virtual_hosts(night):
    """BUCKET.localhost is the bucket"""
    night.put("demo", "a.txt", BODY)
    port = night.host.rsplit(":", 1)[1]
    assert ask(night, "/a.txt", host=f"demo.localhost:{port}")[2] == BODY
    assert ask(night, "/demo/a.txt", host=f"localhost:{port}")[2] == BODY


# ---- the night ----


def test_seeds(night):
    """the same seed spoils the same requests, in whatever order they come; another seed others; a share is a share"""
    for i in range(40):
        night.put("demo", f"k{i}", BODY)

    def spoiled(seed, order, rate=0.25):
        night.night(seed, rate, "500,429,truncate,wrong-type")
        for i in order:
            try:
                ask(night, f"/demo/k{i % 40}")
            except http.client.IncompleteRead:
                pass
        return sorted((line["key"], line["fault"]) for line in night.log() if line["fault"])

    forward, backward = range(80), range(79, -1, -1)
    one = spoiled(1, forward)
    assert 5 < len(one) < 40 and one == spoiled(1, forward) == spoiled(1, backward), one
    assert spoiled(2, forward) != one and spoiled(1, forward, 0) == [] and len(spoiled(1, forward, 1)) == 80
    assert len({fault for _, fault in spoiled(1, forward, 1)}) == 4
    night.night(1, 0, "survivable")


def statuses(night, number, path="/demo/a.txt"):
    return [ask(night, path)[0] for _ in range(number)]


def test_rules(night):
    """nth, from, until, every, times, rate, keys and patterns; the first rule that fires decides"""
    night.put("demo", "a.txt", BODY)
    night.put("demo", "b.txt", BODY)
    for rule, expected in (({"nth": [2, 4]}, "gbgbgg"), ({"from": 3}, "ggbbbb"), ({"until": 2}, "bbgggg"),
                           ({"every": 3}, "ggbggb"), ({"times": 1}, "bggggg"), ({"from": 2, "times": 2}, "gbbggg"),
                           ({"key": "b.txt"}, "gggggg"), ({"match": "a.*"}, "bbbbbb"), ({"op": "head"}, "gggggg"),
                           ({"bucket": "other"}, "gggggg"), ({"address": "127.0.0.9"}, "gggggg"), ({"rate": 0}, "gggggg")):
        night.rules({"fault": "500", **rule})
        got = "".join("g" if s == 200 else "b" for s in statuses(night, 6))
        assert got == expected, (rule, got)
    night.rules({"fault": "500", "nth": [1]}, {"fault": "429"})
    assert statuses(night, 3) == [500, 429, 429]
    assert night.counts()["rules"] == [[3, 1], [2, 2]]
    for wrong in ({"fault": "none"}, {"fault": "500", "often": 1}, {"fault": "list-cut", "op": "get"}, {"fault": "500", "nth": 1}):
        try:
            night.rules(wrong)
        except ValueError as error:
            assert "rule 1" in str(error), error
        else:
            raise AssertionError(wrong)


def test_storm(night):
    """a storm refuses what is too fast, whatever it is, and passes"""
    night.put("demo", "a.txt", BODY)
    night.rules({"fault": "storm", "nth": [1], "args": {"rate": 1, "seconds": 30}})
    got = statuses(night, 6)
    # one a second is let through
    assert got[0] == 503 and got.count(503) >= 3, got
    night.control("POST", "reset")
    night.rules()
    assert statuses(night, 3) == [200] * 3


def test_shape(night):
    """bandwidth and latency change nothing but the time: at least what was asked for"""
    night.put("demo", "big", BODY * 40)
    size = len(BODY) * 40
    try:
        night.settings(bandwidth=size * 5, latency=0.05)
        assert ask(night, "/demo/big")[2] == BODY * 40
        assert night.log()[-1]["seconds"] >= 0.2
        night.settings(bandwidth=0, latency=0, connection_bandwidth=size * 5)
        assert ask(night, "/demo/big")[2] == BODY * 40
        assert night.log()[-1]["seconds"] >= 0.15
    finally:
        night.settings(bandwidth=0, latency=0, connection_bandwidth=0)


def test_log(night):
    """a line for each request, in a file too, and counts that agree with them"""
    night.put("demo", "a.txt", BODY)
    night.rules({"fault": "truncate", "nth": [2]})
    ask(night, "/demo/a.txt", headers=[("Range", "bytes=1-2"), ("If-Match", ETAG)])
    try:
        ask(night, "/demo/a.txt")
    except http.client.IncompleteRead:
        pass
    lines, counts = night.log(), night.counts()
    assert [(n["key"], n["range"], n["if_match"], n["status"], n["fault"], n["ended"]) for n in lines] == [
        ("a.txt", "bytes=1-2", ETAG, 206, None, "complete"), ("a.txt", None, None, 200, "truncate", "close")]
    assert counts["requests"] == 2 and counts["faults"] == {"truncate": 1} and counts["statuses"] == {"206": 1, "200": 1}
    assert counts["bytes"] == sum(n["bytes"] for n in lines)
    assert [json.loads(text) for text in night.log_path.read_text().splitlines()][-2:] == lines


def test_program(_night):
    """--help lists every fault; wrong arguments are told; a command's status is ours; TLS; two addresses"""
    words = subprocess.run([client.PROGRAM, "--help"], capture_output=True, text=True, check=True, timeout=30).stdout
    assert all(f"  {name} " in words for name in faults.FAULTS) and len(faults.FAULTS) > 100
    for args in (["--faults=none"], ["--rate=200%"], ["--root=/nowhere"], ["--rules=/nowhere"], ["--latency=soon"]):
        done = subprocess.run([client.PROGRAM, *args], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 2 and done.stderr, (args, done)
    done = subprocess.run([client.PROGRAM, "--session-token=T", "--", "sh", "-c", "echo $AWS_SESSION_TOKEN; exit 7"],
                          capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout) == (7, "T\n") and "0 requests" in done.stderr, done
    with tempfile.TemporaryDirectory() as folder:
        pem = [f"{folder}/cert.pem", f"{folder}/key.pem"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-keyout", pem[1],
                        "-out", pem[0]], check=True, capture_output=True, timeout=60)
        (pathlib.Path(folder) / "demo").mkdir()
        (pathlib.Path(folder) / "demo/a.txt").write_bytes(BODY)
        with client.BadNight(f"--root={folder}", f"--tls={pem[0]},{pem[1]}", "--address=127.0.0.1,127.0.0.2") as night:
            assert night.endpoint.startswith("https://")
            port = int(night.host.rsplit(":", 1)[1])
            context = ssl.create_default_context(cafile=pem[0])
            context.check_hostname = False
            for address in ("127.0.0.1", "127.0.0.2"):
                over = http.client.HTTPSConnection(address, port, context=context, timeout=30)
                assert ask(night, "/demo/a.txt", connection=over)[2] == BODY, address


def test_parsing(_night):
    """ranges and heads that are none"""
    assert exchange.parse_range("bytes=1-2,4-5", 10) is None and exchange.parse_range(None, 10) is None
    for head in (b"GET x HTTP/1.1\r\n\r\n", b"GET / HTTP/2\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"):
        try:
            exchange.parse_head(head)
        except exchange.BadRequest:
            continue
        raise AssertionError(head)
    assert auth.canonical_query("b=2&a=%7E&a=+&c") == "a=%2B&a=~&b=2&c="


def main():
    tests = [f for n, f in globals().items() if n.startswith("test_")]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        (root / "files/in").mkdir(parents=True)
        (root / "files/in/a.txt").write_bytes(b"one")
        (root / "secret.txt").write_bytes(b"secret")
        log = pathlib.Path(folder) / "log"
        with client.BadNight(f"--root={root}", f"--log={log}") as night:
            night.root, night.log_path = root, log
            client.run_tests(tests, night, client.prepare_afresh)


main()
