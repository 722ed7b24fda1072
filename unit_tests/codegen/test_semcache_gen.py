# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""semcache-gen: the committed wrappers, messages about wrong annotations, the command line."""
import ast
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

COMMAND = os.environ["SEMCACHE_GEN"]
SOURCE = pathlib.Path(os.environ["SEMCACHE_SOURCE"])
RIGHT = """\
typedef enum {{ RowMajor = 101, ColMajor = 102 }} ORDER;
{file}
#pragma semcache {first}
void scale(char uplo, int m, int n, double factor, const double* a, int lda, double* b);
{last}
"""
FIRST = "inputs: a<m * n> leading lda; outputs: b<m>; GPUMethod gpu_scale"


def run(*arguments, environment=None):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


class Messages(unittest.TestCase):
    def message(self, first=FIRST, file="", last=""):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "scale.h")
            header.write_text(RIGHT.format(first=first, file=file, last=last).replace("@", ""))
            code, out, err = run(header, "-o", folder)
            return code, out + err

    def expect(self, text, **parts):
        self.assertEqual((3, f"semcache-gen: {text}\n"), self.message(**parts))

    def expect_at(self, text, **parts):
        """The same where @ stands in front of the offending word, and the text begins with that."""
        before = RIGHT.format(**{"first": FIRST, "file": "", "last": "", **parts}).split("@")[0].split("\n")
        self.expect(f"scale.h:{len(before)}:{len(before[-1]) + 1}: {text}", **parts)

    def test_the_header_is_right_as_it_is(self):
        self.assertEqual((0, ""), self.message())

    def test_unknown_word(self):
        self.expect("scale.h:3:18: 'input': is no word of an annotation; these are: library, include, file, type, integer, names, fortran, letters, "
                    "alike, precisions, let, inputs, outputs, scalars, as_is, result, returns, requires, nothing, where, pass_through, work, GPUMethod, "
                    "ParameterMatch, forward, reverse, pieces", first="input: a<m * n>; outputs: b<m>; GPUMethod gpu_scale")

    def test_unknown_parameter(self):
        self.expect("scale.h:3:32: 'k': there is no such name; scale has uplo, m, n, factor, a, lda, b",
                    first="inputs: a<m * k> leading lda; outputs: b<m>; GPUMethod gpu_scale")

    def test_operand_that_is_no_pointer(self):
        self.expect("scale.h:3:26: 'factor': is no pointer, and so cannot be an operand", first="inputs: factor<m>; outputs: b<m>; GPUMethod gpu_scale")

    def test_pieces(self):
        right = "inputs: a<m * n> leading lda; outputs: b<m>; GPUMethod gpu_scale; "
        self.expect_at("'planes': is nothing that a call is cut by; these are: rows, columns, terms", first=right + "pieces: @planes m")
        self.expect_at("'rows': stands twice for this function; one of them is enough", first=right + "pieces: rows m, @rows n")
        self.expect_at("'uplo': is no number, and so no size that could be cut", first=right + "pieces: rows @uplo")
        self.expect_at("'m': is no coefficient", first=right + "pieces: terms n of @m")
        self.expect_at("'m': cannot be cut, because b has no leading dimension that is a parameter", first=right + "pieces: rows @m")
        transformed = "inputs: a<m * n> leading lda; outputs: b<m * n> leading lda; GPUMethod gpu_scale; "
        self.expect_at("'m': cannot be cut, because b is transformed", first=transformed + "reverse b<m>: back(m); pieces: rows @m")
        self.expect_at("'m': is cut together with other sizes, which is only possible for a product of two matrices",
                       first=transformed + "pieces: rows @m, columns n")
        self.assertEqual((0, ""), self.message(first=transformed + "pieces: rows m if uplo == 'U', columns n if uplo == 'L'"))

    def test_output_that_is_const(self):
        self.expect("scale.h:3:62: 'a': cannot be an output: the declaration says const", first="inputs: b<m>; GPUMethod gpu_scale; outputs: a<m>")

    def test_shape_that_does_not_end(self):
        self.expect("scale.h:3:34: 'leading': expected >", first="inputs: a<m * n leading lda; outputs: b<m>; GPUMethod gpu_scale")

    def test_leading_dimension_of_a_vector(self):
        self.expect("scale.h:3:52: 'leading': belongs to a matrix, which has two dimensions",
                    first="inputs: a<m * n>; outputs: b<m>   leading m; GPUMethod gpu_scale")

    def test_triangle_of_a_number(self):
        self.expect("scale.h:3:56: 'lda': is no letter, and so cannot say which triangle",
                    first="inputs: a<m * n> leading lda triangle lda; outputs: b<m>; GPUMethod gpu_scale")

    def test_condition_that_is_none(self):
        self.expect("scale.h:3:61: '<': a coefficient can be compared by == and != with a number only",
                    first="inputs: a<m * n> leading lda unless factor < 0; outputs: b<m>; GPUMethod gpu_scale")

    def test_unknown_enumerator(self):
        self.expect("scale.h:2:33: 'MajorRow': is no enumerator of ORDER; these are: RowMajor, ColMajor", file="#pragma semcache letters ORDER: MajorRow 'R'")

    def test_alike_a_function_that_is_not_described(self):
        self.expect("scale.h:5:24: 'scala': no function of this name is described above",
                    last="#pragma semcache alike scala\nvoid other(int m, int n);")

    def test_function_that_is_described_twice(self):
        self.expect("scale.h:6: scale is described already, in line 4",
                    last="#pragma semcache pass_through\nvoid scale(char uplo, int m, int n, double factor, const double* a, int lda, double* b);")

    def test_only_annotation_is_dead(self):
        self.expect("scale.h: no function is described; put #pragma semcache annotations in front of those to be wrapped",
                    file="#if 0", last="#endif\nvoid other(int m);")

    def test_annotation_without_a_function(self):
        self.expect("scale.h:5:18: 'requires': no function follows that it could belong to", last="#pragma semcache requires m > 0")

    TYPES = "typedef double scalar;\n#pragma semcache type scalar: s float, d double"

    def precisions(self, statement, name="sdot", types=TYPES, routine="GPUMethod cublas*_v2"):
        return {"file": types, "last": f"#pragma semcache {statement}; inputs: x<n>; outputs: y<n>; {routine}\n"
                                       f"void {name}(int n, const scalar* x, scalar* y);"}

    def test_precision_that_is_ambiguous(self):
        self.expect_at("'precisions': sdot begins with more than one of these letters: s, sd; write which: s=NAME sd=NAME",
                       **self.precisions("@precisions s sd", types=self.TYPES + ", sd double"))
        self.expect_at("'d': its name is that of precision s; each precision has another one", **self.precisions("precisions s=sdot @d=sdot"))
        self.expect_at("'s': is a precision of this function already", **self.precisions("precisions s @s d"))
        self.expect_at("'d': sdot begins with the letter of none of these precisions, so write d=NAME",
                       **self.precisions("precisions @d"))

    def test_type_without_a_precision(self):
        self.expect_at("'real': has the precisions s, and scalar has s, d; each type has all of them",
                       file=self.TYPES.replace("\n", "\ntypedef double real;\n") + "\n#pragma semcache type @real: s float")
        self.expect_at("'s': is a precision of this type already", file=self.TYPES.replace("d double", "d double, @s double"))

    def test_type_of_precisions_without_them(self):
        self.expect("scale.h:7: x of sdot has the type scalar, which is another one in each precision: write precisions",
                    **self.precisions("nothing if n == 0"))
        self.expect("scale.h:7: the result of sdot has the type scalar, which is another one in each precision: write precisions",
                    file=self.TYPES, last="#pragma semcache pass_through\nscalar sdot(int n);")

    def test_unknown_precision(self):
        self.expect("scale.h:3:29: 'q': no type is described for this precision; there are only", first="precisions q; " + FIRST)

    def test_action_on_what_does_not_fit(self):
        self.expect("scale.h:6:38: 'a': is an operand, and m is an integer",
                    last="#pragma semcache alike scale\n#pragma semcache where m > n: swap m a\nvoid other(int m, int n, const double* a);")

    def alike(self, parameters, letters=""):
        return {"file": letters, "last": f"#pragma semcache alike scale\nvoid other({parameters});"}

    def test_enumeration_without_letters_beside_a_char(self):
        rest = ", int m, int n, double factor, const double* a, int lda, double* b"
        self.expect("scale.h:6: uplo of other is an integer, and in scale a letter; say which letters: letters ORDER: ENUMERATOR 'N', ...",
                    **self.alike("ORDER uplo" + rest))
        self.assertEqual((0, ""), self.message(**self.alike("ORDER uplo" + rest, "#pragma semcache letters ORDER: RowMajor 'U', ColMajor 'L'")))
        self.expect("scale.h:6: uplo of other is a value, and in scale a letter; declare it as there", **self.alike("double uplo" + rest))

    def test_alike_function_with_another_operand(self):
        self.expect("scale.h:6: a of other leads to float, and in scale to double; declare it as there",
                    **self.alike("char uplo, int m, int n, double factor, const float* a, int lda, double* b"))

    def test_alike_function_without_a_parameter(self):
        self.expect("scale.h:6: other has no parameter lda, which scale has; describe other by itself",
                    **self.alike("char uplo, int m, int n, double factor, const double* a, double* b"))

    def test_letters_of_what_is_no_enumeration(self):
        self.expect_at("'ORDERS': the header has no such enumeration", file="#pragma semcache letters @ORDERS: RowMajor 'R'")
        self.expect_at("'Other': is no enumerator of ORDER; these are: RowMajor, ColMajor",
                       file="enum { Other };\n#pragma semcache letters ORDER: @Other 'R'")
        self.expect_at("'ORDER': has no letter for ColMajor; name one for each enumerator", file="#pragma semcache letters @ORDER: RowMajor 'R'")

    def test_no_shape(self):
        self.expect("scale.h:3:66: 'b': has no shape: write b<rows * columns>, or b<elements>", first="inputs: a<m * n>; GPUMethod gpu_scale; outputs: b")

    def test_unless_of_what_is_no_input(self):
        self.expect_at("'b': is no input, so 'unless' says nothing of it; name it in inputs, too, or leave 'unless' out",
                       first=FIRST.replace("b<m>", "@b<m> unless factor == 0"))
        self.assertEqual((0, ""), self.message(first=FIRST.replace("b<m>", "b<m> unless factor == 0") + "; inputs: b"))

    def test_word_that_stands_twice(self):
        self.expect_at("'leading': states again what 'leading' states of this operand; one of them is enough",
                       first=FIRST.replace("lda", "lda @leading m"))

    def test_words_that_do_not_fit_together(self):
        for words in "transposed if m == 0 @band 1 1", "band 1 1 @transposed if m == 0", "triangle uplo @packed", "triangle uplo @band 1 1":
            first, second = words.split()[0], words.split("@")[1].split()[0]
            self.expect_at(f"'{second}': cannot be together with '{first}'", first=FIRST.replace("m * n> leading lda", "n * n> " + words))

    def test_words_of_a_matrix_for_a_vector(self):
        for words in "transposed if m == 0", "triangle uplo", "band 1 1":
            self.expect_at(f"'{words.split()[0]}': belongs to a matrix, which has two dimensions", first=FIRST.replace("b<m>", f"b<m> @{words}"))

    def test_declaration_that_is_not_supported(self):
        """It matters only where the function is described."""
        for parameters, text in (("int n, ...", "other takes any number of arguments, which is not supported; describe functions with named ones"),
                                 ("", "other has no list of parameters; write other(void), or what it takes"),
                                 ("int", "parameter 1 of other has no name; annotations need it"),
                                 ("int** n", "n of other has the type int **, which is not supported: numbers, enumerations, and pointers to numbers are")):
            self.expect(f"scale.h:6: {text}", last=f"#pragma semcache pass_through\nvoid other({parameters});")
            self.assertEqual((0, ""), self.message(last=f"void other({parameters});"))

    def test_integer_of_several_widths_without_names(self):
        self.expect("scale.h:7: n of other has the type whole, which has several widths, and no pattern of names fits other: write names PATTERN: ...",
                    file="typedef int whole;\n#pragma semcache integer whole",
                    last="#pragma semcache pass_through\nvoid other(whole n);")

    def test_statement_that_stands_twice(self):
        for statement in "work m", "GPUMethod f", "ParameterMatch <a, b>", "precisions s=scale d=other":
            self.expect_at(f"'{statement.split()[0]}': stands twice for this function; one of them is enough",
                           file=self.TYPES, first=f"inputs: a<m>; outputs: b<m>; {statement}; @{statement}")
        self.expect_at("'library': stands twice; one of them is enough", file="#pragma semcache library one; @library two")
        self.expect_at("'ORDER': has letters already", file="#pragma semcache letters ORDER: RowMajor 'R', ColMajor 'C'; letters @ORDER: RowMajor 'R'")
        self.expect_at("'scalar': is described already", file=self.TYPES + "; type @scalar: s float, d double")

    def test_device_routine_whose_name_is_none(self):
        for name in "cublas*x*", "/", "f*", "*_v2":
            self.expect_at(f"'{name}': is no name of a routine: write cublas*_v2, where the star stands for the function's name, or the name of your own",
                           first=FIRST.replace("gpu_scale", "@" + name))

    def test_device_routine_of_ones_own_in_several_precisions(self):
        self.expect_at("'f': is a routine of your own, and x of sdot has the type scalar, which is several ones; describe each function by itself",
                       **self.precisions("precisions s d; GPUMethod @f", routine=""))

    def test_include_that_is_none(self):
        for wrong in "device", '"device', "<device.h", '""':
            self.expect_at(f"""'{wrong}': is no header: write "device.h" or <device.h>""", file=f"#pragma semcache include @{wrong}")

    def test_integer_that_is_none(self):
        self.expect_at("'int16_t': is no type of integers; these are: int32_t, int64_t", file="#pragma semcache names *_: @int16_t *_")

    def test_no_device_routine(self):
        self.expect("scale.h:4: scale has no GPUMethod; name one, or write pass_through", first="inputs: a<m * n>; outputs: b<m>")

    def test_output_without_a_way_back(self):
        self.expect("scale.h:3:92: 'b': is an output, so it needs a reverse transformation, too", first=FIRST + "; forward b<m>: f(m)")

    def test_transformation_for_cublas(self):
        self.expect("scale.h:3:97: 'b': is transformed, so the device's routine must be one of your own, not cuBLAS'",
                    first=FIRST.replace("gpu_scale", "cublasDgemv_v2") + "; forward b<m>: f(m)")

    def test_transformation_of_what_is_no_operand(self):
        self.expect("scale.h:3:92: 'm': is no operand; describe it as an input or output first", first=FIRST + "; forward m<m>: f(m)")

    def test_no_c(self):
        self.expect("scale.h:5:7: this is no valid C: expected identifier or '('", last="void (;")

    def test_nothing_described(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "plain.h")
            header.write_text("void scale(int n);\n")
            self.assertEqual((3, "", "semcache-gen: plain.h: no function is described; put #pragma semcache annotations in front of those to be "
                              "wrapped\n"), run(header, "-o", folder))

    def test_what_is_no_letter(self):
        for wrong in "''", "'NT'", "'\\'", "'+'", "N":
            self.expect_at(f"\"{wrong}\": expected a letter, such as 'N'".replace('"', "'"), file=f"#pragma semcache letters ORDER: RowMajor @{wrong}")
        self.expect_at("''NT'': expected a letter, such as 'N'", first=FIRST + "; nothing if uplo == @'NT'")
        self.expect_at("''+'': expected a letter, such as 'N'", last="#pragma semcache alike scale\n#pragma semcache where m > n: flip uplo @'+' 'N'\n"
                       "void other(char uplo, int m, int n, double factor, const double* a, int lda, double* b);")
        for wrong in '""', '"U', '"U L"', "'U'":
            found = wrong if wrong != '"U' else '"'
            self.expect_at(f"'{found}': expected letters, such as \"NTC\"", first=FIRST + f"; requires uplo in @{wrong}")

    def other(self, parameters, first="", alike=""):
        """A second function, whose parameters have words in front of them."""
        return {"last": f"#pragma semcache {first or 'inputs: x<n>; outputs: y<n>; GPUMethod other_on_gpu'}\nvoid other(int n, const float* x, "
                        f"float* y, {parameters});{alike}"}

    def test_pointer_that_is_not_described(self):
        unknown = "may lead to an array or to one number, and no annotation says which: name it in inputs or outputs (an array that the device uses), " \
            "scalars (numbers that are only read), or as_is (what only the library's function uses)"
        for kind in "const double*", "double*", "const int*", "const char*", "char*", "void*", "const unsigned char*":
            self.expect(f"scale.h:6: w of other {unknown}", **self.other(f"{kind} w"))
        for words in "nothing if w == 0", "scalars: w", "scalars: w<3>", "inputs: w<n>":
            self.assertEqual((0, ""), self.message(**self.other("const double* w", "inputs: x<n>; outputs: y<n>; GPUMethod f; " + words)))
        self.assertEqual((0, ""), self.message(**self.other("double* w", "pass_through")))

    def test_pointer_that_is_not_described_of_an_alike_function(self):
        alike = "\n#pragma semcache alike other\nvoid third(int n, const float* x, float* y, {});"
        self.expect("scale.h:8: v of third may lead to an array or to one number, and no annotation says which: name it in a condition (a number), or "
                    "as_is (what only the library's function uses)",
                    **self.other("int w", alike=alike.format("int w, const int* v")))

    def test_number_that_may_be_written(self):
        for kind in "int*", "double*", "char*":
            condition = "w == 0" if kind != "char*" else "w == 'N'"
            self.expect("scale.h:6: w of other is one that is read, and its declaration lets the function write it; make it const if that does not happen",
                        **self.other(f"{kind} w", "inputs: x<n>; outputs: y<n>; GPUMethod f; nothing if " + condition))
        self.expect_at("'w': can be written, which is lost: make it const in the declaration if that does not happen",
                       **self.other("double* w", "inputs: x<n>; outputs: y<n>; GPUMethod f; scalars: @w<3>"))

    def test_scalars_of_what_leads_to_none(self):
        self.expect_at("'w': leads to unsigned char, of which there are no coefficients",
                       **self.other("const unsigned char* w", "inputs: x<n>; outputs: y<n>; GPUMethod f; scalars: @w"))
        self.expect_at("'n': is no address; it needs no word", **self.other("int w", "inputs: x<n>; outputs: y<n>; GPUMethod f; scalars: @n<2>"))
        self.expect_at("'n': is no address; it needs no word", **self.other("int w", "inputs: x<n>; outputs: y<n>; GPUMethod f; as_is: @n"))

    def test_result_that_cannot_be_written(self):
        for kind in "int", "const int*":
            self.expect_at("'w': is no pointer through which the function can write, and so takes no result",
                           **self.other(f"{kind} w", "inputs: x<n>; outputs: y<n>; GPUMethod f; result @w"))

    def test_address_for_the_device(self):
        self.expect("scale.h:6: w of other is an address that the device cannot use; leave it out: ParameterMatch <n, x, y>",
                    **self.other("double* w", "inputs: x<n>; outputs: y<n>; GPUMethod f; as_is: w"))
        self.expect_at("'w': is an address that the device cannot use",
                       **self.other("double* w", "inputs: x<n>; outputs: y<n>; GPUMethod f; as_is: w; ParameterMatch <n, x, @w>"))

    def test_quotients_that_are_none(self):
        for shape in "1 @/ 3", "(2 + 3) @/ 2":
            one, other = ("1", "3") if "1" in shape else ("5", "2")
            self.expect_at(f"'/': {one} / {other} is no whole number; multiply first, as in (m * {one}) / {other}",
                           first=FIRST.replace("b<m>", f"b<({shape} * m)>"))
        for operator in "/%":
            self.expect_at(f"'{operator}': divides by zero", first=FIRST.replace("b<m>", f"b<(m @{operator} (1 - 1))>"))
        self.expect_at("'%': has no meaning in a number of operations, which is no whole number", first=FIRST + "; work m @% 2")

    def test_numbers_that_are_none(self):
        for wrong in "010", "0x10", "1e3", "8u":
            self.expect_at(f"'{wrong}': is no whole number in decimal notation, such as 16", first=FIRST.replace("b<m>", f"b<@{wrong}>"))
        self.expect_at("'99999999999999999999': makes 99999999999999999999, which does not fit 64 bits",
                       first=FIRST + "; work @99999999999999999999")
        self.expect_at("'*': makes 10000000000000000000, which does not fit 64 bits", first=FIRST + "; work 10000000000 @* 1000000000")

    def test_name_of_let_that_is_taken(self):
        self.expect_at("'m': there is a parameter or an expression of this name already", first="let @m = n; " + FIRST)
        self.expect("scale.h:6: k is the name of an expression (let) in scale, and a parameter of other; rename the expression",
                    first="let k = n; " + FIRST, **self.alike("char uplo, int m, int n, double factor, const double* a, int lda, double* b, int k"))
        for name in "g", "call", "class", "type", "complex":
            self.expect_at(f"'{name}': cannot be the name of an expression, because the wrappers or C++ have it; choose another one",
                           first=f"let @{name} = n; " + FIRST)

    def test_parameters_whose_names_the_wrappers_have(self):
        for name in "g", "host", "type", "class", "any_null", "complex":  # a field of the name type would hide the precision
            self.expect(f"scale.h:6: {name} cannot be the name of a parameter of other, because the wrappers or C++ have it; choose another one",
                        **self.other(f"int {name}"))

    def test_what_is_described_as_two_things(self):
        for first, words in (("scalars: a<3>", "as_is: @a"), ("inputs: a<n>", "scalars: @a<3>"), ("as_is: a", "outputs: @a<n>")):
            self.expect_at(f"'a': is named by {first.split(':')[0]} already", first=f"{first}; {words}; outputs: b<m>; GPUMethod f")


