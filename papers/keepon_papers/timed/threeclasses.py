# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the published three classes (mitsubishi.table1): two periodic applications and iperf3
behind taprio and etf on one NIC queue, by the published commands.

The scenario is `examples/three-classes.toml`, changed where a run differs. What a LAN analyser in
the cable would stamp is the listener's stamp of arrival, 8 ns wide as published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from keepon.measure.results import NONE, FrameArrays
from keepon.measure.simulated import TcpMachines
from keepon.measure.statistics import IntArray
from keepon.model import examples, launchtime, loading
from keepon.model.fields import Number, Whole
from keepon.model.scenario import (
    Fault,
    HostTable,
    KeeponOptions,
    Load,
    Scenario,
    StageOverride,
    Station,
    TrafficClass,
)
from keepon_papers import inputs, published
from keepon_papers.planned import planned_run
from keepon_papers.settings import Origins, refuse

Protocol = Literal["UDP", "TCP"]
Remedy = Literal["none", "reschedule", "keepon", "no qdiscs"]

PROTOCOLS: tuple[Protocol, ...] = ("UDP", "TCP")
CYCLE_NS, TC1_NS, TC2_NS = 1_000_000, 300_000, 600_000
WINDOW_NS = CYCLE_NS - TC2_NS
FRAME_BYTES, FCS_BYTES, WIRE_OVERHEAD_BYTES, BYTE_NS = 1518, 4, 20, 8
HEADER_BYTES: dict[Protocol, int] = {"UDP": 46, "TCP": 70}
"""FCS included; of TCP with time stamps."""
TRIM_BYTES = 8
FRAMES_A_WINDOW = WINDOW_NS // ((FRAME_BYTES - FCS_BYTES) * BYTE_NS)
"""taprio's txtime-assist counts a frame without FCS, preamble and gap."""
STALL_PHASE_S = 0.0005
WARMUP_S, BEGIN_S, STALL_S = 0.3, 0.1, 0.2 + STALL_PHASE_S
"""When is measured, loads begin, and firmware stalls all cores, in s. A stall begins before TC2's
window and ends behind it, if it has the published length.
"""
SLOT_BYTES, SLOTS, TC2_SLOTS, RING_SLOTS = 1230, 100, range(61, 100), 128
"""Of keepon: slots of 10 us, the longest that divide the cycle and hold a frame of 1222 bytes."""
EXCLUDED_NS = 1000 * int(
    published.load("mitsubishi")["exclusion"]["smm_delay_excluded_us_at_least"]
)


def payload_bytes(protocol: Protocol, frame_bytes: int = FRAME_BYTES) -> int:
    return frame_bytes - HEADER_BYTES[protocol]


