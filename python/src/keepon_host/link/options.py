# SPDX-License-Identifier: BSD-3-Clause
"""Options of a keepon link: words to netlink attributes and back. Meaning and defaults:
docs/kernel.md.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keepon_host.errors import ConfigError, one_line
from keepon_host.link import fields
from keepon_host.link.slots import (
    CLASS_COUNT,
    SlotsError,
    class_masks,
    list_text,
    pack_masks,
    parse_list,
    slots_of_classes,
)

# IFLA_KEEPON_* that are no plain option.
PARTITION_SLOTS = 6
ALLOWED = 7
CLASSES = 8
RATE_BPS = 24
TABLE = 31
MTU = 1 << 16
"""No IFLA_KEEPON_* but IFLA_MTU, the device's own."""

PARTITION_SLOTS_MAX = 65_536
MASKS_MAX = 16_384  # of one message; longer tables go in parts
CLASS_KEEP = 0xFF

LATES = ("strict", "relaxed", "reschedule")
ROUNDINGS = ("up", "floor")


class Option(NamedTuple):
    """A row of keepon/config_fields.h or keepon_options.h; `size` is that of its attribute."""

    field: str
    name: str
    attribute: int
    size: int
    unit: str
    least: int
    most: int
    default: int
    sentence: str

    @property
    def words(self) -> list[str]:
        """What it may be if that is a word, in the order of its numbers."""
        return self.unit.split("|") if "|" in self.unit else []


class Limit(NamedTuple):
    """What one call on the pacer does at most: shown while the wire runs, and never given."""

    name: str
    attribute: int
    size: int


OPTIONS = tuple(Option(*row) for row in fields.OPTIONS)
"""In the order in which they are shown."""
LIMITS = tuple(Limit(*row) for row in fields.LIMITS)
_LAYOUTS = {1: "=B", 4: "=I", 8: "=Q"}
_MTU = Option("mtu", "mtu", MTU, 4, "MTU", 0, 2**32 - 1, 0, "of the device")
_BY_NAME = {option.name: option for option in (*OPTIONS, _MTU)}
_LIMIT_NAMES = frozenset(limit.name for limit in LIMITS)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,20}|0[0-7]{0,24}|[1-9][0-9]{0,24}", re.ASCII)

_HELP_OF_OPTIONS = "\n".join(
    f"  {f'{option.name} {option.unit}':24}{option.sentence}" for option in (*OPTIONS, _MTU)
)
HELP = f"""\
options, in any order; more on them: docs/kernel.md
  class CLASSES [ slots SLOTS | all | none | rest ]
                [ late strict | relaxed | reschedule ] [ round up | floor ]
{_HELP_OF_OPTIONS}

CLASSES: numbers 0 to 15 and ranges: 3 or 0-2,7
SLOTS:   numbers below the partition and ranges, with a step: 0-3,10 or 0-240/10;
         rest: those no class was given. Once any class has slots, classes without have none,
         but class 0 has the rest, except with: class 0 slots none.
BYTES:   of a frame with FCS; frames that do not fit a slot take several, up to frame_bytes
-:       further options are read from standard input, where lists may be of any length
example:
  keepon link add eth0 rt0 slot_bytes 1230 partition 250 class 7 slots 0-240/10 late strict"""


def _word(name: str, value: str, words: Sequence[str]) -> int:
    if value not in words:
        raise ConfigError(f'{name} "{one_line(value)}" is not known; choose {" or ".join(words)}')
    return words.index(value)


def _number(option: Option, value: str) -> int:
    """Decimal, 0x hexadecimal or 0 octal, as `ip` reads numbers; the kernel knows the range."""
    largest = 2 ** (8 * option.size) - 1
    if not _NUMBER.fullmatch(value):
        raise ConfigError(
            f'{option.name} "{one_line(value)}" is no number from {option.least} to'
            f" {option.most}; write one in this range"
        )
    number = int(value, 8 if re.fullmatch("0[0-7]+", value) else 0)
    if number > largest:
        raise ConfigError(
            f"{option.name} {one_line(value)} is not within 0 to {largest}; write a number in this"
            " range"
        )
    return number


class _Classes:
    """What a command says of classes: texts of slot lists, late policy and rounding."""

    def __init__(self) -> None:
        self.slots: dict[int, str] = {}
        self.settings = bytearray([CLASS_KEEP] * (2 * CLASS_COUNT))

    def take(self, words: Sequence[str]) -> int:
        """`class LIST` and what follows it, as far as it is about classes. Returns how many words
        that are.
        """
        if len(words) < 2:
            raise ConfigError("class without a class; write class 0 or class 1-15")
        try:
            chosen = parse_list(words[1], CLASS_COUNT)
        except ValueError as error:
            raise ConfigError(
                f'class "{one_line(words[1])}" {error} (classes are 0 to {CLASS_COUNT - 1})'
            ) from error
        used = 2
        while used < len(words) and words[used] in ("slots", "late", "round"):
            name = words[used]
            if used + 1 == len(words):
                raise ConfigError(f"{name} without a value; write it after {name}")
            self._set(chosen, name, words[used + 1])
            used += 2
        return used

    def _set(self, chosen: set[int], name: str, value: str) -> None:
        if name == "slots":
            self.slots.update(dict.fromkeys(chosen, value))
            return
        setting = _word(name, value, LATES if name == "late" else ROUNDINGS)
        for traffic_class in chosen:
            self.settings[2 * traffic_class + (name == "round")] = setting

    def attributes(self, partition: int) -> dict[int, bytes]:
        result = {}
        if any(setting != CLASS_KEEP for setting in self.settings):
            result[CLASSES] = bytes(self.settings)
        if self.slots:
            result[ALLOWED] = self._table(partition)
        return result

    def _table(self, partition: int) -> bytes:
        if not 1 <= partition <= PARTITION_SLOTS_MAX:
            raise ConfigError(
                f"partition {partition} is not within 1 to {PARTITION_SLOTS_MAX} slots; choose a"
                " shorter one"
            )
        try:
            return pack_masks(class_masks(self.slots, partition))
        except SlotsError as error:
            raise ConfigError(
                f'class {error.traffic_class}: slots "{self.slots[error.traffic_class]}" {error}; '
                f"there are slots 0 to {partition - 1}, the option partition says how many"
            ) from error


