#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Compares the messages of the sources with docs/reference/messages.md.

check_messages.py SOURCE          every message has an entry, and every entry a message; SOURCE is the root of the clone
check_messages.py SOURCE --list   prints the messages as the check sees them

A message is the text of an exception, of SEMCACHE_EXPECTS, fatal or raw_log, of a function or variable named below, or a literal
that begins with "semcache: ". Of a text that is only passed on (e.what(), a function's parameter) nothing is seen.

An entry of the page is a list item that begins with the message in backquotes; further messages of the entry follow behind "or".
There <words> or ... stand for what varies. The chapter of an entry is the kind of its message, and its entries are in the order of
their fixed words. Indented entries are reasons: texts that become part of other messages.
"""
import functools
import pathlib
import re
import sys

# Functions that put an argument (counted from 0, -1 is the last) into a message, functions that return a part of one, variables that hold
# one, and functions with printf's arguments.
ARGUMENTS = {"SEMCACHE_EXPECTS": -1, "refuse": -1, "refuse_devices": -1, "refuse_userfaultfd": -1, "number_or_refuse": -1, "load": -1,
             "outlived_pages": -1, "open_mirror": -1, "abort": 0}
RETURNED = ["why_not_adoptable", "why_no_host_memory", "why_no_list_of_devices", "watch_cuda_driver", "replace_file", "why_no_report_target", "warning_of_shared_devices"]
ASSIGNED = ["failure", "why_not", "warning"]
FORMATS = ["fatal", "raw_log"]
# The chapters of the kinds. An exception's is its own name; "": any.
CHAPTERS = {**dict.fromkeys([*ARGUMENTS, *RETURNED, *ASSIGNED, "literal"], ""), "SEMCACHE_EXPECTS": "UsageError", "invalid_argument": "UsageError",
            "NeitherCanGoOn": "SystemError", "fatal": "The process ends", "abort": "The process ends", "raw_log": "Lines on stderr"}
INTERNAL = "Internal errors"  # the chapter of messages of all kinds that only a defect can cause

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|\d[\w'.]*|\w+|::|\+=|->|\S""", re.S)
SPECIFIER = re.compile(r"%(?:[-#0 .\d]*(?:hh|ll|[hlz])?[a-zA-Z]|%)")
HOLE = "\0"  # stands for what varies


def split(tokens, separator):
    """Splits at the separators outside of parentheses."""
    parts, depth = [[]], 0
    for t in tokens:
        depth += (t in "([{") - (t in ")]}")
        if t == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(t)
    return parts


class Source:
    """A source file. `messages` are triples of kind, line and text."""

    def __init__(self, text):
        found = [m for m in TOKEN.finditer(text) if not m[0].startswith(("//", "/*")) and m[0] != "\\"]
        self.text, self.starts, self.tokens, self.messages = text, [m.start() for m in found], [m[0] for m in found], []
        for i, t in enumerate(self.tokens):
            called = self.tokens[i + 1:i + 2] == ["("]
            arguments = split(self.until(i + 2, ")"), ",") if called else [[]]
            if t == "throw":
                kind = self.until(i + 1, "(;")
                self.add(i, (kind or [t])[-1], self.texts(split(self.until(i + len(kind) + 2, ")"), ",")[0] if kind else [], i))
            elif t in ARGUMENTS and called:
                self.add(i, t, self.texts(arguments[ARGUMENTS[t]], i))
            elif t in FORMATS and called:
                self.add(i, t, self.printed(arguments, i))
            elif t in RETURNED and called:
                head = i + 1 + len(self.until(i + 1, "{;,)"))  # of a definition this is where the body begins
                body = range(head, head + len(self.until(head + 1, "}"))) if self.tokens[head] == "{" else []
                for k in [k for k in body if self.tokens[k] == "return"]:
                    self.add(k, t, self.texts(self.until(k + 1, ";"), k))
            elif t in ASSIGNED and self.tokens[i + 1] == "=":
                self.add(i, t, self.texts(self.until(i + 2, ";"), i))
            elif t.lower().startswith('"semcache: '):
                self.add(i, "literal", self.printed(split(self.until(i, ";)}"), ","), i))

    def add(self, at, kind, texts):
        for text in texts:
            text = " ".join(text.split()).removeprefix("semcache: ")
            if re.search("[A-Za-z]{2}", text) and text != "semcache:":
                self.messages.append((kind, self.text.count("\n", 0, self.starts[at]) + 1, text))

    def until(self, begin, ends):
        """Returns the tokens up to the first of `ends` outside of parentheses."""
        depth, end = 0, begin
        while end < len(self.tokens) and (depth > 0 or self.tokens[end] not in ends):
            depth += (self.tokens[end] in "([{") - (self.tokens[end] in ")]}")
            end += 1
        return self.tokens[begin:end]

    def texts(self, tokens, at):
        """Returns all texts that an expression may be: of literals, sums, choices and local strings; the rest is a hole."""
        choice, terms = split(tokens, "?"), split(tokens, "+")
        if len(choice) > 1:
            rest, depth = tokens[len(choice[0]) + 1:], 0
            for k, t in enumerate(rest):
                depth += (t in "([{?") - (t in ")]}:")
                if depth < 0:
                    return self.texts(rest[:k], at) + self.texts(rest[k + 1:], at)
        if len(terms) > 1:
            texts = [""]
            for term in terms:
                texts = [a + b for a in texts for b in self.texts(term, at)]
            return texts
        if all(t.startswith('"') for t in tokens):
            return ["".join(t[1:-1] for t in tokens).replace('\\"', '"').replace("\\n", " ").replace("\\\\", "\\")]
        tokens = tokens[3:] if tokens[:4] == ["std", "::", "string", "("] else tokens
        if tokens[:1] == ["("] and tokens[-1:] == [")"] and len(split(tokens[1:-1], ",")) == 1:
            return self.texts(tokens[1:-1], at)
        if len(tokens) == 1 or tokens[1:] == [".", "c_str", "(", ")"]:
            made = [i for i, t in enumerate(self.tokens) if t == tokens[0] and self.tokens[i + 1:i + 2] == ["="] and
                    (self.tokens[i - 1] in ("string", "const") or self.tokens[i - 4:i] == ["constexpr", "const", "char", "*"])]
            seen = [i for i in made if i < at < i + len(self.until(i, "}"))] or (made if len(made) == 1 and made[0] > at else [])
            if seen:  # the last one in front; the string of a caller where there is none
                grows = any(self.tokens[k:k + 2] == [tokens[0], "+="] for k in range(seen[-1], at))
                return [text + HOLE * grows for text in self.texts(self.until(seen[-1] + 2, ";"), seen[-1])]
        return [HOLE]

    def printed(self, arguments, at):
        """Returns all texts that printf may make of these arguments."""
        made, arguments = [], [[]] + arguments
        for text in self.texts(arguments[1], at):
            texts, rest = [""], arguments[2:]
            for fixed, specifier in zip(SPECIFIER.split(text), [*SPECIFIER.findall(text), ""]):
                values = {"%%": ["%"], "": [""]}.get(specifier) or (self.texts(rest.pop(0), at) if rest else [HOLE])
                texts = [a + fixed + b for a in texts for b in values]
            made += texts
        return made


