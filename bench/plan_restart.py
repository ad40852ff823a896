"""What a restart costs at 10 % and at 90 % of an epoch, beside other loaders: the measure `restart` of bench/plan.

One text of JSON lines, shuffled, batches of 32, one rank, all of it in the page cache. Each loader walks through the
epoch once, uninterrupted; so come its checkpoints, and the digest of the batch behind each. Then fresh processes take
turns, round by round: each goes on from a checkpoint and ends with its first batch. `exact`: that is the batch that
the uninterrupted run had there, in every round.

wall and CPU seconds count from the start of the process to that batch, with all its processes; `loaded` from when its
libraries or plugins had been loaded: a trainer has torch in any case. `read_bytes` is what was asked of read() and its
like since then. Cold: the folder of the plan cache is empty. What a loader needs before its first run is its own line.

Bars, of processor time. Ours at 90 % over ours at 10 %: 1.2, of the least of all rounds: threads that have begun with
what comes behind the first batch are counted too, as far as they happen to be, and never less than that batch takes.
Ours at 90 %, with a warm plan cache, over the best exact peer's: 0.5 from the start of the process; 1.0 without what it
takes to load libraries: then both do the same work, a checkpoint, a place in the order, 32 lines, and it must not cost
more that ours may go on with another number of ranks and workers, and needs no shards and no file of lines.
"""
import json
import os
import pathlib
import random
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build/venv-plan"
BATCH, SEED = 32, 1
PARTS = (10, 90)
PEERS = [("mosaicml", 0), ("mosaicml", 2), ("torchdata", 0), ("torchdata", 2), ("torchdata, no index", 0)]
BAR_PARTS, BAR_PEER = 1.2, {"cpu": 0.5, "loaded_cpu": 1.0}
TIMEOUT = 1800  # seconds; a loader that does not end is told as skipped


def write_text(path, n):
    """about 300 bytes a line, no two alike"""
    rng = random.Random(SEED)
    words = " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(20000))
    with open(path, "w", encoding="ascii") as file:
        for i in range(n):
            question, answer, at = rng.randint(20, 100), rng.randint(20, 220), rng.randrange(len(words) - 400)
            file.write('{"id":%d,"messages":[{"role":"user","content":"%d %s"},{"role":"assistant","content":"%s"}]}\n'
                       % (i, i, words[at:at + question], words[at + question:at + question + answer]))
    return path.stat().st_size


def run(command, **options):
    """(its lines of JSON, seconds of the monotonic clock when it began)"""
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT,
                          **options)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1])
    return [json.loads(line) for line in done.stdout.splitlines()], begin


class Loader:
    """one that walks and resumes, by commands that say the same lines"""
    lacks = {}

    def __init__(self, who, folder):
        self.who, self.folder = who, folder
        folder.mkdir()
        self.rounds = {part: [] for part in PARTS}

    def environment(self):
        return dict(os.environ)

    def checkpoint(self, part):
        return self.folder / f"{part}.ck"

    def walk(self, steps):
        marks = [word for part in PARTS for word in (steps[part], self.checkpoint(part))]
        lines, _ = run([*self.command, "walk", *marks], env=self.environment())
        self.expected = {part: line["digest"] for part, line in zip(PARTS, lines, strict=True)}

    def resume(self, part):
        (line,), begin = run([*self.command, "resume", self.checkpoint(part)], env=self.environment())
        begun, got = line["begun"], line["got"]
        self.rounds[part].append({
            "wall": got[0] - begin, "cpu": got[1], "loaded_wall": got[0] - begun[0], "loaded_cpu": got[1] - begun[1],
            "read_bytes": got[2] - begun[2], "exact": line["digest"] == self.expected[part],
            **{key: line[key] for key in ("reread_bytes", "reread_lines") if key in line}})

    def exact(self):
        return all(one["exact"] for rounds in self.rounds.values() for one in rounds)

    def report(self, say):
        for part in PARTS:
            rounds = self.rounds[part]
            cpus = [one["cpu"] for one in rounds]
            middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0] if key != "exact"}
            say(who=self.who, metric=f"restart at {part} %", value=round(middle.pop("cpu"), 4), unit="CPU seconds",
                spread=[round(min(cpus), 4), round(max(cpus), 4)], exact=all(one["exact"] for one in rounds),
                **{key: round(value, 4) if "bytes" not in key and "lines" not in key else int(value)
                   for key, value in middle.items()},
                checkpoint_bytes=self.checkpoint(part).stat().st_size, settings=self.settings, version=self.version,
                **self.lacks)


class Ours(Loader):
    def __init__(self, build, text, folder, shuffle, warm):
        super().__init__(f"headrace {shuffle}, {'warm' if warm else 'cold'}", folder / f"headrace-{shuffle}-{warm}")
        self.warm, self.cache = warm, folder / "plan-cache"
        self.settings = f"filesrc shuffle={shuffle} seed={SEED} ! jsonlparse ! batch size={BATCH} ! appsink"
        self.command = [build / "bench/hr-restart",
                        self.settings.replace("filesrc", f"filesrc location={text}")]
        self.version = subprocess.run([build / "tools/hr-launch", "--version"], check=True, capture_output=True,
                                      text=True).stdout.split()[-1]
        self.n = 0

    def environment(self):
        self.n += not self.warm  # a folder that nobody has used
        return dict(os.environ, HR_PLAN_CACHE=str(self.cache if self.warm else self.folder / f"cache-{self.n}"))


