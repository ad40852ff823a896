"""A file of hr-launch --record: its lines, and the process that wrote them."""
import json
import sys

from .stats import is_number, is_stats

FORMAT = 1
LONGEST_LINE = 1 << 24
SUMS = ("wall_s", "prepare_s", "transfer_wait_s", "train_s", "samples", "steps")  # what is kept of a row


class BadRun(Exception):
    """A file that is no run: who, where, what was expected."""


def lines_of(path):
    """(its number, a line without its end); a record has no long ones, and what is none may be without end"""
    with open(path, "rb") as file:
        for n in range(1, sys.maxsize):
            line = file.readline(LONGEST_LINE)
            if not line:
                return
            if len(line) == LONGEST_LINE:
                raise BadRun(f"{path}:{n}: longer than {LONGEST_LINE >> 20} MiB; expected a file of hr-launch --record")
            yield n, line


def read_line(path, n, line, last):
    """None: it was cut in the middle of its last line"""
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        if last and n > 1 and not line.endswith(b"\n"):
            return None
        raise BadRun(f"{path}:{n}: not JSON ({error}); expected a file of hr-launch --record") from error


class Process:
    """What `hr-launch --record` wrote. One that was cut off has its last row for its end, and says so."""

    def __init__(self, path):
        self.name, self.rows, self.head, end, row = path.stem, [], None, None, None
        self.producers = {}  # as they were last, by (index, pid): one that was started anew is another one
        lines = lines_of(path)
        coming = next(lines, None)
        while coming is not None:
            (n, line), coming = coming, next(lines, None)
            told = read_line(path, n, line, coming is None)
            if told is None:
                break
            if n == 1:
                if not isinstance(told, dict) or told.get("record") != FORMAT or isinstance(told["record"], bool):
                    raise BadRun(f"{path}:1: no record of a run, or of another version; expected {{\"record\": {FORMAT}, …}}, "
                                 "as hr-launch --record writes it")
                self.head = told
            elif end is not None:
                raise BadRun(f"{path}:{n}: a line behind the run's end; expected a file for each run")
            elif isinstance(told, dict) and is_stats(told.get("row")):
                row = told["row"]
                self.take(row)
            elif isinstance(told, dict) and is_stats(told.get("end")):
                end = told["end"]
                self.take(end)
            else:
                raise BadRun(f"{path}:{n}: neither a row nor an end with the numbers of a run")
        if self.head is None:
            raise BadRun(f"{path}: empty; expected a file of hr-launch --record")
        if end is None and row is None:
            raise BadRun(f"{path}: the run ended before its first row")
        self.cut = end is None
        self.end = end or row

    def take(self, stats):
        self.rows.append({key: stats.get(key) or 0 for key in SUMS})
        for producer in stats.get("producers") or []:
            if producer.get("error") is None:
                self.producers[producer["index"], producer["pid"]] = producer

    @property
    def rank(self):
        """of a run that is spread over nodes: (which, of how many); None: it is none"""
        rank, world = self.head.get("rank"), self.head.get("world")
        return (rank, world) if isinstance(self.head.get("run"), str) and is_number(rank) and is_number(world) else None

    def of(self, key, default=0.0):
        value = self.end.get(key)
        return default if value is None else value

    @property
    def stood(self):
        """the device waited for copies: to the trainer's program that is time of its own"""
        return min(self.of("transfer_wait_s"), self.of("train_s"))

    @property
    def bottleneck(self):
        return self.of("bottleneck", {})

    def has(self, factories):
        return any(e.get("factory") in factories for e in self.of("elements", []))

    def status(self):
        return "cut off" if self.cut else str(self.of("status", "?"))
