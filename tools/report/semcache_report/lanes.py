# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""The timeline as the page's script reads it: columns of whole numbers for each lane, and one list of texts for all."""
from .timelines import BEGIN, BYTES, COUNT, DETAIL, END, KIND, NAMES, SITE

PER_US = 10  # times are in tenths of a microsecond
MOST_TEXTS = 40_000


class _Texts:
    def __init__(self):
        self.all, self._place = [], {}

    def __call__(self, text):
        if text not in self._place and len(self.all) >= MOST_TEXTS:
            text = "(one of too many names)"
        if text not in self._place:
            self._place[text] = len(self.all)
            self.all.append(text)
        return self._place[text]


def lanes_data(timelines, shifts_us):
    texts, groups = _Texts(), []
    for timeline, shift in zip(timelines, shifts_us):
        lanes = [
            _lane(timeline, row, shift, texts)
            for row in sorted(timeline.lanes, key=lambda r: (not isinstance(r, int), str(r) if not isinstance(r, int) else r))
        ]
        rank, host, process = timeline.process_key
        groups.append({"name": f"rank {rank} on {host}, process {process}", "lanes": lanes})
    end = max((s + t.end_us for s, t in zip(shifts_us, timelines)), default=0)
    return {"texts": texts.all, "groups": groups, "end": int(end * PER_US) + 1}


def _lane(timeline, row, shift, texts):
    depths = timeline.lanes[row]
    spans = [(depth, s) for depth in sorted(depths) for s in depths[depth]]
    begins = [int((shift + s[BEGIN]) * PER_US) for _, s in spans]
    columns = {
        "t": [b - a for a, b in zip([0] + begins, begins)],
        "d": [int((s[END] - s[BEGIN]) * PER_US) for _, s in spans],
        "r": [depth for depth, _ in spans],
        "k": [texts(s[KIND]) for _, s in spans],
        "n": [texts(_name(s[NAMES])) for _, s in spans],
        "b": [s[BYTES] for _, s in spans],
        "c": [s[COUNT] for _, s in spans],
        "s": [texts(s[SITE]) for _, s in spans],
        "w": [texts(s[DETAIL]) for _, s in spans],
    }
    for key in "rbcsw":  # one number where all are the same
        if len(set(columns[key])) == 1:
            columns[key] = columns[key][0]
    return {"name": timeline.names.get(row, f"row {row}"), "rows": 1 + max(depths), **columns}


def _name(names):
    return ", ".join(names[:6]) + (" and others" if len(names) > 6 else "")
