# SPDX-License-Identifier: BSD-3-Clause
"""What the listing of a firewall says of two devices: the first rule that one of them meets and not
the other.

Source: nft(8), iptables-save(8), ipset(8); meta iifname, oifname, `-i` and `-o`, `+` and `*` behind
the beginning of a name. In nft's strings nothing is escaped, in those of iptables-save it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

STRING = re.compile(r'"([^"]*)"')
BRACES = r'\{(?:[^}"]|"[^"]*")*\}'
NFT_NAMES = re.compile(rf'(!= )?("[^"]*"|{BRACES})')
DEVICE = re.compile(
    r"(?:^| )(?:[io]if|[io]ifname|sdif|sdifname|[io]brname|ifname|iface_index|device|devices ="
    r"|dup to)$"
)
"""Behind these words of nft a name is a device's; the types of sets are among them."""
A_DEVICE = r"\b(?:[io]if|[io]ifname|sdif|sdifname)\b"
BY_NUMBER = re.compile(
    rf'{A_DEVICE} (?:[&|^<>]|(?:!= )?(?:"[^"]*"|\w+)-)|\bjhash (?:(?!\bmod\b).)*{A_DEVICE}'
)
"""Masks, shifts, what is greater or less, from one to another, sums of a hash."""
OF_PACKETS_DEVICE = re.compile(
    r"(?<!\S)-m bpf .*(?:--object-pinned"
    r'|--bytecode "[^"]*,(?:32|40|48) \d+ \d+ 429496(?:3[2-9]|[4-7]\d)\d\d\b)'
)
"""Programs of BPF that nobody can read here, or that load other than bytes of the packet, as the
number of its device (linux/filter.h: SKF_AD_OFF, -0x1000).
"""
RANGE = re.compile(r'(?:"[^"]*"|\w+)[-/]')
HOOKED = re.compile(r"(?:type \w+ hook (?:ingress|egress) )?devices = \{")
"""Chains and flowtables with a list of devices."""
OF_TEE = re.compile(r'(?<=\bdup to )(\S+) device ([^\s"{]+)$')
INGRESS = "hook ingress "
NOT_TWICE = re.compile(
    r"\b(?:add|delete|dup|fwd|goto|jump|limit|numgen|queue|quota|random|set|synproxy|update|vmap)\b"
)
"""What a packet may meet otherwise the second time, or leads to it."""
SENDING = re.compile(r"\b(?:dup|fwd) ")
FORWARDING = re.compile(r"\bfwd (?:ip6? )?to ")
FIB = re.compile(r"\bfib (\w+(?: \. \w+)*) (type|oifname|oif|check)\b")
OF_ONE_DEVICE = re.compile(
    r"(?<!\S)--limit-iface-(?:in|out)(?!\S)|(?<!\S)-m rpfilter (?!.*--loose).*--accept-local(?!\S)"
)
"""What asks for own addresses of one device, in iptables."""
OBJECT = (
    r"(?:(?:counter|limit|quota|synproxy) name|secmark set"
    r"|ct (?:(?:original|reply) )?(?:expectation|helper|timeout)(?: set)?) "
)
OF_OBJECT = re.compile(rf"{OBJECT}$")
"""Behind these it is what somebody called an object."""
TO_OBJECT = re.compile(rf'{OBJECT}[^"{{]*$')
"""Behind these a map leads to objects."""
IPTABLES_STRING = r'"(?:[^"\\]|\\.)*"'
IPTABLES_NAME = re.compile(
    rf"{IPTABLES_STRING}"
    r"|(?<!\S)(! )?(-i|-o|--oif|--physdev-in|--physdev-out|--logical-in|--logical-out) (! )?(\S+)"
)
NFT_SAID = re.compile(rf'log prefix "[^"]*"|(?<!\S)comment ".*"$|{BRACES}|"[^"]*"')
"""What somebody wrote for people is no rule; the comment of a rule is its end."""
OF_ELEMENT = re.compile(r' ?(?<!\S)comment "[^"]*"|"[^"]*"')
IPTABLES_SAID = re.compile(
    rf"(?<!\S)--(?:comment|log-prefix|nflog-prefix) (?:{IPTABLES_STRING}|\S+)|{IPTABLES_STRING}"
)
OF_IPSET = re.compile(r' (?:timeout|packets|bytes) \d+| comment "[^"]*"')
VARYING = (
    (re.compile(r"\{ # .*$"), "{"),
    (re.compile(r" (expires|last used) \w+"), ""),
    (re.compile(r"counter packets \d+ bytes \d+"), "counter"),
    (re.compile(r" used \d+ \w+"), ""),
    (re.compile(r"^\[\d+:\d+\] "), ""),
)
IT, ALWAYS, NEVER = "<it>", "<always>", "<never>"


