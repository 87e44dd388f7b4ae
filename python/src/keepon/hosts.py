# SPDX-License-Identifier: BSD-3-Clause
"""Named host models: how long a machine takes between an application's wake-up and its NIC.

Every number names where it comes from: the id of a published figure, or "chosen: ..." where nothing is published.
Shapes are plain on purpose: a stage is `base` plus a log-normal body plus, with a small probability, an exponential
tail, all capped. Published end results (such as the 480 ns jitter of keepon.fig15a) are not fitted to.

What is missing and would change results: the spread of the driver path (only averages are published), timer and
wake-up latencies of a Raspberry Pi 4 (figures of an i7-7700K stand in), and how often its tail is hit (nothing is
published; `tail_probability` is the one number here that decides when a conventional driver first misses).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from keepon.errors import ConfigError
from keepon.scenario import HostTable, StageOverride

STAGES = ("wakeup", "stack", "driver", "timer", "poll")


@dataclass(frozen=True)
class Stage:
    """Latency of one stage: min(base + lognormal(median, sigma) [+ exponential(tail_mean)], cap), in ns."""

    base_ns: int
    median_ns: int
    sigma: float
    tail_probability: float
    tail_mean_ns: int
    cap_ns: int

    def scaled_tail(self, scale: float) -> Stage:
        """The same body with its tail's mean and the cap scaled; the cap stays above the body."""
        body_ns = self.base_ns + 4 * self.median_ns
        return replace(
            self,
            tail_mean_ns=round(self.tail_mean_ns * scale),
            tail_probability=self.tail_probability if scale > 0 else 0.0,
            cap_ns=max(body_ns, round(self.cap_ns * scale)) if self.tail_probability else self.cap_ns,
        )


@dataclass(frozen=True)
class Sourced:
    """A model parameter and where it comes from."""

    parameter: str
    value: int | float | str
    source_id: str

    def as_dict(self) -> dict[str, int | float | str]:
        return {"parameter": self.parameter, "value": self.value, "source_id": self.source_id}


ETF_DELTA_NS = {"standard": 50_000, "launchtime": 150_000, "keepon": 150_000}
"""Delta of an ETF qdisc in front of a driver: where it times frames and where it only sorts them."""

ETF_SOURCES = {"standard": "keepon.listing2", "launchtime": "keepon.artifact_ex1", "keepon": "keepon.artifact_ex1"}


@dataclass(frozen=True)
class HostModel:
    """A machine: its stages, with the driver stage per kind of driver, and the source of every number."""

    name: str
    wakeup: Stage
    stack: Stage
    timer: Stage
    poll: Stage
    driver: dict[str, Stage]
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


# fejes.fig1: 80 % of the transmissions within 1.5 us, the worst of 10000 within 3.5 us. A log-normal through both
# points: sigma = ln(3.5 / 1.5) / (3.719 - 0.8416) = 0.294, median = 1500 / exp(0.8416 sigma) = 1171 ns.
# Tail: "tens of microseconds" for pure software, 100 us worst case under PREEMPT_RT (keepon.related_work_numbers).
_INTERRUPT = Stage(base_ns=0, median_ns=1171, sigma=0.294, tail_probability=1e-4, tail_mean_ns=20_000, cap_ns=100_000)
_STACK = Stage(base_ns=0, median_ns=5_000, sigma=0.1, tail_probability=0.0, tail_mean_ns=0, cap_ns=20_000)
_POLL = Stage(base_ns=0, median_ns=200, sigma=0.3, tail_probability=0.0, tail_mean_ns=0, cap_ns=2_000)


def _driver(median_ns: int) -> Stage:
    return Stage(base_ns=0, median_ns=median_ns, sigma=0.05, tail_probability=0.0, tail_mean_ns=0, cap_ns=2 * median_ns)


_NO_VALUE = "chosen: no published value"
_COMMON_SOURCES = (
    Sourced("wakeup, timer: median_ns", 1171, "fejes.fig1 (i7-7700K; nothing is published for this machine)"),
    Sourced("wakeup, timer: sigma", 0.294, "fejes.fig1 (log-normal shape chosen)"),
    Sourced("wakeup, timer: tail_probability", 1e-4, _NO_VALUE),
    Sourced("wakeup, timer: tail_mean_ns", 20_000, "keepon.related_work_numbers (tens of microseconds)"),
    Sourced("wakeup, timer: cap_ns", 100_000, "keepon.related_work_numbers (PREEMPT_RT worst case)"),
    Sourced("stack: median_ns", 5_000, _NO_VALUE),
    Sourced("stack: sigma", 0.1, _NO_VALUE),
    Sourced("poll: median_ns", 200, _NO_VALUE),
    Sourced("poll: tail_probability", 0.0, "keepon.setup_microbench (isolated core, no interrupts; value chosen)"),
    Sourced("driver: sigma", 0.05, _NO_VALUE + " (averages only)"),
)

HOSTS: dict[str, HostModel] = {
    "raspberry-pi-4": HostModel(
        name="raspberry-pi-4",
        wakeup=_INTERRUPT,
        stack=_STACK,
        timer=_INTERRUPT,
        poll=_POLL,
        driver={"keepon": _driver(7_000), "standard": _driver(11_000), "launchtime": _driver(11_000)},
        sources=(
            Sourced("driver (keepon): median_ns", 7_000, "keepon.fig10a (average)"),
            Sourced("driver (standard): median_ns", 11_000, "keepon.fig10a (average)"),
            Sourced("driver (launchtime): median_ns", 11_000, "chosen: as the standard driver, no published value"),
            *_COMMON_SOURCES,
        ),
    ),
    "tsn-end-station": HostModel(
        name="tsn-end-station",
        wakeup=_INTERRUPT,
        stack=_STACK,
        timer=_INTERRUPT,
        poll=_POLL,
        driver={"keepon": _driver(7_000), "standard": _driver(11_000), "launchtime": _driver(11_000)},
        sources=(
            Sourced(
                "driver (launchtime): median_ns",
                11_000,
                "chosen: as keepon.fig10a of the same board, no published value",
            ),
            *_COMMON_SOURCES,
        ),
    ),
    "ideal": HostModel(
        name="ideal",
        **{name: Stage(0, 0, 0.0, 0.0, 0, 0) for name in ("wakeup", "stack", "timer", "poll")},
        driver={name: Stage(0, 0, 0.0, 0.0, 0, 0) for name in ("keepon", "standard", "launchtime")},
        sources=(Sourced("all stages", 0, "chosen: a host without latency"),),
    ),
}


def _overridden(stage: Stage, override: StageOverride | None) -> Stage:
    return stage if override is None else replace(stage, **override.model_dump(exclude_none=True))


def host_of(host: str | HostTable, driver: str, tail_scale: float) -> tuple[dict[str, Stage], list[Sourced]]:
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
        raise ConfigError(f'host "{table.base}": no such host model; known are {", ".join(sorted(HOSTS))}')
    model = HOSTS[table.base]
    stages, sources = model.stages(driver), list(model.sources)
    for name in STAGES:
        override: StageOverride | None = getattr(table, name)
        stages[name] = _overridden(stages[name], override)
        if override is not None:
            sources.extend(
                Sourced(f"{name}: {key}", value, "scenario: host table")
                for key, value in override.model_dump(exclude_none=True).items()
            )
    if tail_scale != 1.0:
        stages = {name: stage.scaled_tail(tail_scale) for name, stage in stages.items()}
        sources.append(Sourced("host_tail_scale", tail_scale, "scenario"))
    return stages, sources
