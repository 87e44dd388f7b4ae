# SPDX-License-Identifier: BSD-3-Clause
"""Why frames did not come, and what helps: a row for each cause, for the terminal, the report and
`causes` of a result (docs/troubleshooting.md has them in words).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keepon.measure.results import SENT_VERDICTS
from keepon.model import outcomes, overload
from keepon.model.cables import hops
from keepon.model.names import ranged
from keepon.model.plan import Plan, ways_of
from keepon.model.result import Cause, LoadResult, RunParts, StreamResult

MEANINGS: dict[str, tuple[str, str]] = {
    "late": ("handed over too late", "raise advance_ns"),
    "moved": ("left in a later slot than its own", "raise advance_ns"),
    "sent_stale": ("its slot had moved in time by then", "let the clock settle: raise warmup_s"),
    "too_early": (
        "handed over before the ring reaches its slot", "lower advance_ns, or raise ring_slots",
    ),
    "occupied": ("another frame has its slot", "send each frame once, at the plan's times"),
    "not_allowed": (
        "its slot belongs to another class", "send at the plan's offset_ns, in the plan's class",
    ),
    "oversize": ("longer than the slots of its class", "shorten it, or raise frame_bytes and plan"),
    "no_slot": ("no slot was free", "send less best effort from its station, or raise ring_slots"),
    "no_room": (
        "its queue was full", "raise prebuffer_frames or queue limits, or send less at once",
    ),
    "stepped": ("a step of the clock took its slot", "let the clock settle: raise warmup_s"),
    "unsynchronised": (
        "its driver did not know the wire well enough", "look for late polls: isolate its CPU",
    ),
    "unlocked": ("its clock was not set yet", "let the clock settle: raise warmup_s"),
    "invalid": ("malformed, or out of order at etf", "give streams of its talker one advance_ns"),
    "flushed": ("the device stopped", "start it again"),
    "in_doubt": ("its CPU was held up as it was due", "isolate the CPU of the poll thread"),
    " queue to ": (
        "a bridge's queue was full", "send less, raise queue_frames, or give it its own priority",
    ),
    " gate to ": (
        "too long for any window of a bridge's gate list", "shorten it, or give it a longer window",
    ),
    " rogue sequence number": (
        "its number was far from that of the last frame", "raise frer.history_length",
    ),
    "lossy link ": ("lost on the cable", "none: loss_probability of the link asks for it"),
    "link ": ("lost as a link was down", "none: a fault of the scenario asks for it"),
    "unknown destination": ("its address leads nowhere", "check the route and the listeners"),
    " maximum SDU size": (
        "longer than a bridge's filter takes", "send no longer frames, or raise max_sdu_bytes",
    ),
    " of the plan for ": (
        "a filter of the plan stopped it",
        "none if its talker sends too much; else a clock is further off than keepon plan states",
    ),
    " stream gate ": (
        "a bridge's stream gate was shut", "send at the plan's times, or open it for longer",
    ),
    " flow meter ": (
        "beyond what a bridge's flow meter takes", "send less, or raise its rates and bursts",
    ),
    " maximum residence time": (
        "would have waited too long at a scheduler", "send no more often than the stream's period",
    ),
    " receive ring from ": (
        "a bridge's software came too late", "send less, raise ring_frames, or free its cores",
    ),
    "fault": ("lost by a fault", "none: the scenario asks for it"),
    "babble": (
        "a talker sends too often", "none: a fault of the scenario asks for it",
    ),
    "not handed over": (
        "its program did not send", "let the talker run from before its first txtime",
    ),
    "lost": ("lost on the way", "look at the counters of ports and cards"),
}  # fmt: skip
"""By verdict, or what the name of a place has in it: what it means, and what helps."""
IN_TIME = "advance_ns is enough for what the model of its host knows: look for what holds it up"
DELAYED = ("moved", "sent_stale")
"""Verdicts of frames that came, and not at their time."""
BEST_EFFORT = "best effort"
LESS = "lower its rate_bps, or give the links on its way more"
UNDER_WAY, UNDER_WAY_FRAMES = 0.05, 10
"""Part of a load, and frames of it, that may still be under way when the time measured ends."""


def of_run(run: RunParts, effective: Mapping[str, Any], plan: Plan | None) -> list[Cause]:
    """A row for each verdict and place by which frames of streams went missing, and for each load
    that lost frames, which TCP does as a matter of course, or came with less than it was asked.

    Args:
        effective: the scenario.
        plan: its plan; None: it is not known, and what it knows of advances is not said.
    """
    rows: dict[tuple[str, str], Cause] = {}
    streams = {stream["id"]: stream for stream in effective.get("stream", [])}
    stations = {entry["name"]: entry for entry in effective.get("station", [])}
    for name, entry in run["streams"].items():
        stream = streams.get(name, {})
        ends = {**_ends(entry), **_not_handed_over(entry)} if entry["missing"] else {}
        if entry.get("outcome") == outcomes.MISSED:
            ends |= {key: n for key in DELAYED if (n := entry["verdicts"].get(key))}
        for cause, count in ends.items():
            meaning, remedy = meant(cause)
            in_time_ns, station = 0, stations.get(stream.get("talker"), {})
            if other := _by_qdisc(cause, station, stream, run["driver"]):
                remedy = other
            elif cause in ("late", "moved") and plan is not None:
                in_time_ns = plan["streams"][name].get("advance_in_time_ns", 0)
                if 0 < in_time_ns <= stream["advance_ns"]:
                    remedy, in_time_ns = IN_TIME, 0
            row = rows.setdefault(
                (cause, remedy),
                {"cause": cause, "meaning": meaning, "frames": {}, "remedy": remedy},
            )
            row["frames"][name] = count
            if in_time_ns:
                row.setdefault("advances_ns", {})[name] = in_time_ns
    for row in rows.values():
        if "advances_ns" in row:
            talkers = {name: streams[name]["talker"] for name in row["advances_ns"]}
            row["advances_ns"] = alike_of_talkers(row["advances_ns"], talkers)
            row["remedy"] = _with_advances(row["advances_ns"])
    return [*_babble(run, effective, plan), *rows.values(), *_best_effort(run, effective)]


def _babble(run: RunParts, effective: Mapping[str, Any], plan: Plan | None) -> Iterator[Cause]:
    """Missed streams that share a link with frames of a fault "babble"."""
    streams = {stream["id"]: stream for stream in effective.get("stream", [])}
    for fault in effective.get("fault", []):
        own = [stream for stream in streams.values() if stream["talker"] == fault["node"]]
        if fault["kind"] != "babble" or not own:
            continue
        met = {
            name: entry["missing"]
            for name, entry in run["streams"].items()
            if entry.get("outcome") == outcomes.MISSED and name in streams
            and (plan is None or _links(streams[name], plan) & _links(own[0], plan))
        }  # fmt: skip
        if met:
            meaning, remedy = MEANINGS["babble"]
            often = f"one more of {own[0]['id']} each {fault['value_ns']} ns"
            meaning += f": {fault['node']}, {often} from {fault['at_s']:.15g} s on"
            yield {"cause": "babble", "meaning": meaning, "frames": met, "remedy": remedy}


def _links(stream: Mapping[str, Any], plan: Plan) -> set[tuple[str, str]]:
    """Directions of links that a stream passes."""
    routes = ways_of(plan["streams"][stream["id"]])
    ways = [(stream["talker"], *route, listener) for listener, route in routes]
    return {hop for way in ways for hop in hops(way)}


def _by_qdisc(
    cause: str, station: Mapping[str, Any], stream: Mapping[str, Any], driver: str
) -> str | None:
    """What helps where a talker's qdiscs have dropped frames; None: it has none, or they do not."""
    own = station.get("driver", driver)
    own = driver if own == "under-test" else own
    qdisc = station.get("qdisc")
    if qdisc is None and own == "keepon" and station.get("release") not in ("etf", "reschedule"):
        return None
    return outcomes.qdisc_remedy([cause], qdisc, stream.get("period_ns", 1))


