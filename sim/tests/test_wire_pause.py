# SPDX-License-Identifier: BSD-3-Clause
"""PAUSE frames (IEEE Std 802.3 annex 31B): the wire stands still and nobody tells the driver.

What can be known is stated in docs/model.md: a pause is noticed by the first poll that comes
`detect` after the wire stopped, if it is longer than that. detect = width of the strip + what one
reading leaves open (a slot, the range of the index's latency and the time of the read). A shorter
one may pass unseen; the clock is then late by it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from keepon import _sim

GIGABIT = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000
PAUSED_NS = 100_300_123
RESYNC_NS = 30 * MS  # the synchronisation after it, with some to spare
READ_NS = 200
RESTART_NS = 2_000
FETCH_NS = 800
PREFETCH = 2
TRIM_BYTES = 8


@dataclass(frozen=True)
class Wire:
    """A rate, a slot and what the index of the NIC says."""

    rate_bps: int
    slot_bytes: int
    batch: int
    index: str
    lag_ns: int = 0

    @property
    def byte_ps(self) -> int:
        return 8 * 10**12 // self.rate_bps

    @property
    def slot_ps(self) -> int:
        return (self.slot_bytes + 20) * self.byte_ps

    @property
    def reading_ps(self) -> int:
        """What one reading leaves open: a slot, the read, and how much the latency of the index may
        vary.
        """
        longest_slot_ps = self.slot_ps + TRIM_BYTES * self.byte_ps
        latency_ps = self.lag_ns * 1000
        if self.index == "fetch":  # from a full FIFO to an empty one
            latency_ps += PREFETCH * longest_slot_ps + RESTART_NS * 1000
            latency_ps -= min(PREFETCH * (2 * self.slot_ps - longest_slot_ps), RESTART_NS * 1000)
        return (longest_slot_ps + latency_ps + READ_NS * 1000) * 1002 // 1000 + 10_000

    def spec(self, sync: str, nic_ppm: float) -> dict[str, Any]:
        return {
            "driver": "keepon",
            "sync": sync,
            "nic_ppm": nic_ppm,
            "cpu_ppm": -20.0,
            "nic": {
                "index": self.index,
                "index_lag_ns_max": self.lag_ns,
                "index_read_ns": READ_NS,
                "prefetch_slots": PREFETCH,
                "fetch_ns": FETCH_NS,
                "restart_ns": RESTART_NS,
            },
            "keepon": {
                "slot_bytes": self.slot_bytes,
                "batch_slots": self.batch,
                "ring_slots": 512,
                "depth_slots": 400,
                "trim_down_bytes": TRIM_BYTES,
                "trim_up_bytes": TRIM_BYTES,
            },
            "probe": {"head_interval_ns": 2_000},
        }


WIRES = {
    "1G-10us-done": Wire(GIGABIT, 1230, 8, "done"),
    "1G-2us-done": Wire(GIGABIT, 230, 64, "done"),
    "1G-10us-late-done": Wire(GIGABIT, 1230, 8, "done", lag_ns=1_500),
    "100M-50us-done": Wire(GIGABIT // 10, 605, 4, "done"),
    "2.5G-4us-done": Wire(2_500_000_000, 1230, 8, "done"),
    "1G-10us-fetch": Wire(GIGABIT, 1230, 8, "fetch"),
    "1G-2us-fetch": Wire(GIGABIT, 230, 64, "fetch"),
    "100M-50us-fetch": Wire(GIGABIT // 10, 605, 4, "fetch"),
}


class Rig:
    """A station with a frame every 200 us, and pauses of its wire."""

    def __init__(
        self, wire: Wire, *, sync: str = "ideal", nic_ppm: float = 30.0, seed: int = 1
    ) -> None:
        self.wire = wire
        self.idle_ns: list[int] = []
        self.sim = _sim.Simulation(seed, EPOCH_NS)
        self.a = self.sim.add_station("a", wire.spec(sync, nic_ppm))
        b = self.sim.add_station("b", {})
        self.sim.add_link(self.a, b, wire.rate_bps, 50)
        self.flow = self.sim.add_stream(
            {
                "id": "x",
                "talker": self.a,
                "listeners": [b],
                "period_ns": 200_000,
                "offset_ns": 8 * wire.byte_ps // 1000,
                "frame_bytes": 200,
                "advance_ns": 40 * wire.slot_ps // 1000,
            }
        )

    def pause(self, at_ns: int, idle_ns: int) -> None:
        self.idle_ns.append(idle_ns)
        self.sim.add_fault("wire-pause", self.a, at_ns, idle_ns)

    @property
    def state(self) -> dict[str, Any]:
        return self.sim.station(self.a)

    def width_ps(self) -> int:
        """Width of the strip as the core itself states it, with what its rates may add until the
        pause is noticed.
        """
        return int(self.state["clock"]["clock_error_ps"]) * 2 * 102 // 100 + 10_000

    def polls(self) -> tuple[int, int]:
        """Shortest and longest time between two polls in ns, the reads of a poll included."""
        config = self.state["config"]
        longest = self.wire.batch * self.wire.slot_ps // 1000 - config["poll_overhead_ns"]
        dither = min(self.wire.slot_ps // 1000, longest // 2)
        return longest - dither, longest + 3 * READ_NS

    def on_time(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Departures of frames reported on time, and how far from their txtimes they were; both in
        ps.
        """
        frames = self.sim.frames(self.flow)
        chosen = (frames["verdict"] == 0) & (frames["wire_ps"] >= 0)
        wire_ps = frames["wire_ps"][chosen]
        return wire_ps, wire_ps - (frames["txtime_ns"][chosen] - EPOCH_NS) * 1000


