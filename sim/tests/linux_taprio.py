# SPDX-License-Identifier: BSD-3-Clause
"""A slow model of software taprio in Linux 6.12 above a driver with one ring: frame by frame, after
net/sched/sch_taprio.c and sch_generic.c, as lists of packets. It shares nothing with the simulator.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CLASSES = 8
QUEUE_FRAMES = 1000
BULK = 8
FCS, PREAMBLE, GAP = 4, 8, 12
FOREVER = 1 << 62
RING = 256
ENDS = ("no_room", "oversize", "not_allowed", "late", "invalid")
TIMED = -1
"""Flow number of the first stream with times; the others have lower ones."""


@dataclass(frozen=True)
class Flow:
    """Best effort at a set rate."""

    tc: int
    frame_bytes: int
    rate_bps: int
    start_ns: int


@dataclass(frozen=True)
class Timed:
    """A stream with times, in a class that has etf; its first frame is that of period `first`."""

    tc: int
    frame_bytes: int
    period_ns: int
    offset_ns: int
    advance_ns: int
    delta_ns: int
    first: int


@dataclass(frozen=True)
class Case:
    """What is to be sent. Windows are pairs of gates and ns; times in ns, ps of a byte."""

    windows: list[tuple[int, int]]
    base_ns: int
    flows: list[Flow]
    end_ns: int
    byte_ps: int
    fetch_ns: int
    coalesce_ns: int
    coalesce_frames: int
    timed: tuple[Timed, ...] = ()  # those of one class have one delta
    deadline_mode: bool = False
    queues: int = 8
    """Transmit queues; those of classes beyond them are the last one's."""

    @property
    def cycle_ns(self) -> int:
        return sum(ns for _, ns in self.windows)


@dataclass(frozen=True)
class Packet:
    flow: int
    seq: int
    frame_bytes: int
    tc: int
    txtime_ns: int = 0

    @property
    def skb_bytes(self) -> int:
        return self.frame_bytes - FCS


