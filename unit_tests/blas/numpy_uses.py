# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What scripts do with arrays that BLAS has computed: views, files, mappings, processes, temporaries."""
import io
import multiprocessing
import os
import pickle
import subprocess
import tempfile

import numpy

n = 400
random = numpy.random.default_rng(2)
a = random.standard_normal((n, n))
b = random.standard_normal((n, n))


def show(name, array):
    print(name, hash(numpy.ascontiguousarray(array).tobytes()))


c = a @ b
c[10:20, 5] = 7  # the host writes a part of a result
show("written in place", c @ a)
show("transposed", a.T @ c)
show("views", a[::2, 3:200] @ b[3:200, ::2])
show("Fortran order", numpy.asfortranarray(a) @ b[:, :77])
show("expression", (a @ b + 2 * (b @ a)) @ (a - b))
out = numpy.empty((n, n))
numpy.dot(a, b, out=out)
numpy.dot(out, out, out=c)
show("out=", c)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "array")
    result = a @ b
    result.tofile(path)
    show("tofile", numpy.fromfile(path).reshape(n, n))
    numpy.save(path + ".npy", b @ result)
    loaded = numpy.load(path + ".npy")
    show("save", loaded)
    show("load", loaded @ a)
    with open(path, "rb") as file:
        file.readinto(memoryview(result).cast("B"))
    show("readinto", result @ b)
    mapped = numpy.memmap(path, mode="r+", shape=(n, n))
    mapped[:] = 3
    show("memmap", mapped @ a)
    with open(path, "wb", buffering=0) as file:
        file.write(memoryview(a @ result).cast("B"))
    show("write", numpy.fromfile(path))
show("pickle", pickle.loads(pickle.dumps(a @ a)))
buffer = io.BytesIO()
numpy.savez_compressed(buffer, x=b @ b)
buffer.seek(0)
show("savez", numpy.load(buffer)["x"])

for i in range(40):  # temporaries at the same addresses
    c = c @ a
    c /= numpy.abs(c).max()
show("temporaries", c)

result = a @ b


def child(row):
    return float(result[row].sum() + (a @ result)[row, 0])


with multiprocessing.get_context("fork").Pool(2) as pool:
    print("fork", pool.map(child, range(4)))
show("after the fork", result @ a)
print("subprocess", subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout)
show("LAPACK", numpy.linalg.solve(a @ a.T + n * numpy.eye(n), result))
