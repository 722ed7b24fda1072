#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Checks what the miniapps' reports say of transfers: check_transfers.py CG JACOBI GEMM_SUM

The figures of links and devices must add up to the totals, and no program may move a byte more than its method needs. The time of a solve is that of
all its iterations, also where scalars stay on the devices."""
import json
import subprocess
import sys
import tempfile


def report_of(program, *arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([program, *map(str, arguments), "--verify", "--report", report.name], check=True, stdout=subprocess.DEVNULL)
        return json.load(report)


def transfers(program, *arguments):
    return report_of(program, *arguments)["transfers"]


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


def check_cg(program, matrix, n, rows, entries, border, devices):
    """Matrix and vectors cross once, and then each device gets what lies behind its borders: `border` entries of the vector on each side."""
    name = f"cg {matrix} on {devices}"
    few, more = (transfers(program, "--matrix", matrix, "--n", n, "--devices", devices, "--iterations", i) for i in (2, 7))
    check_sums(name, more, devices)
    expect(f"{name}: bytes to devices", more["h2d"]["bytes"], 12 * entries + 4 * (rows + 1) + 16 * rows)
    expect(f"{name}: bytes to devices, 5 iterations", more["h2d"]["bytes"] - few["h2d"]["bytes"], 0)
    of_product = 2 * (devices - 1) * border * 8
    # One product more than iterations. The row pointer at a border is read on both sides.
    expect(f"{name}: bytes between devices", more["between_devices"]["bytes"], 8 * of_product + 4 * (devices - 1))
    expect(f"{name}: bytes between devices, 5 iterations", more["between_devices"]["bytes"] - few["between_devices"]["bytes"], 5 * of_product)
    to_host = more["d2h"]["bytes"] - few["d2h"]["bytes"]
    expect(f"{name}: {to_host} bytes to the host, 5 iterations, are sums of two dots alone", 0 < to_host <= 5 * 2 * 128 * 8, True)


def check_gemm_sum(program, devices):
    """A, B and C cross once, A reaches each device, the sum moves nothing, and D crosses once."""
    n, name = 160, f"gemm_sum on {devices}"
    t = transfers(program, "--n", n, "--devices", devices)
    check_sums(name, t, devices)
    moved = {kind: t[kind]["bytes"] for kind in ("h2d", "between_devices", "d2h")}
    expect(f"{name}: bytes", moved, {"h2d": 3 * n * n * 8, "between_devices": (devices - 1) * n * n * 8, "d2h": n * n * 8})
    expect(f"{name}: waits for a device", t["device_waits"], 0)


def check_times(cg, *options):
    """The data come in the first iteration, which no other one is averaged with."""
    report, name = report_of(cg, "--n", 12, "--devices", 2, "--iterations", 5, "--solves", 3, *options), " ".join(["times of cg", *options])
    expect(f"{name}: iterations and solves", (len(report["seconds"]), len(report["solve_seconds"])), (5, 3))
    expect(f"{name}: the last solve", abs(sum(report["seconds"]) - report["solve_seconds"][-1]) < 1e-9, True)
    if options:
        expect(f"{name}: mean of the iterations behind the first", len(set(report["seconds"][1:])), 1)


def main():
    cg, jacobi, gemm_sum = sys.argv[1:]
    check_times(cg)
    check_times(cg, "--device-scalars")
    check_sums("cg", transfers(cg, "--n", 12, "--devices", 3, "--iterations", 5), 3)
    for devices in range(1, 9):
        check_jacobi(jacobi, devices)
        check_cg(cg, "7-point", 16, 16**3, 7 * 16**3 - 6 * 16**2, 16**2, devices)
        check_cg(cg, "tridiagonal", 3000, 3000, 3 * 3000 - 2, 1, devices)
        check_gemm_sum(gemm_sum, devices)


main()
