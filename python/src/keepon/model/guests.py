# SPDX-License-Identifier: BSD-3-Clause
"""Stations that are virtual machines: the stages a message passes beside those of a host, where
their numbers come from, and what must fit together.

A message: application (`wakeup`), guest's stack (`stack`), the queue of the device and its kick
(`driver`), the datapath of the host to its NIC (`datapath`), the wire, and back: `datapath`, then
interrupt, stack and wake-up of the reading application (`deliver`).

Published are the two sums of the way back, for 64 bytes (garbugli.delivery). How 20 us part into
datapath and the guest's own work is chosen, that the way out takes the datapath as long as the way
back is chosen, and so is every spread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from keepon.errors import ConfigError
from keepon.model.hosts import Sourced, Stage, chosen, of_stage, overridden

if TYPE_CHECKING:
    from keepon.model.scenario import Scenario, Station
    from keepon.model.stationtables import Guest


class Way(NamedTuple):
    """Stages by datapath: median in ns, and the greatest; both at 64 bytes."""

    median_ns: int
    cap_ns: int


_FIGURE = "garbugli.delivery"
_USER_NS, _KERNEL_NS = 20_000, 70_000
DELIVER_NS = 15_000
"""Interrupt, stack and application of the guest; the rest of the published 20 us is datapath."""
DATAPATHS = {
    "kernel": Way(_KERNEL_NS, 400_000),
    "userspace": Way(_USER_NS - DELIVER_NS, 50_000),
    "passthrough": Way(0, 0),
}
DELIVER_CAP_NS = 100_000
SIGMAS = {"kernel": 0.25, "userspace": 0.1, "passthrough": 0.0}
CLOCK_NS = {"virtio-rtc": 1_000, "ptp-kvm": 2_000, "software": 50_000}
"""Greatest error of the guest's clock against its host's, of reading and servo."""
CLOCK_INTERVAL_NS = 4_000_000_000
"""`poll 2` of chrony, the usual interval for such a clock."""
STAGES = ("datapath", "deliver")


def clock_error_ns(guest: Guest) -> int:
    """How far a guest's clock may be from its host's."""
    return 0 if guest.datapath == "passthrough" else CLOCK_NS[guest.clock]


def _sources(guest: Guest) -> list[Sourced]:
    median_ns, cap_ns = DATAPATHS[guest.datapath]
    kernel = guest.datapath == "kernel"
    of_sum = f"{_FIGURE} (64 bytes"
    return [
        of_stage(
            "datapath",
            "median_ns",
            median_ns,
            f"{of_sum}, through the kernel of the host, taken for either way)"
            if kernel
            else f"{of_sum}: {_USER_NS} ns with deliver; how they part is chosen)",
            "calibrated" if kernel else "chosen",
        ),
        of_stage("datapath", "sigma", SIGMAS[guest.datapath], "no published value", "chosen"),
        of_stage("datapath", "cap_ns", cap_ns, "no published value", "chosen"),
        of_stage(
            "deliver", "median_ns", DELIVER_NS, f"{of_sum}: a part of {_USER_NS} ns)", "chosen"
        ),
        of_stage("deliver", "sigma", SIGMAS["userspace"], "no published value", "chosen"),
        of_stage("deliver", "cap_ns", DELIVER_CAP_NS, "no published value", "chosen"),
        chosen("guest: clock_error_ns", clock_error_ns(guest), f"clock {guest.clock}: servo"),
    ]


def stages(station: Station) -> tuple[dict[str, Stage], list[Sourced]]:
    """Datapath and delivery of a station, and where their numbers come from; a host has none but
    what the scenario states of its delivery.
    """
    found, sources = {name: Stage(0, 0, 0.0, 0.0, 0, 0) for name in STAGES}, list[Sourced]()
    if (guest := station.guest) is not None:
        median_ns, cap_ns = DATAPATHS[guest.datapath]
        found["datapath"] = Stage(0, median_ns, SIGMAS[guest.datapath], 0.0, 0, cap_ns)
        found["deliver"] = Stage(0, DELIVER_NS, SIGMAS["userspace"], 0.0, 0, DELIVER_CAP_NS)
        sources = _sources(guest)
    if not isinstance(station.host, str):
        for name in STAGES:
            override = getattr(station.host, name)
            found[name], sources = overridden(found[name], name, override, sources)
    return found, sources


def cores(scenario: Scenario, station: Station) -> int:
    """Cores that a station's software has, with that of all on the same host; 0: no frame waits
    for one. A switch that polls has one of them.
    """
    name = station.name if station.guest is None else station.guest.host
    host = scenario.station_named(name).host
    return 0 if isinstance(host, str) or not host.cores else host.cores - _polled(scenario, name)


def _polled(scenario: Scenario, host: str) -> int:
    return int(
        any(
            other.guest is not None
            and other.guest.host == host
            and other.guest.datapath == "userspace"
            for other in scenario.station
        )
    )


def read_ns(scenario: Scenario, listeners: list[str]) -> tuple[int, str] | None:
    """From a frame's last bit at the slowest guest of these to its application at most, and the
    stage that takes most; None: there is no guest, or one without a bound: it shares cores, or a
    stage has no cap. Without cores each frame takes its own time, and none overtakes another.
    """
    found = []
    for station in map(scenario.station_named, listeners):
        if station.guest is None:
            continue
        if cores(scenario, station):
            return None
        own, _ = stages(station)
        if any(stage.usual_ns and not stage.cap_ns for stage in own.values()):
            return None
        taken = {name: stage.worst_ns for name, stage in own.items()}
        longest = max(taken, key=lambda name: taken[name])
        found.append(
            (
                sum(taken.values()),
                f'{taken[longest]} ns of them in stage {longest} of guest "{station.name}"'
                f' (datapath "{station.guest.datapath}")',
            )
        )
    return max(found) if found else None


def out_ns(station: Station) -> tuple[int, int]:
    """What a talker that is a guest takes beyond a host's stages: usually and at most, its clock's
    error with it.
    """
    if station.guest is None:
        return 0, 0
    datapath, error_ns = stages(station)[0]["datapath"], clock_error_ns(station.guest)
    return datapath.usual_ns + error_ns, datapath.worst_ns + error_ns


def check(scenario: Scenario, source: str) -> None:
    """What concerns guests and more than one key.

    Raises:
        ConfigError: one sentence.
    """
    names = {station.name: station for station in scenario.station}
    for index, station in enumerate(scenario.station):
        where = f"{source}: key `station[{index}]."
        guest = station.guest
        if not isinstance(station.host, str) and guest is None and station.host.datapath:
            raise ConfigError(
                f"{where}host.datapath`: is of a guest, and there is no [station.guest]; drop it"
            )
        if (
            _polled(scenario, station.name)
            and cores(scenario, station) == 0
            and (not isinstance(station.host, str) and station.host.cores)
        ):
            raise ConfigError(
                f'{where}host.cores` (station "{station.name}") = {station.host.cores}: must be 2'
                ' at least, as a guest has datapath "userspace", whose switch polls on one; add'
                ' cores, or use datapath "kernel"'
            )
        if guest is None:
            continue
        own = f'(station "{station.name}")'
        host = names.get(guest.host)
        if host is None or host.guest is not None or host is station:
            raise ConfigError(
                f'{where}guest.host` {own} = "{guest.host}": must be a station that is no guest;'
                " name the one that runs it"
            )
        if guest.queue_pairs > guest.vcpus:
            raise ConfigError(
                f"{where}guest.queue_pairs` {own} = {guest.queue_pairs}: must be at most"
                f" {guest.vcpus}, its vcpus, as each queue has a thread of its own; raise vcpus"
            )
        if not isinstance(station.host, str) and station.host.cores:
            raise ConfigError(
                f"{where}host.cores` {own} = {station.host.cores}: must be 0 for a guest, which"
                f' runs on those of "{guest.host}"; state them there'
            )
        if station.driver == "foreign" or (
            guest.datapath != "passthrough" and station.driver in ("launchtime", "under-test")
        ):
            raise ConfigError(
                f'{where}driver` {own} = "{station.driver}": must be "keepon" or "standard" with'
                f' guest.datapath "{guest.datapath}", as virtio has no transmit time; change it,'
                ' or use datapath "passthrough"'
            )
