# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What auto_pairs.py makes of times and reports: programs with made-up ones stand for gemm_chain and semcache-run.

test_auto_pairs.py AUTO_PAIRS_PY [GEMM_CHAIN SEMCACHE_RUN]   with these two, it runs them on the emulated device, too
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

GEMM_CHAIN = """
import json, os, sys
o = sys.argv
value = lambda name: o[o.index(name) + 1]
rounds = int(value("--rounds")) if "--rounds" in o else 1
under = "UNDER" in os.environ
# Under semcache-run the first half has the device's start.
seconds = [50.0] * (rounds // 2) + [1.5 if under else 2.0] * (rounds - rounds // 2) if under else [2.0] * rounds
json.dump({"seconds": seconds, "rewrite_seconds": [1.0], "start_seconds": 1000}, open(value("--report"), "w"))
"""
RUNNER = """
import json, os, subprocess, sys
assert sys.argv[1] == "--offload=auto", sys.argv
report = sys.argv[2].split("=", 1)[1]
what = "BLAS dgemm on the host: too little work" if "stays" in sys.argv else "BLAS dgemm on the device"
if "silent" not in sys.argv:
    json.dump({"library_calls": [{"what": what, "count": 3}]}, open(report, "w"))
sys.exit(subprocess.run(sys.argv[3:], env={**os.environ, "UNDER": "1"}).returncode)
"""
SLEEPS = """
import os, sys, time
under = "UNDER" in os.environ
time.sleep(0.6 if under and sys.argv[1] == "goes" else 600 if not under and sys.argv[1] == "stays-long" else 0.3)
"""


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r}, expected {expected!r}")


def measure(script, program, runner, *options, environment=None):
    with tempfile.TemporaryDirectory() as folder:
        figures = pathlib.Path(folder, "figures.json")
        done = subprocess.run([sys.executable, "-B", script, program, runner, "--json", figures, *options], env={**os.environ, **(environment or {})},
                              capture_output=True, text=True)
        return done, json.loads(figures.read_text()) if figures.exists() else None


def main():
    script = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        stand_ins = []
        for name, text in ("gemm_chain", GEMM_CHAIN), ("semcache-run", RUNNER), ("sleeps", SLEEPS):
            file = pathlib.Path(folder, name)
            file.write_text("#!" + sys.executable + "\n" + text)
            file.chmod(0o755)
            stand_ins.append(str(file))
        chain, runner, sleeps = stand_ins
        done, found = measure(script, chain, runner, "--pairs", "3", "--n", "32", "4096")
        expect("status, stderr", (done.returncode, done.stderr), (0, ""))
        for name in "gemm 32", "gemm 4096":
            expect(f"{name}: ratio of the second halves", (found[name]["median"], found[name]["quartiles"]), (0.75, [0.75, 0.75]))
            expect(f"{name}: pairs, calls", (found[name]["of_each"], found[name]["calls"]), ([[1.5, 2.0]] * 3, {"BLAS dgemm on the device": 3}))
        expect("only these", list(found), ["gemm 32", "gemm 4096"])
        options = ["--pairs", "2", "--n", "--program", "offloaded", f"{sleeps} goes", "--program", "on the host", f"{sleeps} stays", "--program", "no BLAS",
                   f"{sleeps} silent"]
        done, found = measure(script, chain, runner, *options)
        expect("status, stderr", (done.returncode, done.stderr), (0, ""))
        expect("figures", list(found), ["start_seconds", "offloaded", "on the host", "no BLAS"])
        expect("start", found["start_seconds"], 1000)
        # Sleeps last at least as long as they should, and nothing here lasts as long as that start.
        for ours, theirs in found["offloaded"]["of_each"]:
            expect("the start is taken away", (-999.4 <= ours < 0, theirs >= 0.3), (True, True))
        for name in "on the host", "no BLAS":
            expect(f"{name}: nothing is taken away", all(ours >= 0.3 for ours, _ in found[name]["of_each"]), True)
        expect("calls", [found[name]["calls"] for name in ("offloaded", "on the host", "no BLAS")],
               [{"BLAS dgemm on the device": 3}, {"BLAS dgemm on the host: too little work": 3}, {}])
        expect("ended", [found[name]["ended"] for name in ("offloaded", "on the host", "no BLAS")], [0, 0, 0])
        done, found = measure(script, chain, runner, "--pairs", "3", "--n", "--enough", "2", "--program", "long", f"{sleeps} stays-long", "--program",
                              "short", f"{sleeps} silent")
        expect("status, stderr", (done.returncode, done.stderr), (0, ""))
        expect("ended when it has taken twice as long", (found["long"]["ended"], found["short"]["ended"]), (3, 0))
        for (ours, theirs), start in ((pair, found["start_seconds"]) for pair in found["long"]["of_each"]):
            expect("half as long at most", abs(theirs - 2 * (ours + start)) < 1e-6, True)
        expect("it is said", "at most: in 3 pairs" in done.stdout, True)
        done, _ = measure(script, chain, runner, "--enough", "0.5")
        expect("a factor below 1", (done.returncode, "--enough 0.5: a factor of at least 1 is needed" in done.stderr), (2, True))
        done, _ = measure(script, chain, runner, "--pairs", "1", "--n", "--program", "fails", "false")
        expect("a program that fails", (done.returncode, "false ended with 1" in done.stderr), (1, True))
    if len(sys.argv) > 3:
        done, found = measure(script, *sys.argv[2:4], "--pairs", "1", "--n", "32", environment={"SEMCACHE_DEVICE": "emulated"})
        expect("status, stderr", (done.returncode, done.stderr), (0, ""))
        expect("calls of 2000 rounds", sum(found["gemm 32"]["calls"].values()), 3 * 2000)


main()
