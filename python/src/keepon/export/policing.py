# SPDX-License-Identifier: BSD-3-Clause
"""Per-stream filtering and policing of a bridge by Linux's tc: a flower filter at the port where a
stream comes in, with actions gate and police (tc-flower(8), tc-gate(8), tc-police(8)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from keepon.export.exported import Planned, port_name
from keepon.model.cables import back, hops, node_of
from keepon.model.policing import StreamFilter, StreamGate, streams_of
from keepon.model.scenario import Bridge
from keepon.model.topology import Topology

_SHARED_FROM = 1_000_000
"""Indices of actions that filters share, away from those that Linux chooses itself."""
_TIMER_LATE_NS = 100_000
"""Linux's gate in software misses an entry that is over when its timer comes, and then stays for a
cycle as it is.
"""
_MAC_HEADER_BYTES = 14
"""police's mtu counts it, unlike its rate and a gate's octets."""
_METERED_MTU_BYTES = 65_535
"""Left out, police with a rate drops what is longer than 2040."""


@dataclass(frozen=True)
class _Rule:
    """One flower filter: the stream or load, the bridge's port, actions in order."""

    flow: str
    port: str
    actions: tuple[str, ...]


def variable(flow: str) -> str:
    """Of the script's environment: the address that frames of a flow go to."""
    return "DST_" + re.sub(r"\W", "_", flow)


def _entry(is_open: bool, ns: int, priority: int | None, octets: int | None) -> str:
    """A line of tc's gate action; -1: the frame's own priority, any number of octets.

    >>> _entry(True, 500, None, 1208)
    'sched-entry open 500 -1 1208'
    """
    word = "open" if is_open else "close"
    priority, octets = -1 if priority is None else priority, -1 if octets is None else octets
    return f"sched-entry {word} {ns} {priority} {octets}"


def _gate(gate: StreamGate) -> str:
    entries = [_entry(each.open, each.ns, each.priority, each.octets) for each in gate.entries]
    return f"base-time {gate.base_ns} {' '.join(entries)}"


def _profile(cir_bps: int, cbs_bytes: int, mtu_bytes: int = _METERED_MTU_BYTES) -> str:
    return f"rate {cir_bps}bit burst {cbs_bytes}b mtu {mtu_bytes} conform-exceed drop/pipe"


def _longest(max_sdu_bytes: int) -> str:
    return f"action police mtu {max_sdu_bytes + _MAC_HEADER_BYTES} conform-exceed drop/pipe"


def _ways(planned: Planned) -> dict[str, list[list[str]]]:
    """The ways of all streams and loads, by id."""
    found = {
        stream.id: [
            [stream.talker, *route]
            for route in planned.plan["streams"][stream.id]["routes"].values()
        ]
        for stream in planned.scenario.stream
    }
    return found | {load.id: [way] for _, load, way in Topology(planned.scenario).best_effort}


def ports_into(planned: Planned, bridge: Bridge) -> dict[str, str]:
    """The port of a bridge where each stream and load comes in."""
    topology = Topology(planned.scenario)
    return {
        flow: port_name(topology, *back(hop))
        for flow, own in _ways(planned).items()
        for way in own
        for hop in hops(way)
        if node_of(hop[1]) == bridge.name
    }


def _rules(planned: Planned, bridge: Bridge) -> Iterator[_Rule]:
    """The scenario's own filters, then the plan's."""
    into = ports_into(planned, bridge)
    gates, meters = list(bridge.stream_gate), list(bridge.flow_meter)
    made = set[str]()

    def once(kind: str, index: int, words: str) -> str:
        """An action that several filters share is described by the first of them."""
        name = f"action {kind} index {_SHARED_FROM + index}"
        is_new = name not in made
        made.add(name)
        return f"{name} {words}" if is_new else name

    def actions(entry: StreamFilter) -> Iterator[str]:
        if entry.max_sdu_bytes is not None:
            yield _longest(entry.max_sdu_bytes)
        if entry.gate is not None:
            yield once("gate", gates.index(entry.gate), _gate(bridge.stream_gate[entry.gate]))
        if entry.meter is not None:
            meter = bridge.flow_meter[entry.meter]
            profile = _profile(meter.cir_bps, meter.cbs_bytes)
            yield once("police", meters.index(entry.meter), profile)

    for entry in bridge.stream_filter:
        for flow in streams_of(planned.scenario, entry) or into:
            if flow in into:
                yield _Rule(flow, into[flow], tuple(actions(entry)))
    document = planned.plan["bridges"][bridge.name]
    cycles = list[str]()
    for found in document.get("stream_filters", []):
        words = [_longest(found["max_sdu_bytes"])]
        if "entries" in found:
            listed = [
                _entry(each["open"], each["ns"], each.get("priority"), each.get("octets"))
                for each in found["entries"]
            ]
            gate = f"base-time {found['base_ns']} {' '.join(listed)}"
            if "cqf" in document:  # one gate for all streams from a node, as a gate has a timer
                cycles += [] if gate in cycles else [gate]
                words.append(once("gate", len(gates) + cycles.index(gate), gate))
            else:
                words.append(f"action gate {gate}")
        if "cir_bps" in found:
            mtu_bytes = found["max_sdu_bytes"] + _MAC_HEADER_BYTES
            profile = _profile(found["cir_bps"], found["cbs_bytes"], mtu_bytes)
            words = [f"action police {profile}"]
        yield _Rule(found["stream"], into[found["stream"]], tuple(words))


