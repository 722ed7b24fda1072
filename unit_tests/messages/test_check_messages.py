#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Does check_messages.py see messages however they are written, and notice what the page lacks, and what it has too much?"""
import sys
import unittest

sys.dont_write_bytecode = True
from check_messages import Source, differences

SOURCE = """
#include <string>
void f(int n) {  // throw UsageError("in a comment")
  SEMCACHE_EXPECTS(n < g(1, 2), "the number " + std::to_string(n) + " is too large: it "
                                "may be 2");
}
"""
PAGE = """
## UsageError
- `the number <number> is too large:
  it may be 2`<br>
  Text.
"""


def texts(source):
    return [text.replace("\0", "*") for _, _, text in Source(source).messages]


class Extraction(unittest.TestCase):
    def check(self, source, *expected):
        self.assertEqual(texts(source), list(expected))

    def test_literals_and_what_varies(self):
        self.check(SOURCE, "the number * is too large: it may be 2")

    def test_wrapping_makes_no_difference(self):
        self.check(SOURCE.replace("(", "(\n").replace(" + ", "\n+ ").replace('too large', 'too "\n   "large'),
                   "the number * is too large: it may be 2")

    def test_choices_are_all_seen(self):
        self.check('throw DeviceError(std::string(a ? "one" : "two") + (b ? " more" : std::string()));', "one more", "one", "two more", "two")

    def test_formats_get_their_arguments(self):
        self.check('base::fatal("%zu of \'%s\' is 5%%%s", n, label, e == 1 ? ": why" : "");', "* of '*' is 5%: why", "* of '*' is 5%")

    def test_local_strings_are_followed(self):
        self.check('void f() { const std::string who = "it " + x; throw SystemError(who + " is gone"); }', "it * is gone")
        self.check('void g() { const std::string who = "it"; } void f(const std::string& x) { const std::string who = x; throw SystemError(who + " is gone"); }',
                   "* is gone")

    def test_helpers(self):
        self.check('std::string why_not_adoptable() const { if (a) return "on a stack"; return {}; }', "on a stack")
        self.check('api.failure = "no driver";', "no driver")
        self.check('refuse(variable, text, "too " + large);', "too *")
        self.check('return {1, "SemCache: not supported"};', "SemCache: not supported")

    def test_only_passed_on(self):
        self.check('try { throw; } catch (const std::exception& e) { throw UsageError(e.what()); }')


class Comparison(unittest.TestCase):
    def check(self, page, *expected, source=SOURCE):
        wrong = differences({"f.cpp": source}, page)
        self.assertEqual(len(wrong), len(expected), wrong)
        for line, part in zip(wrong, expected):
            self.assertIn(part, line)

    def test_a_page_that_has_all(self):
        self.check(PAGE)

    def test_a_message_without_entry(self):
        self.check(PAGE, "f.cpp:7: no entry for 'made up'", source=SOURCE + 'void g() { base::raw_log("made up"); }\n')

    def test_an_entry_without_message(self):
        self.check(PAGE + "- `this is made up`<br>\n  Text.\n", "page:6: no message of this kind in the sources: 'this is made up'")

    def test_a_message_that_was_changed(self):
        self.check(PAGE, "f.cpp:4: no entry", "page:3: no message", source=SOURCE.replace("large", "great"))

    def test_an_entry_in_the_wrong_chapter(self):
        self.check(PAGE.replace("UsageError", "SystemError"), "f.cpp:4: no entry", "page:3: no message")

    def test_an_entry_that_says_too_little(self):
        self.check(PAGE.replace("is too large:\n  it may be 2", "..."), "f.cpp:4: no entry", "page:3: no message")

    def test_several_messages_of_an_entry(self):
        self.check(PAGE.replace("2`<br>", "2` or\n  `no more`<br>"), "page:3: no message of this kind in the sources: 'no more'")

    def test_the_order(self):
        entry = "- `a message in front`<br>\n  Text.\n"
        self.check(PAGE + entry, "page:6: not in the order", source=SOURCE + 'throw UsageError("a message in front");')


if __name__ == "__main__":
    unittest.main()
