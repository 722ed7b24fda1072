# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""How run_upstream.py reads programs and the list, and what it calls a difference."""

import os
import stat
import sys
import tempfile
import unittest

import run_upstream as upstream
from run_upstream import COMPILE, CRASHED, END, FAILED, HANGS, MISSING, PASSED, SKIPPED, UNCOMPILED

# A program as GoogleTest makes them, which does what its tests are called.
PROGRAM = f"""#!{sys.executable}
import os, sys, time
skip = sys.argv[-1].split("*-")[1].split(":")
print("[==========] Running 5 tests", flush=True)
for test in ["s.good", "s.bad", "s.skipped", "s.crash", "s.hang", "s.last"]:
    if test in skip:
        continue
    print(f"[ RUN      ] {{test}}\\nsome output", end="", flush=True)
    if test == "s.crash":
        os.abort()
    if test == "s.hang":
        time.sleep(1000)
    word = {{"s.bad": "  FAILED  ", "s.skipped": "  SKIPPED "}}.get(test, "       OK ")
    print(f"[{{word}}] {{test}} (0 ms)", flush=True)
print("[----------] Global test environment tear-down\\n[  FAILED  ] s.bad")
sys.exit(int(os.environ.get("FAKE_END", "1")))
"""


def make_program(test, text):
    """A file that runs as a program, until the test ends."""
    with tempfile.NamedTemporaryFile("w", delete=False) as program:
        program.write(text)
    os.chmod(program.name, stat.S_IRWXU)
    test.addCleanup(os.remove, program.name)
    return program.name


class Running(unittest.TestCase):
    def setUp(self):
        self.program = make_program(self, PROGRAM)

    def test_every_test_has_an_outcome_after_crashes_and_hangs(self):
        outcomes, _ = upstream.run_program(self.program, {}, timeout=3)
        self.assertEqual(
            outcomes,
            {
                COMPILE: PASSED, "s.good": PASSED, "s.bad": FAILED, "s.skipped": SKIPPED, "s.crash": CRASHED, "s.hang": HANGS,
                "s.last": PASSED, END: CRASHED,
            },
        )

    def test_a_clean_end_is_one(self):
        outcomes, _ = upstream.run_program(self.program, {"FAKE_END": "0"}, timeout=3)
        self.assertEqual(outcomes[END], PASSED)


# One of its tests needs more than 1M, one more than there is, one fails with the smallest budget alone, but not for want of it.
BUDGET_PROGRAM = f"""#!{sys.executable}
import os, sys
skip = sys.argv[-1].split("*-")[1].split(":")
budget = os.environ["SEMCACHE_DEVICE_MEMORY"]
failed = False
for test, wrong, message in [
    ("s.small", False, ""),
    ("s.big", budget == "1M", "budget of 1048576 bytes (SEMCACHE_DEVICE_MEMORY)"),
    ("s.wrong", budget == "1M", "42 is not 43"),
    ("s.huge", True, "budget (SEMCACHE_DEVICE_MEMORY)"),
]:
    if test not in skip:
        word = "  FAILED  " if wrong else "       OK "
        print(f"[ RUN      ] {{test}}", message, f"[{{word}}] {{test}}", sep=chr(10), flush=True)
        failed = failed or wrong
print("budgets:", budget)
sys.exit(failed)
"""


class Budgets(unittest.TestCase):
    def test_a_test_gets_the_next_budget_only_if_it_says_that_the_last_one_is_too_small(self):
        program = make_program(self, BUDGET_PROGRAM)
        outcomes, output = upstream.run_mode(program, upstream.MODES["budget"], timeout=30)
        self.assertEqual(
            outcomes,
            {COMPILE: PASSED, "s.small": PASSED, "s.big": PASSED, "s.wrong": FAILED, "s.huge": FAILED, END: PASSED},
        )
        runs = {test: output.count(f"[ RUN      ] {test}") for test in outcomes}
        self.assertEqual((runs["s.small"], runs["s.big"], runs["s.wrong"], runs["s.huge"]), (1, 2, 1, 4))
        self.assertIn("budgets: 8G", output)


