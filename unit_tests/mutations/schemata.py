# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Rewrites a C++ source so that it contains all its mutants, one of which is chosen when the program runs.

This is a mutant schema (Untch, Offutt, Harrold 1993): `stop();` becomes `if (SEMCACHE_MUTANT(17)) {} else stop();`, and a condition
`a` becomes `!SEMCACHE_MUTANT(18) && (SEMCACHE_MUTANT(19) || (a))`. So hundreds of mutants cost one compilation.

A mutant is named "file function what #n": it is the n-th of its kind in the functions of that name. The kinds are

    NAME               the statement that calls NAME is left out; of `if (const Obstacle o = NAME(...)) return o;`, all of it
    set NAME           the assignment to NAME is left out, or its increment
    if NAME true       the condition of an `if` is taken for true; NAME is the last name in it that says something
    if NAME false      ... for false; the same of a loop's
    without NAME       the operand with NAME of `&&` or `||` is left out
    choose NAME true   the condition of `?:` is taken for true, or false
    return true        a function that returns bool returns that, or false
    only NAME          of std::min or std::max: the argument with NAME is the result
    plain NAME         of a sum, difference, product or quotient: the operand NAME is left out
    NAME as TEXT       the name (or number) is replaced in an expression; only where rules.py asks for it

It knows as much C++ as our style uses: a binary operator has spaces around it, and a reference, a pointer or a template's bracket has
none. What it cannot read it leaves as it is.
"""

import re

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<text>(?:u8|[uUL])?R"\((?:.|\n)*?\)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[\w.']|[eE][+-])*)
  | (?P<sign><<=|->\*|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|[^\s\w])
""", re.VERBOSE | re.DOTALL)

PAIRS = {"(": ")", "{": "}", "[": "]"}
# Names that say nothing about what is asked.
GENERAL = set("""std size empty begin end data get load valid value first second back front nullptr true false static_cast uint32_t uint64_t
int64_t ptrdiff_t size_t unsigned const auto this sizeof UINT32_MAX UINT64_MAX UINT_MAX Mode Kind Protection platform operator push_back
compare_exchange_strong""".split())
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}


class Mutant:
    def __init__(self, number, kind, name, line):
        self.number, self.kind, self.name, self.line = number, kind, name, line


class Trial:
    """Mutants that are tried at once: one, or two. `required`: the tests have to notice."""

    def __init__(self, mutants, required):
        self.required = required
        self.numbers = {mutant.number for mutant in mutants}
        self.name = " + ".join(mutant.name for mutant in mutants)
        self.lines = " + ".join(str(mutant.line) for mutant in mutants)

    def number_list(self):
        return ",".join(map(str, sorted(self.numbers)))


