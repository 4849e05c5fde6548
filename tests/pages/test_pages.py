#!/usr/bin/env python3
"""Pages in a browser: each opens from a file without a network, with and without scripts, and says something in each section.

test_pages.py [-v] [Class.test_…]; HOSTPROBE_TEST_BUILD is the build folder. HOSTPROBE_TEST_PICTURES: pictures of pages are left there.
"""

import json
import os
import tempfile
import unittest
from pathlib import Path

import made_pages
from browser import Browser

SECTIONS = ("findings", "time", "steps", "worst", "collectives", "threads", "flames", "trials", "ranks")
CHANGES = ("findings", "steps", "path", "details")
PICTURES = os.environ.get("HOSTPROBE_TEST_PICTURES")
CONTENTS = """(() => Object.fromEntries([...document.querySelectorAll("main > section")].map((one) => [one.id, {
  rows: one.querySelectorAll("tbody tr").length, cards: one.querySelectorAll("article.card").length,
  drawings: one.querySelectorAll("svg").length, words: one.querySelectorAll(".nothing").length}])))()"""
AXE = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map((one) => one.id + ': ' + one.nodes[0].html.slice(0, 200)))"
WIDER_THAN_WINDOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"


def axe_path():
    return made_pages.setup_path("AXE")


class Shared:
    """What every page keeps. A class below says of which run it is, and what its page holds."""

    most_bytes = 1_000_000
    sections = SECTIONS
    full = ()  # sections with rows or drawings, not only a sentence

    @classmethod
    def make(cls, folder):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.page = cls.make(Path(folder.name))
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.complaints(), self.browser.requests()  # of the test before
        self.browser.open(self.page)

    def check_contents(self, contents):
        for section in self.sections:
            self.assertIn(section, contents)
            self.assertGreater(sum(contents[section].values()), 0, f"{section} says nothing")
        for section in self.full:
            held = contents[section]
            self.assertGreater(held["rows"] + held["cards"], 0, f"{section} has no row")

    def test_it_opens_without_a_network_and_nothing_complains(self):
        self.check_contents(self.browser.value(CONTENTS))
        self.assertEqual([url for url in self.browser.requests() if not url.startswith("file:")], [])
        self.assertEqual(self.browser.complaints(), [])
        for width in (1280, 400):
            self.browser.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            self.assertFalse(self.browser.value(WIDER_THAN_WINDOW), f"the page scrolls sideways in {width} pixels")
        self.browser.command("Emulation.clearDeviceMetricsOverride")
        if PICTURES:
            self.browser.picture(Path(PICTURES) / f"{type(self).__name__}.png")

    def test_its_head_has_the_verdict_of_the_document(self):
        verdict = self.browser.value("""(async () => { const one = document.getElementById("document");
          const packed = one.type.includes("gzip") && Uint8Array.from(atob(one.textContent), (c) => c.charCodeAt(0));
          const text = packed ? await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text()
                              : one.textContent;
          return JSON.parse(text).verdict || null; })()""")
        if verdict is None:
            self.skipTest("a comparison has no verdict")
        head = self.browser.value('document.querySelector("h1").textContent')
        self.assertIn(verdict["word"].upper(), head)
        self.assertEqual(verdict["severity"] in head, verdict["severity"] != "none", head)

    def test_it_says_the_same_without_scripts(self):
        with_scripts = self.browser.value(CONTENTS)
        plain = Browser(scripts=False)
        self.addCleanup(plain.close)
        plain.open(self.page)
        self.assertEqual(plain.value(CONTENTS), with_scripts)
        self.assertEqual(plain.value("document.querySelectorAll('button').length"), 0)
        self.assertEqual(plain.complaints(), [])

    def test_it_is_small_enough_to_be_sent(self):
        self.assertLess(self.page.stat().st_size, self.most_bytes)

    def test_its_document_can_be_taken_out_again(self):
        text = self.browser.value("textOfDocument()")
        self.assertEqual(json.loads(text)["schema"], 1)

    def test_rules_for_readers_by_keyboard_and_by_ear_hold(self):
        self.browser.value(axe_path().read_text() + "\n;0")
        self.assertEqual(self.browser.value(AXE), [])

    def test_it_is_dark_where_the_reader_has_it_dark(self):
        dark = Browser(dark=True)
        self.addCleanup(dark.close)
        dark.open(self.page)
        paper = "getComputedStyle(document.body).backgroundColor"
        self.assertNotEqual(dark.value(paper), self.browser.value(paper))
        dark.value(axe_path().read_text() + "\n;0")
        self.assertEqual([one for one in dark.value(AXE) if one.startswith("color")], [])
        if PICTURES:
            dark.picture(Path(PICTURES) / f"{type(self).__name__}-dark.png")


