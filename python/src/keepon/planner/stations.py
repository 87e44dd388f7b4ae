# SPDX-License-Identifier: BSD-3-Clause
"""Slot size, partition, ring, batch and depth of one port of a station, and the release error of
its driver. Most stations have one port.

The order follows KeepON paper section A.10: slot and partition first, then the batch;
keepon.planner.parameters has the rules and the reasons. Stations "under-test" are planned as keepon
with frames at their padded length, so that all drivers are compared with the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from keepon.errors import ConfigError
from keepon.model import launchtime
from keepon.model.plan import Headroom, Reason
from keepon.model.scenario import PlannedDriver, Scenario, Station, Stream
from keepon.model.slotting import misfit, wrong_length
from keepon.model.spans import Spans
from keepon.model.topology import Port, Topology, Wire
from keepon.model.wire import (
    OVERHEAD_BYTES,
    PS_PER_NS,
    byte_time_ps,
    preamble_time_ps,
    wire_time_ps,
)
from keepon.planner.parameters import (
    besteffort,
    lead,
    partitions,
    polls,
    posting,
    rationale,
    sizes,
    synchronisation,
    trims,
)
from keepon.planner.parameters.hardware import host_for
from keepon.planner.parameters.needs import Choice, Needs
from keepon.planner.parameters.partitions import Chosen

LAUNCH_QUANTUM_PS = 32_000
"""i210: the comparator ignores the lower five bits of the nanoseconds (keepon.granularity)."""
PTP_FRAME_BYTES_MAX = 128
"""Longest IEEE 802.1AS or 1588 message with FCS, without TLVs beyond those of the two standards."""
CLOCK_ROUNDING_PS = 1_000
"""Rounding of a whole-nanosecond txtime to the core's grid."""
CRYSTAL_PARTS_MIN = 500
"""A crystal error is less than 1 / CRYSTAL_PARTS_MIN, wander included (station.clock_ppm)."""
CRYSTAL_SLACK_PPM = 0.25
"""Rates multiply: the rates of two crystals of 1000 ppm differ by 0.2 ppm more or less than the sum
of their errors.
"""
CRYSTAL_ROUNDING_PS = 2
"""Rounding of a crystal's instants to whole ps."""


@dataclass(frozen=True)
class StationPlan:
    """Parameters of a talker's port before its streams are placed. Times in ps, lengths incl. FCS.

    `apart_ps`: distance of releases at which the host hands over one frame after the other; 0: any.

    `choice` and the fields after it hold the reasons (None, or empty, for a port without slots).
    """

    station: Station
    port: Port
    planned_driver: PlannedDriver
    mode: str
    slot_bytes: int
    slot_ps: int
    ring_slots: int
    partition_slots: int
    batch_slots: int
    depth_slots: int
    poll_overhead_ns: int
    grid_ps: int
    phase_ps: int
    error_low_ps: int
    error_high_ps: int
    bounded: bool
    apart_ps: int = 0
    needs: Needs | None = field(default=None, compare=False, repr=False)
    choice: Choice | None = field(default=None, compare=False, repr=False)
    chosen: Chosen | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the port: that of the station if it has one port."""
        return self.port.name

    @property
    def wire(self) -> Wire:
        return self.port.wire

    @property
    def is_slotted(self) -> bool:
        return self.planned_driver == "keepon"

    @property
    def lead_time_ns(self) -> int:
        """Least time from the hand-over to the driver to the txtime with which no frame is late; 0
        for a port without slots.
        """
        return self.choice.lead_ns if self.choice is not None else 0

    def rounding(self, tc: int) -> str:
        """Rounding of a txtime off the grid: "up" or "floor"."""
        return next((entry.round for entry in self.station.keepon.classes if entry.tc == tc), "up")

    @property
    def spans(self) -> Spans | None:
        """How many slots a frame takes, by its length; None for a port without slots."""
        return None if self.choice is None else self.choice.spans

    def slots_of(self, stream: Stream) -> int:
        """Consecutive slots of a frame of a slotted station."""
        return 1 if self.spans is None else self.spans.of(stream.frame_bytes).slots

    def planned_frame_bytes(self, stream: Stream) -> int:
        """Length on the wire: keepon pads a frame to its slot, or to the last of several."""
        return (
            stream.frame_bytes
            if self.spans is None
            else self.spans.of(stream.frame_bytes).frame_bytes
        )

    def longest_on_wire(self, frame_bytes: int) -> int:
        """Greatest length on the wire of all frames up to this length."""
        return frame_bytes if self.spans is None else self.spans.longest_on_wire(frame_bytes)

    def sizes_left(self) -> tuple[int, ...]:
        """Slot lengths to try after this one: shorter, with shorter frames or a finer grid."""
        sizes = () if self.chosen is None else self.chosen.sizes
        if self.slot_bytes not in sizes:
            return ()
        later = sizes[sizes.index(self.slot_bytes) + 1 :]
        return tuple(size for size in later if size < self.slot_bytes)

    def taken_ps(self, stream: Stream) -> int:
        """Time of a frame on its talker's wire: its slots, or the frame with preamble and gap."""
        if self.spans is None:
            return wire_time_ps(stream.frame_bytes, self.wire.rate_bps)
        return self.slots_of(stream) * self.slot_ps


