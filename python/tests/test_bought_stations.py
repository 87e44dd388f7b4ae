# SPDX-License-Identifier: BSD-3-Clause
"""Stations that are bought: what does not run Keepon, and what a plan still promises."""

from __future__ import annotations

from port_cases import bridge, link, planned, ran, scenario_of, station, stream


def cell(driver: str) -> list[str]:
    """A controller with Keepon sends to a drive with a crystal of its own."""
    return [
        station("plc"), station("drive", driver, more="clock_ppm = 90.0\n"), bridge("sw"),
        link("plc", "sw"), link("drive", "sw"),
        stream("set", "plc", "drive", deadline_ns=60_000),
    ]  # fmt: skip


def test_a_listener_needs_no_keepon() -> None:
    plain = scenario_of(*cell("standard"))
    plan = planned(plain)
    assert plan["streams"] == planned(scenario_of(*cell("keepon")))["streams"]
    assert list(plan["stations"]) == ["plc", "drive"]
    assert plan["stations"]["drive"] == {"driver": "standard", "streams": {}}
    _, result = ran(plain, plan)
    assert result["streams"]["set"]["outcome"] == "met"
    assert result["stations"]["drive"]["nic"]["frames"] == 0
