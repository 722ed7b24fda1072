# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Calls all routines of BLAS by their Fortran names, with matrices of 600 rows: half of them from malloc, half in mappings.

Prints a hash of each result. The last line has, for the blocks and for the mappings, the bytes that must cross the link to a device: inputs once, and
results at each call, because the script writes them before; then the bytes of all operands, which cross where nothing is kept."""
import ctypes
import hashlib
import json
import mmap

import numpy

ctypes.CDLL("libblas.so.3", mode=ctypes.RTLD_GLOBAL)
BLAS = ctypes.CDLL(None)  # whose names the program finds: the preloaded library's, or those of libblas
N, K, ALL = 600, 200, 600 * 600
TYPES = {"s": numpy.float32, "d": numpy.float64, "c": numpy.complex64, "z": numpy.complex128}

# Routine, precisions, arguments. Letters in quotes; n and k are sizes, v the length of a vector that fills a matrix. Of the operands A, T, P and x
# lie in mappings, B and z in blocks; C, D (matrices), Q (packed), y and w (vectors) are results. al and be are coefficients; ra and rb real ones; f
# is the five numbers of rotm. Numbers are integers: 20 is the leading dimension of a band of 9 rows on either side.
ROUTINES = """
gemm sdcz 'N 'T n n k al A n B n be C n | gemm sdcz 'C 'N n n k al A n B n be C n
symm sdcz 'L 'U n k al A n B n be C n | symm sdcz 'R 'L k n al B n A n be C n | hemm cz 'L 'L n k al A n B n be C n
syrk sdcz 'U 'N n k al A n be C n | syrk sdcz 'L 'T n k al B n be C n | herk cz 'U 'N n k ra A n rb C n | herk cz 'L 'C n k ra B n rb C n
syr2k sdcz 'U 'N n k al A n B n be C n | her2k cz 'L 'C n k al A n B n rb C n
trmm sdcz 'L 'U 'N 'N n k al T n C n | trmm sdcz 'R 'L 'T 'U k n al B n C n | trsm sdcz 'L 'L 'N 'N n k al T n C n
trsm sdcz 'R 'U 'C 'U k n al B n C n
gemv sdcz 'N n n al A n x 1 be y 1 | gemv sdcz 'C n n al B n x 2 be y -1 | gbmv sdcz 'N n n 9 9 al A 20 x 1 be y 1
symv sd 'U n al A n x 1 be y 1 | hemv cz 'L n al B n x 1 be y 1 | sbmv sd 'U n 9 al B 20 x 1 be y 1 | hbmv cz 'L n 9 al A 20 x 1 be y 1
spmv sd 'U n al P x 1 be y 1 | hpmv cz 'L n al P x 1 be y 1 | trmv sdcz 'U 'N 'N n T n y 1 | tbmv sdcz 'L 'T 'N n 9 B 20 y 1
tpmv sdcz 'U 'N 'N n P y 1 | trsv sdcz 'L 'N 'N n T n y 1 | tbsv sdcz 'U 'N 'U n 9 B 20 y 1 | tpsv sdcz 'L 'T 'U n P y 1
ger sd n n al x 1 z 1 C n | geru cz n n al x 1 z 1 C n | gerc cz n n al x 1 z 1 C n | syr sd 'U n al x 1 C n | her cz 'L n ra x 1 C n
spr sd 'U n al x 1 Q | hpr cz 'L n ra x 1 Q | syr2 sd 'L n al x 1 z 1 C n | her2 cz 'U n al x 1 z 1 C n | spr2 sd 'U n al x 1 z 1 Q
hpr2 cz 'L n al x 1 z 1 Q
axpy sdcz v al A 1 C 1 | scal sdcz v al C 1 | csscal c v ra C 1 | zdscal z v ra C 1 | copy sdcz v B 1 C 1 | swap sdcz v C 1 D 1
dot sd v A 1 B 1 | dotu cz v A 1 B 1 | dotc cz v A 1 B 1 | nrm2 sdcz v A 1 | asum sdcz v B 1 | iamax sdcz v A 1
rot sd v C 1 D 1 ra rb | csrot c v C 1 D 1 ra rb | zdrot z v C 1 D 1 ra rb | rotm sd v C 1 D 1 f
""".replace("|", "\n").strip().splitlines()
# Always the host's.
ON_HOST = "sdsdot s n al x 1 z 1 | dsdot s n x 1 z 1 | rotg sdcz w w rc w | rotmg sd w w w w w".split(" | ")


def name_of(routine, p):
    real = {"s": "s", "d": "d", "c": "s", "z": "d"}[p]
    if routine in ("nrm2", "asum"):
        return (real if real == p else real + p) + routine
    if routine == "iamax":
        return "i" + p + "amax"
    return routine if routine in ("csscal", "zdscal", "csrot", "zdrot", "sdsdot", "dsdot") else p + routine


class Precision:
    """The operands of one precision."""
    IN_MAPPINGS = "ATPxD"

    def __init__(self, p):
        self.p, self.type = p, TYPES[p]
        self.real = numpy.dtype(self.type).type(0).real.dtype
        random = numpy.random.default_rng(6)
        self.fresh, self.arrays, self.sizes = {}, {}, {"P": ALL // 2 + N // 2, "Q": ALL // 2 + N // 2, "x": 2 * N, "z": N, "y": N, "w": 16}
        for name in "ABTPxzCDQyw":
            count = self.sizes.setdefault(name, ALL)
            values = random.standard_normal(count) / N
            if p in "cz":
                values = values + 1j * random.standard_normal(count) / N
            if name == "T":
                values[:: N + 1] += 1
            self.fresh[name] = values.astype(self.type)
            self.arrays[name] = self.place(name)
            self.arrays[name][:] = self.fresh[name]
        number = (lambda x, i: x + 1j * i) if p in "cz" else (lambda x, i: x)
        self.numbers = {"al": numpy.array([number(1.25, 0.5)], self.type), "be": numpy.array([number(0.75, -0.25)], self.type),
                        "ra": numpy.array([0.8], self.real), "rb": numpy.array([0.6], self.real), "rc": numpy.zeros(1, self.real),
                        "f": numpy.array([-1, 0.9, 0.2, -0.3, 1.1], self.real)}

    def place(self, name):
        count, item = self.sizes[name], numpy.dtype(self.type).itemsize
        if name not in self.IN_MAPPINGS:
            return numpy.empty(count, self.type)
        return numpy.frombuffer(mmap.mmap(-1, count * item, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), self.type, count)

    def call(self, routine, words):
        """Returns the bytes of all operands that are kept on a device, by where they lie, and whether they are results."""
        name = name_of(routine, self.p)
        function, arguments, integers, results, bytes_of = getattr(BLAS, name + "_"), [], [], [], []
        for word in words:
            if word in self.arrays:
                if word in "CDQyw":
                    self.arrays[word][:] = self.fresh[word]
                    results.append(word)
                bytes_of.append((word in self.IN_MAPPINGS, word in "CDQyw", word, self.arrays[word].nbytes))
                offset = 2 * results.count("w") * self.arrays[word].itemsize if word == "w" else 0
                arguments.append(ctypes.c_void_p(self.arrays[word].ctypes.data + offset))
            elif word in self.numbers:
                arguments.append(ctypes.c_void_p(self.numbers[word].ctypes.data))
            elif word[0] == "'":
                arguments.append(ctypes.byref(ctypes.c_char(("T" if word == "'C" and self.p in "sd" and routine[0] != "h" else word[1]).encode())))
            else:
                integers.append(ctypes.c_int({"n": N, "k": K, "v": ALL}.get(word) or int(word)))
                arguments.append(ctypes.byref(integers[-1]))
        one = ctypes.c_float if self.p in "sc" and routine != "dsdot" else ctypes.c_double
        number = type("Pair", (ctypes.Structure,), {"_fields_": [("x", one), ("y", one)]}) if routine in ("dotu", "dotc") else one
        function.restype = ctypes.c_int if routine == "iamax" else number if routine in "dot dotu dotc nrm2 asum sdsdot dsdot".split() else None
        returned = function(*arguments, *[ctypes.c_size_t(1)] * sum(word[0] == "'" for word in words))
        text = repr((returned.x, returned.y) if hasattr(returned, "x") else returned)
        text += "".join(hashlib.blake2b(self.arrays[word].tobytes(), digest_size=8).hexdigest() for word in results)
        print(name, *words, text)
        return bytes_of


def main():
    once, used, calls = [0, 0], [0, 0], 0
    for p in "sdcz":
        precision, seen = Precision(p), set()
        for line in ROUTINES:
            routine, precisions, *words = line.split()
            if p not in precisions:
                continue
            calls += 1
            for mapped, is_result, word, size in precision.call(routine, words):
                if word in "ABTPCDQ":
                    used[mapped] += size
                    once[mapped] += 0 if word in seen else size
                    seen.update([] if is_result else [word])
        for line in ON_HOST:
            routine, precisions, *words = line.split()
            if p in precisions:
                precision.call(routine, words)
    print(json.dumps({"calls": calls, "once": once, "used": used}))


main()
