# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Runs programs with and without semcache-run, and compares what they print, and the bytes that moved.

check_programs.py SEMCACHE_RUN PROGRAMS CASE...   PROGRAMS: the compiled test_blas_programs; of some cases another program or library
"""
import collections
import ctypes
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PYTHON = "/usr/bin/python3"  # of the distribution, which has NumPy
MIB = 1 << 20
ON_DEVICE = "BLAS dgemm on the device"
IN_PIECES = " on the device, in pieces: the operands together exceed its memory"
OF_LEVEL_3 = set("dgemm zgemm dsymm zsymm zhemm dsyrk zsyrk zherk dsyr2k zsyr2k zher2k dtrmm ztrmm dtrsm ztrsm".split())
# When it is imported, NumPy computes a product of two numbers with themselves.
OF_NUMPY_ITSELF, BYTES_OF_NUMPY_ITSELF = "BLAS sdot", 2 * 8


def run(command, options=None, environment=None, runner=None):
    """Runs a command, under semcache-run if options are given. Returns its output, its status and the report."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        if options is not None:
            command = [runner, f"--report={report}", *options, *command]
        done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "0", **(environment or {})}, capture_output=True, text=True, timeout=240)
        return done.stdout, done.returncode, json.loads(report.read_text()) if report.exists() else None, done.stderr


class Checks:
    def __init__(self, runner, programs):
        self.runner, self.programs, self.failures = runner, programs, 0

    def expect(self, what, found, expected):
        if found != expected:
            self.failures += 1
            print(f"  {what}: {found!r}, expected {expected!r}")

    def same(self, command, options=("--emulate", "--offload=always"), environment=None, h2d=None, d2h=None, calls=None, status=0, stderr=None):
        """Expects the output of the plain command, and the bytes and the calls of the report. Returns the report, if one was written."""
        plain = run(command, environment=environment)
        out, code, report, errors = run(command, list(options), environment, self.runner)
        print("  " + " ".join(map(str, command[-2:])))
        self.expect("status without semcache-run", plain[1], status)
        self.expect("status", code, status)
        self.expect("output", out, plain[0])
        self.expect("some output", plain[0] != "", True)
        self.expect("stderr", errors, plain[3] if stderr is None else stderr)
        if report is None and status < 0:
            return None  # a process that a signal ends writes none
        if report is None:
            return self.expect("report", None, "written")
        found = {c["what"]: c["count"] for c in report["library_calls"] if not (command[0] == PYTHON and c["what"].startswith(OF_NUMPY_ITSELF))}
        if calls is not None:
            self.expect("calls", found, calls)
        for name, expected in ("h2d", h2d), ("d2h", d2h):
            if expected is not None:
                self.expect(name + " bytes", report["total"][name]["bytes"], expected)
        return report

    def program(self, case, **expected):
        self.same([self.programs, case], **expected)

    def script(self, name, *arguments, **expected):
        return self.same([PYTHON, str(HERE / name), *arguments], **expected)


def numpy_chain(c):
    """The minimum: A and B cross the link once, E comes back. 512 x 512 doubles are 2 MiB."""
    own = BYTES_OF_NUMPY_ITSELF
    c.script("chain.py", h2d=4 * MIB + own, d2h=2 * MIB, calls={ON_DEVICE: 3})
    c.script("chain.py", options=["--emulate", "--offload=always", "--protocol=write-through"], h2d=4 * MIB + own, d2h=6 * MIB, calls={ON_DEVICE: 3})
    c.script("chain.py", options=["--emulate", "--offload=always", "--protocol=off"], h2d=12 * MIB + own, d2h=6 * MIB, calls={ON_DEVICE: 3})
    # Matrices that are no whole pages: what stands for them on the device is the bytes asked for, so that each call uses all of it.
    report = c.script("chain.py", "500", h2d=2 * 2000000 + own, d2h=2000000, calls={ON_DEVICE: 3})
    c.expect("bytes of the five matrices on the device", report["memory"]["live_device_bytes"], 5 * 2000000)
    # In place: of each result the first page and the last, which have other data, come back at once; together they are a page.
    in_place = {"SEMCACHE_BLAS_GUARD": "16"}
    c.script("chain.py", options=["--emulate", "--offload=always", "--malloc=0"], environment=in_place, h2d=4 * MIB + own, d2h=2 * MIB + 2 * 4096)
    sent = {"SEMCACHE_BLAS_GUARD": "1000000"}
    c.script("chain.py", options=["--emulate", "--offload=always", "--malloc=0"], environment=sent, h2d=12 * MIB + own, d2h=6 * MIB)


def numpy_uses(c):
    c.script("numpy_uses.py")
    c.script("numpy_uses.py", options=["--emulate", "--offload=always", "--malloc=4096"])
    c.script("numpy_uses.py", options=["--emulate", "--offload=always", "--malloc=4096", "--memory=16M"])


def all_routines(c):
    """All routines with 600 rows, from blocks (a) and mappings (b): inputs cross once, although many calls use them."""
    command = [PYTHON, "-B", str(HERE / "all_routines.py")]
    plain, status, _, _ = run(command)
    c.expect("status without semcache-run", status, 0)
    out, status, report, _ = run(command, ["--emulate", "--offload=always", "--malloc=4096"], {"SEMCACHE_BLAS_GUARD": "1"}, c.runner)
    c.expect("status", status, 0)
    for line, expected in zip(out.splitlines(), plain.splitlines()):
        c.expect(expected.split()[0], line, expected)
    c.expect("lines", len(out.splitlines()), len(plain.splitlines()))
    known = json.loads(plain.splitlines()[-1])
    calls = {call["what"]: call["count"] for call in report["library_calls"] if not call["what"].startswith(OF_NUMPY_ITSELF + " ")}
    others = {what for what in calls if what.startswith("BLAS") and not what.endswith("on the device")}
    on_host = ("srotg", "drotg", "crotg", "zrotg", "srotmg", "drotmg", "sdsdot", "dsdot")
    c.expect("calls on the host", {what.split()[1] for what in others}, set(on_host))
    of_sdot = sum(call["count"] for call in report["library_calls"] if call["what"] == OF_NUMPY_ITSELF + " on the device") - 1
    c.expect("calls on the device", sum(n for what, n in calls.items() if what.endswith("on the device")) + of_sdot, known["calls"])
    bytes_to_device = {}
    for label in report["labels"]:
        kind = "mapping" if "in place" in label["name"] else label["name"]
        bytes_to_device[kind] = bytes_to_device.get(kind, 0) + label["h2d"]["bytes"]
    # Operands in place grow where calls use more columns of them than before, and cross once more then.
    for kind, mapped, most_of_once in ("malloc", 0, 1), ("mapping", 1, 1.25):
        once, used, found = known["once"][mapped], known["used"][mapped], bytes_to_device.get(kind, 0)
        print(f"  {kind}: {found} bytes to the device; inputs once and results: {once}, all operands of all calls: {used}")
        c.expect(f"{kind}: operands are kept", 0 < found <= most_of_once * once < used, True)


