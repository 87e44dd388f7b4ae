# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a firewall that name a card: what goes by another device passes them by.

Source: nft(8) `list ruleset`, iptables-save(8), ipset(8); meta iifgroup and oifgroup;
linux/netfilter/nf_tables.h for whether there are tables at all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from keepon.errors import EnvironmentProblemError, one_line, shell_word
from keepon.linux import ruleset
from keepon.linux.interface import ip

NFT = ("nft", "list", "ruleset")
"""Tables that iptables has made by nftables as well, but for what is of iptables alone."""
OF_IPTABLES = re.compile(r"\bxt (?:match|target)\b")
BY_NFT = ("iptables-nft-save", "ip6tables-nft-save", "ebtables-nft-save", "arptables-nft-save")
"""What lists that."""
LEGACY = {
    "iptables-legacy-save": "/proc/net/ip_tables_names",
    "ip6tables-legacy-save": "/proc/net/ip6_tables_names",
    "ebtables-legacy-save": "",
    "arptables-legacy-save": "/proc/net/arp_tables_names",
}
"""What lists tables of its own, and where the kernel says whether there are any."""
IPSET = ("ipset", "save")
BY_SET = "--match-set "
"""Sets of ipset can have devices in them, which no rule names."""
ADMINISTRATORS_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where these programs are, also for whom PATH does not lead there: su without a dash, cron."""
TIMEOUT_S = 30
ABSENT = re.compile(r"not supported|does not exist|can't initialize")
"""What the old programs say of a kernel without their tables."""
UNTOLD = re.compile(r"XT (?:match|target) .* not found")
"""Rules of iptables are listed without what nft has no extension for."""
MASQUERADE = re.compile(r"\bmasquerade\b|-j MASQUERADE\b")
QUOTED = re.compile(r'"[^"]*"')
BY_KIND = re.compile(r"\b[io]ifkind\b")
BY_GROUP = re.compile(r"\b[io]ifgroup\b|--(?:src|dst)-group\b")


def check_twins(nic: str, device: str) -> bool:
    """Whether a firewall treats the device on a card as the card: what is closed to one shall not
    be open by the other. For each, rules are taken as if the other one were not there.

    Returns:
        whether it masquerades: Linux ends such a connection when it goes by another device
        (nf_nat_oif_changed()).

    Raises:
        EnvironmentProblemError: it does not; the message has the first rule. Or nobody can list it.
    """
    masquerades = False
    for words, listing in _listings():
        rules = ruleset.units(listing, words[0])
        masquerades |= any(MASQUERADE.search(QUOTED.sub("", rule.text)) for rule in rules)
        for problem in _otherwise(rules, " ".join(words), nic, device):
            raise EnvironmentProblemError(problem)
    return masquerades


def _otherwise(rules: list[ruleset.Unit], said: str, nic: str, device: str) -> Iterator[str]:
    """What `said` lists that is otherwise for the device than for the card, or may be."""
    if rule := ruleset.untold(rules):
        yield (
            f"{said} has a text with a quotation mark or a line break in it, and nobody can tell"
            f" where it ends and rules go on (`{one_line(rule, 200)}`): change that text"
        )
    if rule := ruleset.by_number(rules):
        yield (
            f"the firewall asks for numbers of devices or parts of their names (`{rule}`, {said}),"
            f" and {device} has others than {nic}: have it ask for whole names"
        )
    if rule := ruleset.of_one_device(rules):
        yield (
            f"the firewall asks what an address is to one device (`{rule}`, {said}), and Linux"
            f" answers otherwise for {device} than for {nic}: have it ask for all of them, without"
            " `. iif` or `. oif`, --limit-iface-in, --limit-iface-out or --accept-local"
        )
    if rule := ruleset.twice(rules, nic, device):
        yield (
            f"the firewall has a chain for what comes in by {device} (`{rule}`, {said}), which by"
            f" {nic} would not come to it, or come once: take {device} out of that, as what comes"
            f" by it has been by the chains of {nic} before"
        )
    if rule := ruleset.forwarded(rules, nic):
        yield (
            f"the firewall forwards packets to {nic} (`{rule}`, {said}), which sends none while"
            f" {device} is up: have it forward them to {device}, or delete the rule"
        )
    if rule := ruleset.first_apart(rules, nic, device):
        yield (
            f"the firewall treats {device} otherwise than {nic}, first by `{rule}` ({said}): have"
            f" rules that name one of them name both, or the same for {shell_word(device)} next to"
            " them"
        )
    if any(BY_KIND.search(rule.text) for rule in rules):
        yield (
            f"the firewall has rules for kinds of devices ({said}), and {device} is of another than"
            f" {nic}: have them by names"
        )
    is_by_group = any(BY_GROUP.search(rule.text) for rule in rules)
    if is_by_group and (group := _group(nic)) != _group(device):
        yield (
            f"the firewall has rules for groups of devices ({said}), and {nic} is in group {group},"
            f" {device} in {_group(device)}: ip link set dev {shell_word(device)} group"
            f" {shell_word(group)} first"
        )


def _listings() -> Iterator[tuple[tuple[str, ...], str]]:
    """All rules there are, and the sets of ipset that they ask, by what lists them.

    Raises:
        EnvironmentProblemError: there are some that no program here lists.
    """
    has_sets = False
    for words, listing in _listings_of_rules():
        has_sets |= words != NFT and BY_SET in listing
        yield words, listing
    if has_sets and not _found(IPSET[0]):
        raise EnvironmentProblemError(
            f"the firewall has rules that ask sets of ipset, and there is no {IPSET[0]} to tell"
            " whether there are devices in them: apt install ipset"
        )
    if has_sets:
        yield IPSET, _listed(IPSET)


def _listings_of_rules() -> Iterator[tuple[tuple[str, ...], str]]:
    """All rules there are, by what lists them.

    Raises:
        EnvironmentProblemError: there are some that no program here lists.
    """
    if _found(NFT[0]):
        rules = _listed(NFT)
        yield NFT, rules
        if OF_IPTABLES.search(rules):
            if not _found(BY_NFT[0]):
                raise EnvironmentProblemError(
                    "the firewall has rules of iptables that nft cannot tell, and there is no"
                    f" {BY_NFT[0]} to: apt install iptables"
                )
            yield from (((each,), _listed((each,))) for each in BY_NFT if _found(each))
    elif tables := _tables():
        raise EnvironmentProblemError(
            f"the firewall has a table {tables[0]} of nftables, and there is no nft to tell whose"
            " rules it has: apt install nftables"
        )
    for program, list_of_tables in LEGACY.items():
        if _found(program):
            yield (program,), _listed((program,))
        elif list_of_tables and _read(list_of_tables):
            raise EnvironmentProblemError(
                f"the firewall has tables of the old iptables ({list_of_tables}), and there is no"
                f" {program} to tell whose rules they have: apt install iptables"
            )


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text()
    return ""


def _found(program: str) -> str | None:
    path = f"{os.environ.get('PATH', os.defpath)}:{ADMINISTRATORS_PATH}"
    return shutil.which(program, path=path) if program else None


def _tables() -> list[str]:
    """The tables that nftables have in this network namespace."""
    found: list[str] = []
    request = struct.pack("=IHHIIBBH", 20, 10 << 8 | 1, 0x301, 1, 0, 0, 0, 0)  # GETTABLE, dump
    with suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as netlink:
        netlink.settimeout(TIMEOUT_S)
        netlink.sendto(request, (0, 0))
        while True:
            answer = netlink.recv(65_536)
            while answer:
                length, kind = struct.unpack_from("=IH", answer)
                if kind in (2, 3):  # an error, or the end
                    return found
                name_bytes = struct.unpack_from("=H", answer, 20)[0]  # NFTA_TABLE_NAME is first
                found.append(answer[24 : 20 + name_bytes].rstrip(b"\0").decode(errors="replace"))
                answer = answer[(length + 3) & ~3 :]
    return found


def _group(device: str) -> str:
    (link,) = json.loads(ip("-json", "link", "show", "dev", device))
    return str(link.get("group", "default"))


def _listed(words: tuple[str, ...]) -> str:
    """What a program lists; nothing where the kernel has no such firewall."""
    program = _found(words[0]) or words[0]
    try:
        done = subprocess.run(
            [program, *words[1:]], capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise EnvironmentProblemError(
            f"{' '.join(words)} does not answer within {TIMEOUT_S} s, so that nobody could tell"
            " which rules the card has; see what keeps it"
        ) from error
    has_some = words != NFT or _tables()
    if done.returncode and has_some and not ABSENT.search(done.stderr):
        said = one_line(done.stderr.strip() or f"exit code {done.returncode}", 200)
        raise EnvironmentProblemError(
            f"{' '.join(words)} fails ({said}), so that nobody could tell which rules the card has;"
            " mend that"
        )
    if UNTOLD.search(done.stderr):
        raise EnvironmentProblemError(
            f"{' '.join(words)} cannot tell all of the rules ({one_line(done.stderr.strip(), 200)})"
            " and so not whose they are: apt install iptables"
        )
    return done.stdout
