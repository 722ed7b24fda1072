# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Finds the annotations of a header, and cuts them into words that know their place."""
import dataclasses
import re

from .errors import AnnotationError

WORD = re.compile(r"\s+|//.*|/\*.*?\*/|(?P<word>[A-Za-z_]\w*|\d\w*|'[^']*'|\"[^\"]*\"|==|!=|<=|>=|&&|\|\||.)")
LETTER, LETTERS = re.compile("'[A-Za-z0-9]'"), re.compile('"[A-Za-z0-9]+"')
PRAGMA = re.compile(r"\s*#\s*pragma\s+semcache\b")


@dataclasses.dataclass(frozen=True)
class Word:
    text: str
    file: str
    line: int
    column: int

    @property
    def is_name(self):
        return self.text[:1].isalpha() or self.text[:1] == "_"

    def touches(self, after):
        """Is there nothing between this word and the next one?"""
        return self.line == after.line and self.column + len(self.text) == after.column


class Words:
    """The words of one statement, read from left to right. The last one is its end, which is no word of the text."""

    def __init__(self, words, end):
        self.words, self.at = [*words, end], 0

    @property
    def next(self):
        return self.words[self.at]

    @property
    def more(self):
        return self.at + 1 < len(self.words)

    def take(self):
        word = self.next
        self.at += self.more
        return word

    def accept(self, text):
        """Takes the next word if it is this one."""
        if not self.more or self.next.text != text:
            return None
        return self.take()

    def expect(self, text):
        return self.accept(text) or self.fail(f"expected {text}")

    def name(self, what):
        if not self.more or not self.next.is_name:
            self.fail(f"expected {what}")
        return self.take()

    def joined(self, what):
        """Takes words without spaces between them as one, such as cblas_*64_."""
        first = last = self.take() if self.more else self.fail(f"expected {what}")
        text = first.text
        while self.more and last.touches(self.next) and self.next.text not in ",:;":
            last = self.take()
            text += last.text
        return dataclasses.replace(first, text=text)

    def letter(self):
        """Takes a letter. Returns it as C++, in upper case: so the wrappers compare those of programs."""
        word = self.take() if self.more else self.fail("expected a letter, such as 'N'")
        if LETTER.fullmatch(word.text) is None:
            raise AnnotationError(word, "expected a letter, such as 'N'")
        return word.text.upper()

    def letters(self):
        word = self.take() if self.more else self.fail('expected letters, such as "NTC"')
        if LETTERS.fullmatch(word.text) is None:
            raise AnnotationError(word, 'expected letters, such as "NTC"')
        return word.text.upper()

    def end(self):
        if self.more:
            self.fail("is not expected here; a statement ends with ;")

    def fail(self, text):
        raise AnnotationError(self.next, text)

    def list(self, read):
        """Reads what is separated by commas."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        return found


def statements(path, lines, annotated):
    """Returns the statements of the file's annotations, each as Words. `annotated` has the numbers of the lines in which annotations begin."""
    found, i = [], 0
    while i < len(lines):
        opening = PRAGMA.match(lines[i]) if i + 1 in annotated else None
        if opening is None:
            i += 1
            continue
        words, start = [], opening.end()
        while True:
            line = lines[i]
            continued = line.endswith("\\")
            for m in WORD.finditer(line, start, len(line) - continued):
                if m["word"]:
                    words.append(Word(m["word"], path.name, i + 1, m.start() + 1))
            i, start = i + 1, 0
            if not continued or i == len(lines):
                break
        statement = []
        for word in [*words, Word(";", path.name, i, len(lines[i - 1]) + 1)]:
            if word.text != ";":
                statement.append(word)
            elif statement:
                last = statement[-1]
                found.append(Words(statement, Word("end of the statement", path.name, last.line, last.column + len(last.text))))
                statement = []
    return found
