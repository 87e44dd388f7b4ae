# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the simulator's TCP in instructions a segment, counted by valgrind: prints a table,
writes out/bench/tcp.json.

A connection over two bridges and a link of 50 Mb/s with a round trip of 2 ms; its ACKs, drivers,
bridges and events are in the figure. What starting costs is taken off by running twice as long.
Beside it UDP over the same way, whose frames are talker, driver, bridges and events alone.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from sim_peers import instructions, output

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "out" / "bench" / "tcp.json"
RATE_BPS = 50_000_000
SECONDS = 2


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


def simulate(case: Case, seconds: float) -> int:
    """Frames of data that the talker handed to its driver."""
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
    sim.run(round(seconds * 1e9))
    return int(sim.load(load)["submitted"])


def counted(number: int, seconds: float) -> tuple[int, int]:
    """Instructions of a whole process, and its frames."""
    command = [sys.executable, __file__, str(number), str(seconds)]
    return instructions(command), int(output(command).stdout)


def main() -> int:
    if len(sys.argv) == 3:
        print(simulate(CASES[int(sys.argv[1])], float(sys.argv[2])))
        return 0
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    document = {}
    for number, case in enumerate(CASES):
        short, long = counted(number, SECONDS), counted(number, 2 * SECONDS)
        cost = (long[0] - short[0]) / (long[1] - short[1])
        document[case.name()] = {"instructions_per_segment": round(cost), "segments": long[1]}
        print(f"{case.name():28} {cost:8.0f} instructions a segment, {long[1]} segments")
    RESULT.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
