#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code under the kernel's own checkers: `sparse` over the modules, `checkpatch` over their
sources and headers.

sparse runs by kbuild (C=1) in build folders of its own, on the oldest kernel family; checkpatch.pl
comes out of Debian's kernel sources, fetched once into out/cache/checkpatch. Run by the
Python of .venv.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from common import OUT, ROOT, cpu_count, run_quiet
from keepon.errors import KeeponError
from keepon_guests import Kernel, get_kernel, modules, offered_families

# Flavour of the kernel -> modules in the order of their symbols. The drivers of cards need the MII
# library, which the smallest kernel leaves out.
MODULES = {
    "cloud": ("native", "hwsim", "keepon", "generic", "hwcheck", "guard"),
    "rt": ("native", "nics/intel", "nics/genet", "nics/gem"),
}
SOURCES = (
    "kernel/keepon",
    "kernel/hwsim",
    "kernel/native",
    "kernel/generic",
    "kernel/hwcheck",
    "kernel/guard",
    "kernel/nics",
    "kernel/include",
)
CACHE = OUT / "cache" / "checkpatch"
PACKAGES = ("linux-source-6.1", "linux-source-6.12")  # one of Debian 12, one of 13
SCRIPTS = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
LINE_COLUMNS_MAX = 100

# What is not asked for, because the repository decides otherwise.
IGNORED = {
    # .clang-format decides: short cases on one line, loops by macros it does not know, breaks after
    # a parenthesis, alignment in macros
    "TRAILING_STATEMENTS", "OPEN_BRACE", "OPEN_ENDED_LINE", "CODE_INDENT", "LEADING_SPACE",
    "SPACING", "BRACKET_SPACE",
    "LONG_LINE_COMMENT",
    # lists of names expanded by a macro (KPN_COUNTERS): they are no functions and cannot be wrapped
    "COMPLEX_MACRO", "MULTISTATEMENT_MACRO_USE_DO_WHILE", "TRAILING_SEMICOLON", "MACRO_ARG_REUSE",
    "MACRO_ARG_PRECEDENCE", "MACRO_WITH_FLOW_CONTROL",
    "MACRO_ARG_UNUSED",
    # a module for several kernels has to ask for the version; only keepon_compat.h does
    "LINUX_VERSION_CODE", "CONSTANT_COMPARISON",
    # not in 6.1 yet
    "PREFER_ETHTOOL_PUTS",
}  # fmt: skip
# Names of the kernel's own that checkpatch would not let us write.
KERNEL_NAMES = (
    "Qdisc", "Qdisc_ops", "ETHTOOL_LINK_MODE_100baseT_Full_BIT",
    "ETHTOOL_LINK_MODE_1000baseT_Full_BIT", "SUPPORTED_100baseT_Full", "SUPPORTED_1000baseT_Full",
)  # fmt: skip


class CheckError(Exception):
    """A checker could not be run; the text says why and what to do."""


def fetch_checkpatch() -> Path:
    """checkpatch.pl with what it reads, from Debian's sources of the kernel."""
    script = CACHE / SCRIPTS[0]
    if script.is_file():
        return script
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="keepon-", dir=CACHE.parent) as name:
        folder = Path(name)
        folder.chmod(0o755)
        for package in PACKAGES:
            done = run_quiet(["apt-get", "download", package], cwd=folder)
            # A name that apt does not know is a pattern to it: 6.1 fetches 6.12 on Debian 13.
            found = list(folder.glob(f"{package}_*.deb"))
            if found:
                break
        else:
            raise CheckError(
                f"apt-get download {package} gave nothing: {done.stdout.strip().splitlines()[-1:]}"
            )
        members = [f"{package}/scripts/{part}" for part in SCRIPTS]
        for command in (
            ["dpkg-deb", "-x", found[0], folder / "package"],
            [
                "tar",
                "-xJf",
                folder / "package" / "usr" / "src" / f"{package}.tar.xz",
                "--occurrence=1",
                *members,
            ],
        ):
            done = run_quiet(command, cwd=folder)
            if done.returncode:
                raise CheckError(f"{command[0]} cannot unpack {package}: {done.stdout.strip()}")
        shutil.rmtree(CACHE, ignore_errors=True)
        (folder / package / "scripts").rename(CACHE)
    return script


