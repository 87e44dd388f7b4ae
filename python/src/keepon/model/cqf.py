# SPDX-License-Identifier: BSD-3-Clause
"""Cyclic queuing and forwarding (CQF): traffic classes of bridges that are the buffers of cycles,
and what keys must fit together.

IEEE Std 802.1Q-2022 annex T, of which IEEE Std 802.1Qch-2017 was the amendment.
"""

from __future__ import annotations

from typing import Any

from keepon.model.policing import streams_of
from keepon.model.scenario import Bridge, Scenario
from keepon.model.switches import PROFILES

KEY = "cqf"


def bridges(scenario: Scenario) -> list[Bridge]:
    """Bridges that forward streams by cycles."""
    return [bridge for bridge in scenario.bridge if bridge.gates == KEY]


def cycle_ns(bridge: Bridge) -> int:
    """Length of a cycle of a bridge that has them."""
    assert bridge.cqf_cycle_ns is not None
    return bridge.cqf_cycle_ns


def buffers(bridge: Bridge, priority: int) -> list[tuple[int, int]]:
    """Traffic class and internal priority of the buffer that cycle 0, 1 ... fills: the class of the
    streams' own priority, and those below it.
    """
    top = bridge.class_of(priority)
    priorities = {bridge.class_of(other): other for other in range(8)} | {top: priority}
    return [(top - n, priorities.get(top - n, -1)) for n in range(bridge.cqf_buffers)]


def wrong(scenario: Scenario, index: int) -> tuple[str, Any, str] | None:
    """Key, value and rule of what is wrong with a bridge's cycles; None if nothing is."""
    bridge, key = scenario.bridge[index], f"bridge[{index}]"
    if bridge.gates != KEY:
        if bridge.cqf_cycle_ns is None:
            return None
        return f"{key}.cqf_cycle_ns", bridge.cqf_cycle_ns, 'is for gates = "cqf"; leave it out'
    if bridge.cqf_cycle_ns is None:
        return f"{key}.gates", KEY, "needs cqf_cycle_ns; state it"
    first = bridges(scenario)[0]
    for name in ("cqf_cycle_ns", "cqf_buffers"):
        if (value := getattr(bridge, name)) != getattr(first, name):
            rule = f'must be the {getattr(first, name)} of bridge "{first.name}"; choose one'
            return f"{key}.{name}", value, rule
    if scenario.sync.mode in ("none", "ptp"):
        return (
            f"{key}.gates", KEY,
            f'needs a clock, and sync.mode = "{scenario.sync.mode}" sets none of bridges; choose'
            ' sync.mode = "gptp"',
        )  # fmt: skip
    for name, free, why in (
        ("police", "none", "stream gates are those of the cycles"),
        ("policing", "802.1Q", "Linux's stream gates choose no traffic class"),
        ("gate_guard", "length-aware", "a fixed guard takes the end of each cycle"),
        ("gate_alone", False, "gates of all ports change at once"),
        ("shaper", [], "a shaper would hold frames beyond their cycle"),
    ):
        if (value := getattr(bridge, name)) != free and value != "none":
            return f"{key}.{name}", value, f'is not for gates = "cqf", as {why}; take another'
    for place, entry in enumerate(bridge.stream_filter):
        taken = streams_of(scenario, entry)
        own = [flow.id for flow in scenario.stream if not taken or flow.id in taken]
        if own:
            return (
                f"{key}.stream_filter[{place}]", own[0],
                'takes a stream with gates = "cqf", whose filter is that of the cycles; name loads',
            )  # fmt: skip
    if PROFILES.get(bridge.profile, {}).get("gates") == "none":
        return f"{key}.profile", bridge.profile, 'has no gates for gates = "cqf"; take another'
    links = sum(bridge.name in link.ends for link in scenario.link)
    for name, least in (
        ("gate_entries", bridge.cqf_buffers), ("gate_entries_all", links * bridge.cqf_buffers),
        ("gate_cycle_max_ns", bridge.cqf_buffers * bridge.cqf_cycle_ns),
    ):  # fmt: skip
        if (value := getattr(bridge, name)) < least:
            return f"{key}.{name}", value, f"must be at least {least} for its cycles; take another"
    if bridge.cqf_cycle_ns % bridge.gate_step_ns or bridge.cqf_cycle_ns < bridge.gate_shortest_ns:
        rule = (
            f"must be a multiple of gate_step_ns = {bridge.gate_step_ns} and at least"
            f" gate_shortest_ns = {bridge.gate_shortest_ns}; choose one"
        )
        return f"{key}.cqf_cycle_ns", bridge.cqf_cycle_ns, rule
    return None
