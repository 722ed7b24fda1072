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


def check_first_picture():
    """docs/difference.svg and the sample of a report in README.md have the bytes of the tutorial, whose outputs the test of installed packages checks."""
    tutorial, readme = (clone / "docs/tutorial/heat.md").read_text(), (clone / "README.md").read_text()

    def shown(command):
        found = re.findall(rf"^\$ {re.escape(command)}.*\n((?:(?!\$|```).*\n)+)", tutorial, re.MULTILINE)
        expect(len(found) == 1, f"heat.md: '{command}' stands there {len(found)} times, not once")
        return [" ".join(line.split()) for line in (found[0].splitlines() if found else [])]

    for group, command in (("before", "SEMCACHE_PROTOCOL=off SEMCACHE_REPORT=stdout build/heat_tracked | grep \"moved to\""),
                           ("after", "SEMCACHE_REPORT=stdout build/heat_dual | grep \"moved to\"")):
        part = find("docs/difference.svg", rf'<g id="{group}">((?:.|\n)*?)\n  </g>') or ""
        drawn = [(float(number), unit) for number, unit in re.findall(r">([\d.]+) (\w?i?B)</text>", part)]
        counted = [(float(line.split()[-3]), line.split()[-2]) for line in shown(command)]
        expect(drawn and drawn == counted, f"difference.svg, '{group}', has {drawn}, and heat.md {counted}")
    steps = find("docs/difference.svg", r">heat equation, (\d+) steps</text>")
    expect(f"steps = {steps};" in tutorial, f"difference.svg has {steps} steps, and heat.md not")

    sample = {" ".join(line.split()) for line in readme.splitlines()}
    for line in shown("SEMCACHE_REPORT=stdout build/heat_const | grep -E"):
        expect(line in sample, f"README.md's sample of a report lacks the line of heat.md '{line}'")


# A shell's functions stand for the commands of a build, whose options the completion asks for.
COMMANDS = """semcache-run() { sh packages/blas/semcache-run.in "$@"; }
semcache-report() { python3 -B tools/report "$@"; }
compopt() { :; }
"""


def complete(name, *words):
    """What the last of the words can become, by packaging/completion/<name>.bash; its function is that of the command which is words[0]."""
    script = (f"{COMMANDS} source packaging/completion/{name}.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1));"
              f"_semcache_{name.removeprefix('semcache-')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script, "bash", *words], cwd=clone, capture_output=True, text=True, check=True)
    expect(not done.stderr, f"{name}.bash: {done.stderr}")
    return done.stdout.split()


def check_completion():
    cases = (clone / "dev").read_text().rpartition("case $command in")[2]
    patterns = " | ".join(re.findall(r"^  ([a-z][a-z |-]*)\)", cases, re.MULTILINE)).split(" | ")
    commands = {pattern for pattern in patterns if not pattern.startswith("-")}
    offered = set(complete("dev", "./dev", ""))
    expect(commands == offered, f"dev.bash and ./dev differ in {sorted(commands ^ offered)}")
    expect(complete("dev", "./dev", "up") == ["upstream"], "dev.bash does not complete 'up' to 'upstream'")
    expect("--shard" in complete("dev", "./dev", "upstream", ""), "dev.bash does not offer the options of ./dev upstream")


def check_completion_of_tools():
    for tool in ("semcache-run", "semcache-report"):
        manual = set(re.findall(r"Fl -([a-z0-9]+)", (clone / f"packaging/man/{tool}.1").read_text()))
        offered = {word.strip("-=") for word in complete(tool, tool, "--")}
        expect(offered and offered == manual, f"{tool}.bash and {tool}.1 differ in {sorted(manual ^ offered)}")
    expect(complete("semcache-report", "semcache-report", "--source", "tools/rep") == ["tools/report"], "semcache-report.bash completes no folder")
    expect(complete("semcache-report", "semcache-report", "docs/measurements/2026-11-29-lin") == ["docs/measurements/2026-11-29-linalg.json"],
           "semcache-report.bash does not complete a report")


def check_spack():
    recipe = (clone / "packaging/spack/package.py").read_text()
    compile(recipe, "package.py", "exec")
    options = (clone / "cmake/SemCacheOptions.cmake").read_text()
    for option in re.findall(r'"SemCache_ENABLE_(\w+)"', recipe):
        expect(re.search(rf"\({option} |SemCache_ENABLE_{option} ", options), f"package.py sets SemCache_ENABLE_{option}, which is no option")


def check_kokkos_names():
    """Kokkos 5 has View::HostMirror only with the code that Kokkos 4 deprecated, and Kokkos 3.4, which continuous integration uses, no other name.
    The members of a Kokkos::DualView are private in Kokkos 5."""
    names = r"::(HostMirror|host_mirror_type)\b"
    members = r"\.[hd]_view\b"
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", clone, "ls-files", "*.cpp", "*.hpp"], check=True, capture_output=True, text=True)
    for name in listed.stdout.split():
        if name != "packages/kokkos/semcache/kokkos/compat.hpp":
            expect(not re.search(names, (clone / name).read_text()), f"{name} names a View's mirror type: use semcache::kokkos::host_mirror_t")
        if name.startswith(("unit_tests/kokkos/", "miniapps/", "examples/")):
            expect(not re.search(members, (clone / name).read_text()), f"{name} names a member of a DualView: use view_host() and view_device()")


check_citation()
check_workflow()
check_versions()
check_man_page()
check_first_picture()
check_completion()
check_completion_of_tools()
check_spack()
check_kokkos_names()
sys.exit("\n".join(errors) or 0)
