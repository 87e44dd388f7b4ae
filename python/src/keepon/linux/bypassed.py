# SPDX-License-Identifier: BSD-3-Clause
"""What applies to frames that a card sends itself, and not to those of the link on it: filters and
shapers of tc, policies of IPsec, labels of addresses, rules of routing.

Source: tc-filter(8), tc(8), ip-xfrm(8), ip-addrlabel(8), ip-rule(8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from keepon.errors import EnvironmentProblemError, one_line, shell_word
from keepon.linux.interface import queues, run

KEEPS_NOTHING_BACK = (
    "noqueue", "mq", "mqprio", "multiq", "prio", "pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast",
    "fq", "fq_codel", "fq_pie", "codel", "pie", "sfq", "ingress", "clsact",
)  # fmt: skip
"""Disciplines that say who is first, and not how much is sent."""


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
    for qdisc in queues(nic):
        if qdisc["kind"] not in KEEPS_NOTHING_BACK and qdisc["handle"] != "0:":
            yield (
                f"a queueing discipline that holds frames back ({qdisc['kind']})",
                f"take it away with tc qdisc del dev {device} root, or have it on the link",
            )
    for place in ("egress", "root"):
        if told := _told("tc", "filter", "show", "dev", nic, place):
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
    for family in ("-4", "-6"):
        listed = _told("ip", family, "rule", "show").replace("[detached] ", "")
        rules = [line.split()[1:] for line in listed.splitlines()]
        for words in rules:
            if any(pair in pairwise(words) for pair in (("iif", nic), ("oif", nic))):
                twin = [link if word == nic else word for word in words]
                if twin not in rules:
                    said = " ".join(words)
                    yield f"a rule of routing (`{said}`)", f"have the same for {shell_word(link)}"


def _told(*words: str) -> str:
    """What a command lists; nothing where the kernel has no such thing."""
    with suppress(EnvironmentProblemError):
        return run(*words)
    return ""
