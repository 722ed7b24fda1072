# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""The command semcache-report."""
import argparse
import os
import sys

from . import Failure, __version__

PAGE_WRITTEN, SOMETHING_MISSING, WRONG_USE, NO_PAGE = range(4)
MOST_SPANS = 80_000  # on the page, in all lanes together

DESCRIPTION = """Makes one HTML page from what a program wrote: reports (SEMCACHE_REPORT=report-%%r.json) and timelines
(SEMCACHE_TRACE=timeline-%%r.json) of all its processes, or what the advisor found in it (SEMCACHE_ADVISOR_REPORT=advice-%%r.json). The page says what moved, for which array and at which line, and what need not
move. It holds all that it needs, so that it can be sent to others. Nothing is loaded from the net."""
EPILOG = """Files are told apart by what is in them, and belong together by host, process and rank. What is missing or cut off is named on the
page and on stderr; the rest is shown.

exit status:
  0  the page is written
  1  the page is written, but something is missing: a file of no use, a file that is cut off, a rank
  2  wrong use of the command
  3  there is no page: no file was of use, Python, Jinja2 or D3 is missing, or the page cannot be written

example:
  SEMCACHE_REPORT=report-%%r.json SEMCACHE_TRACE=timeline-%%r.json mpirun -np 4 ./program
  semcache-report report-*.json timeline-*.json --source src -o run.html"""


def parser():
    p = argparse.ArgumentParser(
        prog="semcache-report",
        description=DESCRIPTION.replace("%%", "%"),
        epilog=EPILOG.replace("%%", "%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("files", metavar="FILE", nargs="+", help="a report or a timeline, in any order")
    p.add_argument("-o", "--output", metavar="FILE", default="semcache-report.html", help="where the page is written (default: %(default)s)")
    p.add_argument(
        "--source",
        metavar="DIR",
        action="append",
        default=[],
        help="a folder with the program's sources, whose lines the page shows; may be given several times",
    )
    p.add_argument("--title", metavar="TEXT", default="What moved", help="the page's title (default: %(default)s)")
    p.add_argument("--d3", metavar="FILE", help="a d3.min.js of version 3 with its licence beside it (default: that of Debian's libjs-d3)")
    p.add_argument("--version", action="version", version=f"semcache-report {__version__}")
    return p


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        return _make_page(options)
    except Failure as e:
        _say(str(e))
    except BrokenPipeError:
        _say("the page cannot be written: nobody reads it any more")
    return NO_PAGE


def _make_page(options):
    from . import d3, inputs, page, sources, summary

    for folder in options.source:
        if not os.path.isdir(folder):
            raise Failure(f"--source {folder} is no folder")
    library = d3.load(options.d3)
    found = inputs.read_all(options.files, MOST_SPANS)
    if not found.reports.processes and not found.advisor.processes and not found.timelines:
        raise Failure("no file is of use:\n  " + "\n  ".join(found.problems))
    result = summary.Summary(found, sources.Sources(options.source))
    page.write(page.render(result, library, options.title), options.output)
    for note in result.notes:
        _say(note)
    if options.output != "/dev/stdout":
        print(f"{options.output}: {len(result.processes):,} process(es)")
    return SOMETHING_MISSING if result.notes else PAGE_WRITTEN


def _say(text):
    text = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
    sys.stderr.write(f"semcache-report: {text}\n".encode(sys.stderr.encoding or "utf-8", "replace").decode(sys.stderr.encoding or "utf-8", "replace"))
