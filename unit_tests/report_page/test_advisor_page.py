#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What the page says of the advisor's reports, also where they are missing, broken or hostile."""
import json
import os
import random
import re
import sys
import unittest

sys.dont_write_bytecode = True
from samples import PageTest, advisor_report, data_of, finding, report, tally, text_of

HOSTILE = "</script><script>alert(1)</script>\"'<b>&amp;\n\u2028\u202e{{7*7}}"


def rows(page):
    """Returns the cells of the findings that hold figures, as they are in the attributes."""
    return [
        (saves, int(size), float(took))
        for saves, size, took in re.findall(r'<td data-saves="(\d*)">.*?<td data-bytes="(\d+)">.*?<td data-seconds="([\d.e+-]+)">', page)
    ]


class Figures(PageTest):
    def test_the_verdict_and_the_table(self):
        found = [
            finding(size=6 << 20, kernels=("multiply", "advance")),
            finding("round trip", size=5 << 20, site="b.cpp:7", destination_had_changed=tally(1 << 20)),
            finding("fresh", "x", size=1 << 20),
            finding("unused", "y", size=2 << 20),
        ]
        page = self.make(self.put("a.json", advisor_report(found, copied=12 << 20, labels={"values": 7 << 20, "x": 2 << 20, "y": 3 << 20})))
        text = text_of(page)
        self.assertIn(
            "deep_copy moved 12.0 MiB. The destination had 6.00 MiB of it already (50 %); 100 % of that is values, "
            "copied at solve.cpp:42 in solve. 3.00 MiB more are possible.",
            text,
        )
        for key, size, times in (("copies", 12 << 20, 9), ("certain", 6 << 20, 4), ("possible", 3 << 20, 8)):
            self.assertIn(f'data-advisor="{key}" data-bytes="{size}" data-count="{times}"', page)
        self.assertEqual(
            rows(page), [(str(6 << 20), 6 << 20, 0.25), ("", 5 << 20, 0.25), (str(2 << 20), 2 << 20, 0.25), (str(1 << 20), 1 << 20, 0.25)]
        )
        for part in (
            "certain the destination had it",
            "came back unchanged",
            "1.00 MiB of it restored",
            "possible overwritten or freed unused",
            "multiply, advance",
            "4 of 5",
        ):
            self.assertIn(part, text)
        bars = {row["name"]: (row["certain"], row["possible"], row["needed"]) for row in data_of(page)["advisor"]}
        self.assertEqual(bars, {"values": (6 << 20, 0, 1 << 20), "y": (0, 2 << 20, 1 << 20), "x": (0, 1 << 20, 1 << 20)})

    def test_nothing_of_semcaches_is_claimed(self):
        text = text_of(self.make(self.put("a.json", advisor_report([finding()]))))
        for word in ("avoided", "preserved", "host faults", "protocol", "Call sites"):
            self.assertNotIn(word, text)
        self.assertIn("stock Kokkos with the advisor", text)

    def test_no_finding(self):
        text = text_of(self.make(self.put("a.json", advisor_report([]))))
        self.assertIn("deep_copy moved 9.77 KiB. None of it is known to have been there already.", text)
        self.assertIn("No copy was found", text)
        self.assertIn("No copy between views was made", text_of(self.make(self.put("a.json", advisor_report([], copied=0, labels={})))))

    def test_a_build_for_the_host(self):
        shared = {**tally(4 << 20, 8), "unchanged": tally(1 << 20, 2)}
        page = self.make(self.put("a.json", advisor_report([finding("shared", size=1 << 20)], copied=0, labels={}, onto_itself=shared)))
        self.assertIn("On a GPU it would move about 4.00 MiB, 1.00 MiB of it (25 %) without a change since the copy before.", text_of(page))
        self.assertIn('data-advisor="onto_itself" data-bytes="4194304" data-count="8"', page)
        self.assertIn('data-advisor="possible" data-bytes="0"', page)
        self.assertEqual(rows(page), [("", 1 << 20, 0.25)])

    def test_ranks_are_added(self):
        files = [self.put(f"{r}.json", advisor_report([finding(size=100 + r), finding(size=7, site=f"only {r}")], rank=r)) for r in range(3)]
        page = self.make(*files)
        self.assertEqual(rows(page), [("303", 303, 0.75)] + [("7", 7, 0.25)] * 3)
        self.assertIn('data-advisor="certain" data-bytes="324" data-count="24"', page)
        self.assertEqual([int(n) for n in re.findall(r'<td data-bytes="(\d+)">', page.split('id="advised-table"')[1])], [107, 108, 109])

    def test_beside_a_report_of_semcache(self):
        page = self.make(self.put("a.json", advisor_report([finding()])), self.put("r.json", report()))
        self.assertIn('data-total="h2d" data-bytes="1000"', page)
        self.assertIn('data-advisor="copies" data-bytes="10000"', page)
        self.assertIn("1,000 B moved", text_of(page))

    def test_what_a_reader_must_know_of_the_run(self):
        one = advisor_report([finding()], finalized=False, not_examined=tally(2048, 3), histories_dropped=1)
        text = text_of(self.make(self.put("a.json", one)))
        for part in (
            "of which 2.00 KiB could not be examined",
            "1 of 1 processes ended without Kokkos::finalize",
            "2.00 KiB in 3 copies",
            "may have been missed",
        ):
            self.assertIn(part, text)

    def test_the_line_of_a_source(self):
        os.mkdir(self.path("src"))
        self.put("src/solve.cpp", "\n" * 41 + "  deep_copy(x, <y>);\n")
        self.assertIn("deep_copy(x, <y>);", text_of(self.make(self.put("a.json", advisor_report([finding()])), "--source", self.path("src"))))


