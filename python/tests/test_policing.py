# SPDX-License-Identifier: BSD-3-Clause
"""Per-stream filtering and policing: what a plan's filters pass and stop, and what filters by hand
do to loads, by the rules of IEEE Std 802.1Q-2022 clause 8.6.5 and by those of Linux.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
from helpers import ROBOT_CELL, with_plan
from keepon._sim import BridgeSpec, FlowMeterSpec, PsfpSpec, Simulation, StationSpec
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.export import commands, tsnkit, tsntool, yang
from keepon.export.exported import Planned
from keepon.measure.causes import meant
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner.network import police
from keepon.planner.verify import problems
from keepon.report import screen
from keepon.targets.sim.runner import simulate_build

MS_NS = 1_000_000
FRAME_BYTES = 1_022  # an MSDU of 1000 octets
GAP_NS = 100_000


def passed(psfp: dict[str, Any], frames: int = 40, **load: Any) -> tuple[list[int], dict[str, int]]:
    """Which of the frames pass that arrive at a bridge every 100 us, the first one 10 ms and 9.2 us
    after the start; and where the others are lost.

    Each has 1022 bytes at 1 Gb/s, and comes from station "a".
    """
    sim = Simulation(1, 0)
    a, z = (sim.add_station(name, StationSpec(driver="standard", host={}, cpu={})) for name in "az")
    bridge = sim.add_bridge("br", BridgeSpec())
    sim.add_link(a, bridge, 1_000_000_000, 0)
    sim.add_link(bridge, z, 1_000_000_000, 0)
    flow = sim.add_load(
        {
            "id": "L", "talker": a, "listener": z, "route": [bridge], "frame_bytes": FRAME_BYTES,
            "rate_bps": FRAME_BYTES * 8 * 10_000, **load,
        }
    )  # fmt: skip
    filters = [{"flows": [flow], **entry} for entry in psfp.pop("filters", [{"gate": 0}])]
    sim.set_psfp(bridge, PsfpSpec(filters=filters, **psfp))
    arrived = []
    for number in range(frames):
        before = sim.load(flow)["delivered"]
        sim.run(10 * MS_NS + (number + 1) * GAP_NS)
        arrived += [number] if sim.load(flow)["delivered"] > before else []
    return arrived, sim.load(flow)["lost"]


def gate(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"gates": [{"name": "g", "entries": list(entries), **more}]}


OPEN, SHUT = {"ns": MS_NS, "open": True}, {"ns": MS_NS, "open": False}


def test_a_gate_passes_frames_while_it_is_open() -> None:
    arrived, lost = passed(gate(OPEN, SHUT))
    assert arrived == [*range(10), *range(20, 30)] and lost == {"br stream gate g": 20}
    # Its last bit decides: 800 ns of fetching, 8 + 1022 bytes after 10.9 ms.
    edge_ns = 900_800 + (8 + FRAME_BYTES) * 8
    for open_ns, last in ((edge_ns, 8), (edge_ns + 1, 9)):
        arrived, _ = passed(gate({"ns": open_ns}, {"ns": 2 * MS_NS - open_ns, "open": False}), 20)
        assert arrived[-1] == last


def test_a_longer_frame_does_not_pass_and_may_block_its_stream() -> None:
    for limit, count in ((1_000, 40), (999, 0)):
        arrived, lost = passed({"filters": [{"max_sdu_bytes": limit}]})
        assert len(arrived) == count
    assert lost == {"br maximum SDU size": 40}


def test_a_flow_meter_drops_what_is_red() -> None:
    # Its bucket holds two frames and gets a third of one in 100 us.
    third = {
        "name": "m",
        "cir_bps": -(-FRAME_BYTES * 8 * 10_000 // 3),
        "cbs_bytes": 2 * FRAME_BYTES,
    }
    arrived, lost = passed({"meters": [third], "filters": [{"meter": 0}]}, 12)
    assert arrived == [0, 1, 3, 6, 9] and lost == {"br flow meter m": 7}
    none = {"name": "m", "cbs_bytes": FRAME_BYTES, "ebs_bytes": FRAME_BYTES}
    for drop, expected in ((False, [0, 1]), (True, [0])):
        meter = FlowMeterSpec(**none, drop_on_yellow=drop)
        assert passed({"meters": [meter], "filters": [{"meter": 0}]}, 12)[0] == expected


def test_the_first_filter_of_a_stream_and_priority_decides() -> None:
    shut = gate(SHUT)
    for filters, count in (
        ([{"priority": 3}, {"gate": 0}], 0),
        ([{"priority": 3, "gate": 0}, {}], 40),
        ([{}, {"gate": 0}], 40),
        ([{"flows": [], "gate": 0}, {}], 0),
    ):
        assert len(passed({**copy.deepcopy(shut), "filters": filters})[0]) == count


def policed(name: str, police: str, **more: str) -> Scenario:
    text = (ROBOT_CELL.parent / name).read_text(encoding="utf-8")
    text = text.replace("[[bridge]]", f'[[bridge]]\npolice = "{police}"')
    for before, after in more.items():
        text = text.replace(before, after)
    return loading.parse(text, name)


@pytest.mark.parametrize("name", ["habitat.toml", "gptp.toml", "robot-cell.toml"])
@pytest.mark.parametrize("police", ["edge", "all"])
def test_a_plan_with_filters_passes_its_own_frames(name: str, police: str) -> None:
    scenario = policed(name, police)
    plan = session.planned(scenario)
    filters = [bridge.get("stream_filters", []) for bridge in plan["bridges"].values()]
    ways = {entry["stream"] for own in filters for entry in own}
    assert plan["status"] == "feasible" and ways == {stream.id for stream in scenario.stream}
    assert problems(scenario, plan) == []


def change_cycle(plan: Any, entry: Any) -> None:
    entry["entries"][-1]["ns"] += 1


def open_later(plan: Any, entry: Any) -> None:
    entry["base_ns"] += 1
    entry["entries"][0]["ns"] -= 1
    entry["entries"][-1]["ns"] += 1


def shut_sooner(plan: Any, entry: Any) -> None:
    entry["entries"][0]["ns"] -= 2
    entry["entries"][-1]["ns"] += 2


def stay_open(plan: Any, entry: Any) -> None:
    entry["entries"][0]["ns"] += 3
    entry["entries"][-1]["ns"] -= 3


def take_less(plan: Any, entry: Any) -> None:
    entry["entries"][0]["octets"] -= 1


def take_longer(plan: Any, entry: Any) -> None:
    entry["max_sdu_bytes"] += 1


def leave_out(plan: Any, entry: Any) -> None:
    for bridge in plan["bridges"].values():
        bridge["stream_filters"] = [e for e in bridge["stream_filters"] if e is not entry]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (change_cycle, "repeats"), (open_later, "not open"), (shut_sooner, "not open"),
        (stay_open, "need"), (take_less, "fewer octets"), (take_longer, "max_sdu_bytes"),
        (leave_out, "not one filter"),
    ],
)  # fmt: skip
def test_the_checker_refuses_other_filters(wrong: Any, word: str) -> None:
    scenario = policed("habitat.toml", "all")
    plan: Plan = copy.deepcopy(session.planned(scenario))
    bridge = next(iter(plan["bridges"].values()))
    wrong(plan, bridge["stream_filters"][0])
    (found, *_) = problems(scenario, plan)
    assert word in found


def test_filters_by_hand_are_refused_in_a_sentence() -> None:
    text = (ROBOT_CELL.parent / "tsn" / "policing.toml").read_text(encoding="utf-8")
    gated = 'meter = "camera"', 'meter = "camera", gate = "g"'
    for before, after, message in (
        ('source = "camera"', 'source = "drive"',
         'stream_filter[0].source` = "drive": sends nothing; name the talker of a stream or load'),
        ('source = "camera"', 'streams = ["vid"]',
         'streams[0]` = "vid": no such stream or load; it has set, video'),
        ('meter = "camera"', 'meter = "cam"',
         'meter` = "cam": no such flow meter of this bridge; it has camera'),
        (gated[0], gated[1] + " }]\nstream_gate.g.entries = [{ ns = 1000, priority = 5",
         "entries[0].priority` = 5: takes video from traffic class"),
        (gated[0], gated[1] + " }]\nstream_gate.g.entries = [{ ns = 1000, priority = 7",
         "entries[0].priority` = 7: takes video from traffic class"),
        (gated[0], gated[1] + " }]\nstream_gate.g.entries = [{ ns = 1000, priority = 8",
         "entries[0].priority` (bridge \"sw\") = 8: must be between 0 and 7"),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as error:
            loading.parse(text.replace(before, after), "policing.toml")
        assert message in str(error.value)


CELL = """
schema = "keepon.scenario/1"
name = "cell"
duration_s = 0.1
warmup_s = 0.05
[[station]]
name = "io"
driver = "launchtime"
host = "tsn-end-station"
[[station]]
name = "plc"
keepon = { slot_bytes = 230 }
[[station]]
name = "drive"
driver = "standard"
[[bridge]]
name = "sw"
gates = "none"
police = "POLICE"
[[link]]
ends = ["io", "sw"]
[[link]]
ends = ["plc", "sw"]
[[link]]
ends = ["drive", "sw"]
[[stream]]
id = "get"
talker = "io"
listeners = ["drive"]
period_ns = 1_000_000
frame_bytes = 200
[[stream]]
id = "set"
talker = "plc"
listeners = ["drive"]
period_ns = 500_000
frame_bytes = 200
advance_ns = 400_000
"""
BABBLE = """
[[fault]]
kind = "babble"
node = "io"
at_s = 0.06
value_ns = 7_100
"""


@pytest.mark.parametrize(("police", "moves"), [("none", True), ("edge", False)])
def test_a_talker_that_sends_too_much_is_cut_off(police: str, moves: bool) -> None:
    """No frame of another stream moves by a picosecond."""
    plan, runs = None, []
    for fault in ("", BABBLE):
        scenario = loading.parse(CELL.replace("POLICE", police) + fault, "cell.toml")
        plan = plan or session.planned(scenario)
        runs.append(simulate_build(scenario, plan, "keepon", 1)[1])
    before, after = (run.frames["set"].arrival_ps for run in runs)
    assert np.array_equal(before, after) is not moves
    if not moves:
        own = runs[1].document["bridges"]["sw"]["stream_filters"][0]
        assert own["not_passing"] > 9_000 and own["oversize"] == 0


def test_tc_gets_the_filters_of_plan_and_scenario() -> None:
    scenario = loading.load(ROBOT_CELL.parent / "tsn" / "policing.toml")
    plan = session.planned(scenario)
    files = commands.export(Planned(scenario, plan)).files
    script = files["sw.sh"].replace("\\\n\t", "").splitlines()
    (given,) = plan["bridges"]["sw"]["stream_filters"]
    shut_ns = given["entries"][1]["ns"]
    assert [line for line in script if line.startswith("tc filter")] == [
        'tc filter add dev swp1 ingress protocol all pref 1 flower $offload dst_mac "$DST_video"'
        " action police index 1000000 rate 100000000bit burst 15220b mtu 65535"
        " conform-exceed drop/pipe",
        'tc filter add dev swp0 ingress protocol all pref 2 flower $offload dst_mac "$DST_set"'
        " action police mtu 1222 conform-exceed drop/pipe action gate base-time"
        f" {given['base_ns']} sched-entry open {MS_NS - shut_ns} -1 1208"
        f" sched-entry close {shut_ns} -1 -1",
    ]


def test_a_bought_device_is_metered_where_it_enters() -> None:
    """Its own frames pass at any phase; sent far too often, best effort beside it is whole."""
    text = CELL.replace("POLICE", "edge").replace(
        'driver = "launchtime"\nhost = "tsn-end-station"',
        'driver = "foreign"\njitter_ns = 50_000\nclock_ppm = 80.0',
    )
    text = text.replace('id = "get"\n', 'id = "get"\npriority = 3\n')
    text += '[[load]]\nid = "video"\ntalker = "plc"\nlistener = "drive"\nrate_bps = 50_000_000\n'
    scenario = loading.parse(text, "cell.toml")
    plan = session.planned(scenario)
    entry = plan["bridges"]["sw"]["stream_filters"][-1]
    (needed, *_) = screen.needs(scenario, plan)
    assert needed == "needs no 802.1Qbv: switches with 3 queues or more, by priority (PCP)"
    # 1600 bits each 999 920 ns and 100 ppm more, and a burst of a frame and 5 % of one.
    assert (entry["stream"], entry["cir_bps"], entry["cbs_bytes"]) == ("get", 1_600_289, 211)
    run = simulate_build(scenario, plan, "keepon", 1)[1].document
    assert run["streams"]["get"]["lost"] == {} and run["streams"]["get"]["delivered"] > 90
    for wrong, word in ((("cir_bps", 1_590_000), "bit/s"), (("cbs_bytes", 200), "burst")):
        changed = copy.deepcopy(plan)
        changed["bridges"]["sw"]["stream_filters"][-1].update([wrong])
        assert word in problems(scenario, changed)[0]
    babbling = loading.parse(text + BABBLE.replace("7_100", "3_000"), "cell.toml")
    run = simulate_build(babbling, plan, "keepon", 1)[1].document
    assert run["streams"]["set"]["outcome"] == "met" and run["loads"]["video"]["lost"] == {}
    assert run["bridges"]["sw"]["stream_filters"][-1]["red"] > 10_000


def test_a_meter_allows_for_a_crystal_that_is_not_as_stated() -> None:
    """90 ppm faster than stated it gains 90 ns a period, 18 octets in a thousand frames."""
    text = CELL.replace("POLICE", "edge").replace(
        'driver = "launchtime"\nhost = "tsn-end-station"', 'driver = "foreign"'
    )
    text = text.replace('id = "get"\n', 'id = "get"\npriority = 3\n')
    plan = session.planned(loading.parse(text, "cell.toml"))
    fast = text.replace('driver = "foreign"', 'driver = "foreign"\nclock_ppm = 90.0')
    run = simulate_build(loading.parse(fast, "cell.toml"), plan, "keepon", 1)[1].document
    assert run["streams"]["get"]["lost"] == {} and run["streams"]["get"]["delivered"] > 90


def test_a_meter_has_room_for_what_its_talker_sends_before_a_frame() -> None:
    """9000 bytes of its own on the wire, 72.16 us with preamble and gap, and 10 % more by jitter,
    are before the frame of 200, and 5 % of one of its own: 79.46 us beside 50 us of jitter.
    """
    text = CELL.replace("POLICE", "edge").replace(
        'driver = "launchtime"\nhost = "tsn-end-station"',
        'driver = "foreign"\njitter_ns = 50_000',
    )
    text = text.replace('id = "get"\n', 'id = "get"\npriority = 3\n')
    text += '[[stream]]\nid = "image"\ntalker = "io"\nlisteners = ["drive"]\npriority = 3\n'
    text += "period_ns = 500_000\nframe_bytes = 9000\n"
    scenario = loading.parse(text, "cell.toml")
    plan = session.planned(scenario)
    entry, _ = plan["bridges"]["sw"]["stream_filters"][-2:]
    assert (entry["stream"], entry["cbs_bytes"]) == ("get", 226)
    run = simulate_build(scenario, plan, "keepon", 1)[1].document
    assert all(run["streams"][name]["lost"] == {} for name in ("get", "image"))
    entry["cbs_bytes"] = 211
    assert problems(scenario, plan) == ["get: its flow meter has a burst of 211, it needs 224"]
    text += '[[load]]\nid = "files"\ntalker = "io"\nlistener = "drive"\nrate_bps = 1_000_000\n'
    plan = session.planned(scenario := loading.parse(text, "cell.toml"))
    entries = plan["bridges"]["sw"]["stream_filters"][-2:]
    assert [sorted(entry) for entry in entries] == [["max_sdu_bytes", "stream"]] * 2
    assert problems(scenario, plan) == []
    entries[0].update(cir_bps=1, cbs_bytes=1)
    assert problems(scenario, plan) == ["get: its flow meter is of no known burst"]


def test_a_meter_takes_frames_whose_times_are_rounded() -> None:
    """Without jitter a bucket has room for one frame, and the next may come a rounding sooner."""
    text = CELL.replace("POLICE", "edge").replace(
        'driver = "launchtime"\nhost = "tsn-end-station"',
        'driver = "foreign"\nclock_ppm = -178.0',
    )
    text = re.sub("duration_s = .*", "duration_s = 0.5", text)
    text = text.replace('id = "get"\n', 'id = "get"\npriority = 3\n')
    text = text.replace("1_000_000\nframe_bytes = 200", "500_000\nframe_bytes = 1000", 1)
    scenario = loading.parse(text, "cell.toml")
    run = simulate_build(scenario, session.planned(scenario), "keepon", 1)[1].document
    assert run["bridges"]["sw"]["stream_filters"][-1]["matching"] > 900
    assert run["bridges"]["sw"]["stream_filters"][-1]["red"] == 0


def test_formats_without_filters_say_so() -> None:
    planned = with_plan(policed("habitat.toml", "edge"))
    left_out = "stream filters of br1, br2, br3, br4 are left out: --format commands has them"
    for made in (tsnkit, tsntool, yang):
        assert left_out in made.export(planned).notes
    assert any("its script needs DST_" in note for note in commands.export(planned).notes)
    assert meant("br1 stream gate of the plan for F1")[0] == "a filter of the plan stopped it"


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(10, 30), (5, 12)], (5, [25, 75])),
        ([(10, 30), (40, 50)], (10, [20, 10, 10, 60])),
        # beyond the end of the cycle, over the first and the second
        ([(0, 10), (20, 30), (60, 125)], (60, [70, 30])),
        ([(0, 10), (20, 95), (90, 101)], (20, [90, 10])),
        ([(0, 10), (5, 100)], None),
    ],
)
def test_windows_that_meet_are_one(spans: Any, expected: Any) -> None:
    made = police._intervals([(start, end, 1) for start, end in spans], 100)
    if expected is None:
        assert made is None
    else:
        assert made is not None
        assert (made[0], [entry["ns"] for entry in made[1]]) == expected
        assert sum(entry.get("octets", 0) for entry in made[1]) == len(spans)
