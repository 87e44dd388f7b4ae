# SPDX-License-Identifier: BSD-3-Clause
"""The document `keepon.plan/1`: slots, partitions, release times, gate lists and bounds.

It is a plain dictionary at run time and JSON in a file; these types are what it holds, and
`schemas/plan.schema.json` is made of them (keepon.model.document_schemas). Times are network time
at the reference plane, the first bit after the SFD.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, cast

from pydantic import ConfigDict, Field, with_config
from pydantic.config import JsonDict

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.model import documents
from keepon.model.typed import (
    CLOSED,
    AtLeastOne,
    FrameBytes,
    NodeName,
    NotNegative,
    PortName,
    WireFrameBytes,
    checked,
    together,
    wrong,
)

PLAN_SCHEMA: Final = "keepon.plan/1"

Status = Literal["feasible", "infeasible", "unknown"]
Route = list[PortName]
LoadKind = Literal["udp", "tcp", "saturate"]
# The checker counts in 64 bits.
Instant = Annotated[int, Field(ge=-(10**18), le=10**18)]
ClassMask = Annotated[int, Field(ge=0, le=65_535)]


@with_config(CLOSED)
class PlannedClass(TypedDict):
    """What a station does with frames of one traffic class."""

    late: Literal["strict", "relaxed", "reschedule"]
    """what becomes of a frame that is late"""
    round: Literal["up", "floor"]
    """which slot a txtime between two slots means"""
    frame_bytes_max: NotRequired[NotNegative]
    """longest frame that its rows of slots carry, FCS included; where frames take several slots"""


@with_config(CLOSED)
class TalkedStream(TypedDict):
    """A stream at its talker."""

    tc: Annotated[int, Field(ge=0, le=15)]
    """traffic class"""
    offset_ns: NotNegative
    """release of a frame from the start of its period on"""


@with_config(CLOSED)
class Headroom(TypedDict):
    """What the streams leave of a station, and what its polls may take."""

    best_effort_bps: NotNegative
    """rate left to best effort, frames with FCS"""
    payload_efficiency: Annotated[float, Field(ge=0, le=1)]
    """bytes of the streams' frames by the bytes that they own on the wire"""
    poll_budget_ns: int
    """how long posted slots last"""
    trim_slots: NotNegative
    """slots of a partition that may be made longer or shorter"""
    batch_time_ns: NotRequired[AtLeastOne]
    """time of the slots posted at once"""
    poll_interval_ns: NotRequired[AtLeastOne]
    """from poll to poll"""
    poll_late_ns_max: NotRequired[int]
    """how late a poll may be before the wire runs out of slots"""
    cpu_share: NotRequired[Annotated[float, Field(ge=0, le=1)]]
    """what the poll thread takes of one core"""
    lead_time_ns: NotRequired[AtLeastOne]
    """from the hand-over to the driver to the txtime, at least, so that no frame is late"""


@with_config(CLOSED)
class Reason(TypedDict):
    """Why a parameter of a station is what it is."""

    rule: str
    """the requirement's short name in docs/planner.md"""
    quantity: str
    """the parameter and its figure"""
    why: str
    """what it follows from"""


_SLOTTED = (
    "mode slot_bytes slot_time_ps preamble_ps ring_slots partition_slots batch_slots depth_slots"
    " allowed classes headroom"
)


