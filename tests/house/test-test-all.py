#!/usr/bin/env python3
"""tools/test-all: every part runs once, what runs beside the others is waited for, and the sum is that of all.

usage: test-test-all.py SOURCE_ROOT: the parts are stand-ins that note how they are called
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1])
RUN_TESTS = """#!/bin/bash
echo "tests $*" >>called
case "$*" in
  *--logbase=soak*) # as long as another part has not come to its end, so does this
    for _ in $(seq 600); do grep -q check-format called && break; sleep 0.1; done
    grep -q check-format called || { echo "it does not run beside the others"; exit 1; }
    echo "1 0 0" >>"$HR_TEST_SUMS"; echo "words of the soak"; exit ${SOAK_STATUS:-0} ;;
  *"--no-suite soak"*) # and so does the compiling
    for _ in $(seq 600); do [ -s ahead ] && break; sleep 0.1; done
    [ "$MESON_TESTTHREADS" -ge "$(nproc)" ] || exit 1
    echo "10 0 2" >>"$HR_TEST_SUMS" ;;
  *) echo "10 0 2" >>"$HR_TEST_SUMS" ;;
esac
"""
MAKE = """#!/bin/bash
if [ "$1" = ahead ]; then
  trap 'echo ended >>ahead; exit' TERM
  chrt --pid $$ >ahead
  for _ in $(seq 600); do sleep 0.1; done
  exit
fi
echo "make $*" >>called
[ "$1" != coverage ] || echo "20 ${COVERAGE_FAILED:-0} 0" >>"$HR_TEST_SUMS"
[ "$1" != coverage ] || [ "${COVERAGE_FAILED:-0}" = 0 ]
"""


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(length, **environment):
    """(exit status, lines, how the parts were called, what stands on stderr, what the compiling ahead noted)"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder / "tools/run-tests", RUN_TESTS)
        write(folder / "bin/make", MAKE)
        shutil.copy(ROOT / "tools/test-all", folder / "tools/test-all")
        clean = {k: v for k, v in os.environ.items() if k != "MESON_TESTTHREADS"}
        done = subprocess.run([folder / "tools/test-all", length], capture_output=True, text=True, timeout=100, check=False,
                              env={**clean, "PATH": f"{folder}/bin:{os.environ['PATH']}", **environment})
        ahead = folder / "ahead"
        until = time.monotonic() + 60
        while ahead.exists() and "ended" not in ahead.read_text() and time.monotonic() < until:
            time.sleep(0.05)
        return (done.returncode, done.stdout.splitlines(), (folder / "called").read_text().splitlines(), done.stderr,
                ahead.read_text() if ahead.exists() else None)


def test_long():
    """the soak runs beside all other parts, once, and is in the sum; what they need is compiled beside the first, and no longer"""
    status, lines, called, _, ahead = run("long")
    assert "SCHED_IDLE" in ahead and ahead.endswith("ended\n"), ahead
    assert status == 0 and lines[-1] == "31 passed, 0 failed, 2 skipped", lines
    assert "words of the soak" in lines
    soak = [line for line in called if line.startswith("tests") and "--no-suite soak" not in line]
    assert soak == ["tests build --logbase=soak --suite soak -t 10"], called
    assert "tests build --no-suite soak -t 10" in called
    assert [line for line in called if line.startswith("make")] == [
        "make " + part for part in ("coverage", "test-asan", "test-tsan", "test-valgrind", "fuzz", "check-format")], called


def test_soak_fails():
    """a soak that fails, and one that cannot even be counted, fail the run"""
    status, lines, _, errors, _ = run("long", SOAK_STATUS="1")
    assert status == 1 and lines[-1] == "31 passed, 1 failed, 2 skipped" and "finish_beside" in errors, (lines, errors)


def test_part_fails():
    """what fails in another part is counted, and all others run all the same"""
    status, lines, called, errors, _ = run("long", COVERAGE_FAILED="3")
    assert status == 1 and lines[-1] == "31 passed, 3 failed, 2 skipped" and "make coverage" in errors, (lines, errors)
    assert "make check-format" in called and "words of the soak" in lines


def test_short():
    """without the long ones there is no soak, and nothing is compiled ahead"""
    status, lines, called, _, ahead = run("short")
    assert ahead is None
    assert status == 0 and lines[-1] == "10 passed, 0 failed, 2 skipped", lines
    assert called == ["tests build --no-suite long", "make test-fuzzed", "make fuzz"], called


def main():
    tests = [test_long, test_soak_fails, test_part_fails, test_short]
    print(f"1..{len(tests)}")
    bad = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print("ok", number, test.__doc__)
        except Exception as error:  # pylint: disable=broad-except
            bad += 1
            print("#", repr(error)[:2000].replace("\\n", "\n# "))
            print("not ok", number, test.__doc__, flush=True)
    sys.exit(bad > 0)


main()
