# SPDX-License-Identifier: BSD-3-Clause
"""A period that no slot time divides is answered with what works, and that works."""

from __future__ import annotations

import re

import pytest
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan

STREAM = """
[[stream]]
id = "sv{n}"
talker = "unit"
listeners = ["relay"]
period_ns = {period_ns}
offset_ns = {offset}
frame_bytes = 130
jitter_ns = 2_000
"""


def scenario(*streams: tuple[int, int | str]) -> Scenario:
    """Sampled values of a merging unit (IEC 61850-9-2), 4800 a second where mains have 60 Hz."""
    head = """
schema = "keepon.scenario/1"
name = "sampled-values"
[[station]]
name = "unit"
[[station]]
name = "relay"
driver = "launchtime"
[[bridge]]
name = "switch"
gates = "none"
[[link]]
ends = ["unit", "switch"]
[[link]]
ends = ["relay", "switch"]
"""
    tables = [
        STREAM.format(n=n, period_ns=period_ns, offset=offset if offset != "auto" else '"auto"')
        for n, (period_ns, offset) in enumerate(streams)
    ]
    return loading.parse(head + "".join(tables), "sv.toml")


def test_a_rate_without_a_period_is_answered_with_one_that_has() -> None:
    with pytest.raises(ConfigError) as error:
        make_plan(scenario((208_333, "auto")))
    said = str(error.value)
    below, above = map(int, re.findall(r"period_ns = (\d+) or (\d+)", said)[0])
    assert below < 208_333 < above
    assert (
        "for 4800 a second without drift 3 streams of period_ns = 625000, offsets a third" in said
    )
    for period_ns in (below, above):
        assert make_plan(scenario((period_ns, "auto")))["status"] == "feasible"


def test_streams_in_turn_keep_the_rate_within_a_slot() -> None:
    plan = make_plan(scenario(*[(625_000, "auto")] * 3))
    slot_ns = plan["stations"]["unit"]["slot_time_ps"] / 1000
    first_ns = plan["streams"]["sv0"]["release_ns"]
    exact_ns = [first_ns % 625_000 + turn * 625_000 / 3 for turn in range(3)]
    slots_ns = [round((at_ns - first_ns) / slot_ns) * slot_ns + first_ns for at_ns in exact_ns]
    assert all(
        abs(at_ns - own_ns) <= slot_ns / 2 for at_ns, own_ns in zip(exact_ns, slots_ns, strict=True)
    )
    fixed = make_plan(scenario(*((625_000, round(at_ns) % 625_000) for at_ns in slots_ns)))
    assert fixed["status"] == "feasible"
