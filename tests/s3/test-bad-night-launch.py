#!/usr/bin/env python3
"""hr-launch in bad nights: for every fault of the server, by name, what is delivered is right to the byte,
or there is one error that names the object and says what it was. Never wrong bytes.

usage: test-bad-night-launch.py HR_LAUNCH DATA
"""
import concurrent.futures
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True

from badnight import client  # noqa: E402
from badnight.faults import FAULTS  # noqa: E402

HR_LAUNCH, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
AT_ONCE, NIGHTS = 8, 12
# a range that is said not to be there ends a run, and a first answer that says more than there is, or is allowed
NIGHT = "survivable,-range-416,-long-length,-huge-length"
IMAGES = ("whole.jpg", "fill-bytes.jpg", "zeros-after-end.jpg")
# short, so that silence costs the test little
PATIENCE = "first-byte-timeout=1500ms progress-timeout=700ms"
TEXT = "s3src location=s3://demo/train/{} part-bytes=4KiB {} ! jsonlparse ! imagefetch {} ! npysink location={}"
# for the faults that take long by themselves
ARGS = {"slow-first-byte": {"seconds": 0.3}, "refuse": {"seconds": 0.05}, "storm": {"seconds": 0.3, "rate": 10},
        "latency": {"seconds": 0.1}}
# which requests are spoiled once: the second range of a text, the second image, the first list, the first HEAD
PLACES = {"text": {"op": "get", "key": "train/a.jsonl", "nth": [2]}, "image": {"op": "get", "match": "*.jpg", "nth": [2]},
          "list": {"op": "list", "nth": [1]}, "head": {"op": "head", "nth": [1]}}

# ---- what is expected ----

RIGHT = "the right bytes"
SAID = r"S3|HTTP|\bthe (list|object|answer|server|body)\b"
# What a fault that comes once leads to, where that is not the right bytes: the pattern of the error.
ONCE = {
    ("huge-length", "image"): r"5368709120 bytes or more",
    # no answer to a HEAD has a body that says more
    ("request-timeout", "head"): "HTTP 400", ("expired-token", "head"): "HTTP 400", ("not-implemented", "head"): "HTTP 501",
    ("gzip", "text"): "Content-Encoding: gzip", ("gzip", "image"): "Content-Encoding: gzip",
    ("etag-changes", "text"): r"replaced while it was read.*ETag", ("etag-changes", "image"): RIGHT,
    ("multipart-etag", "text"): "replaced while it was read",
    ("replaced", "text"): "replaced while it was read", ("replaced-unsaid", "text"): "replaced while it was read",
    ("deleted", "text"): "404 NoSuchKey", ("deleted", "image"): "404 NoSuchKey",
    ("deleted", "head"): "there is neither a key",
    ("claims-5gb", "head"): r"had 53687\d+ bytes and has \d+",
    ("list-same-token", "list"): RIGHT, ("list-cycle", "list"): RIGHT,  # once is a page that comes twice
    ("list-other-prefix", "list"): 'asked for keys with the prefix "train/", the server gave "elsewhere/train/a.jsonl"',
    ("list-wrong-size", "list"): r"had \d+ bytes and has \d+",
    ("list-ghost", "list"): "zz-ghost.jsonl: HTTP 404 NoSuchKey",
    ("gone-410", "text"): "HTTP 410 Gone", ("gone-410", "image"): "HTTP 410 Gone",
}
# refusals, wherever they come; a HEAD is told by the list that follows it, which is refused too
REFUSED = {"not-found": "404 NoSuchKey", "no-such-bucket": "404 NoSuchBucket", "access-denied": "403 AccessDenied",
           "invalid-access-key": "403 InvalidAccessKeyId", "signature-mismatch": "403 SignatureDoesNotMatch.*secret key",
           "not-implemented": "501 NotImplemented", "archived": "403 InvalidObjectState",
           "expired-token": "400 ExpiredToken", "expired-token-403": "403 ExpiredToken", "redirect-away": "HTTP 307"}
