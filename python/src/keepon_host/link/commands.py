# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link add|set|show|del`: each returns the text to print, and raises one sentence.

ConfigError (exit code 2): the input is wrong, by our check or by the kernel's, whose sentence is
passed on. EnvironmentProblemError (3): the kernel does not know the link type, or we may not do
that.
"""

from __future__ import annotations

import errno
import os
import re
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from keepon_host import alone
from keepon_host.errors import ConfigError, EnvironmentProblemError, KeeponError
from keepon_host.link import netlink, options
from keepon_host.link.netlink import Generic, Link, RefusedError, Route, attribute

KIND = "keepon"
T = TypeVar("T")
_NAME = re.compile(r"[^\s/:\0]{1,15}")
_UNKNOWN_TYPE = "Unknown device type"  # the kernel's own sentence, together with EOPNOTSUPP
_LACKS = {errno.ENOMEM, errno.ENOBUFS, errno.ENFILE, errno.EMFILE, errno.EINTR, errno.EAGAIN}

TABLE_FAMILY = "keepon"  # generic netlink, kernel/include/uapi/keepon_table.h
TABLE_VERSION = 1

# KEEPON_CMD_*
TABLE_GET = 2
TABLE_PUT = 3

# KEEPON_TABLE_*
TABLE_ID = 2
TABLE_SLOTS = 3
TABLE_OFFSET = 4
TABLE_MASKS = 5

PART_SLOTS = 2048
_MASK_BYTES = 2
_ALL_CLASSES = b"\xff\xff"


def _number(value: int) -> bytes:
    return struct.pack("=I", value)


class Tables(Generic):
    """A socket for class tables of any length, handed over in parts: packed masks of 16 bits in
    host order. What it handed over goes when it is closed.
    """

    def __init__(self) -> None:
        super().__init__(TABLE_FAMILY, TABLE_VERSION)

    def offer(self, table: bytes) -> bytes:
        """Hand a table over; the payload of IFLA_KEEPON_TABLE that stands for it."""
        slots = _number(len(table) // _MASK_BYTES)
        number = b""
        for offset in range(0, len(table), _MASK_BYTES * PART_SLOTS):
            answer = self.request(
                TABLE_PUT, attribute(TABLE_SLOTS, slots),
                attribute(TABLE_OFFSET, _number(offset // _MASK_BYTES)),
                attribute(TABLE_MASKS, table[offset : offset + _MASK_BYTES * PART_SLOTS]),
            )  # fmt: skip
            number = answer[TABLE_ID]
        return number

    def fetch(self, number: bytes) -> bytes | None:
        """The table a link has by its IFLA_KEEPON_TABLE; None: the link has another one by now."""
        if not any(number):
            return _ALL_CLASSES
        table = b""
        while True:
            try:
                answer = self.request(
                    TABLE_GET,
                    attribute(TABLE_ID, number),
                    attribute(TABLE_OFFSET, _number(len(table) // _MASK_BYTES)),
                )
            except RefusedError as error:
                if error.errno == errno.ENOENT:
                    return None
                raise
            table += answer[TABLE_MASKS]
            if len(table) >= _MASK_BYTES * struct.unpack("=I", answer[TABLE_SLOTS])[0]:
                return table


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name.encode()) > 15 or name in (".", ".."):
        raise ConfigError(
            f'device name "{name}" is none: write 1 to 15 bytes without spaces, / and :'
        )


def explained(error: RefusedError, what: str) -> KeeponError:
    """The kernel's refusal as a sentence with the exit code that belongs to it."""
    if error.errno in (errno.EPERM, errno.EACCES):
        return EnvironmentProblemError(f"{what}: not permitted; run as root or with CAP_NET_ADMIN")
    if error.errno == errno.EOPNOTSUPP and error.sentence in ("", _UNKNOWN_TYPE):
        return EnvironmentProblemError(
            f"{what}: this kernel has no link type keepon; load the module with modprobe keepon"
            " (docs/kernel.md)"
        )
    sentence = error.sentence or os.strerror(error.errno)
    kind = EnvironmentProblemError if error.errno in _LACKS else ConfigError
    return kind(f"{what}: {sentence.rstrip('.')}")


def _ask(what: str, request: Callable[[], T]) -> T:
    try:
        return request()
    except RefusedError as error:
        raise explained(error, what) from error


def _find(route: Route, name: str) -> Link:
    """A device of any kind by its name."""
    _check_name(name)
    try:
        return route.request(
            netlink.RTM_GETLINK, netlink.NLM_F_ACK, 0, netlink.text(netlink.IFLA_IFNAME, name)
        )[0]
    except RefusedError as error:
        if error.errno == errno.ENODEV:
            raise ConfigError(
                f'there is no device "{name}"; ip link lists those there are'
            ) from error
        raise explained(error, name) from error


def _find_keepon(route: Route, name: str) -> Link:
    link = _find(route, name)
    if link.kind != KIND:
        raise ConfigError(
            f"{name} is no keepon link but {link.kind or 'an ordinary device'}; keepon link show"
            " lists them"
        )
    return link


def expanded(words: Sequence[str]) -> list[str]:
    """`-` stands for words from standard input: lists of slots can be longer than a
    command line.
    """
    return [
        each for word in words for each in (sys.stdin.read().split() if word == "-" else [word])
    ]


