# SPDX-License-Identifier: BSD-3-Clause
"""The discrete-event simulator around the real driver core (C++; sources in sim/).

Times are integers: `_ns` at interfaces, `_ps` where exact. Network time is `epoch_ns` plus true time, with PTP what
the grandmaster's clock reads. Every wrong value raises ValueError with one sentence naming key, value and range, and
changes nothing.

Specifications (`StationSpec` ...) are made with keywords; a dict of their attributes does for any of them, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepon.measure.simulated import Bridge, Flow, LoadFlow, NodeClock, PtpFlow, Station

CABLE: int

@dataclass(kw_only=True)
class LatencySpec:
    """Latency of one stage: min(base + log-normal body [+ exponential tail], cap); 0 of a limit or cap: none."""

    base_ns: float = ...
    median_ns: float = ...
    sigma: float = ...
    tail_probability: float = ...
    tail_mean_ns: float = ...
    cap_ns: float = ...
    limit_ns: float = ...  # of the body

@dataclass(kw_only=True)
class HostSpec:
    """A host by its stages; rx: from a complete frame to software's stamp."""

    wakeup: LatencySpec = ...
    stack: LatencySpec = ...
    driver: LatencySpec = ...
    timer: LatencySpec = ...
    poll: LatencySpec = ...
    rx: LatencySpec = ...
    datapath: LatencySpec = ...  # of a guest: between its driver and the NIC, either way
    deliver: LatencySpec = ...  # from there to the application that reads

@dataclass(kw_only=True)
class GuestSpec:
    """A virtual machine: on whose cores it runs, and how far its clock is from the host's."""

    host: int = ...  # node of a station; -1: no guest
    clock_error_ns: int = ...  # either way, another after each interval
    clock_interval_ns: int = ...

@dataclass(kw_only=True)
class CpuSpec:
    """Cores that software contends for, and what received frames cost them."""

    cores: int = ...  # 0: enough, and the rest means nothing
    irq_ns: int = ...
    softirq_ns: int = ...  # of one frame

@dataclass(kw_only=True)
class NicSpec:
    """A NIC. What is -1 is as short as it may be, or 2000 ns of a restart and 500 of a receive index."""

    prefetch_slots: int = ...
    fifo_bytes: int = ...
    index: str = ...  # "done" | "fetch"
    index_lag_ns_min: int = ...
    index_lag_ns_max: int = ...
    rx_lag_ns_min: int = ...  # last bit of a received frame to the receive index showing it
    rx_lag_ns_max: int = ...
    persistent: bool = ...
    index_read_ns: int = ...
    fetch_ns: int = ...
    fetch_ns_max: int = ...
    restart_ns: int = ...
    restart_ns_max: int = ...
    reserved_slots: int = ...
    placeholder_bytes_min: int = ...
    frame_bytes_max: int = ...
    fragments_max: int = ...  # buffers of a frame
    ring_slots: int = ...
    queue_frames: int = ...
    coalesce_ns: int = ...
    coalesce_frames: int = ...

class KeeponSpec:
    """Driver "keepon": attributes are the fields of core/include/keepon/config_fields.h, words those of its units;
    None: the core's default. `partition_slots` follows from `partition`."""

    slot_bytes: int | None  # must be given
    clock: (
        str | None
    )  # "interpolated" | "counter" | "dual": the peer's frames are a clock, too; it has driver "keepon"
    merge: str  # of a dual clock: "strip" | "published"
    tau_ns: int | None  # of the merge
    partition: list[int]  # class masks
    classes: dict[int, tuple[str, str]]  # (late, round)
    def __init__(
        self,
        *,
        partition: Sequence[int] = ...,
        classes: dict[int, tuple[str, str]] = ...,
        **fields: int | str | bool | None,
    ) -> None: ...

