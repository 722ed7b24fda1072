# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Figures as files have them, and as people read them."""
import math

TRAFFIC = (
    "h2d",
    "d2h",
    "between_devices",
    "d2d",
    "h2h",
    "filled",
    "saved_link",
    "saved_device",
    "saved_host",
    "avoided",
    "deferred",
    "dropped",
    "write_through",
    "read_ahead",
    "read_ahead_lost",
    "write_ahead",
    "unchanged",
    "rewritten",
    "written_back",
)
EVENTS = (
    "host_faults",
    "evictions",
    "opened",
    "unannounced",
    "peer_launches",
    "hulls",
    "launches",
    "unknown_launches",
    "native_captures",
    "device_waits",
)
LINKS = ("h2d", "d2h", "between_devices")


def number(facts, key):
    """Returns a figure that is no negative number, or 0 where there is none."""
    value = facts.get(key, 0) if isinstance(facts, dict) else 0
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    return value if good else 0


def count(facts, key):
    return int(number(facts, key))


def seconds(facts, key):
    return float(number(facts, key))


def traffic_of(facts, key):
    """Returns the bytes of a counter of traffic."""
    return count(facts.get(key), "bytes")


def counters(facts):
    """Returns all counters of a total, a label or a call site as plain figures; those of traffic are bytes."""
    return {**{key: traffic_of(facts, key) for key in TRAFFIC}, **{key: count(facts, key) for key in EVENTS}}


def derived(sums):
    """Returns the counters with those that only people read: what crossed a link, what did not leave its memory, and what was preserved."""
    on_device = sums["d2d"] - min(sums["d2d"], sums["between_devices"])
    return {
        **sums,
        "moved": sum(sums[key] for key in LINKS),
        "preserved": sums["saved_link"] + sums["saved_device"] + sums["saved_host"],
        "within": on_device + sums["h2h"] + sums["filled"],
    }


def process_key(facts):
    """Returns who wrote a file: the same for a report and a timeline of one process."""
    return (count(facts, "rank"), str(facts.get("host", "?")), count(facts, "process"))


def who(key):
    return f"rank {key[0]}, process {key[2]} on {key[1]}"


def human_bytes(value):
    """Returns "0 B", "512 B", "4.00 KiB" or "15.0 GiB", as the text report does."""
    scaled, units = float(value), ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while scaled >= 1024 and len(units) > 1:
        scaled /= 1024
        units.pop(0)
    return f"{value:,} B" if units[0] == "B" else f"{scaled:.2f} {units[0]}" if scaled < 10 else f"{scaled:,.1f} {units[0]}"


def short_site(name, most=4):
    """Returns a call site for people. In a program without symbols a site is all addresses of the calls under way; the innermost ones suffice."""
    calls = name.split(" < ")
    return name if len(calls) <= most else " < ".join(calls[:most]) + f" < ... ({len(calls) - most} more)"


def human_seconds(value):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:,.3g} {unit}" if value / size < 1000 else f"{value / size:,.0f} {unit}"
    return f"{value * 1e9:.3g} ns"


def percent(part, whole):
    """Returns a share in whole percent, but neither 0 nor 100 where it is not that."""
    if not whole:
        return "0 %"
    rounded = round(100 * part / whole)
    return "below 1 %" if part and rounded == 0 else "over 99 %" if part < whole and rounded == 100 else f"{rounded} %"
