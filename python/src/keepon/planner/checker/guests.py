# SPDX-License-Identifier: BSD-3-Clause
"""What is promised to the applications of guests: no frame overtakes another, so each is read
within the greatest of both stages after it has come, whatever else the guest hears.
"""

from __future__ import annotations

from keepon.model.scenario import HostTable, Station, Stream
from keepon.planner.checker.given import Given

_CAPS_NS = {"kernel": 400_000, "userspace": 50_000, "passthrough": 0}
_READ_NS = 100_000


def _most_ns(station: Station, datapath: str) -> int | None:
    """Both stages of a guest at most; None: one has no cap."""
    host = station.host if isinstance(station.host, HostTable) else HostTable()
    sum_ns = 0
    for own, cap_ns in ((host.datapath, _CAPS_NS[datapath]), (host.deliver, _READ_NS)):
        stated_ns = None if own is None else own.cap_ns
        if stated_ns == 0:
            return None
        sum_ns += cap_ns if stated_ns is None else stated_ns
    return sum_ns


def check(given: Given, stream: Stream, last_ps: int) -> list[str]:
    """Hold the promise against when the last bit comes, and the deadline against the promise.

    Args:
        last_ps: when the last bit of a frame comes at the latest, from the txtime.
    """
    bound_ns = given.entry(stream.id)["bounds"].get("application_ns")
    timed = given.entry(stream.id)["bounds"]["delay_ns"] is not None
    ways: list[int | None] = []
    for station in map(given.scenario.station_named, stream.listeners):
        if station.guest is not None:
            host = given.scenario.station_named(station.guest.host).host
            shares = isinstance(host, HostTable) and host.cores > 0
            ways.append(None if shares else _most_ns(station, station.guest.datapath))
    known = [each for each in ways if each is not None]
    if (timed and ways != [] and len(known) == len(ways)) != (bound_ns is not None):
        return [f"bound application_ns of {stream.id} is missing, or of no guest that keeps it"]
    if bound_ns is None:
        return []
    if not 0 <= 1000 * (bound_ns - max(known)) - last_ps < 1000:
        return [f"bound application_ns of {stream.id} is not its last bit and the guest's stages"]
    if stream.deadline_ns is not None and bound_ns > stream.deadline_ns:
        return [f"{stream.id} misses its deadline at the application of a guest"]
    return []
