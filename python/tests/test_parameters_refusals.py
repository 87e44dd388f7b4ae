# SPDX-License-Identifier: BSD-3-Clause
"""Stations that cannot work are refused in one sentence, with the change that works."""

from __future__ import annotations

import pickle
import re
import time

import pytest
from keepon.errors import ConfigError, InfeasibleError
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.parameters import asks, partitions, posting
from keepon.planner.verify import verify
from keepon.targets.sim import runner
from station_cases import GIGABIT, Table, chosen, needs_of, network, verdicts_of

# -- refused in one sentence
# ------------------------------------------------------------------------------------------

SLEEPS = {"id": "bg", "talker": "a", "listener": "b"}
THREE = [{"tc": 0}, {"tc": 1}, {"tc": 7, "slots": "rest", "late": "reschedule"}]

WRONG: list[tuple[Table, str]] = [
    (
        {
            "streams": [{"frame_bytes": 460, "advance_ns": 100_000}],
            "keepon": {"slot_bytes": 480},
            "rate_bps": 100_000_000,
        },
        'key `stream[0].advance_ns` (stream "S0") = 100000: must be at least 1',
    ),
    (
        {"streams": [{}, {"advance_ns": 20_000}]},
        'key `stream[1].advance_ns` (stream "S1") = 20000: must be at least 23',
    ),
    (
        {"streams": [{"advance_ns": 30_000}], "keepon": {"mode": "paper", "batch_slots": 8}},
        'key `stream[0].advance_ns` (stream "S0") = 30000: must be at least 3',
    ),
    (
        {
            "streams": [{"advance_ns": 400_000}],
            "station": {"release": "etf", "etf_delta_ns": 15_000},
        },
        'key `station[0].etf_delta_ns` (station "a") = 15000: must be between 1',
    ),
    (
        {
            "streams": [{"advance_ns": 400_000}],
            "keepon": {"slot_bytes": 230, "prebuffer_frames": 0, "ring_slots": 64},
        },
        'key `stream[0].advance_ns` (stream "S0") = 400000: must be at most 9',
    ),
    (
        {"streams": [{"advance_ns": 400_000}], "keepon": {"mode": "paper", "batch_slots": 2}},
        'key `station[0].keepon.batch_slots` (station "a") = 2: must be between ',
    ),
    (
        {
            "streams": [{"advance_ns": 400_000}],
            "keepon": {
                "batch_slots": 40,
                "depth_slots": 41,
                "poll_overhead_ns": 0,
                "trim_down_bytes": 100,
            },
        },
        'key `station[0].keepon.poll_overhead_ns` (station "a") = 0: must be between ',
    ),
    (
        {
            "streams": [{"advance_ns": 400_000}],
            "keepon": {"slot_bytes": 230, "batch_slots": 2, "depth_slots": 2},
        },
        'key `station[0].keepon.depth_slots` (station "a") = 2: must be between ',
    ),
    (
        {
            "streams": [{"advance_ns": 400_000}],
            "keepon": {"slot_bytes": 230},
            "rate_bps": 10_000_000_000,
        },
        (
            'key `station[0].keepon.slot_bytes` (station "a") = 230: must be at least 488, as the'
            " NIC takes 800 ns"
        ),
    ),
    (
        {"streams": [{}], "load": [{**SLEEPS, "tc": 3}]},
        'key `load[0].tc` (load "bg") = 3: must be one of the classes of station "a" (0, 7)',
    ),
    (
        {"streams": [{}], "keepon": {"classes": [{"tc": 0}, {"tc": 7}]}, "load": [SLEEPS]},
        (
            'key `station[0].keepon.classes[1].slots` (station "a") = "auto": must be "rest" or a'
            " list of slots"
        ),
    ),
    (
        {
            "streams": [{}],
            "keepon": {"classes": [{"tc": 0}, {"tc": 7}]},
            "sync": {"mode": "gptp", "grandmaster": "b"},
        },
        (
            'key `station[0].keepon.classes[1].slots` (station "a") = "auto": must be "rest" or a'
            " list of slots"
        ),
    ),
    (
        {"streams": [{}], "station": {"clock_ppm": 150.0, "cpu_ppm": -60.0}},
        'key `station[0].clock_ppm` (station "a") = 150: must be between -259.75 and 139.75 with',
    ),
    (
        {"streams": [{}], "station": {"clock_ppm": -198.0, "wander_ppb_per_s": 1.0}},
        'key `station[0].clock_ppm` (station "a") = -198: must be between -197.75 and 197.75 with',
    ),
    (
        {"streams": [{}], "keepon": {"batch_slots": 8, "poll_overhead_ns": 1_000_000}},
        'key `station[0].keepon.poll_overhead_ns` (station "a") = 1000000: must be between 0 and',
    ),
]