def planned_driver(station: Station) -> PlannedDriver:
    """The driver that the plan assumes."""
    return "keepon" if station.driver == "under-test" else station.driver


def _granularity_room_ns(
    scenario: Scenario, station: Station, master_ns: Fraction | None
) -> Fraction | None:
    """The most that half of the granularity of a station's clock may be: what Eq. 4 leaves after
    stamps and grandmaster.

    A grandmaster with slots takes half of what the talkers that follow it have.
    """
    if not scenario.sync.by_ptp:
        return None
    talkers = {stream.talker for stream in scenario.stream}
    rooms = {
        other.name: synchronisation.room_ns(
            scenario, other, scenario.clock_error_ns(other, "keepon")
        )
        for other in scenario.station
        if planned_driver(other) == "keepon"
        and other.name in talkers
        and other.name != scenario.sync.grandmaster
    }
    if station.name == scenario.sync.grandmaster:
        return min(rooms.values()) / 2 if rooms else None
    return rooms[station.name] - (master_ns or Fraction(0)) / 2 if station.name in rooms else None


def _needs(
    scenario: Scenario, station: Station, port: Port, topology: Topology, master_ns: Fraction | None
) -> Needs:
    ports = topology.ports_of(station.name)
    host = host_for(scenario, station, len(ports))
    return Needs(
        scenario=scenario,
        station=station,
        name=port.name,
        index=next(
            index for index, entry in enumerate(scenario.station) if entry.name == station.name
        ),
        rate_bps=port.wire.rate_bps,
        streams=tuple(topology.streams[port.name]),
        loads=tuple(topology.loads[port.name]),
        beside=tuple(
            stream for other in ports if other != port for _, stream in topology.streams[other.name]
        ),
        host=host,
        way=lead.hand_over(station, host),
        budget_ns=scenario.clock_error_ns(station, "keepon") if scenario.sync.by_ptp else None,
        master_ns=master_ns,
        room_ns=_granularity_room_ns(scenario, station, master_ns),
        counted=_is_counted(scenario, port.peer),
    )


def _is_counted(scenario: Scenario, peer: str) -> bool:
    """Whether the neighbour counts slots that it receives."""
    return any(
        entry.name == peer and planned_driver(entry) == "keepon" and entry.keepon.clock == "dual"
        for entry in scenario.station
    )


