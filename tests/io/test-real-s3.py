#!/usr/bin/env python3
"""Keys, lists, ranges and empty objects on a real S3 server.

usage: in-server ROOT KIND test-real-s3.py HR_LAUNCH DATA KIND
"""
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import traceback
import urllib.parse

import botocore.config
import botocore.session
import numpy

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "s3"))

from badnight.client import sign  # noqa: E402

HR_LAUNCH, DATA, KIND = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
KEYS = json.loads((DATA / "cases/17-s3-keys/keys.json").read_text())
# what a server on files cannot store, or stores as something else: dot segments, empty names, a folder, and the
# limit of a file's name
FILES = {"x/../y.jpg", "x/./y.jpg", "../up.jpg", "a//b.jpg", "/lead.jpg", "trail/", ".."} | {k for k in KEYS if len(k) >= 255}
# SeaweedFS takes a backslash for a slash. rclone lists a tab and letters with separate accents under other names
UNSTORABLE = {"seaweedfs": FILES | {"br[ack]et{s}|^`\\\"<>.jpg"},
              "rclone": FILES | {"tab\there.jpg", "u\u0308/e\u0301.png"}, "badnight": set(), "radosgw": set()}[KIND]
CLIENT = botocore.session.get_session().create_client(
    "s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"],
    config=botocore.config.Config(request_checksum_calculation="when_required",
                                  response_checksum_validation="when_required"))


def launch(*args, status=0):
    done = subprocess.run([HR_LAUNCH, *args], capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == status, (args, done.returncode, done.stderr[-600:])
    return done


def collect(text, status=0):
    """what arrives: its JSON and its arrays, in order"""
    with tempfile.TemporaryDirectory() as folder:
        launch(f"{text} ! npysink location={folder}", status=status)
        got = []
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            arrays = {p.name[len(path.stem) + 1:-4]: numpy.load(p) for p in path.parent.glob(path.stem + ".*.npy")}
            got.append((json.loads(path.read_text()), arrays))
        return got


def put(bucket, key, data):
    CLIENT.put_object(Bucket=bucket, Key=key, Body=data)


def put_exactly(bucket, key, data):
    """as it is: botocore's client resolves dot segments"""
    host = os.environ["AWS_ENDPOINT_URL"].partition("://")[2]
    path = "/" + bucket + "/" + urllib.parse.quote(key, safe="/-._~")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.putrequest("PUT", path, skip_host=True, skip_accept_encoding=True)
    for name, value in sign("PUT", path, "", host, key=os.environ["AWS_ACCESS_KEY_ID"],
                            secret=os.environ["AWS_SECRET_ACCESS_KEY"], region=os.environ["AWS_REGION"], body=data):
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(data)))
    connection.endheaders(data)
    answer = connection.getresponse()
    assert answer.status == 200, (key, answer.status, answer.read())
    connection.close()


def make_keys():
    """every key of case 17 that the server takes, its own name in it"""
    stored = [key for key in KEYS if key not in UNSTORABLE]
    for key in stored:
        put_exactly("keys", key, key.encode())
    return stored


def test_keys():
    """every key that the server can store is fetched, by a link and by a list"""
    keys = make_keys()
    assert len(keys) == 30 - len(UNSTORABLE) and len(KEYS) == 30, keys
    # of a link dot segments are resolved before it is a key
    linked = [key for key in keys if not {".", ".."} & set(key.split("/"))]
    put("data", "links/a.jsonl", "".join(
        json.dumps({"id": key, "image": "s3://keys/" + key,
                    "conversations": [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "x"}]}) + "\n"
        for key in linked).encode())
    got = collect("s3src location=s3://data/links/ ! jsonlparse ! imagefetch allow-links=s3")
    assert [info["id"] for info, _ in got] == linked
    for info, arrays in got:
        assert arrays["images.0"].tobytes() == info["id"].encode(), info

    listed = collect("s3src location='s3://keys/**' page-keys=4")
    found = {info["uri"]: arrays["lines"].tobytes() for info, arrays in listed}
    expected = {"s3://keys/" + key: key.encode() for key in keys}
    assert found == expected, sorted(found.items() ^ expected.items())
    order = [info["uri"] for info, _ in listed]
    assert order == sorted(order, key=str.encode), order


