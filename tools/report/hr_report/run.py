"""The numbers of a run: those of its processes together."""
import bisect

from .record import SUMS, Process

SENDERS = ("shmsink", "pipesink")  # a process that ends in one feeds another
RECEIVERS = ("shmsrc", "pipesrc")
POINTS = 300  # of a run's line in a plot


class Run:
    """One process, or several that worked together: their times and bytes are added up, and what the trainers say of samples and of
    waiting counts."""

    def __init__(self, name, paths):
        self.name, read = name, [Process(path) for path in paths]
        self.takers = [p for p in read if not p.has(SENDERS)] or read
        self.processes = [p for p in read if p not in self.takers] + self.takers
        self.ranks = sorted((p for p in self.takers if p.rank is not None), key=lambda p: p.rank)
        self.trainers = [p for p in self.takers if p.end.get("wait_ratio") is not None and p.of("prepare_s") + p.of("train_s") > 0]

    def sum(self, key, processes=None):
        return sum(p.of(key, 0) for p in (self.processes if processes is None else processes))

    @property
    def producers(self):
        """of all nodes, each once, as they were last: all ranks tell of all of them"""
        found = {}
        for p in self.ranks:
            for key, producer in p.producers.items():
                if key not in found or found[key]["units"] <= producer["units"]:
                    found[key] = producer
        return [found[key] for key in sorted(found)]

    @property
    def silent(self):
        """(index, where, why) of producers that did not answer in the end, to nobody"""
        last = [producer for p in self.ranks for producer in p.of("producers", [])]
        answered = {producer["index"] for producer in last if producer.get("error") is None}
        return sorted({(producer["index"], producer.get("ip") or "–", producer["error"]) for producer in last
                       if producer.get("error") is not None and producer["index"] not in answered})

    @property
    def whole(self):
        """what producers cost is for all ranks: it is known of a sample only where all of them are"""
        return all(p.rank[1] == len(self.ranks) for p in self.ranks)

    @property
    def parts(self):
        """of the trainers' time: waiting for data, for the device, training"""
        stood = sum(p.stood for p in self.trainers)
        return self.sum("prepare_s", self.trainers), stood, self.sum("train_s", self.trainers) - stood

    @property
    def ratio(self):
        return (self.parts[0] + self.parts[1]) / sum(self.parts) if self.trainers else None

    @property
    def step_s(self):
        steps = self.sum("steps", self.trainers)
        return sum(self.parts) / steps if steps else None

    @property
    def wall(self):
        return max(p.of("wall_s") for p in self.takers)

    @property
    def samples(self):
        return self.sum("samples", self.takers)

    @property
    def rate(self):
        return self.samples / self.wall if self.wall > 0 else None

    def a_sample(self, value):
        return value / self.samples if self.samples and value is not None else None

    @property
    def cpu_ms(self):
        return self.a_sample(1000 * (self.sum("cpu_s") + sum(p.get("cpu_s") or 0 for p in self.pipelines))) if self.whole else None

    @property
    def pipelines(self):
        """of producers"""
        return [producer["pipeline"] for producer in self.producers if producer.get("pipeline")]

    @property
    def copied(self):
        """None: not known of all ranks"""
        told = [p.of("elements", []) for p in self.processes] + [pipeline.get("elements") or [] for pipeline in self.pipelines]
        return sum(e.get("bytes_copied", 0) for elements in told for e in elements) if self.whole else None

    @property
    def peaks(self):
        return [p.of("peak_rss_bytes") for p in self.processes] + [pipeline.get("peak_rss_bytes") or 0 for pipeline in self.pipelines]

    @property
    def cold(self):
        known = [p.end["cold_start_s"] for p in self.takers if p.end.get("cold_start_s") is not None]
        return max(known) if known else None

    @property
    def most(self):
        """whom it waited for: who waits for another process has it there; of ranks the one that waited most"""
        if self.ranks:
            return max(self.ranks, key=lambda p: p.of("wait_ratio")).bottleneck
        for p in self.takers:
            names = [e["name"] for e in p.of("elements", []) if e.get("factory") in RECEIVERS]
            if p.bottleneck.get("element") not in names:
                return p.bottleneck
        return self.processes[0].bottleneck

    def kinds(self):
        found = {}
        for p in self.takers:
            for kind, n in p.of("skipped", {}).items():
                found[kind] = found.get(kind, 0) + n
        return found

    def status(self):
        return ", ".join(dict.fromkeys(p.status() for p in self.processes))

    def rows(self):
        """of all takers together: at the times of the one that tells most"""
        first = max(self.takers, key=lambda p: len(p.rows))
        yield dict.fromkeys(SUMS, 0)
        times = [[row["wall_s"] for row in p.rows] for p in self.takers]
        stride = max(1, len(first.rows) // POINTS)
        for row in first.rows[::-1][::stride][::-1]:
            known = [p.rows[i - 1] for p, when in zip(self.takers, times) if (i := bisect.bisect_right(when, row["wall_s"])) > 0]
            yield {**{key: sum(other[key] for other in known) for key in SUMS}, "wall_s": row["wall_s"]}
