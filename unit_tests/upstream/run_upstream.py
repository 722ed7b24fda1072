# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Builds and runs Kokkos' own unit tests on semcache::Exec, asks the native space about what does not pass there, and
compares the differences with the list in docs/reference/upstream.md. It fails if a test differs that is not listed, and if a listed
one does not differ."""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys

# The environments of each mode. A test that does not fit the first budget gets the next one.
MODES = {
    "default": [{}],
    "check": [{"SEMCACHE_CHECK": "1"}],
    "write-through": [{"SEMCACHE_PROTOCOL": "write-through"}],
    "off": [{"SEMCACHE_PROTOCOL": "off"}],
    "budget": [{"SEMCACHE_DEVICE_MEMORY": size} for size in ("1M", "32M", "512M", "8G")],
}
TOO_SMALL = "(SEMCACHE_DEVICE_MEMORY)"  # what the message about a budget names

# The only differences by design; docs/reference/upstream.md says what they mean. What fails on the native space, too, is no difference.
REASONS = {"mirrors", "fences", "messages", "graph", "skips"}

# What --part runs: a few tests of everything that SemCache replaces.
PART = (
    "Bitset|DualView|DynViewAPI_rank12345|UnorderedMap|RandomCommon|Reductions_DeviceView|Reducers_a|MDRange_a|TeamScan|"
    "TeamScratch|ViewAPI_[abce]|ViewCopy_a|ViewOfClass|ViewMapping_a|SubView_c01|Crs|incremental_Test0.*"
)

PASSED, FAILED, SKIPPED = "passes", "fails", "is skipped"
CRASHED, HANGS, UNCOMPILED, MISSING = "crashes", "hangs", "does not compile", "is missing"
COMPILE, END = "(compile)", "(end)"  # of a program: before its first test and after its last one

Entry = collections.namedtuple("Entry", "test versions modes reason line")


# --- the list of expected differences -----------------------------------------------------------------------------


def read_expected(path):
    """Rows of four columns that begin with a test's name in backquotes: test, Kokkos versions, modes, reason."""
    entries = []
    with open(path, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("| `") or len(cells) < 4:
                continue
            entry = Entry(cells[0].strip("`"), words(cells[1]), words(cells[2]), cells[3], number)
            if entry.reason not in REASONS or not set(entry.modes) <= {"all", *MODES}:
                sys.exit(f"{path}:{number}: the reason is one of {sorted(REASONS)}, the modes are among {['all', *MODES]}")
            entries.append(entry)
    return entries


def words(text):
    return [word for word in re.split(r"[ ,]+", text) if word]


def is_version(version, wanted):
    """4.6.1.cuda is meant by 4.6.1.cuda, 4.6.1, 4.6 and 4."""
    return wanted == "all" or version.split(".")[: len(wanted.split("."))] == wanted.split(".")


def is_expected(entry, test, version, mode):
    return (
        entry.test == test
        and any(is_version(version, wanted) for wanted in entry.versions)
        and ("all" in entry.modes or mode in entry.modes)
    )


# --- results ------------------------------------------------------------------------------------------------------


def differs(here, native):
    """What passes here is right, whatever the native space does; what is skipped there may be skipped here."""
    if here == PASSED:
        return False
    return native in (PASSED, None) or (here != SKIPPED and native == SKIPPED)


def outcome_of(tests, test):
    if tests.get(COMPILE) == UNCOMPILED:
        return UNCOMPILED
    return tests.get(test)


def compare(results, native, entries, version):
    """results: mode -> program -> test -> outcome; native: program -> test -> outcome. Returns the differences that are not
    listed as (mode, test, outcome), those listed that are none as (entry, mode), and the tests that fail on both."""
    unlisted, obsolete, failing_too = [], [], set()
    for mode, programs in results.items():
        for program, tests in programs.items():
            there = native.get(program, {})
            for test in [*tests, *(t for t in there if t not in tests and tests[COMPILE] == PASSED)]:
                outcome = outcome_of(tests, test) or MISSING
                name = f"{program}/{test}"
                matching = [entry for entry in entries if is_expected(entry, name, version, mode)]
                if not differs(outcome, outcome_of(there, test)):
                    obsolete += [(entry, mode) for entry in matching]
                    if outcome not in (PASSED, SKIPPED):
                        failing_too.add(name)
                elif not matching:
                    unlisted.append((mode, name, outcome))
    return unlisted, obsolete, sorted(failing_too)


# --- building -----------------------------------------------------------------------------------------------------


def build(folder, space, programs, jobs, log):
    """Returns the programs that do not compile. Their messages go to the log."""
    command = ["cmake", "--build", folder, "-j", str(jobs), "--target", *(f"{space}_{p}" for p in programs), "--", "-k", "0"]
    failed, current = set(), None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as ninja:
        for line in ninja.stdout:
            if line.startswith("["):
                current = None
                say(f"build {line.split(']')[0][1:]}", end="\r")
            elif line.startswith("FAILED: "):
                match = re.search(rf"{space}_(\w+)\.dir/|bin/{space}/(\w+)", line)
                if not match:
                    sys.exit(f"{line}{ninja.stdout.read()}")
                current = match[1] or match[2]
                failed.add(current)
            if current:
                log.setdefault(current, []).append(line)
    if ninja.returncode and not failed:
        sys.exit(f"upstream: {' '.join(command[:4])} failed")
    return failed


# --- running ------------------------------------------------------------------------------------------------------

LINE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w./]+)")


