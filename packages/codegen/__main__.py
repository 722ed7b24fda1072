# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
import sys

if sys.version_info < (3, 9):
    sys.stderr.write("semcache-gen: this is Python %d.%d, and 3.9 or later is needed: apt-get install python3\n" % sys.version_info[:2])
    sys.exit(3)

from semcache_gen.cli import main

sys.exit(main())
