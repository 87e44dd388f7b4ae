# SPDX-License-Identifier: BSD-3-Clause
"""Ports of a plan's stations: slots, rings and partitions as the drivers need them, and slot
ownership.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from keepon.model.plan import PlannedStation
from keepon.model.scenario import KeeponOptions, Station, Stream
from keepon.planner.checker import runs
from keepon.planner.checker.given import Given, Place


def check_stations(given: Given, look: Callable[[], None]) -> list[str]:
    """Check all ports of the plan's stations; `look` may raise to end the check."""
    found = []
    for name, document in given.plan["stations"].items():
        look()
        place = given.station_ports[name]
        found += [f"station {name}: {text}" for text in _check_port(given, place, document)]
    return found


def _check_port(given: Given, place: Place, document: PlannedStation) -> list[str]:
    """Check slots, partition and ownership of one port."""
    station = given.scenario.station_named(place[0])
    streams = [stream for name, stream in given.streams.items() if given.leaves[name] == place]
    if set(document["streams"]) != {stream.id for stream in streams}:
        return ["its streams are not those of the scenario"]
    if document.get("peer", place[1]) != place[1]:
        return [f"it is a port to {document['peer']}, and its link leads to {place[1]}"]
    if station.driver != "under-test" and document["driver"] != station.driver:
        return [f"driver {document['driver']} is not the station's, {station.driver}"]
    found = [
        f"offset of {stream.id} differs from its release"
        for stream in streams
        if document["streams"][stream.id]["offset_ns"] != given.entry(stream.id)["release_ns"]
        or document["streams"][stream.id]["tc"] != stream.tc
    ]
    if station.driver not in ("keepon", "under-test"):
        return found
    byte_ps = given.links[place][0]
    slot_ps, options = document["slot_time_ps"], station.keepon
    if slot_ps != (document["slot_bytes"] + 20) * byte_ps:
        found.append("slot_time_ps is not the slot's bytes plus 20 at the link's rate")
    found += _check_asked(options, document)
    if document["mode"] != options.mode:
        found.append("mode is not the one asked for")
    if document.get("placeholder", options.placeholder) != options.placeholder:
        found.append("placeholder is not the one asked for")
    if not 8 <= document["ring_slots"] <= 4096 or not 1 <= document["partition_slots"] <= 65_536:
        found.append("ring or partition out of range")
    if not 1 <= document["batch_slots"] <= document["depth_slots"] <= document["ring_slots"] - 1:
        found.append("batch, depth and ring contradict each other")
    found += _check_times(station, streams, document, byte_ps)
    if len(document["allowed"]) != document["partition_slots"]:
        found.append("the partition has another length than partition_slots")
        return found
    wanted = {str(entry.tc): (entry.late, entry.round) for entry in options.classes}
    classes = document["classes"].items()
    if {tc: (entry["late"], entry["round"]) for tc, entry in classes} != wanted:
        found.append("classes are not those of the scenario")
    found += runs.check_port(given, place, document)
    locked = options.mode == "phase-locked"
    owners: dict[int, str] = {}
    for stream in streams:
        entry = given.entry(stream.id)
        own = runs.of_port(given, place)
        slots, sent_bytes = (0, 0) if own is None else own.fit(stream.frame_bytes)
        if slots == 0:
            found.append(f"{stream.id} does not fit its slots after trimming")
        if entry["frame_bytes_on_wire"] != sent_bytes:
            found.append(f"{stream.id} is not padded to its slots")
        if entry.get("frame_slots", 1) != slots:
            found.append(f"{stream.id} takes {slots} slots")
        if locked:
            releases = given.releases_ns(stream.id)
            for turn, release_ns in enumerate(releases):
                at_ps = 1000 * release_ns + given.start_ps(stream.id, turn)
                cycle_ps = given.cycle_ps(stream.id)
                found.extend(
                    _check_ownership(
                        stream, slots, at_ps, cycle_ps, document, byte_ps, owners, options
                    )
                )
    return found


def _check_times(
    station: Station, streams: list[Stream], document: PlannedStation, byte_ps: int
) -> list[str]:
    """Check preamble and posting, which follow from the link's rate and the slot's length."""
    found = []
    if document["preamble_ps"] != 8 * byte_ps:
        found.append("preamble_ps is not that of eight bytes at the link's rate")
    batch_ps = document["batch_slots"] * document["slot_time_ps"]
    if 1000 * document["poll_overhead_ns"] >= batch_ps:
        found.append("polls of poll_overhead_ns take all of a batch's time")
    if station.keepon.mode == "paper" and station.release != "sleep":
        found += [
            f"{stream.id} is handed over when its slot is in the NIC already, by a batch"
            for stream in streams
            if 1000 * stream.advance_ns < batch_ps
        ]
    return found


def _check_asked(options: KeeponOptions, document: PlannedStation) -> list[str]:
    """Check that the plan has every value that the scenario states."""
    pairs = (
        ("slot_bytes", options.slot_bytes, document["slot_bytes"]),
        ("ring_slots", options.ring_slots, document["ring_slots"]),
        ("partition_slots", options.partition_slots, document["partition_slots"]),
        ("batch_slots", options.batch_slots, document["batch_slots"]),
        ("depth_slots", options.depth_slots, document["depth_slots"]),
        ("poll_overhead_ns", options.poll_overhead_ns, document["poll_overhead_ns"]),
    )
    return [
        f"{key} is not the one asked for" for key, asked, got in pairs if asked not in ("auto", got)
    ]


def _check_ownership(
    stream: Stream,
    slots: int,
    release_ps: int,
    period_ps: int,
    document: PlannedStation,
    byte_ps: int,
    owners: dict[int, str],
    options: KeeponOptions,
) -> list[str]:
    slot_ps, partition_slots = document["slot_time_ps"], document["partition_slots"]
    start_ps = release_ps - 8 * byte_ps
    # A txtime has whole ns: at 10 Gb/s no slot starts on one, and the class rounds a txtime up or
    # down to the slot.
    rounds_down = (
        next((entry.round for entry in options.classes if entry.tc == stream.tc), "up") == "floor"
    )
    off_ps = start_ps % slot_ps if rounds_down else -start_ps % slot_ps
    if off_ps >= 1000 or period_ps % slot_ps:
        return [f"{stream.id} is not released on the slot grid"]
    start_ps += -off_ps if rounds_down else off_ps
    found = []
    laps = partition_slots // math.gcd(partition_slots, period_ps // slot_ps)
    rest = sum(1 << entry.tc for entry in options.classes if entry.slots == "rest")
    for lap, ahead in itertools.product(range(laps), range(slots)):
        index = (start_ps // slot_ps + lap * (period_ps // slot_ps) + ahead) % partition_slots
        mask = document["allowed"][index]
        if not mask >> stream.tc & 1:
            found.append(f"{stream.id} uses slot {index}, which its class {stream.tc} does not own")
            break
        if mask & ~(1 << stream.tc) & ~(rest if rest >> stream.tc & 1 else 0):
            found.append(f"slot {index} of {stream.id} is open to another class")
            break
        if (
            owners.setdefault(index, stream.id) != stream.id
            and partition_slots % (period_ps // slot_ps) == 0
        ):
            found.append(f"{stream.id} and {owners[index]} use the same slot {index}")
            break
    return found
