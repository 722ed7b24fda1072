# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What the annotations of a header mean, checked against its declarations."""
import dataclasses
import re

from .errors import AnnotationError, Failure
from .expressions import Arithmetic, Scope, a, argument, condition, dimension, number, whole_number
from .header import Type
from .reserved import NAMES as RESERVED

CPLUSPLUS = {"float _Complex": "std::complex<float>", "double _Complex": "std::complex<double>", "_Complex float": "std::complex<float>",
             "_Complex double": "std::complex<double>", "size_t": "std::size_t"}
FILE_WORDS = ["library", "include", "file", "type", "integer", "names", "fortran", "letters"]
FUNCTION_WORDS = ["alike", "precisions", "let", "inputs", "outputs", "scalars", "as_is", "result", "returns", "requires", "nothing", "where", "pass_through",
                  "work", "GPUMethod", "ParameterMatch", "forward", "reverse"]
ONCE = ["precisions", "result", "returns", "work", "GPUMethod", "ParameterMatch"]
MOST_OPERANDS = 6
MOST_PARAMETERS = 8
OF_MATRICES = ["leading", "transposed", "triangle", "band"]  # words behind a shape of two dimensions
NOT_TOGETHER = [{"band", "transposed"}, {"band", "triangle"}, *({"packed", word} for word in OF_MATRICES)]


@dataclasses.dataclass
class Family:
    """A typedef that stands for another type in each precision."""

    types: dict  # precision: C++ type
    pointee: str  # the family whose members it hands over, some of them by address; "" if it is those itself


@dataclasses.dataclass
class Library:
    name: str = ""
    includes: list = dataclasses.field(default_factory=list)
    families: dict = dataclasses.field(default_factory=dict)
    integers: set = dataclasses.field(default_factory=set)
    names: list = dataclasses.field(default_factory=list)  # (pattern, [(integer type, pattern)])
    fortran: list = dataclasses.field(default_factory=list)
    letters: dict = dataclasses.field(default_factory=dict)  # enumeration: [(enumerator's value, letter)]
    files: dict = dataclasses.field(default_factory=dict)  # file: routines

    @property
    def precisions(self):
        return list(next(iter(self.families.values())).types) if self.families else ["only"]


@dataclasses.dataclass
class Operand:
    name: str
    word: object
    type: Type
    rows: str = ""
    columns: str = ""  # "": a vector
    words: dict = dataclasses.field(default_factory=dict)  # those behind the shape
    storage: str = ""  # "", leading, increment, packed
    step: str = ""  # the leading dimension or the increment
    triangle: str = ""  # the letter that says which
    unread: str = ""  # a condition
    read: bool = False
    written: bool = False
    forward: object = None
    reverse: object = None


@dataclasses.dataclass
class Transformation:
    function: str
    rows: str
    columns: str
    arguments: list
    word: object


@dataclasses.dataclass
class Prototype:
    function: object
    kinds: dict  # parameter: kind
    symbols: list  # (C++ integer type, {precision: symbol})
    fortran: bool
    steps: list = dataclasses.field(default_factory=list)
    result: str = ""  # the parameter that takes it
    returns: tuple = ("", "result")  # C++ type of the device routine's result, what the function makes of it


@dataclasses.dataclass
class Routine:
    name: str
    line: int
    precisions: dict  # precision: stem of the names
    prototypes: list = dataclasses.field(default_factory=list)
    lets: list = dataclasses.field(default_factory=list)
    meanings: dict = dataclasses.field(default_factory=dict)  # of the names in lets, for functions that do not have these
    operands: dict = dataclasses.field(default_factory=dict)
    copied: dict = dataclasses.field(default_factory=dict)  # arrays of coefficients: how many
    requires: list = dataclasses.field(default_factory=list)
    nothing: list = dataclasses.field(default_factory=list)
    passes: list = dataclasses.field(default_factory=list)
    pass_through: bool = False
    work: str = ""
    gpu: str = ""
    match: list = dataclasses.field(default_factory=list)
    scope: object = None

    @property
    def main(self):
        return self.prototypes[0]

    @property
    def ordered(self):
        """The operands that are written come last."""
        return sorted(self.operands.values(), key=lambda o: o.written)