def before_the_pause(wire: Wire) -> tuple[int, int, int, int]:
    """Width of the strip when the pause comes, the shortest one that must be noticed, by when, in
    how many polls.
    """
    rig = Rig(wire)
    rig.sim.run(PAUSED_NS)
    width_ps = rig.width_ps()
    detect_ns = math.ceil((width_ps + wire.reading_ps) / 1000)
    poll_min_ns, poll_max_ns = rig.polls()
    wire_stopped_ns = PAUSED_NS + math.ceil(wire.slot_ps / 1000) + 100
    polls = math.ceil((wire_stopped_ns - PAUSED_NS + detect_ns) / poll_min_ns) + 1
    return width_ps, detect_ns, wire_stopped_ns + detect_ns + poll_max_ns, polls


DURATIONS = {
    "just longer than can be missed": lambda detect_ns, poll_ns: detect_ns,
    "a poll": lambda detect_ns, poll_ns: max(poll_ns, detect_ns),
    "many polls": lambda detect_ns, poll_ns: 10 * max(poll_ns, detect_ns),
}


@pytest.mark.parametrize("duration", DURATIONS)
@pytest.mark.parametrize("name", WIRES)
def test_an_unseen_pause_ends_in_unsynchronised_until_the_clock_is_set_again(
    name, duration, accounts
):
    wire = WIRES[name]
    width_ps, detect_ns, noticed_ns, polls_max = before_the_pause(wire)
    rig = Rig(wire)
    idle_ns = DURATIONS[duration](detect_ns, rig.polls()[1])
    rig.pause(PAUSED_NS, idle_ns)
    rig.sim.run(PAUSED_NS)
    assert rig.state["clock"]["synchronised"]
    polls = rig.state["counters"]["polls"]
    while rig.state["clock"]["synchronised"] and rig.sim.now_ns < noticed_ns:
        rig.sim.run(rig.sim.now_ns + 1_000)
    unsynchronised_ns = rig.sim.now_ns
    assert not rig.state["clock"]["synchronised"]
    assert rig.state["counters"]["slips"] == 1
    assert rig.state["disturbances"] == 1
    assert rig.state["counters"]["polls"] - polls <= polls_max

    # It stays so while the pause lasts, and after it until the clock is set.
    rig.sim.run(PAUSED_NS + idle_ns + 2 * MS)
    assert not rig.state["clock"]["synchronised"]
    accounts(rig.sim.stream(rig.flow))
    rig.sim.run(PAUSED_NS + idle_ns + RESYNC_NS)
    assert rig.state["clock"]["synchronised"]
    synchronised_ns = rig.sim.now_ns
    rig.sim.run(synchronised_ns + 200 * MS)
    accounts(rig.sim.stream(rig.flow))
    assert rig.state["clock"]["synchronised"]

    # The wire stood still once, the ring was never empty, and the NIC sent what it had.
    assert rig.state["nic"]["paused_ps"] == idle_ns * 1000
    assert rig.state["nic"]["underruns"] == rig.state["counters"]["underruns"] == 0
    # Whoever believed in the strip waited longer than necessary, never the other way round.
    assert rig.sim.head_check(rig.a)["seq_violations"] == 0

    departures_ps, errors_ps = rig.on_time()
    bound_ps = wire.byte_ps // 2 + 1000
    wrong = np.abs(errors_ps) > bound_ps
    locked = departures_ps > 50 * MS * 1000
    claimed = (departures_ps < PAUSED_NS * 1000) | (departures_ps > synchronised_ns * 1000)
    assert np.sum(departures_ps > synchronised_ns * 1000) > 900
    assert not np.any(wrong & claimed & locked)
    # From the notice on, the clock is known to the strip and three readings, and is not said to be
    # more.
    later = departures_ps > unsynchronised_ns * 1000
    assert np.abs(errors_ps[later]).max() <= width_ps + 3 * wire.reading_ps


