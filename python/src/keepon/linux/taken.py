# SPDX-License-Identifier: BSD-3-Clause
"""A card's own traffic goes by the keepon link on it, which gets all frames: the card keeps its
addresses, and its routes are hidden by the same ones before them, so that they are there again when
the link has gone.

Source: ip-route(8); fib_table_insert(), fib6_add_rt2node() of Linux for what is before what.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from keepon.errors import EnvironmentProblemError, shell_word
from keepon.linux import routes
from keepon.linux.interface import ip
from keepon.linux.losses import above

IPV4_MTU_MIN, IPV6_MTU_MIN = 68, 1280
RECEIVING = ("local", "anycast", "multicast")
"""Kinds of routes by which nothing is sent, or that each device has of its own."""


def check_alone(nic: str, device: str) -> None:
    """Whether nobody but the keepon link `device` sends by a card, whose own way that closes.

    Raises:
        EnvironmentProblemError: somebody does.
    """
    (link,) = json.loads(ip("-json", "link", "show", "dev", nic))
    if "master" in link:
        raise EnvironmentProblemError(
            f"{nic} is part of {link['master']}, to which its traffic would be lost: take it out"
            f" with ip link set dev {shell_word(nic)} nomaster"
        )
    if built := [each for each in above(nic) if each != device]:
        raise EnvironmentProblemError(
            f"{nic} has {', '.join(built)} built on it, whose frames would be lost: take that away,"
            " and build it on the keepon link"
        )


def take_routes(nic: str, device: str) -> None:
    """Addresses (IPv6) and routes of a card by the device on it, as far as its MTU bears them.

    Raises:
        EnvironmentProblemError: a route cannot be hidden; what was set is gone with the device.
    """
    (above,) = json.loads(ip("-json", "link", "show", "dev", device))
    if above["mtu"] < IPV4_MTU_MIN:
        return
    has_ipv6 = above["mtu"] >= IPV6_MTU_MIN
    for words in _in_order(_of_card(nic, "-4")):
        if has_ipv6 or "inet6" not in words:
            ip("-4", "route", "prepend", *_by(device, words))
    if not has_ipv6:
        return
    (link,) = json.loads(ip("-json", "addr", "show", "dev", nic))
    for entry in link["addr_info"]:
        if entry["family"] == "inet6" and entry["scope"] != "link":
            address = f"{entry['local']}/{entry['prefixlen']}"
            # Needed there, too: IPv6 sends from addresses of the device alone.
            ip("-6", "addr", "add", address, "dev", device, "nodad", "noprefixroute")
    for words in _in_order(_with_metrics(nic)):
        ip("-6", "route", "append", *_by(device, words))


def _in_order(found: Iterator[list[str]]) -> list[list[str]]:
    """Networks before the gateways in them."""
    return sorted(found, key=lambda words: "via" in words)


def _of_card(nic: str, family: str) -> Iterator[list[str]]:
    """Routes over a card by which something is sent."""
    for words in routes.listed(family):
        devices = {after for word, after in pairwise(words) if word == "dev"}
        if nic not in devices or words[0] in RECEIVING:
            continue
        if devices != {nic}:
            raise EnvironmentProblemError(
                f"{_told(words)} goes by {nic} and by {', '.join(sorted(devices - {nic}))}, and"
                " would be another one when the link has gone: take it away first"
            )
        # What its nexthop object says is said here, as the object stays with the card.
        yield routes.without(words, "nhid")


def _by(device: str, words: list[str]) -> list[str]:
    """The same route by another device."""
    return [device if before == "dev" else word for before, word in pairwise(["", *words])]


def _with_metrics(nic: str) -> Iterator[list[str]]:
    """Routes of IPv6, each with the metric before its own: there is no other order."""
    others = {
        (_where(words), routes.value(words, "metric"))
        for words in routes.listed("-6")
        if ("dev", nic) not in pairwise(words)
    }
    for words in _of_card(nic, "-6"):
        if words[1].startswith("fe80:"):
            continue  # each device has it
        metric = str(int(routes.value(words, "metric")) - 1)
        if metric == "0" or (_where(words), metric) in others:
            raise EnvironmentProblemError(
                f"{_told(words)} of {nic} can only be hidden by one of metric {metric},"
                f" {'which there is not' if metric == '0' else 'which another device has'}: give it"
                " a greater metric first"
            )
        at = words.index("metric") + 1
        yield [*words[:at], metric, *words[at + 1 :]]


def _where(words: list[str]) -> tuple[str, ...]:
    """Kind, prefix and table, within which metrics count."""
    return (*words[:2], routes.value(words, "from"), routes.value(words, "table") or "main")


def _told(words: list[str]) -> str:
    return f"the route {' '.join(words[1:])}"
