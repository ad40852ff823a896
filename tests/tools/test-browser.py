#!/usr/bin/env python3
"""The dashboard in a real browser, headless Chromium: numbers move, the verdict changes when the trainer speeds up, a dead pipeline
is shown as dead, keyboard and names for screen readers, light and dark. The pictures of docs/dashboard.md come from here.

usage: test-browser.py HR_LAUNCH SOURCE_ROOT [PICTURES]
"""
import importlib.util
import pathlib
import re
import signal
import sys
import time

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "tools")]
import tap  # noqa: E402 # pylint: disable=wrong-import-position
import chromium  # noqa: E402 # pylint: disable=wrong-import-position

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
        self.until(lambda: self.samples() > 0, "samples")
        before = self.samples()
        self.until(lambda: self.samples() > before, "more samples")
        self.until(lambda: self.text("status") == "running", "running")
        self.until(lambda: "decode" in self.text("verdict"), "the verdict names the slow element")
        rows = self.driver.find_elements(By.CSS_SELECTOR, "#elements tr")
        self.assertEqual([row.find_element(By.TAG_NAME, "th").text for row in rows],
                         ["fakesrc0", "fault0", "decode", "batch0", "prefetchqueue0", "trainsim0"])
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

    def test_verdict(self):
        """a slow trainer is the trainer's own time; a fast one waits for the slow element, and the page says so"""
        text = "fakesrc ! identity name=decode sleep=5ms ! batch size=4 ! prefetchqueue ! trainsim step-time={}"
        self.open(text.format("200ms"))
        self.until(lambda: "the trainer itself" in self.text("verdict"), "the trainer is fed")
        self.open(text.format("1ms"))
        self.until(lambda: "waits for decode (cpu)" in self.text("verdict"), "it waits for decode")

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


tap.main()
