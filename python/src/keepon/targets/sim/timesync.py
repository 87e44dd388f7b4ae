# SPDX-License-Identifier: BSD-3-Clause
"""PTP and gPTP for the simulator: what it is told, and what its clocks did as numbers of a result.

Stamps of reception are the one thing that is calibrated here. Software sees a frame some time after it is complete;
by how much that varies is taken from a publication (`keepon.model.hosts`) and never from the accuracies published for
PTP (keepon.fig12), which results are put beside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keepon.measure.statistics import IntArray, summary
from keepon.model.hosts import RX_SOURCES, RX_STAGE, Sourced, Stage, chosen, overridden
from keepon.model.scenario import BRIDGE_CLOCK_ERROR_NS, Bridge, HostTable, Scenario, Station

_NO_RX = Stage(0, 0, 0.0, 0.0, 0, 0)
TURNAROUND_WHY = "no published value (IEEE 802.1AS-2020 annex B.2 allows 10 ms)"
SECOND_PS = 10**12


def rx_stage(station: Station, scale: float) -> tuple[Stage, list[Sourced]]:
    """From a complete frame at the NIC to software's stamp of it, and where its numbers come from.

    Args:
        station: its host decides; the host "ideal" has none.
        scale: sync.rx_jitter_scale, multiplies the whole delay and so its spread.
    """
    table = station.host if isinstance(station.host, HostTable) else HostTable(base=station.host)
    stage, sources = (_NO_RX, []) if table.base == "ideal" else (RX_STAGE, list(RX_SOURCES))
    stage, sources = overridden(stage, "rx", table.rx, sources)
    if scale != 1.0:
        stage = stage.scaled(scale)
        sources.append(chosen("rx_jitter_scale", scale, "scenario", "rx"))
    return stage, sources


def station_spec(scenario: Scenario, station: Station, driver: str) -> tuple[dict[str, Any], list[Sourced]]:
    """What PTP adds to a station's specification: {} and no sources where clocks are not set by PTP."""
    if not scenario.sync.by_ptp:
        return {}, []
    stage, sources = rx_stage(station, scenario.sync.rx_jitter_scale)
    spec: dict[str, Any] = {"sync": "ptp", "rx": vars(stage)}
    if driver == "keepon":
        spec["ingress_latency_ns"] = station.ingress_latency_ns
        spec["egress_latency_ns"] = station.egress_latency_ns
        sources += [
            chosen(f"{key} (keepon)", value, "scenario: measured by hand")
            for key, value in (
                ("ingress_latency_ns", station.ingress_latency_ns),
                ("egress_latency_ns", station.egress_latency_ns),
            )
            if value
        ]
    return spec, sources


def bridge_spec(scenario: Scenario, bridge: Bridge) -> dict[str, Any]:
    """A bridge as the simulator has it. With ideal clocks its crystal does not matter and is left ideal too."""
    spec: dict[str, Any] = {"processing_ns": bridge.processing_ns, "ppm": 0.0}
    if scenario.sync.mode == "ideal":
        return spec
    spec.update(ppm=bridge.clock_ppm, wander_ppb_per_s=bridge.wander_ppb_per_s)
    if scenario.sync.mode == "gptp":
        spec.update(
            sync="ptp",
            ptp_turnaround_ns=bridge.ptp_turnaround_ns,
            stamp_resolution_ns=bridge.stamp_resolution_ns,
        )
    return spec


def bridge_sources(scenario: Scenario) -> dict[str, list[Sourced]]:
    """Chosen values of the bridges, by "name (bridge)"."""
    if scenario.sync.mode != "gptp":
        return {}
    return {
        f"{bridge.name} (bridge)": [
            chosen("ptp_turnaround_ns", bridge.ptp_turnaround_ns, TURNAROUND_WHY),
            chosen(
                "clock_error_ns",
                BRIDGE_CLOCK_ERROR_NS + scenario.asymmetry_error_ns(bridge.name),
                "stated, checked by the run; half of the asymmetry on Sync's way is part of it",
            ),
        ]
        for bridge in scenario.bridge
    }


