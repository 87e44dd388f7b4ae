#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""QEMU whose models of Intel's controllers send at the pace of a wire, as kernel/tests/test_nics_paced.py needs it.

QEMU's source as Debian has it, with tools/qemu/paced.patch, built for x86-64 alone, with those cards and nothing else:
out/cache/qemu, 5 to 15 minutes, once. Run by scripts/setup hw. With --print: its path, nothing is built.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from archive import foreign_apt
from common import EXIT_ENVIRONMENT, OUT, ROOT, VENV, VENV_PYTHON, StageError, cpu_count, must, run_quiet, say

SUITE = "bookworm-backports"
VERSION = "10.0.2"
SOURCE = f"qemu=1:{VERSION}+ds-2+deb13u1~bpo12+1"
ARCHIVE = f"qemu_{VERSION}+ds.orig.tar.xz"
SHA256 = "0901da33844a331bf8b3602b9c1fbd178e60b737c8e3ade678255bd090c9b9f1"
PATCH = ROOT / "tools" / "qemu" / "paced.patch"
CACHE = OUT / "cache" / "qemu"
PROGRAM = "qemu-system-x86_64"
CONFIGURE = (
    "--target-list=x86_64-softmmu", "--without-default-features", "--without-default-devices",
    "--with-devices-x86_64=cards", "--enable-system", "--enable-tcg", "--enable-fdt=system", "--disable-werror",
    "--disable-docs", "--disable-tools", "--disable-guest-agent", "--disable-user", "--disable-install-blobs",
)  # fmt: skip


def built() -> Path:
    """Where it is, or will be; another one for each patch."""
    digest = hashlib.sha256(PATCH.read_bytes() + " ".join([SHA256, *CONFIGURE]).encode()).hexdigest()
    return CACHE / digest[:16] / PROGRAM


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch() -> Path:
    """QEMU's source, checked; kept in the cache."""
    archive = CACHE / ARCHIVE
    if archive.is_file() and file_hash(archive) == SHA256:
        return archive
    say(f"fetching the source of QEMU {VERSION} from Debian {SUITE}")
    apt = CACHE / "apt"
    draft = CACHE / "fetched"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    # Debian's own part of the package may be gone from the archive by now; what is wanted is checked below.
    done = run_quiet([*foreign_apt(apt, "deb-src", SUITE), "source", "--download-only", SOURCE], cwd=draft)
    found = draft / ARCHIVE
    if not found.is_file():
        raise StageError(
            f"apt-get source {SOURCE}: {done.stdout.strip().splitlines()[-1:]}; or put {ARCHIVE} into {CACHE} by hand"
        )
    if file_hash(found) != SHA256:
        raise StageError(f"{ARCHIVE} is not the file that was tried: its SHA-256 must be {SHA256}")
    found.replace(archive)
    shutil.rmtree(apt)
    shutil.rmtree(draft)
    return archive


def build() -> Path:
    program = built()
    if program.is_file():
        return program
    if " " in str(program) or ":" in str(program):
        raise StageError(f"QEMU cannot be built in {program.parent}: move the checkout to a path without spaces")
    archive = fetch()
    tree = program.parent / "tree"
    shutil.rmtree(program.parent, ignore_errors=True)
    tree.mkdir(parents=True)
    say(f"building QEMU {VERSION} with {PATCH.relative_to(ROOT)}, 5 to 15 minutes")
    must(["tar", "-xf", archive, "-C", tree, "--strip-components=1"])
    must(["patch", "-s", "-p1", "-d", tree, "-i", PATCH])
    make = tree / "build"
    make.mkdir()
    for command in (
        [tree / "configure", f"--python={VENV_PYTHON}", f"--ninja={VENV / 'bin' / 'ninja'}", *CONFIGURE],
        [VENV / "bin" / "ninja", f"-j{cpu_count()}", PROGRAM],
    ):
        done = run_quiet(["nice", *command], cwd=make)
        if done.returncode:
            raise StageError("QEMU was not built:\n" + "\n".join(done.stdout.splitlines()[-20:]))
    must(["strip", make / PROGRAM])
    shutil.move(make / PROGRAM, program)
    shutil.rmtree(tree)
    return program


def main() -> int:
    if sys.argv[1:] == ["--print"]:
        print(built())
        return 0
    try:
        print(build())
    except (StageError, subprocess.SubprocessError, OSError) as error:
        print(f"keepon: QEMU with a paced wire: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    return 0


if __name__ == "__main__":
    sys.exit(main())
