# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Calls routines of level 3 with operands of some megabytes, in blocks or in mappings: large_operands.py blocks|mappings.

Prints a hash of each result. All numbers are small integers, so each order of the sums gives the same bits."""
import ctypes
import hashlib
import mmap
import sys

import numpy

BLAS = ctypes.CDLL("libblas.so.3", mode=ctypes.RTLD_GLOBAL) and ctypes.CDLL(None)
LONG, SHORT = 700, 90
random = numpy.random.default_rng(7)


def empty(count, kind):
    if sys.argv[1] == "blocks":
        return numpy.empty(count, kind)
    return numpy.frombuffer(mmap.mmap(-1, count * numpy.dtype(kind).itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), kind, count)


class Matrix:
    """By columns, with three elements between them that no call may change."""

    def __init__(self, rows, columns, kind, values=None):
        self.leading = rows + 3
        self.all = empty(self.leading * columns, kind)
        self.all[:] = 9
        self.inner = self.all.reshape(columns, self.leading).T[:rows]
        if values is None:
            values = random.integers(-3, 4, (rows, columns)) + (1j * random.integers(-3, 4, (rows, columns)) if kind == "D" else 0)
        self.inner[:] = values


def pointer(x):
    return ctypes.c_void_p(x.ctypes.data)


def call(name, letters, sizes, alpha, inputs, beta, result):
    kind = result.all.dtype.char
    real = {"zherk_": "alpha beta", "zher2k_": "beta"}.get(name, "")
    numbers = [numpy.array([x or 0], "d" if which in real else kind) for x, which in ((alpha, "alpha"), (beta, "beta"))]
    arguments = [ctypes.byref(ctypes.c_char(letter.encode())) for letter in letters] + [ctypes.byref(ctypes.c_int(n)) for n in sizes]
    arguments.append(pointer(numbers[0]))
    for m in inputs:
        arguments += [pointer(m.all), ctypes.byref(ctypes.c_int(m.leading))]
    if beta is not None:
        arguments.append(pointer(numbers[1]))
    arguments += [pointer(result.all), ctypes.byref(ctypes.c_int(result.leading))]
    getattr(BLAS, name)(*arguments, *[ctypes.c_size_t(1)] * len(letters))
    show(name, letters, *sizes, beta, result)


def show(*what):
    print(*what[:-1], hashlib.blake2b(what[-1].all.tobytes(), digest_size=8).hexdigest())


def products(p, kind):
    for letters in "NN", "TN", "NT", "CT":
        for m, n, k in (LONG, LONG, LONG), (LONG, LONG, SHORT), (SHORT, LONG, 4 * LONG):
            a = Matrix(*((m, k) if letters[0] == "N" else (k, m)), kind)
            b = Matrix(*((k, n) if letters[1] == "N" else (n, k)), kind)
            for beta in 0, 2:
                call(p + "gemm_", letters, (m, n, k), 2, (a, b), beta, Matrix(m, n, kind))
    call(p + "gemm_", "NN", (LONG, LONG, LONG), 0, (a, b), 2, Matrix(LONG, LONG, kind))


def by_rows():
    """C's interface: the operands and the sizes are exchanged."""
    m, n, k = LONG, LONG + 50, LONG - 50
    a, b, c = Matrix(k, m, "d"), Matrix(n, k, "d"), Matrix(n, m, "d")
    one = ctypes.c_double(1)
    BLAS.cblas_dgemm(101, 111, 111, m, n, k, one, pointer(a.all), a.leading, pointer(b.all), b.leading, one, pointer(c.all), c.leading)
    show("cblas_dgemm by rows", c)


def others(p, kind):
    """A is small, and the others pass; or the result is, and the inputs do."""
    wide = 30 * SHORT
    triangle = numpy.eye(SHORT)
    triangle[:, 0] = 1
    for side in "LR":
        shape = (SHORT, wide) if side == "L" else (wide, SHORT)
        a, b = Matrix(SHORT, SHORT, kind), Matrix(*shape, kind)
        call(p + "symm_", side + "U", shape, 2, (a, b), 3, Matrix(*shape, kind))
        call(p + "trmm_", side + "LTN", shape, 2, (a,), None, Matrix(*shape, kind))
        call(p + "trsm_", side + "LNU", shape, 2, (Matrix(SHORT, SHORT, kind, triangle),), None, Matrix(*shape, kind))
    for trans in "N", "T":
        a, b = (Matrix(*((SHORT, wide) if trans == "N" else (wide, SHORT)), kind) for _ in range(2))
        for beta in 0, 2:
            call(p + "syrk_", "U" + trans, (SHORT, wide), 2, (a,), beta, Matrix(SHORT, SHORT, kind))
            call(p + "syr2k_", "L" + trans, (SHORT, wide), 2, (a, b), beta, Matrix(SHORT, SHORT, kind))
    if kind == "D":
        a, b = Matrix(SHORT, wide, kind), Matrix(SHORT, wide, kind)
        call("zhemm_", "LU", (SHORT, wide), 2, (Matrix(SHORT, SHORT, kind), b), 3, Matrix(SHORT, wide, kind))
        call("zherk_", "UN", (SHORT, wide), 2, (a,), 2, Matrix(SHORT, SHORT, kind))
        call("zher2k_", "LN", (SHORT, wide), 2, (a, b), 2, Matrix(SHORT, SHORT, kind))


products("d", "d")
products("z", "D")
by_rows()
others("d", "d")
others("z", "D")
