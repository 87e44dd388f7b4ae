# SPDX-License-Identifier: BSD-3-Clause
"""From frame arrays to the numbers of `keepon.result/1`: accounting, statistics, bounds, worst
frames.

It computes and checks; it knows neither the simulator nor files. True times are ps since the start
of the run and become network time by adding the epoch; stamps are what the listener's own clock
said.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from keepon.errors import SimulationError
from keepon.measure.simulated import Flow
from keepon.measure.statistics import IntArray, summary
from keepon.model import outcomes
from keepon.model.plan import Bounds, PlannedStream
from keepon.model.quantities import Quantities
from keepon.model.result import (
    Accounting,
    BoundCheck,
    Delays,
    Frame,
    MeasuredStream,
    Outliers,
    Slips,
    StreamResult,
)

SENT_VERDICTS = ("on_time", "moved", "best_effort", "sent_stale")
IN_DOUBT = "in_doubt"
"""The one verdict that leaves open whether a frame was sent; a capture or the listener decides."""
PENDING = -1
NONE = -1
SERIES_FRAMES = 500


@dataclass(frozen=True)
class FrameArrays:
    """Frames of one stream, in order of their numbers.

    Attributes:
        seq: number of the frame, from 0, shape (n,).
        txtime_ns: requested instant, network time, shape (n,).
        submit_ps: when it was handed to the driver, ps since start, -1 if never, shape (n,).
        verdict: index into verdict names, -1 pending, shape (n,).
        wire_ps: start of its first bit after the SFD on the talker's wire, ps since start, -1 if
            never, shape (n,).
        arrival_ps: the same at each listener, shape (listeners, n).
        stamp_ns: the listener's own stamp of it, network time as that clock has it, shape
            (listeners, n).
        epoch_ns: network time of the start.
        one_clock: arrivals and txtimes are in one time; else delays mean nothing.
        left: frames known to have been sent, at whatever instant, shape (n,); None: those with
            one.
    """

    seq: IntArray
    txtime_ns: IntArray
    submit_ps: IntArray
    verdict: IntArray
    wire_ps: IntArray
    arrival_ps: IntArray
    stamp_ns: IntArray
    epoch_ns: int
    one_clock: bool = True
    left: IntArray | None = None

    def slice(self, start: int, end: int) -> FrameArrays:
        """Frames start to end - 1 by position."""
        return self._kept(slice(start, end))

    def _kept(self, keep: Any) -> FrameArrays:
        return FrameArrays(
            self.seq[keep], self.txtime_ns[keep], self.submit_ps[keep], self.verdict[keep],
            self.wire_ps[keep],
            self.arrival_ps[:, keep], self.stamp_ns[:, keep], self.epoch_ns, self.one_clock,
            None if self.left is None else self.left[keep],
        )  # fmt: skip

    @property
    def delay_known(self) -> Any:
        """Of which frames the delay to which listener is known, shape (listeners, n)."""
        return (self.arrival_ps != NONE) & self.one_clock

    @property
    def txtime_ps(self) -> IntArray:
        """Requested instants in ps since start."""
        return (self.txtime_ns - self.epoch_ns) * 1000

    @property
    def submitted(self) -> Any:
        """Which frames the talker handed over."""
        return self.submit_ps != NONE

    @property
    def timed(self) -> Any:
        """Which frames were sent at an instant that is known."""
        return self.wire_ps != NONE

    @property
    def sent(self) -> Any:
        return self.timed if self.left is None else self.timed | (self.left == 1)

    @property
    def delivered(self) -> Any:
        """Which frames every listener got."""
        return np.all(self.arrival_ps != NONE, axis=0)


def accounting(
    frames: FrameArrays, verdict_names: list[str], lost: dict[str, int], stream: str
) -> Accounting:
    """Counts of one stream; every frame has one fate, and it is the one its verdict says.

    Args:
        frames: a row for every frame due.
        verdict_names: name by verdict index.
        lost: frames of this stream known to have been discarded, by place.
        stream: for messages.

    Raises:
        SimulationError: a verdict contradicts the wire, a frame arrived that was not sent or was
            sent that was not handed over, or more arrived or were lost than sent.
    """
    sent, submitted = frames.sent, frames.submitted
    verdicts = dict.fromkeys(verdict_names, 0)
    for index, name in enumerate(verdict_names):
        having = frames.verdict == index
        verdicts[name] = int(np.count_nonzero(having))
        if name in SENT_VERDICTS:
            _none_of(
                frames, having & ~sent, stream, f"has verdict {name} but was never on the wire"
            )
        elif name != IN_DOUBT:
            _none_of(frames, having & sent, stream, "was refused and yet on the wire")
    _none_of(frames, frames.delivered & ~sent, stream, "arrived without having been sent")
    _none_of(
        frames,
        (sent | (frames.verdict != PENDING)) & ~submitted,
        stream,
        "was not handed over and yet ended",
    )
    sent_count = int(np.count_nonzero(sent))
    delivered = int(np.count_nonzero(frames.delivered))
    in_flight = sent_count - delivered - sum(lost.values())
    if in_flight < 0:
        raise SimulationError(f"stream {stream}: sent {sent_count} is less than delivered + lost")
    return {
        "due": len(frames.seq),
        "submitted": int(np.count_nonzero(submitted)),
        "sent": sent_count,
        "pending": int(np.count_nonzero(submitted & (frames.verdict == PENDING))),
        "delivered": delivered,
        "lost": lost,
        "verdicts": verdicts,
        "in_flight": in_flight,
        "missing": len(frames.seq) - delivered,
    }


def _none_of(frames: FrameArrays, wrong: Any, stream: str, what: str) -> None:
    if np.any(wrong):
        raise SimulationError(f"stream {stream}: frame {int(frames.seq[wrong][0])} {what}")


def losses(frames: FrameArrays, whole_run: dict[str, int]) -> dict[str, int]:
    """Undelivered sent frames by the place where this stream lost any in the whole run.

    The simulator counts losses by place, not by frame: with several places they are counted
    together under all their names; without any, undelivered frames are still in flight.
    """
    undelivered = int(np.count_nonzero(frames.sent & ~frames.delivered))
    if not whole_run or not undelivered:
        return {}
    return {" or ".join(sorted(whole_run)): min(undelivered, sum(whole_run.values()))}


def check_whole_run(
    frames: FrameArrays, verdict_names: list[str], whole: Flow, stream: str
) -> None:
    """The simulator's own counters of a stream against the frames themselves, over the whole run.

    Raises:
        SimulationError: they differ, frames do not add up, or one arrived changed, twice or from
            nowhere.
    """
    listeners = frames.arrival_ps.shape[0]
    counted = {
        "submitted": int(np.count_nonzero(frames.submit_ps != NONE)),
        "on_wire": int(np.count_nonzero(frames.sent)),
        "delivered": int(np.count_nonzero(frames.arrival_ps != NONE)),
        "pending": int(np.count_nonzero(frames.verdict == PENDING)),
    }
    for index, name in enumerate(verdict_names):
        ended = int(np.count_nonzero(frames.verdict == index))
        if whole["verdicts"].get(name, 0) != ended:
            raise SimulationError(
                f"stream {stream}: {ended} frames ended as {name}, the simulator counted "
                f"{whole['verdicts'].get(name, 0)}"
            )
    counts = {
        "submitted": whole["submitted"],
        "on_wire": whole["on_wire"],
        "delivered": whole["delivered"],
        "pending": whole["pending"],
    }
    for name, value in counted.items():
        if counts[name] != value:
            found = f"{value} frames are {name}, the simulator counted {counts[name]}"
            raise SimulationError(f"stream {stream}: {found}")
    check_flow(whole, listeners, f"stream {stream}")
    wrong = {
        "wrong_bytes": whole["wrong_bytes"],
        "duplicates": whole["duplicates"],
        "ghosts": whole["ghosts"],
    }
    for name, count in wrong.items():
        if count:
            found = f"{count} frames with {name}; the core or the simulator is wrong"
            raise SimulationError(f"stream {stream}: {found}")


def check_flow(whole: Flow, listeners: int, what: str) -> None:
    """Counters of a stream or load against what its talker and the network still have.

    The simulator counts `pending` and `in_flight` from the frames and packets that exist, so that
    one which vanished or was counted twice shows.

    Raises:
        SimulationError: frames do not add up.
    """
    if whole["submitted"] != sum(whole["verdicts"].values()) + whole["pending"]:
        raise SimulationError(f"{what}: submitted is not verdicts + pending over the whole run")
    arrived = whole["delivered"] + sum(whole["lost"].values()) + whole["in_flight"]
    if listeners * whole["on_wire"] + whole.get("split", 0) != arrived:
        raise SimulationError(
            f"{what}: sent is not delivered + lost + in flight over the whole run"
        )


def _interarrival(times: IntArray, none: int) -> IntArray:
    """Differences of successive arrivals at each listener, in order of arrival; rows are
    listeners.
    """
    rows = [np.diff(np.sort(row[row != none])) for row in times]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)


def quantities(frames: FrameArrays) -> Quantities:
    """delay_ns (schedule to delivery), interarrival_ns, release_error_ns; the first two also by
    listeners' stamps.
    """
    delays = (frames.arrival_ps - frames.txtime_ps[np.newaxis, :])[frames.delay_known]
    timed = frames.timed
    stamped = (frames.stamp_ns != NONE) & frames.one_clock
    stamp_delays = (frames.stamp_ns - frames.txtime_ns[np.newaxis, :])[stamped]
    return {
        "delay_ns": summary(delays, 1000),
        "interarrival_ns": summary(_interarrival(frames.arrival_ps, NONE), 1000),
        "release_error_ns": summary((frames.wire_ps - frames.txtime_ps)[timed], 1000),
        "listener": {
            "delay_ns": summary(stamp_delays, 1),
            "interarrival_ns": summary(_interarrival(frames.stamp_ns, NONE), 1),
        },
    }


def _frame(frames: FrameArrays, index: int, delay_ps: int | None) -> Frame:
    return {
        "seq": int(frames.seq[index]),
        "txtime_ns": int(frames.txtime_ns[index]),
        "delay_ns": None if delay_ps is None else delay_ps / 1000,
    }


def bound_check(
    frames: FrameArrays, bounds: Bounds, period_ns: int | Fraction
) -> dict[str, BoundCheck]:
    """Each bound of the plan against the worst frame, in true time.

    The age of data is not compared: it is the delay and the constant `advance_ns`, and so is its
    bound.

    Returns:
        quantity -> {bound_ns, worst_ns, met, outcome}; quantities without a bound are left out,
        worst_ns is None where no frame shows the quantity. delay_min_ns is the earliest instant at
        which a frame can be there: what comes before left before its time. jitter_ns is the
        greatest deviation of an inter-arrival time from the period (of successive frames both
        delivered).
    """
    got = frames.arrival_ps != NONE
    delays = frames.arrival_ps - frames.txtime_ps[np.newaxis, :]
    errors = np.abs(frames.wire_ps - frames.txtime_ps)[frames.timed]
    known = frames.delay_known
    pairs = got[:, 1:] & got[:, :-1] & (np.diff(frames.seq) == 1)[np.newaxis, :]
    turns = period_ns.denominator  # a rate's period is no whole number of ps
    apart = np.diff(delays, axis=1) + np.diff(frames.txtime_ps)
    deviations = -(-np.abs(turns * apart - 1000 * period_ns.numerator) // turns)[pairs]
    worst_ps = {
        "release_error_ns": int(errors.max()) if errors.size else None,
        "delay_ns": int(delays[known].max()) if np.any(known) else None,
        "delay_min_ns": int(delays[known].min()) if np.any(known) else None,
        "jitter_ns": int(deviations.max()) if deviations.size else None,
    }
    bounds_ns = {
        "release_error_ns": bounds.get("release_error_ns"),
        "delay_ns": bounds.get("delay_ns"),
        "delay_min_ns": bounds.get("delay_min_ns"),
        "jitter_ns": bounds.get("jitter_ns"),
    }
    return {
        name: check(bound_ns, worst_ps[name], least=name == "delay_min_ns")
        for name, bound_ns in bounds_ns.items()
        if bound_ns is not None
    }


def check(bound_ns: int, worst_ps: int | None, least: bool = False) -> BoundCheck:
    """One bound beside the worst value: the greatest, or the least where it bounds from below."""
    met = worst_ps is not None and (
        worst_ps >= bound_ns * 1000 if least else worst_ps <= bound_ns * 1000
    )
    worst_ns = None if worst_ps is None else worst_ps / 1000
    return {
        "bound_ns": bound_ns,
        "worst_ns": worst_ns,
        "met": met,
        "outcome": outcomes.of_check(worst_ns, met),
    }


def outliers(
    frames: FrameArrays,
    bounds: Bounds,
    deadline_ns: int | None,
    uncertainty_ns: float = 0,
    last_bits_ps: IntArray | int = 0,
) -> Outliers:
    """First and worst.

    Args:
        frames: a row for every frame due.
        bounds: of the stream in this run.
        deadline_ns: of the scenario.
        uncertainty_ns: how far delays may be off; a frame is bad if it is beyond a bound by more.
        last_bits_ps: by how much later than a frame its deadline is met (`due.last_bits_ps`).

    Returns:
        first_bad: first frame due that is missing, too late or too early; worst: the frame with the
        greatest delay.
    """
    got = frames.delay_known
    delays = frames.arrival_ps - frames.txtime_ps[np.newaxis, :]
    latest = np.where(got, delays, np.int64(-(2**62))).max(axis=0, initial=-(2**62))
    earliest = np.where(got, delays, np.int64(2**62)).min(axis=0, initial=2**62)
    missing = ~frames.delivered
    bad = missing.copy()
    for limit_ns, behind_ps in ((bounds.get("delay_ns"), 0), (deadline_ns, last_bits_ps)):
        if limit_ns is not None:
            late = got & (delays + behind_ps > (limit_ns + uncertainty_ns) * 1000)
            bad |= late.any(axis=0)
    if (least_ns := bounds.get("delay_min_ns")) is not None:
        bad |= earliest < (least_ns - uncertainty_ns) * 1000
    report: Outliers = {"first_bad": None, "worst": None}
    if np.any(bad):
        first = int(np.argmax(bad))
        report["first_bad"] = _frame(frames, first, None if missing[first] else int(latest[first]))
    if np.any(got):
        index = int(np.argmax(latest))
        report["worst"] = _frame(frames, index, int(latest[index]))
    return report


def bounds_of(entry: PlannedStream, padded: bool) -> Bounds:
    """The bounds a stream has in a run: those of its plan.

    Args:
        entry: the stream's part of the plan.
        padded: its frames are as long as planned; a driver that does not pad them may deliver them
            earlier.
    """
    bounds = entry["bounds"]
    least_ns = bounds.get("delay_min_ns")
    if padded or least_ns is None:
        return bounds
    return {**bounds, "delay_min_ns": least_ns - -(-entry["padding_ps"] // 1000)}


def first_delays(frames: FrameArrays, count: int) -> Delays:
    """Delay in ns of the first `count` frames at the first listener, None where one is missing."""
    known = frames.delay_known[0, :count]
    delays = frames.arrival_ps[0, :count] - frames.txtime_ps[:count]
    pairs = zip(known, delays, strict=True)
    return [int(delay) / 1000 if is_known else None for is_known, delay in pairs]


def stream_result(
    frames: FrameArrays,
    verdict_names: list[str],
    lost: dict[str, int],
    bounds: Bounds,
    stream: str,
    period_ns: int | Fraction,
    deadline_ns: int | None,
    last_bits_ps: IntArray | int = 0,
) -> StreamResult:
    """Everything the result file says of one stream in one run.

    Args:
        frames: a row for every frame due (keepon.measure.due).
        bounds: of the stream in this run (bounds_of).
        deadline_ns: checked as a bound of its own where the scenario states one.
        last_bits_ps: by how much later than a frame its deadline is met (`due.last_bits_ps`).
    """
    counts, measured = accounting(frames, verdict_names, lost, stream), quantities(frames)
    checks = bound_check(frames, bounds, period_ns)
    if deadline_ns is not None:
        delays = frames.arrival_ps - frames.txtime_ps[np.newaxis, :] + last_bits_ps
        known = frames.delay_known
        worst_ps = int(delays[known].max()) if np.any(known) else None
        checks["deadline_ns"] = check(deadline_ns, worst_ps)
    document: MeasuredStream = {
        **counts,
        **measured,
        "bound_check": checks,
        **outliers(frames, bounds, deadline_ns, last_bits_ps=last_bits_ps),
        "outcome": outcomes.of_stream(counts["due"], counts["missing"], checks),
        "first_delays_ns": first_delays(frames, SERIES_FRAMES),
    }
    # What only some targets or drivers show is not there yet.
    return cast(StreamResult, document)


def slips(frames: FrameArrays, slot_ps: int, preamble_ps: int) -> Slips:
    """Where free-running slots put frames: how many left outside their slot and how often that
    changed.

    Args:
        frames: frames of one stream.
        slot_ps: slot time.
        preamble_ps: from slot start to reference plane.

    Returns:
        in_wrong_slot: frames whose slot did not begin within the slot time that ends with their
        txtime; slip_count: changes of that distance between successive frames; slots_first,
        slots_last: distance in slots; drift_ppm: slope of the release error.
    """
    sent = frames.timed
    errors = (frames.wire_ps - frames.txtime_ps)[sent]
    if errors.size < 2:
        return {
            "in_wrong_slot": 0,
            "slip_count": 0,
            "slots_first": 0,
            "slots_last": 0,
            "drift_ppm": 0.0,
        }
    distance = -np.floor_divide(preamble_ps - errors, slot_ps)
    times = frames.txtime_ps[sent].astype(np.float64)
    slope = float(np.polyfit(times - times[0], (errors - errors[0]).astype(np.float64), 1)[0])
    return {
        "in_wrong_slot": int(np.count_nonzero(distance)),
        "slip_count": int(np.count_nonzero(np.diff(distance))),
        "slots_first": int(distance[0]),
        "slots_last": int(distance[-1]),
        "drift_ppm": slope * 1e6,
    }