def ceiling_bps(protocol: Protocol) -> int:
    """The most that taprio's places in a window carry of payload (N24)."""
    return FRAMES_A_WINDOW * payload_bytes(protocol) * 8 * (10**9 // CYCLE_NS)


def share_bps(case: Case) -> int:
    """The same for what a run has for TC2: places of taprio, or slots of keepon."""
    places = len(TC2_SLOTS) if case.remedy == "keepon" else FRAMES_A_WINDOW
    return places * payload_bytes(case.load, case.frame_bytes) * 8 * (10**9 // CYCLE_NS)


class Settings(BaseModel):
    """What is common to the studies of the three classes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    duration_s: Annotated[float, Number(0.1, 3600)] = 15.0
    tc0_us: Annotated[int, Whole(1, 290)] = 50
    periodic_bytes: Annotated[int, Whole(64, 1518)] = 128
    delta_us: Annotated[int, Whole(8, 395)] = 200
    txtime_delay_us: Annotated[int, Whole(12, 390)] = 40
    stack_ns: Annotated[int, Whole(0, 100_000)] = 5_000
    driver_us: Annotated[int, Whole(1, 260)] = 11
    cores: Annotated[int, Whole(1, 1024)] = 4
    stall_us: Annotated[int, Whole(0, 100_000)] = 600
    starts: Annotated[int, Whole(1, 1000)] = 10
    seed: Annotated[int, Whole(0, 2**31)] = 1


ORIGINS = Origins(
    calibrated={
        "duration_s": "mitsubishi.app (evaluated_duration_s)",
        "delta_us": "mitsubishi.table7",
        "txtime_delay_us": "mitsubishi.table6",
        "stall_us": "mitsubishi.exclusion (the least that occurred and was excluded)",
        "cores": "mitsubishi.table2 (of the CPU); a stall takes all there are",
    },
    chosen={
        "tc0_us": (
            "when TC0's frame is due in its window is not published; TC1's is 300 us later. At"
            " 160 us and more the TCP of this model does not collapse: the tables have it"
        ),
        "periodic_bytes": "length of the frames of TC0 and TC1 is not published",
        "stack_ns": "no published value; the tables show what hangs on it",
        "driver_us": "a frame from etf to the NIC, of a core; no published value, as stack_ns",
        "starts": "connections begin at as many instants of the cycle, evenly apart",
        "seed": "of everything random",
    },
)


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes:
        start_us: where in the cycle the load begins.
        stalls_s: when firmware takes all cores for `Settings.stall_us`.
        timer_us: of 100 of its timers one is late by as much more on average, and at most.
        driver_us: instead of that of the settings; 0: that one.
        further_us: round trip beside the wire's.
        cores: of the talker's host instead of those of the settings; None: those.
    """

    load: Protocol
    offload: bool = True
    remedy: Remedy = "none"
    start_us: int = 0
    stalls_s: tuple[float, ...] = ()
    timer_us: int = 0
    driver_us: int = 0
    further_us: int = 0
    cores: int | None = None

    @property
    def frame_bytes(self) -> int:
        return SLOT_BYTES - TRIM_BYTES if self.remedy == "keepon" else FRAME_BYTES


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    Attributes:
        tc0_ns, tc1_ns: periods less 1 ms, by the analyser, those excluded left out.
        apart_ns: TC1's frame less TC0's of the same cycle, less 300 us.
        every_ns: periods of TC0 and TC1, nothing left out.
        excluded: deviations that the published rule leaves out.
        periodic_lost: frames of TC0 and TC1 that were due and did not come.
        late_ps: when each frame of TC0, then of TC1, is on the wire, less its time.
        payload_bps: of TC2, at the listener.
        waited_us: longest that software of the talker which was ready waited for a core.
        qdisc: counters of the talker's qdiscs.
        tcp: counters of the connection.
    """

    tc0_ns: IntArray
    tc1_ns: IntArray
    apart_ns: IntArray
    every_ns: IntArray
    excluded: int
    periodic_lost: int
    late_ps: tuple[IntArray, IntArray]
    payload_bps: float
    submitted: int
    verdicts: dict[str, int]
    waited_us: float
    qdisc: dict[str, int]
    tcp: dict[str, int]

    def counter(self, name: str) -> int:
        return self.qdisc.get(name, 0)

    @property
    def drops(self) -> int:
        """Frames of TC2 that etf has dropped, whatever for."""
        return self.counter("etf_late") + self.counter("etf_wrong")


def scenario(case: Case, settings: Settings) -> Scenario:
    """The example as `case` has it."""
    base = loading.load(examples.path("three-classes"))
    talker = base.station_named("talker")
    timer = StageOverride(
        tail_probability=0.01, tail_mean_ns=case.timer_us * 1000, cap_ns=case.timer_us * 1000
    )
    host = HostTable(
        base="tsn-end-station",
        cores=settings.cores if case.cores is None else case.cores,
        stack=StageOverride(median_ns=settings.stack_ns),
        timer=timer if case.timer_us else None,
        driver=StageOverride(median_ns=(case.driver_us or settings.driver_us) * 1000),
    )
    stations = [
        _talker(talker, case, settings).model_copy(update={"host": host}),
        base.station_named("listener"),
    ]
    slot_ns = (SLOT_BYTES + WIRE_OVERHEAD_BYTES) * BYTE_NS
    offset_ns = settings.tc0_us * 1000
    if case.remedy == "keepon":  # the start of a slot's frame
        offset_ns = offset_ns // slot_ns * slot_ns + 8 * BYTE_NS
    streams = [
        stream.model_copy(
            update={
                "offset_ns": offset_ns + place * TC1_NS,
                "frame_bytes": settings.periodic_bytes,
                "deadline_ns": None,
            }
        )
        for place, stream in enumerate(base.stream)
    ]
    begin_ns = round(BEGIN_S * 1e9) + case.start_us * 1000
    stalls = [
        Fault(at_s=at_s, kind="cpu-stall", node="talker", value_ns=settings.stall_us * 1000)
        for at_s in case.stalls_s
    ]
    links = [
        link.model_copy(update={"propagation_ns": 50 + case.further_us * 500}) for link in base.link
    ]
    return base.model_copy(
        update={
            "duration_s": settings.duration_s,
            "warmup_s": WARMUP_S,
            "station": stations,
            "stream": streams,
            "link": links,
            "load": _loads(base.load[0], case, begin_ns),
            "fault": stalls,
        }
    )


def delta_problem(settings: Settings) -> str:
    """Why frames with times cannot be in the NIC in time and in order; empty if they can."""
    made = scenario(Case("TCP"), settings)
    talker, advance_ns = made.station_named("talker"), made.stream[0].advance_ns
    delta_ns = settings.delta_us * 1000
    least_us = -(-launchtime.least_delta_ns(made, talker) // 1000)
    host_ns = launchtime.least_advance_ns(made, talker, len(made.stream)) - delta_ns
    most_us = (advance_ns - host_ns) // 1000
    if least_us <= settings.delta_us <= most_us:
        return ""
    return (
        f"must be between {least_us} and {most_us} with driver_us = {settings.driver_us} and"
        f" stack_ns = {settings.stack_ns}, as a frame must be in the NIC at its time and is handed"
        f" over {advance_ns // 1000} us before; change one of them"
    )


def check(settings: Settings) -> None:
    """Settings go together.

    Raises:
        ConfigError: they do not; one sentence in their own words.
    """
    if problem := delta_problem(settings):
        raise refuse("delta_us", settings.delta_us, problem)


def check_slots(settings: Settings) -> None:
    """Settings go together where keepon is one of the ways.

    Raises:
        ConfigError: they do not; one sentence in their own words.
    """
    check(settings)
    most = SLOT_BYTES - TRIM_BYTES
    if settings.periodic_bytes > most:
        raise refuse(
            "periodic_bytes",
            settings.periodic_bytes,
            f"must be between 64 and {most} here, what a slot of keepon holds; choose shorter"
            " frames, or mitsubishi.table8 to table11, which have no slots",
        )


def _talker(station: Station, case: Case, settings: Settings) -> Station:
    if case.remedy in ("no qdiscs", "keepon"):
        change: dict[str, Any] = {"qdisc": None}
        if case.remedy == "keepon":
            classes = [
                TrafficClass(tc=0), TrafficClass(tc=1), TrafficClass(tc=2, slots=list(TC2_SLOTS)),
            ]  # fmt: skip
            options = {
                "slot_bytes": SLOT_BYTES, "partition_slots": SLOTS, "ring_slots": RING_SLOTS,
                "trim_down_bytes": TRIM_BYTES, "prebuffer_frames": 64,
                "classes": classes,
            }  # fmt: skip
            change |= {"driver": "keepon", "keepon": KeeponOptions.model_validate(options)}
            return station.model_copy(update=change)
        return station.model_copy(update={**change, "release": "sleep"})
    commands = str(station.qdisc)
    commands = commands.replace("delta 200000", f"delta {settings.delta_us * 1000}")
    commands = commands.replace("txtime-delay 40000", f"txtime-delay {settings.txtime_delay_us}000")
    if not case.offload:
        commands = commands.replace("skip_sock_check offload ", "skip_sock_check ")
    release = "reschedule" if case.remedy == "reschedule" else station.release
    return station.model_copy(update={"qdisc": commands, "release": release})


def _loads(load: Load, case: Case, begin_ns: int) -> list[Load]:
    """iperf3: TCP, or UDP at the published 1000 Mb/s."""
    kind = {"kind": case.load.lower(), "rate_bps": 10**9, "start_ns": begin_ns}
    return [load.model_copy(update={**kind, "frame_bytes": case.frame_bytes})]


def measure(case: Case, settings: Settings, seed: int) -> Outcome:
    """One run."""
    found = planned_run(scenario(case, settings), seed=seed)
    inputs.note_nodes(found.build.used_sources())
    frames = {name: found.run.frames[name] for name in ("TC0", "TC1")}
    stamps = {name: frame.stamp_ns[0] for name, frame in frames.items()}
    periods = {name: _periods(one) for name, one in stamps.items()}
    kept = {name: one[np.abs(one) < EXCLUDED_NS] for name, one in periods.items()}
    both = (stamps["TC0"] != NONE) & (stamps["TC1"] != NONE)
    apart = (stamps["TC1"] - stamps["TC0"])[both] - TC1_NS
    load = found.build.simulation.load(found.build.loads["TC2"])
    station = found.build.simulation.station(found.build.nodes["talker"])
    tcp = _counts(load["tcp"]) if "tcp" in load else {}
    share = payload_bytes(case.load, case.frame_bytes) / case.frame_bytes
    payload_bps = load["window_delivered_bytes"] * 8 * share / settings.duration_s
    return Outcome(
        kept["TC0"],
        kept["TC1"],
        apart[np.abs(apart) < EXCLUDED_NS],
        np.concatenate(list(periods.values())),
        sum(len(periods[name]) - len(kept[name]) for name in periods),
        sum(int((one == NONE).sum()) for one in stamps.values()),
        (_late(frames["TC0"]), _late(frames["TC1"])),
        load["tcp"]["window_bytes"] * 8 / settings.duration_s if tcp else payload_bps,
        load["submitted"],
        {name: count for name, count in load["verdicts"].items() if count},
        _waited_us(station),
        dict(station.get("qdisc", {})),
        tcp,
    )


def _waited_us(station: Mapping[str, Any]) -> float:
    priorities = station.get("cpu", {}).values()
    return float(max((one["wait_ps_max"] for one in priorities), default=0)) / 1e6


def _counts(machines: TcpMachines) -> dict[str, int]:
    return {
        "refused": machines["refused"],
        "timeouts": machines["timeouts"],
        "probes": machines["probes"],
        "recoveries": machines["recoveries"],
    }


def _periods(stamps_ns: IntArray) -> IntArray:
    """Between frames that came, one after the other, less 1 ms."""
    came = stamps_ns[stamps_ns != NONE]
    periods: IntArray = np.diff(came) - CYCLE_NS
    return periods


def _late(frames: FrameArrays) -> IntArray:
    sent = frames.wire_ps != NONE
    due_ps = (frames.txtime_ns[sent] - frames.epoch_ns) * 1000
    late: IntArray = frames.wire_ps[sent] - due_ps
    return late


def starts(case: Case, settings: Settings) -> list[Case]:
    """The same connection begun at as many instants of the cycle as are set."""
    step = CYCLE_NS // 1000 / settings.starts
    return [replace(case, start_us=round(place * step)) for place in range(settings.starts)]
