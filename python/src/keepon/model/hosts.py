# SPDX-License-Identifier: BSD-3-Clause
"""Named host models: how long a machine takes between an application's wake-up and its NIC.

Every number names where it comes from: it is calibrated to a published figure, with its id, or
chosen, with the reason. Shapes are plain on purpose: a stage is `base` plus a log-normal body plus,
with a small probability, an exponential tail, all capped. Published end results (such as the 480 ns
jitter of keepon.fig15a) are not fitted to.

What fejes.fig1 says is read as it was measured. Its stamps are differences: each of 10000 packets
is stamped, and what is shown is how far two successive stamps are from 500 us apart, to either
side. Stamps before transmission: 80 % within 1.5 us, the greatest 3.5 us. Stamps of reception: 80 %
within 5 us, the greatest 15 us; their packets have been sent as unevenly as the first two figures
say. A stamp is late by x, so a difference is off by x' - x, whose distribution is symmetric
whatever that of x, and holds no constant part. So the spread of x follows - some 0.8 us of standard
deviation before transmission, 2.7 us of reception, nearly whatever its shape - and its mean does
not.

The shape is chosen: a log-normal without what is above `limit_ns`. With `sigma` chosen, `median_ns`
and `limit_ns` follow from the two figures. No log-normal without a limit meets both: 3.5 / 1.5 and
15 / 5 are less than the 3.1 of a normal distribution. `sigma` sets the mean, which nobody has
published: 10.8, 5.6 and 3.2 us of reception for 0.25, 0.5 and 1.0; docs/time.md shows what depends
on it. `python/tests/test_hosts.py` draws the differences again.

What is missing and would change results: the mean of every stage, how the published spread divides
among wake-up, stack and driver (wake-up has all of it), timer and wake-up latencies of a Raspberry
Pi 4 (figures of an i7-7700K stand in), and how often its tail is hit (`tail_probability` decides
when a conventional driver first misses).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

from keepon.errors import ConfigError
from keepon.model.qdiscs import stations
from keepon.model.result import Calibrated, Chosen
from keepon.model.scenario import HostTable, StageOverride, Station

USUAL_SIGMAS = 3
STAGES = ("wakeup", "stack", "driver", "timer", "poll")
DRIVERS = ("keepon", "standard", "launchtime")


@dataclass(frozen=True)
class Stage:
    """Latency of one stage: min(base + body [+ exponential(tail_mean)], cap), in ns.

    The body is log-normal(median, sigma); with limit_ns > 0, that part of it which is below the
    limit.
    """

    base_ns: int
    median_ns: int
    sigma: float
    tail_probability: float
    tail_mean_ns: int
    cap_ns: int
    limit_ns: int = 0

    def scaled_tail(self, scale: float) -> Stage:
        """The same body with its tail's mean and the cap scaled; the cap stays above the body."""
        body_ns = self.base_ns + (self.limit_ns or 4 * self.median_ns)
        return replace(
            self,
            tail_mean_ns=round(self.tail_mean_ns * scale),
            tail_probability=self.tail_probability if scale > 0 else 0.0,
            cap_ns=max(body_ns, round(self.cap_ns * scale))
            if self.tail_probability
            else self.cap_ns,
        )

    def scaled(self, scale: float) -> Stage:
        """All of it, and so its spread, scaled."""
        keys = ("base_ns", "median_ns", "tail_mean_ns", "cap_ns", "limit_ns")
        return replace(self, **{key: round(getattr(self, key) * scale) for key in keys})

    def _moment_ns(self, order: int) -> float:
        """Mean of the body's power `order`."""
        if self.sigma == 0 or self.median_ns == 0:
            return float(self.median_ns**order)
        whole: float = self.median_ns**order * math.exp((order * self.sigma) ** 2 / 2)
        if not self.limit_ns:
            return whole
        normal, limit = NormalDist(), math.log(self.limit_ns / self.median_ns) / self.sigma
        return whole * normal.cdf(limit - order * self.sigma) / normal.cdf(limit)

    @property
    def top_ns(self) -> float:
        """The body at three sigma, or its limit if that is less."""
        top = self.median_ns * math.exp(USUAL_SIGMAS * self.sigma)
        return min(top, self.limit_ns) if self.limit_ns else top

    @property
    def usual_ns(self) -> int:
        """What it takes but for its tail, rounded up."""
        body_ns = math.ceil(self.base_ns + self.top_ns)
        return min(body_ns, self.cap_ns) if self.cap_ns else body_ns

    @property
    def worst_ns(self) -> int:
        """What it takes at most; where it has no cap, what it usually takes."""
        return self.cap_ns or self.usual_ns

    @property
    def mean_ns(self) -> float:
        """Mean of base and body."""
        return self.base_ns + self._moment_ns(1)

    @property
    def stddev_ns(self) -> float:
        """Standard deviation of the body."""
        return math.sqrt(max(0.0, self._moment_ns(2) - self._moment_ns(1) ** 2))


