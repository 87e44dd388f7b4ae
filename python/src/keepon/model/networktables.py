# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a scenario about the network: links, bridges with their gates, and how clocks agree."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from keepon.model import switches
from keepon.model.fields import GateMask, Name, NameList, Number, Whole, WholeList
from keepon.model.policing import FlowMeter, StreamFilter, StreamGate
from keepon.model.shaping import Shaper
from keepon.model.stationtables import StageOverride
from keepon.model.tables import POSITIVE, SECOND_NS, Table


class Defaults(Table):
    """Values links take that do not state their own."""

    rate_bps: Annotated[int, Whole(10_000_000, 100_000_000_000)] = 1_000_000_000
    """Bits a second of links without `rate_bps`. It must divide 8e12, as every Ethernet rate does,
    so that a byte takes whole picoseconds."""
    propagation_ns: Annotated[int, Whole(0, 10_000_000)] = 50
    """Delay in ns, either way, of links without `propagation_ns`; 5 ns are a metre of cable."""


class SyncDomain(Table):
    """One PTP domain beside domain 0, as a clock that is only computed (a virtual PTP clock)."""

    domain: Annotated[
        int,
        Whole(0, 127, remedy="PTP has domains 0 to 127; domain 0 sets the clocks"),
    ]
    """Number of the domain, each once; 0 is that of `sync.grandmaster`."""
    grandmaster: Annotated[str, Name()]
    """Node whose free-running time the domain has: the PHC of a station, the counter of a bridge.
    With mode "ptp" it must be a station."""


class Sync(Table):
    """How clocks agree. All but `mode` concerns modes "ptp" and "gptp" only; servo constants have
    linuxptp's names and defaults (ptp4l(8)).
    """

    mode: Literal["ideal", "none", "ptp", "gptp"] = "ideal"
    """"ideal": all share one exact time. "none": every node runs on its own crystal. "ptp": Sync
    and Delay_Req end to end through plain bridges (IEEE 1588-2019). "gptp": bridges relay and
    every link is measured (IEEE 802.1AS-2020). Target vm takes "ideal" and
    "none", target host all (docs/host.md)."""
    grandmaster: Annotated[str, Name()] | None = None
    """Node whose clock is network time, a station or with "gptp" also a bridge. Needed in modes
    "ptp" and "gptp"; left out, there is none."""
    interval_ms: Annotated[int, Whole(1, 10_000)] = 125
    """Time in ms from one Sync to the next. Refused if too short for a port without gates that
    streams pass; the trial of a plan lasts 40 of it, 60 s at most."""
    delay_interval_ms: Annotated[int, Whole(1, 100_000)] = 1_000
    """Time in ms from one delay measurement to the next: Pdelay_Req on every link with "gptp",
    Delay_Req of every station with "ptp"."""
    domains: list[SyncDomain] = Field(default_factory=list)
    """Further domains, whose time is only computed and sets no clock."""
    servo: Literal["pi", "linreg", "ratio"] = "pi"
    """How offsets become rates. "pi": linuxptp's, with the constants below. "linreg": a line
    through the last 4 to 64 offsets. "ratio": the KeepON paper's, a step by every offset and the
    rate from successive Syncs."""
    filter_samples: Annotated[int, Whole(0, 1_000)] = 10
    """Measured rates that servo "ratio" averages over; 0: none. 10 is the published number
    (keepon.ptp_simulator). Other servos do not use it."""
    delay_filter_samples: Annotated[int, Whole(1, 1_000)] = 10
    """Measured delays of a link whose median is used (ptp4l's delay_filter_length)."""
    rate_samples: Annotated[int, Whole(1, 1_000)] = 8
    """Delay measurements over which the rate of a neighbour is measured (mode "gptp")."""
    pi_proportional_scale: Annotated[float, Number(0.0, 100.0)] = 0.0
    """Servo "pi": kp = min(scale x interval^exponent, norm_max / interval), interval in s. 0 stands
    for 0.7 with stamps of hardware, for which keepon's pass, and 0.1 with those of software."""
    pi_proportional_exponent: Annotated[float, Number(-10.0, 10.0)] = -0.3
    """Servo "pi": the exponent in kp."""
    pi_proportional_norm_max: Annotated[float, Number(1e-9, 1.0)] = 0.7
    """Servo "pi": the norm_max in kp."""
    pi_integral_scale: Annotated[float, Number(0.0, 100.0)] = 0.0
    """Servo "pi": ki = min(scale x interval^exponent, norm_max / interval). 0 stands for 0.3 with
    stamps of hardware and 0.001 with those of software."""
    pi_integral_exponent: Annotated[float, Number(-10.0, 10.0)] = 0.4
    """Servo "pi": the exponent in ki."""
    pi_integral_norm_max: Annotated[float, Number(1e-9, 2.0)] = 0.3
    """Servo "pi": the norm_max in ki."""
    step_threshold_ns: Annotated[int, Whole(0, 1_000 * SECOND_NS, remedy=POSITIVE)] = 0
    """Offset in ns beyond which servos "pi" and "linreg" step the clock at any time; 0: never."""
    first_step_threshold_ns: Annotated[int, Whole(0, 1_000 * SECOND_NS, remedy=POSITIVE)] = 20_000
    """Offset in ns beyond which servos "pi" and "linreg" step the clock once, at the first update;
    0: not even then."""
    tc: Annotated[int, Whole(0, 15)] = 7
    """Traffic class of PTP's frames at stations, where they carry no txtime. Stations of driver
    keepon must list it in `station.keepon.classes`."""
    priority: Annotated[int, Whole(0, 7)] = 6
    """Priority (PCP) of PTP's frames. No stream may have its traffic class in a bridge with
    gates, and every gate list by hand must open it for as long as a message takes."""
    rx_jitter_scale: Annotated[float, Number(0.0, 100.0)] = 1.0
    """Multiplies the delay of software's stamps of received frames, mean and spread: 1.0 is the
    host model's `rx` stage, 0.0 none (drivers keepon and standard)."""
    start_offset_ns: Annotated[int, Whole(0, 1_000 * SECOND_NS, remedy=POSITIVE)] = 100_000
    """Clocks start within this of the grandmaster's, in ns, at random to either side."""
    lock_bound_ns: Annotated[int, Whole(1, SECOND_NS)] = 1_000
    """A clock is called locked from when it stays within this many ns of network time; decides
    `lock_s` of a result and nothing else."""
    sample_ns: Annotated[int, Whole(20, SECOND_NS)] = 10_000_000
    """Clocks are compared with network time so often, in ns; results only."""

    @property
    def by_ptp(self) -> bool:
        """Whether clocks are set by messages."""
        return self.mode in ("ptp", "gptp")