# What an exchange of rows in 512 columns of 4 pages adds to the bytes to the device and to the host, and to the faults: (rows, columns).
SWAPS = {(1, 1): (16384, 16384, 3), (1, 8): (122880, 172032, 13), (1, 64): (876544, 983040, 87), (1, 512): (8 * MIB, 8 * MIB, 283),
         (4, 64): (1564672, 1564672, 12), (32, 8): (188416, 352256, 8), (32, 64): (1564672, 1564672, 12), (32, 512): (8 * MIB, 8 * MIB, 16)}


def row_swaps(c):
    """HPL's exchanges of rows cost at most 2.1 times the better of page by page and the whole matrix at once (src/semcache/policy/README.md)."""
    rows, columns, page, per_fault = 2048, 512, 4096, 64 << 10
    matrix = rows * columns * 8

    def moved(swaps, of_columns, malloc):
        environment = {"TEST_BLAS_SWAPS": f"{swaps} {of_columns}", "SEMCACHE_BLAS_GUARD": "1"}
        command = [c.programs, "row_swaps"]
        out, status, report, _ = run(command, ["--emulate", "--offload=always", f"--malloc={malloc}"], environment, c.runner)
        c.expect(f"{swaps} rows in {of_columns} columns: status, output", (status, out), (0, run(command, environment=environment)[0]))
        total = report["total"]
        return total["h2d"]["bytes"], total["d2h"]["bytes"], total["host_faults"]

    for malloc in "4096", "0":
        before = moved(0, 0, malloc)
        for (swaps, of_columns), expected in SWAPS.items():
            to_device, to_host, faults = more = tuple(x - y for x, y in zip(moved(swaps, of_columns, malloc), before))
            touched = {(row + j * rows) * 8 // page for j in range(of_columns) for i in range(swaps) for row in (i, (i * 617 + 700) % rows)}
            rivals = 2 * len(touched) * (per_fault + page), 2 * (per_fault + matrix)
            cost = faults * per_fault + to_device + to_host
            print(f"  {swaps} rows in {of_columns} columns: {len(touched)} pages, {more}, {cost / min(rivals):.2f} of the better rival")
            c.expect(f"{swaps} rows in {of_columns} columns: within the bound", cost <= 2.1 * min(rivals), True)
            if malloc != "0":
                c.expect(f"{swaps} rows in {of_columns} columns: bytes to the device and to the host, faults", more, expected)


def late(c):
    """A program that begins without a BLAS does not load the library before it has one."""
    loaded = "with a thread: {0}\nwith a library: {0}\nwith a BLAS: {1}\n"
    command = [c.programs, str(REFERENCE / "libblas.so.3")]
    plain, status, _, errors = run(command)
    c.expect("without semcache-run", (status, errors), (0, loaded.format("not loaded", "not loaded")))
    # It is asked for no report: for one the library is loaded at once.
    for options in ["--malloc=4096"], ["--malloc=0"]:
        done = subprocess.run([c.runner, "--emulate", "--offload=always", *options, *command], capture_output=True, text=True, timeout=240,
                              env={**os.environ, "SEMCACHE_BLAS_GUARD": "1"})
        c.expect("status, output", (done.returncode, done.stdout), (0, plain))
        c.expect("what is loaded", done.stderr, loaded.format("not loaded", "loaded"))
        c.same(command, options=["--emulate", "--offload=always", *options], environment={"SEMCACHE_BLAS_GUARD": "1"}, calls={ON_DEVICE: 3},
               stderr=loaded.format("loaded", "loaded"))


def passes_through(c):
    """Without a device, with a choice of the user, or for reasons of the call."""
    c.script("chain.py", options=["--offload=always"], calls={"BLAS dgemm on the host: there is no GPU, and SEMCACHE_DEVICE=emulated is not set": 3},
             environment={"CUDA_VISIBLE_DEVICES": ""}, h2d=0)
    c.script("chain.py", options=["--emulate", "--offload=never"], calls={"BLAS dgemm on the host: SEMCACHE_BLAS_OFFLOAD=never": 3}, h2d=0)
    c.script("chain.py", "40", options=["--emulate"],
             calls={"BLAS dgemm on the host: too little work for the bytes that are missing on the device": 3}, h2d=0)
    product = "import numpy\na = numpy.arange(512 * 512.).reshape(512, 512)\nprint((a @ a[0])[5])"
    c.same([PYTHON, "-c", product], options=["--emulate", "--offload=always", "--memory=1M"],
           calls={"BLAS dgemv on the host: the operands do not fit the device (SEMCACHE_DEVICE_MEMORY)": 1})
    # Pieces would be too many to pay.
    c.script("chain.py", options=["--emulate", "--offload=always", "--memory=64K"],
             calls={"BLAS dgemm on the host: the operands do not fit the device (SEMCACHE_DEVICE_MEMORY)": 3})


def large_operands(c):
    """Operands that the device's memory does not hold together pass through it in pieces."""
    # Half of a product's three matrices. Each of the three results comes home once: it makes room for what follows, or the script reads it.
    c.script("chain.py", options=["--emulate", "--offload=always", "--memory=3M"], h2d=18 * MIB + BYTES_OF_NUMPY_ITSELF, d2h=6 * MIB,
             calls={"BLAS dgemm" + IN_PIECES: 3})
    # Mappings are sent at each call where no operand has enough whole pages to be followed in place.
    for kind, guard, memories in ("blocks", "4", ("2M", "4M")), ("mappings", "4", ("2M", "4M")), ("mappings", "1000000", ("2M",)):
        command = [PYTHON, "-B", str(HERE / "large_operands.py"), kind]
        plain, status, _, _ = run(command)
        c.expect("status without semcache-run", status, 0)
        for memory in memories:
            out, status, report, errors = run(command, ["--emulate", "--offload=always", "--malloc=4096", f"--memory={memory}"],
                                              {"SEMCACHE_BLAS_GUARD": guard}, c.runner)
            print(f"  large_operands.py {kind}, {memory}, {guard} pages")
            c.expect("status", (status, errors), (0, ""))
            c.expect("output", out.splitlines(), plain.splitlines())
            calls = {call["what"] for call in report["library_calls"]}
            in_pieces = {what.split()[1] for what in calls if what.endswith(IN_PIECES)}
            if memory == "2M":
                c.expect("routines in pieces", in_pieces, OF_LEVEL_3)
            c.expect("calls on the host", {what for what in calls if "on the host" in what}, set())


def no_blas(c):
    script = "echo $((6 * 7)); for i in 1 2 3; do echo $i | cat; done; ls /"
    c.same(["bash", "-c", script], calls={"no BLAS call was seen": 1})
    source = r"#include <stdio.h>\nint main(void) { for (int i = 0; i < 9; ++i) printf(\"%d\\n\", i); return 0; }"
    compile_it = f"printf '{source}' | gcc -O2 -S -x c - -o - && printf 'int main(' | gcc -x c -c - -o /dev/null; echo $?"
    c.same(["bash", "-c", compile_it], calls={"no BLAS call was seen": 1})
    if shutil.which("git") is None:
        return print("  git is not installed: what it prints under semcache-run is not compared")
    who = "-c user.name=A -c user.email=a@b"
    dates = "GIT_AUTHOR_DATE='2020-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000'"
    commits = "for i in 1 2 3; do seq $((i * 9000)) > f; git add f; %s git %s commit -qm $i; done" % (dates, who)
    git = f"cd $(mktemp -d) && git -c init.defaultBranch=m init -q . && {commits}; git log --stat -p | md5sum; git gc -q; git fsck; rm -rf $PWD"
    c.same(["bash", "-c", git], calls={"no BLAS call was seen": 1})


def memory(c):
    """What becomes of blocks that are freed, and of those that get another size or address. A block here has 2 MiB."""
    c.program("freed_dies", h2d=4 * MIB, d2h=0, calls={ON_DEVICE: 1})
    c.program("reused_address", h2d=8 * MIB, d2h=4 * MIB, calls={ON_DEVICE: 2, "malloc: a freed block that was kept": 3})
    c.program("realloc_grows", h2d=4 * MIB, d2h=2 * MIB, calls={ON_DEVICE: 1})
    c.program("realloc_to_small", h2d=4 * MIB, d2h=2 * MIB, calls={ON_DEVICE: 1})
    c.program("sparse_calloc", calls={"no BLAS call was seen": 1})
    c.program("allocation_functions", calls={"no BLAS call was seen": 1})
    c.program("freed_by_other_threads")


def kept_blocks(c):
    """Freed blocks serve again, and their content dies: all that comes home is a result that is looked at."""
    again = "malloc: a freed block that was kept"
    for keep, count in ("4M", 4), ("6M", 6), ("1G", 6), ("0", 0), ("1M", 0):
        c.program("kept_blocks_serve", environment={"SEMCACHE_BLAS_KEEP": keep}, h2d=16 * MIB, d2h=2 * MIB,
                  calls={ON_DEVICE: 4, **({again: count} if count else {})})
    c.program("kept_blocks_serve", environment={"SEMCACHE_BLAS_KEEP": "some"}, calls={ON_DEVICE: 4, again: 6},
              stderr='semcache: SEMCACHE_BLAS_KEEP="some" has no effect: it is no whole number, such as 0 or 4G\n')
    c.program("kept_blocks_serve", options=["--emulate", "--offload=never"])
    c.program("kept_blocks_serve", options=["--emulate", "--offload=always", "--malloc=0"], calls={ON_DEVICE: 4})
    c.program("kept_blocks_serve", options=["--emulate", "--offload=always", "--memory=7M"])
    c.program("kept_blocks_when_memory_is_short", h2d=10 * 4 * MIB, d2h=0, calls={ON_DEVICE: 10, again: 1})
    c.program("kept_blocks_and_processes", d2h=2 * MIB, calls={ON_DEVICE: 3, again: 4})
    c.program("blocks_that_are_not_kept", calls={ON_DEVICE: 3})
    for keep in "0", "4M", "1G":
        c.program("kept_blocks_of_threads", environment={"SEMCACHE_BLAS_KEEP": keep}, calls=None)


def in_place(c):
    """Blocks below SEMCACHE_BLAS_MALLOC, statics and mappings. A matrix has 512 KiB, of which a block's first page and last are edges."""
    kib = 1 << 10
    c.program("statics", h2d=1 * MIB, d2h=512 * kib, calls={ON_DEVICE: 8})
    for guard in "16", "1":
        for name in ("chain_in_place", "statics", "neighbours", "reused_small", "mappings_end", "mappings_move", "shared_mappings", "stacks",
                     "growing_operands", "many_small_matrices", "all_shapes", "fork_uses_operands", "input_and_output", "io_beyond_operands"):
            c.program(name, environment={"SEMCACHE_BLAS_GUARD": guard}, options=["--emulate", "--offload=always", "--malloc=0"])


def arguments(c):
    c.program("nothing_to_compute", calls={"BLAS dgemm on the host: nothing to compute": 6}, h2d=0)
    c.program("wrong_arguments", h2d=0)
    nulls = {"dgemm": 3, "zgemm": 1, "zaxpy": 1, "daxpy": 1, "drotm": 1, "ddot": 1}
    c.program("null_numbers", calls={f"BLAS {routine} on the host: nothing to compute": count for routine, count in nulls.items()})
    c.program("throwing_xerbla", calls={ON_DEVICE: 6, "BLAS dgemm on the host: wrong arguments": 6, "BLAS dgemm on the host: nothing to compute": 3})
    c.program("overlapping", calls={"BLAS dgemm on the host: the result overlaps an input": 1})
    c.program("all_shapes")
    c.program("all_shapes", options=["--emulate", "--offload=always", "--malloc=4096"])
    c.program("small_on_stack", calls={ON_DEVICE: 1})
    c.program("nan_and_beta_zero")


def own_new(c):
    """A program that replaces operator new, which the library within it must not use."""
    for options in [], ["--malloc=4096"], ["--malloc=0"]:
        c.same([c.programs], options=["--emulate", "--offload=always", *options], environment={"SEMCACHE_BLAS_GUARD": "1"}, calls={ON_DEVICE: 30})


def first_calls(c):
    """Before the first offloaded call there is no device, no thread and no file; with it there are threads. A process without one makes no device."""
    c.program("before_first_offload", stderr="more threads: yes\n", h2d=4 * MIB, d2h=2 * MIB,
              calls={ON_DEVICE: 1, "BLAS dgemm on the host: nothing to compute": 1, "BLAS dgemm on the host: wrong arguments": 1,
                     "BLAS dsdot on the host: the device's library does not have it, or not for such arguments": 1})
    for options in ["--emulate", "--offload=never"], ["--emulate"]:
        c.program("before_first_offload", options=options, h2d=0)
        *_, report, _ = run([c.programs, "before_first_offload"], options, runner=c.runner)
        c.expect(f"{options}: devices", (report["device"]["kind"], report["device"]["count"]), ("none", 0))


def many_matrices(c):
    """A hundred thousand matrices from malloc: sent at each call, or on the host; also in pages of their own, of which the kernel has fewer mappings."""
    many, calls = {"TEST_BLAS_MATRICES": "100000"}, 99998
    c.program("very_many_matrices", environment=many, calls={ON_DEVICE: calls})
    too_little = {"BLAS dgemm on the host: too little work for the bytes that are missing on the device": calls}
    c.program("very_many_matrices", options=["--emulate", "--malloc=4096"], environment={"SEMCACHE_BLAS_GUARD": "1", **many}, calls=too_little)


def no_host_blas(c):
    """A program calls a routine that only this library has: it ends with a message that says what to do."""
    for routine in "ddot_", "cblas_dgemm", "scipy_dgemm_64_":
        script = f"import ctypes; f = ctypes.CDLL(None).{routine}; x = (ctypes.c_double * 64)(); print('calls', flush=True); f(*[x] * 14); print('returns')"
        command = [PYTHON, "-c", script]
        plain = run(command)
        c.expect(f"{routine}: without semcache-run", (plain[0], plain[1], "undefined symbol" in plain[3]), ("", 1, True))
        for options in ["--emulate", "--offload=always"], ["--offload=never"]:
            out, status, _, errors = run(command, options, runner=c.runner)
            c.expect(f"{routine}, {options}: output, status", (out, status), ("calls\n", -6))
            message = rf"semcache: .*the program calls {routine} of BLAS, and no loaded library has it but .*Link the program to a BLAS, too .*libblas3"
            c.expect(f"{routine}, {options}: {errors!r} has the message", re.search(message, errors) is not None, True)


def linked(c):
    """The programs, linked to the library in front of their BLAS. c.programs is that one; beside it lies the one that is not."""
    plain_program = str(pathlib.Path(c.programs).with_name("test_blas_programs"))
    cases = {"freed_dies": (4 * MIB, 0), "reused_address": (8 * MIB, 4 * MIB), "realloc_grows": (4 * MIB, 2 * MIB), "statics": (MIB, 512 << 10)}
    others = ["all_shapes", "input_and_output", "signal_handlers", "local_library", "which_library", "fork_uses_operands", "threads_with_tiles"]
    for name in [*cases, *others]:
        plain = run([plain_program, name])
        for command in [c.programs, name], *([[c.runner, c.programs, name]] if name in cases else []):
            with tempfile.TemporaryDirectory() as folder:
                report = pathlib.Path(folder, "report.json")
                settings = {"SEMCACHE_DEVICE": "emulated", "SEMCACHE_BLAS_OFFLOAD": "always", "SEMCACHE_REPORT": str(report)}
                found = run(command, environment=settings)
                total = json.loads(report.read_text())["total"]
            print(f"  {name}")
            c.expect(f"{name}: output, status", found[:2], plain[:2])
            c.expect(f"{name}: stderr", found[3], plain[3])
            if name in cases:
                c.expect(f"{name}: bytes", (total["h2d"]["bytes"], total["d2h"]["bytes"]), cases[name])


def openmp(c):
    """Tiles of one matrix, computed by OpenMP's threads: each tile's bytes go to the device once, whoever computes it."""
    for options, guard in ([], "16"), (["--malloc=4096"], "1"), (["--malloc=0"], "1"), (["--protocol=write-through"], "16"):
        c.same([c.programs], options=["--emulate", "--offload=always", *options], environment={"SEMCACHE_BLAS_GUARD": guard}, calls={ON_DEVICE: 112})


def streams(c):
    """Calls of one thread are in one stream, those of four threads in four; more threads share these."""
    for name, threads, alike in ("chain_in_place", 1, True), ("threads_with_tiles", 4, True), ("threads_in_turn", 4, False):
        for malloc in "1M", "0":
            c.program(name, options=["--emulate", "--offload=always", f"--malloc={malloc}"])
            with tempfile.TemporaryDirectory() as folder:
                timeline = pathlib.Path(folder, "timeline.json")
                run([c.programs, name], ["--emulate", "--offload=always", f"--malloc={malloc}"], {"SEMCACHE_TRACE": str(timeline)}, c.runner)
                events = json.loads(timeline.read_text())["traceEvents"]
            of_queue = collections.Counter(e["args"]["queue"] for e in events if e.get("cat") == "launch")
            c.expect(f"{name}, {malloc}: streams", len(of_queue), threads)
            if alike:
                c.expect(f"{name}, {malloc}: launches of a stream", len(set(of_queue.values())), 1)


def processes(c):
    c.program("fork_uses_operands")
    c.program("threads_with_tiles")
    c.program("input_and_output")
    c.program("io_beyond_operands")


ATTACKS = """io_while_computing mappings_while_computing fork_with_handlers fork_waits_for_threads forks_in_handlers forks_in_signal_handlers fork_while_starting handlers_of_all_kinds blocked_signals
mappings_that_fail mappings_change pooled_stacks modules_come_and_go cancelled_threads late_calls end_while_computing reading_handler guard_pages
everything_at_once vforked_child unseen_ends small_stacks very_many_matrices clock_handlers waiting_constructor
stack_while_adopted waits_with_masks alternate_stacks unblocking_handler masks_beside_results
stops_all_threads""".split()


def attacks(c):
    """Each program with its operands in blocks of class (a), and in place."""
    for name in ATTACKS:
        for options in ["--emulate", "--offload=always", "--malloc=4096"], ["--emulate", "--offload=always", "--malloc=0"]:
            c.program(name, options=options, environment={"SEMCACHE_BLAS_GUARD": "1"})
    c.program("waiting_constructor", options=["--offload=never"])
    whole = {ON_DEVICE: 1, "BLAS ddot on the host: nothing to compute": 3000000}
    c.program("ended_twice", calls=whole)
    # The C library lets the second thread end the process while the first one writes the report. If there is one, it is whole.
    for delay in "1000", "5000", "20000":
        *_, report, _ = run([c.programs, "ended_twice"], ["--emulate", "--offload=always"], {"TEST_BLAS_DELAY": delay}, c.runner)
        if report is not None:
            c.expect("calls of a process that is ended twice", {call["what"]: call["count"] for call in report["library_calls"]}, whole)
    # The result comes home at each call.
    c.program("stack_while_adopted", options=["--emulate", "--offload=always", "--malloc=4096"], d2h=4 * (512 << 10))


MEMORY_ATTACKS = """growing_blocks aligned_blocks sparse_operands exchanged_operands advised_operands protected_operands mapped_over started_programs
children_of_all_kinds fork_in_threads operands_of_threads operands_of_modules deeply_bound_modules""".split()


def memory_attacks(c):
    for name in MEMORY_ATTACKS:
        if name == "deeply_bound_modules" and platform.machine() != "x86_64":
            continue  # a limit of the library's
        for malloc in "4096", "0":
            c.program(name, options=["--emulate", "--offload=always", f"--malloc={malloc}"], environment={"SEMCACHE_BLAS_GUARD": "1"})
    # A child has a pipe that shows whether it lives, if calls are offloaded.
    for options, pipes in (["--emulate", "--offload=always"], 1), (["--emulate", "--offload=never"], 0), (None, 0):
        output, code, _, stderr = run([c.programs, "pipes_of_children"], options, runner=c.runner)
        c.expect("pipes_of_children", (output, code, stderr), (f"more in the child: {pipes}\nmore in another one: {pipes}\n", 0, ""))


REFERENCE = pathlib.Path("/usr/lib/x86_64-linux-gnu/blas")
# Calls on the device: of the Fortran interface, levels 1 to 3, and of C's. Others have nothing to compute, wrong arguments, or no routine there.
REFERENCE_CALLS = {"s": ((161, 21216, 15150), (103, 42432, 30300)), "d": ((161, 21216, 15150), (103, 42432, 44928)),
                   "c": ((114, 21472, 16350), (104, 31328, 32700)), "z": ((114, 21472, 16350), (104, 31328, 32700))}


def reference_program(precision, interface, level):
    """Returns the command of a test of the reference BLAS (Debian: libblas-test), and how many of its calls are computed by the device."""
    name = (f"xblat{level}{precision}", f"x{precision}cblat{level}")[interface]
    data = "/dev/null" if level == 1 else REFERENCE / (f"{precision}blat{level}.in", f"{precision}in{level}")[interface]
    # Each runs in a shell, which calls no BLAS and leaves its report alone.
    script = f"cd $(mktemp -d) && {REFERENCE}/{name} < {data} 2>&1 | grep -v Time; cat ./* 2>/dev/null; rm -r $PWD"
    return name, ["bash", "-c", script], REFERENCE_CALLS[precision][interface][level - 1]


def reference_tests(c, precisions="sdcz"):
    for precision in precisions:
        for interface in 0, 1:
            for level in 1, 2, 3:
                name, command, on_device = reference_program(precision, interface, level)
                for malloc in ("1M", "4096") if precision == "d" else ("4096",):
                    options, guard = ["--emulate", "--offload=always", f"--malloc={malloc}"], {"SEMCACHE_BLAS_GUARD": "1"}
                    plain, _, _, _ = run(command)
                    out, _, report, errors = run(command, options, guard, c.runner)
                    print("  " + name)
                    c.expect(f"{name}: output", out, plain)
                    c.expect(f"{name}: passes", "PASS" in plain and "FAIL" not in plain, True)
                    c.expect(f"{name}: stderr", errors, "")
                    found = sum(call["count"] for call in report["library_calls"] if call["what"].endswith("on the device"))
                    c.expect(f"{name}: calls on the device", found, on_device)


def reference_tests_s(c):
    reference_tests(c, "s")


def reference_tests_d(c):
    reference_tests(c, "d")


def reference_tests_c(c):
    reference_tests(c, "c")


def reference_tests_z(c):
    reference_tests(c, "z")


def routines(c):
    """Routines of all levels on data that is used again, in blocks, in place, and sent at each call; also where the device has little memory."""
    for options, guard in (([], "16"), (["--malloc=4096"], "16"), (["--malloc=0"], "1"), (["--malloc=0"], "1000000"), (["--memory=12M"], "16"),
                           (["--protocol=write-through"], "16")):
        for level in "level1", "level2", "level3":
            c.program(level, options=["--emulate", "--offload=always", *options], environment={"SEMCACHE_BLAS_GUARD": guard})
    for options in ["--malloc=4096"], ["--malloc=0"]:
        c.program("other_triangle", options=["--emulate", "--offload=always", *options], environment={"SEMCACHE_BLAS_GUARD": "1"},
                  calls={"BLAS dsyrk on the device": 4000})
        c.program("other_triangle_of_floats", options=["--emulate", "--offload=always", *options], environment={"SEMCACHE_BLAS_GUARD": "1"},
                  calls={"BLAS ssyrk on the device": 6000})


def as_cublas(c):
    """What the wrappers tell cuBLAS, computed by the host's BLAS: the same results, by as many calls of each routine."""
    for precision, interfaces in REFERENCE_CALLS.items():
        for interface, levels in enumerate(interfaces):
            for level in 1, 2, 3:
                name, command, on_device = reference_program(precision, interface, level)
                plain, _, _, _ = run(command)
                out, _, _, _ = run(command, environment={"LD_PRELOAD": c.programs})
                calls = [line.split() for line in out.splitlines() if line.startswith("cublas")]
                c.expect(f"{name}: output", [line for line in out.splitlines() if not line.startswith("cublas")], plain.splitlines())
                c.expect(f"{name}: calls", sum(int(count) for _, count in calls), on_device)


def symbols(c):
    """All functions of Debian's BLAS, but for its own helpers, in the names of 32-bit integers, of 64-bit ones, and of pip's NumPy and SciPy; and none
    of C++, neither given to the program nor taken from it. The library that is preloaded has the same."""
    def names_of(library, which="--defined-only", kinds="TW"):
        lines = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True, check=True).stdout.splitlines()
        return {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] in kinds}

    own_helpers = r".*(sub|xerbla|xerbla_array|lsame)_|cblas_xerbla"
    host = {n for n in names_of(REFERENCE / "libblas.so.3") if not re.fullmatch(own_helpers, n)}
    ours = names_of(c.programs)
    c.expect("functions of the host's library", len(host) > 280, True)
    wide = {n[:-1] + "_64_" if n.endswith("_") else n + "64_" for n in host}
    for kind, names in ("32 bits", host), ("64 bits", wide), ("pip's NumPy", {"scipy_" + n for n in wide}), ("pip's SciPy", {"scipy_" + n for n in host}):
        c.expect(f"{kind}: missing", sorted(names - ours), [])
    preloaded = pathlib.Path(c.programs).with_name("libsemcache_blas_preload.so")
    if preloaded.exists():  # on x86-64
        c.expect("of the preloaded library: missing", sorted(n for n in ours - names_of(preloaded) if not n.startswith("semcache_")), [])
    for which, kinds in ("--defined-only", "TWVuBDR"), ("--undefined-only", "Uvw"):
        c.expect(f"{which}: of C++", sorted(n for n in names_of(c.programs, which, kinds) if re.match("_Z(?!GT)|__gxx|__cxa_throw", n)), [])