# answers that a client may try again or not: right bytes, or an error that says what was strange
EITHER = {("range-416", "text"): "416 InvalidRange"}
# What an error says when a fault never passes.
ALWAYS = {"list-same-token": "the same page", "list-cycle": "the same page",
          "huge-header": "header of more than 100 KB.*2 tries", "garbage": "HTTP.*2 tries", "bad-status": "HTTP.*2 tries",
          "range-multipart": SAID, "range-total": SAID, "range-unsaid": SAID, "range-416": "416 InvalidRange",
          "list-duplicates": RIGHT, "list-unordered": RIGHT, "extra-bytes": RIGHT,
          "idle-close": RIGHT, "idle-reset": RIGHT, "wrong-checksum": None, "corrupt-checksummed": None,
          "clock-skew": "RequestTimeTooSkewed", "redirect-301": r"region (eu-west-1|us-east-1)",
          "region-malformed": r"region (eu-west-1|us-east-1)",
          "storm": "503 SlowDown", "retry-after-date": "503 SlowDown", "slow-down-retry-after": "503 SlowDown"}
# What is not as it should be yet, with what is seen instead. A test that passes here fails the run: take it off.
PENDING = {}


def places(fault):
    """where it can come at all in these runs"""
    if fault.needs == "empty":
        return []  # test-bad-night-cases.py
    if fault.needs in ("range", "reused", "reread"):
        return ["text"]
    if fault.needs == "whole":
        return ["image"]
    return [p for p, rule in PLACES.items() if rule["op"] in fault.ops]


def make_data(root):
    """three JSONL of which one takes three ranges, and three images"""
    folder = root / "demo" / "train"
    (folder / "img").mkdir(parents=True)
    for i, name in enumerate(IMAGES):
        (folder / "img" / f"{i}.jpg").write_bytes((DATA / "cases/05-jpeg-truncated" / name).read_bytes())
    for name, lines in (("a", 12), ("b", 2), ("c", 1)):
        records = []
        for i in range(lines):
            record = {"id": f"{name}{i}", "conversations": [
                {"from": "human", "value": ("" if i else "<image>") + f"Say {i}. " + name * 800},
                {"from": "gpt", "value": str(i)}]}
            records.append(json.dumps(record if i else {**record, "image": f"img/{'abc'.index(name)}.jpg"}) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(records))


class Run:
    """what came of one run of hr-launch"""

    def __init__(self, night, place="", more=""):
        settings = f"{PATIENCE} {more}"
        with tempfile.TemporaryDirectory() as out:
            folder = pathlib.Path(out) / "o"
            text = TEXT.format(place, settings, settings, folder)
            done = subprocess.run([HR_LAUNCH, "--stats=json", text], env=night.child_environment(), capture_output=True,
                                  text=True, timeout=100, check=False)
            self.files = {p.name: p.read_bytes() for p in folder.iterdir()} if folder.is_dir() else {}
        self.status = done.returncode
        self.words = done.stderr.strip().splitlines()
        self.rules = night.counts()["rules"]


def check(run, good, outcome):
    """the right bytes, or one line that says who, where and why; what was delivered before it is right"""
    wanted = outcome if isinstance(outcome, tuple) else (outcome,)
    if run.status == 0 and RIGHT in wanted:
        differ = sorted(n for n in set(run.files) | set(good.files) if run.files.get(n) != good.files.get(n))
        assert not differ, f"wrong bytes: {differ}"
        return
    errors = [line for line in run.words if line.startswith("failed after ")]
    assert run.status == 1 and len(errors) == 1, (run.status, run.words[-1:])
    early = [n for n, data in run.files.items() if n.endswith(".npy") and good.files.get(n) != data]
    assert not early, f"wrong bytes before the error: {early}"
    assert re.search(r"s3://demo\b", errors[0]), errors
    assert any(p != RIGHT and re.search(p, errors[0]) for p in wanted), (wanted, errors)


