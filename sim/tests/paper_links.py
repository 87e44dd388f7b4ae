# SPDX-License-Identifier: BSD-3-Clause
"""One link with the paper's parameters, and what a run over it gives."""

from __future__ import annotations

from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000
SLOT_NS = 10_000  # of 1230 bytes
RING = 32
BATCH = 8

PAPER = {
    "slot_bytes": 1230,
    "mode": "paper",
    "batch_slots": BATCH,
    "ring_slots": RING,
    "prebuffer_frames": 0,
}


def one_link(spec, rate_bps=GIGABIT):
    """Simulation, talker, listener."""
    sim = _sim.Simulation(1)
    a = sim.add_station("a", spec)
    b = sim.add_station("b", {})
    sim.add_link(a, b, rate_bps, 50)
    return sim, a, b


def stream(sim, a, b, **spec):
    base = {
        "id": "x",
        "talker": a,
        "listeners": [b],
        "period_ns": MS,
        "offset_ns": 500_064,
        "frame_bytes": 200,
    }
    return sim.add_stream({**base, "advance_ns": 150_000, **spec})


def wire_ps(sim, flow):
    wire = sim.frames(flow)["wire_ps"]
    return wire[wire >= 0]


def errors_ns(sim, flow):
    """Wire time minus txtime of the frames sent."""
    frames = sim.frames(flow)
    sent = frames["wire_ps"] >= 0
    return (frames["wire_ps"][sent] - (frames["txtime_ns"][sent] - EPOCH_NS) * 1000) / 1000


def verdicts(sim, flow):
    """Those that occurred."""
    return {name: count for name, count in sim.stream(flow)["verdicts"].items() if count}
