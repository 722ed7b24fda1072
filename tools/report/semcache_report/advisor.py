# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Adds up the reports of the advisor: what stock Kokkos programs copied, and what they could do without."""
from .figures import count, human_bytes, human_seconds, percent, process_key, seconds, short_site, traffic_of

MOST_FINDINGS = 200_000  # what is beyond is summed in one entry for each kind
MOST_KERNELS = 8
BARS_OF_LABELS = 12
DIRECTIONS = {
    "h2d": "to a device",
    "d2h": "to the host",
    "d2d": "on or between devices",
    "h2h": "within the host",
    "other": "to or from a space not known",
}

# How a finding is named, and what there is to know about all of its kind.
KINDS = {
    "redundant": (
        "the destination had it",
        "Digests of source and destination were equal before the copy. Copy only where the source has changed: where all copies but the first are "
        "redundant, in front of the loop. SemCache sees this by itself, unless a kernel has captured the destination as writable since the copy before.",
    ),
    "round trip": (
        "came back unchanged",
        "The content had come from the destination. Where the destination had it still, the copy is counted as redundant, and not again here. "
        "The rest restored what had changed meanwhile, and was needed.",
    ),
    "fresh": (
        "the destination had it, before any other copy",
        "As redundant, but no copy had used the destination since it was allocated: its content is its initial value, a kernel's result, or chance.",
    ),
    "unused": (
        "overwritten or freed unused",
        "No kernel or copy of Kokkos ran that could have used the content. A library or a kernel outside Kokkos may have used it.",
    ),
    "shared": (
        "unchanged, in shared memory",
        "A view and its mirror are one memory in this build, so that nothing moved. Nothing had changed since the copy before: in a build for a GPU "
        "the destination would have had the content.",
    ),
}


