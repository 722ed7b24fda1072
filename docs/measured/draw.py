# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Draws a plot of pictures.py as SVG that takes the colour of text from the page around it, so it can be read on light and dark."""
import html
import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

# Each has a contrast of at least 3 to white and to black, and a mark of its own for who sees no colours.
MARKS = (("#1f8a4c", "o"), ("#c2611b", "s"), ("#3d7fd6", "D"), ("#808890", "^"))
PAGE = "#010203"  # stands for the page's colour of text
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "semcache", "font.family": "sans-serif", "font.size": 9, "text.color": PAGE, "axes.labelcolor": PAGE,
         "axes.edgecolor": PAGE, "xtick.color": PAGE, "ytick.color": PAGE}
WIDTH, LINE = 4.0, 0.165  # inches: as wide as a telephone shows without making letters small, and the height of a line
NUMBERS = 0.6  # how wide the numbers at the right are, beside the part with the marks


def draw_rows(axes, plot):
    """Draws one line below the other: a row's heading, then its figures. Returns the number of lines."""
    line = 0
    for heading, figures in plot.rows:
        axes.text(0, line, heading, transform=axes.get_yaxis_transform(), va="center", weight="bold", fontsize=8.5)
        for figure in figures:
            line += 1
            colour, mark = MARKS[plot.series.index(figure)]
            low, high = figures[figure].spread
            axes.plot([low, high], [line, line], color=colour, lw=2, solid_capstyle="round")
            if figures[figure].median is not None:
                axes.plot(figures[figure].median, line, mark, color=colour, ms=5)
            axes.text(1, line, str(figures[figure]), transform=axes.get_yaxis_transform(), va="center", ha="right", fontsize=8.5)
        axes.plot([plot.line, plot.line], [line - len(figures) + 0.5, line + 0.5], color=PAGE, lw=0.8, zorder=0)
        line += 1.5
    return line


def set_scale(axes, plot):
    """Leaves the right part of the plot to the numbers that are written there."""
    spreads = [figure.spread for _, figures in plot.rows for figure in figures.values()]
    least, largest = min([low for low, _ in spreads] + [plot.line]), max([high for _, high in spreads] + [plot.line])
    axes.set_xscale(plot.scale)
    if plot.scale == "log":
        margin = (largest / least) ** 0.05
        axes.set_xlim(least / margin, largest * margin * (largest / least) ** NUMBERS)
        ticks = [t for t in (0.5, 1, 2, 5, 10) if least / margin <= t <= largest * margin]
    else:
        margin = (largest - least) * 0.05
        axes.set_xlim(least - margin, largest + margin + (largest - least) * NUMBERS)
        ticks = [t for t in axes.get_xticks() if least - margin <= t <= largest + margin]
    axes.set_xticks(ticks, [f"{t:.3g}" for t in ticks])
    axes.minorticks_off()


def svg_of(plot, alt):
    """Returns the text of an element <svg> for a page of HTML."""
    with matplotlib.rc_context(STYLE):
        lines = sum(1.5 + len(figures) for _, figures in plot.rows)
        height = LINE * (lines + len(plot.series) + 1) + 0.7
        figure, axes = plt.subplots(figsize=(WIDTH, height), layout="constrained")
        axes.set_ylim(draw_rows(axes, plot) - 0.8, -0.8)
        set_scale(axes, plot)
        axes.set_yticks([])
        axes.set_xlabel(plot.axis, loc="left")
        axes.spines[["top", "right", "left"]].set_visible(False)
        handles = [plt.Line2D([], [], color=colour, marker=mark, lw=2, ms=5, label=series) for series, (colour, mark) in zip(plot.series, MARKS)]
        handles.append(plt.Line2D([], [], color=PAGE, lw=0.8, label=plot.line_is))
        figure.legend(handles=handles, loc="upper left", frameon=False, fontsize=8.5)
        figure.get_layout_engine().set(rect=(0, 0, 1, 1 - LINE * (len(plot.series) + 1.5) / height))
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        plt.close(figure)
    return for_page(file.getvalue(), alt)


def for_page(text, alt):
    """Makes a part of a page of a file: without a size, style sheet or names of its own that would meet those of the page."""
    text = text[text.index("<svg"):].replace(PAGE, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"(font: [^;\"]*?)'[^;\"]*sans-serif", r"\1sans-serif", text)
    start, rest = text.split(">", 1)
    start = re.sub(r' (width|height)="[^"]*"', "", start)
    style = "width: min(100%, 30rem); height: auto; stroke-linejoin: round; stroke-linecap: butt"
    return f'{start} role="img" aria-label="{html.escape(alt)}" style="{style}">{rest}'