@together(_SLOTTED)
class PlannedStation(TypedDict):
    """A port of a talker; most have one. Only `driver` and `streams` are there where nothing is
    slotted."""

    driver: Literal["keepon", "standard", "launchtime", "foreign"]
    """what the plan is made for"""
    streams: dict[str, TalkedStream]
    """its streams by id, in order of release"""
    apart_ns: NotRequired[AtLeastOne]
    """least distance of its releases: what its host needs for a frame behind ETF"""
    peer: NotRequired[str]
    """who is at the other end of its link; of a station with several ports"""
    mode: NotRequired[Literal["phase-locked", "paper"]]
    """slots on the grid of network time, or running free"""
    slot_bytes: NotRequired[FrameBytes]
    """length of a slot's frame, FCS included"""
    frame_bytes_max: NotRequired[FrameBytes]
    """longest frame, FCS included, of those that take several slots; absent if none does"""
    slot_time_ps: NotRequired[AtLeastOne]
    """length of a slot, preamble and gap included"""
    preamble_ps: NotRequired[AtLeastOne]
    """from the start of a slot to the reference plane"""
    ring_slots: NotRequired[Annotated[int, Field(ge=8, le=4096)]]
    """descriptors of the transmit ring"""
    partition_slots: NotRequired[Annotated[int, Field(ge=1, le=65_536)]]
    """slots after which their owners repeat"""
    batch_slots: NotRequired[AtLeastOne]
    """slots posted at once"""
    depth_slots: NotRequired[AtLeastOne]
    """slots posted ahead of the wire"""
    poll_overhead_ns: NotRequired[NotNegative]
    """what a poll takes"""
    placeholder: NotRequired[str]
    """what is sent in slots that nobody uses"""
    allowed: NotRequired[Annotated[list[ClassMask], Field(min_length=1)]]
    """classes that may use each slot of the partition, as masks"""
    classes: NotRequired[dict[str, PlannedClass]]
    """traffic classes by number"""
    headroom: NotRequired[Headroom]
    """what is left"""
    rationale: NotRequired[list[Reason]]
    """why the parameters are what they are"""


@with_config(CLOSED)
class GateEntry(TypedDict):
    """A part of a gate list's cycle."""

    gates: Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{1,2}$")]
    """open gates, one bit per queue"""
    ns: AtLeastOne
    """for how long"""
    hold: NotRequired[Literal[True]]
    """Set-And-Hold-MAC: no preemptable frame is on the wire; Set-And-Release-MAC without it"""


@together("cycle_ns base_ns entries")
class PlannedPort(TypedDict):
    """A port of a bridge; without `entries` its gates are always open."""

    queues: dict[str, Annotated[int, Field(ge=0, le=7)]]
    """queue of each stream, by id"""
    cycle_ns: NotRequired[AtLeastOne]
    """length of the gate list's cycle"""
    base_ns: NotRequired[NotNegative]
    """when a cycle starts"""
    entries: NotRequired[Annotated[list[GateEntry], Field(min_length=1)]]
    """the gate list"""


@with_config(CLOSED)
class PlannedGateInterval(TypedDict):
    """A part of a stream gate's cycle."""

    open: bool
    """whether frames pass"""
    ns: AtLeastOne
    """for how long"""
    priority: NotRequired[Annotated[int, Field(ge=0, le=7)]]
    """internal priority value of frames that pass; absent: their own priority"""
    octets: NotRequired[NotNegative]
    """of MSDUs that pass in it"""


@with_config(CLOSED)
@together("base_ns entries")
@together("cir_bps cbs_bytes")
class PlannedFilter(TypedDict):
    """The stream filter of one stream, with a stream gate, a flow meter, or neither."""

    stream: str
    """id"""
    max_sdu_bytes: NotNegative
    """longest MSDU"""
    base_ns: NotRequired[NotNegative]
    """when a cycle of the stream gate starts, by the bridge's clock"""
    entries: NotRequired[Annotated[list[PlannedGateInterval], Field(min_length=1)]]
    """its list; a cycle is as long as all of them"""
    cir_bps: NotRequired[AtLeastOne]
    """committed rate of a flow meter"""
    cbs_bytes: NotRequired[AtLeastOne]
    """its committed burst"""


@with_config(CLOSED)
class PlannedScheduler(TypedDict):
    """The ATS scheduler of a stream."""

    stream: str
    """id"""
    cir_bps: AtLeastOne
    """committed information rate, frames with preamble and gap"""
    cbs_bytes: AtLeastOne
    """committed burst size"""
    max_residence_ns: AtLeastOne
    """how long a frame may wait for its eligibility time; what would wait longer is discarded"""


@with_config(CLOSED)
class PlannedCycles(TypedDict):
    """Cycles of cyclic queuing and forwarding."""

    cycle_ns: AtLeastOne
    """length of a cycle; one begins at 0"""
    buffers: Annotated[int, Field(ge=2, le=3)]
    """queues of a port that take turns"""
    clock_error_ns: NotNegative
    """how far its clock may be from those of its neighbours, before frames change cycles"""