def libraries(c):
    too_large = {"BLAS dgemm on the host: a size does not fit 32 bits": 1}
    c.program("local_library", calls={ON_DEVICE: 4, **too_large})
    c.program("local_library", options=["--emulate", "--offload=never"],
              calls={"BLAS dgemm on the host: SEMCACHE_BLAS_OFFLOAD=never": 4, **too_large})
    for offload in "always", "never":
        c.program("which_library", options=["--emulate", f"--offload={offload}"])


def wide(c):
    """A BLAS whose integers have 64 bits under the usual names."""
    calls = {"BLAS dgemm": 2, "BLAS ddot": 2, "BLAS idamax": 1}
    host, too_large = "on the host: SEMCACHE_BLAS_OFFLOAD=never", "on the host: a size does not fit 32 bits"
    c.same([c.programs], calls={**{f"{routine} on the device": n for routine, n in calls.items()},
                                **{f"BLAS {routine} {too_large}": 1 for routine in ("ddot", "idamax")}})
    c.same([c.programs], options=["--emulate", "--offload=never"], calls={f"BLAS dgemm {host}": 2, f"BLAS ddot {host}": 2, f"BLAS idamax {host}": 1,
                                                                          f"BLAS ddot {too_large}": 1, f"BLAS idamax {too_large}": 1})


