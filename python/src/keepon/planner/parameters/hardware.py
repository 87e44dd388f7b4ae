# SPDX-License-Identifier: BSD-3-Clause
"""What a plan assumes of a NIC with a ring, and of the host between an application and the
driver.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass

from keepon.model import published
from keepon.model.hosts import Sourced, Stage, host_of
from keepon.model.scenario import HostTable, Scenario, Station
from keepon.model.spans import DRIFT_PPB


@dataclass(frozen=True)
class Nic:
    """A ring NIC whose index counts frames that have left; by default the simulator's NIC.

    Attributes:
        prefetch_slots: most frames beyond the one on the wire that the NIC has fetched.
        index_read_ns: duration of one read of its index.
        index_lag_ns: range of the delay after which the index shows that a frame has left.
        fetch_ns: time from the decision to fetch a frame until the NIC has it.
        restart_ns: time from a doorbell on an idle wire to the first bit.
        drift_ppb: stated bound of CPU against NIC clock (the core's default).
        cpu_tick_ns: resolution of the CPU counter, rounded up; readings are rounded down to it
            (caps.cpu_tick_ns).
    """

    prefetch_slots: int = 2
    index_read_ns: int = 800
    index_lag_ns: int = 0
    fetch_ns: int = 800
    restart_ns: int = 2_000
    drift_ppb: int = DRIFT_PPB
    cpu_tick_ns: int = 1

    @property
    def tick_blur_ns(self) -> int:
        """Uncertainty of an interval by the CPU counter, which is rounded down at a reading of the
        index and now.
        """
        return 2 * self.cpu_tick_ns


NIC = Nic()


def nic_for(station: Station) -> Nic:
    """The NIC as the station's driver sees it, with the counter of its CPU."""
    own = station.nic
    return dataclasses.replace(
        NIC,
        cpu_tick_ns=station.cpu_tick_ns,
        prefetch_slots=own.prefetch_slots,
        index_read_ns=own.index_read_ns,
        fetch_ns=own.fetch_ns,
        restart_ns=own.restart_ns,
    )


def tail_over(stage: Stage, margin_ns: int) -> float:
    """Probability that the tail of a stage alone takes more than `margin_ns`."""
    if not stage.tail_probability or not stage.tail_mean_ns or margin_ns >= stage.cap_ns:
        return 0.0
    return stage.tail_probability * math.exp(-max(0, margin_ns) / stage.tail_mean_ns)


@dataclass(frozen=True)
class Host:
    """The host stages that frames of keepon pass, and the cost of one poll.

    Attributes:
        stages: stages of driver keepon, by name.
        poll_cost_ns: CPU time of one poll, wake-up included; `poll_cost_source` names the source.
        shared_ns: longest time that polls of the station's other ports delay this port's software,
            one poll each: 0 with one port.
    """

    stages: dict[str, Stage]
    poll_cost_ns: int
    poll_cost_source: str
    shared_ns: int = 0

    @property
    def occupancy_ns(self) -> int:
        """Time per frame in the driver, as in the simulator: base and median of the stage."""
        return self.stages["driver"].base_ns + self.stages["driver"].median_ns

    @property
    def poll_late_usual_ns(self) -> int:
        return self.stages["poll"].usual_ns + self.shared_ns

    @property
    def poll_late_worst_ns(self) -> int:
        return self.stages["poll"].worst_ns + self.shared_ns


@functools.cache
def published_poll_cost() -> Sourced:
    """CPU time of one poll on the published board, in ns; calibrated.

    The poll thread sleeps for the rest of a batch after the overhead (section A.3), so with a CPU
    share s and a sleep z a poll takes z s / (1 - s).
    """
    figures = published.load()
    figure, overhead_us = (
        figures["fig19a"],
        figures["driver_impl"]["polling_overhead_pessimistic_us"],
    )
    wire_us = (figure["slot_size_bytes"] + 20) * 8 / 1000
    sleep_us = figure["cpu_batch_slots"] * wire_us - overhead_us
    share = figure["cpu_percent_at_batch_54"] / 100
    return Sourced("poll: cost_ns", round(1000 * sleep_us * share / (1 - share)), str(figure["id"]))


def host_for(scenario: Scenario, station: Station, ports: int = 1) -> Host:
    """The host of a station with `ports` ports; the scenario scales its tail."""
    stages, _ = host_of(station.host, "keepon", scenario.host_tail_scale)
    base = station.host.base if isinstance(station.host, HostTable) else station.host
    # a poll reads the index at its begin and end, and occupies the core until then
    reads_ns = 2 * station.nic.index_read_ns
    if base == "ideal":
        source = "one read of the index; no other work"
        return Host(stages, station.nic.index_read_ns, source, (ports - 1) * reads_ns)
    cost = published_poll_cost()
    source = f"calibrated by {cost.source_id}, of a Raspberry Pi 4"
    return Host(stages, int(cost.value), source, (ports - 1) * max(int(cost.value), reads_ns))