def _other_driver(
    scenario: Scenario, station: Station, port: Port, topology: Topology, driver: PlannedDriver
) -> StationPlan:
    launch = driver == "launchtime"
    clock_ps = scenario.clock_error_ns(station, driver) * PS_PER_NS
    # After a match a launch waits for the wire's next byte, whose phase to the PHC is arbitrary,
    # and for a frame without txtime that has begun.
    wire = port.wire
    others = [load.frame_bytes for _, load in topology.loads[port.name]]
    others += [PTP_FRAME_BYTES_MAX] if scenario.sync.by_ptp else []
    before_ps = wire_time_ps(max(others), wire.rate_bps) if others else 0
    if launch:
        launchtime.check_advances(scenario, station, topology.streams[port.name])
    return StationPlan(
        station=station, port=port, planned_driver=driver, mode=driver,
        slot_bytes=0, slot_ps=0, ring_slots=0, partition_slots=0, batch_slots=0, depth_slots=0,
        poll_overhead_ns=0,
        grid_ps=LAUNCH_QUANTUM_PS if launch else PS_PER_NS, phase_ps=0,
        error_low_ps=-(_short_preamble_ps(scenario, station, wire) if launch else 0) - clock_ps,
        error_high_ps=(LAUNCH_QUANTUM_PS + byte_time_ps(wire.rate_bps) + before_ps
        if launch else 0) + clock_ps,
        bounded=launch and scenario.sync.mode != "none" and station.release != "sleep"
        and not launchtime.early_by_etf(scenario, station)
        and not launchtime.overruns(station, [load for _, load in topology.loads[port.name]]),
        apart_ps=PS_PER_NS * launchtime.apart_ns(
            scenario, station, driver, [stream for _, stream in topology.streams[port.name]]
        ),
    )  # fmt: skip


def _one_clock(scenario: Scenario, station: Station) -> bool:
    """Whether the NIC's crystal is the network time."""
    return scenario.sync.mode == "ideal" and not station.clock_ppm and not station.wander_ppb_per_s


def _short_preamble_ps(scenario: Scenario, station: Station, wire: Wire) -> int:
    """How much earlier than planned the preamble of a punctual frame may end.

    The NIC derives the launch from the txtime in whole ns (25.6 at 2.5 Gb/s: 26), by a crystal that
    is fast by at most 1 / 500, and rounds instants.
    """
    preamble_ps = preamble_time_ps(wire.rate_bps)
    if _one_clock(scenario, station):
        return -preamble_ps % PS_PER_NS
    return preamble_ps // CRYSTAL_PARTS_MIN + CRYSTAL_ROUNDING_PS


def choose(
    scenario: Scenario,
    station: Station,
    port: Port,
    topology: Topology,
    master: StationPlan | None = None,
    sizes_tried: tuple[int, ...] = (),
) -> StationPlan:
    """Choose the parameters of a talker's port.

    Args:
        scenario, station, port: the port.
        topology: topology of the scenario.
        master: the grandmaster, if it is another station; with slots, the granularity of its stamps
            is that of its clock.
        sizes_tried: slot lengths to try; empty: all.

    Raises:
        ConfigError: no slot time fits the periods, stated values contradict each other, polls
            cannot sustain them, or a stream is handed over too late for its slot.
        InfeasibleError: no slot size and partition give every class slots of its own.
    """
    driver = planned_driver(station)
    if driver != "keepon":
        return _other_driver(scenario, station, port, topology, driver)
    master_ns = None
    if master is not None and master.needs is not None and master.choice is not None:
        master_ns = posting.granularity_ns(master.needs, master.choice)
    needs = replace(_needs(scenario, station, port, topology, master_ns), sizes=sizes_tried)
    _check_crystals(needs)
    found = [wrong_length(scenario, needs.index)]
    found += [misfit(scenario, index) for index, _ in needs.streams]
    for key, value, expectation in filter(None, found):
        path, _, owner = key.partition(" ")
        raise ConfigError(f"key `{path}` {owner} = {value}: {expectation}")
    partitions.check_best_effort(needs)
    choice, chosen = sizes.choose(needs)
    sizes.check_lengths(needs, choice.spans)
    posting.check_accuracy(needs, choice)
    return _slotted(needs, port, choice, chosen)


