# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What the annotations of a header mean."""
import dataclasses
import re

from .header import Type

CPLUSPLUS = {"float _Complex": "std::complex<float>", "double _Complex": "std::complex<double>", "_Complex float": "std::complex<float>",
             "_Complex double": "std::complex<double>", "size_t": "std::size_t"}


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
    shape: tuple = ()  # the same as they are written, and the condition under which they are exchanged
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
class Piece:
    """A size along which a call may be cut: the rows or the columns of its result, or the terms of its sums."""

    way: str
    size: object  # the parameter's word
    test: str  # the condition; "": always
    adds: str = ""  # the coefficient of what the result was, for terms


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
    pieces: list = dataclasses.field(default_factory=list)
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
