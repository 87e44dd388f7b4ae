# SPDX-License-Identifier: BSD-3-Clause
"""Routes and nexthop objects that go with an interface, as words of ip(8) that make them again.

Source: ip-route(8), ip-nexthop(8); fib_sync_down_dev(), fib_sync_down_addr(), fib6_ifdown() and
nexthop_flush_dev() of Linux.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from keepon.linux.interface import ip

Item = tuple[str, ...]
"""Words of ip(8)."""

STATE = (
    "linkdown", "dead", "pervasive", "offload", "trap", "offload_failed", "rt_offload", "rt_trap",
    "rt_offload_failed",
)  # fmt: skip
"""What ip shows of a route and does not take."""


def _families() -> list[str]:
    return ["-4", "-6"] if Path("/proc/sys/net/ipv6").is_dir() else ["-4"]


def nexthops(name: str) -> Iterator[Item]:
    """Nexthop objects over an interface, and groups with one of them."""
    own: set[str] = set()
    if not ip("nexthop", "show"):
        return
    for family in _families():
        for line in ip(family, "nexthop", "show", "dev", name).splitlines():
            words = _without(line.split(), "scope")
            own.add(words[1])
            yield (family, "nexthop", "replace", *words)
    for line in ip("nexthop", "show", "groups").splitlines():
        words = _without(line.split(), "scope", "unbalanced_time")
        members = words[words.index("group") + 1].split("/")
        if own & {member.partition(",")[0] for member in members}:
            yield ("nexthop", "replace", *words)


def routes(name: str, addresses: set[str], objects: list[Item]) -> Iterator[Item]:
    """Routes of all tables that go with an interface, its addresses and its nexthop objects; not
    those by which the kernel knows the addresses, nor those by router advertisement, which come
    anew.
    """
    gone = {("dev", name)}
    gone |= {("src", each) for each in addresses}
    gone |= {("nhid", _value(each, "id")) for each in objects}
    for family in _families():
        for line in ip("-d", "-o", family, "route", "show", "table", "all").splitlines():
            if line[:1].isspace():  # more on its nexthop object
                continue
            words = [word for word in line.replace("\\", " ").split() if word not in STATE]
            if gone.isdisjoint(pairwise(words)) or _by_kernel(words):
                continue
            if "nhid" in words:  # what the object says may not be said twice
                end = words.index("nexthop") if "nexthop" in words else len(words)
                words = [each for each in _without(words[:end], "via", "dev") if each != "onlink"]
            yield (family, "route", "append", *_seconds(words))


def of_address(item: Item) -> str:
    """The address that the kernel has made a route of, if it is such a route of IPv4."""
    made = item[:2] == ("-4", "route") and _value(item, "proto") == "kernel"
    return _value(item, "src") if made and _value(item, "table") == "main" else ""


def deleting(item: Item) -> Item:
    """What deletes the route."""
    return tuple("del" if word == "append" else word for word in item)


def _by_kernel(words: list[str]) -> bool:
    proto = _value(words, "proto")
    if proto == "kernel":
        return _value(words, "table") == "local" or "expires" in words
    return proto == "ra"


def _value(words: list[str] | Item, key: str) -> str:
    return words[words.index(key) + 1] if key in words else ""


def _without(words: list[str], *keys: str) -> list[str]:
    """Words without these keys and what is behind each."""
    kept = list(words)
    for key in keys:
        while key in kept:
            at = kept.index(key)
            count = 3 if kept[at + 1] == "inet6" else 2  # via inet6 ADDRESS
            del kept[at : at + count]
    return [word for word in kept if word not in STATE]


def _seconds(words: list[str]) -> list[str]:
    """Words with lifetimes as ip takes them."""
    if "expires" in words:
        at = words.index("expires") + 1
        words = [*words[:at], words[at].removesuffix("sec"), *words[at + 1 :]]
    return words
