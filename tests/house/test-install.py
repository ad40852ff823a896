#!/usr/bin/env python3
"""Installs the build into its prefix and uses it as a stranger would: public headers alone, as C and
as C++, an element and a program outside the tree, pkg-config, tools and bindings of the installed copy.

usage: test-install.py BUILD SOURCE_ROOT
The build's prefix must lie inside the build folder (`make build` sets it so).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import markdown

BUILD, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PAGE = ROOT / "docs" / "write-an-element.md"


def run(*command, status=0, **environment):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=300, env={**clean(), **environment})
    assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def clean():
    # nothing of this build may help
    drop = ("HR_", "GI_", "LD_LIBRARY", "PKG_CONFIG", "PYTHON")
    return {k: v for k, v in os.environ.items() if not k.startswith(drop)}


class Installed:
    def __init__(self, scratch):
        self.scratch = pathlib.Path(scratch)
        options = {o["name"]: o["value"] for o in json.loads(run("meson", "introspect", "--buildoptions", BUILD))}
        self.prefix = pathlib.Path(options["prefix"])
        if BUILD not in self.prefix.parents:
            print(f"1..0 # SKIP optional: the prefix {self.prefix} is not inside the build folder")
            sys.exit(0)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet")
        self.lib = self.prefix / options["libdir"]
        self.bin = self.prefix / options["bindir"]
        self.here = {"PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}
        self.there = {"LD_LIBRARY_PATH": str(self.lib)}

    def flags(self, *which):
        return run("pkg-config", *which, "headrace-1.0", **self.here).split()

    def compile(self, source, out, *options, compiler="cc"):
        run(compiler, "-Wall", "-Wextra", "-Werror", *options, source, "-o", out, *self.flags("--cflags", "--libs"))
        return out


def test_headers(installed):
    """each installed header compiles alone, as C99 and as C++11"""
    folder = installed.prefix / "include" / "headrace-1.0"
    headers = sorted(p.name for p in folder.glob("*.h"))
    assert "headrace.h" in headers and len(headers) > 10, headers
    assert not [h for h in headers if "private" in h], headers
    for header in headers:
        for name, compiler, standard in (("x.c", "cc", "-std=c99"), ("x.cc", "c++", "-std=c++11")):
            source = installed.scratch / name
            source.write_text(f"#include <{header}>\n")
            run(compiler, standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source, *installed.flags("--cflags"))


def test_element(installed):
    """an element outside the tree, made, run and tested as docs/write-an-element.md says, word for word"""
    home = installed.scratch / "home"
    folder = home / "brightness"
    home.mkdir()
    files = {}
    for block in markdown.blocks(PAGE):
        if len(block.words) == 2 and block.language != "sh" and block.words[1] != "about":
            files.setdefault(block.words[1], []).append(block.text)
    assert sorted(files) == sorted(p.name for p in (ROOT / "examples" / "element").iterdir()), files.keys()
    for name, parts in files.items():
        assert "\n".join(parts) == (ROOT / "examples" / "element" / name).read_text(), f"{name} is another one in examples/element"
    shell = markdown.Shell(ROOT, {**clean(), **installed.here, **installed.there, "HOME": str(home),
                                  "PATH": f"{installed.bin}:{os.environ['PATH']}"})

    def written(block):
        # when the page's shell stands in the folder, the files are there as they are shown
        if folder.exists():
            for name, parts in files.items():
                (folder / name).write_text("\n".join(parts))
        return block.language == "sh"

    try:
        ran, compared = markdown.run_page(PAGE, shell, written, 120)
    finally:
        shell.close()
    assert ran >= 7 and compared >= 6, (ran, compared)
    # without the path it is not found
    run(installed.bin / "hr-launch", "fakesrc ! brightness ! fakesink", status=2, **installed.there)


def test_embed(installed):
    """the program of examples/embed.c compiles against the installed copy, and says what is wrong"""
    program = installed.compile(ROOT / "examples/embed.c", installed.scratch / "embed")
    done = subprocess.run([program, "not-a-location"], capture_output=True, text=True, timeout=300, check=False,
                          env={**clean(), **installed.there})
    assert done.returncode == 1 and "not-a-location" in done.stderr, done


def test_plugins(installed):
    """every plugin of the tree is installed with its list, and every element can be inspected"""
    plugins = sorted(p.name for p in (installed.lib / "headrace-1.0").glob("*.so"))
    assert plugins == sorted(p.name for p in BUILD.glob("plugins/*.so")), plugins
    listed = []
    for plugin in plugins:
        lines = (installed.lib / "headrace-1.0" / plugin.replace(".so", ".elements")).read_text().splitlines()
        listed += [line.split("\t")[0] for line in lines if line]
    assert {"s3src", "jsonlparse", "imagefetch", "imagedecode", "resize", "batch", "prefetchqueue"} <= set(listed)
    for name in listed:
        assert name in run(installed.bin / "hr-inspect", name, **installed.there)


def test_report(installed):
    """a run is recorded, and its page made, with what is installed; the programs have manual pages and completions"""
    record, page = installed.scratch / "run.jsonl", installed.scratch / "page.html"
    run(installed.bin / "hr-launch", "-q", f"--record={record}", "fakesrc num-buffers=4 ! trainsim step-time=1ms", **installed.there)
    run(installed.bin / "hr-report", "-o", page, record)
    assert "trainsim0" in page.read_text()
    # its modules lie in a folder of their own, all of them, and nothing that came into being by use
    share = installed.prefix / "share"
    modules = sorted(p.name for p in (ROOT / "tools/report/hr_report").glob("*.py"))
    assert sorted(p.name for p in (share / "headrace-1.0/report").rglob("*")) == sorted(["hr_report", *modules])
    assert not list(installed.bin.glob("hr_report")) and not list(installed.bin.glob("__pycache__"))
    version = run(installed.bin / "hr-launch", "--version", **installed.there).split()[1]
    for program in ("hr-inspect", "hr-launch", "hr-report", "hr-verify"):
        said = run(installed.bin / program, "--version", **installed.there)
        assert said.split() == [program, version], said
        assert (share / "man" / "man1" / f"{program}.1").is_file(), program
        assert f"-F _{program.replace('-', '_')} {program}" in (share / "bash-completion" / "completions" / program).read_text(), program
        assert program in (share / "zsh" / "site-functions" / "_headrace").read_text().splitlines()[0].split(), program


def test_verify(installed):
    """hr-verify finds its Python program under the prefix, and says what it needs"""
    name = [word for word in run(installed.bin / "hr-verify", "parity", "--help", **installed.there).split()
            if word.endswith("requirements.txt")][0]
    assert installed.prefix.resolve() in pathlib.Path(name).resolve().parents, name
    assert (pathlib.Path(name).parent / "__main__.py").exists(), name
    sources = sorted(p.name for p in (ROOT / "tools/verify/parity").glob("*.*"))
    assert sorted(p.name for p in pathlib.Path(name).parent.iterdir() if p.is_file()) == sources


def test_bindings(installed):
    """Python drives a pipeline through the installed typelib"""
    script = """
