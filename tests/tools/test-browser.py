#!/usr/bin/env python3
"""The dashboard in a real browser, headless Chromium: numbers move, the verdict changes when the trainer speeds up, a dead pipeline
is shown as dead, keyboard and names for screen readers, light and dark. The pictures of docs/dashboard.md come from here.

usage: test-browser.py HR_LAUNCH SOURCE_ROOT [PICTURES]
"""
import contextlib
import http.server
import importlib.util
import json
import pathlib
import re
import signal
import sys
import threading
import time

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "tools")]
import tap  # noqa: E402 # pylint: disable=wrong-import-position
import chromium  # noqa: E402 # pylint: disable=wrong-import-position
import spread_stats  # noqa: E402 # pylint: disable=wrong-import-position

from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402 # pylint: disable=wrong-import-position
from selenium.webdriver.common.by import By  # noqa: E402 # pylint: disable=wrong-import-position
from selenium.webdriver.common.keys import Keys  # noqa: E402 # pylint: disable=wrong-import-position

DEADLINE = 120


def load_run():
    """class Run of test-dashboard.py, without its tests"""
    text = (ROOT / "tests/tools/test-dashboard.py").read_text().rpartition("\ntap.main()")[0]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dashboard", loader=None))
    exec(compile(text, "test-dashboard.py", "exec"), module.__dict__)  # pylint: disable=exec-used
    return module.Run, module.TOKEN


Run, TOKEN = load_run()


