#!/usr/bin/env python3
"""What hr-inspect tells of every element is complete, and its examples are right: each is read by hr-launch, and runs, against a server
where it names one, on a stand-in for CUDA where it wants a device, and both ends of a socket together.

usage: test-examples.py BUILD SOURCE_ROOT
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
LAUNCH, INSPECT = BUILD / "tools" / "hr-launch", BUILD / "tools" / "hr-inspect"
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("python", "order", "cuda")]
import fatbin  # noqa: E402 # pylint: disable=wrong-import-position
import tap  # noqa: E402 # pylint: disable=wrong-import-position
import tokenizer  # noqa: E402 # pylint: disable=wrong-import-position

ENV = {**{k: v for k, v in os.environ.items() if k not in ("HR_PLUGIN_PATH", "NO_COLOR")}, "LC_ALL": "C.UTF-8"}
# numbers that are none of something
NO_UNIT = {"seed", "fd", "reader", "pad-id", "weight", "temperature", "rescale-factor", "sleep-sigma"}
# two processes, whichever is asked for
PEERS = {"shmsink": "shmsrc", "shmsrc": "shmsink", "pipesink": "pipesrc", "pipesrc": "pipesink"}
IMAGES = ["coffee_444.jpg", "rgba.png", "cat_420.jpg", "gray.jpg", "tiny10.png"]


def inspect(*words):
    return subprocess.run([INSPECT, *words], check=True, stdout=subprocess.PIPE, text=True, env=ENV, timeout=60).stdout


def elements():
    return [json.loads(inspect("--json", row["name"])) for row in json.loads(inspect("--json"))["elements"]]


ELEMENTS = elements()


class Complete(unittest.TestCase):
    def test_elements(self):
        """each says what it is, in half a sentence and in some, what plugin of what version it is from, and where that lies"""
        self.assertGreater(len(ELEMENTS), 25)
        for e in ELEMENTS:
            self.assertRegex(e["summary"], r"^[A-Z].*[^.]$", e["name"])
            self.assertGreater(len(e["description"] or ""), 60, e["name"])
            self.assertRegex(e["version"] or "", r"^\d+(\.\d+)+$", e["name"])
            self.assertTrue(pathlib.Path(e["file"]).is_file(), e["file"])
            self.assertTrue(pathlib.Path(e["file"]).name.startswith("hr" + e["plugin"]), e["file"])
            self.assertIn(e["kind"], ("source", "transform", "each", "async", "tee", "join", "sink"))
            text = inspect(e["name"])
            for wanted in (e["version"], e["file"], e["needs"], e["gives"], e["traits"], *(p["name"] for p in e["properties"])):
                self.assertIn(re.sub(r"\s", "", wanted), re.sub(r"\s", "", text), e["name"])

    def test_properties(self):
        """each has a text, a range or choices, a default unless it is required or unset, and a unit if it is a number of something"""
        for e in ELEMENTS:
            for p in e["properties"] + e["common_properties"]:
                what = f"{e['name']} {p['name']}"
                self.assertRegex(p["doc"], r"^(\S.{6,})[^.]$", what)
                self.assertIsInstance(p["live"], bool)
                if p["type"] in ("int", "uint", "double", "size", "duration"):
                    self.assertIsNotNone(p["default"], what)
                    self.assertTrue(p["range"], what)
                if p["type"] in ("int", "uint") and p["name"] not in NO_UNIT:
                    self.assertTrue(p["unit"], f"{what}: of what?")
                if p["name"] in NO_UNIT:
                    self.assertIsNone(p["unit"], what)
                if p["type"] == "double" and p["name"] not in NO_UNIT:
                    self.assertEqual((p["min"], p["max"]), ("0", "1"), f"{what}: a share, or of what?")
                if p["type"] == "enum":
                    self.assertIn(p["default"], p["choices"], what)

    def test_types(self):
        """--types explains every type that a property has, and every field that an element needs, gives or takes"""
        told = json.loads(inspect("--types", "--json"))
        self.assertEqual({p["type"] for e in ELEMENTS for p in e["properties"] + e["common_properties"]} - {t["name"] for t in told["property_types"]},
                         set())
        fields = {field["field"]: field for field in told["fields"]}
        for e in ELEMENTS:
            for key in ("needs", "gives", "takes"):
                for field in filter(None, (f.strip() for f in e[key].split(","))):
                    if field not in ("*", "batch", "batch?"):
                        self.assertIn(e["name"], fields[field][key], field)

    def test_search(self):
        """every element is found by its name, by its plugin's words, and by any property of its own"""
        for e in ELEMENTS:
            for words in ([e["name"]], e["summary"].split()[:2], [e["properties"][0]["name"]] if e["properties"] else [e["name"]]):
                found = [row["name"] for row in json.loads(inspect("--json", "--search", *words))["elements"]]
                self.assertIn(e["name"], found, words)


