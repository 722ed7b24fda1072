# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What programs cost under semcache-run where it decides itself which calls to offload (auto), over the same programs on the host's BLAS, in turn.

auto_pairs.py GEMM_CHAIN SEMCACHE_RUN [--n 32 64 ... 16384] [--pairs 11] [--program NAME COMMAND]... [--enough FACTOR] [--json FILE]

Give the host's BLAS all cores (OMP_NUM_THREADS and its like are left as they are). Medians and quartiles of the pairs' ratios:
- gemm N: rounds of gemm_chain's three products (--variant cpu), in each process the median of the second half of its rounds
- NAME: the seconds of a whole process of COMMAND (one argument, split as a shell does). From those under semcache-run the seconds of a device's start are
  taken away if a call was offloaded. They are measured before, as gemm_chain --start states them
  With --enough the process on the host comes second, and is ended when it has taken FACTOR times as long as the one under semcache-run, because some take
  minutes there. A ratio is then at most the one that is stated, and "ended" says of how many pairs it is so
"calls" says what became of the calls in the last process under semcache-run. A gemm whose rounds end before a device starts shows no offloaded ones.
On an emulated device (SEMCACHE_DEVICE=emulated) times say nothing; it shows that all of this runs.
"""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import pairs


def rounds_of(n):
    """Small products are repeated until a round's time can be told."""
    return max(4, min(2000, 2**33 // n**3))


def calls_in(report):
    """Returns how often which call went where, as a report says; nothing if there is none, because the process called no BLAS."""
    return {call["what"]: call["count"] for call in json.loads(report.read_text())["library_calls"]} if report.exists() else {}


def was_offloaded(calls):
    return any(" on the device" in what for what in calls)


class Programs:
    def __init__(self, options, folder):
        self.options, self.report, self.chain = options, pathlib.Path(folder, "semcache.json"), pathlib.Path(folder, "chain.json")
        self.calls = {}
        self.under_semcache_seconds = 0  # of the last process
        self.ended = 0

    def process(self, command, under_semcache, most_seconds=None):
        """Runs one process; for so long at most. @return its seconds"""
        self.report.unlink(missing_ok=True)
        if under_semcache:
            command = [self.options.runner, "--offload=auto", f"--report={self.report}", *command]
        begin = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=most_seconds)
        except subprocess.TimeoutExpired:
            self.ended += 1
            return most_seconds
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"{shlex.join(map(str, command))} ended with {done.returncode}: {done.stderr}")
        if under_semcache:
            self.calls, self.under_semcache_seconds = calls_in(self.report), seconds
        return seconds

    def gemm(self, n, under_semcache):
        """@return the seconds of a round, behind the first half of them"""
        self.process([self.options.program, "--quiet", "--variant", "cpu", "--n", str(n), "--rounds", str(rounds_of(n)), "--report", str(self.chain)],
                     under_semcache)
        seconds = json.loads(self.chain.read_text())["seconds"]
        return statistics.median(seconds[len(seconds) // 2:])

    def whole(self, command, under_semcache, start):
        """@return the seconds of the process, without those of a device's start"""
        bounded = self.options.enough is not None and not under_semcache
        seconds = self.process(command, under_semcache, self.options.enough * self.under_semcache_seconds if bounded else None)
        return seconds - start if under_semcache and was_offloaded(self.calls) else seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="gemm_chain")
    parser.add_argument("runner", help="semcache-run")
    parser.add_argument("--n", type=int, nargs="*", default=[2**i for i in range(5, 15)])
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--program", dest="programs", nargs=2, action="append", default=[], metavar=("NAME", "COMMAND"))
    parser.add_argument("--enough", type=float, metavar="FACTOR", help="end a program on the host when it has taken so many times as long, at least 1")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.enough is not None and not options.enough >= 1:
        parser.error(f"--enough {options.enough}: a factor of at least 1 is needed")
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(options, folder)

        def measure(name, run, in_turn=pairs.in_turn):
            programs.ended = 0
            pairs.ratios(name, in_turn(options.pairs, lambda: run(True), lambda: run(False)), lambda seconds: seconds, figures)
            figures[name].update(calls=programs.calls, ended=programs.ended)
            if programs.ended:
                print(f"    at most: in {programs.ended} pairs the process on the host was ended")

        for n in options.n:
            measure(f"gemm {n}", lambda under_semcache, n=n: programs.gemm(n, under_semcache))
        start = 0
        if options.programs:
            starts = [pairs.run(options.program, folder, "--n", 16, "--variant", "write-back")["start_seconds"] for _ in range(3)]
            start = figures["start_seconds"] = statistics.median(starts)
            print(f"  start of a device: {start:.3f} s", flush=True)
        for name, command in options.programs:
            in_turn = pairs.in_turn if options.enough is None else lambda count, first, second: [(first(), second()) for _ in range(count)]
            measure(name, lambda under_semcache, command=shlex.split(command): programs.whole(command, under_semcache, start), in_turn)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
