#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""A program of very many launches: its timeline takes bounded memory, and the page says what is not in it.

SEMCACHE_TEST_EVENTS has the number of launches (600000). docs/measurements/2026-11-30-ten-million-events.md has what ten million take."""
import json
import os
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from samples import PageTest, text_of

LAUNCHES = int(os.environ.get("SEMCACHE_TEST_EVENTS", 600_000))
KEPT = 262_144  # the default of SEMCACHE_TRACE_SPANS
MIB = 1 << 10  # in KiB, as the system tells the memory of a process


class ManyEvents(PageTest):
    def measure(self, what, command, **environment):
        """Runs a command. Returns its exit status, its most memory in KiB, and what it printed; tells its time."""
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
        output = child.stdout.read()
        child.stdout.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        print(f"{what}: {time.monotonic() - begin:.1f} s ({usage.ru_utime + usage.ru_stime:.1f} s of a processor), {usage.ru_maxrss // MIB} MiB")
        return child.returncode, usage.ru_maxrss, output

    def program(self, launches, **environment):
        what = f"program of {launches:,} launches, {environment or 'no timeline'}"
        status, memory, output = self.measure(what, [os.environ["MANY_EVENTS"], str(launches)], **environment)
        self.assertEqual(status, 0, output)
        return memory, output

    def test_memory_is_bounded_and_the_page_says_what_was_dropped(self):
        timeline, report = self.path("t.json"), self.path("r.json")
        memory_of_less, _ = self.program(KEPT + 10_000, SEMCACHE_TRACE=timeline)
        _, without = self.program(LAUNCHES)
        memory, with_it = self.program(LAUNCHES, SEMCACHE_TRACE=timeline, SEMCACHE_REPORT=report)
        self.assertEqual(with_it, without, "the program printed something else")
        self.assertLess(memory, memory_of_less + 32 * MIB)

        # Before this process becomes large: what a command takes is counted from what its parent had when it started it.
        status, memory, said = self.measure("semcache-report", [os.environ["SEMCACHE_REPORT_COMMAND"], timeline, report, "-o", self.page])
        self.assertEqual(status, 1, said)
        self.assertLess(memory, 200 * MIB)

        with open(timeline, encoding="utf-8") as file:
            content = json.load(file)
        with open(report, encoding="utf-8") as file:
            total = json.load(file)["total"]
        kept = {}
        for event in content["traceEvents"]:
            if event["ph"] == "X":
                kept[event["cat"]] = kept.get(event["cat"], 0) + 1
        kept["launch"] //= 2  # drawn on its thread, and on its device
        self.assertEqual(sum(kept.values()), KEPT)
        dropped = content["otherData"]["dropped"]
        copies = total["h2d"]["count"] + total["d2h"]["count"]
        self.assertEqual(total["launches"], LAUNCHES)
        self.assertEqual(kept["launch"] + dropped["launch"], LAUNCHES)
        self.assertEqual(kept["fault"] + dropped["fault"], total["host_faults"])
        self.assertEqual(kept["copy"] + dropped["copy"], copies)

        with open(self.page, encoding="utf-8") as file:
            page = file.read()
        print(f"timeline {os.path.getsize(timeline):,} bytes, page {len(page.encode()):,} bytes")
        self.assertLess(len(page), 10 << 20)
        for text in (said, text_of(page)):
            self.assertIn("the program kept no more spans than SEMCACHE_TRACE_SPANS allows; not in this timeline: ", text)
            for kind in ("launch", "fault", "copy"):
                self.assertRegex(text, rf"\b{dropped[kind]:,} of {kind}\b")
        # The timeline has not all copies, so the page takes their bytes from the report.
        self.assertEqual(int(re.search(r'data-total="h2d" data-bytes="(\d+)"', page)[1]), total["h2d"]["bytes"])


if __name__ == "__main__":
    unittest.main()
