# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Breaks the sources in many ways, one at a time, and requires that the tests notice.

The rooms of rules.py are copied with all their mutants in them (schemata.py), compiled once, and linked with the objects of the tests
in front of the library. A first run of the unbroken programs tells which tests come to which mutant. Then each mutant is run with those
tests alone, quick ones first, until one fails (or crashes, or hangs: takes much longer than it took before). Ends with failure if a
mutant is not noticed and rules.py has no reason for that, if one is noticed that has a reason, or if a reason names none.
"""

import argparse
import concurrent.futures
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import rules
import schemata

# How long tests may take: without a mutant; at least, and in units of what they took, with one. On a loaded machine what is known to
# go unnoticed gets longer, so that it does not count as noticed.
FIRST_LIMIT_S = 1200
LEAST_LIMIT_S = 4
LIMIT_FACTOR = 10
KNOWN_FACTOR = 5
# What a mutant that never stops allocating gets.
MOST_BYTES = 6 << 30
# Tests that took less go together in one process, sorted by these; longer ones each in one of its own.
TOGETHER_MS = (5, 50, 300)
SLOW_MS = 300
ENVIRONMENT = {"SEMCACHE_ORACLE_MOVES": "4000", "SEMCACHE_ORACLE_SEEDS": "2", "GCOV_PREFIX": "gcov"}


class Program:
    """A linked test program, and of each of its tests the milliseconds and which mutants it comes to."""

    def __init__(self, path, scratch, environment, without):
        self.path, self.scratch, self.environment, self.without, self.tests = path, scratch, environment, without, {}

    def run(self, tests, variables, limit_s):
        """How the tests noticed; None if they passed."""
        number = f"{variables.get('MUTANT', 0)}_{variables.get('GTEST_SHARD_INDEX', 0)}"
        with open(os.path.join(self.scratch, f"output_{os.path.basename(self.path)}_{number}"), "w+b") as output:
            arguments = [self.path, "--gtest_brief=1", "--gtest_fail_fast"]
            arguments.append("--gtest_filter=" + ("-" + self.without if tests is None else ":".join(tests)))
            done = subprocess.Popen(arguments, cwd=self.scratch, env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = done.wait(limit_s)
            except subprocess.TimeoutExpired:
                status = None
            try:
                os.killpg(done.pid, signal.SIGKILL)  # with its child processes
            except ProcessLookupError:
                pass
            done.wait()
            output.seek(0)
            said = output.read(1 << 20).decode(errors="replace").splitlines()
            os.unlink(output.name)
        if status is None:
            return "hangs"
        if status == 0:
            return None
        for line in said:
            if line.startswith("[  FAILED  ]"):
                return line.split("]", 1)[1].split("(")[0].split(",")[0].strip()
        return next((line[10:90] for line in said if line.startswith("semcache: fatal") or "ERROR" in line), f"exit status {status}")

    def learn(self, shard, shards):
        """Runs one of `shards` equal parts of the tests without a mutant. How they failed; None if they passed."""
        reached = f"{self.path}.reached_{shard}"
        part = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
        failed = self.run(None, {"MUTANTS_REACHED": reached, **part}, FIRST_LIMIT_S)
        if failed is None:
            with open(reached, encoding="utf-8") as file:
                for line in file:
                    name, took, *numbers = line.split()
                    self.tests[name] = (float(took), {int(number) for number in numbers})
        return failed

    def groups(self, numbers, first):
        """[(tests, milliseconds)] that come to one of the mutants, in the order in which they are run."""
        tests = sorted((took, name) for name, (took, reached) in self.tests.items() if numbers & reached)
        chosen = [t for t in tests if first is not None and first.match(t[1])]
        groups = [[t] for t in chosen]
        tests = [t for t in tests if t not in chosen]
        for most in TOGETHER_MS:
            groups.append([t for t in tests if t[0] < most])
            tests = [t for t in tests if t[0] >= most]
        groups += [[t] for t in tests]
        return [([name for _, name in g], sum(took for took, _ in g)) for g in groups if g]


def try_out(trial, programs, known, slow):
    """(how it was noticed or None, whether any test comes to it)"""
    first = next((tests for pattern, tests in rules.FIRST if pattern.search(trial.name)), None)
    groups = [(program, *group) for program in programs for group in program.groups(trial.numbers, first)]
    if first is not None:
        groups.sort(key=lambda group: not first.match(group[1][0]))
    for program, tests, took in groups:
        if not slow and len(tests) == 1 and took >= SLOW_MS:
            continue
        limit_s = LEAST_LIMIT_S + LIMIT_FACTOR * took / 1000
        noticed = program.run(tests, {"MUTANT": trial.number_list()}, limit_s * (KNOWN_FACTOR if known else 1))
        if noticed is not None:
            return noticed, True
    return None, bool(groups)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help="the folder that contains semcache/")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--launcher", default="", help="a program in front of the compiler, as ccache")
    parser.add_argument("--library", nargs="+", required=True)
    parser.add_argument("--system", nargs="*", default=[], help="names of system libraries")
    parser.add_argument("--objects", nargs="+", action="append", required=True, help="of one test program; WRAP=name: a function that it wraps")
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[])
    parser.add_argument("--only", default=os.environ.get("MUTANTS_ONLY"), help="mutants whose name this regular expression is found in (or MUTANTS_ONLY in the environment)")
    parser.add_argument("--thorough", action="store_true", help="with slow tests, too, for those that are known to go unnoticed")
    parser.add_argument("--quick", action="store_true", help="without slow tests at all: a first look, which finds more survivors")
    parser.add_argument("--everything", action="store_true", help="all kinds of mutants everywhere; those of no rule are reported only")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2))
    options = parser.parse_args()

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    began = time.monotonic()
    shutil.rmtree(options.scratch, ignore_errors=True)
    copies = os.path.join(options.scratch, "semcache")
    shutil.copytree(os.path.join(options.source, "semcache"), copies)
    here = os.path.dirname(os.path.abspath(__file__))

    mutants, sources = [], []
    for path in rules.sources(options.source):
        with open(os.path.join(copies, path), encoding="utf-8") as file:
            text = file.read()
        if schemata.Source(path, text, [], lambda kind, name: False).rewritten() != text:
            print(f"FAIL {path}: without mutants the rewritten text should be the source's")
            return 1
        wanted = (lambda kind, name: True) if options.everything else rules.wanted
        with open(os.path.join(copies, path), "w", encoding="utf-8") as file:
            file.write(schemata.Source(path, text, mutants, wanted, rules.replacements(path)).rewritten())
        if path.endswith(".cpp"):
            sources.append(os.path.join(copies, path))

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)

    def build(arguments):
        """What the compiler says if it fails; None if it succeeds."""
        done = subprocess.run([*options.launcher.split(), options.compiler, *options.flags, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        return None if done.returncode == 0 else done.stdout[:2000]

    def compiled(source):
        return build(["-std=c++17", "-fPIC", "-O1", "-w", "-I", options.scratch, "-include", os.path.join(here, "mutant.hpp"),
                      "-c", source, "-o", source + ".o"])

    sources.append(os.path.join(here, "mutant.cpp"))
    shutil.copy(sources[-1], options.scratch)
    shutil.copy(os.path.join(here, "mutant.hpp"), options.scratch)
    sources[-1] = os.path.join(options.scratch, "mutant.cpp")
    for problem in pool.map(compiled, sources):
        if problem is not None:
            print(f"FAIL the rewritten sources do not compile: {problem}")
            return 1

    environment = {k: v for k, v in os.environ.items() if not k.startswith("SEMCACHE_")} | ENVIRONMENT
    programs = []
    for number, group in enumerate(options.objects):
        objects, wrapped, seen = [], [], set()
        for path in (p for paths in group for p in paths.split(";")):
            if path.startswith("WRAP="):
                wrapped.append(f"-Wl,--wrap={path[5:]}")
            elif os.path.basename(path) not in seen or not os.path.basename(path).startswith("fake_device"):
                objects.append(path)  # of the fake device each test program has an object of its own
            seen.add(os.path.basename(path))
        without = rules.CHANCE if options.thorough or options.everything else f"{rules.CHANCE}:{rules.LONG}"
        program = Program(os.path.join(options.scratch, f"tests_{number}"), options.scratch, environment, without)
        # The library is the last build's, the sources are today's.
        if problem := build([*objects, *(s + ".o" for s in sources), *options.library, *wrapped,
                             *(f"-l{name}" for name in options.system), "-o", program.path]):
            print(f"FAIL the tests do not link (were the sources edited after the build?): {problem}")
            return 1
        programs.append(program)
    print(f"{len(mutants)} mutants in {len(sources)} sources, compiled and linked after {time.monotonic() - began:.0f} s", flush=True)
    parts = [(program, shard) for program in programs for shard in range(options.jobs)]
    for noticed in pool.map(lambda part: part[0].learn(part[1], options.jobs), parts):
        if noticed is not None:
            print(f"FAIL without any mutant: {noticed}")
            return 1
    print(f"the tests pass without a mutant, after {time.monotonic() - began:.0f} s", flush=True)

    bad, known_count, others = 0, 0, 0
    # Those that are listed to be tried together are not tried alone as well, unless a rule has them.
    known_by_name = {mutant.name: mutant for mutant in mutants}
    trials = [schemata.Trial([m], rules.alone(m)) for m in mutants if options.everything or rules.alone(m)]
    for group in rules.LISTED:
        if len(group) > 1 and all(name in known_by_name for name in group):
            trials.append(schemata.Trial([known_by_name[name] for name in group], True))
    names = set(known_by_name) | {trial.name for trial in trials}
    for name in sorted((set(rules.UNNOTICED) | rules.NAMES) - names):
        print(f"FAIL {name}: rules.py names it, and there is no such mutant")
        bad += 1
    if options.only is not None:
        chosen = [trial for trial in trials if re.search(options.only, trial.name)]
    elif options.thorough or options.everything:
        chosen = trials
    else:
        chosen = [trial for trial in trials if trial.name not in rules.UNNOTICED]
        print(f"{len(trials) - len(chosen)} that are known to go unnoticed are not run; with them: --thorough")

    def outcome(trial):
        started = time.monotonic()
        known = rules.UNNOTICED.get(trial.name)
        slow = not options.quick and (known is None or options.thorough)
        return trial, known, *try_out(trial, programs, known is not None, slow), time.monotonic() - started

    for trial, known, noticed, reached, took in pool.map(outcome, chosen):
        wrong = trial.required and (noticed is None) == (known is None)
        if noticed is not None:
            verdict = f"caught by {noticed}" + (", so it leaves the list of those that go unnoticed" if known else "")
        elif known is not None:
            verdict = f"not noticed: {known}"
        else:
            verdict = "SURVIVES" + ("" if reached else ": no test comes to it")
        known_count += known is not None
        others += noticed is None and not trial.required
        bad += wrong
        print(f"{'FAIL' if wrong else 'ok  '} {took:5.1f} s  {trial.name} (line {trial.lines}; {trial.number_list()}): {verdict}", flush=True)
    if others > 0:
        print(f"{others} that go unnoticed belong to no rule, and are not listed")
    if known_count > 0 and not options.thorough:
        print(f"{known_count} that are known to go unnoticed were run with tests of less than {SLOW_MS} ms only; with all: --thorough")
    print(f"{len(chosen)} trials of {len(trials)}, {bad} with a wrong outcome, {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
