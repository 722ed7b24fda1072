# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Reports and timelines as the library writes them, with figures that a test chooses; and the command under test."""
import json
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["SEMCACHE_REPORT_COMMAND"]
TRAFFIC = (
    "h2d",
    "d2h",
    "d2d",
    "h2h",
    "filled",
    "saved_link",
    "saved_device",
    "saved_host",
    "avoided",
    "deferred",
    "dropped",
    "write_through",
    "read_ahead",
    "unchanged",
    "written_back",
    "write_ahead",
    "read_ahead_lost",
    "between_devices",
    "rewritten",
)
EVENTS = ("host_faults", "evictions", "opened", "exposed", "unannounced", "uncaptured", "changed", "peer_launches", "hulls")


def counters(**figures):
    return {**{k: {"bytes": figures.get(k, 0), "count": 1 if figures.get(k) else 0} for k in TRAFFIC}, **{k: figures.get(k, 0) for k in EVENTS}}


def report(rank=0, host="vm", labels=None, sites=None, **more):
    """Makes a report. `labels` and `sites` are dictionaries of counters by name; the total is the sum of the labels."""
    labels = {"values": {"h2d": 1000}} if labels is None else labels
    sites = {"solve.cpp:42 in solve": {"h2d": 1000}} if sites is None else sites
    total = {k: sum(c.get(k, 0) for c in labels.values()) for k in TRAFFIC + EVENTS}
    return {
        "schema_version": 1,
        "process": 1000 + rank,
        "host": host,
        "rank": rank,
        "device": {"kind": "emulated", "name": "emulated device 0", "count": 1},
        "devices": [],
        "links": [{"from": "host", "to": 0, "bytes": total["h2d"], "count": 1}, {"from": 0, "to": "host", "bytes": total["d2h"], "count": 1}],
        "library_calls": [],
        "tracker": "mprotect",
        "protocol": "write-back",
        "total": {**counters(**total), "launches": 3, "unknown_launches": 0},
        "labels": [{"name": n, **counters(**c)} for n, c in labels.items()],
        "call_sites": [{"name": n, **counters(**c)} for n, c in sites.items()],
        "unknown_launches": [],
        "advice": [],
        "advice_items": [],
        **more,
    }


def advice(kind, text, **more):
    """Returns the keys of a report with one piece of advice."""
    return {"advice": [text], "advice_items": [{"kind": kind, "text": text, "labels": [], **more}]}


def tally(size, times=1, took=0.5):
    return {"bytes": size, "count": times, "seconds": took if times else 0}


def finding(what="redundant", to="values", size=1000, times=4, of=5, site="solve.cpp:42 in solve", kernels=("multiply",), **more):
    return {
        "what": what,
        "certainty": "certain" if what in ("redundant", "round trip") else "possible",
        "to": to,
        "from": to + "_host",
        "direction": "h2d",
        "call_site": site,
        **tally(size, times, 0.25),
        "of": tally(size * of // times, of),
        "launches_between": 9,
        "kernels_between": list(kernels),
        **more,
    }


def advisor_report(findings, rank=0, host="vm", labels=None, copied=10_000, **more):
    """Makes a report of the advisor."""
    saved = lambda kinds: tally(sum(f["bytes"] for f in findings if f["what"] in kinds), sum(f["count"] for f in findings if f["what"] in kinds))
    labels = {"values": copied} if labels is None else labels
    zero = {"bytes": 0, "count": 0}
    return {
        "schema_version": 1,
        "process": 1000 + rank,
        "host": host,
        "rank": rank,
        "device": {"kind": "cuda"},
        "total": {"h2d": {"bytes": copied, "count": 9}, "d2h": zero, "d2d": zero, "h2h": zero, "filled": zero},
        "labels": [{"name": n, "h2d": {"bytes": size, "count": 9}} for n, size in labels.items()],
        "call_sites": [{"name": "solve.cpp:42 in solve", "h2d": {"bytes": copied, "count": 9}}],
        "advice": [],
        "advice_items": [],
        "advisor": {
            "version": 1,
            "tools_interface": 20210225,
            "finalized": True,
            "program_seconds": 2.0,
            "advisor_seconds": 0.5,
            "launches": 77,
            "copies": tally(copied, 9, 1.0),
            "not_examined": tally(0, 0),
            "scalars": tally(0, 0),
            "empty_copies": 0,
            "histories_dropped": 0,
            "saves": {"certain": saved(("redundant",)), "possible": saved(("fresh", "unused"))},
            "findings": findings,
            **more,
        },
    }


def launch(at, name, row=1):
    return {
        "ph": "X",
        "pid": 1,
        "tid": row,
        "cat": "launch",
        "name": name,
        "ts": at,
        "dur": 2,
        "args": {"kind": "launch", "to": "device 0", "queue": 7},
    }


def copy(at, size, name="values", row=2, source="host", destination="device 0"):
    return {
        "ph": "X",
        "pid": 1,
        "tid": row,
        "cat": "copy",
        "name": name,
        "ts": at,
        "dur": 1.5,
        "args": {"kind": "copy", "reason": "fetch", "bytes": size, "from": source, "to": destination, "thread": 1, "site": "solve.cpp:42 in solve"},
    }


def timeline(events, rank=0, host="vm", **more):
    names = {1: "host thread 1 (main)", 2: "host to device 0", 3: "device 0 to host"}
    other = {
        "semcache_timeline": 1,
        "process": 1000 + rank,
        "host": host,
        "rank": rank,
        "begin_unix_ns": 1795920790000000000,
        "device_kind": "emulated",
        "devices": ["emulated device 0"],
        "transfer_times": "carried out",
        "dropped": {"copy": 0},
        **more,
    }
    head = [{"ph": "M", "pid": 1, "tid": t, "name": "thread_name", "args": {"name": n}} for t, n in names.items()]
    return {"displayTimeUnit": "ms", "otherData": other, "traceEvents": head + events}


class PageTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name
        self.page = self.path("page.html")

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, content):
        """Writes a file, as JSON unless it is text. Returns its path."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)

    def run_command(self, *arguments, output=None, **options):
        return subprocess.run([COMMAND, *arguments, "-o", output or self.page], capture_output=True, text=True, check=False, **options)

    def make(self, *arguments, status=0, said=""):
        """Makes the page. Returns its text."""
        result = self.run_command(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(said, result.stderr)
        with open(self.page, encoding="utf-8") as file:
            return file.read()

    def refuse(self, *arguments, said, output=None, **options):
        result = self.run_command(*arguments, output=output, **options)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(said, result.stderr)
        self.assertNotIn("Traceback", result.stderr)


def data_of(page):
    return json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def text_of(page):
    """Returns what is between the tags, with one space for each gap."""
    from html.parser import HTMLParser

    pieces, hidden = [], []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: hidden.append(tag) if tag in ("script", "style") else None
    parser.handle_endtag = lambda tag: hidden.pop() if hidden and tag == hidden[-1] else None
    parser.handle_data = lambda text: None if hidden else pieces.append(text)
    parser.feed(page)
    return " ".join("".join(pieces).split())
