# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""The advice of all reports, each kind once, with what it is worth: bytes that would not move, and their time."""
from .figures import count, human_bytes, human_seconds, traffic_of

MIRROR = "_mirror"  # Kokkos' name of the mirror of "A" is "A_mirror"


def _came_back(report):
    """The bytes of the arrays that the report names: content that the host had sent, and that came back."""
    sent = {str(n.get("name")) for n in report["labels"] if traffic_of(n, "h2d") and not count(n, "evictions")}
    named = (n for n in report["labels"] if str(n.get("name")).removesuffix(MIRROR) in sent or str(n.get("name")) in sent)
    return sum(max(0, traffic_of(n, "d2h") - traffic_of(n, "saved_link")) for n in named)


def _pending(report):
    return max(0, traffic_of(report["total"], "saved_link") - traffic_of(report["total"], "written_back"))


def _read_ahead_lost(report):
    lost = ((traffic_of(n, "read_ahead_lost"), traffic_of(n, "read_ahead")) for n in report["labels"])
    return sum(mine for mine, all_of_it in lost if mine >= 65536 and 2 * mine > all_of_it)


# How a line of advice begins: the bytes that it can be worth at most, and the link that they cross.
GAINS = {
    "Came back from a device": (_came_back, "d2h", "at most: where kernels only read these arrays"),
    "Read ahead of host faults": (_read_ahead_lost, "d2h", "at most: a use without a fault is not seen"),
    "Content was saved over the link": (_pending, None, "at most: where nobody needs these copies"),
}
NOT_KNOWN = "not known: the report counts nothing from which it follows"


class AdviceOfAll:
    def __init__(self):
        self._kinds = {}

    def add(self, report):
        for line in report.get("advice", []):
            line = str(line)
            gain = next((g for start, g in GAINS.items() if line.startswith(start)), None)
            kind = self._kinds.setdefault(_beginning(line), {"text": line, "processes": 0, "bytes": 0, "most": -1, "gain": gain})
            mine = gain[0](report) if gain else 0
            kind["processes"] += 1
            kind["bytes"] += mine
            if mine > kind["most"]:  # the text of the process for which it is worth most
                kind.update(text=line, most=mine)

    def lines(self, rates):
        """Returns a dictionary for each line, the most bytes first. `rates` are bytes per second by direction, where known."""
        return [self._line(kind, rates) for kind in sorted(self._kinds.values(), key=lambda k: -k["bytes"])]

    @staticmethod
    def _line(kind, rates):
        line = {"text": kind["text"], "processes": kind["processes"], "bytes": None, "gain": NOT_KNOWN, "seconds": ""}
        if kind["gain"] and kind["bytes"]:
            _, direction, condition = kind["gain"]
            rate = rates.get(direction)
            seconds = (
                f"{human_seconds(kind['bytes'] / rate)} of link time at {human_bytes(round(rate))}/s"
                if rate
                else "time: not known, no link rate in these files"
            )
            line.update(bytes=kind["bytes"], gain=f"{human_bytes(kind['bytes'])} ({condition})", seconds=seconds)
        return line


def _beginning(line):
    """Returns what is the same in the advice of all processes: the text in front of the first figure or list."""
    for end in (":", " (", ". "):
        line = line.split(end, 1)[0]
    return line
