# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""The command semcache-gen."""
import argparse
import pathlib
import sys

from . import header, reader, write
from .errors import Failure

DONE, WRONG_USE, NOTHING_WRITTEN = 0, 2, 3

DESCRIPTION = """Writes wrappers for the functions of a library: programs that call them keep the operands on the GPU between calls. What the
functions do with their parameters is stated by annotations in a C header (#pragma semcache ...). Files whose content is the same already are
left alone."""
EPILOG = """exit status:
  0  the wrappers are written
  2  wrong use of the command
  3  nothing is written: an annotation is wrong (the message names file, line and word), the header is no valid C, libclang or Jinja2 is missing

example:
  semcache-gen blas.h --output src/generated"""


def parser():
    p = argparse.ArgumentParser(prog="semcache-gen", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("header", metavar="HEADER", type=pathlib.Path, help="a C header with annotations")
    p.add_argument("-o", "--output", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path("."),
                   help="where the sources are written (default: here)")
    p.add_argument("-I", "--include", metavar="FOLDER", action="append", default=[],
                   help="where the header's own includes are; may be given several times")
    return p


def generate(path, include_folders=()):
    """Returns the text of each source that a header describes."""
    declarations = header.read(path, [f"-I{folder}" for folder in include_folders])
    library = reader.Reader(declarations, path.name).library
    if not library.files:
        raise Failure(f"{path.name}: no function is described; put #pragma semcache annotations in front of those to be wrapped")
    return write.texts(library, path.name)


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        texts = generate(options.header, options.include)
        options.output.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            target = options.output / name
            if not target.exists() or target.read_text(encoding="utf-8") != text:
                target.write_text(text, encoding="utf-8")
        return DONE
    except Failure as e:
        print(f"semcache-gen: {e}", file=sys.stderr)
    except OSError as e:
        print(f"semcache-gen: {e.filename} cannot be written: {e.strerror}", file=sys.stderr)
    return NOTHING_WRITTEN
