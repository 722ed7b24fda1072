# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Writes the wrappers as C++."""
import pathlib
import re

from .errors import Failure
from .expressions import MADE
from .model import CPLUSPLUS
from .operands import WAYS

TEMPLATES = pathlib.Path(__file__).parent / "templates"
WIDTH = 148  # two less than the usual, for the line ends of macros


def fill(opening, items, closing, indent=4):
    """Writes a list between an opening and a closing, in lines of the usual width."""
    lines, line = [], opening
    for i, item in enumerate(items):
        piece = item + ("," if i + 1 < len(items) else closing)
        if len(line) + len(piece) + 1 > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += piece + " "
    if not items:
        line += closing
    return "\n".join([*lines, line.rstrip()])


class Types:
    """Writes types of C as C++, for the precisions P and the integers Int."""

    def __init__(self, library, prefix="typename P::"):
        self.library, self.prefix = library, prefix

    def base(self, t):
        if t.base in self.library.families:
            return self.prefix + t.base
        if t.base in self.library.integers:
            return "Int"
        return "int" if t.is_enum else CPLUSPLUS.get(t.base, t.base)

    def text(self, t):
        return f"{'const ' if t.const else ''}{self.base(t)}{'*' if t.pointer else ''}"


class SymbolTypes(Types):
    """The same for a symbol, which knows the size of its integers when it has found the host's library."""

    def text(self, t):
        if t.base in self.library.integers:
            return "const void*" if t.pointer else "std::int64_t"
        return super().text(t)


