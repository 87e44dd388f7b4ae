# SPDX-License-Identifier: BSD-3-Clause
"""The guest's files: one base archive (shell, busybox, network tools with their libraries), built
once, plus what a run adds. The kernel unpacks joined cpio archives one over the other; uncompressed
ones boot fastest.

The shell is dash, not busybox ash: Debian's ash runs its own applets `ip` and `tc` whatever PATH
says. For the same reason programs that start others (timeout, env, xargs, nice, setsid) are the
real ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from keepon_host.errors import ConfigError

from keepon_guests import foreign, images, newc
from keepon_guests.paths import cache_folder, find_program, only_one, run_host

GUEST_FILES = Path(__file__).parent / "guest"
# Real programs; each wins over a busybox applet of its name.
TOOLS = [
    "dash", "ip", "tc", "bridge", "ethtool", "ptp4l", "phc2sys", "phc_ctl",
    "pmc", "chrt", "taskset", "timeout", "env", "xargs", "nice", "setsid",
]  # fmt: skip
# Of another architecture: those that no applet of busybox can stand for.
FOREIGN_TOOLS = ["dash", "ip", "tc", "bridge", "ethtool", "ptp4l", "phc2sys", "phc_ctl", "pmc"]
# Host folders that the tools read: names of tables, tc's distributions.
DATA_FOLDERS = ("/etc/iproute2", "/usr/share/iproute2", "/usr/lib/tc")
FOLDERS = ("dev", "etc", "mnt", "out", "proc", "root", "run", "sys", "tmp", "var/lib")

Tool = str | Path


# glibc loads libgcc_s.so.1 for programs that call it, though no ELF header names that library.
CANCEL = b"pthread_cancel\0"


def libraries(program: Path, architecture: str | None = None) -> dict[str, Path]:
    """Guest path -> file of a program's shared libraries and its loader; empty for a static one."""
    if architecture is not None:
        return foreign.libraries(architecture, program)
    done = subprocess.run(
        [find_program("ldd"), program],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    missing = re.findall(r"^\s*(\S+) => not found", done.stdout, re.MULTILINE)
    if missing:
        raise ConfigError(
            f"{program} needs the library {missing[0]}, which this machine has not: install it or"
            " link it in"
        )
    found = [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", done.stdout, re.M)]
    libc = next((path for path in found if path.name == "libc.so.6"), None)
    if libc and any(CANCEL in path.read_bytes() for path in (program, *found) if path != libc):
        found.append(libc.with_name("libgcc_s.so.1"))
    # A library beside a module of Python's is found by way of the module's own folder.
    return {newc.clean_path(os.path.normpath(path)): path for path in found}


def find_tool(tool: Tool, architecture: str | None) -> Path:
    if isinstance(tool, Path):
        return tool
    return find_program(tool) if architecture is None else foreign.find_foreign(architecture, tool)


def tool_sources(tools: Iterable[Tool], architecture: str | None = None) -> dict[str, Path]:
    """Guest path -> host path of programs (by name, or path of a file) and their libraries."""
    sources: dict[str, Path] = {}
    for tool in tools:
        program = find_tool(tool, architecture)
        if not program.is_file():
            raise ConfigError(f"program {program} for the guest does not exist: build it first")
        sources[f"usr/bin/{program.name}"] = program
        sources |= libraries(program, architecture)
    return sources


def tool_entries(tools: Sequence[Tool], architecture: str | None) -> list[newc.Entry]:
    """Members for programs beyond the base's, with their libraries."""
    return [
        newc.file_entry(name, path.read_bytes())
        for name, path in tool_sources(tools, architecture).items()
    ]


def vm_resume() -> Path:
    """The program that stops the virtual machine and goes on with what it was given, built in the
    cache.
    """
    program = cache_folder() / "vm_resume"
    source = GUEST_FILES / "vm_resume.c"
    if not program.is_file() or program.stat().st_mtime_ns < source.stat().st_mtime_ns:
        draft = program.with_suffix(".draft")
        run_host([find_program("gcc"), "-static", "-Os", "-s", "-o", draft, source])
        draft.replace(program)
    return program


def base_tools(architecture: str | None) -> list[str]:
    return TOOLS if architecture is None else FOREIGN_TOOLS


def base_sources(architecture: str | None) -> dict[str, Path]:
    """Guest path -> host path of everything in the base that is a file of the host or of this
    package.
    """
    sources = tool_sources(base_tools(architecture), architecture)
    busybox = find_tool("busybox", architecture)
    sources |= libraries(busybox, architecture)
    sources["bin/busybox"] = busybox
    for folder in map(Path, DATA_FOLDERS):
        sources |= {
            newc.clean_path(str(path)): path for path in sorted(folder.rglob("*")) if path.is_file()
        }
    sources["init"] = GUEST_FILES / "init"
    if architecture is None:
        sources["usr/bin/vm_resume"] = vm_resume()
    sources["lib/keepon/test.sh"] = GUEST_FILES / "test.sh"
    return sources


def base_entries(sources: Mapping[str, Path]) -> list[newc.Entry]:
    """Members of the base: the files, links for busybox's applets, accounts, folders."""
    tools = {Path(name).name for name in sources if name.startswith("usr/bin/")}
    # Debian builds the same applets for all architectures; a foreign busybox does not run here.
    applets = set(run_host([find_program("busybox"), "--list"]).split()) - tools - {"busybox"}
    entries = [newc.file_entry(name, path.read_bytes()) for name, path in sources.items()]
    entries += [newc.link_entry(f"bin/{name}", "/bin/busybox") for name in applets - {"sh"}]
    entries += [
        newc.link_entry("bin/sh", "/usr/bin/dash"),
        newc.link_entry("sbin/modprobe", "/bin/busybox"),
    ]
    entries += [newc.link_entry("var/run", "/run"), *map(newc.folder_entry, FOLDERS)]
    entries.append(
        newc.file_entry(
            "etc/passwd", b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n", 0o644
        )
    )
    entries.append(newc.file_entry("etc/group", b"root:x:0:\nnogroup:x:65534:\n", 0o644))
    return entries


def signature(paths: Iterable[Path]) -> dict[str, list[int]]:
    """Size and change time of files: cheap to compare; what they hold decides the
    archive's name.
    """
    return {
        str(path): [path.stat().st_size, path.stat().st_mtime_ns] for path in sorted(set(paths))
    }


def base_archive(architecture: str | None = None) -> Path:
    """The base archive, rebuilt only when a program, library or guest file of it changed."""
    folder = cache_folder()
    prefix = f"{architecture}-base" if architecture else "base"
    stamp_path = folder / f"{prefix}.json"
    with only_one(stamp_path):
        # Which program a name stands for may change too, so that names are looked up each time;
        # libraries are not.
        programs = [
            find_tool(name, architecture) for name in [*base_tools(architecture), "busybox"]
        ]
        programs += [GUEST_FILES / "init", GUEST_FILES / "test.sh", Path(__file__)]
        if architecture is None:
            programs.append(vm_resume())
        try:
            stamp = json.loads(stamp_path.read_text())
            same = stamp["files"] == signature(map(Path, stamp["files"])) and set(
                map(str, programs)
            ) <= set(stamp["files"])
            if same and (folder / stamp["archive"]).is_file():
                return folder / str(stamp["archive"])
        except (FileNotFoundError, json.JSONDecodeError):
            pass  # none, half written, or a file of it is gone: make it
        sources = base_sources(architecture)
        archive = newc.write(base_entries(sources))
        path = folder / f"{prefix}-{hashlib.sha256(archive).hexdigest()[:16]}.cpio"
        for old in folder.glob(f"{prefix}-*.cpio"):
            old.unlink()
        path.write_bytes(archive)
        stamp_path.write_text(
            json.dumps(
                {"archive": path.name, "files": signature([*sources.values(), *programs])}, indent=1
            )
        )
        return path


def file_entries(files: Mapping[str, Path | bytes]) -> list[newc.Entry]:
    """Members for guest path -> content, host file or host folder (with everything in it)."""
    entries = []
    for name, source in files.items():
        try:
            if isinstance(source, bytes):
                entries.append(newc.file_entry(name, source))
                continue
            if source.is_dir():
                below = [path for path in sorted(source.rglob("*")) if path.is_file()]
                entries += [
                    newc.file_entry(f"{name}/{path.relative_to(source)}", path.read_bytes())
                    for path in below
                ]
            else:
                entries.append(newc.file_entry(name, source.read_bytes()))
        except OSError as error:
            raise ConfigError(
                f"file for the guest's {name}: {error}: name a readable one"
            ) from error
        except ValueError as error:
            raise ConfigError(
                f"guest path {name!r} is not below the guest's root: use an absolute path"
            ) from error
    return entries


def module_entries(kernel: images.Kernel, modules: Sequence[Path]) -> list[newc.Entry]:
    """Our modules beside the kernel's own, and an index that knows both, so that `modprobe keepon`
    works.
    """
    ours = {images.module_name(path): images.read_module(path) for path in modules}
    known = [module for module in kernel.modules() if module.name not in ours]
    known += [images.describe_module(name, data) for name, data in ours.items()]
    entries = [
        newc.file_entry(f"lib/modules/{kernel.version}/{name}.ko", data, 0o644)
        for name, data in ours.items()
    ]
    return [*entries, *images.index_entries(kernel.version, known)]


def overlay(
    kernel: images.Kernel,
    script: bytes,
    environment: Mapping[str, str],
    files: Mapping[str, Path | bytes],
    modules: Sequence[Path],
    tools: Sequence[Tool],
) -> bytes:
    """Archive of one run: /etc/keepon/{script,environment}, extra programs, our modules, the
    caller's files last.
    """
    lines = []
    for name, value in environment.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ConfigError(
                f"environment variable {name!r} is no name: use letters, digits and _"
            )
        quoted = value.replace("'", "'\\''")
        lines.append(f"export {name}='{quoted}'\n")
    entries = [
        newc.file_entry("etc/keepon/script", script),
        newc.file_entry("etc/keepon/environment", "".join(lines).encode(), 0o644),
        *tool_entries(tools, kernel.machine.foreign),
        *(module_entries(kernel, modules) if modules else []),
        *file_entries(files),
    ]
    # A folder member would replace a link of that name in the base by an empty folder.
    return newc.write([replace(entry, path=redirect(entry.path)) for entry in entries])


def redirect(path: str) -> str:
    """Guest path with the base's links to folders resolved."""
    return path.replace("var/run/", "run/", 1) if path.startswith("var/run/") else path
