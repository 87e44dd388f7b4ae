# SPDX-License-Identifier: BSD-3-Clause
"""When the cascade of the habitat case study starts: as a function of ETF's delta, the driver's
occupancy and the tail.

The conventional gateway misses a window once its timer is late by more than the *guard*: what ETF's
delta leaves after the driver has passed on the frames of a burst, one `occupancy` after the other.
The guard is measured, with a timer that is late by a constant. How often a draw passes it follows
from the tail, and that is what decides; delta, occupancy and tail are all chosen, so none of the
onsets is a reproduction of a published one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keepon.model import hosts
from keepon.model.plan import Plan
from keepon.model.scenario import HostTable, Scenario, StageOverride, Station
from keepon_papers.reproduction import OnsetPoint
from keepon_papers.spread import Spread

Late = Callable[[Scenario, Plan, int], int | None]
"""Of a scenario, its plan and a seed: the first frame of the chain that is a period late, None if
there is none. A function of a module, which other processes can import.
"""

PROBE_S = 0.1
PROBE_STEP_NS = 50


@dataclass(frozen=True)
class Setting:
    """What is varied; the first four are chosen in the host model or published of another
    machine.
    """

    delta_ns: int = hosts.ETF_DELTA_NS
    occupancy_ns: int = hosts.HOSTS["raspberry-pi-4"].driver["standard"].median_ns
    tail_probability: float = hosts.HOSTS["raspberry-pi-4"].timer.tail_probability
    tail_mean_ns: int = hosts.HOSTS["raspberry-pi-4"].timer.tail_mean_ns


DELTAS_NS = (40_000, 50_000, 60_000, 70_000, 80_000, 100_000, 120_000, 150_000)
FEW_DELTAS_NS = (50_000, 80_000, 100_000, 120_000)
GROUPS: dict[str, tuple[Setting, ...]] = {
    "as modelled": tuple(Setting(delta) for delta in DELTAS_NS),
    "tail 10 times as often": tuple(
        Setting(delta, tail_probability=1e-3) for delta in FEW_DELTAS_NS
    ),
    "tail a tenth as often": tuple(
        Setting(delta, tail_probability=1e-5) for delta in FEW_DELTAS_NS
    ),
    "tail half as long": tuple(Setting(delta, tail_mean_ns=10_000) for delta in FEW_DELTAS_NS),
    "tail twice as long": tuple(Setting(delta, tail_mean_ns=40_000) for delta in FEW_DELTAS_NS),
    "driver takes 7 us": tuple(Setting(delta, occupancy_ns=7_000) for delta in FEW_DELTAS_NS),
}


@dataclass(frozen=True)
class Point:
    """One setting.

    Attributes:
        guard_ns: how late the timer may be, measured.
        seeds, with_cascade: runs, and how many of them had a frame of the chain a period late.
        onset_frame_median: of those.
        expected_share: of the runs, by the guard and the tail alone, one timer a period.
    """

    group: str
    setting: Setting
    guard_ns: int
    seeds: int
    with_cascade: int
    onset_frame_median: int | None
    expected_share: float

    def as_document(self) -> OnsetPoint:
        """The point with its setting's keys beside its own."""
        return {
            "delta_ns": self.setting.delta_ns,
            "occupancy_ns": self.setting.occupancy_ns,
            "tail_probability": self.setting.tail_probability,
            "tail_mean_ns": self.setting.tail_mean_ns,
            "group": self.group,
            "guard_ns": self.guard_ns,
            "seeds": self.seeds,
            "with_cascade": self.with_cascade,
            "onset_frame_median": self.onset_frame_median,
            "expected_share": self.expected_share,
        }


def varied(scenario: Scenario, setting: Setting, timer: StageOverride | None = None) -> Scenario:
    """The scenario with ETF and host of its stations under test as set, their timer replaced if one
    is given.
    """
    tail = StageOverride(
        tail_probability=setting.tail_probability, tail_mean_ns=setting.tail_mean_ns
    )
    changed: list[Station] = []
    for station in scenario.station:
        if station.driver != "under-test":
            changed.append(station)
            continue
        table = (
            station.host if isinstance(station.host, HostTable) else HostTable(base=station.host)
        )
        host = table.model_copy(
            update={
                "driver": StageOverride(median_ns=setting.occupancy_ns),
                "wakeup": tail,
                "timer": tail if timer is None else timer,
            }
        )
        changed.append(station.model_copy(update={"etf_delta_ns": setting.delta_ns, "host": host}))
    return scenario.model_copy(update={"station": changed})


def guard_ns(scenario: Scenario, plan: Plan, setting: Setting, late: Late) -> int:
    """The greatest constant lateness of the timer with which no frame of the chain is a period
    late, in ns.
    """
    short = scenario.model_copy(update={"duration_s": PROBE_S})

    def kept(lateness_ns: int) -> bool:
        constant = StageOverride(
            base_ns=lateness_ns, median_ns=0, sigma=0.0, tail_probability=0.0, cap_ns=0
        )
        return late(varied(short, setting, constant), plan, scenario.seed) is None

    low, high = 0, setting.delta_ns
    if not kept(low):
        return 0
    while high - low > PROBE_STEP_NS:
        middle = (low + high) // 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def expected_share(setting: Setting, guard: int, periods: int) -> float:
    """Of runs that long, with at least one timer later than the guard: its body at its mean, then
    the tail.

    One timer a period is counted, that of the first frame; those of later frames have more room.
    """
    timer = hosts.HOSTS["raspberry-pi-4"].timer
    if guard >= timer.cap_ns:
        return 0.0
    beyond_ns = max(0.0, guard - timer.mean_ns)
    rate = setting.tail_probability * math.exp(-beyond_ns / setting.tail_mean_ns)
    return 1 - math.exp(-periods * rate)


def point(
    scenario: Scenario,
    plan: Plan,
    group: str,
    setting: Setting,
    seeds: Iterable[int],
    late: Late,
    spread: Spread,
) -> Point:
    """One setting over some seeds, which `spread` runs: `late` is a function of a module."""
    guard = guard_ns(scenario, plan, setting, late)
    changed = varied(scenario, setting)
    found = spread.in_order(late, [(changed, plan, seed) for seed in seeds])
    onsets = sorted(frame for frame in found if frame is not None)
    periods = round(scenario.duration_s * 1e9 / min(stream.period_ns for stream in scenario.stream))
    return Point(
        group=group,
        setting=setting,
        guard_ns=guard,
        seeds=len(found),
        with_cascade=len(onsets),
        onset_frame_median=onsets[len(onsets) // 2] if onsets else None,
        expected_share=expected_share(setting, guard, periods),
    )
