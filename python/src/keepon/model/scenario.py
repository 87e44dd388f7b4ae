# SPDX-License-Identifier: BSD-3-Clause
"""The scenario: network, streams, stations and faults of `keepon.scenario/1`, as read from TOML.

Only what one key can say about itself is checked here; how keys fit together is `loading`'s affair.
Tables about the network and about stations have modules of their own; all can be had from here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from keepon.model import rates
from keepon.model.fields import Name, NameList, Number, Rate, Whole
from keepon.model.networktables import (
    Bridge,
    Defaults,
    GateEntry,
    GateList,
    Link,
    Sync,
    SyncDomain,
)
from keepon.model.redundancy import Frer
from keepon.model.stationtables import (
    Guest,
    HostTable,
    KeeponOptions,
    NicOptions,
    StageOverride,
    Station,
    TrafficClass,
)
from keepon.model.tables import POSITIVE, SECOND_NS, Auto, Table

__all__ = [
    "BRIDGE_CLOCK_ERROR_NS",
    "CLOCK_ERROR_NS",
    "SCENARIO_SCHEMA",
    "Bridge",
    "Compare",
    "Defaults",
    "Fault",
    "GateEntry",
    "GateList",
    "Guest",
    "HostTable",
    "KeeponOptions",
    "Link",
    "Load",
    "NicOptions",
    "PlannerOptions",
    "Scenario",
    "StageOverride",
    "Station",
    "Stream",
    "Sync",
    "SyncDomain",
    "TrafficClass",
]

SCENARIO_SCHEMA = "keepon.scenario/1"

DriverName = Literal["keepon", "standard", "launchtime"]
PlannedDriver = DriverName | Literal["foreign"]
_DAY_S = 86_400

# Stated for clocks that PTP sets, unless the scenario says better: what they keep within with the
# default servo (docs/time.md), rounded up; chosen. Every run checks its frames against the bounds
# that follow.
CLOCK_ERROR_NS = {"keepon": 5_000, "launchtime": 200, "standard": 50_000, "foreign": 0}
# Stated for bridges whose clocks gPTP sets: less than the gap between frames, which their windows
# have to spare; chosen.
BRIDGE_CLOCK_ERROR_NS = 90


# Of the frame of a TCP segment: Ethernet with FCS 18, IPv4 20, TCP 20, time stamps 12 (RFC 7323);
# an ACK has no more. SACK blocks are not counted.
TCP_HEADER_BYTES = 70


def _period_or_rate(schema: dict[str, Any]) -> None:
    """Each of the two keys may be left out where the other is."""
    schema["required"].remove("period_ns")
    schema["anyOf"] = [{"required": ["period_ns"]}, {"required": ["rate_hz"]}]


class Stream(Table):
    """A periodic stream with one talker and one or more listeners (IEEE 802.1Q terms)."""

    model_config = ConfigDict(json_schema_extra=_period_or_rate)

    id: Annotated[str, Name()]
    """Name, unlike that of every other stream and load."""
    talker: Annotated[str, Name()]
    """Station that sends it."""
    listeners: Annotated[list[str], NameList(1, 256)]
    """Stations that receive it, the talker not among them; on all their ports. Of a talker with
    several ports all must be beyond the one that it leaves by (`route`)."""
    period_ns: Annotated[int, Whole(1_000, 10 * SECOND_NS)]
    """Time in ns from one frame to the next; with driver keepon in mode "phase-locked" a multiple
    of the slot time. Left out beside `rate_hz`."""
    rate_hz: Annotated[int | str, Rate()] | None = None
    """Frames a second in place of `period_ns`, where that is no whole number: 4800, or
    "60000/1001" for 59.94. Each frame has the first instant (driver keepon: slot) at or after its
    exact one, counted from the release of the first, so that the rate does not drift. Target sim
    only, if the period is no multiple of 8 ns. Left out: `period_ns` says it."""
    frame_bytes: Annotated[
        int, Whole(64, 9018, remedy="an Ethernet frame with FCS has 64 to 9018 bytes")
    ]
    """Length with FCS. Driver keepon pads it to its slot, or to several in a row
    (`station.keepon.frame_bytes_max`); 1522 at most from or to a station with that driver."""
    tc: Annotated[int, Whole(0, 15)] = 0
    """Traffic class at the talker; with driver keepon one of `station.keepon.classes`."""
    priority: Annotated[int, Whole(0, 7)] = 5
    """Priority (PCP) of the frames. Each bridge has a traffic class for it
    (`bridge.traffic_classes`), not that of `sync.priority` where bridges have gates."""
    deadline_ns: Annotated[int, Whole(1, 10 * SECOND_NS)] | None = None
    """Longest time in ns from the release to the arrival at every listener; plans keep it and runs
    check it. Left out: none is asked for."""
    deadline_at: Literal["first_bit", "last_bit"] = "first_bit"
    """Which bit of a frame arrives within `deadline_ns`: the first behind the SFD, as all other
    times, or the last of the FCS, with what driver keepon pads it to."""
    jitter_ns: Annotated[int, Whole(0, 10 * SECOND_NS, remedy=POSITIVE)] | None = None
    """How far in ns the time between two arrivals at a listener may be from the period, at most the
    period. Plans keep it, and may release frames in turn at instants that differ by as much. Left
    out: nothing is asked for, and all frames are released alike."""
    offset_ns: Annotated[
        int | Auto,
        Whole(0, 10 * SECOND_NS, words=("auto",), remedy=POSITIVE),
    ] = "auto"
    """Release in ns from the start of each period, below the period; with driver keepon the start
    of a slot and 8 byte times. "auto": the plan chooses."""
    advance_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] = 100_000
    """How many ns before its txtime the application sends a frame. If it is left out for a talker
    of driver launchtime, or whose frames an ETF holds back (its own, or that of driver standard and
    `release = "etf"`), it is what ETF and host need, rounded up to 50 us."""
    route: Annotated[Any, NameList(0, 64, words=("auto",), cables=True)] = "auto"
    """Bridges on the way to the first listener, in order; [] for a direct link. "NAME#2": by the
    second link to it from the bridge before, in the order of the file. "auto": the plan chooses
    among the shortest ways (`planner.routes`). A talker with several ports sends by the one
    that this way begins at; with "auto" the shortest does, of equal ones that whose link is listed
    first."""
    redundancy: Annotated[int, Whole(1, 2)] = 1
    """Ways at once (FRER, IEEE Std 802.1CB-2017). 2, to one listener: disjoint in links and
    bridges, but for the first bridge and, where the listener has one link, the last. Target sim
    only."""
    frer: Frer = Field(default_factory=Frer)
    """What tells copies of its frames apart."""

    @model_validator(mode="before")
    @classmethod
    def _with_period(cls, data: Any) -> Any:
        """A rate's period, rounded down to ns."""
        if not isinstance(data, dict) or "rate_hz" not in data or "period_ns" in data:
            return data
        per_s = rates.rate(data["rate_hz"])
        return data | {"period_ns": int(SECOND_NS / per_s) if per_s else SECOND_NS}

    @property
    def turns(self) -> int:
        """Frames after which the stream repeats in whole ns: 1 without a rate."""
        return self._cycle[0]

    @property
    def cycle_ns(self) -> int:
        """The time of as many frames as there are turns."""
        return self._cycle[1]

    @property
    def _cycle(self) -> tuple[int, int]:
        per_s = None if self.rate_hz is None else rates.rate(self.rate_hz)
        return (1, self.period_ns) if per_s is None else rates.cycle(per_s)

    def begin_ns(self, number: int) -> int:
        """Start of the period of a frame, in whole ns; frame 0 begins at 0."""
        turns, cycle_ns = self._cycle
        return number * cycle_ns // turns