class DemoPage(Shared, unittest.TestCase):
    full = ("findings", "time", "steps", "worst", "threads", "flames", "ranks")

    @classmethod
    def make(cls, folder):
        return made_pages.page_of(made_pages.demo_run(folder))

    def test_the_first_screen_answers_what_where_what_to_do_and_what_is_gained(self):
        bottom = "document.querySelector('article.card .{}').getBoundingClientRect().bottom"
        for part in ("sentence", "gain", "where", "advice, article.card .command"):
            self.assertLess(self.browser.value(bottom.format(part)), 900, part)

    def test_a_column_sorts_by_a_click_and_says_so(self):
        head = "document.querySelector('#threads thead button')"
        self.browser.value(f"{head}.click()")
        first = self.browser.value(f"{head}.parentElement.getAttribute('aria-sort')")
        self.browser.value(f"{head}.click()")
        self.assertEqual({first, self.browser.value(f"{head}.parentElement.getAttribute('aria-sort')")}, {"ascending", "descending"})

    def test_rows_are_filtered_by_text(self):
        shown = "[...document.querySelectorAll('#threads tbody tr')].filter((row) => !row.hidden).length"
        before = self.browser.value(shown)
        self.browser.value("""(() => { const field = document.querySelector('#tools input'); field.value = 'no such text';
          field.dispatchEvent(new Event('input')); })()""")
        self.assertGreater(before, 0)
        self.assertEqual(self.browser.value(shown), 0)

    def test_drawings_grow_and_say_what_is_under_the_pointer(self):
        self.browser.value("document.querySelector('#steps figure button').click()")
        self.assertEqual(self.browser.value("document.querySelector('#strip').style.width"), "200%")
        self.browser.value("""(() => { const box = document.querySelector('#map').getBoundingClientRect();
          document.querySelector('#map').dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + 3, clientY: box.top + 3})); })()""")
        self.assertTrue(self.browser.until("[...document.querySelectorAll('.readout')].some((one) => one.textContent.includes('step'))", 60))

    def test_a_card_is_copied_as_markdown(self):
        text = self.browser.value("markdownOf(document.querySelector('article.card'))")
        self.assertTrue(text.startswith("**"))
        self.assertIn("`hostprobe diff ", text)

    def test_everything_is_reached_by_the_keyboard(self):
        reached = self.browser.value("[...document.querySelectorAll('a[href], button, input, select, summary, .scroll, .zoom')]"
                                     ".filter((one) => one.offsetParent !== null && one.tabIndex < 0).map((one) => one.outerHTML.slice(0, 80))")
        self.assertEqual(reached, [])


class EightRanksPage(Shared, unittest.TestCase):
    full = ("time", "steps", "worst", "collectives", "threads", "flames", "ranks")

    @classmethod
    def make(cls, folder):
        return made_pages.page_of(made_pages.parallel_run(folder))

    def test_one_rank_alone_is_picked(self):
        self.browser.value("""(() => { const choice = document.querySelector('#tools select'); choice.value = '3';
          choice.dispatchEvent(new Event('change')); })()""")
        ranks = self.browser.value("[...new Set([...document.querySelectorAll('tbody tr[data-rank]')].filter((row) => !row.hidden).map((row) => row.dataset.rank))]")
        self.assertEqual(ranks, ["3"])


