# SPDX-License-Identifier: BSD-3-Clause
"""A card's own traffic goes by the keepon link on it, which gets all frames: the card keeps its
addresses and routes, and the link has the same ones before them, so that they are there again when
the link has gone. Where packets go by that is asked of Linux itself (reached.py).

Source: ip-route(8); fib_table_insert(), fib_select_path(), fib6_add_rt2node() of Linux for what is
before what.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from keepon.errors import EnvironmentProblemError, shell_word
from keepon.linux import advertised, bypassed, carried, firewall, reached, routes
from keepon.linux.interface import ip, ip_each
from keepon.linux.losses import above

IPV4_MTU_MIN, IPV6_MTU_MIN = 68, 1280
SETTLES_S = 3.0
"""By then an address of IPv6 is found to be somebody else's, or not: a second by default."""
OWN_SETTINGS = (*carried.ROUNDED, "mtu", "addr_gen_mode", "stable_secret", "keep_addr_on_down")
"""Sysctls that are a device's own."""
RECEIVING = ("local", "anycast", "multicast")
"""Kinds of routes by which nothing is sent, or that each device has of its own."""
LENT_METRIC = 0x6B706E
"""Of addresses that the link has of its card, which make no route: by it they are told from those
that somebody gave the link itself.
"""
EVERYWHERE = ("224.0.0.1", "ff01::1", "ff02::1", "ff01::2", "ff02::2", "ff05::2")
"""Groups that the kernel joins itself: all nodes, and of who forwards all routers."""
OF_ADDRESSES = "ff02::1:ff"
"""How the groups of addresses begin, which it joins, too."""
PREFERENCES = ("high", "medium", "low")
"""Of routers that advertise themselves (RFC 4191)."""


def check_alone(nic: str, device: str) -> bool:
    """Whether nobody but the keepon link `device` sends by a card, whose own way that closes, and
    nothing that applies to the card's frames would not to those of the link.

    Returns:
        whether there are rules that masquerade (firewall.check_twins).

    Raises:
        EnvironmentProblemError: somebody does.
    """
    (link,) = json.loads(ip("-json", "link", "show", "dev", nic))
    if "master" in link:
        raise EnvironmentProblemError(
            f"{nic} is part of {link['master']}, to which its traffic would be lost: take it out"
            f" with ip link set dev {shell_word(nic)} nomaster"
        )
    if built := [each for each in above(nic, with_peer=False) if each != device]:
        raise EnvironmentProblemError(
            f"{nic} has {', '.join(built)} built on it, whose frames would be lost: take that away,"
            " and build it on the keepon link"
        )
    masquerades = firewall.check_twins(nic, device)
    bypassed.check_nothing(nic, device)
    return masquerades


def masquerading_ends(nic: str, device: str) -> str:
    """What nobody can spare them, in a sentence."""
    return (
        f"connections that the firewall masquerades by {nic} end when {device} comes up, and those"
        f" by {device} when it goes: they have to be made again"
    )


def take_settings(nic: str, device: str) -> None:
    """Sysctls of a card for the device on it, before that comes up: by its own it might hear a
    router, or use IPv6, as the card is not to.

    Raises:
        EnvironmentProblemError: one cannot be taken.
    """
    _check_forwarding(nic, device)
    _take_settings(nic, device, ("ipv4", "ipv6"))


