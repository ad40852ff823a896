#!/usr/bin/env python3
"""Dead letters: each skipped sample once, the same file in every run, and deadlettersrc gives just what was missing.

usage: test-letters.py ORDER_RUN HR_LAUNCH IMAGE [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import fcntl
import gzip
import json
import pathlib
import random
import re
import subprocess
import sys

import tokenizer
from runner import Data, Runner, main, zstd_frame

ORDER_RUN, HR_LAUNCH, IMAGE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
OPTIONS = {"n": 40, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[4:])}}
MEMBERS = ["uri", "byte", "length", "line", "id", "image", "image_index", "element", "kind", "message", "epoch", "place",
           "sample", "size", "identity", "root"]


def picture_record(i):
    return json.dumps({"id": f"r{i}", "images": ["good.png", f"{i}.png"], "conversations": [
        {"from": "human", "value": f"<image><image>What is {i}?"}, {"from": "gpt", "value": "A picture." * (i % 4 + 1)}]}).encode()


def read(path):
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b"", "the last line has no end"
    return [json.loads(line) for line in lines]


class Round:
    def __init__(self, runner, seed):
        self.runner, self.rng, self.data = runner, random.Random(seed), Data()
        rng = self.rng
        self.packed = rng.random() < 0.3
        self.n = rng.randrange(2 if self.packed else 1, 40)
        # of packed rows some must come: epochs without any end the run
        self.bad = rng.sample(range(1 if self.packed else 0, self.n), rng.randrange(1, self.n + (0 if self.packed else 1)))
        self.broken = set(rng.sample(range(1, self.n), rng.choice([0, 0, min(2, self.n - 1)]))) - set(self.bad)
        for name in ("good", *range(self.n)):
            (self.data.folder / f"{name}.png").write_bytes(IMAGE.read_bytes())
        cut, self.texts = rng.randrange(self.n + 1), {}
        for key, numbers in (("a.jsonl", range(cut)), ("b.jsonl", range(cut, self.n))):
            text = b"".join(picture_record(i)[:-5 if i in self.broken else None] + b"\n" for i in numbers)
            suffix, pack = rng.choice([("", bytes), ("", bytes), (".gz", gzip.compress), (".zst", zstd_frame)])
            self.data.add(key + suffix, pack(text))
            self.texts[str(self.data.folder / (key + suffix))] = text
        tokenizer.write(self.data.folder / "tokenizer.json")
        self.source = f"epochs={rng.choice([1, 2])} shuffle={rng.choice(['none', 'window', 'full'])} block-bytes=300 window-blocks=2"
        self.batch = (f"batch mode=packed max-tokens={rng.choice([300, 500])} pack-window={rng.choice([1, 3, 8])}" if self.packed
                      else f"batch size={rng.choice([1, 2, 4])}")
        if self.packed:
            self.source = self.source.replace("epochs=1", "epochs=0").replace("epochs=2", "epochs=0")
        self.letters = self.data.folder / "letters"

    def cure(self):
        for i in self.bad:
            (self.data.folder / f"{i}.png").write_bytes(IMAGE.read_bytes())

    def poison(self):
        for i in self.bad:  # missing, or no image
            if i % 3 == 0:
                (self.data.folder / f"{i}.png").write_bytes(b"no image")
            else:
                (self.data.folder / f"{i}.png").unlink()

    def chain(self):
        rng = self.rng
        return (f"jsonlparse workers={rng.choice([1, 3])} ! imagefetch concurrency={rng.choice([1, 8])} ! "
                f"tokenize tokenizer={self.data.folder}/tokenizer.json workers={rng.choice([1, 2])} ! imagedecode workers={rng.choice([1, 2])}")

    def text(self, letters=None, steps=0, source=None, batch=None):
        rng = self.rng
        settings = f"on-error=skip serial={rng.choice(['true', 'false', 'false'])} steps={steps}"
        if letters:
            settings += f" dead-letter={letters}"
        return (f"{settings} {source or f'filesrc location={self.data.folder} {self.source}'} ! {self.chain()} ! "
                f"{self.batch if batch is None else batch}{rng.choice(['', ' ! prefetchqueue max-batches=3'])} ! appsink")


def members(steps):
    """What was delivered: bytes by place."""
    return {(step[0], m[3]): m for step in steps for m in step[4] if m[4] is not None}


def plain(letters):
    """Without the number in its run; and a run that goes on inside an object cannot count its lines."""
    return [{k: v for k, v in letter.items() if k not in ("sample", "line")} for letter in letters]


def check_round(runner, seed):
    this = Round(runner, seed)
    rng, path = this.rng, this.letters
    steps = rng.randrange(1, 12) if this.packed else 0
    clean = runner.steps(this.text(steps=steps))
    this.poison()
    answer = runner.run(this.text(path, steps), mark=rng.randrange(1, 5), stats=True)
    assert answer["error"] is None, answer["error"]
    letters = read(path) if path.exists() else []
    assert answer["skipped"] == len(letters), (answer["skipped"], len(letters))
    keys = [(one["epoch"], one["place"]) for one in letters]
    assert len(set(keys)) == len(keys), "a sample has two letters"
    for one in letters:
        assert list(one) == MEMBERS
        data, stored = this.texts[one["uri"]], pathlib.Path(one["uri"]).stat().st_size
        i = next(i for i in range(this.n) if data[one["byte"]:one["byte"] + one["length"]] in picture_record(i))
        assert one["line"] in (None, data[:one["byte"]].count(b"\n") + 1) and one["size"] == stored, one
        if i in this.broken:
            assert (one["kind"], one["element"], one["image"], one["image_index"]) == ("bad-json", "jsonlparse0", None, None)
            continue
        kind = "media-undecodable" if i % 3 == 0 else "media-not-found"
        assert i in this.bad and (one["kind"], one["id"], one["image_index"]) == (kind, f"r{i}", 1), one
        assert kind == "media-undecodable" or (one["image"], one["element"]) == (f"{i}.png", "imagefetch0")
        assert (one["uri"] not in one["message"])

    # the same file, byte for byte, with other workers
    again = this.data.folder / "again"
    assert runner.run(this.text(again, steps))["error"] is None
    assert not path.exists() or again.read_bytes() == path.read_bytes(), "another run writes other letters"
    # and once more into the same one: nothing is doubled
    before = path.read_bytes()
    assert runner.run(this.text(path, steps))["error"] is None
    assert path.read_bytes() == before
    # cut by a crash at any byte: what is missing comes again
    if before:
        path.write_bytes(before[:rng.randrange(len(before))])
        assert runner.run(this.text(path, steps))["error"] is None
        assert sorted(path.read_bytes().split(b"\n")) == sorted(before.split(b"\n"))
    # a run that is interrupted, and goes on
    if answer["checkpoint"]:
        parts = this.data.folder / "parts"
        assert runner.run(this.text(parts, steps), take=rng.randrange(1, 5))["error"] is None
        rest = runner.run(this.text(parts, steps), resume=answer["checkpoint"])
        assert rest["error"] is None, rest["error"]
        runner.run(this.text(parts, steps), take=rng.randrange(1, 9))  # some steps once more
        if not this.packed:
            missing = [k for k in plain(letters) if k not in plain(read(parts))]
            mark = {(m[3], s[0]) for s in answer["steps"] for m in s[4]}
            assert all((one["place"], one["epoch"]) in mark for one in missing)
            runner.run(this.text(parts, steps))
            assert sorted(map(str, plain(read(parts)))) == sorted(map(str, plain(letters)))

    # repaired: just what was missing comes, the same bytes
    this.cure()
    if this.packed:  # rows are others, samples are not: compare with those of an unpacked run
        this.data.remove()
        return
    path.write_bytes(before)
    replay = runner.run(this.text(source=f"deadlettersrc location={path}", batch="batch size=1"))
    assert replay["error"] is None, replay["error"]
    got, whole, partial = members(replay["steps"]), members(clean), members(answer["steps"])
    wanted = {key: m for key, m in whole.items() if key not in partial}
    assert got == wanted, f"{len(got)} samples instead of {len(wanted)}"
    assert {**got, **partial} == whole
    order = [(s[0], m[3]) for s in replay["steps"] for m in s[4]]
    assert order == keys, "not in the order of the letters"
    kind = rng.choice(["media-not-found", "media-undecodable", "bad-json"])
    some = runner.run(this.text(source=f"deadlettersrc location={path} kind={kind}", batch="batch size=1"))
    assert set(members(some["steps"])) == {k for k, one in zip(keys, letters) if one["kind"] == kind and k in wanted}
    this.data.remove()


def test_letters(runner):
    """poison, run, repair, replay: the union is the clean run; the file is the same for all workers, cut, doubled and resumed"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check_round(runner, seed)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:4])} seed={seed} n=1")
            raise


