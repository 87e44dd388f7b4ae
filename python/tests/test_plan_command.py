# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` prints is what the plan says, to the last digit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from schedulability_cases import keepon

SLOW = """schema = "keepon.scenario/1"
name = "slow"
duration_s = 1.0
station = [{ name = "a", driver = "launchtime" }, { name = "b", driver = "launchtime" }]
bridge = [{ name = "sw" }]
link = [
  { ends = ["a", "sw"], rate_bps = 10_000_000 },
  { ends = ["sw", "b"], rate_bps = 10_000_000 },
]
[[stream]]
id = "F2"
talker = "a"
listeners = ["b"]
period_ns = 12_345_678
frame_bytes = 1500
deadline_ns = 10_000_000
"""


def test_no_digit_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.toml").write_text(SLOW)
    scenario, out = tmp_path / "slow.toml", tmp_path / "plan.json"
    assert keepon(monkeypatch, "plan", scenario, "--out", out) == 0
    printed = capsys.readouterr().out.split()
    plan = json.loads((tmp_path / "plan.json").read_text())
    terms = plan["streams"]["F2"]["terms"]
    assert str(sum(terms.values()) // 1000) in printed
    assert all(f"{term / 1000:.15g}" in printed for term in terms.values())
    assert "12345.678" in printed  # the cycle, us
