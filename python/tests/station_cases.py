# SPDX-License-Identifier: BSD-3-Clause
"""Networks about one station, for the tests of what the planner chooses for it."""

from __future__ import annotations

from typing import Any

from keepon.model import scenariochecks
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.model.wire import wire_time_ps
from keepon.planner import stations
from keepon.planner.parameters.needs import Needs
from keepon.planner.parameters.polls import Posting
from keepon.planner.stations import StationPlan
from keepon.targets import runs

GIGABIT = 1_000_000_000
Table = dict[str, Any]


def network(
    streams: list[Table],
    keepon: Table | None = None,
    rate_bps: int = GIGABIT,
    station: Table | None = None,
    **more: Any,
) -> Scenario:
    """Talker "a" with these streams on one link to "b", as a checked scenario."""
    rows = [
        {
            "id": f"S{number}",
            "talker": "a",
            "listeners": ["b"],
            "frame_bytes": 200,
            "period_ns": 1_000_000,
            **row,
        }
        for number, row in enumerate(streams)
    ]
    document = {
        "schema": "keepon.scenario/1",
        "name": "parameters",
        "duration_s": 0.02,
        "warmup_s": 0.0,
        "station": [
            {"name": "a", **(station or {}), "keepon": keepon or {}},
            {"name": "b", "driver": "launchtime", "host": "tsn-end-station"},
        ],
        "link": [{"ends": ["a", "b"], "rate_bps": rate_bps}],
        "stream": rows,
        **more,
    }
    scenario = Scenario.model_validate(document)
    scenariochecks.check(scenario, "parameters.toml")
    return scenario


def chosen(scenario: Scenario) -> StationPlan:
    """The parameters of talker "a"."""
    topology = Topology(scenario)
    (port,) = topology.ports_of("a")
    return stations.choose(scenario, scenario.station_named("a"), port, topology)


def needs_of(plan: StationPlan) -> Needs:
    assert plan.needs is not None
    return plan.needs


def verdicts_of(run: runs.Run) -> dict[str, int]:
    return {
        name: count for name, count in run.document["streams"]["S0"]["verdicts"].items() if count
    }


def posting(
    slot_bytes: int, batch: int, depth: int, locked: bool = True, overhead_ns: int = 0
) -> Posting:
    slot_ps = wire_time_ps(slot_bytes, GIGABIT)
    return Posting(
        slot_ps, slot_ps - 8 * 8000 if locked else slot_ps, batch, depth, overhead_ns, locked
    )
