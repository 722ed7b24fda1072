# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What the C compiler's parser (libclang) finds in a header: functions, the types of their parameters, enumerators."""
import dataclasses

from . import words
from .errors import Failure

try:
    import clang.cindex as clang
except ImportError:
    clang = None

SEEN = "an annotation of semcache"


@dataclasses.dataclass(frozen=True)
class Type:
    """A type of C: the name of an arithmetic type, typedef or enumeration, or a pointer to one."""

    base: str
    pointer: bool = False
    const: bool = False  # of what the pointer leads to
    is_enum: bool = False


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    type: Type


@dataclasses.dataclass
class Function:
    name: str
    line: int
    parameters: list
    result: Type
    unsupported: str = ""  # why it cannot be wrapped


@dataclasses.dataclass
class Header:
    functions: list
    constants: dict  # enumerators
    enumerations: dict  # by name, of the tag and of typedefs: their enumerators
    typedefs: set
    statements: list  # of the annotations, as Words


def read(path, arguments=()):
    """Reads a header. Annotations in dead branches and in comments are none: libclang is given an #error for each, and tells which it has met."""
    if clang is None:
        raise Failure("Python finds no libclang, which reads the header. Please install it: apt-get install python3-clang")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise Failure(f"the header {path} cannot be read; name a file that exists") from None
    lines = text.split("\n")
    marked = "\n".join(words.PRAGMA.sub(f"#error {SEEN}: ", line) for line in lines)
    try:
        unit = clang.Index.create().parse(str(path), ["-x", "c", "-std=c11", "-w", "-ferror-limit=0", *arguments], [(str(path), marked)])
    except clang.LibclangError as e:
        raise Failure(f"libclang, which reads the header, cannot be loaded: {e}. Please install it: apt-get install python3-clang") from None
    except clang.TranslationUnitLoadError:
        raise Failure(f"the header {path} cannot be read; name a file that exists") from None
    annotated = set()
    for d in unit.diagnostics:
        if d.spelling.startswith(SEEN):
            annotated.add(d.location.line)
        elif d.severity >= clang.Diagnostic.Error:
            raise Failure(f"{path.name}:{d.location.line}:{d.location.column}: this is no valid C: {d.spelling}")
    header = Header([], {}, {}, set(), words.statements(path, lines, annotated))
    for cursor in unit.cursor.get_children():
        if cursor.kind == clang.CursorKind.ENUM_DECL:
            header.enumerations[cursor.spelling] = _enumerators(cursor)
            header.constants.update(_enumerators(cursor))
        elif cursor.kind == clang.CursorKind.TYPEDEF_DECL:
            header.typedefs.add(cursor.spelling)
            what = cursor.underlying_typedef_type.get_canonical().get_declaration()
            if what.kind == clang.CursorKind.ENUM_DECL:
                header.enumerations[cursor.spelling] = _enumerators(what)
        elif cursor.kind == clang.CursorKind.FUNCTION_DECL and cursor.location.file and cursor.location.file.name == str(path):
            header.functions.append(_function(cursor))
    return header


def _enumerators(cursor):
    return {e.spelling: e.enum_value for e in cursor.get_children() if e.kind == clang.CursorKind.ENUM_CONSTANT_DECL}


def _function(cursor):
    parameters = [Parameter(argument.spelling, _type(argument.type)) for argument in cursor.get_arguments()]
    return Function(cursor.spelling, cursor.location.line, parameters, _type(cursor.result_type), _why_unsupported(cursor))


def _why_unsupported(cursor):
    if cursor.type.kind == clang.TypeKind.FUNCTIONNOPROTO:
        return f"{cursor.spelling} has no list of parameters; write {cursor.spelling}(void), or what it takes"
    if cursor.type.is_function_variadic():
        return f"{cursor.spelling} takes any number of arguments, which is not supported; describe functions with named ones"
    for i, argument in enumerate(cursor.get_arguments()):
        if not argument.spelling:
            return f"parameter {i + 1} of {cursor.spelling} has no name; annotations need it"
    for what, t in [*((argument.spelling, argument.type) for argument in cursor.get_arguments()), ("the result", cursor.result_type)]:
        if _type(t) is None:
            return (f"{what} of {cursor.spelling} has the type {t.spelling}, which is not supported: numbers, enumerations, and pointers to "
                    "numbers are")
    return ""


def _type(t):
    pointer = t.get_canonical().kind == clang.TypeKind.POINTER and t.kind == clang.TypeKind.POINTER
    inner = t.get_pointee() if pointer else t
    canonical = inner.get_canonical()
    if canonical.kind in (clang.TypeKind.POINTER, clang.TypeKind.RECORD, clang.TypeKind.FUNCTIONPROTO) and inner.kind != clang.TypeKind.TYPEDEF:
        return None
    spelling = inner.spelling.replace("const ", "").strip()
    return Type(spelling.replace("enum ", ""), pointer, pointer and inner.is_const_qualified(), canonical.kind == clang.TypeKind.ENUM)
