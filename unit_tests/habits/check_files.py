# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""check_files.py CLONE: the citation and the workflow can be parsed and have what their readers ask for, and all files name one version."""
import re
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


check_citation()
check_workflow()
check_versions()
sys.exit("\n".join(errors) or 0)
