#!/usr/bin/env python3
"""Mixes: any rules, members, ranks, workers, cuts, beside mixing.py, which was written from docs/order.md alone.

usage: test-mix.py ORDER_RUN CASES [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import collections
import json
import pathlib
import random
import sys
import tempfile

import mixing
import reference
import tokenizer
from runner import Runner, expected_members, got_members, main, random_member, random_mix_rules, record, show

ORDER_RUN, CASES = sys.argv[1], pathlib.Path(sys.argv[2])
OPTIONS = {"n": 100, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[3:])}}


class Round:
    """One mix, which is run in legs."""

    def __init__(self, runners, seed):
        self.rng, self.runners = random.Random(seed), runners
        rng = self.rng
        self.rules = random_mix_rules(rng)
        self.bounds = {"epochs": rng.choice([0, 1, 2, 3, 3])}
        for name in ("limit", "steps"):
            if rng.random() < (0.25 if self.bounds["epochs"] else 0.8):
                self.bounds[name] = rng.randrange(1, 90)
        if len(self.bounds) == 1 and self.bounds["epochs"] == 0:
            self.bounds["steps"] = rng.randrange(1, 60)
        self.long = rng.choice([0, 0, 250])
        self.members = [random_member(rng, i, self.rules, long=self.long) for i in range(rng.choice([1, 2, 2, 3, 3, 5, 9]))]
        self.group, self.drop_last = rng.choice([1, 2, 4, 6, 8, 12]), rng.random() < 0.3
        self.batched = self.group > 1 or self.drop_last or rng.random() < 0.5
        rules = {("pattern_of" if k == "pattern" else k): v for k, v in self.rules.items()}
        self.wanted = list(reference.steps([{"objects": d.objects, **said} for d, said in self.members], self.group,
                                           drop_last=self.drop_last, order_of=mixing.order, **rules, **self.bounds))
        self.bad = set().union(*(d.bad for d, _ in self.members))
        self.cache = tempfile.TemporaryDirectory()

    def close(self):
        self.cache.cleanup()
        for data, _ in self.members:
            data.remove()

    def text(self, world, rank, bounds):
        """The stream, with everything that does not count drawn anew."""
        rng = self.rng
        free = {"serial": rng.random() < 0.25, "cpus": rng.choice([1, 2, 5]), "memory": rng.choice(["2GiB", "2GiB", "1"])}
        text = f"on-error=skip {show(free)} {show(bounds)} world={world} rank={rank} "
        text += f"mix name=m {show(self.rules)} queue-items={rng.choice([1, 2, 100])} block-bytes={rng.choice([1, 300, 1 << 20])} ! "
        text += f"jsonlparse workers={rng.choice([1, 1, 4])} {f'max-line-bytes={self.long} ' if self.long else ''}! "
        if self.batched:
            text += f"batch size={self.group // world} drop-last={str(self.drop_last).lower()} ! "
            text += rng.choice(["", f"prefetchqueue max-batches={rng.choice([1, 2, 100])} ! "])
        return text + "appsink " + " ".join(f"filesrc location={d.folder} {show(said)} ! m." for d, said in self.members)

    def expected(self, first, world, rank):
        size = self.group // world
        steps = [(epoch, expected_members(slots, place, rank, size, self.bad))
                 for epoch, place, slots in self.wanted[first:]]
        return steps if self.batched else [s for s in steps if not s[1][0][3]]

    def leg(self, resume, take):
        """Runs on from a checkpoint, for @take steps, -1: to the end. Returns a checkpoint of its last step."""
        rng, first = self.rng, json.loads(resume)["steps"] if resume else 0
        world = rng.choice([w for w in (1, 2, 3, 4, 6) if self.group % w == 0]) if self.batched else 1
        rank = rng.randrange(world)
        wanted = self.expected(first, world, rank)
        text = self.text(world, rank, self.bounds)
        environment = {"HR_PLAN_CACHE": rng.choice(["", self.cache.name])}
        answer = rng.choice(self.runners).run(text, environment=environment, resume=resume, take=take, mark=max(take, 0))
        where = f"from step {first}, take {take}, cache {environment}\n{text}"
        assert answer["error"] is None, f"{answer['error']}\n{where}"
        wanted = wanted if take < 0 else wanted[:take]
        for k, (step, (epoch, members)) in enumerate(zip(answer["steps"], wanted)):
            assert step[0] == epoch and got_members(step) == members, \
                f"step {k}: epoch {step[0]} {got_members(step)}\nnot epoch {epoch} {members}\n{where}"
        assert len(answer["steps"]) == len(wanted), f"{len(answer['steps'])} steps, not {len(wanted)}: {where}"
        return answer["checkpoint"] or resume


    def ask(self):
        """Parts of the order by themselves, in any order."""
        world = self.rng.choice([w for w in (1, 2, 3, 4, 6) if self.group % w == 0])
        size, parts = self.group // world, {}
        for epoch, place, slots in self.wanted:
            for rank in range(world):
                parts[epoch, place // size + rank] = expected_members(slots, place, rank, size, self.bad)
        asked = self.rng.choices(list(parts), k=self.rng.randrange(1, 30)) if parts else []
        text = self.text(world, 0, {"requests": True})
        steps = self.rng.choice(self.runners).steps(text, requests=asked)
        for step, (epoch, part) in zip(steps, asked):
            assert step[0] == epoch and got_members(step) == parts[epoch, part], \
                f"epoch {epoch}, slice {part}: {got_members(step)}\nnot {parts[epoch, part]}\n{text}"
        assert len(steps) == len(asked), f"{len(steps)} of {len(asked)}: {text}"


def check_round(runners, seed):
    this = Round(runners, seed)
    n, rng = len(this.expected(0, 1, 0)), this.rng
    this.leg(None, -1)
    cuts = range(1, n + 1) if n <= 12 else sorted(rng.sample(range(1, n + 1), 3))
    resume, at = None, 0
    for cut in cuts:  # each goes on from the one before
        resume, at = this.leg(resume, cut - at), cut
        if this.batched or rng.random() < 0.5:
            this.leg(resume, -1)
    if this.batched and "limit" not in this.bounds:
        this.ask()
    this.close()


def test_random(runners):
    """random members, weights, ends, ranks, workers, cuts: the order of mixing.py, before and after"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check_round(runners, seed)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:3])} seed={seed} n=1")
            raise


