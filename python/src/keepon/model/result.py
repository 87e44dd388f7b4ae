# SPDX-License-Identifier: BSD-3-Clause
"""The document `keepon.result/1`: what was measured.

It is a plain dictionary at run time and JSON in a file; these types are what it holds, and
`schemas/result.schema.json` is made of them (keepon.model.document_schemas). Statistics are in ns;
p99 and the like are values that occurred. Where a target counts more than the others, its counters
stand beside those named here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, cast

from pydantic import Field, with_config

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.model import documents
from keepon.model.machinereports import HostRun
from keepon.model.quantities import (
    DelayDistribution,
    DelaySeries,
    OffsetSeries,
    OffsetStatistics,
    Quantities,
    Statistics,
)
from keepon.model.tools import TalkCounters
from keepon.model.typed import CLOSED, OPEN, AtLeastOne, NodeName, NotNegative, together

RESULT_SCHEMA: Final = "keepon.result/1"

OutcomeName = Literal["met", "missed", "nothing checked", "no frames"]
CheckName = Literal["met", "missed", "nothing checked"]
TargetName = Literal["sim", "vm", "host"]
Counts = dict[str, NotNegative]
Delays = list[float | None]


@with_config(CLOSED)
class BoundCheck(TypedDict):
    """One bound beside the worst frame."""

    bound_ns: float
    """what was promised or asked for"""
    worst_ns: float | None
    """null: no frame shows the quantity"""
    met: bool
    """outcome is "met\""""
    outcome: NotRequired[CheckName]
    """absent in results of earlier versions"""
    uncertainty_ns: NotRequired[Annotated[float, Field(ge=0)]]
    """target host: how far worst_ns may be off; it is missed only if it is beyond the bound by
    more"""


@with_config(CLOSED)
class Frame(TypedDict):
    """One frame."""

    seq: NotNegative
    """its number"""
    txtime_ns: NotNegative
    """requested instant, network time"""
    delay_ns: float | None
    """null: it is missing"""


@with_config(CLOSED)
class StampError(TypedDict):
    """Target vm: hardware transmit stamps beside the wire."""

    max: Annotated[float, Field(ge=0)]
    """greatest difference"""
    note: str
    """what is compared"""


@with_config(CLOSED)
class StreamStamps(TypedDict):
    """Target host: what instants of a stream are."""

    talker: str
    """who stamped frames as they left"""
    listeners: dict[str, str]
    """who stamped them as they came, by station"""
    uncertainty_ns: Annotated[float, Field(ge=0)] | None
    """how far listeners' clocks may have been off the talker's; null: not compared"""


@with_config(CLOSED)
class Slips(TypedDict):
    """Where slots put frames."""

    in_wrong_slot: NotNegative
    """frames whose slot did not begin within the slot time that ends with their txtime"""
    slip_count: NotNegative
    """changes of that distance between successive frames"""
    slots_first: int
    """distance of the first frame, in slots"""
    slots_last: int
    """of the last"""
    drift_ppm: float
    """slope of the release error"""


@with_config(CLOSED)
class Accounting(TypedDict):
    """What became of the frames due."""

    due: NotRequired[NotNegative]
    """frames whose txtime by the schedule lies in the time measured, whatever the talker did;
    absent in results of earlier versions"""
    submitted: NotNegative
    """of the frames due, those the talker handed over"""
    sent: NotNegative
    """those that were on the wire; of those whose verdict is `in_doubt`, which the driver cannot
    know of: those that the wire's record has, or on target host that arrived"""
    pending: NotNegative
    """those without a verdict yet: the talker still has them, or the NIC has not reported
    them as sent"""
    delivered: NotNegative
    """those that every listener got"""
    lost: Counts
    """those that were discarded, by place"""
    verdicts: Counts
    """what the driver said, frames by verdict"""
    in_flight: NotNegative
    """sent and neither delivered nor lost"""
    missing: NotNegative
    """frames due that did not reach every listener"""