class Unit(NamedTuple):
    """A rule with the chain it is in, or an element with its set or map."""

    block: str
    text: str
    of: str = ""
    """Types of what is in the set or map; the line of a chain that hooks it to ingress."""


def units(listing: str, program: str) -> list[Unit]:
    """What a listing of nft, ipset or one of iptables has, without what changes by itself."""
    return list({"nft": _of_nft, "ipset": _of_ipset}.get(program, _of_iptables)(listing))


def untold(rules: list[Unit]) -> str:
    """The first line of nft in which a string has no end: one with a quotation mark in it, as only
    iptables makes it, or a line break.
    """
    return next((each.text for each in rules if each.text.count('"') % 2 and _by_nft(each)), "")


def by_number(rules: list[Unit]) -> str:
    """The first rule or element that hangs on the number of a device, or on a part of its name; one
    number of nft alone is of another device, as those of both are listed by their names.
    """
    for unit in rules:
        if not _by_nft(unit):
            if OF_PACKETS_DEVICE.search(unit.text):
                return unit.text
            continue
        if _is_set(unit.block):
            keys = [(unit.text, unit.of)]
        elif BY_NUMBER.search(unit.text):
            return unit.text
        else:
            keys = [
                (element, unit.text[: found.start()])
                for found in NFT_NAMES.finditer(unit.text)
                for element in _parts(found[2])
            ]
        for key, of in keys:
            if any(is_device and RANGE.match(field) for field, is_device in _fields(key, of)):
                return unit.text
    return ""


def of_one_device(rules: list[Unit]) -> str:
    """The first rule that asks what an address is to one device: Linux knows each address that the
    link has of the card as the card's first (inet_dev_addr_type(), rpfilter_lookup_reverse()).

    Whether a source is reached by the device that a packet came in by is the same for both, as
    routes are; but not for one that is at the ingress of the card yet.
    """
    at_ingress = {_table(each) for each in rules if INGRESS in each.of}
    for unit in rules:
        if not _by_nft(unit) and OF_ONE_DEVICE.search(unit.text):
            return unit.text
        for by, asked in FIB.findall(unit.text) if _by_nft(unit) else []:
            devices = {"iif", "oif"} & set(by.split(" . "))
            if devices and (asked == "type" or "oif" in devices or _table(unit) in at_ingress):
                return unit.text
    return ""


def twice(rules: list[Unit], nic: str, link: str) -> str:
    """The first chain at the ingress of a card's link that frames of the card alone do not meet, or
    not twice: those of the link meet the card's ingress, and then the link's.
    """
    for unit in rules:
        if _is_at(unit, link) and (not _is_at(unit, nic) or NOT_TWICE.search(unit.text)):
            return unit.of
    return ""


def forwarded(rules: list[Unit], nic: str) -> str:
    """The first rule that gives packets to a card to send: such a rule is the last they meet, so
    that none for the link next to it would be met.
    """
    for unit in filter(_by_nft, rules):
        if found := FORWARDING.search(unit.text):
            names = STRING.findall(unit.text[found.end() :])
            if any(_begins(each, "*", nic) for each in names):
                return unit.text
    return ""


