# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the KeepON paper as data with the ids of where they come from: plans are calibrated by
them, reports of its case study have them beside ours. Nothing here is computed.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def load() -> dict[str, Any]:
    """All of them, by the id of their table or figure."""
    text = resources.files("keepon.model").joinpath("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def table1() -> dict[str, dict[str, dict[str, float]]]:
    """Table 1 of the KeepON paper in us: stream -> driver -> mean, p99, max. `standard` is its
    GENET.
    """
    return {
        row["stream"]: {driver: row[driver] for driver in ("standard", "keepon")}
        for row in load()["table1"]["rows"]
    }
