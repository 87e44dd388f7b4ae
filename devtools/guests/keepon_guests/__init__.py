# SPDX-License-Identifier: BSD-3-Clause
"""Debian's kernels in QEMU software emulation, with our modules and the stock tools: see
docs/vm.md.
"""

from __future__ import annotations

from keepon_guests.compare import agreed, differences, twice
from keepon_guests.images import FAMILIES, Kernel, get_kernel, later_families, offered_families
from keepon_guests.modules import ModuleBuildError, build_modules
from keepon_guests.run import GuestFailedError, GuestResult, run_guest
from keepon_guests.tap import TapReport, TapResult, parse_tap

__all__ = [
    "FAMILIES",
    "GuestFailedError",
    "GuestResult",
    "Kernel",
    "ModuleBuildError",
    "TapReport",
    "TapResult",
    "agreed",
    "build_modules",
    "differences",
    "get_kernel",
    "later_families",
    "offered_families",
    "parse_tap",
    "run_guest",
    "twice",
]
