"""What the checks of this folder share: hr-verify parity over a file of records, and TAP."""
import json
import os
import random
import subprocess
import sys
import traceback


class Verify:
    def __init__(self, build, root):
        self.tool = os.path.join(build, "tools", "hr-verify")
        self.vocab = os.path.join(root, "build", "vocab")

    def start(self, source, tokenize, tail, *options, decode=""):
        """all records of a JSONL through the pipeline"""
        text = (f"{source} ! imagefetch on-error=skip ! tokenize tokenizer={self.vocab}/tokenizer.json on-error=skip {tokenize}"
                f" ! imagedecode on-error=skip {decode} ! {tail} ! batch size=8 ! fakesink")
        return subprocess.run([self.tool, "parity", "--python", sys.executable, "--tokenizer", self.vocab, "--samples", "all",
                               *options, text], capture_output=True, text=True, check=False)

    def result(self, *arguments, **more):
        """what --json says; anything on stderr, or another status than it says, is an error"""
        done = self.start(*arguments, "--json", **more)
        try:
            result = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise RuntimeError(f"{done.returncode}: {done.stdout} {done.stderr}") from None
        assert done.returncode == (0 if result["ok"] else 1), (done.returncode, done.stderr)
        result["stderr"] = done.stderr
        return result


class Tap:
    def __init__(self, planned):
        self.n, self.failed = 0, False
        print(f"1..{planned}", flush=True)

    def case(self, good, name):
        self.n += 1
        self.failed |= not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)


def say(text):
    """more about the case that follows"""
    print("\n".join("# " + line for line in str(text).splitlines()), flush=True)


def seeded(argument):
    seed = int(argument) if argument else random.randrange(1 << 32)
    say(f"seed {seed}")
    return random.Random(seed)


def run_cases(namespace):
    """every test_ function of a script"""
    tests = [(name, test) for name, test in namespace.items() if name.startswith("test_")]
    tap = Tap(len(tests))
    for name, test in tests:
        try:
            test()
        except Exception:  # whatever it is, the others run
            say(traceback.format_exc())
            tap.case(False, name[5:])
        else:
            tap.case(True, name[5:])
    return tap.failed