def take_routes(nic: str, device: str) -> bool:
    """Addresses, routes, neighbours that somebody made and sysctls of a card for the device on it,
    as far as its MTU bears them.

    Returns:
        whether addresses that the card has of routers go on when their lifetime is over.

    Raises:
        EnvironmentProblemError: a route cannot be hidden, or packets would go otherwise than now;
            routes are gone with the device, addresses by give_back().
    """
    (above,) = json.loads(ip("-json", "link", "show", "dev", device))
    _check_forwarding(nic, device)
    give_back(device)  # what an earlier time has left, and the card may have no more
    above["mtu"] = _take_mtu(nic, device, above["mtu"])
    if above["mtu"] < IPV4_MTU_MIN:
        return True
    has_ipv6 = above["mtu"] >= IPV6_MTU_MIN
    _check_own_addresses(nic, device)
    settled = _settled(nic) if has_ipv6 else []
    asked = reached.questions(nic, has_ipv6)
    before = reached.answers(asked)
    _take_settings(nic, device, ("ipv4", "ipv6") if has_ipv6 else ("ipv4",))
    _take_addresses(nic, settled, device)
    known = [_by(device, list(item)) for item in carried.neighbours(nic) if item[0] == "neigh"]
    for family in ("-4", "-6") if has_ipv6 else ("-4",):
        six = family == "-6"
        ip_each(family, [each for each in known if (":" in each[2 + ("proxy" in each)]) == six])
    found = [each for each in _in_order(_to_prepend(nic)) if has_ipv6 or "inet6" not in each]
    found = [_by(device, _within(above["mtu"], words)) for words in found]
    ip_each("-4", [["route", "prepend", *words] for words in found])
    _take_ipv4(nic, device)
    if has_ipv6:
        found = [_by(device, _within(above["mtu"], each)) for each in _in_order(_with_metrics(nic))]
        ip_each("-6", [["route", "append", *words] for words in found])
        _take_groups(nic, device)
    try:
        reached.check_same(asked, before, nic, device, has_ipv6)
    except EnvironmentProblemError as error:
        if has_ipv6 and _locals(_settled(nic)) != _locals(settled):
            raise EnvironmentProblemError(
                f"{nic} has got or lost addresses just now, as from a router: try again"
            ) from error
        raise
    return advertised.hear_routers(nic, settled, device) if has_ipv6 else True


def _take_mtu(nic: str, device: str, mtu: int) -> int:
    """The device's MTU, no greater than the card's: what lies behind that may take no more."""
    (card,) = json.loads(ip("-json", "link", "show", "dev", nic))
    if card["mtu"] < mtu:
        ip("link", "set", "dev", device, "mtu", str(card["mtu"]))
        mtu = card["mtu"]
    of_card, of_device = (Path("/proc/sys/net/ipv6/conf", name, "mtu") for name in (nic, device))
    if of_card.exists() and of_device.exists() and int(of_card.read_text()) < mtu:
        of_device.write_text(of_card.read_text())
    return int(mtu)


def _check_own_addresses(nic: str, device: str) -> None:
    """For an address Linux has routes of its own, before which none of the device can be put."""
    links = [json.loads(ip("-json", "addr", "show", "dev", name))[0] for name in (nic, device)]
    of_card, own = (
        {each["local"]: each for each in link["addr_info"] if each["family"] == "inet"}
        for link in links
    )
    if both := of_card.keys() & own.keys():
        raise EnvironmentProblemError(
            f"{device} has {min(both)} of {nic} already, which is lent to it while it is up: ip"
            f" addr del {' '.join(_network(own[min(both)]))} dev {shell_word(device)}"
        )


def _check_forwarding(nic: str, device: str) -> None:
    """Whoever has a device forward IPv6 takes default routes of advertised routers from all devices
    that do not insist on them (addrconf_fixup_forwarding()).
    """
    folder = Path("/proc/sys/net/ipv6/conf")
    if not all((folder / name / "forwarding").exists() for name in (nic, device)):
        return
    of_card, of_device = (
        (folder / name / "forwarding").read_text().strip() != "0" for name in (nic, device)
    )
    if not of_card or of_device:
        return
    for words in routes.listed("-6"):
        name = routes.value(words, "dev")
        if words[1] != "default" or routes.value(words, "proto") != "ra" or not name:
            continue
        if (folder / name / "accept_ra").read_text().strip() != "2":
            raise EnvironmentProblemError(
                f"{nic} forwards IPv6, and when {device} is to do so Linux takes the default route"
                f" of {name} away, which is a router's that advertises itself: sysctl"
                f" net.ipv6.conf.{name}.accept_ra=2 first"
            )