def matches(pattern, name):
    """Returns what the star of a pattern stands for, or None."""
    found = re.fullmatch(re.escape(pattern).replace(r"\*", "(.*)"), name)
    return found and (found[1] if found.groups() else "")


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
                raise AnnotationError(word, f"has the precisions {', '.join(types)}, and {other} has {', '.join(family.types)}; each type has all of them")
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


class FunctionReader:
    """Reads the statements of one function."""

    def __init__(self, reader, routine, prototype):
        self.library, self.routine, self.prototype = reader.library, routine, prototype
        self.function, self.file = prototype.function, reader.file
        self.is_main = prototype is routine.main
        self.constants = reader.header.constants
        self.as_is = set()

    def read(self, statements):
        self.find_kinds(statements)
        self.scope = Scope(self.function.name, self.names(), self.constants)
        if self.is_main:
            self.routine.scope = self.scope
        met = ["precisions"] if "only" not in self.routine.precisions else []
        for s in statements:
            word = s.take()
            if word.text in ONCE and word.text in met:
                raise AnnotationError(word, "stands twice for this function; one of them is enough")
            met.append(word.text)
            if not self.is_main and word.text not in ("requires", "where", "pass_through", "as_is", "result", "returns"):
                raise AnnotationError(word, "belongs to the function that this one is alike to")
            getattr(self, "read_" + word.text)(s, word)
            s.end()
        if self.is_main:
            self.check_transformations()
            self.check_outputs()
        else:
            self.check_alike()
        if not self.routine.pass_through:
            self.check_pointers()
        if self.is_main and not self.routine.pass_through and not self.routine.operands:
            self.fail(f"{self.function.name} has no inputs and outputs; describe them, or write pass_through")
        if self.is_main and not self.routine.pass_through and not self.routine.gpu:
            self.fail(f"{self.function.name} has no GPUMethod; name one, or write pass_through")

    # ---- what the parameters are

    def find_kinds(self, statements):
        announced = self.announced(statements)
        for what, t in [*((p.name, p.type) for p in self.function.parameters), ("the result", self.function.result)]:
            if t.base in self.library.families and "only" in self.routine.precisions:
                self.fail(f"{what} of {self.function.name} has the type {t.base}, which is another one in each precision: write precisions")
        for p in self.function.parameters:
            if p.name in RESERVED:
                self.fail(f"{p.name} cannot be the name of a parameter of {self.function.name}, because the wrappers or C++ have it; choose another one")
            if not self.is_main and p.name in self.routine.meanings:
                self.fail(f"{p.name} is the name of an expression (let) in {self.routine.main.function.name}, and a parameter of "
                          f"{self.function.name}; rename the expression")
            self.prototype.kinds[p.name] = self.kind_of(p, announced.get(p.name))

    def announced(self, statements):
        """Looks ahead for the names that statements describe. Returns what each is."""
        found = {} if self.is_main else {**dict.fromkeys(self.routine.operands, "operand"), **dict.fromkeys(self.routine.copied, "copied")}
        by = {}  # the statement that describes a name
        for s in statements:
            statement = s.next.text
            for word, after in self.listed(s.words):
                kind = {"as_is": "other", "result": "result", "scalars": "copied" if after.text == "<" else "single"}.get(statement, "operand")
                if found.setdefault(word.text, kind) != kind:
                    raise AnnotationError(word, f"is named by {by.get(word.text, 'the function that this one is alike to')} already")
                by[word.text] = statement
        self.as_is = {name for name, kind in found.items() if kind == "other"}
        return found

    @staticmethod
    def listed(words):
        """Yields each name that a statement describes, and the word behind it."""
        if words[0].text == "result":
            yield words[1], words[2] if len(words) > 2 else words[1]
        if words[0].text not in ("inputs", "outputs", "scalars", "as_is"):
            return
        depth = 0
        for i, word in enumerate(words[:-1]):
            depth += (word.text == "(") - (word.text == ")")
            if (i == 1 or word.text == ",") and depth == 0 and words[i + 1].is_name:
                yield words[i + 1], words[min(i + 2, len(words) - 1)]

    def kind_of(self, p, announced):
        t = p.type
        if t.pointer and announced not in (None, "single"):
            return announced
        if t.base in self.library.letters or t.base == "char":
            return "letter"
        if t.base in self.library.families:
            return "value"
        if t.is_enum or t.base in self.library.integers or t.base in ("int", "unsigned int", "long", "unsigned long", "size_t", "long long"):
            return "integer"
        if t.base in ("float", "double", *CPLUSPLUS):
            return "value"
        if self.routine.pass_through or t.pointer:
            return "other"
        self.fail(f"{p.name} of {self.function.name} has the type {t.base}, which is not supported")

    def names(self):
        names = {}
        main = self.routine.main
        for p in main.function.parameters:
            names[p.name] = self.in_expressions(main.kinds[p.name], f"g.{p.name}")
        for p in self.function.parameters:  # of an alike function only
            if p.name not in names:
                names[p.name] = self.in_expressions(self.prototype.kinds[p.name], p.name)
        names["complex"] = ("condition", "is_complex[g.type]")
        if not self.is_main:
            names.update({**self.routine.scope.names, **self.routine.meanings} if self.routine.scope else {})
        return names

    @staticmethod
    def in_expressions(kind, text):
        return (kind if kind in ("integer", "letter", "value") else "other", text)

    def parameter(self, s, what):
        word = s.name(what)
        if word.text not in self.scope.names:
            self.scope.find(word)
        return word

    # ---- statements

    def read_let(self, s, _):
        word = s.name("a name for an expression")
        if word.text in RESERVED:
            raise AnnotationError(word, "cannot be the name of an expression, because the wrappers or C++ have it; choose another one")
        s.expect("=")
        begin = s.at
        text = number(s, self.scope)
        if word.text in self.scope.names:
            raise AnnotationError(word, "there is a parameter or an expression of this name already")
        s.at = begin
        self.routine.meanings[word.text] = ("integer", number(s, self.without_lets))
        self.routine.lets.append((word.text, text))
        self.scope.names[word.text] = ("integer", word.text)

    @property
    def without_lets(self):
        """The scope for functions that do not have the names of let: these stand for their expressions there."""
        return self.scope.with_names(self.routine.meanings)

    def read_inputs(self, s, _):
        s.expect(":")
        for operand in s.list(lambda: self.operand(s)):
            if operand.read:
                raise AnnotationError(operand.word, "is an input already")
            operand.read = True

    def read_outputs(self, s, _):
        s.expect(":")
        for operand in s.list(lambda: self.operand(s)):
            if operand.type.const:
                raise AnnotationError(operand.word, "cannot be an output: the declaration says const")
            if operand.written:
                raise AnnotationError(operand.word, "is an output already")
            operand.written = True

    def operand(self, s):
        word = s.name("the name of an operand")
        known = next((p for p in self.function.parameters if p.name == word.text), None)
        if known is None:
            self.scope.find(word)
        if known is None or not known.type.pointer:
            raise AnnotationError(word, "is no pointer, and so cannot be an operand")
        described = s.next.text == "<"
        operand = self.routine.operands.get(word.text)
        if operand is None:
            if not described:
                raise AnnotationError(word, f"has no shape: write {word.text}<rows * columns>, or {word.text}<elements>")
            operand = self.routine.operands[word.text] = Operand(word.text, word, known.type)
            if len(self.routine.operands) > MOST_OPERANDS:
                raise AnnotationError(word, f"is one too many: a function has at most {MOST_OPERANDS} operands")
        elif described and operand.rows:
            raise AnnotationError(word, "has a shape already; name it only")
        if described:
            operand.rows, operand.columns = self.shape(s)
            self.storage(s, operand)
        return operand

    def shape(self, s):
        s.expect("<")
        rows, columns = dimension(s, self.scope), ""
        if s.accept("*"):
            columns = dimension(s, self.scope)
        if s.more and s.next.text == "*":
            s.fail("a shape has at most two dimensions; put products into parentheses")
        s.expect(">")
        return rows, columns

    @staticmethod
    def check_storage(word, operand):
        """Refuses a word that does not fit the shape, or a word in front of it."""
        if word.text in OF_MATRICES and not operand.columns:
            raise AnnotationError(word, "belongs to a matrix, which has two dimensions")
        if word.text == "increment" and operand.columns:
            raise AnnotationError(word, "belongs to a vector, which has one dimension")
        for before in operand.words:
            if before == word.text:
                raise AnnotationError(word, f"says again what '{before}' has said of this operand; one of them is enough")
            if {before, word.text} in NOT_TOGETHER:
                raise AnnotationError(word, f"cannot be together with '{before}'")
        operand.words[word.text] = word

    def storage(self, s, operand):
        while s.more and s.next.text != ",":
            word = s.take()
            self.check_storage(word, operand)
            if word.text in ("leading", "increment"):
                operand.storage, operand.step = word.text, number(s, self.scope)
            elif word.text == "transposed":
                s.expect("if")
                test = condition(s, self.scope)
                rows, columns = operand.rows, operand.columns
                operand.rows, operand.columns = f"({test} ? {columns} : {rows})", f"({test} ? {rows} : {columns})"
            elif word.text == "triangle":
                operand.triangle = self.letter(s)
            elif word.text == "band":
                below, above = dimension(s, self.scope), dimension(s, self.scope)
                operand.rows = f"({below} + {above} + 1)"
            elif word.text == "packed":
                if operand.columns != operand.rows:
                    raise AnnotationError(word, "belongs to a square matrix: write <n * n>")
                operand.storage = "packed"
            elif word.text == "unless":
                operand.unread = condition(s, self.scope)
            else:
                raise AnnotationError(word, "describes no operand; these words do: leading, increment, transposed if, triangle, band, packed, unless")

    def letter(self, s):
        word = s.name("the letter that says which triangle")
        kind, text = self.scope.find(word)
        if kind != "letter":
            raise AnnotationError(word, "is no letter, and so cannot say which triangle")
        return text

    def read_scalars(self, s, _):
        s.expect(":")

        def one():
            word = self.address(s, "a coefficient, or an array of them")
            if s.accept("<") is None:
                if self.prototype.kinds[word.text] not in ("letter", "integer", "value"):
                    raise AnnotationError(word, f"leads to {self.type_of(word).base}, of which there are no coefficients")
                self.scope.used.add(word.text)
                return
            if not self.type_of(word).const:
                raise AnnotationError(word, "can be written, which is lost: make it const in the declaration if that does not happen")
            count = s.take()
            if not count.text[0].isdigit() or whole_number(count) == "0":
                raise AnnotationError(count, "expected how many coefficients there are")
            s.expect(">")
            self.routine.copied[word.text] = int(count.text)

        s.list(one)

    def read_as_is(self, s, _):
        s.expect(":")
        s.list(lambda: self.address(s, "an address that only the library's function uses"))

    def type_of(self, word):
        return next((p.type for p in self.function.parameters if p.name == word.text), None)

    def address(self, s, what):
        word = self.parameter(s, what)
        if self.type_of(word) is None or not self.type_of(word).pointer:
            raise AnnotationError(word, "is no address; it needs no word")
        return word

    def read_result(self, s, _):
        word = self.parameter(s, "the parameter that takes the result")
        if self.type_of(word) is None or not self.type_of(word).pointer or self.type_of(word).const:
            raise AnnotationError(word, "is no pointer through which the function can write, and so takes no result")
        self.prototype.result = word.text

    def read_returns(self, s, _):
        kind = s.name("the type of the device routine's result").text
        s.expect(":")
        scope = Scope(self.function.name, {"result": ("integer", "on_gpu")}, {}, Arithmetic.PLAIN)
        self.prototype.returns = (kind, number(s, scope))

    def read_requires(self, s, _):
        found = s.list(lambda: condition(s, self.scope))
        if self.is_main:
            self.routine.requires += found
        else:
            self.prototype.steps += [(f"!({c})", ["g.refused = Verdict::wrong_arguments;"]) for c in found]

    def read_nothing(self, s, _):
        s.expect("if")
        self.routine.nothing.append(condition(s, self.scope))

    def read_pass_through(self, s, word):
        if s.accept("if"):
            self.pass_if(condition(s, self.scope))
        elif self.is_main:
            self.routine.pass_through = True
            for p in self.function.parameters:
                self.prototype.kinds[p.name] = "other"
        else:
            raise AnnotationError(word, "needs a condition here: pass_through if ...")

    def pass_if(self, test):
        if self.is_main:
            self.routine.passes.append(test)
        else:
            self.prototype.steps.append((test, ["g.passes = true;"]))

    def read_where(self, s, _):
        test = condition(s, self.scope)
        s.expect(":")
        self.prototype.steps.append((test, [line for action in s.list(lambda: self.action(s)) for line in action]))

    def action(self, s):
        word = s.name("swap, flip or conjugate")
        if word.text == "swap":
            first, second = self.parameter(s, "a parameter"), self.parameter(s, "a parameter")
            lines = [f"std::swap(g.{first.text}, g.{second.text});"]
            kinds = [self.routine.main.kinds.get(w.text) for w in (first, second)]
            if kinds[0] != kinds[1]:
                raise AnnotationError(second, f"is {self.what(kinds[1])}, and {first.text} is {self.what(kinds[0])}")
            return [*lines, f"std::swap(at_{first.text}, at_{second.text});"] if kinds[0] == "operand" else lines
        if word.text == "flip":
            target = self.parameter(s, "a letter")
            if self.scope.names[target.text][0] != "letter":
                raise AnnotationError(target, "is no letter")
            return [f"g.{target.text} = flipped(g.{target.text}, {s.letter()}, {s.letter()});"]
        if word.text == "conjugate":
            return [f"g.{self.parameter(s, 'a coefficient').text}.conjugate();"]
        raise AnnotationError(word, "is no action; these are: swap, flip, conjugate")

    @staticmethod
    def what(kind):
        return "no parameter of both functions" if kind is None else a(kind)

    def read_forward(self, s, _):
        self.transformations(s, "forward")

    def read_reverse(self, s, _):
        self.transformations(s, "reverse")

    def transformations(self, s, way):
        for word, transformation in s.list(lambda: self.transformation(s)):
            operand = self.routine.operands.get(word.text)
            if operand is None:
                raise AnnotationError(word, "is no operand; describe it as an input or output first")
            if getattr(operand, way) is not None:
                raise AnnotationError(word, f"has a {way} transformation already")
            if way == "reverse" and not operand.written:
                raise AnnotationError(word, "is no output, and so has no reverse transformation")
            setattr(operand, way, transformation)

    def transformation(self, s):
        word = s.name("the name of an operand")
        rows, columns = self.shape(s) if s.next.text == "<" else ("", "")
        s.expect(":")
        function = s.name("the name of a function").text
        s.expect("(")
        arguments = [] if s.next.text == ")" else s.list(lambda: number(s, self.without_lets))
        s.expect(")")
        if len(arguments) > MOST_PARAMETERS:
            raise AnnotationError(word, f"has {len(arguments)} parameters; a transformation has at most {MOST_PARAMETERS}")
        return word, Transformation(function, rows, columns, arguments, word)

    def check_transformations(self):
        for o in self.routine.operands.values():
            given = [t for t in (o.forward, o.reverse) if t is not None]
            if not given:
                continue
            if self.routine.gpu.startswith("cublas"):
                raise AnnotationError(given[0].word, "is transformed, so the device's routine must be one of your own, not cuBLAS'")
            if o.written and o.reverse is None:
                raise AnnotationError(o.forward.word, "is an output, so it needs a reverse transformation, too")
            if o.read and o.forward is None:
                raise AnnotationError(o.reverse.word, "is an input, so it needs a forward transformation, too")
            if not any(t.rows for t in given):
                raise AnnotationError(given[0].word, f"has no shape in its form: write {o.name}<elements>: ...")

    def check_alike(self):
        """Compares the parameters with those of the first function, which they stand for."""
        main = self.routine.main
        if self.routine.pass_through:
            return
        for p in main.function.parameters:
            here = next((q for q in self.function.parameters if q.name == p.name), None)
            kind, kind_here = main.kinds[p.name], self.prototype.kinds.get(p.name)
            if here is None and kind not in ("result", "other"):
                self.fail(f"{self.function.name} has no parameter {p.name}, which {main.function.name} has; describe {self.function.name} by itself")
            if here is not None and kind_here != kind:
                remedy = f"say which letters: letters {here.type.base}: ENUMERATOR 'N', ..." if kind == "letter" and here.type.is_enum else \
                    "declare it as there"
                self.fail(f"{p.name} of {self.function.name} is {a(kind_here)}, and in {main.function.name} {a(kind)}; {remedy}")
            if kind in ("operand", "copied") and (not here.type.pointer or here.type.base != p.type.base):
                self.fail(f"{p.name} of {self.function.name} leads to {here.type.base}, and in {main.function.name} to {p.type.base}; "
                          "declare it as there")

    def check_pointers(self):
        """Refuses pointers of which the declaration alone does not say what they lead to, and those that would be written where that is lost."""
        for p in self.function.parameters:
            kind = self.prototype.kinds[p.name]
            if not p.type.pointer or kind in ("operand", "copied", "result") or p.name in self.as_is:
                continue
            is_described = p.name in self.scope.used if self.is_main or p.name not in self.routine.main.kinds else True
            if kind == "other" or not is_described:
                remedy = "inputs or outputs (an array that the device uses), scalars (numbers that are only read), or " if self.is_main else \
                    "a condition (a number), or "
                self.fail(f"{p.name} of {self.function.name} may lead to an array or to one number, and no annotation says which: name it in {remedy}"
                          "as_is (what only the library's function uses)")
            if not p.type.const:
                self.fail(f"{p.name} of {self.function.name} is one that is read, and its declaration lets the function write it; "
                          "make it const if that does not happen")
        if self.is_main and not self.routine.match:
            useful = [p.name for p in self.function.parameters if self.prototype.kinds[p.name] not in ("other", "result")]
            for p in self.function.parameters:
                if self.prototype.kinds[p.name] == "other":
                    self.fail(f"{p.name} of {self.function.name} is an address that the device cannot use; leave it out: "
                              f"ParameterMatch <{', '.join(useful)}>")

    def fail(self, text):
        raise Failure(f"{self.file}:{self.function.line}: {text}")

    def check_outputs(self):
        for o in self.routine.operands.values():
            if o.unread and not o.read:
                raise AnnotationError(o.word, "is no input, so 'unless' says nothing of it; name it in inputs, too, or leave 'unless' out")

    def read_work(self, s, _):
        names = {n: (k, f"as_double({t})") if k == "integer" else (k, t) for n, (k, t) in self.scope.names.items()}
        self.routine.work = number(s, self.scope.with_names(names, Arithmetic.FLOATING))

    def read_GPUMethod(self, s, _):
        word = s.joined("the name of the device's routine")
        if re.fullmatch(r"cublas\w*\*?\w*|[A-Za-z_]\w*", word.text) is None:
            raise AnnotationError(word, "is no name of a routine: write cublas*_v2, where the star stands for the function's name, or the name of your own")
        self.routine.gpu = word.text
        for p in self.function.parameters:
            if not word.text.startswith("cublas") and p.type.base in {*self.library.families, *self.library.integers}:
                raise AnnotationError(word, f"is a routine of your own, and {p.name} of {self.function.name} has the type {p.type.base}, "
                                      "which is several ones; describe each function by itself")

    def read_ParameterMatch(self, s, _):
        s.expect("<")

        def one():
            word = s.next
            if word.text in self.prototype.kinds and (not s.words[s.at + 1:] or s.words[s.at + 1].text in ",>"):
                if self.prototype.kinds.get(word.text) in ("other", "result"):
                    raise AnnotationError(word, "is an address that the device cannot use")
                s.take()
                return word.text
            return ("expression", argument(s, self.without_lets))

        self.routine.match = s.list(one)
        s.expect(">")
