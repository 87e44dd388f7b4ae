# SPDX-License-Identifier: BSD-3-Clause
"""Makes modules beside the tests of keepon importable."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "python" / "tests"))

from session_settings import keepon, refused  # noqa: F401
