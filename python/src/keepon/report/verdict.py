# SPDX-License-Identifier: BSD-3-Clause
"""What came of a run, in a sentence for the terminal and as the head of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keepon.measure import causes
from keepon.model import outcomes
from keepon.model.names import ranged
from keepon.model.result import OutcomeName, Result, RunResult, StreamResult
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
    outcomes.NO_FRAMES: "No frame of a stream was due within duration_s.",
}
_OF_PEERS: dict[OutcomeName, str] = {
    outcomes.MET: "Every frame due was delivered, and every deadline was kept.",
    outcomes.MISSED: "A frame due is missing, or a deadline was exceeded.",
}
"""What else there is to say of peers, which are judged by deadlines where streams have one."""


@dataclass(frozen=True)
class Verdict:
    """One run: its driver, its outcome and what there is to say."""

    driver: str
    outcome: OutcomeName
    sign: str
    sentence: str
    summary: str
    causes: list[str]
    judged: bool


def is_peer(run: RunResult, result: Result) -> bool:
    return run["driver"] != result["judged"]


def of_stream(name: str, run: RunResult, result: Result) -> OutcomeName:
    """Outcome of a stream, of a peer by its deadline if it has one."""
    entry = run["streams"][name]
    return outcomes.of_peer(entry) if is_peer(run, result) else entry["outcome"]


def of(run: RunResult, result: Result) -> OutcomeName:
    """Outcome of a run: that of its worst stream."""
    return outcomes.worst(of_stream(name, run, result) for name in run["streams"])


def summary(run: RunResult, of_peer: bool = False) -> str:
    """What one run of a scenario gave, beyond its outcome: deadlines first; of a peer, whose bounds
    are made for the judged driver, which streams are beyond any of theirs.
    """
    missed: dict[str, list[str]] = {}
    late_ns = 0.0
    unchecked: dict[tuple[str, str], list[str]] = {}
    for name, entry in run["streams"].items():
        for key in sorted(entry["bound_check"], key=lambda key: key != outcomes.DEADLINE):
            check = entry["bound_check"][key]
            title = NAMES.get(key, key)
            if entry["due"] and check["outcome"] == outcomes.MISSED:
                if key == outcomes.DEADLINE:
                    late_ns = max(late_ns, (check["worst_ns"] or 0.0) - check["bound_ns"])
                elif of_peer:
                    title = "its own bounds"
                beyond = missed.setdefault(title, [])
                beyond += [name] * (name not in beyond)
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
    if beyond := missed.pop(NAMES[outcomes.DEADLINE], []):
        parts.append(f"deadline missed by {ranged(beyond)}, by up to {late_ns / 1000:.3f} us")
    parts += [f"{key} missed by {ranged(names)}" for key, names in missed.items()]
    if without:
        parts.append(f"no bound and no deadline for {ranged(without)}")
    parts += [
        f"{key} of {ranged(names)} not checked, {why}" for (key, why), names in unchecked.items()
    ]
    if none_due:
        parts.append(f"none due of {ranged(none_due)} within duration_s; raise it")
    off_ns = origin.run_off_ns(run)
    if len(parts) == 1:
        apart = f", as far as clocks up to {origin.ns(off_ns)} ns apart show" if off_ns else ""
        parts.append(f"every bound kept{apart}")
    parts += _forgiven(run)
    shares = {key: n for row in run.get("causes", []) for key, n in row.get("shares", {}).items()}
    parts += [f"best effort {name} lost {100 * share:.3g} %" for name, share in shares.items()]
    onset = run["onset"]
    if onset:
        parts.append(f"first late, early or missing: {onset['stream']} frame {onset['seq']}")
    return "; ".join(parts)


def why(run: RunResult, effective: dict[str, Any]) -> list[str]:
    """A line for each cause of what is missing, with what helps."""
    rows = run["causes"] if "causes" in run else causes.of_run(run, effective, None)
    return [causes.text(row) for row in rows]


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


def _sentence(run: RunResult, result: Result) -> str:
    if is_peer(run, result) and any(
        outcomes.DEADLINE in entry["bound_check"] for entry in run["streams"].values()
    ):
        return _OF_PEERS.get(of(run, result), _SENTENCES[of(run, result)])
    if run["outcome"] == outcomes.MET and origin.run_off_ns(run):
        return (
            "Every frame due was delivered, and no bound was exceeded by more than clocks may have"
            " been apart."
        )
    return _SENTENCES[run["outcome"]]


def summary_lines(result: Result) -> list[str]:
    """Of each run its outcome, frames, what was missed or not checked, when first; below it a line
    for each cause.
    """
    return [
        line
        for run in result["runs"]
        for line in (
            f"{run['driver']}: {of(run, result)}: {summary(run, is_peer(run, result))}",
            *(f"- {cause}" for cause in why(run, result["effective"])),
        )
    ]


def verdicts(result: Result) -> list[Verdict]:
    """All runs; the judged one is the first that there is."""
    return [
        Verdict(
            run["driver"],
            of(run, result),
            SIGNS[of(run, result)],
            _sentence(run, result),
            summary(run, is_peer(run, result)),
            why(run, result["effective"]),
            not is_peer(run, result),
        )
        for run in result["runs"]
    ]
