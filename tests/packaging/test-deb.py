#!/usr/bin/env python3
"""The Debian packages: made, looked at by lintian, installed in a bare Debian, used there, taken away again.

usage: test-deb.py SOURCE_ROOT BUILD
"""
import pathlib
import shutil
import sys

import root

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
WORK = BUILD / "packaging"
PACKAGES = ["gir1.2-headrace-1.0", "headrace-doc", "headrace-plugins", "headrace-tools", "libheadrace-1.0-0", "libheadrace-dev",
            "libheadrace-test-1.0-0", "python3-headrace"]


class Debian(root.Root):
    """with what the packages depend on, and a compiler, but without themselves"""
    def __init__(self):
        WORK.mkdir(exist_ok=True)
        shutil.rmtree(WORK / "deb", ignore_errors=True)
        root.run([ROOT / "tools/deb", WORK / "deb"], env={**root.os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"})
        folder = WORK / "root"
        root.subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)
        super().__init__(folder)
        self.debs = sorted((WORK / "deb").glob("*.deb"))
        (folder / "debs").mkdir()
        for deb in self.debs:
            shutil.copy(deb, folder / "debs")
        self.apt("update")
        plan = self.run("apt-get", "-s", "install", "--no-install-recommends", *self.names())
        others = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ") and line.split()[1] not in PACKAGES]
        # debian/tests/control names what its tests need beside the packages
        self.apt("install", "--no-install-recommends", *others, "gcc", "libc6-dev", "pkg-config", "python3-gi", "python3-numpy")
        self.run("useradd", "--create-home", "tester")
        self.before = self.files()

    def names(self):
        return [f"/debs/{deb.name}" for deb in self.debs]


def test_made(debian):
    """every package that debian/control names, with the version of the project"""
    names = sorted(deb.name.split("_")[0] for deb in debian.debs)
    assert names == PACKAGES, names
    assert {deb.name.split("_")[1] for deb in debian.debs} == {version()}, debian.debs


def version():
    return (ROOT / "meson.build").read_text().split("version: '")[1].split("'")[0]


def test_lintian(debian):
    """lintian has nothing to say above its hints"""
    del debian
    said = root.run(["lintian", "--fail-on", "none", "--tag-display-limit", "0", "--allow-root", *sorted((WORK / "deb").glob("*.changes"))])
    lines = [line for line in said.splitlines() if line[:2] in ("E:", "W:")]
    assert not lines, "\n".join(lines)


def test_install(debian):
    """apt installs them without a word of warning"""
    said = debian.apt("install", "--no-install-recommends", *debian.names())
    assert "warning" not in said.lower() and "error" not in said.lower(), said
    assert debian.files() > debian.before


def test_use(debian):
    """debian/tests: tools, a pipeline, Python, an element and a program built outside the tree"""
    shutil.copytree(ROOT / "debian/tests", debian.folder / "home/tester/tests")
    shutil.copytree(ROOT / "tests/data/golden/images", debian.folder / "home/tester/images")
    names = sorted(p.stem for p in (ROOT / "docs/elements").glob("*.md") if p.stem != "README")
    (debian.folder / "home/tester/elements").write_text("".join(f"{n}\n" for n in names))
    for script in ("smoke", "build"):
        said = debian.run("sh", "-c", f"cd /home/tester && exec tests/{script}", user="tester")
        assert said.splitlines()[-1] == f"{script}: well", said


def test_purge(debian):
    """apt takes them away, and everything is as it was before, also what came into being by use"""
    debian.run("rm", "-rf", "/home/tester/tests", "/home/tester/images", "/home/tester/elements")
    debian.apt("purge", *PACKAGES)
    left = debian.files() ^ debian.before
    left = {p for p in left if not p.startswith("/home/tester/")}
    assert not left, sorted(left)
    dpkg = (debian.folder / "var/lib/dpkg/status").read_text()
    assert not [name for name in PACKAGES if f"\nPackage: {name}\n" in dpkg]


root.tests(globals(), Debian)
