# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a scenario about end stations: host, NIC and driver."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from keepon.model.fields import Name, Number, Whole, WholeList
from keepon.model.tables import POSITIVE, SECOND_NS, Auto, Table


class StageOverride(Table):
    """One stage of the host's software path: min(base + body + tail, cap), all in ns.

    The body is log-normal, the tail exponential and rare. Keys left out keep the value of the
    host model (`base`), and what is written here is listed as chosen in results.
    """

    base_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] | None = None
    """Constant part in ns. Left out: the model's."""
    median_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] | None = None
    """Median of the body in ns; 0: no body. Left out: the model's."""
    sigma: Annotated[float, Number(0.0, 5.0)] | None = None
    """Spread of the body, as standard deviation of its logarithm; 0: always the median. Left out:
    the model's."""
    tail_probability: Annotated[float, Number(0.0, 1.0)] | None = None
    """Share of draws with a tail. Left out: the model's."""
    tail_mean_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] | None = None
    """Mean of the tail in ns. Left out: the model's."""
    cap_ns: Annotated[int, Whole(0, 10 * SECOND_NS, remedy=POSITIVE)] | None = None
    """Greatest latency in ns; 0: none. Left out: the model's."""
    limit_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] | None = None
    """What of the body is above this many ns is left out, so not less than the median; 0: nothing.
    Left out: the model's."""


class HostTable(Table):
    """A host model with some stages changed; `host = "NAME"` takes a model as it is."""

    base: Annotated[str, Name()] = "raspberry-pi-4"
    """Model that is changed: "raspberry-pi-4", "tsn-end-station", whose stages are the same, or
    "ideal", which has no latency. python/src/keepon/model/hosts.py has the source of every
    number."""
    wakeup: StageOverride | None = None
    """From the timer of an application, or of PTP's software, to the application running. Left
    out: the model's (spread calibrated to fejes.fig1)."""
    stack: StageOverride | None = None
    """From the application's send to the queueing discipline or the driver. Left out: the
    model's (chosen)."""
    driver: StageOverride | None = None
    """From there to the frame in the NIC's ring; frames follow each other no closer than its base
    and median. Left out: the model's for the station's driver (keepon.fig10a)."""
    timer: StageOverride | None = None
    """From the instant ETF's timer is due to the frame going on, where there is ETF (`release`).
    Left out: the model's (as `wakeup`)."""
    poll: StageOverride | None = None
    """By how much keepon's poll thread is late. Left out: the model's (chosen: an isolated core,
    no tail)."""
    rx: StageOverride | None = None
    """From a frame received whole to software's stamp of it, where PTP sets the clocks. Left out:
    that of every host but "ideal" (spread calibrated to fejes.fig1)."""
    datapath: StageOverride | None = None
    """Of a guest: between its device and the card of its host, either way. Left out: by
    `guest.datapath` (kernel: median calibrated to garbugli.delivery)."""
    deliver: StageOverride | None = None
    """From a frame received whole, and past the datapath, to the application that reads it. Left
    out: a guest's (chosen within garbugli.delivery); of other hosts it is not modelled."""
    cores: Annotated[int, Whole(0, 1024)] = 0
    """Cores for which all software of the station contends: interrupts before softirqs before
    streams and PTP before loads. `stack` and `driver` are then what a core is busy with. 0: nobody
    waits for a core. Plans refuse polls of
    several ports that take all of them, and know no more of it."""
    irq_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] = 0
    """What an interrupt of the NIC for received frames costs a core, in ns; with `cores` only."""
    softirq_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] = 0
    """What the softirq costs a core for each received frame, in ns; with `cores` only."""


class Guest(Table):
    """What makes a station a virtual machine. Its link is a port of its host's card, which driver
    keepon drives on the host, or leads to a `[[bridge]]` that stands for a virtual switch.
    """

    host: Annotated[str, Name()]
    """Station whose cores (`host.cores`) its software shares, with that of other guests of it."""
    vcpus: Annotated[int, Whole(1, 1024)] = 1
    """Its virtual CPUs."""
    queue_pairs: Annotated[int, Whole(1, 256)] = 1
    """Queue pairs of its network device, at most `vcpus`: each has a thread of its own."""
    datapath: Literal["kernel", "userspace", "passthrough"] = "kernel"
    """Between its device and the card: "kernel", vhost-net, tap and a bridge of the kernel;
    "userspace", vhost-user and a switch that polls, which takes a core of the host for itself;
    "passthrough", none, as the card is its own."""
    clock: Literal["virtio-rtc", "ptp-kvm", "software"] = "virtio-rtc"
    """What its clock follows: the host's by "virtio-rtc" (Linux 6.16) or by "ptp-kvm" (REALTIME),
    or PTP with stamps of "software" alone. Not used with "passthrough": the card has a clock."""