InputKind = Literal["calibrated", "chosen"]


@dataclass(frozen=True)
class Sourced:
    """A model parameter and where it comes from.

    Attributes:
        parameter: what a result calls it.
        source_id: id of the publication; of a chosen one, why it is what it is.
        stage: of the host that has to be gone through for it to matter; "" if it always does.
        of_tail: only where a draw of the stage had a tail.
    """

    parameter: str
    value: int | float | str
    source_id: str
    kind: InputKind = "calibrated"
    stage: str = ""
    of_tail: bool = False

    def as_calibrated(self) -> Calibrated:
        return {"parameter": self.parameter, "value": self.value, "source_id": self.source_id}

    def as_chosen(self) -> Chosen:
        return {"parameter": self.parameter, "value": self.value, "why": self.source_id}

    def was_used(self, draws: Mapping[str, int], tails: Mapping[str, int]) -> bool:
        """Whether a run used it; `draws` and `tails` count how often each stage was run through."""
        return not self.stage or (tails if self.of_tail else draws).get(self.stage, 0) > 0


def chosen(parameter: str, value: int | float | str, why: str, stage: str = "") -> Sourced:
    """A parameter that nobody has published."""
    return Sourced(parameter, value, why, "chosen", stage)


def of_stage(
    stage: str, key: str, value: int | float, source: str, kind: InputKind = "calibrated"
) -> Sourced:
    """A number of one stage."""
    return Sourced(f"{stage}: {key}", value, source, kind, stage, key in ("tail_mean_ns", "cap_ns"))


ETF_DELTA_NS = 150_000
"""Delta of an ETF qdisc, whatever the driver below it: what is compared is the drivers."""


def etf_delta_ns(station: Station) -> int:
    """Delta of the ETF qdisc in front of a station's NIC, the greatest if there are several."""
    tree = stations.tree_of(station)
    if tree is not None:
        return stations.delta_ns(tree)
    return ETF_DELTA_NS if station.etf_delta_ns == "auto" else int(station.etf_delta_ns)


def etf_delta_key(index: int, station: Station, port: str | None = None) -> str:
    """How a message begins that is about it: what the user wrote, and its value. `port` is the name
    of the port it is about, if not the station's.
    """
    tree, name = stations.tree_of(station), port or station.name
    if tree is None:
        return f'key `station[{index}].etf_delta_ns` (station "{name}") = {etf_delta_ns(station)}'
    place, value = stations.held_back_place(tree), stations.held_back_ns(tree)
    return f'key `station[{index}].qdisc` (station "{name}"): {place} = {value}'


def etf_delta(driver: str) -> Sourced:
    """Where the default delta comes from: published in front of one driver, chosen in front of the
    others.
    """
    name, stage = f"etf_delta_ns ({driver})", "timer"
    if driver == "keepon":
        return Sourced(name, ETF_DELTA_NS, "keepon.artifact_ex1", stage=stage)
    why = (
        "as in front of driver keepon (keepon.artifact_ex1); docs/case-study.md shows what hangs"
        " on it"
    )
    return chosen(name, ETF_DELTA_NS, why, stage)


@dataclass(frozen=True)
class HostModel:
    """A machine: its stages, with the driver stage per kind of driver, and the source of every
    number.
    """

    name: str
    wakeup: Stage
    stack: Stage
    timer: Stage
    poll: Stage
    driver: dict[str, Stage]
    driver_sources: dict[str, Sourced]
    sources: tuple[Sourced, ...]

    def stages(self, driver: str) -> dict[str, Stage]:
        """Stage by name, for a station that runs `driver`."""
        return {
            "wakeup": self.wakeup,
            "stack": self.stack,
            "driver": self.driver[driver],
            "timer": self.timer,
            "poll": self.poll,
        }


