#!/usr/bin/env python3
"""mypy --strict over the package, and over programs that use it: right uses have the types that are written, wrong ones
are found."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/headrace"

# a line of a program, and what mypy says to it; "" for nothing
USES = (
    ('loader = headrace.Loader("a ! b", rank=0, world=1, map=lambda sample: sample, properties={"memory": "8GiB"})', ""),
    ("reveal_type(next(loader))", "headrace.loader.Step"),
    ("reveal_type(next(loader).origin)", "dict[str, Any]"),
    ("reveal_type(loader.n_steps)", "int | None"),
    ("reveal_type(loader.state_dict())", "dict[str, Any]"),
    ('pipeline = headrace.Pipeline("a ! b", variables={"DATA": 7})', ""),
    ("reveal_type(pipeline.pull())", "headrace._core.Batch | None"),
    ('reveal_type(pipeline.push("in", {}, origin={"line": 7}))', "bool"),
    ("def look(tensor: headrace.Tensor) -> tuple[int, ...]: return tensor.shape", ""),
    ('headrace.Loader("a ! b", ids="int32")', 'Unexpected keyword argument "ids"'),
    ('headrace.Loader("a ! b", rank="0", world=1)', 'Argument "rank"'),
    ('headrace.Loader("a ! b", map=len)', 'Argument "map"'),
    ("loader.state_dict(7)", "Argument 1"),
    ("pipeline.pull().digest()", "no attribute"),
    ('pipeline.set("d", "workers")', "Missing positional argument"),
    ("headrace.Tensor().reshape(2)", "no attribute"),
)


def check(*args):
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), *args],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stdout.splitlines(), run.stderr


@unittest.skipUnless(importlib.util.find_spec("mypy") and importlib.util.find_spec("transformers"),
                     "needs mypy and transformers: tools/venv tests/long-requirements.txt")
class Types(unittest.TestCase):
    def test_package(self):
        """mypy --strict has nothing to say to the package and the stub of its extension"""
        with tempfile.TemporaryDirectory() as cache:
            status, lines, errors = check("--cache-dir", cache, str(PACKAGE))
        self.assertEqual((status, lines[:-1], errors), (0, [], ""), "\n".join(lines))
        n_files = len(list(PACKAGE.rglob("*.py*")))
        self.assertEqual(lines[-1], f"Success: no issues found in {n_files} source files")

    def test_reasons(self):
        """whatever mypy is told to overlook has a reason beside it"""
        for path in PACKAGE.rglob("*.py*"):
            for line in path.read_text(encoding="utf-8").splitlines():
                if "type: ignore" in line:
                    self.assertRegex(line, r"# type: ignore\[[a-z-]+\]  # \w", f"{path.name}: {line}")

    def test_uses(self):
        """programs that use the package: types as written, mistakes found, in the lines where they are"""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "use.py")
            program.write_text("import headrace\n" + "".join(line + "\n" for line, _ in USES))
            pathlib.Path(folder, "headrace").symlink_to(PACKAGE)
            _, lines, errors = check("--cache-dir", folder + "/cache", str(program))
        self.assertEqual(errors, "")
        told = {}
        for line in lines:
            if (match := re.match(r".*use\.py:(\d+): (?:error|note): (.*)", line)) is not None:
                told.setdefault(int(match[1]), []).append(match[2])
            else:
                self.assertRegex(line, "^Found [0-9]+ errors in 1 file ")
        for number, (code, words) in enumerate(USES, 2):
            if words:
                self.assertTrue(any(words in text for text in told.get(number, [])), f"{code}: {told.get(number)}")
            else:
                self.assertEqual(told.get(number), None, code)


tap.main()
