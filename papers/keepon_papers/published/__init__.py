# SPDX-License-Identifier: BSD-3-Clause
"""Published figures as data files, with the ids of where they come from; nothing here is
computed.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from keepon.model import published


def load(name: str) -> dict[str, Any]:
    """A file of published figures, such as "cochran"; those of "keepon" are the planner's, too."""
    if name == "keepon":
        return published.load()
    text = resources.files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
