#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Runs a program in gdb, and compares what gdb prints with what it must print.

check_gdb.py CASE GDB SCRIPT PROGRAM SCRATCH    CASE is a key of CASES; SCRIPT is semcache_gdb.py
check_gdb.py auto_load GDB SCRIPT PROGRAM SCRATCH LIBRARY LOADER LIBDIR
                                                LIBRARY is PROGRAM's shared library, LOADER the file that gdb reads by itself, LIBDIR as in CMake
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Of each case: commands, each with the texts that must follow it, in order. Texts are regular expressions.
STALE_THEN_RIGHT = [
    ("break written_on_device", []),
    ("run", ["hit Breakpoint 1, written_on_device"]),
    ("print host[5]", [r"= 1\n"]),  # without the command gdb shows the old value
    ("semcache print host[5]", [r"= 2\n"]),
    ("semcache print/r host[5]@2", [r"= \{2, 2\}"]),
    # The array came home once, and the program's own reads find it there.
    ("continue", [r"sum 8192, to host 32768, faults 0\n", "exited normally"]),
]
CASES = {
    "values": STALE_THEN_RIGHT,
    # Without the debugger's settling, the same program has other counts.
    "untouched": [
        ("break written_on_device", []),
        ("run", []),
        ("continue", [r"sum 8192, to host 32768, faults [1-9]\d*\n", "exited normally"]),
    ],
    "crash": [
        ("run crash", ["received SIGSEGV, and it is no access to an array", r"crash \(\)", r"\*nowhere = 1"]),
        ("info locals", []),
        ("continue", ["terminated with signal SIGSEGV"]),
        # The next run begins anew: before SemCache starts, gdb stops as it does in any program.
        ("run early", ["received signal SIGSEGV", r"crash \(\)"]),
        ("kill", []),
        ("set semcache-stop-at-foreign-faults off", []),
        ("run crash", ["terminated with signal SIGSEGV"]),
    ],
    # The service thread has SemCache's lock, and the first thread waits for its fault.
    "busy": [
        ("tbreak semcache::engine::HostAccess::open_pages", []),
        ("run", ["hit Temporary breakpoint"]),
        ("semcache settle", ["busy: this thread is inside SemCache"]),
        ("thread 1", []),
        ("set scheduler-locking on", []),
        ("semcache settle", ["busy: another thread is inside SemCache and does not go on"]),
        ("set scheduler-locking off", []),
        ("semcache settle", ["all arrays are settled"]),
        ("tbreak malloc thread 1", []),
        ("continue", ["malloc"]),
        ("semcache print host[5]", ["busy: this thread has stopped in .*(malloc|new)", "may be stale", r"= \d"]),
        ("continue", [r"sum 8192, to host 32768", "exited normally"]),
    ],
    "fork": [
        ("set follow-fork-mode child", []),
        ("break in_child", []),
        ("run forked", ["in_child"]),
        ("semcache print host[5]", ["busy: a forked child has no arrays", r"= 1\n"]),
        ("continue", ["exited normally"]),
    ],
    # The process runs when gdb comes, so SemCache has begun before.
    "attach": [
        ("semcache print host[5]", [r"= 2\n"]),
        ("set var go_on = 1", []),
        ("break semcache_statistics", []),
        ("continue", ["hit Breakpoint 1"]),
        ("bt", [r"main \("]),
        ("delete", []),
        ("info signals SIGSEGV", [r"SIGSEGV\s+No\s+No\s+Yes"]),
        ("continue", ["exited normally"]),
    ],
    "no_process": [
        ("semcache settle", ["no process runs"]),
        ("python print(gdb.parameter('semcache-stop-at-foreign-faults'))", ["True"]),
    ],
    "views": [
        ("break written_on_device", []),
        ("run", ["hit Breakpoint 1"]),
        ("up", []),
        ("print x_host", [r"View of 1000 at 0x\w+, on the host perhaps stale \(semcache print\) = \{1, 1, 1"]),
        ("semcache print x_host", [r"View of 1000 at 0x\w+ = \{2, 2, 2"]),
        ("semcache print $semcache_data(x_host)[5]@3", [r"= \{2, 2, 2\}"]),
        ("semcache print m_host", [r"View of 4 x 3 at 0x\w+"]),
        ("semcache print $semcache_data(m_host)[0]@12", [r"= \{7 <repeats 12 times>\}"]),
        ("print (int)semcache_settle_all()", [r"= 0\n"]),  # with the static library, too, in a program that does not name it
        ("break in_kernel", []),
        ("continue", ["in_kernel"]),
        # What y_host is to have lies in y, which this kernel uses.
        ("semcache settle", ["busy: not settled, because kernels use their content and have not ended: 'y_mirror'"]),
        ("delete", []),
        ("continue", [r"x_host\(5\) 3, y_host\(5\) 1, m_host\(3, 2\) 7\n", "exited normally"]),
    ],
}
CASES["auto_load"] = STALE_THEN_RIGHT


def auto_load_options(script, scratch, library, loader, libdir):
    """Lays the files as they are installed, and returns how gdb finds them. gdb's own folder for them is that of the system."""
    installed = scratch / libdir / pathlib.Path(library).name
    commands = scratch / "share/semcache/gdb/semcache_gdb.py"
    loads = scratch / "auto-load"
    found = pathlib.Path(str(loads) + str(installed) + "-gdb.py")
    for copy, original in ((installed, library), (commands, script), (found, loader)):
        copy.parent.mkdir(parents=True)
        shutil.copy(original, copy)
    return ["-iex", f"set auto-load scripts-directory {loads}", "-iex", f"add-auto-load-safe-path {loads}",
            "-ex", f"set environment LD_PRELOAD {installed}", "-ex", "set startup-with-shell off"]


def main(case, gdb, script, program, scratch, *installed):
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    loads = auto_load_options(script, scratch.resolve(), *installed) if installed else ["-ex", f"source {script}"]
    command = [gdb, "-nx", "-q", "-ex", "set pagination off", "-ex", "set confirm off", "-ex", "set debuginfod enabled off", *loads]
    for number, (line, _) in enumerate(CASES[case]):
        command += ["-ex", f"echo \\n@{number}@\\n", "-ex", line]
    command += ["-ex", "kill", "-ex", "quit", program]
    if case == "attach":
        process = subprocess.Popen([program, "wait"], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        command[1:1] = ["-p", str(process.pid)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            timeout=240, check=False, env={**os.environ, "TERM": "dumb"})
    print(result.stdout)
    if re.search(r"ptrace.*Operation not permitted|Could not trace the inferior process", result.stdout):
        print(f"{case}: Skipped\nthis system permits no process to be traced (ptrace)")
        return 77
    if "Couldn't write extended state status" in result.stdout:
        print(f"{case}: Skipped\nthis gdb cannot write the registers of this processor, so it can call no function of the program")
        return 77
    parts = re.split(r"\n@\d+@\n", result.stdout)[1:]
    if len(parts) != len(CASES[case]):
        print(f"FAILED: gdb carried out {len(parts)} of {len(CASES[case])} commands")
        return 1
    for (line, texts), part in zip(CASES[case], parts):
        at = 0
        for text in texts:
            found = re.compile(text).search(part, at)
            if found is None:
                print(f"FAILED: after '{line}' gdb does not print '{text}'")
                return 1
            at = found.end()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
