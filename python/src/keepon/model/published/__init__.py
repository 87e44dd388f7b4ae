# SPDX-License-Identifier: BSD-3-Clause
"""Published figures as data files, with the ids of where they come from; nothing here is
computed.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def load(name: str) -> dict[str, Any]:
    """A file of published figures, such as "keepon"."""
    return tomllib.loads(
        resources.files("keepon.model.published")
        .joinpath(f"{name}.toml")
        .read_text(encoding="utf-8")
    )


def table1() -> dict[str, dict[str, dict[str, float]]]:
    """Table 1 of the KeepON paper in us: stream -> driver -> mean, p99, max. `standard` is its
    GENET.
    """
    return {
        row["stream"]: {driver: row[driver] for driver in ("standard", "keepon")}
        for row in load("keepon")["table1"]["rows"]
    }