def checkpatch() -> str:
    files = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.[ch]"))]
    options = ["--strict", "--no-tree", "--terse", "--show-types", "--no-summary"]
    limits = [f"--max-line-length={LINE_COLUMNS_MAX}", f"--ignore={','.join(sorted(IGNORED))}"]
    # Beside a .git it would leave a file of what it has read.
    done = run_quiet(["perl", fetch_checkpatch(), *options, *limits, "-f", *files], cwd=CACHE)
    said = [line for line in done.stdout.splitlines() if re.search(r":\d+: [A-Z]+:", line)]
    if done.returncode and not said:
        return done.stdout or f"checkpatch.pl: exit code {done.returncode}"
    passed = tuple(f"Avoid CamelCase: <{name}>" for name in KERNEL_NAMES)
    return "\n".join(line.replace(f"{ROOT}/", "") for line in said if not line.endswith(passed))


def sparse() -> str:
    if shutil.which("sparse") is None:
        raise CheckError("sparse is missing; run scripts/setup kernel")
    return "\n".join(
        line for flavour, names in MODULES.items() for line in sparse_modules(flavour, names)
    )


def sparse_modules(flavour: str, names: tuple[str, ...]) -> list[str]:
    """What sparse says of modules built for a flavour of the oldest kernel, each seeing the symbols
    of those before.
    """
    kernel = get_kernel(offered_families()[0], flavour)
    found = []
    symbols: list[Path] = []
    for name in names:
        folder = ROOT / "kernel" / name
        mirror = OUT / "build" / "sparse" / flavour / folder.name
        links = modules.plan_links(ROOT, folder)
        inputs = modules.input_hash(kernel, links, symbols)
        stamp = mirror / "clean"
        if not (stamp.is_file() and stamp.read_text() == inputs):
            # From nothing, because kbuild checks what it compiles.
            shutil.rmtree(mirror, ignore_errors=True)
            modules.refresh_mirror(mirror, links)
            problems = sparse_module(kernel, mirror, folder.name, symbols)
            found += problems
            if not problems:
                stamp.write_text(inputs)
        symbols.append(mirror / "kernel" / folder.name / "Module.symvers")
    return found


def sparse_module(kernel: Kernel, mirror: Path, name: str, symbols: list[Path]) -> list[str]:
    """Build one module with sparse beside the compiler; what sparse says of our files."""
    command = [
        "make",
        "-C",
        kernel.headers,
        f"M={mirror / 'kernel' / name}",
        f"KEEPON_ROOT={mirror}",
        "C=1",
    ]
    done = run_quiet(
        [
            *command,
            f"KBUILD_EXTRA_SYMBOLS={' '.join(map(str, symbols))}",
            f"-j{cpu_count()}",
            "modules",
        ]
    )
    if done.returncode or not re.search(r"^ +CHECK ", done.stdout, re.MULTILINE):
        return [f"{name}: sparse was not run:\n{done.stdout}"]
    lines = [
        line for line in done.stdout.splitlines() if re.search(r":\d+:\d+: (warning|error):", line)
    ]
    # What the kernel's own headers give rise to is not ours to mend.
    return [line.replace(f"{mirror}/", "") for line in lines if str(mirror) in line]


CHECKS = {"sparse": sparse, "checkpatch": checkpatch}


def main() -> int:
    if sys.argv[1:2] not in [[name] for name in CHECKS]:
        print(f"check_modules.py needs one of: {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    try:
        problem = CHECKS[sys.argv[1]]()
    except (CheckError, KeeponError, OSError) as error:
        problem = f"check_modules.py {sys.argv[1]}: {error}"
    if problem:
        print(problem)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
