# SPDX-License-Identifier: BSD-3-Clause
"""One command of Keepon at a time has an interface, and none one that keepon apply has set up.

What holds it is the lock of its journal (keepon.linux.apply.journal), so `keepon apply` is one of
them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keepon.errors import EnvironmentProblemError, shell_word
from keepon.linux.apply import journal as journals


def lock(path: Path, nic: str) -> int:
    """A lock as an open file.

    Raises:
        EnvironmentProblemError: somebody has it.
    """
    held = journals.lock_file(path)
    if held is None:
        raise EnvironmentProblemError(
            f"another keepon command is at work with {nic}; wait for its end"
        )
    return held


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
    path = journals.path_of(Path("/proc/thread-self/ns/net").stat().st_ino, number)
    held = lock(path.with_suffix(".lock"), nic)
    try:
        journal = journals.read(path)
        if journal is not None:
            half = "" if journal.state == journals.KEPT else "half "
            raise EnvironmentProblemError(
                f"{nic} is {half}set up by keepon apply, as {journal.title}; put that back first"
                f" with keepon unapply {shell_word(nic)}"
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
