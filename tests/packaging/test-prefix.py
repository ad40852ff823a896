#!/usr/bin/env python3
"""meson install into an empty prefix, use, `make uninstall`'s script: nothing is left.

usage: test-prefix.py SOURCE_ROOT BUILD
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402

TOOLS = ("hr-elements", "hr-inspect", "hr-launch", "hr-report", "hr-scale", "hr-verify")
# no build of another project may help
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("HR_", "GI_", "LD_LIBRARY", "PKG_CONFIG", "PYTHON"))}


def run(*command, **how):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=1800, **{"env": CLEAN, **how})
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


class Prefix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(dir=BUILD)
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        cls.prefix, cls.build = cls.scratch / "prefix", cls.scratch / "build"
        run("meson", "setup", cls.build, ROOT, f"--prefix={cls.prefix}", "--libdir=lib", "-Dtests=false", "-Ddocs=enabled")
        run("ninja", "-C", cls.build)

    def install(self, **environment):
        run("meson", "install", "-C", self.build, "--no-rebuild", env={**CLEAN, **environment})

    def test_uninstall(self):
        """what was installed is used, uninstalled, and nothing is left, not even what Python compiled"""
        self.install()
        for tool in (self.prefix / "bin").iterdir():
            self.assertTrue((self.prefix / "share/man/man1" / f"{tool.name}.1").exists(), f"{tool.name} has no page in the manual")
        there = {**CLEAN, "LD_LIBRARY_PATH": str(self.prefix / "lib")}
        names = files(self.prefix)
        for part in [f"bin/{tool}" for tool in TOOLS] + [f"lib/headrace-1.0/{name}.elements" for name in ("hrjson", "hrs3")] + [
                "share/bash-completion/completions/hr-launch", "share/zsh/site-functions/_headrace", "share/gir-1.0/Headrace-1.0.gir",
                "lib/girepository-1.0/Headrace-1.0.typelib", "lib/pkgconfig/headrace-1.0.pc", "lib/libheadrace-1.0.so.0",
                "lib/headrace-1.0/hrjson.so", "include/headrace-1.0/headrace.h", "share/doc/headrace/reference/index.html"]:
            self.assertIn(part, names)
        run(self.prefix / "bin/hr-launch", "fakesrc num-buffers=3 ! fakesink", env=there)
        package = next(self.prefix.rglob("headrace/__init__.py")).parent
        run("python3", "-c", "import headrace",
            env={**there, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": ""})
        self.assertTrue(list(package.glob("__pycache__/*.pyc")))
        run(self.prefix / "bin/hr-report", "--version", env={**there, "PYTHONDONTWRITEBYTECODE": ""})
        self.assertEqual(list((self.prefix / "share").rglob("__pycache__")), [])
        run(ROOT / "tools/uninstall", self.build)
        self.assertEqual(files(self.prefix) if self.prefix.exists() else [], [])

    def test_others(self):
        """what others have put beside it stays, and is no reason to complain; what cannot be removed is"""
        self.install()
        ours = next(self.prefix.rglob("headrace/__init__.py")).parent
        (self.prefix / "bin/other").write_text("x")
        (ours / "other.py").write_text("x")
        run(ROOT / "tools/uninstall", self.build)
        self.assertEqual([n for n in files(self.prefix) if not (self.prefix / n).is_dir()],
                         sorted(["bin/other", str((ours / "other.py").relative_to(self.prefix))]))
        with self.assertRaisesRegex(AssertionError, "nothing was installed"):
            run(ROOT / "tools/uninstall", self.scratch)
        subprocess.run(["rm", "-r", str(self.prefix)], check=True)

    def test_destdir(self):
        """the same below DESTDIR; nothing is written beside it"""
        destdir = self.scratch / "destdir"
        self.install(DESTDIR=str(destdir))
        inside = destdir / str(self.prefix).lstrip("/")
        self.assertTrue((inside / "bin/hr-launch").exists())
        self.assertFalse(self.prefix.exists() and files(self.prefix))
        run(ROOT / "tools/uninstall", self.build)
        self.assertEqual([n for n in files(destdir) if not (destdir / n).is_dir()] if destdir.exists() else [], [])


tap.main()
