# SPDX-License-Identifier: BSD-3-Clause
"""Types of what the simulator says of nodes and flows (`Simulation` in _sim.pyi), and what a result
has of a TCP connection.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from keepon.errors import SimulationError
from keepon.measure.statistics import IntArray
from keepon.model.result import TcpResult

Counters = dict[str, int]


class Flow(TypedDict):
    """A stream or load, counted over the whole run but where `window` is in the name."""

    id: str
    submitted: int
    sent: int
    pending: int
    verdicts: Counters
    on_wire: int
    delivered: int
    delivered_by_listener: IntArray
    delivered_bytes: int
    window_sent_bytes: int
    window_delivered_bytes: int
    lost: Counters
    in_flight: int
    torn: int
    wrong_bytes: int
    duplicates: int
    ghosts: int
    split: NotRequired[int]
    """deliveries that copies made by bridges could make, of a stream with several ways"""


class TcpMachines(TypedDict):
    """Both ends of a TCP connection over the whole run; bytes of payload."""

    acknowledged_bytes: int
    delivered_bytes: int
    window_bytes: int
    segments: int
    retransmissions: int
    recoveries: int
    timeouts: int
    probes: int
    refused: int
    duplicates: int
    out_of_order: int
    srtt_ps: int
    at_ps: IntArray
    cwnd: IntArray
    ssthresh: IntArray


class LoadFlow(Flow):
    """A load; with TCP its machines and the flow of its ACKs."""

    tcp: NotRequired[TcpMachines]
    acks: NotRequired[Flow]


class PtpFlow(Flow):
    """A flow of PTP's frames."""

    kind: str
    talker: int


class Port(TypedDict):
    """A link as PTP at one of its ends knows it."""

    valid: bool
    delay_ps: int
    rate_ratio: float
    complete: int
    lost: int


class Domain(TypedDict):
    """A PTP domain at a node; `offset_ps` of all but domain 0."""

    grandmaster: bool
    sent: int
    received: int
    lost: int
    unused: int
    updates: int
    steps: int
    delay_ps: int
    offset_ps: NotRequired[IntArray]


class NodeClock(TypedDict):
    """A clock that PTP sets or distributes, with its samples."""

    source: str
    stamps: str
    state: Literal["unlocked", "jump", "locked"]
    at_ps: IntArray
    offset_ps: IntArray
    read_offset_ps: IntArray
    read_at_ps: IntArray
    scaled_ppm: IntArray
    reported_at_ps: IntArray
    reported_ps: IntArray
    domains: dict[int, Domain]
    ports: list[Port]


class Recovery(TypedDict):
    """Counters of sequence recovery at a node; `ports`: of each way by itself, by the number of the
    neighbour, with individual recovery.
    """

    passed: int
    discarded: int
    out_of_order: int
    rogue: int
    lost: int
    resets: int
    latent_errors: int
    ports: NotRequired[dict[int, Counters]]


class StationPort(TypedDict):
    """What the simulator counts at a station's port; the last four with driver "keepon"."""

    nic: Counters
    placeholders: int
    placeholders_discarded: int
    foreign_frames: int
    etf_drops: int
    disturbances: int
    qdisc: NotRequired[Counters]
    counters: NotRequired[Counters]
    verdicts: NotRequired[Counters]
    clock: NotRequired[dict[str, int | bool | None]]
    config: NotRequired[dict[str, int | bool | str]]


class Station(StationPort):
    """A station; where it has several links, `ports` has what StationPort has, by name."""

    name: str
    host_draws: Counters
    host_tails: Counters
    ports: NotRequired[dict[str, StationPort]]
    recovery: NotRequired[dict[str, Recovery]]
    """of streams whose copies end here, by id"""


class Bridge(TypedDict):
    """A bridge; ports by the number of the neighbour."""

    name: str
    ports: dict[int, Counters]
    filters: NotRequired[list[Counters]]
    """of policing, in order, if there is any"""
    recovery: NotRequired[dict[str, Recovery]]
    """of streams whose copies end here, by id"""


def tcp_result(raw: TcpMachines, window_s: float, what: str) -> TcpResult:
    """Both machines, held against each other.

    Args:
        raw: of the simulator.
        window_s: length of the window that `window_bytes` are of.
        what: the load, for messages.

    Raises:
        SimulationError: the sender took something for delivered that was not.
    """
    if raw["acknowledged_bytes"] > raw["delivered_bytes"]:
        raise SimulationError(
            f"{what}: {raw['acknowledged_bytes']} bytes are acknowledged and only"
            f" {raw['delivered_bytes']} delivered"
        )
    return {
        "goodput_bps": round(raw["window_bytes"] * 8 / window_s),
        "segments": raw["segments"],
        "retransmissions": raw["retransmissions"],
        "recoveries": raw["recoveries"],
        "timeouts": raw["timeouts"],
        "probes": raw["probes"],
        "refused": raw["refused"],
        "duplicates": raw["duplicates"],
        "out_of_order": raw["out_of_order"],
        "srtt_us": raw["srtt_ps"] / 1e6,
        "window": {
            "at_s": [at / 1e12 for at in raw["at_ps"].tolist()],
            "cwnd": raw["cwnd"].tolist(),
            "ssthresh": [None if value < 0 else value for value in raw["ssthresh"].tolist()],
        },
    }
