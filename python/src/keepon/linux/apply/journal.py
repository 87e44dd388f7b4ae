# SPDX-License-Identifier: BSD-3-Clause
"""What has been done to an interface and how it is undone, kept in /run/keepon: written before each
step, whole or not at all.

An interface is known by its number and network namespace: it may be renamed meanwhile. Its lock is
held by `keepon apply` and by the watcher that outlives it; it ends with the last of them, however
they end.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from keepon.errors import ConfigError, EnvironmentProblemError, one_line

FOLDER = Path("/run/keepon")
JOURNAL_SCHEMA = "keepon.journal/1"
APPLYING, KEPT = "applying", "kept"
KEEP, UNDO = "keep", "undo"
SO_NETNS_COOKIE = 71
"""Of include/uapi/asm-generic/socket.h."""
SWEPT_S = 0.05
"""How long another command may look whether a lock is to be taken away, at most."""
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
        undo: for each step what undoes it, as keepon.linux.apply.undo reads it.
        mark: what the environment of programs has that a step started.
        unit: name of the file of /etc/keepon that systemd set it up by; "": it was not systemd.
    """

    netns: int
    ifindex: int
    nic: str
    title: str
    state: str = APPLYING
    begun: int = 0
    boot: str = ""
    mark: str = ""
    unit: str = ""
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
    """The number of this network namespace."""
    return Path("/proc/self/ns/net").stat().st_ino


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


def _problem(path: Path, error: OSError) -> EnvironmentProblemError:
    return EnvironmentProblemError(
        f"{path}: cannot be written ({error.strerror or error}), and without it nothing could be"
        " undone after a crash; make room, or mount it writable"
    )


def write(path: Path, text: str) -> None:
    """A file, whole or not at all, that is there after a crash.

    Raises:
        EnvironmentProblemError: it cannot be written; what was there is there still.
    """
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise _problem(path, error) from error


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
            f"{path}: is no journal of keepon apply ({one_line(error)}); look at the interface, and"
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
            f'argument IFACE = "{one_line(name)}": keepon apply has set up nothing there;'
            f" {f'there is {there}' if there else 'nor anywhere else'}"
        )
    if not every:
        raise ConfigError("argument IFACE: keepon apply has set up no interface here")
    raise ConfigError(f"argument IFACE: is missing, as there are several: {there}; name one")


def forget(journal: Journal) -> None:
    """Take the journal away.

    Raises:
        EnvironmentProblemError: it stays.
    """
    try:
        for path in (journal.path, ask_path(journal)):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentProblemError(
            f"{journal.path}: cannot be removed ({error.strerror}); keepon unapply does it as soon"
            " as it can be"
        ) from error


# ---- the lock ----


def lock(journal: Journal) -> int | None:
    """The interface's lock; as `lock_file`."""
    return lock_file(journal.path.with_suffix(".lock"))


def lock_file(path: Path) -> int | None:
    """A lock as an open file, to be inherited and closed; None: somebody has it. Locks that nobody
    has are taken away meanwhile: interfaces and namespaces come and go.

    Raises:
        EnvironmentProblemError: /run/keepon cannot be written.
    """
    try:
        FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
        _sweep(path)
        end = time.monotonic() + SWEPT_S
        while (handle := _locked(path)) is None and time.monotonic() < end:
            time.sleep(SWEPT_S / 10)
    except OSError as error:
        raise _problem(path, error) from error
    return handle


def _locked(path: Path) -> int | None:
    """A lock, of a file that is there still; None: somebody has it."""
    while True:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        # Whoever had it may have taken the file away since it was opened.
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(handle).st_ino:
                return handle
        os.close(handle)


def _sweep(own: Path) -> None:
    """Take away the other locks that nobody has, each while it is ours."""
    for path in FOLDER.glob("*.lock"):
        if path == own:
            continue
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.stat().st_ino == os.fstat(handle).st_ino:
                    path.unlink()
            finally:
                os.close(handle)


# ---- what another command asks of the watcher ----


def ask_path(journal: Journal) -> Path:
    return journal.path.with_suffix(".ask")


def ask(journal: Journal, what: str) -> None:
    """Have the watcher keep or undo; raises as `write`."""
    write(ask_path(journal), what)


def asked(journal: Journal) -> str:
    """What another command has asked; empty: nothing."""
    try:
        return ask_path(journal).read_text().strip()
    except OSError:
        return ""