class Source:
    """One file. `mutants` is told of each, `path` is its name below semcache/."""

    def __init__(self, path, text, mutants, wanted, replacements=()):
        """`replacements`: (function, name, what it is replaced by)."""
        self.path, self.mutants, self.wanted, self.replacements = path, mutants, wanted, {}
        for function, name, other in replacements:
            self.replacements.setdefault((function, name), []).append(other)
        self.tokens = []  # (kind, text, space before it)
        space, at, line = "", 0, 1
        while at < len(text):
            found = TOKEN.match(text, at)
            kind, word = found.lastgroup, found.group()
            if kind == "space":
                space += word
            elif kind == "directive":
                space += word
            else:
                self.tokens.append((kind, word, space, line + space.count("\n")))
                line += space.count("\n") + word.count("\n")
                space = ""
            at = found.end()
        self.tail = space
        self.match = {}
        stack = []
        for i, (_, word, *_rest) in enumerate(self.tokens):
            if word in PAIRS:
                stack.append(i)
            elif stack and word in PAIRS.values():
                self.match[stack.pop()] = i
        self.function, self.returns_bool, self.counts = None, False, {}

    # --- helpers ---

    def word(self, i):
        return self.tokens[i][1] if 0 <= i < len(self.tokens) else ""

    def raw(self, a, b):
        """The source text of tokens [a, b), with the space in front of each."""
        return "".join(self.tokens[i][2] + self.tokens[i][1] for i in range(a, b))

    def spaced(self, i):
        """Is token i a binary operator by our style?"""
        return self.tokens[i][2] != "" and i + 1 < len(self.tokens) and self.tokens[i + 1][2] != ""

    def key(self, a, b):
        """The name that says most about tokens [a, b): the last one outside of brackets, else the last one."""
        for nested in (False, True):
            found, i = "", a
            while i < b:
                kind, word = self.tokens[i][:2]
                if kind == "word" and word not in GENERAL:
                    found = word.rstrip("_")
                i = self.match.get(i, i) + 1 if not nested and word in "([{" and i in self.match else i + 1
            if found:
                return found
        return self.word(b - 1)

    def mutant(self, kind, what, at):
        """The number of a new mutant; None if it is not wanted."""
        name = f"{self.path} {self.function} {what}"
        self.counts[name] = self.counts.get(name, 0) + 1
        name = f"{name} #{self.counts[name]}"
        if not self.wanted(kind, name):
            return None
        self.mutants.append(Mutant(len(self.mutants) + 1, kind, name, self.tokens[at][3]))
        return len(self.mutants)

    def top(self, a, b):
        """Indices of the tokens in [a, b) outside of brackets (brackets themselves: the opening one)."""
        i = a
        while i < b:
            yield i
            i = self.match[i] + 1 if self.word(i) in PAIRS and i in self.match else i + 1

    # --- expressions ---

    def split(self, a, b, signs, needs_space=True):
        """The operands [(begin, end), ...] between top-level `signs`; the signs are the tokens between them."""
        parts, begin = [], a
        for i in self.top(a, b):
            if (i > begin or not needs_space) and self.tokens[i][0] == "sign" and self.word(i) in signs and (not needs_space or self.spaced(i)):
                parts.append((begin, i))
                begin = i + 1
        parts.append((begin, b))
        return parts

    def condition(self, a, b, what):
        """The condition of tokens [a, b), taken for true or false; `what` is "if" or "choose"."""
        key = self.key(a, b)
        true, false = self.mutant(what, f"{what} {key} true", a), self.mutant(what, f"{what} {key} false", a)
        text = self.expression(a, b)
        if true:
            text = f" (SEMCACHE_MUTANT({true}) || ({text}))"
        if false:
            text = f" (!SEMCACHE_MUTANT({false}) && ({text}))"
        return text

    def joined(self, parts, text):
        """Operands with the signs between them; `text` gives each operand's."""
        out = []
        for n, part in enumerate(parts):
            if n > 0:
                out.append(self.raw(parts[n - 1][1], part[0]))
            out.append(text(n, *part))
        return "".join(out)

    def expression(self, a, b):
        if a >= b:
            return ""
        parts = self.split(a, b, {","}, needs_space=False)
        if len(parts) > 1:
            return self.joined(parts, lambda n, x, y: self.expression(x, y))
        parts = self.split(a, b, ASSIGNMENTS)
        if len(parts) == 2:
            return self.joined(parts, lambda n, x, y: self.primaries(x, y) if n == 0 else self.expression(x, y))
        question = next((i for i in self.top(a, b) if self.word(i) == "?" and self.spaced(i)), None)
        if question is not None:
            depth = 0
            for i in self.top(question, b):
                depth += {"?": 1, ":": -1}.get(self.word(i), 0)
                if depth == 0 and self.word(i) == ":":
                    return (self.condition(a, question, "choose") + self.raw(question, question + 1) +
                            self.expression(question + 1, i) + self.raw(i, i + 1) + self.expression(i + 1, b))
            return self.raw(a, b)
        for sign, keep in (("||", " (!SEMCACHE_MUTANT({}) && ({}))"), ("&&", " (SEMCACHE_MUTANT({}) || ({}))")):
            parts = self.split(a, b, {sign})
            if len(parts) > 1:
                def operand(n, x, y, keep=keep):
                    number = self.mutant("without", f"without {self.key(x, y)}", x)
                    text = self.expression(x, y)
                    return keep.format(number, text) if number else text
                return self.joined(parts, operand)
        for signs in ({"|", "^", "&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<"}):
            parts = self.split(a, b, signs)
            if len(parts) > 1:
                return self.joined(parts, lambda n, x, y: self.expression(x, y))
        for signs in ({"+", "-"}, {"*", "/", "%"}):
            parts = self.split(a, b, signs)
            if len(parts) > 1:
                text = self.expression(*parts[0])
                has_text = any(self.tokens[i][0] == "text" for i in range(a, b))
                for n in range(1, len(parts)):
                    number = None if has_text else self.mutant("plain", f"plain {self.key(*parts[n])}", parts[n][0])
                    sign, right = self.raw(parts[n - 1][1], parts[n][0]), self.expression(*parts[n])
                    if number:
                        neutral = "{}" if "+" in signs else "{1}"
                        right = f" (SEMCACHE_MUTANT({number}) ? std::decay_t<decltype({self.raw(*parts[n])})>{neutral} : ({right}))"
                    text += sign + right
                return text
        return self.primaries(a, b)

    def primaries(self, a, b):
        """Tokens [a, b) without a top-level operator that matters: what is in brackets is looked at."""
        out, i = [], a
        while i < b:
            word = self.word(i)
            if word == "std" and self.word(i + 2) in ("min", "max") and self.word(i + 3) == "(":
                close = self.match[i + 3]
                parts = self.split(i + 4, close, {","}, needs_space=False)
                if len(parts) == 2:
                    numbers = [self.mutant("only", f"only {self.key(*p)}", p[0]) for p in parts]
                    texts = [self.expression(*p) for p in parts]
                    text = f"std::{self.word(i + 2)}({texts[0]},{texts[1]})"
                    for number, alone in zip(numbers, texts):
                        if number:
                            text = f"(SEMCACHE_MUTANT({number}) ? ({alone}) : {text})"
                    out.append(self.tokens[i][2] + text)
                    i = close + 1
                    continue
            if word == "[" and self.word(i - 1) not in (")", "]") and (i == 0 or self.tokens[i - 1][0] != "word" or self.word(i - 1) == "return"):
                done = self.closure(i, b)
                if done is not None:
                    out.append(done[0])
                    i = done[1]
                    continue
            if word in PAIRS and i in self.match:
                close = self.match[i]
                out.append(self.raw(i, i + 1) + self.expression(i + 1, close) + self.raw(close, close + 1))
                i = close + 1
                continue
            out.append(self.raw(i, i + 1))
            i += 1
        text = "".join(out)
        for i in self.top(a, b):
            for other in self.replacements.get((self.function, self.word(i)), ()):
                if number := self.mutant("as", f"{self.word(i)} as {other}", i):
                    text = f" (SEMCACHE_MUTANT({number}) ? ({self.raw(a, i)} {other}{self.raw(i + 1, b)}) : ({text}))"
        return text

    def closure(self, i, b):
        """(text, index behind) of the lambda that begins at i."""
        at = self.match[i] + 1
        if self.word(at) == "(":
            at = self.match[at] + 1
        while at < b and self.word(at) != "{":
            if self.word(at) in (";", ",", ")"):
                return None
            at += 1
        if at >= b:
            return None
        returned, self.returns_bool = self.returns_bool, False
        text = self.raw(i, at) + self.block(at)
        self.returns_bool = returned
        return text, self.match[at] + 1

    # --- statements ---

    def block(self, i):
        """The text of the block at i, which is a "{"."""
        return self.raw(i, i + 1) + self.statements(i + 1, self.match[i]) + self.raw(self.match[i], self.match[i] + 1)

    def statements(self, a, b):
        out = []
        while a < b:
            text, a = self.statement(a, b)
            out.append(text)
        return "".join(out)

    def left_out(self, number, i, text):
        """`text`, the statement at i, or nothing."""
        if not number:
            return text
        space = self.tokens[i][2]
        return f"{space}if (SEMCACHE_MUTANT({number})) {{}} else {text[len(space):]}"

    def statement(self, i, b):
        """(text, index behind) of the statement at i."""
        word = self.word(i)
        if word == "{":
            return self.block(i), self.match[i] + 1
        if word == ";":
            return self.raw(i, i + 1), i + 1
        if word in ("if", "while", "switch"):
            return self.branch(i, b)
        if word == "for":
            return self.loop(i, b)
        if word == "else":
            text, behind = self.statement(i + 1, b)
            return self.raw(i, i + 1) + text, behind
        if word == "do":
            text, behind = self.statement(i + 1, b)
            end = self.end(behind, b)
            return self.raw(i, i + 1) + text + self.raw(behind, end), end
        if word == "try":
            return self.raw(i, i + 1) + self.block(i + 1), self.match[i + 1] + 1
        if word == "catch":
            close = self.match[i + 1] + 1
            return self.raw(i, close) + self.block(close), self.match[close] + 1
        if word in ("case", "default"):
            colon = next(k for k in self.top(i, b) if self.word(k) == ":")
            return self.raw(i, colon + 1), colon + 1
        if word in ("struct", "class", "union", "enum", "using", "typedef", "static_assert", "throw", "goto", "break", "continue",
                    "friend", "SEMCACHE_EXPECTS", "assert", "constexpr", "static"):
            end = self.end(i, b)
            return self.raw(i, end), end
        end = self.end(i, b)
        if word == "return":
            return self.raw(i, i + 1) + self.returned(i + 1, end - 1) + self.raw(end - 1, end), end
        if self.declares(i, end):
            return self.declaration(i, end - 1) + self.raw(end - 1, end), end
        what = self.effect(i, end - 1)
        number = self.mutant(what.split()[0] if " " in what else "call", what, i) if what else None
        return self.left_out(number, i, self.expression(i, end - 1) + self.raw(end - 1, end)), end

    def end(self, i, b):
        """The index behind the ";" that ends the statement at i."""
        for k in self.top(i, b):
            if self.word(k) == ";":
                return k + 1
        return b

    def returned(self, a, b):
        if a >= b:
            return ""
        text = self.expression(a, b)
        if self.returns_bool and not (b == a + 1 and self.word(a) in ("true", "false")):
            true, false = self.mutant("return", "return true", a), self.mutant("return", "return false", a)
            if true:
                text = f" (SEMCACHE_MUTANT({true}) || ({text}))"
            if false:
                text = f" (!SEMCACHE_MUTANT({false}) && ({text}))"
        return text

    def effect(self, a, b):
        """What the expression statement [a, b) does, as a mutant's name has it."""
        if self.word(a) in ("++", "--"):
            return f"set {self.key(a + 1, b)}"
        if self.word(b - 1) in ("++", "--"):
            return f"set {self.key(a, b - 1)}"
        if self.word(a) == "(" and self.word(a + 1) == "void":
            a += 3
        parts = self.split(a, b, ASSIGNMENTS)
        if len(parts) > 1:
            return f"set {self.key(*parts[0])}"
        if self.word(b - 1) == ")":
            opening = next((k for k in self.top(a, b) if self.match.get(k) == b - 1), None)
            if opening is not None and self.tokens[opening - 1][0] == "word" and opening > a:
                return self.word(opening - 1)
        return None

    def declares(self, a, b):
        """Does the statement declare something? It does if it begins with a type and a name."""
        i = a
        if self.word(i) in ("const", "auto", "unsigned", "volatile", "thread_local"):
            return True
        if self.tokens[i][0] != "word":
            return False
        while i < b:
            if self.tokens[i][0] != "word":
                return False
            i += 1
            if self.word(i) == "<" and not self.spaced(i):
                depth = 0
                while i < b:
                    depth += {"<": 1, ">": -1, ">>": -2}.get(self.word(i), 0)
                    i += 1
                    if depth <= 0:
                        break
            if self.word(i) != "::":
                break
            i += 1
        if self.word(i) in ("*", "&", "&&") and not self.spaced(i):
            while self.word(i) in ("*", "&", "&&", "const"):
                i += 1
            return self.tokens[i][0] == "word"
        return self.tokens[i][0] == "word" and self.tokens[i][2] != ""

    def declaration(self, a, b):
        parts = self.split(a, b, {"="})
        if len(parts) == 2:
            return self.raw(a, parts[1][0]) + self.expression(*parts[1])
        return self.primaries(a, b)

    def branch(self, i, b):
        opening = i + 1 + (self.word(i + 1) == "constexpr")
        constant = opening > i + 1
        close = self.match[opening]
        semicolon = next((k for k in self.top(opening + 1, close) if self.word(k) == ";"), None)
        begin = opening + 1 if semicolon is None else semicolon + 1
        head = self.raw(i, opening + 1)
        if semicolon is not None:
            head += self.declaration(opening + 1, semicolon) + self.raw(semicolon, semicolon + 1)
        number = None
        if constant or self.word(i) == "switch":
            head += self.raw(begin, close)
        elif self.declares(begin, close):
            parts = self.split(begin, close, {"="})
            key = self.key(parts[-1][0], close)
            if self.word(begin) == "const" and self.word(begin + 1) == "Obstacle":
                # The last name that is called at the top is what may be in the way.
                calls = [self.word(k - 1) for k in self.top(*parts[-1]) if self.word(k) == "(" and self.tokens[k - 1][0] == "word"]
                kind, what = "obstacle", calls[-1] if calls else key
            else:
                kind, what = "if", f"if {key} false"
            after = self.behind(close + 1, b)
            if self.word(after) != "else" and self.word(i) == "if":
                number = self.mutant(kind, what, i)
            head += self.declaration(begin, close)
        else:
            head += self.condition(begin, close, "if")
        text, behind = self.statement(close + 1, b)
        text = head + self.raw(close, close + 1) + text
        while self.word(behind) == "else" and behind < b:
            more, behind = self.statement(behind, b)
            text += more
        return self.left_out(number, i, text), behind

    def behind(self, i, b):
        """The index behind the statement at i, which is not rewritten."""
        if self.word(i) == "{":
            return self.match[i] + 1
        if self.word(i) in ("if", "for", "while", "switch"):
            after = self.behind(self.match[i + 1] + 1, b)
            return self.behind(after + 1, b) if self.word(after) == "else" else after
        return self.end(i, b)

    def loop(self, i, b):
        opening, close = i + 1, self.match[i + 1]
        parts = self.split(opening + 1, close, {";"}, needs_space=False)
        number = None
        if len(parts) == 3:
            head = self.raw(i, opening + 1) + self.declaration(*parts[0]) + ";"
            if parts[1][0] < parts[1][1]:
                # A loop that never ends shows nothing: only `false`.
                key = self.key(*parts[1])
                false = self.mutant("if", f"if {key} false", parts[1][0])
                condition = self.expression(*parts[1])
                head += f" (!SEMCACHE_MUTANT({false}) && ({condition}))" if false else condition
            head += ";" + self.expression(*parts[2])
        else:
            colon = next(k for k in self.top(opening + 1, close) if self.word(k) == ":")
            head = self.raw(i, colon + 1) + self.expression(colon + 1, close)
            number = self.mutant("if", f"if {self.key(colon + 1, close)} false", i)
        text, behind = self.statement(close + 1, b)
        return self.left_out(number, i, head + self.raw(close, close + 1) + text), behind

    # --- declarations outside of functions ---

    def rewritten(self):
        return self.scope(0, len(self.tokens)) + self.tail

    def scope(self, a, b):
        out, start, i = [], a, a
        while i < b:
            word = self.word(i)
            if word == ";" or (word == ":" and self.word(i - 1) in ("public", "private", "protected")):
                out.append(self.raw(start, i + 1))
                start = i = i + 1
            elif word == "{":
                close = self.match[i]
                body = self.kind_of(start, i)
                if body == "scope":
                    out.append(self.raw(start, i + 1) + self.scope(i + 1, close) + self.raw(close, close + 1))
                    start = i = close + 1
                elif body == "function":
                    self.returns_bool = self.is_bool(start, i)
                    out.append(self.raw(start, i) + self.block(i))
                    start = i = close + 1
                else:
                    i = close + 1
            elif word in ("(", "["):
                i = self.match[i] + 1
            else:
                i += 1
        return "".join(out) + self.raw(start, b)

    def header(self, a, b):
        """The tokens of a declaration without its template parameters."""
        while self.word(a) == "template" and self.word(a + 1) == "<":
            depth, a = 0, a + 1
            while a < b:
                depth += {"<": 1, ">": -1, ">>": -2}.get(self.word(a), 0)
                a += 1
                if depth <= 0:
                    break
        return a

    def kind_of(self, start, i):
        """What the "{" at i begins: "scope", "function" or "other". Sets the function's name."""
        a = self.header(start, i)
        opening, words = None, []
        for k in self.top(a, i):
            words.append(self.word(k))
            if self.word(k) == "(" and opening is None and k > a:
                opening = k
        if "namespace" in words or words[:1] == ["extern"]:
            return "scope"
        if opening is None:
            return "scope" if {"class", "struct", "union"} & set(words) and "=" not in words else "other"
        if "constexpr" in words or "=" in words[:words.index("(")]:
            return "other"
        before = [self.word(k) for k in self.top(self.match[opening] + 1, i)]
        if ":" in before and (self.tokens[i - 1][0] == "word" or self.word(i - 1) == ">"):
            return "other"  # a member's initialiser
        self.function = self.word(opening - 1) if self.tokens[opening - 1][0] == "word" else "operator"
        if self.word(opening - 2) == "~":
            self.function = "~" + self.function
        return "function"

    def is_bool(self, start, i):
        a = self.header(start, i)
        for k in self.top(a, i):
            if self.word(k) == "(":
                return False
            if self.word(k) == "bool":
                return True
        return False