def first_apart(rules: list[Unit], nic: str, device: str) -> str:
    """The first rule or element that one of two devices meets and not the other, in the order of
    its chain; empty if there is none. A chain at the ingress of the card is met there, be there a
    link on it or not, and none for others than the two is met, except by what it sends.
    """
    blocks: dict[str, list[Unit]] = {}
    for unit in rules:
        if INGRESS in unit.of and not _is_at(unit, device) and not SENDING.search(unit.text):
            continue
        blocks.setdefault(unit.block, []).append(unit)
    for block, found in blocks.items():
        seen = [
            [(each, unit.text) for unit in found if NEVER not in (each := _met(unit, one, other))]
            for one, other in ((nic, device), (device, nic))
        ]
        if _is_set(block):
            seen = [sorted(each) for each in seen]
        for one, other in zip_longest(*seen, fillvalue=("", "")):
            if one[0] != other[0]:
                texts = [text for text in (one[1], other[1]) if text]
                return next((text for text in texts if _names_one(text, nic, device)), texts[0])
    return ""


def _names_one(text: str, nic: str, device: str) -> bool:
    """Whether it names one of both alone: that is the rule to look at."""
    names = {re.escape(name) for name in (nic, device)}
    return sum(bool(re.search(rf'(?<![^\s"{{,]){name}(?![^\s"}},])', text)) for name in names) == 1


def _of_nft(listing: str) -> Iterator[Unit]:
    within: list[str] = []
    of = ""
    for line in listing.split("\n"):
        has_elements = bool(within) and _is_set(within[-1])
        text = (OF_ELEMENT if has_elements else NFT_SAID).sub(_unsaid, line.strip())
        text = _lasting(text)
        if text.endswith("{"):
            within.append(text)
            of = ""
        elif text == "}":
            within = within[:-1]
            of = ""
        elif has_elements:
            of = text if text.startswith(("type ", "typeof ")) else of
            yield from (Unit(" ".join(within), part, of) for part in _parts(text))
        else:
            text = _quoted(text)
            of = text if text.startswith("type ") and INGRESS in text else of
            yield Unit(" ".join(within), text, of)


def _table(unit: Unit) -> str:
    return unit.block.partition(" {")[0]


def _is_at(unit: Unit, name: str) -> bool:
    """Whether it is of a chain at the ingress of a device."""
    return INGRESS in unit.of and any(_begins(e, "*", name) for e in STRING.findall(unit.of))


def _of_iptables(listing: str) -> Iterator[Unit]:
    table = "*"
    for line in listing.split("\n"):
        text = _lasting(IPTABLES_SAID.sub(_unsaid, line.strip()))
        if text.startswith("*"):
            table = text
        else:
            yield Unit(table, text)


def _of_ipset(listing: str) -> Iterator[Unit]:
    """Elements of sets that have devices, as nft would list them."""
    with_devices = set()
    for line in listing.split("\n"):
        verb, name, what, *_ = [*line.split(maxsplit=2), "", "", ""]
        if verb == "create" and what.startswith("hash:net,iface "):
            with_devices.add(name)
        elif verb == "add" and name in with_devices:
            element, _, more = OF_IPSET.sub("", what).partition(" ")
            net, _, device = element.partition(",")
            pattern = device.removeprefix("physdev:") + "*" * ("wildcard" in more.split())
            words = [net, *(["physdev"] if device.startswith("physdev:") else []), more]
            text = " ".join(word for word in words if word)
            yield Unit(f"set {name} {{", f'{text} . "{pattern}"', "type ipv4_addr . ifname")


def _by_nft(unit: Unit) -> bool:
    return not unit.block.startswith("*")


def _unsaid(found: re.Match[str]) -> str:
    if found[0].startswith("{"):
        return OF_ELEMENT.sub(_unsaid, found[0])
    return found[0] if found[0].startswith('"') else ""


def _lasting(text: str) -> str:
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return " ".join(text.split())


def _is_set(block: str) -> bool:
    return re.search(r"(^| )(set|map) \S+ \{$", block) is not None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,{}]", text) if part.strip()]


def _quoted(text: str) -> str:
    """Devices as other names are: nft lists several of a chain without quotes, and the one of
    iptables' TEE.
    """
    if HOOKED.match(text):
        of_list = re.compile(r"(?<=\{)[^}\"]*(?=\})")
        return of_list.sub(lambda found: re.sub(r"[^\s,]+", r'"\g<0>"', found[0]), text)
    return OF_TEE.sub(r'\1 device "\2"', text)


