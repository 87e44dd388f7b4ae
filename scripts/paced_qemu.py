#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""QEMU whose models of Ethernet controllers send at the pace of a wire, as tests marked hw need it.

QEMU's source as Debian has it, built in out/cache/qemu, once for each machine, 5 to 15 minutes:
x86_64 with tools/qemu/paced.patch and Intel's cards, aarch64 with tools/qemu/genet.patch and a
Raspberry Pi 4, and tools/qemu/gem.patch and a Versal board, both with tools/qemu/twin.patch, a wire
between the two. Run by scripts/setup hw. Arguments: the machines, both if none is named. With
--print first: their paths, nothing is built.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from archive import foreign_apt
from common import (
    EXIT_ENVIRONMENT,
    EXIT_USAGE,
    OUT,
    ROOT,
    VENV,
    VENV_PYTHON,
    StageError,
    cpu_count,
    must,
    run_quiet,
    say,
)

SUITE = "bookworm-backports"
VERSION = "10.0.2"
SOURCE = f"qemu=1:{VERSION}+ds-2+deb13u1~bpo12+1"
ARCHIVE = f"qemu_{VERSION}+ds.orig.tar.xz"
SHA256 = "0901da33844a331bf8b3602b9c1fbd178e60b737c8e3ade678255bd090c9b9f1"
PATCHES = ROOT / "tools" / "qemu"
CACHE = OUT / "cache" / "qemu"
CONFIGURE = (
    "--without-default-features", "--without-default-devices", "{devices}", "--enable-system",
    "--enable-tcg",
    "--enable-fdt=system", "--disable-werror", "--disable-docs", "--disable-tools",
    "--disable-guest-agent",
    "--disable-user", "--disable-install-blobs",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """One emulator; `devices` is the configure option that names its models."""

    machine: str
    patches: tuple[Path, ...]
    devices: str
    more: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return f"qemu-system-{self.machine}"

    @property
    def options(self) -> list[str]:
        plain = [self.devices if option == "{devices}" else option for option in CONFIGURE]
        return [f"--target-list={self.machine}-softmmu", *plain, *self.more]

    def built(self) -> Path:
        """Where it is, or will be; another one for each patch."""
        digest = hashlib.sha256(
            b"".join(patch.read_bytes() for patch in self.patches)
            + " ".join([SHA256, *self.options]).encode()
        ).hexdigest()
        return CACHE / digest[:16] / self.program


# two emulators have one wire, at one virtual time
TWIN = PATCHES / "twin.patch"
TARGETS = {
    "x86_64": Target("x86_64", (PATCHES / "paced.patch", TWIN), "--with-devices-x86_64=cards"),
    # the user network is the far end of a board's wire
    "aarch64": Target(
        "aarch64",
        (PATCHES / "genet.patch", PATCHES / "gem.patch", TWIN),
        "--with-devices-aarch64=boards",
        ("--enable-slirp",),
    ),
}


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
    # Debian's own part of the package may be gone from the archive by now; what is wanted is
    # checked below.
    done = run_quiet(
        [*foreign_apt(apt, "deb-src", SUITE), "source", "--download-only", SOURCE], cwd=draft
    )
    found = draft / ARCHIVE
    if not found.is_file():
        raise StageError(
            f"apt-get source {SOURCE}: {done.stdout.strip().splitlines()[-1:]}; or put {ARCHIVE}"
            f" into {CACHE} by hand"
        )
    if file_hash(found) != SHA256:
        raise StageError(f"{ARCHIVE} is not the file that was tried: its SHA-256 must be {SHA256}")
    found.replace(archive)
    shutil.rmtree(apt)
    shutil.rmtree(draft)
    return archive


def build(target: Target) -> Path:
    program = target.built()
    if program.is_file():
        return program
    if " " in str(program) or ":" in str(program):
        raise StageError(
            f"QEMU cannot be built in {program.parent}: move the checkout to a path without spaces"
        )
    archive = fetch()
    tree = program.parent / "tree"
    shutil.rmtree(program.parent, ignore_errors=True)
    tree.mkdir(parents=True)
    names = " and ".join(str(patch.relative_to(ROOT)) for patch in target.patches)
    say(f"building QEMU {VERSION} with {names}, 5 to 15 minutes")
    must(["tar", "-xf", archive, "-C", tree, "--strip-components=1"])
    for patch in target.patches:
        must(["patch", "-s", "-p1", "-d", tree, "-i", patch])
    make = tree / "build"
    make.mkdir()
    for command in (
        [
            tree / "configure",
            f"--python={VENV_PYTHON}",
            f"--ninja={VENV / 'bin' / 'ninja'}",
            *target.options,
        ],
        [VENV / "bin" / "ninja", f"-j{cpu_count()}", target.program],
    ):
        done = run_quiet(["nice", *command], cwd=make)
        if done.returncode:
            raise StageError("QEMU was not built:\n" + "\n".join(done.stdout.splitlines()[-20:]))
    must(["strip", make / target.program])
    shutil.move(make / target.program, program)
    shutil.rmtree(tree)
    return program


def main() -> int:
    arguments = sys.argv[1:]
    only_print = arguments[:1] == ["--print"]
    names = arguments[1:] if only_print else arguments
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        print(
            f"keepon: machine {unknown[0]!r} is unknown: use {' or '.join(TARGETS)}",
            file=sys.stderr,
        )
        return EXIT_USAGE
    try:
        for name in names or TARGETS:
            print(TARGETS[name].built() if only_print else build(TARGETS[name]))
    except (StageError, subprocess.SubprocessError, OSError) as error:
        print(f"keepon: QEMU with a paced wire: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    return 0


if __name__ == "__main__":
    sys.exit(main())
