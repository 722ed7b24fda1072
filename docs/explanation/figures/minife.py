# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Draws the figures of the table in performance.md, and fails if the table has others than the measurement. Sphinx runs this in its folder."""
import json
import re

import matplotlib.pyplot as plt

with open("../../measurements/2026-11-23-minife.json", encoding="utf-8") as file:
    measured = json.load(file)
with open("../performance.md", encoding="utf-8") as file:
    page = file.read()

figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
for offset, (variant, colour) in enumerate((("semcache", "#2e7d32"), ("unified", "#8a949c"))):
    for row, case in enumerate(measured["cases"]):
        low, median, high = case[variant]["ratio"]
        line = re.search(rf"^\| {case['case']} \|.*", page, re.MULTILINE).group()
        cell = line.split("|")[3 + offset]
        assert [float(number) for number in re.findall(r"[\d.]+", cell)] == [median, low, high], f"{case['case']}, {variant}: {cell}"
        axes.errorbar(median, row + 0.36 * offset, xerr=[[median - low], [high - median]], fmt="o", color=colour, capsize=3,
                      label=measured["variants"][variant]["name"] if row == 0 else None)
        axes.text(high * 1.07, row + 0.36 * offset, cell.split()[0], va="center", fontsize=9)
axes.axvline(1, color="black", lw=0.8)
axes.set_xscale("log")
axes.set_xlim(0.7, 13)
axes.set_xticks([1, 2, 5, 10], ["1: hand-placed copies", "2", "5", "10"])
axes.minorticks_off()
axes.set_yticks([row + 0.18 for row in range(len(measured["cases"]))], [case["case"] for case in measured["cases"]])
axes.invert_yaxis()
axes.legend(loc="lower right", fontsize=8, bbox_to_anchor=(1, 1.0), ncols=2, frameon=False)
axes.spines[["top", "right"]].set_visible(False)