class Examples(unittest.TestCase):
    """In a folder with what the examples name: train.jsonl, tokenizer.json, tests/data, and an S3 server with demo/train."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hr-examples-"))
        cls.bucket = cls.folder / "s3" / "demo" / "train"
        cls.bucket.mkdir(parents=True)
        (cls.folder / "tests").symlink_to(ROOT / "tests")
        for where in (cls.folder, cls.bucket):
            for image in IMAGES:
                shutil.copy(ROOT / "tests/data/golden/images" / image, where)
            (where / "train.jsonl").write_text("".join(json.dumps(
                {"id": f"r{i}", "image": IMAGES[i % len(IMAGES)], "conversations": [
                    {"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": f"Number {i}."}]}) + "\n" for i in range(12)))
        tokenizer.write(cls.folder / "tokenizer.json")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def launch(self, element, *words, before=()):
        environment = {**ENV, "TMPDIR": str(self.folder)}
        if element["plugin"] == "cuda":
            environment["HR_CUDART"] = str(BUILD / "tests" / "cuda" / "libcudart-standin.so")
            environment["HR_CUDA_KERNEL"] = fatbin.write(self.folder / "kernel.fatbin", 80, 90)
        return subprocess.Popen([*before, LAUNCH, "-q", "-D", f"ADDRESS=examples-{os.getpid()}", *words], cwd=self.folder, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, process, text, status=(0,)):
        out, err = process.communicate(timeout=120)
        self.assertIn(process.returncode, status, f"{text}\n{out}\n{err}")
        return err

    def test_read(self):
        """every element has examples, each of which holds it and is read"""
        for e in ELEMENTS:
            self.assertTrue(e["examples"], f"{e['name']}: no example")
            for text in e["examples"]:
                self.assertRegex(text, rf"(^|\s){e['name']}\b")
                self.end(self.launch(e, "--print", text), text)
                # as hr-inspect shows it, to be pasted into a shell
                shown = "hr-launch " if e["launched"] else "in a program: "
                self.assertRegex(inspect(e["name"]), re.escape(shown) + "['\"]" + re.escape(text))

    def test_run(self):
        """every example runs, as it stands; 3: it skips samples, as it says"""
        n = 0
        server = [ROOT / "tests" / "s3" / "server", "--kind", "badnight", "--root", self.folder / "s3", "--"]
        for e in ELEMENTS:
            for text in e["examples"] if e["launched"] else ():
                peer = [self.launch(other, "-q", other["examples"][0]) for other in ELEMENTS if other["name"] == PEERS.get(e["name"])]
                self.end(self.launch(e, text, before=server if "s3://" in text else ()), text, (0, 3) if "on-error=skip" in text else (0,))
                for process in peer:
                    self.end(process, text)
                n += 1
        self.assertGreater(n, 40)

    def test_program(self):
        """what only a program can run, hr-launch says so of"""
        names = [e["name"] for e in ELEMENTS if not e["launched"]]
        self.assertEqual(names, ["appmap", "appsrc"])
        for e in ELEMENTS:
            for text in e["examples"] if not e["launched"] else ():
                self.assertRegex(self.end(self.launch(e, text), text, (2,)), "a program")


tap.main()