def _take_groups(nic: str, device: str) -> None:
    """Multicast of IPv6 without a device goes by the first that has the route of it."""
    kind, _, name, *_ = reached.answers([reached.GROUPS_6[0]])[0]
    if name == nic:
        words = ([kind] if kind else []) + ["ff00::/8", "dev", device, "table", "local"]
        ip("-6", "route", "append", *words, "metric", "255")


def give_back(device: str) -> None:
    """Take away the addresses that the card lent to the device on it: those of IPv4 outlast its
    being down, and what is bound to one would send by it. One that somebody gave the device itself
    stays, also where it is of the same network, whose others go with the first.
    """
    (link,) = json.loads(ip("-json", "addr", "show", "dev", device))
    lent: dict[str, list[list[str]]] = {"-4": [], "-6": []}
    for entry in reversed(link["addr_info"]):
        if entry.get("metric") == LENT_METRIC:
            words = ["addr", "del", *_network(entry), "dev", device]
            lent["-6" if entry["family"] == "inet6" else "-4"].append(words)
    promote = Path("/proc/sys/net/ipv4/conf", device, "promote_secondaries")
    if lent["-4"]:
        before = promote.read_text()
        promote.write_text("1")
        try:
            ip_each("-4", lent["-4"])
        finally:
            promote.write_text(before)
    ip_each("-6", lent["-6"])
    advertised.forget(device)


def _network(entry: dict[str, Any]) -> list[str]:
    """An address as ip takes it: with the other end of what it is of, and the length of that."""
    words = [entry["local"], *(["peer", entry["address"]] if "address" in entry else [])]
    return [*words[:-1], f"{words[-1]}/{entry['prefixlen']}"]


def cut_off(nic: str, device: str) -> str:
    """What a card has that the device on it has no room for: "", "IPv6", or "IP" altogether."""
    (above,) = json.loads(ip("-json", "link", "show", "dev", device))
    (link,) = json.loads(ip("-json", "addr", "show", "dev", nic))
    beyond = {entry["family"] for entry in link["addr_info"] if entry["scope"] != "link"}
    if above["mtu"] < IPV4_MTU_MIN:
        return "IP" if beyond else ""
    return "IPv6" if above["mtu"] < IPV6_MTU_MIN and "inet6" in beyond else ""


def groups(nic: str) -> list[str]:
    """Groups of multicast that programs have joined on a card, beside those of every device."""
    found = []
    device = ""
    for line in _lines("/proc/net/igmp")[1:]:
        words = line.split()
        if not line[:1].isspace():
            device = words[1]
        elif device == nic:
            found.append(socket.inet_ntoa(bytes.fromhex(words[0])[::-1]))
    for words in map(str.split, _lines("/proc/net/igmp6")):
        if words[1] == nic:
            found.append(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(words[2])))
    return [each for each in found if each not in EVERYWHERE and not each.startswith(OF_ADDRESSES)]


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def leases_s(nic: str) -> dict[str, int]:
    """Addresses of a card that somebody has to renew, and for how many seconds it has them; those
    of IPv6 that DHCP gives are alone in their network.
    """
    (link,) = json.loads(ip("-json", "addr", "show", "dev", nic))
    return {
        entry["local"]: entry["valid_life_time"]
        for entry in link["addr_info"]
        if (entry["family"] == "inet" or entry["prefixlen"] == 128)
        and entry["valid_life_time"] < carried.FOR_EVER_S
    }


def _take_ipv4(nic: str, device: str) -> None:
    """Those to send from where a route says none, to answer for where each device answers for its
    own, and by which multicast from a bound socket finds the device; after the routes, of which the
    kernel's are some.
    """
    (link,) = json.loads(ip("-json", "addr", "show", "dev", nic))
    own = [entry for entry in link["addr_info"] if entry["family"] == "inet"]
    words = [[*_network(each), "scope", each["scope"], "dev", device, *_lent(each)] for each in own]
    ip_each("-4", [["addr", "replace", *each] for each in words])


