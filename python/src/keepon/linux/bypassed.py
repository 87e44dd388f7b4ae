# SPDX-License-Identifier: BSD-3-Clause
"""What applies to frames that a card sends itself, and not to those of the link on it: filters and
shapers of tc, policies of IPsec, labels of addresses, rules of routing.

Source: tc-filter(8), tc(8), ip-xfrm(8), ip-addrlabel(8), ip-rule(8), bpf(2) and linux/bpf.h.
"""

from __future__ import annotations

import platform
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise, zip_longest

from keepon.errors import EnvironmentProblemError, one_line, shell_word
from keepon.linux.interface import Queueing, queues, run

KEEPS_NOTHING_BACK = (
    "noqueue", "mq", "mqprio", "multiq", "prio", "pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast",
    "fq", "fq_codel", "fq_pie", "codel", "pie", "sfq", "ingress", "clsact",
)  # fmt: skip
"""Disciplines that say who is first, and not how much is sent."""

BPF_CALLS = {"x86_64": 321, "aarch64": 280, "armv7l": 386, "riscv64": 280}
"""Number of bpf(2)."""
BPF_PROG_QUERY, BPF_TCX_EGRESS = 16, 47
IT = "<it>"
INGRESS = "ffff:"


def check_nothing(nic: str, device: str) -> None:
    """Whether something applies to what a card sends that would not if it went by the link `device`
    on it.

    Raises:
        EnvironmentProblemError: it would; the message says what takes that away.
    """
    for what, remedy in _found(nic, device):
        raise EnvironmentProblemError(
            f"{nic} has {what}, which would not apply to what it sends by the link on it: {remedy}"
        )


def _found(nic: str, link: str) -> Iterator[tuple[str, str]]:
    device = shell_word(nic)
    found = queues(nic)
    for qdisc in found:
        if _holds_back(qdisc):
            yield (
                f"a queueing discipline that holds frames back ({qdisc.kind})",
                f"take it away with tc qdisc del dev {device} root, or have it on the link",
            )
    parents = [f"parent {each.handle}" for each in found if each.handle not in ("0:", INGRESS)]
    for place in ("egress", *parents):
        if told := _told("tc", "filter", "show", "dev", nic, *place.split()):
            yield (
                f"a filter of tc for what it sends (`{one_line(told.splitlines()[0], 80)}`)",
                f"take it away with tc filter del dev {device} {place}, or have it on the link",
            )
    named = re.compile(rf"\bdev {re.escape(nic)}(?!\S)")
    for kind in ("policy", "state"):
        if named.search(_told("ip", "xfrm", kind, "list")):
            yield (
                f"IPsec of its own (ip xfrm {kind} with dev {nic})",
                "have that without the device, or for the link",
            )
    if named.search(_told("ip", "addrlabel", "list")):
        yield "labels of addresses of its own", "delete them with ip addrlabel del"
    if count := _bpf_programs(nic):
        yield (
            f"{count} programs of BPF for what it sends (tcx)",
            f"see bpftool net show dev {device}, and have them on the link",
        )
    for family in ("-4", "-6"):
        listed = _told("ip", family, "rule", "show").replace("[detached] ", "")
        rules = [line.split()[1:] for line in listed.splitlines()]
        of_card, of_link = _rules(rules, nic, link), _rules(rules, link, nic)
        if of_card != of_link:
            apart = next(each for each in zip_longest(of_card, of_link) if each[0] != each[1])
            said = " ".join(apart[0] or apart[1]).replace(IT, nic if apart[0] else link)
            yield (
                f"a rule of routing (`{said}`) that is not for {link} alike",
                f"have the same for {shell_word(link)} next to it",
            )


def _holds_back(qdisc: Queueing) -> bool:
    if qdisc.handle == "0:":
        return False
    if qdisc.kind == "cake":
        return qdisc.value("bandwidth") != "unlimited"
    return qdisc.kind not in KEEPS_NOTHING_BACK or bool(qdisc.value("maxrate"))


def _rules(rules: list[list[str]], name: str, other: str) -> list[list[str]]:
    """Rules as a device meets them where there is no `other`, whose own are gone."""
    met = []
    for words in rules:
        pairs = list(pairwise(words))
        if ("iif", other) in pairs or ("oif", other) in pairs:
            if words[0] == "not":
                met.append(words)
            continue
        met.append(
            [IT if before in ("iif", "oif") and word == name else word
             for before, word in pairwise(["", *words])]
        )  # fmt: skip
    return met


def _bpf_programs(nic: str) -> int:
    """How many hang on what a card sends, of those that tc does not list (Linux 6.6)."""
    call = BPF_CALLS.get(platform.machine())
    if call is None:
        return 0
    try:
        import ctypes
    except ImportError:  # libffi is not there, where there is little but Python
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    words = (socket.if_nametoindex(nic), BPF_TCX_EGRESS, 0, 0, 0, 0, 0, 0)
    query = ctypes.create_string_buffer(struct.pack("=IIIIQIIQ", *words) + bytes(64))
    if libc.syscall(call, BPF_PROG_QUERY, query, len(query)) < 0:
        return 0  # an older kernel
    return int(struct.unpack_from("=I", query, 24)[0])


def _told(*words: str) -> str:
    """What a command lists; nothing where the kernel has no such thing."""
    with suppress(EnvironmentProblemError):
        return run(*words)
    return ""
