# SPDX-License-Identifier: BSD-3-Clause
"""The document `keepon.reproduction/1`: the habitat case study beyond the compared runs.

It is a plain dictionary at run time and JSON in a file; `schemas/reproduction.schema.json` is made
of these types (schema_files).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, NotRequired, cast

from pydantic import Field, with_config

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.errors import TraceError, one_line
from keepon.model import documents
from keepon.model.plan import Why
from keepon.model.quantities import Statistics
from keepon.model.result import Counts, Slips, StationResult
from keepon.model.typed import CLOSED, AtLeastOne, FrameBytes, NodeName, NotNegative

REPRODUCTION_SCHEMA: Final = "keepon.reproduction/1"

Share = Annotated[float, Field(ge=0, le=1)]


@with_config(CLOSED)
class PaperStation(TypedDict):
    """A station under test in paper mode."""

    clock_ppm: float
    """its NIC's crystal"""
    counters: StationResult
    """its part of the run's result"""


@with_config(CLOSED)
class PaperStream(TypedDict):
    """A stream of a station under test in paper mode; the keys of a result."""

    talker: NodeName
    """its station"""
    due: NotRequired[NotNegative]
    """frames due in the time measured; absent in files of earlier versions"""
    submitted: NotNegative
    """of these, those the talker handed over"""
    sent: NotNegative
    """those that were on the wire"""
    delivered: NotNegative
    """those that every listener got"""
    verdicts: Counts
    """what the driver said, frames by verdict"""
    delay_ns: Statistics
    """from the txtime to delivery"""
    release_error_ns: Statistics
    """from the txtime to the reference plane at the talker"""
    slots: Slips
    """where slots put its frames"""


@with_config(CLOSED)
class PaperRun(TypedDict):
    """A run in paper mode."""

    status: Literal["feasible"]
    """there is a plan"""
    slot_bytes: FrameBytes
    """slot of the stations under test"""
    slot_time_ps: AtLeastOne
    """its time"""
    stations: dict[str, PaperStation]
    """stations under test by name"""
    streams: dict[str, PaperStream]
    """their streams by id"""


@with_config(CLOSED)
class NoPaperRun(TypedDict):
    """A variant for which there is no plan."""

    status: Literal["infeasible", "unknown"]
    """there is no plan"""
    why: Why
    """as the plan has it"""


@with_config(CLOSED)
class DelayedCycle(TypedDict):
    """A stream in one seed's run."""

    onset_seq: NotNegative | None
    """its first frame that came about a period late; null: none did"""
    onset_txtime_ns: NotNegative | None
    """its txtime"""
    share: Share
    """of its frames that came more than half a period late"""


@with_config(CLOSED)
class SeedRun(TypedDict):
    """One seed's run."""

    seed: NotNegative
    """of everything random"""
    onset_frame: NotNegative | None
    """first frame of the chain that came about a period late; null: none did"""
    shift_after_ns: dict[str, float | None]
    """median of delay less plan from then on, by stream"""
    streams: dict[str, DelayedCycle]
    """streams by id"""
    trace_hash: str
    """over every frame event"""


@with_config(CLOSED)
class CascadeSummary(TypedDict):
    """Many seeds."""

    seeds: AtLeastOne
    """runs"""
    with_cascade: NotNegative
    """those in which a frame of the chain came about a period late"""
    onset_frame_median: NotNegative | None
    """number of the first such frame"""
    onset_frame_min: NotNegative | None
    """the least"""
    onset_frame_max: NotNegative | None
    """the greatest"""
    f2_shift_ns_median: float | None
    """by how much F2 came later from then on"""


@with_config(CLOSED)
class Cascade(TypedDict):
    """The conventional driver over many seeds."""

    etf_delta_ns: NotNegative
    """ETF's delta at stations under test"""
    host_tail_scale: Annotated[float, Field(ge=0)]
    """multiplies the tail of hosts"""
    summary: CascadeSummary
    """of all seeds"""
    seeds: list[SeedRun]
    """seed by seed"""


@with_config(CLOSED)
class OnsetPoint(TypedDict):
    """One setting of delta, driver and tail."""

    delta_ns: NotNegative
    """ETF's delta"""
    occupancy_ns: NotNegative
    """what the driver takes for a frame"""
    tail_probability: Share
    """of a timer and a wake-up"""
    tail_mean_ns: NotNegative
    """mean of the tail"""
    group: str
    """what the setting is one of"""
    guard_ns: NotNegative
    """how late the timer may be, measured"""
    seeds: AtLeastOne
    """runs"""
    with_cascade: NotNegative
    """those in which a frame of the chain came about a period late"""
    onset_frame_median: NotNegative | None
    """number of the first such frame"""
    expected_share: Share
    """of runs with a cascade, by the guard and the tail alone"""


@with_config(CLOSED)
class OnsetPart(TypedDict):
    """When the cascade starts."""

    duration_s: Annotated[float, Field(ge=0)]
    """of each run"""
    points: list[OnsetPoint]
    """settings"""


@with_config(CLOSED)
class ReproductionParts(TypedDict):
    """The parts that are complete."""

    free_running: NotRequired[PaperRun | NoPaperRun]
    """free-running crystals in paper mode"""
    slot_200: NotRequired[PaperRun | NoPaperRun]
    """slots of 200 bytes in paper mode"""
    cascade: NotRequired[Cascade]
    """the conventional driver, host tail as modelled"""
    shrunk_tail: NotRequired[Cascade]
    """the same with the tail shrunk"""
    onset: NotRequired[OnsetPart]
    """when it starts as a function of delta, driver and tail"""


@with_config(CLOSED)
class Reproduction(TypedDict):
    """The parts of the habitat case study beyond the compared runs."""

    schema: Literal["keepon.reproduction/1"]
    """the kind of document"""
    scenario: NodeName
    """name of the scenario"""
    seed: NotNegative
    """of the first run"""
    interrupted: bool
    """the user stopped before the last part"""
    parts: ReproductionParts
    """the parts that are complete"""


def read(path: Path) -> Reproduction:
    """A reproduction file.

    Raises:
        TraceError: it cannot be read, is not JSON, or is no whole reproduction.
    """
    found = cast(Reproduction, documents.read_whole(path, REPRODUCTION_SCHEMA, Reproduction))
    for key, name, names in _named(found["parts"]):
        if name not in names:
            raise TraceError(
                f'{path}: key `parts.{key}` lacks "{one_line(name)}", which is named beside it; the'
                " file is damaged or of another version, make it again"
            )
    return found


def _named(parts: ReproductionParts) -> Iterator[tuple[str, str, Container[str]]]:
    """Names that must be keys elsewhere: where, the name, what is there."""
    runs = {"free_running": parts.get("free_running"), "slot_200": parts.get("slot_200")}
    for key, run in runs.items():
        if run is not None and run["status"] == "feasible":
            for stream in run["streams"].values():
                yield f"{key}.stations", stream["talker"], run["stations"]
    cascades = {"cascade": parts.get("cascade"), "shrunk_tail": parts.get("shrunk_tail")}
    for key, cascade in cascades.items():
        seeds = cascade["seeds"] if cascade is not None else []
        for number, seed in enumerate(seeds):
            for name in seeds[0]["streams"]:
                yield f"{key}.seeds[{number}].streams", name, seed["streams"]
