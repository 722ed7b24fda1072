# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Runs the program of the made-up library with and without its wrappers. check_made_up.py DROP_IN PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

DROP_IN, PROGRAM = sys.argv[1:3]
ALL_CALLS = {"made_up row_product on the device": 4, "made_up row_product on the host: nothing to compute": 1, "made_up list_scale on the device": 2,
             "made_up complex_axpy on the device": 4}
# Of the products' seven inputs: a, b, d, and a again after its change; c has the form that the device has written. A list and a vector that the
# device has written last have theirs already, and x is as it was. The last call has a small vector, and of y only two elements.
TRANSFORMED = {"rows_to_columns": 4, "columns_to_rows": 4, "gather": 1, "scatter": 2, "split": 4, "join": 4,
               "device_product": 4, "device_scale": 2, "device_axpy": 4}


def run(**variables):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        environment = {**os.environ, **variables}
        if variables:
            environment["SEMCACHE_REPORT"] = str(report)
        done = subprocess.run([PROGRAM], env=environment, capture_output=True, text=True, timeout=200)
        calls = {c["what"]: c["count"] for c in json.loads(report.read_text())["library_calls"]} if report.exists() else {}
    runs = dict((line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in done.stderr.splitlines())
    return done.returncode, done.stdout, runs, calls


def main():
    wrapped = {"LD_PRELOAD": DROP_IN, "SEMCACHE_DEVICE": "emulated", "SEMCACHE_BLAS_OFFLOAD": "always"}
    plain = run()
    failures = 0
    in_place = {**wrapped, "SEMCACHE_BLAS_MALLOC": "0"}
    for what, variables, transformed in ("blocks", wrapped, TRANSFORMED), ("in place", in_place, None):
        found = run(**variables)
        expected = (0, plain[1], found[2] if transformed is None else transformed, ALL_CALLS)
        for name, one, other in zip(("status", "output", "runs", "calls"), found, expected):
            if one != other:
                failures += 1
                print(f"{what}: {name}: {one}, expected {other}")
    never = run(**{**wrapped, "SEMCACHE_BLAS_OFFLOAD": "never"})
    if never[:3] != (0, plain[1], {}):
        failures += 1
        print(f"never: {never}, expected the plain output and no run")
    print(f"{failures} failures")
    sys.exit(1 if failures or plain[0] != 0 or plain[1] == "" else 0)


main()