def automatic(c):
    """Products begin on the host, and go to the device once that has spent as long as a start takes."""
    # So many that the host would need much longer than a start (half a second), also on a machine that is faster than any.
    timed = "import numpy, time; a = numpy.ones((600, 600)); a @ a; begin = time.perf_counter(); a @ a; print(time.perf_counter() - begin)"
    seconds = float(run([PYTHON, "-c", timed], environment={"OPENBLAS_NUM_THREADS": "1"})[0])
    count = str(min(1000, max(20, int(1.5 / seconds))))
    c.script("many_products.py", count, options=["--emulate"], environment={"OPENBLAS_NUM_THREADS": "1"})
    *_, report, _ = run([PYTHON, str(HERE / "many_products.py"), count], ["--emulate"], {"OPENBLAS_NUM_THREADS": "1"}, c.runner)
    calls = {c["what"]: c["count"] for c in report["library_calls"] if c["what"].startswith("BLAS") and not c["what"].startswith(OF_NUMPY_ITSELF)}
    not_yet = "BLAS dgemm on the host: it has not computed as long yet as a device takes to start"
    c.expect("some calls stayed on the host first", calls.get(not_yet, 0) > 0, True)
    c.expect("some calls came to the device", calls.get(ON_DEVICE, 0) > 0, True)
    c.expect("calls", sum(calls.values()), int(count))
    # Small calls use a result on the device until they have cost as much as its way home. Then it comes in one transfer, and the host computes them.
    c.script("small_calls_on_result.py", count, options=["--emulate"], environment={"OPENBLAS_NUM_THREADS": "1"})
    *_, report, _ = run([PYTHON, str(HERE / "small_calls_on_result.py"), count], ["--emulate"], {"OPENBLAS_NUM_THREADS": "1"}, c.runner)
    calls = {c["what"]: c["count"] for c in report["library_calls"] if c["what"].startswith("BLAS dgemv")}
    c.expect("small calls", calls, {"BLAS dgemv on the device": 8,
                                    "BLAS dgemv on the host: too little work for the bytes that are missing on the device": 92})


