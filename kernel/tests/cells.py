# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios for guests, which have to work for each slot of a link: few of them in a second."""

from __future__ import annotations

import re
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
RATE_BPS = 100_000_000


def ptp_cell() -> str:
    """Example gptp at a tenth of its rate: 10,000 slots a second."""
    text = (EXAMPLES / "gptp.toml").read_text()
    text = re.sub(r"\n\[compare\]\n(.+\n)*", "\n", text).replace('"under-test"', '"keepon"')
    text = text.replace("advance_ns = 200_000", "advance_ns = 400_000")
    text = text.replace("\n[station.keepon]", "clock_error_ns = 20_000\n\n[station.keepon]")
    return text.replace("[sync]", f"[defaults]\nrate_bps = {RATE_BPS}\n\n[sync]", 1)