@with_config(CLOSED)
class PlannedBridge(TypedDict):
    """A bridge."""

    ports: dict[str, PlannedPort]
    """ports that streams leave by, by neighbour"""
    stream_filters: NotRequired[list[PlannedFilter]]
    """of per-stream policing (`bridge.police`), or of cyclic queuing and forwarding"""
    schedulers: NotRequired[list[PlannedScheduler]]
    """of asynchronous traffic shaping (`bridge.shaper`)"""
    cqf: NotRequired[PlannedCycles]
    """cyclic queuing and forwarding (`bridge.gates`)"""


@with_config(CLOSED)
class Bounds(TypedDict):
    """What is promised of a stream's frames; null: nothing."""

    release_error_ns: NotNegative | None
    """from the txtime to the reference plane at the talker, to either side"""
    delay_min_ns: NotRequired[int | None]
    """earliest instant at which a frame can be there; absent in plans of earlier versions"""
    delay_ns: NotNegative | None
    """from the txtime to the latest instant at which a frame is there"""
    application_ns: NotRequired[int]
    """from the txtime to the latest instant at which the application of a guest has read a frame;
    absent where no guest listens, or one shares cores"""
    jitter_ns: NotNegative | None
    """how far the times between successive frames deviate from the period"""
    data_age_ns: NotNegative | None
    """from the hand-over by the talker's program to the latest instant at which a frame is there"""


@with_config(CLOSED)
class DelayTerms(TypedDict):
    """What the planned delay is made of; the sum is the delay."""

    frame_ps: int
    """frames being received whole before they are passed on"""
    processing_ps: int
    """bridges' processing"""
    propagation_ps: int
    """cables"""
    preamble_ps: int
    """preambles sent again by bridges"""
    quantum_ps: int
    """by how much the talker's driver is late"""
    clock_ps: NotNegative
    """by how much its clock is off"""
    held_ps: int
    """waiting for gates"""
    blocked_ps: NotNegative
    """waiting for frames in flight"""


@with_config(CLOSED)
class PlannedWindow(TypedDict):
    """When a stream's frame starts to leave a bridge, in every period."""

    bridge: NodeName
    """the bridge"""
    peer: PortName
    """its neighbour behind the port"""
    open_ps: Instant
    """earliest start"""
    last_ps: Instant
    """latest start"""
    length_ps: Annotated[int, Field(ge=1, le=10**18)]
    """from the earliest start to the end of a frame that starts latest"""
    turn: NotRequired[NotNegative]
    """which of the frames in turn, if their releases differ"""


@with_config(CLOSED)
class PlannedStream(TypedDict):
    """A stream's way, release, bounds and windows."""

    route: Route
    """bridges to the listener that is reached last"""
    routes: dict[str, Route]
    """bridges to each listener"""
    second_route: NotRequired[Route]
    """bridges of the other way to its one listener; with `redundancy = 2`"""
    release_ns: NotNegative
    """release of a frame from the start of its period on"""
    release_early_ps: Instant
    """how early a frame can leave its talker, negative"""
    release_late_ps: Instant
    """how late"""
    frame_bytes_on_wire: WireFrameBytes
    """length with padding, FCS included"""
    frame_slots: NotRequired[Annotated[int, Field(ge=2, le=128)]]
    """slots in a row that a frame takes; absent if it is one"""
    padding_ps: NotRequired[NotNegative]
    """by how much earlier a frame can come if its driver does not pad it to the slot, at most;
    absent in plans of earlier versions"""
    advance_in_time_ns: NotRequired[NotNegative]
    """advance_ns with which its frames are in time even if the host takes as long as its model
    knows; absent where nothing is slotted, or a qdisc holds frames back"""
    delay_planned_ps: int
    """greatest delay, from the txtime on"""
    bounds: Bounds
    """what is promised"""
    last_bit_ns: NotRequired[NotNegative]
    """delay_ns to the last bit of a frame, where its deadline is of that"""
    terms: DelayTerms
    """what the delay is made of"""
    windows: list[PlannedWindow]
    """when frames leave bridges"""
    turns_ns: NotRequired[Annotated[list[NotNegative], Field(min_length=2)]]
    """releases of the frames in turn, each from the start of its own period on"""


