# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` shows first: warnings with what helps, each stream's margin, and what the plan
needs of switches, clocks and links.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

from keepon.machines.planned import ETHERNET_MTU, mtu_of
from keepon.model import foreign, preemption, software
from keepon.model.cables import hops, node_of
from keepon.model.names import ranged
from keepon.model.plan import Plan, PlannedStream, ways_of
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.model.wire import OVERHEAD_BYTES

STREAMS_MAX = 20
"""Rows of the table; the others have more margin."""
LINKS_MAX = 6
"""Directions of links shown, the fullest first."""
WARNING = "warning: "
LEFT = "MTU "
"""How a reason begins that says which MTU streams leave to best effort."""
AWARE = "length-aware"
CLOCKS = {"ptp": "PTP", "gptp": "gPTP"}
_QUOTED = re.compile(r'"([^"]+)"')
_LIST = re.compile(r'"[^"]+"(?:, "[^"]+")*')
_LATE = re.compile(r'about ([0-9.e+-]+) of the frames of "" come late')
_LAST = re.compile(r"[0-9]+")


def _bound_ns(planned: PlannedStream) -> int | None:
    """What a deadline is held against."""
    known = planned.get("last_bit_ns", planned["bounds"]["delay_ns"])
    return planned["bounds"].get("application_ns", known)


def margins(scenario: Scenario, plan: Plan) -> list[tuple[int, str]]:
    """What deadlines leave beyond the bound in ns, of streams with both; least first."""
    found = []
    for stream in scenario.stream:
        planned = plan["streams"][stream.id]
        bound_ns = _bound_ns(planned)
        if bound_ns is not None and stream.deadline_ns is not None:
            found.append((stream.deadline_ns - bound_ns, stream.id))
    return sorted(found, key=lambda entry: entry[0])


def streams(scenario: Scenario, plan: Plan, all_of_them: bool) -> Table:
    """The way, deadline, bound and margin of each stream, the least margin first."""
    own = {name: margin_ns for margin_ns, name in margins(scenario, plan)}
    entries = sorted(scenario.stream, key=lambda stream: own.get(stream.id, 10**18))
    shown = entries if all_of_them else entries[:STREAMS_MAX]
    table = Table("stream", "route")
    for column in ("deadline us", "bound us", "margin us"):
        table.add_column(column, justify="right")
    for stream in shown:
        planned = plan["streams"][stream.id]
        bound_ns = _bound_ns(planned)
        numbers = (stream.deadline_ns, bound_ns, own.get(stream.id))
        route = " ".join(planned["route"]) or "direct"
        table.add_row(escape(stream.id), escape(route), *map(_us, numbers))
    if len(shown) < len(entries):
        table.caption = f"and {len(entries) - len(shown)} streams with no less margin: --all"
    return table


def _us(time_ns: int | None) -> str:
    return "-" if time_ns is None else f"{time_ns / 1000:.3f}"


@dataclass(frozen=True)
class Use:
    """One direction of a link: what is sent there, preambles and gaps included."""

    here: str
    there: str
    rate_bps: int
    streams_bps: float
    best_effort_bps: float
    room_bps: float
    """of it for best effort"""
    takes_rest: bool
    """TCP, or a load that saturates, takes what there is"""

    @property
    def share(self) -> float:
        return (self.streams_bps + self.best_effort_bps) / self.rate_bps

    @property
    def over(self) -> bool:
        return self.best_effort_bps > self.room_bps


def uses(scenario: Scenario, plan: Plan) -> list[Use]:
    """Every direction of a link on which something is sent, the fullest first."""
    topology = Topology(scenario)
    own: dict[tuple[str, str], float] = {}
    others: dict[tuple[str, str], float] = {}
    framed: dict[tuple[str, str], int] = {}
    rest: set[tuple[str, str]] = set()
    theirs = [stream for _, stream in foreign.streams(scenario)]
    for stream in scenario.stream:
        planned = plan["streams"][stream.id]
        ways = {
            hop
            for listener, route in ways_of(planned)
            for hop in hops((stream.talker, *route, listener))
        }
        wire_bytes = planned["frame_bytes_on_wire"] + OVERHEAD_BYTES
        sent = others if stream in theirs else own
        for hop in ways:
            sent[hop] = sent.get(hop, 0) + wire_bytes * 8e9 / stream.period_ns
    for _, load, path in topology.best_effort:
        share = (load.frame_bytes + OVERHEAD_BYTES) / load.frame_bytes
        for hop in itertools.pairwise(path):
            if load.kind == "udp":
                others[hop] = others.get(hop, 0) + share * load.rate_bps
                framed[hop] = framed.get(hop, 0) + load.rate_bps
            else:
                rest.add(hop)
    left = {
        (port.station, port.peer): plan["stations"][name]["headroom"]["best_effort_bps"]
        for name, port in topology.ports.items()
        if "headroom" in plan["stations"].get(name, {})
    }
    found = []
    for here, there in dict.fromkeys((*own, *others, *rest)):
        rate_bps = topology.wires[here, there].rate_bps
        hop = here, there
        sent_bps, asked_bps, is_rest = own.get(hop, 0), others.get(hop, 0), hop in rest
        room_bps = rate_bps - sent_bps
        if hop in left and asked_bps:  # what slots leave is of frames, without their gaps
            room_bps = left[hop] * asked_bps / framed[hop]
        found.append(Use(here, there, rate_bps, sent_bps, asked_bps, room_bps, is_rest))
    return sorted(found, key=lambda use: -use.share)


