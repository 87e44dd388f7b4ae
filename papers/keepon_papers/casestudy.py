# SPDX-License-Identifier: BSD-3-Clause
"""The habitat case study beyond one run: free-running crystals, 200-byte slots, the cascade over
many seeds.

No frame is scripted to be late: lateness comes from the host model. Whether an effect of the paper
appears is reported as found, with what it depends on.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np

from keepon.errors import ConfigError
from keepon.measure import results
from keepon.measure.results import FrameArrays
from keepon.model.plan import Plan
from keepon.model.result import StreamResult
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import verify
from keepon.targets.runs import Progress, Run
from keepon.targets.sim.runner import simulate
from keepon_papers import onset
from keepon_papers.reproduction import (
    REPRODUCTION_SCHEMA,
    Cascade,
    CascadeSummary,
    DelayedCycle,
    NoPaperRun,
    PaperRun,
    PaperStream,
    Reproduction,
    SeedRun,
)
from keepon_papers.spread import Spread

CRYSTAL_PPM = (50.0, -50.0, 50.0)
PAPER_SLOT_BYTES = 200
CASCADE_SEEDS = 20
CASCADE_DELTA_NS = 50_000
"""Chosen so that the chain of events is seen within a minute. keepon.listing2 has it, of another
driver and NIC.
"""
SHRUNK_TAIL_SCALE = 0.1
"""Caps the tail at 10 us, below the guard at that delta (`keepon_papers.onset`)."""
ONSET_SEEDS = 10

CHAIN = ("F2", "F3", "F4")
_NEEDED = "the case study needs {}; use examples/habitat.toml"
GUARD_STREAMS = (*CHAIN, "F7", "F8")


def _variant(scenario: Scenario, **changes: Any) -> Scenario:
    return scenario.model_copy(update=changes)


def check(scenario: Scenario) -> None:
    """Refuse what the case study cannot be made of, before any work.

    Raises:
        ConfigError: no station is under test, or a stream that is looked for is not there.
    """
    tested = {station.name for station in scenario.station if station.driver == "under-test"}
    if not tested:
        raise ConfigError(_NEEDED.format('stations with driver = "under-test"'))
    if missing := [name for name in CHAIN if all(stream.id != name for stream in scenario.stream)]:
        needed = f'streams {", ".join(CHAIN)}, "{missing[0]}" is not there'
        raise ConfigError(_NEEDED.format(needed))
    if all(stream.talker not in tested for stream in scenario.stream):
        raise ConfigError(_NEEDED.format('a stream of a station with driver = "under-test"'))


def paper_mode(
    scenario: Scenario, crystals_ppm: tuple[float, ...] | None, slot_bytes: int | None
) -> Scenario:
    """The scenario with every station under test in paper mode, as keepon.

    Args:
        scenario: habitat.
        crystals_ppm: NIC crystals of the stations under test in file order, running free; None
            leaves clocks ideal.
        slot_bytes: slot of those stations; None leaves it as it is.
    """
    changed = []
    tested = 0
    for station in scenario.station:
        if station.driver != "under-test":
            changed.append(station)
            continue
        options = station.keepon.model_copy(
            update={
                "mode": "paper",
                "prebuffer_frames": 64,
                **({} if slot_bytes is None else {"slot_bytes": slot_bytes}),
            }
        )
        ppm = 0.0 if crystals_ppm is None else crystals_ppm[tested % len(crystals_ppm)]
        changed.append(station.model_copy(update={"keepon": options, "clock_ppm": ppm}))
        tested += 1
    sync = (
        scenario.sync if crystals_ppm is None else scenario.sync.model_copy(update={"mode": "none"})
    )
    compare = (
        None
        if scenario.compare is None
        else scenario.compare.model_copy(update={"drivers": ["keepon"]})
    )
    return _variant(scenario, station=changed, sync=sync, compare=compare)


def with_delta(scenario: Scenario, delta_ns: int) -> Scenario:
    """The scenario with ETF's delta set at every station under test."""
    stations = [
        station.model_copy(update={"etf_delta_ns": delta_ns})
        if station.driver == "under-test"
        else station
        for station in scenario.station
    ]
    return _variant(scenario, station=stations)


def planned_slot(scenario: Scenario, plan: Plan) -> int:
    """Slot of the stations under test in the phase-locked plan: free-running crystals are then the
    only difference.
    """
    tested = next(station.name for station in scenario.station if station.driver == "under-test")
    return plan["stations"][tested]["slot_bytes"]


