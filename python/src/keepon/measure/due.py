# SPDX-License-Identifier: BSD-3-Clause
"""What was due: frames of a stream by its schedule alone, whatever came of them and its talker
says.

A schedule is a period, the releases of frames in turn and the instant from which the stream is
sent. All times are network time in ns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from keepon.errors import SimulationError
from keepon.measure.results import NONE, PENDING, FrameArrays
from keepon.measure.statistics import IntArray
from keepon.model.cables import hops
from keepon.model.plan import Plan, PlannedStream
from keepon.model.scenario import Scenario, Stream
from keepon.model.timing import measured_ns
from keepon.model.topology import Topology
from keepon.model.wire import byte_time_ps


@dataclass(frozen=True)
class Schedule:
    """When frames of one stream are due.

    Attributes:
        cycle_ns: time of as many frames as there are releases.
        releases_ns: of its frames in turn, from the start of each period on; turns count from the
            origin of time.
        begins_ns: frame 0 is the first whose period plus first release is not before this.
    """

    cycle_ns: int
    releases_ns: tuple[int, ...]
    begins_ns: int

    @property
    def first_period(self) -> int:
        """The period of frame 0, counted from the origin of time."""
        from_ns = self.begins_ns - self.releases_ns[0]
        return -(-from_ns * len(self.releases_ns) // self.cycle_ns)

    def txtimes_ns(self, seq: IntArray) -> IntArray:
        """Instants at which frames are due, by their numbers."""
        turns = len(self.releases_ns)
        in_cycle = [
            turn * self.cycle_ns // turns + at_ns for turn, at_ns in enumerate(self.releases_ns)
        ]
        cycles, turn = np.divmod(seq + self.first_period, turns)
        due: IntArray = cycles * self.cycle_ns + np.array(in_cycle, dtype=np.int64)[turn]
        return due

    def numbers(self, txtime_ns: IntArray) -> IntArray:
        """Numbers of frames by their instants, of a schedule with one release."""
        found: IntArray = (txtime_ns - self.releases_ns[0]) // self.cycle_ns - self.first_period
        return found

    def due(self, start_ns: int, end_ns: int) -> IntArray:
        """Numbers of the frames due in [start, end).

        >>> Schedule(10, (3,), 20).due(0, 50).tolist()
        [0, 1, 2]
        """
        turns = len(self.releases_ns)
        low = (start_ns - max(self.releases_ns)) * turns // self.cycle_ns - self.first_period
        high = (end_ns - min(self.releases_ns)) * turns // self.cycle_ns + 1 - self.first_period
        seq = np.arange(max(0, low), max(0, high), dtype=np.int64)
        at_ns = self.txtimes_ns(seq)
        found: IntArray = seq[(at_ns >= start_ns) & (at_ns < end_ns)]
        return found


def on_schedule(
    frames: FrameArrays, schedule: Schedule, window_ns: tuple[int, int], stream: str
) -> FrameArrays:
    """One row for every frame due in a window; what was never handed over has no instant at all.

    Args:
        frames: everything known of the stream's frames, over the whole run.
        schedule: of the stream.
        window_ns: [start, end) since the epoch of the frames.
        stream: for messages.

    Raises:
        SimulationError: a frame was handed over twice, or for another instant than its schedule
            says.
    """
    if frames.seq.size and np.any(np.diff(frames.seq) <= 0):
        raise SimulationError(f"stream {stream}: frames are not in order, or one is there twice")
    wrong = np.flatnonzero(schedule.txtimes_ns(frames.seq) != frames.txtime_ns)
    if wrong.size:
        first = int(wrong[0])
        raise SimulationError(
            f"stream {stream}: frame {frames.seq[first]} was handed over for"
            f" {frames.txtime_ns[first]}, its schedule says"
            f" {schedule.txtimes_ns(frames.seq[first : first + 1])[0]}"
        )
    seq = schedule.due(window_ns[0] + frames.epoch_ns, window_ns[1] + frames.epoch_ns)
    places = np.searchsorted(frames.seq, seq)
    known = np.zeros(seq.size, dtype=bool)
    within = places < frames.seq.size
    known[within] = frames.seq[places[within]] == seq[within]
    return _filled(frames, seq, schedule.txtimes_ns(seq), known, places[known])


def _filled(
    frames: FrameArrays, seq: IntArray, txtime_ns: IntArray, known: IntArray, places: IntArray
) -> FrameArrays:
    def row(values: IntArray, absent: int) -> IntArray:
        filled = np.full(seq.size, absent, dtype=np.int64)
        filled[known] = values[places]
        return filled

    def rows(values: IntArray) -> IntArray:
        filled = np.full((values.shape[0], seq.size), NONE, dtype=np.int64)
        filled[:, known] = values[:, places]
        return filled

    return replace(
        frames, seq=seq, txtime_ns=txtime_ns,
        submit_ps=row(frames.submit_ps, NONE), verdict=row(frames.verdict, PENDING),
        wire_ps=row(frames.wire_ps, NONE),
        left=None if frames.left is None else row(frames.left, 0),
        arrival_ps=rows(frames.arrival_ps), stamp_ns=rows(frames.stamp_ns),
    )  # fmt: skip


def allowed_ns(scenario: Scenario, plan: Plan) -> int:
    """How long after it was due a frame may still come: after that it is missing, not on its way.

    Four periods, or the greatest deadline or bound of a delay if that is longer.
    """
    delays_ns = [entry["bounds"]["delay_ns"] or 0 for entry in plan["streams"].values()]
    delays_ns += [max(4 * stream.period_ns, stream.deadline_ns or 0) for stream in scenario.stream]
    return max(delays_ns, default=0)


DRAIN_NS_MIN = 20_000_000


WANDER_PPM_MAX = 1.0
"""The simulator's oscillators wander by no more."""


