# SPDX-License-Identifier: BSD-3-Clause
"""Frames longer than a slot on the simulated NIC: whole, at their txtimes, and every other slot
where it was; what goodput they leave to best effort, by the length of the frame.
"""

from __future__ import annotations

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
BYTE_PS = 8_000
OVERHEAD_BYTES = 20
SHORTEST_WIRE_BYTES = 84
PADDED_BYTES_MAX = 1518
ETHERNET_UDP_BYTES = 14 + 20 + 8 + 4
FRAGMENTS, ONE_BUFFER = 128, 1

LINKS = [
    pytest.param(105, FRAGMENTS, 13, id="105 bytes, fragments"),
    pytest.param(105, ONE_BUFFER, 36, id="105 bytes, one buffer"),
    pytest.param(230, FRAGMENTS, 7, id="230 bytes, fragments"),
    pytest.param(230, ONE_BUFFER, 9, id="230 bytes, one buffer"),
    pytest.param(605, FRAGMENTS, 3, id="605 bytes, fragments"),
    pytest.param(605, ONE_BUFFER, 3, id="605 bytes, one buffer"),
    pytest.param(1230, FRAGMENTS, 2, id="1230 bytes, fragments"),
    pytest.param(1230, ONE_BUFFER, 2, id="1230 bytes, one buffer"),
]


def talker(slot_bytes: int, fragments: int, **keepon: object) -> dict[str, object]:
    """Slots, posted for 1.3 ms at 1 Gb/s, of a NIC that takes a frame in so many buffers."""
    slots = 1280 * 1000 // ((slot_bytes + OVERHEAD_BYTES) * 8)
    return {
        "nic": {"fragments_max": fragments},
        "nic_ppm": 40.0,
        "cpu_ppm": -20.0,
        "keepon": {
            "slot_bytes": slot_bytes,
            "batch_slots": max(slots // 16, 1),
            "depth_slots": slots,
            "ring_slots": 2 * slots,
            "frame_bytes_max": PADDED_BYTES_MAX,
            "trim_down_bytes": 8,
            "trim_up_bytes": 8,
            **keepon,
        },
    }


@pytest.mark.parametrize(("slot_bytes", "fragments", "slots"), LINKS)
def test_a_full_frame_leaves_at_its_txtime_on_any_slot(
    link, accounts, slot_bytes, fragments, slots
):
    run = link(
        talker(slot_bytes, fragments), stream={"frame_bytes": 1518, "advance_ns": 400_000}
    ).run(300)
    accounts(run.summary)
    assert run.summary["verdicts"]["on_time"] >= 285, run.summary["verdicts"]
    assert np.abs(run.release_errors_ps()).max() <= BYTE_PS // 2 + 500 + 2000
    nic = run.station["nic"]
    assert nic["mixed"] == nic["torn"] == nic["idle_ps"] == 0
    assert nic["frames"] == run.summary["on_wire"]
    # One slot carries each bit of 13 and more, so the index, and what it counts, is the slots'.
    assert run.station["counters"]["slots_completed"] > 290 * MS * 1000 // (
        (slot_bytes + OVERHEAD_BYTES) * BYTE_PS
    )


@pytest.mark.parametrize("index", ["done", "fetch"])
def test_a_frame_that_would_fit_a_slot_without_trims_takes_two(link, accounts, index):
    spec = talker(1230, FRAGMENTS, frame_bytes_max=1225)
    spec["nic"] = {"fragments_max": FRAGMENTS, "index": index}
    run = link(spec, stream={"frame_bytes": 1225, "advance_ns": 400_000}).run(300)
    accounts(run.summary)
    assert run.summary["verdicts"]["on_time"] >= 285, run.summary["verdicts"]
    assert not run.station["counters"]["slips"]


def slots_of(frame_bytes: int, slot_bytes: int, fragments: int) -> int:
    """Of one frame, counted out: in fragments the rest is padding or a placeholder, in one buffer
    the others are placeholders; a byte is kept for a trim.
    """
    slot = slot_bytes + OVERHEAD_BYTES
    if frame_bytes <= slot_bytes - 8:
        return 1
    for count in range(2, 200):
        rest = count * slot - frame_bytes - OVERHEAD_BYTES
        if fragments == ONE_BUFFER and rest >= (count - 1) * SHORTEST_WIRE_BYTES + 1:
            return count
        padded = rest >= 1 and count * slot - OVERHEAD_BYTES + 1 <= PADDED_BYTES_MAX
        if fragments != ONE_BUFFER and (rest >= SHORTEST_WIRE_BYTES + 1 or padded):
            return count
    raise AssertionError(frame_bytes)


