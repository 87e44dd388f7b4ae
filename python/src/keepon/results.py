# SPDX-License-Identifier: BSD-3-Clause
"""From frame arrays to the numbers of `keepon.result/1`: accounting, statistics, bounds, worst frames.

It computes and checks; it knows neither the simulator nor files. True times are ps since the start of the run and
become network time by adding the epoch; stamps are what the listener's own clock said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keepon.errors import SimulationError
from keepon.statistics import IntArray, summary

RESULT_SCHEMA = "keepon.result/1"
SENT_VERDICTS = ("on_time", "moved", "best_effort", "sent_stale")
PENDING = -1
NONE = -1


@dataclass(frozen=True)
class FrameArrays:
    """Every frame of one stream, in order of submission.

    Attributes:
        seq: number of the frame, from 0, shape (n,).
        txtime_ns: requested instant, network time, shape (n,).
        submit_ps: when it was handed to the driver, ps since start, -1 if never, shape (n,).
        verdict: index into verdict names, -1 pending, shape (n,).
        wire_ps: start of its first bit after the SFD on the talker's wire, ps since start, -1 if never, shape (n,).
        arrival_ps: the same at each listener, shape (listeners, n).
        stamp_ns: the listener's own stamp of it, network time as that clock has it, shape (listeners, n).
        epoch_ns: network time of the start.
    """

    seq: IntArray
    txtime_ns: IntArray
    submit_ps: IntArray
    verdict: IntArray
    wire_ps: IntArray
    arrival_ps: IntArray
    stamp_ns: IntArray
    epoch_ns: int

    def between(self, start_ns: int, end_ns: int) -> FrameArrays:
        """Frames whose txtime is in [start, end), ns since start."""
        since = self.txtime_ns - self.epoch_ns
        return self._kept((since >= start_ns) & (since < end_ns))

    def slice(self, start: int, end: int) -> FrameArrays:
        """Frames start to end - 1 by position."""
        return self._kept(slice(start, end))

    def _kept(self, keep: Any) -> FrameArrays:
        return FrameArrays(
            self.seq[keep], self.txtime_ns[keep], self.submit_ps[keep], self.verdict[keep], self.wire_ps[keep],
            self.arrival_ps[:, keep], self.stamp_ns[:, keep], self.epoch_ns,
        )  # fmt: skip

    @property
    def txtime_ps(self) -> IntArray:
        """Requested instants in ps since start."""
        return (self.txtime_ns - self.epoch_ns) * 1000

    @property
    def sent(self) -> Any:
        return self.wire_ps != NONE

    @property
    def delivered(self) -> Any:
        """Which frames every listener got."""
        return np.all(self.arrival_ps != NONE, axis=0)


def accounting(frames: FrameArrays, verdict_names: list[str], lost: dict[str, int], stream: str) -> dict[str, Any]:
    """Counts of one stream, with both identities checked.

    Args:
        frames: what is reported.
        verdict_names: name by verdict index.
        lost: frames of this stream known to have been discarded, by place.
        stream: for messages.

    Raises:
        SimulationError: submitted != sent + ended + pending, or sent != delivered + lost + in flight: frames appeared,
            vanished or were counted twice.
    """
    sent = frames.sent
    verdicts = dict.fromkeys(verdict_names, 0)
    ended = np.zeros(len(frames.seq), dtype=bool)
    for index, name in enumerate(verdict_names):
        having = frames.verdict == index
        verdicts[name] = int(np.count_nonzero(having))
        if name in SENT_VERDICTS:
            if np.any(having & ~sent):
                first = int(frames.seq[having & ~sent][0])
                raise SimulationError(f"stream {stream}: frame {first} has verdict {name} but was never on the wire")
        else:
            ended |= having
    if np.any(ended & sent):
        first = int(frames.seq[ended & sent][0])
        raise SimulationError(f"stream {stream}: frame {first} was refused and yet on the wire")
    if np.any(frames.delivered & ~sent):
        first = int(frames.seq[frames.delivered & ~sent][0])
        raise SimulationError(f"stream {stream}: frame {first} arrived without having been sent")
    pending = (frames.verdict == PENDING) & ~sent
    counts: dict[str, Any] = {
        "submitted": len(frames.seq),
        "sent": int(np.count_nonzero(sent)),
        "pending": int(np.count_nonzero(pending)),
        "delivered": int(np.count_nonzero(frames.delivered)),
        "lost": lost,
        "verdicts": verdicts,
    }
    if counts["submitted"] != counts["sent"] + int(np.count_nonzero(ended)) + counts["pending"]:
        raise SimulationError(f"stream {stream}: submitted {counts['submitted']} is not sent + ended + pending")
    in_flight = counts["sent"] - counts["delivered"] - sum(lost.values())
    if in_flight < 0:
        raise SimulationError(f"stream {stream}: sent {counts['sent']} is less than delivered + lost")
    return {**counts, "in_flight": in_flight}


def losses(frames: FrameArrays, whole_run: dict[str, int]) -> dict[str, int]:
    """Undelivered sent frames by the place where this stream lost any in the whole run.

    The simulator counts losses by place, not by frame: with several places they are counted together under all
    their names; without any, undelivered frames are still in flight.
    """
    undelivered = int(np.count_nonzero(frames.sent & ~frames.delivered))
    if not whole_run or not undelivered:
        return {}
    return {" or ".join(sorted(whole_run)): min(undelivered, sum(whole_run.values()))}


def check_whole_run(frames: FrameArrays, whole: dict[str, Any], stream: str) -> None:
    """The simulator's own counters of a stream against the frames themselves, over the whole run.

    Raises:
        SimulationError: they differ, an identity does not hold, or a frame arrived changed, twice or from nowhere.
    """
    listeners = frames.arrival_ps.shape[0]
    counted = {
        "submitted": int(np.count_nonzero(frames.submit_ps != NONE)),
        "on_wire": int(np.count_nonzero(frames.sent)),
        "delivered": int(np.count_nonzero(frames.arrival_ps != NONE)),
    }
    for name, value in counted.items():
        if whole[name] != value:
            raise SimulationError(f"stream {stream}: {value} frames are {name}, the simulator counted {whole[name]}")
    if whole["submitted"] != sum(whole["verdicts"].values()) + whole["pending"]:
        raise SimulationError(f"stream {stream}: submitted is not verdicts + pending over the whole run")
    if (
        whole["in_flight"] < 0
        or listeners * whole["on_wire"] != whole["delivered"] + sum(whole["lost"].values()) + whole["in_flight"]
    ):
        raise SimulationError(f"stream {stream}: sent is not delivered + lost + in flight over the whole run")
    for name in ("wrong_bytes", "duplicates", "ghosts"):
        if whole[name]:
            raise SimulationError(
                f"stream {stream}: {whole[name]} frames with {name}; the core or the simulator is wrong"
            )


def _interarrival(times: IntArray, none: int) -> IntArray:
    """Differences of successive arrivals at each listener, in order of arrival; rows are listeners."""
    rows = [np.diff(np.sort(row[row != none])) for row in times]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)


def quantities(frames: FrameArrays) -> dict[str, Any]:
    """delay_ns (schedule to delivery), interarrival_ns, release_error_ns; the first two also by listeners' stamps."""
    got = frames.arrival_ps != NONE
    delays = (frames.arrival_ps - frames.txtime_ps[np.newaxis, :])[got]
    sent = frames.sent
    stamped = frames.stamp_ns != NONE
    stamp_delays = (frames.stamp_ns - frames.txtime_ns[np.newaxis, :])[stamped]
    return {
        "delay_ns": summary(delays, 1000),
        "interarrival_ns": summary(_interarrival(frames.arrival_ps, NONE), 1000),
        "release_error_ns": summary((frames.wire_ps - frames.txtime_ps)[sent], 1000),
        "listener": {
            "delay_ns": summary(stamp_delays, 1),
            "interarrival_ns": summary(_interarrival(frames.stamp_ns, NONE), 1),
        },
    }


