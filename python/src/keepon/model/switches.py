# SPDX-License-Identifier: BSD-3-Clause
"""Switches by name: what their gate control and queues can do, with the source of each number.

A source is a Linux driver, by its file in the kernel's tree, or a commit there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # drivers/net/dsa/sja1105: SJA1105_MAX_SCHEDULE_COUNT entries for all ports, each a number
        # of 200 ns above 0 and below SJA1105_TAS_MAX_DELTA (2^18); SJA1105_NUM_TC queues.
        # sja1105_tas_check_conflicts() refuses two ports whose gates change at the same instant.
        # Commit 317ab5b86c8e says that it sends frames that are longer than what is left.
        "sja1105": {
            "queues": 8,
            "gate_entries": 1_024,
            "gate_entries_all": 1_024,
            "gate_shortest_ns": 200,
            "gate_step_ns": 200,
            # The limit of one entry, which may be nearly all of the cycle.
            "gate_cycle_max_ns": ((1 << 18) - 1) * 200,
            "gate_guard": "none",
            "gate_alone": True,
        },
        # drivers/net/ethernet/microchip/lan966x/lan966x_taprio.c: LAN966X_TAPRIO_NUM_GCL entries
        # for all ports, each of LAN966X_TAPRIO_MIN_CYCLE_TIME_NS at least; cycles of at most
        # LAN966X_TAPRIO_MAX_CYCLE_TIME_NS. The driver switches on guard bands of all queues and
        # sets no longest frame for them. That they last as long as the longest frame is inferred
        # from the related VSC9959 (commit 297c4de6f780). lan966x_main.h: NUM_PRIO_QUEUES.
        "lan9668": {
            "queues": 8,
            "gate_entries": 256,
            "gate_entries_all": 256,
            "gate_shortest_ns": 1_000,
            "gate_cycle_max_ns": 999_999_999,
            "gate_guard": "fixed",
        },
        # drivers/net/dsa/microchip/ksz_common.c: num_tx_queues of KSZ9477; the driver offloads CBS
        # and ETS and no taprio.
        "ksz9477": {"queues": 4, "gates": "none"},
        # Chosen: nothing says whether it looks at priorities. If its data sheet does, state queues.
        "unmanaged": {"queues": 1, "gates": "none"},
    }
)