@with_config(CLOSED)
class Outliers(TypedDict):
    """First and worst frame."""

    first_bad: Frame | None
    """the first frame due that is missing, too late or too early"""
    worst: Frame | None
    """the frame with the greatest delay"""


@with_config(CLOSED)
class MeasuredStream(Accounting, Quantities, Outliers):
    """What every target says of a stream."""

    bound_check: dict[str, BoundCheck]
    """each bound beside the worst frame, by quantity"""
    outcome: NotRequired[OutcomeName]
    """what came of it; absent in results of earlier versions"""
    first_delays_ns: Delays
    """of the first frames; null: missing"""


@together("delay_series delay_distribution", "onset_delays_ns onset_first_seq")
class StreamResult(MeasuredStream):
    """A stream in one run."""

    by_deadline: NotRequired[OutcomeName]
    """its outcome by the deadline alone, by which peers are judged; absent in results of earlier
    versions"""
    by_bounds: NotRequired[OutcomeName]
    """its outcome by the bounds alone; absent in results of earlier versions"""
    delay_series: NotRequired[DelaySeries]
    """delays over time; absent in results of earlier versions"""
    delay_distribution: NotRequired[DelayDistribution]
    """delays by size; absent in results of earlier versions"""
    slots: NotRequired[Slips]
    """where slots put its frames; with driver keepon in the simulator"""
    copies: NotRequired[Counts]
    """where frames on its two ways ended that did not arrive, of the whole run: duplicates, lost
    copies; with redundancy"""
    talker_counters: NotRequired[TalkCounters]
    """targets vm and host: what keepon-talk counted"""
    stamp_error_ns: NotRequired[StampError]
    """target vm: hardware transmit stamps beside the wire"""
    stamps: NotRequired[StreamStamps]
    """target host: what instants of it are"""
    stages_ns: NotRequired[dict[str, Statistics]]
    """in the simulator, where hosts have a way to the application that reads: how long messages
    were at each stage, and from the txtime to the application"""
    onset_delays_ns: NotRequired[Delays]
    """around the first frame of any stream beyond its bound"""
    onset_first_seq: NotRequired[NotNegative | None]
    """number of the first of these frames"""


@with_config(CLOSED)
class FrequencyError(TypedDict):
    """Rate of a clock against network time, in 1e-9; null: too few samples."""

    mean: float | None
    """over all samples"""
    rms: float | None
    """of differences over 100 samples"""


@with_config(CLOSED)
class SyncCounts(TypedDict):
    """Messages of one PTP domain at a node."""

    sent: NotNegative
    """Syncs sent"""
    received: NotNegative
    """Syncs received with their Follow_Up"""
    lost: NotNegative
    """Syncs that were sent and did not come"""
    unused: NotNegative
    """Syncs received that the servo did not use"""


@with_config(CLOSED)
class PortDelay(TypedDict):
    """What a node measured of one of its links."""

    valid: bool
    """a delay is known"""
    complete: NotNegative
    """exchanges that came to their end"""
    lost: NotNegative
    """exchanges that did not"""
    rate_ratio: float
    """the neighbour's clock by its own"""
    delay_ns: float
    """delay of the link"""


@with_config(CLOSED)
class DomainClock(TypedDict):
    """A clock that is only computed, of a PTP domain beside domain 0."""

    grandmaster: bool
    """the node is its grandmaster"""
    offset_ns: OffsetStatistics
    """reading minus network time"""
    sync: SyncCounts
    """its messages"""


@with_config(CLOSED)
class ClockOffsets(TypedDict):
    """A talker's clock less that of its NIC, over its frames."""

    min: float
    """least"""
    max: float
    """greatest"""


_SET_BY_PTP = "source stamps grandmaster offset_ns absolute_p999_ns lock_s lock_bound_ns steps sync"


