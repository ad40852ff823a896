"""A page in headless Chromium: what the tests of pages share."""
import importlib.util
import pathlib
import shutil
import unittest

from selenium import webdriver

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WIDTH, HEIGHT = 1200, 1250


def axe():
    """axe-core's text; the package that has it is not imported, as it wants a browser of its own"""
    folder, = importlib.util.find_spec("axe_playwright_python").submodule_search_locations
    return (pathlib.Path(folder) / "axe.min.js").read_text(encoding="utf-8")


@unittest.skipUnless(CHROMIUM and DRIVER, "no chromium and chromedriver")
class Case(unittest.TestCase):
    """A browser for each test; what it complains of is a failure."""
    pictures = None  # where pictures go

    def setUp(self):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={WIDTH},{HEIGHT}",
                         "--hide-scrollbars", "--force-prefers-reduced-motion"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))

    def tearDown(self):
        complaints = [entry["message"] for entry in self.driver.get_log("browser") if "net::ERR" not in entry["message"]]
        self.driver.quit()
        self.assertEqual(complaints, [])

    def picture(self, name):
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(self.pictures / name))

    def media(self, kind="screen", **features):
        """as if printed, or with prefers_color_scheme="dark" """
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": kind, "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})

    def check_accessible(self, *left_out):
        """axe-core's rules (WCAG 2.2 A and AA, and its best practices), and what it does not look at: that pictures can be seen"""
        self.driver.execute_script(axe())
        found = self.driver.execute_async_script("""
          const done = arguments[arguments.length - 1];
          axe.run(document, { resultTypes: ['violations'] }).then(r => done({
            checked: r.passes.length, bad: r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 160) + ': ' + n.failureSummary)]) }),
            e => done({ checked: 0, bad: [String(e)] }));""")
        self.assertGreater(found["checked"], 15)
        self.assertEqual([bad for bad in found["bad"] if bad[0] not in left_out], [])

    def contrast(self, selector, of="color"):
        """the least, of all that are shown: of `color` or `fill` or `stroke` against what is behind it"""
        return self.driver.execute_script(CONTRAST, selector, of)

    def tabs(self, most=60):
        """what the tab key reaches, from the start of the page, until it leaves it: (its name, its outline's width)"""
        reached = []
        for _ in range(most):
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9})
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9})
            what = self.driver.execute_script("""
              const e = document.activeElement;
              if (!e || e === document.body) return null;
              return [e.id || e.getAttribute('aria-label') || e.textContent.trim(), parseFloat(getComputedStyle(e).outlineWidth)];""")
            if what is None or what in reached:
                break
            reached.append(what)
        return reached


# by WCAG
CONTRAST = """
  const rgb = (s) => s.match(/[0-9.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const found = [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length);
  if (!found.length) throw new Error('nothing is ' + arguments[0]);
  return Math.min(...found.map(e => {
    let behind = e.parentElement;
    if (arguments[1] === 'color') behind = e;
    while (behind && (rgb(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
    const a = light(rgb(getComputedStyle(e)[arguments[1]])), b = light(rgb(getComputedStyle(behind || document.body).backgroundColor));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
"""
