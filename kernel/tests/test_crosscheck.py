# SPDX-License-Identifier: GPL-2.0-only
"""One scenario in the simulator and on a real kernel: one core gives every frame the same slot and
the same fate.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from keepon._sim import verdict_names
from keepon.cli import session
from keepon.measure.results import NONE, FrameArrays
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.targets.sim.runner import simulate
from keepon.targets.vm.target import prepared, run_one

pytestmark = pytest.mark.vm

# Slots of 10 us; the class has two in a period of 1 ms. Frames 30, 60 and 90 come 300 us late, 100
# us after their slot; at 45 ms polls stop for 150 us of the 240 us that are posted.
SCENARIO = """
schema = "keepon.scenario/1"
name = "crosscheck-{late}"
duration_s = 0.12
warmup_s = 0.015
[[station]]
name = "talker"
driver = "keepon"
host = "raspberry-pi-4"
[station.keepon]
slot_bytes = 1230
batch_slots = 8
partition_slots = 100
[[station.keepon.classes]]
tc = 0
slots = [0, 50]
late = "{late}"
round = "{round}"
[[station.keepon.classes]]
tc = 7
slots = "rest"
late = "reschedule"
[[station]]
name = "listener"
driver = "launchtime"
host = "tsn-end-station"
[[link]]
ends = ["talker", "listener"]
[[stream]]
id = "S1"
talker = "talker"
listeners = ["listener"]
period_ns = 1_000_000
frame_bytes = 1000
advance_ns = 200_000
[[fault]]
kind = "late-submit"
node = "talker"
at_s = 0.0296
value_ns = 300_000
[[fault]]
kind = "late-submit"
node = "talker"
at_s = 0.0596
value_ns = 300_000
[[fault]]
kind = "late-submit"
node = "talker"
at_s = 0.0896
value_ns = 300_000
[[fault]]
kind = "poll-stall"
node = "talker"
at_s = 0.0455
value_ns = 150_000
"""


def fates(
    frames: FrameArrays, names: list[str], slot_ps: int, preamble_ps: int
) -> dict[int, tuple[str, int | None]]:
    """Verdict and slot in the network's grid, counted from the start, of each frame, by txtime from
    the start in ns.
    """
    found: dict[int, tuple[str, int | None]] = {}
    for txtime_ns, verdict, wire_ps in zip(
        frames.txtime_ns, frames.verdict, frames.wire_ps, strict=True
    ):
        slot = None if wire_ps == NONE else round((int(wire_ps) - preamble_ps) / slot_ps)
        found[int(txtime_ns) - frames.epoch_ns] = (
            names[verdict] if verdict >= 0 else "pending",
            slot,
        )
    return found


@pytest.mark.parametrize(("late", "rounding"), [("strict", "up"), ("relaxed", "floor")])
def test_simulator_and_kernel_agree_on_every_frame(
    late: str, rounding: str, tmp_path: Path
) -> None:
    path = tmp_path / "crosscheck.toml"
    path.write_text(SCENARIO.format(late=late, round=rounding))
    scenario: Scenario = loading.load(path)
    plan = session.planned(scenario)
    station = plan["stations"]["talker"]
    names = verdict_names()
    simulated = simulate(scenario, plan, "keepon", scenario.seed)[0].frames["S1"]
    kernel, modules = prepared("6.1")
    (run, joined), (again, _) = (
        run_one(scenario, plan, "keepon", scenario.seed, kernel, modules) for _ in range(2)
    )
    for name in ("txtime_ns", "submit_ps", "verdict", "wire_ps", "arrival_ps", "stamp_ns"):
        assert np.array_equal(getattr(again.frames["S1"], name), getattr(run.frames["S1"], name)), (
            name
        )
    here = fates(simulated, names, station["slot_time_ps"], station["preamble_ps"])
    there = fates(run.frames["S1"], names, station["slot_time_ps"], station["preamble_ps"])
    assert len(here) == 120
    assert here == there
    moved_or_late = [txtime for txtime, (verdict, _) in here.items() if verdict != "on_time"]
    assert len(moved_or_late) == 3
    # The kernel's own account of slots, from its clock, says the same as the exact record of the
    # wire.
    sent = joined["S1"].net_slot >= 0
    first = joined["S1"].net_slot[sent][0]
    on_wire = np.round(
        (joined["S1"].arrays.wire_ps[sent] - station["preamble_ps"]) / station["slot_time_ps"]
    )
    assert np.array_equal(
        joined["S1"].net_slot[sent] - first, (on_wire - on_wire[0]).astype(np.int64)
    )
