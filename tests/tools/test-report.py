#!/usr/bin/env python3
"""hr-launch --record and hr-report: what is kept, also of a run that was killed, and what the page says of it.

usage: test-report.py HR_LAUNCH SOURCE_ROOT
"""
import html.parser
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
HR_REPORT = pathlib.Path(HR_LAUNCH).resolve().parent / "hr-report"  # beside the other tools, as people call it
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "tools"), str(HR_REPORT.parent)]
import spread_stats  # noqa: E402 # pylint: disable=wrong-import-position
import tap  # noqa: E402 # pylint: disable=wrong-import-position
from hr_report.find import find_runs  # noqa: E402 # pylint: disable=wrong-import-position
from hr_report.page import page as make_page  # noqa: E402 # pylint: disable=wrong-import-position
from hr_report.record import BadRun  # noqa: E402 # pylint: disable=wrong-import-position
from hr_report.run import Run  # noqa: E402 # pylint: disable=wrong-import-position
from hr_report.words import number, size  # noqa: E402 # pylint: disable=wrong-import-position

RUN = "fakesrc num-buffers=120 ! identity sleep={}ms name=decode ! batch size=4 ! prefetchqueue ! trainsim step-time=20ms"


def launch(*words):
    return subprocess.run([HR_LAUNCH, *words], capture_output=True, text=True, timeout=120, check=False)


def report(*words):
    return subprocess.run([sys.executable, HR_REPORT, *words], capture_output=True, text=True, timeout=120, check=False)