def shares(slot_bytes: int, fragments: int, payload: int, seed: int = 1) -> tuple[float, float]:
    """Of what the wire carries of frames with that payload of UDP: what best effort got beside a
    stream, in the slots that are its own, and what these can carry. The stream is on the byte.
    """
    frame_bytes = max(payload + ETHERNET_UDP_BYTES, 64)
    period_slots = 100_000 // ((slot_bytes + OVERHEAD_BYTES) * 8)
    own = max(period_slots // 10, 1)  # 10 % of the slots are the stream's
    partition = [1] * own + [2] * (period_slots - own)
    sim = _sim.Simulation(seed)
    spec = talker(slot_bytes, fragments, partition=partition)
    a = sim.add_station("a", {"driver": "keepon", **spec})
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    flow = sim.add_stream(
        {
            "id": "x",
            "talker": a,
            "listeners": [b],
            "period_ns": MS,
            "offset_ns": 64,
            "frame_bytes": min(slot_bytes - 8, 100) if slot_bytes > 80 else 64,
            "tc": 0,
            "advance_ns": 600_000,
        }
    )
    load = sim.add_load(
        {
            "id": "bg",
            "talker": a,
            "listener": b,
            "kind": "saturate",
            "frame_bytes": frame_bytes,
            "tc": 1,
            "window_frames": 200,
        }
    )
    sim.run(60 * MS)
    before = sim.load(load)["delivered"]
    sim.run(160 * MS)
    result = sim.load(load)
    sent = result["delivered"] - before
    assert result["wrong_bytes"] == result["torn"] == 0
    nic = sim.station(a)["nic"]
    assert nic["mixed"] == nic["idle_ps"] == 0
    stream = sim.stream(flow)
    assert stream["verdicts"]["on_time"] >= 145 and stream["ghosts"] == 0
    errors = sim.frames(flow)
    wire = errors["wire_ps"][errors["wire_ps"] >= 0]
    steps = np.diff(wire[-100:])
    assert np.abs(steps - MS * 1000).max() <= 2 * BYTE_PS
    count = slots_of(frame_bytes, slot_bytes, fragments)
    rows = (period_slots - own) // count * 1000  # 100 ms are 1000 periods
    ideal = 0.1 * GIGABIT / 8 / (frame_bytes + OVERHEAD_BYTES)
    return sent / ideal, rows / ideal


@pytest.mark.parametrize("payload", [18, 100, 500, 1000, 1472])
@pytest.mark.parametrize(
    ("slot_bytes", "fragments"), [(105, FRAGMENTS), (605, ONE_BUFFER), (605, FRAGMENTS)]
)
def test_best_effort_gets_what_the_grid_can_carry(slot_bytes, fragments, payload):
    got, most = shares(slot_bytes, fragments, payload)
    print(slot_bytes, fragments, payload, round(got, 3), round(most, 3))
    assert got >= 0.98 * most
    assert got <= 1.001


def test_a_frame_longer_than_any_row_of_its_class_is_oversize():
    sim = _sim.Simulation(1)
    spec = talker(105, FRAGMENTS, partition=[2] * 4 + [1] * 96)
    a = sim.add_station("a", {"driver": "keepon", **spec})
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 0)
    load = sim.add_load(
        {
            "id": "bg",
            "talker": a,
            "listener": b,
            "kind": "saturate",
            "frame_bytes": 1518,
            "tc": 1,
            "window_frames": 4,
        }
    )
    sim.run(20 * MS)
    assert sim.load(load)["delivered"] == 0
    assert sim.load(load)["verdicts"]["oversize"] > 0


def test_slots_of_several_are_not_counted_by_a_dual_clock():
    sim = _sim.Simulation(1)
    a = sim.add_station("a", {"driver": "keepon", **talker(230, FRAGMENTS)})
    b = sim.add_station(
        "b", {"driver": "keepon", "keepon": {"slot_bytes": 230, "clock": "dual", "batch_slots": 16}}
    )
    with pytest.raises(ValueError, match="frames of several slots"):
        sim.add_link(a, b, GIGABIT, 0)