class Advisor:
    """The sums over the advisor's reports, and the figures of each process."""

    def __init__(self):
        self.processes = {}  # figures of each process, by its key
        self.labels = {}  # bytes copied to each array
        self._findings = {}

    def add(self, report):
        mine = report["advisor"]
        figures = {"finalized": mine.get("finalized") is not False, "launches": count(mine, "launches")}
        saves, onto_itself = (mine[name] if isinstance(mine.get(name), dict) else {} for name in ("saves", "onto_itself"))
        for name, facts in (
            ("copies", mine.get("copies")),
            ("certain", saves.get("certain")),
            ("possible", saves.get("possible")),
            ("not_examined", mine.get("not_examined")),
            ("onto_itself", onto_itself),
            ("unchanged", onto_itself.get("unchanged")),
        ):
            figures[name] = {"bytes": count(facts, "bytes"), "count": count(facts, "count"), "seconds": seconds(facts, "seconds")}
        for name in ("program_seconds", "advisor_seconds"):
            figures[name] = seconds(mine, name)
        figures["histories_dropped"] = count(mine, "histories_dropped")
        figures["returned"] = sum(count(f, "bytes") for f in mine.get("findings", []) if f.get("what") == "round trip")
        self.processes[process_key(report)] = figures
        for label in report["labels"]:
            name = str(label.get("name", "(unnamed)"))
            name = name if name in self.labels or len(self.labels) < MOST_FINDINGS else "(other labels)"
            self.labels[name] = self.labels.get(name, 0) + sum(traffic_of(label, d) for d in DIRECTIONS)
        for finding in mine.get("findings", []):
            self._add_finding(finding)

    def _add_finding(self, finding):
        key = tuple(str(finding.get(k, "?")) for k in ("what", "to", "from", "direction", "call_site"))
        if key not in self._findings and len(self._findings) >= MOST_FINDINGS:
            key = (key[0], "(other labels)", "(other labels)", "other", "(other call sites)")
        row = self._findings.setdefault(key, {"bytes": 0, "count": 0, "seconds": 0.0, "of": 0, "restored": 0, "kernels": [], "processes": 0})
        row["certainty"] = "certain" if finding.get("certainty") == "certain" else "possible"
        row["processes"] += 1
        for name in ("bytes", "count"):
            row[name] += count(finding, name)
        row["seconds"] += seconds(finding, "seconds")
        row["of"] += count(finding.get("of"), "count")
        row["restored"] += count(finding.get("destination_had_changed"), "bytes")
        kernels = finding.get("kernels_between")
        for kernel in kernels if isinstance(kernels, list) else []:
            if str(kernel) not in row["kernels"] and len(row["kernels"]) < MOST_KERNELS:
                row["kernels"].append(str(kernel))

    def findings(self):
        """Returns a dictionary for each finding, what would be saved first. `saves` is None where another finding has the bytes."""
        rows = []
        for (what, to, source, direction, site), row in self._findings.items():
            saves = None if what in ("round trip", "shared") else row["bytes"]
            name = KINDS.get(what, (what, ""))[0]
            way = DIRECTIONS.get(direction, direction)
            rows.append({**row, "what": what, "name": name, "to": to, "source": source, "way": way, "site": site, "saves": saves})
        return sorted(rows, key=lambda r: (r["certainty"] != "certain", -(r["saves"] or 0), -r["bytes"], r["to"], r["site"]))

    def kinds(self):
        """Returns name and explanation of each kind that was found, in the order of KINDS."""
        found = {key[0] for key in self._findings}
        return [text for what, text in KINDS.items() if what in found]

    def sum(self, name, key="bytes"):
        return sum(figures[name][key] for figures in self.processes.values())

    def verdict(self):
        """Returns the verdict as pieces, as Summary.verdict does."""
        copied, certain, possible = (self.sum(name) for name in ("copies", "certain", "possible"))
        shared, unchanged = self.sum("onto_itself"), self.sum("unchanged")
        if not copied and shared:
            return [
                f"deep_copy moved nothing, because views and mirrors share memory in this build. On a GPU it would move about {human_bytes(shared)}, "
                f"{human_bytes(unchanged)} of it ({percent(unchanged, shared)}) without a change since the copy before."
            ]
        if not copied:
            return ["No copy between views was made by deep_copy."]
        pieces = [f"deep_copy moved {human_bytes(copied)}"]
        if self.sum("not_examined"):
            pieces.append(f", of which {human_bytes(self.sum('not_examined'))} could not be examined")
        if certain:
            pieces.append(f". The destination had {human_bytes(certain)} of it already ({percent(certain, copied)})")
            first = self.findings()[0]
            if first["saves"]:
                share = percent(first["saves"], certain)
                pieces += [f"; {share} of that is ", ("label", first["to"]), ", copied at ", ("site", short_site(first["site"], 1))]
        else:
            pieces.append(". None of it is known to have been there already")
        return pieces + [f". {human_bytes(possible)} more are possible." if possible else "."]

    def notes(self):
        """Returns a sentence for each thing that a reader must know of these runs."""
        texts = []
        open_ended = [key for key, figures in self.processes.items() if not figures["finalized"]]
        if open_ended:
            texts.append(
                f"{len(open_ended):,} of {len(self.processes):,} processes ended without Kokkos::finalize; what they had done until then is counted."
            )
        if self.sum("not_examined"):
            texts.append(
                f"{human_bytes(self.sum('not_examined'))} in {self.sum('not_examined', 'count'):,} copies were not examined: spaces that the advisor does "
                "not know, memory that could not be read, or copies longer than SEMCACHE_ADVISOR_LARGEST."
            )
        if any(figures["histories_dropped"] for figures in self.processes.values()):
            texts.append("There were more pairs of arrays than the advisor remembers, so that arrays which came back unchanged may have been missed.")
        return texts

    def facts(self):
        longest = max(self.processes.values(), key=lambda figures: figures["program_seconds"])
        return [
            "stock Kokkos with the advisor",
            f"{human_seconds(longest['program_seconds'])} since Kokkos started, of them {human_seconds(longest['advisor_seconds'])} in the advisor"
            + (" (the longest process)" if len(self.processes) > 1 else ""),
        ]

    def bars(self):
        """Returns the bytes copied to each array: certainly redundant, possibly, and the rest."""
        saved = {}
        for (what, to, *_), row in self._findings.items():
            if what not in ("round trip", "shared"):
                mine = saved.setdefault(to, {"certain": 0, "possible": 0})
                mine[row["certainty"]] += row["bytes"]
        rows = []
        for name, copied in sorted(self.labels.items(), key=lambda item: (-item[1], item[0])):
            mine = saved.get(name, {"certain": 0, "possible": 0})
            rows.append({"name": name, **mine, "needed": max(0, copied - mine["certain"] - mine["possible"])})
        rest = rows[BARS_OF_LABELS:]
        if rest:
            rows[BARS_OF_LABELS:] = [{"name": f"({len(rest):,} more)", **{k: sum(r[k] for r in rest) for k in ("certain", "possible", "needed")}}]
        return rows
