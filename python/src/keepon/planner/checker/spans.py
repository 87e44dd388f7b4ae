# SPDX-License-Identifier: BSD-3-Clause
"""How long a frame may take on a wire: trimmed slots change it by a byte, crystals by
their error.
"""

from __future__ import annotations

from fractions import Fraction

from keepon.planner.checker.given import Given, Place
from keepon.planner.checker.runs import of_port

_MILLION = 10**6


def frame_ps(given: Given, name: str, place: Place, side: int) -> int:
    """Time from the first bit behind the SFD to the last bit of a stream's frame on a wire, at its
    longest (1) or shortest (-1).

    A trim counters the crystal's error: a station with a fast crystal lengthens slots, and the
    frames in them.
    """
    key = (name, place, side)
    if key not in given.spans_ps:
        given.spans_ps[key] = _frame_ps(given, name, place, side)
    return given.spans_ps[key]


def _frame_ps(given: Given, name: str, place: Place, side: int) -> int:
    frame_bytes: int = given.entry(name)["frame_bytes_on_wire"] + given.tagged_bytes(name, place)
    return span_ps(given, place, frame_bytes + trim_bytes(given, given.leaves[name], side), side)


def trim_bytes(given: Given, leaf: Place, side: int) -> int:
    """How much longer (1) or shorter (-1) than its slot a frame may be that leaves a station by
    this port.
    """
    planned = given.plan["stations"].get(given.port_name(leaf))
    options = given.scenario.station_named(leaf[0]).keepon
    if planned is None or planned.get("mode") != "phase-locked" or options.trim != "any":
        return 0
    if not given.scenario.sync.by_ptp and not _off(given, leaf[0], -side):
        return 0
    runs = of_port(given, leaf)
    step = 1 if runs is None else max(1, runs.spare_bytes)
    return side * min(step, options.trim_up_bytes if side > 0 else options.trim_down_bytes)


def span_ps(given: Given, place: Place, wire_bytes: int, side: int) -> int:
    """Greatest (1) or least (-1) time in which `wire_bytes` leave a node by a port."""
    span_ps = wire_bytes * given.links[place][0]
    share = _off(given, place[0], side)
    added_ps = -(-span_ps * share.numerator // share.denominator)
    return span_ps + side * added_ps


def clock_ps(given: Given, node: str, time_ps: Fraction, side: int) -> Fraction:
    """How long (1) or short (-1) a time is in network time that a node's crystal measures."""
    return time_ps * (1 + side * _off(given, node, side))


def _off(given: Given, node: str, side: int) -> Fraction:
    """By what share a crystal makes a time longer (1) or shorter (-1) than in network time; whole
    parts per billion.
    """
    scenario = given.scenario
    sync, bridge = scenario.sync, given.bridges.get(node)
    if sync.mode == "none" or (sync.mode == "ideal" and bridge is not None):
        return Fraction(0)
    masters = set()
    if sync.by_ptp:
        masters = {
            sync.grandmaster,
            *(fault.node for fault in scenario.fault if fault.kind == "master-change"),
        }
    if masters == {node}:
        return Fraction(0)
    own = _ppb(given, node, -side)
    against = [_ppb(given, str(master), side) for master in masters - {node}] or [0]
    # A time is longest with a slow crystal here and a fast one at the source of network time.
    apart = max(side * (other - own) for other in against)
    return Fraction(max(0, apart), 1000 * _MILLION)


def _ppb(given: Given, node: str, side: int) -> int:
    """A crystal's greatest (1) or least (-1) rate; it wanders by 1 ppm at most."""
    entry = given.bridges.get(node) or given.scenario.station_named(node)
    return round(1000 * entry.clock_ppm) + (side * 1000 if entry.wander_ppb_per_s else 0)