class Page(html.parser.HTMLParser):
    """tables as lists of rows, what is drawn, and whether all that is opened is closed"""

    def __init__(self, text):
        super().__init__()
        self.rows, self.rects, self.lines, self.open, self.cell, self.ids, self.links = [], [], [], [], None, set(), []
        self.feed(text)
        assert self.open == [], self.open
        assert self.ids.issuperset(self.links), self.links
        self.names = [row[0] for row in self.table("run", "wait ratio")]

    def table(self, *head):
        """the rows below the first head that begins so"""
        at = next(i for i, row in enumerate(self.rows) if row[:len(head)] == list(head)) + 1
        width = len(self.rows[at - 1])
        end = next((i for i in range(at, len(self.rows)) if len(self.rows[i]) != width), len(self.rows))
        return self.rows[at:end]

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            assert attrs["id"] not in self.ids, attrs["id"]
            self.ids.add(attrs["id"])
        if tag == "rect" and "height" in attrs and attrs["height"] == "14":
            self.rects.append((attrs["class"], float(attrs["width"])))
        if tag == "polyline":
            self.lines.append(attrs["points"])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""
        if tag == "a":
            assert attrs["href"].startswith("#"), attrs
            self.links.append(attrs.pop("href")[1:])
        for link in ("src", "href", "data", "style"):
            assert link not in attrs, (tag, attrs)
        assert not any(name.startswith("on") for name in attrs), (tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell)
            self.cell = None
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
        overview = {row[0]: row for row in page.table("run", "wait ratio")}
        self.assertEqual(list(overview), ["2-fast", "10-slow"])
        for name, lines in (("2-fast", fast), ("10-slow", slow)):
            end, row = lines[-1]["end"], overview[name]
            self.assertAlmostEqual(float(row[1].split()[0]), 100 * end["wait_ratio"], delta=0.06)
            self.assertAlmostEqual(float(row[3]), end["samples"] / end["wall_s"], delta=0.06 + end["samples"] / end["wall_s"] / 100)
            self.assertEqual(row[11], "120")
            self.assertEqual(row[8], f"{end['bottleneck']['element']} ({end['bottleneck']['kind']})")
            self.assertEqual(row[13], "ended")
        self.assertEqual(overview["2-fast"][4], "1.00×")
        waits = [width for kind, width in page.rects if kind == "wait"]
        self.assertEqual(len(waits), 2)
        self.assertLess(waits[0], waits[1])
        # a step of each, to scale: the longest fills its column
        steps = [sum(width for _, width in page.rects[i:i + 3]) for i in (0, 3)]
        self.assertAlmostEqual(max(steps), 340, delta=0.5)
        took = [sum(lines[-1]["end"][key] for key in ("prepare_s", "train_s")) for lines in (fast, slow)]
        self.assertAlmostEqual(steps[0] / steps[1], took[0] / took[1], delta=0.02)
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
            self.assertEqual(Page(done.stdout).table("run", "wait ratio")[0][13], "cut off")

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
        (self.folder / "nothing" / "within").mkdir()
        self.assertIn("no *.jsonl", report(self.folder / "nothing").stderr)
        self.assertEqual(report().returncode, 2)

    def test_unwritable(self):
        """a record that cannot be made is an error before anything runs"""
        done = launch(f"--record={self.folder}/no/such/file", "fakesrc num-buffers=1 ! fakesink")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file or directory", done.stderr)
        self.assertNotIn("done:", done.stderr)

    # ---- several processes

    def pair(self, name, kind):
        """a pipeline in one process and the trainer in another, as rungs 3b and 4 are"""
        folder, address = self.folder / "runs" / name, f"report-{os.getpid()}-{name}"
        folder.mkdir(parents=True)
        text = f"fakesrc num-buffers=80 size=64KiB ! identity name=decode sleep=4ms ! batch size=4 ! prefetchqueue ! {kind}sink address={address}"
        with subprocess.Popen([HR_LAUNCH, "-q", f"--record={folder / 'data.jsonl'}", text]) as feeder:
            done = launch("-q", f"--record={folder / 'trainer.jsonl'}", "--checksum", f"{kind}src address={address} ! trainsim step-time=50ms")
            self.assertEqual((done.returncode, feeder.wait(timeout=60)), (0, 0), done.stderr)
        return [json.loads((folder / f"{which}.jsonl").read_text().splitlines()[-1])["end"] for which in ("data", "trainer")]

    def test_processes(self):
        """a folder is one run: waiting is the trainer's, what it costs is both processes', and whoever the trainer's input waits for is named"""
        (self.folder / "runs").mkdir()
        self.record("runs/3-prefetch.jsonl", "fakesrc num-buffers=80 size=64KiB ! identity name=decode sleep=4ms ! batch size=4 ! prefetchqueue"
                                             " ! trainsim step-time=50ms")
        ends = {"3b-bypipe": self.pair("3b-bypipe", "pipe"), "4-zerocopy": self.pair("4-zerocopy", "shm")}
        done = report("-o", "-", "--note", "side <by> side", self.folder / "runs")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Page(done.stdout)
        self.assertIn("side &lt;by&gt; side", done.stdout)
        self.assertIn("All runs delivered the same bytes", done.stdout)
        self.assertEqual(page.names, ["3-prefetch", "3b-bypipe", "4-zerocopy"])
        rows = {row[0]: row for row in page.table("run", "wait ratio")}
        for name, (data, trainer) in ends.items():
            row = rows[name]
            self.assertAlmostEqual(float(row[1].split()[0]), 100 * trainer["wait_ratio"], delta=0.06)
            self.assertAlmostEqual(float(row[5]), 1000 * (data["cpu_s"] + trainer["cpu_s"]) / 80, delta=0.02)
            self.assertEqual(row[11], "80")
            self.assertEqual(row[7].count("MiB"), 2)
            self.assertIn("trainsim0 (trainer)" if trainer["bottleneck"]["kind"] == "trainer" else "decode", row[8])
        copied = {name: row[6] for name, row in rows.items()}
        self.assertRegex(copied["3b-bypipe"], r"^(12[89]|13\d) KiB$")  # once into the socket, once out of it
        self.assertRegex(copied["4-zerocopy"], r"^\d+(\.\d+)? B$")
        # the pipeline's process stands first, and each has its text and its elements
        self.assertLess(done.stdout.index("<h3>data</h3>"), done.stdout.index("<h3>trainer</h3>"))
        self.assertEqual(done.stdout.count("<h3>"), 4)

    def test_slow_feeder(self):
        """who waits for another process has it there: the slow element of that one is the bottleneck"""
        folder, address = self.folder / "runs" / "slow", f"report-{os.getpid()}"
        folder.mkdir(parents=True)
        text = f"fakesrc num-buffers=60 ! identity name=decode sleep=20ms ! batch size=2 ! prefetchqueue ! shmsink address={address}"
        with subprocess.Popen([HR_LAUNCH, "-q", f"--record={folder / 'a.jsonl'}", text]) as feeder:
            done = launch("-q", f"--record={folder / 'b.jsonl'}", f"shmsrc address={address} ! trainsim step-time=1ms")
            self.assertEqual((done.returncode, feeder.wait(timeout=60)), (0, 0), done.stderr)
        done = report("-o", "-", folder.parent)
        self.assertEqual(Page(done.stdout).table("run", "wait ratio")[0][8], "decode (cpu)", done.stderr)

    def made(self, path, wall, ratio=0.5, seed=1, **more):
        """a record of a run as long as you like"""
        def stats(at):
            return {"wall_s": at, "prepare_s": at * ratio, "transfer_s": 0, "transfer_wait_s": 0, "train_s": at * (1 - ratio), "samples": int(10 * at),
                    "steps": int(at), "wait_ratio": ratio, "cpu_s": at / 2, "peak_rss_bytes": 1 << 20, "status": "ended",
                    "bottleneck": {"element": "e", "kind": "cpu"}, "elements": [{"name": "e", "factory": "identity", "items": seed}], **more}
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"record": 1, "version": "1", "pipeline": "p", "started": "now", "host": "h", "processors": 2}
        path.write_text("\n".join(json.dumps(line) for line in [head, *({"row": stats(at)} for at in range(1, wall)), {"end": stats(wall)}]) + "\n")
        return path

    def test_ranks(self):
        """processes that each have a trainer are added up"""
        for rank, ratio in enumerate((0.25, 0.75)):
            self.made(self.folder / "runs" / "ranks" / f"{rank}.jsonl", 40, ratio)
        page = Page(report("-o", "-", self.folder / "runs").stdout)
        row, = page.table("run", "wait ratio")
        self.assertEqual((row[1], row[3], row[11]), ("50.0 %", "20.0", "800"))
        ratio, rate = [row for row in page.rows if row[0] == "ranks" and len(row) == 6]  # over time
        self.assertEqual(ratio[1:], ["50.0 %"] * 5)
        self.assertEqual(rate[1:], ["20.0"] * 5)

    # ---- spread over nodes

    def made_spread(self, path, rank, wall=30, run="headrace-1", **more):
        """a rank of two, on a node of its own; the one of rank 1 waits more"""
        def stats(at):
            told = spread_stats.stats(float(at), **more)
            ratio = 0.8 if rank else 0.4
            bottleneck = {"kind": "link", "node": spread_stats.NODES[0], "element": None} if rank else told["bottleneck"]
            return {**told, "rank": rank, "node": spread_stats.NODES[rank], "prepare_s": ratio * at, "train_s": (1 - ratio) * at, "wait_ratio": ratio,
                    "bottleneck": bottleneck, "advice": {"element": None, "text": f"what rank {rank} waits for"}}
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"record": 1, "version": "1", "pipeline": "producers' text", "then": "rank's text", "run": run, "rank": rank, "world": 2, "started": "now",
                "host": f"h{rank}", "processors": 2}
        path.write_text("\n".join(json.dumps(line) for line in [head, *({"row": stats(at)} for at in range(1, wall)), {"end": stats(wall)}]) + "\n")
        return path

    def test_spread(self):
        """ranks of a run are one run; nodes and producers, which all ranks tell of, count once"""
        for rank in range(2):
            self.made_spread(self.folder / "runs" / f"spread-{rank}.jsonl", rank)
        self.made(self.folder / "runs" / "plain.jsonl", 30)
        done = report("-o", "-", self.folder / "runs")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Page(done.stdout)
        self.assertEqual(page.names, ["plain", "spread"])
        row = page.table("run", "wait ratio")[1]
        self.assertEqual((row[1], row[3], row[11]), ("60.0 %", "32.0", "960"))
        # both ranks' 9 s, both producers' 15 s, of 960 samples; of their elements 10 bytes an item
        self.assertEqual(row[5], number(1000 * (2 * 9 + 2 * 15) / 960))
        n_items = 2 * 60 + 2 * (30 + 300 + 300)
        self.assertEqual(row[6], size(10 * n_items / 960))
        self.assertEqual(row[7], "4 × 200 MiB or less")
        self.assertEqual(row[8], f"node {spread_stats.NODES[0]} (link)")
        self.assertIn("what rank 1 waits for", done.stdout)
        self.assertEqual([row[:3] for row in page.table("rank", "node")], [["0 of 2", "10.0.0.1", "40.0 %"], ["1 of 2", "10.0.0.2", "80.0 %"]])
        nodes = page.table("node", "producers")[:2]
        self.assertEqual(nodes[0], ["10.0.0.1", "1", "60", "172 MiB", "6.00 MB/s", "12.0 s", "200 ms", "imagefetch0"])
        self.assertEqual([row[0] for row in nodes], ["10.0.0.1", "10.0.0.2"])
        links = {tuple(row[:2]): row[2:] for row in page.table("from node", "to node")}
        self.assertEqual(set(links), {("10.0.0.1", "itself: no link"), ("10.0.0.2", "10.0.0.1"), ("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "itself: no link")})
        self.assertEqual(links["10.0.0.2", "10.0.0.1"], ["30", "85.8 MiB", "3.00 MB/s", "3.00 s", "30.0 MB/s", "6.00 s"])
        producers = page.table("producer", "node")
        self.assertEqual([row[:4] for row in producers], [["0", "10.0.0.1", "4000", "at work"], ["1", "10.0.0.2", "4001", "at work"]])
        tables = re.findall("<caption>(Elements of [^<]*)</caption>", done.stdout)
        self.assertEqual(tables, ["Elements of plain", "Elements of node 10.0.0.1, all its producers", "Elements of node 10.0.0.2, all its producers",
                                  "Elements of all ranks here"])
        self.assertIn("on h0, h1", done.stdout)
        for text in ("producers&#x27; text", "rank&#x27;s text"):
            self.assertEqual(done.stdout.count(f"<pre>{text}</pre>"), 1)

    def test_ranks_together(self):
        """what is one run: files of ranks beside each other, or a folder of them; what nobody can tell apart is not joined"""
        folder = self.folder / "a-run"
        for rank in range(2):
            self.made_spread(folder / f"{rank}.jsonl", rank)
        self.assertEqual(Page(report("-o", "-", folder).stdout).names, ["a-run"])
        self.assertEqual(Page(report("-o", "-", self.folder).stdout).names, ["a-run"])
        self.assertEqual(Page(report("-o", "-", *sorted(folder.iterdir())).stdout).names, ["0", "1"])
        for rank in range(2):
            self.made_spread(folder / f"other-{rank}.jsonl", rank, run="headrace-2")
        self.assertEqual(Page(report("-o", "-", folder).stdout).names, ["a-run", "other"])
        for rank in range(2):
            self.made_spread(folder / f"again-{rank}.jsonl", rank, run="headrace-2")
        self.assertEqual(Page(report("-o", "-", folder).stdout).names, ["a-run", "again-0", "again-1", "other-0", "other-1"])

    def test_some_ranks(self):
        """of one rank of two nobody knows what a sample costs, as producers work for both"""
        path = self.made_spread(self.folder / "one.jsonl", 1)
        done = report("-o", "-", path)
        row, = Page(done.stdout).table("run", "wait ratio")
        self.assertEqual((row[1], row[5], row[6]), ("80.0 %", "–", "–"))
        self.assertIn("1 of 2 ranks", done.stdout)
        self.assertIn("Not all ranks are here", done.stdout)

    def test_gone(self):
        """a producer that died and was started anew is two; one that did not answer is told with its node"""
        path = self.made_spread(self.folder / "a.jsonl", 0, 30)
        lines = path.read_text().splitlines()
        end = json.loads(lines[-1])["end"]
        end["producers"] = [spread_stats.producer(0, 5.0, pid=77), spread_stats.dead(1), spread_stats.dead(3)]
        path.write_text("\n".join([*lines[:-1], json.dumps({"end": end})]) + "\n")
        rows = Page(report("-o", "-", path).stdout).table("producer", "node")
        self.assertEqual([row[:5] for row in rows], [["0", "10.0.0.1", "77", "at work", "10"], ["0", "10.0.0.1", "4000", "gone", "58"],
                                                     ["1", "10.0.0.2", "4001", "gone", "58"], ["1", "10.0.0.2", "–", "no answer within 2 s", "–"],
                                                     ["3", "10.0.0.2", "–", "no answer within 2 s", "–"]])

    def test_hostile_nodes(self):
        """nothing of what nodes tell becomes part of the page, or ends the program otherwise than with words"""
        evil = "</script><img src=x onerror=alert(1)>\u0000\ud800'\""
        path = self.made_spread(self.folder / "a.jsonl", 0, 5)
        lines = path.read_text().splitlines()
        good = json.loads(lines[-1])["end"]
        strange = {**good, "node": evil, "units": {evil: 3}, "links": {evil: good["links"]["10.0.0.1"]}, "bottleneck": {"kind": evil, "node": evil, "element": evil},
                   "producers": [spread_stats.producer(0, 2.0, ip=evil), {**spread_stats.dead(1), "error": evil}]}
        path.write_text("\n".join([lines[0], json.dumps({"end": strange})]))
        done = report("-o", "-", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        Page(done.stdout)
        self.assertNotRegex(done.stdout, "<img|<script|</script|\0")
        values = [None, True, -1, 1e308, 10 ** 400, "x", [], {}, [1], {"a": "b"}, {"a": {}}, float("nan"), [{}], [None], [{"index": 1}], [{"index": 1, "error": "e"}]]
        told = [*({"producers": [{**good["producers"][0], key: value}]} for key in good["producers"][0] for value in values),
                *({"producers": [{**good["producers"][0], "pipeline": {**good["producers"][0]["pipeline"], key: value}}]}
                  for key in good["producers"][0]["pipeline"] for value in values),
                *({"links": {"a": {**good["links"]["10.0.0.1"], key: value}}} for key in good["links"]["10.0.0.1"] for value in values),
                *({key: value} for key in ("producers", "links", "units", "node", "bottleneck") for value in values)]
        for changed in told:
            path.write_text("\n".join([lines[0], json.dumps({"end": {**good, **changed}})]))
            self.check_words(path, changed)
        head = json.loads(lines[0])
        for key in ("run", "rank", "world", "then"):
            for value in values:
                path.write_text("\n".join([json.dumps({**head, key: value}), *lines[1:]]))
                self.check_words(path, (key, value))
                find_runs([self.folder])

    def check_words(self, path, what):
        """a page, or words"""
        try:
            Page("".join(make_page([Run("run", [path])], "title", "")))
        except BadRun:
            pass
        except Exception as error:
            raise AssertionError(what) from error

    def test_device(self):
        """waiting for the device lies in the trainer's own time, and is waiting"""
        path = self.made(self.folder / "a.jsonl", 100, 0.25, transfer_wait_s=50, transfer_s=70, wait_ratio=0.75)
        page = Page(report("-o", "-", path).stdout)
        self.assertEqual(page.table("run", "wait ratio")[0][1], "75.0 %")
        self.assertEqual([round(width) for _, width in page.rects[:3]], [85, 170, 85])

    def test_many(self):
        """fifty runs, each with a line of its own; a very long one among them takes no more points than it needs"""
        for i in range(50):
            self.made(self.folder / "runs" / f"{i}.jsonl", 3000 if i == 7 else 5 + i, i / 100)
        done = report("-o", "-", self.folder / "runs")
        page = Page(done.stdout)
        self.assertEqual(page.names, [str(i) for i in range(50)])
        styles = re.findall(r'<polyline (class="[^>]*?) points=', done.stdout)
        self.assertEqual((len(styles), len(set(styles))), (100, 50))
        self.assertLess(max(line.count(" ") for line in page.lines), 620)
        # their lengths differ too much for one scale: each ends at the right
        self.assertIn("the end of each run", done.stdout)
        self.assertEqual({line.split()[-1].split(",")[0] for line in page.lines}, {"1190.0"})
        self.assertLess(len(done.stdout), 1_500_000)

    def test_alike(self):
        """files of one name are told apart by where they lie"""
        paths = [self.made(self.folder / which / "run.jsonl", 5) for which in ("a", "b")]
        self.assertEqual(Page(report("-o", "-", *paths).stdout).names, [str(path)[:-6] for path in paths])

    def test_not_over_a_run(self):
        """`hr-report -o runs/*.jsonl` must not cost a run"""
        paths = [self.made(self.folder / f"{i}.jsonl", 5) for i in range(2)]
        before = paths[0].read_text()
        done = report("-o", *paths, paths[0])
        self.assertEqual((done.returncode, paths[0].read_text()), (1, before))
        self.assertIn("one of the runs", done.stderr)

    def test_hostile(self):
        """nothing in a record becomes part of the page, or ends the program otherwise than with words"""
        evil = "</script></title><img src=x onerror=alert(1)>\u0000\ud800'\""
        path = self.made(self.folder / f"{evil[:9].replace('/', '')}.jsonl", 30, bottleneck={"element": evil, "kind": evil}, skipped={evil: 3},
                         status=evil, advice={"text": evil}, elements=[{"name": evil, "queue": {"mean": 1, "max": 2}}])
        lines = path.read_text().splitlines()
        head = json.loads(lines[0])
        path.write_text("\n".join([json.dumps({key: 1 if key == "record" else evil for key in head}), *lines[1:]]))
        done = report("-o", "-", "--title", evil[:20], "--note", evil[:20], path)
        self.assertEqual(done.returncode, 0, done.stderr)
        Page(done.stdout)
        self.assertNotRegex(done.stdout, "<img|<script|</script|\0")
        good = json.loads(lines[-1])["end"]
        values = [None, True, -1, 1e308, 10 ** 400, "x", [], {}, [1], {"a": "b"}, float("nan"), [{}], [None], [{"name": 3}], {"mean": {}}]
        for key in [*good, "sha256", "cold_start_s"]:
            for value in values:
                path.write_text("\n".join([lines[0], json.dumps({"row": good}), json.dumps({"end": {**good, key: value}})]))
                self.check_words(path, (key, value))
        path.write_text(lines[0] + "\n" + "[" * 100000 + "\n" + lines[1] + "\n")
        self.assertIn("not JSON", report("-o", "-", path).stderr)
        self.assertIn("longer than", report("-o", "-", "/dev/zero").stderr)

    def test_own_modules(self):
        """in a build and in the source its own modules are found, not others of the same names where Python looks for modules"""
        path, others = self.made(self.folder / "a.jsonl", 5), self.folder / "others"
        others.mkdir()
        for name in ["hr_report", *(module.stem for module in (HR_REPORT.parent / "hr_report").glob("[a-z]*.py"))]:
            (others / f"{name}.py").write_text("raise SystemExit('the module of another')\n")
        self.assertGreater(len(list(others.iterdir())), 5)
        for program, more in itertools.product((HR_REPORT, ROOT / "tools" / "report" / "hr-report"), ({}, {"PYTHONSAFEPATH": "1"})):
            done = subprocess.run([program, "-o", "-", path], capture_output=True, text=True, timeout=120, check=False, cwd=others,
                                  env={**os.environ, "PYTHONPATH": str(others), **more})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(Page(done.stdout).names, ["a"])

    def test_stdout(self):
        """what cannot be written to stdout, a page, help or version, is one line and a failure; who reads it may stop reading"""
        path = self.made(self.folder / "a.jsonl", 3000)
        nobody, pipe = os.pipe()
        os.close(nobody)
        self.addCleanup(os.close, pipe)
        for words, unbuffered in itertools.product((["--help"], ["--version"], ["-o", "-", path]), ("", "1")):
            for shell, expected in (('"$@" >/dev/full', (1, "hr-report: stdout: No space left on device\n")),
                                    ('"$@" >&-', (1, "hr-report: stdout: Bad file descriptor\n")),
                                    ('"$@"', (1, "")),
                                    ('"$@" >/dev/null', (0, ""))):
                done = subprocess.run(["sh", "-c", shell, "sh", HR_REPORT, *words], stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                                      env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
                self.assertEqual((done.returncode, done.stderr), expected, (shell, words, unbuffered))

    def test_full_disk(self):
        """a page that cannot be written, not at all or not to its end, is one line that names the file"""
        path, page = self.made(self.folder / "a.jsonl", 5), self.folder / "page.html"
        for where, why in ((self.folder / "no" / "page.html", "No such file or directory"), (self.folder, "Is a directory")):
            done = report("-o", where, path)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"hr-report: {where}: {why}\n"))
        done = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", HR_REPORT, "-o", page, path], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"hr-report: {page}: File too large\n"))


tap.main()
