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
            words = _as_taken(without(line.split(), "scope"))
            own.add(words[1])
            yield (family, "nexthop", "replace", *words)
    for line in ip("nexthop", "show", "groups").splitlines():
        words = without(line.split(), "scope", "unbalanced_time")
        members = words[words.index("group") + 1].split("/")
        if own & {member.partition(",")[0] for member in members}:
            yield ("nexthop", "replace", *words)


def routes(name: str, addresses: set[str], objects: list[Item]) -> Iterator[Item]:
    """Routes of all tables that go with an interface, its addresses and its nexthop objects; not
    those by which the kernel knows the addresses, nor those by router advertisement, which come
    anew.

    "prepend" is said of those of IPv4 that no other interface's is before, the last first.
    """
    gone = {("dev", name)}
    gone |= {("src", each) for each in addresses}
    gone |= {("nhid", value(each, "id")) for each in objects}
    for family in _families():
        of_others = set()
        front: list[Item] = []
        for words in listed(family):
            if gone.isdisjoint(pairwise(words)):
                of_others.add(place(words))
                continue
            if _by_kernel(words) and (family, words[0]) != ("-4", "broadcast"):
                continue
            if "nhid" in words:  # what the object says may not be said twice
                end = words.index("nexthop") if "nexthop" in words else len(words)
                words = without(_plain(words[:end]), "via", "dev")
                words = [each for each in words if each != "onlink"]
            if family == "-6":
                yield from ((family, "route", "append", *each) for each in _hops(words, name))
            elif place(words) in of_others:
                yield (family, "route", "append", *words)
            else:
                front.append((family, "route", "prepend", *words))
        yield from reversed(front)


def place(words: list[str]) -> tuple[str, ...]:
    """What routes have in common of which the first is used: those of IPv4."""
    return (words[1], *(value(words, key) for key in ("table", "tos", "metric")))


def _hops(words: list[str], name: str) -> Iterator[list[str]]:
    """A route of IPv6 over each of its next hops that go with the interface: the kernel makes one
    of them again, together with those over others, which stay.
    """
    starts = [at for at, word in enumerate(words) if word == "nexthop"]
    common = words[: starts[0]] if starts else words
    hops = [words[start + 1 : end] for start, end in pairwise([*starts, len(words)])]
    own = [hop for hop in hops if ("dev", name) in pairwise(hop)]
    if not own:
        yield words
    for hop in own:
        if value(hop, "weight") == "1":  # as ip shows the only one
            at = common.index("table")
            yield [*common[:at], *without(hop, "weight"), *common[at:]]
        else:
            yield [*common, "nexthop", *hop]


def listed(family: str) -> Iterator[list[str]]:
    """Every route of all tables of a family ("-4", "-6"), as ip takes it, but that both its nexthop
    object and the next hops of that may be said.
    """
    found: list[list[str]] = []
    for line in ip("-d", "-o", family, "route", "show", "table", "all").splitlines():
        words = [word for word in line.replace("\\", " ").split() if word not in STATE]
        if not line[:1].isspace():
            found.append(words)
        elif "nexthop" in words:  # of a group, which is told of in a line of its own
            found[-1] += words[words.index("nexthop") :]
    return map(_as_taken, found)


def of_address(item: Item) -> str:
    """The address that the kernel has made a route of, if it is such a route of IPv4."""
    made = item[:2] == ("-4", "route") and value(item, "proto") == "kernel"
    return value(item, "src") if made and value(item, "table") == "main" else ""


def deleting(item: Item) -> Item:
    """What deletes the route."""
    return (*item[:2], "del", *item[3:])


def anywhere(item: Item) -> Item:
    """A route wherever it is among those of one place; any other item as it is."""
    return (*item[:2], "append", *item[3:]) if item[1:3] == ("route", "prepend") else item


def _by_kernel(words: list[str]) -> bool:
    proto = value(words, "proto")
    if proto == "kernel":
        return value(words, "table") == "local" or "expires" in words
    return proto == "ra"


def value(words: list[str] | Item, key: str) -> str:
    """The word behind `key`; empty if it is not there."""
    return words[words.index(key) + 1] if key in words else ""


def without(words: list[str], *keys: str) -> list[str]:
    """Words without these keys and what is behind each."""
    kept = list(words)
    for key in keys:
        while key in kept:
            at = kept.index(key)
            count = 3 if kept[at + 1] == "inet6" else 2  # via inet6 ADDRESS
            del kept[at : at + count]
    return [word for word in kept if word not in STATE]


def _plain(words: list[str]) -> list[str]:
    """Words without what a route's frames are put into."""
    if "encap" not in words:
        return words
    start = words.index("encap")
    ends = (at for at, word in enumerate(words) if at > start and word in ("via", "dev", "table"))
    return [*words[:start], *words[next(ends, len(words)) :]]


def _as_taken(words: list[str]) -> list[str]:
    """Words as ip takes them: it shows seconds with a unit, that rto_min is locked, which it always
    is, and segments of IPv6 in brackets; where they are put in, with room for the receiver.
    """
    while "[" in words:
        start, end = words.index("["), words.index("]")
        segments = words[start + 1 : end - (words[start - 3] == "inline")]
        words = [*words[: start - 1], ",".join(segments), *words[end + 1 :]]
    if "expires" in words:
        at = words.index("expires") + 1
        words = [*words[:at], words[at].removesuffix("sec"), *words[at + 1 :]]
    if "rto_min" in words:
        at = words.index("rto_min") + 1
        words = (
            words[:at] + [word for word in words[at : at + 1] if word != "lock"] + words[at + 1 :]
        )
    return words