def _frame(frames: FrameArrays, index: int, delay_ps: int | None) -> dict[str, Any]:
    return {
        "seq": int(frames.seq[index]),
        "txtime_ns": int(frames.txtime_ns[index]),
        "delay_ns": None if delay_ps is None else delay_ps / 1000,
    }


def bound_check(frames: FrameArrays, bounds: dict[str, int | None], period_ns: int, advance_ns: int) -> dict[str, Any]:
    """Each bound of the plan against the worst frame, in true time.

    Returns:
        quantity -> {bound_ns, worst_ns, met}; quantities without a bound are left out. jitter_ns is the greatest
        deviation of an inter-arrival time from the period (of successive frames both delivered).
    """
    got = frames.arrival_ps != NONE
    delays = frames.arrival_ps - frames.txtime_ps[np.newaxis, :]
    errors = np.abs(frames.wire_ps - frames.txtime_ps)[frames.sent]
    pairs = got[:, 1:] & got[:, :-1] & (np.diff(frames.seq) == 1)[np.newaxis, :]
    deviations = np.abs(np.diff(delays, axis=1) - (period_ns * 1000 - np.diff(frames.txtime_ps)))[pairs]
    worst_delay_ps = int(delays[got].max()) if np.any(got) else None
    worst_ps = {
        "release_error_ns": int(errors.max()) if errors.size else None,
        "delay_ns": worst_delay_ps,
        "jitter_ns": int(deviations.max()) if deviations.size else None,
        "data_age_ns": None if worst_delay_ps is None else worst_delay_ps + advance_ns * 1000,
    }
    checks: dict[str, Any] = {}
    for name, worst in worst_ps.items():
        bound_ns = bounds.get(name)
        if bound_ns is not None and worst is not None:
            checks[name] = {"bound_ns": bound_ns, "worst_ns": worst / 1000, "met": worst <= bound_ns * 1000}
    return checks