def _met(unit: Unit, name: str, other: str) -> str:
    """A rule as frames of a device meet it where there is no `other`: each pattern for its name is
    the same word, and those for the other one are gone.
    """

    def of_nft(found: re.Match[str]) -> str:
        before = unit.text[: found.start()]
        if OF_OBJECT.search(before) and not found[2].startswith("{"):
            return found[0]
        if FORWARDING.search(before):  # to the link is as well, by whatever they came
            return found[0]
        elements = _parts(found[2]) if found[2].startswith("{") else [found[2]]
        kept = [each for element in elements for each in _element(element, before, name, other)]
        return found[0] if kept == elements else _condition(found[1] or "", kept)

    def of_iptables(found: re.Match[str]) -> str:
        before, option, behind, pattern = found.groups()
        if option is None:  # what is quoted is none
            return found[0]
        its, others = (_begins(pattern, "+", each) for each in (name, other))
        if not its and not others:
            return found[0]
        own = [pattern] if pattern.endswith("+") else []
        told = _condition(before or behind or "", [*own, IT] if its else own)
        return "" if told == ALWAYS else f"{option} {told}"

    if _is_set(unit.block):
        return ", ".join(sorted(_element(unit.text, unit.of, name, other))) or NEVER
    if _by_nft(unit):
        met = NFT_NAMES.sub(of_nft, unit.text)
    else:
        met = IPTABLES_NAME.sub(of_iptables, unit.text)
    return " ".join(re.sub(rf"((meta )?\w+ )?{ALWAYS}", "", met).split())


def _condition(negated: str, names: list[str]) -> str:
    if not names:
        return ALWAYS if negated else NEVER
    return f"{negated}{{ {', '.join(sorted(set(names)))} }}"


def _element(text: str, of: str, name: str, other: str) -> list[str]:
    """An element of a set, or a name, as it is for a device where there is no `other`: one of the
    other's own is not there, and a pattern counts for devices beside both as well. What has the
    name of one of the two, and nobody knows what it is, is not the same for both.

    Args:
        of: the types of the set, or what of a rule stands before.
    """
    if '"' not in text:
        return [text]
    key, colon, value = text.partition(" : ")
    quoted: list[str] = []
    unknown = [] if _leads_elsewhere(of) else STRING.findall(value)
    for field, is_device in _fields(key, of):
        (quoted if is_device else unknown).extend(STRING.findall(field))
    if any(_begins(each, "*", who) for each in unknown for who in (name, other)):
        return [f"{text} <by {name}>"]
    if any(each == other or _plain(each) == other for each in quoted):
        return []
    its = [each for each in quoted if _begins(each, "*", name)]
    kept = [] if its and not any(each.endswith("*") for each in its) else [text]
    for each in its:
        key = key.replace(f'"{each}"', IT)
    return [*kept, f"{key}{colon}{value}"] if its else kept


def _fields(key: str, of: str) -> Iterator[tuple[str, bool]]:
    """Each field of a key, and whether it is a device."""
    fields = key.split(" . ")
    types = re.sub(r" v?map$", "", of.partition(" : ")[0].strip()).split(" . ")
    for field, its_type in zip_longest(fields, types[-len(fields) :], fillvalue=""):
        yield field, DEVICE.search(its_type) is not None


def _leads_elsewhere(of: str) -> bool:
    """Whether values of a map are no devices for sure."""
    if of.startswith(("type ", "typeof ")):
        return DEVICE.search(of) is None
    return TO_OBJECT.search(of) is not None


def _begins(pattern: str, any_end: str, name: str) -> bool:
    """Whether a pattern is of a name: its beginning and `any_end`, or the whole."""
    if pattern.endswith(any_end) and not pattern.endswith(f"\\{any_end}"):
        return name.startswith(pattern[:-1])
    return _plain(pattern) == name


def _plain(pattern: str) -> str:
    return pattern.replace("\\*", "*")
