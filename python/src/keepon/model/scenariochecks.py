# SPDX-License-Identifier: BSD-3-Clause
"""What keys of a scenario must be beside each other: names, links, reachability, slots, clocks."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from keepon.errors import ConfigError, SeveralConfigError, one_line
from keepon.model import (
    cqf,
    crosschecks,
    foreign,
    guests,
    policing,
    preemption,
    rates,
    redundancy,
    shaping,
    software,
    validation,
)
from keepon.model.cables import CABLES_MAX, hops, node_of
from keepon.model.hosts import HOSTS, check_stages
from keepon.model.qdiscs import scenarios as qdiscs
from keepon.model.scenario import Scenario
from keepon.model.slotting import misfit, wrong_length
from keepon.model.topology import Topology, port_names
from keepon.model.wire import byte_time_ps


def _shown(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return one_line(f'"{value}"' if isinstance(value, str) else value)


def problem(source: str, key: str, value: Any, expectation: str) -> ConfigError:
    """The one sentence every wrong key gets."""
    path, space, owner = key.partition(" (")
    return ConfigError(f"{source}: key `{path}`{space}{owner} = {_shown(value)}: {expectation}")


class Wrong:
    """Goes on after a ConfigError within a `with`, so that all of them are said at once."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, ConfigError):
            self.add(error)
        return isinstance(error, ConfigError)

    def add(self, error: ConfigError) -> None:
        self._messages.append(str(error))

    def end(self) -> None:
        """Raises what was wrong until here, if anything was."""
        messages = list(dict.fromkeys(self._messages))
        if messages:
            raise SeveralConfigError(messages) if len(messages) > 1 else ConfigError(messages[0])


def _node(source: str, key: str, value: str, nodes: list[str], what: str = "node") -> None:
    if value not in nodes:
        raise problem(source, key, value, f"no such {what}; {validation.suggestion(value, nodes)}")


def _unique(source: str, scenario: Scenario, wrong: Wrong) -> None:
    names = [(f"station[{index}]", station.name) for index, station in enumerate(scenario.station)]
    names += [(f"bridge[{index}]", bridge.name) for index, bridge in enumerate(scenario.bridge)]
    ids = [(f"stream[{index}]", stream.id) for index, stream in enumerate(scenario.stream)]
    ids += [(f"load[{index}]", load.id) for index, load in enumerate(scenario.load)]
    for key, entries in (("name", names), ("id", ids)):
        seen: dict[str, str] = {}
        for at, name in entries:
            with wrong:
                if name in seen:
                    raise problem(
                        source,
                        f"{at}.{key}",
                        name,
                        f"already used by {seen[name]}; rename one of the two",
                    )
            seen.setdefault(name, at)


def _links(source: str, scenario: Scenario, nodes: list[str], wrong: Wrong) -> dict[str, list[str]]:
    neighbours: dict[str, list[str]] = {node: [] for node in nodes}
    for index in range(len(scenario.link)):
        with wrong:
            _link(source, scenario, index, neighbours)
    return neighbours


def _link(source: str, scenario: Scenario, index: int, neighbours: dict[str, list[str]]) -> None:
    link, nodes = scenario.link[index], list(neighbours)
    first, second = link.ends if len(link.ends) == 2 else (link.ends[0], link.ends[0])
    _node(source, f"link[{index}].ends[0]", first, nodes)
    _node(source, f"link[{index}].ends[1]", second, nodes)
    bridges = {bridge.name for bridge in scenario.bridge}
    before = list(map(node_of, neighbours[first])).count(second)
    if before == CABLES_MAX or (before and not {first, second} <= bridges):
        raise problem(
            source,
            f"link[{index}].ends",
            link.ends,
            f"these nodes are already linked, and only bridges may be so more than once, by"
            f" {CABLES_MAX} links; remove one of the links, or lead it to another bridge",
        )
    rate_bps = link.rate_bps if link.rate_bps is not None else scenario.defaults.rate_bps
    try:
        byte_time_ps(rate_bps)
    except ValueError:
        key = f"link[{index}].rate_bps" if link.rate_bps is not None else "defaults.rate_bps"
        raise problem(
            source, key, rate_bps, "must divide 8e12; use an Ethernet rate such as 1000000000"
        ) from None
    mark = f"#{before + 1}" if before else ""
    neighbours[first].append(second + mark)
    neighbours[second].append(first + mark)