START_NS = 10_000_000
"""When loads begin that say nothing else."""


class Load(Table):
    """Best-effort traffic, on the shortest way, by the port of the talker that leads there."""

    id: Annotated[str, Name()]
    """Name, unlike that of every other stream and load."""
    talker: Annotated[str, Name()]
    """Station that sends it."""
    listener: Annotated[str, Name()]
    """Station that receives it."""
    kind: Literal["udp", "tcp", "saturate"] = "udp"
    """"udp": frames at `rate_bps`. "saturate": as many as the talker takes (in target vm: UDP at
    `rate_bps`). "tcp": one connection, as fast as TCP finds out; the listener answers with ACKs in
    the same class and priority (docs/model.md)."""
    rate_bps: Annotated[int, Whole(1_000, 100_000_000_000)] = 100_000_000
    """Bits a second of the frames with FCS, preamble and gap not counted. Not used for "tcp", and
    by the simulator not for "saturate"."""
    frame_bytes: Annotated[int, Whole(64, 9018)] = 1518
    """Length with FCS; of slots that the plan chooses one holds it, or several in a row, and from
    or to a station with driver keepon it is 1522 at most. With "tcp" in the simulator above 70, a
    segment's headers; in targets vm and host TCP chooses."""
    start_ns: Annotated[int, Whole(0, 1_000_000_000_000)] = START_NS
    """When it begins, in ns from the start of the run. Target sim only."""
    congestion: Literal["cubic", "reno"] = "cubic"
    """Congestion control of kind "tcp"."""
    tc: Annotated[int, Whole(0, 15)] = 7
    """Traffic class at the talker; with driver keepon one with `slots = "rest"` or a list, and not
    that of a stream (unless `release` is "sleep"), whose frames would wait behind it."""
    priority: Annotated[int, Whole(0, 7)] = 0
    """Priority (PCP) of the frames. Where they meet streams, their traffic class must not be
    theirs at a port with gates, and must be below theirs at a port without."""

    def answers(self) -> list[Load]:
        """What goes back from the listener: the ACKs of TCP."""
        if self.kind != "tcp":
            return []
        changed = {
            "talker": self.listener,
            "listener": self.talker,
            "frame_bytes": TCP_HEADER_BYTES,
        }
        return [self.model_copy(update=changed)]


