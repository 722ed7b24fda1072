#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""check_measurements.py SOURCE: docs/measurements/*.json have the form of docs/measurements/README.md, and agree with the pages.

- Each file is listed in docs/measurements/README.md, and so is each record without a file, with a sentence that says what it has instead.
- What a file has in few numbers stands in the record that it names, so a shortened record loses none, and none is invented.
- The tables and plots of docs/measured/pictures.py find their figures, and a page shows each of them.
- The table of README.md has the figures, rounded.
- A number of docs/explanation/performance.md, in a paragraph that links files, is a figure of one of them, rounded.
- The latest figures of docs/measurements/bounds.md are, rounded, those of the records that their rows link.
"""
import re
import sys
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.^-])-?\d[\d,]*(?:\.\d+)?(?![\w^]|\.\d)")
PERFORMANCE, README = "docs/explanation/performance.md", "docs/measurements/README.md"


def numbers_in(text):
    return [m.rstrip(",").replace(",", "") for m in NUMBER.findall(text)]


def stated_in(record):
    """Returns a record's numbers; small ones may be words."""
    words = "one two three four five six seven eight nine ten eleven".split()
    return [float(n) for n in numbers_in(record)] + [n for n, word in enumerate(words, 1) if word in record]


def is_rounded(text, values):
    """Is a number, as written, one of the values with as many digits?"""
    digits = len(text.partition(".")[2])
    return any(abs(float(text) - value) <= 0.5001 * 10 ** -digits for value in values)


def entries_of(content):
    return [(f"{m} / {case} / {variant}", entry) for m, measurement in content["measurements"].items()
            for case, row in measurement["figures"].items() for variant, entry in row.items()]


def values_of(measured, name):
    """Returns all that a page may say of a file: medians and spreads of its figures, and of one variant's rounds over another's."""
    figures = []
    for m, measurement in measured.files[name]["measurements"].items():
        for case, row in measurement["figures"].items():
            figures += [measured.figure(name, m, case, v) for v in row]
            lengths = {v: len(entry.get("rounds", [])) for v, entry in row.items()}
            figures += [measured.over(name, m, case, v, w) for v in row for w in row if v != w and lengths[v] == lengths[w] > 0]
    return [n for f in figures for n in (f.median, *f.spread) if n is not None]


def check_records(measured, folder):
    """Looks for the numbers of summaries, and of up to three rounds, in the record."""
    wrong = []
    for name, content in measured.files.items():
        stated = stated_in((folder / content["record"]).read_text())
        for place, entry in entries_of(content):
            rounds = entry.get("rounds", [])
            numbers = [entry.get("median"), *entry.get("quartiles", []), *entry.get("range", []), entry.get("of")]
            numbers += rounds if len(rounds) < 4 else []
            missing = [n for n in numbers if n is not None and n not in stated]
            wrong += [f"{name}.json: {place}: {', '.join(map(str, missing))} does not stand in {content['record']}"] if missing else []
    return wrong


def check_list(measured, folder, page):
    linked = set(re.findall(r"\]\(([^)/]+)\.json\)", page))
    return ([f"{README} does not link {name}.json" for name in sorted(set(measured.files) - linked)] +
            [f"{README} links {name}.json, which does not exist" for name in sorted(linked - set(measured.files))])


def check_records_without_file(measured, folder, page):
    section = page.partition("\n## Records without a JSON file\n")[2].partition("\n## ")[0]
    excused = set(re.findall(r"^- \[[^\]]*\]\(([^)/]+\.md)\)", section, re.MULTILINE))
    without = {path.name for path in folder.glob("[0-9]*.md")} - {content["record"] for content in measured.files.values()}
    return ([f"{README} does not say why {name} has no JSON file" for name in sorted(without - excused)] +
            [f"{README} says that {name} has no JSON file" for name in sorted(excused - without)])


def check_pictures(measured, kinds, pages):
    """`kinds` has the tables and plots of each directive; a picture that lacks a figure throws a KeyError."""
    wrong = []
    for directive, pictures in kinds.items():
        shown = set(re.findall(rf"^```{{{directive}}} (\S+)", pages, re.MULTILINE))
        wrong += [f"no page has a {directive} of '{name}'" for name in pictures if name not in shown]
        wrong += [f"a page has a {directive} of '{name}', which docs/measured/pictures.py does not have" for name in sorted(shown - set(pictures))]
        for name, make in pictures.items():
            try:
                rows = make(measured).rows
                wrong += [] if rows else [f"the {directive} of '{name}' has no rows"]
            except KeyError as missing:
                wrong.append(f"the {directive} of '{name}': {missing.args[0]}")
    return wrong