def small(record=None):
    data = Data()
    data.add("a.jsonl", (record or picture_record(0)) + b"\n")
    return data


def run_small(runner, data, letters, more=""):
    return runner.run(f"on-error=skip dead-letter={letters} filesrc location={data.folder} ! jsonlparse ! imagefetch {more} ! appsink")


def test_refused(runner):
    """a file of something else, one that another run writes, and letters that name nothing are refused, and left as they are"""
    data = small()
    path = data.folder / "letters"
    for content, place in ((b"hello\n", ":1: is no dead letter"), (b'{"uri":null,"kind":"other"}\n[1]\n', ":2: is no dead letter"),
                           (b"tail", ":1: is no dead letter")):
        path.write_bytes(content)
        answer = run_small(runner, data, path)
        assert answer["error"] and place in answer["error"], answer["error"]
        assert path.read_bytes() == content
    path.write_bytes(b"")
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        answer = run_small(runner, data, path)
        assert answer["error"] and "another run writes it" in answer["error"], answer["error"]
    answer = run_small(runner, data, data.folder / "nowhere" / "letters")
    assert answer["error"] and "cannot open it" in answer["error"], answer["error"]
    answer = run_small(runner, data, "/dev/full")
    assert answer["error"] and "No space left" in answer["error"], answer["error"]
    for content, words in (("[]\n", "is no dead letter"), ('{"uri":null,"byte":null,"kind":"other"}\n', "tells no object"),
                           ('{"uri":"a.jsonl.gz","byte":0,"kind":"other"}\n', "does not tell its size"),
                           ('{"uri":"a","kind":"other","x":[[1]]}\n', "is no dead letter"), ("x\n", "is no dead letter"),
                           ('{"uri":"a","byte":0,"kind":"oth', "is no whole dead letter")):
        path.write_text(content)
        answer = runner.run(f"deadlettersrc location={path} ! jsonlparse ! appsink")
        assert answer["error"] and f"{path}:1: " in answer["error"] and words in answer["error"], answer["error"]
    path.write_text('{"uri":"%s/a.jsonl","byte":0,"kind":"other"}' % data.folder)  # whole, but for its end
    answer = runner.run(f"deadlettersrc location={path} ! jsonlparse ! appsink")
    assert not answer["error"] and len(answer["steps"]) == 1, answer
    answer = runner.run(f"deadlettersrc location={path} kind=bad-jsn ! jsonlparse ! appsink")
    assert answer["error"] and "no such kind" in answer["error"], answer["error"]
    answer = runner.run(f"deadlettersrc location={data.folder}/none ! jsonlparse ! appsink")
    assert answer["error"] and "No such file" in answer["error"], answer["error"]
    data.remove()