class Differences(unittest.TestCase):
    def test_what_passes_here_is_right(self):
        for native in (PASSED, FAILED, SKIPPED, None):
            self.assertFalse(upstream.differs(PASSED, native))

    def test_what_fails_here_alone_differs(self):
        for outcome in (FAILED, CRASHED, HANGS, UNCOMPILED, MISSING, SKIPPED):
            self.assertTrue(upstream.differs(outcome, PASSED), outcome)
        self.assertTrue(upstream.differs(FAILED, SKIPPED))

    def test_what_fails_or_is_skipped_on_both_does_not(self):
        self.assertFalse(upstream.differs(FAILED, CRASHED))
        self.assertFalse(upstream.differs(UNCOMPILED, UNCOMPILED))
        self.assertFalse(upstream.differs(SKIPPED, SKIPPED))

    def compare(self, here, native, entries=(), version="4.6.1"):
        return upstream.compare({"off": {"P": here}}, {"P": native}, entries, version)

    def test_an_unlisted_difference_is_reported(self):
        unlisted, obsolete, too = self.compare({COMPILE: PASSED, "t": FAILED}, {COMPILE: PASSED, "t": PASSED})
        self.assertEqual((unlisted, obsolete, too), ([("off", "P/t", FAILED)], [], []))

    def test_a_test_that_only_the_native_space_has_is_missing(self):
        unlisted, _, _ = self.compare({COMPILE: PASSED}, {COMPILE: PASSED, "t": PASSED})
        self.assertEqual(unlisted, [("off", "P/t", MISSING)])

    def test_a_program_that_does_not_compile_is_one_difference(self):
        unlisted, _, _ = self.compare({COMPILE: UNCOMPILED}, {COMPILE: PASSED, "t": PASSED})
        self.assertEqual(unlisted, [("off", f"P/{COMPILE}", UNCOMPILED)])

    def test_a_listed_difference_is_not_reported_where_it_is_listed(self):
        entry = upstream.Entry("P/t", ["4.6"], ["off"], "graph", 1)
        here, native = {COMPILE: PASSED, "t": FAILED}, {COMPILE: PASSED, "t": PASSED}
        self.assertEqual(self.compare(here, native, [entry]), ([], [], []))
        self.assertEqual(len(self.compare(here, native, [entry], "4.7.0")[0]), 1)
        self.assertEqual(len(self.compare(here, native, [entry._replace(modes=["check"])])[0]), 1)

    def test_a_version_may_say_where_the_tests_run(self):
        here, native = {COMPILE: PASSED, "t": FAILED}, {COMPILE: PASSED, "t": PASSED}
        for wanted, on_host, on_cuda in [("4.6.1", 0, 0), ("4.6.1.host", 0, 1), ("4.6.1.cuda", 1, 0)]:
            entry = upstream.Entry("P/t", [wanted], ["all"], "graph", 1)
            self.assertEqual(len(self.compare(here, native, [entry], "4.6.1.host")[0]), on_host)
            self.assertEqual(len(self.compare(here, native, [entry], "4.6.1.cuda")[0]), on_cuda)

    def test_a_listed_test_that_passes_is_reported(self):
        entry = upstream.Entry("P/t", ["all"], ["all"], "graph", 1)
        self.assertEqual(self.compare({COMPILE: PASSED, "t": PASSED}, {}, [entry])[1], [(entry, "off")])

    def test_what_fails_on_both_needs_no_list(self):
        self.assertEqual(self.compare({COMPILE: PASSED, "t": FAILED}, {COMPILE: PASSED, "t": FAILED}), ([], [], ["P/t"]))


class List(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile("w", delete=False) as table:
            table.write(text)
        self.addCleanup(os.remove, table.name)
        return upstream.read_expected(table.name)

    def test_rows_are_entries_and_the_rest_is_text(self):
        entries = self.read("Text.\n| test | Kokkos |\n| --- | --- |\n| `P/t` | 3.4, 4.6 | off check | graph | Text. |\n")
        self.assertEqual(entries, [upstream.Entry("P/t", ["3.4", "4.6"], ["off", "check"], "graph", 4)])

    def test_other_reasons_are_refused(self):
        with self.assertRaises(SystemExit):
            self.read("| `P/t` | all | all | inconvenient |\n")


if __name__ == "__main__":
    unittest.main()