def with_room(plan: StationPlan) -> StationPlan:
    """The port with as much room for best-effort frames of MTU 1500 as its own frames leave."""
    if plan.needs is None or plan.choice is None or plan.chosen is None:
        return plan
    choice, chosen = besteffort.choose(plan.needs, plan.choice, plan.chosen)
    return plan if choice == plan.choice else _slotted(plan.needs, plan.port, choice, chosen)


def _check_crystals(needs: Needs) -> None:
    """Refuse a NIC crystal and a CPU counter that differ by more than the drift that the driver
    assumes.

    Raises:
        ConfigError: they differ by more.
    """
    station, bound_ppm = needs.station, needs.nic.drift_ppb / 1000
    # either wanders by 1 ppm at most
    room_ppm = bound_ppm - (2 if station.wander_ppb_per_s else 0) - CRYSTAL_SLACK_PPM
    if abs(station.clock_ppm - station.cpu_ppm) > room_ppm:
        low, high = station.cpu_ppm - room_ppm, station.cpu_ppm + room_ppm
        raise ConfigError(
            f'key `station[{needs.index}].clock_ppm` (station "{station.name}") ='
            f" {station.clock_ppm:.15g}: must be between {low:.15g} and {high:.15g} with driver"
            f" keepon, which reckons with {bound_ppm:g} ppm between the crystals of NIC and CPU"
            f" (cpu_ppm = {station.cpu_ppm:.15g}); choose nearer ones"
        )


def _slotted(needs: Needs, port: Port, choice: Choice, chosen: Chosen) -> StationPlan:
    scenario, station, paper = needs.scenario, needs.station, needs.paper
    wire = port.wire
    preamble_ps = preamble_time_ps(wire.rate_bps)
    clock_ps = scenario.clock_error_ns(station, "keepon") * PS_PER_NS
    slot_ps = choice.posting.slot_ps
    half_quantum_ps = byte_time_ps(wire.rate_bps) // 2 + CLOCK_ROUNDING_PS
    if not paper:
        half_quantum_ps += trims.drift_between_ps(
            station.keepon, choice.slot_bytes, slot_ps, choice.spans.slots_max
        )
    low_ps = (preamble_ps - slot_ps if paper else -half_quantum_ps) - clock_ps
    high_ps = (preamble_ps if paper else half_quantum_ps) + clock_ps
    if station.keepon.backend == "generic":
        backend_ps = station.keepon.backend_error_ns * PS_PER_NS
        low_ps, high_ps = low_ps - backend_ps, high_ps + backend_ps
    return StationPlan(
        station=station, port=port, planned_driver="keepon", mode=station.keepon.mode,
        slot_bytes=choice.slot_bytes, slot_ps=slot_ps, ring_slots=choice.ring_slots,
        partition_slots=chosen.partition_slots,
        batch_slots=choice.posting.batch_slots, depth_slots=choice.posting.depth_slots,
        poll_overhead_ns=choice.posting.poll_overhead_ns,
        grid_ps=slot_ps if not paper else PS_PER_NS,
        phase_ps=preamble_ps if not paper else 0,
        error_low_ps=low_ps,
        error_high_ps=high_ps,
        bounded=scenario.sync.mode != "none" and station.release != "sleep",
        needs=needs, choice=choice, chosen=chosen,
    )  # fmt: skip


