# SPDX-License-Identifier: BSD-3-Clause
"""Bridges that forward in software: what a frame waits for, worked out by hand, and where one is
lost.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_bridges import MS, delays_ns, line, stream

WAIT_NS, COST_NS = 3_000, 5_000
EXACT = {"wait": {"base_ns": WAIT_NS}, "frame": {"base_ns": COST_NS}}
# Of a frame of 200 bytes: frame and preamble at the bridge, processing_ns, two wires.
ALONE_NS = 200 * 8 + 64 + 2_000 + 2 * 50
# From one of them on a wire to the next: preamble and gap of 20 bytes.
APART_NS = 220 * 8


def run(talkers: int = 1, streams: int = 1, **software):
    """Delays less `ALONE_NS` of streams of each talker, all due at the same instants."""
    sim, (node,), stations, listener = line(1, talkers=talkers, software={**EXACT, **software})
    flows = [
        stream(sim, talker, listener, [node], id=f"{talker}-{n}")
        for talker in stations
        for n in range(streams)
    ]
    sim.run(100 * MS)
    return [delays_ns(sim, flow) - ALONE_NS for flow in flows], [sim.stream(f) for f in flows]


def test_a_frame_waits_for_software_and_takes_its_cost() -> None:
    ((delays,), _) = run()
    assert len(delays) >= 89 and set(delays) == {WAIT_NS + COST_NS}


def test_software_that_is_at_frames_stays_at_them() -> None:
    """The second frame of a port does not wait for an interrupt, only for the first one."""
    ((first, second), _) = run(streams=2)
    assert set(first) == {WAIT_NS + COST_NS}
    assert set(second) == {WAIT_NS + 2 * COST_NS - APART_NS}


def test_ports_share_cores() -> None:
    """On one core the frame of one port waits for that of the other; on two for the wire."""
    for cores, later_ns in ((1, COST_NS), (2, APART_NS)):
        (delays, _) = run(talkers=2, cores=cores)
        first, second = sorted(delays, key=max)
        assert set(first) == {WAIT_NS + COST_NS}
        assert set(second) == {WAIT_NS + COST_NS + later_ns}


def test_a_full_ring_loses_frames_at_its_name() -> None:
    ((first, second), (_, whole)) = run(streams=2, ring_frames=1)
    assert len(first) >= 89 and len(second) == 0
    assert whole["lost"] == {"br0 receive ring from t0": whole["on_wire"]}


@pytest.mark.parametrize("priority", ["softirq", "fifo", "normal"])
def test_a_thread_of_normal_priority_waits_for_hogs(priority: str) -> None:
    """A hog has its turns from 0 on, 3 ms each but for what frames take in between, 10 us in all; a
    frame is ready at one time of each ms.
    """
    ((delays,), _) = run(priority=priority, hogs=1, frame={"base_ns": 100})
    if priority != "normal":
        assert set(delays) == {WAIT_NS + 100}
        return
    ready_ns = 320_064 + 200 * 8 + 2_000 + 50 + WAIT_NS
    for turn in range(3):
        wait_ns = WAIT_NS + (turn + 1) * MS - ready_ns
        assert len(delays[(delays > wait_ns) & (delays < wait_ns + 12_000)]) >= 28


def test_other_interrupts_take_their_share() -> None:
    """1 us of interrupt each 10 us on average: 5 us of work take 5.56, and one that begins within
    an interrupt, 1 of 10, waits half of it.
    """
    ((delays,), _) = run(irq_gap_ns=10_000, irq_ns=1_000)
    assert min(delays) == WAIT_NS + COST_NS
    assert np.mean(delays) - WAIT_NS == pytest.approx(5_000 / 0.9 + 500 / 10, abs=250)


def test_interrupts_that_take_the_core_leave_frames_nothing() -> None:
    """Two of 10 us are due each 10 us: they come as often, however late."""
    ((delays,), (whole,)) = run(irq_gap_ns=5_000, irq_ns=10_000)
    assert len(delays) < 3 < whole["on_wire"]


def test_a_thread_looks_at_no_known_instant() -> None:
    ((delays,), _) = run(poll_ns=100_000)
    looked = delays - WAIT_NS - COST_NS
    assert 0 <= min(looked) < 5_000 and 95_000 < max(looked) <= 100_000
    assert np.mean(looked) == pytest.approx(50_000, abs=10_000)


def test_every_frame_arrives_once_and_in_order() -> None:
    """Costs up to many times a period, on cores that are left."""
    spec = {"wait": {"median_ns": 5_000, "sigma": 2}, "frame": {"median_ns": 100_000, "sigma": 2}}
    sim, (node,), stations, listener = line(
        1, talkers=3, software={**spec, "cores": 2, "ring_frames": 4, "irq_gap_ns": 5_000,
                                "irq_ns": 2_000, "hogs": 3},
    )  # fmt: skip
    flows = [stream(sim, talker, listener, [node], frame_bytes=64) for talker in stations]
    sim.run(2_000 * MS)
    lost = 0
    for number, flow in enumerate(flows):
        whole, arrivals = sim.stream(flow), sim.frames(flow)["arrival_ps"][0]
        arrived = arrivals[arrivals >= 0]
        assert (np.diff(arrived) > 0).all()
        ring = whole["lost"].get(f"br0 receive ring from t{number}", 0)
        assert 0 <= whole["on_wire"] - len(arrived) - ring <= 4 + 1
        lost += ring
    assert lost > 0


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"cores": 0}, "cores"), ({"priority": "low"}, "priority"), ({"ring_frames": 0}, "ring"),
        ({"hog_ns": 0}, "hog_ns"), ({"wait": {"sigma": -1}}, "sigma"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        line(1, software=wrong)
