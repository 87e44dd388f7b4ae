# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with a unit, as "250 us" for a key in ns: which units a key takes is in its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

# So short that no fraction is of thousands of digits.
_DIGITS = r"[-+]?[0-9][0-9_]{0,30}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,2})?"
_KEY = re.compile(r"(?:^|_)(ppb_per_s|ppb|ppm|bps|bytes|ns|ms|s)(?:_max)?$")

_TIMES = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9,
}  # fmt: skip
_RATES = {
    f"{prefix}{unit}": factor
    for prefix, factor in (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9))
    for unit in ("b/s", "bit/s", "bps")
}
_LENGTHS = {
    "B": 1, "byte": 1, "bytes": 1, "octets": 1, "kB": 10**3, "MB": 10**6, "KiB": 2**10,
    "MiB": 2**20,
}  # fmt: skip
_SHARES = {"ppb": 1, "ppm": 10**3, "%": 10**7}
_DRIFTS = {f"{unit}/s": factor for unit, factor in _SHARES.items()}


@dataclass(frozen=True)
class Unit:
    """What a key is in, and the units it takes.

    Attributes:
        own: its own, as its name ends.
        example: a value with a unit.
        sizes: of each unit, in the least that is meant.
        size: of its own.
    """

    own: str
    example: str
    sizes: dict[str, int]
    size: int = 1

    def number(self, text: str) -> Fraction | None:
        """A number with a unit in the key's own; None if it is none, or has another unit.

        >>> unit_of("period_ns").number("250 us")
        Fraction(250000, 1)
        """
        found = re.fullmatch(rf"({_DIGITS}) ?({self._names()})", text)
        if found is None:
            return None
        return Fraction(found[1].replace("_", "")) * self.sizes[found[2]] / self.size

    @property
    def pattern(self) -> str:
        """What a string of it is like, for JSON Schema."""
        return f"^{_DIGITS} ?({self._names()})$"

    def _names(self) -> str:
        return "|".join(map(re.escape, self.sizes))


_UNITS = {
    "ns": Unit("ns", "250 us", _TIMES),
    "ms": Unit("ms", "1.5 s", _TIMES, _TIMES["ms"]),
    "s": Unit("s", "500 ms", _TIMES, _TIMES["s"]),
    "bps": Unit("bps", "100 Mb/s", _RATES),
    "bytes": Unit("bytes", "1.5 kB", _LENGTHS),
    "ppb": Unit("ppb", "0.1 ppm", _SHARES),
    "ppm": Unit("ppm", "0.01 %", _SHARES, _SHARES["ppm"]),
    "ppb_per_s": Unit("ppb_per_s", "0.1 ppm/s", _DRIFTS),
}


def unit_of(key: str | None) -> Unit | None:
    """The unit that a key's name ends in; None if it ends in none.

    >>> unit_of("slot_bytes").own, unit_of("wander_ppb_per_s").own, unit_of("slots")
    ('bytes', 'ppb_per_s', None)
    """
    found = _KEY.search(key or "")
    return _UNITS[found[1]] if found else None
