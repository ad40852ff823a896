#!/usr/bin/env python3
"""What is written in several places because packages want it there says the same everywhere.

usage: test-packages.py SOURCE_ROOT
"""
import pathlib
import re
import subprocess
import sys
import tomllib
import unittest

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def group(name):
    """a group of tools/install-deps"""
    return set(re.search(rf'^  \[{name}\]="([^"]*)"', text("tools/install-deps"), re.M)[1].split())


class Packages(unittest.TestCase):
    def test_version(self):
        """the version: meson, pip, Debian, the changes for users"""
        version = re.search(r"^project\('headrace', 'c', version: '([\d.]+)'", text("meson.build"))[1]
        self.assertEqual(tomllib.loads(text("pyproject.toml"))["project"]["version"], version)
        self.assertEqual(re.match(r"headrace \(([^)]+)\) ", text("debian/changelog"))[1], version)
        self.assertEqual(re.search(r"^## ([\d.]+)", text("CHANGES.md"), re.M)[1], version)

    def test_soname(self):
        """the packages of the libraries are named after their sonames"""
        number = re.search(r"'soversion': '(\d+)'", text("meson.build"))[1]
        packages = re.findall(r"^Package: (\S+)", text("debian/control"), re.M)
        for name in ("libheadrace", "libheadrace-test"):
            self.assertIn(f"{name}-1.0-{number}", packages)
            self.assertIn(f"{name}-1.0.so.*", text(f"debian/{name}-1.0-{number}.install"))

    def test_build_dependencies(self):
        """what `make build` installs is what debian/control builds with"""
        wanted = re.search(r"^Build-Depends: (.*?)\n\n", text("debian/control"), re.M | re.S)[1]
        declared = {re.split(r"[ (<]", part.strip())[0] for part in wanted.split(",")}
        # the compiler is there wherever packages are built
        self.assertEqual(group("build") - {"gcc", "libc6-dev"} - declared, set())
        helpers = {"debhelper-compat", "dh-sequence-gir", "dh-sequence-python3", "gi-docgen", "python3-gi"}
        self.assertEqual(declared - helpers - group("build"), set())
        self.assertLessEqual({"debhelper", "dh-python", "gi-docgen", "python3-gi"}, group("deb"))

    def test_files(self):
        """every package of debian/control says what is in it"""
        for name in re.findall(r"^Package: (\S+)", text("debian/control"), re.M):
            self.assertTrue(list((ROOT / "debian").glob(f"{name}.*")), name)

    def test_container(self):
        """both stages of the Containerfile stand on the same Debian, and the last one does not run as root"""
        lines = text("Containerfile").splitlines()
        bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
        self.assertEqual(bases, ["docker.io/library/debian:12-slim"] * 2)
        users = [line.split()[1] for line in lines if line.startswith("USER ")]
        self.assertEqual(len(users), 1)
        self.assertNotIn(users[0].split(":")[0], ("0", "root"))
        self.assertGreater(lines.index(f"USER {users[0]}"), max(i for i, line in enumerate(lines) if line.startswith("RUN ")))

    def test_changelog(self):
        """Debian's own program reads debian/changelog"""
        run = subprocess.run(["dpkg-parsechangelog", "-l", ROOT / "debian/changelog", "-S", "Source"], capture_output=True, text=True,
                             check=False)
        self.assertEqual((run.stdout.strip(), run.stderr), ("headrace", ""))


tap.main()
