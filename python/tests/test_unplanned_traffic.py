# SPDX-License-Identifier: BSD-3-Clause
"""What goes beside planned streams at a bridge: bounds with best effort and PTP behind gate lists
by hand, and streams of talkers that keep no time.
"""

from __future__ import annotations

from typing import Any

import pytest
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems
from keepon.targets.sim import runner
from keepon.trial.trial import trial

TEXT = """
schema = "keepon.scenario/1"
name = "beside"
duration_s = 0.2
warmup_s = 0.0
[[bridge]]
name = "b"
[bridge.gates.z]
entries = [LIST]
[[station]]
name = "z"
driver = "launchtime"
[[station]]
name = "s"
driver = "launchtime"
[[station]]
name = "t"
driver = "launchtime"
[[link]]
ends = ["b", "z"]
[[link]]
ends = ["s", "b"]
[[link]]
ends = ["t", "b"]
[[stream]]
id = "F"
talker = "t"
listeners = ["z"]
period_ns = 250_000
frame_bytes = 600
advance_ns = 1_000_000
"""
LOAD = """
[[load]]
id = "L"
talker = "s"
listener = "z"
rate_bps = 300_000_000
frame_bytes = 1518
priority = 0
tc = 7
"""
GPTP = """
[sync]
mode = "gptp"
grandmaster = "b"
priority = 7
"""
BYTE_PS = 8_000
FLIGHT = 1538  # of the longest frame, with what is around it
MESSAGES = 5  # Sync, Follow_Up and three of the link's delay


def by_hand(entries: str, *more: str, **changes: str) -> Scenario:
    text = TEXT.replace("LIST", entries) + "".join(more)
    for old, new in changes.items():
        text = text.replace(old, new)
    return loading.parse(text, "beside.toml")


def simulated(scenario: Scenario, plan: dict[str, Any]) -> dict[str, Any]:
    run, _ = runner.simulate(scenario, plan, "as-configured", scenario.seed)
    streams: dict[str, Any] = run.document["streams"]
    return streams


def gate(*entries: tuple[int, int]) -> str:
    return ", ".join(f'{{ gates = "{mask:#x}", ns = {ns} }}' for mask, ns in entries)


@pytest.mark.parametrize(
    ("entries", "blocked_bytes"),
    [
        (gate((0xFF, 150_000), (0x02, 100_000)), FLIGHT),
        (gate((0x22, 150_000), (0x02, 100_000)), FLIGHT),
        (gate((0xFF, 250_000)), FLIGHT),
        (gate((0x20, 100_000), (0x22, 50_000), (0, 100_000)), FLIGHT),
        (gate((0x20, 150_000), (0x02, 100_000)), 12),  # the gap behind it
        (gate((0x20, 150_000), (0x02, 99_960), (0x01, 40)), 12 - 5),  # the rest of it
        (gate((0x20, 150_000), (0x02, 99_936), (0x01, 40), (0, 24)), 12 - 8),
        (gate((0x20, 150_000), (0x02, 99_904), (0x01, 96)), 0),
        (gate((0x20, 150_000), (0x02, 99_000), (0x01, 1_000)), 0),
        (gate((0x20, 150_000), (0x01, 100_000)), 0),
    ],
)
@pytest.mark.parametrize("offset", ["0", "20_000", '"auto"'])
def test_best_effort_that_a_gate_list_by_hand_lets_go_with_a_stream_may_be_in_flight(
    entries: str, blocked_bytes: int, offset: str
) -> None:
    load = LOAD.replace("rate_bps = 300", "rate_bps = 250")
    scenario = by_hand(entries, f"offset_ns = {offset}\n", load)
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert plan["streams"]["F"]["terms"]["blocked_ps"] == blocked_bytes * BYTE_PS
    assert trial(scenario, plan)["unsent"] == {}
    check = simulated(scenario, plan)["F"]["bound_check"]["delay_ns"]
    assert check["met"]
    if blocked_bytes == FLIGHT and "0x20" not in entries:
        # the simulator shows what the bound is about
        assert check["worst_ns"] > check["bound_ns"] - 2_000
    alone = make_plan(by_hand(entries, f"offset_ns = {offset}\n"))
    assert alone["streams"]["F"]["terms"]["blocked_ps"] == 0
    if blocked_bytes:
        assert problems(scenario, alone) != []