def alike_of_talkers(advances_ns: dict[str, int], talkers: dict[str, str]) -> dict[str, int]:
    """The longest of its talker's for each stream: so they wait for each other no longer than is in
    them.
    """
    longest: dict[str, int] = {}
    for name, advance_ns in advances_ns.items():
        longest[talkers[name]] = max(advance_ns, longest.get(talkers[name], 0))
    return {name: longest[talkers[name]] for name in advances_ns}


def _with_advances(advances_ns: dict[str, int]) -> str:
    """The remedy with the numbers that the plan knows."""
    alike: dict[int, list[str]] = {}
    for name, advance_ns in advances_ns.items():
        alike.setdefault(advance_ns, []).append(name)
    parts = [f"of {ranged(names)} to {advance_ns}" for advance_ns, names in alike.items()]
    return f"raise advance_ns {', '.join(parts)}"


def _best_effort(run: RunParts, effective: Mapping[str, Any]) -> list[Cause]:
    """Loads that lost frames, that came with less than they were sent with, or that fill the talker
    of streams that were missed.
    """
    loads = {load["id"]: load for load in effective.get("load", [])}
    talkers = {stream["id"]: stream["talker"] for stream in effective.get("stream", [])}
    late = {
        talkers.get(name) for name, entry in run["streams"].items()
        if entry.get("outcome") == outcomes.MISSED
    }  # fmt: skip
    found: list[Cause] = []
    for name, entry in run["loads"].items():
        load, most = loads.get(name, {}), entry.get("takes")
        ends = {} if load.get("kind") == "tcp" else _ends(entry)
        reasons = _short(run, entry, load) if load.get("kind") == "udp" else []
        is_taken = most is None or most["rate_bps"] >= load.get("rate_bps", 0)
        remedy = LESS if is_taken else overload.remedy("udp", "")
        if load.get("kind") == "saturate" and most is not None and most["station"] in late:
            reasons = [f"sends what its talker takes: {overload.rate_sentence(most)}"]
            remedy = overload.remedy("saturate", "advance_ns")
        count, counts = sum(ends.values()), dict[str, Any](entry)
        submitted = counts.get("submitted", 0)
        shares = {name: count / submitted} if submitted and count else {}
        if ends:
            part = f" {100 * shares[name]:.3g} %" if shares else " frames"
            reasons.append(f"lost{part}: {', '.join(f'{key} {n}' for key, n in ends.items())}")
        if reasons:
            meaning = " and ".join(reasons)
            found.append(
                {
                    "cause": BEST_EFFORT, "meaning": meaning, "frames": {name: count},
                    "shares": shares, "remedy": remedy,
                }
            )  # fmt: skip
    return found


