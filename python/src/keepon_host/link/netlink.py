# SPDX-License-Identifier: BSD-3-Clause
"""Netlink messages, those about links above all: requests, attributes of answers, the kernel's
sentences of refusal.

Numbers are those of linux/netlink.h, linux/genetlink.h, linux/rtnetlink.h and linux/if_link.h,
which are the same on every architecture Python runs on; messages are in host order, aligned to 4
bytes.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from keepon_host.errors import EnvironmentProblemError

RTM_NEWLINK = 16
RTM_DELLINK = 17
RTM_GETLINK = 18

NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
NLM_F_EXCL = 0x200
NLM_F_CREATE = 0x400
NLM_F_DUMP = 0x300
NLM_F_CAPPED = 0x100
NLM_F_ACK_TLVS = 0x200

IFLA_IFNAME = 3
IFLA_MTU = 4
IFLA_LINK = 5
IFLA_LINKINFO = 18
IFLA_LINK_NETNSID = 37
IFLA_INFO_KIND = 1
IFLA_INFO_DATA = 2

_NLMSG_NOOP = 1
_NLMSG_ERROR = 2
_NLMSG_DONE = 3
_NLMSGERR_ATTR_MSG = 1
_NLA_F_NESTED = 0x8000
_NLA_TYPE_MASK = 0x3FFF
_SOL_NETLINK = 270
_NETLINK_CAP_ACK = 10
_NETLINK_EXT_ACK = 11
_NETLINK_ROUTE = 0
_NETLINK_GENERIC = 16
_GENL_ID_CTRL = 16
_CTRL_CMD_GETFAMILY = 3
_CTRL_ATTR_FAMILY_ID = 1
_CTRL_ATTR_FAMILY_NAME = 2

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_INTERFACE = struct.Struct("=BxHiII")  # family, device type, index, flags, change
_ATTRIBUTE = struct.Struct("=HH")  # length, type
_GENERIC = struct.Struct("=BBxx")  # command, version
_ERROR_BYTES = 4 + _HEADER.size
_ROOM_BYTES = 1 << 18  # an answer is 32 kB at most
_ANSWER_S = 60.0


class RefusedError(Exception):
    """The kernel refused a request: its errno, and its sentence if it said one."""

    def __init__(self, number: int, sentence: str) -> None:
        super().__init__(sentence or os.strerror(number))
        self.errno = number
        self.sentence = sentence


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute with its header and padding; ValueError beyond the 65531 bytes it can hold."""
    length = _ATTRIBUTE.size + len(payload)
    if length > 0xFFFF:
        raise ValueError(f"a netlink attribute of {len(payload)} bytes; it can hold 65531")
    return _padded(_ATTRIBUTE.pack(length, kind) + payload)


def nested(kind: int, *attributes: bytes) -> bytes:
    return attribute(kind | _NLA_F_NESTED, b"".join(attributes))


def text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def parse_attributes(data: bytes) -> dict[int, bytes]:
    """Attribute type (flags removed) to payload; of equal ones the last counts, as in the
    kernel.
    """
    result = {}
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size or at + length > len(data):
            raise EnvironmentProblemError(
                f"netlink: an attribute of {length} bytes does not fit its message"
            )
        result[kind & _NLA_TYPE_MASK] = data[at + _ATTRIBUTE.size : at + length]
        at += length + -length % 4
    return result


def about_link(index: int, *attributes: bytes) -> bytes:
    """Body of a request about a link; `index` 0: the link is named by an attribute or all are
    meant.
    """
    return _INTERFACE.pack(socket.AF_UNSPEC, 0, index, 0, 0) + b"".join(attributes)


