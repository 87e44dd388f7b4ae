# SPDX-License-Identifier: BSD-3-Clause
"""Software taprio frame by frame beside a slow model of Linux's (linux_taprio.py)."""

from __future__ import annotations

import random

import pytest
from keepon import _sim
from linux_taprio import ENDS, TIMED, Case, Flow, Machine, Timed

EPOCH_NS = 1_700_000_000_000_000_000
MBPS, US, MS = 1_000_000, 1_000, 1_000_000
BYTE_PS = (8_000, 8_000, 3_200, 800, 80_000)
SEEDS = range(60)


def case(seed: int) -> Case:
    """Up to three classes, from nearly idle to twice the wire, in one to six windows."""
    draw = random.Random(seed)
    windows = [
        (draw.randint(0, 7), draw.randint(5 * US, 400 * US)) for _ in range(draw.randint(1, 6))
    ]
    opened = [tc for tc in range(3) if any(gates >> tc & 1 for gates, _ in windows)]
    flows = [
        Flow(
            tc,
            draw.choice([64, 100, 300, 1000, 1518, draw.randint(64, 1518)]),
            draw.choice([1, 5, 20, 100, 300, 950, 2000]) * MBPS + draw.randint(1, 999),
            10 * MS + draw.randint(0, 3 * MS),
        )
        for tc in opened
    ]
    return Case(
        windows,
        draw.choice([draw.randint(0, 10**9), EPOCH_NS + draw.randint(MS, 15 * MS)]),
        flows,
        draw.choice([16, 25]) * MS,
        draw.choice(BYTE_PS),
        800,
        draw.choice([5_000 * US, 50 * US]),
        draw.choice([10, 1, 32]),
    )


