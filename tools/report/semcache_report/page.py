# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Makes the page from what was found out, and writes it."""
import json
import os
import tempfile

from . import Failure, __version__
from .figures import LINKS, human_bytes, human_seconds, percent, short_site
from .lanes import lanes_data

TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
MOST_ROWS = 200
MOST_PROCESSES = 4096
BARS_OF_LABELS = 12


def render(summary, d3, title):
    """Returns the page as one text."""
    try:
        import jinja2
    except ImportError:
        raise Failure("Python finds no Jinja2, which makes the page. Please install it: apt-get install python3-jinja2") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        short=shortened, site=short_site, bytes=human_bytes, seconds=human_seconds, figure=lambda n: f"{n:,}", embedded=embedded
    )
    rates, rates_from = summary.rates()
    over_time = summary.over_time()
    data = {
        "labels": _label_bars(summary.labels),
        "time": over_time and {k: v for k, v in over_time.items() if k != "launches"},
        "ranks": _rank_bars(summary),
        "advisor": summary.advisor.bars(),
        "timeline": lanes_data(summary.timelines, summary.shifts_us),
    }
    sites = [
        {"name": name, "c": c, "line": line, "place": place} for name, c in summary.sites[:MOST_ROWS] for line, place in [summary.sources.line(name)]
    ]
    findings = summary.advisor.findings()
    for finding in findings[:MOST_ROWS]:
        finding["line"], finding["place"] = summary.sources.line(finding["site"])
    return environment.get_template("page.html.j2").render(
        title=title,
        version=__version__,
        d3=d3,
        s=summary,
        total=summary.total,
        verdict=summary.verdict(),
        percent=percent,
        data=data,
        sites=sites,
        findings=findings,
        advised=sorted(summary.advisor.processes.items()),
        total_columns={k for k, n in summary.total.items() if n or k in ("h2d", "d2h", "avoided")},
        advice=summary.reports.advice.lines(rates),
        rates=rates,
        rates_from=rates_from,
        over_time=over_time,
        most_rows=MOST_ROWS,
        most_processes=MOST_PROCESSES,
        processes=sorted(summary.reports.processes.items()),
        drawn=_drawn(summary.timelines),
        style=_file("style.css"),
        scripts=[_file("charts.js"), _file("timeline.js")],
    )


def shortened(text, most=48):
    return text if len(text) <= most else text[: most - 1] + "…"


def embedded(data):
    """Returns data as JSON that no HTML can end: labels come from programs."""
    text = json.dumps(data, separators=(",", ":"))  # ASCII only
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def write(page, path):
    """Writes the page: it appears complete or not at all."""
    folder, temporary = os.path.dirname(os.path.abspath(path)), None
    try:
        if os.path.isdir(path):
            raise Failure(f"the page cannot be written: {path} is a folder; name a file in it: -o {path.rstrip('/')}/semcache-report.html")
        if os.path.exists(path) and not os.path.isfile(path):  # /dev/stdout
            with open(path, "w", encoding="utf-8", errors="replace") as file:
                file.write(page)
            return
        handle, temporary = tempfile.mkstemp(prefix=".semcache-report-", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as e:
        raise Failure(f"the page cannot be written: {path}: {e.strerror}. Choose another place by -o, or make room") from None
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def _label_bars(labels):
    moved = [(name, c) for name, c in labels if c["moved"]]
    bars = [{"name": name, **{k: c[k] for k in LINKS}} for name, c in moved[:BARS_OF_LABELS]]
    if len(moved) > BARS_OF_LABELS:
        rest = moved[BARS_OF_LABELS:]
        bars.append({"name": f"({len(rest):,} more)", **{k: sum(c[k] for _, c in rest) for k in LINKS}})
    return bars


def _rank_bars(summary):
    return [{"name": f"rank {key[0]}", **{k: c[k] for k in LINKS}} for key, c in sorted(summary.reports.processes.items())[:MOST_PROCESSES]]


def _drawn(timelines):
    shown = [t.shown() for t in timelines]
    return {
        "events": sum(t.events for t in timelines),
        "spans": sum(n for n, _ in shown),
        "joined": sum(n for _, n in shown),
        "resolution_us": max((t.resolution_us for t in timelines), default=0),
        "untimed_copies": sum(t.untimed_copies for t in timelines),
        "submitted": any(t.transfer_times == "submitted" for t in timelines),
    }


def _file(name):
    with open(os.path.join(TEMPLATES, name), encoding="utf-8") as file:
        return file.read()