def _short(run: RunParts, entry: LoadResult, load: dict[str, Any]) -> list[str]:
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
    why = f", as {overload.rate_sentence(most)}" if most["rate_bps"] < asked_bps else ""
    return [f"was asked to send {asked_bps} bit/s, of which {carried_bps} arrived{why}"]


def meant(cause: str) -> tuple[str, str]:
    """What a verdict or a place says, and what helps."""
    if cause in MEANINGS:
        return MEANINGS[cause]
    return next((row for part, row in MEANINGS.items() if part in cause), MEANINGS["lost"])


def text(row: Cause) -> str:
    """A cause as one line."""
    if row["cause"] == BEST_EFFORT:
        return f"best effort {', '.join(row['frames'])} {row['meaning']}; {row['remedy']}"
    counts = row["frames"].items()
    frames = ", ".join(f"{count} of {name}" if count else name for name, count in counts)
    return f"{row['cause']}: {row['meaning']} ({frames}); {row['remedy']}"


def _ends(entry: StreamResult | LoadResult) -> dict[str, int]:
    """How frames ended that did not arrive, by verdict or place."""
    lost: Any = entry.get("lost", {})
    verdicts: Any = entry.get("verdicts", {})
    ended = {**verdicts, **(lost if isinstance(lost, dict) else {"lost": lost})}
    return {key: n for key, n in ended.items() if n and key not in SENT_VERDICTS}


def _not_handed_over(entry: StreamResult) -> dict[str, int]:
    count = entry["due"] - entry["submitted"]
    return {"not handed over": count} if count > 0 else {}
