#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arrows between folders and inside them: {core, nicmodel} <- {kernel, sim}; clock and ring of the
core do not know each other; a file of a C folder knows those in lower layers.

Every #include of a project header is resolved to a file; each folder has a list of zones it may
include. The system headers of the freestanding folders are listed too. Inside a folder, where one
header often serves many files, names count: a C file may use functions and objects of files on
lower layers. In sim, where a file is a header and sources of one name, these must not include each
other. Prints one line for each arrow that points the wrong way.
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
    "devtools/guests/keepon_guests/guest": (set(), None),
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
# The files of each C folder by layer, the lowest first; a file is NAME.c, and in core/src also
# kpn_NAME.h. It uses files of lower layers and its own: so no file knows one that knows it.
LAYERS: dict[str, tuple[str, ...]] = {
    "core/src": (
        "caps credit frame inline math partition prebuffer runs span stats wire",
        "check clock_law defaults gcl guard observe pacer_state ring",
        "clock config_polls config_span head rx search",
        "align config doubt index report",
        "place",
        "post promises target",
        "complete recall",
        "fallback stop",
        "waiting",
        "insert",
        "replan switch",
        "pacer_clock reading",
        "dual pacer",
    ),
    "nicmodel": (
        "ring_nic_history",
        "ring_nic_fragments ring_nic_setup",
        "ring_nic",
        "ring_nic_index ring_nic_store",
    ),
    "kernel/keepon": (
        "bridge debug mtu partitions say share",
        "credit lower stamp table",
        "attributes card dual",
        "clock ethtool setup",
        "gates receive",
        "queue",
        "schedule",
        "complete phc",
        "poll xmit",
        "engine",
        "owner taprio",
        "qdisc",
        "dev",
        "link",
        "events",
        "main",
    ),
    "kernel/hwsim": (
        "arguments capture_queue clock frame ring_caps",
        "nic_options phc port",
        "mac ring",
        "flow record rx_ring transmit",
        "capture link ring_ops",
        "fault rx_native stats wire",
        "bridge ethtool native",
        "nic",
        "control",
        "main",
    ),
    "kernel/generic": ("frames limits pace", "pump ring", "measure", "main"),
    "kernel/guard": ("options queue", "main"),
    "kernel/hwcheck": ("run", "main"),
    "kernel/nics/common": ("buffers counters device", "frames", "lend"),
    "kernel/nics/gem": ("ethtool hardware", "phy receive transmit", "netdev", "native", "main"),
    "kernel/nics/genet": (
        "ethtool hardware",
        "phy receive transmit",
        "netdev rx_native",
        "native",
        "main",
    ),
    "kernel/nics/intel": (
        "phy transmit",
        "ethtool hardware",
        "receive",
        "netdev",
        "native",
        "main",
    ),
}
RULE = "files know lower layers only (LAYERS in scripts/check_arrows.py)"
NOISE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")
# Functions and objects that other files can name, and inline functions with their bodies.
DEFINED = re.compile(
    r"^(?!static\b|extern\b|typedef\b|#)[A-Za-z_][\w \t*]*[ \t*]((?!__)\w+)"
    r"(?:\([^;{}]*\)[^;{}()]*\{|(?:\[[^\]\n]*\])*[\w \t]*[=;])",
    re.MULTILINE,
)
INLINE = re.compile(r"^static [\w \t*\n]*?\b(\w+)\([^;{}]*\)\s*\{.*?^\}", re.MULTILINE | re.DOTALL)
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
        candidate = folder / name
        if candidate.is_file() and candidate.resolve().is_relative_to(ROOT):
            return candidate.resolve().relative_to(ROOT).as_posix()
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


def room_of(path: str) -> str:
    return Path(path).stem.removeprefix("kpn_")


def layers_of(folder: str) -> dict[str, int]:
    return {room: layer for layer, rooms in enumerate(LAYERS[folder]) for room in rooms.split()}


