#!/usr/bin/env python3
"""usage: test-hr-verify.py BUILD ROOT: hr-verify as its users see it, and what parity hands to Python. No library
is needed: a program of ours stands for the Python that has transformers. TAP."""
import json
import os
import struct
import subprocess
import sys
import tempfile

from verify import run_cases

BUILD, ROOT = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake-python")
VOCAB = os.path.join(ROOT, "build", "vocab", "tokenizer.json")
RECORDS = os.path.join(ROOT, "tests/data/records/conversations_qwen.jsonl")
READ = (f"filesrc location={RECORDS} ! jsonlparse media-base={ROOT}/tests/data/golden/images ! imagefetch"
        f" ! tokenize tokenizer={VOCAB} max-length=4000 min-pixels=4096 max-pixels=262144")
LINES = "filesrc location=${FILE} ! jsonlparse on-error=skip ! tokenize tokenizer=${VOCAB} max-length=20"


def verify(*arguments, text=None, **environment):
    return subprocess.run([os.path.join(BUILD, "tools", "hr-verify"), *arguments], capture_output=True, text=True, check=False,
                          input=text, timeout=120, env={**os.environ, **environment})


def parity(*arguments, **more):
    return verify("parity", "--python", FAKE, "--tokenizer", VOCAB, *arguments, **more)


def told(done):
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def test_usage():
    for arguments, words in (
            ([], "which check"), (["parole"], 'no check "parole"'), (["parity"], "no pipeline"),
            (["parity", "fakesrc ! fakesink"], "--tokenizer PATH is missing"),
            (["parity", "-t", VOCAB, "-f", "/dev/null", "fakesrc ! fakesink"], "not both"),
            (["parity", "-t", VOCAB, "-f", "/does/not/exist"], "/does/not/exist"),
            (["parity", "-t", VOCAB, "-D", "=x", "fakesrc ! fakesink"], "-D =x"),
            (["parity", "-t", VOCAB, "fakesrc ! fakesnk"], 'no element "fakesnk"'),
            (["parity", "-t", VOCAB, "fakesrc ! fakesink"], "0 jsonlparse"),
            (["parity", "-t", VOCAB, f"filesrc location={RECORDS} ! jsonlparse ! fakesink"], "0 tokenize"),
            (["parity", "-t", VOCAB, "fakesrc ! tee name=t ! fakesink t. ! fakesink"], "without branches"),
            (["parity", "-t", VOCAB, "appsrc ! fakesink"], "from a program"),
            (["parity", "-t", VOCAB, "-n", "0", READ + " ! fakesink"], '"0"'),
            (["parity", "-t", VOCAB, "--backend", "opencv", READ + " ! fakesink"], "torchvision"),
            (["parity", "-t", VOCAB, "--python", "/does/not/exist", READ + " ! fakesink"], "/does/not/exist")):
        done = verify(*arguments)
        assert done.returncode == 2 and words in done.stderr, (arguments, done)
        assert done.stdout == "", done
    assert "parity" in verify("--help").stdout and "--backend" in verify("parity", "--help").stdout
    assert verify("--version").stdout.startswith("hr-verify ")


def test_missing_libraries():
    """a Python without the libraries: what to install, and where"""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True)
        done = verify("parity", "--python", f"{folder}/bin/python3", "-t", VOCAB, READ + " ! fakesink")
        assert done.returncode == 2 and "transformers" in done.stderr, done
        name = done.stderr.split("-r ")[1].split()[0]
        with open(name, encoding="utf-8") as file:
            assert "transformers==" in file.read()


