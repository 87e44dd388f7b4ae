# SPDX-License-Identifier: BSD-3-Clause
"""Makes the modules beside the tests importable under any import mode; the habitat's plan."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from keepon.export.exported import Planned

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "host")]

from session_settings import keepon, refused, scheduler  # noqa: E402, F401


@pytest.fixture
def habitat() -> Planned:
    from helpers import planned_example

    return planned_example("habitat")


@pytest.fixture
def plan_file(habitat: Planned, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(habitat.plan))
    return path
