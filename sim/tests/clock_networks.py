# SPDX-License-Identifier: BSD-3-Clause
"""Networks synchronised by PTP that the tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
from keepon import _sim

GIGABIT = 1_000_000_000
SECOND = 1_000_000_000
# A host whose numbers matter only in that stamps of software come late and unevenly.
RX = {"median_ns": 5120, "sigma": 0.5, "limit_ns": 15700}  # standard deviation 2705 ns
HOST = {
    "rx": RX,
    "wakeup": {"median_ns": 1980, "sigma": 0.5, "limit_ns": 4030},
    "stack": {"median_ns": 5000},
    "driver": {"median_ns": 7000},
    "poll": {"median_ns": 200, "sigma": 0.3, "cap_ns": 2000},
}
NO_RX = {**HOST, "rx": {}}


class Chain:
    """Grandmaster - bridges - slave in a row; all nodes have PTP but the bridges of mode "ptp",
    which are plain.

    `host` is that of both stations, `station` are further keys of the slave's specification.
    """

    def __init__(
        self,
        *,
        mode: str = "gptp",
        bridges: int = 2,
        master: str = "launchtime",
        slave: str = "launchtime",
        ppm: tuple[float, ...] = (0.0,),
        wander: float = 0.0,
        resolution_ns: int = 8,
        propagation_ns: int = 50,
        asymmetry_ns: int = 0,
        turnaround_ns: int = 500_000,
        seed: int = 1,
        host: dict[str, Any] | None = None,
        keepon: dict[str, Any] | None = None,
        station: dict[str, Any] | None = None,
        sync: dict[str, Any] | None = None,
    ) -> None:
        self.sim = _sim.Simulation(seed)
        count = bridges + 2
        rates = [ppm[i % len(ppm)] for i in range(count)]
        self.nodes: list[int] = []
        for i, rate in enumerate(rates):
            if 0 < i < count - 1:
                spec: dict[str, Any] = {"ppm": rate, "wander_ppb_per_s": wander}
                if mode == "gptp":
                    spec |= {
                        "sync": "ptp",
                        "ptp_turnaround_ns": turnaround_ns,
                        "stamp_resolution_ns": resolution_ns,
                    }
                self.nodes.append(self.sim.add_bridge(f"b{i}", spec))
                continue
            driver = slave if i else master
            spec = {
                "driver": driver,
                "sync": "ptp",
                "nic_ppm": rate,
                "cpu_ppm": rate / 2 + 5 if any(ppm) else 0.0,
                "wander_ppb_per_s": wander,
                "stamp_resolution_ns": resolution_ns,
                "host": host or {},
                **((station or {}) if i else {}),
            }
            if driver == "keepon":
                spec["keepon"] = keepon or {"slot_bytes": 1230, "batch_slots": 8}
            self.nodes.append(self.sim.add_station("slave" if i else "master", spec))
        for a, b in zip(self.nodes, self.nodes[1:], strict=False):
            self.sim.add_link(a, b, GIGABIT, propagation_ns, asymmetry_ns)
        self.sim.set_sync({"mode": mode, "domains": [(0, self.nodes[0])], **(sync or {})})

    @property
    def slave(self) -> int:
        return self.nodes[-1]

    def run(self, seconds: float) -> Chain:
        self.sim.run(round(seconds * SECOND))
        return self

    def offsets_ns(
        self, node: int, start_s: float, end_s: float = 1e9, key: str = "offset_ps"
    ) -> np.ndarray[Any, Any]:
        """Exact reading of a clock minus network time, of the samples in [start, end)."""
        clock = self.sim.clock(node)
        at_s = clock["at_ps"] / 1e12
        return np.asarray(clock[key][(at_s >= start_s) & (at_s < end_s)] / 1000)


def check_frames(sim: _sim.Simulation) -> dict[str, int]:
    """Every frame of PTP is accounted for; how many were delivered by kind."""
    delivered: dict[str, int] = {}
    for flow in sim.ptp_flows():
        assert flow["submitted"] == sum(flow["verdicts"].values()) + flow["pending"], flow
        lost = sum(flow["lost"].values())
        assert (
            flow["on_wire"] * len(flow["delivered_by_listener"])
            == flow["delivered"] + lost + flow["in_flight"]
        ), flow
        assert 0 <= flow["in_flight"] <= 4
        assert flow["wrong_bytes"] == flow["duplicates"] == flow["ghosts"] == 0
        delivered[flow["kind"]] = delivered.get(flow["kind"], 0) + flow["delivered"]
    return delivered
