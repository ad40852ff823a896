#!/usr/bin/env python3
"""hr-launch's progress on a terminal: what stands on the screen while it runs, and behind it.

usage: test-progress.py HR_LAUNCH SOURCE_ROOT
"""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import pyte

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402 # pylint: disable=wrong-import-position

LINE = re.compile(r"(\[[# ]+\] )? *(\d+ %  )?.*\d+ samples?.* samples/s")
TITLES = re.compile(r"element +busy +queue +items/s +workers")
ROW = re.compile(r"[a-z]+\d* +\d+ %  +(-|\d+/\d+) +[\d.]+ +\d+")
SOURCE = "fakesrc ! identity ! batch size=4 ! prefetchqueue ! trainsim step-time=20ms"


class Terminal:
    """A program whose stderr is a terminal; its stdout is a pipe."""

    def __init__(self, *arguments, columns=80, rows=24, **environment):
        self.screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.master, slave = pty.openpty()
        self.resize(columns, rows, screen=False)
        kept = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR", "HR_DEBUG")}
        self.process = subprocess.Popen([HR_LAUNCH, *arguments], stderr=slave, stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, env={**kept, "TERM": "xterm-256color", **environment})
        os.close(slave)

    def resize(self, columns, rows, screen=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if screen:
            self.screen.resize(rows, columns)

    def read(self):
        """FALSE: it has ended; one read is one state of the screen, or several"""
        if not select.select([self.master], [], [], 30)[0]:
            raise AssertionError(f"nothing comes; the screen has\n{self.text()}")
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            data = b""
        self.raw += data
        self.stream.feed(data)
        return data != b""

    def until(self, condition):
        """looks at every state until one fits"""
        end = time.monotonic() + 30
        while not condition(self.lines()):
            if not self.read() or time.monotonic() > end:
                raise AssertionError(f"it never came; the screen has\n{self.text()}")

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines()).rstrip()

    def everything(self):
        """with what has left at the top"""
        above = ["".join(row[i].data for i in range(self.screen.columns)).rstrip() for row in self.screen.history.top]
        return above + self.text().split("\n")

    def end(self):
        """(status, stdout)"""
        while self.read():
            pass
        out = self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(30), out

    def stop(self):
        self.process.terminate()
        return self.end()

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        os.close(self.master)


def bars(lines):
    return [line for line in lines if LINE.fullmatch(line) or LINE.match(line) and "waiting" in line]


