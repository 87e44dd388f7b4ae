# SPDX-License-Identifier: BSD-3-Clause
"""Three ways of forwarding in software, as the simulator has them, and the source of their numbers.

All wait for the same interrupt: Linux takes software's stamps of reception in the softirq of the
NIC, and they spread as fejes.fig1 says (model/hosts.py). What a frame costs is the inverse of a
published rate of one core; one frame at a time, to cold caches, costs more, by how much is not
published.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from keepon._sim import LatencySpec, SoftwareSpec
from keepon.model.hosts import RX_SOURCES, RX_STAGE, Sourced, Stage, chosen, of_stage, overridden
from keepon.model.networktables import Software
from keepon.model.scenario import Bridge, Scenario
from keepon.model.software import HARDWARE

_PAPER = "Hoiland-Jorgensen et al., The eXpress Data Path, CoNEXT 2018, its data set,"
FRAMES = {
    "bridge": of_stage(
        "frame",
        "median_ns",
        575,
        f"as routing by one route in Linux's stack, 1739672 frames/s ({_PAPER} bench04_fwd); no"
        " published rate of its bridge",
        "chosen",
    ),
    "xdp": of_stage("frame", "median_ns", 116, f"{_PAPER} bench05_xdp_redirect: 8649872 frames/s"),
    "af-xdp": of_stage(
        "frame",
        "median_ns",
        50,
        "Karlsson, Topel, The Path to DPDK Speeds for AF XDP, LPC 2018, abstract: 20 million"
        " frames/s a core",
    ),
}
SIGMA = 0.5
DEFAULTS: dict[str, dict[str, Any]] = {
    "bridge": {"priority": "softirq", "poll_ns": 0},
    "xdp": {"priority": "softirq", "poll_ns": 0},
    "af-xdp": {"priority": "fifo", "poll_ns": 2_000},
}
DIRECT = ("cores", "priority", "ring_frames", "poll_ns", "hogs", "hog_ns")
"""Keys that the simulator has by the same names."""


def spec(bridge: Bridge) -> tuple[SoftwareSpec | None, list[Sourced]]:
    """What the simulator takes, and the source of its numbers; None: hardware forwards."""
    if bridge.forwarding == HARDWARE:
        return None, []
    own, cost = bridge.software or Software(), FRAMES[bridge.forwarding]
    given = own.model_dump(exclude_none=True) | {
        key: value
        for key, value in DEFAULTS[bridge.forwarding].items()
        if getattr(own, key) is None
    }
    waits = [
        replace(entry, parameter=entry.parameter.replace("rx", "wait"), stage="wait")
        for entry in RX_SOURCES
    ]
    wait, waits = overridden(RX_STAGE, "wait", own.wait, waits)
    costs = [cost, of_stage("frame", "sigma", SIGMA, "no published value", "chosen")]
    frame, costs = overridden(
        Stage(0, int(cost.value), SIGMA, 0.0, 0, 0), "frame", own.frame, costs
    )
    unused = {"wait", "frame"}
    unused |= set() if own.interrupts_hz else {"interrupts_hz", "interrupt_ns"}
    unused |= set() if own.hogs else {"hogs", "hog_ns"}
    sources = [
        chosen(
            f"software: {key}",
            value,
            "scenario" if key in own.model_fields_set else "no published value",
        )
        for key, value in given.items()
        if key not in unused
    ]
    made = SoftwareSpec(
        wait=LatencySpec(**vars(wait)),
        frame=LatencySpec(**vars(frame)),
        irq_gap_ns=round(1e9 / own.interrupts_hz) if own.interrupts_hz else 0,
        irq_ns=own.interrupt_ns,
        **{key: given[key] for key in DIRECT},
    )
    return made, [*waits, *costs, *sources]


def sources(scenario: Scenario) -> dict[str, list[Sourced]]:
    """Where the numbers of all such bridges come from, by "name (bridge)"."""
    return {
        f"{bridge.name} (bridge)": spec(bridge)[1]
        for bridge in scenario.bridge
        if bridge.forwarding != HARDWARE
    }