@pytest.mark.slow
@pytest.mark.parametrize("name", WIRES)
def test_a_pause_is_noticed_or_shorter_than_the_strip_and_one_reading(name):
    """Random lengths and phases. Unnoticed, it makes the clock late by itself; the wire leaves the
    strip by no more.
    """
    wire = WIRES[name]
    draw = random.Random(name)
    noticed, missed = [], []
    for seed in range(24):
        rig = Rig(wire, sync="none", nic_ppm=0.0, seed=seed)
        at_ns = PAUSED_NS + draw.randrange(1_000_000)
        probe = Rig(wire, sync="none", nic_ppm=0.0, seed=seed)
        probe.sim.run(at_ns)
        detect_ps = probe.width_ps() + wire.reading_ps
        idle_ns = math.ceil(detect_ps / 1000 * (1 + seed / 40 if seed % 2 else (seed + 1) / 200))
        rig.pause(at_ns, idle_ns)
        rig.sim.run(at_ns + 30 * MS)
        state = rig.state
        assert state["nic"]["paused_ps"] == idle_ns * 1000
        head = rig.sim.head_check(rig.a)
        assert max(head["behind_max_ps"], head["ahead_max_ps"]) <= idle_ns * 1000
        if state["counters"]["slips"]:
            assert not state["clock"]["synchronised"]
            noticed.append(idle_ns)
            continue
        assert state["clock"]["synchronised"]
        assert idle_ns * 1000 < detect_ps
        assert abs(state["clock"]["phc_error_ps"] + idle_ns * 1000) <= 1000
        missed.append(idle_ns)
    assert len(noticed) >= 12  # every second one was long enough
    assert missed


def test_without_a_pause_nothing_is_noticed():
    for wire in WIRES.values():
        rig = Rig(wire)
        rig.pause(PAUSED_NS, 0)
        rig.sim.run(200 * MS)
        assert rig.state["counters"]["slips"] == 0
        assert rig.state["nic"]["paused_ps"] == 0
        assert rig.sim.head_check(rig.a)["violations"] == 0


