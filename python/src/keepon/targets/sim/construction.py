# SPDX-License-Identifier: BSD-3-Clause
"""What runs of a scenario cannot but show, in sentences."""

from __future__ import annotations

from keepon.model.scenario import Scenario
from keepon.targets.sim import timesync

IDEAL_CLOCKS = (
    'Clocks are ideal (sync.mode = "ideal"): talkers, listeners and bridges share one exact time,'
    " so nothing here measures synchronisation."
)


EXACT_GATES = (
    "Bridges forward after exactly their processing time and open gates exactly on schedule, so a"
    " frame that is in its queue before its window leaves with no jitter; constant delays behind a"
    " gated bridge follow from the plan."
)


ON_THE_GRID = (
    "With an ideal clock and no rate error a phase-locked slot starts on the grid; the release"
    " error then shows the half start quantum only."
)


COMPARATOR = (
    "Release errors of launchtime stations are those of a 32 ns comparator, as its data sheet"
    " states (keepon.granularity)."
)


OWN_RING = (
    'Talkers with backend = "generic" send by a ring here, at their slots: backend_error_ns is in'
    " bounds, and in no frame."
)


RELEASED_BY_ETF = (
    "The conventional driver is given its txtimes by ETF in front of it: it sends when called,"
    " early by ETF's delta less its own latency, and the first gate holds the frame until its"
    " window."
)


def by_construction(scenario: Scenario) -> list[str]:
    """What runs of this scenario cannot but show; of what is not in it, nothing."""
    names = {stream.talker for stream in scenario.stream}
    talkers = [
        (scenario.driver_of(station, run), station)
        for run in scenario.drivers()
        for station in scenario.station
        if station.name in names
    ]
    driven = {driver for driver, _ in talkers}
    with_etf = any(
        driver == "standard" and station.release != "sleep" and station.qdisc is None
        for driver, station in talkers
    )
    locked = any(
        driver == "keepon" and station.keepon.mode == "phase-locked" for driver, station in talkers
    )
    ideal, gated = (
        scenario.sync.mode == "ideal",
        any(bridge.gates != "none" for bridge in scenario.bridge),
    )
    shown = [
        (IDEAL_CLOCKS, ideal),
        *((text, True) for text in timesync.by_construction(scenario)),
        (EXACT_GATES, gated and not scenario.sync.by_ptp),
        (ON_THE_GRID, ideal and locked),
        (COMPARATOR, "launchtime" in driven),
        (RELEASED_BY_ETF, with_etf),
        (
            OWN_RING,
            any(
                driver == "keepon" and station.keepon.backend == "generic"
                for driver, station in talkers
            ),
        ),
    ]
    return [text for text, holds in shown if holds]
