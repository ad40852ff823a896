#!/usr/bin/env python3
"""Memory and descriptors: the budget is kept, small ones deliver the same bytes, long runs are flat.

usage: test-memory.py HR_LAUNCH SOURCE_ROOT short|long
"""
import contextlib
import http.server
import json
import os
import pathlib
import re
import resource
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

LAUNCH, ROOT, LENGTH = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
sys.path.insert(0, str(ROOT / "tests/order"))
import tokenizer  # pylint: disable=wrong-import-position

MIB = 1 << 20
LONG = LENGTH == "long"


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(side, value=0):
    """A legal gray one that says nothing: a hundred megapixels are a hundred kilobytes."""
    packer = zlib.compressobj(6)
    row = b"\0" + bytes([value]) * side
    data = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) \
        + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def write(folder, records):
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def record(index, images, text="Q"):
    return {"id": str(index), "images": images, "query": "<image>" * len(images) + text, "response": "A"}


def environment():
    # MALLOC_PERTURB_ would fill, and so make resident, what nobody ever touches: a spare 230 MiB behind a large image
    return {k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"} | {"HR_PLAN_CACHE": "", "LC_ALL": "C.UTF-8"}


@contextlib.contextmanager
def busy(count):
    """So many processes that take all the processor time they get."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def launch(*arguments, status=(0,), environ=None):
    done = subprocess.run([LAUNCH, "--stats=json", *arguments], capture_output=True, text=True, timeout=3000, check=False,
                          env=environment() | (environ or {}))
    assert done.returncode in status, f"exit status {done.returncode}: {done.stderr[-2000:]}"
    return json.loads(done.stdout.strip().splitlines()[-1])


# ---- heavy images ----

def test_heavy(folder):
    """twenty heavy images among normal ones: no more memory than the budget, the largest step and the program"""
    side, memory = (10000, 512 * MIB) if LONG else (4000, 64 * MIB)
    heavy_bytes = 3 * side * side
    (folder / "heavy.png").write_bytes(png(side))
    (folder / "normal.png").write_bytes(png(300))
    records = [record(i, ["heavy.png" if i % 4 == 1 else "normal.png"]) for i in range(80)]
    path = write(folder, records)
    text = "filesrc location={} ! jsonlparse ! imagefetch ! imagedecode workers=4 ! fakesink"
    small = launch("--limit=1", text.format(write(folder / "one", [record(0, ["../normal.png"])])),
                   "--on-error=skip", status=(0, 3))
    base = small["peak_rss_bytes"]
    # whatever the machine does meanwhile: threads that are held up, processors that are taken
    for budget, stall, hogs in ((memory, "", 0), (memory, "1", 2), (1, "2", 2)):
        with busy(hogs):
            run = launch(f"--memory={budget}", "--cpus=4", text.format(path), environ={"HR_STALL": stall})
        assert run["images"] == 80 and run["samples"] == 80, run
        assert run["budget_peak_bytes"] <= budget + heavy_bytes + MIB, run["budget_peak_bytes"]
        # libpng's and zlib's own, for each worker, and what the allocator keeps
        slack = (64 if LONG else 40) * MIB
        most = base + budget + heavy_bytes + slack
        print(f"# budget {budget / MIB:.0f} MiB: {run['peak_rss_bytes'] / MIB:.0f} MiB of {most / MIB:.0f}, "
              f"without a budget {20 * heavy_bytes / MIB:.0f} and more")
        assert run["peak_rss_bytes"] <= most, f"{run['peak_rss_bytes'] / MIB:.0f} MiB, not {most / MIB:.0f}"
        # a look-ahead that is not bounded would need this: else the test shows nothing
        assert 20 * heavy_bytes > most


# ---- small budgets ----

def make_set(folder):
    images = ROOT / "tests/data/golden/images"
    names = ["cat_420.jpg", "rgba.png", "synth_odd.png", "tiny10.png"]
    for name in names:
        (folder / name).write_bytes((images / name).read_bytes())
    return write(folder, [record(i, [names[i % 4]] * (i % 3), f"question {i}") for i in range(24)])


@contextlib.contextmanager
def trainer_of(file, address):
    """the other process of a pipeline that ends in a socket, as long as it takes"""
    if "address=" not in file.read_text():
        yield
        return
    other = file.with_name(file.name.partition("-")[0] + "-trainer.hr")
    with subprocess.Popen([LAUNCH, "-q", "-D", f"ADDRESS={address}", "-D", "STEP_TIME=0ms", "-f", other],
                          env=environment()) as process:
        try:
            yield
            assert process.wait(timeout=600) == 0, other
        finally:
            process.kill()


def test_pipelines(folder):
    """every pipeline of the tree delivers the same bytes with a budget that no image fits into"""
    path = make_set(folder)
    tokenizer.write(folder / "tokenizer.json")
    pipelines = sorted((ROOT / "pipelines").glob("*.hr"))
    assert len(pipelines) >= 5
    for file in pipelines:
        if file.name.endswith("-trainer.hr"):
            continue
        text = file.read_text().replace("s3src ", "filesrc ")
        arguments = ["--checksum", "--steps=7", "--on-error=fail"]
        for name in ["LOCATION", "TEXT", "VQA", "CHARTS"]:
            arguments += ["-D", f"{name}={path}"]
        arguments += ["-D", f"TOKENIZER={folder / 'tokenizer.json'}", "-D", "STEP_TIME=0ms", "-D", "BATCH=3"]
        (folder / file.name).write_text(text)
        runs = {}
        for memory in ["2GiB", "1000", "1"]:
            address = f"hr-memory-{os.getpid()}-{memory}"
            with trainer_of(file, address):
                runs[memory] = launch(*arguments, "-D", f"ADDRESS={address}", f"--memory={memory}", "-f", str(folder / file.name))
        sums = {memory: run["sha256"] for memory, run in runs.items()}
        assert len(set(sums.values())) == 1, f"{file.name}: {sums}"
        assert runs["2GiB"]["images"] > 0 and runs["2GiB"]["over_budget_bytes"] == 0, file.name
        assert runs["1"]["over_budget_bytes"] > 100000, f"{file.name}: its images fit into a byte"
        assert runs["1"]["samples"] == runs["2GiB"]["samples"], file.name
        print(f"# {file.name}: {runs['1']['images']} images, {runs['1']['over_budget_bytes']} bytes over the budget")


# ---- long runs ----

def watch(arguments, rlimit=None):
    """Runs it; returns what was seen meanwhile: [(resident bytes, descriptors)]."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (rlimit, rlimit))
    seen = []
    with subprocess.Popen([LAUNCH, "--stats=json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment(), preexec_fn=limit if rlimit else None) as process:
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                resident = re.search(r"VmRSS:\s+(\d+) kB", status)
                if resident:
                    seen.append((int(resident.group(1)) * 1024, len(os.listdir(f"/proc/{process.pid}/fd"))))
            except (FileNotFoundError, ProcessLookupError):
                pass
            time.sleep(0.5 if LONG else 0.02)
        out, err = process.communicate()
    assert process.returncode == 0, f"exit status {process.returncode}: {err[-2000:]}"
    return seen, json.loads(out.strip().splitlines()[-1])


def growth(values):
    """How much the line through them rises from end to end, as a part of their mean."""
    n = len(values)
    mean_x, mean_y = (n - 1) / 2, sum(values) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / sum((x - mean_x) ** 2 for x in range(n))
    return slope * (n - 1) / mean_y


def test_flat_decodes(folder):
    """resident memory and descriptors do not grow with the number of images decoded"""
    path = make_set(folder)
    epochs = 200000 // 24 if LONG else 120
    seen, run = watch([f"--epochs={epochs}", "--memory=64MiB",
                       f"filesrc location={path} ! jsonlparse ! imagefetch ! imagedecode workers=2 ! "
                       "resize max-pixels=65536 workers=2 ! batch size=8 ! prefetchqueue ! fakesink"])
    assert run["samples"] == 24 * epochs and run["images"] == 24 * epochs, run["samples"]
    check_flat(seen, f"{run['images']} images")


def test_flat_texts(folder):
    """nor with the number of long texts read"""
    texts = [record(i, [], "x" * (1000 << i % 10)) for i in range(100)]
    path = write(folder, texts)
    epochs = 8000 if LONG else 200  # half as many drift by up to 4 % of themselves where nothing is kept
    seen, run = watch([f"--epochs={epochs}", "--memory=64MiB", f"filesrc location={path} block-bytes=64KiB ! "
                       "jsonlparse workers=2 keep=query ! batch size=8 ! prefetchqueue ! fakesink"])
    assert run["samples"] == 100 * epochs
    check_flat(seen, f"{run['samples']} texts")


def check_flat(seen, what):
    later = seen[len(seen) // 2:]
    assert len(later) >= 10, f"seen only {len(seen)} times"
    rise = growth([resident for resident, _ in later])
    files = [n for _, n in later]
    print(f"# {what}: {later[0][0] / MIB:.0f} to {later[-1][0] / MIB:.0f} MiB, {100 * rise:+.1f} %, {max(files)} descriptors")
    assert rise < (0.05 if LONG else 0.2), f"resident memory grows by {100 * rise:.1f} % of its mean"
    # the last look may see it end
    assert max(files) - min(files[:-2]) <= 4, f"descriptors: {min(files)} to {max(files)}"


# ---- descriptors ----

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    now = most = 0
    lock = threading.Lock()
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client may close when it has no more need."""


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b""

    def do_GET(self):
        server = self.server
        with server.lock:
            server.now += 1
            server.most = max(server.most, server.now)
        time.sleep(0.02)
        with server.lock:
            server.now -= 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


def test_descriptors(folder):
    """256 descriptors are enough for 64 transfers at once"""
    Answer.body = (ROOT / "tests/data/golden/images/tiny10.png").read_bytes()
    with Server(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        count = 20000 if LONG else 2000
        path = write(folder, [record(i, [f"{base}/{i}.png"]) for i in range(count)])
        seen, run = watch([f"filesrc location={path} ! jsonlparse ! imagefetch concurrency=64 allow-links=http "
                           "allow-addresses=127.0.0.1 ! imagedecode workers=4 ! fakesink"], rlimit=256)
        server.shutdown()
        assert run["images"] == count
        most = max(n for _, n in seen)
        print(f"# {server.most} requests at once, at most {most} descriptors")
        assert server.most > 32, f"only {server.most} requests at once: it shows nothing"
        assert most < 64 + 40, f"{most} descriptors for 64 transfers"


def test_too_few_descriptors(folder):
    """too few descriptors end the run, which says so: no link is blamed, no sample skipped for it"""
    Answer.body = (ROOT / "tests/data/golden/images/tiny10.png").read_bytes()
    with Server(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        path = write(folder, [record(i, [f"{base}/{i}.png"]) for i in range(40)])
        ends = {"sockets": 0, "other": 0, "done": 0}
        for limit in range(12, 40, 3):
            run = subprocess.run(
                [LAUNCH, "--on-error=skip", f"filesrc location={path} ! jsonlparse ! imagefetch concurrency=32 tries=2 allow-links=http "
                 "allow-addresses=127.0.0.1 ! fakesink"], capture_output=True, text=True, timeout=60, check=False,
                env=environment(), preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            assert run.returncode in (0, 1), f"{limit}: exit status {run.returncode}: {run.stderr[-2000:]}"
            if run.returncode:
                assert "Too many open files" in run.stderr, f"{limit}: {run.stderr[-2000:]}"
            ends["done" if run.returncode == 0 else "sockets" if "no socket: " in run.stderr else "other"] += 1
        server.shutdown()
        print(f"# {ends}")
        assert ends["sockets"], ends


def main():
    tests = [test_heavy, test_pipelines, test_flat_decodes, test_flat_texts, test_descriptors, test_too_few_descriptors]
    print(f"1..{len(tests)}", flush=True)
    bad = 0
    for number, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "one").mkdir()
            try:
                test(folder)
                print("ok", number, test.__doc__, flush=True)
            except Exception as error:  # pylint: disable=broad-except
                bad += 1
                print("not ok", number, test.__doc__)
                print("#", repr(error)[:2000].replace("\\n", "\n# "), flush=True)
    sys.exit(bad > 0)


main()
