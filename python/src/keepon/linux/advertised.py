# SPDX-License-Identifier: BSD-3-Clause
"""Addresses of IPv6 in networks that routers advertise: the device on a card hears the routers, and
has the addresses that the card has of them.

Source: addrconf_prefix_rcv(), inet6_set_iftoken() of Linux; ip-token(8); RFC 4291 appendix A.
"""

from __future__ import annotations

import json
from contextlib import suppress
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

from keepon.errors import EnvironmentProblemError
from keepon.linux.interface import ip

ROUTERS = "accept_ra"
NO_TOKEN = "::"
BY_MAC = ("0", "1")
"""Ways (addr_gen_mode) by which addresses in a router's network come from the MAC."""


def hear_routers(nic: str, settled: list[dict[str, Any]], device: str) -> None:
    """Routers that advertise themselves are heard by the device from now on, as by the card, and
    are asked to. Addresses end in their networks as the card's do, by its MAC, a token, a secret or
    at random: where all end alike that is the device's token, which Linux asks routers with;
    otherwise it makes none.
    """
    of_card, own = (Path("/proc/sys/net/ipv6/conf", name) for name in (nic, device))
    if not of_card.exists() or not own.exists():
        return
    ends, of_mac = _ends(nic, settled), _of_mac(device)
    end = next(iter(ends)) if len(ends) == 1 else NO_TOKEN
    (own / "autoconf").write_text("0")  # until it is known how
    (own / ROUTERS).write_text((of_card / ROUTERS).read_text())
    with suppress(EnvironmentProblemError):  # it hears no router, or asks none
        ip("token", "set", end, "dev", device)
    if end == of_mac or (end != NO_TOKEN and _token(device) == end):
        (own / "autoconf").write_text((of_card / "autoconf").read_text())


def _ends(nic: str, settled: list[dict[str, Any]]) -> set[str]:
    """How the addresses end that a card makes in the networks of routers."""
    token = _token(nic)
    mode = Path("/proc/sys/net/ipv6/conf", nic, "addr_gen_mode").read_text().strip()
    if token != NO_TOKEN:
        return {token}
    if mode in BY_MAC:
        return {_of_mac(nic)}
    return {
        str(IPv6Address(int(IPv6Address(entry["local"])) % 2**64))
        for entry in settled
        if entry.get("mngtmpaddr") and entry["prefixlen"] == 64
    }


def _of_mac(name: str) -> str:
    """The modified EUI-64 of an interface (RFC 4291 appendix A)."""
    mac = bytes.fromhex(Path("/sys/class/net", name, "address").read_text().replace(":", ""))
    end = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:6]
    return str(IPv6Address(bytes(8) + end))


def _token(name: str) -> str:
    """How the addresses end that an interface makes in the networks of routers."""
    found = json.loads(ip("-json", "token", "get", "dev", name))
    return str(found[0]["token"]) if found else NO_TOKEN


def forget(device: str) -> None:
    """What hear_routers() has left on a device."""
    if _token(device) != NO_TOKEN:
        with suppress(EnvironmentProblemError):  # it hears no router any more
            ip("token", "set", NO_TOKEN, "dev", device)