class Progress(unittest.TestCase):
    def start(self, *arguments, **options):
        terminal = Terminal(*arguments, **options)
        self.addCleanup(terminal.close)
        return terminal

    def test_bar(self):
        """one line, redrawn in place, gone at the end; stdout stays empty"""
        terminal = self.start("--steps=200", SOURCE)
        seen = set()
        while terminal.read():
            lines = terminal.lines()
            if any(line.startswith("done:") for line in lines):
                break
            now = bars(lines)
            self.assertLessEqual(len(now), 1, terminal.text())
            self.assertLessEqual(terminal.screen.cursor.y, 0, terminal.text())
            seen.update(now)
        status, out = terminal.end()
        self.assertEqual((status, out), (0, b""))
        self.assertGreater(len(seen), 2)
        percents = sorted(int(re.search(r"(\d+) %", line)[1]) for line in seen)
        self.assertLess(percents[0], percents[-1])
        self.assertTrue(any(" left" in line for line in seen), seen)
        self.assertTrue(all(line.startswith("[") for line in seen), seen)
        lines = terminal.text().split("\n")
        self.assertEqual(bars(lines), [])
        self.assertTrue(lines[0].startswith("element  "), lines)
        self.assertTrue(lines[-1].startswith("done: 200 batches, 800 samples"), lines)

    def test_unknown_end(self):
        """no bar, no percent, nothing that would be left"""
        terminal = self.start(SOURCE)
        terminal.until(bars)
        line = bars(terminal.lines())[0]
        self.assertNotIn("[", line)
        self.assertNotIn("left", line)
        self.assertIn("batch", line)
        self.assertEqual(terminal.stop()[0], 143)
        self.assertEqual(len([line for line in terminal.lines() if "samples/s  waiting" in line]), 0)

    def test_elements(self):
        """a line for each, in place; the busiest stands out"""
        terminal = self.start("--progress=elements", "--limit=1000", SOURCE)
        n = 0
        while terminal.read():
            lines = terminal.lines()
            if any(line.startswith("done:") for line in lines):
                break
            if not bars(lines):
                continue
            n += 1
            self.assertTrue(TITLES.fullmatch(lines[0]), terminal.text())
            self.assertEqual([line.split()[0] for line in lines[1:6]],
                             ["fakesrc0", "identity0", "batch0", "prefetchqueue0", "trainsim0"])
            for line in lines[1:6]:
                self.assertTrue(ROW.fullmatch(line), line)
            self.assertEqual(bars(lines), [lines[6]])
            self.assertEqual(lines[7:], [""] * 17)
            bold = [y for y in range(24) if terminal.screen.buffer[y][0].bold]
            self.assertIn(bold, ([], [5]), terminal.text())
        self.assertGreater(n, 3)
        self.assertEqual(terminal.end(), (0, b""))
        self.assertFalse(any(TITLES.fullmatch(line) for line in terminal.everything()))

    def test_small(self):
        """never wider or higher than the terminal, however small: what matters least is left out"""
        for columns, rows in ((40, 5), (24, 3), (10, 2), (2, 1)):
            terminal = self.start("--progress=elements", SOURCE, columns=columns, rows=rows)
            terminal.until(lambda _unused, drawn=terminal: drawn.raw.count(b"\r") > 3)
            self.assertEqual(terminal.stop()[0], 143)
            drawn = terminal.raw[:terminal.raw.rindex(b"element ", 0, terminal.raw.index(b"waits input"))]
            alone = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)  # without the table at the end, which may scroll
            pyte.ByteStream(alone).feed(drawn)
            self.assertEqual(len(alone.history.top), 0, (columns, rows, drawn))
            for line in re.split(rb"\r\n|\r", re.sub(rb"\x1b\[[0-9]*[A-Za-z]", b"\r", drawn))[:-1]:
                self.assertLess(len(line.decode()), columns, line)
            self.assertEqual("less busy" in drawn.decode(), (columns, rows) == (40, 5), drawn)

    def test_resize(self):
        """it fits again at once when the terminal has become another"""
        terminal = self.start("--progress=elements", SOURCE)
        terminal.until(lambda lines: bars(lines) and TITLES.match(lines[0]))
        for columns, rows in ((120, 30), (44, 5), (80, 24)):
            terminal.resize(columns, rows)
            seen, n = len(terminal.raw), 4 if rows == 5 else 7

            def fits(_unused, seen=seen, columns=columns, n=n):
                drawings = terminal.raw[seen:].split(b"\x1b[J")[1:-1]  # some of before may be on their way
                lines = re.sub(r"\x1b\[[0-9]*[A-Za-z]|\r", "", drawings[-1].decode()).split("\n") if drawings else []
                return len(lines) == n and max(map(len, lines)) < columns
            terminal.until(fits)
        self.assertEqual(terminal.stop()[0], 143)

    def test_messages(self):
        """what is printed meanwhile stands above, whole, each in a line of its own"""
        for how in ("bar", "elements"):
            terminal = self.start("-v", f"--progress={how}", "--on-error=skip", "--limit=300",
                                  "fakesrc ! identity error-every=10 name=bad ! batch size=4 ! prefetchqueue"
                                  " ! trainsim step-time=10ms", columns=150, HR_DEBUG="core:info,fakesrc:debug")
            self.assertEqual(terminal.end(), (3, b""))
            lines = terminal.everything()
            skipped = [line for line in lines if line.startswith("skipped (")]
            self.assertEqual(len(skipped), 30, "\n".join(lines))
            for i, line in enumerate(skipped):
                self.assertRegex(line, rf'^skipped \([a-z-]+\): identity "bad": sample {10 * i + 9} is bad, as asked for$')
            self.assertTrue(any(re.match(r"^ +\d+\.\d+ INFO .* core: started", line) for line in lines), lines)
            # the source is done while the trainer is still at work
            self.assertTrue(any(re.match(r"^ +\d+\.\d+ DEBUG .* fakesrc0: worker 0 leaves after \d+ buffers$", line)
                                for line in lines), "\n".join(lines))
            self.assertFalse([line for line in lines if "samples/s  waiting" in line or TITLES.match(line)])

    def test_colours(self):
        """NO_COLOR: nothing stands out, the rest is the same"""
        strong = self.start("--progress=elements", SOURCE)
        strong.until(lambda _: b"\x1b[1mtrainsim0" in strong.raw)
        self.assertEqual(strong.stop()[0], 143)
        plain = self.start("--progress=elements", SOURCE, NO_COLOR="1")
        plain.until(lambda _: plain.raw.count(b"\x1b[6A") > 2)
        self.assertEqual(plain.stop()[0], 143)
        self.assertNotIn(b"\x1b[1m", plain.raw)

    def test_dumb(self):
        """a terminal that knows nothing gets lines; a bar that is wanted all the same needs \\r alone"""
        for name in ("dumb", ""):
            for how in ("auto", "elements"):
                terminal = self.start(f"--progress={how}", "--limit=100", SOURCE, TERM=name)
                self.assertEqual(terminal.end()[0], 0)
                self.assertNotIn(b"\x1b", terminal.raw)
                self.assertNotIn(b"\r", terminal.raw.replace(b"\r\n", b""))
            terminal = self.start("--progress=bar", SOURCE, TERM=name)
            terminal.until(lambda _unused, drawn=terminal: b"\r" in drawn.raw.replace(b"\r\n", b""))
            self.assertEqual(terminal.stop()[0], 143)
            self.assertNotIn(b"\x1b", terminal.raw)
            self.assertFalse([line for line in terminal.lines() if "samples/s  waiting" in line])

    def test_elsewhere(self):
        """no terminal: plain lines, now and then, and nothing that moves a cursor"""
        done = subprocess.run([HR_LAUNCH, "--progress=elements", "--limit=2000", SOURCE], capture_output=True, text=True,
                              check=True, timeout=120)
        self.assertNotRegex(done.stderr, "[\x1b\r]")
        self.assertEqual(done.stdout, "")
        lines = done.stderr.split("\n")
        self.assertTrue(TITLES.fullmatch(lines[0]), lines)
        self.assertEqual(len(bars(lines[:7])), 1)

    def test_stdout(self):
        """nothing but what was asked for"""
        for options, pattern in (([], ""), (["-v"], ""), (["-q"], ""), (["--headspace=3"], ""), (["--checksum"], ""),
                                 (["--stats=json"], r"\{.*\}\n"), (["-v", "--stats=json", "--progress=elements"], r"\{.*\}\n"),
                                 (["--dot=-"], r"digraph .*\}\n"), (["--print"], "limit=60 fakesrc .*\n")):
            terminal = self.start(*options, "--limit=60", SOURCE)
            status, out = terminal.end()
            self.assertEqual(status, 0)
            self.assertTrue(re.fullmatch(pattern, out.decode(), re.S), out)
            if options[-1:] == ["--stats=json"]:
                self.assertEqual(out.count(b"\n"), 1)
                self.assertEqual(json.loads(out)["samples"], 60)

    def test_resumed(self):
        """the bar begins where the run goes on"""
        with tempfile.TemporaryDirectory(prefix="hr-progress-") as folder:
            record = {"id": "x", "conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}
            (pathlib.Path(folder) / "a.jsonl").write_text((json.dumps(record) + "\n") * 200)
            text = (f"scan=lines filesrc location={folder}/a.jsonl epochs=10 ! jsonlparse ! batch size=4 ! prefetchqueue"
                    " ! trainsim step-time=20ms")
            keep = f"--checkpoint={folder}/place"
            first = self.start(keep, text)
            first.until(lambda lines: any(re.search(r"\] +([4-9]\d) %", line) for line in lines))
            self.assertEqual(first.stop()[0], 143)
            second = self.start(keep, "--resume", text)
            second.until(bars)
            line = bars(second.lines())[0]
            self.assertGreaterEqual(int(re.search(r"(\d+) %", line)[1]), 40)
            self.assertEqual(second.end()[0], 0)
            drawn = [line for line in re.split(r"[\r\n]+|\x1b\[[0-9]*[A-Z]", second.raw.decode()) if " left" in line]
            self.assertTrue(drawn)

    def test_headspace(self):
        """the replay is the second half"""
        terminal = self.start("--headspace=250", SOURCE, columns=120)
        terminal.until(lambda lines: any("the same again" in line for line in lines))
        self.assertGreaterEqual(int(re.search(r"(\d+) %", bars(terminal.lines())[0])[1]), 50)
        self.assertEqual(terminal.end(), (0, b""))
        self.assertTrue(any(line.startswith("headspace: with data at no cost") for line in terminal.lines()))


if __name__ == "__main__":
    sys.argv[1:] = []
    tap.main()
