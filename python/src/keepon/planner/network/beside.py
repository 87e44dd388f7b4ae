# SPDX-License-Identifier: BSD-3-Clause
"""What is refused beside planned streams, in their queues or before them: best effort, PTP, and
streams of talkers that keep no time.
"""

from __future__ import annotations

import itertools

from keepon.errors import ConfigError
from keepon.planner.network.flows import Flow
from keepon.planner.network.ground import Ground


def refuse(ground: Ground) -> None:
    """Refuse what streams cannot be planned beside.

    Raises:
        ConfigError: best effort, PTP or a stream without a bound goes with a stream that has one,
            or before it.
    """
    _refuse_loads(ground)
    _refuse_ptp_before(ground)
    _refuse_without_time(ground)


def _refuse_loads(ground: Ground) -> None:
    """Best effort must not be in a queue whose gate opens for streams, nor before streams where
    there is no gate.
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
            for flow in planned.get((here, there), []):
                if load.priority == flow.stream.priority or (
                    load.priority > flow.stream.priority
                    and _are_open_at_once(ground, here, there, flow.stream.priority, load.priority)
                ):
                    is_gated = ground.is_gated(here, there)
                    allowed = "another than" if is_gated else "below"
                    raise ConfigError(
                        f'key `load[{index}].priority` (load "{load.id}") = {load.priority}: must'
                        f" be {allowed} {flow.stream.priority}, the priority of stream"
                        f' "{flow.stream.id}" on the link "{here}" to "{there}"; choose a lower one'
                    )


def _are_open_at_once(ground: Ground, here: str, there: str, queue: int, other: int) -> bool:
    """Whether frames of the other queue may go at a port while those of a stream's may."""
    listed = ground.explicit(here, there)
    if listed is not None:
        return listed.together(queue, other)
    return ground.bridges[here].gates == "none"


def _refuse_ptp_before(ground: Ground) -> None:
    """Messages of PTP that gather behind a closed gate must not go before streams' frames."""
    ptp = ground.scenario.sync.priority
    if not ground.scenario.sync.by_ptp:
        return
    for flow in ground.flows:
        queue = flow.stream.priority
        for leg in (leg for tree in flow.trees for leg in tree.legs):
            listed = ground.explicit(leg.here, leg.there)
            if listed is None or ptp < queue or listed.always(ptp):
                continue
            if listed.together(queue, ptp):
                index = list(ground.bridges).index(leg.here)
                raise ConfigError(
                    f"key `bridge[{index}].gates.{leg.there}.entries`: must not open gate {ptp} of"
                    f' PTP together with gate {queue} of stream "{flow.stream.id}" unless it is'
                    " always open; close it there, or open it in all entries"
                )


def _refuse_shared_class(ground: Ground, name: str, tc: int, key: str) -> None:
    """Of a keepon device each class has one queue, in order: best effort that waits for a slot
    stops it, and frames behind it come too late for theirs.
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
    """Frames of a talker that keeps no time come whenever they do: other streams' windows of their
    queue would be theirs.
    """
    ports: dict[tuple[str, str], list[Flow]] = {}
    for flow in ground.flows:
        for leg in (leg for tree in flow.trees for leg in tree.legs):
            if leg.here in ground.bridges and flow not in ports.setdefault(
                (leg.here, leg.there), []
            ):
                ports[leg.here, leg.there].append(flow)
    for (here, there), flows in ports.items():
        for timed, other in itertools.product(flows, flows):
            if not timed.station.bounded or other.station.bounded:
                continue
            queue, own = timed.stream.priority, other.stream.priority
            if queue != own and not _may_go_before(ground, here, there, queue, own):
                continue
            station = other.station.station
            way = 'release "sleep"' if station.release == "sleep" else f'driver "{station.driver}"'
            raise ground.wrong(
                other.stream, "priority", str(own),
                f'must have a gate of its own on the link "{here}" to "{there}", where stream'
                f' "{timed.stream.id}" of priority {queue} has a bound, for the frames of station'
                f' "{station.name}" ({way}) come whenever they do; choose another priority and'
                ' gates = "auto", or let its frames leave at their times',
            )  # fmt: skip


def _may_go_before(ground: Ground, here: str, there: str, queue: int, other: int) -> bool:
    """Whether a frame of the other queue may be sent as one of a stream's is due."""
    listed = ground.explicit(here, there)
    if listed is not None:
        return listed.together(queue, other) or listed.follows(queue, other)
    return not ground.is_gated(here, there)
