# SPDX-License-Identifier: BSD-3-Clause
"""What the listing of a firewall says of two devices: the first rule that one of them meets and not
the other.

Source: nft(8), iptables-save(8); meta iifname, oifname, `-i` and `-o`, `+` and `*` behind the
beginning of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

NFT_NAMES = re.compile(r'(!= )?("[^"]*"|\{[^}]*\})')
IPTABLES_NAME = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|(! )?(-i|-o|--physdev-in|--physdev-out|--logical-in|--logical-out) (\S+)"
)
VARYING = (
    (re.compile(r'(comment|log prefix) "(?:[^"\\]|\\.)*"'), ""),
    (re.compile(r"\{ # .*$"), "{"),
    (re.compile(r" (expires|last used) \w+"), ""),
    (re.compile(r"counter packets \d+ bytes \d+"), "counter"),
    (re.compile(r" used \d+ \w+"), ""),
    (re.compile(r"^\[\d+:\d+\] "), ""),
)
IT, ALWAYS, NEVER = "<it>", "<always>", "<never>"


def first_apart(rules: str, nic: str, device: str) -> str:
    """The first rule or element that one of two devices meets and not the other, in the order of
    its chain; empty if there is none.
    """
    blocks: dict[str, list[str]] = {}
    for block, text in _units(rules):
        blocks.setdefault(block, []).append(text)
    for block, texts in blocks.items():
        seen = [
            [(each, text) for text in texts if NEVER not in (each := _met(text, one, other))]
            for one, other in ((nic, device), (device, nic))
        ]
        if _is_set(block):
            seen = [sorted(each) for each in seen]
        for one, other in zip_longest(*seen, fillvalue=("", "")):
            if one[0] != other[0]:
                return one[1] or other[1]
    return ""


def _units(rules: str) -> Iterator[tuple[str, str]]:
    """Rules with the chain they are in, and elements with their set or map. Filters of what comes
    in by a card are met there first, be there a link on it or not.
    """
    within: list[str] = []
    for line in rules.splitlines():
        text = line.strip()
        for pattern, instead in VARYING:
            text = pattern.sub(instead, text)
        text = " ".join(text.split())
        if text.startswith("*"):
            within = [text]
        elif text.endswith("{"):
            within.append(text)
        elif text == "}":
            within = within[:-1]
        elif within and _is_set(within[-1]):
            yield from ((" ".join(within), part) for part in _parts(text))
        elif "hook ingress " not in text:
            yield " ".join(within), _quoted(text) if "hook egress " in text else text


def _is_set(block: str) -> bool:
    return re.search(r"(^| )(set|map) \S+ \{$", block) is not None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,{}]", text) if part.strip()]


def _quoted(text: str) -> str:
    """Devices of a chain as other names are: nft lists several of them without quotes."""
    return re.sub(
        r"\{([^}\"]*)\}", lambda found: "{" + re.sub(r"[^\s,]+", r'"\g<0>"', found[1]) + "}", text
    )


def _met(text: str, name: str, other: str) -> str:
    """A rule as frames of a device meet it where there is no `other`: each pattern for its name is
    the same word, and those for the other one are gone.
    """

    def of_nft(found: re.Match[str]) -> str:
        elements = _parts(found[2]) if found[2].startswith("{") else [found[2]]
        kept = [each for element in elements for each in _element(element, name, other)]
        return found[0] if kept == elements else _condition(found[1] or "", kept)

    def of_iptables(found: re.Match[str]) -> str:
        negated, option, pattern = found.groups()
        if option is None:  # what is quoted is none
            return found[0]
        its, others = (_begins(pattern, "+", each) for each in (name, other))
        if not its and not others:
            return found[0]
        own = [pattern] if pattern.endswith("+") else []
        told = _condition(negated or "", [*own, IT] if its else own)
        return "" if told == ALWAYS else f"{option} {told}"

    met = IPTABLES_NAME.sub(of_iptables, NFT_NAMES.sub(of_nft, text))
    return " ".join(re.sub(rf"((meta )?\w+ )?{ALWAYS}", "", met).split())


def _condition(negated: str, names: list[str]) -> str:
    if not names:
        return ALWAYS if negated else NEVER
    return f"{negated}{{ {', '.join(sorted(set(names)))} }}"


def _element(text: str, name: str, other: str) -> list[str]:
    """An element of a set, or a name, as it is for a device where there is no `other`: one of the
    other's own is not there, and a pattern counts for devices beside both as well.
    """
    quoted = re.findall(r'"([^"]*)"', text)
    if any(each == other or _plain(each) == other for each in quoted):
        return []
    its = [each for each in quoted if _begins(each, "*", name)]
    kept = [] if its and not any(each.endswith("*") for each in its) else [text]
    for each in its:
        text = text.replace(f'"{each}"', IT)
    return [*kept, text] if its else kept


def _begins(pattern: str, any_end: str, name: str) -> bool:
    """Whether a pattern is of a name: its beginning and `any_end`, or the whole."""
    if pattern.endswith(any_end) and not pattern.endswith(f"\\{any_end}"):
        return name.startswith(pattern[:-1])
    return _plain(pattern) == name


def _plain(pattern: str) -> str:
    return pattern.replace("\\*", "*")
