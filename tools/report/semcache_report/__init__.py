# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""One page of what a program moved, from the reports and timelines of all its ranks."""

__version__ = "0.1.0"  # as in the top CMakeLists.txt, which a test compares


class Failure(Exception):
    """There will be no page. The text says why, and what helps."""
