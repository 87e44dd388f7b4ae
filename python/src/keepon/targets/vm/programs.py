# SPDX-License-Identifier: BSD-3-Clause
"""What a guest gets besides kernel modules: the programs of tools/ and the iproute2 plugin."""

from __future__ import annotations

from pathlib import Path

from keepon_guests.machines import PC, Machine
from keepon_guests.paths import find_program, only_one, run_host
from keepon_host.checkout import checkout_root

from keepon import __version__
from keepon.errors import EnvironmentProblemError

NAMES = ("keepon-talk", "keepon-listen", "keepon-relay")
# As tools/CMakeLists.txt has it
DEFINITIONS = (
    "-D_GNU_SOURCE",
    "-D_FILE_OFFSET_BITS=64",
    "-D_TIME_BITS=64",
    f'-DKEEPON_VERSION="{__version__}"',
)


def tools(machine: Machine = PC) -> list[Path]:
    """Statically linked programs, as scripts/setup builds them; for another architecture
    built here.

    Raises:
        EnvironmentProblemError: they were not built, or cannot be.
    """
    if machine.foreign:
        return [cross_built(machine, name) for name in NAMES]
    folder = checkout_root() / "out" / "build" / "python" / "tools"
    found = [folder / name for name in NAMES]
    for path in found:
        if not path.is_file():
            raise EnvironmentProblemError(
                f"{path.name} is not built: run `scripts/setup run kernel`"
            )
    return found


def is_stale(target: Path, sources: list[Path]) -> bool:
    return not target.is_file() or any(
        source.stat().st_mtime > target.stat().st_mtime for source in sources
    )


def cross_built(machine: Machine, name: str) -> Path:
    """One of our programs by the cross compiler: its own sources, and those that belong to no other
    program.
    """
    root = checkout_root()
    folder = root / "out" / "build" / f"tools-{machine.foreign}"
    target = folder / name
    prefixes = {program: program.removeprefix("keepon-") for program in NAMES}
    others = tuple(prefix for program, prefix in prefixes.items() if program != name)
    sources = [
        path for path in sorted((root / "tools").glob("*.c")) if not path.name.startswith(others)
    ]
    with only_one(target):
        version = root / "kernel/include/keepon_version.h"
        if is_stale(target, [*sources, version, *(root / "tools").glob("*.h")]):
            compiler = find_program(f"{machine.compiler}gcc")
            draft = target.with_suffix(".new")
            run_host(
                [compiler, "-std=gnu11", "-O2", "-static", *DEFINITIONS, "-o", draft, *sources]
            )
            draft.replace(target)
    return target


def plugin(machine: Machine = PC) -> Path:
    """The iproute2 plugin of `ip`, with that of `tc` (q_guard.so) beside it, built against the
    headers of the distribution's source package when they are not up to date.
    """
    root = checkout_root()
    folder = root / "out" / "build" / (f"plugin-{machine.foreign}" if machine.foreign else "plugin")
    target = folder / "link_keepon.so"
    sources = [
        *sorted((root / "kernel" / "plugin").iterdir()),
        root / "kernel/include/uapi/keepon_link.h",
    ]
    with only_one(folder):
        if is_stale(target, sources):
            run_host(
                ["env", f"CC={machine.compiler}gcc", root / "kernel" / "plugin" / "build", folder]
            )
    return target


def guest_files(machine: Machine = PC) -> dict[str, Path]:
    """Files every guest of this target gets."""
    system = machine.compiler.rstrip("-") or "x86_64-linux-gnu"
    of_ip = plugin(machine)
    return {
        f"/usr/lib/{system}/ip/{of_ip.name}": of_ip,
        f"/usr/lib/{system}/tc/q_guard.so": of_ip.with_name("q_guard.so"),
    }
