# SPDX-License-Identifier: BSD-3-Clause
"""One command of Keepon at a time has an interface, and none one that keepon start has set up.

What holds it is the lock of its journal (keepon_host.journal), so `keepon start` is one of
them.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keepon_host import journal as journals
from keepon_host.errors import EnvironmentProblemError, shell_word


def lock(path: Path, nic: str) -> int:
    """A lock as an open file.

    Raises:
        EnvironmentProblemError: another command has it, or /run/keepon cannot be written.
    """
    try:
        journals.FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise journals.unwritable(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise EnvironmentProblemError(
            f"another keepon command is at work with {nic}; wait for its end"
        ) from None
    return handle


def hold(nic: str) -> int | None:
    """The lock of an interface of this thread's network namespace, as an open file: until it is
    closed, or the end of this process and of those forked from it. None: there is no such
    interface.

    Raises:
        EnvironmentProblemError: another command is at work with it, or it is set up.
    """
    try:
        number = socket.if_nametoindex(nic)
    except OSError:
        return None
    path = journals.path_of(journals.netns(), number)
    held = lock(path.with_suffix(".lock"), nic)
    try:
        journal = journals.read(path)
        if journal is not None:
            half = "" if journal.state == journals.STARTED else "half "
            raise EnvironmentProblemError(
                f"{nic} is {half}set up by keepon start, as {journal.title}; put that back first"
                f" with keepon stop {shell_word(nic)}"
            )
    except EnvironmentProblemError:
        os.close(held)
        raise
    return held


@contextmanager
def holding(nic: str) -> Iterator[None]:
    """Hold an interface, if it is there. Raises as `hold`."""
    held = hold(nic)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)