@dataclass
class Machine:
    """Its qdisc, its ring and its wire; time of day is `epoch_ns` when it starts."""

    case: Case
    epoch_ns: int
    now_ps: int = 0
    events: list[tuple[int, int, Callable[..., None], Any]] = field(default_factory=list)
    pushed: int = 0
    queues: list[deque[Packet]] = field(default_factory=lambda: [deque() for _ in range(CLASSES)])
    gso_skb: deque[Packet] = field(default_factory=deque)
    skb_bad_txq: deque[Packet] = field(default_factory=deque)
    entry: int | None = None
    budget: list[int] = field(default_factory=lambda: [0] * CLASSES)
    close_ns: list[int] = field(default_factory=lambda: [0] * CLASSES)
    ring: deque[int] = field(default_factory=deque)
    fetched_ps: int = 0
    free_ps: int = 0
    reclaim_ps: int = FOREVER
    is_stopped: bool = False
    stops: int = 0
    sfd_ps: dict[tuple[int, int], int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ENDS, 0))
    watchdog_ns: dict[int, int | None] = field(default_factory=dict)
    last_ns: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        windows = self.case.windows
        self.delta_ns = {timed.tc: timed.delta_ns for timed in self.case.timed}
        self.gate_duration = [[self.in_a_row_ns(i, tc) for tc in range(CLASSES)]
                              for i in range(len(windows))]  # fmt: skip
        base_ns, cycle_ns = self.case.base_ns, self.case.cycle_ns
        if base_ns <= self.epoch_ns:
            base_ns += ((self.epoch_ns - base_ns) // cycle_ns + 1) * cycle_ns
        self.at((base_ns - self.epoch_ns) * 1000, self.advance_sched, base_ns)
        for number, flow in enumerate(self.case.flows):
            self.at(flow.start_ns * 1000, self.arrive, (number, 0))
        for number, timed in enumerate(self.case.timed):
            self.hand_over(timed.first, number)

    def at(self, time_ps: int, what: Callable[..., None], argument: Any) -> None:
        self.pushed += 1
        heapq.heappush(self.events, (time_ps, self.pushed, what, argument))

    def run(self) -> None:
        while self.events and self.events[0][0] <= self.case.end_ns * 1000:
            self.now_ps, _, what, argument = heapq.heappop(self.events)
            what(argument)

    @property
    def tai_ns(self) -> int:
        return self.epoch_ns + self.now_ps // 1000

    def in_a_row_ns(self, entry: int, tc: int) -> int:
        """taprio_calculate_gate_durations()"""
        windows = self.case.windows
        total_ns = 0
        for gates, ns in windows[entry:] + windows[:entry]:
            if not gates >> tc & 1:
                break
            total_ns += ns
        return total_ns

    def advance_sched(self, start_ns: int) -> None:
        windows = self.case.windows
        self.entry = 0 if self.entry is None else (self.entry + 1) % len(windows)
        for tc, ns in enumerate(self.gate_duration[self.entry]):
            endless = ns == self.case.cycle_ns
            self.budget[tc] = FOREVER if endless else ns * 1000 // self.case.byte_ps
            self.close_ns[tc] = FOREVER if endless else start_ns + ns
        end_ns = start_ns + windows[self.entry][1]
        self.at((end_ns - self.epoch_ns) * 1000, self.advance_sched, end_ns)
        self.qdisc_run()

    def arrive(self, which: tuple[int, int]) -> None:
        number, seq = which
        flow = self.case.flows[number]
        gap_ps = flow.frame_bytes * 8 * 10**12
        self.at(flow.start_ns * 1000 + (seq + 1) * gap_ps // flow.rate_bps, self.arrive,
                (number, seq + 1))  # fmt: skip
        packet = Packet(number, seq, flow.frame_bytes, flow.tc)
        if self.is_too_long(packet):
            self.dropped["oversize"] += 1
        elif len(self.queues[flow.tc]) >= QUEUE_FRAMES:
            self.dropped["no_room"] += 1
        else:
            self.queues[flow.tc].append(packet)
        self.qdisc_run()

    def is_too_long(self, packet: Packet) -> bool:
        longest_ns = max(row[packet.tc] for row in self.gate_duration)
        if self.entry is None or longest_ns == self.case.cycle_ns:
            return False
        return packet.skb_bytes * self.case.byte_ps > longest_ns * 1000

    def is_valid_interval(self, packet: Packet) -> bool:
        """None is before the timer has fired for the first time."""
        into_ns = (packet.txtime_ns - self.case.base_ns) % self.case.cycle_ns
        takes_ns = packet.skb_bytes * self.case.byte_ps // 1000
        for gates, ns in self.case.windows:
            if gates >> packet.tc & 1 and into_ns > 0 and into_ns + takes_ns < ns:
                return self.entry is not None
            into_ns -= ns
        return False

    def hand_over(self, seq: int, number: int) -> None:
        timed = self.case.timed[number]
        due_ns = seq * timed.period_ns + timed.offset_ns
        self.at((due_ns - timed.advance_ns) * 1000, self.arrive_timed, (seq, number, due_ns))

    def arrive_timed(self, which: tuple[int, int, int]) -> None:
        """etf_enqueue_timesortedlist()"""
        seq, number, due_ns = which
        timed = self.case.timed[number]
        packet = Packet(
            TIMED - number, seq - timed.first, timed.frame_bytes, timed.tc, self.epoch_ns + due_ns
        )
        if self.is_too_long(packet):
            self.dropped["oversize"] += 1
        elif not self.is_valid_interval(packet):
            self.dropped["not_allowed"] += 1
        elif packet.txtime_ns < self.tai_ns:
            self.dropped["late"] += 1
        elif packet.txtime_ns < self.last_ns.get(timed.tc, 0):
            self.dropped["invalid"] += 1
        else:
            queue = [*self.queues[timed.tc], packet]
            self.queues[timed.tc] = deque(sorted(queue, key=lambda packet: packet.txtime_ns))
            self.reset_watchdog(timed.tc)
        self.qdisc_run()
        self.hand_over(seq + 1, number)

    def reset_watchdog(self, tc: int) -> None:
        queue = self.queues[tc]
        at_ns = queue[0].txtime_ns - self.delta_ns[tc] if queue else None
        if at_ns != self.watchdog_ns.get(tc):
            self.watchdog_ns[tc] = at_ns
            if at_ns is not None:
                at_ps = max(self.now_ps, (at_ns - self.epoch_ns) * 1000)
                self.at(at_ps, self.watchdog, (tc, at_ns))

    def watchdog(self, which: tuple[int, int]) -> None:
        tc, at_ns = which
        if at_ns == self.watchdog_ns.get(tc):
            self.watchdog_ns[tc] = None
            self.qdisc_run()

    def dequeue_etf(self, tc: int) -> Packet | None:
        """etf_dequeue_timesortedlist()"""
        queue = self.queues[tc]
        taken = None
        if queue[0].txtime_ns < self.tai_ns:
            while queue and queue[0].txtime_ns <= self.tai_ns:
                queue.popleft()
                self.dropped["late"] += 1
        elif self.case.deadline_mode or queue[0].txtime_ns - self.delta_ns[tc] <= self.tai_ns:
            taken = queue.popleft()
            self.last_ns[tc] = taken.txtime_ns
        self.reset_watchdog(tc)
        return taken

    def dequeue_from(self, tc: int) -> Packet | None:
        """taprio_dequeue_from_txq(): it takes of the budgets also where it gives no packet."""
        if not self.queues[tc]:
            return None
        packet = self.queues[tc][0]
        if self.entry is not None:
            if not self.case.windows[self.entry][0] >> tc & 1:
                return None
            takes_ns = packet.skb_bytes * self.case.byte_ps // 1000
            if self.tai_ns + takes_ns >= self.close_ns[tc]:
                return None
            for each, budget in enumerate(self.budget):
                if budget != FOREVER:
                    self.budget[each] -= packet.skb_bytes
            if self.budget[tc] < 0:
                return None
        if tc in self.delta_ns:
            return self.dequeue_etf(tc)
        return self.queues[tc].popleft()

    def dequeue(self) -> Packet | None:
        for tc in reversed(range(CLASSES)):
            if packet := self.dequeue_from(tc):
                return packet
        return None

    def dequeue_skb(self) -> list[Packet]:
        """With try_bulk_dequeue_skb_slow(), as there are several queues of the device."""
        if self.gso_skb:
            return [] if self.is_stopped else [self.gso_skb.popleft()]
        if self.skb_bad_txq:
            if self.is_stopped:
                return []
            first: Packet | None = self.skb_bad_txq.popleft()
        else:
            first = self.dequeue()
        if first is None:
            return []
        packets = [first]
        for _ in range(BULK):
            more = self.dequeue()
            if more is None:
                break
            if more.tc != first.tc:
                self.skb_bad_txq.append(more)
                break
            packets.append(more)
        return packets

    def qdisc_run(self) -> None:
        """sch_direct_xmit() puts back what the ring does not take."""
        while packets := self.dequeue_skb():
            for number, packet in enumerate(packets):
                if self.is_stopped:
                    self.gso_skb.extend(packets[number:])
                    return
                self.xmit(packet)

    def xmit(self, packet: Packet) -> None:
        byte_ps = self.case.byte_ps
        self.fetched_ps = max(self.fetched_ps, self.now_ps + self.case.fetch_ns * 1000)
        start_ps = max(-(-self.fetched_ps // byte_ps) * byte_ps, self.free_ps)
        self.sfd_ps[packet.flow, packet.seq] = start_ps + PREAMBLE * byte_ps
        self.ring.append(start_ps + (PREAMBLE + packet.frame_bytes) * byte_ps)
        self.free_ps = self.ring[-1] + GAP * byte_ps
        self.expect_interrupt()
        if len(self.ring) >= RING:
            self.is_stopped = True
            self.stops += 1

    def expect_interrupt(self) -> None:
        if not self.ring:
            return
        time_ps = self.ring[0] + self.case.coalesce_ns * 1000
        if len(self.ring) >= self.case.coalesce_frames:
            time_ps = min(time_ps, self.ring[self.case.coalesce_frames - 1])
        if time_ps < self.reclaim_ps:
            self.reclaim_ps = time_ps
            self.at(time_ps, self.interrupt, time_ps)

    def interrupt(self, time_ps: int) -> None:
        if time_ps != self.reclaim_ps:
            return
        self.reclaim_ps = FOREVER
        while self.ring and self.ring[0] <= time_ps:
            self.ring.popleft()
        self.expect_interrupt()
        if self.is_stopped and len(self.ring) < RING:
            self.is_stopped = False
            self.qdisc_run()