def headroom(plan: StationPlan, streams: list[Stream], allowed: list[int]) -> Headroom:
    """Headroom of a port: best-effort rate, efficiency, slots to trim, lateness of polls, CPU, lead
    time.
    """
    rest = _rest_mask(plan.station)
    taken = sum(1 for mask in allowed if mask and not mask & rest)
    untouched = (
        sum(1 for mask in allowed if not mask) if plan.station.keepon.trim == "reserved" else 0
    )
    free_share = 1 - (taken + untouched) / len(allowed)
    options = plan.station.keepon
    payload_bytes = plan.slot_bytes - (
        options.trim_down_bytes if plan.mode == "phase-locked" and options.trim == "any" else 0
    )
    used = sum(stream.frame_bytes / stream.period_ns for stream in streams)
    paid = sum(
        plan.slots_of(stream) * (plan.slot_bytes + OVERHEAD_BYTES) / stream.period_ns
        for stream in streams
    )
    document: Headroom = {
        "best_effort_bps": int(payload_bytes * 8 * 10**12 * free_share / plan.slot_ps),
        "payload_efficiency": round(used / paid, 6) if paid else 0.0,
        "poll_budget_ns": (plan.depth_slots - 1) * plan.slot_ps // PS_PER_NS,
        "trim_slots": len(allowed)
        if options.trim == "any"
        else sum(1 for mask in allowed if mask == 0),
    }
    if plan.needs is not None and plan.choice is not None:
        posted, nic = plan.choice.posting, plan.needs.nic
        document["batch_time_ns"] = posted.batch_ns
        document["poll_interval_ns"] = polls.interval_ns(posted, nic)
        document["poll_late_ns_max"] = polls.slack_ns(posted, nic)
        document["cpu_share"] = round(polls.expected_cpu_share(posted, plan.needs.host, nic), 4)
        document["lead_time_ns"] = plan.lead_time_ns
    return document


def reasons(
    plan: StationPlan, releases_ns: dict[str, int], headroom: Headroom, allowed: list[int]
) -> list[Reason]:
    """The rationale of a station in the plan file: see keepon.planner.parameters.rationale.

    Args:
        plan: parameters of the port.
        releases_ns: release of each stream of the station within its period, by id.
        headroom: the result of headroom().
        allowed: the result of masks().
    """
    if plan.needs is None or plan.choice is None or plan.chosen is None:
        return []
    return [
        *rationale.lines(plan.needs, plan.choice, plan.chosen, releases_ns, headroom),
        *besteffort.reason(plan.needs, plan.choice, allowed),
    ]


def advances_in_time_ns(plan: StationPlan, releases_ns: dict[str, int]) -> dict[str, int]:
    """advance_ns of its streams that is enough for its host at worst; empty where not slotted."""
    if plan.needs is None or plan.choice is None:
        return {}
    return rationale.advances_in_time_ns(plan.needs, plan.choice, releases_ns)


def _rest_mask(station: Station) -> int:
    return sum(1 << entry.tc for entry in station.keepon.classes if entry.slots == "rest")


def masks(plan: StationPlan, used: dict[str, tuple[Stream, list[int]]]) -> list[int]:
    """Class mask per partition slot.

    Args:
        plan: parameters of the port.
        used: stream and its partition slots, by stream id.

    Raises:
        InfeasibleError: trim is "reserved" and streams leave too few slots to trim.
    """
    allowed = [0] * plan.partition_slots
    options = plan.station.keepon
    classes = options.classes
    if plan.mode == "paper" and options.partition_slots == "auto":
        # Free-running slots drift against the schedule, so ownership has no meaning: every slot is
        # open.
        return [sum(1 << entry.tc for entry in classes)] * plan.partition_slots
    for entry in classes:
        if isinstance(entry.slots, list):
            for slot in entry.slots:
                if slot < plan.partition_slots:
                    allowed[slot] |= 1 << entry.tc
    listed = {
        entry.tc for entry in classes if isinstance(entry.slots, list) or entry.slots == "rest"
    }
    for stream, taken in used.values():
        for slot in taken:
            if stream.tc not in listed:
                allowed[slot] |= 1 << stream.tc
    rest = _rest_mask(plan.station)
    scheduled_rest = {
        slot for stream, taken in used.values() if rest >> stream.tc & 1 for slot in taken
    }
    opened = [
        mask or rest if slot not in scheduled_rest else mask | rest
        for slot, mask in enumerate(allowed)
    ]
    if plan.mode != "phase-locked" or options.trim != "reserved":
        return opened
    free = [not mask and slot not in scheduled_rest for slot, mask in enumerate(allowed)]
    kept = trims.reserved_slots(
        plan.station,
        free,
        plan.slot_bytes,
        plan.slot_ps,
        [stream.id for stream, _ in used.values()],
    )
    return [0 if slot in kept else mask for slot, mask in enumerate(opened)]