def _take_settings(nic: str, device: str, families: tuple[str, ...]) -> None:
    """Whether it forwards, whom it answers, what it takes for spoofed; new devices have the
    machine's defaults, and need not have IPv6. Routers are heard when the rest is done: what one
    says meanwhile would be another device's beside the card's.
    """
    for family, kind in product(families, ("conf", "neigh")):
        folder = Path("/proc/sys/net", family, kind)
        for file in sorted((folder / nic).iterdir()) if (folder / nic).is_dir() else []:
            own = folder / device / file.name  # not there of one too short for IPv6
            if file.name in OWN_SETTINGS or not file.stat().st_mode & 0o200:
                continue
            with suppress(OSError):  # a secret that nobody has set cannot be read
                text = "0\n" if file.name == advertised.ROUTERS else file.read_text()
                if text != own.read_text():
                    own.write_text(text)


def _take_addresses(nic: str, settled: list[dict[str, Any]], device: str) -> None:
    """IPv6 sends from addresses of the device alone. Of several the last that was set is used, so
    that those which the card prefers are set last: its temporary ones, or all others.
    """
    (link,) = json.loads(ip("-json", "addr", "show", "dev", device))
    has = {entry["local"] for entry in link["addr_info"]}
    choice = Path("/proc/sys/net/ipv6/conf", nic, "use_tempaddr")
    prefers = choice.exists() and choice.read_text().strip() == "2"
    found = [entry for entry in reversed(settled) if entry["local"] not in has]
    found.sort(key=lambda entry: bool(entry.get("temporary")) == prefers)
    commands = []
    for entry in found:
        # the network of one of the link is each device's own
        lent = [] if entry["scope"] == "link" else _lent(entry)
        address = f"{entry['local']}/{entry['prefixlen']}"
        commands.append(["addr", "replace", address, "dev", device, "nodad", *lent])
    ip_each("-6", commands)


def _lent(entry: dict[str, Any]) -> list[str]:
    """An address ends on the link when it ends on the card: somebody else has it then."""
    words = ["noprefixroute", "metric", str(LENT_METRIC)]
    for key, option in (("valid_life_time", "valid_lft"), ("preferred_life_time", "preferred_lft")):
        left_s = entry.get(key, carried.FOR_EVER_S)
        words += [option, str(left_s)] if left_s < carried.FOR_EVER_S else []
    return words


def _settled(nic: str) -> list[dict[str, Any]]:
    """Addresses of IPv6 which nobody else has, once that is known of all."""
    end = time.monotonic() + SETTLES_S
    while True:
        (link,) = json.loads(ip("-json", "addr", "show", "dev", nic))
        found = [
            entry
            for entry in link["addr_info"]
            if entry["family"] == "inet6" and "dadfailed" not in entry
        ]
        if time.monotonic() > end or not any(entry.get("tentative") for entry in found):
            return [entry for entry in found if not entry.get("tentative")]
        time.sleep(SETTLES_S / 50)


def _locals(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["local"] for entry in entries}


def _in_order(found: Iterator[list[str]]) -> list[list[str]]:
    """Networks before the gateways in them."""
    return sorted(found, key=lambda words: "via" in words)


def _to_prepend(nic: str) -> Iterator[list[str]]:
    """Routes of IPv4 that hide those of a card, of several that have all in common the last first:
    each gets before the others.

    Raises:
        EnvironmentProblemError: one is behind another device's, which would no longer be used.
    """
    found = list(_of_card(nic, "-4"))
    others: dict[tuple[str, ...], str] = {}
    for words in routes.listed("-4"):
        if ("dev", nic) not in pairwise(words):
            others.setdefault(routes.place(words), routes.value(words, "dev") or words[0])
        elif routes.without(words, "nhid") in found and (other := others.get(routes.place(words))):
            raise EnvironmentProblemError(
                f"{_told(words)} of {nic} is behind one of {other} with the same metric, and one"
                " before it would take that one's traffic: take one of the two away first"
            )
    for words in reversed(found):
        yield _twice(words) if words[1] == "default" and "nexthop" not in words else words


