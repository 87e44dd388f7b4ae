# SPDX-License-Identifier: BSD-3-Clause
"""Frames longer than a station's qdiscs ever let pass, which Linux drops without a word."""

from __future__ import annotations

from typing import NamedTuple

from keepon.errors import ConfigError
from keepon.model.qdiscs import stations
from keepon.model.qdiscs.tree import Fifo, Guard, Taprio, Tree
from keepon.model.wire import FRAME_BYTES_MIN, PREAMBLE_BYTES, PS_PER_NS, byte_time_ps, ceil_ns

FCS_BYTES = 4


class Flow(NamedTuple):
    """What leaves by a port: its name in messages, its class, the length of its frames with FCS,
    the rate of its link. `timed`: its frames carry txtimes.
    """

    name: str
    tc: int
    frame_bytes: int
    rate_bps: int
    timed: bool


class Window(NamedTuple):
    """Where a class is open: the first entry of it, counted from 1, and for how long."""

    entry: int
    ns: int


def longest_window(taprio: Taprio, tc: int, *, timed: bool) -> Window | None:
    """The longest time for which a class is open; None: it never shuts.

    Entries in a row that have it are one window, as for Linux since 6.3. A frame with a txtime, and
    any with txtime-assist, must be within one of them (find_entry_to_transmit()).
    """
    entries = list(taprio.entries)
    if taprio.full_offload:  # the NIC keeps to the last entry until the cycle ends
        mask, ns = entries[-1]
        entries[-1] = mask, ns + taprio.cycle_ns - sum(ns for _, ns in taprio.entries)
    alone = not taprio.full_offload and (timed or taprio.txtime_assist)
    if not alone and all(mask >> tc & 1 for mask, _ in entries):
        return None
    found = Window(1, 0)
    for first in range(len(entries)):
        total_ns = 0
        for mask, ns in [*entries[first:], *entries[:first]][: 1 if alone else None]:
            if not mask >> tc & 1:
                break
            total_ns += ns
        found = max(found, Window(first + 1, total_ns), key=lambda window: window.ns)
    return found


def check(where: str, tree: Tree, flow: Flow, timer_ns: int) -> None:
    """Refuse a flow whose frames never leave.

    Args:
        where: how messages begin.
        timer_ns: how late the CPU's timer usually opens gates of software.

    Raises:
        ConfigError: one sentence.
    """
    if isinstance(tree.root, Taprio):
        _check_window(where, tree.root, flow, timer_ns if stations.by_timers(tree) else 0)
    match stations.leaf_of(tree, flow.tc):
        case Guard(mtu_bytes=most) if 0 < most < flow.frame_bytes:
            raise ConfigError(
                f"{where}: guard refuses frames above its mtu, {most} bytes, and those of"
                f" {flow.name} have {flow.frame_bytes}; write mtu {flow.frame_bytes} or more, or"
                " leave mtu out"
            )
        case Fifo(kind="bfifo", limit=int(most)) if most < flow.frame_bytes - FCS_BYTES:
            raise ConfigError(
                f"{where}: bfifo takes no frame above its limit, {most} bytes without FCS, and"
                f" those of {flow.name} have {flow.frame_bytes - FCS_BYTES}; raise limit, or leave"
                " it out"
            )
        case Fifo(limit=0):
            raise ConfigError(
                f"{where}: a fifo with limit 0 drops all of {flow.name}; raise limit, or leave it"
                " out"
            )


def _check_window(where: str, taprio: Taprio, flow: Flow, timer_ns: int) -> None:
    window = longest_window(taprio, flow.tc, timed=flow.timed)
    byte_ps = byte_time_ps(flow.rate_bps)
    frame_ns = ceil_ns((PREAMBLE_BYTES + flow.frame_bytes) * byte_ps)
    if window is None or window.ns > frame_ns + timer_ns:
        return
    most_bytes = (window.ns - 1 - timer_ns) * PS_PER_NS // byte_ps - PREAMBLE_BYTES
    shorter = f", or frames of at most {most_bytes} bytes" if most_bytes >= FRAME_BYTES_MIN else ""
    late, few = "", "none leaves"
    if timer_ns:
        late, few = f", and the CPU's timer opens it up to {timer_ns} ns late", "few or none leave"
    mask = taprio.entries[window.entry - 1][0]
    raise ConfigError(
        f"{where}: the longest window of class {flow.tc}, entry {window.entry} (S {mask:02x}),"
        f" lasts {window.ns} ns, and a frame of {flow.name}, {flow.frame_bytes} bytes, takes"
        f" {frame_ns} ns on the wire{late}, so that {few} in it (Linux drops what is too long"
        f" without a word); make it longer than {frame_ns + timer_ns} ns{shorter}"
    )
