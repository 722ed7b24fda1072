# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Reads JSON piece by piece, so that a timeline of any size needs little memory, and a file that is cut off gives what it has."""
import json
import re

CHUNK = 1 << 20
LONGEST_VALUE = 1 << 28  # characters of one value: a report is one, an event of a timeline another
_space = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


class CutOff(Exception):
    """The file ends within its JSON."""


class NotJson(Exception):
    """The file holds something else."""


class JsonStream:
    """A JSON object in a file, whose members are read in their order."""

    def __init__(self, file):
        self._file, self._text, self._at, self._ended = file, "", 0, False

    def members(self):
        """Yields the name of each member. The caller reads its value by value() or elements() before the next."""
        self._expect("{")
        if self._next() == "}":
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise NotJson("a member has no name")
            self._expect(":")
            yield name
            if self._expect(",}") == "}":
                return

    def elements(self):
        """Yields the elements of a list, of which only one is in memory."""
        self._expect("[")
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield self.value()
            if self._expect(",]") == "]":
                return

    def value(self):
        self._next()
        while True:
            try:
                value, end = _decode(self._text, self._at)
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            except json.JSONDecodeError as e:
                if self._ended:
                    cut = e.pos >= len(self._text) - 8 or "Unterminated" in e.msg
                    raise (CutOff() if cut else NotJson(e.msg)) from None
                if len(self._text) - self._at > LONGEST_VALUE or (e.pos < len(self._text) - CHUNK and "Unterminated" not in e.msg):
                    raise NotJson(e.msg) from None
            except RecursionError:
                raise NotJson("it is nested too deeply") from None
            self._more()

    def _expect(self, characters):
        found = self._next()
        if found not in characters:
            raise NotJson(f"there is {found!r} in place of one of {characters!r}")
        self._at += 1
        return found

    def _next(self):
        """Returns the next character that is no space."""
        while True:
            self._at = _space.match(self._text, self._at).end()
            if self._at < len(self._text):
                return self._text[self._at]
            self._more()

    def _more(self):
        if self._ended:
            raise CutOff()
        left = len(self._text) - self._at
        piece = self._file.read(max(CHUNK, left))  # twice as much each time, or a long value would take quadratic time
        self._ended = not piece
        self._text, self._at = self._text[self._at :] + piece, 0