class Fault(Table):
    """Something that goes wrong at a stated time; docs/simulator.md says what each kind does.

    Plans and their trials know nothing of faults.
    """

    at_s: Annotated[float, Number(0.0, float(_DAY_S))]
    """When, in s from the start of the run, warm-up included."""
    kind: Annotated[str, Name()]
    """"poll-stall", "clock-step", "link-down", "late-submit", "wire-pause"; in the simulator, on a
    station that has `host.cores`, also "cpu-stall"; with `sync.mode` "ptp" or "gptp" also
    "lost-sync" and "master-change", not in target vm, and "babble", which only the simulator has.
    Target host makes "late-submit" only."""
    node: Annotated[str, Name()]
    """Node it happens to: a station; of "lost-sync" and "master-change" also a bridge. Of
    "poll-stall", "link-down" and "wire-pause" a port (`NAME.0`), where the station has several. Of
    "link-down" in the simulator also a bridge, with `peer`."""
    peer: Annotated[str, Name(cables=True)] | None = None
    """The node at the other end of the bridge's link that is down, behind the first link of the
    same two bridges with its number (`rear#2`). Left out: the link of the station."""
    value_ns: Annotated[int, Whole(-(2**62), 2**62)] = 0
    """For how long, or by how much, in ns; only a "clock-step" may be negative, and "wire-pause"
    is at most 1000 s. "master-change" does not use it. Of "babble" it is the time from one frame
    too many to the next."""


class PlannerOptions(Table):
    """How `keepon plan` decides."""

    isolation: Literal["frame", "order"] = "frame"
    """In the queue of a port with gates: "frame" lets a frame in only when the one before it has
    left, so that a frame that is lost changes nothing for others; "order" only keeps them in the
    order of their windows, which leaves no gaps between windows. Neither helps against a frame
    that comes after its window (docs/planning.md)."""
    routes: Annotated[int, Whole(1, 16)] = 3
    """Ways tried for each stream, the shortest first."""


class Compare(Table):
    """Drivers the stations "under-test" take in turn. Needed if there is such a station."""

    drivers: list[DriverName] = Field(min_length=1)
    """One run each, in this order; the first one is judged, the others are its peers."""