def _paper_run(scenario: Scenario, seed: int, progress: Progress | None) -> PaperRun | NoPaperRun:
    plan = verify(scenario, make_plan(scenario))
    status = plan["status"]
    if status != "feasible":
        return {"status": status, "why": plan["why"]}
    run, _ = simulate(scenario, plan, "keepon", seed, progress)
    found = run.document["streams"]
    tested = [
        stream
        for stream in scenario.stream
        if scenario.station_named(stream.talker).driver == "under-test"
    ]
    return {
        "status": "feasible",
        "slot_bytes": plan["stations"][tested[0].talker]["slot_bytes"],
        "slot_time_ps": plan["stations"][tested[0].talker]["slot_time_ps"],
        "stations": {
            name: {
                "clock_ppm": scenario.station_named(name).clock_ppm,
                "counters": run.document["stations"][name],
            }
            for name in dict.fromkeys(stream.talker for stream in tested)
        },
        "streams": {stream.id: _paper_stream(stream.talker, found[stream.id]) for stream in tested},
    }


def _paper_stream(talker: str, entry: StreamResult) -> PaperStream:
    return {
        "talker": talker,
        "due": entry["due"],
        "submitted": entry["submitted"],
        "sent": entry["sent"],
        "delivered": entry["delivered"],
        "verdicts": entry["verdicts"],
        "delay_ns": entry["delay_ns"],
        "release_error_ns": entry["release_error_ns"],
        "slots": entry["slots"],
    }


def delayed_cycle(frames: FrameArrays, planned_ps: int, period_ns: int) -> DelayedCycle:
    """When a stream first came about a period late, how often, and how its other frames were
    shifted from then on.

    Args:
        frames: of the stream.
        planned_ps: its delay in the plan.
        period_ns: its period.

    Returns:
        onset_seq and onset_txtime_ns (None if never), share (of frames more than half a period
        late).
    """
    got = frames.arrival_ps[0] != results.NONE
    late = got & (frames.arrival_ps[0] - frames.txtime_ps > planned_ps + period_ns * 500)
    onset = int(np.argmax(late)) if np.any(late) else None
    return {
        "onset_seq": None if onset is None else int(frames.seq[onset]),
        "onset_txtime_ns": None if onset is None else int(frames.txtime_ns[onset]),
        "share": float(np.mean(late)) if late.size else 0.0,
    }


def shift_after(frames: FrameArrays, planned_ps: int, txtime_ns: int) -> float | None:
    """Median of delay minus plan, in ns, of frames after an instant; None if none arrived."""
    after = (frames.arrival_ps[0] != results.NONE) & (frames.txtime_ns > txtime_ns)
    if not np.any(after):
        return None
    return float(np.median((frames.arrival_ps[0] - frames.txtime_ps)[after] - planned_ps)) / 1000


def cascade(scenario: Scenario, plan: Plan, run: Run, seed: int) -> SeedRun:
    """What J10 describes, looked for in one run: a frame of the chain a period late, and F2's shift
    from then on.
    """
    periods = {stream.id: stream.period_ns for stream in scenario.stream}
    known = [name for name in GUARD_STREAMS if name in run.frames]
    planned_ps = {name: plan["streams"][name]["delay_planned_ps"] for name in known}
    streams = {
        name: delayed_cycle(run.frames[name], planned_ps[name], periods[name]) for name in known
    }
    chain = [(streams[name]["onset_txtime_ns"], streams[name]["onset_seq"]) for name in CHAIN]
    onsets = [(at_ns, seq) for at_ns, seq in chain if at_ns is not None and seq is not None]
    first_ns, first_frame = min(onsets, default=(None, None))
    return {
        "seed": seed,
        "onset_frame": first_frame,
        "shift_after_ns": {
            name: None
            if first_ns is None
            else shift_after(run.frames[name], planned_ps[name], first_ns)
            for name in known
        },
        "streams": streams,
        "trace_hash": run.trace_hash,
    }


def first_late(scenario: Scenario, plan: Plan, seed: int) -> int | None:
    """A run with the conventional driver: its first frame of the chain that is a period late, None
    if there is none.
    """
    run, _ = simulate(scenario, plan, "standard", seed)
    onsets = [
        delayed_cycle(
            run.frames[stream.id], plan["streams"][stream.id]["delay_planned_ps"], stream.period_ns
        )["onset_seq"]
        for stream in scenario.stream
        if stream.id in CHAIN
    ]
    return min((onset for onset in onsets if onset is not None), default=None)


