# SPDX-License-Identifier: BSD-3-Clause
"""Candidate routes of a stream, and refusals of route keys that cannot be met."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from keepon.errors import ConfigError
from keepon.model import software
from keepon.model.scenario import Stream
from keepon.model.wire import PS_PER_NS
from keepon.planner.network import redundant
from keepon.planner.network.grid import on_grid
from keepon.planner.network.trees import Routes, Tree, conflicting_way
from keepon.planner.stations import StationPlan

if TYPE_CHECKING:
    from keepon.planner.network.ports import Ports


def of(ground: Ports, stream: Stream, routes: Routes) -> list[Tree]:
    """Candidate trees of a stream, the shortest first.

    Raises:
        ConfigError: a key of the stream, or a gate list on its route, cannot be met.
    """
    station = ground.station_of(stream)
    if station.is_slotted and stream.tc not in {
        entry.tc for entry in station.station.keepon.classes
    }:
        known = ", ".join(str(entry.tc) for entry in station.station.keepon.classes)
        raise ground.wrong(
            stream,
            "tc",
            str(stream.tc),
            f'must be one of the classes of station "{stream.talker}" ({known}); add it to'
            " station.keepon.classes",
        )
    trees = routes.of(stream) if stream.redundancy == 1 else [redundant.tree(ground, stream)]
    if not trees:
        node = conflicting_way(ground.topology.paths(stream))
        raise ground.wrong(
            stream,
            "route",
            str(stream.route),
            f'must lead to "{node}" one way for all listeners; choose another route or "auto"',
        )
    if stream.offset_ns != "auto":
        _check_offset(ground, stream, station, int(stream.offset_ns) * PS_PER_NS)
    # bounds.refuse() reports best effort on the first tree; other trees with it are left out.
    trees = [tree for tree in trees if not tree.number or not _meets_load(ground, stream, tree)]
    avoided = software.bridges(ground.scenario)  # model/software.py refuses the first way
    trees = [tree for tree in trees if not avoided & {leg.here for leg in tree.legs}]
    for tree in trees:
        _check_margins(ground, tree)
    return trees


def _meets_load(ground: Ports, stream: Stream, tree: Tree) -> bool:
    """Whether best effort shares a gated queue with the stream, or precedes the stream at a port
    without gates or at an explicit gate list that opens for both.
    """
    for leg in tree.legs:
        if leg.here not in ground.bridges:
            continue
        queue = ground.queue(leg.here, stream.priority)
        for other in ground.load_queues.get((leg.here, leg.there), ()):
            if other == queue or (
                other > queue and ground.open_at_once(leg.here, leg.there, queue, other)
            ):
                return True
    return False


def _check_offset(ground: Ports, stream: Stream, station: StationPlan, offset_ps: int) -> None:
    """Refuse an offset between slots: slots that follow the grid start on it."""
    if not station.is_slotted or station.mode == "paper":
        return
    after_ps = on_grid(station, stream, offset_ps)
    if after_ps == offset_ps:
        return
    before_ps = on_grid(station, stream, max(0, offset_ps - math.lcm(station.grid_ps, PS_PER_NS)))
    near = [
        str(at_ps // PS_PER_NS)
        for at_ps in dict.fromkeys((before_ps, after_ps))
        if at_ps < stream.period_ns * PS_PER_NS
    ]
    raise ground.wrong(
        stream,
        "offset_ns",
        str(stream.offset_ns),
        f'must be at the start of a slot of station "{stream.talker}" and 8 byte times, as'
        f" slots of {station.slot_ps / PS_PER_NS:.15g} ns follow the grid; choose"
        f' {" or ".join(near)}, or "auto"',
    )


def _check_margins(ground: Ports, tree: Tree) -> None:
    """Refuse an explicit gate list without room for the clock error that asymmetric links cause."""
    for leg in tree.legs:
        margin_ps = (
            ground.scenario.asymmetry_error_ns(leg.here) * PS_PER_NS
            if ground.margin_ps(leg.here)
            else 0
        )
        if margin_ps and ground.explicit(leg.here, leg.there) is not None:
            index = list(ground.bridges).index(leg.here)
            raise ConfigError(
                f'key `bridge[{index}].gates` (bridge "{leg.here}") = a list towards'
                f' "{leg.there}": must be "auto" or "none" where asymmetric links put the'
                f" bridge's clock off by {margin_ps // PS_PER_NS} ns; choose one, or set"
                " link.asymmetry_ns to 0"
            )
