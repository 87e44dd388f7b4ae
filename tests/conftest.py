# SPDX-License-Identifier: BSD-3-Clause
"""Makes the packages beside the tests importable (pytest imports test files by path, not by package)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
