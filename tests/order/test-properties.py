#!/usr/bin/env python3
"""Every property of every element gets other values: what is delivered changes only where its table says that it can.

usage: test-properties.py ORDER_RUN HR_INSPECT DATA
"""
import json
import pathlib
import subprocess
import sys

import tokenizer
from runner import Data, Runner, main

ORDER_RUN, HR_INSPECT, DATA = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
IMAGES = ["tiny10.png", "rgba.png", "exif6.jpg", "cat_420.jpg"]

# of each element: a chain around it whose bytes show what it does. PROPS is what is tried.
TOKENS = "tokenize tokenizer=TOKENIZER min-pixels=4096 max-pixels=16384"
FRONT = "filesrc location=FOLDER/*.jsonl epochs=2"
CHAINS = {
    "filesrc": "filesrc location=FOLDER/*.jsonl PROPS ! jsonlparse ! batch size=4 ! appsink",
    "mix": "mix name=m PROPS ! jsonlparse ! batch size=4 ! appsink filesrc location=FOLDER/a.jsonl ! m. filesrc location=FOLDER/b.jsonl ! m.",
    "jsonlparse": FRONT + " ! jsonlparse PROPS ! batch size=4 ! appsink",
    "imagefetch": FRONT + " ! jsonlparse ! imagefetch PROPS ! batch size=4 ! appsink",
    "imagedecode": FRONT + " ! jsonlparse ! imagefetch ! imagedecode PROPS ! batch size=4 ! appsink",
    "resize": FRONT + " ! jsonlparse ! imagefetch ! imagedecode ! resize PROPS ! batch size=4 ! appsink",
    "tokenize": FRONT + " ! jsonlparse ! imagefetch ! tokenize tokenizer=TOKENIZER PROPS ! batch size=4 ! appsink",
    "batch": FRONT + f" ! jsonlparse ! imagefetch ! {TOKENS} ! batch PROPS ! appsink",
    "prefetchqueue": FRONT + " ! jsonlparse ! batch size=4 ! prefetchqueue PROPS ! appsink",
    "patchify": FRONT + f" ! jsonlparse ! imagefetch ! {TOKENS} ! imagedecode ! resize ! batch size=4 ! patchify PROPS ! appsink",
    "identity": FRONT + " ! jsonlparse ! identity PROPS ! batch size=4 ! appsink",
    "fault": FRONT + " ! jsonlparse ! imagefetch ! fault PROPS ! batch size=4 ! appsink",
    "appsink": FRONT + " ! jsonlparse ! batch size=4 ! appsink PROPS",
    "fakesrc": "fakesrc num-buffers=20 PROPS ! appsink",
    "tee": FRONT + " ! jsonlparse ! batch size=4 ! tee name=t PROPS ! appsink t. ! fakesink",
    "join": "filesrc location=FOLDER/*.jsonl ! jsonlparse ! tee name=t ! join name=j PROPS ! batch size=4 ! appsink t. ! j.",
}
# the same elements where other modes count
MORE = {"batch": ["mode=padded", "mode=packed", "mode=packed pack-window=8 max-tokens=400"], "tokenize": ["max-length=60"], "resize": ["min-pixels=1024 max-pixels=16384"],
        "filesrc": ["shuffle=window block-bytes=300 window-blocks=2", "shuffle=full"], "fakesrc": [], "fault": ["seed=3 error-rate=0.3 corrupt-rate=0.3"]}
# not driven here: they need a server, a program, another process, a GPU or a file to write (tests/io, python, ipc, cuda); the
# properties of sinks change nothing that is delivered
ELSEWHERE = {"deadlettersrc", "s3src", "appsrc", "appmap", "shmsrc", "pipesrc", "cudaupload", "cudasink", "shmsink", "pipesink",
             "fakesink", "filesink", "npysink", "trainsim"}
# where texts are no free choice; none: not tried
TEXTS = {"keep": ["extra"], "media-base": ["FOLDER/images"], "max-errors": ["3", "50%"], "on-error": ["skip", "fail"]}
# they end the run, or wait, on purpose
UNTRIED = {("filesrc", "location"), ("tokenize", "tokenizer"), ("identity", "sleep"), ("fakesrc", "rate"), ("fakesrc", "delay"),
           ("fault", "fatal-rate"), ("fault", "stall-rate"), ("fault", "delay-rate")}


def inspect(*args):
    return json.loads(subprocess.run([HR_INSPECT, "--json", *args], capture_output=True, text=True, check=True).stdout)


def make_data():
    data, records = Data(), []
    (data.folder / "images").mkdir()
    for name in IMAGES:
        for folder in (data.folder, data.folder / "images"):
            (folder / name).write_bytes((DATA / "golden/images" / name).read_bytes())
    for i in range(18):
        image = IMAGES[i % len(IMAGES)]
        human, more = f"<image> Tell {i}. ", {"image": image}
        if i % 6 == 4:
            human, more = f" Tell {i} without. ", {}
        if i % 6 == 5:
            human = f"Tell {i}, where is it?"  # no placeholder
        turns = [{"from": "human", "value": human}, {"from": "gpt", "value": "It is " * (i + 1)}]
        if i == 7:
            turns.insert(2, {"from": "system", "value": "late"})
        if i == 8:
            more = {"video": "v.mp4"}
        records.append(json.dumps({"id": f"r{i}", "extra": {"n": i}, **more, "conversations": turns}).encode() + b"\n")
    records[3] = records[3][:-4] + b"\n"
    data.add("a.jsonl", b"".join(records[:11]))
    data.add("b.jsonl", b"".join(records[11:]))
    tokenizer.write(data.folder / "tokenizer.json")
    return data


