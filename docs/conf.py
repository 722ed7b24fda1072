# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# How Sphinx builds the documentation. `./dev docs` calls it by way of CMakeLists.txt.
import re
import sys
from pathlib import Path

root = Path(__file__).parent.parent
project = "SemCache"
copyright = "The SemCache contributors"
release = re.search(r"project\(SemCache VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text()).group(1)
version = release

sys.path.insert(0, str(root / "docs"))
sys.dont_write_bytecode = True
extensions = ["myst_parser", "breathe", "sphinx.ext.graphviz", "measured.directives"]
# The source folder is the repository, so that links to the README files beside the sources are pages, too, and are checked.
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "miniapps/**.md", "packages/**.md", "packaging/**.md", "src/**.md", "tools/**.md", "unit_tests/**.md"]
html_theme = "furo"
html_title = f"SemCache {release}"
html_copy_source = False

myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page may begin a table's headings lower
graphviz_output_format = "svg"
highlight_language = "none"  # of blocks that name none

# The path is given by CMakeLists.txt, which runs Doxygen.
breathe_default_project = "semcache"
breathe_domain_by_extension = {"h": "cpp", "hpp": "cpp"}
# Types of other libraries, template parameters, and what is not documented by a page of its own.
nitpick_ignore_regex = [("cpp:identifier", r".*"), ("c:identifier", r".*"), ("ref", r".*_8h(pp)?(_source)?")]


def list_pages(app, docname, source):
    """Gives each index page a table of contents: the pages that its lists link to, in their order, then those of the folder that it forgets."""
    if not docname.startswith("docs/"):
        source[0] = "---\norphan: true\n---\n" + source[0]
    elif docname.split("/")[-1] in ("index", "README"):
        folder = Path(app.srcdir, docname).parent
        pages = re.findall(r"^- \[[^\]]*\]\(([^)#:]+\.md)\)", source[0], re.MULTILINE)
        pages += sorted(path.name for path in folder.glob("*.md") if path.stem != Path(docname).name)
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(dict.fromkeys(pages)) + "\n```\n"


def lead_to_front_page(app, exception):
    Path(app.outdir, "index.html").write_text('<meta http-equiv="refresh" content="0; url=docs/index.html">\n')


def setup(app):
    app.connect("source-read", list_pages)
    app.connect("build-finished", lead_to_front_page)