class Written(unittest.TestCase):
    """What is written for headers that are right."""

    def written(self, first=FIRST, file="", last=""):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "scale.h")
            header.write_text(RIGHT.format(first=first, file=file, last=last))
            self.assertEqual((0, "", ""), run(header, "-o", folder))
            return pathlib.Path(folder, "wrappers.cpp").read_text()

    def compile(self, text):
        """Has the compiler look at C++ that the build's sources are made of."""
        folders = [f"-I{SOURCE / folder}" for folder in ("src", "packages/blas/src", "packages/linalg", "packages/linalg/src", "packages/syscalls/src")]
        done = subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *folders, "-x", "c++", "-"],
                              input=text, capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def compile_with_device(self, text):
        """The same for wrappers whose device's routines are f and gpu_scale, and whose transformation is g."""
        routines = "".join(f"template <class... T> void {name}(T...) {{}}\n" for name in ("f", "g", "gpu_scale"))
        self.compile(text.replace("namespace semcache::blas {", routines + "namespace semcache::blas {", 1))

    def test_sizes_that_expressions_have_made_are_checked(self):
        """Each must fit 32 bits as the parameters must, wherever the device's routine finds it: shapes, steps, arguments, those of transformations."""
        text = self.written("let both = m + n; inputs: a<(m * n) * (m / n)> leading (lda - 1); outputs: b<both>; GPUMethod f; "
                            "ParameterMatch <(3 * m), both, max(m, n), -m, a, b>; forward a<(m % n)>: g(4 * lda, n); requires m * n > 0")
        checked = text.split("all_fit({")[1].split("})")[0]
        self.assertEqual("g.m, g.n, g.lda, both, product_of(g.m, g.n), quotient_of(g.m, g.n), difference_of(g.lda, 1), remainder_of(g.m, g.n), "
                         "product_of(4, g.lda), product_of(3, g.m), sum_of(g.m, g.n), difference_of(0, g.m)", checked)
        self.assertIn("::f(stream.native, as_int(product_of(3, g.m)), as_int(sum_of(g.m, g.n)), as_int(max_of(g.m, g.n)), ", text)
        self.assertIn("const std::int64_t both = sum_of(g.m, g.n);", text)
        self.assertIn("!(product_of(g.m, g.n) > 0)", text)
        self.compile_with_device(text)

    def test_names_of_let_stand_everywhere(self):
        text = self.written("let k = m + 1; let l = max(k, n); inputs: a<k * l>; outputs: b<l>; work k * l; GPUMethod f; ParameterMatch <k, l, (k == 2 ? m : n), "
                            "a, b>; forward a<k * l>: g(k); nothing if k == 1", last="""#pragma semcache alike scale
#pragma semcache where l > 3: swap m n
void other(char uplo, int m, int n, double factor, const double* a, int lda, double* b);""")
        self.assertIn("::f(stream.native, as_int(sum_of(g.m, 1)), as_int(max_of(sum_of(g.m, 1), g.n)), as_int((sum_of(g.m, 1) == 2 ? g.m : g.n)),", text)
        self.assertIn("if (max_of(sum_of(g.m, 1), g.n) > 3) std::swap(g.m, g.n);", text)
        self.compile_with_device(text)

    def test_annotations_that_the_compiler_does_not_see(self):
        """They are in dead branches and in comments. Those in branches that live count."""
        seen = self.written(FIRST + "; requires m > 0; work m")
        dead = "#pragma semcache requires n > 0; library dead; wrong word\n"
        file = f"""#if 0
{dead}#elif defined UNKNOWN
{dead}#else
/*
{dead}*/
#define RIGHT 1 \\
{dead}#endif
#pragma semcache requires m > 0
#ifdef RIGHT
#pragma semcache work \\
  m
#else
{dead}#endif
"""
        found = self.written(file=file, last="#pragma GCC diagnostic ignored \"-Wunknown-pragmas\"\n" + dead.join(["#if 0\n", "#endif\n"]))
        self.assertEqual([line for line in seen.splitlines() if "line" not in line], [line for line in found.splitlines() if "line" not in line])

    def test_the_longest_name_of_a_precision_counts(self):
        """The names of other interfaces are made from what is around it: dotx_sub, not dot and x_sub."""
        types = "typedef double scalar;\n#pragma semcache type scalar: s float, d double, sd double"
        text = self.written(file=types, last="""#pragma semcache precisions s=dot d=dotx sd=dotxy; inputs: x<n>; outputs: y<n>; GPUMethod cublas*_v2
void dotx(int n, const scalar* x, scalar* y);
#pragma semcache alike dotx
void dotx_sub(int n, const scalar* x, scalar* y);
#pragma semcache precisions d sd=sdsdot; inputs: x<n>; outputs: y<n>; GPUMethod cublas*_v2
void ddot(int n, const scalar* x, scalar* y);
#pragma semcache precisions s sd; inputs: x<n>; outputs: y<n>; GPUMethod cublas*_v2
void sscal(int n, const scalar* x, scalar* y);""")
        symbols = [line.split("(")[1].rstrip(")") for line in text.splitlines() if line.startswith("SEMCACHE_")]
        self.assertEqual(["dot, s_types", "dotx, d_types", "dotxy, sd_types", "dot_sub, s_types", "dotx_sub, d_types", "dotxy_sub, sd_types",
                          "ddot, d_types", "sdsdot, sd_types", "sscal, s_types", "sdscal, sd_types"], [s for s in symbols if "scale" not in s])

    def test_includes(self):
        for name in '"device.h"', "<folder/device.h>":
            self.assertIn(f"\n#include {name}\n", self.written(file=f"#pragma semcache include {name}"))

    def test_line_numbers_are_the_compilers(self):
        """A form feed ends no line, and neither do other characters that only some programs take for an end."""
        self.assertIn("(g.m > 0)", self.written(last="\f\v /* \u2028 */\n#pragma semcache inputs: x<m>; outputs: y<m>; GPUMethod f; requires m > 0\n"
                                                "void other(int m, const double* x, double* y);\nvoid third(int k);"))

    def test_parameters_with_names_of_other_functions_of_the_wrappers(self):
        self.compile_with_device(self.written(last="""#pragma semcache let stream = count + 1; let form = stream * 2
#pragma semcache inputs: from<form>; outputs: to<stream>; forward from<stream>: g(form); GPUMethod f; work count
void other(int count, const double* from, double* to, int routines, int arguments);"""))

    def test_functions_of_two_numbers_in_lists_of_operands(self):
        text = self.written(last="""#pragma semcache outputs: x<max(m, n)>, y<min(m, n) * n>, z<(m + n)>; GPUMethod f
void other(int m, int n, double* x, double* y, double* z);""")
        self.assertIn("vector(g.x, max_of(g.m, g.n), 1, sizeof(double), Access::overwrite)", text)
        self.assertIn("matrix(g.y, min_of(g.m, g.n), g.n, min_of(g.m, g.n), sizeof(double), Access::overwrite)", text)
        self.compile_with_device(text)

    def test_quotients(self):
        """A number of operations is no whole number, and so are its quotients; elsewhere they are C's."""
        text = self.written(FIRST.replace("b<m>", "b<(m / 3)>") + "; work 2 / 3 * m * m / n + abs(m) + 6 / 2")
        self.assertIn("quotient_of(g.m, 3)", text)
        self.assertIn("(((((2.0 / 3) * as_double(g.m)) * as_double(g.m)) / as_double(g.n)) + std::abs(as_double(g.m))) + (6.0 / 2)", text)
        self.compile_with_device(text)

    def test_sizes_do_not_overflow(self):
        """What does not fit 64 bits becomes the greatest or the least number, and so does a quotient by zero."""
        self.compile("""#include "sizes.hpp"
using namespace semcache::blas;
static_assert(sum_of(2, 3) == 5 && difference_of(2, 3) == -1 && product_of(-2, 3) == -6 && quotient_of(-7, 2) == -3 && remainder_of(-7, 2) == -1);
static_assert(sum_of(INT64_MAX, 1) == INT64_MAX && sum_of(INT64_MIN, -1) == INT64_MIN);
static_assert(difference_of(INT64_MIN, 1) == INT64_MIN && difference_of(0, INT64_MIN) == INT64_MAX);
static_assert(product_of(INT64_MAX, INT64_MAX) == INT64_MAX && product_of(INT64_MIN, INT64_MAX) == INT64_MIN);
static_assert(product_of(product_of(1000000007, 1000000009), 1000000021) == INT64_MAX);
static_assert(quotient_of(INT64_MIN, -1) == INT64_MAX && quotient_of(0, 0) == INT64_MAX);
static_assert(remainder_of(INT64_MIN, -1) == 0 && remainder_of(5, 0) == INT64_MAX);
""")

    def test_address_that_only_the_librarys_function_uses(self):
        text = self.written(last="""#pragma semcache inputs: x<n>; outputs: y<n>; GPUMethod f; as_is: w; ParameterMatch <n, x, y>
void other(int n, const float* x, float* y, double* w);""")
        self.assertIn("routine(n, place<const float>(at[0]), place<float>(at[1]), w);", text)
        self.assertIn("::f(stream.native, static_cast<int>(g.n), place<const float>(at[0]), place<float>(at[1]));", text)

    def test_letters_in_lower_case_count_as_upper_case(self):
        """The wrapper compares the program's letters in upper case."""
        first = FIRST + "; requires uplo in \"{}\"; nothing if uplo == '{}' && m == 0"
        last = """#pragma semcache alike scale
#pragma semcache where m > n: flip uplo '{}' '{}'
void other(ORDER uplo, int m, int n, double factor, const double* a, int lda, double* b);"""
        file = "#pragma semcache letters ORDER: RowMajor '{}', ColMajor '{}'"
        lower = self.written(first.format("ul", "u"), file.format("u", "l"), last.format("l", "u"))
        self.assertEqual(self.written(first.format("UL", "U"), file.format("U", "L"), last.format("L", "U")), lower)
        for text in """one_of(g.uplo, "UL")""", "g.uplo == 'U'", "code == 101 ? 'U' : code == 102 ? 'L'", "flipped(g.uplo, 'L', 'U')":
            self.assertIn(text, lower)


