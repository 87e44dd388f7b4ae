# SPDX-License-Identifier: BSD-3-Clause
"""Makes the packages beside the tests and the benchmarks importable (pytest imports by path, not by
package).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "bench"))
