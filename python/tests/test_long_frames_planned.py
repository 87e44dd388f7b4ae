# SPDX-License-Identifier: BSD-3-Clause
"""Frames longer than a slot from the scenario to the simulated wire: planned, checked, in time, and
as long as was said.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keepon.errors import ConfigError
from keepon.model import loading, timing
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.model.spans import Spans, planned_spans
from keepon.planner import plan as make_plan
from keepon.planner import stations
from keepon.planner.checker.runs import Runs
from keepon.planner.network import documents, grid
from keepon.planner.parameters import besteffort
from keepon.planner.verify import problems, verify
from keepon.targets.sim.runner import Build, simulate_build
from station_cases import GIGABIT, Table, chosen, network

MBIT_100 = 100_000_000
FULL = 1518
SHARED = [
    {"tc": 0, "slots": "rest"},
    {"tc": 7, "slots": "rest", "late": "reschedule"},
]


def station(fragments: int = 1, **more: object) -> Table:
    return {"nic": {"fragments_max": fragments}, **more}


def ran(scenario: Scenario, plan: Plan) -> tuple[Build, Table]:
    """A run that measures from when streams begin on."""
    warm = scenario.model_copy(update={"warmup_s": timing.talk_start_ns(scenario, plan) / 1e9})
    build, run = simulate_build(warm, plan, "keepon", 1)
    return build, dict(run.document)


def keeps(scenario: Scenario) -> Plan:
    """The plan, which the checker takes and a run keeps in every bound."""
    plan = verify(scenario, make_plan(scenario))
    assert plan["verified"]
    _, result = ran(scenario, plan)
    for name, flow in result["streams"].items():
        found = {verdict for verdict, count in flow["verdicts"].items() if count}
        assert found == {"on_time"} and flow["missing"] == 0, (name, flow["verdicts"])
        bounds = plan["streams"][name]["bounds"]
        if bounds["delay_ns"] is not None:
            assert flow["delay_ns"]["max"] <= bounds["delay_ns"]
            assert flow["delay_ns"]["min"] >= (bounds["delay_min_ns"] or 0)
    assert result["stations"]["a"]["nic"]["idle_ps"] == 0
    return plan


def stream(frame_bytes: int, period_ns: int = 1_000_000, **more: object) -> Table:
    return {
        "frame_bytes": frame_bytes, "period_ns": period_ns, "advance_ns": 400_000, **more,
    }  # fmt: skip


PUBLIC = [
    pytest.param(
        [stream(FULL), stream(1346)], {}, MBIT_100, 1, (605, 3, 3), id="two a millisecond"
    ),
    pytest.param([stream(FULL), stream(1346)], {}, MBIT_100, 99, (105, 13, 11), id="fragments"),
    pytest.param([stream(1300)], {}, GIGABIT, 1, (480, 3), id="1300 bytes a millisecond"),
    pytest.param([stream(1300)], {}, GIGABIT, 99, (105, 11), id="1300 bytes in fragments"),
    pytest.param([stream(1510, 1_233_600)], {}, GIGABIT, 1, (580, 3), id="no room for trims"),
    pytest.param(
        [stream(FULL, 1_230_400)], {"trim": "reserved"}, GIGABIT, 1, (749, 3), id="reserved"
    ),
]


@pytest.mark.parametrize(("streams", "keepon", "rate_bps", "fragments", "slots"), PUBLIC)
def test_frames_of_public_reports_are_planned_and_run(
    streams: list[Table], keepon: Table, rate_bps: int, fragments: int, slots: tuple[int, ...]
) -> None:
    """EtherCAT's two frames (SOEM), and periods that no slot of a whole frame divides."""
    late = [{**row, "advance_ns": 600_000} for row in streams]
    scenario = network(late, keepon, rate_bps, station(fragments, clock_ppm=40.0), duration_s=0.1)
    plan = keeps(scenario)
    found = [entry.get("frame_slots", 1) for entry in plan["streams"].values()]
    assert (plan["stations"]["a"]["slot_bytes"], *found) == slots