def run_once(path, environment, skip, timeout):
    """Returns outcomes by test, the test that was running at the end (or None), how the program ended, and its output."""
    command = [path, "--gtest_color=no", "--gtest_filter=*-" + ":".join(skip)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment}, start_new_session=True
    )
    try:
        output = process.communicate(timeout=timeout)[0]
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output = process.communicate()[0]
        code = None
    output = output.decode(errors="replace")
    outcomes, running = {}, None
    # The summary at the end names tests again.
    for kind, test in LINE.findall(output.split("[----------] Global test environment tear-down")[0]):
        if kind == "RUN":
            running = test
        elif test == running:
            outcomes[test] = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}[kind]
            running = None
    return outcomes, running, code, output


def run_program(path, environment, timeout, done=()):
    """Outcomes by test but for those that are done, and what was printed. A program that ends in the middle is started again
    for the rest."""
    outcomes, outputs = {COMPILE: PASSED, END: PASSED}, []
    while True:
        skip = [test for test in (*done, *outcomes) if test not in (COMPILE, END)]
        found, running, code, output = run_once(path, environment, skip, timeout)
        outcomes.update(found)
        outputs.append(output)
        if running:
            outcomes[running] = HANGS if code is None else CRASHED
        elif code is None or (code != 0 and FAILED not in found.values()):
            outcomes[END] = HANGS if code is None else CRASHED
        if not running:
            return outcomes, "".join(outputs)


def printed_by(test, output):
    return output.rpartition(f"[ RUN      ] {test}\n")[2].partition("[ RUN      ]")[0]


def run_mode(path, environments, timeout):
    """As run_program. Each environment but the first is for the tests that did not pass in the one before, and said that its
    budget is too small."""
    outcomes, outputs, too_small = {}, [], set()
    for variables in environments:
        done = [test for test in outcomes if test not in too_small]
        found, output = run_program(path, {"SEMCACHE_FAULT_TIMEOUT": "20", **variables}, timeout, done)
        outcomes = {**found, **{test: outcome for test, outcome in outcomes.items() if test not in too_small}}
        outputs += [f"{variables}\n", output]
        too_small = {test for test in found if found[test] != PASSED and TOO_SMALL in printed_by(test, output)}
        if not too_small:
            break
    return outcomes, "".join(outputs)


