#!/usr/bin/env python3
"""The page of hr-report in a real browser, headless Chromium: the ladder as a picture, light and dark, on paper, by keys, on a small
screen, and for screen readers. The picture of docs/report.md comes from here.

usage: test-report-browser.py BUILD SOURCE_ROOT [PICTURES]
"""
import base64
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "tools")]
import tap  # noqa: E402 # pylint: disable=wrong-import-position
import chromium  # noqa: E402 # pylint: disable=wrong-import-position

RUNGS = ["1-serial", "2-concurrent", "3-prefetch", "3b-bypipe", "4-zerocopy"]


class Ladder(chromium.Case):
    """pipelines/ladder itself, as `make ladder` runs it: real photographs, a real S3 server, all rungs"""
    pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    page = None

    @classmethod
    def setUpClass(cls):
        cls.page = ROOT / "build" / "demo" / "ladder.html"
        cls.page.unlink(missing_ok=True)
        cls.done = subprocess.run([ROOT / "pipelines" / "ladder", "--build", BUILD], capture_output=True, text=True, timeout=800, check=False)

    def setUp(self):
        # 1: it ran, and missed a bar, as it may while a machine is busy
        self.assertIn(self.done.returncode, (0, 1), self.done.stderr)
        self.assertIn(f"the ladder as a picture: {self.page.relative_to(ROOT)}", self.done.stdout, self.done.stderr)
        super().setUp()
        self.driver.get(self.page.as_uri())

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def test_picture(self):
        """each rung is a row, what it waits is what the ladder printed, and the bars are to scale"""
        numbers = json.loads((ROOT / "build/demo/ladder.json").read_text())
        rows = {row.find_element("css selector", "th").text: [cell.text for cell in row.find_elements("css selector", "td")]
                for row in self.all("table")[0].find_elements("css selector", "tbody tr")}
        self.assertEqual(list(rows), RUNGS)
        for rung, told in zip(RUNGS, numbers):
            self.assertEqual(rows[rung][0], f"{100 * told['wait_ratio']:.1f} %", rung)
            self.assertEqual(rows[rung][6].count("+"), len(told["pipelines"]) - 1, rung)
        self.assertIn("All rungs delivered the same bytes", self.driver.find_element("tag name", "main").text)
        waits = [bar.rect["width"] for bar in self.all("svg rect.wait[height='14']")]
        self.assertEqual(len(waits), len(RUNGS))
        times = [told["wait_ratio"] / told["images_per_s"] for told in numbers]  # of an image, waited for
        for rung, wait, waited in zip(RUNGS, waits, times):
            self.assertAlmostEqual(wait / waits[0], waited / times[0], delta=0.1, msg=rung)
        self.picture("ladder.png")
        self.media(prefers_color_scheme="dark")
        self.picture("ladder-dark.png")

    def test_accessible(self):
        """by axe-core's rules, light and dark; lines and bars can be told from what is behind them"""
        for scheme in ("light", "dark"):
            self.media(prefers_color_scheme=scheme)
            self.check_accessible()
            self.assertGreaterEqual(self.contrast("svg rect[height='14']", "fill"), 3, scheme)
            self.assertGreaterEqual(self.contrast("svg polyline", "stroke"), 3, scheme)
            self.assertGreaterEqual(self.contrast("svg text", "fill"), 4.5, scheme)
        self.assertEqual(self.driver.execute_script("return getComputedStyle(document.body).backgroundColor"), "rgb(21, 24, 27)")

    def test_keys(self):
        """tables and pictures that are wider than the window, and the runs' own parts, are reached by keys, and it can be seen where one is"""
        reached = self.tabs()
        names = [name for name, _ in reached]
        for wanted in ("The runs as bars", "The runs in numbers", *RUNGS):
            self.assertIn(wanted, names)
        self.assertTrue(all(outline >= 1 for _, outline in reached), reached)
        self.assertLess(names.index("The runs as bars"), names.index("The runs in numbers"))

    def test_small(self):
        """on a telephone the page scrolls down only; what is wide scrolls inside itself"""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 390)
        self.assertGreater(self.driver.execute_script("return document.querySelector('.scroll').scrollWidth"), 600)

    def test_paper(self):
        """printed it is light, nothing is cut off at the right, and no bar is torn"""
        self.media("print", prefers_color_scheme="dark")
        self.assertEqual(self.driver.execute_script("return getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertEqual(self.driver.execute_script("return getComputedStyle(document.querySelector('.scroll')).overflowX"), "visible")
        # A4 across, less its margins, at 96 dots an inch
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1031, "height": 700, "deviceScaleFactor": 1, "mobile": False})
        wide = self.driver.execute_script("""return [...document.querySelectorAll('table, svg, pre')]
          .map(e => [e.getBoundingClientRect().right, e.outerHTML.slice(0, 90)]).filter(([right]) => right > innerWidth + 1)""")
        self.assertEqual(wide, [])
        paper = base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
        self.assertTrue(paper.startswith(b"%PDF-") and len(paper) > 20000, len(paper))

    def test_fifty(self):
        """fifty runs: the same rules hold, light and dark, and each colour of a line can be told from what is behind it"""
        with tempfile.TemporaryDirectory(prefix="hr-report-") as folder:
            folder = pathlib.Path(folder)
            (folder / "runs").mkdir()
            for i in range(50):
                shutil.copy(ROOT / "build/demo/ladder" / f"{RUNGS[i % 3]}.jsonl", folder / "runs" / f"{i}-a-run-with-a-rather-long-name.jsonl")
            subprocess.run([BUILD / "tools" / "hr-report", "-o", folder / "page.html", folder / "runs"], check=True)
            self.driver.get((folder / "page.html").as_uri())
            self.assertEqual(len(self.all("svg polyline")), 100)
            for scheme in ("light", "dark"):
                self.media(prefers_color_scheme=scheme)
                self.check_accessible()
                for colour in range(8):
                    self.assertGreaterEqual(self.contrast(f"svg polyline.c{colour}", "stroke"), 3, (scheme, colour))
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
            self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 390)


tap.main()
