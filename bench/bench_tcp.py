# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the simulator's TCP in instructions a segment, under callgrind: prints a table, writes
out/bench/tcp.json.

A connection over two bridges and a link of 50 Mb/s with a round trip of 2 ms; its ACKs, drivers,
bridges and events are in the figure. Counted are Simulation.run() from second 1 to 3, and the
frames of data that the talker hands to its driver in that time. Beside it UDP over the same way,
whose frames are talker, driver, bridges and events alone.
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import dataclass
from typing import Any

from callgrind import ROOT, BenchError, counted, library

RESULT = ROOT / "out" / "bench" / "tcp.json"
RATE_BPS = 50_000_000
FROM_NS, UNTIL_NS = 1_000_000_000, 3_000_000_000


@dataclass(frozen=True)
class Case:
    """A load and the loss of its link."""

    kind: str
    congestion: str = "cubic"
    loss: float = 0.0

    def name(self) -> str:
        if self.kind == "udp":
            return "UDP"
        return f"TCP, {self.congestion}, loss {100 * self.loss:g} %"


CASES = (
    Case("udp"),
    Case("tcp"),
    Case("tcp", "reno"),
    Case("tcp", loss=0.001),
    Case("tcp", loss=0.01),
)


def network(case: Case) -> tuple[Any, int]:
    """The connection, and the number of its load."""
    from keepon._sim import Simulation

    sim = Simulation(1)
    station = {"nic": {"coalesce_ns": 0, "coalesce_frames": 1}}
    a, b = (sim.add_station(name, station) for name in "ab")
    near, far = (sim.add_bridge(name, {"queue_frames": 100}) for name in ("near", "far"))
    sim.add_link(a, near, 1_000_000_000, 0)
    sim.add_link(near, far, RATE_BPS, 1_000_000)
    sim.add_link(far, b, 1_000_000_000, 0)
    sim.set_loss(near, far, case.loss)
    load = sim.add_load(
        {
            "id": "x", "talker": a, "listener": b, "route": [near, far], "kind": case.kind,
            "congestion": case.congestion, "rate_bps": RATE_BPS * 9 // 10, "start_ns": 0,
        }
    )  # fmt: skip
    return sim, load


def run_all(collect: ctypes.CDLL) -> list[int]:
    """Every case in this process, which callgrind counts; frames of each."""
    frames = []
    for case in CASES:
        sim, load = network(case)
        sim.run(FROM_NS)
        before = int(sim.load(load)["submitted"])
        collect.collect_begin()
        sim.run(UNTIL_NS)
        collect.collect_end()
        frames.append(int(sim.load(load)["submitted"]) - before)
    return frames


def measured() -> dict[str, float]:
    """Instructions a segment by case."""
    printed, counts = counted([sys.executable, __file__, library("collect")])
    return {
        case.name(): round(instructions / frames, 1)
        for case, instructions, frames in zip(CASES, counts, json.loads(printed), strict=True)
    }


def main() -> int:
    if len(sys.argv) == 2:
        print(json.dumps(run_all(ctypes.CDLL(sys.argv[1]))))
        return 0
    try:
        document = measured()
    except BenchError as error:
        print(f"bench tcp: {error}", file=sys.stderr)
        return 3
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"instructions_per_segment": document}, indent=1) + "\n")
    for name, cost in document.items():
        print(f"{name:28} {cost:8.1f} instructions a segment")
    return 0


if __name__ == "__main__":
    sys.exit(main())
