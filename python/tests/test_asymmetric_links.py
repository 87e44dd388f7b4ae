# SPDX-License-Identifier: BSD-3-Clause
"""Links that delay one way longer than the other: in delays, in what PTP makes of them, in windows
and bounds.
"""

from __future__ import annotations

from typing import Any

import pytest
from helpers import small, small_text
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems, verify
from keepon.targets.sim import runner


def chain(
    asymmetry_ns: tuple[int, int, int], mode: str, driver: str = "launchtime", gates: str = "auto"
) -> Scenario:
    """Talker, two bridges, listener and a stream each way; every link is that much longer from left
    to right.
    """
    station = {"driver": driver, "host": "tsn-end-station", "keepon": {"slot_bytes": 605}}
    names = ("talker", "br1", "br2", "listener")
    sync = {"mode": mode, "interval_ms": 31}
    if mode != "ideal":
        sync["grandmaster"] = "br1" if mode == "gptp" else "talker"
    stream = {"period_ns": 1_000_000, "frame_bytes": 200, "advance_ns": 400_000}
    return Scenario.model_validate(
        {
            "schema": "keepon.scenario/1",
            "name": "chain",
            "duration_s": 0.5,
            "warmup_s": 0.1 if mode == "ideal" else 6.0,
            "sync": sync,
            "station": [{"name": name, **station} for name in ("talker", "listener")],
            "bridge": [
                {"name": name, "gates": gates, "clock_ppm": ppm}
                for name, ppm in (("br1", 20.0), ("br2", -30.0))
            ],
            "link": [
                {"ends": [one, other], "propagation_ns": 100, "asymmetry_ns": longer}
                for one, other, longer in zip(names, names[1:], asymmetry_ns, strict=False)
            ],
            "stream": [
                {"id": "right", "talker": "talker", "listeners": ["listener"], **stream},
                {"id": "left", "talker": "listener", "listeners": ["talker"], **stream},
            ],
        }
    )


def simulated(scenario: Scenario, plan: dict[str, Any]) -> dict[str, Any]:
    _, run = runner.simulate_build(scenario, plan, scenario.drivers()[0], 1)
    streams: dict[str, Any] = run.document["streams"]
    return streams


def kept(streams: dict[str, Any]) -> bool:
    return all(
        stream["missing"] == 0 and all(check["met"] for check in stream["bound_check"].values())
        for stream in streams.values()
    )


def test_each_way_has_its_own_delay_and_the_shorter_one_the_propagation() -> None:
    wires = Topology(chain((3000, -2000, 0), "ideal")).wires
    ways = [("talker", "br1"), ("br1", "br2"), ("br2", "listener")]
    assert [wires[way].propagation_ns for way in ways] == [3100, 100, 100]
    assert [wires[way[::-1]].propagation_ns for way in ways] == [100, 2100, 100]


@pytest.mark.parametrize(
    ("master", "errors_ns"),
    [
        ("talker", {"talker": 0, "br1": 1500, "br2": 500, "listener": 1001}),
        ("br2", {"talker": 500, "br1": 1000, "br2": 0, "listener": 501}),
    ],
)
def test_clocks_are_off_by_half_of_the_asymmetry_on_the_way(
    master: str, errors_ns: dict[str, int]
) -> None:
    scenario = chain((3000, -2000, 1001), "gptp")
    scenario = scenario.model_copy(
        update={"sync": scenario.sync.model_copy(update={"grandmaster": master})}
    )
    assert {name: scenario.asymmetry_error_ns(name) for name in errors_ns} == errors_ns
    for station in scenario.station:
        assert scenario.clock_error_ns(station, "launchtime") == 200 + errors_ns[station.name]
    assert chain((3000, -2000, 1001), "ideal").asymmetry_error_ns("listener") == 0