def test_packed(runners):
    """packed rows of a mix: joined where a run is cut inside a block, they are the uninterrupted ones"""
    for seed in range(5):
        rng = random.Random(seed)
        members = [random_member(rng, i, {"weights": "ratio"}, bad=0.1) for i in range(3)]
        tokenizer.write(members[0][0].folder / "tokenizer.json")

        def text(**free):
            sources = " ".join(f"filesrc location={d.folder} {show(said)} ! m." for d, said in members)
            return (f"on-error=skip {show(free)} mix name=m epochs=2 pattern={['even', 'random'][seed % 2]} ! "
                    f"jsonlparse workers={rng.choice([1, 4])} ! tokenize tokenizer={members[0][0].folder}/tokenizer.json ! "
                    f"batch mode=packed pack-window=7 max-tokens=300 ! appsink {sources}")

        whole = runners[0].steps(text(serial=True))
        assert len(whole) > 2, len(whole)
        for k in range(1, len(whole), 1 + len(whole) // 20):
            before = runners[k % len(runners)].run(text(), take=k, mark=k)
            after = runners[k % 2].run(text(cpus=3), resume=before["checkpoint"])
            assert after["error"] is None, after["error"]
            rows = [(s[0], s[1], s[3], got_members(s)) for s in before["steps"] + after["steps"]]
            assert rows == [(s[0], s[1], s[3], got_members(s)) for s in whole], f"seed {seed}, cut at {k}"
        for data, _ in members:
            data.remove()


def test_links(runners):
    """relative links of each member start from, and stay in, its own folder"""
    with tempfile.TemporaryDirectory() as folder:
        for name in "ab":
            path = pathlib.Path(folder, name)
            (path / "images").mkdir(parents=True)
            (path / "images" / "1.jpg").write_bytes(b"\xff\xd8 " + name.encode())
            with open(path / f"{name}.jsonl", "w") as out:
                for link in ("images/1.jpg", "../a/images/1.jpg", "../b/images/1.jpg", "images/1.jpg"):
                    turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "x"}]
                    out.write(json.dumps({"image": link, "conversations": turns}) + "\n")
        rest = "! jsonlparse ! imagefetch on-error=skip ! batch size=2 mode=list ! appsink "
        alone = [runners[0].steps(f"filesrc location={folder}/{name}/ {rest}") for name in "ab"]
        mixed = runners[0].steps(f"mix name=m {rest} filesrc location={folder}/a/ ! m. filesrc location={folder}/b/ ! m.")
        digests = [{(m[0], m[1]): m[4] for step in run for m in step[4]} for run in [*alone, mixed]]
        assert digests[2] == digests[0] | digests[1] and len(digests[2]) == 8
        assert [d is None for d in digests[0].values()] == [False, False, True, False], digests


