# SPDX-License-Identifier: BSD-3-Clause
"""Refuses unplanned traffic that shares a queue with planned streams or precedes them: best effort,
PTP, and streams of talkers without a clock.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from keepon.errors import ConfigError
from keepon.model.scenario import Bridge, Load
from keepon.model.wire import GAP_BYTES, byte_time_ps
from keepon.planner.network.flows import Flow
from keepon.planner.network.ground import Ground
from keepon.planner.network.trees import Leg, Tree


def refuse(ground: Ground) -> None:
    """Refuse unplanned traffic that would delay planned streams.

    Raises:
        ConfigError: best effort, PTP or a stream without a bound shares a queue with a stream that
            has a bound, or precedes it.
    """
    _refuse_loads(ground)
    _refuse_ptp_before(ground)
    _refuse_without_time(ground)


def _refuse_loads(ground: Ground) -> None:
    """Refuse best effort in a queue whose gate opens for streams, and best effort that precedes
    streams at a port without gates.
    """
    planned: dict[tuple[str, str], list[Flow]] = {}
    for flow in ground.flows:
        for leg in flow.trees[0].legs:
            if leg.here in ground.bridges:
                planned.setdefault((leg.here, leg.there), []).append(flow)
    if ground.scenario.sync.by_ptp:
        for name in ground.stations:
            _refuse_shared_class(ground, name, ground.scenario.sync.tc, "key `sync.tc`")
    for index, load, path in ground.topology.best_effort:
        key = f'key `load[{index}].tc` (load "{load.id}")'
        port = ground.topology.port_to(load.talker, path[1])
        _refuse_shared_class(ground, port.name, load.tc, key)
        for here, there in itertools.pairwise(path[1:]):
            own = ground.queue(here, load.priority)
            for flow in planned.get((here, there), []):
                queue = ground.queue(here, flow.stream.priority)
                if own == queue or (own > queue and ground.open_at_once(here, there, queue, own)):
                    raise _before(ground, (here, there), flow, index, load)


def _before(
    ground: Ground, port: tuple[str, str], flow: Flow, index: int, load: Load
) -> ConfigError:
    """The refusal of best effort in a stream's queue or a higher one."""
    bridge, stream = ground.bridges[port[0]], flow.stream
    own, queue = bridge.class_of(load.priority), bridge.class_of(stream.priority)
    allowed = "be another than" if ground.is_gated(*port) else "be below"
    buffers = bridge.cqf_buffers if bridge.gates == "cqf" else 1
    lower = [priority for priority in range(8) if bridge.class_of(priority) <= queue - buffers]
    higher = [priority for priority in range(8) if bridge.class_of(priority) > own]
    if lower:
        remedy = f"choose a priority of a lower one, such as {lower[-1]}"
    elif higher:
        usual = min(higher, key=lambda priority: abs(priority - 5))
        remedy = f"give the stream a priority of a higher one, such as {usual}"
    else:
        remedy = _more_classes(bridge)
    return ConfigError(
        f'key `load[{index}].priority` (load "{load.id}") = {load.priority}: its traffic class'
        f" {own} must {allowed} {queue}, that of priority {stream.priority} of stream"
        f' "{stream.id}", on the link "{port[0]}" to "{port[1]}"; {remedy}'
    )


def _more_classes(bridge: Bridge) -> str:
    """How to separate the priorities of a bridge that are all in one traffic class."""
    more = f'state more queues of bridge "{bridge.name}"'
    if bridge.traffic_classes == "802.1Q":
        return more
    parted = f'state several classes in traffic_classes of bridge "{bridge.name}"'
    return parted if bridge.queues > 1 else f"{more}, and several classes in its traffic_classes"


def _legs(flow: Flow) -> Iterator[tuple[Tree, Leg]]:
    return ((tree, leg) for tree in flow.trees for leg in tree.legs)


