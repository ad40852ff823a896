#!/usr/bin/env python3
"""Cases 18-empty-object and 28-s3-server-faults, each scenario played by the server for bad nights.

usage: test-bad-night-cases.py HR_LAUNCH DATA
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from badnight import client  # noqa: E402

HR_LAUNCH = sys.argv[1]
EMPTY, FAULTS = (pathlib.Path(sys.argv[2]) / "cases" / name for name in ("18-empty-object", "28-s3-server-faults"))
OLD, NEW = ((FAULTS / name).read_bytes() for name in ("a.jsonl", "a-replaced.jsonl"))
CASE = json.loads((FAULTS / "case.json").read_text())["expected"]
KEY = "28/a.jsonl"
IDS = [f"k{i:03}" for i in range(200)]


class Run:
    """what came of hr-launch, and what the server saw of it"""

    def __init__(self, night, text, *args, **environment):
        self.night, self.folder = night, tempfile.TemporaryDirectory()
        self.child = subprocess.Popen(
            [HR_LAUNCH, "--stats=json", *args, f"{text} ! npysink location={self.folder.name}/out"],
            env=night.child_environment(**environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, status=0):
        with self.folder:
            out, self.error = self.child.communicate(timeout=100)
            infos = [json.loads(p.read_text()) for p in sorted(pathlib.Path(self.folder.name).glob("out/*.json"))]
        assert self.child.returncode == status, (self.child.returncode, self.error)
        self.ids, self.stats, self.log = [i["id"] for i in infos], json.loads(out), self.night.log()
        return self

    def requests(self, op="get", key=KEY):
        return [line for line in self.log if line["op"] == op and line["key"] == key]


def read(night, more="part-bytes=4KiB", location=f"s3://demo/{KEY}", **environment):
    return Run(night, f"s3src location={location} {more} ! jsonlparse", **environment)


def test_slow_down(night):
    """slow-down: a storm of 503 passes; the requests that were refused are asked again"""
    night.rules({"fault": "slow-down", "rate": 0.3, "until": 300})
    run = read(night, "part-bytes=2KiB").end()
    refused, answered = ([(line["op"], line["range"]) for line in run.log if (line["status"] == 503) == bad]
                         for bad in (True, False))
    assert run.ids == IDS and len(refused) > 2, run.log
    assert len(answered) == len(set(answered)) and set(refused) <= set(answered), run.log


def test_always_503(night):
    """always-503: an end after the tries that were asked for; key, status, code and number are named"""
    night.rules({"fault": "slow-down"})
    run = read(night, "tries=3").end(1)
    assert run.ids == [] and len(run.log) == 3, len(run.log)
    assert all(word in run.error for word in (f"s3://demo/{KEY}", "503", "3 tries")), run.error
    # a HEAD has no body: the word for it is in the answer to a GET
    night.rules({"fault": "slow-down", "op": "get"})
    run = read(night, "tries=3 part-bytes=1MiB").end(1)
    assert len(run.requests()) == 3 and "SlowDown" in run.error and KEY in run.error and "3 tries" in run.error, run.error


def check_gone_on(run, tries):
    assert run.ids == IDS and len(run.requests()) == tries + 1, (len(run.ids), run.requests())
    etags = {line["if_match"] for line in run.requests()[1:]}
    assert len(etags) == 1 and None not in etags, etags


def test_short_body(night):
    """short-body: cut three times, read on with If-Match"""
    night.rules({"fault": "truncate", "key": KEY, "op": "get", "times": 3})
    check_gone_on(read(night, "part-bytes=1MiB").end(), 3)


def test_short_chunked(night):
    """short-chunked: a chunked body without its end is not one"""
    night.rules({"fault": "chunk-unfinished", "key": KEY, "op": "get", "times": 3})
    check_gone_on(read(night, "part-bytes=1MiB").end(), 3)


def test_longer_than_promised(night):
    """longer-than-promised: a Content-Length that is 10 short is refused, with parts and without"""
    for part in ("1MiB", "4KiB"):
        night.rules({"fault": "short-length", "key": KEY, "op": "get"})
        run = read(night, f"part-bytes={part} tries=2").end(1)
        assert f"s3://demo/{KEY}" in run.error, run.error


def check_replaced(night, fault, words):
    night.put("demo", KEY + ".replaced", NEW)
    night.rules({"fault": fault, "op": "get", "key": KEY, "nth": [2]})
    run = read(night, "part-bytes=4KiB read-ahead=0").end(1)
    # block-bytes is more than the object: nothing of it was given on
    assert run.ids == IDS[:len(run.ids)], run.ids
    assert f"s3://demo/{KEY}" in run.error and all(word in run.error for word in words), run.error


def test_replaced(night):
    """replaced: 412 ends the run; the key and the ETag are named; no sample of the new one"""
    etag = night.put("demo", KEY, OLD)
    check_replaced(night, "replaced", ["412", etag])


def test_replaced_no_if_match(night):
    """replaced-no-if-match: another ETag in a 206 ends the run, both are named"""
    new, old = night.put("demo", "x", NEW), night.put("demo", KEY, OLD)
    check_replaced(night, "replaced-unsaid", [old, new])


def write_credentials(path, key, secret, token):
    path.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\naws_session_token = {token}\n")


def test_expired_token(night):
    """expired-token: a credentials file that changes is read again"""
    night.rules({"fault": "slow-first-byte", "nth": [51], "args": {"seconds": 5}})  # meanwhile they change
    old = {"access_key": "AKIAOLD", "secret_key": "old", "token": "first"}
    new = {"access_key": "AKIANEW", "secret_key": "new", "token": "second"}
    night.settings(credentials=[old], latency=0.02)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "credentials"
            write_credentials(path, "AKIAOLD", "old", "first")
            run = read(night, "part-bytes=256 read-ahead=0", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="",
                       AWS_SHARED_CREDENTIALS_FILE=str(path))
            while night.counts()["requests"] < 50:
                assert run.child.poll() is None, run.child.communicate()
                time.sleep(0.005)
            write_credentials(path, "AKIANEW", "new", "second")
            night.settings(credentials=[{**old, "expired": True}, new])
            run.end()
        assert run.ids == IDS
        statuses = [line["status"] for line in run.log]
        assert statuses.count(400) == 1 and statuses.index(400) >= 50, statuses
    finally:
        night.settings(credentials=[{"access_key": client.KEY, "secret_key": client.SECRET}], latency=0)


def test_expired_for_good(night):
    """expired-token: nothing new in the file: the run ends and says so"""
    night.rules({"fault": "expired-token", "from": 51})
    run = read(night, "part-bytes=256 read-ahead=0").end(1)
    assert "ExpiredToken" in run.error and KEY in run.error, run.error


def test_access_denied(night):
    """access-denied: two kinds for 403 and 404 of images, no retry, both keys named"""
    lines = [{"id": n, "image": f"{n}.jpg", "conversations": [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "x"}]}
             for n in ("forbidden", "missing")]
    night.put("demo", "img/a.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
    night.put("demo", "img/forbidden.jpg", b"x")
    night.rules({"fault": "access-denied", "key": "img/forbidden.jpg"})
    run = Run(night, "s3src location=s3://demo/img/ ! jsonlparse ! imagefetch on-error=skip").end(3)
    assert run.stats["skipped"] == {"media-forbidden": 1, "media-not-found": 1}, run.stats["skipped"]
    for name in ("forbidden", "missing"):
        assert len(run.requests(key=f"img/{name}.jpg")) == 1 and f"{name}.jpg" in run.error, run.error


def test_error_in_200(night):
    """error-in-200: a list that is an <Error> is asked for again"""
    night.rules({"fault": "list-error-in-200", "nth": [1]})
    run = read(night, location="s3://demo/28/").end()
    assert run.ids == IDS and len(run.requests("list", "")) == 2


def test_redirect(night):
    """redirect: signed again for the region that was told"""
    night.rules({"fault": "redirect-301", "nth": [2]})
    run = read(night).end()
    statuses = [line["status"] for line in run.log]
    # what was under way in the old region is told so by the server itself, and signed again too
    assert run.ids == IDS and statuses.count(301) == 1 and set(statuses[2:]) <= {206, 301, 400}, statuses
    assert statuses[-1] == 206


def test_stall(night):
    """stall: silence in the middle of a body is noticed, and the rest asked for again"""
    night.rules({"fault": "stall-body", "op": "get", "times": 1})
    run = read(night, "part-bytes=1MiB progress-timeout=5s").end()
    assert run.ids == IDS and len(run.requests()) == 2


def test_clock_skew(night):
    """clock-skew: the server's Date is believed"""
    night.rules({"fault": "clock-skew", "op": "get", "nth": [1]})
    run = read(night).end()
    assert run.ids == IDS and any(line["status"] == 403 for line in run.log)


