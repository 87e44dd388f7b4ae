# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link add`: a link, and whether something on the machine sets it up at once, which closes
the way of the card's own frames before anybody has asked for it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keepon.errors import EnvironmentProblemError, shell_word
from keepon.linux.interface import answers, client_over, ip, until
from keepon.linux.link import commands

MANAGERS = ("/run/systemd/netif", "/run/NetworkManager", "/run/dhcpcd", "/run/connman")
"""Folders of what configures interfaces as they come; without one of them nothing is waited for."""
SET_UP_S = 1.5
ADDRESSED_S = 1.0
BACK_S = 15.0


def add(lower: str, name: str, words: Sequence[str], as_json: bool = False) -> str:
    """Put a keepon link `name` on the device `lower`. With JSON, the link as it is then.

    Raises:
        EnvironmentProblemError: something on the machine has set it up with addresses of the card,
            or so that the other end of the ssh connection over the card does not answer any more;
            it is deleted again.
    """
    client = client_over(lower)
    told = commands.add(lower, name, words, as_json)
    if not any(map(Path.exists, map(Path, MANAGERS))):
        return told
    if until(time.monotonic() + SET_UP_S, lambda: "UP" in _state(name)["flags"]):
        _check_meant(lower, name, client)
    return told


def _check_meant(lower: str, name: str, client: str) -> None:
    what = f"something on this machine set {name} up at once, as it may do with any new device"
    who = f"see networkctl status {shell_word(name)}, nmcli device show {shell_word(name)}"
    own = _addresses(lower)
    both = until(time.monotonic() + ADDRESSED_S, lambda: own & _addresses(name))
    lost = client and not until(time.monotonic() + BACK_S, lambda: answers(client))
    if not both and not lost:
        print(
            f"keepon link: add {name}: {what}: nothing that {lower} sends itself leaves while it is"
            f" up; {who}",
            file=sys.stderr,
        )
        return
    commands.delete(name)
    why = f"with {min(both)} of {lower}" if both else f"and {client} does not answer any more"
    raise EnvironmentProblemError(
        f"{what}, {why}; {name} is deleted again: have it left alone first ({who})"
    )


def _state(name: str) -> dict[str, Any]:
    (link,) = json.loads(ip("-json", "addr", "show", "dev", name))
    return dict(link)


def _addresses(name: str) -> set[str]:
    return {entry["local"] for entry in _state(name)["addr_info"] if entry["scope"] != "link"}
