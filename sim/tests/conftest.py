# SPDX-License-Identifier: BSD-3-Clause
"""Small networks the tests share; makes `clock_networks` importable under any import mode of
pytest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keepon import _sim

sys.path.insert(0, str(Path(__file__).parent))

GIGABIT = 1_000_000_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000


@dataclass
class Link:
    """Two stations, one link, one stream of 1 ms; txtimes at the reference plane of a
    slot start.
    """

    talker: dict[str, Any] = field(default_factory=dict)
    stream: dict[str, Any] = field(default_factory=dict)
    seed: int = 1
    rate_bps: int = GIGABIT

    def __post_init__(self) -> None:
        keepon = {"slot_bytes": 1230, "batch_slots": 8, **self.talker.get("keepon", {})}
        spec = {"driver": "keepon", **self.talker, "keepon": keepon}
        self.sim = _sim.Simulation(self.seed, EPOCH_NS)
        self.a = self.sim.add_station("a", spec)
        self.b = self.sim.add_station("b", {})
        self.sim.add_link(self.a, self.b, self.rate_bps, 50)
        preamble_ns = 64 * GIGABIT // self.rate_bps
        self.flow = self.sim.add_stream(
            {
                "id": "x",
                "talker": self.a,
                "listeners": [self.b],
                "period_ns": MS,
                "offset_ns": 200_000 + preamble_ns,
                "frame_bytes": 200,
                "tc": 0,
                "advance_ns": 150_000,
                **self.stream,
            }
        )

    def run(self, ms: int) -> Link:
        self.sim.run(ms * MS)
        return self

    @property
    def summary(self) -> dict[str, Any]:
        return self.sim.stream(self.flow)

    @property
    def station(self) -> dict[str, Any]:
        return self.sim.station(self.a)

    @property
    def frames(self) -> dict[str, np.ndarray[Any, Any]]:
        return self.sim.frames(self.flow)

    def release_errors_ps(self) -> np.ndarray[Any, Any]:
        """Wire time minus txtime of every frame that was on the wire, true time."""
        frames = self.frames
        sent = frames["wire_ps"] >= 0
        return frames["wire_ps"][sent] - (frames["txtime_ns"][sent] - EPOCH_NS) * 1000


@pytest.fixture
def link() -> Callable[..., Link]:
    return Link


def check_accounts(summary: dict[str, Any], names: list[str]) -> None:
    """The identities of CONTRACTS, and that no frame was spoilt."""
    ended = sum(summary["verdicts"].values())
    assert summary["submitted"] == ended + summary["pending"]
    sent = sum(summary["verdicts"][name] for i, name in enumerate(names) if _sim.verdict_is_sent(i))
    assert summary["sent"] == sent
    listeners = len(summary["delivered_by_listener"])
    assert (
        summary["on_wire"] * listeners
        == summary["delivered"] + sum(summary["lost"].values()) + summary["in_flight"]
    )
    for spoilt in ("torn", "wrong_bytes", "duplicates", "ghosts"):
        assert summary[spoilt] == 0, f"{spoilt}: {summary}"


@pytest.fixture
def accounts() -> Callable[[dict[str, Any]], None]:
    return lambda summary: check_accounts(summary, _sim.verdict_names())