@together(_SET_BY_PTP, config=OPEN)
class Clock(TypedDict):
    """A clock over a run.

    Those from `source` on are of clocks that PTP sets, in the simulator; driver keepon has beside
    them what it believes of the wire at the end of the run.
    """

    source: NotRequired[str]
    """what the clock is"""
    stamps: NotRequired[str]
    """who stamps PTP's frames"""
    grandmaster: NotRequired[bool]
    """network time is what this clock reads"""
    state: NotRequired[str]
    """of the servo: unlocked, jump or locked"""
    offset_ns: NotRequired[OffsetStatistics]
    """exact reading minus network time, in the time measured"""
    offset_series: NotRequired[OffsetSeries]
    """the same over time, from the start of the run to the end of the time measured; absent in
    results of earlier versions"""
    absolute_p999_ns: NotRequired[float | None]
    """99.9 % of the offsets are at most this, to either side"""
    read_offset_ns: NotRequired[OffsetStatistics]
    """what software gets that asks, minus network time"""
    frequency_error_ppb: NotRequired[FrequencyError]
    """its rate"""
    lock_s: NotRequired[float | None]
    """time from the start on after which the offset stays within lock_bound_ns; null: never"""
    lock_bound_ns: NotRequired[NotNegative]
    """sync.lock_bound_ns"""
    steps: NotRequired[NotNegative]
    """how often the servo set it"""
    sync: NotRequired[SyncCounts]
    """messages of domain 0"""
    delay_ns: NotRequired[float]
    """to the master, as measured"""
    ports: NotRequired[list[PortDelay]]
    """its links"""
    domains: NotRequired[dict[str, DomainClock]]
    """clocks of other domains by number"""
    nic_offset_ns: NotRequired[ClockOffsets]
    """target vm: the talker's clock, by its stamps, less that of its NIC"""


@with_config(OPEN)
class RecoveryResult(TypedDict):
    """Counters of sequence recovery (IEEE Std 802.1CB-2017 clause 10.8) over the whole run."""

    passed: NotNegative
    """frames that passed"""
    discarded: NotNegative
    """duplicates, and rogue frames"""
    out_of_order: NotNegative
    """frames that passed with another number than the one after the last"""
    rogue: NotNegative
    """frames with a number out of the window"""
    lost: NotNegative
    """numbers that came by no way"""
    resets: NotNegative
    """times any number was taken from then on, the start among them"""
    latent_errors: NotNegative
    """tests that found copies missing"""
    ports: NotRequired[dict[str, Counts]]
    """of each way by itself, by neighbour, with individual recovery"""


@with_config(OPEN)
class PortResult(TypedDict):
    """Counters of a port over the whole run, in the simulator."""

    underruns: NotRequired[NotNegative]
    """times the wire ran out of slots, with driver keepon"""
    suspected_underruns: NotRequired[NotNegative]
    """times it may have"""
    placeholders: NotRequired[NotNegative]
    """slots without a frame"""
    slots_total: NotRequired[NotNegative]
    """slots that have passed"""
    best_effort_bps: NotRequired[NotNegative | None]
    """frames with FCS of best effort that left by it in the window"""
    counters: NotRequired[Counts]
    """of the core"""
    nic: NotRequired[Counts]
    """of its NIC"""


@with_config(OPEN)
class StationResult(TypedDict):
    """Counters of a station over the whole run; every target has those that are named."""

    underruns: NotRequired[NotNegative]
    """times the wire ran out of slots, with driver keepon"""
    suspected_underruns: NotRequired[NotNegative]
    """times it may have"""
    placeholders: NotRequired[NotNegative]
    """slots without a frame"""
    slots_total: NotRequired[NotNegative]
    """slots that have passed"""
    best_effort_bps: NotRequired[NotNegative | None]
    """frames with FCS of best effort that the station sent in the window; null: not measured"""
    clock: NotRequired[Clock]
    """its clock"""
    counters: NotRequired[Counts]
    """of the core, or of the keepon device"""
    nic: NotRequired[Counts]
    """of its NIC"""
    ports: NotRequired[dict[str, PortResult]]
    """of a station of several ports, by name; its own counters are their sums then"""
    recovery: NotRequired[dict[str, RecoveryResult]]
    """of streams whose copies end here, by id"""


