#!/usr/bin/env python3
"""hr-launch --record and hr-report: what is kept, also of a run that was killed, and what the page says of it.

usage: test-report.py HR_LAUNCH SOURCE_ROOT
"""
import html.parser
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
HR_REPORT = pathlib.Path(HR_LAUNCH).parent / "hr-report"  # beside the other tools, as people call it
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402 # pylint: disable=wrong-import-position

RUN = "fakesrc num-buffers=120 ! identity sleep={}ms name=decode ! batch size=4 ! prefetchqueue ! trainsim step-time=20ms"


def launch(*words):
    return subprocess.run([HR_LAUNCH, *words], capture_output=True, text=True, timeout=120, check=False)


def report(*words):
    return subprocess.run([sys.executable, HR_REPORT, *words], capture_output=True, text=True, timeout=120, check=False)


class Page(html.parser.HTMLParser):
    """tables as lists of rows, what is drawn, and whether all that is opened is closed"""

    def __init__(self, text):
        super().__init__()
        self.rows, self.rects, self.lines, self.open, self.cell = [], [], [], [], None
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "rect":
            self.rects.append((attrs["class"], float(attrs["width"])))
        if tag == "polyline":
            self.lines.append(attrs["points"])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""
        for link in ("src", "href", "data"):
            assert link not in attrs, (tag, attrs)
        if tag not in ("meta", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell)
            self.cell = None
        if tag != "line":
            assert self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data


class Record(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="hr-report-")  # pylint: disable=consider-using-with
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def record(self, name, text, *words):
        path = self.folder / name
        done = launch(f"--record={path}", "--checksum", *words, text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in path.read_text().splitlines()], done

    def test_lines(self):
        """a head, rows whose sums only grow, and the end, which is what --stats=json prints"""
        lines, done = self.record("a.jsonl", RUN.format(20), "--stats=json")
        self.assertEqual(lines[0]["record"], 1)
        self.assertIn("identity name=decode sleep=20ms", lines[0]["pipeline"])
        self.assertEqual(lines[-1]["end"], json.loads(done.stdout))
        rows = [line["row"] for line in lines[1:-1]]
        self.assertGreaterEqual(len(rows), 2)
        for before, row in zip(rows, rows[1:] + [lines[-1]["end"]]):
            for key in ("wall_s", "steps", "samples", "prepare_s", "train_s"):
                self.assertGreaterEqual(row[key], before[key], key)

    def test_report(self):
        """bars, plots and tables say what the records hold; runs of other bytes are told apart"""
        fast, _ = self.record("2-fast.jsonl", RUN.format(1))
        slow, _ = self.record("10-slow.jsonl", RUN.format(20))
        done = report("-o", self.folder / "page.html", "--title", "A <b>title</b>", self.folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        text = (self.folder / "page.html").read_text()
        page = Page(text)
        self.assertIn("A &lt;b&gt;title&lt;/b&gt;", text)
        self.assertNotRegex(text, "https?://|<script")
        self.assertIn("All runs delivered the same bytes", text)
        overview = {row[0]: row for row in page.rows[1:3]}
        self.assertEqual(list(overview), ["2-fast", "10-slow"])
        for name, lines in (("2-fast", fast), ("10-slow", slow)):
            end, row = lines[-1]["end"], overview[name]
            self.assertAlmostEqual(float(row[1].split()[0]), 100 * end["wait_ratio"], delta=0.06)
            self.assertEqual(row[6], "120")
            self.assertEqual(row[10], f"{end['bottleneck']['element']} ({end['bottleneck']['kind']})")
            self.assertEqual(row[11], "ended")
        self.assertEqual(overview["2-fast"][3], "1.00×")
        waits = [width for kind, width in page.rects if kind == "wait"]
        self.assertEqual(len(waits), 2)
        self.assertLess(waits[0], waits[1])
        for kinds in (page.rects[:3], page.rects[3:]):
            self.assertAlmostEqual(sum(width for _, width in kinds), 620, delta=0.5)
        self.assertGreaterEqual(len(page.lines), 2)
        self.record("3-other.jsonl", RUN.format(1).replace("fakesrc", "fakesrc seed=9"))
        other = report("-o", "-", self.folder / "2-fast.jsonl", self.folder / "3-other.jsonl")
        self.assertIn("did not deliver the same bytes", other.stdout)

    def test_killed(self):
        """what a killed run has left can be read, and is said to be cut off; half a last line too"""
        path = self.folder / "killed.jsonl"
        with subprocess.Popen([HR_LAUNCH, "-q", f"--record={path}", RUN.format(20).replace("120", "-1")]) as process:
            while not path.exists() or path.read_text().count("\n") < 4:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
        for text in (path.read_text(), path.read_text()[:-40]):
            path.write_text(text)
            done = report("-o", "-", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(Page(done.stdout).rows[1][11], "cut off")

    def test_line_ends(self):
        """a line ends at LF alone, and what stands in a pipeline's text is shown, not obeyed"""
        self.record("a.jsonl", RUN.format(1))
        head, rest = (self.folder / "a.jsonl").read_text().split("\n", 1)
        text = "fakesrc name='a\u2028\u0085</pre><script>'"
        (self.folder / "b.jsonl").write_text(json.dumps({**json.loads(head), "pipeline": text}, ensure_ascii=False) + "\n" + rest)
        done = report("-o", "-", self.folder / "b.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("&lt;script&gt;", done.stdout)
        self.assertNotIn("<script", done.stdout)

    def test_wrong(self):
        """what is no record: one line, with file, line, and what was expected"""
        cases = {"empty.jsonl": "", "text.jsonl": "hello\n", "other.jsonl": '{"record": 99}\n', "list.jsonl": "[]\n",
                 "row.jsonl": '{"record": 1}\n{"what": 1}\n', "short.jsonl": '{"record": 1}\n', "bytes.jsonl": b"\xff\xfe\n",
                 "bare.jsonl": '{"record": 1}\n{"row": {}}\n', "words.jsonl": '{"record": 1}\n{"end": {"wall_s": "x", "elements": 3}}\n',
                 "middle.jsonl": '{"record": 1}\n{"row"\n{"row": {}}\n'}
        for name, content in cases.items():
            path = self.folder / name
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            done = report("-o", self.folder / "page.html", path)
            self.assertEqual((done.returncode, done.stdout), (1, ""), name)
            self.assertRegex(done.stderr, rf"^hr-report: {re.escape(str(path))}.*\n$", name)
            self.assertFalse((self.folder / "page.html").exists())
        self.assertEqual(report(self.folder / "none.jsonl").returncode, 1)
        (self.folder / "nothing").mkdir()
        self.assertIn("no *.jsonl", report(self.folder / "nothing").stderr)
        self.assertEqual(report().returncode, 2)

    def test_unwritable(self):
        """a record that cannot be made is an error before anything runs"""
        done = launch(f"--record={self.folder}/no/such/file", "fakesrc num-buffers=1 ! fakesink")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file or directory", done.stderr)
        self.assertNotIn("done:", done.stderr)


tap.main()
