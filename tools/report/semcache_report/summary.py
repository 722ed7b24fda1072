# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What the page says, from all that was read: the verdict, the tables and the charts."""
from collections import Counter

from .figures import EVENTS, LINKS, TRAFFIC, derived, human_bytes, percent, short_site, who
from .iterations import bytes_of_iterations

BARS = 96  # of the chart over time
MOST_NAMED = 10


class Summary:
    def __init__(self, inputs, sources):
        self.inputs, self.reports, self.timelines, self.advisor = inputs, inputs.reports, inputs.timelines, inputs.advisor
        self.notes = list(inputs.problems)
        self.sources = sources
        self._add_processes_without_report()
        self._note_missing_ranks(self.reports.processes)
        self._note_missing_ranks(self.advisor.processes)
        self.processes = {*self.reports.processes, *self.advisor.processes}
        self.total = derived(self.reports.total())
        self.labels = _sorted(self.reports.labels)
        self.sites = _sorted(self.reports.call_sites)
        self.shifts_us, self.timeline_notes = _common_time(self.timelines)
        self._compare_with_timelines()

    def verdict(self):
        """Returns the verdict as pieces: plain text, or a pair of a kind (label, site) and its name."""
        if not self.reports.processes:
            return self.advisor.verdict()
        t = self.total
        if not t["moved"]:
            pieces = ["No byte moved over a link"]
        else:
            pieces = [f"{human_bytes(t['moved'])} moved"]
            if self.labels and self.labels[0][1]["moved"]:
                pieces += [f", {percent(self.labels[0][1]['moved'], t['moved'])} of it ", ("label", self.labels[0][0])]
            if self.sites and self.sites[0][1]["moved"]:
                pieces += [f", {percent(self.sites[0][1]['moved'], t['moved'])} at ", ("site", short_site(self.sites[0][0], 1))]
        avoided = human_bytes(t["avoided"]) if self.with_report else "not known how much"
        return pieces + [f"; {avoided} avoided" + (f", {human_bytes(t['dropped'])} dropped unread." if t["dropped"] else ".")]

    def facts(self):
        keys = self.processes
        hosts = len({key[1] for key in keys})
        lines = [f"{len(keys):,} process{'es' if len(keys) != 1 else ''} on {hosts:,} host{'s' if hosts != 1 else ''}"]
        for name, values in self.reports.facts.items():
            if values:
                lines.append(f"{name}: " + ", ".join(f"{v}" if len(values) == 1 else f"{v} ({n:,})" for v, n in values.most_common(4)))
        return lines + (self.advisor.facts() if self.advisor.processes else [])

    def rates(self):
        """Returns bytes per second by direction, and where they are from."""
        stated = self.reports.stated_rates()
        if stated:
            return stated, "at the rate of the links that SEMCACHE_EMULATED_MACHINE describes"
        seconds, size = Counter(), Counter()
        for t in self.timelines:
            for direction, (took, carried) in t.measured_rates().items():
                seconds[direction] += took
                size[direction] += carried
        return {d: size[d] / seconds[d] for d in seconds if size[d]}, "at the rate that the timelines measured"

    def over_time(self):
        """Returns the data of the chart of bytes over time: by iteration if launches repeat, otherwise by bins of time."""
        if not any(t.bins.bytes for t in self.timelines):
            return None
        return self._by_iteration() or self._by_bins()

    def _by_iteration(self):
        rows, outside, names, processes, longest, last_ends = {}, Counter(), None, 0, 0, True
        for t in self.timelines:
            found = t.launches.iterations() if t.copies_complete else None
            if not found or (names and found["names"] != names):
                return None
            last_ends = last_ends and found["end"] is not None
            names, processes, longest = found["names"], processes + 1, max(longest, len(found["begins"]))
            inside, beyond = bytes_of_iterations(t, found)
            outside.update(beyond)
            for direction, values in inside.items():
                row = rows.setdefault(direction, [])
                row += [0] * (len(values) - len(row))
                for i, value in enumerate(values):
                    row[i] += value
        together = -(-longest // BARS)
        series = {d: [sum(row[i : i + together]) for i in range(0, longest, together)] for d, row in rows.items()}
        return {
            "kind": "iterations",
            "count": longest,
            "together": together,
            "series": series,
            "launches": names,
            "outside": dict(outside),
            "last_ends": last_ends,
            "processes": processes,
        }

    def _by_bins(self):
        end = max(s + t.end_us for s, t in zip(self.shifts_us, self.timelines)) or 1.0
        series = {}
        for shift, t in zip(self.shifts_us, self.timelines):
            for direction, values in t.bins.bytes.items():
                row = series.setdefault(direction, [0] * BARS)
                for i, value in enumerate(values):
                    if value:
                        row[min(BARS - 1, int((shift + (i + 0.5) * t.bins.width_us) / end * BARS))] += value
        return {"kind": "time", "end_us": end, "series": series}

    def _add_processes_without_report(self):
        have = dict(self.reports.processes)
        self.with_report = len(have)
        for t in self.timelines:
            if t.process_key in have:
                continue
            empty = dict.fromkeys(TRAFFIC + EVENTS, 0)
            self.reports.processes[t.process_key] = {**empty, **{d: s["bytes"] for d, s in t.sums.items() if d in LINKS}}
            for sums, named in ((self.reports.labels, t.labels), (self.reports.call_sites, t.sites)):
                for name, values in named.items():
                    known = sums.setdefault(name or "(unknown)", {"processes": 0, **empty})
                    known["processes"] += 1
                    for direction, value in values.items():
                        known[direction] += value
            self.notes.append(f"{who(t.process_key)}: no report; what its timeline shows is counted, and what was avoided is not known")
        without = [key for key in have if key not in {t.process_key for t in self.timelines}]
        if self.timelines and without:
            self.notes.append(
                f"no timeline of {len(without):,} process{'es' if len(without) > 1 else ''}: " + _some([who(k) for k in sorted(without)])
            )

    def _note_missing_ranks(self, processes):
        ranks = [key[0] for key in processes]
        missing = sorted(set(range(max(ranks, default=-1) + 1)) - set(ranks))
        if len(missing) > 1000 + len(ranks):
            self.notes.append(f"ranks go up to {max(ranks):,}, and {len(missing):,} of them are missing")
        elif missing:
            self.notes.append(
                f"rank{'s' if len(missing) > 1 else ''} {_some([str(r) for r in missing])} of at least {max(ranks) + 1:,} missing: no usable file is theirs"
            )

    def _compare_with_timelines(self):
        differ = []
        for t in self.timelines:
            mine = self.reports.processes.get(t.process_key, {})
            wrong = [d for d in ("h2d", "d2h") if mine.get(d, 0) != t.sums.get(d, {"bytes": 0})["bytes"]]
            if wrong and not t.dropped.get("copy"):
                differ.append(
                    f"{who(t.process_key)} ("
                    + ", ".join(f"{d}: {t.sums.get(d, {'bytes': 0})['bytes']:,} of {mine.get(d, 0):,} bytes" for d in wrong)
                    + ")"
                )
        if differ:
            self.timeline_notes.append(
                f"The timeline's copies are not all that the report counts: {_some(differ, 3)}. The figures elsewhere are the report's."
            )


def _common_time(timelines):
    """Returns how much later than the first each timeline begins, and what is to be said of the clocks."""
    begins = [t.begin_ns for t in timelines]
    first = min((b for b in begins if b), default=0)
    shifts, notes = [(b - first) / 1000 if b else 0.0 for b in begins], []
    hosts = {t.process_key[1] for t in timelines}
    if len(hosts) > 1:
        notes.append(
            f"The clocks of {len(hosts):,} hosts are taken as they are. Nothing in the files tells how far they are apart, so that what "
            "happens on one host may be drawn before its cause on another."
        )
    longest = max((t.end_us for t in timelines), default=0)
    for i, t in enumerate(timelines):
        if not begins[i]:
            notes.append(f"The timeline of {who(t.process_key)} does not say when it began; it is drawn from time 0.")
    # A clock that is wrong by hours would make everything else a point: such a timeline is drawn from 0.
    far = [i for i, s in enumerate(shifts) if s > 10 * longest + 60e6]
    if far:
        notes.append(
            f"{len(far):,} timeline{'s begin' if len(far) > 1 else ' begins'} long after the others have ended ("
            + _some([f"{who(timelines[i].process_key)}: {shifts[i] * 1e-6:,.0f} s" for i in far])
            + "): other runs, or clocks that differ. Drawn from time 0."
        )
        shifts = [0.0 if i in far else s for i, s in enumerate(shifts)]
    return shifts, notes


def _sorted(named):
    rows = [(name, derived(values)) for name, values in named.items()]
    return sorted(
        rows, key=lambda r: (-r[1]["moved"], -r[1]["avoided"] - r[1]["dropped"] - r[1]["deferred"] - r[1]["within"], -r[1]["host_faults"], r[0])
    )


def _some(texts, most=MOST_NAMED):
    return ", ".join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")
