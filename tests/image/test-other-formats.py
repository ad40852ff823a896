#!/usr/bin/env python3
"""Files of other formats under image names: each is refused by name, and none makes anything be opened.

usage: test-other-formats.py HR_LAUNCH DATA

What a run opens is compared with what a run over one good image opens: there may be nothing more but the files
themselves. So no library, module, file or socket is opened because of what an image holds.
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LAUNCH, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
PIPELINE = "on-error=skip filesrc location={} ! jsonlparse ! imagefetch ! imagedecode ! {}"


def load_corpus():
    spec = importlib.util.spec_from_file_location("make", DATA / "other-formats" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder, name, files):
    """One record a file; returns the JSONL."""
    lines = []
    for file, content in files:
        (folder / file).write_bytes(content)
        lines.append(json.dumps({"id": file, "images": [file], "query": "<image>", "response": "A"}) + "\n")
    (folder / name).write_text("".join(lines))
    return folder / name


def run(jsonl, trace=None, sink="fakesink"):
    command = [LAUNCH, "-v", PIPELINE.format(jsonl, sink)]
    if trace:
        command = ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=openat,open,openat2,execve,socket,connect,creat",
                   "-o", str(trace)] + command
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=240,
                          env=os.environ | {"HR_PLAN_CACHE": "", "LC_ALL": "C.UTF-8"})


def skipped(result):
    """name of the file -> (kind, message)"""
    found = {}
    for kind, rest in re.findall(r"^skipped \(([a-z-]+)\): (.*)$", result.stderr, re.M):
        name = re.search(r":\d+ (\S+?): ", rest)
        if name:
            found[name.group(1)] = (kind, rest)
    return found


def calls(trace):
    """What was opened and which sockets were made, without the numbers that differ from run to run."""
    found = set()
    for line in trace.read_text(errors="replace").splitlines():
        line = re.sub(r"^\d+ +", "", line)
        if not re.match(r"(openat2?|open|execve|socket|connect|creat)\(", line):
            continue
        if line.startswith("execve(") and "filesrc location=" in line:
            continue  # we ourselves
        if '"/sys/devices/system/cpu/online"' in line:
            continue  # malloc counts the processors when it happens to need a further arena
        if re.search(r"O_DIRECTORY|/proc/self|/sys/|/dev/", line):
            line = re.sub(r"\d+", "N", line)
        found.add(re.sub(r"( <unfinished.*| = .*)$", "", line))
    return found


def can_trace(folder):
    try:
        done = subprocess.run(["strace", "-f", "-qq", "-o", folder / "probe", "/bin/true"], capture_output=True, timeout=60)
    except FileNotFoundError:
        return False
    return done.returncode == 0 and "execve" in (folder / "probe").read_text()


def beyond(corpus_names, mine, baseline):
    """Calls of a run that neither the other run made nor name a file of the corpus."""
    names = set(corpus_names)
    return sorted(call for call in mine - baseline
                  if not any(f"/{name}\"" in call for name in names) and ".jsonl\"" not in call)


def forbidden(found, modules):
    """What no run may open, good images or not; libvips loads its modules when it starts, and calls none."""
    words = r"/etc/(passwd|ImageMagick|fonts)|policy\.xml|/tmp/x\"|^(socket|connect)\("
    if not modules:
        words += "|vips-modules|Magick|poppler|libheif|libjxl|openslide"
    return sorted(call for call in found if re.search(words, call))


class Tests:
    def __init__(self):
        self.n, self.bad = 0, 0

    def check(self, good, what, why=""):
        self.n += 1
        self.bad += not good
        print(("ok" if good else "not ok"), self.n, what)
        if not good and why:
            for line in str(why).splitlines()[:20]:
                print("#", line)
        sys.stdout.flush()

    def skip(self, what):
        self.n += 1
        print("ok", self.n, f"{what} # SKIP optional: strace may not trace here")


def main():
    corpus = load_corpus()
    foreign = [(name, content) for name, content, _ in corpus.FOREIGN]
    tests = Tests()
    photo = (DATA / "cases/06-exif-orientation/o1.jpg").read_bytes()
    ours = {"JPEG": photo, "PNG": corpus.png(), "GIF": corpus.gif(),
            "WebP": (DATA / "cases/24-one-pixel/rgb.webp").read_bytes(),
            "TIFF": (DATA / "cases/23-first-frame/two-pages.tif").read_bytes(),
            "BMP": corpus.bmp()}

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tracing = can_trace(folder)
        trace = (lambda name: folder / f"trace-{name}") if tracing else (lambda name: None)

        good = run(write(folder, "photo.jsonl", [("photo.jpg", photo)]), trace("photo"))
        tests.check(good.returncode == 0, "a JPEG is decoded", good.stderr)
        result = run(write(folder, "foreign.jsonl", foreign), trace("foreign"))
        tests.check(result.returncode == 3, "the run goes on over other formats", result.stderr[-2000:])
        found = skipped(result)
        for file, _, words in corpus.FOREIGN:
            kind, message = found.get(file, ("delivered", ""))
            tests.check(kind == "media-undecodable" and words in message, f"{file} is {words}", f"{kind}: {message}")
        tests.check(len(corpus.FOREIGN) >= 30 and len({f for f, *_ in corpus.FOREIGN}) == len(corpus.FOREIGN),
                    f"{len(corpus.FOREIGN)} formats")
        if tracing:
            mine, base = calls(trace("foreign")), calls(trace("photo"))
            tests.check(not forbidden(mine | base, False), "no loader for strange formats is opened",
                        "\n".join(forbidden(mine | base, False)))
            seen = [file for file, _ in foreign if not any(f"/{file}\"" in call for call in mine)]
            tests.check(not seen, "the trace shows that each was read", seen)
            extra = beyond([file for file, _ in foreign], mine, base)
            tests.check(not extra, "nothing is opened because of any of them", "\n".join(extra))
        else:
            tests.skip("the trace shows that each was read")
            tests.skip("no loader for strange formats is opened")
            tests.skip("nothing is opened because of any of them")

        # what begins like one of ours goes to that one decoder, and nowhere else
        everything = run(write(folder, "ours.jsonl", [(f"good-{kind}", content) for kind, content in ours.items()]),
                         trace("ours"))
        tests.check(everything.returncode == 0, "one of each of our formats is decoded", everything.stderr)
        result = run(write(folder, "disguised.jsonl", corpus.DISGUISED), trace("disguised"))
        found = skipped(result)
        for file, _ in corpus.DISGUISED:
            kind = found.get(file, ("delivered", ""))
            tests.check(kind[0] in ("media-undecodable", "media-truncated", "image-too-large"), f"{file} is refused", kind)
        polyglots = run(write(folder, "polyglots.jsonl", corpus.POLYGLOTS), trace("polyglots"))
        tests.check(polyglots.returncode == 0 and f"{len(corpus.POLYGLOTS)} samples" in polyglots.stderr,
                    "an image with something behind it is that image", polyglots.stderr)
        if tracing:
            base = calls(trace("ours"))
            for run_name, files in [("disguised", corpus.DISGUISED), ("polyglots", corpus.POLYGLOTS)]:
                mine = calls(trace(run_name))
                extra = beyond([file for file, _ in files], mine, base) + forbidden(mine | base, True)
                tests.check(not extra, f"{run_name}: nothing is opened but what good images open", "\n".join(extra))
        else:
            tests.skip("disguised: nothing is opened")
            tests.skip("polyglots: nothing is opened")
    print(f"1..{tests.n}")
    sys.exit(tests.bad > 0)


main()