def check_includes(source: Path) -> list[str]:
    """What a file of core/src includes of files that are not in a lower layer."""
    path = source.relative_to(ROOT).as_posix()
    room = room_of(path)
    layers = layers_of("core/src")
    problems = []
    for _, target, _ in includes(source):
        if not target or not within(target, "core/src") or room_of(target) == room:
            continue
        other = layers.get(room_of(target))
        if room in layers and other is not None and other >= layers[room]:
            problems.append(
                f"{path}: file {room}, in layer {layers[room]}, must not include {target}, in layer"
                f" {other}: {RULE}"
            )
    return problems


def used_names(text: str, inline: dict[str, set[str]]) -> set[str]:
    """Every word of a file; with that of an inline function come the words of its body."""
    used: set[str] = set()
    found = set(WORD.findall(text))
    while found:
        used |= found
        found = set().union(*(inline[name] for name in found if name in inline)) - used
    return used


def check_folder(folder: str) -> list[str]:
    """Files in no layer, files that are gone, and what files use of those not in a lower layer."""
    files = {
        path: NOISE.sub('""', path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).glob("*.[ch]"))
    }
    layers = layers_of(folder)
    sources = {path: text for path, text in files.items() if path.suffix == ".c"}
    rooms = files if folder == "core/src" else sources  # elsewhere a header may serve many files
    problems = [
        f"{folder}: there is no file {room}, which LAYERS in scripts/check_arrows.py lists"
        for room in sorted(set(layers) - {room_of(path.name) for path in rooms})
    ]
    problems += [
        f"{folder}/{path.name}: file {room_of(path.name)} is in no layer; add it to LAYERS in"
        " scripts/check_arrows.py"
        for path in rooms
        if room_of(path.name) not in layers
    ]
    homes = {
        name: room_of(path.name) for path, text in sources.items() for name in DEFINED.findall(text)
    }
    inline = {
        function[1]: set(WORD.findall(function[0]))
        for path, text in files.items()
        if path.suffix == ".h"
        for function in INLINE.finditer(text)
    }
    for path, text in sources.items():
        room = room_of(path.name)
        for name in sorted(used_names(text, inline) & homes.keys()):
            home = homes[name]
            if home != room and layers.get(home, -1) >= layers.get(room, len(layers)):
                problems.append(
                    f"{folder}/{path.name}: file {room}, in layer {layers[room]}, must not use"
                    f" {name} of file {home}, in layer {layers[home]}: {RULE}"
                )
    return problems


def check_circles(folder: str) -> list[str]:
    """Files that include each other, directly or through others; no layers, as blocks register."""
    knows: dict[str, set[str]] = {}
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in SUFFIXES:
            targets = [target for _, target, _ in includes(path) if target]
            rooms = {room_of(target) for target in targets if within(target, folder)}
            knows.setdefault(room_of(path.name), set()).update(rooms - {room_of(path.name)})
    while knows:  # without those that know none of the others, or that none of the others knows
        known = set().union(*knows.values())
        inner = {room for room in knows if room in known and knows[room] & knows.keys()}
        if len(inner) == len(knows):
            return [f"{folder}: {', '.join(sorted(inner))} include each other; move functions"]
        knows = {room: knows[room] for room in inner}
    return []


def reached(room: str) -> set[str]:
    """All core files a file's header and source include, directly or through others."""
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
    for source in sources:
        if source.is_relative_to(ROOT / "core/src"):
            problems += check_includes(source)
    for folder in LAYERS:
        problems += check_folder(folder)
    problems += check_circles("sim")
    for room, stranger in STRANGERS:
        if f"core/include/keepon/{stranger}.h" in reached(room):
            problems.append(f"core file {room} reaches {stranger}.h; they must not know each other")
    print("\n".join(problems) or f"{len(sources)} files, every arrow points the right way")
    return 1 if problems or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
