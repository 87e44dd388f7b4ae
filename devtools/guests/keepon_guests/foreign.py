# SPDX-License-Identifier: BSD-3-Clause
"""Programs of another architecture than this machine's, and their libraries, for guests: Debian's
packages, unpacked in the cache and not installed. Nothing of them runs here, so libraries are found
by reading the files.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from keepon_host.errors import ConfigError

from keepon_guests import packages
from keepon_guests.paths import cache_folder, find_program, only_one, run_host

PACKAGES = (
    "busybox-static", "dash", "ethtool", "iperf3", "iproute2", "linuxptp", "python3-minimal",
    "libpython3-stdlib",
)  # fmt: skip
PROGRAM_FOLDERS = ("usr/bin", "bin", "usr/sbin", "sbin")
LIBRARY_FOLDERS = ("lib", "usr/lib")


def root(architecture: str) -> Path:
    """Folder with the unpacked packages."""
    folder = cache_folder() / f"root-{architecture}"
    with only_one(folder):
        done = folder / ".keepon-packages"
        wanted = "\n".join(PACKAGES)
        if not done.is_file() or done.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for name in packages.dependencies(list(PACKAGES), architecture):
                # What a package's scripts need at installation is of no use here.
                if name in PACKAGES or name.startswith(("lib", "zlib", "python3.")):
                    packages.unpack(name, folder, architecture)
            done.write_text(wanted)
    return folder


def find_foreign(architecture: str, name: str) -> Path:
    """Path of a program in the unpacked packages."""
    for folder in PROGRAM_FOLDERS:
        path = root(architecture) / folder / name
        if path.is_file():
            return path
    raise ConfigError(
        f"program {name} is in none of the packages {', '.join(PACKAGES)} of {architecture}"
    )


def find_library(tree: Path, name: str) -> Path:
    """A library by its name, in the folder of a multiarch system or the plain one."""
    for folder in LIBRARY_FOLDERS:
        for path in (*sorted((tree / folder).glob(f"*-linux-gnu/{name}")), tree / folder / name):
            if path.is_file():
                return path
    raise ConfigError(
        f"library {name} is in no unpacked package: name the one that has it in PACKAGES of"
        " foreign.py"
    )


def libraries(architecture: str, program: Path) -> dict[str, Path]:
    """Guest path -> file of the loader and all libraries a program needs; empty for a
    static one.
    """
    tree = root(architecture)
    found: dict[str, Path] = {}
    todo = [program]
    while todo:
        text = run_host(
            [find_program("readelf"), "--wide", "--dynamic", "--program-headers", todo.pop()]
        )
        names = re.findall(r"\(NEEDED\) .*\[(.*)\]", text)
        names += [Path(loader).name for loader in re.findall(r"program interpreter: (\S+)\]", text)]
        for name in names:
            path = find_library(tree, name)
            # The loader looks in /lib, whatever folder a package has it in.
            guest = f"lib/{path.relative_to(tree).as_posix().partition('lib/')[2]}"
            if name.startswith("ld-linux"):
                guest = f"lib/{name}"
            if guest not in found:
                found[guest] = path
                todo.append(path)
    return found
