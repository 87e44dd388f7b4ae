# SPDX-License-Identifier: BSD-3-Clause
"""A TCP connection of the simulator, as a result has it."""

from __future__ import annotations

from keepon.errors import SimulationError
from keepon.measure.simulated import TcpMachines
from keepon.model.result import TcpResult


def tcp_result(raw: TcpMachines, window_s: float, what: str) -> TcpResult:
    """Both machines, held against each other.

    Args:
        raw: of the simulator.
        window_s: length of the window that `window_bytes` are of.
        what: the load, for messages.

    Raises:
        SimulationError: the sender took something for delivered that was not.
    """
    if raw["acknowledged_bytes"] > raw["delivered_bytes"]:
        raise SimulationError(
            f"{what}: {raw['acknowledged_bytes']} bytes are acknowledged and only"
            f" {raw['delivered_bytes']} delivered"
        )
    return {
        "goodput_bps": round(raw["window_bytes"] * 8 / window_s),
        "segments": raw["segments"],
        "retransmissions": raw["retransmissions"],
        "recoveries": raw["recoveries"],
        "timeouts": raw["timeouts"],
        "probes": raw["probes"],
        "refused": raw["refused"],
        "duplicates": raw["duplicates"],
        "out_of_order": raw["out_of_order"],
        "srtt_us": raw["srtt_ps"] / 1e6,
        "window": {
            "at_s": [at / 1e12 for at in raw["at_ps"].tolist()],
            "cwnd": raw["cwnd"].tolist(),
            "ssthresh": [None if value < 0 else value for value in raw["ssthresh"].tolist()],
        },
    }