def onsets(
    scenario: Scenario,
    plan: Plan,
    seeds: range,
    spread: Spread,
    progress: Progress | None,
) -> list[onset.Point]:
    """The onset of the cascade for all settings of `onset.GROUPS`."""
    settings = [(group, setting) for group, entries in onset.GROUPS.items() for setting in entries]
    points = []
    for number, (group, setting) in enumerate(settings):
        if progress is not None:
            progress(f"onset: {group}", number / len(settings))
        points.append(onset.point(scenario, plan, group, setting, seeds, first_late, spread))
    return points


def _cascade_of_seed(scenario: Scenario, plan: Plan, seed: int) -> SeedRun:
    run, _ = simulate(scenario, plan, "standard", seed)
    return cascade(scenario, plan, run, seed)


def _cascades(
    scenario: Scenario,
    plan: Plan,
    seeds: range,
    spread: Spread,
    progress: Progress | None,
    label: str,
) -> list[SeedRun]:
    found: dict[int, SeedRun] = {}
    pieces = [(scenario, plan, seed) for seed in seeds]
    with closing(spread.as_done(_cascade_of_seed, pieces)) as done:
        for place, run in done:
            found[place] = run
            if progress is not None:
                progress(f"{label} (standard)", len(found) / len(pieces))
    return [found[place] for place in range(len(pieces))]


def summarise(seeds: list[SeedRun]) -> CascadeSummary:
    """Of many seeds: in how many the chain broke, when, and F2's shift from then on."""
    frames = [entry["onset_frame"] for entry in seeds]
    onsets = sorted(frame for frame in frames if frame is not None)
    f2_ns = [entry["shift_after_ns"].get("F2") for entry in seeds]
    shifts = [shift_ns for shift_ns in f2_ns if shift_ns is not None]
    return {
        "seeds": len(seeds),
        "with_cascade": len(onsets),
        "onset_frame_median": onsets[len(onsets) // 2] if onsets else None,
        "onset_frame_min": onsets[0] if onsets else None,
        "onset_frame_max": onsets[-1] if onsets else None,
        "f2_shift_ns_median": float(np.median(shifts)) if shifts else None,
    }


def reproduce(
    scenario: Scenario,
    plan: Plan,
    seed: int,
    seeds: int = CASCADE_SEEDS,
    progress: Progress | None = None,
    spread: Spread | None = None,
) -> Reproduction:
    """Everything of the case study except the compared runs themselves, as `keepon.reproduction/1`.

    `spread`: who does the runs of many seeds; one after the other here unless given. A Ctrl-C keeps
    the parts that are complete and sets `interrupted`.
    """
    document: Reproduction = {
        "schema": REPRODUCTION_SCHEMA, "scenario": scenario.name, "seed": seed,
        "interrupted": False, "parts": {},
    }  # fmt: skip
    cascading = with_delta(scenario, CASCADE_DELTA_NS)
    free = paper_mode(scenario, CRYSTAL_PPM, planned_slot(scenario, plan))
    shrunk = _variant(cascading, host_tail_scale=scenario.host_tail_scale * SHRUNK_TAIL_SCALE)
    workers = Spread() if spread is None else spread
    numbers, few = range(seed, seed + seeds), range(seed, seed + min(seeds, ONSET_SEEDS))

    def labelled(label: str) -> Progress | None:
        return (
            None
            if progress is None
            else lambda driver, share: progress(f"{label} ({driver})", share)
        )

    def over_seeds(variant: Scenario, label: str) -> Cascade:
        found = _cascades(variant, plan, numbers, workers, progress, label)
        return {
            "etf_delta_ns": CASCADE_DELTA_NS,
            "host_tail_scale": variant.host_tail_scale,
            "summary": summarise(found),
            "seeds": found,
        }

    parts = document["parts"]
    try:
        parts["free_running"] = _paper_run(free, seed, labelled("free-running crystals"))
        short = paper_mode(scenario, None, PAPER_SLOT_BYTES)
        parts["slot_200"] = _paper_run(short, seed, labelled("200-byte slots"))
        parts["cascade"] = over_seeds(cascading, "cascade")
        parts["shrunk_tail"] = over_seeds(shrunk, "shrunk tail")
        points = onsets(scenario, plan, few, workers, progress)
        parts["onset"] = {
            "duration_s": scenario.duration_s,
            "points": [one.as_document() for one in points],
        }
    except KeyboardInterrupt:
        document["interrupted"] = True
    return document