def test_pages():
    """1,005 keys: more than any page holds"""
    names = [f"p/{i:04}.jsonl" for i in range(1005)]
    for name in names:
        put("data", "many/" + name, name.encode() + b"\n")
    got = collect("s3src location=s3://data/many/p/ read-ahead=31")
    assert b"".join(arrays["lines"].tobytes() for _, arrays in got).decode().split() == names


def test_ranges():
    """any part size gives the same bytes"""
    data = b"".join(b"%06d " % i + b"x" * (i * 37 % 300) + b"\n" for i in range(3000))
    put("data", "ranges/a.jsonl", data)
    for part in (len(data) // 40, len(data) - 1, len(data), len(data) + 1):
        got = collect(f"s3src location=s3://data/ranges/a.jsonl part-bytes={part} block-bytes=50000")
        assert b"".join(arrays["lines"].tobytes() for _, arrays in got) == data, part
        assert [info["byte"] for info, _ in got][0] == 0
        assert got[-1][0]["line"] > 1


def test_empty():
    """case 18: an empty JSONL and an empty image"""
    for path in (DATA / "cases/18-empty-object").iterdir():
        put("data", "empty/18/" + path.name, path.read_bytes())
    done = launch("--stats=json", "s3src location=s3://data/empty/18/ ! jsonlparse ! imagefetch on-error=skip ! "
                  "imagedecode on-error=skip ! fakesink", status=3)
    stats = json.loads(done.stdout)
    assert stats["samples"] == 2 and stats["skipped"] == {"media-undecodable": 1}, stats
    assert "a.jsonl:2" in done.stderr and "zero.jpg" in done.stderr and "0 bytes" in done.stderr, done.stderr


def test_mix():
    """a mix of a folder and a bucket is that of two folders, also when it goes on from a checkpoint"""
    case = DATA / "cases/21-resume-mix-empty-member"
    put("data", "mix/b.jsonl", (case / "b/b.jsonl").read_bytes())
    mix = "mix name=m epochs=2 seed=3 shuffle=full"
    member = "filesrc location={}/{}/ weight={} ! m."
    disk = f"{member.format(case, 'a', 1)} {member.format(case, 'b', 3)}"
    s3 = f"{member.format(case, 'a', 1)} s3src location=s3://data/mix/ weight=3 ! m."

    def run(sources, *args):
        with tempfile.TemporaryDirectory() as folder:
            launch(*args, f"{mix} ! jsonlparse ! batch size=4 ! npysink location={folder} {sources}")
            infos = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))]
            return [(member["epoch"], member["id"]) for info in infos for member in info["members"]]

    whole = run(disk)
    assert len(whole) == 80 and len({i for _, i in whole[:40]}) == 40
    assert run(s3) == whole
    with tempfile.TemporaryDirectory() as folder:
        at = f"--checkpoint={folder}/at"
        before = run(s3, at, "--steps=7")
        assert before + run(s3, at, "--resume=exact") == whole


def test_links():
    """case 16: what links reach, and what they do not"""
    root = DATA / "cases/16-image-links/corpus"
    for path in root.rglob("*"):
        if path.is_file():
            put("data", "case16/corpus/" + path.relative_to(root).as_posix(), path.read_bytes())
    # SeaweedFS takes a backslash for a slash
    rejected = 11 if KIND == "seaweedfs" else 12
    for location, up in (("corpus/", 0), ("corpus/train/a.jsonl", 1)):
        done = launch("--stats=json", f"s3src location=s3://data/case16/{location} ! jsonlparse ! "
                      "imagefetch on-error=skip ! imagedecode ! fakesink", status=3)
        skipped = json.loads(done.stdout)["skipped"]
        assert skipped == {"link-refused": 6 + up, "media-not-found": rejected - 6}, skipped


