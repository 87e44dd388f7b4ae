# SPDX-License-Identifier: BSD-3-Clause
"""Addresses and routes of a card whose driver changes: another interface comes in its place.

The machine's network manager sets that up, as it does when a card is plugged in; what it has not
set after a while, or all where there is none, is set as ip(8) showed it. Sysctls of the interface
come from sysctl.d by udev, features of ethtool -K from where they were set before.
"""

from __future__ import annotations

import itertools
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepon_host.errors import EnvironmentProblemError
from keepon_host.interface import has_carrier, ip, run, until

RUN = Path("/run")
MANAGED_S = 10.0
"""How long after its link a network manager may take for an interface."""
SETTLED_S = 5.0
"""How long setting one may fail: IPv6 takes no address for a source before it is known to be free.
"""
FOR_EVER_S = 2**32 - 1
ADDRESS_FLAGS = ("home", "nodad", "noprefixroute", "autojoin")
SHOWN_ONLY = ("linkdown", "dead", "pervasive", "offload", "trap", "rt_offload", "rt_trap")
"""Words of a route that ip shows and does not take."""


@dataclass
class Kept:
    """What an interface has that is to be there again; commands are words of ip(8)."""

    up: bool
    carrier: bool
    link: list[tuple[str, ...]] = field(default_factory=list)
    addresses: list[tuple[str, ...]] = field(default_factory=list)
    routes: list[tuple[str, ...]] = field(default_factory=list)
    manager: str = ""


def manager_of(name: str) -> str:
    """The network manager that has set an interface up; empty: none is known to have."""
    index = _text(Path("/sys/class/net", name, "ifindex")).strip()
    if "connection-uuid=" in _text(RUN / "NetworkManager/devices" / index):
        return "NetworkManager"
    if "ADMIN_STATE=configured" in _text(RUN / "systemd/netif/links" / index):
        return "systemd-networkd"
    if (RUN / "network" / f"ifstate.{name}").exists():
        return "ifupdown"
    if any((RUN / each).exists() for each in ("dhcpcd/pid", "dhcpcd.pid")):
        return "dhcpcd"
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def kept_of(name: str) -> Kept:
    """What an interface has.

    Raises:
        EnvironmentProblemError: ip(8) does not tell.
    """
    (link,) = json.loads(ip("-json", "addr", "show", "dev", name))
    found = Kept("UP" in link["flags"], has_carrier(name), manager=manager_of(name))
    found.link.append(("mtu", str(link["mtu"])))
    if "permaddr" in link:  # it was given another one
        found.link.append(("address", link["address"]))
    ours = [each for each in link["addr_info"] if not _by_kernel(each)]
    ours.sort(key=lambda each: each["family"])
    found.addresses = [("addr", "replace", *_address(each), "dev", name) for each in ours]
    for family in ("-4", "-6"):
        with suppress(EnvironmentProblemError):  # a kernel without IPv6
            lines = ip(family, "-o", "route", "show", "table", "all", "dev", name).splitlines()
            found.routes += [(family, "route", "replace", *each) for each in _routes(lines, name)]
    return found


def _by_kernel(entry: dict[str, Any]) -> bool:
    """An address that comes by itself: of the link, or by router advertisement."""
    return entry["family"] == "inet6" and (
        entry["scope"] == "link" or bool(entry.get("temporary") or entry.get("mngtmpaddr"))
    )


def _address(entry: dict[str, Any]) -> list[str]:
    length = f"/{entry['prefixlen']}"
    peer = entry.get("address")
    words = [entry["local"], "peer", peer + length] if peer else [entry["local"] + length]
    keys = ("broadcast", "label", "metric", *(["scope"] if entry["family"] == "inet" else []))
    for key in keys:
        words += [key, str(entry[key])] if key in entry else []
    for key, option in (("valid_life_time", "valid_lft"), ("preferred_life_time", "preferred_lft")):
        left_s = entry.get(key, FOR_EVER_S)
        words += [option, str(left_s)] if left_s < FOR_EVER_S else []
    return words + [flag for flag in ADDRESS_FLAGS if entry.get(flag)]


def _routes(lines: list[str], name: str) -> list[list[str]]:
    """Words of routes that the kernel does not make by itself, those over a gateway last."""
    found = []
    for line in lines:
        words = [each for each in line.replace("\\", " ").split() if each not in SHOWN_ONLY]
        pairs = set(itertools.pairwise(words))
        if pairs & {("proto", "kernel"), ("proto", "ra"), ("table", "local")} or "nhid" in words:
            continue
        if "expires" in words:
            at = words.index("expires")
            del words[at : at + 2]
        found.append([*words, "dev", name])
    return sorted(found, key=lambda words: "via" in words)


def come_back(name: str, kept: Kept, deadline_s: float) -> list[str]:
    """Have all there again, by the network manager or by us; a phrase on each thing that is not.

    Args:
        deadline_s: of time.monotonic(): by when there must be a link.
    """
    for words in kept.link:
        with suppress(EnvironmentProblemError):  # a driver need not bear the other one's MTU
            ip("link", "set", "dev", name, *words)
    if kept.up:
        ip("link", "set", "dev", name, "up")
    if kept.carrier and not until(deadline_s, lambda: has_carrier(name)):
        return [f"the link of {name} did not come back in time"]
    if kept.manager == "ifupdown":  # it does not look at interfaces that it has set up once
        for command in (["ifdown", "--force", name], ["ifup", name]):
            with suppress(EnvironmentProblemError):
                run(*command)
    if kept.manager:
        until(time.monotonic() + MANAGED_S, lambda: not _missing(name, kept))
    problems: list[str] = []

    def all_set() -> bool:
        problems[:] = _set(name, kept)
        return not problems

    until(time.monotonic() + SETTLED_S, all_set)
    return problems


def _missing(name: str, kept: Kept) -> list[tuple[str, ...]]:
    """Addresses and routes that are not there."""
    there = kept_of(name)
    addresses = {words[2] for words in there.addresses}
    routes = {_place(words) for words in there.routes}
    return [
        *(words for words in kept.addresses if words[2] not in addresses),
        *(words for words in kept.routes if _place(words) not in routes),
    ]


def _place(words: tuple[str, ...]) -> tuple[str, ...]:
    """What tells a route from another: family, destination, table, metric."""
    keys = [words[words.index(key) + 1] if key in words else "" for key in ("table", "metric")]
    return (words[0], words[3], *keys)


def _set(name: str, kept: Kept) -> list[str]:
    problems = []
    for words in _missing(name, kept):
        try:
            ip(*words)
        except EnvironmentProblemError as error:
            problems.append(str(error))
    return problems
