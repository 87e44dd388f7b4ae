# SPDX-License-Identifier: BSD-3-Clause
"""Puts back what a journal has, the last step first.

It may be done twice, and where a step was not done at all. What has gone is not looked for: the
card, what was made on it, programs that have ended.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from keepon_host import journal as journals
from keepon_host.errors import EnvironmentProblemError, KeeponError
from keepon_host.interface import ip, run, set_queues, until
from keepon_host.journal import NIC, Journal

MARK = "KEEPON_STARTED"
"""In the environment of programs that a step started, and that stay."""
STEP = "KEEPON_STEP"
"""In that of the command that a step is."""
STOP_S = 5.0
STEP_S = 30.0
"""How long a command may go on whose keepon start has been killed."""


def undo(journal: Journal) -> list[str]:
    """Put everything back, and forget the journal; a line on each thing done.

    Raises:
        EnvironmentProblemError: something is not as it was, and the journal stays.
    """
    os.environ.pop(STEP, None)
    until(time.monotonic() + STEP_S, lambda: not marked(STEP, journal.mark))
    lines: list[str] = []
    problems: list[str] = []
    for entries in reversed(journal.undo[: journal.begun]):
        for entry in entries:
            try:
                lines += _undone(journal, entry)
            except (KeeponError, OSError) as error:
                if journal.name or entry["do"] in ("stop", "remove"):
                    problems.append(str(error))
    if problems:
        raise EnvironmentProblemError(
            f"{journal.name or journal.nic} is not as it was ({'; '.join(problems)}); mend that and"
            " say keepon stop"
        )
    journals.forget(journal)
    if not journal.name:
        lines.append(f"{journal.nic} is gone: nothing to put back there")
    return lines


def _undone(journal: Journal, entry: dict[str, Any]) -> Iterator[str]:
    nic = journal.name
    match entry["do"]:
        case "stop":
            for program in stop_marked(journal.mark, entry["program"]):
                yield f"{program} stopped"
        case "remove":
            Path(entry["path"]).unlink(missing_ok=True)
        case _ if not nic:
            return
        case "run":
            words = [nic if word == NIC else word for word in entry["words"]]
            run(*words)
            yield " ".join(words)
        case "file":
            path = Path(entry["path"].replace(NIC, nic))
            if path.exists():
                path.write_text(entry["text"])
        case "delete":
            yield from _deleted(journal, entry["kind"])
        case "queues":
            if any(root for _, root in set_queues(nic)):
                run("tc", "qdisc", "del", "dev", nic, "root")
                yield f"queues of {nic} as they were"


def _deleted(journal: Journal, kind: str) -> Iterator[str]:
    """The device of a kind on the card that was not there before, whatever it is called by now;
    what is on it goes with it.
    """
    for link in json.loads(ip("-d", "-json", "link", "show")):
        if link.get("linkinfo", {}).get("info_kind") != kind or link.get("link") != journal.name:
            continue
        if link["ifindex"] in journal.rest or link["linkinfo"].get("info_data", {}).get("id", 0):
            continue  # a VLAN of another ID than ours is another's
        with suppress(EnvironmentProblemError):  # it may just have been deleted
            ip("link", "del", "dev", link["ifname"])
            yield f"{link['ifname']} deleted"
        if Path("/sys/class/net", link["ifname"]).exists():
            raise EnvironmentProblemError(f"{link['ifname']} cannot be deleted")


def marked(key: str, mark: str) -> dict[int, str]:
    """Other processes with that mark in their environment: number and name."""
    wanted, found = f"{key}={mark}".encode(), {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):  # it has ended
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "comm").read_text().strip()
    return found


def stop_marked(mark: str, program: str) -> list[str]:
    """End them; their names.

    Raises:
        EnvironmentProblemError: one is there still.
    """

    def rest() -> list[int]:
        return [number for number, name in marked(MARK, mark).items() if name == program]

    started = rest()
    for kind in (signal.SIGTERM, signal.SIGKILL):
        for number in rest():
            with suppress(ProcessLookupError):
                os.kill(number, kind)
        if until(time.monotonic() + STOP_S, lambda: not rest()):
            return [program] * len(started)
    raise EnvironmentProblemError(f"{program} does not end (process {rest()[0]})")
