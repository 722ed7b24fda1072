# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Finds the iterations of a program: a sequence of launches that repeats."""
from array import array
from bisect import bisect_right
from collections import Counter
from itertools import groupby, islice
from operator import eq

MOST_LAUNCHES = 200_000
MOST_TRIES = 24
NO_NAMES = {"library routine", "(unnamed)"}  # many different launches have these


class LaunchLog:
    """The launches of each host thread, by name, in their order."""

    def __init__(self):
        self._ids, self._threads, self.complete = {}, {}, True

    def add(self, thread, at_us, name):
        times, ids = self._threads.setdefault(thread, (array("d"), array("l")))
        if len(ids) >= MOST_LAUNCHES:
            self.complete = False
            return
        times.append(at_us)
        ids.append(self._ids.setdefault(name, len(self._ids)))

    def iterations(self):
        """Returns the names of the launches of an iteration, when each begins, and when the last one ends (None: with the program)."""
        if not self.complete or not self._threads:
            return None
        times, ids = max(self._threads.values(), key=lambda t: len(t[1]))
        names = list(self._ids)
        for period in _candidates(ids):
            first, length = _longest_run(ids, period)
            repeated = {names[i] for i in ids[first : first + period]}
            if length + period < max(3 * period, len(ids) / 3) or (len(repeated) == 1 and repeated <= NO_NAMES):
                continue
            rounds = (length + period) // period
            end = first + rounds * period
            return {
                "names": [names[i] for i in ids[first : first + period]],
                "begins": list(times[first:end:period]),
                "end": times[end] if end < len(times) else None,
            }
        return None


def _candidates(ids):
    """Returns lengths that an iteration may have, the shortest first: how far apart launches of one name often are."""
    last, apart = {}, Counter()
    for at, name in enumerate(ids):
        if name in last:
            apart[at - last[name]] += 1
        last[name] = at
    return sorted(period for period, _ in apart.most_common(MOST_TRIES))


def _longest_run(ids, period):
    """Returns where the longest part begins in which each launch is that of one period later, and how long it is."""
    at = best = length = 0
    for same, run in groupby(map(eq, ids, islice(ids, period, None))):
        size = sum(1 for _ in run)
        if same and size > length:
            best, length = at, size
        at += size
    return best, length


def bytes_of_iterations(timeline, found):
    """Returns the bytes of each iteration by direction, and those outside of all iterations."""
    begins, end = found["begins"], found["end"]
    inside, outside = {}, {}
    for at, size, direction in zip(*timeline.copies):
        i = bisect_right(begins, at) - 1
        if i < 0 or (end is not None and at >= end):
            outside[direction] = outside.get(direction, 0) + size
        else:
            if direction not in inside:
                inside[direction] = [0] * len(begins)
            inside[direction][i] += size
    return inside, outside
