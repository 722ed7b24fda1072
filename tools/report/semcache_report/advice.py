# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""The advice of all reports, each kind once, with what it is worth: bytes that would not move, and their time."""
from .figures import count, human_bytes, human_seconds

NOT_KNOWN = "not known: the report counts nothing from which it follows"


class AdviceOfAll:
    def __init__(self):
        self._kinds = {}

    def add(self, report):
        for item in _items(report):
            kind = self._kinds.setdefault(str(item.get("kind")), {"processes": 0, "bytes": 0, "most": -1})
            mine = count(item, "bytes")
            kind["processes"] += 1
            kind["bytes"] += mine
            if mine > kind["most"]:  # the text of the process for which it is worth most
                kind.update(item=item, most=mine)

    def lines(self, rates):
        """Returns a dictionary for each line, the most bytes first. `rates` are bytes per second by direction, where known."""
        return [_line(kind, rates) for kind in sorted(self._kinds.values(), key=lambda k: -k["bytes"])]


def _items(report):
    """Returns the structured advice; of a report from before there was any, its lines."""
    return report.get("advice_items", [{"kind": line, "text": line} for line in report.get("advice", [])])


def _line(kind, rates):
    item = kind["item"]
    line = {"text": str(item.get("text", "")), "processes": kind["processes"], "bytes": None, "gain": NOT_KNOWN, "seconds": ""}
    if kind["bytes"]:
        rate = rates.get(str(item.get("direction")))
        seconds = (
            f"{human_seconds(kind['bytes'] / rate)} of link time at {human_bytes(round(rate))}/s"
            if rate
            else "time: not known, no link rate in these files"
        )
        condition = f" (at most: {item['condition']})" if item.get("condition") else ""
        line.update(bytes=kind["bytes"], gain=human_bytes(kind["bytes"]) + condition, seconds=seconds)
    return line
