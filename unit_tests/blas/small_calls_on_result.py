# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""COUNT products, the last of which a device computes, and then many small calls that use its result."""
import sys

import numpy

n = 600
random = numpy.random.default_rng(4)
a = random.standard_normal((n, n))
b = random.standard_normal((n, n))
v = random.standard_normal(n)
for _ in range(int(sys.argv[1]) - 1):
    c = a @ b
    b = c / numpy.abs(c).max()
c = a @ b
for _ in range(100):
    v = c @ v
    v /= numpy.abs(v).max()
print(hash(c.tobytes()), hash(v.tobytes()))