def warnings(scenario: Scenario, plan: Plan) -> list[str]:
    """All that is within no guarantee, with what helps; what is alike of several streams or
    stations in one sentence.
    """
    alike: _Alike = {}
    for name, station in plan["stations"].items():
        for row in station.get("rationale", []):
            if row["quantity"].startswith(WARNING) or _is_short(row["quantity"]):
                said = row["quantity"].removeprefix(WARNING)
                ports, named = alike.setdefault((_LIST.sub('""', said), row["why"]), ([], {}))
                ports.append(name)
                named.update(dict.fromkeys(_QUOTED.findall(said)))
    found = []
    for (said, why), (ports, named) in _worst(alike).items():
        said = said.replace('""', ranged(named), 1)
        found.append(f"{ranged(ports)}: {said}; {why}")
    over = [use for use in uses(scenario, plan) if use.over]
    # Links of one way have the same rate, those into one node may not: the shorter list of both.
    grouped = [
        [list(links) for _, links in itertools.groupby(sorted(over, key=key), key)]
        for key in (lambda use: use.best_effort_bps, lambda use: use.there)
    ]
    for links in min(grouped, key=len):
        ends = {use.there for use in links}
        between = ", ".join(f"{use.here} to {use.there}" for use in links)
        if len(ends) == 1:
            between = f"{ranged(sorted(use.here for use in links))} to {links[0].there}"
        sent_bps = max(use.best_effort_bps for use in links)
        most = " up to" if sent_bps > min(use.best_effort_bps for use in links) else ""
        left_bps = min(use.room_bps for use in links)
        found.append(
            f"{between}: best effort sends{most} {sent_bps / 1e6:.4g} Mb/s, streams leave"
            f" {left_bps / 1e6:.4g}; lower rate_bps of its loads, or raise that of the link"
        )
    return found


_Alike = dict[tuple[str, str], tuple[list[str], dict[str, None]]]


def _worst(alike: _Alike) -> _Alike:
    """Frames that may come late in one sentence, with the greatest share and the greatest remedy of
    all; the others as they are.
    """
    late = [key for key in alike if _LATE.fullmatch(key[0])]
    if len(late) < 2:
        return alike
    share = max((str(_LATE.fullmatch(said)[1]) for said, _ in late), key=float)  # type: ignore[index]
    why = max((why for _, why in late), key=lambda why: int(_LAST.findall(why)[-1]))
    ports, named = list[str](), dict[str, None]()
    for key in late:
        ports += alike[key][0]
        named |= alike[key][1]
    said = f'about {share} or less of the frames of "" come late'
    return {(said, why): (ports, named)} | {k: v for k, v in alike.items() if k not in late}


def _is_short(quantity: str) -> bool:
    """Whether it says that the card's ordinary frames do not fit."""
    return quantity.startswith(LEFT) and int(quantity.split()[1]) < ETHERNET_MTU


def links(used: list[Use], all_of_them: bool) -> Table:
    """What streams and best effort take of each direction of a link, in red where it is more than
    there is.
    """
    shown = used if all_of_them else used[:LINKS_MAX]
    table = Table("link")
    for column in ("streams %", "best effort %"):
        table.add_column(column, justify="right")
    for use in shown:
        own, others = (
            f"{100 * bps / use.rate_bps:.1f}" for bps in (use.streams_bps, use.best_effort_bps)
        )
        rest = " and what is left" * use.takes_rest
        style = "red" if use.over else None
        table.add_row(f"{escape(use.here)} to {escape(use.there)}", own, others + rest, style=style)
    if len(shown) < len(used):
        table.caption = f"and {len(used) - len(shown)} directions less used: --all"
    return table


