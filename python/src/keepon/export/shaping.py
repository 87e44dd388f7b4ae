# SPDX-License-Identifier: BSD-3-Clause
"""Credit-based shapers of a bridge by Linux's tc: qdisc cbs below mqprio, or below the taprio of a
port with gates (tc-cbs(8), tc-mqprio(8)).
"""

from __future__ import annotations

from collections.abc import Iterator

from keepon.errors import ConfigError
from keepon.export import shell
from keepon.export.exported import Planned, port_name
from keepon.machines.queues import PRIORITIES
from keepon.model.cables import hops
from keepon.model.scenario import Bridge, Load, Stream
from keepon.model.shaping import slopes
from keepon.model.topology import Topology
from keepon.model.wire import OVERHEAD_BYTES

_LONGEST_BYTES = 1522 + OVERHEAD_BYTES
_KBPS = 1000


def _flows(planned: Planned, bridge: Bridge, peer: str) -> list[Stream | Load]:
    """What leaves by a port."""
    ways: list[tuple[Stream | Load, list[str]]] = [
        (stream, [stream.talker, *route, end])
        for stream in planned.scenario.stream
        for end, route in planned.plan["streams"][stream.id]["routes"].items()
    ]
    ways += [(load, way) for _, load, way in Topology(planned.scenario).best_effort]
    return [flow for flow, way in ways if (bridge.name, peer) in hops(way)]


def _shaped(planned: Planned, bridge: Bridge) -> list[str]:
    """Neighbours towards which a bridge shapes something."""
    peers = Topology(planned.scenario).neighbours[bridge.name]
    return [peer for peer in peers if slopes(bridge, peer) and _flows(planned, bridge, peer)]


def own_roots(planned: Planned, bridge: Bridge) -> list[str]:
    """Names of the ports that shapers give a root: those without gates."""
    topology, ports = Topology(planned.scenario), planned.plan["bridges"][bridge.name]["ports"]
    return [
        port_name(topology, bridge.name, peer)
        for peer in _shaped(planned, bridge)
        if peer not in ports or "entries" not in ports[peer]
    ]


def _credits(
    planned: Planned, bridge: Bridge, peer: str, rate_bps: int
) -> Iterator[tuple[int, int, int, int]]:
    """Class, idle slope in kbit/s, hicredit and locredit in bytes, of each shaper of a port.

    The standard knows no hicredit: it is what comes while the longest frame that may have begun is
    sent, a frame of each flow of classes above without a shaper, and what shapers above let go.
    """
    flows = _flows(planned, bridge, peer)
    sent = [(bridge.class_of(flow.priority), flow.frame_bytes + OVERHEAD_BYTES) for flow in flows]
    shaped = {
        own: -(-slope_bps // _KBPS) * _KBPS for own, slope_bps in slopes(bridge, peer).items()
    }
    for own, slope_bps in sorted(shaped.items()):
        longest = max([_LONGEST_BYTES, *(size for other, size in sent if other < own)])
        longest += sum(size for other, size in sent if other > own and other not in shaped)
        above = [other for other in shaped if other > own]
        for other in above:
            most = max((size for each, size in sent if each == other), default=0)
            longest += -(-most * (rate_bps - shaped[other]) // rate_bps)
        free_bps = max(rate_bps - sum(shaped[other] for other in above), 1)
        most = max((size for other, size in sent if other == own), default=_LONGEST_BYTES)
        high, low = -(-slope_bps * longest // free_bps), most * (rate_bps - slope_bps) // rate_bps
        yield own, slope_bps // _KBPS, high, -low


def lines(planned: Planned, bridge: Bridge) -> Iterator[str]:
    """What a bridge's script does for its shapers, once its gates are there.

    Raises:
        ConfigError: it has asynchronous ones.
    """
    for place, shaper in enumerate(bridge.shaper):
        if shaper.kind == "asynchronous":
            index = planned.scenario.bridge.index(bridge)
            raise ConfigError(
                f'key `bridge[{index}].shaper[{place}].kind` (bridge "{bridge.name}") ='
                ' "asynchronous": Linux has no such shaper; set the schedulers of the plan'
                ' (bridges.NAME.schedulers) by the switch\'s own tools, or choose "credit-based"'
            )
    topology, roots = Topology(planned.scenario), own_roots(planned, bridge)
    levels = [bridge.class_of(priority) for priority in range(8)]
    levels += [levels[0]] * (PRIORITIES - len(levels))
    if peers := _shaped(planned, bridge):
        yield "shaping=${SHAPING:-1} # 0: by the CPU, with its timers"
    for peer in peers:
        port = port_name(topology, bridge.name, peer)
        rate_bps = topology.wires[bridge.name, peer].rate_bps
        if port in roots:
            queues = " ".join(f"1@{queue}" for queue in range(bridge.queues))
            yield from shell.set_root(
                port,
                f"tc qdisc replace dev {port} parent root handle 100 mqprio num_tc"
                f" {bridge.queues} map {' '.join(map(str, levels))} queues {queues} hw 0",
            )
        for own, kbps, high, low in _credits(planned, bridge, peer, rate_bps):
            yield (
                f"tc qdisc replace dev {port} parent 100:{own + 1} cbs idleslope {kbps} sendslope"
                f' {kbps - rate_bps // _KBPS} hicredit {high} locredit {low} offload "$shaping"'
            )
