# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""The library that draws the charts: D3, as the distribution packages it. It becomes a part of the page, with its licence."""
import os
import re

from . import Failure

DEBIAN = "/usr/share/javascript/d3/d3.min.js"
LICENCES = ("LICENSE", "LICENCE", "copyright", "../../doc/libjs-d3/copyright", "../../../doc/libjs-d3/copyright")


def load(path=None):
    """Returns D3's version, script and licence. Without a path it is the distribution's."""
    path = path or DEBIAN
    try:
        with open(path, encoding="utf-8") as file:
            script = file.read()
    except OSError as e:
        raise Failure(
            f"D3, which draws the charts, cannot be read: {path}: {e.strerror}. Please install it: apt-get install libjs-d3 "
            "(elsewhere name a d3.min.js of version 3 by --d3)"
        ) from None
    version = re.search(r'version:\s*"(\d+)([0-9.]*)"', script)
    if not version or version[1] != "3":
        raise Failure(f"{path} is no D3 of version 3, which libjs-d3 holds: apt-get install libjs-d3")
    return {"version": version[1] + version[2], "script": script.replace("</script", r"<\/script"), "licence": _licence(path)}


def _licence(path):
    for name in LICENCES:
        try:
            with open(os.path.join(os.path.dirname(os.path.realpath(path)), name), encoding="utf-8") as file:
                return file.read()
        except OSError:
            continue
    raise Failure(
        f"the licence of D3 must be on the page, and there is none beside {path}, nor in /usr/share/doc/libjs-d3/copyright: "
        "apt-get install --reinstall libjs-d3"
    )
