#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""test_check_measurements.py SOURCE: does check_measurements.py notice what departs from the form, and pages that say something else?"""
import copy
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
root = Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".")
sys.path.insert(0, str(root / "docs"))
from check_measurements import check_bounds, check_list, check_pictures, check_prose, check_records, check_records_without_file, check_table
from measured.measurements import Figure, Measurements, figure_of, of_rounds, read, wrong_with
from measured.pictures import Table

NAME = "2026-11-29-a"
CONTENT = {
    "record": "r.md", "date": "2026-11-29", "hardware": "a machine",
    "measurements": {"m": {
        "what": "time", "unit": "s", "commits": ["0123abc"], "commands": ["run"], "no_rounds": "They were not kept.",
        "variants": {"a": {"name": "A"}, "b": {"name": "B", "commits": [], "date": "2026-11-28"}}, "cases": {"c": "case c", "d": "case d"},
        "figures": {"c": {"a": {"rounds": [3.0, 1.0, 2.0, 4.0]}, "b": {"rounds": [2.0, 2.0, 2.0, 2.0]}},
                    "d": {"a": {"median": 1.25, "quartiles": [1.2, 1.5], "of": 11}}}}}}


def folder_with(record="1.25 [1.2, 1.5] in 11 rounds", content=CONTENT):
    """Makes a folder of measurements, and returns it with what it holds."""
    folder = tempfile.TemporaryDirectory()
    Path(folder.name, "r.md").write_text(record)
    measured = Measurements(folder.name)
    measured.files = {NAME: content}
    return folder, measured


class Form(unittest.TestCase):
    def check(self, expected, change, name=NAME):
        content = copy.deepcopy(CONTENT)
        change(content, content["measurements"]["m"])
        folder, _ = folder_with()
        with folder:
            wrong = wrong_with(name, content, folder.name)
        self.assertEqual(len(wrong), 1 if expected else 0, wrong)
        self.assertIn(expected, "".join(wrong))

    def test_as_it_is(self):
        self.check("", lambda c, m: None)

    def test_keys(self):
        for key in ("record", "date", "hardware"):
            self.check(f"no '{key}'", lambda c, m: c.pop(key))
        for key in ("what", "unit", "commits", "commands", "variants", "cases", "figures"):
            self.check(f"no '{key}'", lambda c, m: m.pop(key))
        self.check("unknown key 'more'", lambda c, m: m.update(more=1))
        self.check("no 'what'", lambda c, m: m.update(what=""))
        self.check("no 'name'", lambda c, m: m["variants"]["a"].pop("name"))

    def test_values_of_keys(self):
        self.check("unit 'sec'", lambda c, m: m.update(unit="sec"))
        self.check("no list of commits", lambda c, m: m.update(commits=["main"]))
        self.check("m / b has no date", lambda c, m: m["variants"]["b"].update(date="yesterday"))
        self.check("record 's.md'", lambda c, m: c.update(record="s.md"))
        self.check("does not begin with its date", lambda c, m: None, name="2026-11-28-a")

    def test_rounds_are_numbers(self):
        for rounds in ([], ["1.0"], [True], 1.0, [1.0, None]):
            self.check("no list of numbers", lambda c, m: m["figures"]["c"]["a"].update(rounds=rounds))

    def test_summaries(self):
        entry = lambda m: m["figures"]["d"]["a"]
        self.check("neither rounds", lambda c, m: m["figures"]["d"].update(a={"of": 11}))
        self.check("quartiles of [1.5, 1.2]", lambda c, m: entry(m).update(quartiles=[1.5, 1.2]))
        self.check("range of [1.2]", lambda c, m: entry(m).update(range=[1.2]))
        self.check("median 1.6 outside", lambda c, m: entry(m).update(median=1.6))
        self.check("'of' that is no number", lambda c, m: entry(m).update(of="some"))
        self.check("rounds, and 'median' besides", lambda c, m: m["figures"]["c"]["a"].update(median=2.0))

    def test_who_has_no_rounds_says_why(self):
        self.check("must say in 'no_rounds'", lambda c, m: m.pop("no_rounds"))
        self.check("out of place", lambda c, m: m["figures"]["d"].update(a={"rounds": [1.0]}))

    def test_names_fit(self):
        self.check("no words in 'cases'", lambda c, m: m["cases"].pop("d"))
        self.check("no figure of the case 'e'", lambda c, m: m["cases"].update(e="case e"))
        self.check("is no variant", lambda c, m: m["figures"]["d"].update(x={"rounds": [1.0]}))
        self.check("no figure of the variant 'x'", lambda c, m: m["variants"].update(x={"name": "X"}))

    def test_no_key_twice(self):
        self.assertRaisesRegex(ValueError, "twice: a", read, '{"a": 1, "b": 2, "a": 3}')