def _ports(source: str, scenario: Scenario, neighbours: dict[str, list[str]]) -> None:
    """No node is called like a port of a station, which has the station's name and a number."""
    for station in scenario.station:
        for name in port_names(station.name, len(neighbours[station.name])):
            if name != station.name and name in neighbours:
                raise problem(
                    source,
                    f"{_place(scenario, name)}.name",
                    name,
                    f'is what a port of station "{station.name}" is called, which has'
                    f" {len(neighbours[station.name])} links; rename one of the two",
                )


def _place(scenario: Scenario, name: str) -> str:
    """Where a node stands in the file."""
    stations = [station.name for station in scenario.station]
    if name in stations:
        return f"station[{stations.index(name)}]"
    return f"bridge[{[bridge.name for bridge in scenario.bridge].index(name)}]"


def _reachable(neighbours: dict[str, list[str]], bridges: set[str], start: str) -> set[str]:
    seen, queue = {start}, deque([start])
    while queue:
        node = queue.popleft()
        if node != start and node not in bridges:
            continue
        for peer in neighbours[node]:
            if peer not in seen:
                seen.add(peer)
                queue.append(peer)
    return seen


def _ends(source: str, scenario: Scenario, wrong: Wrong) -> None:
    """Who sends to whom is a station."""
    stations = [station.name for station in scenario.station]
    for index, stream in enumerate(scenario.stream):
        owner = f' (stream "{stream.id}")'
        with wrong:
            _node(source, f"stream[{index}].talker{owner}", stream.talker, stations, "station")
        for number, listener in enumerate(stream.listeners):
            key = f"stream[{index}].listeners[{number}]{owner}"
            with wrong:
                _node(source, key, listener, stations, "station")
    for index, load in enumerate(scenario.load):
        with wrong:
            _node(source, f"load[{index}].talker", load.talker, stations, "station")
        with wrong:
            _node(source, f"load[{index}].listener", load.listener, stations, "station")


def _stream(source: str, scenario: Scenario, index: int, neighbours: dict[str, list[str]]) -> None:
    stream = scenario.stream[index]
    bridges = [bridge.name for bridge in scenario.bridge]
    at = f"stream[{index}]"
    owner = f' (stream "{stream.id}")'
    reachable = _reachable(neighbours, set(bridges), stream.talker)
    for number, listener in enumerate(stream.listeners):
        key = f"{at}.listeners[{number}]{owner}"
        if listener == stream.talker:
            raise problem(source, key, listener, "is the talker itself; name another station")
        if listener not in reachable:
            raise problem(
                source,
                key,
                listener,
                f'is not connected to talker "{stream.talker}"; add the missing [[link]]',
            )
    if stream.rate_hz is not None and stream.period_ns != stream.cycle_ns // stream.turns:
        raise problem(
            source,
            f"{at}.period_ns{owner}",
            stream.period_ns,
            "contradicts rate_hz; leave one of the two out",
        )
    per_s = rates.rate(stream.rate_hz)
    if per_s is not None and (wrong := rates.too_long(per_s)):
        raise problem(source, f"{at}.rate_hz{owner}", stream.rate_hz, wrong)
    if stream.offset_ns != "auto" and stream.offset_ns >= stream.period_ns:
        raise problem(
            source,
            f"{at}.offset_ns{owner}",
            stream.offset_ns,
            f"must be between 0 and {stream.period_ns - 1}, below the period; lower it or set"
            ' it to "auto"',
        )
    if stream.route != "auto":
        for number, bridge in enumerate(stream.route):
            _node(source, f"{at}.route[{number}]{owner}", node_of(bridge), bridges, "bridge")
        way = [stream.talker, *stream.route, stream.listeners[0]]
        for number, (here, there) in enumerate(hops(way)):
            if there not in neighbours[here]:
                raise problem(
                    source,
                    f"{at}.route{owner}",
                    stream.route,
                    f'"{here}" and "{there}" are not linked (hop {number}); list the bridges in'
                    " order",
                )
    if wrong_key := redundancy.wrong_key(scenario, stream):
        raise problem(source, f"{at}.{wrong_key[0]}{owner}", *wrong_key[1:])
    if len(neighbours[stream.talker]) > 1:
        _one_port(source, scenario, index)
    _slots(source, scenario, index)


