#!/usr/bin/env python3
"""Random requests, signed by us and by botocore's S3SigV4Auth: URL and signature must agree.

usage: check-sigv4.py SIGN [NUMBER], with the Python of tools/venv
"""
import datetime
import json
import random
import subprocess
import sys

import botocore.auth
import botocore.awsrequest
import botocore.credentials
from botocore.utils import percent_encode

BITS = ["a", "Z", "0", "-", "_", ".", "~", "/", "//", "..", ".", " ", "+", "%", "%20", "%2F", "?", "#", "&", "=",
        ";", ":", ",", "@", "$", "!", "*", "'", "(", ")", "[", "]", "{", "}", "|", "\\", "^", "`", "\"", "<", ">",
        "\t", "\x01", "\x7f", "é", "e\u0301", "中", "😀", "\u2028"]
NAMES = ["list-type", "prefix", "continuation-token", "max-keys", "a", "A", "a-b", "a.b", "a_b", "a b", "a0", "é", "x%20"]
HEADERS = ["x-amz-checksum-mode", "range", "if-match", "x-amz-expected-bucket-owner", "x-amz-a", "x-amz-a-b", "x-amz-a0",
           "cache-control"]


def text(rng, most):
    return "".join(rng.choice(BITS) for _ in range(rng.randrange(most)))


def make_key(rng):
    """also none, and one as long as S3 allows"""
    key = rng.choice(["", "k", "/", "../", "./", ".."]) + text(rng, 12)
    return key if rng.randrange(20) else (key + "é/long " * 200).encode()[:1000].decode(errors="ignore")


def make(rng):
    names = rng.sample(HEADERS, rng.randrange(4))
    bucket = rng.choice(["corpus", "my-bucket", "with.dots", "Old_Bucket"])
    return {
        "endpoint": rng.choice(["http://127.0.0.1:9000", "https://s3.example.test", "http://store.test:8080",
                                "https://s3.example.test:443"]),
        "bucket": bucket,
        "key": make_key(rng),
        # capitals are no host name
        "addressing": "path" if bucket == "Old_Bucket" else rng.choice(["path", "virtual"]), "region": rng.choice(["us-east-1", "eu-west-3", ""]) or "auto",
        "method": rng.choice(["GET", "HEAD"]), "access_key": rng.choice(["AKIA1", "AKIA2/x"]),
        "secret_key": rng.choice(["secret/one+two=", "s" * 200]), "token": rng.choice([None, "to/ken==" * 20]),
        "query": [[name, text(rng, 6)] for name in rng.sample(NAMES, rng.randrange(5))],
        "headers": [f"{name}:{''.join(rng.choice('aZ09 =-/') for _ in range(9)).strip() or 'x'}" for name in names],
        "time": rng.randrange(946684800, 4102444800)}


def reference(case):
    """what botocore sends: the URL and the signature"""
    scheme, host = case["endpoint"].split("://")
    if case["addressing"] == "virtual":
        host, path = case["bucket"] + "." + host, "/"
    else:
        path = "/" + case["bucket"] + ("/" if case["key"] else "")
    path += percent_encode(case["key"], safe="/~")
    query = "&".join(percent_encode(n, safe="-._~") + "=" + percent_encode(v, safe="-._~") for n, v in case["query"])
    request = botocore.awsrequest.AWSRequest(
        method=case["method"], url=scheme + "://" + host + path + ("?" + query if query else ""),
        headers={line.split(":", 1)[0]: " ".join(line.split(":", 1)[1].split()) for line in case["headers"]})
    now = datetime.datetime.fromtimestamp(case["time"], datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda *a, **k: now
    credentials = botocore.credentials.Credentials(case["access_key"], case["secret_key"], case["token"])
    auth = botocore.auth.S3SigV4Auth(credentials, "s3", case["region"])
    auth.add_auth(request)
    return path, query, request.headers["Authorization"].rsplit("Signature=", 1)[1]


def main():
    sign, number = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    rng = random.Random(20260102)
    cases = [make(rng) for _ in range(number)]
    # headers as they are sent, so that the signature is over the same text
    for case in cases:
        case["headers"] = [h.split(":", 1)[0] + ":" + " ".join(h.split(":", 1)[1].split()) for h in case["headers"]]
    done = subprocess.run([sign], input="".join(json.dumps(c) + "\n" for c in cases), capture_output=True, text=True,
                          check=True, timeout=100)
    lines = done.stdout.splitlines()
    assert len(lines) == number, (len(lines), done.stderr)
    for case, line in zip(cases, lines):
        url, signature = line.split(" ")
        path, query, expected = reference(case)
        assert url.split("://", 1)[1].split("/", 1)[1].split("?")[0] == path[1:], (case, url, path)
        assert sorted(url.partition("?")[2].split("&")) == sorted(query.split("&")), (case, url, query)
        assert signature == expected, (case, url, signature, expected)
    print("1..1")
    print(f"ok 1 {number} random requests are signed as botocore signs them")


main()
