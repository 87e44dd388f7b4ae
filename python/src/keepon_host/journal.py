# SPDX-License-Identifier: BSD-3-Clause
"""What has been done to an interface and how it is undone, kept in /run/keepon: written before each
step, whole or not at all.

An interface is known by its number and network namespace: it may be renamed meanwhile.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line

FOLDER = Path("/run/keepon")
UNITS = Path("/etc/keepon")
"""Has a file for each link that systemd sets up at boot."""
_UNIT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
JOURNAL_SCHEMA = "keepon.journal/1"
STARTING, STARTED = "starting", "started"
SO_NETNS_COOKIE = 71
"""Of include/uapi/asm-generic/socket.h."""
NIC = "{nic}"
"""Stands for the name the card has when something is undone."""


@dataclass
class Journal:
    """What is known of one interface.

    Attributes:
        netns, ifindex: which interface it is; `nic` is its name when this began.
        title: what was set up.
        rest: devices that were there before, by number.
        begun: how many steps may have been done, wholly or in part.
        undo: for each step what undoes it, as keepon_host.start.undo reads it.
        mark: what the environment of programs has that a step started.
        unit: name of the file of /etc/keepon that systemd set it up by; "": it was not systemd.
        bound: the card was given to Keepon's driver for this.
        ptp: the configuration of its ptp4l; "": there is none.
    """

    netns: int
    ifindex: int
    nic: str
    title: str
    state: str = STARTING
    begun: int = 0
    boot: str = ""
    mark: str = ""
    unit: str = ""
    bound: bool = False
    ptp: str = ""
    rest: list[int] = field(default_factory=list)
    undo: list[list[dict[str, Any]]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return path_of(self.netns, self.ifindex)

    @property
    def name(self) -> str:
        """What the interface is called now; empty: it is gone."""
        try:
            return socket.if_indextoname(self.ifindex)
        except OSError:
            return ""


def netns() -> int:
    """The number of this thread's network namespace."""
    return Path("/proc/thread-self/ns/net").stat().st_ino


def path_of(netns: int, ifindex: int) -> Path:
    """Where the journal of an interface is."""
    return FOLDER / f"{netns}.{ifindex}.json"


def boot() -> str:
    """Of this boot and this network namespace, whose number another may have when it has gone."""
    started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asked, suppress(OSError):
        cookie = asked.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)
        return f"{started}.{int.from_bytes(cookie, sys.byteorder)}"
    return started  # a kernel older than 5.14


def unwritable(path: Path, error: OSError) -> EnvironmentProblemError:
    return EnvironmentProblemError(
        f"{path}: cannot be written ({error.strerror or error}), and without it nothing could be"
        " undone after a crash; make room, or mount it writable"
    )


def write(path: Path, text: str) -> None:
    """A file, whole or not at all; /run has no disk that would have to be synced.

    Raises:
        EnvironmentProblemError: it cannot be written; what was there is there still.
    """
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def save(journal: Journal) -> None:
    """Raises as `write`."""
    write(journal.path, json.dumps({"schema": JOURNAL_SCHEMA, **asdict(journal)}, indent=1) + "\n")


def read(path: Path) -> Journal | None:
    """The journal of a file; None: there is none, or it is of an earlier boot, or of a network
    namespace that has gone.

    Raises:
        EnvironmentProblemError: it cannot be read, or is damaged.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("schema") != JOURNAL_SCHEMA:
            raise ValueError("another schema")
        journal = Journal(**document)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EnvironmentProblemError(
            f"{path}: is no journal of keepon start ({one_line(error)}); look at the interface, and"
            " remove the file"
        ) from error
    return journal if journal.boot == boot() else None


def journals() -> Iterator[Journal]:
    """Those of this network namespace, in order of interfaces' numbers. Raises as `read`."""
    found = sorted(FOLDER.glob(f"{netns()}.*.json")) if FOLDER.is_dir() else []
    for path in found:
        journal = read(path)
        if journal is not None:
            yield journal


def named(name: str | None) -> Journal:
    """The journal of an interface by the name it has, or had when it was set up; without a name the
    only one.

    Raises:
        ConfigError: there is none, or more than one and no name.
    """
    every = list(journals())
    found = [each for each in every if name is None or name in (each.name, each.nic)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(each.name or each.nic for each in every)
    if name is not None:
        raise ConfigError(
            f'argument NIC = "{one_line(name)}": keepon start has set up nothing there;'
            f" {f'there is {there}' if there else 'nor anywhere else'}"
        )
    if not every:
        raise ConfigError("argument NIC: keepon start has set up no interface here")
    raise ConfigError(f"argument NIC: is missing, as there are several: {there}; name one")


def forget(journal: Journal) -> None:
    """Take the journal away.

    Raises:
        EnvironmentProblemError: it stays.
    """
    try:
        journal.path.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentProblemError(
            f"{journal.path}: cannot be removed ({error.strerror}); keepon stop does it as soon as"
            " it can be"
        ) from error


def boot_file(name: str) -> Path:
    """Raises ConfigError: no file of /etc/keepon can have that name."""
    if not _UNIT.fullmatch(name):
        raise ConfigError(
            f'option --boot = "{one_line(name)}": must be the name of a file in {UNITS}, without'
            ' .toml: letters, digits, ".", "_" or "-"'
        )
    return UNITS / f"{name}.toml"
