# SPDX-License-Identifier: BSD-3-Clause
"""What the gate control of bridges can do (keys `gate_...`), as the planner keeps to it.

Granularity and shortest entry: all instants of a port's list are on one grid, no finer than the
shortest entry, so that no entry can be shorter. Entries and cycle: where a list is too long, its
cycle becomes shorter, and the window of a stream repeats with the greatest common divisor of period
and cycle. Other streams see it there each time, so that a repetition without a frame changes
nothing for them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keepon.errors import ConfigError
from keepon.model.gates import GateList, Window, guard_ns
from keepon.model.scenario import Bridge
from keepon.model.wire import OVERHEAD_BYTES, PS_PER_NS, ceil_ns, wire_time_ps

if TYPE_CHECKING:
    from keepon.planner.network.ports import Ports

Port = tuple[str, str]
LONGEST_BYTES = 1522
"""Longest frame that best effort may send unless a load sends longer ones."""


@dataclass(frozen=True)
class Grid:
    """Instants at which gates of a port may change, phase + n x step; the least length of a window
    is for switches that leave the time of the longest frame before a gate closes.
    """

    step_ps: int = PS_PER_NS
    phase_ps: int = 0
    least_ps: int = 0

    def up_ps(self, length_ps: int) -> int:
        """A length, rounded up to the step."""
        return -(-length_ps // self.step_ps) * self.step_ps

    def opens_ps(self, at_ps: int, margin_ps: int) -> int:
        """First start of a window from at_ps on whose gate opens `margin_ps` later on the grid."""
        return at_ps + -(at_ps + margin_ps - self.phase_ps) % self.step_ps


ANY = Grid()


def longest_ns(ground: Ports, here: str, there: str) -> int:
    """Time of the longest frame that may be sent beside streams, gap included."""
    usual_ps = wire_time_ps(
        LONGEST_BYTES + OVERHEAD_BYTES, ground.topology.wires[here, there].rate_bps
    )
    own_ps = ground.lengths.longest_ps(here, usual_ps)
    return ceil_ns(max(own_ps, ground.longest_load_ps(here, there)))


def guards_ns(ground: Ports, here: str, there: str) -> tuple[int, int]:
    """How long before a window other gates are closed, and which rests are too short to open."""
    own_ns = guard_ns(ground.topology.wires[here, there].rate_bps)
    grid = ground.grid(here, there)
    least_ns = grid.up_ps(own_ns * PS_PER_NS) // PS_PER_NS
    if ground.bridges[here].gate_guard != "none":
        return least_ns, least_ns
    whole_ns = longest_ns(ground, here, there) * PS_PER_NS
    return max(least_ns, grid.up_ps(whole_ns) // PS_PER_NS), least_ns


def grids(ground: Ports) -> dict[Port, Grid]:
    """Grids of all ports whose bridge has limits.

    Raises:
        ConfigError: a stream's period is no multiple of any step of its bridge.
    """
    found: dict[Port, Grid] = {}
    for bridge in ground.bridges.values():
        ports = [port for port in ground.topology.wires if port[0] == bridge.name]
        gated = [port for port in ports if ground.is_gated(*port)]
        step_ns = _step_ns(ground, bridge, len(gated)) if gated else 1
        for number, port in enumerate(gated):
            phase_ns = number * bridge.gate_step_ns if bridge.gate_alone else 0
            least_ns = longest_ns(ground, *port) if bridge.gate_guard == "fixed" else 0
            grid = Grid(step_ns * PS_PER_NS, phase_ns * PS_PER_NS, least_ns * PS_PER_NS)
            if grid != ANY:
                found[port] = grid
    return found


def _step_ns(ground: Ports, bridge: Bridge, ports: int) -> int:
    """The least step of gates, no shorter than the shortest entry, that divides all periods."""
    unit_ns = bridge.gate_step_ns
    least_ns = max(bridge.gate_shortest_ns, ports * unit_ns if bridge.gate_alone else 1)
    streams = [
        flow.stream
        for flow in ground.flows
        if any(leg.here == bridge.name for tree in flow.trees for leg in tree.legs)
    ]
    common_ns = math.gcd(*(stream.cycle_ns for stream in streams))
    step_ns = -(-least_ns // unit_ns) * unit_ns
    if step_ns == 1 or not streams:
        return step_ns
    odd = next((stream for stream in streams if stream.cycle_ns % unit_ns), None)
    if odd is not None:
        raise ground.wrong(
            odd, "period_ns", str(odd.cycle_ns),
            f'must be a multiple of {unit_ns}, the gate_step_ns of bridge "{bridge.name}"',
        )  # fmt: skip
    while step_ns <= common_ns and common_ns % step_ns:
        step_ns += unit_ns
    if step_ns > common_ns:
        index = list(ground.bridges).index(bridge.name)
        raise ConfigError(
            f'key `bridge[{index}].gate_shortest_ns` (bridge "{bridge.name}") ='
            f" {bridge.gate_shortest_ns}: must be at most {common_ns}, the greatest common divisor"
            " of the periods of its streams; choose periods with a greater one"
        )
    return step_ns


def shorter_ps(windows: list[Window]) -> int | None:
    """The longest cycle of a port's list below the one it has that is the period of a stream, or
    else the greatest common divisor of periods; None: there is none.
    """
    periods_ps = {window.period_ps for window in windows}
    cycle_ps = math.lcm(*periods_ps)
    less_ps = [ps for ps in (*periods_ps, math.gcd(*periods_ps)) if ps < cycle_ps]
    return max(less_ps, default=None)


def exceeded(bridge: Bridge, lists: Mapping[str, GateList | None]) -> tuple[list[str], str, str]:
    """Ports of a bridge whose lists exceed its limits, how, and the key of the limit.

    Args:
        bridge: with its limits.
        lists: by neighbour; None: more windows than are laid out one by one.
    """
    for peer, made in lists.items():
        if made is None:
            return [peer], "has more than 65536 windows", "gate_entries"
        if len(made.entries) > bridge.gate_entries:
            said = f"has {len(made.entries)} entries, and gate_entries = {bridge.gate_entries}"
            return [peer], said, "gate_entries"
        if made.cycle_ns > bridge.gate_cycle_max_ns:
            said = f"has a cycle of {made.cycle_ns} ns, and gate_cycle_max_ns ="
            return [peer], f"{said} {bridge.gate_cycle_max_ns}", "gate_cycle_max_ns"
    kept = {peer: made for peer, made in lists.items() if made is not None}
    total = sum(len(made.entries) for made in kept.values())
    if total > bridge.gate_entries_all:
        said = f"and those of its other ports have {total} entries, and gate_entries_all ="
        return list(kept), f"{said} {bridge.gate_entries_all}", "gate_entries_all"
    cycles_ns = sorted(made.cycle_ns for made in kept.values())
    if bridge.gate_alone and any(more % less for less, more in itertools.pairwise(cycles_ns)):
        said = "has a cycle that is no multiple or divisor of those of its other ports (gate_alone)"
        return list(kept), said, "gate_alone"
    return [], "", ""


def remedy(key: str, is_shortest: bool) -> str:
    """What helps against a limit; `is_shortest`: windows repeat as often as they can already."""
    if key == "gate_alone":
        return "choose periods that are multiples of each other"
    if not is_shortest:
        first = "choose periods with a shorter least common multiple"
    elif key == "gate_cycle_max_ns":
        first = "choose periods with a smaller greatest common divisor"
    else:
        first = "lead fewer streams over it"
    return f"{first}, or take a switch with more {key}"