@dataclass(kw_only=True)
class LeafSpec:
    """A leaf: kind "fifo" | "etf" (delta_ns to reschedule) | "guard" (rate_bps to late)."""

    kind: str = ...
    keeps_txtime: bool = ...  # the driver gets it
    delta_ns: int = ...
    deadline_mode: bool = ...
    skip_sock_check: bool = ...
    reschedule: bool = ...
    rate_bps: int = ...  # 0: the link's
    mtu_bytes: int = ...
    fudge_ns: int = ...
    tolerance_ns: int = ...
    limit_frames: int = ...
    late: str = ...  # "drop" | "send"

@dataclass(kw_only=True)
class TaprioSpec:
    """taprio; windows as (class mask, ns)."""

    windows: Sequence[tuple[int, int]]
    base_ns: int = ...
    cycle_ns: int = ...  # 0: of all windows
    txtime_assist: bool = ...
    offload: bool = ...  # driver "launchtime"
    txtime_delay_ns: int = ...

@dataclass(kw_only=True)
class QdiscSpec:
    """In front of the driver, for all frames, instead of what `release` has."""

    queues: list[int]  # of each of 16 classes
    leaves: list[LeafSpec]  # one for each queue
    taprio: TaprioSpec | None = None

@dataclass(kw_only=True)
class ProbeSpec:
    """Test hooks."""

    boundaries: bool = ...
    boundary_bound_ps: int = ...
    head_interval_ns: int = ...
    head_samples_max: int = ...
    declared_prefetch_slots: int | None = None
    index_offset_slots: int = ...

@dataclass(kw_only=True)
class PortSpec:
    """What a port has of its own; None: what the station has."""

    nic: NicSpec | None = None
    nic_ppm: float | None = None
    keepon: KeeponSpec | None = None
    qdisc: QdiscSpec | None = None

@dataclass(kw_only=True)
class StationSpec:
    """A station."""

    driver: str = ...  # "standard" | "keepon" | "launchtime"
    release: str = ...  # "txtime" | "etf" | "sleep"
    sync: str = ...  # "ideal" | "none" | "ptp"
    host: HostSpec = ...
    cpu: CpuSpec = ...
    guest: GuestSpec = ...
    ingress_latency_ns: int = ...  # off RX stamps of PTP
    egress_latency_ns: int = ...  # added to TX stamps
    occupancy_ns: int = ...
    etf_delta_ns: int = ...
    sync_interval_ns: int = ...
    nic_ppm: float = ...
    cpu_ppm: float = ...
    cpu_tick_ns: int = ...  # resolution of the CPU counter that driver "keepon" reads
    wander_ppb_per_s: float = ...
    wander_ppb: float = ...  # bound of the walk
    stamp_resolution_ns: int = ...
    nic: NicSpec = ...
    keepon: KeeponSpec = ...
    probe: ProbeSpec = ...
    qdisc: QdiscSpec | None = None
    ports: list[
        PortSpec
    ] = ...  # one for each link, in their order, where not all have what stands above

@dataclass(kw_only=True)
class SoftwareSpec:
    """The cores of a bridge that forwards in software."""

    cores: int = ...
    priority: str = ...  # "hardirq" | "softirq" | "fifo" | "normal"
    ring_frames: int = ...
    wait: LatencySpec = ...  # from a complete frame to software, if it is not at others
    poll_ns: int = ...
    frame: LatencySpec = ...
    irq_gap_ns: int = ...  # mean between other interrupts; 0: none
    irq_ns: int = ...
    hogs: int = ...
    hog_ns: int = ...

@dataclass(kw_only=True)
class BridgeSpec:
    """A store-and-forward bridge."""

    software: SoftwareSpec | None = ...  # None: hardware forwards
    processing_ns: int = ...
    ppm: float = ...
    wander_ppb_per_s: float = ...
    wander_ppb: float = ...
    queue_frames: int = ...
    queues: list[int] = ...  # of priorities 0 to 7: those numbers unless given
    sync: str = ...  # "none" | "ptp": its gates follow a clock that PTP sets, if not its crystal
    ptp_turnaround_ns: int = ...  # message in to message out
    stamp_resolution_ns: int = ...