class NicOptions(Table):
    """The NIC below the driver. Nothing is published on any of these; every result lists those
    it used as chosen. Target vm takes the defaults only: its NICs are those of keepon_hwsim.
    """

    prefetch_slots: Annotated[int, Whole(1, 1024)] = 2
    """Frames beyond the one on the wire that it may have fetched already (driver keepon)."""
    fetch_ns: Annotated[int, Whole(1, 1_000_000)] = 800
    """Time in ns from its decision to fetch a frame to having it (all drivers)."""
    fragments_max: Annotated[int, Whole(1, 128)] = 1
    """Buffers that a frame longer than a slot may have; 1: it is sent from one, the slots behind it
    shorter (driver keepon)."""
    restart_ns: Annotated[int, Whole(1, 1_000_000)] = 2_000
    """Time in ns from a doorbell on an idle wire to the first bit (driver keepon)."""
    index_read_ns: Annotated[int, Whole(0, 100_000)] = 800
    """Time in ns of one read of its index over the bus (driver keepon)."""
    rx_lag_ns: Annotated[int, Whole(0, 900_000)] = 500
    """Time in ns from a received frame's last bit to the receive index that shows it (driver
    keepon with `clock = "dual"`)."""
    coalesce_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] = 5_000_000
    """After how many ns the NIC reports sent frames to an ordinary driver (driver standard)."""
    coalesce_frames: Annotated[int, Whole(1, 65_536)] = 10
    """After how many sent frames it reports them sooner (driver standard)."""


class TrafficClass(Table):
    """One traffic class of a keepon station: its slots and what happens to late frames."""

    tc: Annotated[int, Whole(0, 15)]
    """Number of the class, each once."""
    slots: Annotated[Any, WholeList(0, 65_535, words=("auto", "rest"))] = "auto"
    """Slots of the partition it may use. "auto": those the plan gives its streams, so a class
    without streams has none. "rest": those that no stream and no other class has. A list: by
    hand, counted from 0."""
    late: Literal["strict", "relaxed", "reschedule"] = "strict"
    """A frame too late for its slot: "strict" refuses it; "relaxed" gives it the next free slot of
    the class within one ring; "reschedule" the next free slot however late (docs/model.md)."""
    round: Literal["up", "floor"] = "up"
    """A txtime between slots: "up" takes the first slot that is not before it by more than
    `tolerance_ns`; "floor" the slot in progress, as the KeepON paper. Mode "paper" always takes
    "floor"."""


def _default_classes() -> list[TrafficClass]:
    return [
        TrafficClass(tc=0, slots="auto", late="strict", round="up"),
        TrafficClass(tc=7, slots="rest", late="reschedule", round="up"),
    ]


