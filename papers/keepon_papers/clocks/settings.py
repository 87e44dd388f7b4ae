# SPDX-License-Identifier: BSD-3-Clause
"""What all studies of set clocks can be set to; each study adds keys and has its own defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict

from keepon.model.fields import Number, Whole
from keepon_papers.settings import refuse


class Common(BaseModel):
    """Settings of every study; units are the last part of each name. One run lasts `warmup_s` +
    `duration_s`.
    """

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


COMMON_CHOICES = {
    "depth_slots": "not published; never the limit here",
    "sync_mode": "Figure 11 shows Sync and Delay_Req between two stations",
    "interval_ms": "not published; eight a second (IEEE Std 802.1AS-2020)",
    "crystal_ppm": (
        "not published; crystals of NICs and CPUs are drawn uniformly within it, both ways"
    ),
    "wander_ppb_per_s": "not published",
    "warmup_s": "left out of what is measured",
    "duration_s": "not published",
    "seeds": "not published",
    "seed": "any; the first of the runs",
}
"""Settings of `Common` the paper leaves open; each study names the rest."""


def check(settings: Common) -> None:
    """Refuse a ring that does not hold what is posted.

    Raises:
        ConfigError: one sentence.
    """
    if settings.depth_slots < settings.batch_slots + 2:
        raise refuse(
            "depth_slots",
            settings.depth_slots,
            f"must be at least {settings.batch_slots + 2}, batch_slots and 2; post more or poll for"
            " fewer",
        )