@functools.lru_cache(None)
def letters(text):
    return re.sub("[^a-z0-9]+", " ", re.sub(r"<[^<>]*>|\.\.\.|\0", " ", text).lower()).strip()


def entries_of(page):
    """Returns tuples of line, chapter, message, and whether it begins an entry that is not indented."""
    found, chapter = [], ""
    for m in re.finditer(r"^## (.*)|^( *)- (`[^`]+`(?:\s+or\s+`[^`]+`)*)", page, re.M):
        chapter = m[1] or chapter
        for i, text in enumerate(re.findall("`([^`]+)`", m[3] or "")):
            found.append((page.count("\n", 0, m.start()) + 1, chapter, " ".join(text.split()), m[2] == "" and i == 0))
    return found


@functools.lru_cache(None)
def pattern_of(message):
    return re.compile(".*".join(re.escape(fixed) for fixed in re.split(r"<[^<>]*>|\.\.\.", message)))


def covers(entry, kind, text):
    """Is the message of that kind? The entry must say at least half of what does not vary."""
    return (CHAPTERS.get(kind, kind) in ("", entry[1]) or entry[1] == INTERNAL) and pattern_of(entry[2]).fullmatch(text) is not None and \
        2 * len(letters(entry[2])) >= len(letters(text))


def differences(sources, page, page_name="page"):
    """Compares the texts of files, by name, with a page. Returns a line for each difference."""
    entries, wrong, used, last = entries_of(page), [], set(), ("", "")
    for name, text in sources.items():
        for kind, line, message in Source(text).messages:
            found = [e for e in entries if covers(e, kind, message)]
            used.update(found)
            if not found:
                wrong.append(f"{name}:{line}: no entry for '{message.replace(HOLE, '<...>')}' ({CHAPTERS.get(kind, kind) or kind})")
    for e in entries:
        key = (e[1], letters(e[2]))
        if e not in used:
            wrong.append(f"{page_name}:{e[0]}: no message of this kind in the sources: '{e[2]}' ({e[1]})")
        if e[3] and key[0] == last[0] and key < last:
            wrong.append(f"{page_name}:{e[0]}: not in the order of the alphabet: '{e[2]}'")
        last = key if e[3] else last
    return wrong


if __name__ == "__main__":
    root, page = pathlib.Path(sys.argv[1]), "docs/reference/messages.md"
    files = [f for top in ("src", "packages") for f in sorted((root / top).rglob("*")) if f.suffix in (".cpp", ".hpp", ".h", ".cu", ".cuh")]
    sources = {str(f.relative_to(root)): f.read_text() for f in files}
    messages = [f"{f}:{line}: {kind}: {text.replace(HOLE, '<...>')}" for f, t in sources.items() for kind, line, text in Source(t).messages]
    wrong = messages if "--list" in sys.argv else differences(sources, (root / page).read_text(), page)
    print(*wrong, f"{len(messages)} messages in {len(files)} files", sep="\n")
    sys.exit("--list" not in sys.argv and (len(wrong) > 0 or len(messages) < 100))
