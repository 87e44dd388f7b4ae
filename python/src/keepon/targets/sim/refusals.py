# SPDX-License-Identifier: BSD-3-Clause
"""What the simulator cannot do is refused before any work."""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.model.scenario import TCP_HEADER_BYTES, HostTable, Scenario, Station
from keepon.targets.sim import qdiscs

FAULT_NS_MAX = 10**15


PAUSE_NS_MAX = 10**12


SYNC_FAULTS = ("lost-sync", "master-change")


def _check_dual_clock(scenario: Scenario, index: int, station: Station) -> None:
    """A receive ring is a clock where the frames of another keepon station fill it."""
    options = station.keepon
    where = f"key `station[{index}].keepon"
    if options.clock != "dual":
        for key, default in (("merge", "strip"), ("tau_ns", "auto")):
            if getattr(options, key) != default:
                raise ConfigError(
                    f'{where}.{key}` = {getattr(options, key)}: goes with clock = "dual" only, not'
                    f' "{options.clock}"'
                )
        return
    neighbours = {
        end for link in scenario.link if station.name in link.ends for end in link.ends
    } - {station.name}
    stations = {
        other.name for other in scenario.station if other.driver in ("keepon", "under-test")
    }
    if not neighbours <= stations:
        raise ConfigError(
            f'{where}.clock` = "dual": must be "interpolated" or "counter" where the other end of'
            " the link is no "
            f"keepon station ({', '.join(sorted(neighbours))}); nobody else sends without a pause"
        )


def _cores(scenario: Scenario, name: str) -> int:
    for station in scenario.station:
        if station.name == name and isinstance(station.host, HostTable):
            return station.host.cores
    return 0


def check_supported(scenario: Scenario) -> None:
    """Refuse what the simulator cannot do, before any work.

    Raises:
        ConfigError: one sentence on the first such key.
    """
    qdiscs.check(scenario)
    for index, station in enumerate(scenario.station):
        _check_dual_clock(scenario, index, station)
    for index, load in enumerate(scenario.load):
        if load.kind == "tcp" and load.frame_bytes <= TCP_HEADER_BYTES:
            raise ConfigError(
                f"key `load[{index}].frame_bytes` = {load.frame_bytes}: must be within"
                f' {TCP_HEADER_BYTES + 1} to 9018 with kind "tcp", as the headers of a segment take'
                f" {TCP_HEADER_BYTES}"
            )
    kinds = (
        "poll-stall",
        "clock-step",
        "link-down",
        "late-submit",
        "wire-pause",
        "cpu-stall",
        "lost-sync",
        "master-change",
        "babble",
    )
    for index, fault in enumerate(scenario.fault):
        if fault.kind not in kinds:
            raise ConfigError(
                f'key `fault[{index}].kind` = "{fault.kind}": must be one of {", ".join(kinds)};'
                " the simulator knows no other yet"
            )
        if fault.kind in SYNC_FAULTS and not scenario.sync.by_ptp:
            raise ConfigError(
                f'key `fault[{index}].kind` = "{fault.kind}": needs sync.mode "ptp" or "gptp", not '
                f'"{scenario.sync.mode}"; with that nobody sends Sync'
            )
        if fault.kind == "cpu-stall" and _cores(scenario, fault.node) == 0:
            raise ConfigError(
                f'key `fault[{index}].kind` = "cpu-stall": needs a station with `host.cores` above'
                f' 0, not "{fault.node}"; without cores nothing waits for one'
            )
        longest_ns = PAUSE_NS_MAX if fault.kind == "wire-pause" else FAULT_NS_MAX
        if fault.kind != "clock-step" and not 0 <= fault.value_ns <= longest_ns:
            raise ConfigError(
                f"key `fault[{index}].value_ns` = {fault.value_ns}: must be within 0 to"
                f" {longest_ns}; for "
                f'"{fault.kind}" it is a length of time'
            )
