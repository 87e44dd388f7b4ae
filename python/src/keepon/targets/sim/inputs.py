# SPDX-License-Identifier: BSD-3-Clause
"""Types of what the simulator is told (`Simulation` in _sim.pyi); keys may have defaults there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

StageSpec = Mapping[str, int | float]
"""Fields of keepon.model.hosts.Stage."""


class NicSpec(TypedDict):
    """The NIC of a station."""

    prefetch_slots: int
    fetch_ns: int
    restart_ns: int
    index_read_ns: int
    coalesce_ns: int
    coalesce_frames: int
    rx_lag_ns_min: int
    rx_lag_ns_max: int
    fragments_max: int
    frame_bytes_max: int


KeeponSpec = dict[str, object]
"""A station with driver "keepon": keepon.model.driverfields, partition as class masks, classes as
(late, round)."""


class CpuSpec(TypedDict):
    """Cores of a host, and what received frames cost them."""

    cores: int
    irq_ns: int
    softirq_ns: int


class LeafSpec(TypedDict, total=False):
    """A leaf of a station's qdiscs: kind "fifo", "etf" or "guard", and its options."""

    kind: str
    keeps_txtime: bool
    delta_ns: int
    deadline_mode: bool
    skip_sock_check: bool
    reschedule: bool
    rate_bps: int
    mtu_bytes: int
    fudge_ns: int
    tolerance_ns: int
    limit_frames: int
    late: str


class TaprioSpec(TypedDict):
    """Windows in their order, by classes as a mask and by length."""

    base_ns: int
    cycle_ns: int
    gates: list[int]
    lengths_ns: list[int]
    txtime_assist: bool
    offload: bool
    txtime_delay_ns: int


class QdiscSpec(TypedDict):
    """Qdiscs of a station: the queue of each of 16 classes, a leaf for each queue."""

    queues: list[int]
    leaves: list[LeafSpec]
    taprio: NotRequired[TaprioSpec]


class PortSpec(TypedDict):
    """What one port of a station of several has of its own."""

    keepon: KeeponSpec


class StationSpec(TypedDict):
    """A station; `host` by the name of the stage."""

    driver: str
    release: str
    host: dict[str, StageSpec]
    occupancy_ns: int
    etf_delta_ns: int
    nic_ppm: float
    cpu_ppm: float
    cpu_tick_ns: int
    wander_ppb_per_s: float
    sync: str
    stamp_resolution_ns: int
    nic: NicSpec
    ingress_latency_ns: NotRequired[int]
    egress_latency_ns: NotRequired[int]
    cpu: NotRequired[CpuSpec]
    keepon: NotRequired[KeeponSpec]
    qdisc: NotRequired[QdiscSpec]
    ports: NotRequired[list[PortSpec]]


class PtpSpec(TypedDict, total=False):
    """What PTP adds to a station: nothing where it does not set clocks."""

    sync: str
    rx: StageSpec
    ingress_latency_ns: int
    egress_latency_ns: int


class BridgeSpec(TypedDict):
    """A bridge."""

    processing_ns: int
    ppm: float
    queue_frames: int
    queues: list[int]
    wander_ppb_per_s: NotRequired[float]
    sync: NotRequired[str]
    ptp_turnaround_ns: NotRequired[int]
    stamp_resolution_ns: NotRequired[int]


class ServoSpec(TypedDict):
    """The servo of every clock."""

    kind: str
    pi_proportional_scale: float
    pi_proportional_exponent: float
    pi_proportional_norm_max: float
    pi_integral_scale: float
    pi_integral_exponent: float
    pi_integral_norm_max: float
    step_threshold_ns: int
    first_step_threshold_ns: int
    filter_samples: int


class SyncSpec(TypedDict):
    """PTP; domains as (number, grandmaster), changes as (when, new grandmaster of domain 0)."""

    mode: str
    domains: list[tuple[int, int]]
    interval_ns: int
    delay_interval_ns: int
    servo: ServoSpec
    delay_filter_samples: int
    rate_samples: int
    tc: int
    queue: int
    start_offset_ns: int
    sample_ns: int
    changes: list[tuple[int, int]]


class StreamSpec(TypedDict):
    """A periodic stream; `turns_ns` is empty where all frames have one release."""

    id: str
    talker: int
    listeners: list[int]
    routes: list[list[int]]
    period_ns: int
    offset_ns: int
    turns_ns: list[int]
    start_ns: int
    frame_bytes: int
    tc: int
    queue: int
    advance_ns: int


class LoadSpec(TypedDict):
    """Best effort."""

    id: str
    talker: int
    listener: int
    route: list[int]
    kind: str
    congestion: str
    start_ns: int
    rate_bps: int
    frame_bytes: int
    tc: int
    queue: int
