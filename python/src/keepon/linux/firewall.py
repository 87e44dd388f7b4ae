# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a firewall that name a card: what goes by another device passes them by.

Source: nft(8) `list ruleset`, iptables-save(8); meta iifname, oifname, iifgroup and oifgroup, `-i`
and `-o`, `+` and `*` behind the beginning of a name; linux/netfilter/nf_tables.h for whether there
are tables at all.
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
from fnmatch import fnmatchcase
from pathlib import Path

from keepon.errors import EnvironmentProblemError, one_line, shell_word
from keepon.linux.interface import ip

NFT = ("nft", "list", "ruleset")
BY_NFT = {
    socket.AF_INET: "iptables-nft-save",
    socket.AF_INET6: "ip6tables-nft-save",
    7: "ebtables-nft-save",
    3: "arptables-nft-save",
}
"""What lists tables of nftables that iptables has made, by their family (NFPROTO_)."""
MADE_BY_IPTABLES = ("filter", "nat", "mangle", "raw", "security")
LEGACY = {
    "iptables-legacy-save": "/proc/net/ip_tables_names",
    "ip6tables-legacy-save": "/proc/net/ip6_tables_names",
    "ebtables-legacy-save": "",
}
"""What lists tables of its own, and where the kernel says whether there are any."""
ADMINISTRATORS_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where these programs are, also for whom PATH does not lead there: su without a dash, cron."""
TIMEOUT_S = 30
NAMED = re.compile(r'"([^"]+)"|(?<=-i )(\S+)|(?<=-o )(\S+)|(?<=--physdev-in )(\S+)'
                   r"|(?<=--physdev-out )(\S+)")  # fmt: skip
BY_GROUP = re.compile(r"\b[io]ifgroup\b|--(?:src|dst)-group\b")
VARYING = (
    (re.compile(r'(comment|log prefix) "[^"]*"'), ""),
    (re.compile(r"counter packets \d+ bytes \d+"), "counter"),
    (re.compile(r"^\[\d+:\d+\] "), ""),
)
IT = "<it>"


def check_twins(nic: str, device: str) -> None:
    """Whether a firewall that names a card has the same rules for the device on it, in the same
    order: what is closed to the card shall not be open by it.

    Raises:
        EnvironmentProblemError: it has not; the message has the first rule. Or nobody can list it.
    """
    for words in _programs():
        rules = _listed(words)
        missing = _missing(rules, nic, device)
        if missing:
            raise EnvironmentProblemError(
                f"{len(missing)} rules of the firewall name {nic} and not {device}"
                f" ({' '.join(words)}), the first `{missing[0]}`, and its traffic would pass them"
                f" by: have the same rules for {shell_word(device)} first"
            )
        if BY_GROUP.search(rules) and (group := _group(nic)) != _group(device):
            raise EnvironmentProblemError(
                f"the firewall has rules for groups of devices ({' '.join(words)}), and {nic} is in"
                f" group {group}, {device} in {_group(device)}: ip link set dev"
                f" {shell_word(device)} group {shell_word(group)} first"
            )


def _programs() -> Iterator[tuple[str, ...]]:
    """What lists all rules there are.

    Raises:
        EnvironmentProblemError: there are some that no program here lists.
    """
    if _found(NFT[0]):
        yield NFT
    else:
        for family, table in _tables():
            if table not in MADE_BY_IPTABLES or not _found(BY_NFT.get(family, "")):
                raise EnvironmentProblemError(
                    f"the firewall has a table {table} of nftables, and there is no nft to tell"
                    " whose rules it has: apt install nftables"
                )
        yield from ((each,) for each in BY_NFT.values() if _found(each))
    for program, tables in LEGACY.items():
        if _found(program):
            yield (program,)
        elif tables and _read(tables):
            raise EnvironmentProblemError(
                f"the firewall has tables of the old iptables ({tables}), and there is no {program}"
                " to tell whose rules they have: apt install iptables"
            )


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text()
    return ""


def _found(program: str) -> str | None:
    path = f"{os.environ.get('PATH', os.defpath)}:{ADMINISTRATORS_PATH}"
    return shutil.which(program, path=path) if program else None


def _tables() -> list[tuple[int, str]]:
    """Family and name of each table that nftables have in this network namespace."""
    found: list[tuple[int, str]] = []
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
                name = answer[24 : 20 + name_bytes].rstrip(b"\0").decode(errors="replace")
                found.append((answer[16], name))
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
    tables = _read(LEGACY[words[0]]) if LEGACY.get(words[0]) else words[0] == NFT[0] and _tables()
    if done.returncode and tables:
        said = one_line(done.stderr.strip() or f"exit code {done.returncode}", 200)
        raise EnvironmentProblemError(
            f"{' '.join(words)} fails ({said}), so that nobody could tell which rules the card has;"
            " mend that"
        )
    return done.stdout


def _missing(rules: str, nic: str, device: str) -> list[str]:
    """Rules and elements that match the card and have no twin for the device: in the same chain,
    behind the twins of those before.
    """
    blocks: dict[str, list[str]] = {}
    for block, text in _units(rules):
        blocks.setdefault(block, []).append(text)
    missing = []
    for texts in blocks.values():
        own = [text for text in texts if not _for_both(text, nic, device)]
        twins = iter([_of(text, device) for text in own if IT in _of(text, device)])
        missing += [text for text in own if IT in (it := _of(text, nic)) and it not in twins]
    return missing


def _units(rules: str) -> Iterator[tuple[str, str]]:
    """Rules with the chain they are in, and elements with their set or map."""
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
        elif "hook ingress " in text:
            continue  # what comes in by the card comes there first, be there a link on it or not
        elif within and within[-1].startswith(("set ", "map ")):
            yield from ((" ".join(within), part) for part in _parts(text))
        else:
            yield " ".join(within), text


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,{}]", text) if part.strip()]


def _for_both(text: str, nic: str, device: str) -> bool:
    """Whether a rule says of the device what it says of the card."""
    of_card = {part for part in _parts(_of(text, nic)) if IT in part}
    return bool(of_card) and of_card <= set(_parts(_of(text, device)))


def _of(text: str, name: str) -> str:
    """A rule in which each pattern that matches the name is the same word."""

    def put(found: re.Match[str]) -> str:
        pattern = next(filter(None, found.groups())).strip('"').replace("+", "*")
        return IT if fnmatchcase(name, pattern) else found[0]

    return NAMED.sub(put, text)
