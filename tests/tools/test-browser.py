#!/usr/bin/env python3
"""The dashboard in a real browser, headless Chromium: numbers move, the verdict changes when the trainer speeds up, a dead pipeline
is shown as dead, keyboard and names for screen readers, light and dark. The pictures of docs/dashboard.md come from here.

usage: test-browser.py HR_LAUNCH SOURCE_ROOT [PICTURES]
"""
import importlib.util
import pathlib
import re
import shutil
import signal
import sys
import time
import unittest

HR_LAUNCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
PICTURES = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402 # pylint: disable=wrong-import-position

from selenium import webdriver  # noqa: E402 # pylint: disable=wrong-import-position
from selenium.webdriver.common.by import By  # noqa: E402 # pylint: disable=wrong-import-position
from selenium.webdriver.common.keys import Keys  # noqa: E402 # pylint: disable=wrong-import-position

CHROMIUM = shutil.which("chromium")
DEADLINE = 120


def load_run():
    """class Run of test-dashboard.py, without its tests"""
    text = (ROOT / "tests/tools/test-dashboard.py").read_text().rpartition("\ntap.main()")[0]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dashboard", loader=None))
    exec(compile(text, "test-dashboard.py", "exec"), module.__dict__)  # pylint: disable=exec-used
    return module.Run, module.TOKEN


Run, TOKEN = load_run()


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,1250",
                     "--force-prefers-reduced-motion"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


@unittest.skipUnless(CHROMIUM and shutil.which("chromedriver"), "no chromium and chromedriver")
class Page(unittest.TestCase):
    def setUp(self):
        self.runs = []
        self.driver = browser()

    def tearDown(self):
        complaints = [entry["message"] for entry in self.driver.get_log("browser") if "net::ERR" not in entry["message"]]
        self.driver.quit()
        for run in self.runs:
            run.end()
        self.assertEqual(complaints, [])

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

    def picture(self, name):
        if PICTURES:
            PICTURES.mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(PICTURES / name))

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
        """all can be reached by keys, has a name, and enough contrast in both themes"""
        self.open("fakesrc ! tee name=t ! identity ! fakesink  t. ! trainsim step-time=10ms")
        self.until(lambda: self.samples() > 0, "samples")
        names = self.driver.execute_script("""
          return [...document.querySelectorAll('section,[role],svg[id],button')].map(e =>
            [e.tagName, e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean)
              .map(i => document.getElementById(i).textContent).join(' ') || e.textContent.trim()])""")
        self.assertTrue(names and all(name for _, name in names), names)
        focused = []
        for _ in range(8):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            focused.append(self.driver.switch_to.active_element.get_attribute("id")
                           or self.driver.switch_to.active_element.get_attribute("class"))
        for wanted in ("theme", "graph", "scroll"):
            self.assertIn(wanted, focused)
        for _ in range(2):
            for selector in ("#verdict", ".hint", "thead th", "#status", "#theme"):
                self.assertGreaterEqual(self.driver.execute_script(CONTRAST, selector), 4.5, selector)
            self.driver.find_element(By.ID, "theme").click()
            time.sleep(0.2)
        self.assertEqual(self.driver.find_element(By.TAG_NAME, "html").get_attribute("lang"), "en")
        self.assertEqual(self.driver.find_element(By.ID, "verdict").get_attribute("aria-live"), "polite")


# of an element's text against what is behind it, by WCAG
CONTRAST = """
  const e = document.querySelector(arguments[0]);
  const rgb = (s) => s.match(/[0-9.]+/g).map(Number);
  let behind = e;
  while (behind && (rgb(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const a = light(rgb(getComputedStyle(e).color)), b = light(rgb(getComputedStyle(behind || document.body).backgroundColor));
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
"""

tap.main()
