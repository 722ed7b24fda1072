# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Takes the programs of a page of the documentation, and compares what they print with what the page says.

  page.py extract PAGE FOLDER   writes the page's files into the folder: each block of code behind a line that ends in "`NAME`:", and each
                                diff behind a line that ends in "`OLD` becomes `NEW`:", of which every line is replaced where it stands
  page.py check PAGE FOLDER     runs the commands of the page's console blocks ("$ COMMAND") in the folder, one after the other, and compares
                                what they print; "..." on the page stands for anything
  page.py update PAGE FOLDER    writes what they print into the page instead, but for blocks with "..."

PAGE is a page of docs/, or, unless it is to be updated, what `./dev docs` has made of one (.html).
"""
import doctest
import html
import re
import subprocess
import sys
from pathlib import Path

CODE = re.compile(r"`([\w.]+)`:\n\n```(?:cpp|cmake|c|text)\n(.*?)```", re.DOTALL)
DIFF = re.compile(r"`([\w.]+)` becomes `([\w.]+)`:\n\n```diff\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)


def text_of_built(built):
    """Returns what extract and check need of a built page, as it is in its source: blocks of code, and words in backquotes."""
    text = re.sub(r'(?:</p>)?\s*<div class="highlight-(\w+)[^>]*><div[^>]*><pre>(.*?)</pre>', r"\n\n```\1\n\2```\n", built, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"</?code\b[^>]*>", "`", text)))


def extract(text, folder):
    files = dict(CODE.findall(text))
    for old, new, diff in DIFF.findall(text):
        program = files[old]
        for before, after in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", diff, re.MULTILINE):
            before, after = (re.sub(r"^.", "", lines, flags=re.MULTILINE) for lines in (before, after))
            if program.count(before) != 1:
                sys.exit(f"{new}: {old} has these lines {program.count(before)} times:\n{before}")
            program = program.replace(before, after)
        files[new] = program
    for name, content in files.items():
        (folder / name).write_text(content)


def run(block, folder):
    """Returns the block's commands, each followed by what it prints."""
    shown = ""
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        result = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"{command}\nended with {result.returncode}:\n{result.stdout}{result.stderr}")
        shown += f"$ {command}\n" + re.sub(r" +$", "", result.stdout, flags=re.MULTILINE)
    return shown


def main():
    action, page, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    text = page.read_text()
    if page.suffix == ".html":
        if action == "update":
            sys.exit(f"{page}: update the page of docs/ that it was made of")
        text = text_of_built(text)
    if action == "extract":
        folder.mkdir(parents=True, exist_ok=True)
        extract(text, folder)
        return
    blocks = CONSOLE.findall(text)
    if not blocks:
        sys.exit(f"{page}: no console block found")
    differing = 0
    for block in blocks:
        shown = run(block, folder)
        if action == "update" and "..." not in block:
            text = text.replace(block, shown)
        elif not doctest.OutputChecker().check_output(block, shown, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
            differing += 1
            print(f"{page} says:\n{block}\nbut it is:\n{shown}")
    if action == "update":
        page.write_text(text)
    sys.exit(1 if differing else 0)


main()