def _info(words: Sequence[str], tables: Tables, what: str) -> bytes:
    attributes = options.parse(expanded(words))
    mtu = attributes.pop(options.MTU, None)
    own = b"" if mtu is None else netlink.attribute(netlink.IFLA_MTU, mtu)
    if len(attributes.get(options.ALLOWED, b"")) > 2 * options.MASKS_MAX:
        table = attributes.pop(options.ALLOWED)
        attributes[options.TABLE] = _ask(what, lambda: tables.offer(table))
    data = [netlink.attribute(kind, payload) for kind, payload in sorted(attributes.items())]
    return own + netlink.nested(
        netlink.IFLA_LINKINFO,
        netlink.text(netlink.IFLA_INFO_KIND, KIND),
        netlink.nested(netlink.IFLA_INFO_DATA, *data),
    )


def _attributes(route: Route, tables: Tables, link: Link) -> dict[int, bytes]:
    """What the kernel says of a link, with its class table; both of one moment, even if the link
    is changed meanwhile.
    """
    while True:
        number = link.data.get(options.TABLE, bytes(8))
        table = _ask(f"class table of {link.name}", lambda: tables.fetch(number))  # noqa: B023 - called at once
        if table is not None:
            return link.data | {options.ALLOWED: table}
        link = _find_keepon(route, link.name)


def _document(route: Route, tables: Tables, link: Link) -> dict[str, Any]:
    """A link in the form of `ip -d -j link show`, what concerns it."""
    result: dict[str, Any] = {"ifindex": link.index, "ifname": link.name}
    lower = struct.unpack("=I", link.attributes.get(netlink.IFLA_LINK, bytes(4)))[0]
    if netlink.IFLA_LINK_NETNSID in link.attributes:
        result["link_index"] = lower  # in another namespace, where we do not know its name
    else:
        result["link"] = _ask(
            "lower device", lambda: route.request(netlink.RTM_GETLINK, netlink.NLM_F_ACK, lower)
        )[0].name
    result["linkinfo"] = {
        "info_kind": KIND,
        "info_data": options.describe(_attributes(route, tables, link)),
    }
    return result


def _json(document: Any) -> str:
    import json  # only here: it doubles the time the command takes to start

    return json.dumps(document, indent=1)


def _text(document: dict[str, Any]) -> str:
    return " ".join(options.as_words(document["linkinfo"]["info_data"]))


def _tell(route: Route, what: str) -> None:
    """What the kernel warns of in what it has done, beside the text that is returned."""
    if route.warning:
        alone.say(f"keepon: {what}: {route.warning.rstrip('.')}")


def _result(route: Route, tables: Tables, name: str, as_json: bool) -> str:
    return _json([_document(route, tables, _find_keepon(route, name))]) if as_json else ""


def add(lower: str, name: str, words: Sequence[str], as_json: bool = False) -> str:
    """Put a keepon link `name` on the device `lower`. With JSON, the link as it is then."""
    _check_name(name)
    flags = netlink.NLM_F_ACK | netlink.NLM_F_CREATE | netlink.NLM_F_EXCL
    with Route() as route, Tables() as tables:
        what = f"add {name}"
        info = _info(words, tables, what)
        below = netlink.attribute(netlink.IFLA_LINK, struct.pack("=I", _find(route, lower).index))
        called = netlink.text(netlink.IFLA_IFNAME, name)
        _ask(what, lambda: route.request(netlink.RTM_NEWLINK, flags, 0, called, below, info))
        _tell(route, what)
        return _result(route, tables, name, as_json)


def change(name: str, words: Sequence[str], as_json: bool = False) -> str:
    """Change options of a link, also while it is up. With JSON, the link as it is then."""
    if not words:
        raise ConfigError(
            f"set {name}: nothing to set; write options, as keepon link set --help lists them"
        )
    with Route() as route, Tables() as tables:
        what = f"set {name}"
        info = _info(words, tables, what)
        index = _find_keepon(route, name).index
        _ask(what, lambda: route.request(netlink.RTM_NEWLINK, netlink.NLM_F_ACK, index, info))
        _tell(route, what)
        return _result(route, tables, name, as_json)


def _listed(document: dict[str, Any]) -> str:
    """A link among all: its device, its options, and below, as they cannot be given back, its
    limits.
    """
    limits = options.limits_text(document["linkinfo"]["info_data"])
    line = (
        f"{document['ifname']} on {document.get('link') or document['link_index']}:"
        f" {_text(document)}"
    )
    return f"{line}\n    {limits}" if limits else line


def show(name: str | None, as_json: bool = False) -> str:
    """Options of one link, as they can be given to add and set; without a name, of each with its
    device and limits.
    """
    with Route() as route, Tables() as tables:
        if name is not None:
            found = [_find_keepon(route, name)]
        else:
            every = _ask("show", lambda: route.request(netlink.RTM_GETLINK, netlink.NLM_F_DUMP, 0))
            found = [link for link in every if link.kind == KIND]
        documents = [_document(route, tables, link) for link in found]
    if as_json:
        return _json(documents)
    if name is not None:
        return _text(documents[0])
    return "\n".join(_listed(document) for document in documents)


def check(name: str) -> None:
    """Whether a device is a keepon link."""
    with Route() as route:
        _find_keepon(route, name)


def masks(name: str) -> list[int]:
    """Of each slot of a link's partition the classes that may use it, a bit each."""
    with Route() as route, Tables() as tables:
        table = _attributes(route, tables, _find_keepon(route, name))[options.ALLOWED]
    return list(struct.unpack(f"={len(table) // 2}H", table))


def delete(name: str, as_json: bool = False) -> str:
    """Delete a link; the device below is an ordinary one again."""
    with Route() as route:
        index = _find_keepon(route, name).index
        _ask(f"del {name}", lambda: route.request(netlink.RTM_DELLINK, netlink.NLM_F_ACK, index))
    return _json({"deleted": name}) if as_json else ""
