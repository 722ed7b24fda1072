# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What goes wrong with a header."""


class Failure(Exception):
    """Ends the command with one message."""


class AnnotationError(Failure):
    """Names the place and the offending word of an annotation."""

    def __init__(self, word, text):
        super().__init__(f"{word.file}:{word.line}:{word.column}: '{word.text}': {text}")
