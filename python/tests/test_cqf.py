# SPDX-License-Identifier: BSD-3-Clause
"""Cyclic queuing and forwarding (IEEE Std 802.1Q-2022 annex T): bounds over 1 to 8 bridges, what a
cycle must hold, how far clocks may be off, and what the checker refuses.

With h bridges on the way and cycles of T, a frame sent in cycle c leaves the last bridge in c + h:
the clause's (h - 1) T and (h + 1) T. At 1 Gb/s a byte takes 8 ns; a frame of 400 bytes 3200, with
preamble 3264, with gap 3360.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from helpers import ROBOT_CELL
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.export import commands, tsnkit, tsntool, yang
from keepon.export.exported import Planned
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner.verify import problems
from keepon.targets.sim.runner import simulate_build
from numpy.typing import NDArray

PERIOD_NS = 1_000_000


def text(
    bridges: int = 3, talkers: int = 2, more: str = "", propagation_ns: int = 50,
    frame_bytes: int = 400, stream: str = "", sync: str = "", **keys: Any,
) -> str:  # fmt: skip
    """Bridges b0, b1 ... in a row with talkers t0, t1 ... at b0, a listener at the end."""
    keys = {"cqf_cycle_ns": 100_000} | keys
    own = "\n".join(f"{key} = {value}" for key, value in keys.items())
    links = [f't{n}", "b0' for n in range(talkers)]
    links += [f'b{n}", "b{n + 1}' for n in range(bridges - 1)] + [f'b{bridges - 1}", "z']
    parts = [
        f'schema = "keepon.scenario/1"\nname = "row"\nduration_s = 0.05\nwarmup_s = 0.02\n{sync}'
        f"\n[defaults]\npropagation_ns = {propagation_ns}",
        '[[station]]\nname = "z"\ndriver = "standard"',
        *(f'[[station]]\nname = "t{n}"\ndriver = "launchtime"\nhost = "tsn-end-station"'
          for n in range(talkers)),
        *(f'[[bridge]]\nname = "b{n}"\ngates = "cqf"\n{own}' for n in range(bridges)),
        *(f'[[link]]\nends = ["{ends}"]' for ends in links),
        *(f'[[stream]]\nid = "s{n}"\ntalker = "t{n}"\nlisteners = ["z"]\nperiod_ns = {PERIOD_NS}\n'
          f"frame_bytes = {frame_bytes}\n{stream}" for n in range(talkers)),
        more,
    ]  # fmt: skip
    return "\n".join(parts)


def row(**keys: Any) -> Scenario:
    return loading.parse(text(**keys), "row.toml")


def delays_ps(scenario: Scenario, plan: Plan) -> dict[str, NDArray[np.int64]]:
    """From the txtimes to the arrivals in the simulator."""
    found = {}
    for name, frames in simulate_build(scenario, plan, "keepon", 1)[1].frames.items():
        sent_ps = (frames.txtime_ns - frames.epoch_ns) * 1000
        found[name] = frames.arrival_ps.reshape(-1) - sent_ps
        assert len(sent_ps) and (frames.arrival_ps > 0).all()
    return found


LOAD = '[[load]]\nid = "l"\ntalker = "t0"\nlistener = "z"\nrate_bps = 500_000_000'
KINDS = {
    "two": {},
    "three": {"cqf_buffers": 3},
    "far": {"cqf_buffers": 3, "propagation_ns": 90_000},
    "full": {"cqf_cycle_ns": 25_000, "talkers": 6},
    "load": {"talkers": 3, "more": LOAD},
    "odd": {"cqf_cycle_ns": 200_000},
    "odd three": {"cqf_cycle_ns": 200_000, "cqf_buffers": 3, "talkers": 3},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bridges", [1, 2, 3, 5, 8])
def test_every_frame_is_within_the_bounds(bridges: int, kind: str) -> None:
    scenario = row(bridges=bridges, **KINDS[kind])
    plan = session.planned(scenario)
    assert plan["status"] == "feasible" and problems(scenario, plan) == []
    first = scenario.bridge[0]
    cycles, cycle_ps = bridges * (first.cqf_buffers - 1), 1000 * int(first.cqf_cycle_ns or 0)
    # Behind the last bridge comes the cable to the listener.
    last_ps = 1000 * scenario.defaults.propagation_ns
    for name, found in delays_ps(scenario, plan).items():
        bounds = plan["streams"][name]["bounds"]
        assert (cycles - 1) * cycle_ps <= found.min()
        assert found.max() <= (cycles + 1) * cycle_ps + last_ps
        assert bounds["delay_min_ns"] * 1000 <= found.min()  # type: ignore[operator]
        assert found.max() <= bounds["delay_ns"] * 1000  # type: ignore[operator]


def test_bounds_are_those_worked_out_by_hand() -> None:
    # Released 64 ns after 0, as its preamble begins with the cycle; it leaves b2 in cycle 3, behind
    # 2000 ns of processing and the other frame, 3360: 300000 to 305360, and 50 of cable.
    bounds = session.planned(row())["streams"]["s0"]["bounds"]
    assert (bounds["delay_min_ns"], bounds["delay_ns"]) == (300_050, 305_410)


@pytest.mark.parametrize(
    ("keys", "least_ns"),
    [
        # Processing 2000, two frames of 3360, a cable of 50.
        ({}, 2_000 + 2 * 3_360 + 50),
        # Alone at the last bridge: no cycle comes after it.
        ({"bridges": 1}, 2_000 + 2 * 3_360),
        # A load of 1518 bytes is in the way, with preamble and gap 1538 x 8.
        ({"more": LOAD}, 2_000 + 2 * 3_360 + 12_304 + 50),
        # Three buffers: processing and cable do not count ...
        ({"cqf_buffers": 3}, 2 * 3_360),
        # ... while half of them fits: (6720 + 9000 + 2000) / 2.
        ({"cqf_buffers": 3, "propagation_ns": 9_000}, 8_860),
        ({"propagation_ns": 9_000}, 2_000 + 2 * 3_360 + 9_000),
        # gPTP keeps bridges within 90 ns, two of them within 180. In a higher class are 5 messages
        # (3 of the link, Sync and Follow_Up) of 128 bytes at most, 148 x 8 each.
        ({"sync": '[sync]\nmode = "gptp"\ngrandmaster = "b0"'},
         2_000 + 2 * 3_360 + 50 + 180 + 5 * 1_184),
    ],
)  # fmt: skip
def test_a_cycle_holds_what_comes_in_one(keys: dict[str, Any], least_ns: int) -> None:
    for cycle_ns, refused in ((least_ns - 1, True), (least_ns, False)):
        scenario = row(cqf_cycle_ns=cycle_ns, **keys)
        # Periods are multiples of cycles, and that is refused first.
        streams = [one.model_copy(update={"period_ns": 1000 * cycle_ns}) for one in scenario.stream]
        scenario = scenario.model_copy(update={"stream": streams})
        if not refused:
            assert session.planned(scenario)["status"] == "feasible"
            continue
        with pytest.raises(ConfigError) as error:
            session.planned(scenario)
        assert f"= {cycle_ns}: must be at least {least_ns}, what a cycle must hold" in str(
            error.value
        )


STEP_NS = 10
"""How much a clock of 10 ppm gains in a period."""


@pytest.mark.parametrize(
    ("keys", "node", "ppm", "limit_ns", "spare_ns"),
    [
        # The first frame of a cycle arrives 3264 + 50 ns after it began.
        ({}, "b0", -10.0, 3_314, 0),
        ({}, "b1", 10.0, 3_314, 0),
        ({}, "b1", -10.0, 3_314, 0),
        # Released to be at b0 at 9954 of 10000, both wait for processing. Of what comes at the very
        # end the last bit leaves 2000 + 6720 - 96 ns after its cycle began, and is at b1 50 later.
        ({"cqf_cycle_ns": 10_000, "stream": "offset_ns = 6_704"}, "b1", 10.0, 1_325, 46),
        # Three buffers: the first frame is there after 3314, the last one, with its gap, at 6770;
        # b1 begins to count so much later, (3314 + 6770 - 10000) / 2 = 42, and 3314 - 42 are left.
        ({"cqf_cycle_ns": 10_000, "cqf_buffers": 3}, "b1", 10.0, 3_272, 0),
    ],
)
def test_clocks_may_be_off_by_so_much_and_no_more(
    keys: dict[str, Any], node: str, ppm: float, limit_ns: int, spare_ns: int
) -> None:
    """A crystal of 10 ppm gains 10 us in a second: the bridge's error when the first frame comes in
    another cycle than the plan's. Talkers are up to `spare_ns` from the plan's worst case.
    """
    scenario = row(**keys).model_copy(update={"duration_s": 0.4})
    plan = session.planned(scenario)
    assert plan["bridges"][node]["cqf"]["clock_error_ns"] == limit_ns
    bridges = [
        bridge.model_copy(update={"clock_ppm": ppm if bridge.name == node else 0.0})
        for bridge in scenario.bridge
    ]
    free = scenario.sync.model_copy(update={"mode": "none"})
    found = delays_ps(scenario.model_copy(update={"bridge": bridges, "sync": free}), plan)
    half_ps = 500 * int(scenario.bridge[0].cqf_cycle_ns or 0)
    first = min(
        int(np.argmax(moved)) for own in found.values()
        if (moved := abs(own - own[0]) > half_ps).any()
    )  # fmt: skip
    holds_ns = (round(scenario.warmup_s * 1e9) // PERIOD_NS + first - 1) * STEP_NS
    assert limit_ns - STEP_NS <= holds_ns <= limit_ns + spare_ns


def change(path: str, by: int) -> Any:
    """A plan with another number in a bridge."""

    def changed(plan: Any) -> None:
        at, *keys, last = path.split(".")
        place = plan["bridges"][at]
        for key in keys:
            place = place[int(key) if key.isdigit() else key]
        last_key = int(last) if last.isdigit() else last
        place[last_key] += by

    return changed


def turn(plan: Any) -> None:
    port = plan["bridges"]["b1"]["ports"]["b2"]
    port["entries"].reverse()


def shut(plan: Any) -> None:
    plan["bridges"]["b0"]["stream_filters"][0]["entries"][0]["open"] = False


def leave_out(plan: Any) -> None:
    plan["bridges"]["b0"]["stream_filters"].pop()


def soon(plan: Any) -> None:
    for window in plan["streams"]["s0"]["windows"]:
        window["last_ps"] -= 3_360_000
        window["length_ps"] -= 3_360_000


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (change("b1.cqf.clock_error_ns", 1), "should be"),
        (change("b1.cqf.buffers", 1), "should be"),
        (change("b0.stream_filters.0.entries.0.priority", -1), "open while it may come"),
        (change("b1.stream_filters.0.entries.1.priority", 1), "open while it may come"),
        (change("b0.stream_filters.0.entries.1.ns", 1), "does not repeat"),
        (change("b0.ports.b1.entries.1.ns", 1), "do not repeat"),
        (change("b0.stream_filters.0.max_sdu_bytes", 1), "octets"),
        (change("b1.stream_filters.0.base_ns", 100_000), "open while it may come"),
        (change("b1.stream_filters.0.base_ns", 5_000), "two cycles"),
        (change("b1.ports.b2.base_ns", 100_000), "open while it may come"),
        (change("b2.ports.z.base_ns", -1), "open while it may come"),
        (turn, "open while it may come"), (shut, "not always open"),
        (leave_out, "not one stream filter"), (soon, "after its window"),
    ],
)  # fmt: skip
def test_the_checker_refuses_other_cycles(wrong: Any, word: str) -> None:
    scenario = row()
    plan: Plan = copy.deepcopy(session.planned(scenario))
    wrong(plan)
    found = problems(scenario, plan)
    assert found and word in found[0]


CQF_B1 = 'name = "b1"\ngates = "cqf"\ncqf_cycle_ns = 100000'
CHANGED = {
    "gates_of_b1": (CQF_B1, 'name = "b1"\ngates = "none"'),
    "driver": ('name = "t0"\ndriver = "launchtime"\nhost = "tsn-end-station"',
               'name = "t0"\ndriver = "standard"'),
    "other_priority": ('id = "s1"', 'id = "s1"\npriority = 3'),
    "cycle_of_b1": (CQF_B1, CQF_B1.replace("100000", "50000")),
    "slow": ('ends = ["t0", "b0"]', 'ends = ["t0", "b0"]\nrate_bps = 10_000_000'),
    "missing": ("\ncqf_cycle_ns = 100000", ""),
    "asymmetry": ('ends = ["b0", "b1"]', 'ends = ["b0", "b1"]\nasymmetry_ns = 8_000'),
}  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"cqf_buffers": 4}, "must be between 2 and 3"),
        ({"police": '"all"'}, 'police` = "all": is not for gates = "cqf", as stream gates are'),
        ({"policing": '"linux"'}, "Linux's stream gates choose no traffic class"),
        ({"gate_guard": '"fixed"'}, "a fixed guard takes the end of each cycle"),
        ({"gate_step_ns": 7_000}, "must be a multiple of gate_step_ns = 7000"),
        ({"gate_shortest_ns": 200_000}, "and at least gate_shortest_ns = 200000"),
        ({"gate_cycle_max_ns": 100_000}, "must be at least 200000 for its cycles"),
        ({"gate_entries": 1}, "must be at least 2 for its cycles"),
        ({"gate_alone": "true"}, "as gates of all ports change at once"),
        ({"shaper": "[{ priority = 4, idle_slope_bps = 2_000_000 }]"}, "beyond their cycle"),
        ({"sync": '[sync]\nmode = "gptp"\ngrandmaster = "b0"', "asymmetry": ""},
         # b1 and b2, both behind the link: half of its asymmetry, and 90 of gPTP.
         "be there 3314 ns after its cycle began, and clocks 8180 ns apart"),
        ({"stream": "deadline_ns = 199_999"}, "must be at least 200000, what 3 bridges take"),
        ({"cqf_cycle_ns": 30_000}, "must be a multiple of cqf_cycle_ns = 30000; choose one"),
        ({"queue_frames": 1}, "must be at least 2, the frames of a cycle on the link"),
        ({"queues": 1}, 'must leave traffic class 0 of bridge "b0" 1 below'),
        ({"more": LOAD + "\npriority = 4"}, "none of traffic classes 4 to 5"),
        ({"stream": "priority = 7", "sync": '[sync]\nmode = "gptp"\ngrandmaster = "b0"'},
         "`sync.priority` = 6: must have none of traffic classes 6 to 7"),
        ({"sync": '[sync]\nmode = "none"'}, 'needs a clock, and sync.mode = "none" sets none'),
        ({"stream_filter": '[{ streams = ["s0"] }]'}, "whose filter is that of the cycles"),
        ({"gates_of_b1": ""}, 'must not lead over "b1" too, whose gates are not "cqf"'),
        ({"driver": ""}, "must send in the cycle"),
        ({"other_priority": ""}, "must have traffic class 5"),
        ({"profile": '"ksz9477"'}, 'profile` = "ksz9477": has no gates for gates = "cqf"'),
        # 400 bytes at 10 Mb/s: 320 us and 6.4 of preamble, a cable of 50 ns, a frame may begin 832
        # ns (a byte, and 32 of the comparator) late; and 1 ps more.
        ({"slow": ""},
         'must be at least 327283, in which a frame of stream "s0" passes the link of its talker'),
        ({"missing": ""}, "needs cqf_cycle_ns; state it"),
        ({"cycle_of_b1": ""}, 'must be the 100000 of bridge "b0"; choose one'),
    ],
)  # fmt: skip
def test_what_does_not_go_by_cycles_is_refused(keys: dict[str, Any], message: str) -> None:
    given = text(**{key: value for key, value in keys.items() if key not in CHANGED})
    for key in keys.keys() & CHANGED.keys():
        assert CHANGED[key][0] in given
        given = given.replace(*CHANGED[key])
    with pytest.raises(ConfigError) as error:
        session.planned(loading.parse(given, "row.toml"))
    assert message in str(error.value)


def test_linux_gets_the_cycles_and_a_program_for_what_it_lacks() -> None:
    scenario = loading.load(ROBOT_CELL.parent / "tsn" / "cqf.toml")
    plan = session.planned(scenario)
    planned = Planned(scenario, plan)
    made = commands.export(planned)
    script = " ".join(made.files["sw2.sh"].replace("\\\n", "").split())
    assert " open 100000 5 -1 sched-entry open 100000 4 -1" in script
    assert "sched-entry S 0xdf 100000 sched-entry S 0xef 100000" in script
    # One gate for both streams, which come from sw1.
    assert script.count("action gate index 1000000") == 2 and script.count("sched-entry open") == 2
    assert "clsact tc filter add dev swp0 ingress protocol all pref 2 flower" in script
    attached = "pref 1 bpf direct-action object-file /run/sw2-cqf.bpf.o section swp0"
    assert f"swp0 ingress protocol all {attached}" in script
    program = made.files["sw2-cqf.bpf.c"]
    for part in (
        "CYCLE_NS 100000ULL", "BUFFERS 2\n", "buffer == 0 ? 5 : 4;", "queue(skb, 0)",
        "to == DST_set || to == DST_get", 'section("swp0")',
    ):  # fmt: skip
        assert part in program
    assert any("sw2-cqf.bpf.c does" in note for note in made.notes)
    for other in (tsnkit, tsntool, yang):
        assert any("stream filters of sw1" in note for note in other.export(planned).notes)
