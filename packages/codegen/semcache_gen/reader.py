# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Reads the annotations of a header."""
import re

from .errors import AnnotationError, Failure
from .function import FunctionReader
from .model import CPLUSPLUS, Family, Library, Prototype, Routine, matches

FILE_WORDS = ["library", "include", "file", "type", "integer", "names", "fortran", "letters"]
FUNCTION_WORDS = ["alike", "precisions", "let", "inputs", "outputs", "scalars", "as_is", "result", "returns", "requires", "nothing", "where",
                  "pass_through", "work", "GPUMethod", "ParameterMatch", "forward", "reverse", "pieces"]


class Reader:
    """Reads the statements of a header, in the order of its lines."""

    def __init__(self, header, file):
        self.header, self.library, self.file = header, Library(), file
        self.current_file, self.by_function = "wrappers", {}
        functions = sorted(header.functions, key=lambda f: f.line)
        groups = [[] for _ in functions]
        for s in header.statements:
            word = s.next
            if word.text in FILE_WORDS and word.text != "file":
                if word.text == "library" and self.library.name:
                    raise AnnotationError(word, "stands twice; one of them is enough")
                getattr(self, "read_" + s.take().text)(s)
                s.end()
                continue
            if word.text != "file" and word.text not in FUNCTION_WORDS:
                raise AnnotationError(word, f"is no word of an annotation; these are: {', '.join([*FILE_WORDS, *FUNCTION_WORDS])}")
            later = next((i for i, f in enumerate(functions) if f.line > word.line), None)
            if later is None and word.text != "file":
                raise AnnotationError(word, "no function follows that it could belong to")
            if later is not None:
                groups[later].append(s)
        for f, group in zip(functions, groups):
            self.read_function(f, group)

    # ---- statements that hold for the whole header

    def read_library(self, s):
        self.library.name = s.name("the library's name").text

    def read_include(self, s):
        word = s.joined('a header, such as "device.h"')
        if re.fullmatch(r'"[^"<>]+"|<[^"<>]+>', word.text) is None:
            raise AnnotationError(word, 'is no header: write "device.h" or <device.h>')
        self.library.includes.append(word.text)

    def read_type(self, s):
        word = s.next
        name = self.typedef(s)
        if name in self.library.families:
            raise AnnotationError(word, "is described already")
        pointee = ""
        if s.accept("of"):
            other = s.name("the name of a type")
            pointee = other.text
            if pointee not in self.library.families:
                raise AnnotationError(other, "no type of this name is described above")
        s.expect(":")
        types = {}
        for precision, words in s.list(lambda: (s.name("the letter of a precision"), self.until_comma(s))):
            text = " ".join(w.text for w in words).replace(" *", "*")
            if text not in ["float", "double", *CPLUSPLUS, "const void*"]:
                known = "float, double, float _Complex, double _Complex, const void*"
                raise AnnotationError(words[0] if words else s.next, f"begins no type that is known: {known}")
            if precision.text in types:
                raise AnnotationError(precision, "is a precision of this type already")
            types[precision.text] = CPLUSPLUS.get(text, text)
        for other, family in self.library.families.items():
            if set(types) != set(family.types):
                raise AnnotationError(word, f"has the precisions {', '.join(types)}, and {other} has {', '.join(family.types)}; "
                                      "each type has all of them")
        self.library.families[name] = Family(types, pointee)

    def read_integer(self, s):
        self.library.integers.add(self.typedef(s))

    def typedef(self, s):
        word = s.name("the name of a typedef")
        if word.text not in self.header.typedefs:
            raise AnnotationError(word, "the header has no such typedef")
        return word.text

    def read_names(self, s):
        pattern = self.pattern(s)
        s.expect(":")
        versions = []

        def version():
            integer = s.name("a type of integers")
            if integer.text not in ("int32_t", "int64_t"):
                raise AnnotationError(integer, "is no type of integers; these are: int32_t, int64_t")
            while s.more and s.next.text != ",":
                versions.append(("std::" + integer.text, self.pattern(s)))

        s.list(version)
        self.library.names.append((pattern, versions))

    def pattern(self, s):
        word = s.joined("a pattern of names, such as *_64_")
        if word.text.count("*") != 1:
            raise AnnotationError(word, "a pattern of names has one *")
        return word.text

    def read_fortran(self, s):
        self.library.fortran.append(self.pattern(s))

    def read_letters(self, s):
        enumeration = s.name("the name of an enumeration")
        enumerators = self.header.enumerations.get(enumeration.text)
        if enumerators is None:
            raise AnnotationError(enumeration, "the header has no such enumeration")
        if enumeration.text in self.library.letters:
            raise AnnotationError(enumeration, "has letters already")
        s.expect(":")

        def one():
            word = s.name("an enumerator")
            if word.text not in enumerators:
                raise AnnotationError(word, f"is no enumerator of {enumeration.text}; these are: {', '.join(enumerators)}")
            return enumerators[word.text], s.letter()

        found = self.library.letters[enumeration.text] = s.list(one)
        without = [name for name, value in enumerators.items() if value not in dict(found)]
        if without:
            raise AnnotationError(enumeration, f"has no letter for {', '.join(without)}; name one for each enumerator")

    def until_comma(self, s):
        words = []
        while s.more and s.next.text != ",":
            words.append(s.take())
        return words

    # ---- functions

    def read_function(self, f, statements):
        for s in [s for s in statements if s.next.text == "file"]:
            s.take()
            self.current_file = s.name("the name of a file without .cpp").text
            s.end()
            statements.remove(s)
        if not statements:
            return  # a function that is not described is not wrapped
        if f.unsupported:
            raise Failure(f"{self.file}:{f.line}: {f.unsupported}")
        if f.name in self.by_function:
            line = next(p.function.line for p in self.by_function[f.name].prototypes if p.function.name == f.name)
            raise Failure(f"{self.file}:{f.line}: {f.name} is described already, in line {line}")
        alike = next((s for s in statements if s.next.text == "alike"), None)
        if alike is not None:
            statements.remove(alike)
            routine = self.read_alike(alike)
        else:
            precisions = next((s for s in statements if s.next.text == "precisions"), None)
            if precisions is not None:
                statements.remove(precisions)
            routine = self.new_routine(f, precisions)
        self.by_function[f.name] = routine
        prototype = self.new_prototype(f, routine)
        FunctionReader(self, routine, prototype).read(statements)

    def read_alike(self, s):
        s.take()
        word = s.name("the name of a function above")
        s.end()
        if word.text not in self.by_function:
            raise AnnotationError(word, "no function of this name is described above")
        return self.by_function[word.text]

    def names_of(self, name):
        """Returns what the star stands for, and the patterns of this and the other names."""
        for pattern, versions in self.library.names:
            stem = matches(pattern, name)
            if stem is not None:
                return stem, versions
        return name, [("", "*")]

    def new_routine(self, f, s):
        stem, _ = self.names_of(f.name)
        if s is None:
            routine = Routine(stem, f.line, {"only": stem})
        else:
            routine = Routine(stem, f.line, self.precisions_of(stem, s))
            own = next(p for p, name in routine.precisions.items() if name == stem)
            if all(name == p + stem[len(own):] for p, name in routine.precisions.items()):
                routine.name = stem[len(own):]
        self.library.files.setdefault(self.current_file, []).append(routine)
        return routine

    def precisions_of(self, stem, s):
        """Returns the function's name in each precision. A letter alone takes the place of the one that the name begins with."""
        statement, names, words = s.take(), {}, {}
        while s.more:
            word = s.name("the letter of a precision")
            if word.text not in self.library.precisions:
                raise AnnotationError(word, f"no type is described for this precision; there are {' '.join(self.library.precisions)}")
            if word.text in names:
                raise AnnotationError(word, "is a precision of this function already")
            words[word.text] = word
            names[word.text] = s.name("the name in this precision").text if s.accept("=") else ""
        alone = [p for p, name in names.items() if not name]
        begin = [p for p in names if names[p] == stem and stem.startswith(p)] or [p for p in alone if stem.startswith(p)]
        if len(begin) > 1:
            raise AnnotationError(statement, f"{stem} begins with more than one of these letters: {', '.join(begin)}; "
                                  f"write which: {' '.join(p + '=NAME' for p in begin)}")
        if alone and not begin:
            raise AnnotationError(words[alone[0]], f"{stem} begins with the letter of none of these precisions, so write {alone[0]}=NAME")
        for p in alone:
            names[p] = p + stem[len(begin[0]):]
        for p, name in names.items():
            same = next(q for q in names if names[q] == name)
            if same != p:
                raise AnnotationError(words[p], f"its name is that of precision {same}; each precision has another one")
        if stem not in names.values():
            raise AnnotationError(statement, f"{stem} itself is in none of the precisions")
        return names

    def new_prototype(self, f, routine):
        stem, versions = self.names_of(f.name)
        symbols = []
        for integer, pattern in versions:
            if "only" in routine.precisions:
                symbols.append((integer, {"only": pattern.replace("*", stem)}))
                continue
            # What is around the routine's name stays: cdotu_sub.
            own = max((p for p, name in routine.precisions.items() if stem.startswith(name)), key=lambda p: len(routine.precisions[p]), default=None)
            if own is None:
                raise Failure(f"{self.file}:{f.line}: {f.name} has none of the names {', '.join(routine.precisions.values())}")
            rest = stem[len(routine.precisions[own]):]
            symbols.append((integer, {p: pattern.replace("*", name + rest) for p, name in routine.precisions.items()}))
        fortran = any(matches(p, f.name) is not None for p in self.library.fortran) and matches("cblas_*", f.name) is None
        prototype = Prototype(f, {}, symbols, fortran)
        routine.prototypes.append(prototype)
        return prototype