import gi, json, sys
gi.require_version("Headrace", "1.0")
from gi.repository import GLib, Headrace
try:
    Headrace.parse_launch("fakesrc ! nonsense ! fakesink")
    sys.exit("no error")
except GLib.Error as error:
    assert error.matches(Headrace.parse_error_quark(), Headrace.ParseError.UNKNOWN_ELEMENT), error
    assert "nonsense" in error.message
pipeline = Headrace.parse_launch("fakesrc name=src num-buffers=1 size=12 ! batch size=2 ! appsink")
source = pipeline.get_element("src")
source.set_property("num-buffers", 5)
assert source.get_property("num-buffers") == 5 and source.props.size == 12
source.set_from_string("size", "2KiB")
assert source.get_factory() == "fakesrc" and source.get_name() == "src"
assert pipeline.get_n_elements() == 3
assert "size=2KiB" in pipeline.to_string(), pipeline.to_string()
pipeline.start()
sizes, shapes = [], []
while True:
    batch = pipeline.pull()
    if batch is None:
        break
    sizes.append(batch.get_n_members())
    field = batch.get_list("bytes")
    for i in range(field.get_length()):
        tensor = field.get_tensor(i)
        shapes.append((tensor.get_dtype_name(), [tensor.get_dim(k) for k in range(tensor.get_n_dims())]))
    del batch, field
assert sizes == [2, 2, 1], sizes
assert shapes == [("uint8", [2048])] * 5, shapes
pipeline.wait()
stats = json.loads(pipeline.get_stats())
assert stats["samples"] == 5 and stats["steps"] == 3, stats
del pipeline, source, tensor
import gc; gc.collect()
assert Headrace.buffer_live() == 0 and Headrace.memory_live() == 0, (Headrace.buffer_live(), Headrace.memory_live())
print("well")
"""
    done = run("/usr/bin/python3", "-c", script, **installed.there,
               GI_TYPELIB_PATH=str(installed.lib / "girepository-1.0"))
    assert done == "well\n", done


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    with tempfile.TemporaryDirectory() as scratch:
        installed = Installed(scratch)
        print(f"1..{len(tests)}", flush=True)
        for i, (_, test) in enumerate(tests, 1):
            try:
                test(installed)
                print(f"ok {i} {test.__doc__}", flush=True)
            except Exception:  # a failed test is a line of TAP, whatever it was
                print("# " + traceback.format_exc().replace("\n", "\n# "))
                print(f"not ok {i} {test.__doc__}", flush=True)


main()