@pytest.mark.parametrize(
    ("slot_bytes", "fragments", "slots"),
    [(105, 99, 13), (105, 1, 36), (230, 99, 7), (230, 1, 9), (605, 99, 3), (605, 1, 3),
     (1230, 99, 2), (1230, 1, 2)],
)  # fmt: skip
def test_slots_of_a_full_frame_are_those_of_the_manual(
    slot_bytes: int, fragments: int, slots: int
) -> None:
    """docs/model.md; and with the lead time the plan states, none of them is late, whatever shares
    the slots.
    """
    load = {"id": "bg", "talker": "a", "listener": "b", "kind": "saturate", "frame_bytes": FULL}
    for classes in (None, SHARED):
        keepon = {"slot_bytes": slot_bytes, **({"classes": classes} if classes else {})}
        own = station(fragments, host="ideal", clock_ppm=60.0)
        first = network([stream(FULL)], keepon, station=own, load=[load])
        lead_ns = chosen(first).lead_time_ns
        rows_of = [{**stream(FULL), "advance_ns": lead_ns}]
        plan = keeps(network(rows_of, keepon, station=own, load=[load], duration_s=0.1))
        assert plan["streams"]["S0"].get("frame_slots", 1) == slots


def test_frames_that_the_tail_would_divide_come_two_polls_earlier() -> None:
    """Of 500 frames 13 were late: one poll posts their slots, the next takes them."""
    streams = [
        stream(1522, 4_000_000, advance_ns=450_000), stream(300, 4_000_000, advance_ns=450_000)
    ]  # fmt: skip
    own = station(host="ideal", clock_ppm=60.0)
    plan = keeps(network(streams, {}, MBIT_100, own, duration_s=2.0))
    port = plan["stations"]["a"]
    assert plan["streams"]["S0"]["frame_slots"] > 1
    assert port["headroom"]["lead_time_ns"] > 2 * port["headroom"]["poll_interval_ns"] + 100_000


@given(
    slot_bytes=st.integers(72, 1514),
    frame_bytes=st.integers(64, 1522),
    longest=st.integers(64, 1522),
    trim=st.integers(0, 8),
    keep=st.integers(0, 3),
    buffers=st.sampled_from((1, 2, 5, 128)),
)
def test_planner_and_checker_find_the_same_slots(
    slot_bytes: int, frame_bytes: int, longest: int, trim: int, keep: int, buffers: int
) -> None:
    """By a formula and by trying one number after the other."""
    most = longest if longest > slot_bytes else 0
    planned = Spans(slot_bytes, slot_bytes - trim, most, keep, buffers)
    slots, sent_bytes = Runs(slot_bytes, slot_bytes - trim, most, keep, buffers).fit(frame_bytes)
    one = planned.of(frame_bytes)
    if slots or one.slots <= 128:
        assert (one.slots, one.frame_bytes) == (slots, sent_bytes)
        if slots > 1:
            assert sum(planned.descriptors(frame_bytes)) == slots * planned.wire_bytes


def test_the_drift_within_a_frame_is_that_of_the_core() -> None:
    """What slots may be off the grid grows by what the stated drift makes of the longest frame."""
    for slot_bytes, fragments in ((105, 99), (105, 1), (605, 1)):
        errors = []
        for frame_bytes_max in (0, FULL):
            keepon = {"slot_bytes": slot_bytes, "frame_bytes_max": frame_bytes_max}
            scenario = network([stream(64)], keepon, station=station(fragments))
            plan = verify(scenario, make_plan(scenario))
            build = Build(scenario, plan, "keepon", 1)
            bounds = build.simulation.boundary_bounds(build.nodes["a"], 200_000, 0)
            late_ps = plan["streams"]["S0"]["release_late_ps"]
            errors.append((bounds["boundary_error_ps"], late_ps))
        (core, planned), (core_long, planned_long) = errors
        assert 0 < core_long - core == planned_long - planned


