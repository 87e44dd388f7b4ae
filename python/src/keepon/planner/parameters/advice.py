# SPDX-License-Identifier: BSD-3-Clause
"""When another transmitter serves better than continuous pacing (KeepON paper section A.11; G13,
P2, P8).
"""

from __future__ import annotations

from dataclasses import dataclass

from keepon.model.plan import Headroom
from keepon.model.scenario import HostTable
from keepon.model.wire import PS_PER_NS
from keepon.planner.parameters.needs import Choice, Needs
from keepon.planner.parameters.slots import payload_efficiency

CPU_SHARE_HIGH = 0.5
"""From here on the poll thread is said to need a core of its own: chosen."""
EFFICIENCY_LOW = 0.5
"""Below, most of what streams pay for is padding: chosen."""


@dataclass(frozen=True)
class Advice:
    """One piece of advice, and what it rests on."""

    quantity: str
    why: str


def offload(needs: Needs, choice: Choice, headroom: Headroom) -> list[Advice]:
    """Why hardware with launch times would serve better here; where nothing speaks for it, what
    speaks for keepon.
    """
    found = []
    base = (
        needs.station.host.base if isinstance(needs.station.host, HostTable) else needs.station.host
    )
    if base == "tsn-end-station":
        found.append(
            Advice(
                'advice: driver = "launchtime"',
                f'host "{base}" has a NIC with launch times, which needs no core and pads nothing',
            )
        )
    slot_ns = choice.posting.slot_ps // PS_PER_NS
    fine = [
        stream
        for _, stream in needs.streams
        if stream.jitter_ns is not None and stream.jitter_ns < slot_ns
    ]
    if needs.paper and fine:
        found.append(
            Advice(
                'advice: mode = "phase-locked", or a NIC with launch times',
                f'"{fine[0].id}" allows {fine[0].jitter_ns} ns of jitter, free-running slots drift'
                f" by {slot_ns} ns",
            )
        )
    close = [stream for _, stream in needs.streams if stream.period_ns < 2 * slot_ns]
    if close:
        found.append(
            Advice(
                "advice: a NIC with launch times, or shorter frames",
                f'"{close[0].id}" has a period of {close[0].period_ns} ns, hardly more than a slot'
                f" of {slot_ns} ns",
            )
        )
    share = headroom["cpu_share"]
    if share > CPU_SHARE_HIGH:
        found.append(
            Advice(
                "advice: a NIC with launch times unless a core is idle",
                f"the poll thread takes {100 * share:.0f} % of one; longer slots or a larger"
                " advance would lower it",
            )
        )
    used = [
        payload_efficiency(stream.frame_bytes, choice.spans.row_bytes(stream.frame_bytes))
        for _, stream in needs.streams
    ]
    if used and float(sum(used)) / len(used) < EFFICIENCY_LOW:
        found.append(
            Advice(
                "advice: a NIC with launch times, or frames that fill the slot",
                f"padding to {choice.slot_bytes} bytes takes most of what its streams own",
            )
        )
    if found:
        return found
    return [
        Advice(
            "keepon serves",
            f"{100 * share:.0f} % of one core, no special NIC; where no core is idle a NIC with"
            " launch times is better",
        )
    ]
