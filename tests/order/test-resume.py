#!/usr/bin/env python3
"""Runs that are cut and go on, with other ranks, workers, queues: what they deliver joined is the uninterrupted order.

usage: test-resume.py ORDER_RUN [n=ROUNDS] [seed=FIRST]: seed=N n=1 repeats one round
"""
import json
import random
import sys
import tempfile

import reference
import tokenizer
from runner import Runner, expected_members, got_members, main, random_data, random_rules, show

ORDER_RUN = sys.argv[1]
OPTIONS = {"n": 300, "seed": 1, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[2:])}}


class Round:
    """One data set and one stream of it, which is run in legs."""

    def __init__(self, runners, seed):
        self.rng, self.runners = random.Random(seed), runners
        self.long = self.rng.choice([0, 0, 250])
        self.data = random_data(self.rng, bad=self.rng.choice([0, 0, 0.1]), long=self.long)
        n_bytes = sum(map(len, self.data.objects.values()))
        self.rules, self.bounds = random_rules(self.rng, n_bytes)
        self.bounds.pop("world")
        self.group = self.rng.choice([1, 2, 4, 6, 8, 12])
        self.drop_last = self.rng.random() < 0.3
        self.batched = self.group > 1 or self.drop_last or self.rng.random() < 0.5
        self.padded = self.batched and self.rng.random() < 0.3
        self.wanted = list(reference.steps(self.data.objects, self.group, drop_last=self.drop_last, **self.rules,
                                           **self.bounds))
        self.cache, self.digests = tempfile.TemporaryDirectory(), {}
        tokenizer.write(self.data.folder / "tokenizer.json")

    def close(self):
        self.cache.cleanup()
        self.data.remove()

    def text(self, world, rank, every, bounds):
        """The stream, with everything that does not count drawn anew."""
        rng = self.rng
        free = {"serial": rng.random() < 0.2, "cpus": rng.choice([1, 2, 5]), "memory": rng.choice(["2GiB", "2GiB", "1"])}
        text = f"on-error=skip {show(free)} {show(bounds)} world={world} rank={rank} checkpoint-every={every} "
        text += f"filesrc location={self.data.folder} {show(self.rules)} queue-items={rng.choice([1, 2, 100])} ! "
        text += f"jsonlparse workers={rng.choice([1, 1, 2, 4])} {f'max-line-bytes={self.long} ' if self.long else ''}! "
        if self.padded:
            text += f"tokenize tokenizer={self.data.folder}/tokenizer.json workers={rng.choice([1, 3])} ! "
        if self.batched:
            text += f"batch size={self.group // world} mode={'padded' if self.padded else 'list'} drop-last={str(self.drop_last).lower()} ! "
            text += rng.choice(["", f"prefetchqueue max-batches={rng.choice([1, 2, 5, 100])} ! "])
        return text + "appsink"

    def expected(self, first, world, rank):
        """Of the steps from that one on: (epoch, members) of the rank. Holes are delivered in batches only."""
        size = self.group // world
        steps = [(epoch, expected_members(slots, place, rank, size, self.data.bad))
                 for epoch, place, slots in self.wanted[first:]]
        return steps if self.batched else [s for s in steps if not s[1][0][3]]

    def check(self, got, wanted, where):
        for k, (step, (epoch, members)) in enumerate(zip(got, wanted)):
            assert step[0] == epoch and got_members(step) == members, \
                f"step {k}: epoch {step[0]} {got_members(step)}\nnot epoch {epoch} {members}\n{where}"
            for key, byte, _, _, digest in step[4]:
                if digest:  # the same sample is the same bytes, whenever and with whom it comes
                    assert self.digests.setdefault((key, byte), digest) == digest, f"step {k}: {key}:{byte}: {where}"

    def leg(self, resume, last):
        """Runs on from a checkpoint, to the end if it is the last leg. Returns a checkpoint."""
        rng, first = self.rng, json.loads(resume)["steps"] if resume else 0
        world = rng.choice([w for w in (1, 2, 3, 4, 6) if self.group % w == 0]) if self.batched else 1
        rank, every = rng.randrange(world), rng.choice([0, 1, 2, 3, 7])
        wanted = self.expected(first, world, rank)
        n = len(wanted)
        take = -1 if last or n == 0 else rng.randrange(1, n + 1)
        bounds, request = dict(self.bounds), {"take": take}
        how = rng.choice(["mark", "mark", "kill", "steps"]) if take > 0 else "end"
        if how == "steps" and self.batched:
            bounds["steps"], request["take"], request["mark"] = first + take, -1, -1
        elif how == "mark":
            request["mark"] = rng.choice([take, rng.randrange(1, take + 1)])
        text = self.text(world, rank, every, bounds)
        environment = {"HR_PLAN_CACHE": rng.choice(["", self.cache.name])}
        runner = rng.choice(self.runners)
        answer = runner.run(text, environment=environment, resume=resume, **request)
        where = f"{how} {request} from step {first}, cache {environment}\n{text}"
        assert answer["error"] is None, f"{answer['error']}\n{where}"
        if take > 0:
            wanted = wanted[:take]
        assert len(answer["steps"]) == len(wanted), f"{len(answer['steps'])} steps, not {len(wanted)}: {where}"
        self.check(answer["steps"], wanted, where)
        if every:
            self.check_told(answer["checkpoints"], first, every, len(wanted), where)
        if how == "kill" and answer["checkpoints"]:
            return answer["checkpoints"][-1]
        if answer["checkpoint"] and self.batched:
            at = json.loads(answer["checkpoint"])["steps"]
            assert at == first + (take if how == "steps" else request["mark"]), f"{at} steps are noted: {where}"
        return answer["checkpoint"] or resume

    def check_told(self, documents, first, every, n, where):
        """The last of those that are due; of the last step it is not known whether the trainer is done with it."""
        if not self.batched:
            return
        told = [json.loads(d)["steps"] for d in documents]
        due = [s for s in range(first + 1, first + n + 1) if s % every == 0]
        maybe = [due[-1:], due[-2:-1]] if due and due[-1] == first + n else [due[-1:]]
        assert told in maybe, f"told {told}, due {due}: {where}"


def check_round(runners, seed):
    this = Round(runners, seed)
    resume = None
    for _ in range(this.rng.choice([1, 1, 2])):
        resume = this.leg(resume, last=False)
    this.leg(resume, last=True)
    this.close()


def test_random(runners):
    """random data, rules, cuts, ranks, workers: parts joined are the uninterrupted run"""
    for seed in range(OPTIONS["seed"], OPTIONS["seed"] + OPTIONS["n"]):
        try:
            check_round(runners, seed)
        except Exception:
            print(f"# repeat: {' '.join(sys.argv[:2])} seed={seed} n=1")
            raise


if __name__ == "__main__":
    RUNNERS = [Runner(ORDER_RUN), Runner(ORDER_RUN), Runner(ORDER_RUN, HR_STALL="1"), Runner(ORDER_RUN, HR_STALL="77")]
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")], RUNNERS))
