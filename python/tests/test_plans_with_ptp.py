# SPDX-License-Identifier: BSD-3-Clause
"""Plans of networks whose clocks PTP sets: what their clocks can keep, slots for its messages,
remedies that help.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems, verify
from keepon.targets.sim import runner
from keepon.trial.trial import TRIAL_SYNCS, trial

CASES = Path(__file__).parent / "cases"


def case(name: str, **replacements: str) -> Scenario:
    """A case with pieces of its text replaced."""
    text = (CASES / f"{name}.toml").read_text(encoding="utf-8")
    for old, new in replacements.items():
        assert old in text, old
        text = text.replace(old, new)
    return loading.parse(text, f"{name}.toml")


# -- what a clock can keep
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ptpcounter", "ptpcounter1"])
def test_a_clock_error_below_what_both_clocks_leave_open_is_refused(name: str) -> None:
    expected = (
        r'`station\[1\].clock_error_ns` .* = "auto" \(5000\): must be between 13640 and .* of the'
        r" grandmaster 10000"
    )
    with pytest.raises(ConfigError, match=expected):
        make_plan(case(name))


def test_a_grandmaster_without_streams_gets_a_batch_by_eq_4_too() -> None:
    stated = {
        'name = "b"': 'name = "b"\nclock_error_ns = 60_000',
        "slot_bytes = 1230": "slot_bytes = 230",
    }
    plan = make_plan(case("ptpcounter", **stated))
    batches = {name: plan["stations"][name]["batch_slots"] for name in ("a", "b")}
    # 60 us less what stamps vary: half of what is left is the grandmaster's, 28 us are 14 slots and
    # as many again.
    assert batches["a"] <= 16, batches
    room_ns = 60_000 - 2564
    assert (batches["a"] + batches["b"]) * 2000 / 2 <= room_ns
    quantities = [
        row["quantity"] for row in plan["stations"]["b"]["rationale"] if row["rule"] == "G3"
    ]
    eq_4_us = float(re.search(r"at most ([\d.]+) us", quantities[0])[1])  # type: ignore[index]
    assert eq_4_us * 1000 >= (batches["a"] + batches["b"]) * 2000 / 2, (
        "the grandmaster's share is missing"
    )


@pytest.mark.slow
def test_a_statement_that_granularity_allows_is_kept_over_many_intervals_of_sync() -> None:
    changes = {
        "slot_bytes = 1230, batch_slots = 1": "slot_bytes = 230, batch_slots = 1",
        "warmup_s = 60.0": "warmup_s = 30.0",
    }
    scenario = case("ptpcounter1", **changes)
    plan = verify(scenario, make_plan(scenario))
    tried = trial(scenario, plan)
    assert tried["duration_s"] == TRIAL_SYNCS * 0.125
    assert tried["unsent"] == {}


@pytest.mark.slow
def test_a_clock_that_is_off_is_named_with_its_error_and_what_it_needs() -> None:
    early = {
        "slot_bytes = 1230, batch_slots = 1": "slot_bytes = 230, batch_slots = 1",
        "warmup_s = 60.0": "warmup_s = 1.0",
    }
    scenario = case("ptpcounter1", **early)
    with pytest.raises(
        ConfigError,
        match=r'"b" was off by up to \d+ ns, 5000 stated: raise warmup_s to (\d+) or more',
    ) as caught:
        trial(scenario, verify(scenario, make_plan(scenario)))
    needed_s = re.search(r"warmup_s to (\d+)", str(caught.value))
    assert needed_s is not None
    later = scenario.model_copy(update={"warmup_s": float(needed_s[1])})
    assert trial(later, verify(later, make_plan(later)))["unsent"] == {}


@pytest.mark.slow
def test_a_statement_that_is_true_later_only_is_refused_with_the_time() -> None:
    """Either alone was refused again."""
    scenario = case("statement-and-time")
    with pytest.raises(
        ConfigError, match=r"state clock_error_ns = .* and raise warmup_s"
    ) as caught:
        trial(scenario, verify(scenario, make_plan(scenario)))
    numbers = re.search(r"clock_error_ns = (\d+), .* warmup_s to (\d+)", str(caught.value))
    assert numbers is not None
    stated = [
        station.model_copy(update={"clock_error_ns": int(numbers[1])})
        if station.name == "a"
        else station
        for station in scenario.station
    ]
    longer = scenario.model_copy(update={"station": stated, "warmup_s": float(numbers[2])})
    assert trial(longer, verify(longer, make_plan(longer)))["unsent"] == {}


@pytest.mark.slow
def test_a_latency_of_reception_that_was_not_taken_off_is_named() -> None:
    changes = {
        "slot_bytes = 1230, batch_slots = 1": "slot_bytes = 230, batch_slots = 1",
        "warmup_s = 60.0": "warmup_s = 30.0",
        "cpu_ppm = 25.0\ningress_latency_ns = 4400": "cpu_ppm = 25.0\ningress_latency_ns = -16000",
    }
    scenario = case("ptpcounter1", **changes)
    with pytest.raises(ConfigError, match=r"set ingress_latency_ns to -?\d+") as caught:
        trial(scenario, verify(scenario, make_plan(scenario)))
    found = re.search(r"ingress_latency_ns to (-?\d+)", str(caught.value))
    assert found is not None
    right = {
        **changes,
        "cpu_ppm = 25.0\ningress_latency_ns = 4400": (
            f"cpu_ppm = 25.0\ningress_latency_ns = {found[1]}"
        ),
    }
    mended = case("ptpcounter1", **right)
    assert trial(mended, verify(mended, make_plan(mended)))["unsent"] == {}


# -- gates by clocks that are off
# -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_windows_leave_what_is_stated_of_the_clocks_of_bridges() -> None:
    """At 10 Gb/s the gap between frames is 10 ns, and a frame that comes 100 ns late misses a
    window of its length.
    """
    scenario = case("wrong-remedy")
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert trial(scenario, plan)["unsent"] == {}
    run, _ = runner.simulate(scenario, plan, "as-configured", scenario.seed)
    for name, entry in run.document["streams"].items():
        for bound, check in entry["bound_check"].items():
            printed = plan["streams"][name]["bounds"].get(bound)
            assert printed is None or check["bound_ns"] == printed, (
                "what is printed is not what runs check"
            )
            assert check["met"], (name, bound, check)


def test_a_gate_list_by_hand_is_read_by_a_clock_that_is_off_either_way() -> None:
    gates = (
        '{ b = { entries = [{ gates = "0xdf", ns = 250_000 }, { gates = "0x20", ns = 250_000 }] } }'
    )
    text = (CASES / "ptpslot.toml").read_text(encoding="utf-8")
    text = text.replace(
        "[[link]]",
        f'[[bridge]]\nname = "br"\ngates = {gates}\n[[link]]\nends = ["b", "br"]\n[[link]]',
    )
    text = text.replace('ends = ["a", "b"]', 'ends = ["a", "br"]').replace("1_012_000", "500_000")
    scenario = loading.parse(text, "by-hand.toml")
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    window = plan["streams"]["S1"]["windows"][0]
    opened = window["open_ps"] % 250_000_000
    assert opened == 250_000_000 - 90_000 or 0 < opened < 250_000_000
    assert trial(scenario, plan)["unsent"] == {}


# -- slots for messages
# -----------------------------------------------------------------------------------------------


def test_slots_hold_the_messages_of_ptp() -> None:
    scenario = case("ptpslot")
    plan = verify(scenario, make_plan(scenario))
    assert plan["stations"]["a"]["slot_bytes"] >= 94 + 8
    assert trial(scenario, plan)["unsent"] == {}


@pytest.mark.parametrize(("mode", "least"), [("gptp", 102), ("ptp", 80)])
def test_stated_slots_that_hold_no_message_of_ptp_are_refused(mode: str, least: int) -> None:
    text = (
        (CASES / "ptpslot.toml")
        .read_text(encoding="utf-8")
        .replace('"gptp"', f'"{mode}"')
        .replace("1_012_000", "1_000_000")
    )
    short = text.replace(
        'driver = "keepon"', f'driver = "keepon"\nkeepon = {{ slot_bytes = {least - 1} }}'
    ).replace("1_000_000", str((least - 1 + 20) * 8 * 1000))
    with pytest.raises(
        ConfigError,
        match=(
            rf"`station\[0\].keepon.slot_bytes` .* = {least - 1}: must be between {least} and 1522"
        ),
    ):
        make_plan(loading.parse(short.replace(" }", ", frame_bytes_max = 0 }"), "ptpslot.toml"))
    scenario = loading.parse(short, "ptpslot.toml")
    plan = verify(scenario, make_plan(scenario))
    assert plan["stations"]["a"]["frame_bytes_max"] >= least - 8
    assert trial(scenario, plan)["unsent"] == {}


# -- the first frame
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_first_frame_is_handed_over_by_the_clock_as_it_is_then() -> None:
    """Not as it was at the start, before PTP set it: a first frame out of order delays a queue for
    ever.
    """
    scenario = case("wrong-remedy").model_copy(update={"host_tail_scale": 0.0, "duration_s": 0.01})
    build, _ = runner.simulate_build(scenario, make_plan(scenario), "as-configured", scenario.seed)
    for stream in scenario.stream:
        frames = build.frames(stream.id)
        ahead_us = (frames.txtime_ps - frames.submit_ps)[:20] / 1e6
        if scenario.station_named(stream.talker).driver == "keepon":
            assert abs(ahead_us[0] - ahead_us[1:].mean()) < 20, (stream.id, ahead_us)


CUT_OFF = """schema = "keepon.scenario/1"
name = "cut-off"
duration_s = 0.1
warmup_s = 3.0
sync = { mode = "MODE", grandmaster = "plc" }
station = [{ name = "plc", driver = "launchtime" }, { name = "drive", driver = "launchtime" }]
link = [{ ends = ["plc", "sw"] }, { ends = ["drive", "sw"] }]
[[bridge]]
name = "sw"
gates.PEER.entries = [{ gates = "0x20", ns = 100_000 }, { gates = "REST", ns = 900_000 }LAST]
[[stream]]
id = "s"
talker = "plc"
listeners = ["drive"]
period_ns = 1_000_000
frame_bytes = 200
advance_ns = 900_000
"""


@pytest.mark.parametrize("peer", ["drive", "plc"])
@pytest.mark.parametrize(
    ("mode", "rest", "last", "open_ns", "needed_ns"),
    [
        ("gptp", "0x1f", "", 0, 816),
        ("gptp", "0x1f", ', { gates = "0x40", ns = 815 }', 815, 816),
        ("gptp", "0x1f", ', { gates = "0x40", ns = 816 }', 816, None),
        ("gptp", "0x5f", "", 900_000, None),
        ("ptp", "0x1f", ', { gates = "0x40", ns = 639 }', 639, 640),
        ("ptp", "0x1f", ', { gates = "0x40", ns = 640 }', 640, None),
    ],
)
def test_a_gate_list_that_cuts_clocks_off_is_named(
    peer: str, mode: str, rest: str, last: str, open_ns: int, needed_ns: int | None
) -> None:
    """The advice was a longer warm-up, or a clock_error_ns; a longer one for each longer trial."""
    text = CUT_OFF.replace("MODE", mode).replace("PEER", peer)
    text = text.replace("REST", rest).replace("LAST", last)
    if needed_ns is None:
        loading.parse(text, "cut.toml")
        return
    with pytest.raises(ConfigError) as refused:
        loading.parse(text, "cut.toml")
    assert str(refused.value) == (
        f'cut.toml: key `bridge[0].gates.{peer}.entries` (bridge "sw"): gate 6, of PTP by'
        f" sync.priority = 6, is open for {open_ns} ns at most, and its messages take {needed_ns}"
        " ns, so that clocks behind it are never set; open it for as long (0x40) in an entry"
        " without the gates of streams"
    )
