# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Reads the statements of one function: what they mean for its parameters, checked against its declaration."""
import re

from . import checks
from .errors import AnnotationError
from .expressions import Arithmetic, Scope, a, argument, condition, number
from .model import CPLUSPLUS
from .operands import OperandReader
from .reserved import NAMES as RESERVED

ONCE = ["precisions", "result", "returns", "work", "GPUMethod", "ParameterMatch", "pieces"]


class FunctionReader(OperandReader):
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
            checks.check_transformations(self)
            checks.check_outputs(self)
            checks.check_pieces(self)
        else:
            checks.check_alike(self)
        if not self.routine.pass_through:
            checks.check_pointers(self)
        if self.is_main and not self.routine.pass_through and not self.routine.operands:
            self.fail(f"{self.function.name} has no inputs and outputs; describe them, or write pass_through")
        if self.is_main and not self.routine.pass_through and not self.routine.gpu:
            self.fail(f"{self.function.name} has no GPUMethod; name one, or write pass_through")

    def find_kinds(self, statements):
        announced = self.announced(statements)
        for what, t in [*((p.name, p.type) for p in self.function.parameters), ("the result", self.function.result)]:
            if t.base in self.library.families and "only" in self.routine.precisions:
                self.fail(f"{what} of {self.function.name} has the type {t.base}, which is another one in each precision: write precisions")
            if t.base in self.library.integers and not all(integer for integer, _ in self.prototype.symbols):
                self.fail(f"{what} of {self.function.name} has the type {t.base}, which has several widths, and no pattern of names fits "
                          f"{self.function.name}: write names PATTERN: ...")
        for p in self.function.parameters:
            if p.name in RESERVED:
                self.fail(f"{p.name} cannot be the name of a parameter of {self.function.name}, because the wrappers or C++ have it; "
                          "choose another one")
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

    def read_work(self, s, _):
        names = {n: (k, f"as_double({t})") if k == "integer" else (k, t) for n, (k, t) in self.scope.names.items()}
        self.routine.work = number(s, self.scope.with_names(names, Arithmetic.FLOATING))

    def read_GPUMethod(self, s, _):
        word = s.joined("the name of the device's routine")
        if re.fullmatch(r"cublas\w*\*?\w*|[A-Za-z_]\w*", word.text) is None:
            raise AnnotationError(word, "is no name of a routine: write cublas*_v2, where the star stands for the function's name, "
                                  "or the name of your own")
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