def check_table(table, page):
    """Compares the rows of README.md with those of the table. Hand-placed copies are 1 there."""
    figures, wrong, found = {row[0]: row[1:] for row in table.rows}, [], 0
    for words, *cells in re.findall(r"^\| ([^|]* GPUs?) \| 1 \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE):
        found += 1
        for text, figure in zip(cells, figures.get(words, [None] * len(cells))):
            if figure is None or not is_rounded(text, [figure.median]):
                wrong.append(f"README.md: '{words}' has {text}, and the measurement {figure}")
    return wrong if found else ["README.md: its table of times over hand-placed copies was not found"]


def check_prose(measured, page):
    """Looks at decimal numbers, and at whole numbers with a unit."""
    wrong = []
    for paragraph in re.split(r"\n\n|\n(?=- )", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)):
        files = [f for f in re.findall(r"\]\(../measurements/([^)]+)\.json\)", paragraph) if f in measured.files]
        values = [v for name in dict.fromkeys(files) for v in values_of(measured, name)]
        text = re.sub(r"\]\([^)]*\)|`[^`]*`", " ", paragraph)
        for number in numbers_in(text) if files else []:
            unit = re.search(rf"(?<![\d.,]){re.escape(number)} (?:us|ns|ms|s|times)\b", text)
            if ("." in number or unit) and not is_rounded(number, values):
                wrong.append(f"{PERFORMANCE}: {number} is no figure of {', '.join(files)}: '{' '.join(paragraph.split())[:60]}...'")
    return wrong


def check_bounds(measured, page, folder):
    """Compares the column `latest` with the records that it or the column behind links, and with their files."""
    targets, wrong = dict(re.findall(r"^\[(\w+)\]: (\S+)$", page, re.MULTILINE)), []
    for what, _, latest, measured_on in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE):
        records = [targets[key] for key in re.findall(r"\]\[(\w+)\]", latest + measured_on) if key in targets]
        stated = [n for name in records for n in stated_in((folder / name).read_text())]
        stated += [n for name, content in measured.files.items() if content["record"] in records for n in values_of(measured, name)]
        for number in numbers_in(re.sub(r"\(?\[[^\]]*\]\[\w+\]\)?", " ", latest)) if records else []:
            if not is_rounded(number, stated):
                wrong.append(f"docs/measurements/bounds.md: {number} of '{what}' is no figure of {', '.join(records)}, rounded")
    return wrong


def main(root):
    sys.path.insert(0, str(root / "docs"))
    from measured.measurements import Measurements, read, wrong_with
    from measured.pictures import PLOTS, TABLES

    folder = root / "docs/measurements"
    measured = Measurements(folder)
    wrong = [line for name, content in measured.files.items() for line in wrong_with(name, content, folder)]
    for example in re.findall(r"^```json\n(.*?)^```$", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL):
        content = read(example)
        wrong += [f"{README}: its example: {line}" for line in wrong_with(f"{content['date']}-example", content, folder)]
    if not wrong:
        pages = "\n".join(path.read_text() for path in sorted((root / "docs").rglob("*.md")))
        wrong += check_list(measured, folder, (root / README).read_text())
        wrong += check_records_without_file(measured, folder, (root / README).read_text())
        wrong += check_records(measured, folder)
        wrong += check_pictures(measured, {"measured-table": TABLES, "measured-plot": PLOTS}, pages)
        wrong += check_table(TABLES["minife"](measured), (root / "README.md").read_text()) if not wrong else []
        wrong += check_prose(measured, (root / PERFORMANCE).read_text())
        wrong += check_bounds(measured, (folder / "bounds.md").read_text(), folder)
    entries = sum(len(entries_of(content)) for content in measured.files.values()) if not wrong else 0
    print(*wrong, f"{len(measured.files)} files, {entries} figures" if not wrong else f"{len(wrong)} differences", sep="\n")
    return 1 if wrong or len(measured.files) < 3 else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(Path(sys.argv[1])))
