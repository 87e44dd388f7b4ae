# SPDX-License-Identifier: BSD-3-Clause
"""What another Debian builds modules with, run here: its kernel's headers hold settings of its
compiler and its build programs may want its C library. All are unpacked in the kernel's folder, and
started by that library's own loader.
"""

from __future__ import annotations

import re
from pathlib import Path

from keepon_host.errors import EnvironmentProblemError

from keepon_guests import packages

TRIPLET = "x86_64-linux-gnu"
# In the headers' .kernelvariables: the archive's compiler.
COMPILER = re.compile(r"^CC = .*\$\(CROSS_COMPILE\)(gcc-(\d+))$", re.MULTILINE)
# Of the packages these need; the linker is this machine's.
USED = re.compile(r"lib|zlib|cpp-|gcc-|binutils-")


def start_by_loader(tree: Path, program: Path) -> None:
    """Make a program of another Debian one that runs here; `tree` has the libraries."""
    moved = program.with_name(f"{program.name}.elf")
    program.resolve().rename(moved)
    program.unlink(missing_ok=True)
    search = ":".join(str(tree / folder / TRIPLET) for folder in ("usr/lib", "lib"))
    (found,) = tree.glob(f"**/{TRIPLET}/ld-linux-x86-64.so.2")
    loader = f"{found} --library-path {search}"
    program.write_text(f'#!/bin/sh\nexec {loader} --argv0 "$0" {moved} "$@"\n')
    program.chmod(0o755)


def bring(folder: Path, headers: Path, kbuild: str, lists: str) -> list[str]:
    """Add to a kernel's `folder` what the programs of package `kbuild` in it need, and the compiler
    of `headers`, from `lists` of packages; the file names of the packages.
    """
    variables = headers / ".kernelvariables"
    text = variables.read_text()
    compiler = COMPILER.search(text)
    if compiler is None:
        raise EnvironmentProblemError(
            f"{variables}: no CC = ...gcc-N, headers of an unknown layout"
        )
    tree = folder / "tools"
    names = [
        packages.unpack(name, tree, lists)
        for name in packages.dependencies([kbuild, compiler[1]], lists)
        if USED.match(name)
    ]
    gcc, assembler = (tree / "usr" / "bin" / f"{TRIPLET}-{name}" for name in (compiler[1], "as"))
    (cc1,) = tree.glob("usr/lib*/gcc/**/cc1")  # libexec since gcc 13
    inner = cc1.parent
    programs = [
        *(folder / "usr" / "lib" / kbuild).rglob("*.real-*"), gcc, assembler, cc1
    ]  # fmt: skip
    (inner / "as").symlink_to(
        assembler
    )  # this machine's does not read all that the compiler writes
    for program in programs:
        start_by_loader(tree, program)
    variables.write_text(COMPILER.sub(f"CC = {gcc}", text))
    return names