def _queues(scenario: Scenario) -> str:
    """How many queues a bridge needs for what passes it; nothing if one is enough."""
    topology, classes = Topology(scenario), dict[str, set[int]]()
    bridges = {bridge.name: bridge for bridge in scenario.bridge}
    ways = [(flow.priority, way) for _, flow, way in topology.best_effort]
    ways += [
        (stream.priority, way)
        for stream in scenario.stream
        for way in topology.paths(stream).values()
    ]
    own = [scenario.sync.priority] if scenario.sync.by_ptp else []
    for priority, way in ways:
        for name in map(node_of, way[1:-1]):
            taken = {bridges[name].class_of(each) for each in (priority, *own)}
            classes.setdefault(name, set()).update(taken)
    most = max(map(len, classes.values()), default=1)
    return f": switches with {most} queues or more, by priority (PCP)" if most > 1 else ""


def needs(scenario: Scenario, plan: Plan) -> list[str]:
    """What the plan asks of bridges and of clocks."""
    bridges = {
        name: [port["entries"] for port in bridge["ports"].values() if "entries" in port]
        for name, bridge in plan["bridges"].items()
    }
    gated = [lists for lists in bridges.values() if lists]
    if gated:
        entries = [one for lists in gated for one in lists]
        shortest_ns = min(entry["ns"] for one in entries for entry in one)
        switches = (
            f"{len(gated)} switch{'es' if len(gated) > 1 else ''} with 802.1Qbv: at most"
            f" {max(map(len, entries))} entries, shortest {shortest_ns} ns"
        )
        if any(bridges[bridge.name] and bridge.gate_guard == AWARE for bridge in scenario.bridge):
            switches += f", {AWARE} gates"
    else:
        switches = "no 802.1Qbv" + _queues(scenario)
    needed = [f"needs {switches}"]
    filters = [bridge.get("stream_filters", []) for bridge in plan["bridges"].values()]
    if policing := [found for found in filters if found]:
        gates = sum("entries" in entry for found in policing for entry in found)
        meters = sum("cir_bps" in entry for found in policing for entry in found)
        needed.append(
            f"needs {len(policing)} switch{'es' if len(policing) > 1 else ''} with 802.1Qci: at"
            f" most {max(map(len, policing))} stream filters; in all {gates} stream gates, {meters}"
            f" flow meters"
        )
    schedulers = [bridge.get("schedulers", []) for bridge in plan["bridges"].values()]
    if ats := [own for own in schedulers if own]:
        needed.append(
            f"needs {len(ats)} switch{'es' if len(ats) > 1 else ''} with 802.1Qcr: at most"
            f" {max(map(len, ats))} ATS schedulers"
        )
    classes = [
        {own.priority for own in bridge.shaper if own.kind == "credit-based"}
        for bridge in scenario.bridge
    ]
    if shaped := [own for own in classes if own]:
        needed.append(
            f"needs {len(shaped)} switch{'es' if len(shaped) > 1 else ''} with 802.1Qav: at most"
            f" {max(map(len, shaped))} shaped classes of a port"
        )
    if merging := preemption.ports(scenario):
        bridges_of = dict.fromkeys(here for here, _ in merging)
        needed.append(
            f"needs {len(bridges_of)} switch{'es' if len(bridges_of) > 1 else ''} with 802.1Qbu:"
            f" frame preemption at {len(merging)} port{'s' if len(merging) > 1 else ''}"
        )
    if avoided := sorted(software.bridges(scenario)):
        needed.append(f"software forwards at {', '.join(avoided)}: no bound for what passes")
    mode = scenario.sync.mode
    if mode in CLOCKS:
        talkers = {stream.talker for stream in scenario.stream}
        within_ns = max(
            (
                scenario.clock_error_ns(station, scenario.driver_of(station, "keepon"))
                for station in scenario.station
                if station.name in talkers
            ),
            default=0,
        )
        clocks = f"clocks within {within_ns / 1000:.15g} us: {CLOCKS[mode]}"
    elif mode == "ideal":
        clocks = 'clocks assumed perfect (sync.mode = "ideal")'
    else:
        clocks = "no common clock: each station runs on its own crystal"
    return [*needed, f"needs {clocks}" if mode in CLOCKS else clocks]


def mtu_of_ports(scenario: Scenario, plan: Plan) -> dict[str, str]:
    """The MTU of every station's port, of keepon devices for what has no priority."""
    found = {}
    for name, port in Topology(scenario).ports.items():
        mtu: int | None = ETHERNET_MTU
        if "allowed" in plan["stations"].get(name, {}):
            station = scenario.station_named(port.station)
            mtu = mtu_of(scenario, station, plan["stations"][name])
        found[name] = "none (no slots)" if mtu is None else str(mtu)
    return found


def mtus(scenario: Scenario, plan: Plan) -> str:
    """The same in a line."""
    named: dict[str, list[str]] = {}
    for name, mtu in mtu_of_ports(scenario, plan).items():
        named.setdefault(mtu, []).append(name)
    return "MTU " + "; ".join(f"{mtu}: {ranged(names)}" for mtu, names in named.items())