@dataclass(kw_only=True)
class StreamGateEntry:
    """An entry of a stream gate's list."""

    open: bool = ...
    ns: int = ...
    priority: int = ...  # internal priority of frames that pass; -1: their own
    octets: int = ...  # of MSDUs that pass; -1: any

@dataclass(kw_only=True)
class StreamGateSpec:
    """A stream gate (IEEE Std 802.1Q-2022 clause 8.6.5.4)."""

    name: str = ...
    base_ns: int = ...
    entries: list[StreamGateEntry] = ...
    close_on_invalid_rx: bool = ...
    close_on_octets_exceeded: bool = ...

@dataclass(kw_only=True)
class FlowMeterSpec:
    """A flow meter (IEEE Std 802.1Q-2022 clause 8.6.5.5)."""

    name: str = ...
    cir_bps: int = ...
    cbs_bytes: int = ...
    eir_bps: int = ...
    ebs_bytes: int = ...
    coupling: bool = ...
    color_aware: bool = ...
    drop_on_yellow: bool = ...
    mark_all_red: bool = ...

@dataclass(kw_only=True)
class StreamFilterSpec:
    """A stream filter (IEEE Std 802.1Q-2022 clause 8.6.5.3); -1: any priority, any size, no gate, no meter."""

    flows: list[int] = ...  # ids of streams and loads whose frames it has; empty: any frame
    priority: int = ...
    max_sdu_bytes: int = ...
    block_oversize: bool = ...
    gate: int = ...  # place in PsfpSpec.gates
    meter: int = ...  # place in PsfpSpec.meters

@dataclass(kw_only=True)
class PsfpSpec:
    """Per-stream filtering and policing of a bridge; the first filter that a frame matches decides."""

    as_linux: bool = ...  # rules of tc's actions gate and police
    gates: list[StreamGateSpec] = ...
    meters: list[FlowMeterSpec] = ...
    filters: list[StreamFilterSpec] = ...

@dataclass(kw_only=True)
class AtsSpec:
    """ATS scheduler of a stream at a bridge (clause 8.6.11); frames count with preamble and gap."""

    flows: list[int]  # whose frames are its stream
    cir_bps: int
    cbs_bytes: int
    max_residence_ns: int
    group: int = ...

@dataclass(kw_only=True)
class RecoverySpec:
    """Sequence recovery of a stream at a node (IEEE Std 802.1CB-2017 clauses 7.4.3 and 7.4.4)."""

    stream: int
    algorithm: str = ...  # "vector" | "match"
    history_length: int = ...
    reset_ns: int = ...
    individual: bool = ...  # first of each port's frames by themselves
    untag: bool = ...  # frames go on without R-tag
    latent_period_ns: int = ...  # 0: no tests for latent errors
    latent_reset_ns: int = ...
    latent_difference: int = ...
    latent_paths: int = ...

@dataclass(kw_only=True)
class StreamSpec:
    """A periodic stream. Frame k has the txtime k periods after the first period multiple plus offset_ns that is not
    before epoch + start_ns. It leaves by the port of its route, one for all listeners."""

    id: str
    talker: int
    listeners: list[int]
    routes: list[list[int]] = ...  # bridges on the way to each listener
    period_ns: int = ...
    offset_ns: int = ...
    turns_ns: list[int] = ...  # frames in turn: releases from the start of their own period on
    cycle_ns: int = ...  # time of all turns, where period_ns is rounded down
    start_ns: int = ...
    frame_bytes: int = ...
    tc: int = ...
    queue: int = ...
    advance_ns: int = ...

