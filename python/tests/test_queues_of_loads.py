# SPDX-License-Identifier: BSD-3-Clause
"""Loads of a keepon station go to the classes that the plan counts them in."""

from __future__ import annotations

import pytest
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.export import commands
from keepon.export.exported import Planned
from keepon.linux.queues import TOS
from keepon.model import loading

LOADS = """schema = "keepon.scenario/1"
name = "loads"
duration_s = 0.05
link = [{ ends = ["a", "b"] }]
[sync]
mode = "none"
[[station]]
name = "a"
driver = "keepon"
keepon.classes = [{ tc = 3 }, { tc = 5, slots = "rest" }, { tc = 7, slots = "rest" }]
[[station]]
name = "b"
driver = "standard"
[[stream]]
id = "S0"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 100
tc = 3
advance_ns = 400_000
"""
LOAD = """[[load]]
id = "L{0}"
talker = "a"
listener = "b"
kind = "udp"
rate_bps = 1_000_000
frame_bytes = 200
tc = {0}
"""


@pytest.mark.parametrize(
    ("loads", "levels"), [((), {}), ((3, 5), {3: 6, 5: 4}), ((5, 7), {5: 6}), ((7,), {})]
)
def test_loads_have_their_classes_and_all_else_the_last_one_of_the_rest(
    loads: tuple[int, ...], levels: dict[int, int]
) -> None:
    scenario = loading.parse(LOADS + "".join(map(LOAD.format, loads)), "loads.toml")
    script = commands.export(Planned(scenario, session.planned(scenario))).files["a.sh"]
    (line,) = [line.split() for line in script.splitlines() if " mqprio " in line]
    chosen = list(map(int, line[line.index("map") + 1 : line.index("queues")]))
    wanted = {15: 3} | {level: tc for tc, level in levels.items()}
    assert chosen == [wanted.get(level, 7) for level in range(16)]
    for tc, level in levels.items():
        assert f"loads of class {tc} by SO_PRIORITY {level} (type of service 0x" in script
        # what IP makes of a type of service
        assert {6: 0x10, 4: 0x18, 2: 0x08}[level] == TOS[level]


def test_a_load_whose_class_no_priority_is_left_for_is_refused() -> None:
    """As `keepon export` does; every other class would take it where the plan has none of it."""
    classes = [f'{{ tc = {tc}, slots = "rest" }}' for tc in (0, 1, 2, 4)]
    text = LOADS.replace('{ tc = 5, slots = "rest" }', ", ".join(classes))
    loads = "".join(map(LOAD.format, (0, 1, 2, 4)))
    scenario = loading.parse(text + loads, "loads.toml")
    planned = Planned(scenario, session.planned(scenario))
    with pytest.raises(ConfigError, match=r'station "a": .* loads of class 4; give them tc = 7'):
        commands.export(planned)


def test_streams_of_more_pairs_than_there_are_priorities_are_refused() -> None:
    streams = "".join(
        LOADS[LOADS.index("[[stream]]") :].replace('"S0"', f'"T{number}"')
        + f"priority = {number % 8}\n"
        for number in range(16)
    ).replace("tc = 3", "tc = {}").format(*[3] * 8, *[4] * 8)
    text = LOADS[: LOADS.index("[[stream]]")].replace("{ tc = 3 }", "{ tc = 3 }, { tc = 4 }")
    scenario = loading.parse(text + streams, "streams.toml")
    planned = Planned(scenario, session.planned(scenario))
    with pytest.raises(ConfigError, match=r"have 16 pairs of traffic class and PCP"):
        commands.export(planned)