class KeeponOptions(Table):
    """Parameters of driver keepon; "auto" leaves the choice to the planner, and the plan says why.

    They concern stations with driver keepon, or "under-test" in the run of driver keepon; the
    plan is made with them in either case.
    """

    mode: Literal["phase-locked", "paper"] = "phase-locked"
    """"phase-locked": slots start on a grid of network time. "paper": slots run free, as
    published, with a counted clock and, if "auto", a depth of one batch and a partition of one
    ring."""
    backend: Literal["native", "generic"] = "native"
    """"native": a driver that lends its ring. "generic": the driver that the card has, whatever it
    is; the clock is further off then (`backend_error_ns`), and streams need 3 ms of `advance_ns`
    (docs/nics.md). The simulator sends by a ring in either case."""
    backend_error_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] = 500_000
    """How far in ns frames may leave from their slots, either way, with `backend = "generic"`: what
    the link says of its clock, `clock_error_ps`. Some 0.5 ms on the models of
    cards seen."""
    slot_bytes: Annotated[int | Auto, Whole(64, 1522, words=("auto",))] = "auto"
    """Bytes of a slot with FCS. In mode "phase-locked" its time, with 20 bytes of preamble and gap,
    must divide the periods of the station's streams. "auto": the shortest that holds all frames
    and PTP's and can have a partition; where there is none, one of which frames take several in a
    row, as little of the wire as can be."""
    frame_bytes_max: Annotated[int | Auto, Whole(0, 1522, words=("auto",))] = "auto"
    """Longest frame with FCS: what is longer than a slot takes several in a row (docs/model.md); 0,
    or no more than one slot has room for: none does. "auto": the longest that the station sends by
    the port, of streams, loads and PTP, and beside them up to 1522, an MTU of 1500 for best effort,
    as far as there is room. None in mode "paper", and where a station with `clock = "dual"` counts
    the slots."""
    ring_slots: Annotated[int | Auto, Whole(8, 4096, words=("auto",))] = "auto"
    """Descriptors of the ring. "auto": a power of two from 32 to 1024 that holds 1.25 times the
    greatest `advance_ns` of the port, or 2.56 ms where it sends no stream (100 us with `clock =
    "dual"`; no more than 256 without fragments); 32 in mode "paper"."""
    partition_slots: Annotated[int | Auto, Whole(1, 65_536, words=("auto",))] = "auto"
    """Slots after which the table of classes repeats. "auto": what wastes least, which is the least
    common multiple of the streams' periods if that is in range; in mode "paper" the ring, with
    every slot open to every class."""
    batch_slots: Annotated[int | Auto, Whole(1, 4096, words=("auto",))] = "auto"
    """Slots per doorbell, at most `depth_slots`. "auto": the largest power of two that polls
    sustain, `advance_ns` leaves time for, 1 ms long at most where no stream is sent, and the stated
    clock error allows (docs/planner.md)."""
    depth_slots: Annotated[int | Auto, Whole(1, 4096, words=("auto",))] = "auto"
    """Slots posted ahead of the wire, from `batch_slots` to `ring_slots` - 1. "auto": the ring
    less an eighth of it (8 slots at least); the batch in mode "paper"."""
    clock: Literal["interpolated", "counter", "dual"] = "interpolated"
    """How the clock is read: "interpolated" between readings of the index; "counter" the staircase
    of whole slots at the last poll, as published; "dual" with the receive ring counted as well,
    where the other end of the link is a keepon station (not in target vm)."""
    merge: Literal["strip", "published"] = "strip"
    """How `clock = "dual"` puts both rings together: "strip" is ours, "published" the KeepON
    paper's (docs/time.md)."""
    tau_ns: Annotated[int | Auto, Whole(1, SECOND_NS, words=("auto",))] = "auto"
    """The tau of `merge = "published"` in ns, greatest lag of either staircase. "auto": a batch
    and a slot, because none is published."""
    placeholder: Literal["bad-fcs", "mac-control", "reserved-address"] = "bad-fcs"
    """How placeholders die at the first hop: by a wrong FCS, as MAC control frames with an
    unassigned opcode, or by a destination that bridges must not forward."""
    trim: Literal["any", "reserved"] = "any"
    """Slots that may be made shorter or longer to stay on the grid: "any", so that frames are at
    most `slot_bytes` - `trim_down_bytes`; or those without a class, so that frames may fill a
    slot. Not in mode "paper"."""
    trim_down_bytes: Annotated[int, Whole(1, 512)] = 8
    """Bytes by which a slot may be made shorter (mode "phase-locked")."""
    trim_up_bytes: Annotated[int, Whole(1, 512)] = 8
    """Bytes by which a slot may be made longer (mode "phase-locked")."""
    prebuffer_frames: Annotated[int, Whole(0, 65_536)] = 256
    """Frames that each class may hold back until the ring reaches their slots; 0: nothing waits."""
    poll_overhead_ns: Annotated[int | Auto, Whole(0, 1_000_000, words=("auto",))] = "auto"
    """Time in ns that is kept free of every poll interval; the KeepON paper has 100000
    (keepon.driver_impl). "auto": half a batch if the depth is below two batches, else 0."""
    tolerance_ns: Annotated[int | Auto, Whole(0, 1_000_000, words=("auto",))] = "auto"
    """How many ns before its txtime a frame of a class with `round = "up"` may leave, at most a
    slot. "auto": the start quantum of the NIC, a byte time."""
    dither: bool = True
    """Whether poll intervals are drawn at random within one slot, so that readings of the index
    narrow down where the wire is."""
    classes: list[TrafficClass] = Field(default_factory=_default_classes)
    """Traffic classes. Left to the default: class 0 for streams, strict, and class 7 for all
    else, in the slots that are left."""