class Scenario(Table):
    """A whole scenario: one TOML file."""

    model_config = ConfigDict(title=SCENARIO_SCHEMA)

    schema_id: Literal["keepon.scenario/1"] = Field(alias="schema")
    """What the file is."""
    name: Annotated[str, Name()]
    """Name of the scenario, in reports and file names."""
    duration_s: Annotated[
        float, Number(0.001, float(_DAY_S), remedy="a run measures at least one millisecond")
    ] = 10.0
    """How long is measured, in s, after the warm-up."""
    warmup_s: Annotated[float, Number(0.0, 3600.0, remedy="times are not negative")] = 0.2
    """How long a run lasts before anything is measured, in s. With PTP streams begin after half of
    it; clocks of driver keepon take some 10 s to settle, those of driver standard 37 s to their
    first correction (servo "pi" at 125 ms)."""
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 1
    """Of everything random; same seed, same run."""
    host_tail_scale: Annotated[float, Number(0.0, 1000.0)] = 1.0
    """Multiplies mean and cap of the tails of all hosts; 0: no tails."""
    notes: list[str] = Field(default_factory=list)
    """Sentences shown in reports: what was inferred, what chosen."""
    defaults: Defaults = Field(default_factory=Defaults)
    """Values of links that do not state their own."""
    sync: Sync = Field(default_factory=Sync)
    """How clocks agree."""
    station: list[Station] = Field(min_length=1)
    """End stations."""
    bridge: list[Bridge] = Field(default_factory=list)
    """Bridges between them."""
    link: list[Link] = Field(default_factory=list)
    """Links; every station needs one, and may have several."""
    stream: list[Stream] = Field(default_factory=list)
    """Scheduled streams, of one frame a period."""
    load: list[Load] = Field(default_factory=list)
    """Best-effort traffic."""
    fault: list[Fault] = Field(default_factory=list)
    """Faults of the run."""
    compare: Compare | None = None
    """Drivers that are compared. Left out: one run, with the drivers that stations state."""
    planner: PlannerOptions = Field(default_factory=PlannerOptions)
    """What `keepon plan` tries."""

    def best_effort(self) -> list[tuple[int, Load]]:
        """Loads and what answers them, each with the place of the load in the file."""
        numbered = list(enumerate(self.load))
        return numbered + [(i, back) for i, load in numbered for back in load.answers()]

    def load_flows(self) -> dict[str, Load]:
        """Loads, and what answers them, by what the simulator calls their frames."""
        answers = {f"{load.id} acks": back for load in self.load for back in load.answers()}
        return {load.id: load for load in (*self.load, *self.babbled())} | answers

    def babbled(self) -> list[Load]:
        """Frames of faults "babble": more of the first stream of its node, without txtimes."""
        found = []
        for number, fault in enumerate(self.fault):
            own = [stream for stream in self.stream if stream.talker == fault.node]
            if fault.kind != "babble" or not own:
                continue
            first = own[0]
            found.append(
                Load.model_construct(  # its start and rate have other ranges than a load's
                    id=f"{first.id} babble {number}", talker=first.talker,
                    listener=first.listeners[0], frame_bytes=first.frame_bytes,
                    rate_bps=first.frame_bytes * 8 * SECOND_NS // fault.value_ns,
                    start_ns=round(fault.at_s * SECOND_NS), tc=first.tc, priority=first.priority,
                )
            )  # fmt: skip
        return found

    def station_named(self, name: str) -> Station:
        """The station called `name`; KeyError if there is none."""
        for station in self.station:
            if station.name == name:
                return station
        raise KeyError(name)

    def drivers(self) -> list[str]:
        """What the runs are called, the judged one first.

        With stations under test: the drivers they take in turn. Otherwise there is one run, called
        by the driver of the talkers, or "as-configured" if they differ.
        """
        if self.compare is not None:
            return list(dict.fromkeys(self.compare.drivers))
        talkers = {stream.talker for stream in self.stream}
        own = {station.driver for station in self.station if station.name in talkers}
        own = own - {"foreign"} or own
        return [next(iter(own))] if len(own) == 1 else ["as-configured"]

    def clock_error_ns(self, station: Station, driver: str) -> int:
        """How far the clock of `station` may be from network time, as stated; 0 where PTP does not
        set it.

        What is stated for a driver knows nothing of links, so asymmetric ones are added; what is
        stated for the station is the whole.
        """
        if not self.sync.by_ptp:
            return 0
        if station.clock_error_ns != "auto":
            return int(station.clock_error_ns)
        return CLOCK_ERROR_NS[driver] + self.asymmetry_error_ns(station.name)

    def asymmetry_error_ns(self, node: str) -> int:
        """How far asymmetric links move the clock of `node`, in ns rounded up; the worst of all
        grandmasters.

        PTP takes both ways for equally long: each link moves the clock beyond it by half the
        difference, and links may cancel (IEEE Std 1588-2019 clause 7.4.2). 0 where PTP does not set
        it.
        """
        if not self.sync.by_ptp or self.sync.grandmaster is None:
            return 0
        if not any(link.asymmetry_ns for link in self.link):
            return 0
        masters = {
            self.sync.grandmaster,
            *(fault.node for fault in self.fault if fault.kind == "master-change"),
        }
        return max(-(-abs(self._asymmetry_ns(master).get(node, 0)) // 2) for master in masters)

    def _asymmetry_ns(self, master: str) -> dict[str, int]:
        """By how much longer the way from `master` to each node is than the way back, over the tree
        that Sync takes.
        """
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