class Peer(Loader):
    def __init__(self, who, workers, text, folder, say):
        super().__init__(f"{who}, {workers} workers", folder / f"{who}-{workers}")
        data = folder / f"{who}-data"
        self.command = [VENV / "bin/python3", ROOT / "bench/plan-peer.py", who, workers, data]
        if data.exists():
            return
        data.mkdir()
        (line,), _ = run([*self.command, "prepare", text])
        (data / "known.json").write_text(json.dumps(line), encoding="utf-8")
        say(who=who, metric="prepare", value=round(line["cpu"], 3), unit="CPU seconds", wall=round(line["wall"], 3),
            bytes=line["bytes"], version=line["versions"])

    def walk(self, steps):
        known = json.loads((self.command[-1] / "known.json").read_text(encoding="utf-8"))
        self.settings, self.version = known["settings"], known["versions"]
        self.lacks = {"lacks": known["lacks"]}
        super().walk(steps)


def install_peers():
    """what cannot be installed is missed by its peer, which is then told as skipped"""
    requirements = ROOT / "bench/plan-requirements.txt"
    environment = dict(os.environ, HR_VENV=str(VENV))
    if subprocess.run([ROOT / "tools/venv", requirements.relative_to(ROOT)], env=environment).returncode == 0:
        return
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            subprocess.run([VENV / "bin/python3", "-m", "pip", "install", "--quiet", line])


def begin_ours(options, text, folder, say):
    all_ours = [Ours(options.build, text, folder, shuffle, warm) for shuffle in ("window", "full")
                for warm in (False, True)]
    first = all_ours[-1]
    before = os.times()
    _, begin = run([first.command[0], "scan=lines " + first.command[1], "walk", 1, folder / "unused.ck"],
                   env=first.environment())
    after = os.times()
    say(who="headrace", metric="prepare", value=round(after[2] + after[3] - before[2] - before[3], 3),
        unit="CPU seconds", wall=round(time.monotonic() - begin, 3),
        bytes=sum(path.stat().st_size for path in first.cache.rglob("*") if path.is_file()), version=first.version)
    return all_ours


def begin_peers(text, folder, steps, say):
    install_peers()
    begun = []
    for who, workers in PEERS:
        try:
            peer = Peer(who, workers, text, folder, say)
            peer.walk(steps)
            peer.resume(PARTS[0])  # and with that its libraries are in the page cache
            peer.rounds[PARTS[0]].clear()
            begun.append(peer)
        except Exception as error:
            say(who=f"{who}, {workers} workers", metric="skipped", value=None, unit=None, exact=None,
                why=str(error)[:300])
    return begun


def ratio(of, pairs, exact, bar=None, value=None):
    pairs = list(pairs)
    value = round(statistics.median(pairs) if value is None else value, 3)
    more = {} if bar is None else {"bar": bar, "holds": value <= bar and exact}
    return {"of": of, "value": value, "spread": [round(min(pairs), 3), round(max(pairs), 3)], "exact": exact,
            "better": "lower", **more}


def compare(ours, peer, key, bar=None):
    return ratio(f"restart at 90 %, {key.replace('_', ', ')}: {ours.who} / {peer.who}",
                 (a[key] / b[key] for a, b in zip(ours.rounds[90], peer.rounds[90])), ours.exact() and peer.exact(), bar)


def measure(options, folder, say):
    """Yields the ratios."""
    text = folder / "restart.jsonl"
    size = write_text(text, options.lines)
    say(metric="text of restarts", value=size, unit="bytes", lines=options.lines)
    steps = {part: options.lines * part // 100 // BATCH for part in PARTS}
    ours = begin_ours(options, text, folder, say)
    for one in ours:
        one.walk(steps)
    peers = [] if options.no_peers else begin_peers(text, folder, steps, say)
    for number in range(options.rounds):
        for one in (ours + peers)[::-1 if number % 2 else 1]:
            for part in PARTS[::-1 if number % 2 else 1]:
                one.resume(part)
    for one in ours + peers:
        one.report(say)
    for one in peers + ours:
        early, late = ([a["cpu"] for a in one.rounds[part]] for part in PARTS)
        yield ratio(f"restart at 90 % / at 10 %, least of {len(late)}: {one.who}", (b / a for a, b in zip(early, late)),
                    one.exact(), BAR_PARTS if one in ours else None, min(late) / min(early))
    exact = [peer for peer in peers if peer.exact()]
    if not exact:
        return
    for one in ours:
        for key in BAR_PEER:
            best = min(exact, key=lambda peer: statistics.median(a[key] for a in peer.rounds[90]))
            yield compare(one, best, key, BAR_PEER[key] if one.warm else None)
