#!/usr/bin/env python3
"""docs/tutorial.md, each command as it stands, in a fresh home folder; with "long" the part with torch, too. What makes and
installs is only looked at (make -n): it has been done.

usage: test-tutorial.py BUILD SOURCE_ROOT short|long
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import markdown

BUILD, ROOT, LONG = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] == "long"
PAGE = ROOT / "docs" / "tutorial.md"
PYTHON = pathlib.Path(os.environ.get("HR_VENV") or ROOT / "build" / "venv") / "bin" / "python3"


def chosen(block):
    return LONG or "torch" not in block.words


def run(scratch):
    home = scratch / "home"
    home.mkdir()
    shell = markdown.Shell(markdown.repository(ROOT, BUILD, scratch / "headrace"),
                           {**os.environ, "HOME": str(home), "MAKEFLAGS": "n", "HR_BUILD": str(BUILD), "HR_PLAN_CACHE": "",
                            "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        return markdown.run_page(PAGE, shell, chosen, 600 if LONG else 120)
    finally:
        shell.close()


def main():
    needed = "numpy, torch" if LONG else "numpy"
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", f"import {needed}"], check=False, stderr=subprocess.DEVNULL).returncode:
        print(f"1..0 # SKIP no {needed} for {PYTHON}: run tools/venv first")
        return
    print("1..1", flush=True)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            ran, compared = run(pathlib.Path(scratch))
        # a page that has lost its blocks would be right, too
        assert ran >= 16 and compared >= 11, (ran, compared)
        print(f"ok 1 {ran} blocks were run, and {compared} outputs are as they are shown")
    except Exception:  # noqa: a failed test is a line of TAP, whatever it was
        print("# " + traceback.format_exc().replace("\n", "\n# "))
        print("not ok 1 the tutorial")


main()
