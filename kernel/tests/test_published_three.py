# SPDX-License-Identifier: GPL-2.0-only
"""The published three classes beside a TCP transfer: gates offloaded to a keepon link, and the
published commands on a NIC with launch times, on the same wire. Tables go to out/measured.
"""

from __future__ import annotations

import pytest
from keepon_guests import get_kernel, offered_families
from published_ways import STREAMS, Outcome, measure, share_bps, write_table

pytestmark = pytest.mark.vm

RATE_BPS = 100_000_000
BYTE_PS = 80_000
FAST_BPS = 1_000_000_000  # as published
FRAMES = 600


def row(name: str, found: Outcome) -> str:
    cells = [f"{found.spread_ps[tc] / 1000:.0f} | {found.sent[tc]}" for tc in STREAMS]
    return f"| {name} | {' | '.join(cells)} | {found.load_bps / 1e6:.2f} |"


def write(family: str, rate_bps: int, rows: list[str]) -> None:
    rate_mbps = rate_bps // 10**6
    lines = [
        f"Kernel {get_kernel(family).version}, {rate_mbps} Mb/s, {FRAMES} frames a stream.",
        "",
        "| way | TC0 max - min, ns | sent | TC1 max - min, ns | sent | TCP Mb/s |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    write_table(f"three-{family}-{rate_mbps}", lines)


@pytest.mark.parametrize("family", offered_families())
def test_scheduled_classes_keep_to_the_byte_and_tcp_has_its_share(family: str) -> None:
    mine = measure(family, "keepon", RATE_BPS, FRAMES)
    theirs = measure(family, "launchtime", RATE_BPS, FRAMES)
    rows = [row("keepon, `flags 0x2`", mine), row("launch times, `flags 0x1`", theirs)]
    write(family, RATE_BPS, rows)
    assert mine.sent == dict.fromkeys(STREAMS, FRAMES)
    assert max(mine.spread_ps.values()) <= BYTE_PS
    # of the 1000 windows in iperf3's second four may be cut: where it begins and ends, and where
    # its threads do (98.6 % with 3.18)
    share = share_bps(RATE_BPS, "tcp")
    assert (0.99 - 4 / 1000) * share <= mine.load_bps <= share


@pytest.mark.soak
@pytest.mark.parametrize("family", offered_families())
def test_txtime_assist_takes_from_tcp(family: str) -> None:
    """At the published rate, where the CPU is what limits TCP, the published qdiscs leave it less
    than none do: 28 % on 6.1 (41 of 145 Mb/s), 63 % on 6.12 (148 of 234), its part of the cycle
    being 40 %. The published collapse is not seen on either.
    """
    plain = measure(family, "plain", FAST_BPS, FRAMES)
    theirs = measure(family, "launchtime", FAST_BPS, FRAMES)
    rows = [row("no qdiscs", plain), row("launch times, `flags 0x1`", theirs)]
    write(family, FAST_BPS, rows)
    assert theirs.load_bps < plain.load_bps