class PrototypeText:
    """The wrapper of one declaration, for all precisions and integers, and its symbols."""

    def __init__(self, library, routine, prototype, routine_text):
        self.routine_text = routine_text
        self.library, self.routine, self.prototype = library, routine, prototype
        self.function, self.kinds = prototype.function, prototype.kinds
        self.types = Types(library)
        self.name = "wrap_" + self.function.name
        self.struct = struct_name(routine)
        self.lengths = sum(p.type.base == "char" and p.type.pointer for p in self.function.parameters) if prototype.fortran else 0
        self.has_int = any(integer for integer, _ in prototype.symbols)

    @property
    def template(self):
        return "template <class P, class Int>" if self.has_int else "template <class P>"

    def signature(self, types, opening, more=()):
        return fill(opening, [*more, *(f"{types.text(p.type)} {p.name}" for p in self.function.parameters)], ")")

    @property
    def heading(self):
        opening = f"{self.types.text(self.function.result)} {self.name}("
        return self.signature(self.types, opening, ["AnyFunction host"]) + " {"

    @property
    def host_type(self):
        types = [self.types.text(p.type) for p in self.function.parameters] + ["std::size_t"] * self.lengths
        return fill(f"  using Host = {self.types.text(self.function.result)}(", types, ");")

    @property
    def pass_on(self):
        return fill("return routine(", [*(p.name for p in self.function.parameters), *["1"] * self.lengths], ");")

    @property
    def returns_value(self):
        return self.function.result.base != "void"

    # ---- the copies of what stands for numbers

    def base_of_value(self, t):
        family = self.library.families.get(t.base)
        return f"typename P::{family.pointee}" if family is not None and family.pointee else self.types.base(t)

    @property
    def copies(self):
        for p in self.function.parameters:
            kind, t = self.kinds[p.name], p.type
            if kind == "value":
                yield f"{self.const(p)}{self.base_of_value(t)} {p.name}_copy = coefficient<{self.base_of_value(t)}>({p.name});"
            elif kind == "copied":
                count = self.routine.copied[p.name]
                yield f"{self.types.base(t)} {p.name}_copy[{count}];"
                yield f"std::copy_n({p.name}, {count}, {p.name}_copy);"
            elif kind in ("letter", "integer") and t.pointer:
                yield f"{self.const(p)}{self.types.base(t)} {p.name}_copy = *{p.name};"

    def const(self, p):
        """What pieces of the call have in another size can be changed."""
        return "" if p.name in self.routine_text.of_pieces else "const "

    @property
    def back(self):
        """Gives what pieces have in another size back to the host's arguments."""
        swaps = [(test, [line.replace("g.", "part.") for line in reversed(lines) if self.is_swap_of_pieces(line)]) for test, lines in self.prototype.steps]
        for test, lines in reversed(swaps):
            yield from (f"if ({test}) {line}" for line in lines)
        for p in self.function.parameters:
            if p.name in self.routine_text.of_pieces:
                copy = p.name + ("_copy" if p.type.pointer or self.kinds[p.name] == "value" else "")
                if self.kinds[p.name] == "value":
                    yield f"{copy} = part.{p.name}.template as<{self.base_of_value(p.type)}>();"
                else:
                    yield f"{copy} = static_cast<{self.types.base(p.type)}>(part.{p.name});"

    def is_swap_of_pieces(self, line):
        found = re.fullmatch(r"std::swap\(g\.(\w+), g\.(\w+)\);", line)
        return found is not None and self.routine_text.of_pieces.issuperset(found.groups())

    @property
    def looked_at(self):
        """The addresses at which the wrapper reads or writes something itself. In some precisions they may be numbers."""
        kinds = ("value", "copied", "letter", "integer", "result")
        return ", ".join(p.name for p in self.function.parameters
                         if self.kinds[p.name] in kinds and (p.type.pointer or self.types.text(p.type).startswith("typename P::")))

    @property
    def assignments(self):
        main = self.routine.main.kinds
        for p in self.function.parameters:
            kind, t = self.kinds[p.name], p.type
            if p.name not in main or main[p.name] in ("result", "other"):
                continue
            copy = p.name + ("_copy" if t.pointer else "")
            if kind == "letter":
                yield f"g.{p.name} = {'letter_of_' + t.base if t.base in self.library.letters else 'upper'}({copy});"
            elif kind == "value":
                yield f"g.{p.name} = Value({p.name}_copy);"
            elif kind == "copied":
                yield f"g.{p.name} = {p.name}_copy;"
            else:
                yield f"g.{p.name} = {copy if kind == 'integer' else p.name};"

    @property
    def places(self):
        """Where each operand is in the call, if a step exchanges some."""
        swapped = {o.name for o in self.routine.ordered for _, lines in self.prototype.steps for line in lines if f"at_{o.name}" in line}
        return {o.name: (f"at_{o.name}" if o.name in swapped else str(i), i) for i, o in enumerate(self.routine.ordered)}

    @property
    def swapped(self):
        return [f"std::size_t {text} = {i};" for text, i in self.places.values() if text.startswith("at_")]

    @property
    def host_call(self):
        arguments = []
        for p in self.function.parameters:
            kind, t = self.kinds[p.name], p.type
            if kind == "operand":
                arguments.append(f"place<{'const ' if t.const else ''}{self.types.base(t)}>(at[{self.places[p.name][0]}])")
            elif kind == "value":
                arguments.append(f"handed<{self.types.text(t)}>({p.name}_copy)")
            elif kind == "copied":
                arguments.append(f"{p.name}_copy")
            elif kind == "result":
                arguments.append("&result")
            else:
                arguments.append(f"&{p.name}_copy" if t.pointer and kind in ("letter", "integer") else p.name)
        return fill(f"    {'result = ' if self.returns_value else ''}routine(", [*arguments, *["1"] * self.lengths], ");", indent=8)

    # ---- results

    @property
    def result_type(self):
        """Of a number that the function returns, or gives to a parameter."""
        if self.returns_value:
            return self.types.text(self.function.result)
        taker = next((p for p in self.function.parameters if p.name == self.prototype.result), None)
        return self.types.base(taker.type) if taker else ""

    @property
    def gpu_type(self):
        return self.prototype.returns[0]

    @property
    def from_gpu(self):
        return self.prototype.returns[1]

    @property
    def macro(self):
        return "SEMCACHE_" + self.function.name.upper()

    @property
    def macro_text(self):
        """The definition of one symbol."""
        result = self.symbol_types.text(self.function.result)
        heading = self.signature(self.symbol_types, f"  {result} symbol(") + " {"
        lines = [f"#define {self.macro}(symbol, {'P, Int' if self.has_int else 'P'})",
                 f"  static HostFunction host_of_##symbol(#symbol{', sizeof(Int)' if self.has_int else ''});",
                 "  static const EarlySearch search_for_##symbol(host_of_##symbol);", heading,
                 "    const HostFunction::Found host = host_of_##symbol.of(SEMCACHE_CALLER);"]
        if self.has_int:
            lines += [f"    if (host.is_wide) {self.call_of_wrapper('std::int64_t')}", self.call_of_wrapper("Int", "    "), "  }"]
        else:
            lines += [self.call_of_wrapper("", "    "), "  }"]
        return " \\\n".join("\n".join(lines).split("\n"))

    def call_of_wrapper(self, integer, indent=""):
        arguments = [f"integer<{integer}>({p.name})" if p.type.base in self.library.integers else p.name for p in self.function.parameters]
        return fill(f"{indent}return {self.name}<{f'P, {integer}' if integer else 'P'}>(", ["host.function", *arguments], ");", indent=8)

    @property
    def symbol_types(self):
        return SymbolTypes(self.library, prefix="P::")

    @property
    def entries(self):
        for integer, names in self.prototype.symbols:
            for precision, symbol in names.items():
                yield f"{self.macro}({symbol}, {precision}_types{', ' + integer if integer else ''})"


