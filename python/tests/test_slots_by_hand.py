# SPDX-License-Identifier: BSD-3-Clause
"""Slots, partitions and releases a scenario fixes by hand are planned so that the checker agrees,
or refused.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import small, small_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keepon.cli import app as cli
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems, verify
from keepon.targets.sim import runner

DRIVER = 'driver = "under-test"'


def by_hand(**keepon: Any) -> Scenario:
    """The small scenario as a program makes it: not through the reader of files, which refuses some
    of it itself.
    """
    document = small().effective()
    document["station"][0]["keepon"].update(keepon)
    return Scenario.model_validate(document)


def test_a_slot_time_that_does_not_divide_the_period_is_refused_by_the_planner_itself() -> None:
    sentence = (
        r'^key `stream\[0\].period_ns` \(stream "F1"\) = 1000000: must be a multiple of the slot'
        r" time 2560 ns of "
        r'station "a"; nearest are 998400 and 1000960, or set station.keepon.slot_bytes to "auto"$'
    )
    with pytest.raises(ConfigError, match=sentence):
        make_plan(by_hand(slot_bytes=300))
    scenario = by_hand(slot_bytes=300, mode="paper")
    assert verify(scenario, make_plan(scenario))["verified"] is True


def test_a_frame_longer_than_its_slot_is_refused_by_the_planner_itself() -> None:
    with pytest.raises(
        ConfigError, match=r"`stream\[0\].frame_bytes` .* = 200: must be at most 97,"
    ):
        make_plan(by_hand(slot_bytes=105, frame_bytes_max=0))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            {DRIVER: f"{DRIVER}\nkeepon = {{ slot_bytes = 300 }}"},
            (
                'key `stream[0].period_ns` (stream "F1") = 1000000: must be a multiple of the slot'
                " time 2560 ns"
            ),
        ),
        (
            {"frame_bytes = 200": "frame_bytes = 200\noffset_ns = 5_000"},
            (
                'key `stream[0].offset_ns` (stream "F1") = 5000: must be at the start of a slot of'
                ' station "a" and 8 byte times, as slots of 2000 ns follow the grid; choose 4064 or'
                ' 6064, or "auto"'
            ),
        ),
        (
            {DRIVER: f"{DRIVER}\nkeepon = {{ batch_slots = 600, ring_slots = 8 }}"},
            'key `station[0].keepon.batch_slots` (station "a") = 600: must be between 1 and 7',
        ),
        (
            {"frame_bytes = 200": "frame_bytes = 200\ntc = 3"},
            (
                'key `stream[0].tc` (stream "F1") = 3: must be one of the classes of station "a"'
                " (0, 7)"
            ),
        ),
        (
            {"frame_bytes = 200": "frame_bytes = 200\nredundancy = 2"},
            'key `stream[0].redundancy` (stream "F1") = 2: must be 1',
        ),
    ],
)
def test_the_command_refuses_in_one_sentence_that_names_file_and_key(
    text: dict[str, str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(small_text(**text))
    monkeypatch.setattr(sys, "argv", ["keepon", "plan", str(path)])
    assert cli.main() == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    start, _, rest = printed.err.partition(": key ")
    assert start.rpartition(":")[0] == f"keepon: {path}" and start.rpartition(":")[2].isdigit()
    assert f"key {rest}".startswith(sentence)
    assert printed.err.count("\n") == 1


def test_a_slot_listed_for_two_classes_is_given_to_no_stream() -> None:
    classes = [
        {"tc": 0, "slots": [0, 1, 4]},
        {"tc": 1, "slots": [0, 2]},
        {"tc": 7, "slots": "rest"},
    ]
    scenario = by_hand(classes=classes, partition_slots=500)
    plan = verify(scenario, make_plan(scenario))
    assert plan["streams"]["F1"]["release_ns"] == 1 * 2000 + 64
    both = by_hand(classes=[{"tc": 0, "slots": [0]}, {"tc": 1, "slots": [0]}], partition_slots=500)
    plan = make_plan(both)
    assert plan["status"] == "infeasible"
    assert plan["why"]["nearest_change"] == (
        'set slots of the classes of station "a" to "auto" (planned and checked: feasible with it)'
    )


_SLOTS = st.sampled_from(["auto", "rest", [0], [0, 1], [2, 4], [0, 5, 50], [3]])


@st.composite
def scenarios(draw: st.DrawFn) -> str:
    """One talker whose table has anything a user may write, some streams, one bridge."""
    options: dict[str, Any] = {
        key: draw(values)
        for key, values in {
            "slot_bytes": st.sampled_from([105, 230, 300, 480, 605, 1230, 1480]),
            "partition_slots": st.sampled_from([1, 2, 7, 10, 100, 500, 1000]),
            "ring_slots": st.sampled_from([8, 16, 100, 1024]),
            "batch_slots": st.sampled_from([1, 4, 64]),
            "depth_slots": st.sampled_from([4, 64]),
        }.items()
        if draw(st.booleans())
    }
    options["mode"] = draw(st.sampled_from(["phase-locked", "phase-locked", "paper"]))
    options["trim"] = draw(st.sampled_from(["any", "reserved"]))
    rounding = draw(st.sampled_from(["up", "floor"]))
    classes = [f'{{ tc = {tc}, slots = {draw(_SLOTS)!r}, round = "{rounding}" }}' for tc in (0, 1)]
    classes.append('{ tc = 7, slots = "rest", late = "reschedule" }')
    table = ", ".join(
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
        for key, value in options.items()
    )
    text = (
        'schema = "keepon.scenario/1"\nname = "random"\n[[station]]\nname = "b"\ndriver ='
        ' "launchtime"\n'
    )
    text += f'[[station]]\nname = "a"\nkeepon = {{ {table}, classes = [{", ".join(classes)}] }}\n'
    text += f'[[bridge]]\nname = "br"\ngates = "{draw(st.sampled_from(["auto", "none"]))}"\n'
    rate = draw(st.sampled_from([10**9, 2_500_000_000, 10**10]))
    text += f'[[link]]\nends = ["b", "br"]\n[[link]]\nends = ["a", "br"]\nrate_bps = {rate}\n'
    periods = st.sampled_from([100_000, 200_000, 250_000, 500_000, 1_000_000, 998_400, 2_560_000])
    for number in range(draw(st.integers(1, 5))):
        text += (
            f'[[stream]]\nid = "F{number}"\ntalker = "a"\nlisteners = ["b"]\nperiod_ns ='
            f" {draw(periods)}\n"
        )
        text += (
            f"frame_bytes = {draw(st.sampled_from([64, 90, 200]))}\ntc ="
            f" {draw(st.sampled_from([0, 0, 1, 7]))}\n"
        )
        if draw(st.integers(0, 4)) == 0:
            text += f"offset_ns = {draw(st.sampled_from([0, 64, 2064, 5000]))}\n"
    return text


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios())
def test_whatever_is_fixed_by_hand_is_refused_infeasible_or_passes_the_checker(text: str) -> None:
    try:
        scenario = loading.parse(text, "random.toml")
        plan = make_plan(scenario)
    except ConfigError as refusal:
        assert all("key `" in sentence for sentence in str(refusal).splitlines())
        return
    if plan["status"] == "feasible":
        assert problems(scenario, plan) == []
    else:
        assert plan["why"]["nearest_change"]


@pytest.mark.parametrize("rounding", ["up", "floor"])
@pytest.mark.parametrize("rate_bps", [2_500_000_000, 10_000_000_000])
def test_slots_that_never_start_on_a_whole_nanosecond_are_hit(rate_bps: int, rounding: str) -> None:
    """A byte lasts 3.2 and 0.8 ns, a txtime has whole nanoseconds: it is rounded to the
    slot meant.
    """
    classes = (
        f'classes = [{{ tc = 0, round = "{rounding}" }}, {{ tc = 7, slots = "rest", late ='
        ' "reschedule" }]'
    )
    table = f"slot_bytes = 605, {classes}"
    text = {
        "[[station]]": f"[defaults]\nrate_bps = {rate_bps}\n[[station]]",
        DRIVER: f"{DRIVER}\nkeepon = {{ {table} }}",
        "duration_s = 0.1": "duration_s = 0.02",
    }
    scenario = small(**text)
    plan = verify(scenario, make_plan(scenario))
    assert (
        1000 * plan["streams"]["F1"]["release_ns"] - plan["stations"]["a"]["preamble_ps"]
    ) % plan["stations"]["a"]["slot_time_ps"]
    _, run = runner.simulate_build(scenario, plan, "keepon", 1)
    stream = run.document["streams"]["F1"]
    assert stream["verdicts"]["on_time"] == stream["submitted"]
    assert stream["missing"] == 0
    assert all(check["met"] for check in stream["bound_check"].values())
