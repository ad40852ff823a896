"""Which files are which run."""
import json
import os
import re

from .record import BadRun, lines_of


def natural(path):
    """2-x before 10-x"""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", path.name)]


def records(folder):
    return sorted(folder.glob("*.jsonl"), key=natural)


def rank_of(path):
    """(the run, the rank) that a file is of; (None, None): of a run that is not spread over nodes, or of none"""
    try:
        head = json.loads(next(lines_of(path), (1, b""))[1].decode())
        return (head["run"], int(head["rank"])) if isinstance(head["run"], str) else (None, None)
    except (BadRun, OSError, LookupError, TypeError, ValueError, OverflowError, RecursionError):
        return None, None


def join_ranks(folder, paths):
    """[(what it is called after, paths)]: files of one run's ranks together, at the place of the first; of two runs of the same ranks nobody
    can tell which belongs to which"""
    known = {path: rank_of(path) for path in paths}
    together = {}
    for path, (run, rank) in known.items():
        if run is not None:
            together.setdefault(run, []).append((rank, path))
    found = []
    for path in paths:
        ranks = together.get(known[path][0], [])
        if len(ranks) < 2 or len({rank for rank, _ in ranks}) < len(ranks):
            found.append((path, [path]))
        elif path == ranks[0][1]:
            stem = os.path.commonprefix([other.stem for _, other in ranks]).rstrip("-_. ")
            found.append((folder if len(ranks) == len(paths) or not stem else folder / stem, [other for _, other in sorted(ranks)]))
    return found


def find_runs(given):
    """[(name, paths of its processes)]"""
    found = []
    for path in given:
        if not path.is_dir():
            found.append((path, [path]))
            continue
        runs = join_ranks(path, [entry for entry in records(path) if not entry.is_dir()])
        inside = [(entry, records(entry)) for entry in path.iterdir() if entry.is_dir()]
        runs += [(entry, paths) for entry, paths in inside if paths]
        if not runs:
            raise BadRun(f"{path}: no *.jsonl in it; expected files of hr-launch --record")
        found += sorted(runs, key=lambda run: natural(run[0]))
    stems = [path.stem if paths == [path] else path.resolve().name for path, paths in found]
    # what is called alike is told apart by where it lies
    return [(str(path.with_suffix("")) if stems.count(stem) > 1 else stem, paths) for (path, paths), stem in zip(found, stems)]
