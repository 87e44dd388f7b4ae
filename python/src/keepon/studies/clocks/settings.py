# SPDX-License-Identifier: BSD-3-Clause
"""What all studies of set clocks can be set to; each study adds keys and has its own defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from keepon.model.fields import Number, Whole
from keepon.model.hosts import Sourced
from keepon.studies.settings import parse as apply
from keepon.studies.settings import refuse


class Common(BaseModel):
    """Settings of every study; units are the last part of each name. One run lasts `warmup_s` + `duration_s`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    slot_bytes: Annotated[int, Whole(64, 1522)] = 300
    batch_slots: Annotated[int, Whole(1, 1024)] = 1
    depth_slots: Annotated[int, Whole(2, 2048)] = 128
    sync_mode: Literal["ptp", "gptp"] = "ptp"
    interval_ms: Annotated[int, Whole(1, 10_000)] = 125
    crystal_ppm: Annotated[float, Number(0, 200)] = 50.0
    wander_ppb_per_s: Annotated[float, Number(0, 1000)] = 10.0
    warmup_s: Annotated[float, Number(0, 3600)] = 20.0
    duration_s: Annotated[float, Number(0.5, 86_400)] = 10.0
    seeds: Annotated[int, Whole(1, 1000)] = 2
    seed: Annotated[int, Whole(0, 2**31)] = 1

    @property
    def ring_slots(self) -> int:
        """The least power of two that holds the depth and leaves the core its reserve."""
        slots = 32
        while slots < self.depth_slots + 8:
            slots *= 2
        return slots


S = TypeVar("S", bound=Common)

COMMON_CHOICES = {
    "depth_slots": "not published; never the limit here",
    "sync_mode": "Figure 11 shows Sync and Delay_Req between two stations",
    "interval_ms": "not published; eight a second (IEEE Std 802.1AS-2020)",
    "crystal_ppm": "not published; crystals of NICs and CPUs are drawn uniformly within it, both ways",
    "wander_ppb_per_s": "not published",
    "warmup_s": "left out of what is measured",
    "duration_s": "not published",
    "seeds": "not published",
    "seed": "any; the first of the runs",
}
"""Settings of `Common` the paper leaves open; each study names the rest."""


@dataclass(frozen=True)
class Origins:
    """Where a study's defaults come from.

    Attributes:
        calibrated: setting -> id of a publication.
        chosen: setting -> why it is what it is.
    """

    calibrated: Mapping[str, str]
    chosen: Mapping[str, str]

    def documents(self, settings: Common, used: Iterable[Sourced]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Calibrated and chosen settings as a study's document has them; a changed one is chosen by the user.

        Args:
            used: what else the study's runs were given, from `inputs.collecting`.
        """
        calibrated: list[dict[str, Any]] = []
        chosen: list[dict[str, Any]] = []
        for entry in used:
            (calibrated if entry.kind == "calibrated" else chosen).append(entry.as_dict())
        for key, value in settings.model_dump().items():
            if value != type(settings).model_fields[key].default:
                chosen.append({"parameter": key, "value": value, "why": "set on the command line"})
            elif key in self.calibrated:
                calibrated.append({"parameter": key, "value": value, "source_id": self.calibrated[key]})
            else:
                chosen.append({"parameter": key, "value": value, "why": self.chosen[key]})
        return calibrated, chosen


def parse(model: type[S], changes: dict[str, Any]) -> S:
    """Settings of a study with `changes` applied to the defaults.

    Raises:
        ConfigError: a key is unknown or a value out of range; one sentence.
    """
    settings = apply(model, changes)
    if settings.depth_slots < settings.batch_slots + 2:
        raise refuse(
            "depth_slots",
            settings.depth_slots,
            f"must be at least {settings.batch_slots + 2}, batch_slots and 2; post more or poll for fewer",
        )
    return settings
