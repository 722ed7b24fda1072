# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Reduces one timeline to what a page can hold, while it is read: spans that lie close together become one."""
from array import array

from .figures import count
from .iterations import LaunchLog
from .reports import direction_of

MOST_COPIES = 1_000_000  # known one by one, for bytes of each iteration; beyond, they are known by bins of time
BINS = 2048
DEEPEST = 3  # rows of a host thread, whose spans lie in each other
LONGEST_TEXT = 300
MOST_NAMES_OF_A_SPAN = 6
BEGIN, END, KIND, NAMES, BYTES, SITE, COUNT, DETAIL = range(8)


class TimeBins:
    """Bytes by direction over time, in at most BINS bins, whose width doubles when the time grows beyond them."""

    def __init__(self):
        self.width_us, self.bytes = 1.0, {}

    def add(self, at_us, direction, size):
        while at_us >= BINS * self.width_us:
            self.width_us *= 2
            for bins in self.bytes.values():
                bins[:] = [a + b for a, b in zip(bins[::2], bins[1::2])] + [0] * (BINS // 2)
        if direction not in self.bytes:
            self.bytes[direction] = [0] * BINS
        self.bytes[direction][int(at_us / self.width_us)] += size


class Timeline:
    def __init__(self, path, most_spans):
        self.path, self.process_key = path, None
        self.events = self.malformed = self.spans = self.merged = 0
        self.untimed_copies = 0
        self.resolution_us = 0.0
        self.end_us = 0.0
        self.lanes, self.names = {}, {}  # by row: name, and spans by depth
        self.sums, self.labels, self.sites = {}, {}, {}
        self.bins, self.launches = TimeBins(), LaunchLog()
        self.copies = (array("d"), array("q"), [])  # when, how many bytes, which way
        self.copies_complete = True
        self._most_spans, self._open = most_spans, {}

    def read(self, events):
        for event in events:
            try:
                self._event(event)
            except (KeyError, TypeError, ValueError, AttributeError):
                self.events += 1
                self.malformed += 1

    def finish(self, other):
        self.begin_ns = count(other, "begin_unix_ns")
        self.dropped = {str(k): count(other["dropped"], k) for k in other["dropped"]} if isinstance(other.get("dropped"), dict) else {}
        self.device_kind, self.transfer_times = str(other.get("device_kind", "?")), str(other.get("transfer_times", "?"))
        for lane in self.lanes.values():
            for depth in lane:
                lane[depth].sort(key=lambda s: s[BEGIN])
        self._open = {}

    def measured_rates(self):
        """Returns busy time and bytes of each direction, where the times are those of real transfers: {direction: (seconds, bytes)}."""
        if self.transfer_times != "carried out" or self.device_kind == "emulated":
            return {}
        return {
            key: (s["us"] * 1e-6, s["timed_bytes"]) for key, s in self.sums.items() if s["us"] > 0 and key in ("h2d", "d2h", "between_devices")
        }

    def _event(self, e):
        phase = e["ph"]
        if phase == "M":
            if e["name"] == "thread_name":
                self.names[e["tid"]] = str(e["args"]["name"])[:LONGEST_TEXT]
            return
        if phase != "X":
            return
        begin, duration, args, row = float(e["ts"]), float(e["dur"]), e.get("args") or {}, e["tid"]
        if not (0 <= begin < 1e15 and 0 <= duration < 1e15):
            raise ValueError
        self.events += 1
        kind, size, name = str(args.get("kind", e.get("cat", "?"))), count(args, "bytes"), str(e["name"])[:LONGEST_TEXT]
        site = str(args.get("site", ""))[:LONGEST_TEXT]
        detail = str(args.get("reason", ""))[:LONGEST_TEXT]
        end = begin + duration
        self.end_us = max(self.end_us, end)
        if kind == "copy":
            kind = self._copy(begin, duration, size, name, site, args)
        elif kind == "launch" and self.names.get(row, "").startswith("host thread"):
            self.launches.add(row, begin, name)
        self._keep(row, (begin, end, kind, (name,), size, site, 1, detail))

    def _copy(self, begin, duration, size, name, site, args):
        """Counts a copy. Returns the kind that is drawn: its direction."""
        source, destination = args.get("from"), args.get("to")
        direction = "inside" if source == destination else direction_of(source, destination)
        known = self.sums.setdefault(direction, {"bytes": 0, "us": 0.0, "timed_bytes": 0})
        known["bytes"] += size
        if args.get("times") == "submitted":
            self.untimed_copies += 1
        else:
            known["us"] += duration
            known["timed_bytes"] += size
        if direction == "inside":
            return direction
        for by, key in ((self.labels, name), (self.sites, site)):
            sums = by.setdefault(key if key in by or len(by) < 20_000 else "(others)", {})
            sums[direction] = sums.get(direction, 0) + size
        self.bins.add(begin, direction, size)
        if len(self.copies[0]) < MOST_COPIES:
            self.copies[0].append(begin)
            self.copies[1].append(size)
            self.copies[2].append(direction)
        else:
            self.copies_complete = False
        return direction

    def _keep(self, row, span):
        """Puts a span into the row of its depth: what lies in another span goes below it."""
        above = self._open.setdefault(row, [])
        while above and (above[-1] <= span[BEGIN] or above[-1] < span[END]):
            above.pop()
        depth = min(len(above), DEEPEST - 1)
        above.append(span[END])
        if len(above) > 64:
            del above[0]
        spans = self.lanes.setdefault(row, {}).setdefault(depth, [])
        if spans and 0 <= span[END] - spans[-1][BEGIN] <= self.resolution_us and span[BEGIN] >= spans[-1][BEGIN]:
            spans[-1] = _both(spans[-1], span)
            return
        spans.append(span)
        self.spans += 1
        if self.spans > 2 * self._most_spans:
            self._thin_out()

    def _thin_out(self):
        """Makes one span of those that begin and end within a resolution, which doubles until few enough are left."""
        least = sum(len(lane) for lane in self.lanes.values())
        while self.spans > max(self._most_spans, 2 * least):
            self.resolution_us = max(2 * self.resolution_us, self.end_us / (8 * self._most_spans), 0.001)
            self.spans = 0
            for lane in self.lanes.values():
                for depth in lane:
                    lane[depth] = _joined(sorted(lane[depth], key=lambda s: s[BEGIN]), self.resolution_us)
                    self.spans += len(lane[depth])

    def shown(self):
        """Returns how many spans are drawn, and how many events are in those that stand for several."""
        drawn = [s for lane in self.lanes.values() for spans in lane.values() for s in spans]
        return len(drawn), sum(s[COUNT] for s in drawn if s[COUNT] > 1)


def _joined(spans, resolution):
    kept = []
    for s in spans:
        if kept and s[END] - kept[-1][BEGIN] <= resolution:
            kept[-1] = _both(kept[-1], s)
        else:
            kept.append(s)
    return kept


def _both(a, b):
    names = (
        a[NAMES]
        if all(n in a[NAMES] for n in b[NAMES]) or len(a[NAMES]) > MOST_NAMES_OF_A_SPAN
        else tuple(dict.fromkeys(a[NAMES] + b[NAMES]))[: MOST_NAMES_OF_A_SPAN + 1]
    )
    larger = a if (a[BYTES], a[END] - a[BEGIN]) >= (b[BYTES], b[END] - b[BEGIN]) else b
    return (
        a[BEGIN],
        max(a[END], b[END]),
        larger[KIND],
        names,
        a[BYTES] + b[BYTES],
        a[SITE] if a[SITE] == b[SITE] else "",
        a[COUNT] + b[COUNT],
        a[DETAIL] if a[DETAIL] == b[DETAIL] else "",
    )
