"""A loader beside ours, for bench/plan: it gets ready, walks through an epoch, and begins anew.

usage: plan-peer.py WHO WORKERS FOLDER prepare TEXT            what must be done before the first run
       plan-peer.py WHO WORKERS FOLDER walk [STEP CHECKPOINT]…
       plan-peer.py WHO WORKERS FOLDER resume CHECKPOINT

As hr-restart: a line of JSON for each CHECKPOINT, the digest of the batch behind it; resume says
besides what its first batch has cost, worker processes included. The settings are those of the
loaders' own documentation.
"""
import hashlib
import json
import pathlib
import sys
import time

BATCH, SEED = 32, 1


def read_record(line):
    user, assistant = json.loads(line)["messages"]
    return {"user": user["content"], "assistant": assistant["content"]}


# ---- what it has cost so far

def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            of_task = (task / "children").read_text().split()
        except FileNotFoundError:  # a thread that has just ended
            continue
        for child in of_task:
            found += [int(child), *children(int(child))]
    return found


def cost():
    """[monotonic, processor seconds, bytes read] of this process and those below it"""
    now, cpu, size = time.monotonic(), 0.0, 0
    for pid in ["self", *children("self")]:
        # the kernel's number for the processor clock of a process
        cpu += time.process_time() if pid == "self" else time.clock_gettime(~pid << 3 | 2)
        fields = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
        size += int(fields["rchar"])
    return [now, cpu, size]


# ---- the loaders: each gives (loader, write its state, read it, settings, versions)

class Mosaic:
    """MosaicML Streaming: docs/fast_resumption, shards on local disk"""
    settings = "StreamingDataset(shuffle=True), StreamingDataLoader, MDS on local disk, all else as it comes"
    lacks = "reads no JSON lines: all text is written anew, as shards, beforehand"

    def __init__(self, workers, folder):
        import streaming
        self.streaming, self.workers, self.data = streaming, workers, folder / "mds"
        self.versions = f"mosaicml-streaming {streaming.__version__}"

    def prepare(self, text):
        with self.streaming.MDSWriter(out=str(self.data), columns={"user": "str", "assistant": "str"}) as out:
            with open(text, "rb") as lines:
                for line in lines:
                    out.write(read_record(line))
        return sum(path.stat().st_size for path in self.data.iterdir())

    def begin(self):
        data = self.streaming.StreamingDataset(local=str(self.data), shuffle=True, shuffle_seed=SEED, batch_size=BATCH)
        self.loader = self.streaming.StreamingDataLoader(data, batch_size=BATCH, num_workers=self.workers)

    def save(self, path):
        pathlib.Path(path).write_text(json.dumps(self.loader.state_dict()), encoding="utf-8")

    def load(self, path):
        self.loader.load_state_dict(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))


class Lines:
    """a map-style data set over JSON lines; where they begin is kept in a file of numpy's, or found each time"""
    def __init__(self, text, index):
        import numpy
        self.text, self.file = text, None
        self.begins = numpy.load(index) if index else find_lines(text)

    def __len__(self):
        return len(self.begins) - 1

    def __getitem__(self, i):
        if self.file is None:  # each worker its own
            self.file = open(self.text, "rb", buffering=0)
        self.file.seek(self.begins[i])
        return read_record(self.file.read(self.begins[i + 1] - self.begins[i]))


def find_lines(path):
    """where each line begins, and the end; every line of the text ends with LF"""
    import numpy
    found, at = [numpy.zeros(1, numpy.int64)], 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(1 << 24):
            found.append(numpy.flatnonzero(numpy.frombuffer(block, numpy.uint8) == 10) + (at + 1))
            at += len(block)
    return numpy.concatenate(found)


class Stateful:
    """torchdata's StatefulDataLoader: a map-style data set and shuffle=True, as in its README"""
    index = True
    settings = "StatefulDataLoader(shuffle=True), map-style data set, where lines begin in a file"
    lacks = "goes on with as many workers and ranks only; where lines begin is the user's to find"

    def __init__(self, workers, folder):
        import torch
        import torchdata
        from torchdata.stateful_dataloader import StatefulDataLoader
        self.torch, self.kind, self.workers, self.folder = torch, StatefulDataLoader, workers, folder
        self.versions = f"torchdata {torchdata.__version__} torch {torch.__version__}"

    def prepare(self, text):
        import numpy
        (self.folder / "text.jsonl").symlink_to(text)
        if not self.index:
            return 0
        numpy.save(self.folder / "lines.npy", find_lines(text))
        return (self.folder / "lines.npy").stat().st_size

    def begin(self):
        data = Lines(str(self.folder / "text.jsonl"), self.folder / "lines.npy" if self.index else None)
        self.loader = self.kind(data, batch_size=BATCH, shuffle=True, num_workers=self.workers,
                                generator=self.torch.Generator().manual_seed(SEED))

    def save(self, path):
        self.torch.save(self.loader.state_dict(), path)

    def load(self, path):
        self.loader.load_state_dict(self.torch.load(path, weights_only=False))


class StatefulScan(Stateful):
    """the same, without a file"""
    index = False
    settings = "StatefulDataLoader(shuffle=True), map-style data set, lines found at each start"
    lacks = "goes on with as many workers and ranks only; reads all text at each start"


WHO = {"mosaicml": Mosaic, "torchdata": Stateful, "torchdata, no index": StatefulScan}


# ---- commands

def digest(batch):
    return hashlib.sha256(json.dumps(batch, sort_keys=True).encode()).hexdigest()


def prepare(peer, say, text):
    before = cost()
    size = peer.prepare(pathlib.Path(text).resolve())
    after = cost()
    say(bytes=size, wall=after[0] - before[0], cpu=after[1] - before[1], settings=peer.settings,
        lacks=peer.lacks, versions=peer.versions)


def walk(peer, say, *marks):
    wanted = {int(step): path for step, path in zip(marks[::2], marks[1::2])}
    peer.begin()
    number, behind = 0, False
    for batch in peer.loader:
        number += 1
        if behind:
            say(digest=digest(batch))
        behind = number in wanted
        if behind:
            peer.save(wanted.pop(number))
        elif not wanted:
            return


def resume(peer, say, path):
    begun = cost()
    peer.begin()
    peer.load(path)
    batch = next(iter(peer.loader))
    got = cost()
    say(begun=begun, got=got, digest=digest(batch))


def main():
    import os
    out = os.fdopen(os.dup(1), "w")  # libraries may print
    os.dup2(2, 1)
    who, workers, folder, command, *arguments = sys.argv[1:]
    peer = WHO[who](int(workers), pathlib.Path(folder))
    {"prepare": prepare, "walk": walk, "resume": resume}[command](
        peer, lambda **fields: print(json.dumps(fields), file=out, flush=True), *arguments)


if __name__ == "__main__":
    main()