def message(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    return _HEADER.pack(_HEADER.size + len(body), kind, flags | NLM_F_REQUEST, sequence, 0) + body


def split(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """The messages of a datagram: type, flags, sequence, body."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, flags, sequence, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size or at + length > len(data):
            raise EnvironmentProblemError(
                f"netlink: a message of {length} bytes does not fit its datagram"
            )
        yield kind, flags, sequence, data[at + _HEADER.size : at + length]
        at += length + -length % 4


def acknowledgement(flags: int, body: bytes) -> tuple[int, str]:
    """Error number, 0 for done, and sentence of an acknowledgement; the request may stand before
    the sentence.
    """
    (number,) = struct.unpack_from("=i", body)
    sentence = b""
    if flags & NLM_F_ACK_TLVS:
        start = _ERROR_BYTES
        if not flags & NLM_F_CAPPED:
            start += (struct.unpack_from("=I", body, 4)[0] - _HEADER.size + 3) & ~3
        sentence = parse_attributes(body[start:]).get(_NLMSGERR_ATTR_MSG, b"")
    return -number, sentence.rstrip(b"\0").decode(errors="replace")


class Link:
    """A link as the kernel describes it: index, and attributes IFLA_* to payload."""

    def __init__(self, body: bytes) -> None:
        self.index: int = _INTERFACE.unpack_from(body)[2]
        self.attributes = parse_attributes(body[_INTERFACE.size :])
        self.name = self.attributes.get(IFLA_IFNAME, b"").rstrip(b"\0").decode(errors="replace")
        info = parse_attributes(self.attributes.get(IFLA_LINKINFO, b""))
        self.kind = info.get(IFLA_INFO_KIND, b"").rstrip(b"\0").decode(errors="replace")
        self.data = parse_attributes(info.get(IFLA_INFO_DATA, b""))


class Channel:
    """A netlink socket of the network namespace it is opened in; `warning`: what the kernel said
    beside the success of the last request.
    """

    def __init__(self, protocol: int) -> None:
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
            self._socket.setsockopt(_SOL_NETLINK, _NETLINK_EXT_ACK, 1)
            self._socket.setsockopt(_SOL_NETLINK, _NETLINK_CAP_ACK, 1)
            self._socket.settimeout(_ANSWER_S)
        except (OSError, AttributeError) as error:
            raise EnvironmentProblemError(
                f"netlink: no socket of this machine's kernel ({error}); it needs Linux"
            ) from error
        self._sequence = 0
        self.warning = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def _receive(self) -> bytes:
        data, _, flags, _ = self._socket.recvmsg(_ROOM_BYTES)
        if flags & socket.MSG_TRUNC:
            raise EnvironmentProblemError(
                f"netlink: an answer of more than {_ROOM_BYTES} bytes was cut off"
            )
        return data

    def talk(self, kind: int, flags: int, body: bytes) -> list[bytes]:
        """Send a request and wait for its end; the bodies it was answered with. RefusedError: the
        kernel refused.
        """
        self._sequence += 1
        bodies: list[bytes] = []
        try:
            self._socket.send(message(kind, flags, self._sequence, body))
            while True:
                for answer, answer_flags, sequence, content in split(self._receive()):
                    if sequence != self._sequence or answer == _NLMSG_NOOP:
                        continue
                    if answer == _NLMSG_ERROR:
                        number, self.warning = acknowledgement(answer_flags, content)
                        if number:
                            raise RefusedError(number, self.warning)
                        return bodies
                    if answer == _NLMSG_DONE:
                        return bodies
                    bodies.append(content)
        except OSError as error:
            raise EnvironmentProblemError(
                f"netlink: the kernel did not answer ({error}); try again"
            ) from error


class Route(Channel):
    """A socket to rtnetlink."""

    def __init__(self) -> None:
        super().__init__(_NETLINK_ROUTE)

    def request(self, kind: int, flags: int, index: int, *attributes: bytes) -> list[Link]:
        """Send a request about a link and wait for its end; the links it was answered with."""
        return [Link(body) for body in self.talk(kind, flags, about_link(index, *attributes))]


class Generic(Channel):
    """A socket to one family of generic netlink."""

    def __init__(self, family: str, version: int) -> None:
        super().__init__(_NETLINK_GENERIC)
        self._version = version
        self._family = 0
        self._name = family

    def find(self) -> None:
        """Ask for the number of the family, which may load its module; RefusedError with
        EOPNOTSUPP: there is none.
        """
        if self._family:
            return
        try:
            found = self._ask(
                _GENL_ID_CTRL, _CTRL_CMD_GETFAMILY, text(_CTRL_ATTR_FAMILY_NAME, self._name)
            )
        except RefusedError as error:
            raise RefusedError(
                errno.EOPNOTSUPP if error.errno == errno.ENOENT else error.errno, ""
            ) from error
        (self._family,) = struct.unpack("=H", found[_CTRL_ATTR_FAMILY_ID])

    def request(self, command: int, *attributes: bytes) -> dict[int, bytes]:
        """Attributes of the answer; RefusedError: the kernel refused."""
        self.find()
        return self._ask(self._family, command, *attributes)

    def _ask(self, family: int, command: int, *attributes: bytes) -> dict[int, bytes]:
        body = _GENERIC.pack(command, self._version) + b"".join(attributes)
        answers = self.talk(family, NLM_F_ACK, body)
        return parse_attributes(answers[0][_GENERIC.size :]) if answers else {}
