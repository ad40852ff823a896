"""Runs the unittest cases of a module and tells the results as TAP, which meson counts."""
import sys
import traceback
import unittest


class _Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.n = 0

    def _say(self, ok, test, note="", trace=None):
        self.n += 1
        if trace is not None:
            print("\n".join("# " + line for line in "".join(traceback.format_exception(*trace)).splitlines()))
        print(f"{'ok' if ok else 'not ok'} {self.n} {test.shortDescription() or test}{note}", flush=True)

    def addSuccess(self, test):
        self._say(True, test)

    def addSkip(self, test, reason):
        self._say(True, test, f" # SKIP {reason}")

    def addError(self, test, err):
        self._say(False, test, trace=err)

    addFailure = addError


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}", flush=True)
    suite.run(_Result())
