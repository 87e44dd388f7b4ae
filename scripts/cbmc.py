# SPDX-License-Identifier: BSD-3-Clause
"""CBMC, the bounded model checker: from PATH, or unpacked from the first Debian release that has
CBMC 6.

Debian 12 has no package of it. Its packages of Debian 13 are fetched by apt, which checks their
signatures, with lists and cache of its own under out/cache/cbmc, and run with the C library they
belong to. Nothing is installed.
"""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

from archive import foreign_apt
from common import OUT, StageError, must, run_quiet, say

SUITE = "trixie"
PACKAGES = ("cbmc", "minisat", "libc6", "libgcc-s1", "libstdc++6", "zlib1g")
PROGRAMS = ("cbmc", "goto-cc", "goto-instrument")
CACHE = OUT / "cache" / "cbmc"
WRAPPERS = CACHE / "bin"


def find_cbmc(program: str = "cbmc") -> Path | None:
    """One of PROGRAMS to run, None if there is none."""
    installed = shutil.which(program)
    if installed:
        return Path(installed)
    wrapper = WRAPPERS / program
    return wrapper if wrapper.is_file() else None


def prepare_cbmc() -> None:
    """Make find_cbmc() find something; raises StageError with the reason if that cannot be done."""
    if all(find_cbmc(program) for program in PROGRAMS):
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise StageError(
            "apt-get or dpkg-deb is missing: install CBMC 6 by hand so that `cbmc` is in PATH"
        )
    say(f"fetching CBMC from Debian {SUITE}")
    apt = CACHE / "apt"
    draft = CACHE / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    apt_get = foreign_apt(apt, "deb", SUITE)
    packages = apt / "packages"
    packages.mkdir()
    done = run_quiet([*apt_get, "download", *PACKAGES], cwd=packages)
    if done.returncode:
        raise StageError(
            f"apt-get download {' '.join(PACKAGES)}: {done.stdout.strip().splitlines()[-1:]}"
        )
    for package in sorted(packages.glob("*.deb")):
        must(["dpkg-deb", "-x", package, draft])
    install_unpacked(draft)
    shutil.rmtree(apt)


def install_unpacked(draft: Path) -> None:
    """Put the unpacked packages in place, with wrappers that start CBMC with its own C library."""
    root = CACHE / "root"
    shutil.rmtree(root, ignore_errors=True)
    draft.rename(root)
    loaders = sorted((root / "usr" / "lib").glob("*-linux-gnu/ld-linux-*.so.*"))
    if not loaders:
        raise StageError(f"libc6 of Debian {SUITE} holds no loader for {platform.machine()}")
    libraries = f"{loaders[0].parent}:{root / 'usr' / 'lib'}"
    WRAPPERS.mkdir(exist_ok=True)
    for program in PROGRAMS:
        part = WRAPPERS / f"{program}.part"
        part.write_text(
            f'#!/bin/sh\nexec "{loaders[0]}" --library-path "{libraries}"'
            f' "{root}/usr/bin/{program}" "$@"\n'
        )
        part.chmod(0o755)
        tried = run_quiet([part, "--version"])
        if tried.returncode:
            raise StageError(
                f"{program} of Debian {SUITE} does not run here: {tried.stdout.strip()}"
            )
        part.replace(WRAPPERS / program)