def parse(words: Sequence[str]) -> dict[int, bytes]:
    """Attributes (IFLA_KEEPON_* to payload in host order) of options as words; ConfigError says
    what is wrong.

    A class table stands there whole as ALLOWED, however long it is.

    >>> parse(["ring", "64"])[3] == struct.pack("=I", 64)
    True
    """
    attributes: dict[int, bytes] = {}
    classes = _Classes()
    partition = 1
    at = 0
    while at < len(words):
        name = words[at]
        option = _BY_NAME.get(name)
        if name == "class":
            at += classes.take(words[at:])
            continue
        if name in ("slots", "late", "round"):
            raise ConfigError(f"{name} without a class; write class CLASSES {name} ...")
        if name in _LIMIT_NAMES:
            raise ConfigError(f"{name} follows from the rest and cannot be set; leave it out")
        if option is None:
            raise ConfigError(
                f'a keepon link has no option "{name}"; keepon link add --help lists them'
            )
        if at + 1 == len(words):
            raise ConfigError(f"{name} without a value; write it after {name}")
        value = (
            _word(name, words[at + 1], option.words)
            if option.words
            else _number(option, words[at + 1])
        )
        attributes[option.attribute] = struct.pack(_LAYOUTS[option.size], value)
        if option.attribute == PARTITION_SLOTS:
            partition = value
        at += 2
    return attributes | classes.attributes(partition)


def ip_words(lower: str, name: str, words: Sequence[str]) -> list[str]:
    """`keepon link add` as ip(8) reads it: what every device has stands before the type.

    >>> " ".join(ip_words("eth0", "rt0", ["ring", "64", "mtu", "1500"]))
    'link add link eth0 name rt0 mtu 1500 type keepon ring 64'
    """
    at = words.index("mtu") if "mtu" in words else len(words)
    own, others = words[at : at + 2], [*words[:at], *words[at + 2 :]]
    return ["link", "add", "link", lower, "name", name, *own, "type", "keepon", *others]


def _groups(attributes: Mapping[int, bytes], partition: int) -> list[dict[str, Any]]:
    """Classes that have the same slots and settings are shown together."""
    table, settings = attributes[ALLOWED], attributes[CLASSES]
    groups: dict[tuple[str, int, int], list[int]] = {}
    for traffic_class, slots in enumerate(slots_of_classes(table, partition)):
        late, rounding = settings[2 * traffic_class : 2 * traffic_class + 2]
        groups.setdefault((slots, late, rounding), []).append(traffic_class)
    return [
        {"class": members, "slots": slots, "late": LATES[late], "round": ROUNDINGS[rounding]}
        for (slots, late, rounding), members in groups.items()
    ]


def describe(attributes: Mapping[int, bytes]) -> dict[str, Any]:
    """What a link's attributes say, in the order and form of the plugin's JSON; its class table is
    ALLOWED.
    """
    result: dict[str, Any] = {}
    for option in OPTIONS:
        if option.attribute not in attributes:
            continue
        (value,) = struct.unpack(_LAYOUTS[option.size], attributes[option.attribute])
        result[option.name] = option.words[value] if value < len(option.words) else value
        if option.attribute == PARTITION_SLOTS and ALLOWED in attributes and CLASSES in attributes:
            result["classes"] = _groups(attributes, value)
    if RATE_BPS in attributes:
        result["rate_bps"] = struct.unpack("=Q", attributes[RATE_BPS])[0]
    for limit in LIMITS:
        if limit.attribute in attributes:
            (result[limit.name],) = struct.unpack(_LAYOUTS[limit.size], attributes[limit.attribute])
    return result


def limits_text(description: Mapping[str, Any]) -> str:
    """The limits of a description in the plugin's words; "" without any: the wire does not run."""
    words = [
        f"{limit.name.removeprefix('limit_')} {description[limit.name]}"
        for limit in LIMITS
        if limit.name in description
    ]
    return f"most of one call: {' '.join(words)}" if words else ""


def as_words(description: Mapping[str, Any]) -> list[str]:
    """A description as options that can be given back: parse(as_words(describe(a))) sets what `a`
    says.
    """
    words: list[str] = []
    for name, value in description.items():
        if name == "classes":
            for group in value:
                members = list_text(group["class"], CLASS_COUNT)
                words += ["class", "0-15" if members == "all" else members]
                words += [word for key in ("slots", "late", "round") for word in (key, group[key])]
        elif name in _BY_NAME:
            words += [name, str(value)]
    return words
