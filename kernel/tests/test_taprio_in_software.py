# SPDX-License-Identifier: GPL-2.0-only
"""taprio in software above etf, on target vm: the qdiscs are put to a device that is down, for
Linux stops the gates when a class gets a qdisc while it is up. On 6.12 a stream that waits in etf
beside best effort uses up its own budget before its time, as the simulator has it.
"""

from __future__ import annotations

import pytest
from keepon.cli import session
from keepon.model import loading
from keepon.targets.sim.runner import simulate
from keepon.targets.vm.target import prepared, run_one
from keepon_guests import offered_families

pytestmark = pytest.mark.vm

SCENARIO = """
schema = "keepon.scenario/1"
name = "gated"
duration_s = 0.5
warmup_s = 0.1
link = [{ ends = ["a", "b"], rate_bps = 100_000_000 }]
sync.mode = "ideal"
[[station]]
name = "a"
driver = "standard"
qdisc = '''
tc qdisc replace dev eth0 parent root handle 100 taprio \
  num_tc 3 map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 1@2 base-time 0 \
  sched-entry S 03 5000000 sched-entry S 04 5000000 clockid CLOCK_TAI
tc qdisc replace dev eth0 parent 100:2 etf clockid CLOCK_TAI delta 500000
'''
[[station]]
name = "b"
driver = "standard"
[[stream]]
id = "S"
talker = "a"
listeners = ["b"]
period_ns = 10_000_000
offset_ns = 4_200_000
advance_ns = ADVANCE
frame_bytes = 1500
tc = 1
"""
LOAD = """
[[load]]
id = "L"
talker = "a"
listener = "b"
rate_bps = 10_000_000
frame_bytes = 100
tc = 0
"""


@pytest.mark.parametrize("family", offered_families())
def test_gates_go_on_and_a_stream_alone_is_sent_whole(family: str) -> None:
    scenario = loading.parse(SCENARIO.replace("ADVANCE", "4_000_000"), "gated.toml")
    plan = session.planned(scenario)
    kernel, modules = prepared(family)
    run, _ = run_one(scenario, plan, "standard", scenario.seed, kernel, modules)
    stream = run.document["streams"]["S"]
    assert stream["due"] == stream["delivered"] == 50


@pytest.mark.parametrize(("advance_ns", "all_of_them"), [(4_000_000, False), (700_000, True)])
def test_a_long_wait_beside_best_effort_expires_here_and_in_the_simulator(
    advance_ns: int, *, all_of_them: bool
) -> None:
    text = SCENARIO.replace("ADVANCE", str(advance_ns)) + LOAD
    scenario = loading.parse(text, "gated.toml")
    plan = session.planned(scenario)
    kernel, modules = prepared("6.12")
    run, _ = run_one(scenario, plan, "standard", scenario.seed, kernel, modules)
    simulated, _ = simulate(scenario, plan, "standard", scenario.seed)
    for document in (run.document, simulated.document):
        stream = document["streams"]["S"]
        assert (stream["due"] == stream["delivered"]) == all_of_them
