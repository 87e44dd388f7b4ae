# SPDX-License-Identifier: BSD-3-Clause
"""Stations at every Ethernet rate, with and without streams of their own: there is a plan, or one
sentence that says what to change.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.planner import plan as make_plan
from keepon.planner.partition.limits import Limits
from keepon.targets.sim.runner import simulate

PLAN_S = 2.0
RATES_MBPS = (10, 100, 1000, 2500, 5000, 10_000)


def network(
    mbps: int, streams: bool, keepon: str, nic: str, load: str, period_ns: int, frame_bytes: int
) -> str:
    """Station "a" is the one that is planned; "b" talks to it in any case."""
    text = 'schema = "keepon.scenario/1"\nname = "rates"\nduration_s = 0.1\n'
    for name, driver in (("a", "keepon"), ("b", "standard")):
        text += f'[[station]]\nname = "{name}"\ndriver = "{driver}"\nhost = "raspberry-pi-4"\n'
        if driver == "keepon":
            text += f"keepon = {{ {keepon} }}\nnic = {{ {nic} }}\n"
    text += f'[[link]]\nends = ["a", "b"]\nrate_bps = {mbps}_000_000\n{load}'
    for talker, listener in (("a", "b"), ("b", "a"))[not streams :]:
        text += f'[[stream]]\nid = "{talker}"\ntalker = "{talker}"\nlisteners = ["{listener}"]\n'
        text += f"period_ns = {period_ns}\nframe_bytes = {frame_bytes}\npriority = 5\n"
    return text


def outcome(text: str) -> str:
    """The plan's status, or the sentence."""
    try:
        scenario = loading.parse(text, "rates.toml")
        return str(make_plan(scenario, Limits(time.monotonic() + PLAN_S, 1))["status"])
    except ConfigError as error:
        return str(error)


@pytest.mark.slow
@given(
    mbps=st.sampled_from(RATES_MBPS),
    streams=st.booleans(),
    trim=st.sampled_from(("any", "reserved")),
    down=st.sampled_from((1, 8, 100, 512)),
    mode=st.sampled_from(("phase-locked", "paper")),
    fetch_ns=st.sampled_from((1, 800, 20_000, 1_000_000)),
    load_bytes=st.sampled_from((0, 64, 1514, 1518, 1522)),
    period_ns=st.sampled_from((1_000_000, 999_983, 10_000_000)),
    frame_bytes=st.sampled_from((64, 200, 1522)),
)
def test_a_plan_or_a_sentence(
    mbps: int, streams: bool, trim: str, down: int, mode: str, fetch_ns: int, load_bytes: int,
    period_ns: int, frame_bytes: int,
) -> None:  # fmt: skip
    load = ""
    if load_bytes:
        load = '[[load]]\nid = "l"\ntalker = "a"\nlistener = "b"\nrate_bps = 1_000_000\n'
        load += f"frame_bytes = {load_bytes}\n"
    keepon = f'mode = "{mode}", trim = "{trim}", trim_down_bytes = {down}'
    said = outcome(
        network(mbps, streams, keepon, f"fetch_ns = {fetch_ns}", load, period_ns, frame_bytes)
    )
    assert said in ("feasible", "infeasible", "unknown") or "key `" in said, said


def test_a_load_longer_than_a_trimmed_slot_is_named() -> None:
    load = '[[load]]\nid = "l"\ntalker = "a"\nlistener = "b"\nrate_bps = 1_000_000\n'
    for mbps in RATES_MBPS:
        for streams in (False, True):
            one_slot = "frame_bytes_max = 0"
            said = outcome(network(mbps, streams, one_slot, "", load, 1_000_000, 100))
            assert 'key `load[0].frame_bytes` (load "l") = 1518: must be at most 1506' in said
            assert "has 1514 bytes, trims take 8, and its frame_bytes_max is 0; choose" in said
            several = outcome(network(mbps, streams, "", "", load, 1_000_000, 100))
            assert "frame_bytes`" not in several


def test_a_nic_that_fetches_too_slowly_is_named() -> None:
    said = outcome(network(10_000, False, "", "fetch_ns = 1_000_000", "", 1_000_000, 100))
    assert 'key `station[0].nic.fetch_ns` (station "a") = 1000000: must be less at 1' in said


@pytest.mark.parametrize(
    ("slot_bytes", "trims", "low", "high"),
    [(64, "", 72, 1514), (71, "", 72, 1514), (1521, "", 72, 1514),
     (1522, ", trim_down_bytes = 1, trim_up_bytes = 1", 65, 1521)],
)  # fmt: skip
def test_slots_that_trims_make_no_frame_are_named_and_the_next_ones_run(
    slot_bytes: int, trims: str, low: int, high: int
) -> None:
    """The simulator refused them, without file and key."""
    load = '[[load]]\nid = "l"\ntalker = "a"\nlistener = "b"\nrate_bps = 1_000_000\n'
    load += "frame_bytes = 64\n"
    text = network(1000, False, f"slot_bytes = SLOT{trims}", "", load, 1_000_000, 100)
    sentence = (
        f'keepon.slot_bytes` (station "a") = {slot_bytes}: must be between {low} and {high}, as'
    )
    assert sentence in outcome(text.replace("SLOT", str(slot_bytes)))
    nearest = low if slot_bytes < low else high
    scenario = loading.parse(text.replace("SLOT", str(nearest)), "slots.toml")
    run, _ = simulate(scenario, make_plan(scenario), "keepon", 1)
    assert run.document["loads"]["l"]["goodput_bps"] > 0
    paper = text.replace("SLOT", f'{slot_bytes}, mode = "paper"')
    assert sentence not in outcome(paper)


def test_slots_that_the_plan_chooses_can_be_made_longer() -> None:
    """Trims of 8 bytes either way leave 1506 of 1522; the simulator refused slots above 1514."""
    load = '[[load]]\nid = "l"\ntalker = "a"\nlistener = "b"\nrate_bps = 1_000_000\n'
    for frame_bytes, said in ((1506, "feasible"), (1507, "must be at most 1506")):
        load_of = f"{load}frame_bytes = {frame_bytes}\n"
        text = network(1000, False, "frame_bytes_max = 0", "", load_of, 1_000_000, 100)
        assert said in outcome(text)
