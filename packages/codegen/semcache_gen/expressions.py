# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Expressions of parameters, in C's notation: they are checked, and written as C++."""
import enum
import re

from .errors import AnnotationError

LEVELS = [["||"], ["&&"], ["==", "!=", "in"], ["<", "<=", ">", ">="], ["+", "-"], ["*", "/", "%"]]
COMPARISON = 2  # the first of the levels that a shape's angle brackets leave out
FUNCTIONS = {"max": 2, "min": 2, "abs": 1}
SIZES = {"+": "sum_of", "-": "difference_of", "*": "product_of", "/": "quotient_of", "%": "remainder_of"}  # packages/blas/src/sizes.hpp


MADE = re.compile(rf"\b({'|'.join(SIZES.values())})\(")  # in the text of a number that may not fit where those in it do


class Arithmetic(enum.Enum):
    SIZES = enum.auto()  # whole numbers, which are limited and do not overflow
    FLOATING = enum.auto()  # numbers of operations
    PLAIN = enum.auto()  # C's


def a(kind):
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


class Scope:
    """What the names of an expression mean. `names` maps each to its kind and its C++ text.

    Kinds: integer, letter, value (a coefficient, which can be compared with a number), condition, other (which has no place in expressions).
    """

    def __init__(self, function, names, constants, arithmetic=Arithmetic.SIZES):
        self.function, self.names, self.constants, self.arithmetic = function, names, constants, arithmetic
        self.used = set()  # the names that expressions have, so far

    def with_names(self, more, arithmetic=Arithmetic.SIZES):
        """Returns a scope that shares all but some names."""
        other = Scope(self.function, {**self.names, **more}, self.constants, arithmetic)
        other.used = self.used
        return other

    def find(self, word):
        if word.text in self.names:
            self.used.add(word.text)
            return self.names[word.text]
        if word.text in self.constants:
            return "literal", str(self.constants[word.text])
        parameters = ", ".join(n for n in self.names if n != "complex")
        raise AnnotationError(word, f"there is no such name; {self.function} has {parameters}")


def number(words, scope):
    """Reads an expression that is a whole number. Returns its C++ text."""
    first = words.next
    kind, text = _choice(words, scope)
    if kind not in ("integer", "literal"):
        raise AnnotationError(first, f"begins {a(kind)}, and a whole number is expected")
    return text


def condition(words, scope):
    first = words.next
    kind, text = _choice(words, scope)
    if kind != "condition":
        raise AnnotationError(first, f"begins {a('number' if kind == 'literal' else kind)}, and a condition is expected, such as m == 0")
    return text


def dimension(words, scope):
    """Reads one dimension of a shape: sums and what stands in parentheses."""
    return argument(words, scope, stop="*")


def argument(words, scope, stop=""):
    """Reads a whole number between angle brackets, where comparisons stand in parentheses."""
    first = words.next
    kind, text = _binary(words, scope, 4, stop)
    if kind not in ("integer", "literal"):
        raise AnnotationError(first, f"begins {a(kind)}, and a whole number is expected")
    return text


def _choice(words, scope):
    kind, text = _binary(words, scope, 0)
    question = words.accept("?")
    if question is None:
        return kind, text
    if kind != "condition":
        raise AnnotationError(question, "what is in front of it is no condition")
    kind_then, then = _choice(words, scope)
    words.expect(":")
    kind_else, otherwise = _choice(words, scope)
    kinds = {kind_then, kind_else} - {"literal"}
    if len(kinds) > 1:
        raise AnnotationError(question, f"chooses between {a(kind_then)} and {a(kind_else)}")
    return (kinds or {"integer"}).pop(), f"({text} ? {then} : {otherwise})"


def _binary(words, scope, level, stop=""):
    if level == len(LEVELS):
        return _single(words, scope)
    kind, text = _binary(words, scope, level + 1, stop)
    while words.more and words.next.text in LEVELS[level] and words.next.text != stop:
        operator = words.take()
        if operator.text == "in":
            kind, text = _one_of(words, operator, kind, text)
            continue
        other_kind, other = _binary(words, scope, level + 1, stop)
        kind, text = _combine(operator, level, (kind, text), (other_kind, other), scope.arithmetic)
    return kind, text