class ThousandRanksPage(Shared, unittest.TestCase):
    most_bytes = 5_000_000
    full = ("time", "steps", "collectives", "threads", "ranks")

    @classmethod
    def make(cls, folder):
        return made_pages.page_of(made_pages.made_run(folder, 1000, 4000))

    def test_of_many_ranks_the_worst_the_median_and_the_best_are_shown(self):
        self.assertEqual(self.browser.value("document.querySelector('#time table').tBodies[0].rows.length"), 25)
        self.assertEqual(self.browser.value("document.querySelector('#time details table').tBodies[0].rows.length"), 1000 - 25)


class EmptyRunPage(Shared, unittest.TestCase):
    @classmethod
    def make(cls, folder):
        return made_pages.page_of(made_pages.empty_run(folder))


class HostileNamesPage(Shared, unittest.TestCase):
    """Names that would be markup, end the script, steer a terminal, turn the text or be no text at all."""

    @classmethod
    def make(cls, folder):
        run = made_pages.golden_run(folder, "threads")
        # A slash ends the name of a folder, and the path has it all the same.
        hostile = run.parent / "<" / ("script><!--<img src=x onerror=alert(1)>\u202e\x1b[31m'\"&" + os.fsdecode(b"\xff") + "n" * 120)
        hostile.parent.mkdir()
        run.rename(hostile)
        page = folder / "hostile.html"
        made_pages.call(made_pages.COMMAND, "report", hostile, "--html", page)
        return page

    def test_no_name_becomes_markup(self):
        self.assertEqual(self.browser.value("document.querySelectorAll('img, iframe, object').length"), 0)
        self.assertIn("<img src=x", self.browser.value("document.querySelector('.what').textContent"))
        self.assertNotIn("\u202e", self.browser.value("document.body.innerText"))


class ComparisonPage(Shared, unittest.TestCase):
    sections = CHANGES
    full = ("findings", "steps", "details")

    @classmethod
    def make(cls, folder):
        return made_pages.comparison_of(made_pages.demo_run(folder), made_pages.fixed_run(folder))

    def test_both_runs_have_their_map(self):
        self.assertEqual(self.browser.value("document.querySelectorAll('#map-a, #map-b').length"), 2)


class DdpPage(Shared, unittest.TestCase):
    full = ("findings", "time", "steps", "worst", "threads", "flames", "ranks")

    def test_the_worst_step_has_lanes_of_both_ranks_and_their_workers(self):
        heads = self.browser.value("[...document.querySelectorAll('#worst text.head')].map((one) => one.textContent)")
        self.assertEqual(heads, ["rank 0", "rank 1"])
        lanes = self.browser.value("[...document.querySelectorAll('#worst text.lane')].map((one) => one.textContent)")
        self.assertIn("main", lanes)
        self.assertIn("dataloader", lanes)
        self.assertGreater(self.browser.value("document.querySelectorAll('#worst rect[class^=cause-]').length"), 2)
        self.assertGreater(self.browser.value("document.querySelectorAll('#worst .arrow').length"), 0)

    def test_a_frame_of_a_flame_graph_fills_the_width_when_it_is_clicked(self):
        self.assertIn("train_ddp.py", self.browser.value("document.querySelector('#flames').textContent"))
        frame = "[...document.querySelectorAll('#flames .flame > svg')].find((one) => parseFloat(one.getAttribute('width')) < 60)"
        self.browser.value(f"{frame}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        width = f"{frame}.closest('.flame').style.width"
        self.assertGreater(self.browser.value(f"parseFloat({width})"), 150)
        self.browser.value(f"{frame}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        self.assertEqual(self.browser.value(width), "100%")

    @classmethod
    def make(cls, folder):
        return made_pages.page_of(made_pages.ddp_run(folder))


if __name__ == "__main__":
    unittest.main()
