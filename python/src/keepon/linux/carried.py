# SPDX-License-Identifier: BSD-3-Clause
"""What goes with an interface when another driver takes its card, and is set again on the one that
comes in its place: an item each, made of the words of ip(8) that set it.

Source: ip-link(8), ip-address(8), ip-neighbour(8), ip-maddress(8), ip-token(8);
Documentation/networking/ip-sysctl.rst of Linux.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from keepon.errors import EnvironmentProblemError
from keepon.linux import ethtool
from keepon.linux.interface import ip, run
from keepon.linux.routes import Item, anywhere, deleting, nexthops, of_address, routes

ADDRESS = ("addr", "replace")
FILE, FEATURE = "file", "feature"
"""First words of items that are not of ip(8): a file and its text, a feature of ethtool -K."""

FOR_EVER_S = 2**32 - 1
TICKING = ("valid_lft", "preferred_lft", "expires")
ADDRESS_FLAGS = ("home", "nodad", "mngtmpaddr", "noprefixroute", "autojoin")
NEIGHBOUR_FLAGS = ("router", "extern_learn")
ATTRIBUTES = ("gro_flush_timeout", "napi_defer_hard_irqs", "threaded")
"""Of /sys/class/net/NAME, those an administrator sets and that need nothing of the driver."""
ROUNDED = ("unres_qlen", "retrans_time", "base_reachable_time")
"""Older units of what other files of the same folder have exactly."""
SEGMENTS = {
    "gso_max_size": "tso_max_size", "gso_max_segs": "tso_max_segs", "gro_max_size": "",
    "gso_ipv4_max_size": "tso_max_size", "gro_ipv4_max_size": "",
}  # fmt: skip
"""Limits of how much is one frame in the kernel -> what the driver bears of that."""
SIZE_AT_FIRST, SEGMENTS_AT_FIRST = 65_536, 65_535

OFF_AT_FIRST = (
    "hw-tc-offload", "l2-fwd-offload", "loopback", "rx-all", "rx-fcs", "rx-gro-list",
    "rx-ntuple-filter", "rx-udp-gro-forwarding", "tx-nocache-copy", "tx-tcp-mangleid-segmentation",
)  # fmt: skip
"""Features that drivers have, and have off unless somebody switches them on."""


def items_of(name: str) -> list[Item]:
    """What the interface has, in the order in which it can be set.

    Raises:
        EnvironmentProblemError: ip(8) does not tell.
    """
    (link,) = json.loads(ip("-d", "-json", "link", "show", "dev", name))
    by_link = {
        each["ifname"]: each["addr_info"] for each in json.loads(ip("-json", "addr", "show"))
    }
    kept = [each for each in by_link.pop(name, []) if not each.get("temporary")]
    # routes by these stay
    of_others = {each.get("local") for entries in by_link.values() for each in entries}
    addresses = [each for each in kept if each["family"] == "inet"]
    # IPv6 puts the newest before the others
    addresses += [each for each in reversed(kept) if each["family"] == "inet6"]
    objects = list(nexthops(name))
    return [
        *_link(link),
        *_files(name),
        *((FEATURE, key, ("off", "on")[on]) for key, on in _features(name).items()),
        ("link", "set", "dev", name, "up" if "UP" in link["flags"] else "down"),
        *(_address(name, each) for each in addresses),
        *neighbours(name),
        *objects,
        *routes(name, {each["local"] for each in addresses} - of_others, objects),
    ]


def restore(name: str, items: list[Item], once: bool = False) -> list[str]:
    """Set what is missing, again as long as that helps; a phrase on each item that is not there.

    One may need another: a gateway a network, a route an address. Nothing that fails keeps the rest
    from being set.

    Args:
        once: do not look what has come of it.
    """
    why: dict[Item, str] = {}
    wanted = {anywhere(_key(each)) for each in items}
    addresses = {each[2].partition("/")[0] for each in items if each[:2] == ADDRESS}
    before: tuple[list[Item], list[Item]] | None = None
    quick = True
    while True:
        there = items_of(name)
        keys = {_key(each) for each in there}
        keys |= {anywhere(each) for each in keys}
        features = {each[1] for each in there if each[0] == FEATURE}
        missing = [
            each
            for each in items
            if _key(each) not in keys and (each[0] != FEATURE or each[1] in features)
        ]
        # An address brings a route, which its owner may have deleted or replaced by another. Other
        # addresses are of somebody who sets up the new interface, too, as NetworkManager does.
        unwanted = [
            each
            for each in there
            if of_address(each) in addresses and anywhere(_key(each)) not in wanted
        ]
        if (missing, unwanted) in (([], []), before):
            return [why.get(each, f"{' '.join(each)}: it does not stay") for each in missing]
        # those behind others they were before cannot be set in front of them as long as they are
        behind = {anywhere(_key(each)) for each in missing if anywhere(each) != each}
        _set_each(name, [deleting(each) for each in there if _key(each) in behind])
        if quick:
            _set_quickly(name, missing)
        else:
            why = _set_each(name, missing)
            before = (missing, unwanted)
        _set_each(name, [deleting(each) for each in unwanted])
        if once:
            return []
        quick = False


def lost_features(items: list[Item], name: str) -> list[str]:
    """What somebody has set by ethtool -K and the driver of the interface cannot do."""
    there = _features(name)
    return [
        f"{each[1]} {each[2]}"
        for each in items
        if each[0] == FEATURE
        and each[1] not in there
        and (each[2] == "on") == (each[1] in OFF_AT_FIRST)
    ]


def _key(item: Item) -> Item:
    """An item without what is another number every second."""
    words = list(item)
    for word in TICKING:
        if word in words:
            at = words.index(word)
            del words[at : at + 2]
    return tuple(words)


def _set_quickly(name: str, items: list[Item]) -> None:
    """Set them with few processes, which may leave some out and do not say why."""
    for mode, group in groupby(items, _mode):
        if mode is None:
            _set_each(name, list(group))
            continue
        lines = [" ".join(f'"{word}"' for word in each[len(mode) :]) for each in group]
        with suppress(EnvironmentProblemError):
            run("ip", *mode, "-force", "-batch", "-", given="\n".join(lines) + "\n")


def _mode(item: Item) -> Item | None:
    """Options of the ip that may take it from its input; None: one by one."""
    if item[0] in (FILE, FEATURE) or any(set(word) & set("\"'\\\n#") for word in item):
        return None
    return item[:1] if item[0].startswith("-") else ()


def _set_each(name: str, items: list[Item]) -> dict[Item, str]:
    """Those that could not be set, and a phrase on each."""
    why = {}
    for item in items:
        try:
            if item[0] == FILE:
                Path(item[1]).write_text(item[2])
            elif item[0] == FEATURE:
                ethtool.set_feature(name, item[1], item[2] == "on")
            else:
                ip(*item)
        except OSError as error:
            why[item] = f"{' '.join(item)}: {error.strerror}"
        except EnvironmentProblemError as error:
            why[item] = str(error)
    return why


def _link(link: dict[str, Any]) -> Iterator[Item]:
    name, flags = link["ifname"], link["flags"]
    settings = {
        "address": link["address"],
        "mtu": link["mtu"],
        "txqueuelen": link.get("txqlen", 0),
        "group": link["group"],
        "alias": link.get("ifalias", ""),
        "promisc": ("off", "on")["PROMISC" in flags],
        "allmulticast": ("off", "on")["ALLMULTI" in flags],
        "multicast": ("off", "on")["MULTICAST" in flags],
        "arp": ("on", "off")["NOARP" in flags],
    }
    for key, bearable in SEGMENTS.items():
        at_first = SEGMENTS_AT_FIRST if key.endswith("segs") else SIZE_AT_FIRST
        if link.get(key, at_first) != min(at_first, link.get(bearable, at_first)):
            settings[key] = link[key]
    for key, value in settings.items():
        yield ("link", "set", "dev", name, key, str(value))
    for other in link.get("altnames", []):
        yield ("link", "property", "add", "dev", name, "altname", other)


def _features(name: str) -> dict[str, bool]:
    try:
        return ethtool.features(name)
    except OSError as error:
        raise EnvironmentProblemError(f"features of {name}: {error.strerror}") from error


def _files(name: str) -> Iterator[Item]:
    """Sysctls of the interface, and attributes of sysfs."""
    for kind in ("conf", "neigh"):
        for family in ("ipv4", "ipv6"):
            folder = Path("/proc/sys/net", family, kind, name)
            files = list(folder.iterdir()) if folder.is_dir() else []
            # addr_gen_mode may ask for the secret
            for file in sorted(files, key=lambda each: (each.name != "stable_secret", each.name)):
                if file.stat().st_mode & 0o200 and file.name not in ROUNDED:
                    with suppress(OSError):  # a secret that nobody has set cannot be read
                        yield (FILE, str(file), file.read_text().strip())
    for attribute in ATTRIBUTES:
        with suppress(OSError):  # older kernels do not have all
            file = Path("/sys/class/net", name, attribute)
            yield (FILE, str(file), file.read_text().strip())


def _address(name: str, entry: dict[str, Any]) -> Item:
    length = f"/{entry['prefixlen']}"
    peer = entry.get("address")
    words = [entry["local"], "peer", peer + length] if peer else [entry["local"] + length]
    keys = ["broadcast", "label", "metric"]
    for key in keys + (["scope"] if entry["family"] == "inet" else []):
        words += [key, str(entry[key])] if key in entry else []
    for key, option in (("valid_life_time", "valid_lft"), ("preferred_life_time", "preferred_lft")):
        words += [option, str(entry[key])] if entry.get(key, FOR_EVER_S) < FOR_EVER_S else []
    words += ["proto", str(entry["protocol"])] if "protocol" in entry else []
    words += [flag for flag in ADDRESS_FLAGS if entry.get(flag)]
    return (*ADDRESS, *words, "dev", name)


def neighbours(name: str) -> Iterator[Item]:
    """Neighbours that somebody made, those answered for, the token of IPv6, and groups of
    multicast whose frames are let in.
    """
    for state in ("permanent", "noarp"):
        for entry in json.loads(ip("-json", "neigh", "show", "nud", state, "dev", name)):
            address = entry.get("lladdr", "")
            if state == "noarp" and (not address or int(address[:2], 16) & 1):
                continue  # of a group: the kernel's own
            words = [entry["dst"], "lladdr", address, "nud", state]
            words += [flag for flag in NEIGHBOUR_FLAGS if flag in entry]
            yield ("neigh", "replace", *words, *_protocol(entry), "dev", name)
    for entry in json.loads(ip("-json", "neigh", "show", "proxy", "dev", name)):
        yield ("neigh", "replace", "proxy", entry["dst"], *_protocol(entry), "dev", name)
    if Path("/proc/sys/net/ipv6/conf", name).is_dir():
        for entry in json.loads(ip("-json", "token", "show", "dev", name)):
            if entry["token"] != "::":
                yield ("token", "set", entry["token"], "dev", name)
    for line in Path("/proc/net/dev_mcast").read_text().splitlines():
        _, device, _, by_hand, address = line.split()
        if device == name and by_hand != "0":
            yield ("maddr", "add", bytes.fromhex(address).hex(":"), "dev", name)


def _protocol(neighbour: dict[str, Any]) -> list[str]:
    """Who made it, if that is told."""
    return ["protocol", str(neighbour["protocol"])] if "protocol" in neighbour else []
