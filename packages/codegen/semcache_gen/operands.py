# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Statements about operands and other addresses: shapes, how they are stored, transformations."""
from .errors import AnnotationError, Failure
from .expressions import condition, dimension, number, whole_number
from .model import Operand, Piece, Transformation

MOST_OPERANDS = 6
MOST_PARAMETERS = 8
WAYS = ["rows", "columns", "terms"]  # to cut a call
OF_MATRICES = ["leading", "transposed", "triangle", "band"]  # words behind a shape of two dimensions
NOT_TOGETHER = [{"band", "transposed"}, {"band", "triangle"}, *({"packed", word} for word in OF_MATRICES)]


class OperandReader:
    """The part of a FunctionReader that reads them."""

    def parameter(self, s, what):
        word = s.name(what)
        if word.text not in self.scope.names:
            self.scope.find(word)
        return word

    def type_of(self, word):
        return next((p.type for p in self.function.parameters if p.name == word.text), None)

    def address(self, s, what):
        word = self.parameter(s, what)
        if self.type_of(word) is None or not self.type_of(word).pointer:
            raise AnnotationError(word, "is no address; it needs no word")
        return word

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
            operand.shape = (operand.rows, operand.columns, "")
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
                raise AnnotationError(word, f"states again what '{before}' states of this operand; one of them is enough")
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
                operand.shape = (rows, columns, test)
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

    def read_pieces(self, s, _):
        s.expect(":")
        self.routine.pieces = s.list(lambda: self.piece(s))

    def piece(self, s):
        way = s.name("rows, columns or terms")
        if way.text not in WAYS:
            raise AnnotationError(way, f"is nothing that a call is cut by; these are: {', '.join(WAYS)}")
        if any(p.way == way.text for p in self.routine.pieces):
            raise AnnotationError(way, "stands twice for this function; one of them is enough")
        size, adds = self.parameter_of_kind(s, "integer", "is no number, and so no size that could be cut"), ""
        if way.text == "terms":
            s.expect("of")
            adds = self.parameter_of_kind(s, "value", "is no coefficient").text
        found = Piece(way.text, size, condition(s, self.scope) if s.accept("if") else "", adds)
        self.routine.pieces.append(found)
        return found

    def parameter_of_kind(self, s, kind, otherwise):
        word = self.parameter(s, "a parameter")
        if self.prototype.kinds.get(word.text) != kind:
            raise AnnotationError(word, otherwise)
        return word

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

    def fail(self, text):
        raise Failure(f"{self.file}:{self.function.line}: {text}")