def struct_name(routine):
    return "".join(part[:1].upper() + part[1:] for part in routine.name.split("_"))


class RoutineText:
    """What all declarations of a routine share."""

    def __init__(self, library, routine):
        self.library, self.routine = library, routine
        self.name, self.struct, self.line = routine.name, struct_name(routine), routine.line
        self.pass_through = routine.pass_through
        self.prototypes = [PrototypeText(library, routine, p, self) for p in routine.prototypes]
        self.main = routine.main

    @property
    def routines(self):
        names = self.names
        prefix = self.library.name + " " if self.library.name else ""
        return fill(f"Routine {self.name}_routines[] = {{", [f'Routine("{prefix}{n}")' if n else 'Routine("")' for n in names], "};")

    @property
    def names(self):
        """In each precision; "" where there is none."""
        own = self.routine.precisions
        return [own["only"]] if "only" in own else [own.get(p, "") for p in self.library.precisions]

    @property
    def fields(self):
        kinds = {"letter": "char {} = 0;", "integer": "std::int64_t {} = 0;", "value": "Value {};", "operand": "const void* {} = nullptr;",
                 "copied": "const void* {} = nullptr;"}
        forms = [f"Form form_of_{o.name};" for o in self.routine.ordered if o.forward or o.reverse]
        return [kinds[k].format(n) for n, k in self.main.kinds.items() if k in kinds] + forms

    @property
    def lets(self):
        texts = [self.wrong, self.nothing, self.passes, self.work, *self.sizes, *self.operands, *(text for _, text in self.routine.lets)]
        unused = {name for name, _ in self.routine.lets if not any(re.search(rf"\b{name}\b", text) for text in texts)}
        return [f"{'[[maybe_unused]] ' if name in unused else ''}const std::int64_t {name} = {text};" for name, text in self.routine.lets]

    @property
    def wrong(self):
        checks = [f"!({c})" for c in self.routine.requires]
        checks += [f"{o.step} < max_of(1, {o.rows})" for o in self.routine.operands.values() if o.storage == "leading"]
        return " ||\n      ".join(["g.refused != Verdict::on_device", *checks])

    @property
    def nothing(self):
        return " || ".join(self.routine.nothing)

    @property
    def passes(self):
        return " || ".join(["g.passes", *self.routine.passes])

    @property
    def sizes(self):
        """What must fit the 32 bits of the device's routine: parameters, and what expressions make of them."""
        lets = [name for name, text in self.routine.lets if MADE.search(text)]
        texts = []
        for o in self.routine.ordered:
            texts += [o.rows, o.columns, o.step]
            for t in (t for t in (o.forward, o.reverse) if t is not None):
                texts += [t.rows, t.columns, *t.arguments]
        texts += [argument[1] for argument in self.routine.match if isinstance(argument, tuple)]
        made = dict.fromkeys(t for t in texts if MADE.search(t))
        return [f"g.{n}" for n, k in self.main.kinds.items() if k == "integer"] + lets + list(made)

    @property
    def work(self):
        return self.routine.work or "0"

    @property
    def cannot_be_wrong(self):
        """Are there no arguments that the host's routine would refuse? Then small calls are passed on at once."""
        may_be_wrong = bool(self.routine.requires) or any(o.storage == "leading" for o in self.routine.operands.values())
        return not may_be_wrong and not self.routine.lets and bool(self.routine.work)

    @property
    def span(self):
        """How many bytes the operands span at most, as a number of double precision."""
        spans = []
        for o in self.routine.ordered:
            elements = f"as_double({o.rows})" + (f" * as_double({o.columns})" if o.columns else "")
            if o.storage == "increment":
                elements += f" * as_double(abs_of({o.step}))"
            spans.append(f"{elements} * {self.bytes_of(o)}".replace("g.type", "P::type"))
        return " + ".join(spans)

    def bytes_of(self, o):
        return f"bytes_of_{o.type.base}[g.type]" if o.type.base in self.library.families else f"sizeof({self.element(o)})"

    @property
    def addresses(self):
        return [f"g.{o.name}" for o in self.routine.ordered]

    @property
    def operands(self):
        for o in self.routine.ordered:
            size = self.bytes_of(o)
            mode = self.mode(o)
            if o.storage == "packed":
                text = f"packed(g.{o.name}, {o.rows}, {size}, {mode})"
            elif o.columns:
                leading = o.step or o.rows
                text = f"matrix(g.{o.name}, {o.rows}, {o.columns}, {leading}, {size}, {mode})"
            else:
                text = f"vector(g.{o.name}, {o.rows}, {o.step or '1'}, {size}, {mode})"
            if o.triangle:
                text = f"triangle({o.triangle}, {text})"
            if o.forward or o.reverse:
                text = f"formed({text}, g.form_of_{o.name}, {self.form(o)})"
            yield f"{o.unread} ? Operand() : {text}" if o.unread and not o.written else text

    # ---- pieces

    @property
    def of_pieces(self):
        """The parameters that are others for a piece of a call."""
        if not self.routine.pieces:
            return set()
        return {n for p in self.routine.pieces for n in (p.size.text, p.adds) if n} | {o.step[2:] for o in self.routine.ordered}

    @property
    def cut(self):
        """What of a call may be cut, and which sizes its operands have of that."""
        if not self.routine.pieces:
            return ""
        ways = {p.way: p for p in self.routine.pieces}
        sizes = [f"{ways[w].test + ' ? ' if ways[w].test else ''}as_size(g.{ways[w].size.text}){' : 0' if ways[w].test else ''}" if w in ways else "0"
                 for w in WAYS]
        names = {f"g.{p.size.text}": f"Size::{p.way}" for p in self.routine.pieces}
        stored = []
        for o in self.routine.ordered:
            first, second, test = o.shape
            one, two = names.get(first, "Size::whole"), names.get(second, "Size::whole")
            stored.append(f"stored({one}, {two}, {test or 'false'})")
        return fill("  call.cut = {{", [*sizes[:-1], sizes[-1] + "}", "{" + stored[0], *stored[1:]], "}};")

    @property
    def piece(self):
        """Gives the arguments the sizes of a piece."""
        for p in self.routine.pieces:
            yield f"{f'if ({p.test}) ' if p.test else ''}g.{p.size.text} = piece.size(Size::{p.way});"
            if p.adds:
                yield f"if (piece.adds) g.{p.adds}.become_one();"
        for i, o in enumerate(self.routine.ordered):
            yield f"if (piece.leading[{i}] != 0) {o.step} = piece.leading[{i}];"

    def element(self, o):
        return Types(self.library).base(o.type)

    def form(self, o):
        shape = next(t for t in (o.forward, o.reverse) if t and t.rows)
        forward, reverse = (f"&{self.name}_{way}_{o.name}" if t else "nullptr" for way, t in (("forward", o.forward), ("reverse", o.reverse)))
        elements = f"as_size({shape.rows})" + (f" * as_size({shape.columns})" if shape.columns else "")
        parameters = ", ".join(o.forward.arguments if o.forward else [])
        name = o.forward.function if o.forward else o.reverse.function
        return f'Form{{"{name}", &g, {forward}, {reverse}, {elements} * sizeof({self.element(o)}), {{{parameters}}}}}'

    @property
    def transformations(self):
        for o in self.routine.ordered:
            for way, t in (("forward", o.forward), ("reverse", o.reverse)):
                if t is not None:
                    kind = f"place<{self.element(o)}>(to)", f"place<const {self.element(o)}>(from)"
                    yield (f"{self.name}_{way}_{o.name}", fill(f"  ::{t.function}(", ["stream", kind[1], kind[0], *t.arguments], ");"))

    @staticmethod
    def mode(o):
        if not o.written:
            return "Access::read"
        if o.triangle or (o.read and not o.unread):
            return "Access::read_write"  # the other triangle keeps its content
        return f"{o.unread} ? Access::overwrite : Access::read_write" if o.read else "Access::overwrite"

    # ---- the device's routine

    @property
    def is_cublas(self):
        return self.routine.gpu.startswith("cublas")

    @property
    def emulation(self):
        return "Emulation::by_host" if self.is_cublas else "Emulation::by_device_routine"

    @property
    def cublas_names(self):
        return [self.routine.gpu.replace("*", n[:1].upper() + n[1:]) if n else "" for n in self.names]

    @property
    def gpu_call(self):
        places = {o.name: i for i, o in enumerate(self.routine.ordered)}
        arguments = []
        for a in self.routine.match or [p.name for p in self.main.function.parameters if self.main.kinds[p.name] != "result"]:
            if isinstance(a, tuple):
                arguments.append(f"as_int({a[1]})")
                continue
            kind = self.main.kinds.get(a)
            arguments.append(self.cublas_argument(a, kind, places) if self.is_cublas else self.own_argument(a, kind, places))
        if any(p.result_type for p in self.prototypes):
            arguments.append("g.result")
        if self.is_cublas:
            return fill("  routines[g.type](", ["stream", *arguments], ");")
        return fill(f"  ::{self.routine.gpu}(", ["stream.native", *arguments], ");")

    @staticmethod
    def cublas_argument(name, kind, places):
        texts = {"letter": f"code_of(g.{name})", "integer": f"as_int(g.{name})", "value": f"g.{name}.at()", "copied": f"g.{name}"}
        return texts[kind] if kind != "operand" else f"at[{places[name]}]"

    def own_argument(self, name, kind, places):
        p = next(p for p in self.main.function.parameters if p.name == name)
        base = Types(self.library).base(p.type)
        if kind == "operand":
            return f"place<{'const ' if p.type.const else ''}{base}>(at[{places[name]}])"
        texts = {"letter": f"g.{name}", "integer": f"static_cast<{base}>(g.{name})", "value": f"g.{name}.as<{base}>()",
                 "copied": f"place<const {base}>(g.{name})"}
        return texts[kind]