def simulated(of: Case):
    """What leaves by flow and sequence number, and what ended otherwise."""
    sim = _sim.Simulation(1, EPOCH_NS)
    taprio = {
        "windows": of.windows, "base_ns": of.base_ns, "cycle_ns": of.cycle_ns,
    }  # fmt: skip
    leaves = {
        "leaves": [{"kind": "fifo"} for _ in range(of.queues)],
        "queues": [min(tc, of.queues - 1) for tc in range(16)],
    }
    for timed in of.timed:
        leaves["leaves"][timed.tc] = {
            "kind": "etf", "delta_ns": timed.delta_ns, "deadline_mode": of.deadline_mode,
        }  # fmt: skip
    nic = {
        "fetch_ns": of.fetch_ns, "coalesce_ns": of.coalesce_ns,
        "coalesce_frames": of.coalesce_frames,
    }  # fmt: skip
    qdisc = {**leaves, "taprio": taprio}
    a = sim.add_station("a", {"driver": "standard", "qdisc": qdisc, "nic": nic, "host": {}})
    b = sim.add_station("b", {})
    sim.add_link(a, b, 8 * 10**12 // of.byte_ps, 50)
    loads = [
        sim.add_load({
            "id": str(number), "talker": a, "listener": b, "kind": "udp", "start_ns": flow.start_ns,
            "tc": flow.tc, "frame_bytes": flow.frame_bytes, "rate_bps": flow.rate_bps,
        })
        for number, flow in enumerate(of.flows)
    ]  # fmt: skip
    streams = [
        sim.add_stream({
            "id": str(TIMED - number), "talker": a, "listeners": [b], "tc": timed.tc,
            "frame_bytes": timed.frame_bytes, "period_ns": timed.period_ns,
            "offset_ns": timed.offset_ns, "advance_ns": timed.advance_ns,
        })
        for number, timed in enumerate(of.timed)
    ]  # fmt: skip
    sim.set_capture(0, of.end_ns, 2_000_000)
    sim.run(of.end_ns)
    seen = sim.captured()
    names = list(seen["flows"])
    sfd_ps = {
        (int(names[flow]), int(seq)): int(time_ps)
        for outbound, flow, seq, time_ps in zip(
            seen["outbound"], seen["flow"], seen["seq"], seen["sfd_ps"], strict=True
        )
        if outbound and flow >= 0
    }
    ends = [*map(sim.load, loads), *map(sim.stream, streams)]
    for end in ends:
        assert end["submitted"] == sum(end["verdicts"].values()) + end["pending"]
    return sfd_ps, {name: sum(end["verdicts"][name] for end in ends) for name in ENDS}


def until(sfd_ps, end_ns):
    return {key: time_ps for key, time_ps in sfd_ps.items() if time_ps < end_ns * 1000}


def check(of: Case) -> Machine:
    linux = Machine(of, EPOCH_NS)
    linux.run()
    sfd_ps, dropped = simulated(of)
    assert dropped == linux.dropped
    assert until(sfd_ps, of.end_ns - MS) == until(linux.sfd_ps, of.end_ns - MS)
    return linux


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_each_frame_leaves_when_linux_lets_it(seed):
    check(case(seed))


def test_a_class_without_budget_takes_from_others_each_time_it_is_asked():
    flows = [
        Flow(1, 1518, 400 * MBPS + 77, 10 * MS + 1),
        Flow(0, 100, 120 * MBPS + 33, 10 * MS + 777),
        Flow(2, 1518, 600 * MBPS + 11, 10 * MS + 555),
    ]
    windows = [(3, 300 * US), (5, 400 * US), (8, 300 * US)]
    assert check(Case(windows, 0, flows, 60 * MS, 8_000, 800, 50 * US, 1)).stops == 0


@pytest.mark.parametrize(
    ("second_mbps", "third_mbps", "ends"), [(10_000, 1, "no_room"), (400, 10_000, "oversize")]
)
def test_it_is_asked_too_when_a_frame_is_dropped(second_mbps, third_mbps, ends):
    flows = [
        Flow(1, 1518, second_mbps * MBPS + 77, 10 * MS + 1),
        Flow(0, 100, 20 * MBPS + 33, 10 * MS + 777),
        Flow(2, 1518, third_mbps * MBPS + 11, 10 * MS + 555),
    ]
    windows = [(3, 300 * US), (1, 600 * US), (4, 10 * US), (8, 90 * US)]
    linux = check(Case(windows, 0, flows, 40 * MS, 8_000, 800, 50 * US, 1))
    assert linux.dropped[ends] > 1000


def test_a_frame_that_ends_within_the_last_ns_leaves():
    """At 2.5 Gb/s 101 bytes take 323.2 ns, which Linux counts as 323."""
    open_ns = 100 * US
    flow = Flow(0, 105, 1_000, 10 * MS + open_ns - 324)
    windows = [(1, open_ns), (2, open_ns)]
    check(Case(windows, EPOCH_NS + MS, [flow], 16 * MS, 3_200, 800, 50 * US, 1))


@pytest.mark.slow
def test_many_of_these_cases_stop_the_ring_and_many_do_not():
    machines = [Machine(case(seed), EPOCH_NS) for seed in SEEDS[:20]]
    for machine in machines:
        machine.run()
    assert 5 <= sum(machine.stops > 0 for machine in machines) <= 15


# --- a class with etf
# --------------------------------------------------------------------------------------------------


def timed_case(seed: int) -> Case:
    """Streams in one to three classes, within their windows or not, beside best effort; every third
    with deadline mode, every fourth with a schedule that begins while frames come.
    """
    draw = random.Random(seed)
    windows = [
        (draw.randint(0, 15) | (2 if number == 0 else 0), draw.randint(50 * US, 300 * US))
        for number in range(draw.randint(2, 3))
    ]
    windows.append((draw.randint(0, 15), MS - sum(ns for _, ns in windows)))
    opened = [tc for tc in range(4) if any(gates >> tc & 1 for gates, _ in windows)]
    classes = draw.sample(opened, draw.randint(1, min(3, len(opened))))
    delta_ns = {tc: draw.choice([20, 50, 150, 600]) * US for tc in classes}
    timed = tuple(
        Timed(
            tc, draw.choice([100, 500, 1500]), MS, draw.randint(1, MS - 1),
            draw.randint(5 * US, 3_500 * US), delta_ns[tc], 10,
        )
        for tc in classes
        for _ in range(draw.randint(1, 3))
    )  # fmt: skip
    flows = [
        Flow(tc, draw.choice([64, 100, 300, 1518]), draw.choice([5, 60, 300, 1100]) * MBPS + 33,
             10 * MS + draw.randint(0, MS))
        for tc in opened
        if tc not in classes
    ]  # fmt: skip
    queues = draw.choice([8, 4, max(classes) + 1])
    if queues <= max(opened):
        flows = [flow for flow in flows if flow.tc < queues]
    base_ns = EPOCH_NS + (draw.randint(11, 20) * MS if seed % 4 == 3 else 0)
    return Case(
        windows, base_ns, flows, 30 * MS, draw.choice([8_000, 80_000, 800]), 800,
        draw.choice([50, 5_000]) * US, draw.choice([1, 10, 32]), timed, seed % 3 == 0, queues,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(90))
def test_etf_is_looked_at_as_linux_does(seed):
    check(timed_case(seed))


@pytest.mark.slow
def test_these_cases_have_frames_that_end_in_every_way():
    machines = [Machine(timed_case(seed), EPOCH_NS) for seed in range(30)]
    for machine in machines:
        machine.run()
    for end in ENDS:
        assert sum(machine.dropped[end] > 0 for machine in machines) >= 2, end
    assert sum(any(flow < 0 for flow, _ in machine.sfd_ps) for machine in machines) >= 20
