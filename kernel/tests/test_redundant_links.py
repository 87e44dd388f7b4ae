# SPDX-License-Identifier: GPL-2.0-only
"""PRP and HSR (IEC 62439-3) of Linux over two keepon links of a station, beside the simulator with
`redundancy = 2`: of the same cut and the same delays both lose nothing and double nothing, where
the kernel is new enough.

Of 6.1 no kernel of Debian has the module.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from keepon.cli import session
from keepon.model import loading
from keepon.targets.sim.runner import simulate_build
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
SCENARIO = """
schema = "keepon.scenario/1"
name = "redundant"
duration_s = {duration_s}
station = [
  {{ name = "a", driver = "keepon" }},
  {{ name = "b", driver = "launchtime", host = "tsn-end-station" }},
]
bridge = [{{ name = "sw" }}, {{ name = "lan0" }}, {{ name = "lan1" }}]
link = [
  {{ ends = ["a", "sw"] }}, {{ ends = ["sw", "lan0"] }}, {{ ends = ["lan0", "b"] }},
  {{ ends = ["sw", "lan1"] }}, {{ ends = ["lan1", "b"], propagation_ns = {late_ns} }},
]
fault = [{{ kind = "link-down", node = "b.0", at_s = {away_s}, value_ns = "{away_s} s" }}]
[[stream]]
id = "s"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 100
redundancy = 2
"""


def simulated(**values: float) -> dict[str, int]:
    scenario = loading.parse(SCENARIO.format(**values), "redundant.toml")
    build, run = simulate_build(scenario, session.planned(scenario), "keepon", 1)
    found = run.document["streams"]["s"]
    recovery = run.document["stations"]["b"]["recovery"]["s"]
    return {
        "received": found["delivered"], "lost": found["missing"],
        "duplicates": build.simulation.stream(build.streams["s"])["duplicates"],
        # The first of the newer ones, which leaves a gap, is counted, too.
        "reordered": max(recovery["out_of_order"] - 1, 0),
    }  # fmt: skip


def boot(family: str, protocol: str) -> GuestResult:
    kernel = get_kernel(family, "amd64")
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")])
    files = {**programs.guest_files(), "/lib/keepon/common.sh": HERE / "keepon_common.sh"}
    result = checked(
        lambda: run_guest(
            kernel, HERE / "redundant_links.sh", files, modules=modules, tools=programs.tools(),
            environment={"PROTO": protocol}, timeout_s=1200,
        )
    )  # fmt: skip
    assert result.tap.problems() == [], result.stdout
    return result


def check_slots(wire: str, least: int) -> None:
    """Frames left at their times: NICs' clocks and CLOCK_TAI run alike, and a slot takes 50 us."""
    frames = re.findall(r"phc_ns=(\d+).* verdict=good head=\S*?4b504e54.{32}(.{16})", wire)
    assert len(frames) >= least
    assert max(abs(int(phc_ns) - int(txtime, 16)) for phc_ns, txtime in frames) < 2_000


@pytest.mark.parametrize("protocol", ["proto 1", "version 1"])
@pytest.mark.parametrize("family", offered_families("amd64", ("6.12", "newest")))
def test_frames_come_once_as_in_the_simulator(family: str, protocol: str) -> None:
    result = boot(family, protocol)
    check_slots(result.files["lan0"].decode(), 1300)
    check_slots(result.files["lan1"].decode(), 2000)
    seen = {
        case: [
            {name: stream[name] for name in ("received", "lost", "duplicates", "reordered")}
            for stream in json.loads(result.files[f"{case}.json"])["streams"]
        ]
        for case in ("start", "cut", "late", "mixed")
    }
    print(family, protocol, seen)
    cut = simulated(duration_s=2, late_ns=50, away_s=0.6)
    late = simulated(duration_s=0.6, late_ns=5_000_000, away_s=0.2)
    # LAN B is 5 periods behind, so that 4 frames are overtaken when LAN A is back.
    assert cut == {"received": 2000, "lost": 0, "duplicates": 0, "reordered": 0}
    assert late == {"received": 600, "lost": 0, "duplicates": 0, "reordered": 4}
    if family == "6.12":
        (start,), (overtaken,) = seen["start"], seen["late"]
        assert start["duplicates"] > 90 and overtaken["lost"] >= late["reordered"]
        return
    assert seen["cut"] == [cut] and seen["late"] == [late]
    # LAN B of HSR has another address until a supervision frame has come: both copies pass.
    doubled = 100 if protocol == "version 1" else 0
    assert seen["start"] == [cut | {"received": 100 + doubled, "duplicates": doubled}]
    assert [each | {"reordered": 0} for each in seen["mixed"]] == [cut | {"received": 200}] * 2
