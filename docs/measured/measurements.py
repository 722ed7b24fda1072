# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Reads docs/measurements/*.json. docs/measurements/README.md describes their form, and `wrong_with` checks it."""
import datetime
import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path

UNITS = ("ratio", "fraction", "s", "ms", "us", "ns", "bytes")
SUMMARY = {"median": 1, "quartiles": 2, "range": 2}  # how many numbers each has


@dataclass
class Figure:
    """What was measured of one variant in one case. Of some figures a record has a median alone, of some a range alone."""
    median: float = None
    quartiles: tuple = None
    range: tuple = None

    @property
    def spread(self):
        return self.quartiles or self.range or (self.median, self.median)

    def __str__(self):
        numbers = [n for n in (self.median, *self.spread) if n is not None]
        digits = min(3, max(len(repr(float(n)).split(".")[1]) for n in numbers))
        low, high = (f"{n:.{digits}f}" for n in self.spread)
        if self.median is None:
            return f"{low} to {high}"
        return f"{self.median:.{digits}f}" + (f" [{low}, {high}]" if self.quartiles else f" ({low} to {high})" if self.range else "")


def of_rounds(rounds):
    """Returns the median, and the quartiles as the benchmarks take them, or the range where there are fewer than four rounds."""
    ordered, count = sorted(rounds), len(rounds)
    if count < 4:
        return Figure(statistics.median(ordered), range=(ordered[0], ordered[-1]) if count > 1 else None)
    return Figure(statistics.median(ordered), quartiles=(ordered[count // 4], ordered[3 * count // 4]))


def figure_of(entry):
    if "rounds" in entry:
        return of_rounds(entry["rounds"])
    return Figure(entry.get("median"), entry.get("quartiles"), entry.get("range"))


def read(text):
    """Reads JSON whose objects have each key once, so that no figure replaces another."""
    def unique(pairs):
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            raise ValueError(f"an object has a key twice: {', '.join(sorted({k for k in keys if keys.count(k) > 1}))}")
        return dict(pairs)
    return json.loads(text, object_pairs_hook=unique)


class Measurements:
    """All files of a folder."""

    def __init__(self, folder):
        self.files = {}
        for path in sorted(Path(folder).glob("*.json")):
            try:
                self.files[path.stem] = read(path.read_text())
            except ValueError as error:
                raise ValueError(f"{path.name}: {error}") from None

    def find(self, file, measurement, *keys):
        """Returns what lies below a measurement's keys, or throws a KeyError that names the whole way there."""
        found = self.files
        for key in (file, "measurements", measurement, *keys):
            if key not in found:
                way = " / ".join((measurement, *keys))
                raise KeyError(f"docs/measurements/{file}.json has no '{way}': '{key}' is missing. There are: {', '.join(found)}")
            found = found[key]
        return found

    def figure(self, file, measurement, case, variant):
        return figure_of(self.find(file, measurement, "figures", case, variant))

    def over(self, file, measurement, case, variant, divisor):
        """Divides the rounds of a variant by those of another, each by that of the same turn."""
        rounds, divisors = (self.find(file, measurement, "figures", case, v, "rounds") for v in (variant, divisor))
        if len(rounds) != len(divisors):
            raise KeyError(f"docs/measurements/{file}.json, '{measurement} / {case}': '{variant}' has {len(rounds)} rounds and '{divisor}' "
                           f"{len(divisors)}, so they are not of the same turns")
        return of_rounds([a / b for a, b in zip(rounds, divisors)])


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def wrong_with_entry(entry):
    """Says what is wrong with one variant's entry in one case."""
    if not isinstance(entry, dict):
        return [f"is no object but {entry!r}"]
    wrong = [f"has the unknown key '{key}'" for key in entry if key not in ("rounds", "of", "commits", "date", *SUMMARY)]
    if "rounds" in entry:
        rounds = entry["rounds"]
        if not isinstance(rounds, list) or not rounds or not all(map(is_number, rounds)):
            wrong.append(f"has rounds that are no list of numbers: {rounds!r}")
        wrong += [f"has rounds, and '{key}' besides" for key in entry if key == "of" or key in SUMMARY]
    elif not any(key in entry for key in SUMMARY):
        wrong.append(f"has neither rounds nor one of {', '.join(SUMMARY)}")
    for key, count in SUMMARY.items():
        numbers = entry.get(key, [0] * count)
        numbers = numbers if isinstance(numbers, list) else [numbers]
        if len(numbers) != count or not all(map(is_number, numbers)) or sorted(numbers) != numbers:
            wrong.append(f"has a {key} of {entry[key]!r} instead of {count} number{'s in order' if count > 1 else ''}")
        elif is_number(entry.get("median")) and count == 2 and key in entry and not numbers[0] <= entry["median"] <= numbers[1]:
            wrong.append(f"has the median {entry['median']} outside of its {key} {numbers}")
    if not isinstance(entry.get("of", 1), int) or entry.get("of", 1) < 1:
        wrong.append(f"has an 'of' that is no number of rounds: {entry['of']!r}")
    return wrong


def wrong_with_date(date):
    try:
        datetime.date.fromisoformat(date)
        return []
    except (TypeError, ValueError):
        return [f"has no date but {date!r}"]


def wrong_with_commits(commits):
    if isinstance(commits, list) and all(isinstance(c, str) and re.fullmatch("[0-9a-f]{7,40}", c) for c in commits):
        return []
    return [f"has no list of commits but {commits!r}"]


def wrong_with_keys(found, required, optional=()):
    """`required` has the type of each key, whose value must not be empty but for a list of commits."""
    if not isinstance(found, dict):
        return [f"is no object but {found!r}"]
    return ([f"has no '{key}', or not a {kind.__name__} that says something" for key, kind in required.items()
             if not isinstance(found.get(key), kind) or (not found[key] and key != "commits")] +
            [f"has the unknown key '{key}'" for key in found if key not in required and key not in optional])


def wrong_with_measurement(measurement):
    """Returns pairs of a place within the measurement and what is wrong there."""
    required = {"what": str, "unit": str, "commits": list, "commands": list, "variants": dict, "cases": dict, "figures": dict}
    wrong = [("", text) for text in wrong_with_keys(measurement, required, ("no_rounds", "date"))]
    if wrong:
        return wrong
    if measurement["unit"] not in UNITS:
        wrong.append(("", f"has the unit '{measurement['unit']}', which is none of {', '.join(UNITS)}"))
    variants, cases = measurement["variants"], measurement["cases"]
    leaves = {f" / {case} / {variant}": entry for case, row in measurement["figures"].items() for variant, entry in row.items()}
    named = {f" / {name}": variant for name, variant in variants.items()}
    for place, variant in named.items():
        wrong += [(place, text) for text in wrong_with_keys(variant, {"name": str}, ("options", "commits", "date"))]
    for place, entry in leaves.items():
        wrong += [(place, text) for text in wrong_with_entry(entry)]
    for place, holder in {"": measurement, **named, **leaves}.items():
        if isinstance(holder, dict):
            wrong += [(place, text) for text in wrong_with_commits(holder.get("commits", [])) + wrong_with_date(holder.get("date", "2000-01-01"))]
    for case, row in measurement["figures"].items():
        wrong += [(f" / {case}", f"has no words in 'cases'")] if case not in cases else []
        wrong += [(f" / {case} / {variant}", "is no variant of the measurement") for variant in row if variant not in variants]
    wrong += [("", f"has no figure of the case '{case}'") for case in cases if not measurement["figures"].get(case)]
    wrong += [("", f"has no figure of the variant '{v}'") for v in variants if not any(v in row for row in measurement["figures"].values())]
    summaries = any(isinstance(entry, dict) and "rounds" not in entry for entry in leaves.values())
    if summaries != isinstance(measurement.get("no_rounds"), str):
        wrong.append(("", "must say in 'no_rounds' why it has no rounds" if summaries else "has all rounds, so 'no_rounds' is out of place"))
    return wrong


def wrong_with(name, content, folder):
    """Returns a line for each way in which a file departs from the form."""
    wrong = [("", text) for text in wrong_with_keys(content, {"record": str, "date": str, "hardware": str, "measurements": dict})]
    if not wrong:
        wrong += [("", text) for text in wrong_with_date(content["date"])]
        wrong += [] if name.startswith(content["date"] + "-") else [("", f"has a name that does not begin with its date, {content['date']}")]
        wrong += [] if Path(folder, content["record"]).is_file() else [("", f"names the record '{content['record']}', which is no file")]
        for key, measurement in content["measurements"].items():
            wrong += [(f": {key}{place}", text) for place, text in wrong_with_measurement(measurement)]
    return [f"{name}.json{place} {text}" for place, text in wrong]