@pytest.mark.parametrize("seed", range(20))
def test_random_pauses_keep_the_accounts_and_one_seed_one_trace(seed, accounts):
    def run(pieces: int) -> Rig:
        draw = random.Random(seed)
        rig = Rig(draw.choice(list(WIRES.values())), seed=seed)
        for _ in range(4):
            rig.pause(draw.randrange(120 * MS), round(10 ** draw.uniform(2, 6.7)))
        for piece in range(1, pieces + 1):
            rig.sim.run(160 * MS * piece // pieces)
        return rig

    one, two = run(1), run(37)
    assert one.sim.trace_hash() == two.sim.trace_hash()
    assert one.sim.trace_count == two.sim.trace_count > 1_000
    assert one.state == two.state
    accounts(one.sim.stream(one.flow))
    assert one.state["nic"]["pauses"] >= 1
    head = one.sim.head_check(one.a)
    assert max(head["behind_max_ps"], head["ahead_max_ps"]) <= sum(one.idle_ns) * 1000


def test_a_pause_costs_no_events():
    """The wire is still computed in runs of slots: however long it stands still, only polls happen
    meanwhile.
    """

    def events(idle_ns: int) -> int:
        rig = Rig(WIRES["1G-2us-done"], sync="none")
        rig.pause(PAUSED_NS, idle_ns)
        rig.sim.run(200 * MS)
        return rig.sim.event_count

    assert events(50 * MS) <= events(0) * 1.02


def test_a_nic_that_stands_still_for_longer_than_it_may_is_given_up(accounts):
    """4.29 s is the most a pause can be allowed: afterwards every frame is refused or flushed, and
    none is pending.
    """
    rig = Rig(WIRES["100M-50us-done"])
    rig.pause(PAUSED_NS, 5_000 * MS)
    rig.sim.run(PAUSED_NS + 4_290 * MS)
    assert rig.state["clock"]["pending"] > 0
    rig.sim.run(PAUSED_NS + 6_000 * MS)
    assert not rig.state["clock"]["synchronised"]
    assert rig.state["clock"]["pending"] == 0
    before = rig.sim.stream(rig.flow)
    accounts(before)
    assert before["verdicts"]["flushed"] > 0
    rig.sim.run(PAUSED_NS + 6_100 * MS)
    after = rig.sim.stream(rig.flow)
    assert after["on_wire"] == before["on_wire"]
    assert after["verdicts"]["flushed"] >= before["verdicts"]["flushed"] + 400


IDLE_NS = 300_000


@pytest.mark.parametrize("driver", ["keepon", "standard", "launchtime"])
def test_every_transmitter_keeps_still_for_the_pause_after_the_frame_on_the_wire(driver, accounts):
    """Back-to-back frames of 10 us: the one under way is finished, the next one starts exactly the
    pause later.
    """
    sim = _sim.Simulation(3, EPOCH_NS)
    keepon = {
        "keepon": {"slot_bytes": 1230, "batch_slots": 8, "ring_slots": 256, "depth_slots": 200}
    }
    a = sim.add_station("a", {"driver": driver, **(keepon if driver == "keepon" else {})})
    b = sim.add_station("b", {})
    sim.add_link(a, b, GIGABIT, 50)
    spec = {
        "talker": a,
        "listeners": [b],
        "period_ns": 10_000,
        "frame_bytes": 1200,
        "advance_ns": 300_000,
    }
    flow = sim.add_stream({**spec, "id": "x", "offset_ns": 64})
    first_ns, second_ns, third_ns = 20 * MS + 4_321, 25 * MS + 9_999, 25 * MS + 100_000
    for at_ns in (third_ns, first_ns, second_ns):
        sim.add_fault("wire-pause", a, at_ns, IDLE_NS)
    sim.run(40 * MS)
    accounts(sim.stream(flow))
    wire_ps = np.sort(sim.frames(flow)["wire_ps"])
    starts_ps = wire_ps[wire_ps >= 0] - 64_000
    wire_bytes = 1250 if driver == "keepon" else 1220  # a slot is filled, a frame is not padded
    stops_ps = starts_ps[starts_ps < first_ns * 1000].max() + wire_bytes * 8_000
    assert stops_ps > first_ns * 1000
    assert starts_ps[starts_ps >= first_ns * 1000].min() == stops_ps + IDLE_NS * 1000
    # The third pause comes during the second one and counts from its own time: no frame starts in
    # either.
    resumes_ps = starts_ps[starts_ps >= second_ns * 1000].min()
    assert 0 <= resumes_ps - (third_ns + IDLE_NS) * 1000 < 8_000
    # What was ready is sent back to back afterwards.
    assert np.all(np.diff(starts_ps[starts_ps >= resumes_ps][:3]) == wire_bytes * 8_000)