def _one_port(source: str, scenario: Scenario, index: int) -> None:
    """A frame leaves by one port of its talker, and all listeners are beyond it."""
    stream, topology = scenario.stream[index], Topology(scenario)
    port = topology.port_of(stream)
    if topology.reaches(port, stream.listeners):
        return
    lost = [each for each in stream.listeners if not topology.reaches(port, [each])]
    ways = [
        topology.shortest(stream.talker, stream.listeners[0], other.peer)[1:-1]
        for other in topology.ports_of(stream.talker)
        if topology.reaches(other, stream.listeners)
    ]
    raise problem(
        source,
        f'stream[{index}].listeners[{stream.listeners.index(lost[0])}] (stream "{stream.id}")',
        lost[0],
        f'is not beyond port "{port.name}" of talker "{stream.talker}", by which the stream leaves,'
        f' as the way to "{stream.listeners[0]}" begins there; '
        + (
            f"state route = {json.dumps(ways[0])}, by which all are reached"
            if ways
            else "make a stream of its own for it"
        ),
    )


def _slots(source: str, scenario: Scenario, index: int) -> None:
    """What can be said before planning of a stream whose talker has fixed slots."""
    if wrong := misfit(scenario, index):
        raise problem(source, *wrong)


def _sync(source: str, scenario: Scenario, nodes: list[str]) -> None:
    """Who has the time, and whether the others can hear of it."""
    sync = scenario.sync
    if sync.grandmaster is not None:
        _node(source, "sync.grandmaster", sync.grandmaster, nodes)
    if not sync.by_ptp:
        return
    if sync.grandmaster is None:
        raise ConfigError(
            f'{source}: key `sync.grandmaster` is missing; sync.mode = "{sync.mode}" needs one,'
            " name a station" + (" or a bridge" if sync.mode == "gptp" else "")
        )
    masters = [("sync.grandmaster", sync.grandmaster)]
    seen = {0: "sync.grandmaster"}
    for index, entry in enumerate(sync.domains):
        key = f"sync.domains[{index}]"
        if entry.domain in seen:
            raise problem(
                source,
                f"{key}.domain",
                entry.domain,
                f"already used by {seen[entry.domain]}; take another",
            )
        seen[entry.domain] = key
        _node(source, f"{key}.grandmaster", entry.grandmaster, nodes)
        masters.append((f"{key}.grandmaster", entry.grandmaster))
    masters += [
        (f"fault[{index}].node", fault.node)
        for index, fault in enumerate(scenario.fault)
        if fault.kind == "master-change" and fault.node in nodes
    ]
    bridges = {bridge.name for bridge in scenario.bridge}
    for key, name in masters:
        if sync.mode == "ptp" and name in bridges:
            raise problem(
                source,
                key,
                name,
                'is a bridge, which sync.mode "ptp" knows nothing of; name a station or use "gptp"',
            )
    for bridge in scenario.bridge:
        own = bridge.class_of(sync.priority)
        taken = [entry.id for entry in scenario.stream if bridge.class_of(entry.priority) == own]
        if taken and bridge.gates != "none":
            raise problem(
                source,
                "sync.priority",
                sync.priority,
                f'has traffic class {own} in bridge "{bridge.name}" as {taken[0]} has, whose gates'
                " open for its frames alone; choose a priority of a class without streams",
            )
    for index, station in enumerate(scenario.station):
        least_ns = scenario.asymmetry_error_ns(station.name)
        if station.clock_error_ns != "auto" and station.clock_error_ns < least_ns:
            raise problem(
                source,
                f'station[{index}].clock_error_ns (station "{station.name}")',
                station.clock_error_ns,
                f"must be at least {least_ns}, half of the asymmetry of the links on the way to its"
                ' clock; state more or "auto"',
            )
        _one_clock(source, scenario, index)
        if station.driver not in ("keepon", "under-test"):
            continue
        if sync.tc not in [entry.tc for entry in station.keepon.classes]:
            raise problem(
                source,
                f'station[{index}].keepon.classes (station "{station.name}")',
                [entry.tc for entry in station.keepon.classes],
                f"must have class {sync.tc}, in which PTP frames are sent; add it or change"
                " sync.tc",
            )
    _heard(source, scenario)


