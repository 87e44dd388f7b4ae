# SPDX-License-Identifier: BSD-3-Clause
"""Per-stream filtering and policing as the simulator has it."""

from __future__ import annotations

from keepon._sim import FlowMeterSpec, PsfpSpec, StreamFilterSpec, StreamGateEntry, StreamGateSpec
from keepon.model.plan import PlannedFilter
from keepon.model.policing import PLANNED, FlowMeter, StreamGate, streams_of
from keepon.model.scenario import Bridge, Scenario


def _or_any(value: int | None) -> int:
    return -1 if value is None else value


def _gate(name: str, gate: StreamGate) -> StreamGateSpec:
    return StreamGateSpec(
        name=name,
        base_ns=gate.base_ns,
        entries=[
            StreamGateEntry(
                open=entry.open,
                ns=entry.ns,
                priority=_or_any(entry.priority),
                octets=_or_any(entry.octets),
            )
            for entry in gate.entries
        ],
        close_on_invalid_rx=gate.close_on_invalid_rx,
        close_on_octets_exceeded=gate.close_on_octets_exceeded,
    )


def _meter(name: str, meter: FlowMeter) -> FlowMeterSpec:
    return FlowMeterSpec(name=name, **meter.model_dump())


def psfp_spec(
    scenario: Scenario, bridge: Bridge, planned: list[PlannedFilter], flows: dict[str, list[int]]
) -> PsfpSpec:
    """Policing of a bridge: filters by hand, then those of the plan; `flows`: what
    has the address of a stream or load, by name.
    """
    names, meters = list(bridge.stream_gate), list(bridge.flow_meter)
    gates = [_gate(name, gate) for name, gate in bridge.stream_gate.items()]
    profiles = [_meter(name, meter) for name, meter in bridge.flow_meter.items()]
    filters = [
        StreamFilterSpec(
            flows=[flow for name in streams_of(scenario, entry) for flow in flows[name]],
            priority=_or_any(entry.priority),
            max_sdu_bytes=_or_any(entry.max_sdu_bytes),
            block_oversize=entry.block_oversize,
            gate=-1 if entry.gate is None else names.index(entry.gate),
            meter=-1 if entry.meter is None else meters.index(entry.meter),
        )
        for entry in bridge.stream_filter
    ]
    for found in planned:
        spec = StreamFilterSpec(flows=flows[found["stream"]], max_sdu_bytes=found["max_sdu_bytes"])
        if "entries" in found:
            spec.gate = len(gates)
            gates.append(
                StreamGateSpec(
                    name=f"{PLANNED}{found['stream']}",
                    base_ns=found["base_ns"],
                    entries=[StreamGateEntry(**entry) for entry in found["entries"]],
                )
            )
        if "cir_bps" in found:
            spec.meter = len(profiles)
            profiles.append(
                FlowMeterSpec(
                    name=f"{PLANNED}{found['stream']}", cir_bps=found["cir_bps"],
                    cbs_bytes=found["cbs_bytes"],
                )
            )  # fmt: skip
        filters.append(spec)
    return PsfpSpec(
        as_linux=bridge.policing == "linux",
        gates=gates,
        meters=profiles,
        filters=filters,
    )
