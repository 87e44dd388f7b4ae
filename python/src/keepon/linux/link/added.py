# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link add`: a link, and whether something on the machine sets it up at once, which closes
the way of the card's own frames before anybody has asked for it.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from keepon.errors import EnvironmentProblemError, shell_word
from keepon.linux import alone
from keepon.linux.guarded import guarded
from keepon.linux.interface import answers, client_over, ip, until
from keepon.linux.link import commands

MANAGERS = ("/run/systemd/netif", "/run/dhcpcd", "/run/connman")
"""Folders of what configures interfaces as they come; without one of them nothing is waited for.
NetworkManager leaves devices of a kind alone that it does not know.
"""
SET_UP_S = 1.5
ADDRESSED_S = 1.0
BACK_S = 15.0


def add(lower: str, name: str, words: Sequence[str], as_json: bool = False) -> str:
    """Put a keepon link `name` on the device `lower`. With JSON, the link as it is then.

    Raises:
        EnvironmentProblemError: something on the machine has set it up with addresses of the card,
            or so that the other end of the ssh connection over the card does not answer any more;
            it is deleted again.
        KeyboardInterrupt: it was ended while that was looked for; it is deleted again.
    """
    client = client_over(lower)
    told = commands.add(lower, name, words, as_json)
    if not any(map(Path.exists, map(Path, MANAGERS))):
        return told
    number = socket.if_nametoindex(name)

    def back() -> None:
        with suppress(OSError):  # it is gone
            commands.delete(socket.if_indextoname(number))

    warning = guarded(lambda: _look(lower, number, client), back, f"{name} is deleted again")
    if warning:
        alone.say(f"keepon link: add {name}: {warning}")
    return told


def _look(lower: str, number: int, client: str) -> str:
    """A warning if something sets the link up that leaves the card's traffic alone, or nothing."""
    if not until(time.monotonic() + SET_UP_S, lambda: "UP" in _state(number).get("flags", ())):
        return ""
    name = socket.if_indextoname(number)  # it may be called otherwise by now
    what = f"something on this machine set {name} up at once, as it may do with any new device"
    word = shell_word(name)
    who = f"systemd-networkd: networkctl status {word}; dhcpcd: denyinterfaces {word}"
    own = _addresses(_shown("dev", lower))
    both = until(time.monotonic() + ADDRESSED_S, lambda: own & _addresses(_state(number)))
    lost = client and not until(time.monotonic() + BACK_S, lambda: answers(client))
    if not both and not lost:
        return f"{what}: nothing that {lower} sends itself leaves while it is up ({who})"
    why = f"with {min(both)} of {lower}" if both else f"and {client} does not answer any more"
    raise EnvironmentProblemError(f"{what}, {why}: have it left alone first ({who})")


def _state(number: int) -> dict[str, Any]:
    """The link by its number; empty if it is gone."""
    with suppress(OSError, EnvironmentProblemError):
        return _shown("dev", socket.if_indextoname(number))
    return {}


def _shown(*words: str) -> dict[str, Any]:
    (link,) = json.loads(ip("-json", "addr", "show", *words))
    return dict(link)


def _addresses(link: dict[str, Any]) -> set[str]:
    return {each["local"] for each in link.get("addr_info", ()) if each["scope"] != "link"}
