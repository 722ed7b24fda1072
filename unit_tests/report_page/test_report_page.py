#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What the page says, and what the command does with files that are missing, broken or hostile."""
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from samples import COMMAND, PageTest, advice, copy, data_of, launch, report, text_of, timeline

HOSTILE = "</script><script>alert(1)</script>\"'<b>&amp;\n\u2028\u202e{{7*7}}"


class Figures(PageTest):
    def test_the_verdict(self):
        labels = {"values": {"h2d": 9 << 20}, "x": {"d2h": 1 << 20, "avoided": 40 << 30}}
        page = self.make(self.put("r.json", report(labels=labels, sites={"solve.cpp:42 in solve": {"h2d": 8 << 20}, "b.cpp:1": {"d2h": 2 << 20}})))
        self.assertIn("10.0 MiB moved, 90 % of it values, 80 % at solve.cpp:42 in solve; 40.0 GiB avoided.", text_of(page))

    def test_a_site_without_symbols_is_short(self):
        chain = " < ".join(f"solver+0x{n:x}" for n in range(1, 21))
        page = self.make(self.put("r.json", report(labels={"values": {"h2d": 9 << 20}}, sites={chain: {"h2d": 9 << 20}})))
        self.assertIn("100 % at solver+0x1 < ... (19 more); 0 B avoided.", text_of(page))
        self.assertIn("solver+0x3 < solver+0x4 < ... (16 more)", text_of(page))

    def test_nothing_moved(self):
        self.assertIn("No byte moved over a link; 0 B avoided.", text_of(self.make(self.put("r.json", report(labels={}, sites={})))))

    def test_ranks_are_added(self):
        files = [self.put(f"{r}.json", report(rank=r, labels={"values": {"h2d": 1000 + r}, f"mine {r}": {"d2h": 10}})) for r in range(3)]
        page = self.make(*files)
        self.assertIn('data-total="h2d" data-bytes="3003"', page)
        self.assertIn('data-total="d2h" data-bytes="30"', page)
        self.assertEqual([row["h2d"] for row in data_of(page)["ranks"]], [1000, 1001, 1002])

    def test_preserved_is_no_saving(self):
        page = self.make(
            self.put(
                "r.json",
                report(
                    labels={"a": {"saved_link": 5, "saved_device": 6, "saved_host": 7, "h2d": 5}},
                    **advice("preserved", "Content was preserved over the link before it was overwritten: a (5).", bytes=5),
                ),
            )
        )
        self.assertIn('data-total="preserved" data-bytes="18"', page)
        self.assertNotRegex(text_of(page), r"(?i)\bsaved\b")

    def test_iterations(self):
        events = [e for i in range(20) for e in (launch(10 * i, "a"), launch(10 * i + 3, "b"), copy(10 * i + 5, 100 + i))]
        time = data_of(self.make(self.put("r.json", report(labels={"values": {"h2d": 2190}})), self.put("t.json", timeline(events))))["time"]
        self.assertEqual((time["kind"], time["count"], time["series"]["h2d"]), ("iterations", 20, [100 + i for i in range(20)]))

    def test_launches_that_do_not_repeat_are_no_iterations(self):
        events = [launch(10 * i, f"kernel {i}") for i in range(30)] + [copy(250, 64, row=2)]
        time = data_of(self.make(self.put("r.json", report(labels={"values": {"h2d": 64}})), self.put("t.json", timeline(events))))["time"]
        self.assertEqual((time["kind"], sum(time["series"]["h2d"])), ("time", 64))
        self.assertGreater(time["series"]["h2d"].index(64), 60)

    def test_advice_has_its_bytes_and_no_invented_time(self):
        one = report(
            advice_items=[
                {"kind": "came back", "text": "Any wording.", "bytes": 60, "direction": "d2h", "condition": "if so"},
                {"kind": "new", "text": "Something new."},
            ]
        )
        text = text_of(self.make(self.put("r.json", one)))
        self.assertIn("Any wording.Would not move: 60 B (at most: if so); time: not known", text)
        self.assertIn("Something new.Would not move: not known", text)

    def test_advice_of_one_kind_is_added_over_ranks(self):
        for rank, size in enumerate((60, 140)):
            self.put(f"{rank}.json", report(rank=rank, **advice("came back", f"Text of {rank}.", bytes=size, direction="d2h")))
        page = self.make(self.path("0.json"), self.path("1.json"))
        self.assertIn('data-gain="200"', page)
        self.assertIn("Text of 1.", text_of(page))
        self.assertNotIn("Text of 0.", text_of(page))
        self.assertIn("Said by 2 of 2 processes", text_of(page))

    def test_a_report_from_before_structured_advice_shows_its_lines(self):
        one = report(advice=["Came back from a device: x (60)."])
        del one["advice_items"]
        self.assertIn("Came back from a device: x (60).Would not move: not known", text_of(self.make(self.put("r.json", one))))

    def test_time_at_a_stated_rate(self):
        one = report(
            labels={"x": {"h2d": 100, "d2h": 1000}},
            virtual_seconds=2.0,
            virtual_links=[{"name": "device 0 to host", "busy_seconds": 0.5}],
            **advice("came back", "Came back.", bytes=1000, direction="d2h"),
        )
        self.assertIn("500 ms of link time at 1.95 KiB/s", text_of(self.make(self.put("r.json", one))))

    def test_copies_without_the_times_of_a_gpu_say_nothing_of_the_link(self):
        one = report(**advice("redundant", "copy less", bytes=1024, direction="h2d"))
        timed = [copy(1000 * i, 1536) for i in range(20)]  # 1.5 us each: 976.56 MiB/s
        untimed = [copy(1000 * i + 500, 10**9) for i in range(20)]
        for event in untimed:
            event["args"]["times"] = "submitted"
        page = self.make(self.put("r.json", one), self.put("t.json", timeline(timed + untimed, device_kind="cuda")))
        self.assertIn("at 976.6 MiB/s", text_of(page))
        self.assertIn("20 copies are drawn when they were submitted", text_of(page))

    def test_the_line_of_a_source(self):
        os.mkdir(self.path("src"))
        self.put("src/solve.cpp", "\n" * 41 + "  deep_copy(x, <y>);\n")
        self.assertIn("deep_copy(x, <y>);", text_of(self.make(self.put("r.json", report()), "--source", self.path("src"))))

    def test_two_files_of_one_name_are_not_guessed(self):
        for folder in ("a", "b"):
            os.mkdir(self.path(folder))
            self.put(folder + "/solve.cpp", "\n" * 41 + folder + " was guessed\n")
        text = text_of(self.make(self.put("r.json", report()), "--source", self.folder))
        self.assertIn("there are 2 files of this name", text)
        self.assertNotIn("was guessed", text)


