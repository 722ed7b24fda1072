#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""The page in a browser: figures, zoom, search, both colour schemes, both widths. Exits with 77 where there is no Chromium."""
import shutil
import sys

sys.dont_write_bytecode = True
NAME = "SemCache_report_page_in_browser"
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print(f"{NAME}: Skipped\nPython has no selenium: apt-get install python3-selenium chromium chromium-driver")
    sys.exit(77)
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    print(f"{NAME}: Skipped\nthere is no chromium with chromedriver: apt-get install chromium chromium-driver")
    sys.exit(77)

import unittest

from samples import PageTest, advice, advisor_report, copy, finding, launch, report, tally, timeline

LONG = "a::very::long::name<" * 12


class BrowserTest(PageTest):
    def setUp(self):
        super().setUp()
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.addCleanup(self.browser.quit)

    def open(self, width=1280, scheme="light"):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.browser.get("file://" + self.page)
        return self.browser.execute_script

    def by_id(self, name):
        return self.browser.find_element("id", name)

    def contrast(self):
        """Returns the least contrast of text with what is behind it."""
        return self.browser.execute_script(
            """
            const parse = (c) => c.match(/[\\d.]+/g).map(Number), light = (c) => d3.sum([0.2126, 0.7152, 0.0722], (w, i) => {
              const v = c[i] / 255; return w * (v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)); });
            const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
            return Math.min(...[...document.querySelectorAll('body *')].filter(e => !e.closest('svg, script') && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => {
              const a = light(parse(getComputedStyle(e).color)), b = light(behind(e)); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }));"""
        )


class AdvisorInBrowser(BrowserTest):
    def test_the_figures_are_those_of_the_json(self):
        found = [
            finding(size=7000, to=LONG, site=LONG + "/solve.cpp:42 in solve", kernels=[LONG, "a", "b", "c"]),
            finding("round trip", size=6000, destination_had_changed=tally(10)),
            finding("fresh", "</script><b>", size=300),
        ]
        labels = {LONG: 8000, "values": 6000, "</script><b>": 400}
        self.make(*[self.put(f"a{r}.json", advisor_report(found, rank=r, labels=labels, copied=14_400)) for r in (0, 1)])
        for width in (1280, 400):
            for scheme in ("light", "dark"):
                js = self.open(width, scheme)
                self.assertEqual(self.browser.get_log("browser"), [], (width, scheme))
                self.assertLessEqual(js("return document.documentElement.scrollWidth"), width)
                self.assertIn("deep_copy moved 28.1 KiB. The destination had 13.7 KiB of it already (49 %)", self.by_id("verdict").text)
                figures = "return [...document.querySelectorAll(arguments[0])].map(e => e.dataset[arguments[1]])"
                self.assertEqual(js(figures, "[data-advisor]", "bytes"), ["28800", "14000", "600"])
                self.assertEqual(js(figures, "#finding-table [data-saves]", "saves"), ["14000", "", "600"])
                self.assertEqual(js(figures, "#finding-table [data-bytes]", "bytes"), ["14000", "12000", "600"])
                self.assertEqual(js(figures, "#advised-table [data-bytes]", "bytes"), ["7000", "7000"])
                bars = js("return d3.selectAll('#advisor-chart g.row').data().map(r => [r.certain, r.possible, r.needed])")
                self.assertEqual(bars, [[14000, 0, 2000], [0, 0, 12000], [0, 600, 200]])
                widths = js("return d3.selectAll('#advisor-chart g.row rect')[0].map(e => e.getBBox().width)")
                self.assertAlmostEqual(widths[0] / widths[2], 7, delta=0.01)
                self.assertGreater(self.contrast(), 4.5, (width, scheme))


