# SPDX-License-Identifier: BSD-3-Clause
"""Best effort that the record of a talker's wire has, as sightings for the capture.

A wire keeps what its station sends. What a station gets is known where one cable leads there from
such a wire; bridges keep nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from keepon.machines.planned import Guest
from keepon.measure.sightings import LOAD, Sighting
from keepon.model.topology import Topology
from keepon.targets.vm.observations import WireRecord

OTHER = "other"
"""Of the kernel itself: addresses asked for, neighbours greeted."""
ADDRESS_BYTES = 6


def flows(guest: Guest) -> dict[tuple[str, str], str]:
    """Load by talker and address of its listener, and by who answers it."""
    found: dict[tuple[str, str], str] = {}
    for load in guest.scenario.load:
        for sender, target in ((load.talker, load.listener), (load.listener, load.talker)):
            found.setdefault((sender, guest.mac(target)), load.id)
    return found


def sightings(
    guest: Guest, records: Mapping[str, WireRecord], clocks_ps: Mapping[str, int]
) -> list[Sighting]:
    """In order of time.

    Args:
        records: of talkers' wires, by station.
        clocks_ps: network time less the PHC of a talker's NIC.
    """
    topology, known = Topology(guest.scenario), flows(guest)
    found: list[Sighting] = []
    for station, record in records.items():
        (peer,) = topology.neighbours[station]
        flight_ns = topology.wires[station, peer].propagation_ns
        for one in _of_wire(station, record, known, clocks_ps.get(station, 0)):
            found.append(one)
            if peer not in topology.bridges:
                found.append(
                    Sighting(
                        one.at_ns + flight_ns, peer, False, one.kind, one.flow, one.seq,
                        one.frame_bytes, station, head=one.head,
                    )
                )  # fmt: skip
    return sorted(found)


def _of_wire(
    station: str, record: WireRecord, known: Mapping[tuple[str, str], str], clock_ps: int
) -> Iterator[Sighting]:
    counts: dict[str, int] = {}
    for one in record.others:
        target = one.head[:ADDRESS_BYTES].hex(":")
        flow = known.get((station, target), OTHER)
        seq = counts[flow] = counts.get(flow, -1) + 1
        at_ns = (one.at_ps + clock_ps) // 1000
        yield Sighting(
            at_ns, station, True, LOAD, flow, seq, one.frame_bytes, station, head=one.head
        )
