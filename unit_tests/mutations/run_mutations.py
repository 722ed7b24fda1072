# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Breaks the sources in many ways, one at a time, and requires that the tests notice.

For each mutation: the one mutated file is compiled, linked with the objects of the tests in front of the library, and
the program must fail (or crash, or hang: take much longer than without a mutation). Ends with a table, and with failure
if a mutation survives, does not compile, or no longer finds its source text.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time

import rules
from mutations import MUTATIONS

# How long tests may take: without a mutation, and at least and in units of that with one.
FIRST_LIMIT_S = 1200
LEAST_LIMIT_S = 60
LIMIT_FACTOR = 4
# Quick, targeted tests first; then random programs.
ROUNDS = [
    (["--gtest_filter=-Oracle.*"], {}),
    (["--gtest_filter=Oracle.*"], {"SEMCACHE_ORACLE_MOVES": "4000", "SEMCACHE_ORACLE_SEEDS": "2"}),
]


def mutate(text, changes):
    """The mutated text, or the reason why there is none."""
    for change in changes:
        old, new = change[0], change[1]
        expected = change[2] if len(change) > 2 else 1
        if text.count(old) != expected:
            return None, f"its source text occurs {text.count(old)} times instead of {expected}: {old.strip()[:80]!r}"
        text = text.replace(old, new)
    return text, None


def run_tests(program, environment, scratch, limit_s):
    """How the tests noticed; None if they passed."""
    for arguments, variables in ROUNDS:
        try:
            done = subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast", *arguments], cwd=scratch,
                                  env={**environment, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=limit_s, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return "hangs"
        if done.returncode != 0:
            for line in done.stdout.splitlines():
                if line.startswith("[  FAILED  ]"):
                    return line.split("]", 1)[1].split("(")[0].strip()
                if line.startswith("semcache: "):
                    return line[10:90]
            return f"exit status {done.returncode}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help="the folder that contains semcache/")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--library", nargs="+", required=True)
    parser.add_argument("--system", nargs="*", default=[], help="names of system libraries")
    parser.add_argument("--objects", nargs="+", required=True)
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[])
    parser.add_argument("--only", help="mutations whose text contains this")
    parser.add_argument("--rules", action="store_true", help="those of rules.py instead of the list of mutations.py")
    options = parser.parse_args()

    shutil.rmtree(options.scratch, ignore_errors=True)
    os.makedirs(options.scratch)
    objects, seen = [], set()
    for path in (p for group in options.objects for p in group.split(";")):
        if os.path.basename(path) not in seen or not os.path.basename(path).startswith("fake_device"):
            objects.append(path)
        seen.add(os.path.basename(path))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SEMCACHE_")}
    program = os.path.join(options.scratch, "mutant")

    def build(arguments):
        """What the compiler says if it fails; None if it succeeds."""
        done = subprocess.run([options.compiler, *options.flags, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        return None if done.returncode == 0 else done.stdout[:400]

    def link(extra):
        return build([*objects, *extra, *options.library, *(f"-l{name}" for name in options.system), "-o", program])

    if (problem := link([])) is not None:
        print(f"the tests do not link without any mutation: {problem}")
        return 1
    began = time.monotonic()
    if (noticed := run_tests(program, environment, options.scratch, FIRST_LIMIT_S)) is not None:
        print(f"the tests fail without any mutation: {noticed}")
        return 1
    limit_s = max(LEAST_LIMIT_S, LIMIT_FACTOR * (time.monotonic() - began))

    def listed():
        for what, name, changes in MUTATIONS:
            with open(os.path.join(options.source, "semcache", name), encoding="utf-8") as file:
                yield what, name, *mutate(file.read(), changes)

    def by_rule():
        for what, name, text in rules.mutations(options.source):
            yield what, name, text, None

    bad = 0
    tried = set()
    for what, name, text, problem in by_rule() if options.rules else listed():
        if options.only and options.only not in what:
            continue
        began = time.monotonic()
        tried.add(what)
        known = rules.UNNOTICED.get(what) if options.rules else None
        noticed = None
        if problem is None:
            source = os.path.join(options.scratch, os.path.basename(name))
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            # The library is the last build's, the sources are today's.
            if said := build(["-std=c++17", "-fPIC", "-O1", "-w", "-I", options.source, "-c", source,
                              "-o", source + ".o"]):
                problem = "it does not compile: " + said
            elif said := link([source + ".o"]):
                problem = "it does not link (were the sources edited after the build?): " + said
            else:
                noticed = run_tests(program, environment, options.scratch, limit_s)
                problem = "SURVIVES" if noticed is None else None
        if known is not None:
            problem = None if problem == "SURVIVES" else problem or "is noticed now: it leaves the list of those that are not"
        verdict = problem or (f"not noticed: {known}" if known else f"caught by {noticed}")
        bad += problem is not None
        print(f"{'FAIL' if problem else 'ok  '} {time.monotonic() - began:5.1f} s  {name:26} {what}: {verdict}", flush=True)
    if options.rules and not options.only:
        for gone in sorted(set(rules.UNNOTICED) - tried):
            print(f"FAIL {gone}: there is no such mutation any more")
            bad += 1
    print(f"{len(tried)} mutations, {bad} with a wrong outcome")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
