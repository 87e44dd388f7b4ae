# SPDX-License-Identifier: BSD-3-Clause
"""Files of /sys, /proc, /lib and /boot below a root folder, and what several checks read of them.

None or nothing: it is not there. What is there and may not be read raises PermissionError.
"""

from __future__ import annotations

import errno
import gzip
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

NET = "sys/class/net"
COMM_LENGTH = 15
ETHERNET_TYPE = "1"
"""ARPHRD_ETHER of linux/if_arp.h, which wireless cards and bridges have, too."""


@dataclass(frozen=True)
class Process:
    """One that runs: number, name (in `running` as it was asked for, else as the kernel cuts it),
    its systemd unit, if it has one, and the number of its parent.
    """

    number: int
    name: str
    unit: str
    parent: int = 0


@dataclass(frozen=True)
class Tree:
    """A machine's files; `root` is / or a folder that has the same."""

    root: Path = Path("/")

    def path(self, name: str) -> Path:
        return self.root / name

    def text(self, name: str) -> str | None:
        """A file without white space around it."""
        raw = self.raw(name)
        return None if raw is None else raw.decode(errors="replace").strip()

    def raw(self, name: str) -> bytes | None:
        try:
            return self.path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:  # a card that is being taken away
            if error.errno == errno.ENODEV:
                return None
            raise

    def names(self, name: str) -> list[str]:
        """What is in a folder, sorted."""
        try:
            return sorted(entry.name for entry in self.path(name).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def has(self, name: str) -> bool:
        path = self.path(name)
        return path.is_symlink() or path.exists()

    def link(self, name: str) -> str:
        """Last part of what a symbolic link leads to."""
        path = self.path(name)
        return path.readlink().name if path.is_symlink() else ""

    # -- what several checks ask

    @property
    def release(self) -> str:
        """Of the running kernel."""
        return self.text("proc/sys/kernel/osrelease") or "unknown"

    @property
    def systemd(self) -> bool:
        return self.has("run/systemd/system")

    def cpus(self) -> list[int]:
        """CPUs that are online."""
        return cpu_list(self.text("sys/devices/system/cpu/online") or "")

    def config(self) -> dict[str, str] | None:
        """CONFIG_ name -> y, m or value of the running kernel; None: its configuration is not
        here.
        """
        packed = self.raw("proc/config.gz")
        text = unpacked("proc/config.gz", packed).decode(errors="replace") if packed else None
        for name in (f"boot/config-{self.release}", f"lib/modules/{self.release}/config"):
            text = text if text is not None else self.text(name)
        if text is None:
            return None
        return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.MULTILINE))

    def processes(self) -> list[Process] | None:
        """All that run; None: those of others are hidden (hidepid of /proc)."""
        if self.text("proc/1/comm") is None:
            return None
        found = []
        for name in self.names("proc"):
            try:
                comm = self.text(f"proc/{name}/comm") if name.isdecimal() else None
                group = self.text(f"proc/{name}/cgroup") or "" if comm is not None else ""
                stat = self.text(f"proc/{name}/stat") or "" if comm is not None else ""
            except ProcessLookupError:  # it has ended meanwhile
                continue
            if comm is not None:
                unit = re.search(r"([\w@.\\-]+\.service)$", group, re.MULTILINE)
                after_name = stat.rpartition(")")[2].split()  # state, parent, ...
                if after_name[:1] == ["Z"]:
                    continue  # it has ended, and its parent has not asked how
                parent = int(after_name[1]) if after_name else 0
                found.append(Process(int(name), comm, unit[1] if unit else "", parent))
        return found

    def running(self, *names: str) -> list[Process] | None:
        """Programs of these names; None: cannot be seen. One that a program of the same name has
        started is part of it: chronyd -F 1 and openntpd have such.
        """
        whole = {name[:COMM_LENGTH]: name for name in names}
        found = self.processes()
        if found is None:
            return None
        named = {each.number: each for each in found if each.name in whole}
        return [
            replace(each, name=whole[each.name])
            for each in named.values()
            if each.parent not in named or named[each.parent].name != each.name
        ]

    def setting_clocks(self) -> bool:
        """Does linuxptp run here?"""
        return bool(self.running("ptp4l", "phc2sys"))

    # -- interfaces

    def interfaces(self) -> list[str]:
        return [name for name in self.names(NET) if self.has(f"{NET}/{name}/type")]

    def is_card(self, name: str) -> bool:
        """Is it a wired Ethernet card of a bus?"""
        folder = f"{NET}/{name}"
        wired = self.text(f"{folder}/type") == ETHERNET_TYPE and not (
            self.has(f"{folder}/wireless") or self.has(f"{folder}/phy80211")
        )
        return wired and self.has(f"{folder}/device")

    def chip(self, name: str) -> list[str]:
        """What names the chip: "8086:1533" of a PCI card, or names of the device tree."""
        device = f"{NET}/{name}/device"
        vendor, number = self.text(f"{device}/vendor"), self.text(f"{device}/device")
        if vendor and number:
            return [f"{vendor.removeprefix('0x')}:{number.removeprefix('0x')}"]
        names = self.text(f"{device}/of_node/compatible") or ""
        return [each for each in names.split("\0") if each]


def unpacked(name: str, raw: bytes) -> bytes:
    """What a file packed by gzip or xz holds.

    Raises:
        OSError: it is damaged, or this Python cannot unpack it.
    """
    damaged: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error)
    unpack = gzip.decompress
    if not name.endswith(".gz"):
        try:
            import lzma
        except ImportError:  # a Python built without it
            raise OSError(errno.ENOTSUP, "this Python has no lzma", f"/{name}") from None
        damaged, unpack = (lzma.LZMAError, EOFError), lzma.decompress
    try:
        return unpack(raw)
    except damaged:
        raise OSError(errno.EIO, "it is damaged", f"/{name}") from None


def cpu_list(text: str) -> list[int]:
    """CPUs of a list as the kernel writes it.

    >>> cpu_list("0,2-4")
    [0, 2, 3, 4]
    """
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def listed(cpus: Iterable[int]) -> str:
    """A list of CPUs as the kernel reads it.

    >>> listed([0, 2, 3, 4])
    '0,2-4'
    """
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(str(one[0]) + f"-{one[-1]}" * (len(one) > 1) for one in parts)
