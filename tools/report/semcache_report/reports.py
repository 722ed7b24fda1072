# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Adds up the reports of all processes."""
from collections import Counter

from .advice import AdviceOfAll
from .figures import EVENTS, LINKS, TRAFFIC, count, counters, process_key

MOST_NAMES = 200_000  # labels, or call sites; what is beyond is summed in one entry


class Reports:
    """The sums over all reports, and the total of each process. A report is not kept, so that a thousand need little memory."""

    def __init__(self):
        self.processes = {}  # total of each process, by its key
        self.labels, self.call_sites = {}, {}
        self.links = Counter()
        self.unknown_launches, self.library_calls = {}, Counter()
        self.facts = {"device": Counter(), "protocol": Counter(), "tracker": Counter()}
        self.advice = AdviceOfAll()
        self._link_seconds, self._link_bytes = Counter(), Counter()
        self.virtual_seconds = []

    def add(self, report):
        self.processes[process_key(report)] = counters(report["total"])
        _sum_by_name(self.labels, report["labels"], "(other labels)")
        _sum_by_name(self.call_sites, report["call_sites"], "(other call sites)")
        for link in report.get("links", []):
            self.links[_memory(link.get("from")), _memory(link.get("to"))] += count(link, "bytes")
        for launch in report.get("unknown_launches", []):
            known = self.unknown_launches.setdefault(str(launch.get("name")), {"count": 0, "reason": str(launch.get("reason", ""))})
            known["count"] += count(launch, "count")
        for call in report.get("library_calls", []):
            self.library_calls[str(call.get("what"))] += count(call, "count")
        device = report.get("device") if isinstance(report.get("device"), dict) else {}
        self.facts["device"][f"{max(1, count(device, 'count'))} x {device.get('name', '?')}"] += 1
        self.facts["protocol"][str(report.get("protocol", "?"))] += 1
        self.facts["tracker"][str(report.get("tracker", "?"))] += 1
        self.advice.add(report)
        self._add_rates(report)

    def total(self):
        return {key: sum(t[key] for t in self.processes.values()) for key in TRAFFIC + EVENTS}

    def stated_rates(self):
        """Returns bytes per second of each direction on the machine that SEMCACHE_EMULATED_MACHINE describes; none without it."""
        return {key: self._link_bytes[key] / self._link_seconds[key] for key in LINKS if self._link_seconds[key] > 0 and self._link_bytes[key]}

    def _add_rates(self, report):
        if isinstance(report.get("virtual_seconds"), (int, float)):
            self.virtual_seconds.append(float(report["virtual_seconds"]))
        links = report.get("virtual_links") if isinstance(report.get("virtual_links"), list) else []
        bytes_of = {f"{_memory(k.get('from'))} to {_memory(k.get('to'))}": count(k, "bytes") for k in report.get("links", [])}
        for link in links:
            name, busy = str(link.get("name")), link.get("busy_seconds")
            if name in bytes_of and isinstance(busy, (int, float)) and busy > 0:
                direction = direction_of(*name.split(" to ", 1))
                self._link_seconds[direction] += busy
                self._link_bytes[direction] += bytes_of[name]


def direction_of(source, destination):
    return "h2d" if source == "host" else "d2h" if destination == "host" else "between_devices"


def _memory(place):
    return "host" if place == "host" else f"device {place}"


def _sum_by_name(sums, entries, rest):
    for entry in entries:
        name = str(entry.get("name", "(unnamed)"))
        if name not in sums and len(sums) >= MOST_NAMES:
            name = rest
        mine = counters(entry)
        known = sums.setdefault(name, {"processes": 0, **dict.fromkeys(mine, 0)})
        known["processes"] += 1
        for key, value in mine.items():
            known[key] += value
