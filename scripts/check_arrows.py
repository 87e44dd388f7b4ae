#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Include arrows: {core, nicmodel} <- {kernel, sim}; clock and ring of the core do not know each
other.

Every #include of a project header is resolved to a file; each folder has a list of zones it may
include. The system headers of the freestanding folders are listed too. Prints one line for each
arrow that points the wrong way.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from common import ROOT

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".c", ".h", ".cpp", ".hpp"}
INCLUDE_ROOTS = (
    "core/include",
    "core/platform/user",
    "core/platform/kernel",
    "core/src",
    "core/selftest",
    "core/fuzz",
    "nicmodel/include",
    "nicmodel",
    "sim/include",
    "sim/src",
    "sim/bind",
    "sim/tests",
    "kernel/include",
    "kernel/include/uapi",
    "kernel/nics/common",
    "tools",
)
FREESTANDING = {"stdbool.h", "stddef.h", "stdint.h", "string.h"}

# zone -> (zones it may include, system headers it may include; None: any). The longest matching
# zone counts.
RULES: dict[str, tuple[set[str], set[str] | None]] = {
    "core/platform/user": (set(), FREESTANDING),
    "core/platform/kernel": (set(), None),
    "core/include": ({"core/include", "core/platform/user", "core/platform/kernel"}, set()),
    "core/src": ({"core/include", "core/platform/user", "core/platform/kernel", "core/src"}, set()),
    "core": ({"core"}, None),
    "nicmodel/include/nicmodel/platform.h": (set(), None),
    "nicmodel/selftest": ({"nicmodel"}, None),
    "nicmodel": ({"nicmodel"}, FREESTANDING),
    "sim": ({"sim", "core/include", "core/platform/user", "nicmodel/include"}, None),
    "kernel": ({"kernel", "core/include", "core/platform/kernel", "nicmodel/include"}, None),
    "kernel/nics/common": (
        {"kernel/nics/common", "kernel/include", "core/include", "core/platform/kernel"},
        None,
    ),
    "tools": ({"tools"}, None),
    "python": (set(), set()),
    "python/src/keepon/vm/guest": (set(), None),
    "bench/kernel": (
        {"bench/kernel", "kernel/include", "core/include", "core/platform/kernel"},
        None,
    ),
    "bench": (
        {"bench", "core/include", "core/platform/user", "nicmodel/include", "sim/include"},
        None,
    ),
    # The core's test rig is shared with the tests that cross folders.
    "tests": (
        {
            "tests",
            "core/include",
            "core/platform/user",
            "core/selftest",
            "nicmodel/include",
            "sim/include",
        },
        None,
    ),
}
# Rooms of the core that must not reach each other, not even through a third header.
STRANGERS = (("clock", "ring"), ("ring", "clock"))


def within(path: str, zone: str) -> bool:
    return path == zone or path.startswith(zone + "/")


def zone_of(path: str) -> str | None:
    zones = [zone for zone in RULES if within(path, zone)]
    return max(zones, key=len) if zones else None


def resolve(source: Path, name: str, quoted: bool) -> str | None:
    """Path of an included project file relative to the top, None for a system header."""
    folders = [source.parent] if quoted else []
    for folder in [*folders, *(ROOT / root for root in INCLUDE_ROOTS)]:
        candidate = (folder / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(ROOT):
            return candidate.relative_to(ROOT).as_posix()
    return None


def includes(source: Path) -> list[tuple[str, str | None, bool]]:
    """(name, project path or None, quoted) of every #include in a file."""
    found = INCLUDE.findall(source.read_text(encoding="utf-8"))
    return [(name, resolve(source, name, mark == '"'), mark == '"') for mark, name in found]


def check_file(source: Path) -> list[str]:
    path = source.relative_to(ROOT).as_posix()
    zone = zone_of(path)
    if zone is None:
        return [f"{path}: its folder has no rule in scripts/check_arrows.py"]
    allowed, system = RULES[zone]
    problems = []
    for name, target, quoted in includes(source):
        if target is None:
            if quoted:
                problems.append(f'{path}: "{name}" is not a header of this project')
            elif system is not None and name not in system:
                problems.append(f"{path}: <{name}> is not allowed in {zone}")
        elif not any(within(target, other) for other in allowed):
            problems.append(f"{path}: {zone} must not include {target}")
    return problems


def reached(room: str) -> set[str]:
    """All core files a room's header and source include, directly or through others."""
    todo = [
        path
        for path in (ROOT / f"core/include/keepon/{room}.h", ROOT / f"core/src/{room}.c")
        if path.is_file()
    ]
    seen: set[str] = set()
    while todo:
        for _, target, _ in includes(todo.pop()):
            if target and target not in seen:
                seen.add(target)
                todo.append(ROOT / target)
    return seen


def main() -> int:
    folders = sorted({zone.split("/")[0] for zone in RULES})
    sources = [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]
    problems = [problem for source in sources for problem in check_file(source)]
    for room, stranger in STRANGERS:
        if f"core/include/keepon/{stranger}.h" in reached(room):
            problems.append(f"core room {room} reaches {stranger}.h; they must not know each other")
    print("\n".join(problems) or f"{len(sources)} files, every include points the right way")
    return 1 if problems or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