def needs(planned: Planned, bridge: Bridge) -> list[str]:
    """What a bridge's script looks for because of its filters, before it changes anything."""
    flows = list(dict.fromkeys(rule.flow for rule in _rules(planned, bridge)))
    found = [
        f': "${{{variable(flow)}:?is not set: the MAC address that frames of {flow} go to}}"'
        for flow in flows
    ]
    comment = "# Stream filters go by destination addresses, which the scenario does not have."
    return [comment, *found] if found else []


def lines(planned: Planned, bridge: Bridge) -> list[str]:
    """What a bridge's script does for its filters; nothing if there are none."""
    rules = list(_rules(planned, bridge))
    if not rules:
        return []
    found = [
        'offload=${OFFLOAD:-} # "skip_sw": by the switch alone; "skip_hw": by the CPU alone',
    ]
    for port in dict.fromkeys(rule.port for rule in rules):
        found += [
            f"tc qdisc del dev {port} clsact 2> /dev/null || :",
            f"tc qdisc add dev {port} clsact",
        ]
    # Cycles have the filter of number 1.
    first = 2 if "cqf" in planned.plan["bridges"][bridge.name] else 1
    for number, rule in enumerate(rules, first):
        found.append(
            f"tc filter add dev {rule.port} ingress protocol all pref {number} flower $offload"
            f' dst_mac "${variable(rule.flow)}" \\\n\t' + " \\\n\t".join(rule.actions)
        )
    return found


def notes(planned: Planned) -> Iterator[str]:
    """What scripts need for filters, and what tc cannot do of them."""
    for bridge in planned.scenario.bridge:
        flows = dict.fromkeys(rule.flow for rule in _rules(planned, bridge))
        if flows:
            yield (
                f"bridge {bridge.name}: its script needs {', '.join(map(variable, flows))}, the"
                " MAC addresses that these frames go to"
            )
        if "cqf" in planned.plan["bridges"][bridge.name]:
            yield (
                f"bridge {bridge.name}: Linux's gate changes priorities with offload only"
                f" (OFFLOAD=skip_sw); without it {bridge.name}-cqf.bpf.c does, which the script"
                " compiles with clang: it needs Linux 6.1, CLOCK_TAI as network time, and in VLAN"
                " the id that frames of streams have, if any"
            )
        shortest = [
            min(entry["ns"] for entry in found["entries"])
            for found in planned.plan["bridges"][bridge.name].get("stream_filters", [])
            if not all(entry["open"] for entry in found.get("entries", []))
        ] + [entry.ns for gate in bridge.stream_gate.values() for entry in gate.entries]
        if min(shortest, default=_TIMER_LATE_NS) < _TIMER_LATE_NS:
            yield (
                f"bridge {bridge.name}: its shortest entry of a stream gate has {min(shortest)} ns,"
                " which Linux without offload cannot keep: such a gate is open and shut for whole"
                " cycles in turn; run the script with OFFLOAD=skip_sw, on a switch that has it"
            )
        for name, meter in bridge.flow_meter.items():
            if meter.ebs_bytes or meter.mark_all_red:
                yield (
                    f"bridge {bridge.name}, flow meter {name}: Linux's police has one bucket, so"
                    " that what is yellow is dropped, and nothing is red for good"
                )
        for name, gate in bridge.stream_gate.items():
            if gate.close_on_invalid_rx or gate.close_on_octets_exceeded:
                yield (
                    f"bridge {bridge.name}, stream gate {name}: Linux's gate is never shut for good"
                )
            if any(entry.priority is not None for entry in gate.entries):
                yield (
                    f"bridge {bridge.name}, stream gate {name}: without offload Linux's gate"
                    " changes no priority"
                )