class Attacks(PageTest):
    def test_a_rank_is_missing(self):
        files = [self.put(f"{r}.json", advisor_report([finding()], rank=r)) for r in (0, 1, 3)]
        self.make(*files, status=1, said="rank 2 of at least 4 missing")

    def test_a_report_that_is_cut_off_at_any_place(self):
        whole, good = json.dumps(advisor_report([finding(), finding("fresh", "x")], rank=1)), self.put("good.json", advisor_report([finding()]))
        for length in random.Random(2).sample(range(1, len(whole) - 1), 12):
            page = self.make(good, self.put("cut.json", whole[:length]), status=1, said="cut.json: ")
            self.assertIn('data-advisor="certain" data-bytes="1000"', page)

    def test_reports_that_are_broken(self):
        good = self.put("good.json", advisor_report([finding()]))
        broken = advisor_report([finding()], rank=1)
        for value in (7, None, [], {"findings": 7}, {"findings": [7]}):
            self.make(good, self.put("b.json", {**broken, "advisor": value}), status=1, said='"advisor" holds no findings')
        self.refuse(self.path("b.json"), said='"advisor" holds no findings')
        self.make(good, self.put("again.json", advisor_report([])), status=1, said="there is another report")
        odd = finding(size=5, of=0) | {
            "bytes": "many",
            "seconds": float("nan"),
            "of": 3,
            "kernels_between": 7,
            "call_site": None,
            "what": ["x"],
            "to": {},
        }
        page = self.make(self.put("odd.json", advisor_report([finding(size=5)], saves=3) | {"rank": 0} | {"advisor": {"findings": [odd]}}))
        self.assertEqual(rows(page), [("0", 0, 0.0)])

    def test_names_are_shown_and_never_run(self):
        found = finding(to=HOSTILE, site=HOSTILE + ":7 in f", kernels=[HOSTILE] * 5 + [HOSTILE + "2"], what="redundant")
        page = self.make(
            self.put("a.json", advisor_report([found, {**found, "what": HOSTILE}], host=HOSTILE, labels={HOSTILE: 10_000})), "--title", HOSTILE
        )
        self.assertEqual(len(re.findall("<script", page)), page.count('<script type="application/json"') + 3)
        self.assertNotIn("<b>", page)
        self.assertEqual(data_of(page)["advisor"][0]["name"], HOSTILE)
        self.assertIn("{{7*7}}", text_of(page))

    def test_a_thousand_ranks_with_many_findings(self):
        found = [finding(size=10 + i, site=f"solve.cpp:{i} in solve", to=f"array {i}") for i in range(100)]
        files = [self.put(f"{r}.json", advisor_report(found, rank=r, host=f"node{r // 8}")) for r in range(1000)]
        page = self.make(*files)
        self.assertIn(f'data-advisor="certain" data-bytes="{1000 * sum(f["bytes"] for f in found)}"', page)
        self.assertEqual(rows(page)[0][1], 109_000)
        self.assertLess(len(page), 2 << 20)

    def test_more_findings_than_the_page_shows(self):
        found = [finding(size=1 + i, site=f"{i}") for i in range(65_536)]
        page = self.make(self.put("a.json", advisor_report(found)))
        self.assertEqual(len(rows(page)), 200)
        self.assertIn("65,336 more findings", text_of(page))
        self.assertLess(len(page), 2 << 20)


if __name__ == "__main__":
    unittest.main()