class Page(unittest.TestCase):
    def texts(self, node):
        """Returns what an expression of a message may be, with ... for what varies."""
        if isinstance(node, ast.IfExp):
            return self.texts(node.body) + self.texts(node.orelse)
        if isinstance(node, ast.Constant):
            return [node.value]
        if isinstance(node, ast.JoinedStr):
            return ["".join(part.value if isinstance(part, ast.Constant) else "..." for part in node.values)]
        return []  # a text that is only passed on

    def test_each_message_is_on_the_page(self):
        messages = set()
        for file in (SOURCE / "packages/codegen").rglob("*.py"):
            for call in (n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call) and n.args):
                called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
                if called in ("Failure", "AnnotationError", "fail", "parameter_of_kind"):
                    messages.update(re.sub(r"^(\.\.\.:)+ ", "", text) for text in self.texts(call.args[-1]))
            for function in (n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.FunctionDef) and n.name == "_why_unsupported"):
                messages.update(text for n in ast.walk(function) if isinstance(n, ast.Return) for text in self.texts(n.value) if text)
        page = (SOURCE / "docs/reference/semcache-gen.md").read_text().split("## Messages")[1].split("\n## ")[0]
        entries = re.findall(r"^\| `([^`]+)` \|", page, re.M)
        self.assertGreater(len(messages), 90)
        self.assertEqual([[], []], [sorted(messages - {"..."} - set(entries)), sorted(set(entries) - messages)])


