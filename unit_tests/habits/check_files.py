# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""check_files.py CLONE: files that other tools read can be parsed and have what their readers ask for; files that repeat others agree with them."""
import re
import subprocess
import sys
from pathlib import Path

import yaml

clone = Path(sys.argv[1])
errors = []


def expect(condition, message):
    if not condition:
        errors.append(message)


def find(name, pattern):
    found = re.findall(pattern, (clone / name).read_text(), re.MULTILINE)
    expect(len(found) == 1, f"{name}: {pattern!r} matches {len(found)} times, not once")
    return found[0] if found else None


def check_citation():
    citation = yaml.safe_load((clone / "CITATION.cff").read_text())
    for key in ("cff-version", "message", "title", "authors", "version", "references"):
        expect(citation.get(key), f"CITATION.cff has no {key}")
    for reference in citation["references"]:
        for key in ("type", "title", "authors", "year"):
            expect(reference.get(key), f"CITATION.cff: {reference.get('title')} has no {key}")
        expect(all(author.get("family-names") and author.get("given-names") for author in reference["authors"]),
               f"CITATION.cff: an author of {reference['title']} lacks a name")


def check_workflow():
    jobs = yaml.safe_load((clone / ".github/workflows/ci.yml").read_text())["jobs"]
    for name, job in jobs.items():
        expect(job.get("container") == "debian:12", f"ci.yml: the job {name} does not run on Debian 12")
        expect(any(step.get("run") == ".ci/run" for step in job["steps"]), f"ci.yml: the job {name} does not call .ci/run")


def check_versions():
    version = find("CMakeLists.txt", r"^project\(SemCache VERSION ([\d.]+)")
    header = ".".join(find("src/semcache/semcache.h", rf"^#define SEMCACHE_VERSION_{part} (\d+)$") for part in ("MAJOR", "MINOR", "PATCH"))
    expect(header == version, f"semcache.h has version {header}, CMakeLists.txt {version}")
    citation = find("CITATION.cff", r"^version: ([\d.]+)$")
    expect(citation == version, f"CITATION.cff has version {citation}, CMakeLists.txt {version}")


def check_man_page():
    documented = set(re.findall(r"^\| `(SEMCACHE_\w+)", (clone / "docs/reference/variables.md").read_text(), re.MULTILINE))
    listed = set(re.findall(r"^\.It Ev (SEMCACHE_\w+)$", (clone / "packaging/man/semcache.7").read_text(), re.MULTILINE))
    expect(documented, "variables.md: no table of variables found")
    expect(documented == listed, f"semcache.7 and variables.md differ in {sorted(documented ^ listed)}")


def complete(*words):
    script = "source packaging/completion/dev.bash; COMP_WORDS=(./dev \"$@\"); COMP_CWORD=$#; _semcache_dev; echo \"${COMPREPLY[*]}\""
    return subprocess.run(["bash", "-c", script, "bash", *words], cwd=clone, capture_output=True, text=True, check=True).stdout.split()


def check_completion():
    cases = (clone / "dev").read_text().rpartition("case $command in")[2]
    patterns = " | ".join(re.findall(r"^  ([a-z][a-z |-]*)\)", cases, re.MULTILINE)).split(" | ")
    commands = {pattern for pattern in patterns if not pattern.startswith("-")}
    offered = set(complete(""))
    expect(commands == offered, f"dev.bash and ./dev differ in {sorted(commands ^ offered)}")
    expect(complete("up") == ["upstream"], "dev.bash does not complete 'up' to 'upstream'")
    expect("--shard" in complete("upstream", ""), "dev.bash does not offer the options of ./dev upstream")


def check_spack():
    recipe = (clone / "packaging/spack/package.py").read_text()
    compile(recipe, "package.py", "exec")
    options = (clone / "cmake/SemCacheOptions.cmake").read_text()
    for option in re.findall(r'"SemCache_ENABLE_(\w+)"', recipe):
        expect(re.search(rf"\({option} |SemCache_ENABLE_{option} ", options), f"package.py sets SemCache_ENABLE_{option}, which is no option")


check_citation()
check_workflow()
check_versions()
check_man_page()
check_completion()
check_spack()
sys.exit("\n".join(errors) or 0)
