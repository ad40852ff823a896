#!/usr/bin/env python3
"""The element reference: `make docs` writes a page for every element, with every property in it.

usage: test-docs.py BUILD SOURCE_ROOT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

BUILD, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def inspect(*words):
    return json.loads(subprocess.run([BUILD / "tools/hr-inspect", "--json", *words], check=True, stdout=subprocess.PIPE).stdout)


def main():
    print("1..1", flush=True)
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([ROOT / "tools/make-docs", BUILD, out], check=True, stdout=subprocess.DEVNULL)
        index = (pathlib.Path(out) / "README.md").read_text()
        names = [row["name"] for row in inspect()["elements"]]
        missing = [n for n in names if f"({n}.md)" not in index]
        for name in names:
            page = (pathlib.Path(out) / f"{name}.md").read_text()
            element = inspect(name)
            wanted = [element["summary"], *(f"`{p['name']}`" for p in element["properties"]), *element["examples"]]
            missing += [f"{name}: {text}" for text in wanted if text not in page]
        for text in missing:
            print(f"# not there: {text}")
        print("not ok" if missing or len(names) < 10 else "ok", "1 a page for every element, a row for every property")


main()