def test_changed(runner):
    """an object that has changed, or is shorter, is not read again; a letter without a length is"""
    data = small()
    path, jsonl = data.folder / "letters", data.folder / "a.jsonl"
    assert run_small(runner, data, path)["skipped"] == 1
    (data.folder / "good.png").write_bytes(IMAGE.read_bytes())
    (data.folder / "0.png").write_bytes(IMAGE.read_bytes())
    replay = f"deadlettersrc location={path} ! jsonlparse ! imagefetch ! appsink"
    whole = runner.steps(replay)
    assert len(whole) == 1
    letter = json.loads(path.read_text())
    path.write_text(json.dumps({**letter, "length": None}) + "\n")
    assert runner.steps(replay) == whole
    path.write_text(json.dumps({**letter, "identity": None, "length": 9999}) + "\n")
    answer = runner.run(replay)
    assert answer["error"] and "ends in front of byte" in answer["error"], answer["error"]
    path.write_text(json.dumps(letter) + "\n")
    jsonl.write_bytes(jsonl.read_bytes().replace(b"What", b"Who!"))
    answer = runner.run(replay)
    assert answer["error"] and "has changed" in answer["error"] and f"{path}:1: " in answer["error"], answer["error"]
    data.remove()


def test_compressed(runner):
    """letters about compressed objects, in any order: the lines they name; one that is spoilt, cut or another is refused"""
    text = b"".join(json.dumps({"id": f"r{i}", "conversations": [{"from": "human", "value": "Q" * (i * 37 % 400)},
                                                                  {"from": "gpt", "value": "A"}]}).encode() + b"\n" for i in range(3000))
    begins = [0] + [i + 1 for i, c in enumerate(text[:-1]) if c == 10]
    for key, whole in (("a.jsonl.gz", gzip.compress(text)), ("a.jsonl.zst", zstd_frame(text))):
        data = Data()
        data.add(key, whole)
        path, file = data.folder / "letters", data.folder / key
        told, whole_run = file.stat(), None
        for chosen in ([2999], [0, 1, 1500, 2999], [1500, 0, 2999, 3, 1500, 2], [2999, 2998, 0]):
            some = [{"uri": str(file), "byte": begins[i], "length": None if i % 2 else len(text[begins[i]:].split(b"\n", 1)[0]),
                     "kind": "other", "epoch": 0, "place": n, "size": told.st_size} for n, i in enumerate(chosen)]
            path.write_text("".join(json.dumps(one) + "\n" for one in some))
            answer = runner.run(f"serial={'true' if len(chosen) == 3 else 'false'} deadlettersrc location={path} ! jsonlparse ! appsink")
            assert answer["error"] is None, answer["error"]
            assert [m[1] for s in answer["steps"] for m in s[4]] == [begins[i] for i in chosen], answer["steps"]
            # whose bytes those are
            whole_run = whole_run or {m[1]: m[4] for s in runner.steps(f"filesrc location={file} ! jsonlparse ! appsink") for m in s[4]}
            assert [m[4] for s in answer["steps"] for m in s[4]] == [whole_run[begins[i]] for i in chosen]
        file.write_bytes(whole[:-20])
        answer = runner.run(f"deadlettersrc location={path} ! jsonlparse ! appsink")
        assert answer["error"] and f"{path}:1: " in answer["error"], answer["error"]
        file.write_bytes(whole[:300] + bytes(60) + whole[360:])
        answer = runner.run(f"deadlettersrc location={path} ! jsonlparse ! appsink")
        assert answer["error"] and "of the compressed object" in answer["error"], answer["error"]
        path.write_text(json.dumps({**some[0], "identity": "1-2"}) + "\n")
        answer = runner.run(f"deadlettersrc location={path} ! jsonlparse ! appsink")
        assert answer["error"] and "has changed since" in answer["error"], answer["error"]
        data.remove()


