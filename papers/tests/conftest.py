# SPDX-License-Identifier: BSD-3-Clause
"""Makes the modules beside these tests, and beside those of keepon, importable."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.append(str(HERE.parents[1] / "python" / "tests"))

from session_settings import keepon, refused, scheduler  # noqa: E402, F401
