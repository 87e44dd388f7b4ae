# SPDX-License-Identifier: BSD-3-Clause
"""Addresses of IPv6 in networks that routers advertise: the device on a card hears the routers, and
has the addresses that the card has of them.

Source: addrconf_prefix_rcv(), inet6_set_iftoken() of Linux; ip-token(8); RFC 4291 appendix A.
"""

from __future__ import annotations

import json
import socket
import struct
from contextlib import suppress
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

from keepon.errors import EnvironmentProblemError
from keepon.linux import ethtool
from keepon.linux.interface import ip

CONF = Path("/proc/sys/net/ipv6/conf")
ROUTERS = "accept_ra"
ASKS = "router_solicitations"
SOLICITATION = 133
NO_TOKEN = "::"
BY_MAC = ("0", "1")
"""Ways (addr_gen_mode) by which addresses in a router's network come from the MAC."""


def hear_routers(nic: str, settled: list[dict[str, Any]], device: str) -> bool:
    """Routers that advertise themselves are heard by the device from now on, as by the card, and
    are asked to where it asks any. Its addresses in their networks end as the card's do: by the
    MAC, a token, or the card's secret, or as all of the card's do where that would not give the
    same ones.

    Args:
        settled: addresses of the card.

    Returns:
        False where none of that is so: it makes none, and those of the card end with their
        lifetime.
    """
    if not (CONF / nic).exists() or not (CONF / device).exists():
        return True
    ends, by_secret = _ends(nic, settled), _has_secret(nic, device)
    by_token = ends != {_of_mac(device)} and not by_secret
    _set(device, "autoconf", "0")  # until it is known how
    if by_secret:
        _set(device, "stable_secret", _get(nic, "stable_secret"))
    _set(device, ROUTERS, _get(nic, ROUTERS))
    hears = _set_token(device, next(iter(ends)) if by_token and len(ends) == 1 else NO_TOKEN)
    if hears and by_token and len(ends) != 1:
        return False
    _set(device, "autoconf", _get(nic, "autoconf"))
    if hears and _get(device, ASKS) != "0":
        _ask(device)
    return True


def _ask(device: str) -> None:
    """A router solicitation (RFC 4861 section 4.1). Linux has none left: it asks when an interface
    comes up.
    """
    kind = socket.IPPROTO_ICMPV6
    with suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_RAW, kind) as asking:
        number = socket.if_nametoindex(device)
        asking.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        asking.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, number)
        asking.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        asking.sendto(bytes([SOLICITATION]) + bytes(7), ("ff02::2", 0, 0, number))


def _ends(nic: str, settled: list[dict[str, Any]]) -> set[str]:
    """How the addresses end that a card makes in the networks of routers."""
    token = _token(nic)
    if token != NO_TOKEN:
        return {token}
    if _get(nic, "addr_gen_mode") in BY_MAC:
        return {_of_mac(nic)}
    return {
        str(IPv6Address(int(IPv6Address(entry["local"])) % 2**64))
        for entry in settled
        if entry.get("mngtmpaddr") and entry["prefixlen"] == 64
    }


def _has_secret(nic: str, device: str) -> bool:
    """Whether a card makes its addresses of a secret, and the device would make the same: the
    permanent address goes into them, too (ipv6_generate_stable_address()).
    """
    if _token(nic) != NO_TOKEN or _get(nic, "addr_gen_mode") in BY_MAC:
        return False
    with suppress(OSError):  # a secret that nobody has set cannot be read
        return bool(_get(nic, "stable_secret")) and _permanent(nic) == _permanent(device)
    return False


def _permanent(name: str) -> bytes:
    return ethtool.call(name, struct.pack("=II", ethtool.GPERMADDR, 6) + bytes(6))


def _of_mac(name: str) -> str:
    """The modified EUI-64 of an interface (RFC 4291 appendix A)."""
    mac = bytes.fromhex(Path("/sys/class/net", name, "address").read_text().replace(":", ""))
    end = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:6]
    return str(IPv6Address(bytes(8) + end))


def _token(name: str) -> str:
    """How the addresses end that an interface makes in the networks of routers."""
    found = json.loads(ip("-json", "token", "get", "dev", name))
    return str(found[0]["token"]) if found else NO_TOKEN


def _set_token(device: str, token: str) -> bool:
    """Linux takes no token of a device that asks no routers; whether the device hears any."""
    asks = _get(device, ASKS)
    if asks == "0":
        _set(device, ASKS, "1")
    try:
        ip("token", "set", token, "dev", device)
    except EnvironmentProblemError:
        return False
    finally:
        if asks == "0":
            _set(device, ASKS, asks)
    return True


def _get(name: str, setting: str) -> str:
    return (CONF / name / setting).read_text().strip()


def _set(name: str, setting: str, value: str) -> None:
    (CONF / name / setting).write_text(value)


def forget(device: str) -> None:
    """The token that hear_routers() has left on a device. A secret cannot be taken back, and does
    nothing beside the next token.
    """
    if (CONF / device).exists() and _token(device) != NO_TOKEN:
        _set_token(device, NO_TOKEN)