def unmodified(c, command, results=lambda out: out, environment=None):
    """Expects the same results from a program of the distribution: with blocks, with all operands in place, and with little memory of the device."""
    plain, status, _, _ = run(command, environment=environment)
    c.expect("status without semcache-run", status, 0)
    for options, guard in ([], "16"), (["--malloc=4096"], "1"), (["--malloc=0"], "16"), (["--memory=32M"], "16"):
        variables = {"SEMCACHE_BLAS_GUARD": guard, **(environment or {})}
        out, status, report, _ = run(command, ["--emulate", "--offload=always", *options], variables, c.runner)
        print("  " + " ".join([*command[-1:], *options]))
        c.expect("status", status, 0)
        c.expect("results", results(out), results(plain))
        c.expect("some results", len(results(plain)) > 0, True)
        products = sum(call["count"] for call in report["library_calls"] if call["what"] == ON_DEVICE)
        c.expect("products on the device", products > 50, True)


def octave(c):
    unmodified(c, ["octave-cli", "--norc", "--no-history", str(HERE / "octave_uses.m")])


def r(c):
    unmodified(c, ["Rscript", "--vanilla", str(HERE / "r_uses.R")])


def hpcc(c):
    """The HPC Challenge: HPL and others with residual checks. Times and rates differ; checks, norms and residuals do not."""
    example = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text()
    for line, value in ("Ns", 300), ("NBs", 32), ("Ps", 1), ("Qs", 1):
        example = re.sub(rf"(?m)^\d+( +{line})$", rf"{value}\1", example, count=1)

    def results(out):
        numbers = re.compile(r"HPL_\w+(normI|norm1)=|residual=|RESID|PASSED|FAILED|Found \d+ errors|[Rr]esidual checks|^Success=")
        rate = re.compile(r"\d+\.\d+ (?=PASSED)|(?<=PASSED) +\d+\.\d+")
        # PTRANS writes a line of CPU time only where the clock of that has moved.
        return [rate.sub("", line) for line in out.splitlines() if numbers.search(line) and not line.startswith("CPU ")]

    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "hpccinf.txt").write_text(example)
        script = f"cd {folder} && rm -f hpccoutf.txt && hpcc && cat hpccoutf.txt"
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        plain = run(["bash", "-c", script], environment=as_root)[0]
        c.expect("all checks passed without semcache-run", "FAILED" not in plain and "Success=1" in plain, True)
        unmodified(c, ["bash", "-c", script], results, as_root)


