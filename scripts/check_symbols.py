#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Freestanding folders need only memcpy, memmove and memset, keep no state of their own and use no
floating point.

Compiles core/ and nicmodel/ with -ffreestanding -O2 for each machine whose compiler is there and
reads the symbol tables: no undefined symbol beyond the three (so no __udivdi3 and no 128-bit
helper), no writable data.
"""

from __future__ import annotations

import platform
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import OUT, ROOT, cpu_count, run_quiet

LIBC_ALLOWED = {"memcpy", "memmove", "memset"}
FOLDERS = {
    "core": (["core/src"], ["core/include", "core/platform/user"]),
    "nicmodel": (["nicmodel", "nicmodel/src"], ["nicmodel/include", "nicmodel"]),
}
NATIVE = platform.machine()
# machine -> compiler, nm, flags; -mgeneral-regs-only turns any floating point into an error
MACHINES = {
    "x86-64": (
        "gcc" if NATIVE == "x86_64" else "x86_64-linux-gnu-gcc",
        "nm",
        ["-mgeneral-regs-only"],
    ),
    "x86-32": (
        "gcc" if NATIVE == "x86_64" else "i686-linux-gnu-gcc",
        "nm",
        ["-m32", "-mgeneral-regs-only"],
    ),
    "arm64": (
        "gcc" if NATIVE == "aarch64" else "aarch64-linux-gnu-gcc",
        "nm",
        ["-mgeneral-regs-only"],
    ),
    "arm32": ("arm-linux-gnueabihf-gcc", "nm", ["-mfloat-abi=soft"]),
}
REQUIRED = (
    {"x86-64", "x86-32"} if NATIVE == "x86_64" else {"arm64"} if NATIVE == "aarch64" else set()
)
FLAGS = [
    "-std=c11",
    "-O2",
    "-ffreestanding",
    "-fno-pie",
    "-fno-stack-protector",
    "-Wall",
    "-Wextra",
    "-Werror",
]
WRITABLE = set("BbCDdGgSs")


def compile_one(
    compiler: str, flags: list[str], includes: list[str], source: Path, target: Path
) -> str:
    """Compile a file; return the compiler's output if that failed."""
    paths = [f"-I{ROOT / include}" for include in includes]
    done = run_quiet([compiler, *FLAGS, *flags, *paths, "-c", source, "-o", target])
    return done.stdout if done.returncode else ""


def check(folder: str, machine: str) -> list[str]:
    """Problems of one folder on one machine."""
    compiler, nm, flags = MACHINES[machine]
    source_folders, includes = FOLDERS[folder]
    sources = sorted(path for name in source_folders for path in (ROOT / name).glob("*.c"))
    if not sources:
        return [f"{folder}: no sources found"]
    build = OUT / "symbols" / machine / folder
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    objects = [build / f"{source.stem}.o" for source in sources]
    with ThreadPoolExecutor(cpu_count()) as pool:
        failures = list(
            pool.map(
                lambda pair: compile_one(compiler, flags, includes, *pair),
                zip(sources, objects, strict=True),
            )
        )
    problems = [f"{machine}: {text.rstrip()}" for text in failures if text]
    if problems:
        return problems
    defined: set[str] = set()
    needed: dict[str, str] = {}
    for path in objects:
        for line in run_quiet([nm, path]).stdout.splitlines():
            *_, kind, name = line.split()
            if kind == "U":
                needed.setdefault(name, path.stem)
            else:
                defined.add(name)
            if kind in WRITABLE:
                problems.append(f"{machine}: {folder}/{path.stem}.c keeps writable data: {name}")
    for name in sorted(needed.keys() - defined - LIBC_ALLOWED):
        problems.append(f"{machine}: {folder}/{needed[name]}.c needs {name}")
    return problems


def main() -> int:
    machines = [
        name
        for name, (compiler, _, _) in MACHINES.items()
        if name in REQUIRED or shutil.which(compiler)
    ]
    problems = [
        problem for machine in machines for folder in FOLDERS for problem in check(folder, machine)
    ]
    print("\n".join(problems) or f"{' and '.join(FOLDERS)} on {', '.join(machines)}")
    return 1 if problems or not machines else 0


if __name__ == "__main__":
    sys.exit(main())
