# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What pairs.py makes of the programs' reports: a program with made-up times stands for gemm_chain.

test_pairs.py PAIRS_PY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

GEMM_CHAIN = """
import json, os, sys
o = dict(zip(sys.argv[3::2], sys.argv[4::2])) if "--rewrite" not in sys.argv else dict(zip(sys.argv[3:-1:2], sys.argv[4:-1:2]))
n, rounds, variant = int(o["--n"]), int(o["--rounds"]), o["--variant"]
with open(os.environ["LOG"], "a") as log:
    log.write(json.dumps([variant, o.get("--block"), o.get("--pinning"), rounds, os.environ.get("NVBLAS_CONFIG_FILE") is not None]) + "\\n")
second = {"write-back": 1.0, "hand-tuned": 0.5, "hand-tuned-pageable": 2.0, "cpu": 8.0}.get(variant)
if variant == "cublasxt":  # blocks of 1024 are best without pinning, those of 2048 with it
    pinning, block = o["--pinning"], int(o["--block"])
    second = {"none": 9.0, "per-call": 6.0, "once": 3.0}[pinning] * (1 if (block == 1024) == (pinning == "none") else 2)
if variant == "cpu" and os.environ.get("NVBLAS_CONFIG_FILE"):
    text = open(os.environ["NVBLAS_CONFIG_FILE"]).read()
    second = 7.0 if "TILE_DIM 2048" in text and "AUTOPIN" in text else 20.0
first = 100.0 if variant == "cublasxt" and rounds == 3 else second
json.dump({"seconds": [first] + [second] * (rounds - 1), "rewrite_seconds": [second] * rounds}, open(o["--report"], "w"))
"""


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r}, expected {expected!r}")


def measure(*options):
    with tempfile.TemporaryDirectory() as folder:
        program, figures, log = (pathlib.Path(folder, name) for name in ("gemm_chain", "figures.json", "log"))
        program.write_text("#!" + sys.executable + GEMM_CHAIN)
        program.chmod(0o755)
        done = subprocess.run([sys.executable, "-B", sys.argv[1], program, "--pairs", "3", "--json", figures, *options], env={**os.environ, "LOG": str(log)},
                              capture_output=True, text=True)
        expect("status, stderr", (done.returncode, done.stderr), (0, ""))
        return json.loads(figures.read_text()), [json.loads(line) for line in log.read_text().splitlines()]


def main():
    figures, calls = measure("--n", "4096")
    found = figures["4096"]
    expect("figures", list(found), ["first round", "later rounds", "rewriting"])
    expect("medians", [f["median"] for f in found.values()], [0.5, 2.0, 0.5])
    expect("without NVBLAS and cuBLASXt", {call[0] for call in calls}, {"write-back", "hand-tuned", "hand-tuned-pageable"})
    expect("turns", [call[0] for call in calls[:6]], ["write-back", "hand-tuned-pageable"] + ["hand-tuned-pageable", "write-back"] + ["write-back", "hand-tuned-pageable"])

    figures, calls = measure("--n", "4096", "--cublasxt")
    found = figures["4096"]
    for pinning, block, ratio in ("none", 1024, 9.0), ("per-call", 2048, 6.0), ("once", 2048, 3.0):
        of = found[f"cuBLASXt, pinning {pinning}"]
        expect(f"{pinning}: best block, ratio, quartiles", (of["block"], of["median"], of["quartiles"]), (block, ratio, [ratio, ratio]))
        expect(f"{pinning}: ten rounds each", of["of_each"], [[10 * ratio, 10.0]] * 3)
        other = {1024: 2048, 2048: 1024}[block]
        expect(f"{pinning}: blocks, without their first round", of["seconds_of_a_round_with_each_block"], {str(block): ratio, str(other): 2 * ratio})
        expect(f"{pinning}: only the best block in the pairs", [call[1] for call in calls if call[2] == pinning and call[3] == 10], [str(block)] * 3)
    expect("the better one", found["the better one"], {"which": "cuBLASXt, pinning per-call", "median": 6.0, "quartiles": [6.0, 6.0]})

    figures, calls = measure("--n", "4096", "16", "--cublasxt", "--nvblas", "/no/libnvblas.so", "--cpu-blas", "/no/libblas.so")
    expect("NVBLAS with tiles", [name for name in figures["4096"] if name.startswith("NVBLAS")],
           [f"NVBLAS, tile {tile}, {pins}" for tile in (1024, 2048) for pins in ("not pinning", "pinning")])
    expect("NVBLAS, best tile", figures["4096"]["NVBLAS, tile 2048, pinning"]["median"], 7.0)
    expect("the better one", figures["4096"]["the better one"]["which"], "cuBLASXt, pinning per-call")
    expect("a small matrix", [name for name in figures["16"] if "tile" in name], ["NVBLAS, tile 8, not pinning", "NVBLAS, tile 8, pinning"])


main()
