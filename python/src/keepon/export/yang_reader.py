# SPDX-License-Identifier: BSD-3-Clause
"""Streams as a user asks a network for them: instance data, JSON (RFC 7951) or XML (RFC 7950), of
the groups of talkers and listeners in IEEE Std 802.1Q-2022 clause 46.2.3 (ieee802-dot1q-tsn-types),
in which lists ever they are: those of ieee802-dot1q-cnc-config (IEEE Std 802.1Qdj-2024), or of
tsn-uni in its drafts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from keepon.errors import ConfigError, one_line
from keepon.export import streamtable
from keepon.export.streamtable import Column, StreamTable
from keepon.model import documents, rates
from keepon.model.tables import SECOND_NS

SUFFIXES = (".json", ".xml")
_MAC = re.compile(r"[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){5}")
_ID = re.compile(rf"{_MAC.pattern}:[0-9a-fA-F]{{2}}-[0-9a-fA-F]{{2}}")
_UINT16_MOST, _UINT32_MOST = 2**16 - 1, 2**32 - 1
_BURST_MOST = 64
"""Frames in one interval; each becomes a stream."""
_ENDS = {"talker", "listener", "listeners-list", "request"}
_READ = {
    "stream-id", "mac-address", "numerator", "denominator", "max-frames-per-interval",
    "max-frame-size", "priority-code-point", "max-latency", "num-seamless-trees", "index",
    "time-aware", "earliest-transmit-offset", "latest-transmit-offset",
}  # fmt: skip
"""Names of leaves that say something here."""


@dataclass(frozen=True)
class _Node:
    """A node with its path; its value is None where the file has none."""

    path: str
    value: Any

    @property
    def key(self) -> str:
        """Octets in hexadecimal, whichever case they are written in."""
        return str(self.value).upper()

    def at(self, *names: str) -> _Node:
        node = self
        for name in names:
            inner = node.value.get(name) if isinstance(node.value, dict) else None
            node = _Node(f"{node.path}/{name}", inner)
        return node

    def each(self, name: str) -> list[_Node]:
        """Entries of a list; one alone may stand without it, as it does in XML."""
        found = self.at(name)
        if not isinstance(found.value, list):
            return [found] if found.value is not None else []
        return [_Node(f"{found.path}[{n}]", value) for n, value in enumerate(found.value)]

    def inner(self) -> Iterator[_Node]:
        """All nodes in it."""
        for name in self.value if isinstance(self.value, dict) else ():
            for node in self.each(name):
                yield node
                yield from node.inner()


def read(path: Path) -> StreamTable:
    """The streams of instance data.

    Raises:
        ConfigError: it cannot be read, has no streams, or asks for what no stream may have; a
            sentence each, with the path of the node.
    """
    return _Reader(path).read_tree(_Node("", _tree(path)))


def _tree(path: Path) -> Any:
    """Nodes by their names without modules."""
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".xml":
            root = ElementTree.fromstring(data)
            return {_local(root): _of_element(root)}
        text = data.decode("utf-8-sig")
        return _plain(json.loads(text, parse_int=documents.whole, parse_constant=documents.finite))
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except (ValueError, RecursionError, ElementTree.ParseError) as error:
        kind = path.suffix[1:].upper()
        raise ConfigError(
            f"{path}: is no {kind} ({one_line(error, 200)}); write it again"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name.rpartition(":")[2]: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _of_element(element: ElementTree.Element) -> Any:
    found: dict[str, list[Any]] = {}
    for child in element:
        found.setdefault(_local(child), []).append(_of_element(child))
    if not found:
        return (element.text or "").strip()
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


class _Reader(streamtable.Reader):
    """A tree being read."""

    def read_tree(self, root: _Node) -> StreamTable:
        streams = [
            node
            for node in root.inner()
            if node.at("stream-id").value is not None and _ENDS & set(node.value)
        ]
        self.first: dict[str, _Node] = {}
        for end in (end for node in streams for end in node.inner()):
            own = [each.at("mac-address") for each in end.each("end-station-interfaces")]
            own = [each for each in own if each.value is not None]
            known = next((self.first[one.key] for one in own if one.key in self.first), None)
            self.first |= {one.key: known or own[0] for one in own}
        self.windows: list[str] = []
        self.several: list[str] = []
        self.twice: list[str] = []
        for node in streams:
            with self.wrong:
                self._stream(node)
        table = self.end("stream with stream-id, talker and listener")
        leaves = [
            each.path.rpartition("/")[2].partition("[")[0]
            for node in streams
            for each in node.inner()
            if not isinstance(each.value, dict)
        ]
        for names, note in (
            ([name for name in leaves if name not in _READ], "left out: {}"),
            (self.several, "one link each, whatever end-station-interfaces has: {}"),
            (self.twice, "two ways need a ring, keepon new ring FILE --from this file: {}"),
            (
                self.windows,
                "offset_ns is left to the plan, which knows no window: compare it with"
                " earliest-transmit-offset and latest-transmit-offset of {}",
            ),
        ):
            if names:
                named = ", ".join(map(one_line, dict.fromkeys(names)))
                table.notes.append(note.format(named))
        return table

    def where(self, place: str, column: Column) -> str:
        return column.header

    def _wrong(self, node: _Node, rule: str) -> ConfigError:
        if node.value is None:
            return ConfigError(f"{self.path}: {node.path}: is missing; state it")
        return self.refusal("", Column("", node.path, 0, ""), node.value, rule)

    def _whole(self, node: _Node, least: int, most: int, default: int | None = None) -> int:
        value = default if node.value is None else node.value
        if isinstance(value, str) and re.fullmatch(r"\d{1,10}", value):
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(node, f"must be a whole number from {least} to {most}; write one")
        return value

    def _text(self, node: _Node, pattern: re.Pattern[str], example: str) -> str:
        """Octets in hexadecimal, which may be written in either case."""
        if not isinstance(node.value, str) or not pattern.fullmatch(node.value):
            raise self._wrong(node, f"must be octets such as {example}; write it so")
        return node.value.upper()

    def _station(self, end: _Node) -> str:
        """The station is called by the first address that the file has of it."""
        interfaces = end.each("end-station-interfaces") or [end.at("end-station-interfaces")]
        address = interfaces[0].at("mac-address")
        address = self.first.get(address.key, address)
        name = self._text(address, _MAC, "00-00-5E-00-53-01")
        if len(interfaces) > 1:
            self.several.append(name)
        return name

    def _period(self, interval: _Node) -> dict[str, Any]:
        """An interval as a period where that is whole ns, else as a rate."""
        parts = [
            self._whole(interval.at(name), 1, _UINT32_MOST) for name in ("numerator", "denominator")
        ]
        period_ns = Fraction(*parts) * SECOND_NS
        if period_ns.denominator == 1:
            return {"period_ns": int(period_ns)}
        per_s = SECOND_NS / period_ns
        if wrong := rates.too_long(per_s):
            raise self._wrong(_Node(interval.path, f"{1 / per_s} s"), wrong)
        return {"rate_hz": streamtable.rate_hz(per_s)}

    def _stream(self, node: _Node) -> None:
        asked = _asked(node)
        talker, listeners = asked.at("talker"), asked.each("listener")
        listeners = listeners or asked.each("listeners-list") or [asked.at("listener")]
        traffic, wants = talker.at("traffic-specification"), "user-to-network-requirements"
        name = self._text(node.at("stream-id"), _ID, "00-00-5E-00-53-01:00-01").replace(":", "-")
        size, interval = traffic.at("max-frame-size"), traffic.at("interval")
        stream = {
            "id": name,
            "talker": self._station(talker),
            "listeners": list(dict.fromkeys(map(self._station, listeners))),
            **self._period(interval),
            "frame_bytes": streamtable.frame_bytes(self._whole(size, 1, _UINT16_MOST)),
        }
        for each in talker.each("data-frame-specification"):
            priority = each.at("ieee802-vlan-tag", "priority-code-point")
            if priority.value is not None:
                stream["priority"] = self._whole(priority, 0, 7)
        ends = [one.at(wants, "max-latency") for one in (talker, *listeners)]
        due_ns = min(
            filter(None, (self._whole(one, 0, _UINT32_MOST, 0) for one in ends)), default=0
        )
        aware = traffic.at("time-aware")
        if aware.value is not None:
            last = aware.at("latest-transmit-offset")
            first_ns = self._whole(aware.at("earliest-transmit-offset"), 0, _UINT32_MOST)
            last_ns = self._whole(last, first_ns, _UINT32_MOST)
            if first_ns == last_ns:
                stream["offset_ns"] = first_ns
            else:
                self.windows.append(name)
            if due_ns and due_ns <= last_ns:
                rule = f"must be below max-latency ({due_ns}), from the same instant on; lower it"
                raise self._wrong(last, rule)
            # A time-aware talker's latency begins with the interval, a deadline with the release.
            due_ns = max(0, due_ns - last_ns)
        if due_ns:
            stream["deadline_ns"] = due_ns
        trees = talker.at(wants, "num-seamless-trees")
        if self._whole(trees, 0, 2 if len(stream["listeners"]) == 1 else 1, 1) == 2:
            stream["redundancy"] = 2
            self.twice.append(name)
        written = {"id": node.at("stream-id"), "talker": talker, "listeners": asked.at("listener")}
        written |= {"period_ns": interval, "rate_hz": interval, "frame_bytes": size}
        written |= {"deadline_ns": ends[0], "offset_ns": aware.at("earliest-transmit-offset")}
        columns = {key: Column(key, one.path, 0, "") for key, one in written.items()}
        count = self._whole(traffic.at("max-frames-per-interval"), 1, _BURST_MOST)
        for number in range(1, count + 1):
            own = f"{name}-{number}" if count > 1 else name
            self.keep(node.path, stream | {"id": own}, columns)
            if stream.pop("offset_ns", None) is not None and number < count:
                self.windows.append(name)  # only the first frame of a burst has the instant


def _asked(node: _Node) -> _Node:
    """Where drafts have what is asked for beside what was configured."""
    request = node.at("request")
    return node if request.value is None else request
