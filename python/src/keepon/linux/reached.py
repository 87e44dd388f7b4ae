# SPDX-License-Identifier: BSD-3-Clause
"""Where packets go by what Linux answers itself, asked at both sides of every boundary between
routes: the judge of whoever sets routes, with which it has nothing in common.

Source: ip-route(8) `route get`, ip(8) `-batch`.
"""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess
import time
from collections.abc import Iterator
from itertools import product

from keepon.errors import EnvironmentProblemError
from keepon.linux import routes
from keepon.linux.interface import ip

ANYWHERE = ("1.1.1.1", "127.255.255.255", "128.0.0.1", "203.0.113.9")
ANYWHERE_6 = ("2001:4860:4860::8888", "fd12:3456::1")
GROUPS = ("224.0.0.251", "239.255.255.250", "255.255.255.255")
GROUPS_6 = ("ff05::1", "ff0e::fb")
QUESTIONS_MAX = 20_000
"""More are thinned out evenly: a router's full table would take minutes."""
SETTLES_S = 2.0
FAILED = re.compile(r"^Command failed [^:]*:(\d+)", re.MULTILINE)
KINDS = ("local", "broadcast", "multicast", "anycast", "unreachable", "prohibit", "blackhole")
NOT_CHOSEN = ("tentative", "dadfailed", "temporary")
"""Addresses that the device on the card is not given, or makes itself."""

Way = tuple[str, str, str, str, int]
"""Kind, gateway, device, source, and the MTU that the route states or 0; all empty where nothing
goes.
"""
NOWHERE: Way = ("", "", "", "", 0)


def questions(nic: str, has_ipv6: bool) -> list[str]:
    """Words behind `route get` by which every pair of neighbouring routes is told apart, from the
    addresses of a card and from none, for each mark and type of service that a rule or route knows.
    """
    (link,) = json.loads(ip("-json", "addr", "show", "dev", nic))
    rules = ip("rule", "show") + (ip("-6", "rule", "show") if has_ipv6 else "")
    marks = sorted(set(re.findall(r"fwmark (0x[0-9a-f]+)", rules)))
    found: dict[str, None] = {}
    for family in ("inet", "inet6") if has_ipv6 else ("inet",):
        six = family == "inet6"
        listed = list(routes.listed("-6" if six else "-4"))
        sources = [
            entry["local"]
            for entry in link["addr_info"]
            if entry["family"] == family and entry["scope"] != "link" and "tentative" not in entry
        ]
        services = {routes.value(words, "tos") for words in listed} - {""}
        where = dict.fromkeys([*(ANYWHERE_6 if six else ANYWHERE), *_borders(listed, six)])
        froms = ["", *(f" from {source}" for source in sources[:8])]
        more = ["", *(f" mark {each}" for each in marks), *(f" tos {each}" for each in services)]
        found |= dict.fromkeys(map("".join, product(where, froms, more)))
        found |= dict.fromkeys(map("".join, product(GROUPS_6 if six else GROUPS, froms)))
    return list(found)[:: len(found) // QUESTIONS_MAX + 1]


def answers(asked: list[str]) -> list[Way]:
    """What Linux says to each question."""
    done = subprocess.run(
        ["ip", "-force", "-o", "-batch", "-"],
        input="".join(f"route get {each}\n" for each in asked),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = {int(number) for number in FAILED.findall(done.stderr)}
    lines = iter(done.stdout.splitlines())
    return [
        NOWHERE if number in failed else _way(next(lines, ""))
        for number in range(1, len(asked) + 1)
    ]


def check_same(asked: list[str], before: list[Way], nic: str, device: str, has_ipv6: bool) -> None:
    """Whether all that went by a card goes by the device on it, in the same way, and all else as it
    did; what needs IPv6 only where the device has room for that. And no route states an MTU that
    the device has not.

    Raises:
        EnvironmentProblemError: it does not.
    """
    wanted = [
        (*way[:2], device, *way[3:]) if way[2] == nic and (has_ipv6 or ":" not in way[1]) else way
        for way in before
    ]
    (link,) = json.loads(ip("-json", "addr", "show", "dev", nic))
    passing = {entry["local"] for entry in link["addr_info"] if any(map(entry.get, NOT_CHOSEN))}
    (above,) = json.loads(ip("-json", "link", "show", "dev", device))
    until_s = time.monotonic() + SETTLES_S
    while now := [
        (each, was, way)
        for each, was, want, way in zip(asked, before, wanted, answers(asked), strict=True)
        if way[:3] != want[:3]
        or (way[3] != want[3] and want[3] not in passing)
        or (way[2] == device and way[4] > above["mtu"])
    ]:
        if time.monotonic() > until_s:  # routers may have been heard meanwhile
            each, was, way = now[0]
            raise EnvironmentProblemError(
                f"packets to {each} went {_told(was)} and would go {_told(way)} now"
            )
        time.sleep(SETTLES_S / 10)


def _borders(listed: list[list[str]], six: bool) -> Iterator[str]:
    """The addresses at both sides of both ends of each prefix."""
    address = ipaddress.IPv6Address if six else ipaddress.IPv4Address
    last = (1 << (128 if six else 32)) - 1
    for words in listed:
        if words[1] == "default" or words[0] == "multicast":
            continue
        network = ipaddress.ip_network(words[1], strict=False)
        start, end = int(network.network_address), int(network.broadcast_address)
        for each in (start - 1, start, start + 1, end - 1, end, end + 1):
            if (
                0 < each < last
                and not (at := address(each)).is_multicast
                and (not at.is_link_local and not at.is_loopback and not at.is_reserved)
            ):
                yield str(at)


def _way(line: str) -> Way:
    words = line.replace("\\", " ").split()
    if not words:
        return NOWHERE
    via = routes.value(words, "via")
    if via == "inet6":
        via = words[words.index("inet6") + 1]
    source = routes.value(words, "src")
    mtu = int(re.findall(r" mtu (?:lock )?(\d+)", line)[-1]) if " mtu " in line else 0
    return (words[0] if words[0] in KINDS else "", via, routes.value(words, "dev"), source, mtu)


def _told(way: Way) -> str:
    kind, via, device, source, mtu = way
    if not device:
        return "nowhere"
    words = [
        kind and f"as {kind}",
        via and f"via {via}",
        f"by {device}",
        source and f"from {source}",
        mtu and f"in packets of {mtu}",
    ]
    return " ".join(word for word in words if word)