def run_all(folder, space, programs, mode, options):
    results = {}

    def run(program):
        return run_mode(os.path.join(folder, "bin", space, program), MODES[mode], options.timeout)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for count, (program, (outcomes, output)) in enumerate(zip(programs, pool.map(run, programs)), 1):
            results[program] = outcomes
            write(folder, f"{space}-{mode}", program, output)
            say(f"{space}, {mode}: {count} of {len(programs)}, {program}", end="\r")
    return results


# --- the whole ----------------------------------------------------------------------------------------------------


def say(text, end="\n"):
    if end == "\n" or sys.stdout.isatty():
        print(f"upstream: {text}\033[K" if sys.stdout.isatty() else f"upstream: {text}", end=end, flush=True)


def write(folder, kind, program, text):
    path = os.path.join(folder, "logs", kind)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, program + ".txt"), "w", encoding="utf-8") as log:
        log.write(text)


def build_and_run(folder, space, programs, modes, options):
    """mode -> program -> test -> outcome"""
    log = {}
    failed = build(folder, space, programs, options.jobs, log)
    for program, lines in log.items():
        write(folder, f"{space}-build", program, "".join(lines))
    say(f"{space}: {len(programs) - len(failed)} of {len(programs)} programs compile")
    results = {}
    for mode in modes:
        results[mode] = run_all(folder, space, [p for p in programs if p not in failed], mode, options)
        outcomes = [outcome for tests in results[mode].values() for test, outcome in tests.items() if test not in (COMPILE, END)]
        counts = collections.Counter(outcomes)
        say(f"{space}, {mode}: {len(outcomes)} tests: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
        results[mode].update({program: {COMPILE: UNCOMPILED} for program in failed})
    return results


def select(programs, options):
    pattern = re.compile(PART if options.part else options.tests)
    chosen = [program for program in programs if pattern.fullmatch(program)]
    shard, shards = map(int, options.shard.split("/"))
    chosen = chosen[shard - 1 :: shards]
    if not chosen:
        sys.exit("upstream: no program is chosen")
    return chosen


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev upstream", description=__doc__)
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--expected", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--modes", default=",".join(MODES), help=f"some of {','.join(MODES)} (default: all)")
    parser.add_argument("--tests", default=".*", help="programs whose whole name matches this regular expression")
    parser.add_argument("--shard", default="1/1", help="I/N: the I-th of N shares of the programs")
    parser.add_argument("--part", action="store_true", help="the part that CI runs")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for a program (default: 1800)")
    return parser.parse_args()


def main():
    options = parse_arguments()
    modes = options.modes.split(",")
    if not set(modes) <= set(MODES):
        sys.exit(f"upstream: the modes are {', '.join(MODES)}")
    entries = read_expected(options.expected)
    with open(os.path.join(options.build, "programs.txt"), encoding="utf-8") as text:
        version, *programs = text.read().split()
    programs = select(programs, options)
    say(f"Kokkos {version}, {len(programs)} programs, modes {', '.join(modes)}")

    results = build_and_run(options.build, "exec", programs, modes, options)
    suspects = [p for p in programs if any(set(results[mode][p].values()) != {PASSED} for mode in modes)]
    native = {}
    if suspects:
        native = build_and_run(options.build, "native", suspects, ["default"], options)["default"]

    unlisted, obsolete, failing_too = compare(results, native, entries, version)
    for name in failing_too:
        say(f"fails on the native space, too: {name}")
    for entry, mode in obsolete:
        say(f"{options.expected}:{entry.line}: {entry.test} does not differ ({mode}): strike it out there")
    for mode, name, outcome in sorted(unlisted):
        say(f"differs from the native space and is not listed: {name} {outcome} ({mode})")
    say(
        f"Kokkos {version}: {len(programs)} programs, {len(unlisted)} unlisted differences, {len(obsolete)} listed ones that do "
        f"not differ; output in {os.path.join(options.build, 'logs')}"
    )
    sys.exit(1 if unlisted or obsolete else 0)


if __name__ == "__main__":
    main()