class Page(chromium.Case):
    pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None

    def setUp(self):
        self.runs = []
        super().setUp()

    def tearDown(self):
        try:
            super().tearDown()
        finally:
            for run in self.runs:
                run.end()

    def open(self, *args, **kwargs):
        run = Run(*args, **kwargs)
        self.runs.append(run)
        self.driver.get(run.uri)
        return run

    def text(self, identity):
        return self.driver.find_element(By.ID, identity).text

    def until(self, found, what):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            with contextlib.suppress(StaleElementReferenceException):  # the page has drawn anew in between
                if found():
                    return
            time.sleep(0.2)
        raise AssertionError(f"{what}: {self.driver.find_element(By.TAG_NAME, 'main').text}")

    def samples(self):
        shown = self.driver.find_elements(By.ID, "fact-samples")
        return int(re.sub(r"\D", "", shown[0].text) or 0) if shown else 0

    def test_moves(self):
        """numbers, boxes, plots and the table move; errors come with their place; nothing is loaded from elsewhere"""
        run = self.open("fakesrc ! fault error-rate=0.01 seed=3 on-error=skip ! identity name=decode workers=2 sleep=8ms ! "
                        "batch size=8 ! prefetchqueue ! trainsim step-time=20ms")
        seen = []
        self.until(lambda: seen.append(self.samples()) or seen[-1] > 0, "samples")
        self.until(lambda: self.samples() > seen[-1], "more samples")
        self.until(lambda: self.text("status") == "running", "running")
        self.until(lambda: "decode" in self.text("verdict"), "the verdict names the slow element")
        names = self.driver.execute_script("return [...document.querySelectorAll('#elements tr')].map(r => r.querySelector('th').innerText)")
        self.assertEqual(names, ["fakesrc0", "fault0", "decode", "batch0", "prefetchqueue0", "trainsim0"])
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "#graph rect.box")), 6)
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "#graph path.edge")), 5)
        self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, "#notes li"), "notes")
        self.assertIn("fault0", self.text("notes"))
        self.until(lambda: len(run.stats()["history"]) > 12, "some seconds of history")
        self.until(lambda: (self.driver.find_element(By.CSS_SELECTOR, "#wait path").get_attribute("d") or "").count("L") > 8, "a plot")
        loaded = self.driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertTrue(loaded and all(name.startswith(f"http://127.0.0.1:{run.port}/") for name in loaded), loaded)
        self.picture("dashboard-light.png")
        self.driver.find_element(By.ID, "theme").send_keys(Keys.ENTER)
        self.assertEqual(self.driver.execute_script("return document.documentElement.dataset.theme"), "dark")
        self.picture("dashboard-dark.png")

    def changing(self, before, after, steps):
        """a run whose trainer changes on the way; the page's verdict before and after, by the words that are awaited"""
        times, told = {"fast": "1ms", "slow": "200ms"}, {"fast": "waits for decode (cpu)", "slow": "the trainer itself"}
        run = self.open("fakesrc ! identity name=decode sleep=5ms ! batch size=4 ! prefetchqueue ! trainsim "
                        f"step-time={times[before]} change-after={steps} later-step-time={times[after]}")
        for speed in (before, after):
            self.until(lambda: told[speed] in self.text("verdict"), f"a {speed} trainer")  # pylint: disable=cell-var-from-loop
        return run

    def test_speeds_up(self):
        """a slow trainer is the trainer's own time; once it is fast it waits for the slow element, and the page says so while it runs"""
        run = self.changing("slow", "fast", 80)
        self.assertGreater(run.stats()["steps"], 80)
        self.assertIn("Of the last", self.text("span"))
        self.assertIn("give it workers=", self.text("verdict"))
        most = self.driver.find_elements(By.CSS_SELECTOR, "#graph rect.most")
        self.assertEqual(len(most), 1)

    def test_slows_down(self):
        """the other way round; of the whole run, most of which it waited, the verdict is another one"""
        run = self.changing("fast", "slow", 1000)
        stats = run.stats()
        self.assertEqual(stats["bottleneck"]["element"], "decode")
        self.assertEqual(stats["recent"]["bottleneck"], {"element": "trainsim0", "kind": "trainer"})
        self.assertGreater(stats["wait_ratio"], stats["recent"]["wait_ratio"])

    def test_dead(self):
        """killed: the page says that nobody answers, and since when; ended and failed are told apart"""
        run = self.open()
        self.until(lambda: self.text("status") == "running", "running")
        run.process.send_signal(signal.SIGKILL)
        self.until(lambda: self.text("status") == "no answer", "no answer")
        self.assertIn("bad", self.driver.find_element(By.ID, "status").get_attribute("class"))
        self.assertIn("does not answer since", self.text("clock"))
        self.assertIn("no answer", self.driver.title)
        self.picture("dashboard-dead.png")

    def test_over(self):
        """one that has ended is not taken for one that is gone; one that failed says so, and why"""
        for text, status, bad in (("fakesrc num-buffers=2000 ! trainsim step-time=5ms", "ended", False),
                                  ("fakesrc ! identity name=spoilt error-after=2000 ! trainsim step-time=5ms", "failed", True)):
            run = self.open(text)
            self.until(lambda: self.text("status") == "running", "running")
            self.until(lambda: self.text("status") == status, status)  # pylint: disable=cell-var-from-loop
            self.assertEqual("bad" in self.driver.find_element(By.ID, "status").get_attribute("class").split(), bad)
            run.process.wait(timeout=60)
            self.until(lambda: "does not answer since" in self.text("clock"), "it is gone")
            self.assertEqual(self.text("status"), status)
        self.assertIn("spoilt", self.driver.find_element(By.CSS_SELECTOR, "#notes li").text)

    def test_scheme(self):
        """dark from the start where the browser is set so"""
        self.media(prefers_color_scheme="dark")
        self.open()
        self.until(lambda: self.samples() > 0, "samples")
        self.assertEqual(self.driver.execute_script("return document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.driver.find_element(By.ID, "theme").get_attribute("aria-pressed"), "true")

    def test_token(self):
        """the token leaves the address, and the page goes on by its cookie"""
        run = Run(where="0.0.0.0:0", token=TOKEN)
        self.runs.append(run)
        self.driver.get(run.uri.replace("0.0.0.0", "127.0.0.1"))
        self.until(lambda: self.samples() > 0, "samples")
        self.assertNotIn(TOKEN, self.driver.current_url)
        self.driver.refresh()
        self.until(lambda: self.samples() > 0, "samples after a reload")

    def test_accessible(self):
        """by axe-core's rules, in both themes and with all kinds of words in it; boxes, bars and lines can be told from what is behind them"""
        self.open("fakesrc ! fault error-rate=0.05 seed=3 on-error=skip ! tee name=t ! identity ! fakesink  t. ! batch ! trainsim step-time=10ms")
        self.until(lambda: self.samples() > 0, "samples")
        self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, "#notes li"), "notes")
        self.until(lambda: (self.driver.find_element(By.CSS_SELECTOR, "#wait path").get_attribute("d") or "").count("L") > 2, "a plot")
        for theme in ("light", "dark"):
            self.assertEqual(self.driver.execute_script("return document.documentElement.dataset.theme"), theme)
            self.check_accessible()
            for selector in ("#verdict", ".hint", "thead th", "#status", "#theme", "#notes b"):
                self.assertGreaterEqual(self.contrast(selector), 4.5, (theme, selector))
            self.assertGreaterEqual(self.contrast("svg text", "fill"), 4.5, theme)
            for selector, of in (("svg .plot", "stroke"), ("svg .edge", "stroke"), ("svg .queue", "fill"), ("svg .work", "stroke"),
                                 ("svg .box", "stroke"), ("svg .room", "stroke")):
                self.assertGreaterEqual(self.contrast(selector, of), 3, (theme, selector))
            self.driver.find_element(By.ID, "theme").click()
            time.sleep(0.2)
        self.assertEqual(self.driver.find_element(By.ID, "verdict").get_attribute("aria-live"), "polite")
        self.assertEqual(self.driver.find_element(By.ID, "status").get_attribute("role"), "status")

    def test_keys(self):
        """all that does or scrolls something is reached by keys, in the order of the page, and it can be seen where one is"""
        self.open()
        self.until(lambda: self.samples() > 0, "samples")
        reached = self.tabs()
        self.assertEqual([name for name, _ in reached][:2], ["theme", "graph"])
        self.assertEqual([name for name, _ in reached][2:], ["Table of the elements"])
        self.assertTrue(all(outline >= 2 for _, outline in reached), reached)

    def test_named(self):
        """what a screen reader is told of every picture, region and button, by the browser's own tree"""
        self.open("fakesrc ! tee name=t ! identity ! fakesink  t. ! trainsim step-time=10ms")
        self.until(lambda: self.samples() > 0, "samples")
        self.until(lambda: "now" in self.driver.find_element(By.CSS_SELECTOR, "#wait").get_attribute("textContent"), "a plot in words")
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        told = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")}
        for role in ("button", "image", "region", "group"):
            names = [name for kind, name in told if kind == role]
            self.assertTrue(names and all(names), (role, names))
        for wanted in (("status", ""), ("button", "Dark"), ("region", "Why the trainer waits"), ("region", "Elements"), ("heading", "Over time"),
                       ("columnheader", "waits for input"), ("rowheader", "fakesrc0")):
            self.assertIn(wanted, told)
        charts = [name for kind, name in told if kind == "image"]
        self.assertEqual(len(charts), 2, charts)


