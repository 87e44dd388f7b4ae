# SPDX-License-Identifier: BSD-3-Clause
"""Loads of a keepon station go to the classes that the plan counts them in."""

from __future__ import annotations

import pytest
from helpers import with_plan
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.export import commands
from keepon.machines.queues import TOS
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
    ("loads", "levels"), [((), {}), ((5,), {5: 6}), ((5, 7), {5: 6}), ((7,), {})]
)
def test_loads_have_their_classes_and_all_else_the_last_one_of_the_rest(
    loads: tuple[int, ...], levels: dict[int, int]
) -> None:
    planned = with_plan(LOADS + "".join(map(LOAD.format, loads)))
    script = commands.export(planned).files["a.sh"]
    (line,) = [
        line.split()
        for line in script.splitlines()
        if line.startswith("tc ") and " mqprio " in line
    ]
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
    planned = with_plan(text + loads)
    with pytest.raises(ConfigError, match=r'station "a": .* loads of class 4; give them'):
        commands.export(planned)


def test_streams_of_more_pairs_than_there_are_priorities_are_refused() -> None:
    streams = (
        "".join(
            LOADS[LOADS.index("[[stream]]") :].replace('"S0"', f'"T{number}"')
            + f"priority = {number % 8}\n"
            for number in range(16)
        )
        .replace("tc = 3", "tc = {}")
        .format(*[3] * 8, *[4] * 8)
    )
    text = LOADS[: LOADS.index("[[stream]]")].replace("{ tc = 3 }", "{ tc = 3 }, { tc = 4 }")
    planned = with_plan(text + streams)
    with pytest.raises(ConfigError, match=r"have 16 pairs of traffic class and PCP"):
        commands.export(planned)


BEHIND_ETF = """schema = "keepon.scenario/1"
name = "behind-etf"
duration_s = 0.05
link = [{{ ends = ["a", "b"] }}]
[sync]
mode = "none"
[[station]]
name = "a"
{station}
[[station]]
name = "b"
driver = "standard"
"""
STREAM = LOADS[LOADS.index("[[stream]]") :]


def exported(text: str) -> list[str]:
    return commands.export(with_plan(text)).files["a.sh"].splitlines()


def test_etf_is_in_front_of_the_queue_of_the_streams_whatever_its_number() -> None:
    """tc reads 100:10 as child 16."""
    station = (
        'driver = "keepon"\nrelease = "etf"\n'
        'keepon.classes = [{ tc = 9 }, { tc = 15 }, { tc = 8, slots = "rest" }]'
    )
    text = BEHIND_ETF.format(station=station) + STREAM.replace("tc = 3", "tc = 9")
    text += STREAM.replace("tc = 3", "tc = 15").replace('"S0"', '"S1"').replace("400_", "500_")
    parents = [line.split()[6] for line in exported(text) if "etf clockid" in line]
    assert parents == ["100:a", "100:10"]


@pytest.mark.parametrize("driver", ["launchtime", "standard"])
def test_a_load_that_etf_would_drop_is_refused(driver: str) -> None:
    text = BEHIND_ETF.format(station=f'driver = "{driver}"') + STREAM.replace("400_000", "700_000")
    reason = 'station "a": loads of class 3 share a class with streams that etf is in'
    with pytest.raises(ConfigError, match=reason):
        exported(text + LOAD.format(3))


def test_a_load_in_a_class_of_streams_is_not_planned() -> None:
    """A device has one queue for a class: 197 of 200 frames came too late for their slots."""
    text = LOADS + LOAD.format(3)
    reason = r'`load\[0\].tc` \(load "L3"\) = 3: must not be the class of stream "S0", .* choose 7'
    with pytest.raises(ConfigError, match=reason):
        session.planned(loading.parse(text, "loads.toml"))
    sleeping = text.replace('driver = "keepon"', 'driver = "keepon"\nrelease = "sleep"')
    session.planned(loading.parse(sleeping, "loads.toml"))


@pytest.mark.parametrize(("load_tc", "map_"), [(3, [0, 1, 0, 1]), (5, [0, 1, 1, 1])])
def test_all_else_has_a_queue_of_its_own_beside_a_load_in_the_class_of_streams(
    load_tc: int, map_: list[int]
) -> None:
    """A sleeping sender has no etf: the load is in its queue, all else is not."""
    text = BEHIND_ETF.format(station='driver = "standard"\nrelease = "sleep"') + STREAM
    (line,) = [
        line
        for line in exported(text + LOAD.format(load_tc))
        if line.startswith("tc ") and " mqprio " in line
    ]
    words = line.split()
    chosen = list(map(int, words[words.index("map") + 1 : words.index("queues")]))
    assert [chosen[15], chosen[0], chosen[6], chosen[7]] == map_
