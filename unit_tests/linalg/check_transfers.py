#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Checks what the miniapps' reports say of transfers: check_transfers.py CG JACOBI

The figures of links and devices must add up to the totals, and jacobi must move no byte more than its method needs."""
import json
import subprocess
import sys
import tempfile


def transfers(program, *arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([program, *map(str, arguments), "--verify", "--report", report.name], check=True, stdout=subprocess.DEVNULL)
        return json.load(report)["transfers"]


def expect(what, got, expected):
    if got != expected:
        sys.exit(f"{what}: {got}, expected {expected}")


def check_sums(name, t, devices):
    expect(f"{name}: devices", len(t["devices"]), devices)
    kinds = {"h2d": lambda l: l["from"] == "host", "d2h": lambda l: l["to"] == "host", "between_devices": lambda l: "host" not in (l["from"], l["to"])}
    for unit in ("bytes", "count"):
        for kind, belongs in kinds.items():
            expect(f"{name}: {unit} of {kind} by link", sum(l[unit] for l in t["links"] if belongs(l)), t[kind][unit])
        for kind, column in (("h2d", "h2d"), ("d2h", "d2h"), ("between_devices", "from_devices"), ("between_devices", "to_devices")):
            expect(f"{name}: {unit} of {kind} by device", sum(d[column][unit] for d in t["devices"]), t[kind][unit])


def check_jacobi(program, devices):
    """The matrix crosses once, and then each device gets what the others have computed."""
    n, name = 300, f"jacobi on {devices}"
    few, more = (transfers(program, "--n", n, "--devices", devices, "--iterations", i) for i in (2, 7))
    check_sums(name, more, devices)
    expect(f"{name}: bytes to devices", more["h2d"]["bytes"], few["h2d"]["bytes"])
    expect(f"{name}: bytes to devices for vectors", more["h2d"]["bytes"] - 8 * n * n in range(0, 4 * 8 * n + 1), True)
    expect(f"{name}: bytes between devices, 5 iterations", more["between_devices"]["bytes"] - few["between_devices"]["bytes"], 5 * (devices - 1) * n * 8)
    # Convergence values alone: the sums of at most 128 blocks.
    to_host = more["d2h"]["bytes"] - few["d2h"]["bytes"]
    expect(f"{name}: {to_host} bytes to the host, 5 iterations, are sums alone", 0 < to_host <= 5 * 128 * 8, True)


def main():
    cg, jacobi = sys.argv[1:]
    check_sums("cg", transfers(cg, "--n", 12, "--devices", 3, "--iterations", 5), 3)
    for devices in range(1, 9):
        check_jacobi(jacobi, devices)


main()
