# SPDX-License-Identifier: BSD-3-Clause
"""Why etf of a talker has no time left for its frames, whenever they come to it."""

from __future__ import annotations

from keepon.model.hosts import etf_delta_ns, host_of
from keepon.model.plan import Plan
from keepon.model.qdiscs import stations
from keepon.model.qdiscs.tree import Etf, Taprio
from keepon.model.scenario import Scenario, Stream

BY_ETF = "by its etf, "
"""How what `why` says begins."""
_OPENED = f"{BY_ETF}as the CPU's timer opens the gates of taprio after their times, dropped"


def why(scenario: Scenario, plan: Plan, stream: Stream) -> str | None:
    """What is known of frames of a stream that came late, as `unsent` of a trial says it; None: no
    more than that.
    """
    station = scenario.station_named(stream.talker)
    tree = stations.tree_of(station)
    if station.release == "sleep":
        return None
    if tree is not None:
        etf = stations.leaf_of(tree, stream.tc)
    elif station.driver == "standard" or station.release == "etf":
        etf = Etf("CLOCK_TAI", etf_delta_ns(station))
    else:
        return None
    if not isinstance(etf, Etf):
        return None
    latency_ns = host_of(station.host, "standard", 0.0)[0]["timer"].usual_ns
    if etf.delta_ns < latency_ns and not etf.deadline_mode:
        return (
            f"{BY_ETF}whose delta ({etf.delta_ns} ns) is below the {latency_ns} ns that its timer"
            " may be late, dropped"
        )
    if tree is None or not stations.by_timers(tree) or not isinstance(tree.root, Taprio):
        return None
    root, open_ns = tree.root, tree.root.base_ns
    release_ns = plan["streams"][stream.id]["release_ns"]
    for mask, ns in root.entries:
        into_ns = (release_ns - open_ns) % root.cycle_ns
        if mask >> stream.tc & 1 and into_ns < min(ns, latency_ns):
            return _OPENED
        open_ns += ns
    return None


def remedy(why: str) -> str:
    """What helps against what `why` says."""
    if why == _OPENED:
        return "give it an offset_ns that is farther from the start of its window"
    return "raise delta of that etf (etf_delta_ns, if no qdisc is given) above it"
