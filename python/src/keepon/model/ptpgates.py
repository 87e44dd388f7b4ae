# SPDX-License-Identifier: BSD-3-Clause
"""Gate lists by hand that let no message of PTP pass, so that no clock behind them is ever set."""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.model.networktables import GateList
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.model.wire import PREAMBLE_BYTES, PTP_MESSAGE_BYTES, byte_time_ps, ceil_ns


def check(scenario: Scenario, source: str) -> None:
    """Every port passes PTP: Pdelay_Req with "gptp", else Sync or Delay_Req.

    Raises:
        ConfigError: one sentence on the first list whose gate of PTP never opens for long enough.
    """
    sync = scenario.sync
    if not sync.by_ptp:
        return
    topology = Topology(scenario)
    for index, bridge in enumerate(scenario.bridge):
        for peer, listed in bridge.gates.items() if isinstance(bridge.gates, dict) else ():
            queue = bridge.class_of(sync.priority)
            rate_bps = topology.wires[bridge.name, peer].rate_bps
            least_ns = ceil_ns(
                (PREAMBLE_BYTES + PTP_MESSAGE_BYTES[sync.mode]) * byte_time_ps(rate_bps)
            )
            if (open_ns := _open_ns(listed, queue)) < least_ns:
                raise ConfigError(
                    f"{source}: key `bridge[{index}].gates.{peer}.entries` (bridge"
                    f' "{bridge.name}"): gate {queue}, of PTP by sync.priority = {sync.priority},'
                    f" is open for {open_ns} ns at most, and its messages take {least_ns} ns, so"
                    " that clocks behind it are never set; open it for as long (0x"
                    f"{1 << queue:02x}) in an entry without the gates of streams"
                )


def _open_ns(listed: GateList, queue: int) -> int:
    """For how long a gate stays open at most, over entries in a row and the end of the cycle."""
    entries = [(int(entry.gates, 16) >> queue & 1, entry.ns) for entry in listed.entries]
    longest_ns = open_ns = 0
    for is_open, ns in entries * 2:
        open_ns = open_ns + ns if is_open else 0
        longest_ns = max(longest_ns, open_ns)
    return longest_ns
