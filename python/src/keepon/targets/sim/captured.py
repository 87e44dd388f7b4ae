# SPDX-License-Identifier: BSD-3-Clause
"""What the simulator kept of stations' wires, as sightings."""

from __future__ import annotations

import numpy as np

from keepon.measure.results import NONE
from keepon.measure.sightings import LOAD, PTP, STREAM, Seen, Sighting, verdict_name
from keepon.targets.sim.build import Build


def captured(build: Build, verdict_names: list[str]) -> Seen:
    """Every frame of streams, loads and PTP in the window that was kept, in order of time."""
    raw, scenario = build.simulation.captured(), build.scenario
    names = {number: name for name, number in build.nodes.items()}
    edges_ps = np.array([raw["start_ps"], raw["end_ps"]], dtype=np.int64)
    start, end = (
        build.epoch_ns + int(at) // 1000 for at in build.simulation.network_time(edges_ps)
    )
    times_ps = np.ascontiguousarray(raw["sfd_ps"])
    at_ns = build.epoch_ns + np.asarray(build.simulation.network_time(times_ps)) // 1000
    ptp = (
        {flow["id"]: flow for flow in build.simulation.ptp_flows()} if scenario.sync.by_ptp else {}
    )
    streams = {stream.id: stream for stream in scenario.stream}
    loads = scenario.load_flows()
    frames = {name: build.frames(name) for name in streams}
    found = []
    rows = zip(
        at_ns.tolist(), raw["node"].tolist(), raw["outbound"].tolist(), raw["flow"].tolist(),
        raw["seq"].tolist(), raw["frame_bytes"].tolist(), strict=True,
    )  # fmt: skip
    for at, node, outbound, flow, seq, frame_bytes in rows:
        name, here = raw["flows"][flow], names[node]
        common = (at, here, bool(outbound))
        if name in streams:
            own, stream = frames[name], streams[name]
            stamp_ns = None
            if not outbound and here in stream.listeners:
                stamp = int(own.stamp_ns[stream.listeners.index(here), seq])
                stamp_ns = None if stamp == NONE else stamp
            found.append(
                Sighting(
                    *common, STREAM, name, seq, frame_bytes, stream.talker,
                    int(own.txtime_ns[seq]), own.epoch_ns + int(own.submit_ps[seq]) // 1000,
                    verdict_name(own, seq, verdict_names), stamp_ns,
                )
            )  # fmt: skip
        elif name in loads:
            found.append(Sighting(*common, LOAD, name, seq, frame_bytes, loads[name].talker))
        else:
            sender = names[ptp[name]["talker"]]
            found.append(Sighting(*common, PTP, ptp[name]["kind"], seq, frame_bytes, sender))
    found.sort(key=lambda one: one.at_ns)
    return Seen(start, end, (STREAM, LOAD, PTP), found)