def both_preloaded(c, *arguments):
    """Two processes that call BLAS and MPI, with both libraries in front of them. MPI takes the content from the device, and only the bytes of each
    message: C's hundred numbers come home, then D but for the hundred that have come, ten numbers of A, and C. A and B go to the device, the hundred,
    E, and ten numbers of B."""
    launch, preload = os.environ["TEST_BLAS_LAUNCH"].split(), os.environ["TEST_BLAS_MPI_PRELOAD"]
    program = [c.programs, *map(str, arguments)]
    plain, status, _, _ = run([*launch, *program])
    c.expect("without semcache-run: status, lines", (status, len(plain.splitlines())), (0, 2))
    for single_copies in "none", "cma":  # which let one process read the other's pages past their protection
        with tempfile.TemporaryDirectory() as folder:
            # The launcher itself shall not have them.
            command = ["env", f"LD_PRELOAD={preload}", c.runner, "--emulate", "--offload=always", f"--report={folder}/%r.json", *program]
            out, status, _, errors = run([*launch, *command], environment={"OMPI_MCA_btl_vader_single_copy_mechanism": single_copies})
            c.expect(f"{single_copies}: status, stderr", (status, errors), (0, ""))
            c.expect(f"{single_copies}: output", out, plain)
            for rank in range(2):
                report = json.loads(pathlib.Path(folder, f"{rank}.json").read_text())
                moved = tuple(report["total"][name]["bytes"] for name in ("h2d", "d2h"))
                c.expect(f"{single_copies}, rank {rank}: bytes to the device and to the host", moved, (6 * MIB + 880, 4 * MIB + 80))
                c.expect(f"{single_copies}, rank {rank}: calls", {call["what"]: call["count"] for call in report["library_calls"]}, {ON_DEVICE: 5})