def test_single():
    """no batch, no prefetching, no sink; everything else as the user wrote it"""
    text = (f"memory=1GiB {READ} name=tok ! batch mode=padded size=3 ! imagedecode workers=2 exif=ignore"
            " ! resize reference=torchvision ! prefetchqueue ! patchify dtype=uint8 ! fakesink")
    said = told(parity("-n", "2", "--backend", "torchvision", "--exact", "--json", "--template", "/some/file", text))
    assert said["text"] == (f"memory=1GiB {READ} ! imagedecode exif=ignore workers=2"
                            " ! resize reference=torchvision ! patchify dtype=uint8 ! appsink"), said["text"]
    assert [e["factory"] for e in said["elements"]] == [
        "filesrc", "jsonlparse", "imagefetch", "tokenize", "imagedecode", "resize", "patchify", "appsink"]
    properties = {e["factory"]: e["properties"] for e in said["elements"]}
    assert properties["imagedecode"]["exif"] == "ignore" and properties["tokenize"]["max-length"] == 4000
    assert properties["tokenize"]["add-vision-id"] is False and properties["patchify"]["image-mean"] == ["0.5"] * 3
    assert properties["patchify"]["rescale-factor"] == 1 / 255 and properties["jsonlparse"]["strip"] == "qwen"
    assert said["arguments"][2:] == ["--tokenizer", VOCAB, "--backend", "torchvision", "--template", "/some/file", "--exact",
                                     "--json"], said["arguments"]
    assert len(said["samples"]) == 2 and said["end"] is None


def test_patches_added():
    said = told(parity("-n", "1", READ + " ! imagedecode ! resize ! batch ! fakesink"))
    assert said["text"].endswith("! resize ! patchify dtype=uint8 ! appsink"), said["text"]
    said = told(parity("-n", "1", READ + " ! batch ! fakesink"))
    assert "patchify" not in said["text"], said["text"]


def test_samples():
    """every sample once, with where it is from, and its numbers"""
    said = told(parity("--samples", "all", READ + " ! fakesink"))
    assert [s["line"] for s in said["samples"]] == list(range(1, 18))
    first = said["samples"][0]
    with open(RECORDS, "rb") as file:
        assert json.loads(file.read()[first["byte"]:first["byte"] + first["length"]])["id"] == first["id"] == "text_1turn"
    ids = next(t for t in first["tensors"] if t["name"] == "input_ids")
    assert ids["dtype"] == "int64" and struct.unpack("<2q", bytes.fromhex(ids["data"])[:16]) == (151644, 872), ids


def test_left_out():
    """dropped and skipped samples, by kind; text from a file, with variables"""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/a.jsonl", "w", encoding="utf-8") as file:
            for answer in ("Yes", "Yes " * 50, "No"):
                file.write(json.dumps({"query": "Q", "response": answer}) + "\n")
            file.write("no JSON\n")
        with open(f"{folder}/a.hr", "w", encoding="utf-8") as file:
            file.write(f"# a pipeline\n{LINES}\n! fakesink\n")
        said = told(parity("-f", f"{folder}/a.hr", "-D", f"FILE={folder}/a.jsonl", "-D", f"VOCAB={VOCAB}"))
    assert [s["line"] for s in said["samples"]] == [1, 3], said["samples"]
    left_out = sorted((n["line"], n["kind"], n["dropped"]) for n in said["left-out"])
    assert left_out == [(2, "overlong", True), (4, "bad-json", False)], said["left-out"]


def test_failure():
    """a run that fails is told, and the exit status is Python's"""
    done = parity(f"filesrc location={RECORDS} ! jsonlparse ! imagefetch ! tokenize tokenizer=/does/not/exist ! fakesink")
    assert "/does/not/exist" in told(done)["end"], done
    for status in (1, 2):
        done = parity(READ + " ! fakesink", FAKE_EXIT=str(status))
        assert done.returncode == status, done
        done = parity("-n", "all", READ + " ! fakesink", FAKE_EXIT=str(status), FAKE_LEAVE="1")
        assert done.returncode == status, done
    # it left in peace, and had not read: that is no success
    done = parity("-n", "all", READ + " ! fakesink", FAKE_EXIT="0", FAKE_LEAVE="1")
    assert done.returncode == 1, done


subprocess.run([os.path.join(ROOT, "tools", "fetch-vocab"), os.path.dirname(VOCAB)], check=True)
sys.exit(run_cases(globals()))