def schedule(from_ns: int, stream: Stream, entry: PlannedStream) -> Schedule:
    """When frames of a stream are due from an instant on, from scenario and plan."""
    releases_ns = tuple(entry.get("turns_ns", [entry["release_ns"]]))
    cycle_ns = stream.cycle_ns * len(releases_ns) // stream.turns
    return Schedule(cycle_ns, releases_ns, from_ns)


def last_bits_ps(
    scenario: Scenario, stream: Stream, entry: PlannedStream, padded: bool
) -> IntArray | int:
    """By how much later than the first bit of a frame the one that its deadline is of arrives, a
    row for each listener.

    Args:
        scenario, stream, entry: the scenario, and the stream in it and in the plan.
        padded: its frames are as long as planned.
    """
    if stream.deadline_at == "first_bit":
        return 0
    topology = Topology(scenario)
    sent_bytes = entry["frame_bytes_on_wire"] if padded else stream.frame_bytes
    ends = [hops((stream.talker, *entry["routes"][name], name))[-1] for name in stream.listeners]
    spans = [[sent_bytes * byte_time_ps(topology.wires[end].rate_bps)] for end in ends]
    return np.array(spans, dtype=np.int64)


def run_ns(scenario: Scenario, plan: Plan) -> int:
    """True time after which every frame that is measured has left and arrived.

    What is measured ends in network time, by clocks of talkers and the grandmaster; a slow crystal
    gets there later.
    """
    _, end_ns = measured_ns(scenario)
    over_ns = end_ns + max(DRAIN_NS_MIN, allowed_ns(scenario, plan))
    if scenario.sync.mode == "ideal":
        return over_ns
    crystals = [ppm for station in scenario.station for ppm in (station.clock_ppm, station.cpu_ppm)]
    slowest_ppm = (
        min(0.0, *crystals, *(bridge.clock_ppm for bridge in scenario.bridge)) - WANDER_PPM_MAX
    )
    return over_ns + math.ceil(-slowest_ppm * 1e-6 * end_ns)
