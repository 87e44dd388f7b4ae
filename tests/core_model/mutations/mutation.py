# SPDX-License-Identifier: BSD-3-Clause
"""A change of the core that some check must notice."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """In `file` of core/src, or of core if it has a folder, `old` becomes `new`; a scenario must
    fail then.
    """

    name: str
    file: str
    old: str
    new: str
    scenarios: tuple[str, ...]

    def apply(self, text: str) -> tuple[str, int]:
        """The mutated text, and how often `old` was in it."""
        tokens = re.findall(r"\w+|[^\w\s]", self.old)
        gaps = [
            r"\s+" if a[-1].isalnum() and b[0].isalnum() else r"\s*"
            for a, b in itertools.pairwise(tokens)
        ]
        pattern = "".join(
            re.escape(token) + gap for token, gap in zip(tokens, [*gaps, ""], strict=True)
        )
        return re.subn(pattern, lambda _: self.new, text)
