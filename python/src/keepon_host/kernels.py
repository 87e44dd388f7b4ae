# SPDX-License-Identifier: BSD-3-Clause
"""The kernels that this version builds modules for; scripts/install writes them into dkms.conf."""

from __future__ import annotations

import re
from typing import Final

FIRST: Final = "6.1"
LAST: Final = "7.3"


def _order(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)[:2]]


def known(release: str) -> bool:
    """Whether the kernel of `release` (as uname -r has it) is one of them."""
    return _order(FIRST) <= _order(release) <= _order(LAST)
