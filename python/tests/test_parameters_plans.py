# SPDX-License-Identifier: BSD-3-Clause
"""A station's parameters in whole plans: chosen as by trying everything, explained, and refused in
one sentence.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers import HABITAT, ROOT
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from keepon.cli import app as cli
from keepon.cli import session
from keepon.errors import InfeasibleError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.parameters import lead, polls, rationale
from keepon.planner.verify import verify
from keepon.targets.sim import runner
from keepon.trial.trial import trial
from station_cases import GIGABIT, chosen, needs_of, network

# -- chosen as by trying everything
# -----------------------------------------------------------------------------------


def usual_way_ns() -> int:
    """Wake-up, stack and driver of the Raspberry Pi 4 at three sigma (hosts.py), worked out here
    again.
    """
    return min(math.ceil(1980 * math.exp(3 * 0.5)), 4030) + 5000 + 7000


def keeps_running(slot_ns: float, batch: int, ring: int) -> bool:
    """Does a poll that is late as usual come before the wire runs dry? Phase-locked, all but an
    eighth posted.
    """
    depth = max(batch, ring - max(8, ring // 8))
    shortest_ns = slot_ns - 8 * 8
    interval = batch * slot_ns
    spent = interval / 2 if depth < 2 * batch else 0
    if (depth - 1) * shortest_ns < interval + 2000:
        interval, spent = (depth - 1) * shortest_ns, spent + 2000
    interval = max(interval - spent, 200)
    kept = batch - 1 if depth >= 3 * batch else 0
    return (depth - kept - 1) * shortest_ns - interval - 1600 - 2000 >= math.ceil(
        200 * math.exp(0.9)
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([100_000, 250_000, 500_000, 1_000_000]),
            st.integers(64, 1400),
            st.integers(40_000, 900_000),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_slot_and_batch_are_what_trying_all_of_them_gives(rows: list[tuple[int, int, int]]) -> None:
    """G9, G11: the shortest slot that fits frames and periods, then the longest batch within the
    advance.
    """
    streams = [
        {"period_ns": period, "frame_bytes": size, "advance_ns": advance}
        for period, size, advance in rows
    ]
    common_ns, largest = math.gcd(*(row[0] for row in rows)), max(row[1] for row in rows)
    sizes = [size for size in range(largest + 8, 1523) if common_ns % ((size + 20) * 8) == 0]
    scenario = network(streams)
    least_ns = min(row[2] for row in rows)
    assume(sizes and sum((sizes[0] + 20) * 8 / period for period, _, _ in rows) <= 1)
    slot_ns = (sizes[0] + 20) * 8
    lead_ns = 3 * slot_ns + 3 * 800 + 9 * 8 + 64
    assume(least_ns > lead_ns + 1_000 + usual_way_ns())
    plan = chosen(scenario)
    assert plan.slot_bytes == sizes[0]
    ring = min(
        1024,
        max(
            32,
            1 << math.ceil(math.log2(math.ceil(5 * max(row[2] for row in rows) / (4 * slot_ns)))),
        ),
    )
    assert plan.ring_slots == ring
    fitting = [
        batch
        for batch in (1 << power for power in range(10))
        if batch <= min(ring // 2, 512)
        and batch * slot_ns + usual_way_ns() <= least_ns
        and keeps_running(slot_ns, batch, ring)
    ]
    assert plan.batch_slots == max(fitting)


def test_the_slot_is_chosen_before_the_batch() -> None:
    """G8: what an advance allows the batch never changes the slot; another slot changes
    the batch.
    """
    by_advance = [
        chosen(network([{"advance_ns": advance}]))
        for advance in (100_000, 200_000, 400_000, 800_000)
    ]
    assert {plan.slot_bytes for plan in by_advance} == {230}
    batches = [plan.batch_slots for plan in by_advance]
    assert batches == sorted(set(batches)), "each doubling of the advance gives a longer batch"
    longer = chosen(network([{"advance_ns": 400_000, "frame_bytes": 1200}]))
    assert longer.slot_bytes > 230
    assert longer.batch_slots < by_advance[2].batch_slots
    document = session.planned(network([{"advance_ns": 400_000}]))["stations"]["a"]
    quantities = [line["quantity"].split()[0] for line in document["rationale"]]
    assert quantities.index("slot") < quantities.index("batch")


def test_the_habitat_gateways_keep_their_slots() -> None:
    document = session.planned(loading.load(HABITAT))
    gateway = document["stations"]["power-gateway"]
    assert [
        gateway[key] for key in ("slot_bytes", "partition_slots", "ring_slots", "batch_slots")
    ] == [
        230,
        500,
        256,
        128,
    ]


def test_a_longer_slot_is_taken_where_the_shortest_gives_no_isolation() -> None:
    """G10, E15: a period of 500 slots shares a factor 4 with 16, one of 250 a factor 2, one of 200
    a factor 8.
    """
    classes = [*({"tc": tc} for tc in range(5)), {"tc": 7, "slots": "rest", "late": "reschedule"}]
    two = chosen(network([{"tc": 0}, {"tc": 1}], {"classes": classes, "partition_slots": 16}))
    assert two.slot_bytes == 230 and two.chosen is not None and not two.chosen.tried
    five = [{"tc": tc} for tc in range(5)]
    scenario = network(five, {"classes": classes, "partition_slots": 16})
    plan = chosen(scenario)
    assert plan.chosen is not None
    assert (plan.slot_bytes, plan.chosen.tried) == (605, ((230, 16), (480, 16)))
    document = verify(scenario, make_plan(scenario))
    assert any(row["rule"] == "G10" for row in document["stations"]["a"]["rationale"])
    # Every number of slots is coprime to 9: each class would touch all of it.
    with pytest.raises(InfeasibleError) as refused:
        chosen(network(five, {"classes": classes, "partition_slots": 9}))
    assert refused.value.constraint == "partition"


def test_where_all_periods_together_are_too_many_slots_the_partition_wastes_least() -> None:
    streams = [{"period_ns": period} for period in (13_000_000, 17_000_000, 19_000_000)]
    scenario = network(streams)
    plan = chosen(scenario)
    assert plan.chosen is not None and plan.partition_slots <= 65_536
    periods = [period // 2000 for period in (13_000_000, 17_000_000, 19_000_000)]
    assert math.lcm(*periods) > 65_536

    def owned(count: int) -> float:
        return sum(1 / math.gcd(period, count) for period in periods)

    assert owned(plan.partition_slots) == min(owned(count) for count in range(1, 65_537))
    document = verify(scenario, make_plan(scenario))
    rationale = document["stations"]["a"]["rationale"]
    assert any("owned and not used" in row["quantity"] for row in rationale)


def test_best_effort_keeps_what_its_loads_ask_for_if_that_can_be() -> None:
    load = {"id": "bg", "talker": "a", "listener": "b", "rate_bps": 300_000_000, "frame_bytes": 200}
    plan = chosen(network([{}], load=[load]))
    assert plan.chosen is not None and plan.chosen.best_effort_met
    assert plan.chosen.reserve_slots == math.ceil(300_000_000 * 2e-6 / 1600 * 500)
    much = chosen(network([{}], load=[{**load, "rate_bps": 2_000_000_000}]))
    assert much.chosen is not None
    full = [{"period_ns": 4_000}, {"period_ns": 4_000}]
    none = chosen(network(full, load=[load]))
    assert none.chosen is not None and not none.chosen.best_effort_met


def test_a_counter_clock_gets_a_batch_that_eq_4_allows() -> None:
    """G11 (a): 5 us of stated error, less half of what stamps vary, are a batch of two slots of 1
    us; an interpolated clock has no such bound."""
    sync = {"mode": "gptp", "grandmaster": "b"}
    streams = [{"advance_ns": 800_000, "period_ns": 100_000, "frame_bytes": 90}]
    counter = chosen(network(streams, {"clock": "counter"}, sync=sync))
    ours = chosen(network(streams, sync=sync))
    assert (counter.slot_ps, counter.batch_slots) == (1_000_000, 2)
    assert ours.batch_slots > counter.batch_slots
    assert counter.choice is not None and "Eq. 4" in counter.choice.limited_by
    wide = chosen(
        network(streams, {"clock": "counter"}, station={"clock_error_ns": 30_000}, sync=sync)
    )
    assert counter.batch_slots < wide.batch_slots == 32


@pytest.mark.parametrize("rate_bps", [100_000_000, GIGABIT])
@pytest.mark.parametrize(
    ("keepon", "is_long"), [({}, True), ({"clock": "dual"}, False), ({"mode": "paper"}, False)]
)
def test_a_port_without_streams_posts_as_long_as_a_link_by_default(
    keepon: dict[str, Any], is_long: bool, rate_bps: int
) -> None:
    """1.1 ms are posted at 1 Gb/s, in 256 descriptors, and 2.56 ms at 100 Mb/s; polls come at most
    3125 times a second and may be late by 0.4 ms. It was 0.12 ms and a poll each 21.8 us at 1 Gb/s.
    """
    stream = {"advance_ns": 300_000, "talker": "b", "listeners": ["a"]}
    plan = chosen(network([stream], {"slot_bytes": 605, **keepon}, rate_bps))
    choice, nic = plan.choice, needs_of(plan).nic
    assert choice is not None
    posting = choice.posting
    posted_ps = 1_100_000_000 if rate_bps == GIGABIT else 2_560_000_000
    assert is_long == (plan.depth_slots * plan.slot_ps >= posted_ps)
    assert is_long == (320_000 <= polls.interval_ns(posting, nic) <= 1_000_000)
    if is_long:
        assert polls.slack_ns(posting, nic) >= 400_000
        assert plan.ring_slots <= 256


def test_paper_mode_takes_its_batch_unless_frames_would_be_late() -> None:
    """G2: a batch is the least lead there, so a short advance needs a smaller one."""
    assert chosen(network([{"advance_ns": 400_000}], {"mode": "paper"})).batch_slots == 16
    plan = chosen(network([{"advance_ns": 45_000}], {"mode": "paper"}))
    assert plan.batch_slots == 8
    assert plan.lead_time_ns + usual_way_ns() <= 45_000


def test_the_tick_of_the_cpu_counter_is_in_lead_time_and_clock_error() -> None:
    """18.5 ns, as on a Raspberry Pi 4, is stated as 19."""
    sync = {"mode": "ptp", "grandmaster": "b"}
    plans = [
        chosen(network([{"advance_ns": 400_000}], station={"cpu_tick_ns": tick}, sync=sync))
        for tick in (1, 19, 52)
    ]
    leads_ns = [plan.lead_time_ns for plan in plans]
    assert [lead_ns - leads_ns[0] for lead_ns in leads_ns] == [0, 36, 102]
    errors_ns = [plan.choice.sync_error_ns for plan in plans if plan.choice is not None]
    assert None not in errors_ns and errors_ns == sorted(set(errors_ns))


# -- what is said about it
# --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_rationale_is_in_the_plan_and_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    monkeypatch.setattr(sys, "argv", ["keepon", "plan", str(HABITAT), "--all", "--out", str(path)])
    assert cli.main() == 0
    shown = capsys.readouterr().out
    document = json.loads(path.read_text())
    schema = json.loads((ROOT / "python/src/keepon/model/schemas/plan.schema.json").read_text())
    jsonschema.validate(document, schema)
    gateway = document["stations"]["pressure-gateway"]
    rules = [row["rule"] for row in gateway["rationale"]]
    assert {"G2", "G4", "G5", "G8", "G9", "G11", "G13", "G14"} <= set(rules)
    assert "pressure-gateway, thermal-gateway: why these parameters" in shown
    for row in gateway["rationale"]:
        assert row["quantity"] in shown and row["why"] in shown
    assert "rationale" not in document["stations"]["rt-simulator"]
    assert gateway["headroom"]["lead_time_ns"] == 12391
    assert gateway["headroom"]["batch_time_ns"] == 128 * 2000
    assert gateway["headroom"]["poll_budget_ns"] == 223 * 2000


def lines(scenario: Scenario) -> str:
    document = verify(scenario, make_plan(scenario))
    stations = document["stations"].values()
    rows = [row for station in stations for row in station.get("rationale", [])]
    return "\n".join(f"{row['rule']} {row['quantity']} {row['why']}" for row in rows)


def test_what_is_within_no_guarantee_is_a_warning() -> None:
    assert 'of the frames of "S0" come late' in lines(network([{"advance_ns": 60_000}]))
    assert "warning" not in lines(network([{"advance_ns": 400_000}]))
    late = {
        "host": {
            "base": "raspberry-pi-4",
            "poll": {"tail_probability": 0.001, "tail_mean_ns": 9_000, "cap_ns": 900_000},
        }
    }
    assert "lets the wire run dry" in lines(network([{"advance_ns": 400_000}], station=late))
    many = network([{"advance_ns": 60_000} for _ in range(12)])
    assert "may be late" in lines(many)


def test_advice_follows_what_the_paper_says_of_applicability() -> None:
    """G13, P2, P8: other hardware where keepon pads too much, takes the core, or a launch-time NIC
    is there.
    """
    ahead = {"advance_ns": 400_000}
    assert "keepon serves" in lines(network([ahead]))
    assert 'advice: driver = "launchtime"' in lines(
        network([ahead], station={"host": "tsn-end-station"})
    )
    padded = network(
        [{**ahead, "frame_bytes": 64}, {**ahead, "frame_bytes": 64}], {"slot_bytes": 1230}
    )
    assert "advice: a NIC with launch times, or frames that fill the slot" in lines(padded)
    busy = network([ahead], {"batch_slots": 1})
    assert "advice: a NIC with launch times unless a core is idle" in lines(busy)
    assert "the thread never sleeps long" in lines(busy)
    close = network([{**ahead, "period_ns": 2_000, "frame_bytes": 200}])
    assert "hardly more than a slot" in lines(close)
    loose = network([{**ahead, "jitter_ns": 100}], {"mode": "paper"}, sync={"mode": "none"})
    assert 'advice: mode = "phase-locked"' in lines(loose)


def test_frames_handed_over_together_wait_for_the_driver() -> None:
    plan = chosen(network([{"advance_ns": 400_000} for _ in range(3)]))
    # 7 us each: the second comes 4 us after the first, the third 1 us after the second.
    releases = {"S0": 64, "S1": 4_064, "S2": 5_064}
    waits = rationale.driver_waits_ns(needs_of(plan), releases)
    assert waits == {"S0": 0, "S1": 3_000, "S2": 9_000}
    apart = rationale.driver_waits_ns(needs_of(plan), {"S0": 64, "S1": 8_064, "S2": 16_064})
    assert apart == {"S0": 0, "S1": 0, "S2": 0}
    # Round the end of the period: the first of the next comes 1 us after the last of this one.
    around = rationale.driver_waits_ns(needs_of(plan), {"S0": 64, "S1": 500_064, "S2": 999_064})
    assert around == {"S0": 6_000, "S1": 0, "S2": 0}


def test_reserved_trim_slots_are_kept_counted_and_enough() -> None:
    """A partition without a slot that may be trimmed is refused by the core; streams and rest leave
    some.
    """
    scenario = network(
        [{"advance_ns": 400_000}], {"trim": "reserved"}, station={"clock_ppm": 100.0}
    )
    plan = verify(scenario, make_plan(scenario))
    station = plan["stations"]["a"]
    kept = station["allowed"].count(0)
    assert 0 < kept == station["headroom"]["trim_slots"] < 20
    _, run = runner.simulate_build(scenario, plan, "keepon", 1)
    assert (
        run.document["streams"]["S0"]["verdicts"]["on_time"]
        == run.document["streams"]["S0"]["submitted"]
    )
    assert all(check["met"] for check in run.document["streams"]["S0"]["bound_check"].values())
    every = network(
        [{"period_ns": 4_000} for _ in range(2)], {"trim": "reserved", "slot_bytes": 230}
    )
    assert make_plan(every)["status"] == "infeasible"


def test_every_planned_advance_holds_in_the_simulator() -> None:
    """The least advance that is not refused: frames are on time but for the tail, which is switched
    off here.
    """
    for keepon, rate_bps in (
        ({}, GIGABIT),
        ({}, 100_000_000),
        ({"mode": "paper", "batch_slots": 8}, GIGABIT),
    ):
        ample = network([{"advance_ns": 900_000}], keepon, rate_bps)
        needs = needs_of(chosen(ample))
        assert needs.way is not None
        least_ns = lead.least_advance_ns(chosen(ample).lead_time_ns, needs.way)
        # A smaller advance may get a smaller batch, which changes the least one a little.
        exact = least_ns if "batch_slots" in keepon else least_ns + 1_000
        scenario = network([{"advance_ns": exact}], keepon, rate_bps, host_tail_scale=0.0)
        _, run = runner.simulate_build(scenario, make_plan(scenario), "keepon", 1)
        stream = run.document["streams"]["S0"]
        assert stream["verdicts"]["on_time"] == stream["submitted"] > 5


@pytest.mark.parametrize("trim", ["any", "reserved"])
@pytest.mark.parametrize("talker", ["a", "z"])
def test_slots_of_a_station_that_sends_nothing_long_can_be_trimmed(trim: str, talker: str) -> None:
    """With reserved trims a slot of 64 bytes was chosen, which the simulator refuses."""
    listener = "z" if talker == "a" else "a"
    text = f"""schema = "keepon.scenario/1"
name = "short"
duration_s = 0.05
station = [
  {{ name = "a", driver = "launchtime" }},
  {{ name = "z", driver = "keepon", keepon = {{ trim = "{trim}" }} }},
]
link = [{{ ends = ["a", "z"] }}]
[[stream]]
id = "S"
talker = "{talker}"
listeners = ["{listener}"]
period_ns = 1_000_000
frame_bytes = 64
"""
    scenario = loading.parse(text, "short.toml")
    plan = verify(scenario, make_plan(scenario))
    assert plan["status"] == "feasible"
    assert plan["stations"]["z"]["slot_bytes"] >= 64 + 8
    assert trial(scenario, plan)["delivered"] > 0
