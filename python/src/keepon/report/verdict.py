# SPDX-License-Identifier: BSD-3-Clause
"""What came of a run, in a sentence for the terminal and as the head of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keepon.measure.results import SENT_VERDICTS
from keepon.model import outcomes, overload
from keepon.model.result import Counts, LoadResult, OutcomeName, Result, RunResult, StreamResult
from keepon.report import origin

SIGNS: dict[OutcomeName, str] = {
    outcomes.MET: "✓",
    outcomes.MISSED: "✗",
    outcomes.NOTHING_CHECKED: "?",
    outcomes.NO_FRAMES: "∅",
}
NAMES = {
    "release_error_ns": "release error",
    "delay_min_ns": "earliest instant",
    "delay_ns": "delay",
    "jitter_ns": "jitter",
    "deadline_ns": "deadline",
    "talker_clock_ns": "talker's clock",
    "clocks_ns": "clocks",
}
"""What a bound is called in a sentence."""
_SENTENCES: dict[OutcomeName, str] = {
    outcomes.MET: "Every frame due was delivered, and every bound was kept.",
    outcomes.MISSED: "A frame due is missing, or a bound or a deadline was exceeded.",
    outcomes.NOTHING_CHECKED: "Nothing was missed, but not every bound could be checked.",
    outcomes.NO_FRAMES: "No frame of a stream was due in the time measured.",
}


NAMED_MAX = 5
"""Streams and loads named at most for one reason."""
UNDER_WAY, UNDER_WAY_FRAMES = 0.05, 10
"""Part of a load, and frames of it, that may still be under way when the time measured ends."""


@dataclass(frozen=True)
class Verdict:
    """One run: its driver, its outcome and what there is to say."""

    driver: str
    outcome: OutcomeName
    sign: str
    sentence: str
    told: str
    judged: bool


def told(run: RunResult, effective: dict[str, Any]) -> str:
    """What one run of a scenario gave, beyond its outcome."""
    missed: dict[str, list[str]] = {}
    unchecked: dict[tuple[str, str], list[str]] = {}
    for name, entry in run["streams"].items():
        for key, check in entry["bound_check"].items():
            title = NAMES.get(key, key)
            if entry["due"] and check["outcome"] == outcomes.MISSED:
                missed.setdefault(title, []).append(name)
            elif entry["due"] and check["outcome"] == outcomes.NOTHING_CHECKED:
                unchecked.setdefault((title, _why(key, entry)), []).append(name)
    without = [
        name for name, entry in run["streams"].items()
        if entry["due"] and not any(key in entry["bound_check"] for key in outcomes.LATEST)
    ]  # fmt: skip
    none_due = [name for name, entry in run["streams"].items() if not entry["due"]]
    due = sum(entry["due"] for entry in run["streams"].values())
    missing = sum(entry["missing"] for entry in run["streams"].values())
    parts = [f"{due} frames due"]
    if missing:
        parts.append(f"{missing} of them missing")
        parts += _gone(run, effective)
    parts += [f"{key} missed by {', '.join(names)}" for key, names in missed.items()]
    if without:
        parts.append(f"no bound and no deadline for {', '.join(without)}")
    parts += [
        f"{key} of {', '.join(names)} not checked, {why}" for (key, why), names in unchecked.items()
    ]
    if none_due:
        parts.append(f"none due of {', '.join(none_due)} in the time measured; raise duration_s")
    off_ns = origin.run_off_ns(run)
    if len(parts) == 1:
        apart = f", as far as clocks up to {origin.ns(off_ns)} ns apart show" if off_ns else ""
        parts.append(f"every bound kept{apart}")
    parts += _forgiven(run)
    parts += _overloads(run, effective)
    onset = run["onset"]
    if onset:
        parts.append(f"first late, early or missing: {onset['stream']} frame {onset['seq']}")
    return "; ".join(parts)


def _some(names: list[str]) -> str:
    others = f" and {len(names) - NAMED_MAX} others" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + others


def _ends(entry: StreamResult | LoadResult) -> str:
    """How frames of a stream or load ended that did not arrive, over the whole run."""
    lost: Any = entry.get("lost", {})
    places: Counts = lost if isinstance(lost, dict) else {"lost": lost}
    verdicts: Any = entry.get("verdicts", {})
    ended = [*verdicts.items(), *places.items()]
    return ", ".join(f"{key} {n}" for key, n in ended if n and key not in SENT_VERDICTS)


def _gone(run: RunResult, effective: dict[str, Any]) -> list[str]:
    """How frames of streams ended that are missing, and what helps where qdiscs dropped them."""
    qdiscs = {station["name"]: station.get("qdisc") for station in effective["station"]}
    streams = {stream["id"]: stream for stream in effective["stream"]}
    alike: dict[str, list[str]] = {}
    for name, entry in run["streams"].items():
        ends = _ends(entry) if entry["missing"] else ""
        if not ends:
            continue
        qdisc = qdiscs.get(streams[name]["talker"]) if name in streams else None
        verdicts = [key for key, count in entry["verdicts"].items() if count]
        if qdisc and (remedy := outcomes.qdisc_remedy(verdicts, qdisc, streams[name]["period_ns"])):
            ends += f" ({remedy})"
        alike.setdefault(ends, []).append(name)
    return [f"of {_some(names)} in the whole run: {ends}" for ends, names in alike.items()]


def _overloads(run: RunResult, effective: dict[str, Any]) -> list[str]:
    """Best effort that loses frames, which TCP does as a matter of course, of which the simulator
    carried less than was asked, or that fills the talker of streams that were missed.
    """
    loads = {load["id"]: load for load in effective.get("load", [])}
    talkers = {stream["id"]: stream["talker"] for stream in effective.get("stream", [])}
    late = {
        talkers.get(name) for name, entry in run["streams"].items()
        if entry.get("outcome") == outcomes.MISSED
    }  # fmt: skip
    found = []
    for name, entry in run["loads"].items():
        load = loads.get(name, {})
        ends = "" if load.get("kind") == "tcp" else _ends(entry)
        reasons = _short(run, entry, load) if load.get("kind") == "udp" else []
        most = entry.get("takes")
        if load.get("kind") == "saturate" and most is not None and most["station"] in late:
            reasons = [f"sends what its talker takes: {overload.told(most)}"]
        reasons += [f"lost frames: {ends}"] if ends else []
        found += [f"best effort {name} {' and '.join(reasons)}"] if reasons else []
    return found[:NAMED_MAX]


def _short(run: RunResult, entry: LoadResult, load: dict[str, Any]) -> list[str]:
    """Rates of a load that came with less than it was sent with, by more than what is under way."""
    most, (start_ns, end_ns) = entry.get("takes"), run.get("window_ns", (0, 0))
    sent_ns = end_ns - max(start_ns, load["start_ns"])
    if most is None or sent_ns <= 0:
        return []
    asked_bps = load["rate_bps"]
    carried_bps = round(entry["goodput_bps"] * (end_ns - start_ns) / sent_ns)
    under_way_bps = UNDER_WAY_FRAMES * load["frame_bytes"] * 8e9 / sent_ns
    if asked_bps - carried_bps <= max(under_way_bps, UNDER_WAY * asked_bps):
        return []
    why = f", as {overload.told(most)}" if most["rate_bps"] < asked_bps else ""
    return [f"was asked to send {asked_bps} bit/s, of which {carried_bps} arrived{why}"]


def _why(key: str, entry: StreamResult) -> str:
    """Why a bound was not checked: on target host the stamps there are may not show it."""
    stamps = entry.get("stamps")
    if stamps is None:
        return "too few frames"
    if entry["bound_check"][key]["worst_ns"] is not None:
        return "stamps come late"
    if key == "release_error_ns" and stamps["talker"].startswith(("software", "nobody")):
        return "no stamp is of the wire"
    if stamps["uncertainty_ns"] is None and key != "release_error_ns":
        return "clocks were not compared"
    return "too few frames"


def _forgiven(run: RunResult) -> list[str]:
    """Bounds that frames are beyond, by no more than their instants may be off."""
    found: dict[str, list[tuple[str, float]]] = {}
    for name, entry in run["streams"].items():
        for key, check in entry["bound_check"].items():
            if entry["due"] and origin.is_forgiven(key, check):
                off_ns = check.get("uncertainty_ns", 0.0)
                found.setdefault(NAMES.get(key, key), []).append((name, off_ns))
    return [
        f"{key} of {', '.join(name for name, _ in some)} beyond its bound by less than it may be"
        f" off, {origin.ns(max(off_ns for _, off_ns in some))} ns"
        for key, some in found.items()
    ]


def _sentence(run: RunResult) -> str:
    if run["outcome"] == outcomes.MET and origin.run_off_ns(run):
        return (
            "Every frame due was delivered, and no bound was exceeded by more than clocks may have"
            " been apart."
        )
    return _SENTENCES[run["outcome"]]


def summary_lines(result: Result) -> list[str]:
    """One line per run: outcome, frames, what was missed or not checked, when first."""
    return [
        f"{run['driver']}: {run['outcome']}: {told(run, result['effective'])}"
        for run in result["runs"]
    ]


def verdicts(result: Result) -> list[Verdict]:
    """All runs; the judged one is the first that there is."""
    return [
        Verdict(
            run["driver"],
            run["outcome"],
            SIGNS[run["outcome"]],
            _sentence(run),
            told(run, result["effective"]),
            run["driver"] == result["judged"],
        )
        for run in result["runs"]
    ]
