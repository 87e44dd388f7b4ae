# SPDX-License-Identifier: BSD-3-Clause
"""What a clock did over a run, as numbers of a result."""

from __future__ import annotations

import numpy as np

from keepon.measure.series import offset_series
from keepon.measure.simulated import Domain, NodeClock, PtpFlow
from keepon.measure.statistics import IntArray, summary
from keepon.model.quantities import OffsetStatistics
from keepon.model.result import Clock, DomainClock, FrequencyError, PtpFrames, SyncCounts

SECOND_PS = 10**12


def offset_statistics(offsets_ps: IntArray) -> OffsetStatistics:
    """Offsets of a clock in ns: what `statistics.summary` gives, and rms (about zero)."""
    rms_ns = float(np.sqrt(np.mean(np.square(offsets_ps / 1000.0)))) if offsets_ps.size else None
    return {**summary(offsets_ps, 1000), "rms": rms_ns}


def lock_time_s(at_ps: IntArray, offset_ps: IntArray, bound_ns: int) -> float | None:
    """Time from the start after which |offset| stays within `bound_ns` to the end; None if it never
    does.
    """
    outside = np.flatnonzero(np.abs(offset_ps) > bound_ns * 1000)
    if outside.size == 0:
        return 0.0
    last = int(outside[-1])
    return None if last + 1 >= at_ps.size else float(at_ps[last + 1]) / SECOND_PS


def frequency_error_ppb(at_ps: IntArray, offset_ps: IntArray) -> FrequencyError:
    """Rate of the clock against network time: mean over all samples, and rms of its differences
    over 100 samples.
    """
    if at_ps.size < 2:
        return {"mean": None, "rms": None}
    mean = float(offset_ps[-1] - offset_ps[0]) / float(at_ps[-1] - at_ps[0]) * 1e9
    step = min(100, at_ps.size - 1)
    rates = (
        (offset_ps[step:] - offset_ps[:-step])
        / (at_ps[step:] - at_ps[:-step]).astype(np.float64)
        * 1e9
    )
    return {"mean": mean, "rms": float(np.sqrt(np.mean(np.square(rates))))}


def clock_document(raw: NodeClock, start_ns: int, end_ns: int, bound_ns: int) -> Clock:
    """What a result says of one clock.

    Args:
        raw: `Simulation.clock` of the node.
        start_ns, end_ns: samples in [start, end) count; the time to lock is from the start of the
            run.
        bound_ns: sync.lock_bound_ns.

    Returns:
        source, stamps, state of the servo, offset_ns (exact reading minus network time),
        offset_series, absolute_p999_ns (of
        its absolute value), read_offset_ns (what software gets that asks),
        frequency_error_ppb, lock_s and lock_bound_ns, steps, sync, delay_ns, ports, domains.
    """
    at_ps = np.asarray(raw["at_ps"], dtype=np.int64)
    offset_ps = np.asarray(raw["offset_ps"], dtype=np.int64)
    read_ps = np.asarray(raw["read_offset_ps"], dtype=np.int64)
    within = (at_ps >= start_ns * 1000) & (at_ps < end_ns * 1000)
    own = raw["domains"][0]
    upto = at_ps < end_ns * 1000
    others: dict[str, DomainClock] = {}
    for number, entry in raw["domains"].items():
        if number == 0:
            continue
        errors = np.asarray(entry["offset_ps"], dtype=np.int64)[within]
        known = errors[errors != np.iinfo(np.int64).min]
        others[str(number)] = {
            "grandmaster": entry["grandmaster"],
            "offset_ns": offset_statistics(known),
            "sync": _sync_counts(entry),
        }
    return {
        "source": raw["source"],
        "stamps": raw["stamps"],
        "grandmaster": own["grandmaster"],
        "state": raw["state"],
        "offset_ns": offset_statistics(offset_ps[within]),
        "offset_series": offset_series(at_ps[upto], offset_ps[upto]),
        "absolute_p999_ns": summary(np.abs(offset_ps[within]), 1000)["p999"],
        "read_offset_ns": offset_statistics(read_ps[within]),
        "frequency_error_ppb": frequency_error_ppb(at_ps[within], offset_ps[within]),
        "lock_s": lock_time_s(at_ps[upto], offset_ps[upto], bound_ns),
        "lock_bound_ns": bound_ns,
        "steps": own["steps"],
        "sync": _sync_counts(own),
        "delay_ns": own["delay_ps"] / 1000,
        "ports": [
            {
                "valid": port["valid"],
                "complete": port["complete"],
                "lost": port["lost"],
                "rate_ratio": port["rate_ratio"],
                "delay_ns": port["delay_ps"] / 1000,
            }
            for port in raw["ports"]
        ],
        "domains": others,
    }


def _sync_counts(domain: Domain) -> SyncCounts:
    return {
        "sent": domain["sent"],
        "received": domain["received"],
        "lost": domain["lost"],
        "unused": domain["unused"],
    }


def frames_document(flows: list[PtpFlow]) -> dict[str, PtpFrames]:
    """Counts of PTP's frames by kind of message, with refused and lost ones; identities as for
    every other flow.

    Raises:
        ValueError: a flow's counts do not add up, or a frame arrived changed.
    """
    kinds: dict[str, PtpFrames] = {}
    for flow in flows:
        ended = sum(flow["verdicts"].values())
        lost = sum(flow["lost"].values())
        listeners = len(flow["delivered_by_listener"])
        in_flight = flow["on_wire"] * listeners - flow["delivered"] - lost
        if (
            flow["submitted"] != ended + flow["pending"]
            or in_flight != flow["in_flight"]
            or in_flight < 0
        ):
            raise ValueError(f"{flow['id']}: frames do not add up")
        if flow["wrong_bytes"] or flow["duplicates"] or flow["ghosts"]:
            raise ValueError(f"{flow['id']}: frames arrived changed, twice or from nowhere")
        entry = kinds.setdefault(flow["kind"], _no_frames())
        entry["submitted"] += flow["submitted"]
        entry["on_wire"] += flow["on_wire"]
        entry["pending"] += flow["pending"]
        entry["delivered"] += flow["delivered"]
        entry["in_flight"] += flow["in_flight"]
        entry["refused"] += ended - flow["sent"]
        for place, count in flow["lost"].items():
            entry["lost"][place] = entry["lost"].get(place, 0) + count
    return kinds


def _no_frames() -> PtpFrames:
    return {
        "submitted": 0, "on_wire": 0, "pending": 0, "delivered": 0, "in_flight": 0,
        "refused": 0, "lost": {},
    }  # fmt: skip