def _heard(source: str, scenario: Scenario) -> None:
    """Sync comes to every node from every grandmaster, over bridges: stations pass none on."""
    topology = Topology(scenario)
    keys = [("sync.grandmaster", scenario.sync.grandmaster)]
    for number, domain in enumerate(scenario.sync.domains):
        keys.append((f"sync.domains[{number}].grandmaster", domain.grandmaster))
    for key, master in keys:
        if master is None:
            continue
        reached, waiting = {master}, [master]
        while waiting:
            node = waiting.pop()
            if node == master or node in topology.bridges:
                more = [each for each in topology.neighbours[node] if each not in reached]
                reached |= set(more)
                waiting += more
        for node in topology.neighbours:
            if node not in reached:
                raise problem(
                    source,
                    key,
                    master,
                    f"has no way to {node} over bridges, and stations pass no Sync on; link {node}"
                    ' to a bridge of that network, or use sync.mode "ideal"',
                )


def _one_clock(source: str, scenario: Scenario, index: int) -> None:
    """PTP sets one clock of a station, and each NIC with launch times or slots has one."""
    sync, station = scenario.sync, scenario.station[index]
    links = sum(station.name in link.ends for link in scenario.link)
    if links < 2:
        return
    if station.driver != "standard":
        raise problem(
            source,
            f'station[{index}].driver (station "{station.name}")',
            station.driver,
            f'must be "standard" with {links} links and sync.mode = "{sync.mode}", as every other'
            " driver has a clock in each NIC and PTP sets one of a station; choose it, one link, or"
            ' sync.mode "ideal"',
        )
    masters = [sync.grandmaster, *(entry.grandmaster for entry in sync.domains)]
    masters += [fault.node for fault in scenario.fault if fault.kind == "master-change"]
    if sync.mode == "ptp" and station.name in masters:
        raise problem(
            source,
            f"station[{index}].name",
            station.name,
            f'has {links} links, and the Sync of a grandmaster leaves by one with sync.mode "ptp";'
            ' name another station, or use "gptp"',
        )


_PORT_FAULTS = ("poll-stall", "link-down", "wire-pause")
"""Faults that strike a port and not its station."""


def _faults(source: str, scenario: Scenario, neighbours: dict[str, list[str]]) -> None:
    """Faults happen to nodes; those of ports to a port, where a station has several."""
    ports = {
        station.name: port_names(station.name, len(neighbours[station.name]))
        for station in scenario.station
        if len(neighbours[station.name]) > 1
    }
    of_ports = [name for names in ports.values() for name in names]
    for index, fault in enumerate(scenario.fault):
        key = f"fault[{index}].node"
        if fault.peer is not None:
            bridges = [bridge.name for bridge in scenario.bridge]
            _node(source, key, fault.node, bridges, "bridge (`peer` is of a bridge's links)")
            _node(source, f"fault[{index}].peer", fault.peer, neighbours[fault.node], "neighbour")
        elif fault.kind not in _PORT_FAULTS:
            _node(source, key, fault.node, list(neighbours))
        elif fault.node not in of_ports:
            _node(source, key, fault.node, [*neighbours, *of_ports])
            if fault.node in ports:
                raise problem(
                    source,
                    key,
                    fault.node,
                    f"has {len(ports[fault.node])} ports, and {fault.kind} is of one; name"
                    f" {' or '.join(ports[fault.node])}",
                )


def _station(source: str, scenario: Scenario, index: int) -> None:
    station = scenario.station[index]
    base = station.host if isinstance(station.host, str) else station.host.base
    key = f"station[{index}].host" + ("" if isinstance(station.host, str) else ".base")
    _node(source, f'{key} (station "{station.name}")', base, list(HOSTS), "host model")
    check_stages(f"{source}: key `station[{index}].host", station.host)
    if wrong := wrong_length(scenario, index):
        raise problem(source, *wrong)
    classes = [entry.tc for entry in station.keepon.classes]
    for number, tc in enumerate(classes):
        if tc in classes[:number]:
            raise problem(
                source,
                f'station[{index}].keepon.classes[{number}].tc (station "{station.name}")',
                tc,
                "this class is listed twice; merge the two",
            )