def test_a_frame_that_what_is_in_flight_leaves_no_room_waits_for_the_next_opening() -> None:
    """It has 4.9 us of wire, and 12.3 go before it."""
    entries = gate((0x22, 10_000), (0x02, 90_000), (0x22, 50_000), (0x02, 100_000))
    scenario = by_hand(entries, "offset_ns = 245_000\n", LOAD)
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert plan["streams"]["F"]["bounds"]["delay_ns"] > 100_000
    assert simulated(scenario, plan)["F"]["bound_check"]["delay_ns"]["met"]
    closed = by_hand(gate((0x22, 10_000), (0x02, 240_000)), LOAD)
    assert make_plan(closed)["status"] == "infeasible"


def test_messages_of_ptp_go_before_a_stream_whose_gate_is_open_with_theirs() -> None:
    entries = gate((0xA0, 150_000), (0x81, 100_000))
    scenario = by_hand(entries, GPTP, **{"warmup_s = 0.0": "warmup_s = 2.0"})
    plan = make_plan(scenario)
    assert plan["streams"]["F"]["terms"]["blocked_ps"] == MESSAGES * 148 * BYTE_PS
    assert problems(scenario, plan) == []
    assert simulated(scenario, plan)["F"]["bound_check"]["delay_ns"]["met"]


