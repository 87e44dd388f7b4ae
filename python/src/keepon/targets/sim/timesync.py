# SPDX-License-Identifier: BSD-3-Clause
"""PTP and gPTP for the simulator: its input, and what its clocks did as numbers of a result.

Stamps of reception are the one thing that is calibrated here. Software sees a frame some time after
it is complete; by how much that varies is taken from a publication (`keepon.model.hosts`) and never
from the accuracies published for PTP (keepon.fig12), which results are put beside.
"""

from __future__ import annotations

from keepon._sim import BridgeSpec, LatencySpec, ServoSpec, StationSpec, SyncSpec
from keepon.model.hosts import Sourced, chosen, rx_stage
from keepon.model.scenario import BRIDGE_CLOCK_ERROR_NS, Bridge, Scenario, Station
from keepon.targets.sim import software

TURNAROUND_WHY = "no published value (IEEE 802.1AS-2020 annex B.2 allows 10 ms)"


def set_by_ptp(spec: StationSpec, scenario: Scenario, station: Station) -> list[Sourced]:
    """Add to a station's specification what PTP needs, and nothing where it does not set clocks;
    return where the numbers come from.
    """
    if not scenario.sync.by_ptp:
        return []
    stage, sources = rx_stage(station, scenario.sync.rx_jitter_scale)
    spec.sync, spec.host.rx = "ptp", LatencySpec(**vars(stage))
    if spec.driver == "keepon":
        spec.ingress_latency_ns = station.ingress_latency_ns
        spec.egress_latency_ns = station.egress_latency_ns
        sources += [
            chosen(f"{key} (keepon)", value, "scenario: measured by hand")
            for key, value in (
                ("ingress_latency_ns", station.ingress_latency_ns),
                ("egress_latency_ns", station.egress_latency_ns),
            )
            if value
        ]
    return sources


def bridge_spec(scenario: Scenario, bridge: Bridge) -> BridgeSpec:
    """A bridge as the simulator has it. With ideal clocks its crystal does not matter and is left
    ideal too.
    """
    spec = BridgeSpec(
        processing_ns=bridge.processing_ns,
        queue_frames=bridge.queue_frames,
        queues=[bridge.class_of(priority) for priority in range(8)],
        software=software.spec(bridge)[0],
    )
    if scenario.sync.mode == "ideal":
        return spec
    spec.ppm = bridge.clock_ppm
    spec.wander_ppb_per_s = bridge.wander_ppb_per_s
    if scenario.sync.mode == "gptp":
        spec.sync = "ptp"
        spec.ptp_turnaround_ns = bridge.ptp_turnaround_ns
        spec.stamp_resolution_ns = bridge.stamp_resolution_ns
    return spec


def bridge_sources(scenario: Scenario) -> dict[str, list[Sourced]]:
    """Where values of the bridges come from, by "name (bridge)"."""
    if scenario.sync.mode != "gptp":
        return software.sources(scenario)
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


def sync_spec(scenario: Scenario, nodes: dict[str, int]) -> SyncSpec:
    """What `Simulation.set_sync` takes. The scenario has a grandmaster."""
    sync = scenario.sync
    domains = [(0, nodes[str(sync.grandmaster)])]
    domains += [(entry.domain, nodes[entry.grandmaster]) for entry in sync.domains]
    return SyncSpec(
        mode=sync.mode,
        domains=domains,
        interval_ns=sync.interval_ms * 1_000_000,
        delay_interval_ns=sync.delay_interval_ms * 1_000_000,
        servo=ServoSpec(
            kind=sync.servo,
            pi_proportional_scale=sync.pi_proportional_scale,
            pi_proportional_exponent=sync.pi_proportional_exponent,
            pi_proportional_norm_max=sync.pi_proportional_norm_max,
            pi_integral_scale=sync.pi_integral_scale,
            pi_integral_exponent=sync.pi_integral_exponent,
            pi_integral_norm_max=sync.pi_integral_norm_max,
            step_threshold_ns=sync.step_threshold_ns,
            first_step_threshold_ns=sync.first_step_threshold_ns,
            filter_samples=sync.filter_samples,
        ),
        delay_filter_samples=sync.delay_filter_samples,
        rate_samples=sync.rate_samples,
        tc=sync.tc,
        queue=sync.priority,
        start_offset_ns=sync.start_offset_ns,
        sample_ns=sync.sample_ns,
        changes=[
            (round(fault.at_s * 1e9), nodes[fault.node])
            for fault in scenario.fault
            if fault.kind == "master-change"
        ],
    )


_BY_CONSTRUCTION = (
    (
        "Network time is what the grandmaster's clock reads, so its own offset is zero; all delays,"
        " arrivals and release errors are in network time."
    ),
    (
        "Links delay both ways alike and always alike unless asymmetry_ns is set: what PTP gets"
        " wrong comes from stamps, granularity and crystals alone."
    ),
    (
        "The grandmaster is set by the scenario (external port configuration): there is no"
        " election, so a change of master takes no time but that of the servos."
    ),
    (
        "The system clock of a station with a PHC is set to what the PHC says at every Sync and"
        " keeps the CPU's crystal at the PHC's last measured rate between; it serves wake-ups,"
        " txtimes are PHC time."
    ),
)
_BRIDGES = (
    "Bridges forward after exactly their processing time and open gates exactly on schedule by"
    " their own clock."
)


def by_construction(scenario: Scenario) -> list[str]:
    """What clocks set by PTP cannot but show in this scenario; nothing where it does not
    set them.
    """
    if not scenario.sync.by_ptp:
        return []
    return [*_BY_CONSTRUCTION, *([_BRIDGES] if scenario.bridge else [])]
