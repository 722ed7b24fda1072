# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""What is looked at when all statements of a function are read."""
from .errors import AnnotationError
from .expressions import a


def check_outputs(reader):
    for o in reader.routine.operands.values():
        if o.unread and not o.read:
            raise AnnotationError(o.word, "is no input, so 'unless' says nothing of it; name it in inputs, too, or leave 'unless' out")


def check_transformations(reader):
    for o in reader.routine.operands.values():
        given = [t for t in (o.forward, o.reverse) if t is not None]
        if not given:
            continue
        if reader.routine.gpu.startswith("cublas"):
            raise AnnotationError(given[0].word, "is transformed, so the device's routine must be one of your own, not cuBLAS'")
        if o.written and o.reverse is None:
            raise AnnotationError(o.forward.word, "is an output, so it needs a reverse transformation, too")
        if o.read and o.forward is None:
            raise AnnotationError(o.reverse.word, "is an input, so it needs a forward transformation, too")
        if not any(t.rows for t in given):
            raise AnnotationError(given[0].word, f"has no shape in its form: write {o.name}<elements>: ...")


def check_pieces(reader):
    """A piece's operands lie elsewhere, so their leading dimensions are others. Pieces along several sizes are those of a product of matrices."""
    r = reader.routine
    for piece in r.pieces:
        for o in r.ordered:
            if o.storage != "leading" or f"g.{o.step[2:]}" != o.step or not o.step[2:].isidentifier():
                raise AnnotationError(piece.size, f"cannot be cut, because {o.name} has no leading dimension that is a parameter")
            if o.forward or o.reverse:
                raise AnnotationError(piece.size, f"cannot be cut, because {o.name} is transformed")
    if len(r.pieces) < 2 or all(p.test for p in r.pieces):
        return
    sizes = {p.way: f"g.{p.size.text}" for p in r.pieces}
    product = [(sizes.get(rows), sizes.get(columns)) for rows, columns in (("rows", "terms"), ("terms", "columns"), ("rows", "columns"))]
    if len(sizes) != 3 or [o.shape[:2] for o in r.ordered] != product:
        raise AnnotationError(r.pieces[0].size, "is cut together with other sizes, which is only possible for a product of two matrices")


def check_alike(reader):
    """Compares the parameters with those of the first function, which they stand for."""
    main = reader.routine.main
    if reader.routine.pass_through:
        return
    for p in main.function.parameters:
        here = next((q for q in reader.function.parameters if q.name == p.name), None)
        kind, kind_here = main.kinds[p.name], reader.prototype.kinds.get(p.name)
        if here is None and kind not in ("result", "other"):
            reader.fail(f"{reader.function.name} has no parameter {p.name}, which {main.function.name} has; "
                        f"describe {reader.function.name} by itself")
        if here is not None and kind_here != kind:
            remedy = f"say which letters: letters {here.type.base}: ENUMERATOR 'N', ..." if kind == "letter" and here.type.is_enum else \
                "declare it as there"
            reader.fail(f"{p.name} of {reader.function.name} is {a(kind_here)}, and in {main.function.name} {a(kind)}; {remedy}")
        if kind in ("operand", "copied") and (not here.type.pointer or here.type.base != p.type.base):
            reader.fail(f"{p.name} of {reader.function.name} leads to {here.type.base}, and in {main.function.name} to {p.type.base}; "
                      "declare it as there")


def check_pointers(reader):
    """Refuses pointers of which the declaration alone does not say what they lead to, and those that would be written where that is lost."""
    for p in reader.function.parameters:
        kind = reader.prototype.kinds[p.name]
        if not p.type.pointer or kind in ("operand", "copied", "result") or p.name in reader.as_is:
            continue
        is_described = p.name in reader.scope.used if reader.is_main or p.name not in reader.routine.main.kinds else True
        if kind == "other" or not is_described:
            remedy = "inputs or outputs (an array that the device uses), scalars (numbers that are only read), or " if reader.is_main else \
                "a condition (a number), or "
            reader.fail(f"{p.name} of {reader.function.name} may lead to an array or to one number, and no annotation says which: name it in {remedy}"
                      "as_is (what only the library's function uses)")
        if not p.type.const:
            reader.fail(f"{p.name} of {reader.function.name} is one that is read, and its declaration lets the function write it; "
                      "make it const if that does not happen")
    if reader.is_main and not reader.routine.match:
        useful = [p.name for p in reader.function.parameters if reader.prototype.kinds[p.name] not in ("other", "result")]
        for p in reader.function.parameters:
            if reader.prototype.kinds[p.name] == "other":
                reader.fail(f"{p.name} of {reader.function.name} is an address that the device cannot use; leave it out: "
                          f"ParameterMatch <{', '.join(useful)}>")