class GateEntry(Table):
    """One line of a gate control list: gates open for a time."""

    gates: Annotated[str, GateMask()]
    """Open gates, one bit per traffic class: "0x20" opens class 5 alone."""
    ns: Annotated[int, Whole(1, 100 * SECOND_NS)]
    """How long, in ns."""


class GateList(Table):
    """The gate control list of one port, written by hand (IEEE 802.1Q-2022 clause 8.6.8.4).

    NEIGHBOUR is the node at the other end of the port's link. Ports that are not listed are planned
    as with "auto".
    """

    base_ns: Annotated[int, Whole(0, 2**62, remedy=POSITIVE)] = 0
    """Network time in ns at which a cycle begins."""
    entries: list[GateEntry] = Field(min_length=1)
    """Lines in order; together they are the cycle, which repeats. `keepon plan` takes it if the
    period of every stream at the port is a multiple of the cycle."""


RECOMMENDED_CLASSES = (
    (0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 1, 1, 1, 1),
    (0, 0, 0, 0, 1, 1, 2, 2),
    (0, 0, 1, 1, 2, 2, 3, 3),
    (0, 0, 1, 1, 2, 2, 3, 4),
    (1, 0, 2, 2, 3, 3, 4, 5),
    (1, 0, 2, 3, 4, 4, 5, 6),
    (1, 0, 2, 3, 4, 5, 6, 7),
)
"""Traffic classes of priorities 0 to 7 by the number of queues, 1 to 8: IEEE Std 802.1Q-2022 table
8-5.
"""


class Software(Table):
    """The cores of a bridge that forwards in software, and what else they do. What is left out is
    as python/src/keepon/targets/sim/software.py has it for the bridge's `forwarding`.
    """

    cores: Annotated[int, Whole(1, 1024)] = 1
    """Cores that forward, and on which its load runs. What waits takes any that is free."""
    priority: Literal["softirq", "fifo", "normal"] | None = None
    """What forwards: "softirq", before every thread; "fifo", a real-time thread, before normal ones
    and behind interrupts; "normal", a thread that waits for `hogs` in turn. Left out: "fifo" with
    "af-xdp", else "softirq"."""
    ring_frames: Annotated[int, Whole(1, 1_000_000)] = 256
    """Frames that wait for software at a port at most; what comes then is lost."""
    wait: StageOverride | None = None
    """From a frame received whole to software that may run, unless it is at frames before it: the
    interrupt. Left out: the host models' `rx` (calibrated to fejes.fig1)."""
    poll_ns: Annotated[int, Whole(0, SECOND_NS)] | None = None
    """Period in ns in which a thread looks for frames, at no known instant, after `wait`; 0: it
    sees them at once. Left out: 2000 with "af-xdp", else 0 (chosen)."""
    frame: StageOverride | None = None
    """What a frame costs a core. Left out: a published rate's inverse, and of "bridge" that of
    routing (docs/tsn.md)."""
    interrupts_hz: Annotated[float, Number(0.0, 1e6)] = 0.0
    """Other interrupts of the cores in a second, on average, at random."""
    interrupt_ns: Annotated[int, Whole(0, SECOND_NS)] = 5_000
    """What each of these takes, in ns."""
    hogs: Annotated[int, Whole(0, 1024)] = 0
    """Processes of normal priority that always run."""
    hog_ns: Annotated[int, Whole(1_000, SECOND_NS)] = 3_000_000
    """Time in ns after which the next thread of normal priority has its turn."""