def values(prop):
    """Other values than its own, as texts."""
    kind, own = prop["type"], prop["default"]
    if kind == "bool":
        return ["false" if own == "true" else "true"]
    if kind == "enum":
        return [c for c in prop["choices"] if c != own]
    if prop["name"] in TEXTS:
        return TEXTS[prop["name"]]
    if kind in ("uint", "int", "size", "double"):
        candidates = ["1", "2", "3", "7", "50", "100", "1000", "100000"] if kind != "double" else ["0.1", "0.5", "2"]
        return [c for c in candidates if c != own]  # what is out of range is refused
    if kind == "duration":
        return ["1ms", "2ms"]
    return []


class Bytes:
    """What a pipeline delivers; None: it is refused."""

    def __init__(self, runner, data):
        self.runner, self.data = runner, data

    def of(self, text):
        text = text.replace("FOLDER", str(self.data.folder)).replace("TOKENIZER", f"{self.data.folder}/tokenizer.json")
        answer = self.runner.run("on-error=skip " + text, take=200)
        if answer["error"]:
            return None, answer["error"]
        return [[s[0], s[3], [m[:2] for m in s[4]]] for s in answer["steps"]], None


def check_element(got, name, changes):
    about = inspect(name)
    for setting in ["", *MORE.get(name, [])]:
        chain = CHAINS[name].replace("PROPS", setting + " PROPS")
        base, error = got.of(chain.replace("PROPS", ""))
        assert base, f"{name} {setting}: {error}"
        for prop in about["properties"]:
            if (name, prop["name"]) in UNTRIED or f"{prop['name']}=" in setting:
                continue
            for value in values(prop):
                found, _ = got.of(chain.replace("PROPS", f"{prop['name']}={value}"))
                key = (name, prop["name"])
                if found is not None:
                    changes.setdefault(key, set()).add(found != base)
                    assert found == base or prop["stream"], f"{name} {setting} {prop['name']}={value} changes what is delivered, and is not marked"


def test_all_elements(runner, data):
    """each element is driven here, or known to be driven elsewhere"""
    del runner, data
    names = {e["name"] for e in inspect()["elements"]}
    assert names == set(CHAINS) | ELSEWHERE, names ^ (set(CHAINS) | ELSEWHERE)


def test_properties(runner, data):
    """a property that is not marked changes nothing; of those that are marked, most are seen to"""
    changes = {}
    for name in CHAINS:
        check_element(Bytes(runner, data), name, changes)
    tried = len(changes)
    changed = {key for key, seen in changes.items() if True in seen}
    print(f"# {tried} properties tried, {len(changed)} of them change what is delivered", flush=True)
    every = {(name, p["name"]) for name in CHAINS for p in inspect(name)["properties"]}
    print(f"# not tried: {', '.join(' '.join(k) for k in sorted(every - set(changes)))}", flush=True)
    assert tried > 75 and len(changed) > 40, (tried, sorted(changed))


def test_common(runner, data):
    """workers, queues, windows and the other properties of every element"""
    text = f"{FRONT} ! jsonlparse A ! imagefetch B ! {TOKENS} C ! imagedecode D ! resize E ! batch size=4 mode=padded ! prefetchqueue ! patchify F ! appsink"
    got = Bytes(runner, data)

    def at(letter, setting):
        return "".join(setting if c == letter and text[i - 1] == " " and text[i + 1] == " " else
                       "" if c in "ABCDEF" and text[i - 1] == " " and text[i + 1] == " " else c for i, c in enumerate(text))
    base, error = got.of(at("", ""))
    assert base, error
    settings = ["workers=2", "workers=5", "queue-items=1", "queue-items=300", "queue-bytes=1", "window=1", "window=100"]
    for letter in "ABCDEF":
        for setting in settings:
            found, error = got.of(at(letter, setting))
            assert found == base or (error and "worker" in error), f"{setting} at {letter}: {error}"
    for setting in ("serial=true", "cpus=1", "cpus=7", "memory=1", "checksum=true", "checkpoint-every=1", "max-errors=100"):
        found, error = got.of(f"{setting} {at('', '')}")
        assert found == base, f"{setting}: {error}"
    for setting in ("seed=5", "epochs=1", "limit=7", "steps=2", "rank=1 world=2"):
        found, error = got.of(f"{setting} {at('', '').replace('epochs=2', 'shuffle=full')}")
        assert found not in (base, None), f"{setting}: {error}"


if __name__ == "__main__":
    RUNNER, DATASET = Runner(ORDER_RUN), make_data()
    STATUS = main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER, DATASET)
    DATASET.remove()
    sys.exit(STATUS)