def test_every_scenario(_night):
    """case 28 has no scenario without a test"""
    tests = {n.removeprefix("test_").replace("_", "-") for n in globals() if n.startswith("test_")}
    missing = {s["name"] for s in CASE["scenarios"]} - tests
    assert not missing, missing
    assert len(OLD) == CASE["object_bytes"] and len(NEW) == CASE["replaced_bytes"]


# ---- case 18 ----


def make_empty_test(kind):
    def test(night):
        rules = [{"fault": kind}] if kind else []
        night.rules(*rules)
        run = Run(night, "s3src location=s3://demo/18/ ! jsonlparse ! imagefetch on-error=skip ! imagedecode on-error=skip").end(3)
        assert run.ids == ["a1", "c1"] and run.stats["skipped"] == {"media-undecodable": 1}, (run.ids, run.stats["skipped"])
        assert all(word in run.error for word in ("a.jsonl:2", "zero.jpg", "0 bytes")), run.error
        for key in ("18/b.jsonl", "18/zero.jpg"):
            assert len(run.requests(key=key)) <= 2, run.log
        # and where nobody has told the size
        night.rules({"fault": "no-length"}, *rules)
        run = read(night, location="s3://demo/18/b.jsonl").end()
        assert run.ids == [] and len(run.requests(key="18/b.jsonl")) <= 2, run.log
    test.__doc__ = f"case 18: an empty JSONL and an empty image, the server says {kind or '416'}"
    return test


for _kind in ("", "empty-200", "empty-206"):
    globals()[f"test_18_{_kind or '416'}"] = make_empty_test(_kind)


def prepare(night):
    night.forget()
    night.put("demo", KEY, OLD)
    for path in EMPTY.iterdir():
        night.put("demo", f"18/{path.name}", path.read_bytes())


def main():
    with client.BadNight("--seed=7") as night:
        client.run_tests([f for n, f in globals().items() if n.startswith("test_")], night, prepare)


main()
