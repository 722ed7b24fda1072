# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Sphinx's directives `measured-table` and `measured-plot`: what pictures.py names, drawn from docs/measurements while the pages are built."""
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from measured.draw import svg_of
from measured.measurements import Measurements
from measured.pictures import PLOTS, TABLES


class Measured(SphinxDirective):
    required_arguments = 1
    has_content = True  # a sentence that says what it shows

    def made(self, kinds):
        name = self.arguments[0]
        if name not in kinds:
            raise self.error(f"'{name}' is none of {', '.join(kinds)} in docs/measured/pictures.py")
        try:
            return kinds[name](Measurements(Path(self.env.app.confdir, "measurements")))
        except KeyError as missing:
            raise self.error(missing.args[0])

    def words(self):
        """What the directive says below what it shows."""
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        return parsed.children


class MeasuredTable(Measured):
    def run(self):
        made = self.made(TABLES)
        table, group = nodes.table(), nodes.tgroup(cols=len(made.head))
        group += [nodes.colspec(colwidth=1) for _ in made.head]
        for part, rows in ((nodes.thead(), [made.head]), (nodes.tbody(), made.rows)):
            for cells in rows:
                words = ["not measured" if cell is None else str(cell) for cell in cells]
                part += nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in words))
            group += part
        table += group
        return [table, *self.words()]


class MeasuredPlot(Measured):
    option_spec = {"alt": directives.unchanged_required}

    def run(self):
        if "alt" not in self.options or not self.content:
            raise self.error("a measured-plot needs :alt:, and a sentence that says what it shows")
        figure = nodes.figure("", nodes.raw(text=svg_of(self.made(PLOTS), self.options["alt"]), format="html"))
        figure += [nodes.caption("", "", *self.words()[0].children), *self.words()[1:]]
        return [figure]


def setup(app):
    app.add_directive("measured-table", MeasuredTable)
    app.add_directive("measured-plot", MeasuredPlot)
    return {"parallel_read_safe": True}