def case_text(*members, before="", rules=""):
    text = f"{before} mix name=m epochs=3 {rules} ! jsonlparse on-error=skip ! appsink "
    return text + " ".join(f"filesrc location={CASES / '21-resume-mix-empty-member' / m}/ weight={w} ! m." for m, w in members)


def keys(answer):
    return [pathlib.Path(m[0]).name for step in answer["steps"] for m in step[4]]


def test_case_21(runners):
    """case 21: 1:3 exactly, before + after for every stop; an empty member is named, bad ones only leave holes"""
    ab, bad, empty = (("a", 1), ("b", 3)), (("all-bad", 1),), (("empty", 1),)
    for members in (ab, ab + bad):
        whole = runners[0].run(case_text(*members))
        assert len(whole["steps"]) == 120
        first = collections.Counter(keys(whole)[:40])
        assert first["a.jsonl"] in (9, 10, 11) and set(keys(whole)) == {"a.jsonl", "b.jsonl"}, first
        for k in range(1, 121):
            before = runners[k % len(runners)].run(case_text(*members, before=f"serial={k % 3 == 0}".lower()), take=k, mark=k)
            after = runners[k % 2].run(case_text(*members), resume=before["checkpoint"])
            assert after["error"] is None, after["error"]
            assert keys(before) + keys(after) == keys(whole), k
            got = [(got_members(s), s[3]) for s in before["steps"] + after["steps"]]
            assert got == [(got_members(s), s[3]) for s in whole["steps"]], k
    for members, named in ((ab + empty, "empty"), (empty + ab, "empty"), (empty + empty, "empty")):
        for before in ("", "serial=true"):
            answer = runners[0].run(case_text(*members, before=before))
            assert f"{named}/: no sample in it" in answer["error"], answer["error"]
    for before in ("", "serial=true"):  # nothing but bad ones: it ends, with nothing delivered
        answer = runners[0].run(case_text(*bad, before=before))
        assert answer["error"] is None and answer["steps"] == [] and answer["skipped"] == 6, answer
        assert runners[0].run(case_text(*bad, before=before + " limit=1000", rules=""))["steps"] == []


def test_refusals(runners):
    """a checkpoint is refused with the member that has changed"""
    a, b = CASES / "21-resume-mix-empty-member" / "a", CASES / "21-resume-mix-empty-member" / "b"
    base = case_text(("a", 1), ("b", 3))
    document = runners[0].run(base, take=7, mark=7)["checkpoint"]
    assert [len(d["objects"]) for d in json.loads(document)["data"]] == [1, 1]
    for text, message in (
            (case_text(("a", 1), ("b", 2)), f"weight of filesrc location={b}/ was 3 and is 2"),
            (case_text(("a", 1), ("b", 3), rules="seed=5"), "seed of mix was 0 and is 5"),
            (case_text(("a", 1), ("b", 3), rules="end=shortest"), "end of mix was longest and is shortest"),
            (case_text(("a", 1), ("b", 3), rules="pattern=random"), "pattern of mix was even and is random"),
            (case_text(("b", 1), ("a", 3)), f"location of filesrc location={b}/ was {a}/ and is {b}/"),
            (base.replace("weight=3", "weight=3 repeat=false"), f"repeat of filesrc location={b}/ was true and is false"),
            (case_text(("a", 1), ("b", 3), ("all-bad", 1)), "where nothing was is filesrc now"),
            (case_text(("a", 1)), "where filesrc was is nothing now")):
        answer = runners[0].run(text, resume=document)
        assert answer["error"] and message in answer["error"], f"{answer['error']}\n{text}"
    with tempfile.TemporaryDirectory() as folder:
        for name in "ab":
            pathlib.Path(folder, f"{name}.jsonl").write_bytes(next((CASES / "21-resume-mix-empty-member" / name).glob("*.jsonl")).read_bytes())
        text = base
        for name, path in (("a", a), ("b", b)):
            text = text.replace(f"{path}/", f"{folder}/{name}.jsonl")
        document = runners[0].run(text, take=7, mark=7)["checkpoint"]
        with open(pathlib.Path(folder, "b.jsonl"), "ab") as out:
            out.write(b"{}\n")
        error = runners[0].run(text, resume=document)["error"]
        assert f"{folder}/b.jsonl: the data is not what it was at the checkpoint: b.jsonl had" in error, error


