# SPDX-License-Identifier: BSD-3-Clause
"""Do two runs of a guest agree? In mode icount they must, in every byte."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from keepon_guests.run import GuestFailedError, GuestResult


def twice(run: Callable[[], GuestResult]) -> tuple[GuestResult, GuestResult]:
    """Call `run` two times at the same time: the guests disturb each other as much as this host can
    make them.
    """
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(run), pool.submit(run)
        return first.result(), second.result()


def agreed(run: Callable[[], GuestResult]) -> GuestResult:
    """The result of two equal runs. GuestFailedError when it is no success, or when they differ in
    any byte.
    """
    first, second = twice(run)
    first.check()
    found = differences(first, second)
    if found:
        raise GuestFailedError("\n".join(["two runs of the same differ", *found]))
    return first


def differences(first: GuestResult, second: GuestResult) -> list[str]:
    """What two runs do not have in common, one line each."""
    found = []
    ours, theirs = first.stdout.splitlines(), second.stdout.splitlines()
    if first.stdout != second.stdout:
        length = min(len(ours), len(theirs))
        line = next((number for number in range(length) if ours[number] != theirs[number]), length)
        found.append(
            f"output differs from line {line + 1} on: {ours[line : line + 1]} and"
            f" {theirs[line : line + 1]}"
        )
    for name in sorted(first.files.keys() | second.files.keys()):
        if first.files.get(name) != second.files.get(name):
            found.append(f"/out/{name} differs")
    for text, one, other in (
        ("console", first.console, second.console),
        ("kernel log", first.kernel_log, second.kernel_log),
        ("exit code", first.exit_code, second.exit_code),
        ("virtual time", first.virtual_seconds, second.virtual_seconds),
    ):
        if one != other:
            found.append(f"{text} differs")
    return found