class Station(Table):
    """An end station: one driver, one host, and a port for each of its links.

    With several ports what its tables say holds for each of them.
    """

    name: Annotated[str, Name()]
    """Name, unlike that of every other node, and of every port of a station with several links
    (`NAME.0`, `NAME.1` ...)."""
    driver: Literal["keepon", "standard", "launchtime", "foreign", "under-test"] = "keepon"
    """"keepon"; "standard", an ordinary driver, with ETF in front, and all that a station needs
    which only receives; "launchtime", a NIC that starts frames at their txtimes to 32 ns
    (keepon.granularity); "foreign", a bought device, whose frames come by a clock of its own that
    nothing sets (docs/planning.md); "under-test", the drivers of [compare] in turn."""
    release: Literal["txtime", "etf", "sleep", "reschedule"] = "txtime"
    """"txtime": frames carry the instant at which they are due; drivers other than keepon have ETF
    in front, as with "etf", which puts it in front of keepon, too. "sleep": frames carry none and
    the application wakes up at the instant. "reschedule": as "txtime", and etf gives late frames
    whose times are taprio's new ones instead of dropping them (proposed, mitsubishi; needs
    `qdisc` with txtime-assist; simulator only)."""
    qdisc: str | None = None
    """Commands of tc that set up its qdiscs, in front of the driver and instead of what `release`
    has there (docs/qdiscs.md): `mqprio`, `taprio` in software or with txtime-assist, `etf`,
    `guard` and fifos. Streams and loads are in the class `tc` has. Left out: as `release` says.
    `dev` is whatever the station's is. `guard` and `flags 0x2` are not for every target."""
    host: Annotated[str, Name()] | HostTable = "raspberry-pi-4"
    """Latencies of its software: a model's name ("raspberry-pi-4", "tsn-end-station" or "ideal"),
    or a table that changes some stages of one."""
    clock_ppm: Annotated[float, Number(-1000.0, 1000.0)] = 0.0
    """How much faster than nominal the crystal of the NIC is, in parts per million. Must be 0 for
    target vm with `sync.mode = "ideal"`. With driver keepon less than 200 from `cpu_ppm`."""
    cpu_ppm: Annotated[float, Number(-1000.0, 1000.0)] = 0.0
    """How much faster than nominal the crystal of the CPU is, in parts per million. Must be
    0 for target vm."""
    cpu_tick_ns: Annotated[int, Whole(1, 1000)] = 1
    """Resolution in ns, rounded up, of the CPU counter that driver keepon reads; 19 for a Raspberry
    Pi 4. Must be 1 for target vm."""
    wander_ppb_per_s: Annotated[float, Number(0.0, 100_000.0)] = 0.0
    """How much the rate of either crystal may change in a second, in parts per billion; it stays
    within 1 ppm of the rate stated. Must be 0 for target vm."""
    etf_delta_ns: Annotated[
        int | Auto,
        Whole(1, SECOND_NS, words=("auto",), remedy=POSITIVE),
    ] = "auto"
    """How many ns before its txtime ETF hands a frame on, where there is ETF (`release`). "auto":
    150000 for every driver; published in front of keepon (keepon.artifact_ex1), chosen for the
    others."""
    stamp_resolution_ns: Annotated[int, Whole(1, 1_000_000)] = 8
    """Resolution in ns of stamps latched at the wire: of received frames in results, and of PTP
    messages with driver launchtime."""
    ingress_latency_ns: Annotated[int, Whole(-SECOND_NS, SECOND_NS)] = 0
    """Taken off the stamps of received PTP frames, in ns, as ptp4l(8) ingressLatency (driver
    keepon). What is constant in those stamps shifts the clock by half of it."""
    clock_error_ns: Annotated[
        int | Auto,
        Whole(0, SECOND_NS, words=("auto",), remedy=POSITIVE),
    ] = "auto"
    """How far in ns the clock may be from network time where PTP sets it; the plan keeps that free
    around every window and every run checks it. "auto": keepon 5000, launchtime 200, standard
    50000 (chosen), and half of what links on the way are asymmetric."""
    egress_latency_ns: Annotated[int, Whole(-SECOND_NS, SECOND_NS)] = 0
    """Added to the stamps of sent PTP frames, in ns, as ptp4l(8) egressLatency (driver keepon)."""
    preemption: bool = False
    """Whether its card puts the fragments of preempted frames together (IEEE Std 802.3-2022 clause
    99), so that a bridge with `preemptable` preempts towards it. What it sends is whole."""
    jitter_ns: Annotated[int, Whole(0, SECOND_NS, remedy=POSITIVE)] = 0
    """How many ns after the instant of its own clock a frame leaves at most, with driver foreign
    only; in runs exponential with a mean of half of that (chosen). Its drift is `clock_ppm`."""
    guest: Guest | None = None
    """What makes it a virtual machine on another station; simulator only. Left out: it is none."""
    nic: NicOptions = Field(default_factory=NicOptions)
    """The NIC below the driver."""
    keepon: KeeponOptions = Field(default_factory=KeeponOptions)
    """Parameters of driver keepon."""
