# SPDX-License-Identifier: BSD-3-Clause
"""What the studies of partitions can be set to, and which defaults were published (KeepON paper
section A.8).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict

from keepon.model.fields import Number, Whole, WholeList
from keepon.planner.partition.limits import TIME_LIMIT_MAX_S
from keepon_papers import published
from keepon_papers.partitions.generate import Parameters
from keepon_papers.settings import Origins, refuse

TABLE5: dict[str, Any] = published.load("keepon")["table5"]
SOURCE = "KeepON paper, section A.8"
OPTIONS = ("sets",)
"""Settings that are options of the command, too."""
FIGURE27: dict[str, Any] = published.load("keepon")["fig27"]


class Settings(BaseModel):
    """Settings of Figure 27; units are the last part of each name.

    Attributes:
        levels_percent: utilisations.
        sets: sets of flows at each of them.
        flow_counts: numbers of flows drawn from.
        periods: "chain": each divides the next; "bounded": any multiples of the step with a
            hyperperiod of at most 2.4 ms.
        time_limit_s: for one set; what is not decided by then is unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    levels_percent: Annotated[list[int], WholeList(1, 100)] = TABLE5["utilisation_percent"]
    sets: Annotated[int, Whole(1, 1000)] = TABLE5["sets_per_utilisation"]
    flow_counts: Annotated[list[int], WholeList(1, 64)] = TABLE5["flow_counts"]
    periods: Literal["chain", "bounded"] = "chain"
    time_limit_s: Annotated[float, Number(0.01, TIME_LIMIT_MAX_S)] = float(TABLE5["time_limit_s"])
    seed: Annotated[int, Whole(0, 2**31)] = 1

    @property
    def all_levels_percent(self) -> list[int]:
        """Every utilisation that is looked at, in order."""
        return sorted(self.levels_percent)

    @property
    def parameters(self) -> Parameters:
        """What sets are drawn from."""
        return Parameters(
            levels_percent=tuple(self.all_levels_percent),
            per_level=self.sets,
            flow_counts=tuple(self.flow_counts),
            period_step_us=TABLE5["period_step_us"],
            period_max_us=TABLE5["period_max_us"],
            jitter_percent=(
                TABLE5["jitter_percent_of_period"][0],
                TABLE5["jitter_percent_of_period"][1],
            ),
            slot_us=TABLE5["slot_us"],
            ring_slots=TABLE5["ring_slots"],
            classes_max=TABLE5["classes_max"],
            harmonic=self.periods == "chain",
        )


class BeyondSettings(Settings):
    """The same, with utilisations above the published ones."""

    beyond_percent: Annotated[list[int], WholeList(1, 100)] = [60, 70, 80, 90, 95]

    @property
    def all_levels_percent(self) -> list[int]:
        return sorted({*self.levels_percent, *self.beyond_percent})


_PUBLISHED = ("levels_percent", "sets", "flow_counts", "time_limit_s")
_CHOICES = {
    "periods": 'chosen as harmonic, says the paper: "chain"',
    "seed": "any; each set has its own random stream, drawn from seed, utilisation and number",
    "beyond_percent": (
        "not published; where partitions fail; sets of 95 % have 99.75 % at most, of 100 % up"
        " to 105"
    ),
}
_FIXED = (
    "period_step_us",
    "period_max_us",
    "jitter_percent_of_period",
    "slot_us",
    "ring_slots",
    "classes_max",
)
_SILENT = (
    (
        "number of flows",
        "drawn",
        "not published which numbers go with which utilisation; those that can reach it",
    ),
    (
        "sets in all",
        "sets x utilisations",
        "published are 64 for each of ten utilisations, and 896, which is 14 x 64",
    ),
    (
        "utilisation of a set",
        "within a twentieth of its level",
        "not published; periods are too coarse to meet it",
    ),
    (
        "period chain",
        "drawn",
        "first of at most 400 us, then random multiples, ending with chance 0.15 at each step",
    ),
    (
        "jitter of a flow",
        "uniform, to 0.1 us",
        "not published; as peak to peak, rounded down to slots",
    ),
    (
        "classes",
        "drawn",
        "not published; 1 to 8, at most one a flow, flows assigned uniformly, none empty",
    ),
    (
        "ownership",
        "over lcm(hyperperiod, ring)",
        "published over one hyperperiod, after which it need not hold",
    ),
    ("starts", "whole slots", "published as real numbers of which only the slot is sent"),
)

ORIGINS = Origins(
    calibrated=dict.fromkeys(_PUBLISHED, TABLE5["id"]),
    chosen=_CHOICES,
    fixed=[{"parameter": key, "value": TABLE5[key], "source_id": TABLE5["id"]} for key in _FIXED],
    silent=[{"parameter": what, "value": value, "why": why} for what, value, why in _SILENT],
)


def check(settings: Settings) -> None:
    """Refuse empty lists.

    Raises:
        ConfigError: one sentence.
    """
    for key in ("levels_percent", "flow_counts"):
        if not getattr(settings, key):
            raise refuse(key, [], "must have one entry at least; write it as [5, 50]")
