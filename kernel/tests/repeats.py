# SPDX-License-Identifier: GPL-2.0-only
"""How often a group of tests runs its guest.

A guest in mode icount repeats to the byte, and test_vm and test_target_vm show that in every
run by running theirs twice at the same time. The other groups run once, and twice in `make
soak` (KEEPON_REPEAT=1): two runs of everything would take `make test` twice its time.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from keepon_guests import GuestResult, agreed

REPEAT = os.environ.get("KEEPON_REPEAT") == "1"


def checked(run: Callable[[], GuestResult]) -> GuestResult:
    """The result of a run that succeeded; of two that agree in every byte if runs are repeated."""
    return agreed(run) if REPEAT else run().check()
