"""What the tests of the order share: order-run, data sets made at random, TAP."""
import ctypes
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import traceback

import reference

HANGS = 50 * int(os.environ.get("MESON_TEST_TIMEOUT_MULTIPLIER", "1"))
BOM = b"\xef\xbb\xbf"
ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_compressBound.restype = ZSTD.ZSTD_compress.restype = ctypes.c_size_t


def zstd_frame(text):
    room = ZSTD.ZSTD_compressBound(ctypes.c_size_t(len(text)))
    buffer = ctypes.create_string_buffer(room)
    size = ZSTD.ZSTD_compress(buffer, ctypes.c_size_t(room), text, ctypes.c_size_t(len(text)), 3)
    return buffer.raw[:size]


class Runner:
    """A process that runs one pipeline after the other."""

    def __init__(self, program, **environment):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "HR_PLAN_CACHE": "", **environment})

    def run(self, text, **request):
        self.process.stdin.write(json.dumps({"text": text, **request}) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], HANGS)[0]:
            self.process.kill()
            raise AssertionError(f"no answer in {HANGS} s: {request} {text}")
        answer = self.process.stdout.readline()
        assert answer, f"order-run died ({self.process.wait()}) with {text}"
        return json.loads(answer)

    def steps(self, text, **request):
        answer = self.run(text, **request)
        assert answer["error"] is None, f"{answer['error']}\n{text}"
        return answer["steps"]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def record(name, words=1):
    return json.dumps({"id": name, "conversations": [{"from": "human", "value": "say " + name},
                                                     {"from": "gpt", "value": " ".join([name] * words)}]}).encode()


class Data:
    """Objects in a folder; `bad` are the lines that no sample can be made of."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="order-"))
        self.objects, self.bad = {}, set()

    def add(self, key, data):
        self.objects[key] = data
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def add_random(self, random, key, n, bad=0.0, long=0):
        """n lines, with all that may stand between them; longer ones than `long` bytes are bad, too."""
        end, out = random.choice([b"\n", b"\n", b"\r\n"]), bytearray()
        for i in range(n):
            while random.random() < 0.1:
                out += random.choice([b"", b" ", b"\t \r", BOM, BOM + b"  "]) + end
            line = record(f"{key}-{i}", random.choice([1, 1, 1, 3, 30]))
            if random.random() < bad:
                line = line[:-random.randrange(1, 9)]
                self.bad.add((key, len(out)))
            elif random.random() < 0.1:
                line += b" " * max(random.choice([long - len(line), long - len(line) + 1, 3 * long]), 0)
            if random.random() < (0.05 if out else 0.2):
                line = BOM + line
            if long and len(line) > long:
                self.bad.add((key, len(out)))
            out += line + end
        if out.endswith(end) and random.random() < 0.3:
            del out[-len(end):]
        self.add(key, bytes(out))

    def remove(self):
        shutil.rmtree(self.folder)


KEYS = ["a.jsonl", "a-.jsonl", "a/b.jsonl", "ab.jsonl", "z/ä.jsonl", "z/a.jsonl", "z.jsonl"]


def random_data(random, bad=0.0, long=0, most=40, prefix=""):
    data = Data()
    for key in random.sample(KEYS, random.choice([1, 1, 2, 3, 5])):
        data.add_random(random, prefix + key, random.choice([0, 1, 2, 3, 7, random.randrange(most)]), bad, long)
    return data


def show(properties):
    return " ".join(f"{k.replace('_', '-')}={str(v).lower() if isinstance(v, bool) else v}" for k, v in properties.items())


def expected_members(slots, first, rank, size, bad):
    """What a rank gets of a step: [key, byte, place, is it a hole]."""
    return [[*(slot or (None, None)), first + i, slot is None or slot in bad]
            for i, slot in enumerate(slots) if i // size == rank]


def got_members(step):
    return [[m[0], m[1], m[3], m[4] is None] for m in step[4]]


def random_rules(rng, n_bytes):
    """Properties of the source, and of the pipeline."""
    rules = {"shuffle": rng.choice(["none", "window", "full"]), "seed": rng.choice([0, 1, 7, 2**63 - 1]),
             "block_bytes": rng.choice([*([1] if n_bytes < 1000 else []), 50, 200, 1000, n_bytes + 1]), "window_blocks": rng.choice([1, 2, 3, 16])}
    run = {"world": rng.choice([1, 1, 2, 3, 4]), "epochs": rng.choice([0, 1, 1, 2, 3])}
    for name in ("limit", "steps"):
        if rng.random() < 0.25:
            run[name] = rng.randrange(1, 60)
    if run["epochs"] == 0 and "limit" not in run and "steps" not in run:
        run["steps"] = rng.randrange(1, 30)
    return rules, run


def random_mix_rules(rng):
    """Properties of a mix, but those that bound the run."""
    rules = {"weights": rng.choice(["ratio", "ratio", "epochs", "temperature"])}
    if rules["weights"] == "temperature":
        rules["temperature"] = rng.choice([0.5, 1, 2, 3.3, 100])
    elif rules["weights"] == "ratio" and rng.random() < 0.5:
        rules["end"] = rng.choice(["longest", "shortest"])
    for name, values in (("pattern", ["even", "random"]), ("seed", [0, 5, 2**63 - 1]), ("shuffle", ["none", "window", "full"])):
        if rng.random() < 0.5:
            rules[name] = rng.choice(values)
    return rules


def random_member(rng, number, rules, bad=None, long=0):
    """A data set of at least one line, and what is said of it."""
    while True:
        data = random_data(rng, bad=rng.choice([0, 0, 0.1, 1]) if bad is None else bad, long=long, most=rng.choice([3, 20, 40]), prefix=f"{number}-")
        n = sum(len(reference.lines(d)) for d in data.objects.values())
        if n > 0:
            break
        data.remove()
    said = {"weight": rng.choice([1, 1, 2, 3, 0.5, 0.3, 7, 1.25, 0.333333, 40])}
    for name, values in (("repeat", [True, False]), ("shuffle", ["none", "window", "full"]), ("seed", [0, 3, 2**63 - 1]),
                         ("block_bytes", [50, 200, 1000]), ("window_blocks", [1, 3])):
        if rng.random() < 0.4:
            said[name] = rng.choice(values)
    if rules["weights"] == "epochs" and not said.get("repeat", True):
        said["weight"] = min(said["weight"], 1)
    return data, said


def main(tests, *args):
    """Runs functions as cases of TAP, each with its doc string as its name."""
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for i, test in enumerate(tests, 1):
        try:
            test(*args)
            print(f"ok {i} {test.__doc__}", flush=True)
        except Exception:  # a failed test is a line of TAP, whatever it was
            failed += 1
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok {i} {test.__doc__}", flush=True)
    return 1 if failed else 0