def _bridge(source: str, scenario: Scenario, index: int, neighbours: list[str]) -> None:
    bridge = scenario.bridge[index]
    if max(map(bridge.class_of, range(8))) >= bridge.queues:
        raise problem(
            source,
            f'bridge[{index}].traffic_classes (bridge "{bridge.name}")',
            bridge.traffic_classes,
            f"must be below {bridge.queues}, the queues of its ports; lower those above or"
            " state more queues",
        )
    for peer in bridge.gates if isinstance(bridge.gates, dict) else ():
        key = f'bridge[{index}].gates (bridge "{bridge.name}")'
        _node(source, key, peer, neighbours, "neighbour")
    for place in range(len(bridge.stream_filter)):
        if wrong := policing.wrong_filter(scenario, index, place):
            raise problem(source, *wrong)
    if wrong := cqf.wrong(scenario, index) or preemption.wrong(scenario, index):
        raise problem(source, *wrong)
    if isinstance(bridge.gates, dict) and bridge.gate_guard != "length-aware":
        raise problem(
            source,
            f'bridge[{index}].gate_guard (bridge "{bridge.name}")',
            bridge.gate_guard,
            'must be "length-aware" for gate lists by hand; leave gates to the planner',
        )


def _load(source: str, scenario: Scenario, index: int, neighbours: dict[str, list[str]]) -> None:
    load, bridges = scenario.load[index], {bridge.name for bridge in scenario.bridge}
    if load.listener not in _reachable(neighbours, bridges, load.talker) - {load.talker}:
        raise problem(
            source,
            f"load[{index}].listener",
            load.listener,
            f'is not connected to talker "{load.talker}"; add a [[link]]',
        )


def _compare(source: str, scenario: Scenario) -> None:
    under_test = [station.name for station in scenario.station if station.driver == "under-test"]
    if under_test and scenario.compare is None:
        raise ConfigError(
            f'{source}: key `compare` is missing; station "{under_test[0]}" is "under-test" and'
            " takes its drivers from [compare]"
        )
    if scenario.compare is not None and not under_test:
        raise problem(
            source,
            "compare.drivers",
            scenario.compare.drivers,
            'no station has driver = "under-test"; mark one or remove [compare]',
        )


def check(scenario: Scenario, source: str) -> None:
    """Everything that needs more than one key: names, links, reachability, slots.

    Raises:
        ConfigError: a sentence on each contradiction, at most one of each table.
    """
    wrong = Wrong()
    nodes = [station.name for station in scenario.station]
    nodes += [bridge.name for bridge in scenario.bridge]
    _unique(source, scenario, wrong)
    wrong.end()
    neighbours = _links(source, scenario, nodes, wrong)
    _ends(source, scenario, wrong)
    for index in range(len(scenario.station)):
        with wrong:
            _station(source, scenario, index)
    for index, bridge in enumerate(scenario.bridge):
        with wrong:
            _bridge(source, scenario, index, neighbours[bridge.name])
    with wrong:
        _compare(source, scenario)
    wrong.end()
    _ports(source, scenario, neighbours)
    with wrong:
        _sync(source, scenario, nodes)
    for index in range(len(scenario.stream)):
        with wrong:
            _stream(source, scenario, index, neighbours)
    for index in range(len(scenario.load)):
        with wrong:
            _load(source, scenario, index, neighbours)
    wrong.end()
    for check_more in (
        crosschecks.check_backends,
        foreign.check,
        guests.check,
        crosschecks.check_lengths,
        crosschecks.check_ptp_gates,
        qdiscs.check,
        shaping.check,
        software.check,
    ):
        with wrong:
            check_more(scenario, source)
    with wrong:
        _faults(source, scenario, neighbours)
        crosschecks.check_faults(scenario, source)
    wrong.end()
    for index, station in enumerate(scenario.station):
        if not neighbours[station.name]:
            rule = "has no link; add a [[link]] between it and another node, or remove the station"
            wrong.add(problem(source, f"station[{index}].name", station.name, rule))
    wrong.end()