SHAPE_SIGMA = 0.5
_INTERRUPT = Stage(
    0,
    1_980,
    SHAPE_SIGMA,
    tail_probability=1e-4,
    tail_mean_ns=20_000,
    cap_ns=100_000,
    limit_ns=4_030,
)
_STACK = Stage(
    base_ns=0, median_ns=5_000, sigma=0.0, tail_probability=0.0, tail_mean_ns=0, cap_ns=0
)
_POLL = Stage(
    base_ns=0, median_ns=200, sigma=0.3, tail_probability=0.0, tail_mean_ns=0, cap_ns=2_000
)

RX_SHAPES = {0.25: (10_490, 20_330), SHAPE_SIGMA: (5_120, 15_700), 1.0: (2_460, 13_480)}
"""median_ns and limit_ns of reception by sigma: each of them gives the two figures of fejes.fig1.
"""


def rx_shape(sigma: float) -> Stage:
    """From a complete frame at the NIC to software's stamp of it, for one of RX_SHAPES."""
    median_ns, limit_ns = RX_SHAPES[sigma]
    return Stage(
        0, median_ns, sigma, tail_probability=0.0, tail_mean_ns=0, cap_ns=0, limit_ns=limit_ns
    )


RX_STAGE = rx_shape(SHAPE_SIGMA)


def _driver(median_ns: int) -> Stage:
    return Stage(
        base_ns=0, median_ns=median_ns, sigma=0.0, tail_probability=0.0, tail_mean_ns=0, cap_ns=0
    )


_NO_VALUE = "no published value"
_SHAPE_WHY = "shape: log-normal below limit_ns; sets the mean, which is not published"
_SPREAD_WHY = (
    "wake-up has all of the published spread, which is that of wake-up, stack and driver together"
)


def _interrupt_sources(stage: str) -> tuple[Sourced, ...]:
    one = _INTERRUPT
    machine = "i7-7700K; nothing is published for this machine"
    tail_why = f"{_NO_VALUE}; none in the 10000 packets of fejes.fig1, so below 3e-4 there"
    return (
        of_stage(
            stage,
            "median_ns",
            one.median_ns,
            f"fejes.fig1 (80 % of differences within 1.5 us; {machine})",
        ),
        of_stage(
            stage, "limit_ns", one.limit_ns, "fejes.fig1 (greatest of 10000 differences 3.5 us)"
        ),
        of_stage(stage, "sigma", one.sigma, _SHAPE_WHY, "chosen"),
        of_stage(stage, "tail_probability", one.tail_probability, tail_why, "chosen"),
        of_stage(
            stage,
            "tail_mean_ns",
            one.tail_mean_ns,
            "keepon.related_work_numbers (tens of microseconds)",
        ),
        of_stage(
            stage, "cap_ns", one.cap_ns, "keepon.related_work_numbers (PREEMPT_RT worst case)"
        ),
    )


RX_SOURCES = (
    of_stage(
        "rx",
        "median_ns",
        RX_STAGE.median_ns,
        "fejes.fig1 (80 % of differences within 5 us; i7-7700K)",
    ),
    of_stage(
        "rx", "limit_ns", RX_STAGE.limit_ns, "fejes.fig1 (greatest of 10000 differences 15 us)"
    ),
    of_stage("rx", "sigma", RX_STAGE.sigma, _SHAPE_WHY, "chosen"),
)
_COMMON_SOURCES = (
    *_interrupt_sources("wakeup"),
    *_interrupt_sources("timer"),
    of_stage("stack", "median_ns", _STACK.median_ns, _NO_VALUE, "chosen"),
    of_stage("stack", "sigma", 0.0, _SPREAD_WHY, "chosen"),
    of_stage("driver", "sigma", 0.0, _SPREAD_WHY, "chosen"),
    of_stage("poll", "median_ns", _POLL.median_ns, _NO_VALUE, "chosen"),
    of_stage("poll", "sigma", _POLL.sigma, _NO_VALUE, "chosen"),
    of_stage(
        "poll",
        "tail_probability",
        0.0,
        "none: isolated core, no interrupts (keepon.setup_microbench)",
        "chosen",
    ),
)
_PI_DRIVERS = {"keepon": _driver(7_000), "standard": _driver(11_000), "launchtime": _driver(11_000)}
_PI_DRIVER_SOURCES = {
    "keepon": of_stage("driver", "median_ns", 7_000, "keepon.fig10a (average)"),
    "standard": of_stage("driver", "median_ns", 11_000, "keepon.fig10a (average)"),
    "launchtime": of_stage(
        "driver", "median_ns", 11_000, f"as the standard driver, {_NO_VALUE}", "chosen"
    ),
}