@pytest.mark.parametrize(
    ("values", "sentence"), WRONG, ids=[text.split("`")[1] + text[-6:] for _, text in WRONG]
)
def test_what_cannot_work_is_refused_in_one_sentence(values: Table, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_plan(network(**values))
    message = str(refused.value)
    assert message.startswith(sentence)
    assert "\n" not in message and ". " not in message.replace("Eq. 4", "")
    assert "; " in message


def test_the_longest_advance_without_holding_frames_back_is_exact() -> None:
    values, _ = WRONG[4]
    with pytest.raises(ConfigError) as refused:
        chosen(network(**values))
    most = int(str(refused.value).split("at most ")[1].split(",")[0])
    scenario = network([{"advance_ns": most}], values["keepon"], host_tail_scale=0.0)
    _, run = runner.simulate_build(scenario, make_plan(scenario), "keepon", 1)
    assert set(verdicts_of(run)) == {"on_time"}
    with pytest.raises(ConfigError, match="must be at most"):
        chosen(network([{"advance_ns": most + 1}], values["keepon"]))
    # By two slots and what a poll may be old it is not too short: there nothing would hold the
    # frame.
    beyond = network(
        [{"advance_ns": 64 * 2_000 + 40_000}], {**values["keepon"], "prebuffer_frames": 1}
    )
    plan = make_plan(beyond)
    without = network([{"advance_ns": 64 * 2_000 + 40_000}], values["keepon"])
    _, run = runner.simulate_build(without, plan, "keepon", 1)
    assert set(verdicts_of(run)) == {"too_early"}


def test_a_class_holds_back_all_that_is_handed_over_before_the_ring_reaches_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the frames that the refusal asks for none is without room; with one less some are."""
    streams = [{"period_ns": 250_000, "advance_ns": 20_000_000}, {"advance_ns": 5_000_000}]
    slots = {"slot_bytes": 230, "prebuffer_frames": 64}
    more = {"host_tail_scale": 0.0, "duration_s": 0.1, "warmup_s": 0.1}
    with pytest.raises(
        ConfigError, match=r'keepon.prebuffer_frames` .* = 64: must .* "S0"; raise'
    ) as refused:
        make_plan(network(streams, slots, **more))
    least = int(str(refused.value).split("between ")[1].split(" ")[0])
    scenario = network(streams, {**slots, "prebuffer_frames": least}, **more)
    _, run = runner.simulate_build(scenario, make_plan(scenario), "keepon", 1)
    assert set(verdicts_of(run)) == {"on_time"}
    less = network(streams, {**slots, "prebuffer_frames": least - 1}, **more)
    with pytest.raises(ConfigError, match="prebuffer_frames"):
        make_plan(less)
    monkeypatch.setattr(posting, "_check_held", lambda *_: None)
    _, run = runner.simulate_build(less, make_plan(less), "keepon", 1)
    assert verdicts_of(run)["no_room"] > 0


@pytest.mark.parametrize("number", [0, 1, 2, 3, 5, 6, 7, 8])
def test_the_range_of_a_refusal_is_exact(number: int) -> None:
    """The least value named is taken, one less is refused again."""
    values, _ = WRONG[number]
    with pytest.raises(ConfigError) as refused:
        chosen(network(**values))
    sentence = str(refused.value)
    key = sentence.split("`")[1].rsplit(".", 1)[1]
    words = sentence.split("must be ", 1)[1].replace(",", " ").split()
    least = int(words[words.index("least" if words[1] == "least" else "between") + 1])

    def with_value(value: int) -> Scenario:
        if key == "advance_ns":
            rows = [
                row if f'"S{index}"' not in sentence else {**row, key: value}
                for index, row in enumerate(values["streams"])
            ]
            return network(**{**values, "streams": rows})
        if key == "etf_delta_ns":
            return network(**{**values, "station": {**values["station"], key: value}})
        options = {**values["keepon"], key: value}
        if key == "slot_bytes":
            options["partition_slots"] = 1
            period_ns = (value + 20) * 8 * 1000
            rows = [{**row, "period_ns": period_ns, "frame_bytes": 64} for row in values["streams"]]
            return network(**{**values, "keepon": options, "streams": rows})
        return network(**{**values, "keepon": options})

    chosen(with_value(least))
    with pytest.raises(ConfigError, match=key):
        chosen(with_value(least - 1))


def test_no_isolation_names_bound_streams_and_a_change_that_works() -> None:
    streams = [{"tc": 0}, {"tc": 1}, {"tc": 0, "period_ns": 2_000_000}]
    scenario = network(streams, {"classes": THREE, "partition_slots": 7})
    plan = make_plan(scenario)
    assert plan["status"] == "infeasible"
    why = plan["why"]
    assert why["constraint"] == "partition"
    assert (
        "its classes need at least 14 slots of the partition (class 0: 7, class 1: 7) and 7 are"
        " there" in why["message"]
    )
    assert why["streams"] in (["S0", "S1"], ["S1", "S2"])
    assert why["nearest_change"].startswith('set partition_slots of station "a" to ')
    mended = network(streams, {"classes": THREE, "partition_slots": 1000})
    assert verify(mended, make_plan(mended))["verified"]


def change_for(streams: list[Table], keepon: Table) -> str:
    with pytest.raises(InfeasibleError) as refused:
        chosen(network(streams, keepon))
    assert refused.value.constraint == "partition"
    return refused.value.nearest_change


def test_changes_that_help_are_tried_in_turn() -> None:
    """Of the station alone; the planner of the network tries them again with everything else."""
    listed = [{"tc": 0, "slots": [0]}, {"tc": 1, "slots": [0]}, THREE[2]]
    two = [{"tc": 0}, {"tc": 1}]
    assert change_for(two, {"classes": listed}).startswith("list other slots for the classes")
    assert change_for(two, {"classes": THREE, "partition_slots": 7}).startswith(
        "set partition_slots"
    )
    # Slots of 2 us: periods of 3 and 5 slots meet whatever their phases, and 6 and 5 as well.
    coprime = [{"tc": 0, "period_ns": 6_000}, {"tc": 0, "period_ns": 10_000}]
    assert change_for(coprime, {"slot_bytes": 230}) == 'remove stream "S0"'
    # 2 and 3 slots meet; 4 and 3, too, but not 2 and 6.
    doubled = [{"tc": 0, "period_ns": 4_000}, {"tc": 0, "period_ns": 6_000}]
    assert (
        change_for(doubled, {"slot_bytes": 230}) == 'lengthen period_ns of "S1" from 6000 to 12000'
    )


def test_streams_of_one_offset_are_left_to_the_planner_of_the_network() -> None:
    both = [{"tc": 0, "offset_ns": 64}, {"tc": 1, "offset_ns": 64}]
    assert "offset_ns" in make_plan(network(both, {"classes": THREE}))["why"]["nearest_change"]


def test_posting_by_hand_is_checked_before_anything_else_is_chosen() -> None:
    needs = needs_of(chosen(network([{"advance_ns": 400_000}])))
    choice = posting.choose(needs, 230)
    assert posting.is_sustained(needs, choice)
    with pytest.raises(ConfigError, match="batch_slots"):
        chosen(network([{"advance_ns": 400_000}], {"batch_slots": 600, "ring_slots": 64}))


def test_the_least_delta_of_etf_holds_in_the_simulator() -> None:
    values, _ = WRONG[3]
    with pytest.raises(ConfigError) as refused:
        chosen(network(**values))
    least = int(str(refused.value).split("between ")[1].split()[0])
    station = {"release": "etf", "etf_delta_ns": least}
    scenario = network([{"advance_ns": 400_000}], station=station, host_tail_scale=0.0)
    _, run = runner.simulate_build(scenario, make_plan(scenario), "keepon", 1)
    assert set(verdicts_of(run)) == {"on_time"}


# -- limits of all slot lengths together
# ------------------------------------------------------------------------------------------

AUTO: list[tuple[Table, str]] = [
    (
        {"streams": [{"frame_bytes": 460, "advance_ns": 30_000}], "rate_bps": 100_000_000},
        "at least",
    ),
    (
        {
            "streams": [{"frame_bytes": 460, "advance_ns": 30_000}],
            "keepon": {"poll_overhead_ns": 10_000},
            "rate_bps": 100_000_000,
        },
        "at least",
    ),
    ({"streams": [{}], "keepon": {"poll_overhead_ns": 1_000_000}}, "between 0 and"),
    ({"streams": [{"period_ns": 125_000, "advance_ns": 50_000_000}]}, "between"),
    (
        {"streams": [{"advance_ns": 900_000}], "keepon": {"prebuffer_frames": 0, "ring_slots": 64}},
        "at most",
    ),
    ({"streams": [{"frame_bytes": 1522}], "keepon": {"frame_bytes_max": 1518}}, "at most"),
    ({"streams": [{"frame_bytes": 1522}], "keepon": {"slot_bytes": 80}, "ring": 64}, "at most"),
    (
        {
            "streams": [{"frame_bytes": 1000, "period_ns": 125_000}],
            "keepon": {"slot_bytes": 105, "depth_slots": 16},
        },
        "at most",
    ),
]


@pytest.mark.parametrize(("values", "words"), AUTO)
def test_the_limit_named_is_that_of_the_nearest_slot_length(values: Table, words: str) -> None:
    """With it the refusal is another one or none; with one more or less it is the same."""
    keepon = {**values.get("keepon", {}), **({"ring_slots": 64} if "ring" in values else {})}
    rate_bps = values.get("rate_bps", GIGABIT)

    def refusal(key: str = "", value: int = 0) -> str:
        stated = key in ("prebuffer_frames", "frame_bytes_max", "poll_overhead_ns")
        options = {**keepon, key: value} if stated else keepon
        rows = [row if stated or not key else {**row, key: value} for row in values["streams"]]
        try:
            make_plan(network(rows, options, rate_bps))
        except ConfigError as refused:
            return str(refused)
        return ""

    first = refusal()
    found = re.match(rf"(.*\.(\w+)` .*) = \d+: must be {words} (\d+)", first)
    assert found, first
    subject, key, limit = found[1], found[2], int(found[3])
    assert not refusal(key, limit).startswith(subject)
    assert refusal(key, limit + (-1 if words in ("at least", "between") else 1)).startswith(subject)


@pytest.mark.parametrize(
    ("stream", "keepon", "key", "without"),
    [
        ({}, {"slot_bytes": 1522}, "station[0].keepon.slot_bytes", "enlarge"),
        ({"frame_bytes": 1522}, {"slot_bytes": 68}, "station[0].keepon.slot_bytes", "enlarge"),
        (
            {"frame_bytes": 1300, "period_ns": 1_000_003},
            {"frame_bytes_max": 0},
            "stream[0].period_ns",
            "frame_bytes_max",
        ),
        ({"period_ns": 2_784_727}, {"slot_bytes": 1000}, "stream[0].period_ns", '"auto"'),
        (
            {"frame_bytes": 300},
            {"slot_bytes": 200, "mode": "paper", "frame_bytes_max": 180},
            "stream[0].frame_bytes",
            "enlarge station.keepon.frame_bytes_max",
        ),
        (
            {"period_ns": 1_000_003},
            {},
            "stream[0].period_ns",
            "frames of at most",
        ),
    ],
)
def test_no_remedy_is_named_that_is_none(
    stream: Table, keepon: Table, key: str, without: str
) -> None:
    station = {"nic": {"fetch_ns": 20_000}} if without == "frames of at most" else {}
    with pytest.raises(ConfigError) as refused:
        make_plan(network([stream], keepon, station=station))
    assert f"key `{key}` " in str(refused.value) and without not in str(refused.value)


def test_a_station_that_only_listens_takes_the_first_slot_that_serves() -> None:
    """Each of 1443 lengths was tried with every length of frames: 46 s."""
    listens = {"name": "b", "driver": "keepon", "keepon": {"frame_bytes_max": 1518}}
    scenario = network([{}])
    stations = [scenario.station[0], scenario.station[0].model_validate(listens)]
    started_s = time.process_time()
    plan = make_plan(scenario.model_copy(update={"station": stations}))
    assert plan["stations"]["b"]["frame_bytes_max"] == 1518
    assert time.process_time() - started_s < 5


def test_limits_and_remedies_are_looked_for_only_where_they_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A plan of four streams took 25 s, a remedy of each change that was tried included."""
    asked: list[str] = []

    def count(of: object, name: str) -> None:
        found = getattr(of, name)
        monkeypatch.setattr(of, name, lambda *some: (asked.append(name), found(*some))[1])

    count(partitions, "_nearest_change")
    count(asks, "most")
    # Slots of 2 us: with any of these periods changed two are coprime still.
    streams = [{"period_ns": 2_000 * slots, "frame_bytes": 64} for slots in (3, 5, 7, 11)]
    plan = make_plan(network(streams, {"slot_bytes": 230}))
    assert plan["status"] == "infeasible" and asked == ["_nearest_change"]
    long = {"frame_bytes": 1300, "period_ns": 1_000_000, "advance_ns": 600_000}
    fragments = {"nic": {"fragments_max": 128}}
    plan = make_plan(network([long], {"ring_slots": 24}, station=fragments))
    assert plan["status"] == "feasible" and asked == ["_nearest_change"]
    with pytest.raises(ConfigError) as refused:
        make_plan(network([long], {"slot_bytes": 80, "ring_slots": 64}))
    assert asked == ["_nearest_change", "most"]
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