class Made(chromium.Case):
    """The page as it is, with numbers that are made: what it draws of them, to the pixel, and what it does with what is hostile."""

    def setUp(self):
        super().setUp()
        test = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.strip("/") or "page.html"
                body = json.dumps(test.next()).encode() if name == "stats.json" else (ROOT / "tools/dashboard" / name).read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", {"html": "text/html; charset=utf-8", "css": "text/css", "js": "text/javascript",
                                                  "json": "application/json"}[name.rpartition(".")[2]])
                self.send_header("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:")
                with contextlib.suppress(ConnectionError):  # the browser is closed
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

        self.answers, self.asked = [], 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tearDown(self):
        try:
            super().tearDown()
        finally:
            self.server.shutdown()
            self.server.server_close()

    def next(self):
        """each answer once, then the last one again and again"""
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]

    @staticmethod
    def stats(at, elements, history=(), **more):
        return {"status": "running", "wall_s": at, "steps": 10 * at, "samples": 40 * at, "prepare_s": 0.25 * at, "transfer_s": 0.2 * at,
                "transfer_wait_s": 0.15 * at, "train_s": 0.75 * at, "wait_ratio": 0.4, "cpu_s": at, "cold_start_s": 0.5, "n_steps": None,
                "peak_rss_bytes": 1 << 20, "bottleneck": {"element": elements[-1]["name"], "kind": "cpu"}, "verdict": "v", "skipped": {}, "dropped": {},
                "notes": [], "n_notes": 0, "history": list(history), "elements": elements, **more}

    @staticmethod
    def element(name, working, now=0, inputs=(), **more):
        return {"name": name, "factory": name, "workers": 2, "items": 7, "inputs": list(inputs), "working_s": working, "blocked_in_s": 0,
                "blocked_out_s": 0, "blocked_cpu_s": 0, "bytes_copied": 0, "queue": {"now": now, "room": 8, "mean": 0, "max": 0, "bytes": 0}, **more}

    def show(self, *answers):
        self.answers = answers
        self.driver.get(f"http://127.0.0.1:{self.server.server_port}/")
        end = time.monotonic() + DEADLINE
        while self.asked < len(answers) + 1 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertGreater(self.asked, len(answers))

    def attributes(self, selector, *names):
        return [[float(e.get_attribute(name)) for name in names] for e in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def test_drawn(self):
        """a box is filled as far as its element works, a bar as far as its queue is full, and both follow the numbers"""
        first = [self.element("a", 0.4), self.element("b", 1.0, 2, ["a"])]
        then = [self.element("a", 0.4 + 0.5), self.element("b", 1.0 + 1.5, 6, ["a"])]
        self.show(self.stats(1, first), self.stats(2, then))
        # of one second with two workers each
        self.assertEqual(self.attributes("#graph .work", "width"), [[128 * 0.25], [128 * 0.75]])
        self.assertEqual(self.attributes("#graph .queue", "height"), [[46 * 6 / 8]])
        self.assertEqual(self.attributes("#graph .room", "height"), [[46]])
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "#graph .work.most")), 1)
        cells = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")] for row in self.driver.find_elements(By.CSS_SELECTOR, "#elements tr")]
        self.assertEqual([(row[2], row[6]) for row in cells], [("25 %", "–"), ("75 %", "6 of 8")])

    def test_ratio(self):
        """waiting for the device is waiting, and lies in the trainer's own time: as the stats have it, in the facts and in the plot"""
        elements = [self.element("a", 0.1), self.element("b", 0.1, 0, ["a"])]
        history = [{key: value for key, value in self.stats(at, elements).items() if key.endswith("_s") or key == "samples"} for at in range(1, 31)]
        self.show(self.stats(31, elements, history))
        self.assertEqual(self.driver.find_element(By.ID, "fact-wait-ratio").text, "40 %")
        self.assertIn("now 40 %, least 40 %, most 40 %", self.driver.find_element(By.CSS_SELECTOR, "#wait title").get_attribute("textContent"))
        self.assertIn("now 40.0, least 40.0, most 40.0", self.driver.find_element(By.CSS_SELECTOR, "#rate title").get_attribute("textContent"))
        path = self.driver.find_element(By.CSS_SELECTOR, "#wait path").get_attribute("d")
        tall = self.driver.execute_script("return document.getElementById('wait').clientHeight")
        heights = {float(y) for y in re.findall(r"[ML][0-9.]+ ([0-9.]+)", path)}
        self.assertEqual(heights, {round(tall - 4 - (tall - 24) * 0.4, 1)})

    def test_still(self):
        """a pipeline in which nothing moves says so, and for how long"""
        elements = [self.element("a", 0.1), self.element("b", 0.1, 3, ["a"])]
        self.show(self.stats(1, elements, steps=5), self.stats(2, elements, steps=6))
        self.assertEqual(self.driver.find_element(By.ID, "clock").text, "2.0 s")
        self.asked = 0
        self.show(self.stats(1, elements, steps=5), self.stats(2, elements, steps=6), self.stats(47, elements, steps=6))
        self.assertEqual(self.driver.find_element(By.ID, "clock").text, "47.0 s; nothing has moved for 45.0 s")

    def test_hostile(self):
        """names and texts of records are shown, and never become part of the page"""
        evil = "<img src=x onerror=alert(1)></script><b>\u202e\u0000"
        elements = [self.element(evil, 0.1), self.element("b", 0.1, 3, [evil])]
        notes = [{"at": 1e9, "kind": evil, "text": evil}]
        self.show(self.stats(1, elements, verdict=evil, skipped={evil: 3}, notes=notes, n_notes=1, status=evil))
        self.assertEqual(self.driver.find_elements(By.CSS_SELECTOR, "main img, main script, p b, td b"), [])
        for identity in ("verdict", "skipped", "notes", "status"):
            self.assertIn("<img src=x", self.driver.find_element(By.ID, identity).text)

    def test_wide(self):
        """forty elements, names of a line's length, a small screen: what is wide scrolls in itself"""
        elements = [self.element("source", 0)]
        for i in range(40):
            elements.append(self.element(f"element-{i}-" + "x" * 60, 0.5, 8, [elements[-1]["name"]]))
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        self.show(self.stats(1, elements, notes=[{"at": 1, "kind": "k", "text": "t" * 500}], n_notes=1, verdict="v" * 300))
        self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 390)
        out = self.driver.execute_script("""const boxes = [...document.querySelectorAll('#graph .box')];
          return [...document.querySelectorAll('#graph text')].filter(t => !boxes.some(b => t.getBBox().x >= b.getBBox().x
            && t.getBBox().x + t.getBBox().width <= b.getBBox().x + b.getBBox().width)).map(t => t.textContent)""")
        self.assertEqual(out, [])
        self.check_accessible()


