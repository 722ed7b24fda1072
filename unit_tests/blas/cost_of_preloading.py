# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Measures what the preloaded library costs programs that call no BLAS: bash, gcc and git, with it, with an empty library and with none, in rounds
whose order turns.

cost_of_preloading.py LIBRARY [--rounds 11] [--json FILE]   LIBRARY: libsemcache_blas_preload.so

Prints medians and quartiles over the rounds of the wall time, the processor time (user and system, children included) and the largest resident memory
of any process, each over that without a library. The empty library shows what the loader takes for any. Ends with status 1 if an output differs.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = """for ((i = 0; i < 12; i++)); do
  for ((k = 0; k < 2500; k++)); do s=$((s * 31 + k & 65535)); echo line $s of $i; done | sort | sed 's/line/row/' | uniq | awk '{t += $2} END {print t}'
  x=$(echo $i; (exit 3) || echo no)
done; echo $x"""
SHORT = "for ((i = 0; i < 100; i++)); do /bin/true; done; echo $i"


def programs(folder):
    """A script with pipelines and other children, a compilation of 1200 functions, the history of the sources; and a script that does nothing but
    start programs that do nothing."""
    text = "".join(f"double f{i}(double x, int n) {{ for (int k = 0; k < n; ++k) x = x * {i}.5 + k; return x; }}\n" for i in range(1200))
    pathlib.Path(folder, "many.c").write_text(text)
    return {"bash": ["bash", "-c", SCRIPT],
            "gcc": ["gcc", "-O1", "-S", "-o", "-", f"{folder}/many.c"],
            "git": ["git", "-C", str(SOURCE), "--no-pager", "log", "--stat", "-n", "150", "HEAD"],
            "starts": ["bash", "-c", SHORT]}


def run(command, library, output):
    """Returns the seconds of the wall clock and of the processor, and the kibibytes of the largest process."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("SEMCACHE_")}
    if library:
        environment["LD_PRELOAD"] = library
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        to = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(to, 1)
        os.dup2(to, 2)
        os.execvpe(command[0], command, environment)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{command[0]} ended with {status}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json")
    options = parser.parse_args()
    figures, same = {}, True
    with tempfile.TemporaryDirectory() as folder:
        empty = f"{folder}/libempty.so"
        subprocess.run(["gcc", "-shared", "-o", empty, "-x", "c", "/dev/null"], check=True)
        variants = {"none": None, "empty": empty, "preloaded": str(pathlib.Path(options.library).resolve())}
        for name, command in programs(folder).items():
            rounds, outputs = [], set()
            for i in range(options.rounds + 1):
                of = {}
                for variant in [*variants][i % 3:] + [*variants][:i % 3]:
                    of[variant] = run(command, variants[variant], f"{folder}/output")
                    outputs.add(pathlib.Path(folder, "output").read_bytes())
                rounds += [of] if i > 0 else []  # the first one brings files into the cache
            same = same and len(outputs) == 1
            if len(outputs) > 1:
                print(f"{name}: the outputs differ")
            for k, what in enumerate(("wall", "processor", "memory")):
                for variant in "empty", "preloaded":
                    ratios = [of[variant][k] / of["none"][k] for of in rounds]
                    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
                    print(f"{name}, {what}, {variant}: {statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}]")
                figures.setdefault(f"{name}: {what}", {}).update({v: [round(of[v][k], 6) for of in rounds] for v in variants})
                print(f"{name}, {what}, none: {statistics.median(of['none'][k] for of in rounds):.4f} {'KiB' if what == 'memory' else 's'}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
