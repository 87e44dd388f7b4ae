# SPDX-License-Identifier: BSD-3-Clause
"""How far PTP leaves a station's clock from its master: Eq. 4 for a slot and a batch (KeepON paper
section A.10, G3).

Granularity is the uncertainty of a reading of the clock. Read as a counter it is a batch of slots
(A.10, g_eff). Interpolated it is the width of the interval in which the wire is known to be: after
many dithered polls at most a tenth of a slot, the duration of a read and two ticks of the CPU
counter, as measured in the simulator (docs/model.md says "a few per cent").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from keepon.errors import ConfigError
from keepon.model.hosts import USUAL_SIGMAS, rx_stage
from keepon.model.scenario import Scenario, Station
from keepon.model.wire import PS_PER_NS
from keepon.planner.parameters.hardware import NIC, Nic
from keepon.planner.parameters.polls import Posting

Exact = int | Fraction
SERVO_LEAVES_PARTS = 2
"""The default servo leaves half of the greatest offset error of stamps: 2.5 of 5.1 us
(docs/time.md); chosen.
"""
SETTLED_PARTS = 10
"""Greatest uncertainty of a settled interpolated reading: this part of a slot, plus a read of the
index and two ticks.
"""


@dataclass(frozen=True)
class StampErrors:
    """What makes the stamps of master and slave wrong: all in ns, none negative (H1).

    Attributes:
        g_master, g_slave: granularity of each clock; a stamp is off by up to half of it, either
        way. j_master_out, j_master_in, j_slave_out, j_slave_in: longest delay between the event and
        its stamp, where the shortest is 0.

    Raises:
        ConfigError: one of them is negative.
    """

    g_master: Exact = 0
    g_slave: Exact = 0
    j_master_out: Exact = 0
    j_master_in: Exact = 0
    j_slave_out: Exact = 0
    j_slave_in: Exact = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 0:
                raise ConfigError(
                    f"key `{name}` = {value}: must be 0 ns or more; a range of errors has no sign"
                )

    @property
    def span_master(self) -> Fraction:
        """Greatest difference of two successive errors of t1: g_M + j_M_out."""
        return Fraction(self.g_master) + self.j_master_out

    @property
    def span_slave(self) -> Fraction:
        """Greatest difference of two successive errors of t2: g_S + j_S_in."""
        return Fraction(self.g_slave) + self.j_slave_in


def delta_ts(errors: StampErrors) -> Fraction:
    """Eq. 4: greatest error of the offset calculation, ns: (gM + gS + max(jM_in + jM_out, jS_in +
    jS_out)) / 2.

    The printed formula is exact: the slave's two stamps late and the master's early give one term
    of the maximum, the reverse gives the other, and both lie at corners of Eq. 3.

    >>> str(delta_ts(StampErrors(2560, 2560, 1000, 1000, 1000, 1000)))
    '3560'
    """
    delays = max(
        Fraction(errors.j_master_in) + errors.j_master_out,
        Fraction(errors.j_slave_in) + errors.j_slave_out,
    )
    return (errors.g_master + errors.g_slave + delays) / 2


def g_eff(batch_slots: int, slot_time: Exact) -> Fraction:
    """Granularity in ns of a clock that is brought up to date once a batch (section A.10).

    >>> g_eff(39, 2560)
    Fraction(99840, 1)
    """
    if batch_slots < 1:
        raise ConfigError(
            f"key `batch_slots` = {batch_slots}: must be 1 or more; a poll posts at least one slot"
        )
    if slot_time <= 0:
        raise ConfigError(
            f"key `slot_time` = {slot_time}: must be more than 0 ns; a slot takes time on the wire"
        )
    return Fraction(batch_slots) * slot_time


def granularity_ns(clock: str, posting: Posting, nic: Nic = NIC) -> Fraction:
    """Granularity of a clock read as "counter", "interpolated" or "dual", in ns; paper mode reads a
    counter. A counter stands still while a frame of several slots is on the wire.
    """
    slot_ns = Fraction(posting.slot_ps, PS_PER_NS)
    if clock == "counter" or not posting.locked:
        return g_eff(posting.batch_slots + posting.span_slots - 1, slot_ns)
    return slot_ns / SETTLED_PARTS + nic.index_read_ns + nic.index_lag_ns + nic.tick_blur_ns


def stamp_spread_ns(scenario: Scenario, station: Station) -> int:
    """Range of the stamps of received frames, in ns: from three sigma below the median to three
    above, or the limit.

    The constant part shifts the clock, and station.ingress_latency_ns corrects it. A receive ring
    counted as a second clock (clock "dual") does not depend on when software sees the frame.
    """
    if station.keepon.clock == "dual":
        return 0
    stage, _ = rx_stage(station, scenario.sync.rx_jitter_scale)
    return round(stage.top_ns - stage.median_ns * math.exp(-USUAL_SIGMAS * stage.sigma))


def master_granularity_ns(scenario: Scenario) -> int:
    """Resolution of the grandmaster's stamps."""
    name = scenario.sync.grandmaster
    stamps = {node.name: node.stamp_resolution_ns for node in scenario.bridge}
    stamps |= {node.name: node.stamp_resolution_ns for node in scenario.station}
    return stamps.get(str(name), 0)


def room_ns(scenario: Scenario, station: Station, budget_ns: int) -> Fraction:
    """The clock error that granularities of master and slave together may cause; may be negative.

    Stamps of received frames vary whatever the slot, and a servo averages them; it cannot average
    the steps of a counter.
    """
    return budget_ns - Fraction(stamp_spread_ns(scenario, station), 2 * SERVO_LEAVES_PARTS)


def error_ns(
    scenario: Scenario,
    station: Station,
    posting: Posting,
    nic: Nic = NIC,
    master_ns: Fraction | None = None,
) -> int | None:
    """Eq. 4 in ns rounded up: greatest error of one offset, before any servo; None where PTP does
    not set the clock.

    Args:
        master_ns: granularity of the grandmaster's stamps, if the grandmaster is a station with
            slots.
    """
    if not scenario.sync.by_ptp or scenario.sync.grandmaster == station.name:
        return None
    errors = StampErrors(
        g_master=master_granularity_ns(scenario) if master_ns is None else master_ns,
        g_slave=granularity_ns(station.keepon.clock, posting, nic),
        j_slave_in=stamp_spread_ns(scenario, station),
    )
    return math.ceil(delta_ts(errors))