def _refuse_ptp_before(ground: Ground) -> None:
    """Remove the trees on which PTP messages that gathered behind a closed gate would precede the
    stream; refuse a stream with no other tree.
    """
    if not ground.scenario.sync.by_ptp:
        return
    for flow in ground.flows:
        met: dict[int, tuple[Leg, int, int]] = {}
        for tree, leg in _legs(flow):
            listed = ground.explicit(leg.here, leg.there)
            if listed is None:
                continue
            ptp = ground.queue(leg.here, ground.scenario.sync.priority)
            queue = ground.queue(leg.here, flow.stream.priority)
            if ptp >= queue and not listed.always(ptp) and listed.together(queue, ptp):
                met.setdefault(tree.number, (leg, queue, ptp))
        if len(met) == len(flow.trees):
            leg, queue, ptp = met[flow.trees[0].number]
            index = list(ground.bridges).index(leg.here)
            raise ConfigError(
                f"key `bridge[{index}].gates.{leg.there}.entries`: must not open gate {ptp} of"
                f' PTP together with gate {queue} of stream "{flow.stream.id}" unless it is'
                " always open; close it there, or open it in all entries"
            )
        flow.trees[:] = [tree for tree in flow.trees if tree.number not in met]


def _refuse_shared_class(ground: Ground, name: str, tc: int, key: str) -> None:
    """Refuse best effort in the class of a stream: a keepon device has one FIFO queue per class, so
    best effort that waits for a slot makes the frames behind it late.
    """
    station = ground.stations[name]
    if not station.is_slotted or station.station.release == "sleep":
        return
    for _, stream in ground.topology.streams[name]:
        if stream.tc == tc:
            rest = [entry.tc for entry in station.station.keepon.classes if entry.slots == "rest"]
            other = f"{rest[-1]}" if rest and rest[-1] != tc else 'a class with slots = "rest"'
            raise ConfigError(
                f'{key} = {tc}: must not be the class of stream "{stream.id}", which would wait'
                f" behind it in the queue they share; choose {other}"
            )


def _refuse_without_time(ground: Ground) -> None:
    """Separate streams of talkers without a clock from streams with a bound: their frames arrive at
    any time and would take the other streams' windows in their queue. They take their first tree,
    and a stream with a bound takes no tree that shares a queue with them.
    """
    others: dict[tuple[str, str], list[Flow]] = {}
    timed = [flow for flow in ground.flows if flow.station.bounded]
    for flow in (flow for flow in ground.flows if timed and not flow.station.bounded):
        del flow.trees[1:]
        for leg in (leg for leg in flow.trees[0].legs if leg.here in ground.bridges):
            others.setdefault((leg.here, leg.there), []).append(flow)
    for flow in timed:
        met: dict[int, tuple[Leg, Flow]] = {}
        for tree, leg in _legs(flow):
            for other in others.get((leg.here, leg.there), []):
                if _may_be_before(ground, leg, flow, other):
                    met.setdefault(tree.number, (leg, other))
        if len(met) == len(flow.trees):
            raise _without_time(ground, flow, *met[flow.trees[0].number])
        flow.trees[:] = [tree for tree in flow.trees if tree.number not in met]


def _without_time(ground: Ground, flow: Flow, leg: Leg, other: Flow) -> ConfigError:
    station = other.station.station
    bridge, another = ground.bridges[leg.here], "choose another priority"
    if len({bridge.class_of(priority) for priority in range(8)}) == 1:
        another = f"{_more_classes(bridge)}, {another}"
    way = 'release "sleep"' if station.release == "sleep" else f'driver "{station.driver}"'
    return ground.wrong(
        other.stream, "priority", str(other.stream.priority),
        f'must have a gate of its own on the link "{leg.here}" to "{leg.there}", where stream'
        f' "{flow.stream.id}" of priority {flow.stream.priority} has a bound, for the frames of'
        f' station "{station.name}" ({way}) come whenever they do; {another} and'
        ' gates = "auto", or let its frames leave at their times',
    )  # fmt: skip


def _may_be_before(ground: Ground, leg: Leg, flow: Flow, other: Flow) -> bool:
    """Whether a frame of `other`, or the gap behind it, may be on the wire when the flow's frame is
    due.
    """
    queue = ground.queue(leg.here, flow.stream.priority)
    own = ground.queue(leg.here, other.stream.priority)
    if queue == own or ground.open_at_once(leg.here, leg.there, queue, own):
        return True
    listed = ground.explicit(leg.here, leg.there)
    gap_ps = GAP_BYTES * byte_time_ps(ground.topology.wires[leg.here, leg.there].rate_bps)
    return listed is not None and listed.shut_before_ps(queue, own, gap_ps) is not None