def sync_spec(scenario: Scenario, nodes: dict[str, int]) -> dict[str, Any]:
    """What `Simulation.set_sync` takes. The scenario has a grandmaster."""
    sync = scenario.sync
    domains = [(0, nodes[str(sync.grandmaster)])]
    domains += [(entry.domain, nodes[entry.grandmaster]) for entry in sync.domains]
    return {
        "mode": sync.mode,
        "domains": domains,
        "interval_ns": sync.interval_ms * 1_000_000,
        "delay_interval_ns": sync.delay_interval_ms * 1_000_000,
        "servo": {
            "kind": sync.servo,
            "pi_proportional_scale": sync.pi_proportional_scale,
            "pi_proportional_exponent": sync.pi_proportional_exponent,
            "pi_proportional_norm_max": sync.pi_proportional_norm_max,
            "pi_integral_scale": sync.pi_integral_scale,
            "pi_integral_exponent": sync.pi_integral_exponent,
            "pi_integral_norm_max": sync.pi_integral_norm_max,
            "step_threshold_ns": sync.step_threshold_ns,
            "first_step_threshold_ns": sync.first_step_threshold_ns,
            "filter_samples": sync.filter_samples,
        },
        "delay_filter_samples": sync.delay_filter_samples,
        "rate_samples": sync.rate_samples,
        "tc": sync.tc,
        "queue": sync.priority,
        "start_offset_ns": sync.start_offset_ns,
        "sample_ns": sync.sample_ns,
        "changes": [
            (round(fault.at_s * 1e9), nodes[fault.node]) for fault in scenario.fault if fault.kind == "master-change"
        ],
    }


def offset_statistics(offsets_ps: IntArray) -> dict[str, Any]:
    """Offsets of a clock in ns: what `statistics.summary` gives, and rms (about zero)."""
    document = summary(offsets_ps, 1000)
    document["rms"] = float(np.sqrt(np.mean(np.square(offsets_ps / 1000.0)))) if offsets_ps.size else None
    return document


def lock_time_s(at_ps: IntArray, offset_ps: IntArray, bound_ns: int) -> float | None:
    """Time from the start after which |offset| stays within `bound_ns` to the end; None if it never does."""
    outside = np.flatnonzero(np.abs(offset_ps) > bound_ns * 1000)
    if outside.size == 0:
        return 0.0
    last = int(outside[-1])
    return None if last + 1 >= at_ps.size else float(at_ps[last + 1]) / SECOND_PS


def frequency_error_ppb(at_ps: IntArray, offset_ps: IntArray) -> dict[str, float | None]:
    """Rate of the clock against network time: mean over all samples, and rms of its differences over 100 samples."""
    if at_ps.size < 2:
        return {"mean": None, "rms": None}
    mean = float(offset_ps[-1] - offset_ps[0]) / float(at_ps[-1] - at_ps[0]) * 1e9
    step = min(100, at_ps.size - 1)
    rates = (offset_ps[step:] - offset_ps[:-step]) / (at_ps[step:] - at_ps[:-step]).astype(np.float64) * 1e9
    return {"mean": mean, "rms": float(np.sqrt(np.mean(np.square(rates))))}