@with_config(OPEN)
class BridgeResult(TypedDict):
    """Counters of a bridge over the whole run."""

    ports: NotRequired[dict[str, Counts]]
    """by neighbour, in the simulator"""
    stream_filters: NotRequired[list[Counts]]
    """of filters in order: frames that matched, and of them those lost as oversize, not passing the
    gate, red, and those that were yellow"""
    recovery: NotRequired[dict[str, RecoveryResult]]
    """of streams whose copies end here, by id"""
    clock: NotRequired[Clock]
    """its clock, if PTP sets or distributes it"""


@with_config(CLOSED)
class CwndSeries(TypedDict):
    """The congestion window over time, thinned out."""

    at_s: list[float]
    """true time since the start of the run"""
    cwnd: list[NotNegative]
    """in segments"""
    ssthresh: list[NotNegative | None]
    """in segments; null: none yet"""


@with_config(OPEN)
class TcpResult(TypedDict):
    """A TCP connection in the simulator; counts are of the whole run."""

    goodput_bps: NotNegative
    """payload that came to the application in the window, in order"""
    segments: NotNegative
    """sent, retransmissions included"""
    retransmissions: NotNegative
    """sent again"""
    recoveries: NotNegative
    """times fast recovery began"""
    timeouts: NotNegative
    """times the retransmission timer went off"""
    probes: NotNegative
    """tail loss probes"""
    refused: NotRequired[NotNegative]
    """of the segments those that the host's own qdisc dropped and reported; left out: none"""
    duplicates: NotNegative
    """segments that came to the listener more than once"""
    out_of_order: NotNegative
    """segments that came to it before one that was sent first"""
    srtt_us: Annotated[float, Field(ge=0)]
    """smoothed round-trip time at the end"""
    window: CwndSeries
    """of the talker"""


@with_config(CLOSED)
class Takes(TypedDict):
    """How much of a load its talker takes if it sends nothing else."""

    station: NodeName
    """its talker"""
    frame_ns: AtLeastOne
    """for so long a frame keeps the driver, or the wire, from the next"""
    rate_bps: NotNegative
    """frames with FCS in a second at most"""


@with_config(OPEN)
class LoadResult(TypedDict):
    """A load; counters beside these are of the whole run, and are called as a stream's: `sent` are
    frames that were on the wire, `pending` those without a verdict yet."""

    goodput_bps: NotRequired[NotNegative]
    """frames with FCS that arrived in the window"""
    window_s: NotRequired[Annotated[float, Field(ge=0)]]
    """where the load measured itself: over how long"""
    takes: NotRequired[Takes]
    """in the simulator; absent in results of earlier versions"""
    tcp: NotRequired[TcpResult]
    """kind "tcp" in the simulator"""


@with_config(OPEN)
class PtpFrames(TypedDict):
    """PTP's frames of one kind over the whole run."""

    submitted: NotRequired[NotNegative]
    """handed to a driver"""
    on_wire: NotRequired[NotNegative]
    """sent"""
    pending: NotRequired[NotNegative]
    """still with their senders"""
    delivered: NotRequired[NotNegative]
    """arrived, each listener counted"""
    in_flight: NotRequired[NotNegative]
    """under way, each listener counted"""
    refused: NotRequired[NotNegative]
    """ended without having been sent"""
    lost: NotRequired[Counts]
    """discarded, by place"""


@with_config(CLOSED)
class Onset(TypedDict):
    """The first frame of any stream that is missing or beyond a bound."""

    stream: NodeName
    """its stream"""
    seq: NotNegative
    """its number"""
    txtime_ns: NotNegative
    """requested instant, network time"""


@with_config(CLOSED)
class Cause(TypedDict):
    """By what frames of streams went missing or best effort was lost, and what helps."""

    cause: str
    """the verdict on the frames, the place where they were lost, "babble" or "best effort\""""
    meaning: str
    """what that says"""
    frames: Counts
    """how many, by stream or load"""
    remedy: str
    """what helps"""
    advances_ns: NotRequired[Counts]
    """by stream, advance_ns that the plan's model of the host calls enough"""
    shares: NotRequired[dict[str, Annotated[float, Field(ge=0)]]]
    """of best effort, by load: lost frames by those its talker handed over"""


