#!/usr/bin/env python3
"""What a shell and a terminal see of the tools: colours, completion in bash (and zsh, where it is), errors of stdout, manual pages.

usage: test-shell.py BUILD SOURCE_ROOT
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import unittest

BUILD, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
TOOLS, SCRIPTS = BUILD / "tools", ROOT / "tools" / "completions"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402 # pylint: disable=wrong-import-position

ENV = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tools" / name.replace("_", "-")))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def on_terminal(*words, **environment):
    """what `hr-inspect WORDS` prints on a terminal"""
    master, slave = pty.openpty()
    with subprocess.Popen([TOOLS / "hr-inspect", *words], stdout=slave, stderr=slave, stdin=slave,
                          env={**ENV, "TERM": "xterm", **environment}) as process:
        os.close(slave)
        text = b""
        try:
            while part := os.read(master, 65536):
                text += part
        except OSError:  # EIO: the other side is closed
            pass
        os.close(master)
        assert process.wait() == 0, text
    return text.decode().replace("\r\n", "\n")


def plain(*words, **environment):
    return subprocess.run([TOOLS / "hr-inspect", *words], check=True, stdout=subprocess.PIPE, text=True,
                          env={**ENV, "TERM": "xterm", **environment}).stdout


BASH = r"""
source "$1"; shift; function=$1; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
$function
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
"""


def bash(*words):
    """what bash offers for the last of the words, cut as readline cuts them"""
    run = subprocess.run(["bash", "--norc", "-euc", BASH, "bash", SCRIPTS / "headrace.bash", "_" + words[0].replace("-", "_"),
                          *words], check=True, env=ENV, capture_output=True, text=True)
    assert run.stderr == "", run.stderr
    return run.stdout.splitlines()


class Colours(unittest.TestCase):
    def test_terminal(self):
        """colours on a terminal, and the same text without them"""
        for words in ([], ["resize"], ["--types"], ["--search", "smart"]):
            coloured = on_terminal(*words)
            self.assertIn("\033[", coloured)
            self.assertEqual(re.sub(r"\033\[[0-9;]*m", "", coloured), plain(*words))

    def test_elsewhere(self):
        """none into a pipe, none where NO_COLOR or a dumb terminal says so; --color decides"""
        self.assertNotIn("\033", plain("resize"))
        self.assertNotIn("\033", on_terminal("resize", NO_COLOR="1"))
        self.assertNotIn("\033", on_terminal("resize", TERM="dumb"))
        self.assertNotIn("\033", on_terminal("--color=never", "resize"))
        self.assertIn("\033", plain("--color=always", "resize"))


class Completion(unittest.TestCase):
    def test_elements(self):
        """elements at the start and behind a link, in words and in quotes"""
        self.assertEqual(bash("hr-launch", "filesr"), ["filesrc"])
        self.assertEqual(bash("hr-launch", "filesrc", "location", "=", "x", "!", "imagede"), ["imagedecode"])
        self.assertEqual(bash("hr-launch", "'filesrc location=x ! imagede"), ["filesrc location=x ! imagedecode"])
        self.assertEqual(bash("hr-inspect", "jsonl"), ["jsonlparse"])
        self.assertEqual(bash("hr-launch", "filesrc", "location", "=", "x", "!", "nosuchthing"), [])

    def test_properties(self):
        """the element's own, those of every one, the pipeline's before the first"""
        self.assertEqual(bash("hr-launch", "filesrc", "location", "=", "x", "!", "resize", "min-"), ["min-pixels="])
        self.assertEqual(bash("hr-launch", "filesrc", "location", "=", "x", "!", "resize", "work"), ["workers="])
        self.assertIn("serial=", bash("hr-launch", "ser"))
        self.assertEqual(bash("hr-launch", "filesrc", "location", "=", "x", "!", "nosuch", "loc"), [])

    def test_values(self):
        """choices and truth, without the part that readline keeps"""
        words = ["hr-launch", "filesrc", "location", "=", "x", "!", "resize", "reference", "="]
        self.assertEqual(bash(*words), ["pillow", "torchvision"])
        self.assertEqual(bash(*words, "to"), ["torchvision"])
        self.assertEqual(bash("hr-launch", "'filesrc location=x ! resize reference=to"),
                         ["filesrc location=x ! resize reference=torchvision"])
        self.assertEqual(bash("hr-launch", "fakesink", "ordered", "=", "t"), ["true"])

    def test_options(self):
        """every option of --help, and no other"""
        shown = {name for _, name, _, _ in load("make_man").options(BUILD, "hr-launch")}
        self.assertGreater(len(shown), 20)
        self.assertEqual(set(bash("hr-launch", "--")), shown)
        for program in ("hr-inspect", "hr-report"):
            shown = {name for _, name, _, _ in load("make_man").options(BUILD, program)}
            self.assertGreater(len(shown), 4)
            self.assertEqual(set(bash(program, "--")), shown)
        self.assertEqual(bash("hr-report", "runs"), [])  # files are bash's own
        self.assertEqual(bash("hr-scale", ""), ["run", "ablate", "size"])
        self.assertEqual(bash("hr-scale", "run", "--rank"), ["--ranks", "--ranks-per-node"])
        self.assertEqual(bash("hr-scale", "run", "x"), [])

    def test_option_values(self):
        """the words that an option's value is one of, where --help says so"""
        self.assertEqual(bash("hr-launch", "--on-stall", "="), ["tell", "fail"])
        self.assertEqual(bash("hr-launch", "--on-stall", "=", "f"), ["fail"])
        self.assertEqual(bash("hr-inspect", "--color", "=", "al"), ["always"])
        self.assertEqual(bash("hr-launch", "--record", "="), [])  # bash's own: files
        self.assertEqual(bash("hr-verify", "parity", "--back"), ["--backend"])
        self.assertEqual(bash("hr-verify", "p"), ["parity"])

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh(self):
        """the same in zsh, by its own completion system in a terminal of its own"""
        script = (f"fpath=({SCRIPTS} $fpath); zmodload zsh/zpty; zpty z zsh -f -i; "
                  f"zpty -w z 'PS1=; PATH={TOOLS}:$PATH; fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D; "
                  f"setopt no_beep; print -r rea\"\"dy'; zpty -r z line '*ready*'; "
                  "zpty -w -n z $'hr-launch filesrc location=x \\'!\\' resize refer\\t'; "
                  "zpty -r -m z line '*reference=*' && print -r -- found; "
                  "zpty -w -n z $'tor\\t'; zpty -r -m z line '*torchvision*' && print -r -- value; "
                  "zpty -w -n z $'\\C-u'; zpty -w -n z $'hr-report --outp\\t'; zpty -r -m z line '*--output*' && print -r -- option; "
                  "zpty -w -n z $'\\C-u'; zpty -w -n z $'hr-launch --balance=pi\\t'; zpty -r -m z line '*=pixels*' && print -r -- choice; zpty -d z")
        run = subprocess.run(["zsh", "-f", "-c", script], env=ENV, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.stdout.split(), ["found", "value", "option", "choice"], run.stderr)


