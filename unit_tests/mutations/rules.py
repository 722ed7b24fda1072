# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Ways to break the protocol that are found by rules: every statement of a kind is left out, one at a time.

A mutation is named "file function what #n": the n-th of its kind in that function. So it outlives edits around it, and
a statement that is added later is left out, too, without anybody listing it.
"""

import os
import re

ROOMS = ["directory", "engine", "memory", "pages", "timeline"]

# What is left out where it is a statement on a line of its own.
GUARDS = """count_dropped end_phase expect_not_freed expect_nothing forget_perhaps_unwanted freeze mark_used
note_perhaps_unwanted note_refused note_use note_written open_guarded order_queue prepare_held prepare_use prepare_wanted
prepare_write prepare_commit project project_later project_soon protect_guarded raise renumber
restore revoke separate set_held set_wanted touch touch_holders unwatch watch write drop detach mark_changing""".split()

RULES = [
    # What stands in the way is passed over, and what would have removed it is not done.
    re.compile(r"^\s*if \(const Obstacle o = (?:\w+(?:\.|->))*(\w+)\(.*\)\) return o;$"),
    re.compile(r"^\s*(?:\w+(?:\.|->))*(" + "|".join(GUARDS) + r")\(.*\);(?:\s*//.*)?$"),
]
FUNCTION = re.compile(r"^(?!\s)(?!using|namespace|#|template|struct|class|//).*?(~?\w+)\(.*$")


def mutations(source):
    """Yields (name, file below semcache/, mutated text)."""
    for room in ROOMS:
        folder = os.path.join(source, "semcache", room)
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".cpp") or name == "audit.cpp":
                continue
            path = f"{room}/{name}"
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                lines = file.read().split("\n")
            function, seen = "?", {}
            for number, line in enumerate(lines):
                if (found := FUNCTION.match(line)) and not line.rstrip().endswith(";"):
                    function, seen = found.group(1), {}
                for rule in RULES:
                    if not (found := rule.match(line)):
                        continue
                    what = found.group(1)
                    seen[what] = seen.get(what, 0) + 1
                    indent = line[: len(line) - len(line.lstrip())]
                    yield (f"{path} {function} {what} #{seen[what]}", path,
                           "\n".join(lines[:number] + [indent + ";"] + lines[number + 1:]))
                    break


# Those that no test can notice, and why. (Not yet complete: run_mutations.py --rules lists what the linked tests do not notice. Of
# that `prepare_...` is for failing allocations and `expect_not_freed` for arrays that are freed meanwhile, whose tests are not linked.)
UNNOTICED = {}