@dataclass(kw_only=True)
class LoadSpec:
    """Best effort."""

    id: str
    talker: int
    listener: int
    route: list[int] = ...
    kind: str = ...  # "udp" | "saturate" | "tcp"
    congestion: str = ...  # of kind "tcp": "cubic" | "reno"
    rate_bps: int = ...  # of frame bytes
    frame_bytes: int = ...
    window_frames: int = ...  # saturate: frames kept with the transmitter
    start_ns: int = ...
    tc: int = ...
    queue: int = ...

@dataclass(kw_only=True)
class ServoSpec:
    """The servo of every clock: "pi" | "linreg" | "ratio"; scales of 0: linuxptp's."""

    kind: str = ...
    pi_proportional_scale: float = ...
    pi_proportional_exponent: float = ...
    pi_proportional_norm_max: float = ...
    pi_integral_scale: float = ...
    pi_integral_exponent: float = ...
    pi_integral_norm_max: float = ...
    step_threshold_ns: int = ...
    first_step_threshold_ns: int = ...
    filter_samples: int = ...

@dataclass(kw_only=True)
class SyncSpec:
    """PTP; domains as (number, grandmaster), domain 0 first, which sets the clocks."""

    mode: str = ...  # "gptp" | "ptp"
    domains: list[tuple[int, int]]
    interval_ns: int = ...
    delay_interval_ns: int = ...
    servo: ServoSpec = ...
    delay_filter_samples: int = ...
    rate_samples: int = ...
    tc: int = ...  # of PTP's frames, as queue
    queue: int = ...
    start_offset_ns: int = ...
    sample_ns: int = ...
    changes: list[tuple[int, int]] = ...  # (at_ns, new grandmaster of domain 0)

def verdict_names() -> list[str]:
    """Names of verdicts by number, as in `frames()["verdict"]`."""

def verdict_is_sent(verdict: int) -> bool:
    """Whether frames with this verdict were on the wire; False for -1 (pending)."""

def counter_names() -> list[str]:
    """Names of the core's counters, as in `station()["counters"]`."""

