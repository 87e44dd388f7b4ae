# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` prints is what the plan says, to the last digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from keepon.errors import EXIT_INPUT, EXIT_NOT_TRIED
from keepon.report import tables

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


def test_no_digit_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any) -> None:
    (tmp_path / "slow.toml").write_text(SLOW)
    scenario, out = tmp_path / "slow.toml", tmp_path / "plan.json"
    assert keepon("plan", scenario, "--all", "--out", out) == 0
    printed = capsys.readouterr().out.split()
    plan = json.loads((tmp_path / "plan.json").read_text())
    terms = plan["streams"]["F2"]["terms"]
    assert str(sum(terms.values()) // 1000) in printed
    assert all(f"{term / 1000:.15g}" in printed for term in terms.values())
    assert "12345.678" in printed  # the cycle, us
    plan["streams"]["F2"]["bounds"]["delay_ns"] = None
    (table,) = tables.delay_terms(plan)
    assert [list(column.cells) for column in table.columns] == [["F2"], *[["-"]] * 9]


SHAPED = """schema = "keepon.scenario/1"
name = "shaped"
duration_s = 0.1
station = [
  { name = "a", driver = "launchtime", qdisc = '''
tc qdisc add dev e handle 100 root mqprio num_tc 2 map 0 1 queues 1@0 1@1 hw 1
tc qdisc add dev e parent 100:2 cbs locredit -1470 hicredit 30 sendslope -980000 idleslope 20000 \\
  offload 1''' },
  { name = "b", driver = "launchtime" },
]
link = [{ ends = ["a", "b"] }]
[[stream]]
id = "rtc"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 200
tc = 1
"""


def test_what_the_simulator_lacks_is_not_said_to_have_been_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """No shaper was simulated, and the plan claimed 10 frames within every bound."""
    scenario = tmp_path / "shaped.toml"
    scenario.write_text(SHAPED)
    assert keepon("plan", scenario) == EXIT_NOT_TRIED
    printed = capsys.readouterr().out
    reason = "the simulator has no cbs in front of a driver; leave it out"
    assert printed.startswith("shaped: plan (first-fit), not tried in the simulator: key `station")
    assert reason in printed.split("\n")[0]
    assert "within every bound" not in printed
    assert keepon("run", scenario, "--out", tmp_path / "out") == EXIT_INPUT
    assert reason in capsys.readouterr().err