@with_config(CLOSED)
class RunParts(TypedDict):
    """The run of one driver before it is judged."""

    driver: str
    """what stations under test were"""
    streams: dict[str, StreamResult]
    """streams by id"""
    window_ns: NotRequired[Annotated[list[NotNegative], Field(min_length=2, max_length=2)]]
    """start and end of the time measured, from the start of the run; all rates are over it unless
    an entry has a window_s of its own"""
    stations: dict[str, StationResult]
    """stations by name"""
    bridges: dict[str, BridgeResult]
    """bridges by name"""
    loads: dict[str, LoadResult]
    """loads by id"""
    guest: NotRequired[dict[str, Any]]
    """target vm: kernel, times, script and messages of the guest"""
    host: NotRequired[HostRun]
    """target host: kernel, interfaces, clocks and what programs said"""
    trace_hash: NotRequired[str]
    """over every frame event, in the simulator: equal runs have equal ones"""
    ptp_frames: NotRequired[dict[str, PtpFrames]]
    """PTP's frames by kind of message"""
    causes: NotRequired[list[Cause]]
    """why frames of streams are missing and what best effort lost; absent in results of earlier
    versions"""


@with_config(CLOSED)
class RunResult(RunParts):
    """The run of one driver."""

    outcome: NotRequired[OutcomeName]
    """of the worst stream: missed, no frames, nothing checked, met; only the last exits 0"""
    met: bool
    """outcome is "met\""""
    onset: Onset | None
    """the first frame that is missing or beyond a bound; null: none is"""


@with_config(CLOSED)
class Calibrated(TypedDict):
    """A number that was published, and that the run used."""

    parameter: str
    """what it is"""
    value: float | str
    """its value"""
    source_id: str
    """id of the publication"""
    stations: NotRequired[list[str]]
    """where it was used, with the driver"""


@with_config(CLOSED)
class Chosen(TypedDict):
    """A number that nobody has published, and that the run used."""

    parameter: str
    """what it is"""
    value: float | str
    """its value"""
    why: str
    """why it is what it is"""
    stations: NotRequired[list[str]]
    """where it was used, with the driver"""


@with_config(CLOSED)
class Capture(TypedDict):
    """What is in the capture."""

    driver: str
    """whose run"""
    frames: NotNegative
    """how many"""
    limit: NotNegative
    """how many at most"""
    window_ns: NotRequired[Annotated[list[NotNegative], Field(min_length=2, max_length=2)]]
    """network time from which and to which it has all frames; absent in results of earlier
    versions"""
    note: str
    """which"""


@with_config(CLOSED)
class Result(TypedDict):
    """What was measured; statistics in ns, p99 and the like are values that occurred."""

    schema: Literal["keepon.result/1"]
    """the kind of document"""
    scenario: NodeName
    """name of the scenario"""
    target: TargetName
    """where it was run"""
    seed: NotNegative
    """of everything random"""
    version: str
    """of Keepon"""
    commit: str | None
    """of its sources; null: not known"""
    effective: dict[str, Any]
    """the scenario with all defaults"""
    calibrated: list[Calibrated]
    """published numbers that the runs used"""
    chosen: list[Chosen]
    """unpublished ones"""
    by_construction: list[str]
    """what the runs cannot but show, in sentences"""
    interrupted: bool
    """the user stopped before the last run"""
    judged: str | None
    """driver of the run that decides the exit code"""
    runs: list[RunResult]
    """runs, the judged one first"""
    capture: NotRequired[Capture]
    """what is in the capture"""


_EARLIER_LACK = ("due", "outcome")
"""What results of earlier versions do not have; `outcomes.completed` works it out."""


def read(path: Path) -> Result:
    """A result file, of this version or an earlier one.

    Raises:
        TraceError: it cannot be read, is not JSON, or is no whole result.
    """
    return cast(Result, documents.read_whole(path, RESULT_SCHEMA, Result, _EARLIER_LACK))