@pytest.mark.parametrize(
    ("entries", "more", "message"),
    [
        (
            gate((0xFF, 250_000)),
            LOAD.replace("priority = 0", "priority = 6"),
            r'`load\[0\].priority` \(load "L"\) = 6: its traffic class 6 must be below 5, that of',
        ),
        (
            gate((0xA0, 150_000), (0x01, 100_000)),
            GPTP,
            r"`bridge\[0\].gates.z.entries`: must not open gate 7 of PTP together with gate 5",
        ),
    ],
)
def test_what_may_go_before_a_stream_as_often_as_it_likes_is_refused(
    entries: str, more: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        make_plan(by_hand(entries, more))


def test_a_load_of_higher_priority_whose_gate_is_shut_meanwhile_is_not() -> None:
    load = LOAD.replace("priority = 0", "priority = 6")
    scenario = by_hand(gate((0x20, 150_000), (0x40, 100_000)), load)
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert plan["streams"]["F"]["terms"]["blocked_ps"] == 12 * BYTE_PS
    assert simulated(scenario, plan)["F"]["bound_check"]["delay_ns"]["met"]


@pytest.mark.parametrize("period_ns", [250_000, 500_000])
@pytest.mark.parametrize("isolation", ["frame", "order"])
def test_a_repair_keeps_the_deadline_that_hangs_on_the_release(
    period_ns: int, isolation: str
) -> None:
    """Only releases just before the gate opens are in time, and two want them: exit 70 once."""
    entries = gate((0x20, 50_000), (0x01, 200_000))
    second = (
        '[[stream]]\nid = "G"\ntalker = "s"\nlisteners = ["z"]\nadvance_ns = 1_000_000\n'
        f"period_ns = {period_ns}\nframe_bytes = 1500\ndeadline_ns = 26_000\n"
    )
    tail = f'deadline_ns = 12_000\n{second}[planner]\nisolation = "{isolation}"\n'
    scenario = by_hand(entries, tail)
    plan = make_plan(scenario)
    if plan["status"] == "feasible":
        assert problems(scenario, plan) == []


@pytest.mark.parametrize("jitter_ns", [0, 5])
@pytest.mark.parametrize("shut_ns", [5_000, 5_007, 40_013, 40_029])
def test_a_release_is_found_that_lets_a_gate_by_hand_take_all_jitter(
    jitter_ns: int, shut_ns: int
) -> None:
    """Releases were tried so far apart as the first frame goes before a gate shuts and the last
    behind it: none of those between was.
    """
    entries = gate((0x20, 18_000), (0x60, 232_000 - shut_ns), (0x01, shut_ns))
    slow = 'ends = ["t", "b"]'
    scenario = by_hand(
        entries, f"jitter_ns = {jitter_ns}\npriority = 6\n",
        **{slow: f"{slow}\nrate_bps = 100_000_000"},
    )  # fmt: skip
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert plan["streams"]["F"]["bounds"]["jitter_ns"] == 0
    assert simulated(scenario, plan)["F"]["bound_check"]["jitter_ns"]["met"]


def test_a_frame_too_long_for_its_period_before_a_gate_list_by_hand_is_proven_so() -> None:
    """Its first bridge has no gates, and what may be in flight there takes it beyond its period."""
    text = TEXT.replace("LIST", gate((0x20, 15_000), (0, 5_000))).replace("250_000", "20_000")
    text = text.replace('ends = ["t", "b"]', 'ends = ["a", "b"]')
    text += (
        '[[bridge]]\nname = "a"\ngates = "none"\n[[link]]\nends = ["t", "a"]\n[[station]]\nname ='
        ' "u"\ndriver = "launchtime"\n[[link]]\nends = ["u", "a"]\n[[load]]\nid = "L"\ntalker ='
        ' "u"\nlistener = "s"\nrate_bps = 1_000_000\nframe_bytes = 1518\ntc = 7\npriority = 0\n'
    )
    plan = make_plan(loading.parse(text.replace("= 600", "= 1500"), "before.toml"))
    assert plan["status"] == "infeasible"
    assert 'the link "a" to "b"' in plan["why"]["message"]


def test_a_list_by_hand_that_no_stream_passes_is_nobodys_clock_with_end_to_end_ptp() -> None:
    """The trial asked for the clock of a bridge that has none: exit 70."""
    sync = '[sync]\nmode = "ptp"\ngrandmaster = "z"\npriority = 7\n'
    text = TEXT.replace("[bridge.gates.z]", "[bridge.gates.s]").replace(
        "LIST", gate((0xFF, 250_000))
    )
    text = text.replace('["z"]', '["y"]').replace("warmup_s = 0.0", "warmup_s = 20.0")
    text = text.replace('ends = ["t", "b"]', 'ends = ["t", "c"]')
    text += (
        '[[bridge]]\nname = "c"\ngates = "none"\n[[link]]\nends = ["b", "c"]\n[[station]]\n'
        'name = "y"\ndriver = "launchtime"\n[[link]]\nends = ["c", "y"]\n'
    )
    scenario = loading.parse(text + sync, "e2e.toml")
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert trial(scenario, plan)["unsent"] == {}


# -- talkers that keep no time
# -----------------------------------------------------------------------------------------

SECOND = """
[[stream]]
id = "G"
talker = "s"
listeners = ["z"]
period_ns = PERIOD
frame_bytes = 600
advance_ns = 1_000_000
priority = PRIORITY
"""


def beside(gates: str, priority: int, period_ns: int, way: str = 'driver = "standard"') -> Scenario:
    text = TEXT.replace("[bridge.gates.z]\nentries = [LIST]\n", f"gates = {gates}\n")
    text = text.replace('name = "s"\ndriver = "launchtime"', f'name = "s"\n{way}')
    more = SECOND.replace("PERIOD", str(period_ns)).replace("PRIORITY", str(priority))
    return loading.parse(text + more, "beside.toml")


def test_best_effort_before_any_of_the_planned_queues_makes_the_checker_reject() -> None:
    """It was asked of the lowest alone."""
    entries = gate((0x61, 150_000), (0x02, 1_000), (0x08, 99_000))
    third = SECOND.replace("PERIOD", "250_000").replace("PRIORITY", "3")
    plan = make_plan(by_hand(entries, third))
    load = LOAD.replace("priority = 0", "priority = 6")
    assert any("best effort goes" in text for text in problems(by_hand(entries, third, load), plan))


RING = """
[planner]
routes = 3
[[bridge]]
name = "c"
[[link]]
ends = ["b", "c"]
[[bridge]]
name = "d"
gates = "none"
[[link]]
ends = ["c", "d"]
[[link]]
ends = ["d", "b"]
[[station]]
name = "y"
driver = "launchtime"
[[link]]
ends = ["d", "y"]
[[station]]
name = "x"
driver = "launchtime"
[[link]]
ends = ["d", "x"]
"""


def test_other_ways_are_no_reason_to_refuse_a_stream_and_none_it_takes() -> None:
    """A frame of no time on the first way of another stream; on the third of this it would be."""
    text = TEXT.replace("[bridge.gates.z]\nentries = [LIST]\n", 'gates = "none"\n')
    text = text.replace('name = "s"\ndriver = "launchtime"', 'name = "s"\ndriver = "standard"')
    text = text.replace('name = "c"', 'name = "c"\ngates = "none"')
    text = text.replace('listeners = ["z"]', 'listeners = ["y"]') + RING
    own = SECOND.replace("PERIOD", "250_000").replace("PRIORITY", "5")
    scenario = loading.parse(text + own, "ring.toml")
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert plan["streams"]["F"]["route"] == ["b", "d"]
    taken = loading.parse(text + own.replace('["z"]', '["x"]'), "ring.toml")
    plan = make_plan(taken)
    assert problems(taken, plan) == []
    assert (plan["streams"]["F"]["route"], plan["streams"]["G"]["route"]) == (
        ["b", "c", "d"],
        ["b", "d"],
    )


@pytest.mark.parametrize("way", ['driver = "standard"', 'driver = "launchtime"\nrelease = "sleep"'])
@pytest.mark.parametrize(("gates", "priority"), [('"auto"', 5), ('"none"', 5), ('"none"', 4)])
def test_a_stream_whose_frames_come_whenever_they_do_needs_a_gate_of_its_own(
    way: str, gates: str, priority: int
) -> None:
    with pytest.raises(
        ConfigError,
        match=rf'`stream\[1\].priority` \(stream "G"\) = {priority}: must have a gate of its own',
    ):
        make_plan(beside(gates, priority, 250_000, way))


@pytest.mark.parametrize("period_ns", [50_000, 250_000, 1_000_000])
@pytest.mark.parametrize("priority", [4, 6])
def test_behind_a_gate_of_its_own_it_keeps_nobody(priority: int, period_ns: int) -> None:
    scenario = beside('"auto"', priority, period_ns)
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert "F" not in trial(scenario, plan)["unsent"]
    assert simulated(scenario, plan)["F"]["bound_check"]["delay_ns"]["met"]


def test_windows_of_talkers_that_keep_no_time_stay_one_opening() -> None:
    """With a gap behind each, a frame that comes first and fits none of them keeps all others."""
    text = TEXT.replace("[bridge.gates.z]\nentries = [LIST]\n", "").replace(
        '"launchtime"', '"standard"'
    )
    for name, period_ns, frame_bytes in (("G", 500_000, 200), ("H", 1_000_000, 1000)):
        own = SECOND.replace("PERIOD", str(period_ns)).replace("PRIORITY", "5")
        text += own.replace('"G"', f'"{name}"').replace("= 600", f"= {frame_bytes}")
    scenario = loading.parse(text + '[planner]\nisolation = "order"\n', "untimed.toml")
    plan = make_plan(scenario)
    assert problems(scenario, plan) == []
    assert trial(scenario, plan)["unsent"] == {}
    opened = [entry["ns"] for entry in plan["bridges"]["b"]["ports"]["z"]["entries"]]
    assert 4_960 + 8_160 in opened  # F's window and H's