class Bridge(Table):
    """A store-and-forward bridge. Its crystal matters unless `sync.mode` is "ideal"."""

    name: Annotated[str, Name()]
    """Name, unlike that of every other node."""
    profile: Literal["any", "sja1105", "lan9668", "ksz9477", "unmanaged"] = "any"
    """A switch whose limits are the defaults of `gates`, `queues` and the keys that begin with
    `gate_` (docs/planning.md has them and their sources)."""
    processing_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] = 2_000
    """Time in ns from a frame received whole to the frame in its queue, always the same. 2 us are
    inferred from Table 1 of the KeepON paper."""
    forwarding: Literal["hardware", "bridge", "xdp", "af-xdp"] = "hardware"
    """Who forwards. "hardware": frames take `processing_ns`. Software on cores of a host, at no
    known time, and `processing_ns` for both NICs: Linux's "bridge"; "xdp", a program that
    redirects; or "af-xdp", a thread with sockets. Only streams of talkers of driver foreign pass
    there, without a bound (docs/tsn.md). Target sim only."""
    software: Software | None = None
    """Cores that forward, if software does. Left out: the defaults."""
    gates: Literal["auto", "none", "cqf"] | dict[str, GateList] = "auto"
    """"auto": the plan has gate lists for the ports. "none": all gates are always open. "cqf":
    cyclic queuing and forwarding, where what arrives in one cycle leaves in the next one
    (docs/tsn.md). A table: gate lists by hand, by neighbour. Bridges of target vm have no gates."""
    cqf_cycle_ns: Annotated[int, Whole(1_000, SECOND_NS)] | None = None
    """With gates "cqf": length of a cycle in ns, the same at all such bridges. Cycles begin at
    multiples of it, and the periods of streams that pass are multiples of it. Refused if shorter
    than what a cycle must hold. Left out with other gates."""
    cqf_buffers: Annotated[int, Whole(2, 3)] = 2
    """With gates "cqf": queues of a port that take turns, the streams' traffic class and those
    below it. With 3 a frame may arrive up to a cycle late, and every bridge takes two cycles."""
    gate_entries: Annotated[int, Whole(1, 4_096)] = 4_096
    """Entries that the gate list of a port has at most."""
    gate_entries_all: Annotated[int, Whole(1, 65_536)] = 65_536
    """Entries that the gate lists of all ports have together at most."""
    gate_shortest_ns: Annotated[int, Whole(1, SECOND_NS)] = 1
    """Shortest entry of a gate list, in ns."""
    gate_step_ns: Annotated[int, Whole(1, 1_000_000)] = 1
    """Granularity of gates in ns: base time and entries of a list are multiples of it."""
    gate_cycle_max_ns: Annotated[int, Whole(1_000, 100 * SECOND_NS)] = 100 * SECOND_NS
    """Longest cycle of a gate list, in ns."""
    gate_guard: Literal["length-aware", "fixed", "none"] = "length-aware"
    """Which frames begin before their gate closes. "length-aware": those that end before it does
    (IEEE Std 802.1Q-2022 clause 8.6.8.4). "fixed": all for which the time of the longest frame is
    left, so that windows are longer than that. "none": all, also those that end later, so that
    gates of best effort close sooner by the longest frame. That is a frame of 1522 bytes, or the
    longest of a load. Lists by hand need "length-aware"."""
    gate_alone: bool = False
    """Whether no two ports may change their gates at the same instant."""
    clock_ppm: Annotated[float, Number(-1000.0, 1000.0)] = 0.0
    """How much faster than nominal the crystal is, in parts per million."""
    wander_ppb_per_s: Annotated[float, Number(0.0, 100_000.0)] = 0.0
    """How much the rate of the crystal may change in a second, in parts per billion; it stays
    within 1 ppm of `clock_ppm`."""
    stamp_resolution_ns: Annotated[int, Whole(1, 1_000_000)] = 8
    """Resolution in ns of the stamps of PTP messages (mode "gptp")."""
    ptp_turnaround_ns: Annotated[int, Whole(0, 100_000_000, remedy=POSITIVE)] = 500_000
    """Time in ns from a PTP message received to the one it causes (mode "gptp"). Chosen; IEEE
    802.1AS-2020 annex B.2 allows 10 ms."""
    queues: Annotated[
        int,
        Whole(1, 8, remedy="a port has 1 to 8 queues, one for each traffic class"),
    ] = 8
    """Queues of each port, one for each traffic class; the highest goes first."""
    traffic_classes: Annotated[Any, WholeList(0, 7, words=("802.1Q",), count=8)] = "802.1Q"
    """Traffic class of priorities (PCP) 0, 1 ... 7. "802.1Q": what IEEE Std 802.1Q-2022 table 8-5
    recommends for so many queues; of 8 queues priority 1 (background) has the lowest, below 0 (best
    effort), and of fewer several priorities share one."""
    preemptable: Annotated[list[int], WholeList(0, 7)] | None = None
    """Priorities (PCP) whose frames are preemptable: express ones interrupt them (802.1Qbu). All
    priorities of a traffic class or none; none of streams or PTP. In effect towards bridges with
    this key and stations with `preemption`. Left out: none. Target sim only."""
    min_fragment_bytes: Annotated[int, Whole(64, 256)] = 64
    """Least length of a fragment with its check sum: 64, 128, 192 or 256 (addFragSize 0 to 3), as
    neighbours need it."""
    police: Literal["none", "edge", "all"] = "none"
    """Whether the plan has stream filters for the bridge, each with a stream gate that is open
    while a frame of the stream may arrive, and shut otherwise: "edge" for streams whose talker is
    linked to it, "all" for all that pass. Frames at other times, more and longer ones end there.
    Talkers of driver standard have no gate, those of driver foreign a flow meter."""
    stream_filter: list[StreamFilter] = Field(default_factory=list)
    """Filters of per-stream filtering and policing, in order. Target sim only."""
    stream_gate: dict[str, StreamGate] = Field(default_factory=dict)
    """Stream gates that filters name."""
    flow_meter: dict[str, FlowMeter] = Field(default_factory=dict)
    """Flow meters that filters name."""
    policing: Literal["802.1Q", "linux"] = "802.1Q"
    """Rules of filters. "linux": as tc's actions gate and police do in software, where an internal
    priority changes nothing, nothing shuts a gate for good, a gate is open until its base time,
    what a gate drops counts as octets, and meters count MSDUs (docs/tsn.md)."""
    shaper: list[Shaper] = Field(default_factory=list)
    """Shapers of its ports. Plans have bounds for streams of bought devices (driver
    foreign) in shaped classes, which only these may have (docs/tsn.md). Target sim only."""
    queue_frames: Annotated[int, Whole(1, 1_000_000)] = 1024
    """Frames that a queue of a port holds; what comes then is lost. Plans keep to it. Target vm
    does not use it."""

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, given: Any) -> Any:
        """What the scenario does not state is as the profile has it."""
        if not isinstance(given, dict):
            return given
        return {**switches.PROFILES.get(str(given.get("profile")), {}), **given}

    def class_of(self, priority: int) -> int:
        """Traffic class of frames of a priority (PCP) at every port: the queue they wait in."""
        if self.traffic_classes == "802.1Q":
            return RECOMMENDED_CLASSES[self.queues - 1][priority]
        return int(self.traffic_classes[priority])


class Link(Table):
    """A full-duplex link between two nodes."""

    ends: Annotated[list[str], NameList(2, 2)]
    """Names of the two nodes. Two bridges may have up to 8 links: in `route` and gate lists by hand
    the second, in the order of the file, leads to "NAME#2". A station with several links has a port
    for each: `NAME.0`, `NAME.1` ... (docs/simulator.md). Both are for target sim only."""
    rate_bps: Annotated[int, Whole(10_000_000, 100_000_000_000)] | None = None
    """Bits a second, either way; must divide 8e12. Left out: `defaults.rate_bps`."""
    propagation_ns: Annotated[int, Whole(0, 10_000_000)] | None = None
    """Delay in ns of the shorter way. Left out: `defaults.propagation_ns`."""
    asymmetry_ns: Annotated[int, Whole(-1_000_000, 1_000_000)] = 0
    """By how many ns the way from the first end is longer than the way back; below 0 the way back
    is the longer. PTP cannot see it. Must be 0 for target vm."""
    loss_probability: Annotated[float, Number(0.0, 1.0)] = 0.0
    """How likely a frame is to be lost on it, either way, each by a draw of its own. Plans and
    their trials know nothing of it. Target sim only."""
