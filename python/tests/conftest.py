# SPDX-License-Identifier: BSD-3-Clause
"""Makes the modules beside the tests importable under any import mode of pytest."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from session_settings import refused  # noqa: F401
