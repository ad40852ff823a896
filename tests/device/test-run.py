#!/usr/bin/env python3
"""tests/device/run on the stand-in: all its parts, and what it says when something is wrong.

usage: test-run.py STANDIN.so BUILD [FATBIN]
"""
import json
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import traceback

STANDIN, BUILD = sys.argv[1], sys.argv[2]
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PARTS = ["machine", "kernel", "kernel-ptx", "memcheck", "copy", "speed", "pipeline", "torch"]


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def make_fatbin(folder):
    """what nvcc made, or what the stand-in takes for it: a header, and an entry "PTX for 8.0\""""
    if len(sys.argv) > 3:
        return sys.argv[3]
    path = folder / "made.fatbin"
    path.write_bytes(struct.pack("<IIQ", 0xBA55ED50, 0x100001, 64) + struct.pack("<HHIQ3II8I", 1, 0x101, 64, 0, 0, 0, 0, 80, *[0] * 8))
    return str(path)


class Runs:
    def __init__(self, folder):
        self.folder, self.fatbin = folder, make_fatbin(folder)
        self.bin = folder / "bin"
        write_program(self.bin / "compute-sanitizer", '#!/bin/sh\nshift 2\n"$@" && echo "========= ERROR SUMMARY: 0 errors"\n')
        write_program(self.bin / "nvidia-smi", '#!/bin/sh\necho "NVIDIA Stand-In, 580.00"\n')

    def run(self, *arguments, script=HERE / "run", fails=0, **environment):
        ran = subprocess.run(
            [sys.executable, str(script), "--dry", *arguments], text=True, capture_output=True, check=False, timeout=250,
            env={**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "HR_CUDART": STANDIN, "HR_BUILD": BUILD,
                 "HR_CUDA_KERNEL": self.fatbin, "PYTHONDONTWRITEBYTECODE": "1", **environment})
        assert ran.returncode == fails, f"{ran.returncode}: {ran.stdout}{ran.stderr}"
        return {line["part"]: line for line in map(json.loads, ran.stdout.splitlines())}


def check_all(runs):
    """every part but torch's runs, and each says so in a line of its own"""
    got = runs.run()
    assert list(got) == PARTS, got
    bad = [line for line in got.values() if line["status"] != "ok" and line["part"] != "torch"]
    assert not bad, bad
    assert got["machine"]["device"] == "NVIDIA Stand-In, 580.00" and got["machine"]["capability"] == "9.0"
    assert got["kernel"]["cases"] > 50
    assert all(got["copy"][key] > 0 for key in ("to_device_gb_s", "to_host_gb_s", "batches_gb_s", "batches_of_plain"))
    assert got["speed"]["bfloat16_16x2x2_of_within"] > 0 and got["speed"]["launch_of_256x256_us"] > 0
    assert got["pipeline"]["batches"] > 0


def check_old_runtime(runs):
    """kernels by the driver's functions"""
    got = runs.run("--only=kernel", HR_CUDART=STANDIN.replace("standin.so", "standin-12.4.so"))
    assert got["kernel"]["status"] == "ok", got


def check_wrong(runs):
    """a digest that is another one: the part fails, and so does the whole"""
    folder = runs.folder / "tests" / "device"
    shutil.copytree(HERE, folder)
    kept = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    kept["bfloat16 large"] = "0" * 64
    (folder / "expected.json").write_text(json.dumps(kept), encoding="utf-8")
    got = runs.run("--only=kernel", script=folder / "run", fails=1)
    assert got["kernel"]["status"] == "failed" and "bfloat16 large: not by the formula" in got["kernel"]["reason"], got


def check_no_device(runs):
    got = runs.run(HR_STANDIN_DEVICES="0", fails=2)
    assert got["machine"]["status"] == "skipped" and "error 100" in got["machine"]["reason"], got
    got = runs.run(HR_CUDART="/nowhere.so", fails=2)
    assert "/nowhere.so" in got["machine"]["reason"], got


def check_no_kernel(runs):
    """code for other devices; and one that is not there"""
    got = runs.run("--only=kernel", HR_STANDIN_CAPABILITY="7.5", HR_STANDIN_LEAKS="allow", fails=1)
    assert "error 209" in got["kernel"]["reason"], got
    got = runs.run("--only=kernel", HR_CUDA_KERNEL="/nowhere.fatbin", fails=1)
    assert "/nowhere.fatbin" in got["kernel"]["reason"], got


def check_failing_part(runs):
    """one part's error is no other part's"""
    got = runs.run("--only=copy", HR_STANDIN_FAIL="HostAlloc:1=2", fails=1)
    assert "error 2, out of memory" in got["copy"]["reason"], got


def check_time(runs):
    got = runs.run("--seconds=0")
    assert {line["reason"] for line in got.values()} == {"the time is over"}, got


def check_torch(runs):
    """torch and the package, both played by modules of a few lines: that the part's own program runs"""
    build = runs.folder / "build"
    write_program(build / "tools/hr-launch", "#!/bin/sh\necho 0\n")
    write_program(build / "python/torch.py", "class cuda:\n  is_available = staticmethod(lambda: True)\n"
                  "def equal(one, other):\n  return one.n == other.n\n")
    got = runs.run("--only=torch", PYTHONPATH=str(build / "python"), HR_BUILD=str(build))
    assert got["torch"]["status"] == "skipped" and "headrace is not here" in got["torch"]["reason"], got
    module = ("class Tensor:\n  is_cuda = True\n  def __init__(self, n): self.n = n\n  def cpu(self): return self\n"
              "def Loader(text):\n  return iter([{'pixel_values': Tensor(n)} for n in range(3)])\n")
    write_program(build / "python/headrace.py", module)
    got = runs.run("--only=torch", PYTHONPATH=str(build / "python"), HR_BUILD=str(build))
    assert got["torch"].get("batches") == 3, got
    write_program(build / "python/headrace.py", module.replace("self.n = n", "self.n = id(self)"))
    got = runs.run("--only=torch", PYTHONPATH=str(build / "python"), HR_BUILD=str(build), fails=1)
    assert got["torch"]["status"] == "failed", got


CHECKS = [check_all, check_old_runtime, check_wrong, check_no_device, check_no_kernel, check_failing_part, check_time,
          check_torch]


def main():
    print(f"1..{len(CHECKS)}")
    with tempfile.TemporaryDirectory(prefix="hr-run-") as folder:
        runs, failed = Runs(pathlib.Path(folder)), 0
        for n, check in enumerate(CHECKS, 1):
            try:
                check(runs)
                print(f"ok {n} /device/run/{check.__name__[6:]}", flush=True)
            except (AssertionError, subprocess.TimeoutExpired, KeyError, ValueError):
                failed += 1
                print(f"not ok {n} /device/run/{check.__name__[6:]}\n# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
