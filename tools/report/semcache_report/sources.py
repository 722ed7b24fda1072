# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Finds the line of the source that a call site names."""
import os
import re

_place = re.compile(r"^(?:host access: )?(?P<path>.+?):(?P<line>\d+)(?: in (?P<function>.*))?$", re.DOTALL)
LARGEST_FILE = 16 << 20
MOST_FILES = 200_000


class Sources:
    def __init__(self, folders):
        self._by_name, self._lines = {}, {}
        for folder in folders:
            for path, _, names in os.walk(folder):
                for name in names:
                    self._by_name.setdefault(name, []).append(os.path.join(path, name))
                if len(self._by_name) > MOST_FILES:
                    break

    def line(self, site):
        """Returns the text of the line, or None, and a sentence that says where it is from, or why there is none."""
        place = _place.match(site)
        if not place:
            return None, ""  # an address: the program was built without -g
        path, number = place["path"], int(place["line"])
        found = self._find(path)
        if len(found) != 1:
            return None, f"there are {len(found)} files of this name" if found else ""
        lines = self._lines_of(found[0])
        if not 0 < number <= len(lines):
            return None, f"{found[0]} has only {len(lines):,} lines: it is not what the program was built from"
        return lines[number - 1].strip()[:400], f"{found[0]}:{number}"

    def _find(self, path):
        same = self._by_name.get(os.path.basename(path), [])
        ends = [f for f in same if f.endswith(os.sep + path.lstrip("./"))] or same
        return ends if ends or not os.path.isfile(path) else [path]

    def _lines_of(self, path):
        if path not in self._lines:
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    self._lines[path] = file.read(LARGEST_FILE).splitlines()
            except OSError:
                self._lines[path] = []
        return self._lines[path]
