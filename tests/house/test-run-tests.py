#!/usr/bin/env python3
"""Does tools/run-tests count as it says? A small project with every way to end is run by it.

usage: test-run-tests.py RUN_TESTS
"""
import os
import subprocess
import sys
import tempfile

RUN_TESTS = os.path.abspath(sys.argv[1])
PROGRAMS = {
    "good": "printf '1..2\\nok 1 a\\nok 2 b\\n'",
    "skips": "printf '1..2\\nok 1 a # SKIP no disk\\nok 2 b\\n'",
    "bad": "printf '1..2\\nok 1 a\\nnot ok 2 b\\n'; exit 1",
    "todo": "printf '1..1\\nnot ok 1 a # TODO later\\n'",
    "dies": "printf '1..3\\nok 1 a\\n'; kill -SEGV $$",
    "late": "printf '1..1\\nok 1 a\\n'; exit 3",
    "hangs": "printf '1..2\\nok 1 a\\n'; exec sleep 600",
    "plain": "exit 0",
    "plain-bad": "exit 1",
    "plain-skip": "echo 'no device'; exit 77",
}


def run(names, environment=None, *options):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/meson.build", "w", encoding="utf-8") as out:
            out.write("project('x')\n")
            for name in names:
                with open(f"{folder}/{name}", "w", encoding="utf-8") as script:
                    script.write("#!/bin/sh\n" + PROGRAMS[name] + "\n")
                os.chmod(f"{folder}/{name}", 0o755)
                timeout = 2 if name == "hangs" else 60
                out.write(f"test('{name}', find_program('./{name}'), timeout: {timeout})\n")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HR_") and k != "MESON_TESTTHREADS"}
        subprocess.run(["meson", "setup", f"{folder}/build", folder], check=True, stdout=subprocess.DEVNULL, env=clean)
        done = subprocess.run([RUN_TESTS, f"{folder}/build", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**clean, **(environment or {})}, check=False)
        return done.returncode, done.stdout.strip().splitlines()[-1]


CASES = [
    ("passed and skipped cases", ["good", "skips"], {}, (0, "3 passed, 0 failed, 1 skipped")),
    ("a failed case", ["good", "bad"], {}, (1, "3 passed, 1 failed")),
    ("a case that is to do", ["todo"], {}, (0, "0 passed, 0 failed, 1 skipped")),
    ("a program that dies owes its other cases", ["dies"], {}, (1, "1 passed, 2 failed")),
    ("a bad exit status after good cases", ["late"], {}, (1, "1 passed, 1 failed")),
    ("a program that hangs", ["good", "hangs"], {}, (1, "3 passed, 1 failed")),
    ("programs without TAP", ["plain", "plain-bad", "plain-skip"], {}, (1, "1 passed, 1 failed, 1 skipped")),
    ("nothing may be skipped", ["skips", "plain-skip"], {"HR_REQUIRE_ALL": "1"}, (1, "1 passed, 2 failed")),
    ("records of another name", ["good", "bad"], {}, (1, "3 passed, 1 failed"), "--logbase=other"),
    ("no tests at all", [], {}, (1, "0 passed, 1 failed")),
]


def main():
    print(f"1..{len(CASES)}", flush=True)
    for i, (name, programs, environment, expected, *options) in enumerate(CASES, 1):
        got = run(programs, environment, *options)
        if got != expected:
            print(f"# expected {expected}, got {got}")
        print(f"{'ok' if got == expected else 'not ok'} {i} {name}", flush=True)


main()