def clock_document(raw: dict[str, Any], start_ns: int, end_ns: int, bound_ns: int) -> dict[str, Any]:
    """What a result says of one clock.

    Args:
        raw: `Simulation.clock` of the node.
        start_ns, end_ns: samples in [start, end) count; the time to lock is from the start of the run.
        bound_ns: sync.lock_bound_ns.

    Returns:
        source, stamps, state of the servo, offset_ns (exact reading minus network time), absolute_p999_ns (of its
        absolute value), read_offset_ns (what software gets that asks), frequency_error_ppb, lock_s and
        lock_bound_ns, steps, sync, delay_ns, ports, domains.
    """
    at_ps = np.asarray(raw["at_ps"], dtype=np.int64)
    offset_ps = np.asarray(raw["offset_ps"], dtype=np.int64)
    read_ps = np.asarray(raw["read_offset_ps"], dtype=np.int64)
    within = (at_ps >= start_ns * 1000) & (at_ps < end_ns * 1000)
    own = raw["domains"][0]
    upto = at_ps < end_ns * 1000
    document = {
        "source": raw["source"],
        "stamps": raw["stamps"],
        "grandmaster": own["grandmaster"],
        "state": raw["state"],
        "offset_ns": offset_statistics(offset_ps[within]),
        "absolute_p999_ns": summary(np.abs(offset_ps[within]), 1000)["p999"],
        "read_offset_ns": offset_statistics(read_ps[within]),
        "frequency_error_ppb": frequency_error_ppb(at_ps[within], offset_ps[within]),
        "lock_s": lock_time_s(at_ps[upto], offset_ps[upto], bound_ns),
        "lock_bound_ns": bound_ns,
        "steps": own["steps"],
        "sync": {key: own[key] for key in ("sent", "received", "lost", "unused")},
        "delay_ns": own["delay_ps"] / 1000,
        "ports": [
            {
                **{key: port[key] for key in ("valid", "complete", "lost", "rate_ratio")},
                "delay_ns": port["delay_ps"] / 1000,
            }
            for port in raw["ports"]
        ],
    }
    others = {}
    for number, entry in raw["domains"].items():
        if number == 0:
            continue
        errors = np.asarray(entry["offset_ps"], dtype=np.int64)[within]
        known = errors[errors != np.iinfo(np.int64).min]
        others[str(number)] = {
            "grandmaster": entry["grandmaster"],
            "offset_ns": offset_statistics(known),
            "sync": {key: entry[key] for key in ("sent", "received", "lost", "unused")},
        }
    document["domains"] = others
    return document


FLOW_COUNTS = ("submitted", "on_wire", "pending", "delivered", "in_flight")


def frames_document(flows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of PTP's frames by kind of message, with refused and lost ones; identities as for every other flow.

    Raises:
        ValueError: a flow's counts do not add up, or a frame arrived changed.
    """
    kinds: dict[str, Any] = {}
    for flow in flows:
        ended = sum(flow["verdicts"].values())
        lost = sum(flow["lost"].values())
        listeners = len(flow["delivered_by_listener"])
        in_flight = flow["on_wire"] * listeners - flow["delivered"] - lost
        if flow["submitted"] != ended + flow["pending"] or in_flight != flow["in_flight"] or in_flight < 0:
            raise ValueError(f"{flow['id']}: frames do not add up")
        if flow["wrong_bytes"] or flow["duplicates"] or flow["ghosts"]:
            raise ValueError(f"{flow['id']}: frames arrived changed, twice or from nowhere")
        entry = kinds.setdefault(flow["kind"], {**dict.fromkeys(FLOW_COUNTS, 0), "refused": 0, "lost": {}})
        for key in FLOW_COUNTS:
            entry[key] += flow[key]
        entry["refused"] += ended - flow["sent"]
        for place, count in flow["lost"].items():
            entry["lost"][place] = entry["lost"].get(place, 0) + count
    return kinds


_BY_CONSTRUCTION = (
    "Network time is what the grandmaster's clock reads, so its own offset is zero; all delays, arrivals and release "
    "errors are in network time.",
    "Links delay both ways alike and always alike unless asymmetry_ns is set: what PTP gets wrong comes from stamps, "
    "granularity and crystals alone.",
    "The grandmaster is set by the scenario (external port configuration): there is no election, so a change of master "
    "takes no time but that of the servos.",
    "The system clock of a station with a PHC is set to what the PHC says at every Sync and keeps the CPU's crystal at "
    "the PHC's last measured rate between; it serves wake-ups, txtimes are PHC time.",
)
_BRIDGES = "Bridges forward after exactly their processing time and open gates exactly on schedule by their own clock."


def by_construction(scenario: Scenario) -> list[str]:
    """What clocks set by PTP cannot but show in this scenario; nothing where it does not set them."""
    if not scenario.sync.by_ptp:
        return []
    return [*_BY_CONSTRUCTION, *([_BRIDGES] if scenario.bridge else [])]
