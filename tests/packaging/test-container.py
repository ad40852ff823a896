#!/usr/bin/env python3
"""The Containerfile, built by buildah on a base image made here, without a registry; and what runs in the image.

usage: test-container.py SOURCE_ROOT BUILD
"""
import json
import pathlib
import shutil
import sys

import root

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
WORK = BUILD / "packaging"
BASE = "docker.io/library/debian:12-slim"


class Image:
    """built from the files that git knows, in a storage of its own"""
    def __init__(self):
        if not shutil.which("buildah"):
            raise root.NoRoot("there is no buildah: run tools/install-deps packaging")
        self.folder = WORK / "containers"
        WORK.mkdir(exist_ok=True)
        self.remove()
        context = self.folder / "context"
        context.mkdir(parents=True)
        root.run(["bash", "-c", 'cd "$1" && git ls-files -z | tar -c --null -T - | tar -x -C "$2"', "bash", ROOT, context])
        root.bootstrap(self.folder / "base.tar", include=["ca-certificates"])
        base = self.buildah("from", "scratch").strip()
        self.buildah("add", base, self.folder / "base.tar", "/")
        self.buildah("commit", "--rm", base, BASE)
        self.buildah("bud", "--isolation", "chroot", "--pull-never", "--layers=false", "--tag", "headrace", context, timeout=3000)
        self.container = self.buildah("from", "--pull-never", "localhost/headrace").strip()

    def buildah(self, *words, **how):
        # what was compiled is kept in there for the next run
        (WORK / "cache").mkdir(exist_ok=True)
        return root.run(["buildah", "--root", self.folder / "storage", "--runroot", self.folder / "run", *words],
                        env={**root.os.environ, "TMPDIR": str(WORK / "cache")}, **how)

    def inside(self, *command, volume=None):
        mounts = ["--volume", volume] if volume else []
        return self.buildah("run", "--isolation", "chroot", *mounts, self.container, "--", *command)

    def remove(self):
        if (self.folder / "storage").exists():
            self.buildah("rm", "--all")
            self.buildah("rmi", "--all", "--force")
        mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        for mount in sorted((m for m in mounts if m.startswith(f"{self.folder}/")), reverse=True):
            root.run(["umount", mount])
        root.subprocess.run(["rm", "-rf", "--one-file-system", str(self.folder)], check=True)


def settings(image):
    return json.loads(image.buildah("inspect", "--type", "image", "localhost/headrace"))["OCIv1"]["config"]


def test_settings(image):
    """it starts hr-launch, as a user who is not root, and without a command tells what that wants"""
    config = settings(image)
    assert config["Entrypoint"] == ["hr-launch"] and config["Cmd"] == ["--help"], config
    assert config["User"].split(":")[0] not in ("", "0", "root"), config
    assert image.inside("id", "-u").strip() == config["User"].split(":")[0]
    said = image.inside(*config["Entrypoint"], *config["Cmd"])
    assert "--checkpoint" in said, said


def test_pipeline(image):
    """a pipeline over data that was mounted"""
    data = image.folder / "data"
    data.mkdir()
    (data / "a.jsonl").write_text("".join(
        json.dumps({"image": "a.png", "conversations": [{"from": "human", "value": f"<image>{i}"}, {"from": "gpt", "value": "b"}]}) + "\n"
        for i in range(5)))
    shutil.copy(ROOT / "tests/data/golden/images/tiny10.png", data / "a.png")
    said = image.inside(*settings(image)["Entrypoint"], "filesrc location=/data ! jsonlparse ! imagefetch ! imagedecode ! resize ! "
                        "batch size=2 ! fakesink", volume=f"{data}:/data:ro")
    assert "done: 3 batches, 5 samples, 5 images, none skipped" in said, said


def test_tools(image):
    """the other tools, and Python, all of the project's version"""
    version = (ROOT / "meson.build").read_text().split("version: '")[1].split("'")[0]
    for tool in ("hr-inspect", "hr-launch", "hr-report", "hr-verify"):
        assert version in image.inside(tool, "--version"), tool
    assert image.inside("python3", "-c", "import headrace; print(headrace.__version__)").strip() == version


def test_lean(image):
    """nothing of the build is in it: no compiler, no sources, no lists of packages"""
    said = image.inside("sh", "-c", "command -v gcc meson git; ls -d /src /debs /out /var/lib/apt/lists/*; true")
    assert not [line for line in said.splitlines() if "No such file" not in line and "/lists/partial" not in line], said


root.tests(globals(), Image)
