# SPDX-License-Identifier: BSD-3-Clause
"""Two machines on one cable, one that sends a frame each period and one that stamps what comes:
what the RFC of SO_TXTIME and "The TSN Building Blocks in Linux" measured with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from keepon.measure.results import NONE
from keepon.measure.statistics import IntArray
from keepon.model import loading
from keepon.model.scenario import Load, Scenario, StageOverride, Station, Stream, Sync
from keepon.model.stationtables import HostTable
from keepon_papers import inputs
from keepon_papers.planned import planned_run

Method = Literal["sleep", "txtime"]
PROPAGATION_NS = 50
FRAME_BYTES_MAX = 1518


@dataclass(frozen=True)
class Sender:
    """A sender and what is around it.

    Attributes:
        method: it sleeps until each instant, or hands frames over before with their times, which an
            offloaded etf passes to the NIC.
        period_ns: from one frame to the next.
        frame_bytes: of each, with FCS.
        stages: of its host, changed.
        load: who sends best effort beside it; None: no one.
        load_bps: how much.
        synchronised: clocks by PTP with stamps of hardware, from the receiver's; if not, one clock.
        stamp_ns: resolution of stamps.
    """

    method: Method
    period_ns: int
    frame_bytes: int = 128
    stages: tuple[tuple[str, StageOverride], ...] = ()
    load: Literal["", "sender", "receiver"] = ""
    load_bps: int = 300_000_000
    synchronised: bool = False
    interval_ms: int = 1000
    crystal_ppm: float = 0.0
    wander_ppb_per_s: float = 0.0
    stamp_ns: int = 8


@dataclass(frozen=True)
class Stamps:
    """What was stamped.

    Attributes:
        late_ns: the receiver's stamp of each frame less its instant.
        apart_ns: between stamps of successive frames, less the period.
        sent_apart_ps: the same of frames on the sender's wire, by true time.
        missing: frames that did not come.
        others: frames of best effort that did.
    """

    late_ns: IntArray
    apart_ns: IntArray
    sent_apart_ps: IntArray
    missing: int
    others: int


TEXT = """
schema = "keepon.scenario/1"
name = "one-cable"
duration_s = 1.0

[[station]]
name = "sender"
driver = "launchtime"
host = "tsn-end-station"

[[station]]
name = "receiver"
driver = "launchtime"
host = "tsn-end-station"

[[link]]
ends = ["sender", "receiver"]

[[stream]]
id = "frames"
talker = "sender"
listeners = ["receiver"]
period_ns = 1_000_000
frame_bytes = 128
offset_ns = 0
tc = 0
"""


def scenario(sender: Sender, count: int, warmup_s: float) -> Scenario:
    """Frames for the time that `count` of them take."""
    base = loading.parse(TEXT, "one-cable")
    change: dict[str, Any] = {
        "duration_s": count * sender.period_ns / 1e9,
        "warmup_s": warmup_s,
        "host_tail_scale": 1.0,
        "station": [_station(one, sender) for one in base.station],
        "stream": [_stream(base.stream[0], sender)],
        "load": _loads(sender),
    }
    if sender.synchronised:
        change["sync"] = Sync(mode="ptp", grandmaster="receiver", interval_ms=sender.interval_ms)
    return base.model_copy(update=change)


def _station(station: Station, sender: Sender) -> Station:
    change: dict[str, Any] = {"stamp_resolution_ns": sender.stamp_ns}
    if station.name == "sender":
        change |= {
            "release": sender.method,
            "host": HostTable(base="tsn-end-station").model_copy(update=dict(sender.stages)),
            "clock_ppm": sender.crystal_ppm,
            "cpu_ppm": -sender.crystal_ppm,
            "wander_ppb_per_s": sender.wander_ppb_per_s,
        }
    return station.model_copy(update=change)


def _stream(stream: Stream, sender: Sender) -> Stream:
    advance_ns = min(sender.period_ns - 50_000, 400_000) if sender.method == "txtime" else 0
    return stream.model_copy(
        update={
            "period_ns": sender.period_ns,
            "frame_bytes": sender.frame_bytes,
            "advance_ns": advance_ns,
        }
    )


def _loads(sender: Sender) -> list[Load]:
    if not sender.load:
        return []
    other = "receiver" if sender.load == "sender" else "sender"
    return [
        Load(
            id="load", talker=sender.load, listener=other, kind="udp", rate_bps=sender.load_bps,
            frame_bytes=FRAME_BYTES_MAX, tc=7, priority=0,
        )
    ]  # fmt: skip


def measure(sender: Sender, count: int, warmup_s: float, seed: int) -> Stamps:
    """One run."""
    found = planned_run(scenario(sender, count, warmup_s), seed=seed)
    inputs.note_nodes(found.build.used_sources())
    frames = found.run.frames["frames"]
    stamps = frames.stamp_ns[0]
    came = stamps != NONE
    wire_ps = frames.wire_ps[frames.wire_ps != NONE]
    apart_ns: IntArray = stamps[came][1:] - stamps[came][:-1] - sender.period_ns
    sent_ps: IntArray = wire_ps[1:] - wire_ps[:-1] - sender.period_ns * 1000
    late_ns: IntArray = stamps[came] - frames.txtime_ns[came]
    loads = found.build.loads.values()
    others = sum(found.build.simulation.load(load)["delivered"] for load in loads)
    return Stamps(late_ns, apart_ns, sent_ps, int((~came).sum()), others)
