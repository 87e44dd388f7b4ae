# SPDX-License-Identifier: BSD-3-Clause
"""Loads of kind "tcp" from scenario to result: ACKs are part of the plan, the connection is in the
result, loss is no affair of plans and trials.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from keepon.errors import ConfigError, SimulationError
from keepon.machines.queues import Queues, queues_of
from keepon.machines.traffic import load_words
from keepon.measure.simulated import tcp_result
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import verify
from keepon.targets.host import target as host
from keepon.targets.sim import runner
from keepon.targets.vm import target as vm
from keepon.trial.trial import trial


def chain(loss: float = 0.0, **load: Any) -> Scenario:
    """Talker, two bridges, listener, a stream each way and a TCP connection to the listener."""
    names = ("talker", "near", "far", "listener")
    stream = {"period_ns": 1_000_000, "frame_bytes": 200, "advance_ns": 400_000}
    links = [{"ends": list(ends)} for ends in itertools.pairwise(names)]
    links[1] |= {"rate_bps": 100_000_000, "propagation_ns": 1_000_000, "loss_probability": loss}
    return Scenario.model_validate(
        {
            "schema": "keepon.scenario/1",
            "name": "tcp",
            "duration_s": 1.0,
            "station": [
                {"name": name, "driver": "launchtime", "host": "ideal"}
                for name in ("talker", "listener")
            ],
            "bridge": [{"name": name, "gates": "none", "queue_frames": 50} for name in names[1:3]],
            "link": links,
            "stream": [
                {"id": "there", "talker": "talker", "listeners": ["listener"], **stream},
                {"id": "back", "talker": "listener", "listeners": ["talker"], **stream},
            ],
            "load": [{"id": "L", "talker": "talker", "listener": "listener", **load}],
        }
    )


def test_acks_are_in_plans() -> None:
    """They wait for nobody at a port without gates, so a stream the other way may wait for one."""
    bounds = {}
    for kind in ("udp", "tcp"):
        scenario = chain(kind=kind)
        plan = make_plan(scenario)
        verify(scenario, plan)
        bounds[kind] = {
            name: entry["bounds"]["delay_ns"] for name, entry in plan["streams"].items()
        }
    assert bounds["tcp"]["there"] == bounds["udp"]["there"]
    assert bounds["tcp"]["back"] > bounds["udp"]["back"]


@pytest.mark.parametrize("congestion", ["reno", "cubic"])
def test_a_connection_is_in_the_result(congestion: str) -> None:
    scenario = chain(kind="tcp", congestion=congestion, loss=0.01)
    plan = make_plan(scenario)
    trial(scenario, plan)  # knows nothing of the loss
    build, run = runner.simulate_build(scenario, plan, "launchtime", 1, None, 100_000)
    load = run.document["loads"]["L"]
    tcp = load["tcp"]
    assert load["lost"]["lossy link near - far"] > 0
    assert 10e6 < tcp["goodput_bps"] < 100e6 * 1448 / 1538
    assert tcp["retransmissions"] > 0
    assert len(tcp["window"]["at_s"]) == len(tcp["window"]["cwnd"])
    assert tcp["window"]["ssthresh"][0] is None
    assert load["acks"]["delivered"] > 0
    assert run.seen is not None
    talkers = {(one.flow, one.talker) for one in run.seen.sightings if one.kind == "load"}
    assert talkers == {("L", "talker"), ("L acks", "listener")}
    assert build.simulation.now_ns > 0


def test_iperf3_gets_the_congestion_control() -> None:
    scenario = chain(kind="tcp", congestion="reno")

    class Guest:
        """What load_words asks of a target."""

        def address(self, station: str) -> str:
            return station

        def queues(self, station: str) -> Queues:
            return queues_of(scenario, scenario.station_named(station), "keepon")

    words = load_words(Guest(), scenario.load[0], 3)  # type: ignore[arg-type]
    assert words[words.index("--congestion") + 1] == "reno"
    assert "--udp" not in words


def test_more_acknowledged_than_delivered_is_an_error() -> None:
    raw: Any = {"acknowledged_bytes": 2, "delivered_bytes": 1}
    with pytest.raises(SimulationError, match="2 bytes are acknowledged and only 1 delivered"):
        tcp_result(raw, 1.0, "load L")


@pytest.mark.parametrize("value", [-0.1, 1.5])
def test_a_probability_is_within_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match=re.escape("loss_probability")):
        chain(loss=value)


@pytest.mark.parametrize("target", [vm, host])
def test_only_the_simulator_loses_by_chance(target: Any) -> None:
    with pytest.raises(ConfigError, match=r"`link\[1\]\.loss_probability` = 0\.5: must be 0"):
        target.check_supported(chain(loss=0.5, kind="tcp"))
    target.check_supported(chain(kind="tcp"))


@pytest.mark.parametrize("target", [vm, host])
def test_only_loads_of_the_simulator_begin_when_they_say(target: Any) -> None:
    with pytest.raises(ConfigError, match=r"`load\[0\]\.start_ns` = 20000000: must be 10000000"):
        target.check_supported(chain(kind="tcp", start_ns=20_000_000))