def mpi(c):
    both_preloaded(c)


def mpi_late(c):
    both_preloaded(c, REFERENCE / "libblas.so.3")


def signals(c):
    c.program("signal_handlers")
    c.program("real_crash", status=-11)
    c.program("large_stack")
    crash = "import numpy, ctypes; a = numpy.ones((400, 400)); print((a @ a)[7, 7], flush=True); ctypes.string_at(8)"
    c.same([PYTHON, "-c", crash], status=-11)
    done = run([PYTHON, "-X", "faulthandler", "-c", crash], ["--emulate", "--offload=always"], runner=c.runner)
    c.expect("Python's own handler", "Fatal Python error: Segmentation fault" in done[3], True)


def gemm_chain(c):
    """Matrices to and from the device, exactly, for one round and for three, with A and B as they were or written anew."""
    for variant, to_device, to_host in (("cpu", 0, 0), ("hand-tuned", 2, 1), ("hand-tuned-overlapped", 2, 1), ("hand-tuned-pageable", 2, 1),
                                        ("write-back", 2, 1), ("write-through", 2, 3), ("copy-every-call", 6, 3), ("page", 2, 1)):
        by_hand = variant.startswith("hand-tuned") or variant == "copy-every-call"
        for options, rounds_in, rounds_out in (([], 1, 1), (["--rounds", "3"], 3 if by_hand else 1, 3), (["--rounds", "3", "--rewrite"], 3, 3),
                                               (["--start"], 1, 1)):
            with tempfile.TemporaryDirectory() as folder:
                report = pathlib.Path(folder, "chain.json")
                done = run([c.programs, "--variant", variant, "--n", "512", "--verify", "--report", str(report), *options],
                           environment={"SEMCACHE_DEVICE": "emulated"})
                c.expect(f"{variant} {options}: status, stderr", (done[1], done[3]), (0, ""))
                found = json.loads(report.read_text())
            c.expect(f"{variant} {options}: verified", found["verified"], True)
            moved = found["transfers"]
            expected = to_device * rounds_in, to_host * rounds_out
            c.expect(f"{variant} {options}: matrices", (moved["h2d_matrices"], moved["d2h_matrices"]), expected)
            c.expect(f"{variant} {options}: seconds of the start", found.get("start_seconds", 0) > 0, "--start" in options)
            if variant == "page":  # the same bytes as write-back, in pages
                c.expect(f"{variant} {options}: transfers", (moved["h2d_count"], moved["d2h_count"]), tuple(512 * m for m in expected))


    cublasxt(c)


