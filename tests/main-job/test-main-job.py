#!/usr/bin/env python3
"""The main job on a real S3 server: upload, run hr-launch, compare every pixel with reference files.

usage: tests/s3/server -- test-main-job.py HR_LAUNCH EMBED SOURCE_ROOT

The references are sha256 sums of whole pixel arrays in tests/data/golden/images.json, made by the
libraries that the pixels must equal.
"""
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import traceback

import numpy

from job import GOLDEN, Job

sys.path.insert(0, str(pathlib.Path(sys.argv[3]) / "tests/order"))
import reference  # pylint: disable=wrong-import-position
import runner  # pylint: disable=wrong-import-position

HR_LAUNCH, EMBED, ROOT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
# the reference for gray16.png clips 16-bit values at 255; this is v >> 8 instead
GRAY16 = "0f5c967b9dc3415c63d1ff86cefd11b007cc081712468c92f8fa6b3cf40f2c21"
CONFIGS = {"default": (65536, 16777216), "cap256": (4096, 262144)}


def launch(*arguments, status=0, environment=None):
    done = subprocess.run([HR_LAUNCH, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=1500, check=False, env={**os.environ, **(environment or {})})
    assert done.returncode == status, f"exit status {done.returncode}, not {status}\n{done.stdout}\n{done.stderr}"
    return done


def stats(*arguments, status=0):
    return json.loads(launch("--stats=json", *arguments, status=status).stdout.strip().splitlines()[-1])


def main_job(decode="", behind="", batch="batch size=4 ! prefetchqueue max-batches=3 ! ", sink="fakesink"):
    return (f"s3src location=s3://corpus/train/part-*.jsonl ! jsonlparse ! imagefetch concurrency=16 ! "
            f"imagedecode {decode} ! {behind}{batch}{sink}")


def pixels(folder, index, k):
    return numpy.load(folder / f"{index:06d}.images.{k}.npy")


def sample_files(folder):
    return [json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))]


def check_pixels(job, out, expected):
    samples = sample_files(out)
    assert [s["id"] for s in samples] == [r["id"] for r in job.records]
    compared = 0
    for index, (sample, record) in enumerate(zip(samples, job.records)):
        for k, file in enumerate(job.files_of(record)):
            array = pixels(out, index, k)
            hw, digest = expected(file)
            assert array.dtype == numpy.uint8 and list(array.shape) == [*hw, 3], (file, array.shape, hw)
            if digest:
                got = hashlib.sha256(array.tobytes()).hexdigest()
                assert got == digest, f"{file}: {array.shape} sha256 {got}, not {digest}"
                compared += 1
        assert not (out / f"{index:06d}.images.{len(job.files_of(record))}.npy").exists()
    return compared


def test_decoded(job):
    """every decoded pixel equals the reference"""
    def expected(file):
        reference = job.reference(file)["decode"]["hr_default"]
        return reference["hw"], GRAY16 if file == "gray16.png" else reference["sha256"]

    with tempfile.TemporaryDirectory() as out:
        launch(main_job(batch="", sink=f"npysink location={out}"))
        # each image once, and three of them a second time
        assert check_pixels(job, pathlib.Path(out), expected) == len(job.good) - 1 + 3


def test_resized(job):
    """every resized pixel equals the reference, in both configurations"""
    for config, (least, most) in CONFIGS.items():
        def expected(file):
            reference = job.reference(file)["processor"].get(config)
            if not reference:  # left out of the references for its size
                return pixel_size(file, least, most), None
            digest = None if file == "gray16.png" else reference["pil"]["resized_sha256"]
            return reference["resized_hw"], digest

        def pixel_size(file, least, most):
            height, width = job.reference(file)["decode"]["hr_default"]["hw"]
            assert least <= height * width <= most  # so that the size is only rounded
            return [round(height / 32) * 32, round(width / 32) * 32]

        with tempfile.TemporaryDirectory() as out:
            resize = f"resize min-pixels={least} max-pixels={most} ! "
            launch(main_job(behind=resize, batch="", sink=f"npysink location={out}"))
            compared = check_pixels(job, pathlib.Path(out), expected)
        missing = sum(1 for f in job.good if config not in f["processor"])
        assert compared == len(job.good) - 1 - 1 - missing + 3, (config, compared)


