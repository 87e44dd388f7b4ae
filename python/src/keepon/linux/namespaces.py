# SPDX-License-Identifier: BSD-3-Clause
"""Links of all network namespaces, asked for from one of them: /sys and ip(8) show what is in their
own, and an interface of a container is built on a card that is in another.

A namespace has numbers for others, by which their links can be asked for without going there. The
kernel gives such a number when a link goes there; those that have none are given one, which changes
nothing else.

Source: net/core/net_namespace.c and rtnl_dump_ifinfo(), rtnl_fill_link_netnsid() of Linux;
network_namespaces(7), proc(5).
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from keepon.linux.link.netlink import (
    IFLA_LINK,
    IFLA_LINK_NETNSID,
    NLM_F_ACK,
    NLM_F_DUMP,
    RTM_GETLINK,
    Link,
    RefusedError,
    Route,
    attribute,
    parse_attributes,
)

RTM_NEWNSID, RTM_GETNSID = 88, 90
NETNSA_NSID, NETNSA_FD = 1, 3
IFLA_TARGET_NETNSID = 46
IFLA_VXLAN_LINK = 3
"""Numbers of linux/rtnetlink.h, linux/net_namespace.h and linux/if_link.h."""

OWN = Path("/proc/thread-self/ns/net")
NAMED = "/run/netns/"
_HEADER = bytes(4)  # struct rtgenmsg
_NUMBER = struct.Struct("=i")
_INDEX = struct.Struct("=I")
PEERS = ("veth", "vxcan", "netkit")
"""Kinds whose link is the other end."""
_NONE = -1


def built_on(index: int, with_peer: bool = True) -> Iterator[str]:
    """Interfaces of any namespace that are linked with one of this: name, and where it is if that
    is elsewhere.

    Args:
        index: number of the interface.
        with_peer: also the other end of a pair, which goes when it goes.
    """
    with Route() as route:
        where: dict[int, str] = {}
        for path, words in _places():
            where.setdefault(_number_given(route, path), words)
        found = [(_NONE, link) for link in _links(route)]
        for number in _numbers(route):
            with suppress(RefusedError):  # it has gone meanwhile
                found += [(number, link) for link in _links(route, number)]
        own = _number(route, OWN)  # what is linked with us has given us one
    for number, link in found:
        here = number in (_NONE, own)
        told = link.attributes.get(IFLA_LINK_NETNSID)
        with_ours = _NUMBER.unpack(told)[0] == own if told else here
        if not with_peer and link.kind in PEERS:
            continue
        if with_ours and index in _linked_with(link):
            place = where.get(number, "a network namespace without name and process")
            yield link.name if here else f"{link.name} (in {place})"


def _linked_with(link: Link) -> set[int]:
    """Numbers of the interfaces it is made on."""
    # that of a vxlan is not where those of others are, on kernels of today
    made_on = link.data.get(IFLA_VXLAN_LINK) if link.kind == "vxlan" else None
    return {_INDEX.unpack(each)[0] for each in (link.attributes.get(IFLA_LINK), made_on) if each}


def _places() -> Iterator[tuple[Path, str]]:
    """Other namespaces that have a name or a process: a file of each, and how to tell of it."""
    seen = {_identity(OWN)}
    for path, words in _files():
        try:
            identity = _identity(path)
        except OSError:  # the process has ended, or is not for us to look at
            continue
        if identity not in seen:
            seen.add(identity)
            yield path, words


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _files() -> Iterator[tuple[Path, str]]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        if words[3].startswith("net:["):
            path = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), words[4])
            yield Path(path), f"network namespace {path.removeprefix(NAMED)}"
    processes = (each for each in Path("/proc").iterdir() if each.name.isdecimal())
    for folder in sorted(processes, key=lambda each: int(each.name)):
        with suppress(OSError):
            program = (folder / "comm").read_text().strip()
            yield folder / "ns/net", f"the network namespace of process {folder.name}, {program}"


def _ask(route: Route, kind: int, flags: int, *attributes: bytes) -> list[int]:
    answers = route.talk(kind, flags, _HEADER + b"".join(attributes))
    return [
        int(_NUMBER.unpack(parse_attributes(each[len(_HEADER) :])[NETNSA_NSID])[0])
        for each in answers
    ]


def _numbers(route: Route) -> list[int]:
    """Of all namespaces that this one has a number for."""
    return _ask(route, RTM_GETNSID, NLM_F_DUMP)


def _number(route: Route, path: Path) -> int:
    """Number of a namespace; -1 if it has none, or is none any more."""
    with suppress(OSError, RefusedError):
        file = os.open(path, os.O_RDONLY)
        try:
            (number,) = _ask(
                route, RTM_GETNSID, NLM_F_ACK, attribute(NETNSA_FD, _NUMBER.pack(file))
            )
        finally:
            os.close(file)
        return number
    return _NONE


def _number_given(route: Route, path: Path) -> int:
    """The same; one that has none is given one."""
    number = _number(route, path)
    if number != _NONE:
        return number
    with suppress(OSError, RefusedError):
        file = os.open(path, os.O_RDONLY)
        try:
            any_free = attribute(NETNSA_NSID, _NUMBER.pack(_NONE))
            given = attribute(NETNSA_FD, _NUMBER.pack(file))
            _ask(route, RTM_NEWNSID, NLM_F_ACK, given, any_free)
        finally:
            os.close(file)
    return _number(route, path)


def _links(route: Route, number: int | None = None) -> list[Link]:
    """Links of this namespace, or of that with the number."""
    target = [] if number is None else [attribute(IFLA_TARGET_NETNSID, _NUMBER.pack(number))]
    return route.request(RTM_GETLINK, NLM_F_DUMP, 0, *target)