def test_member_for_other_ranks(runners):
    """a rank whose places are all of one member ends, and does not wait for the others, without end of epochs too"""
    for before in ("", "serial=true"):
        for rank, name in ((0, "a.jsonl"), (1, "b.jsonl")):
            text = case_text(("a", 1), ("b", 1), before=f"{before} world=2 rank={rank} epochs=0 steps=70")
            runner = runners[rank + 1]
            steps = runner.steps(text.replace("! appsink", "! batch size=1 ! appsink"))
            assert len(steps) == 70 and {pathlib.Path(s[4][0][0]).name for s in steps} == {name}


def test_rank_without_any(runners):
    """a rank that has padding for ever, or some of a member now and then, goes on as long as it shall"""
    with tempfile.TemporaryDirectory() as folder:
        for name in "abc":
            pathlib.Path(folder, f"{name}.jsonl").write_bytes(record(name) + b"\n")
        sources = " ".join(f"filesrc location={folder}/{name}.jsonl ! m." for name in "abc")
        for pattern in ("even", "random"):
            given = collections.Counter()
            for rank in range(4):
                text = f"serial={{}} world=4 rank={rank} epochs=0 steps=300 mix name=m pattern={pattern} ! jsonlparse ! batch size=1 ! appsink {sources}"
                steps, serial = (runners[rank].steps(text.format(how)) for how in ("false", "true"))
                assert [s[4] for s in steps] == [s[4] for s in serial] and len(steps) == 300, len(steps)
                given.update(m[0] and pathlib.Path(m[0]).name for s in steps for m in s[4])
            assert given == {"a.jsonl": 300, "b.jsonl": 300, "c.jsonl": 300, None: 300}, given


def test_member_that_fails(runners):
    """a member that cannot be read ends the run, while all others wait to begin; so does stop()"""
    for before in ("", "serial=true"):
        text = case_text(("a", 1), ("b", 3), before=before) + " filesrc location=/there/is/none/ ! m."
        for runner in runners:
            error = runner.run(text)["error"]
            assert error and "/there/is/none" in error, error
    text = case_text(("a", 1), ("b", 3)) + " filesrc location=/dev/stdin ! m."
    error = runners[0].run(text)["error"]
    assert "no regular file" in error and "not in a mix" in error, error


def test_wrong_texts(runners):
    """what cannot be a mix is refused, with what to do"""
    where = CASES / "21-resume-mix-empty-member" / "a"
    source = f"filesrc location={where}/"
    for text, message in (
            (f"mix name=m ! jsonlparse ! appsink {source} epochs=2 ! m.", "epochs are the mix's"),
            (f"{source} weight=2 ! jsonlparse ! appsink", "weight is for members of a mix"),
            (f"{source} repeat=false ! jsonlparse ! appsink", "repeat is for members of a mix"),
            (f"mix name=m ! jsonlparse ! appsink {source} ! identity ! m.", "cannot be a member of"),
            (f"mix name=m ! mix name=n ! jsonlparse ! appsink {source} ! m.", "cannot be a member of"),
            (f"mix name=m ! appsink {source} ! m.", "no element behind it makes any of the lines"),
            (f"mix name=m temperature=2 ! jsonlparse ! appsink {source} ! m.", "temperature is for weights=temperature"),
            (f"mix name=m weights=epochs end=longest ! jsonlparse ! appsink {source} ! m.", "leave end out"),
            (f"mix name=m weights=epochs ! jsonlparse ! appsink {source} weight=2 repeat=false ! m.", "has repeat=false")):
        answer = runners[0].run(text)
        assert answer["error"] and message in answer["error"], f"{answer['error']}\n{text}"


if __name__ == "__main__":
    RUNNERS = [Runner(ORDER_RUN), Runner(ORDER_RUN), Runner(ORDER_RUN, HR_STALL="1"), Runner(ORDER_RUN, HR_STALL="77")]
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNERS))