class Missing(PageTest):
    def test_a_rank(self):
        files = [self.put(f"{r}.json", report(rank=r)) for r in (0, 1, 2, 4, 7)]
        self.assertIn("ranks 3, 5, 6 of at least 8 missing", text_of(self.make(*files, status=1, said="ranks 3, 5, 6 of at least 8 missing")))

    def test_a_report_that_is_cut_off_at_any_place(self):
        import json

        whole, good = json.dumps(report(rank=1)), self.put("good.json", report())
        for length in random.Random(1).sample(range(1, len(whole) - 1), 12):
            page = self.make(good, self.put("cut.json", whole[:length]), status=1, said="cut.json: ")
            self.assertIn('data-total="h2d" data-bytes="1000"', page)

    def test_a_timeline_that_is_cut_off(self):
        import json

        whole = json.dumps(timeline([copy(i, 10) for i in range(100)]))
        page = self.make(
            self.put("r.json", report(labels={"values": {"h2d": 1000}})),
            self.put("t.json", whole[: len(whole) * 3 // 4]),
            status=1,
            said="t.json: this timeline is cut off behind",
        )
        self.assertGreater(sum(data_of(page)["time"]["series"]["h2d"]), 500)

    def test_files_of_no_use(self):
        good, folder = self.put("good.json", report()), self.path("folder")
        os.mkdir(folder)
        for name, content, said in (
            ("empty", "", "it is empty"),
            ("text", "SemCache report\n", "it is no JSON"),
            ("list", "[1]", "it is no JSON"),
            ("other", "{}", "neither a report"),
            ("next", {**report(rank=1), "schema_version": 2}, "its schema_version is 2, and this semcache-report reads 1"),
            ("nexttime", timeline([], semcache_timeline=2), "its semcache_timeline is 2"),
            ("foreign", {"traceEvents": []}, "not written by SemCache"),
            ("broken", {**report(rank=1), "labels": 7}, '"labels" is no list'),
            ("advice", {**report(rank=1), "advice_items": ["text"]}, '"advice_items" is no list'),
            ("again", report(), "there is another report"),
        ):
            self.assertIn(said, text_of(self.make(good, self.put(name, content), status=1, said=said)))
            if name != "again":
                self.refuse(self.path(name), said=said)
        self.make(good, folder, status=1, said="it is a folder; name the files in it")
        self.make(good, self.path("none.json"), status=1, said="none.json: it cannot be read: No such file")

    def test_no_events(self):
        self.assertIn("0 events are drawn", text_of(self.make(self.put("r.json", report(labels={}, sites={})), self.put("t.json", timeline([])))))

    def test_values_of_a_wrong_kind_are_no_figures(self):
        one = report()
        one["total"]["h2d"] = {"bytes": "many"}
        one["total"]["launches"] = float("inf")
        one["labels"][0]["h2d"] = None
        self.assertIn('data-total="h2d" data-bytes="0"', self.make(self.put("r.json", one)))

    def test_events_without_time(self):
        bad = [
            {"ph": "X", "tid": 1, "name": "a"},
            {"ph": "X", "tid": 1, "name": "a", "ts": -5, "dur": 1},
            {"ph": "X", "tid": 1, "name": "a", "ts": 1, "dur": float("nan")},
            7,
        ]
        self.make(
            self.put("t.json", timeline([copy(1, 10)] + bad)),
            self.put("r.json", report(labels={"values": {"h2d": 10}})),
            status=1,
            said="4 events have no time",
        )

    def test_clocks_that_differ(self):
        files = [
            self.put("0.json", timeline([copy(1, 10)], host="a")),
            self.put("1.json", timeline([copy(1, 10)], rank=1, host="b", begin_unix_ns=1795920790000000000 - 10**13)),
        ]
        reports = [self.put(f"r{r}.json", report(rank=r, host=h, labels={"values": {"h2d": 10}})) for r, h in ((0, "a"), (1, "b"))]
        text = text_of(self.make(*files, *reports))
        self.assertIn("The clocks of 2 hosts are taken as they are", text)
        self.assertIn("rank 0, process 1000 on a: 10,000 s", text)


class Attacks(PageTest):
    def test_names_are_shown_and_never_run(self):
        one = report(
            host=HOSTILE,
            labels={HOSTILE: {"h2d": 10}},
            sites={HOSTILE + ":7 in f": {"h2d": 10}},
            **advice(HOSTILE, HOSTILE, bytes=7, direction=[HOSTILE], condition=HOSTILE),
            unknown_launches=[{"name": HOSTILE, "count": 1, "reason": HOSTILE}],
            library_calls=[{"what": HOSTILE, "count": 1}],
        )
        page = self.make(self.put("r.json", one), self.put("t.json", timeline([copy(1, 10, name=HOSTILE)], host=HOSTILE)), "--title", HOSTILE)
        self.assertEqual(len(re.findall("<script", page)), page.count('<script type="application/json"') + 3)
        self.assertNotIn("<b>", page)
        self.assertIn(HOSTILE, data_of(page)["timeline"]["texts"])
        self.assertIn("{{7*7}}", text_of(page))

    def test_nothing_is_loaded(self):
        page = self.make(self.put("r.json", report()))
        self.assertNotRegex(page, r"<(script|img|iframe)[^>]* src=|<link[^>]* href=\"(?!data:)|@import|url\(")
        self.assertIn("default-src 'none'", page)

    def test_a_thousand_ranks(self):
        files = [self.put(f"{r}.json", report(rank=r, host=f"node{r // 8}")) for r in range(1000)]
        files += [
            self.put(
                f"t{r}.json",
                timeline([e for i in range(60) for e in (launch(10 * i, "a"), copy(10 * i, 10, name=f"n{i}"))], rank=r, host=f"node{r // 8}"),
            )
            for r in range(0, 1000)
        ]
        page = self.make(*files)
        self.assertIn('data-total="h2d" data-bytes="1000000"', page)
        self.assertIn("1,000 processes on 125 hosts", text_of(page))
        self.assertLess(len(page), 8 << 20)

    def test_many_events_need_little_memory_and_lose_no_byte(self):
        many = 60_000
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            import json

            head = json.dumps(timeline([]))
            file.write(head[:-2])
            for i in range(many):
                file.write("," + json.dumps(launch(10 * i, f"kernel {i % 7}")) + ",\n" + json.dumps(copy(10 * i, 3, name=f"array {i % 50}")))
            file.write("]}")
        page = self.make(self.put("r.json", report(labels={"values": {"h2d": 3 * many}})), self.path("t.json"))
        lanes = [lane for group in data_of(page)["timeline"]["groups"] for lane in group["lanes"]]
        self.assertLess(sum(len(lane["t"]) for lane in lanes), 100_000)
        self.assertEqual(sum(sum(b) if isinstance(b := lane["b"], list) else b * len(lane["t"]) for lane in lanes), 3 * many)
        self.assertEqual(sum(sum(c) if isinstance(c := lane["c"], list) else c * len(lane["t"]) for lane in lanes), 2 * many)
        self.assertIn("120,000 events are drawn as", text_of(page))
        self.assertIn("are joined", text_of(page))
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 400 << 10)


class Output(PageTest):
    def test_a_full_disk(self):
        good = self.put("r.json", report())
        self.put("page.html", "the old page")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        self.refuse(good, said="the page cannot be written", preexec_fn=limit)
        with open(self.page, encoding="utf-8") as file:
            self.assertEqual(file.read(), "the old page")
        self.assertEqual(sorted(os.listdir(self.folder)), ["page.html", "r.json"])

    def test_no_place(self):
        good = self.put("r.json", report())
        self.refuse(good, output=self.path("none/page.html"), said="No such file or directory")
        self.refuse(good, output=self.folder, said="is a folder; name a file in it")
        self.refuse(good, output="/proc/page.html", said="the page cannot be written")  # nobody may write there, root neither
        self.refuse(good, output="/dev/full", said="No space left on device")

    def test_what_is_not_installed(self):
        good = self.put("r.json", report())
        self.refuse(good, "--d3", self.path("d3.js"), said="apt-get install libjs-d3")
        self.refuse(good, "--d3", good, said="no D3 of version 3")
        self.refuse(good, "--source", good, said="is no folder")
        os.mkdir(self.path("bin"))
        for tool in ("sh", "dirname", "readlink"):
            os.symlink(shutil.which(tool), self.path("bin/" + tool))
        self.put("bin/python3", "#!/bin/sh\nexit 1\n")
        os.chmod(self.path("bin/python3"), 0o755)
        with open(COMMAND, encoding="utf-8") as file:
            self.put("launcher", file.read().replace("/usr/bin/python3", "/none/python3"))
        done = subprocess.run(["sh", self.path("launcher"), good], capture_output=True, text=True, check=False, env={"PATH": self.path("bin")})
        self.assertEqual((done.returncode, "apt-get install python3 python3-jinja2 libjs-d3" in done.stderr), (3, True), done.stderr)

    def test_help_and_version(self):
        version = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(version, f"semcache-report {os.environ['SEMCACHE_VERSION']}\n")
        text = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
        for word in ("--output", "--source", "--title", "--d3", "--version", "exit status"):
            self.assertIn(word, text)
        self.assertEqual(subprocess.run([COMMAND], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
