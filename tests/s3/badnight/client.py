"""The server from a test: start it, tell it what to do, ask it, see what it saw."""
import functools
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse

from . import auth, exchange
from .main import KEY, REGION, SECRET

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "order"))
import runner  # noqa: E402 # pylint: disable=wrong-import-position

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "tools" / "bad-night-s3"


def sign(method, path, query, host, headers=(), key=KEY, secret=SECRET, token=None, region=REGION, at=None, body=b""):
    """the headers of a signed request, its Host among them"""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    lines = [("Host", host), ("x-amz-date", stamp), ("x-amz-content-sha256", hashlib.sha256(body).hexdigest()), *headers]
    if token:
        lines.append(("x-amz-security-token", token))
    names = sorted({n.lower() for n, _ in lines if n.lower() == "host" or n.lower().startswith("x-amz-")})
    request = exchange.Request(method, path, query, lines, body)
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    text = auth.string_to_sign(stamp, scope, auth.canonical_request(request, names, lines[2][1]))
    signature = hmac.new(auth.signing_key(secret, stamp[:8], region), text.encode(), hashlib.sha256).hexdigest()
    lines.append(("Authorization", f"{auth.ALGORITHM} Credential={key}/{scope}, SignedHeaders={';'.join(names)}, "
                  f"Signature={signature}"))
    return lines


def presign(path, host, seconds, key=KEY, secret=SECRET, region=REGION, at=None):
    """the query of a URL that anybody may GET"""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    query = urllib.parse.urlencode({"X-Amz-Algorithm": auth.ALGORITHM, "X-Amz-Credential": f"{key}/{scope}",
                                    "X-Amz-Date": stamp, "X-Amz-Expires": seconds, "X-Amz-SignedHeaders": "host"})
    canonical = auth.canonical_request(exchange.Request("GET", path, query, [("Host", host)]), ["host"], "UNSIGNED-PAYLOAD")
    signature = hmac.new(auth.signing_key(secret, stamp[:8], region),
                         auth.string_to_sign(stamp, scope, canonical).encode(), hashlib.sha256).hexdigest()
    return f"{query}&X-Amz-Signature={signature}"


class BadNight:
    """with BadNight("--seed=7", …) as night: …"""

    def __init__(self, *args):
        self.process = subprocess.Popen([PROGRAM, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.environment = dict(line.rstrip("\n").split("=", 1) for line in self.process.stdout)
        if "AWS_ENDPOINT_URL" not in self.environment:
            raise RuntimeError(f"bad-night-s3 did not start: {self.process.wait()}")
        self.endpoint = self.environment["AWS_ENDPOINT_URL"]
        self.host = self.endpoint.partition("://")[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def child_environment(self, **more):
        """for a program that is to find us, and nothing of the user's"""
        ours = {k: v for k, v in os.environ.items() if not k.startswith("AWS_") and not k.lower().endswith("_proxy")}
        return {**ours, **self.environment, "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, **more}

    def control(self, method, word, body=None, raw=None, headers=()):
        for _ in range(200):  # it may have gone away for a while
            try:
                return self.control_once(method, word, body, raw, headers)
            except ConnectionError:
                time.sleep(0.05)
        raise ConnectionError("the server does not come back")

    def control_once(self, method, word, body, raw, headers):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.request(method, "/_badnight/" + word, raw if raw is not None else json.dumps(body), dict(headers))
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != 200:
            raise ValueError(text.strip())
        return json.loads(text)

    def rules(self, *specs):
        """in place of those before; counts begin anew"""
        self.control("PUT", "rules", list(specs))
        self.control("POST", "reset")

    def settings(self, **values):
        self.control("PUT", "settings", {n.replace("_", "-"): v for n, v in values.items()})

    def night(self, seed, rate, faults):
        self.control("PUT", "night", {"seed": seed, "rate": rate, "faults": faults})
        self.control("POST", "reset")

    def counts(self):
        return self.control("GET", "counts")

    def log(self):
        return self.control("GET", "log")

    def put(self, bucket, key, data, etag=None):
        return self.control("PUT", "objects/" + urllib.parse.quote(f"{bucket}/{key}", safe=""), raw=data,
                            headers=[("x-etag", etag)] if etag else ())

    def remove(self, bucket, key):
        self.control("DELETE", "objects/" + urllib.parse.quote(f"{bucket}/{key}", safe=""))

    def forget(self):
        """all that was put"""
        self.control("DELETE", "objects/")


def run_tests(tests, night, prepare):
    """Functions of a server as cases of TAP; prepare() makes it ready for each."""
    def ready(test):
        @functools.wraps(test)
        def run(server):
            prepare(server)
            test(server)
        return run

    runner.main([ready(test) for test in tests], night)


def prepare_afresh(night):
    """nothing that was put, no rules"""
    night.forget()
    night.rules()