class Figures(unittest.TestCase):
    def test_rounds(self):
        self.assertEqual(of_rounds([3, 1, 2, 4]), Figure(2.5, quartiles=(2, 4)))
        self.assertEqual(of_rounds([3, 1]), Figure(2, range=(1, 3)))
        self.assertEqual(of_rounds([3]), Figure(3))

    def test_as_text(self):
        for entry, text in (({"median": 2.1, "quartiles": [2.08, 2.13]}, "2.10 [2.08, 2.13]"), ({"median": 9.0}, "9.0"),
                            ({"range": [1, 1.05]}, "1.00 to 1.05"), ({"rounds": [2.07, 1.83]}, "1.95 (1.83 to 2.07)"), ({"rounds": [1 / 3]}, "0.333")):
            self.assertEqual(str(figure_of(entry)), text)

    def test_over_divides_rounds_of_the_same_turn(self):
        folder, measured = folder_with()
        with folder:
            self.assertEqual(measured.over(NAME, "m", "c", "a", "b"), Figure(1.25, quartiles=(1.0, 2.0)))

    def test_what_is_missing_is_named(self):
        folder, measured = folder_with()
        with folder:
            self.assertRaisesRegex(KeyError, "2026-11-29-a.json has no 'm / figures / c / x': 'x' is missing. There are: a, b",
                                   measured.figure, NAME, "m", "c", "x")
            self.assertRaisesRegex(KeyError, "'rounds' is missing", measured.over, NAME, "m", "d", "a", "a")


class Pages(unittest.TestCase):
    def check(self, expected, check, *arguments, record="1.25 [1.2, 1.5] in 11 rounds"):
        folder, measured = folder_with(record)
        with folder:
            wrong = check(measured, *[Path(folder.name) if a is Path else a for a in arguments])
        self.assertEqual(len(wrong), 1 if expected else 0, wrong)
        self.assertIn(expected, "".join(wrong))

    def test_records(self):
        self.check("", check_records, Path)
        self.check("", check_records, Path, record="1.250 [1.20, 1.50], eleven rounds")
        self.check("1.25 does not stand in r.md", check_records, Path, record="1.26 [1.2, 1.5] in 11 rounds")
        self.check("11 does not stand in r.md", check_records, Path, record="1.25 [1.2, 1.5], 111 rounds")

    def test_records_without_a_file(self):
        folder, measured = folder_with()
        with folder:
            for name in ("2026-11-20-old.md", "2026-11-29-r.md", "bounds.md"):
                Path(folder.name, name).write_text("a page")
            measured.files[NAME] = {**CONTENT, "record": "2026-11-29-r.md"}
            begin = "# M\n\n## Records without a JSON file\n\n"
            old, other = "- [old](2026-11-20-old.md) has medians.\n", "- [r](2026-11-29-r.md) has medians.\n"
            check = lambda page: check_records_without_file(measured, Path(folder.name), page)
            self.assertEqual(check(begin + old + "\n## Next\n"), [])
            self.assertIn("does not say why 2026-11-20-old.md", "".join(check(begin + "\n## Next\n\n" + old)))
            self.assertIn("says that 2026-11-29-r.md has no JSON file", "".join(check(begin + old + other)))

    def test_list(self):
        self.check("", check_list, Path, f"- [JSON]({NAME}.json)")
        self.check("does not link", check_list, Path, "- nothing")
        self.check("which does not exist", check_list, Path, f"- [JSON]({NAME}.json), [JSON](b.json)")

    def test_pictures(self):
        found = lambda measured: Table([], [measured.figure(NAME, "m", "c", "a")])
        lost = lambda measured: Table([], [measured.figure(NAME, "m", "x", "a")])
        self.check("", check_pictures, {"plot": {"p": found}}, "```{plot} p\n```")
        self.check("'x' is missing", check_pictures, {"plot": {"p": lost}}, "```{plot} p\n```")
        self.check("no rows", check_pictures, {"plot": {"p": lambda measured: Table([], [])}}, "```{plot} p\n```")
        self.check("no page has a plot of 'p'", check_pictures, {"plot": {"p": found}}, "")
        self.check("a page has a plot of 'q'", check_pictures, {"plot": {}}, "```{plot} q\n```")

    def test_table(self):
        table = Table([], [["8 rows, 1 GPU", Figure(0.993), Figure(2.1)], ["9 rows, 4 GPUs", Figure(1.0), None]])
        row = "| 8 rows, 1 GPU | 1 | {} | {} |"
        self.assertEqual(check_table(table, row.format("0.993", "2.1")), [])
        self.assertEqual(check_table(table, row.format("0.99", "2.10")), [])
        self.assertEqual(len(check_table(table, row.format("0.992", "2.2"))), 2)
        self.assertEqual(len(check_table(table, "| 9 rows, 4 GPUs | 1 | 1.0 | 3.0 |")), 1)
        self.assertEqual(len(check_table(table, "| 7 rows, 4 GPUs | 1 | 1.0 | 3.0 |")), 2)
        self.assertEqual(len(check_table(table, "no table")), 1)

    def test_prose(self):
        link = f"([figures](../measurements/{NAME}.json))"
        for text in (f"- 1.25 times on 2 GPUs {link}", f"- 1.2 to 1.5, of 7 {link}", f"- a median of 2.5 us, 2.00 over b {link}", "- 7.7 without a link",
                     f"- `7.7` {link}", f"```{{plot}} p\n:alt: 7.7\n```\n\n- {link}"):
            self.check("", check_prose, text)
        self.check("1.26 is no figure", check_prose, f"- 1.26 times\n  {link}\n- 9.9")
        self.check("7 is no figure", check_prose, f"- 7 us on 2 GPUs {link}")

    def test_bounds(self):
        page = "| speed of 2 | at most 9 | {} | [2026-11-29][r] |\n\n[r]: r.md\n"
        self.check("", check_bounds, page.format("**1.25** [1.20, 1.5]; 2.50"), Path)
        self.check("1.26 of 'speed of 2'", check_bounds, page.format("1.26"), Path)


if __name__ == "__main__":
    unittest.main()
