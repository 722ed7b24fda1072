# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""C = AB, D = BC, E = CD, of which the script reads E."""
import sys

import numpy

n = int(sys.argv[1]) if len(sys.argv) > 1 else 512
random = numpy.random.default_rng(1)
a = random.standard_normal((n, n))
b = random.standard_normal((n, n))
c = a @ b
d = b @ c
e = c @ d
print(hash(e.tobytes()), e[3, 5])