class Case:
    """one run: a fault, where it comes, how often, and what is expected"""

    def __init__(self, fault, spots, outcome, always=False):
        self.fault, self.spots, self.outcome, self.always = fault, spots, outcome, always
        self.name = f"{fault.name}, {'always' if always else 'once'}, {' and '.join(spots)}"
        self.pending = PENDING.get((fault.name, spots[0] if len(spots) == 1 else None, "always" if always else "once"))

    def rules(self):
        for spot in self.spots:
            rule = {"fault": self.fault.name, "args": ARGS.get(self.fault.name, {}), **PLACES[spot]}
            if self.fault.needs == "reused":
                rule = {"fault": self.fault.name, "nth": [1]}
            if self.always:
                del rule["nth"]
            if spot == "head" and self.fault.name in REFUSED:
                del rule["op"], rule["nth"]
            yield rule

    def run(self, night, good):
        head = self.spots == ["head"]
        night.forget()
        night.rules(*self.rules())
        run = Run(night, "a.jsonl" if head else "", "tries=2" if self.always else "")
        assert all(fired for _, fired in run.rules), f"not every rule fired: {run.rules}"
        check(run, good["a.jsonl" if head else ""], self.outcome)


class Night:
    """everything that a good client survives, by seed"""

    pending = None

    def __init__(self, seed):
        self.seed, self.name = seed, f"a night of seed {seed}, a fifth of all answers spoiled"

    def run(self, night, good):
        night.forget()
        night.rules()
        night.night(self.seed, 0.2, NIGHT)
        try:
            run = Run(night, more="tries=20")
            check(run, good[""], RIGHT)
        finally:
            night.night(self.seed, 0, "survivable")


def once(fault, spot):
    if (fault.name, spot) in ONCE:
        return ONCE[fault.name, spot]
    if fault.name in REFUSED:
        return REFUSED[fault.name]
    for key in ((fault.name, spot), (fault.name, None)):
        if key in EITHER:
            return RIGHT, EITHER[key]
    assert fault.kind in ("legal", "passing"), (fault.name, spot)
    return RIGHT


def make_cases():
    cases = []
    for fault in FAULTS.values():
        if fault.kind == "silent":
            continue
        spots = places(fault)
        simple = [s for s in spots if s != "head" and once(fault, s) == RIGHT and (fault.name, s, "once") not in PENDING]
        if simple:
            cases.append(Case(fault, simple, RIGHT))
        cases += [Case(fault, [s], once(fault, s)) for s in spots if s not in simple]
        if fault.kind == "passing" or fault.name in ALWAYS:
            outcome = ALWAYS.get(fault.name, r"(after 2 tries|2 tries)")
            if outcome and spots:
                cases.append(Case(fault, spots[:1] if spots[0] != "head" else ["list"], outcome, True))
    return cases


def judge(case, night, good):
    """a line of TAP without its number"""
    try:
        case.run(night, good)
        trouble = None
    except Exception:  # a failed test is a line of TAP, whatever it was
        trouble = traceback.format_exc().strip()
    if case.pending and trouble:
        return f"not ok {{}} {case.name} # TODO {case.pending}"
    if case.pending:
        return f"not ok {{}} {case.name}\n# it works: take it off PENDING"
    return f"not ok {{}} {case.name}\n# " + trouble.replace("\n", "\n# ") if trouble else f"ok {{}} {case.name}"


def main():
    cases = make_cases() + [Night(seed) for seed in range(1, 1 + NIGHTS)]
    print(f"1..{len(cases) + 1}", flush=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        make_data(pathlib.Path(folder))
        nights = queue.SimpleQueue()
        all_nights = [client.BadNight(f"--root={folder}", "--seed=3") for _ in range(AT_ONCE)]
        try:
            for night in all_nights:
                nights.put(night)
            all_nights[0].rules()
            good = {place: Run(all_nights[0], place) for place in ("", "a.jsonl")}
            images = [data for n, data in sorted(good[""].files.items()) if ".images." in n]
            wanted = [(DATA / "cases/05-jpeg-truncated" / name).read_bytes() for name in IMAGES]
            whole = len(images) == 3 and all(a.endswith(b) for a, b in zip(images, wanted)) and good["a.jsonl"].status == 0
            print("ok 1 a quiet night" if whole else f"not ok 1 a quiet night\n# {good[''].words}")

            def work(case):
                night = nights.get()
                try:
                    return judge(case, night, good)
                finally:
                    nights.put(night)
            for i, line in enumerate(pool.map(work, cases), 2):
                print(line.replace("{}", str(i), 1), flush=True)
        finally:
            for night in all_nights:
                night.__exit__()


main()