def test_secrets(runner):
    """names, passwords and signatures in links are in no letter"""
    for link in ("https://me:PASSWORD@host/a.png?X-Amz-Signature=SECRET&x=1", "http://127.0.0.1:1/b.png?token=SECRET",
                 "http://me:PASSWORD@127.0.0.1:1/c.png", "https://host/d.png#access_token=SECRET"):
        data = small(json.dumps({"id": "x", "image": link, "conversations": [
            {"from": "human", "value": "<image>"}, {"from": "gpt", "value": "A"}]}).encode())
        path = data.folder / "letters"
        answer = run_small(runner, data, path)
        text = path.read_text()
        assert answer["skipped"] == 1 and "link-refused" in text
        assert "SECRET" not in text and "PASSWORD" not in text, text
        assert re.split("[?#]", link)[0].replace("me:PASSWORD@", "") in text
        data.remove()


def test_launch(runner):
    """hr-launch --dead-letter: exit status 3, and the last line says what was skipped"""
    data = small()
    path = data.folder / "letters"
    done = subprocess.run([HR_LAUNCH, "--on-error=skip", f"--dead-letter={path}",
                           f"filesrc location={data.folder} ! jsonlparse ! imagefetch ! fakesink"], capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr.strip().split("\n")[-1].endswith("1 of 1 skipped for errors: 1 media-not-found"), done
    assert len(read(path)) == 1
    done = subprocess.run([HR_LAUNCH, "--on-error=skip", "--max-errors=0", f"--dead-letter={path}",
                           f"filesrc location={data.folder} ! jsonlparse ! imagefetch ! fakesink"], capture_output=True, text=True)
    assert done.returncode == 1 and "max-errors=0 is exceeded" in done.stderr, done
    done = subprocess.run([HR_LAUNCH, f"filesrc location={data.folder} ! jsonlparse ! imagefetch ! fakesink"], capture_output=True, text=True)
    assert done.returncode == 1, done
    data.remove()


if __name__ == "__main__":
    RUNNER = Runner(ORDER_RUN)
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNER))
