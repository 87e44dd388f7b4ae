# SPDX-License-Identifier: BSD-3-Clause
"""One check of a card: the kernel module runs it, the peer listens, the document says what came of
it.
"""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line
from keepon_host.hwcheck.judge import judge
from keepon_host.hwcheck.peer import Listener
from keepon_host.hwcheck.records import parse

RUN = Path("/sys/kernel/debug/keepon_hwcheck/run")
NET = Path("/sys/class/net")
BACKENDS = ("native", "generic")
SLOT_BYTES = 1230
SLOT_RANGE = (64, 1522)
REASONS = {
    errno.ENODEV: "there is no such interface, or its card is gone",
    errno.EOPNOTSUPP: (
        "its driver has no ring to lend; say --backend generic, with keepon_generic loaded"
    ),
    errno.ENETDOWN: "it has no link; set it up and connect the cable",
    errno.EBUSY: "its ring is in use; set the keepon link on it down",
}


def check(name: str, peer: str | None, backend: str, slot_bytes: int) -> dict[str, Any]:
    """Measure a card.

    Raises:
        ConfigError: no such interface, option or ring.
        EnvironmentProblemError: the module is not loaded, or it is not permitted.
    """
    if backend not in BACKENDS:
        raise ConfigError(f'option --backend = "{backend}": must be {" or ".join(BACKENDS)}')
    if not SLOT_RANGE[0] <= slot_bytes <= SLOT_RANGE[1]:
        raise ConfigError(
            f"option --slot-bytes = {slot_bytes}: must be {SLOT_RANGE[0]} to {SLOT_RANGE[1]} bytes"
        )
    there = sorted(path.name for path in NET.iterdir())
    for what, given in (("argument NAME", name), ("option --peer", peer)):
        if given is not None and given not in there:
            raise ConfigError(
                f'{what} = "{one_line(given)}": is no interface here; there are'
                f" {', '.join(map(one_line, there))}"
            )
    if os.geteuid():
        raise EnvironmentProblemError("only root may check a card; use sudo")
    if not RUN.exists():
        raise EnvironmentProblemError(
            "modprobe keepon_hwcheck first: nothing measures a ring without that module"
        )
    with Listener(peer) if peer else nullcontext() as listener:
        RUN.write_text(f"{name} {backend} {slot_bytes}")
        seen = listener.seen() if listener else None
    records = parse(RUN.read_text())
    if records.error and not records.restarts:
        reason = REASONS.get(records.error, os.strerror(records.error))
        raise ConfigError(f'argument NAME = "{name}": {reason}')
    return judge(name, backend, records, seen)


def table(document: dict[str, Any]) -> str:
    """What the driver says beside what was measured, and the verdict."""
    marks = {True: "holds", False: "WRONG", None: "unknown"}
    lines = [
        f"{finding['name']:14} {marks[finding['holds']]:8} said {finding['said']}; measured"
        f" {finding['measured']}"
        for finding in document["findings"]
    ]
    return "\n".join([*lines, document["verdict"]])