class Nodes(chromium.Case):
    """A run that is spread over nodes: numbers that a program gives to headrace._dashboard, once a second as SpreadLoader does"""
    pictures = Page.pictures
    FIRST = 3  # seconds of the run that the page has not seen

    def setUp(self):
        super().setUp()
        try:
            from headrace._dashboard import Dashboard
        except ImportError:
            self.driver.quit()
            self.skipTest("no Python package was built")
        self.at, self.make, self.over = self.FIRST, spread_stats.stats, threading.Event()
        self.page = Dashboard(json.dumps(self.make(float(self.at))), "127.0.0.1:0", None)
        self.thread = threading.Thread(target=self.go_on)
        self.thread.start()
        self.driver.get(self.page.uri)

    def tearDown(self):
        self.over.set()
        self.thread.join()
        try:
            super().tearDown()
        finally:
            self.page.close()

    def go_on(self):
        while not self.over.wait(0.7):
            self.at += 1
            self.page.show(json.dumps(self.make(float(self.at))))

    text, until = Page.text, Page.until

    def rows(self, table):
        """[[text of each cell]], of one moment"""
        return self.driver.execute_script("return [...document.querySelectorAll(arguments[0])].map(r => [...r.cells].map(c => c.innerText))", f"#{table} tr")

    def texts(self, selector):
        """of all that are such, of one moment"""
        return self.driver.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def numbers(self):
        """units of each producer, and of each link"""
        return [[int(row[column].replace(",", "")) for row in self.rows(table)] for table, column in (("producers", 3), ("links", 1))]

    def test_moves(self):
        """two nodes: units and bytes grow, rates and shares are what they are made to be; verdict, graph and table have each producer"""
        self.until(lambda: len(self.rows("producers")) == 2, "producers")
        before = self.numbers()
        self.until(lambda: all(b > a for old, new in zip(before, self.numbers()) for a, b in zip(old, new)), "more units")
        first, second = spread_stats.NODES
        self.until(lambda: [row[4] for row in self.rows("producers")] == ["6.0 MB/s"] * 2, "what is made now")
        self.assertEqual([row[:3] for row in self.rows("producers")], [["0", first, "at work"], ["1", second, "at work"]])
        self.until(lambda: [row[7] for row in self.rows("producers")] == ["imagefetch0 20 %", "imagefetch0 90 %"], "who works most")
        self.assertEqual([[row[0], row[3], row[4]] for row in self.rows("links")], [[f"{first} (this node: no link)", "3.0 MB/s", "–"], [second, "3.0 MB/s", "30 MB/s"]])
        self.assertIn("imagefetch0 works most", self.text("verdict"))
        self.assertEqual(self.text("fact-rank"), "0 of 2")
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "#graph rect.box")), 7)
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "#graph rect.most")), 1)
        self.assertEqual(self.texts("#table th[scope=rowgroup]"), [f"node {first}, producer 0", f"node {second}, producer 1", "this rank"])
        self.assertEqual(self.texts("#table th[scope=row]"), ["filesrc0", "imagefetch0", "resize0"] * 2 + ["patchify0"])
        self.until(lambda: (self.driver.find_element(By.CSS_SELECTOR, "#wait path").get_attribute("d") or "").count("L") > 3, "a plot")

    def test_died(self):
        """a producer that does not answer is told, everywhere, and the others go on; one in its place counts from its start"""
        self.until(lambda: len(self.rows("producers")) == 2, "producers")
        self.page.note("warning", f"node {spread_stats.NODES[1]} is suspected: others are asked")
        self.make = lambda at: spread_stats.stats(at, [spread_stats.producer(0, at, 0.2), spread_stats.dead(1)])
        self.until(lambda: self.rows("producers")[1][2] == "no answer within 2 s", "it does not answer")
        self.assertEqual(self.rows("producers")[1], ["1", spread_stats.NODES[1], "no answer within 2 s", "–", "–", "–", "–", "–"])
        self.assertEqual(self.texts("#producers td.bad"), ["no answer within 2 s"])
        told = f"node {spread_stats.NODES[1]}, producer 1: no answer within 2 s"
        self.assertEqual(self.texts("#graph text.bad"), [told])
        self.assertIn(told, self.texts("#table th[scope=rowgroup]"))
        self.assertEqual(self.text("status"), "running")
        before = self.numbers_of_first()
        self.until(lambda: self.numbers_of_first() > before, "the other goes on")
        self.assertIn("suspected", self.text("notes"))
        self.until(lambda: (self.driver.find_element(By.CSS_SELECTOR, "#wait path").get_attribute("d") or "").count("L") > 5, "a plot")
        self.driver.set_window_size(chromium.WIDTH, 1750)
        self.picture("dashboard-nodes.png")
        since = self.at
        self.make = lambda at: spread_stats.stats(at, [spread_stats.producer(0, at, 0.2), spread_stats.producer(1, at - since, 0.4, pid=77)])
        self.until(lambda: self.rows("producers")[1][2] == "at work" and "40 %" in self.rows("producers")[1][7], "one in its place")

    def numbers_of_first(self):
        return int(self.rows("producers")[0][3].replace(",", ""))

    def test_silent(self):
        """a program that tells no new numbers is said to, though the page is served"""
        self.until(lambda: len(self.rows("producers")) == 2, "producers")
        self.over.set()
        self.until(lambda: "no new numbers for" in self.text("clock"), "that is said")
        self.assertEqual(self.text("status"), "running")

    def test_dead(self):
        """the rank's process is gone: nobody answers; one that has failed says so"""
        self.make = lambda at: spread_stats.stats(at, status="failed")
        self.until(lambda: self.text("status") == "failed", "failed")
        self.over.set()
        self.page.close()
        self.until(lambda: "does not answer since" in self.text("clock"), "it is gone")
        self.assertEqual(self.text("status"), "failed")
        self.assertIn("bad", self.driver.find_element(By.ID, "status").get_attribute("class"))

    def test_accessible(self):
        """by axe-core's rules, in both themes; what is wrong can be read; tables are reached by keys"""
        self.make = lambda at: spread_stats.stats(at, [spread_stats.producer(0, at, 0.2), spread_stats.dead(1)])
        self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, "#producers td.bad"), "one that does not answer")
        for theme in ("light", "dark"):
            self.assertEqual(self.driver.execute_script("return document.documentElement.dataset.theme"), theme)
            self.check_accessible()
            for selector in ("#producers td.bad", "#table th[scope=rowgroup]", "#links td"):
                self.assertGreaterEqual(self.contrast(selector), 4.5, (theme, selector))
            self.assertGreaterEqual(self.contrast("#graph text.bad", "fill"), 4.5, theme)
            self.driver.find_element(By.ID, "theme").click()
            time.sleep(0.2)
        self.driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
        self.driver.get(self.page.uri)
        self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, "#producers td.bad"), "the page again")
        reached = self.tabs()
        self.assertEqual([name for name, _ in reached], ["theme", "graph", "Table of the producers", "Table of the links", "Table of the elements"])
        self.assertTrue(all(outline >= 2 for _, outline in reached), reached)
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        told = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")}
        for wanted in (("region", "Nodes"), ("columnheader", "link from node"), ("columnheader", "works most"), ("rowheader", spread_stats.NODES[1])):
            self.assertIn(wanted, told)

    def test_wide(self):
        """sixty producers, a long reason, a small screen: what is wide or long scrolls in itself"""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        self.make = lambda at: spread_stats.stats(at, [*(spread_stats.producer(i, at) for i in range(60)), {**spread_stats.dead(60), "error": "x" * 300}])
        self.until(lambda: len(self.rows("producers")) == 61, "all of them")
        self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 390)
        self.assertLess(self.driver.execute_script("return document.getElementById('graph').clientHeight"), 800)

    def test_hostile(self):
        """what nodes tell is shown, and never becomes part of the page"""
        evil = "<img src=x onerror=alert(1)></script><b>"
        self.make = lambda at: spread_stats.stats(at, [spread_stats.producer(0, at, ip=evil), {**spread_stats.dead(1), "error": evil}], node=evil,
                                                  links={evil: spread_stats.stats(at)["links"][spread_stats.NODES[1]]})
        self.until(lambda: evil in self.text("producers"), "it is shown")
        self.assertIn(evil, self.text("links"))
        self.assertEqual(self.driver.find_elements(By.CSS_SELECTOR, "main img, main script, td b, th b"), [])


tap.main()