def _twice(words: list[str]) -> list[str]:
    """A default route with its next hop twice. Of default routes with one next hop and one metric
    Linux takes the one whose gateway it has heard of, be it the first or not
    (fib_select_default()); of those with several the first, as of any other.
    """
    if "encap" in words:
        return words
    hop = []
    for key in ("via", "dev"):
        if key in words:
            at = words.index(key)
            hop += words[at : at + (3 if words[at + 1] == "inet6" else 2)]
    hop += ["onlink"] if "onlink" in words else []
    for key in ("realm", "realms"):  # which is a next hop's
        hop += ["realms", routes.value(words, key)] if key in words else []
    rest = routes.without(words, "via", "dev", "realm", "realms")
    rest = [word for word in rest if word != "onlink"]
    return [*rest, "nexthop", *hop, "nexthop", *hop]


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


def _within(mtu: int, words: list[str]) -> list[str]:
    """A route with an MTU that its device has: what is longer would be sent, and lost."""
    if "mtu" not in words:
        return words
    at = words.index("mtu") + 1
    at += words[at] == "lock"
    return [*words[:at], str(min(int(words[at]), mtu)), *words[at + 1 :]]


def _with_metrics(nic: str) -> Iterator[list[str]]:
    """Routes of IPv6, each with the metric before its own: there is no other order. One with a
    metric of one more than another of the card needs none, and would be made one with that.

    Several of one metric are of routers that advertise themselves. Made by hand they would be one
    route, so that each gets a metric: the preferred one the lowest.
    """
    others = {
        (_where(words), int(routes.value(words, "metric")))
        for words in routes.listed("-6")
        if ("dev", nic) not in pairwise(words)
    }
    of_card: dict[tuple[tuple[str, ...], int], list[list[str]]] = {}
    for words in _of_card(nic, "-6"):
        if not words[1].startswith("fe80:"):  # which each device has
            of_card.setdefault((_where(words), int(routes.value(words, "metric"))), []).append(
                words
            )
    for (where, own), found in of_card.items():
        if (where, own - 1) in of_card:
            continue
        if (where, own) in others:
            raise EnvironmentProblemError(
                f"{_told(found[0])} of {nic} has the same metric as one of another device, and one"
                f" before it would take that one's traffic: {_remedy(found[0])}"
            )
        found.sort(key=_preference)
        for metric, words in enumerate(found, own - len(found)):
            _check_free(nic, words, metric, (where, metric) in {*others, *of_card})
            at = words.index("metric") + 1
            yield [*words[:at], str(metric), *words[at + 1 :]]


def _check_free(nic: str, words: list[str], metric: int, has_one: bool) -> None:
    if metric < 1 or has_one:
        raise EnvironmentProblemError(
            f"{_told(words)} of {nic} can only be hidden by one of metric {metric},"
            f" {'which there is not' if metric < 1 else 'which another route has'}:"
            f" {_remedy(words)}"
        )


def _remedy(words: list[str]) -> str:
    """Who gives a route its metric."""
    device = routes.value(words, "dev")
    by = {
        "kernel": f", by ip addr change ADDRESS dev {device} metric NUMBER",
        "ra": f", by sysctl net.ipv6.conf.{device}.ra_defrtr_metric",
    }.get(routes.value(words, "proto"), "")
    return f"give it another metric first, 10 more than any other{by}"


def _preference(words: list[str]) -> int:
    return PREFERENCES.index(routes.value(words, "pref") or "medium")


def _where(words: list[str]) -> tuple[str, ...]:
    """Prefix, source and table, within which metrics count, whatever the kind of route."""
    return (words[1], routes.value(words, "from"), routes.value(words, "table") or "main")


def _told(words: list[str]) -> str:
    return f"the route {' '.join(words[1:])}"
