#!/usr/bin/env python3
"""Every case under tests/data/cases is a test, and its README says which: nothing is left lying there
that nobody looks at.

usage: test-cases.py SOURCE_ROOT
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
CASES = ROOT / "tests/data/cases"


def read_rows():
    rows = re.findall(r"^\| (\d\d-[a-z0-9-]+) \| (.*) \|$", (CASES / "README.md").read_text(), re.M)
    return {case: files.split(", ") for case, files in rows}


def faults(rows):
    folders = {path.name for path in CASES.iterdir() if path.is_dir()}
    yield from (f"{case} has no row" for case in sorted(folders - set(rows)))
    yield from (f"{case} has no folder" for case in sorted(set(rows) - folders))
    for case, files in rows.items():
        for name in files:
            path = ROOT / name
            if not path.is_file():
                yield f"{case}: there is no {name}"
            elif case not in path.read_text():
                yield f"{case}: {name} does not use it"
        answer = CASES / case / "case.json"
        if answer.is_file() and json.loads(answer.read_text())["id"] != case:
            yield f"{case}: its case.json is another's"


def main():
    print("1..1", flush=True)
    rows = read_rows()
    found = list(faults(rows))
    for text in found:
        print(f"# {text}")
    print("not ok" if found or len(rows) < 20 else "ok", "1 every case has a test")


main()
