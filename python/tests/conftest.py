# SPDX-License-Identifier: BSD-3-Clause
"""Makes the modules beside the tests importable under any import mode of pytest."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "host")]

from session_settings import refused, scheduler  # noqa: E402, F401
