# SPDX-License-Identifier: BSD-3-Clause
"""Names of streams and stations in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)(\d+)")


def ranged(names: Iterable[str]) -> str:
    """Names in a sentence, those numbered one after the other as a range: "drive1..6, plc"."""
    runs: list[tuple[str, int, int, str]] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        number = int(match[2]) if match and str(int(match[2])) == match[2] else -1
        stem = match[1] if match and number >= 0 else name
        if runs and number >= 0 and runs[-1][0] == stem and runs[-1][2] + 1 == number:
            runs[-1] = (stem, runs[-1][1], number, name)
        else:
            runs.append((stem, number, number, name))
    return ", ".join(
        name if first == last else f"{stem}{first}..{last}" for stem, first, last, name in runs
    )
