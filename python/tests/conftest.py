# SPDX-License-Identifier: BSD-3-Clause
"""Makes `helpers` importable under any import mode of pytest, and Ctrl-C mean something wherever tests run."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# A shell starts what it puts into the background with Ctrl-C ignored, and that is inherited; some tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is.
settings.register_profile("keepon", deadline=None)
settings.load_profile("keepon")