HOSTS: dict[str, HostModel] = {
    **{
        name: HostModel(
            name=name,
            wakeup=_INTERRUPT,
            stack=_STACK,
            timer=_INTERRUPT,
            poll=_POLL,
            driver=_PI_DRIVERS,
            driver_sources=_PI_DRIVER_SOURCES,
            sources=_COMMON_SOURCES,
        )
        for name in ("raspberry-pi-4", "tsn-end-station")
    },
    "ideal": HostModel(
        name="ideal",
        **{name: Stage(0, 0, 0.0, 0.0, 0, 0) for name in ("wakeup", "stack", "timer", "poll")},
        driver={name: Stage(0, 0, 0.0, 0.0, 0, 0) for name in DRIVERS},
        driver_sources={},
        sources=(chosen("all stages", 0, "a host without latency"),),
    ),
}


def overridden(
    stage: Stage, name: str, override: StageOverride | None, sources: list[Sourced]
) -> tuple[Stage, list[Sourced]]:
    """A stage as the scenario changes it; what it changes is no longer where the model
    has it from.
    """
    if override is None:
        return stage, sources
    changed = override.model_dump(exclude_none=True)
    stated = [
        of_stage(name, key, value, "scenario: host table", "chosen")
        for key, value in changed.items()
    ]
    replaced = {entry.parameter for entry in stated}
    return replace(stage, **changed), [
        entry for entry in sources if entry.parameter not in replaced
    ] + stated


def host_of(
    host: str | HostTable, driver: str, tail_scale: float
) -> tuple[dict[str, Stage], list[Sourced]]:
    """Stages of a host as a scenario names it, and the sources of their numbers.

    Args:
        host: a model's name, or a table that changes one.
        driver: keepon, standard or launchtime.
        tail_scale: multiplies tail means and caps; 1 leaves the model as it is.

    Raises:
        ConfigError: there is no such model.
    """
    table = host if isinstance(host, HostTable) else HostTable(base=host)
    if table.base not in HOSTS:
        raise ConfigError(
            f'host "{table.base}": no such host model; known are {", ".join(sorted(HOSTS))}'
        )
    model = HOSTS[table.base]
    stages, sources = model.stages(driver), list(model.sources)
    sources += [model.driver_sources[driver]] if driver in model.driver_sources else []
    for name in STAGES:
        stages[name], sources = overridden(stages[name], name, getattr(table, name), sources)
    if tail_scale != 1.0:
        stages = {name: stage.scaled_tail(tail_scale) for name, stage in stages.items()}
        sources.append(chosen("host_tail_scale", tail_scale, "scenario"))
    return stages, sources


def check_stages(where: str, host: str | HostTable) -> None:
    """Refuse a body whose median is cut off.

    Args:
        where: how the message begins, to the key of the host.

    Raises:
        ConfigError: one sentence.
    """
    for name, stage in host_of(host, "standard", 1.0)[0].items():
        if 0 < stage.limit_ns < stage.median_ns:
            raise ConfigError(
                f"{where}.{name}.median_ns` = {stage.median_ns}: must be at most its limit_ns,"
                f" {stage.limit_ns} (of the model, if left out), above which a body has nothing;"
                " raise limit_ns, or set it to 0"
            )


_NO_RX = Stage(0, 0, 0.0, 0.0, 0, 0)


def rx_stage(station: Station, scale: float) -> tuple[Stage, list[Sourced]]:
    """From a complete frame at the NIC to software's stamp of it, and where its numbers come from.

    Args:
        station: its host decides; the host "ideal" has none.
        scale: sync.rx_jitter_scale, multiplies the whole delay and so its spread.
    """
    table = station.host if isinstance(station.host, HostTable) else HostTable(base=station.host)
    stage, sources = (_NO_RX, []) if table.base == "ideal" else (RX_STAGE, list(RX_SOURCES))
    stage, sources = overridden(stage, "rx", table.rx, sources)
    if scale != 1.0:
        stage = stage.scaled(scale)
        sources.append(chosen("rx_jitter_scale", scale, "scenario", "rx"))
    return stage, sources