class Command(unittest.TestCase):
    def test_committed_wrappers_are_what_it_writes(self):
        committed = SOURCE / "packages/blas/src/generated"
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual((0, "", ""), run(SOURCE / "packages/blas/blas.h", "-o", folder))
            written = sorted(p.name for p in pathlib.Path(folder).iterdir())
            self.assertEqual(sorted(p.name for p in committed.glob("*.cpp")), written)
            for name in written:
                self.assertEqual((committed / name).read_bytes(), pathlib.Path(folder, name).read_bytes(),
                                 f"{name}: generate it anew: semcache-gen packages/blas/blas.h -o packages/blas/src/generated")

    def test_the_header_is_valid_c(self):
        done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-fsyntax-only", "-x", "c",
                               str(SOURCE / "packages/blas/blas.h")], capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_help(self):
        code, out, err = run("--help")
        self.assertEqual((0, ""), (code, err))
        self.assertIn("usage: semcache-gen", out)
        self.assertIn("exit status:", out)

    def test_wrong_use(self):
        code, _, err = run()
        self.assertEqual(2, code)
        self.assertIn("the following arguments are required: HEADER", err)

    def test_no_such_header(self):
        self.assertEqual((3, "", "semcache-gen: the header no-such.h cannot be read; name a file that exists\n"), run("no-such.h"))

    def test_files_that_are_right_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            run(SOURCE / "packages/blas/blas.h", "-o", folder)
            before = {p: p.stat().st_mtime_ns for p in pathlib.Path(folder).iterdir()}
            run(SOURCE / "packages/blas/blas.h", "-o", folder)
            self.assertEqual(before, {p: p.stat().st_mtime_ns for p in pathlib.Path(folder).iterdir()})

    def test_without_libclang(self):
        """A Python that finds no package clang: a folder in front of the distribution's has one that cannot be imported."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "clang.py").write_text("raise ImportError('none')\n")
            code, out, err = run(SOURCE / "packages/blas/blas.h", "-o", folder, environment={"PYTHONPATH": folder})
        self.assertEqual((3, "", "semcache-gen: Python finds no libclang, which reads the header. Please install it: apt-get install python3-clang\n"),
                         (code, out, err))


if __name__ == "__main__":
    unittest.main()