def test_replaced():
    """an object that is replaced while it is read ends the run, if the server knows If-Match or ETags"""
    old = (DATA / "cases/28-s3-server-faults/a.jsonl").read_bytes()
    new = (DATA / "cases/28-s3-server-faults/a-replaced.jsonl").read_bytes()
    put("data", "replaced/a.jsonl", old)
    text = ("s3src location=s3://data/replaced/a.jsonl part-bytes=1KiB block-bytes=1KiB read-ahead=0 queue-items=1 ! "
            "identity queue-items=1 ! trainsim step-time=1s queue-items=1")
    with subprocess.Popen([HR_LAUNCH, text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        told = child.stderr.readline()  # how far it is by now; it stands still until the object is another one
        assert re.match(r"\d+ samples? ", told), told + child.communicate()[1]
        child.send_signal(signal.SIGSTOP)
        put("data", "replaced/a.jsonl", new)
        child.send_signal(signal.SIGCONT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 1, (child.returncode, err)
    assert "s3://data/replaced/a.jsonl" in err and "replaced while it was read" in err, err


def test_compressed():
    """compressed objects give the lines of their texts, in parts and in any order"""
    text = b"".join(json.dumps({"id": str(i), "query": f"{i}?" * 40, "response": "A"}).encode() + b"\n" for i in range(300))
    put("data", "gz/a.jsonl.gz", gzip.compress(text[:9001]) + gzip.compress(text[9001:]))
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "a.jsonl").write_bytes(text)
        for rules in ("shuffle=none", "shuffle=full seed=2", "shuffle=window block-bytes=2000"):
            rules += " epochs=2"
            plain, got = (collect(f"{source} {rules} ! jsonlparse keep=query") for source in
                          (f"filesrc location={folder}", "s3src location=s3://data/gz/ part-bytes=500"))
            assert [i["id"] for i, _ in got] == [i["id"] for i, _ in plain] and len(got) == 600
            assert [i["byte"] for i, _ in got] == [i["byte"] for i, _ in plain]


def check_letters(name, pack):
    place = f"letters-{name}"
    picture = (DATA / "golden/images/tiny10.png").read_bytes()
    lines = [json.dumps({"id": str(i), "image": f"{i}.png", "query": "<image>", "response": "A"}).encode() + b"\n" for i in range(40)]
    put("data", f"{place}/{name}", pack(b"".join(lines)))
    for i in range(40):
        if i % 3:
            put("data", f"{place}/{i}.png", picture)
    with tempfile.TemporaryDirectory() as folder:
        letters = f"{folder}/letters"
        chain = "jsonlparse ! imagefetch"
        launch("--on-error=skip", f"--dead-letter={letters}", f"s3src location=s3://data/{place}/ shuffle=full ! {chain} ! fakesink", status=3)
        for i in range(0, 40, 3):
            put("data", f"{place}/{i}.png", picture)
        whole = {info["id"]: (info["uri"], info["byte"], info["length"]) for info, _ in collect(f"s3src location=s3://data/{place}/ ! {chain}")}
        got = [info for info, _ in collect(f"deadlettersrc location={letters} read-ahead=3 ! {chain}")]
        assert sorted(int(info["id"]) for info in got) == list(range(0, 40, 3)), got
        assert all(whole[info["id"]] == (info["uri"], info["byte"], info["length"]) for info in got)
        if KIND != "rclone":  # it does not honour If-Match, and gives ETags that it makes of the time
            put("data", f"{place}/{name}", pack(b"".join(lines).replace(b"query", b"QUERY")))
            done = launch(f"deadlettersrc location={letters} ! {chain} ! fakesink", status=1)
            assert "letters:1: " in done.stderr and f"s3://data/{place}/{name}" in done.stderr, done.stderr


def test_letters():
    """what was skipped is read again from the bucket, by its range, if the object is still the same; of compressed ones, too"""
    check_letters("a.jsonl", bytes)
    check_letters("a.jsonl.gz", gzip.compress)


def test_refused():
    """wrong keys are told as such"""
    for name, value, word in (("AWS_SECRET_ACCESS_KEY", "wrong", "SignatureDoesNotMatch"),
                              ("AWS_ACCESS_KEY_ID", "NOBODY", "InvalidAccessKeyId")):
        done = subprocess.run([HR_LAUNCH, "s3src location=s3://data/links/ ! fakesink"], capture_output=True, text=True,
                              timeout=60, check=False, env={**os.environ, name: value})
        assert done.returncode == 1 and (word in done.stderr or "403" in done.stderr), (word, done.stderr)


def main():
    tests = [f for n, f in globals().items() if n.startswith("test_")]
    print(f"1..{len(tests)}", flush=True)
    for bucket in ("keys", "data"):
        CLIENT.create_bucket(Bucket=bucket)
    for i, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {i} {test.__doc__}", flush=True)
        except Exception:  # a failed test is a line of TAP, whatever it was
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok {i} {test.__doc__}", flush=True)


main()