class Simulation:
    """One network. Build it, then run it; equal seeds and equal calls give equal `trace_hash()`.

    Args:
        seed: of everything random, 0 to 2**64 - 1. Each component draws from its own stream.
        epoch_ns: network time of the start, TAI, 0 to 4e18.
    """

    def __init__(self, seed: int, epoch_ns: int = 1_700_000_000_000_000_000) -> None: ...
    def add_station(self, name: str, spec: StationSpec) -> int:
        """An end station of a unique name; it takes part once it is linked. Returns its node id."""

    def add_bridge(self, name: str, spec: BridgeSpec) -> int:
        """A bridge; returns its node id."""

    def add_link(
        self, a: int, b: int, rate_bps: int, propagation_ns: int, asymmetry_ns: int = 0
    ) -> None:
        """Join two nodes. From a to b it takes asymmetry_ns longer than back. A station has a port
        for each of its
        links, in their order; with several and sync "ptp" its driver is "standard", as PTP sets
        one clock. Wrong
        `keepon` values are found here, where the rate is known. Two bridges may have 8 links: gates,
        routes and losses of the second take id + CABLE for the other end, of the third id + 2 *
        CABLE ..."""

    def set_loss(self, a: int, b: int, probability: float) -> None:
        """Each frame on the link of two nodes, either way, is lost with this probability."""

    def set_window(self, start_ns: int, end_ns: int) -> None:
        """Count bytes in [start, end) of true time apart: `window_sent_bytes` and `window_delivered_bytes` of
        `stream()` and `load()`. Without it the window is the whole run."""

    def set_capture(self, start_ns: int, end_ns: int, limit: int) -> None:
        """Keep every frame that a station's wire sees in [start, end) of true time, placeholders left out; at most
        `limit`, which makes the window shorter. After all links."""

    def captured(self) -> dict[str, Any]:
        """What was kept, in arrays with an entry for each frame at each station, in order of events: sfd_ps (true time
        of its reference plane there), seq, flow (index into `flows`), node, frame_bytes (on the wire, FCS included),
        outbound; flows: ids; start_ps, end_ps: of the window that has all of its frames."""

    def set_sync(self, spec: SyncSpec) -> None:
        """Synchronise by PTP, after all links. Stations, and with "gptp" bridges, have sync "ptp"."""

    def clock(self, node: int) -> NodeClock:
        """With PTP: source, stamps, state "unlocked" | "jump" | "locked"; samples every sample_ns: at_ps (true time),
        offset_ps (exact reading minus network time), read_offset_ps (what software gets that asks), read_at_ps (when it
        has it, which is later while a poll lasts), scaled_ppm; one per Sync the servo used: reported_at_ps (true time),
        reported_ps (offset from the master as its stamps had it);
        domains {number: {grandmaster, sent, received, lost, unused, updates, steps, delay_ps, and for others than 0
        offset_ps of the virtual clock, -2**63 where not known}}; ports [{valid, delay_ps, rate_ratio, complete,
        lost}]."""

    def ptp_flows(self) -> list[PtpFlow]:
        """What `stream` says, for every flow of PTP frames, with kind and talker."""

    def network_time(self, times_ps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Network time since the epoch, in ps, at true times: the grandmaster's clock; without PTP the same times."""

    def set_psfp(self, bridge: int, spec: PsfpSpec) -> None:
        """Policing of a bridge, after all streams and loads."""

    def set_shaper(self, bridge: int, peer: int, queue: int, idle_slope_bps: int) -> None:
        """Credit-based shaper of a queue of a bridge's port, after its gates."""

    def set_asynchronous(self, bridge: int, peer: int, queue: int) -> None:
        """A queue of a bridge's port sends frames by the eligibility times that schedulers gave them."""

    def add_scheduler(self, bridge: int, spec: AtsSpec) -> None:
        """ATS scheduler; what would wait for too long is lost at `NAME maximum residence time`."""

    def add_way(self, stream: int, route: list[int]) -> None:
        """Another way of a stream to its one listener: bridges send copies by all ways."""

    def set_generation(self, node: int, stream: int) -> None:
        """A bridge, or the talker, puts R-tags into frames; those of a talker have it in frame_bytes."""

    def set_recovery(self, node: int, spec: RecoverySpec) -> None:
        """A bridge, or the listener, drops copies of frames that it has had: lost at `NAME duplicate`."""

    def set_gates(
        self, bridge: int, peer: int, base_ns: int, entries: Sequence[tuple[int, int]]
    ) -> None:
        """Gate control list of the port towards `peer`: (open gates, ns) repeating from network time `base_ns`;
        0x100 beside the gates: HOLD."""

    def set_preemption(
        self, bridge: int, peer: int, queues: int, min_fragment_bytes: int = 64
    ) -> None:
        """Frames of queues, a bit for each, are preemptable at the port towards `peer`."""

    def add_stream(self, spec: StreamSpec) -> int:
        """Returns its id."""

    def add_load(self, spec: LoadSpec) -> int:
        """Returns its id."""

    def add_fault(self, kind: str, node: int, at_ns: int, value_ns: int, port: int = 0) -> None:
        """ "poll-stall": no poll for value_ns; "clock-step": the station's time of day jumps; "rate-step": its
        PHC runs value_ns ppb fast from now on; "link-down": frames on its link are cut (of a bridge, `port` is the node at the other end); "cpu-stall": nothing runs on its cores, of which it must have some; "late-submit": its next frame
        is value_ns late; "wire-pause": PAUSE frames (IEEE Std 802.3 annex 31B) keep its wire idle for value_ns after
        the frame on it at at_ns, unknown to the driver; "lost-sync": no Sync and follow-up gets to the node for
        value_ns. Polls, rates, links and pauses are of one port of the station."""

    def run(self, until_ns: int, progress: Callable[[int], object] | None = None) -> bool:
        """Handle all events up to `until_ns` after the start; returns True.

        The GIL is released. `progress(now_ns)` is called about every 20 ms of real time. KeyboardInterrupt and
        exceptions of `progress` leave at an event's end; what happened so far can be read, and run() be called
        again.
        """

    def frames(self, stream: int) -> dict[str, NDArray[np.int64]]:
        """All frames so far: seq, txtime_ns, submit_ps (handed to the driver), verdict (-1: pending), wire_ps
        (reference plane at the talker, true time), each of shape (frames,); arrival_ps (true time) and stamp_ns
        (the listener's clock and resolution) of shape (listeners, frames), and where hosts have a way
        to the application handed_ps (from a guest's datapath) and read_ps (by the application); queued_ps (in the
        ring of the device) where the talker is a guest. -1: did not happen."""

    def stream(self, stream: int) -> Flow:
        """id, submitted, sent, pending (counted from the frames the talker has), verdicts, on_wire, delivered,
        delivered_by_listener, delivered_bytes, window_sent_bytes, window_delivered_bytes, lost (place: deliveries),
        in_flight (deliveries, counted from the packets under way), torn, wrong_bytes, duplicates, ghosts (said to be
        sent, never on the wire)."""

    def load(self, load: int) -> LoadFlow:
        """The same for a load. Kind "tcp" also: acks, the same for its ACKs; tcp {acknowledged_bytes, delivered_bytes
        (in order), window_bytes (of them in the window), segments, retransmissions, recoveries, timeouts, probes,
        refused (by the host's qdisc, which reported it), duplicates, out_of_order, srtt_ps; at_ps, cwnd, ssthresh (segments; -1: none yet), thinned out}."""

    def station(self, node: int) -> Station:
        """name, nic (counters of the NIC model), placeholders (fetched so far), placeholders_discarded (received),
        foreign_frames (left with a good FCS and bytes of no frame), etf_drops, qdisc (counters of the qdiscs, if
        any were asked for), disturbances, host_draws and host_tails (by stage of the host: how often it was gone through, how often
        with a tail); where software contends for cores cpu {"hard-irq" | "softirq" | "fifo" | "normal": steps, busy_ps,
        waited_ps, wait_ps_max of one, preemptions}; with driver "keepon" also
        counters and verdicts of the core, clock (what the core believes, with rate_ppb and rate_error_ppb of the wire
        against the CPU counter, None where nothing is posted, and its true error phc_error_ps) and config (with the
        core's defaults). With several links everything but name, host_draws, host_tails and cpu is
        in ports
        {"NAME.0", "NAME.1" ..}, in the order of links."""

    def bridge(self, node: int) -> Bridge:
        """name, ports {peer: {received, placeholders_discarded, forwarded, forwarded_bytes, queue_drops, gate_drops,
        waiting, waiting_max, preemptions where frames are preemptable}}."""

    def boundary_errors(self, node: int, port: int = 0) -> dict[str, Any]:
        """With probe.boundaries: |slot start - grid| of every slot from the true wire position: locked_slots,
        locked_max_ps, violations (locked slots beyond boundary_bound_ps), unlocked_slots, unlocked_max_ps,
        skipped_slots, steps [(step, start of the last slot beyond the bound after it)] in ps."""

    def boundary_bounds(
        self, node: int, rate_ppb: int, rate_change_ppb: int, port: int = 0
    ) -> dict[str, int]:
        """What the core promises: boundary_error_ps, span_ns, lock_ns, lock_slots."""

    def head_check(self, node: int, port: int = 0) -> dict[str, Any]:
        """With probe.head_interval_ns: the core's interval for the wire position at random times against the truth:
        samples, invalid, violations, behind_max_ps and ahead_max_ps (the wire outside, by how much at
        most), seq_violations, widths_ps (array)."""

    def trace_hash(self) -> int:
        """Hash over every frame event so far."""

    @property
    def trace_count(self) -> int: ...
    @property
    def event_count(self) -> int: ...
    @property
    def now_ns(self) -> int: ...
