# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Runs variants of gemm_chain in turn, and gives the figures that the drop-in BLAS has bounds for.

pairs.py GEMM_CHAIN --n 4096 8192 16384 [--pairs 11] [--nvblas FILE --cpu-blas FILE] [--cublasxt] [--json FILE]

For each N, medians and quartiles of the pairs' ratios, the start of the device and its libraries off the clock:
- first round: SemCache over plain copies (hand-tuned-pageable), all matrices from malloc
- later rounds: SemCache over copies placed by hand on page-locked memory, A and B written anew; in each pair the medians of the rounds
- rewriting: the writes to A and B under SemCache over the same writes without it
- NVBLAS: ten rounds with A and B unchanged under NVBLAS, for each tile, with and without pinning, over those of SemCache
- cuBLASXt: the same with its best block, which a few rounds with several blocks find; each call page-locks its operands, or none does. Beside it, and
  not compared with the bound, the same where all matrices are page-locked once, before the clock starts
- the better one: the smallest of these medians of NVBLAS and cuBLASXt, each pinning per call as its options do
On an emulated device (SEMCACHE_DEVICE=emulated) times say nothing; it shows that all of this runs.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile


def run(program, folder, *options, environment=None):
    """Returns the report of one process."""
    report = pathlib.Path(folder, "chain.json")
    done = subprocess.run([program, "--quiet", "--start", "--report", str(report), *map(str, options)], env={**os.environ, **(environment or {})},
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(map(str, options))} ended with {done.returncode}: {done.stderr}")
    return json.loads(report.read_text())


def in_turn(pairs, first, second):
    """Runs both, `pairs` times, in turning order. Returns the pairs of what they return."""
    found = []
    for i in range(pairs):
        if i % 2 == 0:
            one = first()
            found.append((one, second()))
        else:
            other = second()
            found.append((first(), other))
    return found


def ratios(name, pairs, seconds, figures):
    values = [seconds(ours) / seconds(theirs) for ours, theirs in pairs]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    figures[name] = {"median": statistics.median(values), "quartiles": [low, high], "of_each": [[seconds(x) for x in pair] for pair in pairs]}
    print(f"  {name}: {statistics.median(values):.3f} [{low:.3f}, {high:.3f}]", flush=True)


def nvblas(options, n, folder):
    """Yields each way to run under NVBLAS: its name, and the variables."""
    for tile in tiles(n):
        for pins in False, True:
            config = pathlib.Path(folder, f"nvblas-{tile}-{pins}.conf")
            config.write_text(f"NVBLAS_LOGFILE {folder}/nvblas.log\nNVBLAS_CPU_BLAS_LIB {options.cpu_blas}\nNVBLAS_GPU_LIST 0\nNVBLAS_TILE_DIM {tile}\n"
                              + "NVBLAS_AUTOPIN_MEM_ENABLED\n" * pins)
            yield f"NVBLAS, tile {tile}, {'pinning' if pins else 'not pinning'}", {"NVBLAS_CONFIG_FILE": str(config), "LD_PRELOAD": options.nvblas}


def tiles(n):
    """The sizes of tiles or blocks that are tried."""
    return list(dict.fromkeys(t for t in (1024, 2048, 4096, n // 2) if 0 < t <= n // 2)) or [n]


def best_block(program, folder, n, pinning):
    """Returns the block whose rounds behind the first one are the fastest, and the seconds of such a round with each block."""
    seconds = {}
    for block in tiles(n):
        report = run(program, folder, "--n", n, "--variant", "cublasxt", "--block", block, "--pinning", pinning, "--rounds", 3)
        seconds[block] = statistics.median(report["seconds"][1:])
    return min(seconds, key=seconds.get), seconds


def the_better_one(names, figures):
    """Notes the smallest median of these, and whose it is."""
    if not names:
        return
    name = min(names, key=lambda name: figures[name]["median"])
    figures["the better one"] = {"which": name, **{key: figures[name][key] for key in ("median", "quartiles")}}
    print(f"  the better one: {name}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--n", type=int, nargs="+", default=[4096, 8192, 16384])
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--nvblas", help="libnvblas.so")
    parser.add_argument("--cpu-blas", help="the host's BLAS, which NVBLAS needs")
    parser.add_argument("--cublasxt", action="store_true", help="measure cuBLASXt, too, which needs a GPU")
    parser.add_argument("--json")
    options = parser.parse_args()
    if (options.nvblas is None) != (options.cpu_blas is None):
        parser.error("--nvblas and --cpu-blas belong together")
    all_figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in options.n:
            print(f"N = {n}")
            figures = all_figures[str(n)] = {}

            def variant(name, *more, environment=None, n=n):
                return lambda: run(options.program, folder, "--n", n, "--variant", name, *more, environment=environment)

            once = ["--rounds", 1]
            ratios("first round", in_turn(options.pairs, variant("write-back", *once), variant("hand-tuned-pageable", *once)),
                   lambda x: x["seconds"][0], figures)
            anew = ["--rounds", 6, "--rewrite"]
            ratios("later rounds", in_turn(options.pairs, variant("write-back", *anew), variant("hand-tuned", *anew)),
                   lambda x: statistics.median(x["seconds"][1:]), figures)
            ratios("rewriting", in_turn(options.pairs, variant("write-back", *anew), variant("hand-tuned-pageable", *anew)),
                   lambda x: statistics.median(x["rewrite_seconds"][1:]), figures)
            unchanged = ["--rounds", 10]
            for name, environment in nvblas(options, n, folder) if options.nvblas else ():
                ratios(name, in_turn(options.pairs, variant("cpu", *unchanged, environment=environment), variant("write-back", *unchanged)),
                       lambda x: sum(x["seconds"]), figures)
            others = [name for name in figures if name.startswith("NVBLAS")]
            for pinning in ("none", "per-call", "once") if options.cublasxt else ():
                block, tried = best_block(options.program, folder, n, pinning)
                name = f"cuBLASXt, pinning {pinning}"
                ratios(name, in_turn(options.pairs, variant("cublasxt", "--block", block, "--pinning", pinning, *unchanged),
                                     variant("write-back", *unchanged)),
                       lambda x: sum(x["seconds"]), figures)
                figures[name].update(block=block, seconds_of_a_round_with_each_block=tried)
                others += [name] * (pinning != "once")
            the_better_one(others, figures)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(all_figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
