# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Which figures of the measurements each table and plot of the pages shows. It draws nothing, so a test can look at it without matplotlib."""
from dataclasses import dataclass, field

from measured.measurements import of_rounds


@dataclass
class Plot:
    """Rows of figures beside a line: each row has a heading, and figures of some of the series."""
    axis: str     # what a figure is
    line: float   # where a figure is as good as what it is compared with,
    line_is: str  # which is this
    series: list
    scale: str = "linear"
    rows: list = field(default_factory=list)  # pairs of a heading and a dictionary of series to figures


@dataclass
class Table:
    head: list
    rows: list  # of cells that are words or figures; None was not measured


MINIFE = ("2026-11-23-minife", "iterations")


def minife_table(measured):
    """The time of miniFE over hand-placed copies, by size and ranks. README.md has some of these rows, rounded."""
    variants, cases = (measured.find(*MINIFE, key) for key in ("variants", "cases"))
    shown, rows = ["semcache", "unified"], []
    for case, words in cases.items():
        taken = measured.find(*MINIFE, "figures", case)
        rows.append([words] + [measured.figure(*MINIFE, case, v) if v in taken else None for v in shown])
    return Table(["time over hand-placed copies"] + [variants[v]["name"] for v in shown], rows)


def minife(measured):
    variants, cases = (measured.find(*MINIFE, key) for key in ("variants", "cases"))
    plot = Plot("time over hand-placed copies", 1, "1: hand-placed copies", [v["name"] for v in variants.values()], "log")
    for case, words in cases.items():
        taken = measured.find(*MINIFE, "figures", case)
        plot.rows.append((words, {variants[v]["name"]: measured.figure(*MINIFE, case, v) for v in taken}))
    return plot


def launches(measured):
    plot = Plot("launches a second, fraction of the native rate", 1, "1: Kokkos::Cuda",
                ["one H200", "two H200, both in use", "one H100", "one H100, slower processor"])
    newest = "2026-11-29-timeline-and-launches"
    processes = [[measured.find(newest, "rates", "figures", f"machine {m}", "new", "rounds") for m in machines] for machines in (
        ("1", "2"), ("3, two devices", "4, two devices"))]
    plot.rows.append(("1 thread, 22 processes", dict(zip(plot.series, (of_rounds(sum(p, [])) for p in processes)))))
    sources = [("2026-11-28-launch-rates", "one device"), ("2026-11-28-launch-rates", "two devices"),
               ("2026-11-26-launch-rates", "one device, A"), ("2026-11-26-launch-rates", "one device, B")]
    for case, words in measured.find(sources[0][0], "rates", "cases").items():
        plot.rows.append((words, {s: measured.figure(file, "rates", case, v) for s, (file, v) in zip(plot.series, sources)}))
    return plot


def linear_algebra(measured):
    file, one, two, vendor, xt = ("2026-11-29-linalg", "one GPU over hand-tuned", "two GPUs over hand-tuned", "one GPU over cuSPARSE and cuBLAS",
                                  "two GPUs over cuBLASXt")
    plot = Plot("time over that of the other program", 1, "1: as fast as the other program", [one, two, vendor, xt])
    pairs = {one: ("one", "hand1"), two: ("two", "hand2"), vendor: ("one", "vendor")}
    for case, words in measured.find(file, "programs", "cases").items():
        taken = measured.find(file, "programs", "figures", case)
        row = {series: measured.over(file, "programs", case, *pair) for series, pair in pairs.items() if all(v in taken for v in pair)}
        if row:
            plot.rows.append((words, row))
    plot.rows.append(("one product, 16384", {xt: measured.over(file, "single product", "16384", "two", "cublasxt")}))
    return plot


def many_arrays(measured):
    earlier, newest = "2026-11-28-many-arrays", "2026-11-29-timeline-and-launches"
    plot = Plot("time beside 100,000 arrays over that beside 10", 1, "1: no slower beside many arrays", ["three runs", "one run, a day later"], "log")
    for case, words in measured.find(earlier, "operations", "cases").items():
        row = {plot.series[0]: measured.figure(earlier, "operations", case, "one device")}
        if case in measured.find(newest, "many arrays", "cases"):
            row[plot.series[1]] = measured.figure(newest, "many arrays", case, "one device")
        plot.rows.append((words, row))
    return plot


TABLES = {"minife": minife_table}
PLOTS = {"minife": minife, "launches": launches, "linear-algebra": linear_algebra, "many-arrays": many_arrays}