def outliers(frames: FrameArrays, bounds: dict[str, int | None]) -> dict[str, Any]:
    """first_bad: first frame missing or beyond the delay bound; worst: the frame with the greatest delay."""
    got = frames.arrival_ps != NONE
    delays = np.where(got, frames.arrival_ps - frames.txtime_ps[np.newaxis, :], np.int64(-(2**62)))
    per_frame = delays.max(axis=0) if delays.size else np.zeros(0, dtype=np.int64)
    missing = ~frames.delivered
    limit_ns = bounds.get("delay_ns")
    bad = missing if limit_ns is None else missing | (per_frame > limit_ns * 1000)
    first = int(np.argmax(bad)) if np.any(bad) else None
    report: dict[str, Any] = {"first_bad": None, "worst": None}
    if first is not None:
        report["first_bad"] = _frame(frames, first, None if missing[first] else int(per_frame[first]))
    if np.any(got):
        index = int(np.argmax(per_frame))
        report["worst"] = _frame(frames, index, int(per_frame[index]))
    return report


def stream_result(
    frames: FrameArrays,
    verdict_names: list[str],
    lost: dict[str, int],
    entry: dict[str, Any],
    stream: str,
    period_ns: int,
    advance_ns: int,
    deadline_ns: int | None,
) -> dict[str, Any]:
    """Everything the result file says of one stream in one run.

    Args:
        entry: the stream's part of the plan.
        deadline_ns: checked as a bound of its own where the scenario states one.
    """
    bounds = entry["bounds"]
    document = accounting(frames, verdict_names, lost, stream)
    document.update(quantities(frames))
    document["bound_check"] = bound_check(frames, bounds, period_ns, advance_ns)
    if deadline_ns is not None and document["delay_ns"]["max"] is not None:
        worst_ns = document["delay_ns"]["max"]
        document["bound_check"]["deadline_ns"] = {
            "bound_ns": deadline_ns,
            "worst_ns": worst_ns,
            "met": worst_ns <= deadline_ns,
        }
    document["missing"] = document["submitted"] - document["delivered"]
    document.update(outliers(frames, bounds))
    return document


def slips(frames: FrameArrays, slot_ps: int, preamble_ps: int) -> dict[str, Any]:
    """Where free-running slots put frames: how many left outside their slot and how often that changed.

    Args:
        frames: frames of one stream.
        slot_ps: slot time.
        preamble_ps: from slot start to reference plane.

    Returns:
        in_wrong_slot: frames whose slot did not begin within the slot time that ends with their txtime; slip_count:
        changes of that distance between successive frames; slots_first, slots_last: distance in slots; drift_ppm:
        slope of the release error.
    """
    sent = frames.sent
    errors = (frames.wire_ps - frames.txtime_ps)[sent]
    if errors.size < 2:
        return {"in_wrong_slot": 0, "slip_count": 0, "slots_first": 0, "slots_last": 0, "drift_ppm": 0.0}
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


def is_met(run: dict[str, Any]) -> bool:
    """Whether every bound of a run was kept and no frame is missing."""
    return all(
        stream["missing"] == 0 and all(check["met"] for check in stream["bound_check"].values())
        for stream in run["streams"].values()
    )
