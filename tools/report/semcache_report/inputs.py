# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Opens the files that the user names, tells reports from timelines, and notes what is wrong with any of them."""
from dataclasses import dataclass, field

from .advisor import Advisor
from .figures import process_key, who
from .json_stream import CutOff, JsonStream, NotJson
from .reports import Reports
from .timelines import Timeline

REPORT_VERSION = TIMELINE_VERSION = 1
FEWEST_SPANS = 160  # of a timeline, however many there are


@dataclass
class Inputs:
    """What was read, and a line of text for each thing that is missing or wrong."""

    reports: Reports = field(default_factory=Reports)
    advisor: Advisor = field(default_factory=Advisor)
    timelines: list = field(default_factory=list)
    problems: list = field(default_factory=list)


class Unusable(Exception):
    """A file of no use. The text goes behind its name."""


def read_all(paths, spans):
    """Reads all files. The timelines together keep about `spans` spans."""
    inputs = Inputs()
    for path in paths:
        try:
            _read(path, max(FEWEST_SPANS, spans // len(paths)), inputs)
        except Unusable as e:
            inputs.problems.append(f"{path}: {e}")
        except IsADirectoryError:
            inputs.problems.append(f"{path}: it is a folder; name the files in it: {path.rstrip('/')}/*.json")
        except OSError as e:
            inputs.problems.append(f"{path}: it cannot be read: {e.strerror}")
    inputs.timelines.sort(key=lambda t: t.process_key)
    return inputs


def _read(path, spans, inputs):
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        stream, report, timeline = JsonStream(file), {}, Timeline(path, spans)
        other, events = None, False
        try:
            for name in stream.members():
                if name == "traceEvents":
                    events = True
                    timeline.read(stream.elements())
                elif name == "otherData":
                    other = stream.value()
                else:
                    report[name] = stream.value()
        except CutOff:
            if not events and not report and other is None:
                file.seek(0, 2)
                raise Unusable("it is empty" if file.tell() == 0 else "it is cut off before its first figure") from None
            if not events:
                raise Unusable(f"this report is cut off within or behind \"{(list(report) or ['otherData'])[-1]}\", so none of it is shown") from None
            inputs.problems.append(f"{path}: this timeline is cut off behind {timeline.events:,} events; what there is is shown")
        except NotJson as e:
            if not timeline.events:
                raise Unusable(f"it is no JSON ({e}). A report is JSON if the name in SEMCACHE_REPORT ends in .json") from None
            inputs.problems.append(f"{path}: this timeline is damaged behind {timeline.events:,} events ({e}); what there is is shown")
        if events:
            _add_timeline(path, timeline, other, inputs)
        else:
            _add_report(report, inputs)


def _add_report(report, inputs):
    if "schema_version" not in report:
        raise Unusable("it is neither a report (SEMCACHE_REPORT=name.json) nor a timeline (SEMCACHE_TRACE=name.json)")
    if report["schema_version"] != REPORT_VERSION:
        raise Unusable(
            f"its schema_version is {report['schema_version']!r}, and this semcache-report reads {REPORT_VERSION}: "
            "use the one that was installed with the library that wrote the report"
        )
    lists = {"labels", "call_sites", "links", "unknown_launches", "advice", "advice_items", "library_calls", "devices"}
    for key in {"total", "labels", "call_sites"} - report.keys():
        raise Unusable(f'this report has no "{key}"')
    for key in lists & report.keys():
        if not isinstance(report[key], list) or (key != "advice" and not all(isinstance(e, dict) for e in report[key])):
            raise Unusable(f'this report\'s "{key}" is no list of what it should hold')
    if not isinstance(report["total"], dict):
        raise Unusable('this report\'s "total" holds no counters')
    sums = inputs.reports
    if "advisor" in report:
        sums = inputs.advisor
        findings = report["advisor"].get("findings", []) if isinstance(report["advisor"], dict) else None
        if not isinstance(findings, list) or not all(isinstance(f, dict) for f in findings):
            raise Unusable('this report\'s "advisor" holds no findings')
    if process_key(report) in sums.processes:
        raise Unusable(f"there is another report of {who(process_key(report))}, so this one is left out")
    sums.add(report)


def _add_timeline(path, timeline, other, inputs):
    other = other if isinstance(other, dict) else {}
    if "semcache_timeline" not in other:
        raise Unusable('this Trace Event file was not written by SemCache (its otherData has no "semcache_timeline")')
    if other["semcache_timeline"] != TIMELINE_VERSION:
        raise Unusable(
            f"its semcache_timeline is {other['semcache_timeline']!r}, and this semcache-report reads {TIMELINE_VERSION}: "
            "use the one that was installed with the library that wrote the timeline"
        )
    timeline.finish(other)
    timeline.process_key = process_key(other)
    if any(t.process_key == timeline.process_key for t in inputs.timelines):
        raise Unusable(f"there is another timeline of {who(timeline.process_key)}, so this one is left out")
    inputs.timelines.append(timeline)
    dropped = {k: n for k, n in timeline.dropped.items() if n}
    if dropped:
        inputs.problems.append(
            f"{path}: the program kept no more spans than SEMCACHE_TRACE_SPANS allows; not in this timeline: "
            + ", ".join(f"{n:,} of {k}" for k, n in dropped.items())
        )
    if timeline.malformed:
        inputs.problems.append(f"{path}: {timeline.malformed:,} events have no time that could be drawn, and are left out")
