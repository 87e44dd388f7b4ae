# SPDX-License-Identifier: BSD-3-Clause
"""The discrete-event simulator around the real driver core (C++; sources in sim/).

Times are integers: `_ns` at interfaces, `_ps` where exact. Network time is `epoch_ns` plus true time, with PTP what
the grandmaster's clock reads. Every wrong value raises ValueError with one sentence naming key, value and range, and
changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepon.measure.simulated import Bridge, Flow, LoadFlow, NodeClock, PtpFlow, Station

Spec = Mapping[str, Any]

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
    def add_station(self, name: str, spec: Spec) -> int:
        """An end station; it takes part once it is linked.

        Args:
            name: unique.
            spec: every key optional but `keepon.slot_bytes` for driver "keepon":
                driver "keepon" | "standard" | "launchtime"; release "txtime" | "etf" | "sleep"; sync "ideal" | "none" |
                "ptp"; host {wakeup | stack | driver | timer | poll | rx (complete frame to software's stamp): {base_ns,
                median_ns, sigma, limit_ns (of the body), tail_probability, tail_mean_ns, cap_ns}}; cpu {cores (0: nobody
                contends for one, and the rest means nothing), irq_ns (an interrupt for received frames), softirq_ns (one
                of them)}; occupancy_ns;
                etf_delta_ns; sync_interval_ns; nic_ppm, cpu_ppm (-1000 to 1000); cpu_tick_ns (1 to 1000: resolution of
                the CPU counter that driver "keepon" reads); wander_ppb_per_s, wander_ppb (bound of the walk);
                stamp_resolution_ns; ingress_latency_ns (off RX stamps of PTP), egress_latency_ns (added to TX stamps);
                nic {prefetch_slots, fifo_bytes, index "done" | "fetch", index_lag_ns_min, index_lag_ns_max,
                rx_lag_ns_min, rx_lag_ns_max (last bit of a received frame to the receive index showing it),
                persistent, index_read_ns, fetch_ns, fetch_ns_max, restart_ns, restart_ns_max, reserved_slots,
                placeholder_bytes_min, frame_bytes_max, fragments_max (buffers of a frame), ring_slots, queue_frames,
                coalesce_ns, coalesce_frames};
                keepon {fields of core/include/keepon/config_fields.h, of which slot_bytes must be given; words are
                those of its units; partition (class masks) instead of partition_slots; clock "interpolated" | "counter" |
                "dual" (the receive ring is a clock, too: the peer on the link has driver "keepon"; with
                merge "strip" | "published" and tau_ns), classes {tc: (late, round)}}; what is not given keeps the
                core's default;
                qdisc (in front of the driver, for all frames, instead of what `release` has) {queues (the transmit
                queue of each of 16 classes), leaves [one for each queue: {kind "fifo" | "etf" | "guard", keeps_txtime
                (the driver is told); etf: delta_ns, deadline_mode, skip_sock_check, reschedule; guard: mtu_bytes,
                fudge_ns, tolerance_ns, limit_frames, late "drop" | "send"}], taprio {base_ns, cycle_ns, gates (class
                masks), lengths_ns, txtime_assist, txtime_delay_ns, offload (driver "launchtime")}};
                probe (test hooks) {boundaries, boundary_bound_ps, head_interval_ns, head_samples_max,
                declared_prefetch_slots, index_offset_slots};
                ports [one for each link, in their order: {nic, nic_ppm, keepon, qdisc}], where not
                all links of a
                station have what stands above.

        Returns:
            Node id.
        """

    def add_bridge(self, name: str, spec: Spec) -> int:
        """A store-and-forward bridge: processing_ns, ppm, wander_ppb_per_s, wander_ppb, queue_frames, queues (of
        priorities 0 to 7: those numbers unless given), sync "none" | "ptp" (whose clock its gates follow: its crystal's, or one that PTP sets), ptp_turnaround_ns (message in to
        message out), stamp_resolution_ns. Returns its node id."""

    def add_link(
        self, a: int, b: int, rate_bps: int, propagation_ns: int, asymmetry_ns: int = 0
    ) -> None:
        """Join two nodes. From a to b it takes asymmetry_ns longer than back. A station has a port
        for each of its
        links, in their order; with several and sync "ptp" its driver is "standard", as PTP sets
        one clock. Wrong
        `keepon` values are found here, where the rate is known."""

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

    def set_sync(self, spec: Spec) -> None:
        """Synchronise by PTP, after all links. Stations, and with "gptp" bridges, have sync "ptp".

        Args:
            spec: mode "gptp" | "ptp"; domains [(number, grandmaster)], domain 0 first, which sets the clocks;
                interval_ns, delay_interval_ns; servo {kind "pi" | "linreg" | "ratio", pi_proportional_scale,
                pi_proportional_exponent, pi_proportional_norm_max, pi_integral_scale, pi_integral_exponent,
                pi_integral_norm_max, step_threshold_ns, first_step_threshold_ns, filter_samples};
                delay_filter_samples, rate_samples; tc and queue of PTP's frames; start_offset_ns; sample_ns;
                changes [(at_ns, new grandmaster of domain 0)].
        """

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

    def set_gates(
        self, bridge: int, peer: int, base_ns: int, entries: Sequence[tuple[int, int]]
    ) -> None:
        """Gate control list of the port towards `peer`: (open gates, ns) repeating from network time `base_ns`."""

    def add_stream(self, spec: Spec) -> int:
        """A periodic stream: id, talker, listeners, routes (bridges per listener), period_ns, offset_ns, turns_ns
        (frames in turn: releases from the start of their own period on), start_ns, frame_bytes, tc, queue, advance_ns.
        Frame k has the txtime k periods after the first period multiple plus
        offset_ns that is not before epoch + start_ns. It leaves by the port of its route, one for
        all listeners.
        Returns its id."""

    def add_load(self, spec: Spec) -> int:
        """Best effort: id, talker, listener, route, kind "udp" | "saturate" | "tcp", rate_bps (of frame bytes), frame_bytes,
        window_frames (saturate: frames kept with the transmitter), congestion (tcp) "cubic" | "reno", start_ns, tc, queue. Returns its id."""

    def add_fault(self, kind: str, node: int, at_ns: int, value_ns: int, port: int = 0) -> None:
        """ "poll-stall": no poll for value_ns; "clock-step": the station's time of day jumps; "rate-step": its
        PHC runs value_ns ppb fast from now on; "link-down": frames on its link are cut; "cpu-stall": nothing runs on its cores, of which it must have some; "late-submit": its next frame
        is value_ns late; "wire-pause": PAUSE frames (IEEE Std 802.3 annex 31B) keep its wire idle for value_ns after
        the frame on it at at_ns; the driver is not told; "lost-sync": no Sync and follow-up gets to the node for
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
        (the listener's clock and resolution) of shape (listeners, frames). -1: did not happen."""

    def stream(self, stream: int) -> Flow:
        """id, submitted, sent, pending (counted from the frames the talker has), verdicts, on_wire, delivered,
        delivered_by_listener, delivered_bytes, window_sent_bytes, window_delivered_bytes, lost (place: deliveries),
        in_flight (deliveries, counted from the packets under way), torn, wrong_bytes, duplicates, ghosts (said to be
        sent, never on the wire)."""

    def load(self, load: int) -> LoadFlow:
        """The same for a load. Kind "tcp" also: acks, the same for its ACKs; tcp {acknowledged_bytes, delivered_bytes
        (in order), window_bytes (of them in the window), segments, retransmissions, recoveries, timeouts, probes,
        refused (by the host's qdisc, which told of it), duplicates, out_of_order, srtt_ps; at_ps, cwnd, ssthresh (segments; -1: none yet), thinned out}."""

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
        waiting, waiting_max}}."""

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