class InBrowser(BrowserTest):
    def setUp(self):
        super().setUp()
        events = [e for i in range(20) for e in (launch(10 * i, "first"), launch(10 * i + 3, "second"), copy(10 * i + 5, 100))]
        files = []
        for rank in (0, 1):
            labels = {"values": {"h2d": 2000, "avoided": 5000}, LONG: {"d2h": 300 + rank}, "</script><b>": {"h2d": 1}}
            files += [
                self.put(
                    f"r{rank}.json",
                    report(
                        rank=rank,
                        labels=labels,
                        sites={LONG + "/solve.cpp:42 in solve": {"h2d": 2000}},
                        **advice("came back", "Came back from a device: " + LONG, bytes=300, direction="d2h"),
                    ),
                ),
                self.put(
                    f"t{rank}.json", timeline(events + [copy(202, 300 + rank, LONG, 3, "device 0", "host"), copy(204, 1, "</script><b>")], rank=rank)
                ),
            ]
        self.make(*files)

    def test_the_whole_page(self):
        for width in (1280, 400):
            for scheme in ("light", "dark"):
                js = self.open(width, scheme)
                self.assertEqual(self.browser.get_log("browser"), [], (width, scheme))
                self.assertLessEqual(js("return document.documentElement.scrollWidth"), width)
                self.assertEqual(js("return document.querySelector('[data-total=h2d]').dataset.bytes"), "4002")
                self.assertEqual(js("return document.querySelector('[data-total=avoided]').firstChild.textContent"), "9.77 KiB")
                self.assertEqual(
                    js("return [...document.querySelectorAll('#label-table td[data-bytes]')].map(e => e.dataset.bytes)"), ["4000", "601", "2"]
                )
                self.assertEqual(js("return d3.selectAll('#label-chart g.row').data().map(r => r.h2d)"), [4000, 0, 2])
                self.assertEqual(
                    js("return d3.selectAll('#time-chart g.row').data().map(r => r.h2d)"), [200] * 19 + [202]
                )  # the last one ends with the program
                self.assertEqual(js("return timeline.spans()"), 124)
                self.assertGreater(self.contrast(), 4.5, (width, scheme))

    def test_zoom_and_move(self):
        js = self.open()
        view = lambda: js("return timeline.view()")
        whole, lanes = view(), self.by_id("tl")
        js("arguments[0].scrollIntoView({block: 'center'})", lanes)
        ActionChains(self.browser).move_to_element(lanes).click().perform()
        lanes.send_keys("+")
        zoomed = view()
        self.assertAlmostEqual(zoomed[1] - zoomed[0], (whole[1] - whole[0]) / 2, delta=1)
        lanes.send_keys(Keys.ARROW_RIGHT)
        self.assertGreater(view()[0], zoomed[0])
        before = view()
        ActionChains(self.browser).move_to_element(lanes).click_and_hold().move_by_offset(120, 0).release().perform()
        self.assertLess(view()[0], before[0])
        lanes.send_keys("0")
        self.assertEqual(view(), whole)
        js(
            """const r = arguments[0].getBoundingClientRect();
              document.getElementById('tl-canvas').dispatchEvent(new WheelEvent('wheel', {deltaY: -300, clientX: r.left + r.width / 2, clientY: r.top + 60, bubbles: true, cancelable: true}))""",
            lanes,
        )
        self.assertLess(view()[1] - view()[0], whole[1] - whole[0])
        self.by_id("tl-all").click()
        self.assertEqual(view(), whole)

    def test_search(self):
        js = self.open()
        self.by_id("tl-search").send_keys("SECOND")
        self.assertEqual(self.by_id("tl-found").text, "40 spans found")
        self.by_id("tl-next").click()
        self.assertEqual(self.by_id("tl-found").text, "1 of 40 found")
        self.assertIn("launch: second", self.by_id("tl-span").text)
        self.assertIn("at 3 µs for 2 µs", self.by_id("tl-span").text)
        self.by_id("tl-search").clear()
        self.by_id("tl-search").send_keys("</script><b>")
        self.assertEqual(self.by_id("tl-found").text, "2 spans found")
        self.by_id("tl-search").send_keys("nothing")
        self.assertEqual(self.by_id("tl-found").text, "0 spans found")
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_keys_reach_everything(self):
        js = self.open()
        height = lambda: js("return document.getElementById('tl-space').clientHeight")
        lanes, before = self.by_id("tl"), height()
        js("arguments[0].focus()", lanes)
        lanes.send_keys(Keys.ARROW_DOWN)
        self.assertIn("host thread 1 (main)", self.by_id("tl-span").text)
        lanes.send_keys(Keys.ENTER)
        self.assertLess(height(), before)
        self.assertEqual(js("return [...document.querySelectorAll('.scroll')].filter(e => e.tabIndex !== 0).length"), 0)
        self.assertEqual(js("return document.querySelectorAll('h1').length"), 1)


if __name__ == "__main__":
    unittest.main()