def cublasxt(c):
    """The variant cublasxt: without a GPU it says so; with a library in cuBLASXt's place the calls are the right ones."""
    def chain(environment, *options, variant="cublasxt"):
        return run([c.programs, "--variant", variant, "--n", "64", *options], environment=environment)

    refused = "gemm_chain: the variant cublasxt needs a GPU"
    _, code, _, stderr = chain({"SEMCACHE_DEVICE": "emulated"})
    c.expect("cublasxt, emulated device", (code, stderr), (2, refused + ": cuBLASXt cannot compute on an emulated device. Unset SEMCACHE_DEVICE\n"))
    for options in ("--block", "512"), ("--pinning", "once"):
        out = chain({"SEMCACHE_DEVICE": "emulated"}, *options, variant="hand-tuned")
        c.expect(f"{options} of another variant", (out[1], "--block and --pinning are options of --variant cublasxt" in out[3]), (2, True))
    for options in ("--block", "0"), ("--pinning", "some"):
        c.expect(f"{options}", chain({}, *options)[1], 2)
    with tempfile.TemporaryDirectory() as folder:
        empty, there = pathlib.Path(folder, "empty"), pathlib.Path(folder, "there")
        for place in empty, there:
            place.mkdir()
        for library in "libcudart.so.13", "libcublas.so.13":
            (there / library).symlink_to(os.environ["TEST_BLAS_AS_CUBLASXT"])
            (empty / library).write_text("no library")
        own = {"SEMCACHE_DEVICE": "", "TEST_BLAS_XT_CALLS": str(pathlib.Path(folder, "calls"))}
        _, code, _, stderr = chain({**own, "LD_LIBRARY_PATH": str(there), "TEST_BLAS_XT_NO_GPU": "1"})
        c.expect("no GPU", (code, stderr), (2, refused + ", and cuBLASXt: cublasXtCreate failed with status 1; is there a GPU?\n"))
        try:
            ctypes.CDLL("libcudart.so")  # what the program would find
        except OSError:
            _, code, _, stderr = chain({**own, "LD_LIBRARY_PATH": str(empty)})
            why = "libcudart.so.13 cannot be loaded. Put the folder of CUDA's libraries into LD_LIBRARY_PATH."
            if (code, stderr) != (2, f"{refused}, and cuBLASXt: {why}\n"):
                c.expect("no CUDA, or another version", (code, refused in stderr), (2, True))
        matrix = 64 * 64 * 8
        for pinning, mode, registered in ("none", 0, 0), ("per-call", 1, 0), ("once", 0, 5):
            calls, report = (pathlib.Path(folder, name) for name in ("calls", "chain.json"))
            calls.unlink(missing_ok=True)
            out, code, _, stderr = chain({**own, "LD_LIBRARY_PATH": str(there)}, "--pinning", pinning, "--block", "32", "--rounds", "2", "--start", "--verify",
                                         "--report", str(report))
            c.expect(f"cublasxt, pinning {pinning}", (code, stderr, "verified: yes" in out, "matrices to the device" in out), (0, "", True, False))
            expected = ["create", "first device", "block 32", f"pinning {mode}", "pinning 0", "gemm 16", f"pinning {mode}"]
            expected += [f"register {matrix} 0"] * registered + ["gemm 64"] * 6
            c.expect("calls", calls.read_text().splitlines(), expected)
            found = json.loads(report.read_text())
            c.expect("report", (found["block"], found["pinning"], found["device"], len(found["seconds"]), "transfers" in found), (32, pinning, "cuda", 2, False))


def call_cost(c):
    """Operands come to the device once, whatever the number of rounds; there the program states no times of an emulated device."""
    with tempfile.TemporaryDirectory() as folder:
        report, semcache_report = pathlib.Path(folder, "cost.json"), pathlib.Path(folder, "semcache.json")
        done = run([c.programs, "--n", "64", "--matrices", "3", "--calls", "20", "--rounds", "4", "--report", str(report), "--semcache-report",
                    str(semcache_report)], environment={"SEMCACHE_DEVICE": "emulated"})
        c.expect("status, stderr", (done[1], done[3]), (0, ""))
        c.expect("figures", json.loads(report.read_text()),
                 {"program": "blas_call_cost", "device": "emulated", "n": 64, "matrices": 3, "calls": 20, "rounds": 4})
        semcache = json.loads(semcache_report.read_text())
    calls = {call["what"]: call["count"] for call in semcache["library_calls"]}
    c.expect("calls", calls, {ON_DEVICE: 3 + 1 + 4 * (20 + 1)})
    c.expect("h2d bytes", semcache["total"]["h2d"]["bytes"], 2 * (3 + 1) * 64 * 64 * 8)


CASES = [call_cost, attacks, memory_attacks, row_swaps, late, all_routines, large_operands, numpy_chain, numpy_uses, octave, r, hpcc, passes_through, no_blas, memory, in_place, arguments, first_calls, many_matrices, no_host_blas, linked, openmp, streams, kept_blocks, own_new, processes,
         reference_tests_s, reference_tests_d, reference_tests_c, reference_tests_z, routines, as_cublas, symbols, libraries, wide, automatic, mpi, mpi_late, signals, gemm_chain]


def main():
    checks = Checks(*sys.argv[1:3])
    for case in CASES:
        if case.__name__ in sys.argv[3:]:
            case(checks)
    print(f"{checks.failures} failures")
    sys.exit(1 if checks.failures else 0)


main()