class Output(unittest.TestCase):
    def run_into(self, where, *words):
        run = subprocess.run(["sh", "-c", f'"$@" {where}', "sh", TOOLS / words[0], *words[1:]], check=False, stderr=subprocess.PIPE, text=True,
                             stdout=subprocess.DEVNULL, env=ENV)
        return run.returncode, run.stderr

    def test_unwritable(self):
        """what cannot be written to stdout is an error, also where the option parser ends the program"""
        for program, *words in (("hr-launch", "--version"), ("hr-launch", "--help"), ("hr-inspect", "--version"), ("hr-inspect", "--help"),
                                ("hr-inspect", "batch"), ("hr-inspect", "--json"), ("hr-verify", "--help"), ("hr-verify", "resume", "--help")):
            for where in (">/dev/full", ">&-"):
                status, said = self.run_into(where, program, *words)
                self.assertEqual(status, 1, (program, words, where))
                self.assertRegex(said, rf"^{program}: stdout: .+\n$")
            self.assertEqual(self.run_into(">/dev/null", program, *words), (0, ""))

    def test_usage(self):
        """wrong usage stays that"""
        status, said = self.run_into(">/dev/full", "hr-launch", "--no-such-option")
        self.assertEqual(status, 2)
        self.assertNotIn("stdout", said)


class Manual(unittest.TestCase):
    def test_options(self):
        """each page has the options of --help, word for word"""
        pages = load("make_man").pages(BUILD, ROOT / "docs" / "man")
        self.assertEqual([path.name for path in pages], ["hr-elements.1", "hr-inspect.1", "hr-launch.1", "hr-report.1", "hr-scale.1", "hr-verify.1"])
        for path, text in pages.items():
            if path.name in ("hr-elements.1", "hr-scale.1"):   # have no list of options
                continue
            self.assertGreater(text.count("\n.TP\n"), 5, path)
            self.assertRegex(text, r'\.\\" options ' + path.stem)
            self.assertEqual(path.read_text(encoding="utf-8"), text, f"run `make docs`: {path}")

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_roff(self):
        """no warning from man"""
        for path in (ROOT / "docs" / "man").glob("*.1"):
            run = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path], check=True, capture_output=True,
                                 text=True, env=ENV)
            self.assertEqual(run.stderr, "", path)


tap.main()
