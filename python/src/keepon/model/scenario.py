# SPDX-License-Identifier: BSD-3-Clause
"""The scenario: network, streams, stations and faults of `keepon.scenario/1`, as read from TOML.

Only what one key can say about itself is checked here; how keys fit together is `loading`'s affair. Units are the
last part of every name; `frame_bytes` includes the FCS; times are at the reference plane (first bit after the SFD).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from keepon.model.fields import GateMask, Name, NameList, Number, Whole, WholeList

SCENARIO_SCHEMA = "keepon.scenario/1"

Auto = Literal["auto"]
DriverName = Literal["keepon", "standard", "launchtime"]
_SECOND_NS = 1_000_000_000
_DAY_S = 86_400
_POSITIVE = "times are in nanoseconds and not negative"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=True)


class Defaults(_Table):
    """Values links take that do not state their own."""

    rate_bps: Annotated[int, Whole(10_000_000, 100_000_000_000)] = 1_000_000_000
    propagation_ns: Annotated[int, Whole(0, 1_000_000)] = 50


class SyncDomain(_Table):
    """One PTP domain beside domain 0, as a clock that is only computed (a virtual PTP clock)."""

    domain: Annotated[int, Whole(0, 127, remedy="PTP has domains 0 to 127; domain 0 sets the clocks")]
    grandmaster: Annotated[str, Name()]


class Sync(_Table):
    """How clocks agree. "none" (an addition to the contract): every station runs on its own crystal, unadjusted.

    "ptp": Sync and Delay_Req end to end through plain bridges (IEEE 1588-2019); "gptp": bridges relay and every link
    is measured (IEEE 802.1AS-2020). Servo constants have linuxptp's names and defaults (ptp4l(8)); a scale of 0 is
    0.7 and 0.3 with stamps of hardware, 0.1 and 0.001 with those of software. `filter_samples` concerns servo "ratio".
    Clocks are compared with network time every `sample_ns`.
    """

    mode: Literal["ideal", "none", "ptp", "gptp"] = "ideal"
    grandmaster: Annotated[str, Name()] | None = None
    interval_ms: Annotated[int, Whole(1, 10_000)] = 125
    delay_interval_ms: Annotated[int, Whole(1, 100_000)] = 1_000
    domains: list[SyncDomain] = Field(default_factory=list)
    servo: Literal["pi", "linreg", "ratio"] = "pi"
    filter_samples: Annotated[int, Whole(0, 1_000)] = 10
    delay_filter_samples: Annotated[int, Whole(1, 1_000)] = 10
    rate_samples: Annotated[int, Whole(1, 1_000)] = 8
    pi_proportional_scale: Annotated[float, Number(0.0, 100.0)] = 0.0
    pi_proportional_exponent: Annotated[float, Number(-10.0, 10.0)] = -0.3
    pi_proportional_norm_max: Annotated[float, Number(1e-9, 1.0)] = 0.7
    pi_integral_scale: Annotated[float, Number(0.0, 100.0)] = 0.0
    pi_integral_exponent: Annotated[float, Number(-10.0, 10.0)] = 0.4
    pi_integral_norm_max: Annotated[float, Number(1e-9, 2.0)] = 0.3
    step_threshold_ns: Annotated[int, Whole(0, 1_000 * _SECOND_NS, remedy=_POSITIVE)] = 0
    first_step_threshold_ns: Annotated[int, Whole(0, 1_000 * _SECOND_NS, remedy=_POSITIVE)] = 20_000
    tc: Annotated[int, Whole(0, 15)] = 7
    priority: Annotated[int, Whole(0, 7)] = 6
    rx_jitter_scale: Annotated[float, Number(0.0, 100.0)] = 1.0
    start_offset_ns: Annotated[int, Whole(0, 1_000 * _SECOND_NS, remedy=_POSITIVE)] = 100_000
    lock_bound_ns: Annotated[int, Whole(1, _SECOND_NS)] = 1_000
    sample_ns: Annotated[int, Whole(20, _SECOND_NS)] = 10_000_000

    @property
    def by_ptp(self) -> bool:
        """Whether clocks are set by messages."""
        return self.mode in ("ptp", "gptp")


class StageOverride(_Table):
    """One stage of the host's software path; keys left out keep the named model's value.

    What of the log-normal body is above `limit_ns` is left out; 0: nothing.
    """

    base_ns: Annotated[int, Whole(0, _SECOND_NS, remedy=_POSITIVE)] | None = None
    median_ns: Annotated[int, Whole(0, _SECOND_NS, remedy=_POSITIVE)] | None = None
    sigma: Annotated[float, Number(0.0, 5.0)] | None = None
    tail_probability: Annotated[float, Number(0.0, 1.0)] | None = None
    tail_mean_ns: Annotated[int, Whole(0, _SECOND_NS, remedy=_POSITIVE)] | None = None
    cap_ns: Annotated[int, Whole(0, 10 * _SECOND_NS, remedy=_POSITIVE)] | None = None
    limit_ns: Annotated[int, Whole(0, _SECOND_NS, remedy=_POSITIVE)] | None = None


class HostTable(_Table):
    """A host model with some stages changed."""

    base: Annotated[str, Name()] = "raspberry-pi-4"
    wakeup: StageOverride | None = None
    stack: StageOverride | None = None
    driver: StageOverride | None = None
    timer: StageOverride | None = None
    poll: StageOverride | None = None
    rx: StageOverride | None = None


class NicOptions(_Table):
    """The NIC below the driver. Nothing is published on any of these; every result lists those it used as chosen.

    `prefetch_slots`: frames beyond the one on the wire that it may have fetched; `fetch_ns`: from its decision to
    fetch a frame to having it; `restart_ns`: from a doorbell on an idle wire to the first bit; `index_read_ns`: one
    read of its index over the bus; `rx_lag_ns`: from a received frame's last bit to the receive index that shows it;
    `coalesce_ns`, `coalesce_frames`: after how long and how many frames an ordinary driver is told that they have left.
    """

    prefetch_slots: Annotated[int, Whole(1, 1024)] = 2
    fetch_ns: Annotated[int, Whole(1, 1_000_000)] = 800
    restart_ns: Annotated[int, Whole(1, 1_000_000)] = 2_000
    index_read_ns: Annotated[int, Whole(0, 100_000)] = 800
    rx_lag_ns: Annotated[int, Whole(0, 900_000)] = 500
    coalesce_ns: Annotated[int, Whole(0, _SECOND_NS, remedy=_POSITIVE)] = 5_000_000
    coalesce_frames: Annotated[int, Whole(1, 65_536)] = 10


class TrafficClass(_Table):
    """One traffic class of a keepon station: its slots and what happens to late frames."""

    tc: Annotated[int, Whole(0, 15)]
    slots: Annotated[Any, WholeList(0, 65_535, words=("auto", "rest"))] = "auto"
    late: Literal["strict", "relaxed", "reschedule"] = "strict"
    round: Literal["up", "floor"] = "up"


class KeeponOptions(_Table):
    """Parameters of the keepon driver; "auto" leaves the choice to the planner."""

    mode: Literal["phase-locked", "paper"] = "phase-locked"
    slot_bytes: Annotated[int | Auto, Whole(64, 1522, words=("auto",))] = "auto"
    ring_slots: Annotated[int | Auto, Whole(8, 4096, words=("auto",))] = "auto"
    partition_slots: Annotated[int | Auto, Whole(1, 65_536, words=("auto",))] = "auto"
    batch_slots: Annotated[int | Auto, Whole(1, 4096, words=("auto",))] = "auto"
    depth_slots: Annotated[int | Auto, Whole(1, 4096, words=("auto",))] = "auto"
    clock: Literal["interpolated", "counter", "dual"] = "interpolated"
    merge: Literal["strip", "published"] = "strip"
    tau_ns: Annotated[int | Auto, Whole(1, _SECOND_NS, words=("auto",))] = "auto"
    placeholder: Literal["bad-fcs", "mac-control", "reserved-address"] = "bad-fcs"
    trim: Literal["any", "reserved"] = "any"
    trim_down_bytes: Annotated[int, Whole(1, 512)] = 8
    trim_up_bytes: Annotated[int, Whole(0, 512)] = 8
    prebuffer_frames: Annotated[int, Whole(0, 65_536)] = 64
    poll_overhead_ns: Annotated[int | Auto, Whole(0, 1_000_000, words=("auto",))] = "auto"
    tolerance_ns: Annotated[int | Auto, Whole(0, 1_000_000, words=("auto",))] = "auto"
    dither: bool = True
    classes: list[TrafficClass] = Field(
        default_factory=lambda: [
            TrafficClass(tc=0, slots="auto", late="strict", round="up"),
            TrafficClass(tc=7, slots="rest", late="reschedule", round="up"),
        ]
    )


# Stated for clocks that PTP sets, unless the scenario says better: what they keep within with the default servo
# (docs/time.md), rounded up; chosen. Every run checks its frames against the bounds that follow.
CLOCK_ERROR_NS = {"keepon": 5_000, "launchtime": 200, "standard": 50_000}
# Stated for bridges whose clocks gPTP sets: less than the gap between frames, which their windows
# have to spare; chosen.
BRIDGE_CLOCK_ERROR_NS = 90


class Station(_Table):
    """An end station. `clock_ppm` is its NIC's crystal, `cpu_ppm` its CPU's; both matter only where they run free.

    `ingress_latency_ns` is taken off the stamps of received PTP frames and `egress_latency_ns` added to those sent, as
    ptp4l(8) has them; they concern driver keepon, whose stamps need it. `clock_error_ns` states how far the clock may
    be from network time where PTP sets it; the plan keeps that free around every window. `cpu_tick_ns` is the
    resolution of the CPU counter that driver keepon reads, rounded up.
    """

    name: Annotated[str, Name()]
    driver: Literal["keepon", "standard", "launchtime", "under-test"] = "keepon"
    release: Literal["txtime", "etf", "sleep"] = "txtime"
    host: Annotated[str, Name()] | HostTable = "raspberry-pi-4"
    clock_ppm: Annotated[float, Number(-1000.0, 1000.0)] = 0.0
    cpu_ppm: Annotated[float, Number(-1000.0, 1000.0)] = 0.0
    cpu_tick_ns: Annotated[int, Whole(1, 1000)] = 1
    wander_ppb_per_s: Annotated[float, Number(0.0, 100_000.0)] = 0.0
    etf_delta_ns: Annotated[int | Auto, Whole(0, _SECOND_NS, words=("auto",), remedy=_POSITIVE)] = "auto"
    stamp_resolution_ns: Annotated[int, Whole(1, 1_000_000)] = 8
    ingress_latency_ns: Annotated[int, Whole(-_SECOND_NS, _SECOND_NS)] = 0
    clock_error_ns: Annotated[int | Auto, Whole(0, _SECOND_NS, words=("auto",), remedy=_POSITIVE)] = "auto"
    egress_latency_ns: Annotated[int, Whole(-_SECOND_NS, _SECOND_NS)] = 0
    nic: NicOptions = Field(default_factory=NicOptions)
    keepon: KeeponOptions = Field(default_factory=KeeponOptions)


class GateEntry(_Table):
    """One line of a gate control list: gates open for a time."""

    gates: Annotated[str, GateMask()]
    ns: Annotated[int, Whole(1, 100 * _SECOND_NS)]


class GateList(_Table):
    """The gate control list of one port, written by hand (IEEE 802.1Q-2022 clause 8.6.8.4)."""

    base_ns: Annotated[int, Whole(0, 2**62, remedy=_POSITIVE)] = 0
    entries: list[GateEntry] = Field(min_length=1)


class Bridge(_Table):
    """A store-and-forward bridge; `gates` is "auto", "none" or a table of gate lists by neighbour.

    Its crystal (`clock_ppm`, `wander_ppb_per_s`) matters unless sync.mode is "ideal". `ptp_turnaround_ns`: from a PTP
    message received to the one it causes. `queues`: of each port; a frame's priority is its queue.
    """

    name: Annotated[str, Name()]
    processing_ns: Annotated[int, Whole(0, 1_000_000_000, remedy=_POSITIVE)] = 2_000
    gates: Literal["auto", "none"] | dict[str, GateList] = "auto"
    clock_ppm: Annotated[float, Number(-1000.0, 1000.0)] = 0.0
    wander_ppb_per_s: Annotated[float, Number(0.0, 100_000.0)] = 0.0
    stamp_resolution_ns: Annotated[int, Whole(1, 1_000_000)] = 8
    ptp_turnaround_ns: Annotated[int, Whole(0, 100_000_000, remedy=_POSITIVE)] = 500_000
    queues: Annotated[int, Whole(1, 8, remedy="a port has 1 to 8 queues, one for each priority below that")] = 8


class Link(_Table):
    """A full-duplex link between two nodes; the way from the first end is `asymmetry_ns` longer than the way back.

    The shorter way takes `propagation_ns`.
    """

    ends: Annotated[list[str], NameList(2, 2)]
    rate_bps: Annotated[int, Whole(10_000_000, 100_000_000_000)] | None = None
    propagation_ns: Annotated[int, Whole(0, 1_000_000)] | None = None
    asymmetry_ns: Annotated[int, Whole(-1_000_000, 1_000_000)] = 0


class Stream(_Table):
    """A periodic stream with one talker and one or more listeners (IEEE 802.1Q terms).

    `advance_ns`: how long before its txtime a frame is handed over. A talker with launch times that states none gets
    what its ETF qdisc and host need, rounded up to 50 us (keepon.model.launchtime).
    """

    id: Annotated[str, Name()]
    talker: Annotated[str, Name()]
    listeners: Annotated[list[str], NameList(1, 256)]
    period_ns: Annotated[int, Whole(1_000, 10 * _SECOND_NS)]
    frame_bytes: Annotated[int, Whole(64, 1522, remedy="an Ethernet frame with FCS has 64 to 1522 bytes")]
    tc: Annotated[int, Whole(0, 15)] = 0
    priority: Annotated[int, Whole(0, 7)] = 5
    deadline_ns: Annotated[int, Whole(1, 10 * _SECOND_NS)] | None = None
    jitter_ns: Annotated[int, Whole(0, 10 * _SECOND_NS, remedy=_POSITIVE)] | None = None
    offset_ns: Annotated[int | Auto, Whole(0, 10 * _SECOND_NS, words=("auto",), remedy=_POSITIVE)] = "auto"
    advance_ns: Annotated[int, Whole(0, _SECOND_NS, remedy=_POSITIVE)] = 100_000
    route: Annotated[Any, NameList(0, 64, words=("auto",))] = "auto"
    redundancy: Annotated[int, Whole(1, 2)] = 1


class Load(_Table):
    """Best-effort traffic."""

    id: Annotated[str, Name()]
    talker: Annotated[str, Name()]
    listener: Annotated[str, Name()]
    kind: Literal["udp", "tcp", "saturate"] = "udp"
    rate_bps: Annotated[int, Whole(1_000, 100_000_000_000)] = 100_000_000
    frame_bytes: Annotated[int, Whole(64, 1522)] = 1518
    tc: Annotated[int, Whole(0, 15)] = 7
    priority: Annotated[int, Whole(0, 7)] = 0


class Fault(_Table):
    """Something that goes wrong at a stated time."""

    at_s: Annotated[float, Number(0.0, float(_DAY_S))]
    kind: Annotated[str, Name()]
    node: Annotated[str, Name()]
    value_ns: Annotated[int, Whole(-(2**62), 2**62)] = 0


class PlannerOptions(_Table):
    """How `keepon plan` decides.

    `isolation`: "frame" lets a frame into a queue only when the one before it has left, so that a frame that is lost
    changes nothing for others; "order" only keeps them in the order of their windows, which leaves no gaps between
    windows of one queue. With either, a frame that comes after its window takes the next window of its queue, and the
    frame whose window that is waits in turn. `routes`: ways tried for a stream, the shortest first.
    """

    isolation: Literal["frame", "order"] = "frame"
    routes: Annotated[int, Whole(1, 16)] = 3


class Compare(_Table):
    """Drivers the stations "under-test" take in turn; the first one is judged, the others are its peers."""

    drivers: list[DriverName] = Field(min_length=1)


class Scenario(_Table):
    """A whole scenario file. Lists are in file order; `notes` are shown in reports (what was inferred, what chosen)."""

    schema_id: Literal["keepon.scenario/1"] = Field(alias="schema")
    name: Annotated[str, Name()]
    duration_s: Annotated[float, Number(0.001, float(_DAY_S), remedy="a run measures at least one millisecond")] = 10.0
    warmup_s: Annotated[float, Number(0.0, 3600.0, remedy="times are not negative")] = 0.2
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 1
    host_tail_scale: Annotated[float, Number(0.0, 1000.0)] = 1.0
    notes: list[str] = Field(default_factory=list)
    defaults: Defaults = Field(default_factory=Defaults)
    sync: Sync = Field(default_factory=Sync)
    station: list[Station] = Field(min_length=1)
    bridge: list[Bridge] = Field(default_factory=list)
    link: list[Link] = Field(default_factory=list)
    stream: list[Stream] = Field(default_factory=list)
    load: list[Load] = Field(default_factory=list)
    fault: list[Fault] = Field(default_factory=list)
    compare: Compare | None = None
    planner: PlannerOptions = Field(default_factory=PlannerOptions)

    def station_named(self, name: str) -> Station:
        """The station called `name`; KeyError if there is none."""
        for station in self.station:
            if station.name == name:
                return station
        raise KeyError(name)

    def drivers(self) -> list[str]:
        """What the runs are called, the judged one first.

        With stations under test: the drivers they take in turn. Otherwise there is one run, called by the driver
        of the talkers, or "as-configured" if they differ.
        """
        if self.compare is not None:
            return list(dict.fromkeys(self.compare.drivers))
        talkers = {stream.talker for stream in self.stream}
        own = {station.driver for station in self.station if station.name in talkers}
        return [next(iter(own))] if len(own) == 1 else ["as-configured"]

    def clock_error_ns(self, station: Station, driver: str) -> int:
        """How far the clock of `station` may be from network time, as stated; 0 where PTP does not set it.

        What is stated for a driver knows nothing of links, so asymmetric ones are added; what is stated for the station
        is the whole.
        """
        if not self.sync.by_ptp:
            return 0
        if station.clock_error_ns != "auto":
            return int(station.clock_error_ns)
        return CLOCK_ERROR_NS[driver] + self.asymmetry_error_ns(station.name)

    def asymmetry_error_ns(self, node: str) -> int:
        """How far asymmetric links move the clock of `node`, in ns rounded up; the worst of all grandmasters.

        PTP takes both ways for equally long: each link moves the clock beyond it by half the difference, and links may
        cancel (IEEE Std 1588-2019 clause 7.4.2). 0 where PTP does not set it.
        """
        if not self.sync.by_ptp or self.sync.grandmaster is None:
            return 0
        masters = {self.sync.grandmaster, *(fault.node for fault in self.fault if fault.kind == "master-change")}
        return max(-(-abs(self._asymmetry_ns(master).get(node, 0)) // 2) for master in masters)

    def _asymmetry_ns(self, master: str) -> dict[str, int]:
        """By how much longer the way from `master` to each node is than the way back, over the tree that Sync takes."""
        stations = {station.name for station in self.station}
        found = {master: 0}
        queue = [master]
        for node in queue:
            if node != master and node in stations:
                continue
            for link in self.link:
                for (here, there), sign in ((link.ends, 1), (link.ends[::-1], -1)):
                    if here == node and there not in found:
                        found[there] = found[node] + sign * link.asymmetry_ns
                        queue.append(there)
        return found

    def driver_of(self, station: Station, run: str) -> str:
        """Driver `station` has in the run called `run`."""
        return run if station.driver == "under-test" else station.driver

    def effective(self) -> dict[str, Any]:
        """The scenario with all defaults as plain data; keys that are not set are left out."""
        document: dict[str, Any] = self.model_dump(by_alias=True, exclude_none=True)
        return document
