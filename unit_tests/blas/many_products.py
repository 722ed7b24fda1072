# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""COUNT products, of which the script reads little."""
import sys

import numpy

random = numpy.random.default_rng(3)
a = random.standard_normal((600, 600)) / 25
b = random.standard_normal((600, 600)) / 25
for _ in range(int(sys.argv[1])):
    b = a @ b
print(hash(b[:3].tobytes()))