def precision_tables(library, routines):
    """The precisions that the routines of a file have: their types, and the bytes of each."""
    families = library.families
    members = {p: [f"using {n} = {f.types[p]};" for n, f in families.items()] for p in library.precisions if families}
    of_operands = {o.type.base for r in routines for o in r.operands.values()}
    sizes = {n: [f"sizeof({f.types[p]})" for p in library.precisions] for n, f in families.items() if n in of_operands}
    complex_ones = ["true" if any("complex" in f.types[p] for f in families.values()) else "false" for p in library.precisions]
    used = {p for r in routines for p in r.precisions}
    precisions = [p for p in [*library.precisions, "only"] if p in used]
    numbers = {p: library.precisions.index(p) if p in library.precisions else 0 for p in precisions}
    return {"precisions": numbers, "members": members, "sizes": sizes, "complex": complex_ones}


def texts(library, header_name):
    """Returns the text of each file."""
    try:
        import jinja2
    except ImportError:
        raise Failure("Python finds no Jinja2, which fills in the wrappers. Please install it: apt-get install python3-jinja2") from None
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True,
                                     lstrip_blocks=True, keep_trailing_newline=True)
    template = environment.get_template("wrappers.cpp.j2")
    return {name + ".cpp": template.render(header=header_name, library=library, **precision_tables(library, routines),
                                           routines=[RoutineText(library, r) for r in routines])
            for name, routines in library.files.items()}