def test_origins(job):
    """each sample says which bytes of which object it comes from"""
    with tempfile.TemporaryDirectory() as out:
        launch(main_job(batch="", sink=f"npysink location={out}"))
        samples = sample_files(pathlib.Path(out))
    assert len(samples) == len(job.records)
    for index, (sample, record) in enumerate(zip(samples, job.records)):
        assert sample["index"] == index and sample["epoch"] == 0
        data = job.files[sample["uri"].removeprefix("s3://corpus/")]
        line = data[sample["byte"]:sample["byte"] + sample["length"]]
        assert json.loads(line) == record, (sample, record)
        assert data[:sample["byte"]].count(b"\n") == sample["line"] - 1, sample


def test_same_bytes(job):
    """serial, 1 and 4 workers, with and without prefetch: the same sha256 over all batches"""
    resize = "resize max-pixels=262144 workers={0} ! "
    digests = {}
    for name, options, workers, batch in [
            ("serial", ["--serial"], 1, "batch size=4 ! "), ("one worker", [], 1, "batch size=4 ! "),
            ("four workers", [], 4, "batch size=4 ! "),
            ("four workers and prefetch", [], 4, "batch size=4 ! prefetchqueue max-batches=3 ! ")]:
        text = main_job(f"workers={workers}", resize.format(workers), batch, "fakesink")
        got = stats(*options, "checksum=true " + text)
        assert got["samples"] == len(job.records), got
        assert got["images"] == len(job.good) - 1 + 3, got
        assert got["steps"] == -(-len(job.records) // 4), got
        digests[name] = got["sha256"]
    assert len(set(digests.values())) == 1 and None not in digests.values(), digests
    # and the sum does depend on what is delivered
    other = stats("checksum=true " + main_job("", "resize max-pixels=131072 ! ", "batch size=4 ! "))
    assert other["sha256"] not in digests.values()


def test_ladder_files(job):
    """the three rungs differ in one setting each, and deliver the same bytes"""
    texts, digests = [], []
    for name in ("1-serial", "2-concurrent", "3-prefetch"):
        path = ROOT / "pipelines" / f"{name}.hr"
        texts.append([line for line in path.read_text().splitlines() if not line.startswith("#")])
        got = stats("-f", str(path), "-D", "LOCATION=s3://corpus/train/part-*.jsonl", "-D", "STEP_TIME=1ms", "-D", "BATCH=4",
                    "--checksum")
        digests.append(got["sha256"])
    assert [(a, b) for a, b in zip(texts[0], texts[1]) if a != b] == [("serial=true", "serial=false")]
    assert [line for line in texts[2] if line not in texts[1]] == ["! prefetchqueue max-batches=4"]
    assert [line for line in texts[2] if line in texts[1]] == texts[1]
    assert len(set(digests)) == 1 and digests[0], digests


def test_ladder_of_processes(job):
    """rungs 3b and 4 are rung 3 with another sink and a second process, differ in the transport, and deliver its bytes"""
    def lines(name):
        text = (ROOT / "pipelines" / f"{name}.hr").read_text()
        return [line for line in text.splitlines() if not line.startswith("#")]

    options = ["-D", "LOCATION=s3://corpus/train/part-*.jsonl", "-D", "STEP_TIME=1ms", "-D", "BATCH=4"]
    whole, digests = lines("3-prefetch"), [stats("-f", str(ROOT / "pipelines/3-prefetch.hr"), *options, "--checksum")["sha256"]]
    for name, trainer, sink, source in (("3b-bypipe", "3b-trainer", "pipesink", "pipesrc"),
                                        ("4-zerocopy", "4-trainer", "shmsink", "shmsrc")):
        assert lines(name) == [*whole[:-1], f"! {sink} address=${{ADDRESS:-headrace-ladder}}"], name
        assert lines(trainer) == [f"{source} address=${{ADDRESS:-headrace-ladder}}", whole[-1]], trainer
        both = [*options, "-D", f"ADDRESS=main-job-{os.getpid()}"]
        with subprocess.Popen([HR_LAUNCH, "-q", "-f", str(ROOT / "pipelines" / f"{name}.hr"), *both]) as producer:
            try:
                digests.append(stats("-f", str(ROOT / "pipelines" / f"{trainer}.hr"), *both, "--checksum")["sha256"])
                assert producer.wait(60) == 0, name
            finally:
                producer.kill()
    assert len(set(digests)) == 1 and digests[0], digests


def test_bad_images(job):
    """bad images end the run, or are skipped and counted, each by its kind"""
    bad = {"truncated.jpg": "media-truncated", "not_image.jpg": "media-undecodable", "missing.jpg": "media-not-found",
           "aspect201_reject.png": "aspect-ratio"}
    names = ["cat_420.jpg", "truncated.jpg", "rgba.png", "not_image.jpg", "missing.jpg", "one.png", "aspect201_reject.png"]
    records = [job.record(n, [f]) for n, f in enumerate(names)]
    text = "s3src location=s3://corpus/bad/ ! jsonlparse ! imagefetch ! imagedecode ! resize ! {}"
    for name in names:
        if name != "missing.jpg":
            job.bucket.put("bad/images/" + name, (GOLDEN / "images" / name).read_bytes())
    job.bucket.put("bad/all.jsonl", "\n".join(json.dumps(r) for r in records).encode())
    got = stats("--on-error=skip", text.format("batch size=2 ! fakesink"), status=3)
    assert got["skipped"] == {kind: 1 for kind in bad.values()}, got["skipped"]
    assert got["samples"] == len(names) - len(bad), got
    assert got["steps"] == 4, got
    # which error is first depends on the network, but for serial
    done = launch("--serial", text.format("fakesink"), status=1)
    assert "s3://corpus/bad/all.jsonl:2" in done.stderr and "images/truncated.jpg" in done.stderr, done.stderr


def test_errors_of_the_server(job):
    """a bucket that is not there and a wrong secret are told, not hung on"""
    del job
    done = launch("s3src location=s3://no-such-bucket/x/ ! jsonlparse ! fakesink", status=1)
    assert "no-such-bucket" in done.stderr, done.stderr
    done = launch("s3src location=s3://corpus/train/ ! jsonlparse ! fakesink", status=1,
                  environment={"AWS_SECRET_ACCESS_KEY": "not/the/secret"})
    assert re.search("SignatureDoesNotMatch|403", done.stderr), done.stderr
    assert "not/the" not in done.stderr, done.stderr


def test_embedded(job):
    """the program of examples/embed.c, which uses the C API, gets every batch"""
    done = subprocess.run([EMBED, "s3://corpus/train/part-*.jsonl"], capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done
    *steps, last = done.stdout.strip().splitlines()
    n = len(job.records)
    assert steps == [f"step {k}: {min(4, n - 4 * k)} samples" for k in range(-(-n // 4))], steps
    assert json.loads(last)["samples"] == n, last


def test_order(job):
    """objects in S3 have the order of reference.py, while their lines are found, scanned, known, cut into ranges"""
    rng = random.Random(5)
    data = runner.random_data(rng, most=60)
    while len(data.objects) < 3:
        data.remove()
        data = runner.random_data(rng, most=60)
    for key, content in data.objects.items():
        job.bucket.put("order/" + key, content)
    for shuffle, rules in (("none", {}), ("window", {"block_bytes": 500, "window_blocks": 3}), ("full", {})):
        for world, part in ((1, "1MiB"), (3, "1KiB")):
            wanted = list(reference.steps(data.objects, 2, world=world, epochs=2, shuffle=shuffle, seed=9, **rules))
            with tempfile.TemporaryDirectory() as cache:
                for rank in [*range(world), 0]:
                    out = pathlib.Path(tempfile.mkdtemp(dir=cache))
                    launch("-q", f"world={world} rank={rank} s3src location=s3://corpus/order/ part-bytes={part} epochs=2 seed=9 "
                           f"shuffle={shuffle} {runner.show(rules)} ! jsonlparse ! batch size=2 ! npysink location={out}",
                           environment={"HR_PLAN_CACHE": cache if rank == 0 else ""})
                    got = [(s["epoch"], [(m["uri"] and m["uri"].removeprefix("s3://corpus/order/"), m["byte"]) for m in s["members"]])
                           for s in sample_files(out)]
                    assert got == [(epoch, [slot or (None, None) for slot in slots[2 * rank:2 * rank + 2]])
                                   for epoch, _, slots in wanted], (shuffle, world, rank, got)
    data.remove()


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    print(f"1..{len(tests)}", flush=True)
    job = Job()
    for i, (name, test) in enumerate(tests, 1):
        try:
            test(job)
            print(f"ok {i} {test.__doc__}", flush=True)
        except Exception:  # a failed test is a line of TAP, whatever it was
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok {i} {test.__doc__}", flush=True)


main()