@with_config(CLOSED)
class BestFound(TypedDict):
    """How far the search came."""

    placed: NotNegative
    """streams that have a place"""
    of: AtLeastOne
    """streams"""
    missing: list[str]
    """those without a place"""
    not_tried: NotRequired[list[str]]
    """those of them for which no place was looked for to the end, as the time was over"""
    releases_ns: dict[str, NotNegative]
    """releases of those with one"""


@with_config(CLOSED)
class Why(TypedDict):
    """Why there is no plan."""

    constraint: str
    """what cannot be kept, in a word"""
    message: str
    """a sentence for the user"""
    streams: list[NodeName]
    """the streams concerned"""
    nearest_change: str
    """what would help"""
    best: NotRequired[BestFound]
    """of a search that came to no end"""


@with_config(CLOSED)
class Trial(TypedDict):
    """The run in the simulator that the plan has passed."""

    duration_s: Annotated[float, Field(gt=0)]
    """time measured"""
    delivered: NotNegative
    """frames within every bound"""
    unsent: dict[str, dict[str, AtLeastOne]]
    """frames by stream and reason that were not sent in time, or came after their deadline, and no
    bound of the plan is broken"""
    behind: NotRequired[dict[str, LoadKind]]
    """of these reasons those that are best effort, with its kind"""
    repeats_s: NotRequired[Annotated[float, Field(gt=0)]]
    """time after which streams and gates of talkers repeat, where that is longer"""


@with_config(CLOSED)
class Draft(TypedDict):
    """A plan before it is known how long it took."""

    schema: Literal["keepon.plan/1"]
    """the kind of document"""
    scenario: NodeName
    """name of the scenario"""
    status: Status
    """"unknown": neither a plan nor a proof that there is none was found"""
    method: str
    """how it was found"""
    stations: dict[str, PlannedStation]
    """talkers by name; of one with several ports the ports, `NAME.0`, `NAME.1` ... in the order of
    its links"""
    bridges: dict[str, PlannedBridge]
    """bridges by name"""
    streams: dict[str, PlannedStream]
    """streams by id"""
    why: NotRequired[Why]
    """why there is no plan; there unless it is feasible"""
    kept: NotRequired[list[str]]
    """streams that stayed where an earlier plan has them"""
    verified: NotRequired[bool]
    """the independent checker found nothing wrong; there if it is feasible"""
    trial: NotRequired[Trial]
    """the run in the simulator that it has passed"""
    not_tried: NotRequired[str]
    """the sentence on why there is no trial; the plan was checked"""


_IF_NOT_FEASIBLE: JsonDict = {
    "if": {"properties": {"status": {"enum": ["infeasible", "unknown"]}}},
    "then": {"required": ["why"]},
}
_IF_FEASIBLE: JsonDict = {
    "if": {"properties": {"status": {"const": "feasible"}}},
    "then": {"required": ["verified"], "properties": {"verified": {"const": True}}},
}


def _check_status(plan: dict[str, Any]) -> None:
    if plan["status"] == "feasible" and plan.get("verified") is not True:
        raise wrong("verified", "must be true")
    if plan["status"] != "feasible" and "why" not in plan:
        raise wrong("why", f'must be there as `status` is "{plan["status"]}"')


@checked(
    _check_status,
    ConfigDict(**CLOSED, json_schema_extra={"allOf": [_IF_NOT_FEASIBLE, _IF_FEASIBLE]}),
)
class Plan(Draft):
    """Slots, partitions, releases, gate lists and bounds; network time at the reference plane."""

    seconds: Annotated[float, Field(ge=0)]
    """how long planning took"""


def ways_of(entry: PlannedStream) -> list[tuple[str, Route]]:
    """Listeners and bridges on the way to them; of one with two ways both."""
    ways = list(entry["routes"].items())
    if "second_route" in entry:
        ways += [(listener, entry["second_route"]) for listener in entry["routes"]]
    return ways


def empty(scenario: str, status: Status, method: str) -> Draft:
    """A plan without stations, bridges and streams."""
    return {
        "schema": PLAN_SCHEMA,
        "scenario": scenario,
        "status": status,
        "method": method,
        "stations": {},
        "bridges": {},
        "streams": {},
    }


def read(path: Path) -> Plan:
    """A plan file, of which no more than its kind has been looked at.

    Raises:
        TraceError: it cannot be read, is not JSON, or is no plan.
    """
    return cast(Plan, documents.read(path, PLAN_SCHEMA))