def test_a_link_listed_from_its_other_end_is_the_same_with_the_other_sign() -> None:
    one = chain((3000, -2000, 1001), "gptp")
    turned = [
        link.model_copy(update={"ends": link.ends[::-1], "asymmetry_ns": -link.asymmetry_ns})
        if number == 1
        else link
        for number, link in enumerate(one.link)
    ]
    other = one.model_copy(update={"link": turned})
    assert Topology(other).wires == Topology(one).wires
    for node in ("talker", "br1", "br2", "listener"):
        assert other.asymmetry_error_ns(node) == one.asymmetry_error_ns(node)
    far = other.model_copy(
        update={"sync": other.sync.model_copy(update={"grandmaster": "listener"})}
    )
    assert far.asymmetry_error_ns("br1") == 500  # ceil(|-1001 + 2000| / 2)
    assert far.asymmetry_error_ns("talker") == 1001  # ceil(|-1001 + 2000 - 3000| / 2)


@pytest.mark.parametrize("mode", ["ideal", "gptp", "ptp"])
@pytest.mark.parametrize("asymmetry_ns", [(3000, 3000, 3000), (-4000, 2500, -4000)])
def test_bounds_hold_with_asymmetric_links_and_not_if_they_are_ignored(
    mode: str, asymmetry_ns: tuple[int, int, int]
) -> None:
    gates = "none" if mode == "ptp" else "auto"
    scenario = chain(asymmetry_ns, mode, gates=gates)
    plan = verify(scenario, make_plan(scenario))
    assert plan["verified"] is True
    assert kept(simulated(scenario, plan))
    blind = make_plan(chain((0, 0, 0), mode, gates=gates))
    assert not kept(simulated(scenario, blind))
    assert problems(scenario, blind)


def test_a_gate_by_a_clock_that_is_off_opens_for_its_frames_all_the_same() -> None:
    """As above, with the stations' part known: only the bridges' clocks are left out of
    the plan.
    """
    scenario = chain((0, 6000, -6000), "gptp")
    assert [scenario.asymmetry_error_ns(name) for name in ("talker", "br1", "br2", "listener")] == [
        0,
        0,
        3000,
        0,
    ]
    plan = verify(scenario, make_plan(scenario))
    streams = simulated(scenario, plan)
    assert kept(streams)
    bound, worst = (
        streams["right"]["bound_check"]["jitter_ns"][key] for key in ("bound_ns", "worst_ns")
    )
    assert bound == 2 * 3000 + 180
    assert worst < 200, "the clock is off, but steadily"
    window = plan["streams"]["right"]["windows"][-1]
    assert window["last_ps"] - window["open_ps"] == 2 * 3_090_000


def test_keepon_talkers_keep_their_bounds_too() -> None:
    scenario = chain((2000, -3000, 2000), "gptp", driver="keepon")
    scenario = scenario.model_copy(update={"warmup_s": 16.0})
    assert kept(simulated(scenario, verify(scenario, make_plan(scenario))))


def test_an_error_stated_below_what_asymmetry_alone_does_is_refused() -> None:
    text = {
        "warmup_s = 0.0": 'warmup_s = 0.0\nsync = { mode = "gptp", grandmaster = "br1" }',
        'ends = ["b", "br1"]': 'ends = ["b", "br1"]\nasymmetry_ns = 2001',
        'host = "tsn-end-station"': 'host = "tsn-end-station"\nclock_error_ns = 1000',
    }
    with pytest.raises(
        ConfigError,
        match=r"`station\[1\].clock_error_ns` \(station \"b\"\) = 1000: must be at least 1001",
    ):
        small(**text)
    loading.parse(
        small_text(**text).replace("clock_error_ns = 1000", "clock_error_ns = 1001"), "small.toml"
    )


def test_gates_by_hand_and_a_bridge_whose_clock_is_off_are_refused() -> None:
    lists = 'gates = { b = { entries = [{ gates = "0xff", ns = 1_000_000 }] } }'
    scenario = small(
        **{
            "warmup_s = 0.0": 'warmup_s = 0.0\nsync = { mode = "gptp", grandmaster = "a" }',
            'ends = ["a", "br1"]': 'ends = ["a", "br1"]\nasymmetry_ns = 100',
            'name = "br1"': f'name = "br1"\n{lists}',
        }
    )
    with pytest.raises(
        ConfigError,
        match=r'^key `bridge\[0\].gates` \(bridge "br1"\) = a list towards "b": must be',
    ):
        make_plan(scenario)