def _one_of(words, operator, kind, text):
    if kind != "letter":
        raise AnnotationError(operator, f"what is in front of it is {a(kind)}, and not a letter")
    return "condition", f"one_of({text}, {words.letters()})"


def _combine(operator, level, left, right, arithmetic):
    kinds = {left[0], right[0]} - {"literal"}
    if level > 3 and operator.text in "/%" and right == ("literal", "0"):
        raise AnnotationError(operator, "divides by zero")
    text = f"{left[1]} {operator.text} {right[1]}"
    if operator.text in ("&&", "||"):
        if kinds != {"condition"}:
            raise AnnotationError(operator, "combines conditions only")
        return "condition", f"({text})"
    if level == COMPARISON and kinds == {"value"} and "literal" in (left[0], right[0]):
        return "condition", text
    if level == COMPARISON and kinds == {"letter"}:
        return "condition", text
    if not kinds <= {"integer"}:
        if "value" in kinds:
            raise AnnotationError(operator, "a coefficient can be compared by == and != with a number only")
        raise AnnotationError(operator, f"stands between {a(left[0])} and {a(right[0])}, which do not fit")
    if level in (2, 3):
        return "condition", text
    return _calculate(operator, left, right, arithmetic)


def _calculate(operator, left, right, arithmetic):
    """Writes what two whole numbers give, or calculates it, if both are known."""
    if arithmetic == Arithmetic.FLOATING and operator.text == "%":
        raise AnnotationError(operator, "has no meaning in a number of operations, which is no whole number")
    if left[0] == right[0] == "literal":
        one, other = int(left[1]), int(right[1])
        if arithmetic == Arithmetic.FLOATING and operator.text == "/":
            return "integer", f"({one}.0 / {other})"
        if operator.text == "/" and one % other != 0:
            raise AnnotationError(operator, f"{one} / {other} is no whole number; multiply first, as in (m * {one}) / {other}")
        calculate = {"+": lambda: one + other, "-": lambda: one - other, "*": lambda: one * other, "/": lambda: one // other,
                     "%": lambda: abs(one) % abs(other) * (-1 if one < 0 else 1)}
        return "literal", in_range(operator, calculate[operator.text]())
    if arithmetic == Arithmetic.SIZES:
        return "integer", f"{SIZES[operator.text]}({left[1]}, {right[1]})"
    return "integer", f"({left[1]} {operator.text} {right[1]})"


def whole_number(word):
    """Returns the text of a number, as C++ has it."""
    if re.fullmatch("0|[1-9][0-9]*", word.text) is None:
        raise AnnotationError(word, "is no whole number in decimal notation, such as 16")
    return in_range(word, int(word.text))


def in_range(word, value):
    if abs(value) >= 2**63:
        raise AnnotationError(word, f"makes {value}, which does not fit 64 bits")
    return str(value)


def _single(words, scope):
    if not words.more:
        words.fail("an expression is missing")
    if words.next.text[:1] == "'":
        return "letter", words.letter()
    word = words.take()
    if word.text == "(":
        kind, text = _choice(words, scope)
        words.expect(")")
        return kind, text
    if word.text == "-":
        kind, text = _single(words, scope)
        if kind not in ("integer", "literal"):
            raise AnnotationError(word, f"is in front of {a(kind)}")
        if kind == "literal":
            return kind, str(-int(text))
        return _calculate(word, ("literal", "0"), (kind, text), scope.arithmetic)
    if word.text == "!":
        kind, text = _single(words, scope)
        if kind != "condition":
            raise AnnotationError(word, f"is in front of {a(kind)}")
        return kind, f"!({text})"
    if word.text[0].isdigit():
        return "literal", whole_number(word)
    if word.text in FUNCTIONS and words.accept("("):
        arguments = words.list(lambda: number(words, scope))
        words.expect(")")
        if len(arguments) != FUNCTIONS[word.text]:
            raise AnnotationError(word, f"takes {FUNCTIONS[word.text]} arguments, and has {len(arguments)}")
        function = "std::abs" if word.text == "abs" and scope.arithmetic == Arithmetic.FLOATING else word.text + "_of"
        return "integer", f"{function}({', '.join(arguments)})"
    if not word.is_name:
        raise AnnotationError(word, "is no number and no name")
    kind, text = scope.find(word)
    if kind == "other":
        raise AnnotationError(word, "is an address, and has no place in an expression")
    return kind, text
