#!/usr/bin/env python3
"""Bugs that are put into the plugin on purpose: each must make a test fail, for the reason that is expected.

usage: test-mutants.py BUILD SOURCE_ROOT

A bug is a change of one place in a copy of a source file. The copy is compiled and linked as the build does it,
and the tests that are already there run with what comes out. Copies without a bug must pass.
"""
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback

BUILD, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PLUGIN, KERNEL = "plugins/hrcuda.so", "tests/cuda/test-cuda-kernel"

# name, file, what is there, what is there instead, tests of test-cudasink.c or test-kernel.c, what one of them says
MUTANTS = [
    ("missing-event-wait", "upload.c", "cudart->StreamWaitEvent (stream, upload->end, 0)", "0",
     "/cuda/streams", "unordered: the source of a copy"),
    ("memory-not-waited-for", "device.c", "device->cudart->StreamWaitEvent (device->stream, event, 0)", "0",
     "/cuda/streams", "unordered"),
    ("early-free", "courier.c", "  add_flight (courier, target->device, upload, sources, n_bytes);",
     "  g_ptr_array_set_size (sources, 0);\n  add_flight (courier, target->device, upload, sources, n_bytes);",
     "/cuda/same-bytes", "changed-in-flight"),
    ("source-not-held", "send.c",
     "      g_ptr_array_add (send->sources, hr_memory_ref (hr_tensor_get_memory (tensor)));\n", "      (void)0;\n",
     "/cuda/pinned", "changed-in-flight"),
    ("wrong-stream", "kernel.c", "device->stream);\n  return check_image", "NULL);\n  return check_image",
     "/cuda/same-bytes", "unordered: the kernel's"),
    ("pageable-copy", "send.c", "    if (is_pinned (send, tensor)) {", "    if (tensor != NULL) {",
     "/cuda/same-bytes", "pageable"),
    ("wrong-offset", "send.c", "    source += aligned (hr_tensor_get_n_bytes (tensor));",
     "    source += hr_tensor_get_n_bytes (tensor) / 2;", "/cuda/same-bytes", "assertion failed (got->pdata[i] == expected"),
    ("event-never-recorded", "upload.c", "EventRecord (upload->end, device->stream)", "EventRecord (upload->begin, device->stream)",
     "/cuda/streams", "never-recorded"),
    ("dropped-temporal-copy", "patchify-kernel.h", "t < temporal; t++, at += plane)", "t < 1; t++, at += temporal * plane)",
     "/cuda/kernel/random", "byte"),
    ("wrong-place-in-kernel", "patchify-kernel.h", "token % tokens * merge + within % merge",
     "token % tokens * merge + within / merge", "/cuda/kernel/random", "byte"),
]


class Compiler:
    """compiles copies as the build does"""
    def __init__(self, folder):
        self.folder = folder
        self.commands = {target: subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], check=True, text=True,
                                                stdout=subprocess.PIPE).stdout.splitlines() for target in (PLUGIN, KERNEL)}

    def do(self, command):
        ran = subprocess.run(command, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert ran.returncode == 0, ran.stdout

    def find(self, target, ending):
        path = os.path.relpath(ROOT / ending, BUILD)  # as the build names it
        found = [line for line in self.commands[target] if f" -c {path} " in line + " " or f" -o {target} " in line and not ending]
        assert len(found) == 1, (target, ending, len(found))
        return shlex.split(found[0])

    def object(self, target, source, copy, include):
        """the object of @copy instead of @source, and the path of the one that it stands for"""
        command, made = self.find(target, source), str(self.folder / (copy.name + ".o"))
        kept = command[command.index("-o") + 1]
        command[command.index("-o") + 1] = made
        command[command.index("-MF") + 1] = made + ".d"
        command[command.index("-c") + 1] = str(copy)
        command.insert(next(i for i, word in enumerate(command) if word.startswith("-I")), f"-I{include}")
        command.append("-Wno-error")  # what a bug leaves unused is none of the bug
        self.do(command)
        return kept, made

    def link(self, target, kept, made):
        command, into = self.find(target, ""), self.folder / pathlib.Path(target).name
        command[command.index("-o") + 1] = str(into)
        assert kept in command
        command[command.index(kept)] = made
        self.do([f"-Wl,-rpath,{BUILD / 'core'}" if "$ORIGIN" in word else word for word in command])
        return into


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path.name} has {text.count(old)} times: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def build(folder, name, old, new):
    """the plugin, or the kernel's test, with the change"""
    sources = folder / "cuda"
    shutil.copytree(ROOT / "plugins/cuda", sources)
    change(sources / name, old, new)
    compiler = Compiler(folder)
    if name.endswith(".h"):
        return compiler.link(KERNEL, *compiler.object(KERNEL, "tests/cuda/test-kernel.c", ROOT / "tests/cuda/test-kernel.c", sources))
    shutil.copy(BUILD / "plugins/hrcuda.elements", folder)
    return compiler.link(PLUGIN, *compiler.object(PLUGIN, f"plugins/cuda/{name}", sources / name, sources))


def run_tests(made, tests):
    """how they end, and what they say"""
    program = made if made.suffix != ".so" else BUILD / "tests/cuda/test-cuda-cudasink"
    only = [word for test in tests.split() for word in ("-p", test)]
    report = made.parent / "report"
    report.touch()
    ran = subprocess.run([program, *only], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=100,
                         errors="replace", env={**os.environ, "HR_PLUGIN_PATH": str(made.parent), "HR_STANDIN_DEVICES": "3",
                                                "HR_STANDIN_ORDER": "late", "HR_STANDIN_REPORT": str(report), "HR_PLAN_CACHE": ""})
    return ran.returncode, ran.stdout + report.read_text(encoding="utf-8")


def check(name, old, new, tests, says):
    """@says: None if nothing is wrong"""
    with tempfile.TemporaryDirectory(prefix="hr-mutant-") as folder:
        status, told = run_tests(build(pathlib.Path(folder), name, old, new), tests)
    if says is None:
        assert status == 0, told[-2000:]
    else:
        assert status != 0, "no test notices"
        assert says in told, told[-2000:]


def find_fault(*arguments):
    """None, or a comment"""
    try:
        check(*arguments)
        return None
    except (AssertionError, subprocess.TimeoutExpired):
        return "\n# " + traceback.format_exc().replace("\n", "\n# ")


def main():
    all_of = {kind: " ".join({test: None for _, name, _, _, tests, _ in MUTANTS for test in tests.split() if name[-1] == kind})
              for kind in "ch"}
    checks = [("right-plugin", ("send.c", "#define ALIGNMENT 256", "#define ALIGNMENT 256", all_of["c"], None)),
              ("right-kernel", ("patchify-kernel.h", "(3 * 256)", "(3 * 256)", all_of["h"], None))]
    checks += [(name, rest) for name, *rest in MUTANTS]
    print(f"1..{len(checks)}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for n, (name, fault) in enumerate(pool.map(lambda one: (one[0], find_fault(*one[1])), checks), 1):
            failed += fault is not None
            print(f"{'ok' if fault is None else 'not ok'} {n} /cuda/mutants/{name}{fault or ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