def mistaken(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The planner with one mistake."""
    spans_of = Spans.of

    def too_few(self: Spans, frame_bytes: int) -> object:
        found = spans_of(self, frame_bytes)
        return found._replace(slots=max(1, found.slots - 1))

    def one_slot_long(self: Spans, frame_bytes: int) -> object:
        return spans_of(self, frame_bytes)._replace(frame_bytes=self.slot_bytes)

    def one_slot(plan: object, entry: object, period_ps: int, release_ps: int) -> list[int]:
        return whole(plan, entry, period_ps, release_ps)[::3]

    whole = grid.partition_slots
    if kind == "a slot too few":
        monkeypatch.setattr(Spans, "of", too_few)
    elif kind == "as long as a slot":
        monkeypatch.setattr(Spans, "of", one_slot_long)
    elif kind == "not reserved":
        monkeypatch.setattr(documents, "partition_slots", one_slot)
    elif kind == "beside each other":
        monkeypatch.setattr(
            stations.StationPlan, "taken_ps", lambda plan, _: plan.slot_ps, raising=True
        )
    elif kind == "row too short":
        monkeypatch.setattr(besteffort, "longest_row", lambda *_: 128)
    else:
        assert kind == "none"


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("none", None),
        ("a slot too few", "S0 takes 3 slots"),
        ("as long as a slot", "S0 is not padded to its slots"),
        ("not reserved", "S0 uses slot"),
        ("beside each other", "use the same slot"),
        ("row too short", "frame_bytes_max of class 1 is not what its slots in a row carry"),
    ],
)
def test_a_mistake_of_the_planner_is_found(
    monkeypatch: pytest.MonkeyPatch, kind: str, sentence: str | None
) -> None:
    """Two full frames a millisecond, in three slots each."""
    mistaken(monkeypatch, kind)
    classes = [{"tc": 0}, {"tc": 1}, {"tc": 7, "slots": "rest"}]
    streams = [stream(FULL), stream(FULL), stream(100, tc=1)]
    scenario = network(streams, {"slot_bytes": 605, "classes": classes})
    plan = make_plan(scenario)
    monkeypatch.undo()
    found = problems(scenario, plan)
    assert bool(found) == (sentence is not None)
    assert sentence is None or any(sentence in text for text in found), found


def changed(plan: Plan, kind: str) -> Plan:
    """A plan in which one number is wrong."""
    port, entry = plan["stations"]["a"], plan["streams"]["S0"]
    if kind == "frame_bytes_max":
        port["frame_bytes_max"] = 1500
    elif kind == "depth":
        port["depth_slots"] = port["ring_slots"] - 2
    elif kind == "release":
        entry["release_early_ps"] += 30_000
        entry["release_late_ps"] -= 30_000
    elif kind == "another class within":
        place = next(slot for slot, mask in enumerate(port["allowed"]) if mask == 1) + 1
        port["allowed"][place] |= 1 << 7
    return plan


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("frame_bytes_max", "frame_bytes_max is not what it sends"),
        ("depth", "the ring has no room for the longest frame"),
        ("release", "release interval of S0 is narrower"),
        ("another class within", "of S0 is open to another class"),
    ],
)
def test_a_wrong_plan_is_found(kind: str, sentence: str) -> None:
    scenario = network([stream(FULL)], {"slot_bytes": 605})
    assert any(sentence in text for text in problems(scenario, changed(make_plan(scenario), kind)))


LOAD = {"id": "bg", "talker": "a", "listener": "b", "frame_bytes": FULL, "rate_bps": 1_000_000}
DUAL = {"name": "b", "driver": "keepon", "keepon": {"clock": "dual", "slot_bytes": 605}}


@pytest.mark.parametrize(
    ("streams", "keepon", "more", "sentence"),
    [
        (
            [stream(1300)], {"slot_bytes": 605, "frame_bytes_max": 597}, {},
            r"`stream\[0\].frame_bytes` .* = 1300: must be at most 597, what a slot of 605 bytes"
            r" .* holds; enlarge station.keepon.frame_bytes_max",
        ),
        (
            [stream(1300)], {"slot_bytes": 605, "frame_bytes_max": 1200}, {},
            r"`stream\[0\].frame_bytes` .* = 1300: must be at most 1200, station.keepon.frame_byt",
        ),
        (
            [stream(FULL, 744_000)], {"slot_bytes": 73}, {},
            r"`stream\[0\].frame_bytes` .* = 1518: must be at most \d+, as such a frame takes 162"
            r" slots of 73 bytes",
        ),
        (
            [stream(100)], {"slot_bytes": 105, "frame_bytes_max": FULL, "ring_slots": 64}, {},
            r"`station\[0\].keepon.frame_bytes_max` .* = 1518: must be at most 842, as such a fra",
        ),
        (
            [stream(100)], {"mode": "paper", "frame_bytes_max": FULL}, {},
            r'keepon.frame_bytes_max` .* = 1518: must be "auto" or at most 100, as in mode "paper"',
        ),
        (
            [stream(FULL)], {"slot_bytes": 605, "prebuffer_frames": 0}, {},
            r'keepon.prebuffer_frames` .* = 0: must be between 1 and 65536, as stream "S0" takes 3',
        ),
        (
            [stream(100)], {"slot_bytes": 605, "frame_bytes_max": 0}, {"load": [LOAD]},
            r"`load\[0\].frame_bytes` .* = 1518: must be at most 597, as slots .* its frame_bytes_"
            r"max is 0",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence(
    streams: list[Table], keepon: Table, more: Table, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        make_plan(network(streams, keepon, **more))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("frame_bytes", "slots"), [(597, 1), (598, 2), (605, 2)])
def test_what_a_trimmed_slot_has_no_room_for_takes_two(frame_bytes: int, slots: int) -> None:
    """Slots of 605 bytes are trimmed by up to 8."""
    keepon = {"slot_bytes": 605, "frame_bytes_max": frame_bytes}
    plan = keeps(network([stream(frame_bytes)], keepon))
    assert plan["streams"]["S0"].get("frame_slots", 1) == slots


def test_slots_that_an_advance_rules_out_give_way_to_shorter_ones() -> None:
    """With a slot of a whole frame of 1200 bytes at 100 Mb/s it would have to be 320 us."""
    late = stream(1200, 10_000_000, advance_ns=250_000)
    plan = keeps(network([late], {}, MBIT_100, duration_s=0.2))
    assert plan["streams"]["S0"]["frame_slots"] > 1


def talkers(deadline_ns: int, keepon: str = "") -> Scenario:
    """Six of 700 bytes each 40 us, which leave a bridge on one link."""
    rows = [
        f"""[[station]]
name = "{name}"
driver = "keepon"
{keepon}
[[link]]
ends = ["{name}", "sw"]
[[stream]]
id = "{name}"
talker = "{name}"
listeners = ["z"]
period_ns = 40_000
frame_bytes = 700
advance_ns = 400_000
deadline_ns = {deadline_ns}
"""
        for name in "abcdef"
    ]
    head = 'schema = "keepon.scenario/1"\nname = "six"\nduration_s = 0.01\nwarmup_s = 0.0\n'
    tail = '[[station]]\nname = "z"\n[[bridge]]\nname = "sw"\n[[link]]\nends = ["sw", "z"]\n'
    return loading.parse(head + "".join(rows) + tail, "six.toml")


@pytest.mark.slow
@pytest.mark.parametrize("deadline_ns", [100_000, 8_000])
def test_slots_that_the_network_rules_out_give_way_to_shorter_ones(deadline_ns: int) -> None:
    """Padded to 980 bytes, of the shortest slot that holds them, they need 120 % of the link; on a
    grid of 4 us they still have no room, on one of 2 us they have.
    """
    with pytest.raises(ConfigError, match="need 120 % of it"):
        make_plan(talkers(deadline_ns, "keepon = { slot_bytes = 980 }"))
    scenario = talkers(deadline_ns)
    plan = verify(scenario, make_plan(scenario))
    assert plan["verified"]
    _, result = ran(scenario, plan)
    for name, flow in result["streams"].items():
        assert plan["streams"][name]["frame_slots"] > 1 and not flow["missing"]
        assert flow["delay_ns"]["max"] <= plan["streams"][name]["bounds"]["delay_ns"] <= deadline_ns


def test_trims_do_not_take_the_only_slot_of_a_port_without_streams() -> None:
    """Its table had one slot, which trims had: a load had none, to be shortened to 0 bytes."""
    load = {"id": "bg", "talker": "b", "listener": "a", "kind": "saturate", "frame_bytes": FULL}
    scenario = network([stream(200)], load=[load])
    table = {"name": "b", "driver": "keepon", "keepon": {"trim": "reserved"}}
    listens = scenario.station[0].model_validate(table)
    both = scenario.model_copy(update={"station": [scenario.station[0], listens]})
    port = verify(both, make_plan(both))["stations"]["b"]
    untouched = sum(not mask for mask in port["allowed"])
    assert untouched == 1 and port["partition_slots"] > port["partition_slots"] // 2 > untouched


def test_a_counter_stands_still_while_a_long_frame_is_on_the_wire() -> None:
    """Three slots of 5 us: half of them is more than the 5 us that are stated of a clock."""
    keepon = {"slot_bytes": 605, "clock": "counter", "batch_slots": 1}
    sync = {"mode": "gptp", "grandmaster": "b"}
    for frame_bytes, refused in ((500, False), (FULL, True)):
        scenario = network([stream(frame_bytes)], keepon, sync=sync)
        if not refused:
            assert make_plan(scenario)["status"] == "feasible"
            continue
        with pytest.raises(ConfigError, match=r"clock_error_ns` .* granularity of 15000 ns"):
            make_plan(scenario)


def with_dual(scenario: Scenario) -> Scenario:
    """The same with a listener that counts slots."""
    table = scenario.station[0].model_validate({**DUAL, "name": "b"})
    return scenario.model_copy(update={"station": [scenario.station[0], table]})


def test_a_station_whose_slots_are_counted_has_one_a_frame() -> None:
    keepon = {"slot_bytes": 1230}
    scenario = with_dual(network([stream(100)], keepon, load=[LOAD]))
    with pytest.raises(ConfigError, match=r"`load\[0\].*at most 1222, as slots .* clock \"dual\""):
        make_plan(scenario)
    stated = with_dual(network([stream(100)], {**keepon, "frame_bytes_max": FULL}))
    with pytest.raises(ConfigError, match=r'frame_bytes_max` .* = 1518: must be "auto" or at most'):
        make_plan(stated)
    assert (
        "frame_bytes_max" not in keeps(with_dual(network([stream(100)], keepon)))["stations"]["a"]
    )


def test_loads_longer_than_any_row_of_their_class_are_named() -> None:
    """A frame of two slots every five: rows of three, and full frames of nine."""
    every = {"period_ns": 10_000, "frame_bytes": 300, "advance_ns": 100_000}
    scenario = network([every], {"slot_bytes": 230}, load=[LOAD])
    plan = make_plan(scenario)
    assert plan["status"] == "unknown"
    assert (
        'load "bg" of class 7 has frames of 1518 bytes, which take 9 slots of 230 bytes in a row,'
        " and as streams lie the longest row of the class has 3 slots, room for frames of 561 bytes"
    ) in plan["why"]["message"]
    assert "shorten the frames to 561 bytes" in plan["why"]["nearest_change"]
    fits = network([every], {"slot_bytes": 230}, load=[{**LOAD, "frame_bytes": 561}])
    plan = verify(fits, make_plan(fits))
    classes = plan["stations"]["a"]["classes"]
    assert {tc: entry["frame_bytes_max"] for tc, entry in classes.items()} == {"0": 395, "7": 561}


def drawn(chance: random.Random) -> tuple[Scenario, float]:
    """Some streams of any lengths, and the share of the wire that they take by themselves."""
    rate_bps = chance.choice((10, 100, 1000, 2500, 10_000)) * 10**6
    base_ns = chance.choice((125_000, 250_000, 500_000, 1_000_000, 1_230_400))
    base_ns *= {10**7: 40, 10**8: 4, 25 * 10**8: 2}.get(rate_bps, 1)
    advance_ns = 400_000 + 20 * 1542 * 8 * 10**9 // rate_bps
    lengths = (chance.randint(64, 1522), FULL, 1522, chance.randint(64, 300))
    streams = [
        stream(chance.choice(lengths), base_ns * chance.choice((1, 2, 4)), advance_ns=advance_ns)
        for _ in range(chance.randint(1, 3))
    ]
    keepon = {"trim": chance.choice(("any", "any", "reserved"))}
    own = station(
        chance.choice((1, 1, 4, 128)), host="ideal", clock_ppm=float(chance.choice((0, 60, -80)))
    )
    load = {"frame_bytes": chance.choice((64, 700, FULL)), "rate_bps": rate_bps // 20}
    more = {"load": [{**LOAD, **load}]} if chance.random() < 0.5 else {}
    share = sum((row["frame_bytes"] + 20) * 8e9 / rate_bps / row["period_ns"] for row in streams)
    duration_s = 40 * base_ns / 1e9
    return network(streams, keepon, rate_bps, own, duration_s=duration_s, **more), share


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_what_the_wire_has_room_for_is_planned_and_keeps_its_bounds(seed: int) -> None:
    scenario, share = drawn(random.Random(seed))
    assert share < 0.6
    plan = keeps(scenario)
    port = plan["stations"]["a"]
    if "frame_bytes_max" in port:
        spans = planned_spans(scenario.station[0], port)
        assert 2 <= spans.slots_max <= 128
